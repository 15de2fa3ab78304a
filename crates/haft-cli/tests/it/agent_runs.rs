//! Runs that write, through the binary: the preset `tauritavern`, and runs that are run again.

use crate::support::Home;

fn script(home: &Home, lines: &[&str]) -> String {
    format!("scripted:{}", home.write("script.jsonl", &lines.join("\n")).display())
}

const WRITE: &str = r#"{"tool_calls": [
  {"id": "a", "name": "workspace_write_file", "arguments": {"path": "output/main.md", "content": "Moss grows.\n"}},
  {"id": "b", "name": "workspace_commit", "arguments": {}}]}"#;
const FINISH: &str = r#"{"tool_calls": [{"id": "c", "name": "workspace_finish", "arguments": {}}]}"#;

fn one_line(text: &str) -> String {
    text.replace('\n', "")
}

// WSP-13, WSP-14, WSP-22: drafts in output/, commits into the message, finish; the conversation is what was committed.
#[test]
fn a_writing_session_prints_what_was_committed() {
    let home = Home::new();
    let again = one_line(
        r#"{"text": "I add a line.", "tool_calls": [
        {"id": "d", "name": "chat_read_messages", "arguments": {"messages": [{"index": 1}]}},
        {"id": "e", "name": "workspace_write_file", "arguments": {"path": "output/main.md", "content": "Moss waits."}}]}"#,
    );
    let end = one_line(
        r#"{"expect": {"last_contains": "Moss grows."}, "tool_calls": [{"id": "f", "name": "workspace_commit", "arguments": {}},
        {"id": "g", "name": "workspace_finish", "arguments": {}}]}"#,
    );
    let model = script(&home, &[&one_line(WRITE), FINISH, &again, &end]);
    let chat = home.haft_with(
        &["chat", "--profile", "tauritavern", "--model", &model],
        "Write of moss\nAnd another line\n",
    );
    assert_eq!(chat.exit, Some(0), "{chat}");
    assert_eq!(chat.stdout, "Moss grows.\nMoss waits.\n");
    haft_snapshot!(home, home.haft(&["sessions", "show", "last"]), @r"
    exit: 0
    --- stdout
    > Write of moss
    Moss grows.

    > And another line
    Moss waits.
    --- stderr
    ");
}

// EXE-13, EXE-16: text is no answer here.
#[test]
fn text_alone_fails_the_run_at_last() {
    let home = Home::new();
    home.write("home/profiles/hasty.md", "---\nextends: tauritavern\nbudget:\n  rounds: 2\n---\n");
    let model = script(&home, &[r#"{"text": "Moss."}"#, r#"{"text": "More moss."}"#]);
    let run = home.haft(&["run", "--profile", "hasty", "--model", &model, "--json", "Write of moss"]);
    assert_eq!(run.exit, Some(1), "{run}");
    let events: Vec<serde_json::Value> =
        run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = events.iter().map(|event| event["kind"].as_str().unwrap()).collect();
    let kinds: Vec<&str> = kinds.into_iter().filter(|kind| !kind.ends_with("_delta")).collect();
    assert_eq!(
        kinds,
        [
            "run_started",
            "context_assembled",
            "model_request_created",
            "model_turn_completed",
            "direct_output_captured",
            "drift_recovery_attempted",
            "model_request_created",
            "model_turn_completed",
            "direct_output_captured",
            "run_failed",
            "run_ended",
        ]
    );
    let ended = &events.last().unwrap()["payload"];
    assert_eq!(
        (&ended["status"], &ended["error_code"]),
        (&"failed".into(), &"model.tool_call_required".into())
    );
}

// CONFLICT-03, CONFLICT-04, CONFLICT-31: the preset holds the model to its contract.
#[test]
fn a_breach_of_the_contract_ends_the_run() {
    let home = Home::new();
    let run = |line: &str| {
        let model = script(&home, &[line]);
        home.haft(&["run", "--profile", "tauritavern", "--model", &model, "Write"])
    };
    let no_id = run(r#"{"tool_calls": [{"name": "workspace_finish", "arguments": {}}]}"#);
    assert_eq!(no_id.exit, Some(1), "{no_id}");
    assert!(no_id.stderr.contains("a call has no id"), "{no_id}");
    let unknown = run(r#"{"tool_calls": [{"id": "a", "name": "workspace.finish", "arguments": {}}]}"#);
    assert_eq!(unknown.exit, Some(1), "{unknown}");
    assert!(unknown.stderr.contains("There is no tool `workspace.finish`"), "{unknown}");
}

#[test]
fn a_run_is_run_again() {
    let home = Home::new();
    home.write("home/profiles/mine.md", "---\nextends: tauritavern\n---\n");
    let model = script(&home, &[&one_line(WRITE), FINISH]);
    let run = home.haft(&["run", "--profile", "mine", "--model", &model, "Write of moss"]);
    assert_eq!((run.exit, run.stdout.as_str()), (Some(0), "Moss grows.\n"), "{run}");
    haft_snapshot!(home, home.haft(&["replay", "last"]), @r"
    exit: 0
    --- stdout
    run r_[ID]: the same
    --- stderr
    ");
    home.write(
        "home/profiles/mine.md",
        "---\nextends: tauritavern\ntools:\n  permission:\n    workspace.write_file: ask\n---\n",
    );
    let again = home.haft(&["replay", "last", "--json"]);
    assert_eq!(again.exit, Some(1), "{again}");
    let again: serde_json::Value = serde_json::from_str(&again.stdout).unwrap();
    let difference = &again["difference"];
    assert_eq!(
        (&difference["kind"], &difference["field"], &difference["recorded"], &difference["replayed"]),
        (&"call".into(), &"decision".into(), &"allow".into(), &"ask".into())
    );
    haft_snapshot!(home, home.haft(&["replay", "r_none"]), @r"
    exit: 2
    --- stdout
    --- stderr
    error: there is no run `r_none`

      `haft audit runs` lists those that there are.
    ");
}

// WSP-01, CFG-04: roots can be narrowed and nothing else.
#[test]
fn a_profile_narrows_the_roots() {
    let home = Home::new();
    home.write(
        "home/profiles/narrow.md",
        "---\nextends: tauritavern\nworkspace:\n  visible: [output, plan]\n  writable: [output/]\n---\n",
    );
    let shown = home.haft(&["profile", "show", "narrow"]).stdout;
    assert!(shown.contains("workspace:\n  visible: [output, plan]\n  writable: [output]\n"), "{shown}");
    home.write("home/profiles/again.md", &shown);
    assert_eq!(home.haft(&["profile", "show", "again"]).stdout, shown);
    home.write("home/profiles/wrong.md", "---\nworkspace:\n  visible: [tool-results]\n---\n");
    haft_snapshot!(home, home.haft(&["profile", "check", "wrong"]), @r"
    exit: 2
    --- stdout
    --- stderr
    error: [FOLDER]/home/profiles/wrong.md:3:13: `tool-results` is no root of `workspace.visible`; it takes output, scratch, plan, summaries, persist
    ");
}
