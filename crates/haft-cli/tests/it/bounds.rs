//! Budgets, streaks and work that nobody attends, on the command line.

use serde_json::Value;

use crate::support::Home;

const FAILS: &str =
    r#"{"text": "Trying.", "tool_calls": [{"name": "calculator", "arguments": {"expression": "1/0"}}]}"#;

fn script(home: &Home, turns: &[&str]) -> String {
    format!("scripted:{}", home.write("script.jsonl", &turns.join("\n")).display())
}

fn profile(home: &Home, keys: &str) {
    home.write("home/profiles/mine.md", &format!("---\n{keys}\n---\n"));
}

// Complaint 40, GAT-06: what a person sees of a run that was cut short.
#[test]
fn a_run_that_goes_in_circles_ends_with_a_summary_and_a_warning() {
    let home = Home::new();
    profile(&home, "tools: {allow: [calculator]}");
    let model = script(&home, &[FAILS, FAILS, FAILS, r#"{"text": "It cannot be divided."}"#]);
    haft_snapshot!(home, home.haft(&["run", "--model", &model, "--profile", "mine", "x"]), @r#"
    exit: 0
    --- stdout
    It cannot be divided.
    --- stderr
    session s_[ID], run r_[ID]
    → calculator expression=1/0
    ✗ calculator: `1/0` cannot be calculated: division by zero.
    → calculator expression=1/0
    ✗ calculator: `1/0` cannot be calculated: division by zero.
    → calculator expression=1/0
    ✗ calculator: `1/0` cannot be calculated: division by zero.
    warning: the run was a partial success: The run was ended because it made no progress: `calculator` failed 3 times with the same arguments, and nothing was changed in between. What was done before stays. Say what should be done otherwise, or raise `loop.same_failures` in the profile.
    "#);
    profile(&home, "tools: {allow: [calculator]}\nloop: {same_failures: 0}\nbudget: {rounds: 4}");
    let model = script(&home, &[FAILS, FAILS, FAILS, FAILS, r#"{"text": "Enough."}"#]);
    let run = home.haft(&["run", "--model", &model, "--profile", "mine", "--json", "x"]);
    let ended: Value = serde_json::from_str(run.stdout.lines().last().unwrap()).unwrap();
    let payload = &ended["payload"];
    assert_eq!(
        (run.exit, payload["status"].as_str(), payload["error_code"].as_str(), payload["text"].as_str()),
        (Some(0), Some("partial_success"), Some("agent.max_tool_rounds_exceeded"), Some("Enough."))
    );
}

// GAT-01, CONFLICT-30: all keys, shown as they are read.
#[test]
fn budgets_and_streaks_are_keys_of_a_profile() {
    let home = Home::new();
    let keys = "budget:\n  calls: 9\n  rounds: 8\n  wall_s: 60\n  output_bytes: 5000\n  model_tokens: 100000\n  money: 0.25\n  calls_of:\n    builtin:data.calculator: 2\nloop:\n  same_failures: 4\n  same_denials: 0\n  failed_batches: 5\nunattended:\n  allow:\n    - {\"allow\":\"builtin:data.calculator\",\"uses\":3,\"until\":\"2126-01-01T00:00:00.000Z\"}\n";
    profile(&home, &format!("tools: {{allow: [calculator]}}\n{keys}"));
    let shown = home.haft(&["profile", "show", "mine"]).stdout;
    let from = shown.find("budget:").unwrap();
    assert_eq!(&shown[from..from + keys.len()], keys);
    home.write("home/profiles/again.md", &shown);
    assert_eq!(home.haft(&["profile", "show", "again"]).stdout, shown);
    let wrong = "budget: {wall_s: 0, money: -1}\nloop: {same_failure: 1}\nunattended: {allow: [\"nothing\", \"calculator=x\", {uses: 1}, {allow: calculator, until: soon}]}";
    profile(&home, wrong);
    haft_snapshot!(home, home.haft(&["profile", "check", "mine"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: [FOLDER]/home/profiles/mine.md:2:18: `budget.wall_s` must be a whole number from 1 to 31622400, not 0
    [FOLDER]/home/profiles/mine.md:2:28: `budget.money` must be between 0.000001 and 1000000000
    [FOLDER]/home/profiles/mine.md:3:8: unknown key `same_failure` in `loop`; did you mean `same_failures`?
    [FOLDER]/home/profiles/mine.md:4:22: there is no tool `nothing`
    [FOLDER]/home/profiles/mine.md:4:33: `unattended.allow`: `x` is no scope; write `path:DIR`, `file:F`, `host:H` or `cmd:SHAPE`, or leave it out for the whole tool
    [FOLDER]/home/profiles/mine.md:4:49: a yes in advance needs `allow`; for example `{allow: "file_write=path:notes", uses: 5}`
    [FOLDER]/home/profiles/mine.md:4:60: `until`: `soon` is no time; write a date such as `2026-12-31`, or `2026-12-31T18:00:00Z`
    "#);
}

// A budget of money that nobody can count does not hold, so it is refused.
#[test]
fn money_needs_a_price() {
    let home = Home::new();
    profile(&home, "tools: {allow: [calculator]}\nbudget: {money: 0.5}");
    home.write("home/haft.toml", "[models.local]\nurl = \"http://127.0.0.1:9/v1#m\"\n");
    haft_snapshot!(home, home.haft(&["run", "--model", "local", "--profile", "mine", "x"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: the profile `mine` limits money (`budget.money`), and the price of the model `local` is not known

      Name an entry of haft.toml that has one: `price = { input = 3.0, output = 15.0 }` for a million tokens each.
    "#);
    home.write(
        "home/haft.toml",
        "[models.local]\nurl = \"http://127.0.0.1:9/v1#m\"\nprice = { input = 3 }\n",
    );
    haft_snapshot!(home, home.haft(&["config", "check"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: [FOLDER]/home/haft.toml:3:11: a price needs `output`; for example `price = { input = 3.0, output = 15.0 }`, for a million tokens each
    "#);
    home.write("home/haft.toml", "");
    let free = script(&home, &[r#"{"text": "Fine."}"#]);
    assert_eq!(home.haft(&["run", "--model", &free, "--profile", "mine", "x"]).stdout, "Fine.\n");
}

// What is too dear to begin with is a refusal.
#[test]
fn a_prompt_that_no_budget_pays_for_is_refused() {
    let home = Home::new();
    profile(&home, "tools: {allow: [calculator]}\nbudget: {model_tokens: 20}");
    let model = script(&home, &[r#"{"text": "Never."}"#]);
    haft_snapshot!(home, home.haft(&["run", "--model", &model, "--profile", "mine", "x"]), @r#"
    exit: 3
    --- stdout
    --- stderr
    session s_[ID], run r_[ID]
    error: The run was ended because the number of model tokens is nearly used up. Raise `budget.model_tokens` in the profile, or ask for less at once. Nothing is left for a summary.
    "#);
}

fn project(home: &Home) {
    home.write("desk/notes/a.md", "old");
    let added = home.haft(&["project", "add", home.path("desk").to_str().unwrap(), "--id", "p"]);
    assert_eq!(added.exit, Some(0), "{added}");
}

// Complaint 20, CONFLICT-28: agreed beforehand, checked beforehand, and no more than that.
#[test]
fn unattended_work_has_what_its_profile_allows_in_advance() {
    let home = Home::new();
    project(&home);
    let tools = "tools: {allow: [file_read, file_write, file_delete], permission: {file_write: ask}}\n";
    profile(&home, &format!("{tools}unattended: {{allow: [\"file_write=path:notes\"]}}"));
    let write = |path: &str| {
        let (path, content) = (format!("path={path}"), "content=new");
        home.haft(&["call", "file_write", &path, content, "--project", "p", "--profile", "mine"]).exit
    };
    assert_eq!((write("notes/b.md"), write("other.md"), write("notes/../c.md")), (Some(0), Some(3), Some(3)));
    assert_eq!(home.read("desk/notes/b.md"), "new");
    let dry = home.haft(&[
        "call",
        "file_write",
        "path=notes/b.md",
        "content=x",
        "--dry-run",
        "--project",
        "p",
        "--profile",
        "mine",
        "--json",
    ]);
    let dry: Value = serde_json::from_str(&dry.stdout).unwrap();
    assert_eq!(dry["decision"]["granted_by"], "unattended.allow");
    let check = || home.haft(&["profile", "check", "mine"]);
    assert_eq!(check().exit, Some(0));
    // What can never be used is told when it is given.
    profile(
        &home,
        "tools: {allow: [file_read]}\nunattended: {allow: [\"file_write\", \"file_read=host:example.com\"]}",
    );
    haft_snapshot!(home, check(), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: [FOLDER]/home/profiles/mine.md: `unattended.allow`: `builtin:project.file_write` is not among the tools of the profile; add it to `tools.allow` first; `builtin:project.file_read` has no part `host:example.com`; it offers nothing but the whole tool
    "#);
}

// Complaint 20: which questions would come.
#[test]
fn the_questions_of_a_profile_are_told_before_anything_runs() {
    let home = Home::new();
    project(&home);
    let tools = "tools: {allow: [file_read, file_write, file_delete, calculator], permission: {file_read: deny, file_write: ask, file_delete: ask}}\n";
    profile(&home, &format!("{tools}unattended: {{allow: [\"file_write=path:.\"]}}"));
    let questions = |more: &[&str]| {
        home.haft(&[&["policy", "questions", "--profile", "mine", "--project", "p"], more].concat())
    };
    haft_snapshot!(home, questions(&[]), @r#"
    exit: 0
    --- stdout
    file_read: denied (permission of `file_read`: deny)
    file_write: asks
      question               Write 11 characters to the file `notes/todo.md`, in place of whatever it holds?
      where nobody is there  runs, by unattended.allow: file_write=path:[FOLDER]/desk
    file_delete: asks
      question               Delete the file `notes/old.md`?
      where nobody is there  refused; `file_delete=file:[FOLDER]/desk/notes/old.md` in `unattended.allow` would cover it
    calculator: runs
      where nobody is there  runs
    --- stderr
    "#);
    let rows: Value = serde_json::from_str(&questions(&["--json"]).stdout).unwrap();
    let told: Vec<(&str, &str, &str)> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| ["alias", "attended", "unattended"].map(|key| row[key].as_str().unwrap()))
        .map(|[alias, attended, unattended]| (alias, attended, unattended))
        .collect();
    assert_eq!(
        told,
        [
            ("file_read", "denied", "refused"),
            ("file_write", "asks", "covered"),
            ("file_delete", "asks", "refused"),
            ("calculator", "runs", "runs"),
        ]
    );
    let capability = rows[2]["capability"].as_str().unwrap();
    let covered: Value = serde_json::from_str(&questions(&["--json", "--allow", capability]).stdout).unwrap();
    assert_eq!(
        (&covered[2]["unattended"], &covered[2]["covered_by"]),
        (&"covered".into(), &"--allow".into())
    );
    assert_eq!(home.haft(&["audit", "runs", "--json"]).stdout.trim(), "[]");
}
