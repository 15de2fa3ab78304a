//! Rules of `haft.toml` and of profiles, from the file to the decision of a call.

use crate::support::Home;

const RULES: &str = r#"[[policy.rules]]
tool = "file_*"
decision = "deny"
path = "secrets"
reason = "secrets are read by people"
match = [{ path = "secrets/key" }, { path = "notes/../secrets/key" }]
not_match = [{ path = "secrets.md" }]

[[policy.rules]]
tool = "file_write"
decision = "allow"
path = "notes"

[[policy.rules]]
tool = "calculator"
decision = "deny"
pointer = "/expression"
glob = "*!*"
"#;

fn home() -> Home {
    let home = Home::new();
    home.write("home/haft.toml", RULES);
    home
}

// POL-03
#[test]
fn a_rule_of_the_user_decides_a_call() {
    let home = home();
    haft_snapshot!(home, home.haft(&["call", "calculator", "expression=5!"]), @r#"
    exit: 3
    --- stdout
    `calculator` was refused: a rule forbids this call; ask the person before you try another way.
    --- stderr
    session s_[ID], run r_[ID]
    "#);
    let called = home.json(&["call", "calculator", "expression=5!"]);
    assert_eq!(called["decision"]["rule"], "haft.toml:15: deny `calculator` where `/expression` fits `*!*`");
    assert_eq!(called["decision"]["outcome"], "deny");
    // `--yes` and `--allow` lift no deny (POL-06).
    let run = home.haft(&["call", "calculator", "expression=5!", "--yes", "--allow", "calculator"]);
    assert_eq!(run.exit, Some(3), "{run}");
    let called = home.json(&["call", "calculator", "expression=5"]);
    assert_eq!(called["decision"]["rule"], "permission of `calculator`: allow");
}

#[test]
fn an_allow_of_a_folder_stands_in_for_the_question() {
    let home = home();
    home.write("demo/notes/a.md", "a");
    assert_eq!(home.haft(&["project", "add", "demo", "--id", "demo"]).exit, Some(0));
    let write = |path: &str| {
        home.haft(&["call", "--project", "demo", "file_write", &format!("path={path}"), "content=x"])
    };
    assert_eq!(write("notes/b.md").exit, Some(0));
    assert_eq!(write("b.md").exit, Some(3));
    haft_snapshot!(home, write("secrets/key"), @r#"
    exit: 3
    --- stdout
    `file_write` was refused: a rule forbids it: secrets are read by people.
    --- stderr
    session s_[ID], run r_[ID]
    "#);
}

// POL-01, POL-02
#[test]
fn a_decision_is_explained() {
    let home = home();
    let write = r#"{"path": "notes/a", "content": "x"}"#;
    haft_snapshot!(home, home.haft(&["policy", "explain", "file_write", "--args", write]), @r#"
    exit: 0
    --- stdout
    file_write (builtin:project.file_write): allow
      decided by    haft.toml:10: allow `file_write` where path is in `notes`
      did not win   permission of `file_write`: ask: the user's rules spoke first
      would change  a deny rule for this call, in haft.toml or in the profile
      would change  an ask rule before the one at haft.toml:10, or that rule taken away
    --- stderr
    "#);
    haft_snapshot!(home, home.haft(&["policy", "explain", "file_write", "--args", write, "--json"]), @r#"
    exit: 0
    --- stdout
    {"tool_id":"builtin:project.file_write","decision":"allow","visible":true,"callable":true,"approval":false,"reason":null,"budget":{"calls":80,"calls_of_tool":null},"rule":"haft.toml:10: allow `file_write` where path is in `notes`","lost":[{"rule":"permission of `file_write`: ask","decision":"ask","why":"the user's rules spoke first"}],"would_change":["a deny rule for this call, in haft.toml or in the profile","an ask rule before the one at haft.toml:10, or that rule taken away"],"question":null,"scopes":["file:notes/a","path:notes","tool"],"granted_by":null,"outside":{"asks":false,"source":null}}
    --- stderr
    "#);
    let ask = r#"{"path": "a", "content": "x"}"#;
    haft_snapshot!(home, home.haft(&["policy", "explain", "file_write", "--args", ask]), @r#"
    exit: 0
    --- stdout
    file_write (builtin:project.file_write): ask
      decided by    permission of `file_write`: ask
      question      Write 1 character to the file `a`, in place of whatever it holds?
      a yes covers  file:a, path:., the whole tool
      would change  a person's yes, or one in advance: `--allow file_write=file:a` or `--yes`
      would change  an allow rule for this call, in haft.toml or in the profile
      would change  a deny rule for this call
    --- stderr
    "#);
    haft_snapshot!(home, home.haft(&["policy", "explain", "file_read", "--args", r#"{"path": "SECRETS"}"#]), @r#"
    exit: 0
    --- stdout
    file_read (builtin:project.file_read): deny
      decided by    haft.toml:2: deny `file_*` where path is in `secrets` (secrets are read by people)
      did not win   permission of `file_read`: allow: a deny comes before every allow and ask
      would change  change or remove the rule at haft.toml:2; no allow, grant or flag lifts a deny
    --- stderr
    "#);
    haft_snapshot!(home, home.haft(&["policy", "explain", "file_read", "--args", "{}"]), @r#"
    exit: 1
    --- stdout
    --- stderr
    error: The call of `file_read` cannot run: Invalid arguments: missing required parameter "path" (string).

      `haft call file_read --help` shows the tool's arguments.
    "#);
    haft_snapshot!(home, home.haft(&["policy", "explain", "nothing"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: there is no tool `nothing`

      `haft tools` lists the tools of the profile.
    "#);
}

// POL-02: which yes answers, and why another one does not.
#[test]
fn explain_tells_which_yes_answers() {
    let home = home();
    let write = r#"{"path": "a", "content": "x"}"#;
    let explain = |allow: &str| {
        home.haft(&["policy", "explain", "file_write", "--args", write, "--allow", allow]).stdout
    };
    let answered = explain("file_write");
    assert!(answered.contains("  answered by   --allow\n"), "{answered}");
    let other = explain("file_write=path:/elsewhere");
    assert!(!other.contains("answered by"), "{other}");
    assert!(other.contains("  no answer     --allow to path:/elsewhere: it covers other calls\n"), "{other}");
}

// POL-08
#[test]
fn a_tool_that_a_rule_hides_is_seen_by_nobody() {
    let home = Home::new();
    home.write("home/haft.toml", "[[policy.rules]]\ntool = \"calculator\"\ndecision = \"deny\"\n");
    assert!(!home.haft(&["tools"]).stdout.contains("calculator"));
    haft_snapshot!(home, home.haft(&["call", "calculator", "expression=1"]), @r#"
    exit: 3
    --- stdout
    --- stderr
    error: `builtin:data.calculator` is hidden by a rule: haft.toml:2: deny `calculator`

      No allow, grant or flag lifts a deny; change or remove the rule.
    "#);
    haft_snapshot!(home, home.haft(&["policy", "explain", "calculator"]), @r#"
    exit: 0
    --- stdout
    calculator (builtin:data.calculator): deny, and the model does not see it
      decided by    haft.toml:2: deny `calculator`
      would change  change or remove the rule at haft.toml:2; no allow, grant or flag lifts a deny
    --- stderr
    "#);
    haft_snapshot!(home, home.haft(&["policy", "explain", "calculator", "--json"]), @r#"
    exit: 0
    --- stdout
    {"tool_id":"builtin:data.calculator","decision":"deny","visible":false,"callable":false,"approval":false,"reason":null,"budget":{"calls":80,"calls_of_tool":null},"rule":"haft.toml:2: deny `calculator`","lost":[],"would_change":["change or remove the rule at haft.toml:2; no allow, grant or flag lifts a deny"],"question":null,"scopes":[],"granted_by":null,"outside":{"asks":false,"source":null}}
    --- stderr
    "#);
}

#[test]
fn rules_of_a_profile_come_after_those_of_the_user_and_are_shown_with_it() {
    let home = home();
    home.write(
        "home/profiles/mine.md",
        "---\nextends: default\npolicy:\n  rules:\n    - tool: file_write\n      decision: ask\n      path: notes\n    \
         - {tool: calculator, decision: ask, attended: false}\n---\n",
    );
    let write = r#"{"path": "notes/a", "content": "x"}"#;
    let explained = home.json(&["--profile", "mine", "policy", "explain", "file_write", "--args", write]);
    assert_eq!(explained["rule"], "haft.toml:10: allow `file_write` where path is in `notes`");
    assert_eq!(explained["lost"][0]["why"], "the user's rules spoke first");
    let explained = home.json(&[
        "--profile",
        "mine",
        "policy",
        "explain",
        "calculator",
        "--args",
        r#"{"expression": "1"}"#,
    ]);
    assert_eq!(explained["decision"], "ask");
    // What `profile show` prints, read again, gives the same profile.
    let shown = home.haft(&["profile", "show", "mine"]).stdout;
    home.write("home/profiles/again.md", &shown);
    assert_eq!(home.haft(&["profile", "show", "again"]).stdout, shown);
    assert!(shown.contains(r#"    - {"tool":"calculator","decision":"ask","attended":false}"#), "{shown}");
}

// harness-pains §5 item 11
#[test]
fn what_is_wrong_with_rules_is_told_with_its_line() {
    let home = Home::new();
    home.write(
        "home/haft.toml",
        "[[policy.rules]]\ntool = \"file_read\"\ndecison = \"deny\"\n[[policy.rules]]\ndecision = \"never\"\nequals = 1\n",
    );
    haft_snapshot!(home, home.haft(&["tools"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: [FOLDER]/home/haft.toml:2:1: a rule needs `decision`; it takes `allow`, `ask` and `deny`
    [FOLDER]/home/haft.toml:3:1: unknown key `decison` in `policy.rules`; did you mean `decision`?
    [FOLDER]/home/haft.toml:5:1: `equals` and `glob` need `pointer` beside them; for example `pointer = "/mode"` with `equals = "append"`
    [FOLDER]/home/haft.toml:5:12: `never` is no value of `policy.rules.decision`; it takes `allow`, `ask`, `deny`
    "#);
    home.write(
        "home/haft.toml",
        "[[policy.rules]]\ntool = \"file_raed\"\ndecision = \"deny\"\n\
         [[policy.rules]]\ntool = \"calculator\"\npath = \"a\"\ndecision = \"deny\"\n\
         [[policy.rules]]\ntool = \"file_read\"\npath = \"a\"\ndecision = \"deny\"\nmatch = [{ path = \"b\" }]\n\
         [[policy.rules]]\ntool = \"file_read\"\npath = \"a\"\ndecision = \"allow\"\n",
    );
    haft_snapshot!(home, home.haft(&["call", "calculator", "expression=1"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: [FOLDER]/home/haft.toml:2:1: this rule can never match: no tool fits `file_raed`; did you mean `file_read`?
    [FOLDER]/home/haft.toml:5:1: this rule can never match: no tool that fits `calculator` has an argument that names a path
    [FOLDER]/home/haft.toml:9:1: this rule does not match its own example of `match`: {"path":"b"}; mend the rule or the example
    [FOLDER]/home/haft.toml:14:1: this rule contradicts the one at haft.toml:9, which says `deny` for the same calls; keep one of them
    "#);
    home.write("home/haft.toml", "");
    home.write(
        "home/profiles/mine.md",
        "---\npolicy:\n  rules:\n    - tool: file_raed\n      decision: deny\n---\n",
    );
    haft_snapshot!(home, home.haft(&["profile", "check", "mine"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: [FOLDER]/home/profiles/mine.md:4:7: this rule can never match: no tool fits `file_raed`; did you mean `file_read`?
    "#);
}

#[test]
fn rules_that_never_decide_are_found() {
    let home = home();
    haft_snapshot!(home, home.haft(&["policy"]), @r#"
    exit: 0
    --- stdout
    3 rules: good
    --- stderr
    "#);
    home.write(
        "home/haft.toml",
        &format!("[[policy.rules]]\ntool = \"file_write\"\ndecision = \"ask\"\n{RULES}"),
    );
    haft_snapshot!(home, home.haft(&["policy", "lint"]), @r#"
    exit: 1
    --- stdout
    haft.toml:13: this rule never decides: the one at haft.toml:2 always speaks first; take it away, or put it before the other
    --- stderr
    "#);
    haft_snapshot!(home, home.haft(&["policy", "lint", "--json"]), @r#"
    exit: 1
    --- stdout
    [{"file":"haft.toml","line":13,"text":"this rule never decides: the one at haft.toml:2 always speaks first","hint":"take it away, or put it before the other"}]
    --- stderr
    "#);
}

#[test]
fn a_file_of_cases_is_held_against_the_rules() {
    let home = home();
    let cases = "[[cases]]\ntool = \"calculator\"\nargs = { expression = \"1+1\" }\nexpect = \"allow\"\n\
                 [[cases]]\ntool = \"file_read\"\nargs = { path = \"secrets/key\" }\nexpect = \"deny\"\n";
    home.write("cases.toml", cases);
    haft_snapshot!(home, home.haft(&["policy", "test", "cases.toml"]), @r#"
    exit: 0
    --- stdout
    2 cases: good
    --- stderr
    "#);
    home.write(
        "cases.toml",
        &format!(
            "{cases}[[cases]]\ntool = \"file_write\"\nargs = {{ path = \"a\", content = \"x\" }}\nexpect = \"allow\"\n\
             [[cases]]\ntool = \"file_read\"\nexpect = \"ask\"\n"
        ),
    );
    haft_snapshot!(home, home.haft(&["policy", "test", "cases.toml"]), @r#"
    exit: 1
    --- stdout
    cases.toml:10: `file_write` should be `allow` and is `ask`: permission of `file_write`: ask
    cases.toml:14: `file_read` should be `ask` and is `invalid`: The call of `file_read` cannot run: Invalid arguments: missing required parameter "path" (string).
    2 of 4 cases failed
    --- stderr
    "#);
    let rows = home.json(&["policy", "test", "cases.toml"]);
    assert_eq!(rows[2]["rule"], "permission of `file_write`: ask");
    home.write("cases.toml", "[[cases]]\ntool = \"calculator\"\nexpekt = \"allow\"\n");
    haft_snapshot!(home, home.haft(&["policy", "test", "cases.toml"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: cases.toml:2:1: a case needs `expect`
    cases.toml:3:1: unknown key `expekt` in `cases`; did you mean `expect`?
    "#);
}

// POL-01: rules for the tools of one source, what holds where nobody speaks, and the version of what rules mean.
#[test]
fn sources_defaults_and_versions_are_read_and_checked() {
    let home = Home::new();
    home.write(
        "home/haft.toml",
        "[policy]\nversion = 1\ndefault = \"deny\"\n[[policy.source.builtin]]\ntool = \"calculator\"\ndecision = \"allow\"\n",
    );
    let called = home.json(&["call", "calculator", "expression=1+1"]);
    assert_eq!(called["decision"]["rule"], "haft.toml:5: allow `calculator`");
    let refused = home.json(&["call", "grep_artifact", "pattern=x"]);
    assert_eq!(refused["decision"]["rule"], "permission of `grep_artifact`: deny");
    let told = |text: &str| {
        home.write("home/haft.toml", text);
        home.haft(&["policy"]).stderr
    };
    assert!(
        told("[policy]\nversion = 2\n").contains("`policy.version` must be"),
        "a later meaning is not guessed at"
    );
    assert!(told("[[policy.source.mcp]]\ndecision = \"ask\"\n").contains("`mcp` is no source of tools"));
    assert!(
        told("[[policy.rules]]\ntool = \"calculator\"\ndecision = \"deny\"\ncommand = \"ls\"\n")
            .contains("no tool that fits `calculator` takes a command line")
    );
    home.write("home/haft.toml", "");
}
