//! `haft run`: one prompt, with models that are no language models.

use crate::support::Home;

fn script(home: &Home, lines: &[&str]) -> String {
    format!("scripted:{}", home.write("script.jsonl", &lines.join("\n")).display())
}

const CALL: &str =
    r#"{"tool_calls": [{"id": "x", "name": "calculator", "arguments": {"expression": "6*7"}}]}"#;

#[test]
fn the_final_text_goes_to_stdout_and_the_calls_to_stderr() {
    let home = Home::new();
    let model = script(&home, &[CALL, r#"{"text": "It is 42.", "expect": {"last_contains": "42"}}"#]);
    haft_snapshot!(home, home.haft(&["run", "--model", &model, "What is 6*7?"]), @r#"
    exit: 0
    --- stdout
    It is 42.
    --- stderr
    session s_[ID], run r_[ID]
    → calculator expression=6*7
    ← calculator: 42 ([N] ms)
    "#);
    haft_snapshot!(home, home.haft_with(&["run", "--model", "demo", "-"], "calculator expression=1+1\n"), @r#"
    exit: 0
    --- stdout
    calculator answered:
    2
    --- stderr
    session s_[ID], run r_[ID]
    → calculator expression=1+1
    ← calculator: 2 ([N] ms)
    "#);
}

// JRN-01
#[test]
fn json_is_one_event_a_line_and_ends_with_run_ended() {
    let home = Home::new();
    let model = script(&home, &[CALL, r#"{"chunks": ["It is ", "42."]}"#]);
    let run = home.haft(&["run", "--json", "--model", &model, "x"]);
    assert_eq!(run.exit, Some(0), "{run}");
    let events: Vec<serde_json::Value> =
        run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for event in &events {
        let keys: Vec<&str> = event.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, ["v", "run", "seq", "time", "kind", "payload"]);
    }
    let kinds: Vec<&str> = events.iter().map(|event| event["kind"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        [
            "run_started",
            "context_assembled",
            "model_request_created",
            "model_turn_completed",
            "tool_call_requested",
            "tool_call_started",
            "tool_call_completed",
            "model_request_created",
            "text_delta",
            "text_delta",
            "model_turn_completed",
            "run_ended"
        ]
    );
    let numbers: Vec<u64> = events.iter().filter_map(|event| event["seq"].as_u64()).collect();
    assert_eq!(numbers, (0..10).collect::<Vec<_>>());
    assert_eq!(events.last().unwrap()["payload"]["status"], "completed");
    assert_eq!(events.last().unwrap()["payload"]["text"], "It is 42.");
}

// APR-06
#[test]
fn refusals_inside_a_run_are_told_to_the_model_and_do_not_count() {
    let home = Home::new();
    home.write(
        "home/profiles/asks.md",
        "---\ntools: {allow: [calculator], permission: {calculator: ask}}\n---\n",
    );
    let model = script(&home, &[CALL, r#"{"text": "Then not.", "expect": {"last_contains": "refused"}}"#]);
    haft_snapshot!(home, home.haft(&["run", "--profile", "asks", "--model", &model, "x"]), @r#"
    exit: 0
    --- stdout
    Then not.
    --- stderr
    session s_[ID], run r_[ID]
    → calculator expression=6*7
    ✗ calculator: `calculator` was refused: it needs a person's yes, and nobody is there to ask.
    "#);
}

// CONFLICT-03, CONFLICT-04, EXE-09
#[test]
fn a_call_of_an_unknown_tool_is_told_or_fails_the_run_as_the_profile_says() {
    let home = Home::new();
    home.write(
        "home/profiles/strict.md",
        "---\ntools: {allow: [calculator]}\nunknown_alias: fail_fast\n---\n",
    );
    let unknown = r#"{"tool_calls": [{"name": "calculater", "arguments": {}}]}"#;
    let model = script(
        &home,
        &[unknown, r#"{"text": "I see.", "expect": {"last_contains": "Did you mean calculator?"}}"#],
    );
    assert_eq!(home.haft(&["run", "--model", &model, "x"]).stdout, "I see.\n");
    haft_snapshot!(home, home.haft(&["run", "--model", &model, "x", "--profile", "strict"]), @r#"
    exit: 1
    --- stdout
    --- stderr
    session s_[ID], run r_[ID]
    error: The model broke its contract: There is no tool `calculater`. Did you mean calculator?
    "#);
}

#[cfg(unix)]
#[test]
fn ctrl_c_stops_the_run() {
    use std::io::{BufRead, BufReader};
    let home = Home::new();
    let model = script(&home, &[r#"{"text": "Never.", "delay_ms": 600000}"#]);
    let mut command = home.command(&["run", "--model", &model, "x"]);
    command.stdin(std::process::Stdio::null()).stderr(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    assert!(line.starts_with("session s_"), "{line}");
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let ended = home.haft(&["audit", "show", "last"]).stdout;
    assert!(ended.contains("run_ended              cancelled"), "{ended}");
}

// GAT-04, GAT-06
#[test]
fn budgets_of_the_profile_hold() {
    let home = Home::new();
    home.write(
        "home/profiles/few.md",
        "---\ntools: {allow: [calculator]}\nbudget: {rounds: 2, calls_of: {calculator: 1}}\n---\n",
    );
    let two = r#"{"tool_calls": [{"name": "calculator", "arguments": {"expression": "1"}}, {"name": "calculator", "arguments": {"expression": "2"}}]}"#;
    let model = script(&home, &[two, r#"{"text": "Enough.", "expect": {"last_contains": "no calls left"}}"#]);
    assert_eq!(home.haft(&["run", "--model", &model, "x", "--profile", "few"]).stdout, "Enough.\n");
    let endless = script(&home, &[CALL, CALL, CALL]);
    haft_snapshot!(home, home.haft(&["run", "--model", &endless, "x", "--profile", "few"]), @r#"
    exit: 1
    --- stdout
    --- stderr
    session s_[ID], run r_[ID]
    → calculator expression=6*7
    ← calculator: 42 ([N] ms)
    → calculator expression=6*7
    ✗ calculator: `calculator` has no calls left in this conversation. Go on without it.
    → calculator expression=6*7
    ✗ calculator: Tools are switched off for this answer.
    error: The model used all 2 rounds and still wants to call tools. Raise `budget.rounds` in the profile, or ask for less at once.
    "#);
    let text =
        "<tool_call><name>calculator</name><params><expression>1</expression></params></tool_call>".repeat(2);
    assert_eq!(home.haft_with(&["exec", "--profile", "few"], &text).exit, Some(3));
}

// EXE-19
#[test]
fn tools_can_be_switched_off_for_one_answer() {
    let home = Home::new();
    let model = script(&home, &[CALL, r#"{"text": "Without tools."}"#]);
    let run = home.haft(&["run", "--no-tools", "--model", &model, "x"]);
    assert!(run.stderr.contains("Tools are switched off"), "{run}");
}

// JRN-01
#[test]
fn every_result_that_is_an_error_is_a_failed_call_with_its_code() {
    let home = Home::new();
    let profile = "---\ntools: {allow: [calculator, text_process], permission: {text_process: deny}}\n---\n";
    home.write("home/profiles/mine.md", profile);
    let calls = r#"{"tool_calls": [{"name": "calculator", "arguments": {"expression": "1/0"}}, {"name": "calculator", "arguments": {}},
        {"name": "text_process", "arguments": {"text": "a", "operation": "upper"}}, {"name": "nope", "arguments": {}}]}"#
        .replace('\n', "");
    let model = script(&home, &[&calls, r#"{"text": "Well."}"#]);
    let run = home.haft(&["run", "--json", "--profile", "mine", "--model", &model, "x"]);
    assert_eq!(run.exit, Some(0), "{run}");
    let events = run.stdout.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let codes: Vec<String> = events
        .filter(|event| event["kind"] == "tool_call_failed")
        .map(|event| event["payload"]["error_code"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        codes,
        ["data.calculation_failed", "agent.invalid_arguments", "agent.tool_denied", "agent.unknown_tool"]
    );
}

#[test]
fn a_script_at_its_end_fails_the_run() {
    let home = Home::new();
    let model = script(&home, &[CALL]);
    haft_snapshot!(home, home.haft(&["run", "--model", &model, "x"]), @r#"
    exit: 1
    --- stdout
    --- stderr
    session s_[ID], run r_[ID]
    → calculator expression=6*7
    ← calculator: 42 ([N] ms)
    error: the script [FOLDER]/script.jsonl has no turn left (model.script_exhausted); add a line or end the run earlier
    "#);
    let json = home.haft(&["run", "--json", "--model", &model, "x"]);
    assert!(json.stdout.lines().last().unwrap().contains("model.script_exhausted"), "{json}");
    let other = script(&home, &[r#"{"text": "x", "expect": {"last_contains": "moon"}}"#]);
    haft_snapshot!(home, home.haft(&["run", "--model", &other, "sun"]), @r#"
    exit: 1
    --- stdout
    --- stderr
    session s_[ID], run r_[ID]
    error: the script [FOLDER]/script.jsonl, line 1: the last message does not contain "moon"; it was "sun"
    "#);
    let bad = script(&home, &[r#"{"txt": "x"}"#]);
    haft_snapshot!(home, home.haft(&["run", "--model", &bad, "sun"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: the script [FOLDER]/script.jsonl, line 1: unknown key `txt` in a turn; did you mean `text`?
    "#);
    haft_snapshot!(home, home.haft(&["run", "--model", "scripted:absent.jsonl", "sun"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: the script `absent.jsonl` cannot be read: No such file or directory (os error 2)
    "#);
}

#[test]
fn without_a_model_the_next_step_is_told() {
    let home = Home::new();
    haft_snapshot!(home, home.haft(&["run", "Hello"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: no model is named

      Name one with `--model`, for example `--model demo` or `--model http://127.0.0.1:[PORT]/v1#NAME`,
      or set `default_model` in haft.toml. `haft doctor` looks for model servers on this machine.
    "#);
    haft_snapshot!(home, home.haft(&["run", "Hello", "--model", "opnai:x"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: `opnai:x` names no model: the word before `:` is unknown. Write openai:NAME, anthropic:NAME, gemini:NAME, http://host:port/v1#NAME, scripted:FILE, demo, or the name of a model entry
    "#);
    haft_snapshot!(home, home.haft(&["run", "Hello", "--model", "fast"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: there is no model `fast`

      Write openai:NAME, anthropic:NAME, gemini:NAME, http://host:port/v1#NAME, scripted:FILE, demo, or add [models.NAME] to haft.toml.
    "#);
    haft_snapshot!(home, home.haft(&["run", "Hello", "--model", "anthropic:x"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: `anthropic:x` needs a key: set ANTHROPIC_API_KEY, or name another variable by `key_env` in a model entry
    "#);
    haft_snapshot!(home, home.haft(&["run", "Hello", "--model", "openai:x"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: `openai:x` needs a key: set OPENAI_API_KEY, or name another variable by `key_env` in a model entry
    "#);
    home.write(
        "home/haft.toml",
        "[models.fast]\nurl = \"http://127.0.0.1:9/v1#x\"\nkey_env = \"NO_SUCH_KEY\"\n",
    );
    haft_snapshot!(home, home.haft(&["run", "Hello", "--model", "fast"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: haft.toml, `models.fast`: the environment variable NO_SUCH_KEY of `key_env` is not set

      Set NO_SUCH_KEY to the key of the model, or take `key_env` out.
    "#);
    haft_snapshot!(home, home.haft(&["run", "Hello", "--model", "fats"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: there is no model `fats`

      Did you mean fast?
    "#);
}

#[test]
fn the_model_is_that_of_the_flag_then_the_profile_then_the_configuration() {
    let home = Home::new();
    let named = |name: &str| {
        let path = home.write(&format!("{name}.jsonl"), &format!("{{\"text\": \"{name}\"}}"));
        format!("scripted:{}", path.display())
    };
    home.write("home/haft.toml", &format!("default_model = \"{}\"\n", named("configuration")));
    home.write("home/profiles/own.md", &format!("---\nmodel: {}\n---\n", named("profile")));
    let said = |flags: &[&str]| home.haft(&[&["run", "x"], flags].concat()).stdout;
    assert_eq!(said(&[]), "configuration\n");
    assert_eq!(said(&["--profile", "own"]), "profile\n");
    assert_eq!(said(&["--profile", "own", "--model", &named("flag")]), "flag\n");
}

#[test]
fn a_dry_run_asks_the_model_once_and_runs_nothing() {
    let home = Home::new();
    let model = script(
        &home,
        &[
            r#"{"text": "I would do this.", "tool_calls": [{"name": "calculator", "arguments": {"expression": "6*7"}}, {"name": "nope", "arguments": {}}]}"#,
        ],
    );
    haft_snapshot!(home, home.haft(&["run", "--dry-run", "--model", &model, "x"]), @r#"
    exit: 1
    --- stdout
    I would do this.
    calculator {"expression":"6*7"}
      allow: permission of `calculator`: allow
    nope {}
      would not run: There is no tool `nope`. The tools are: file_read, file_write, file_edit, file_list, calculator, create_artifact, update_artifact, rewrite_artifact, read_artifact, grep_artifact, call_subagent, skill_list, skill_read.
    --- stderr
    "#);
    assert!(!home.path("home").exists());
}

// CONFLICT-02
#[test]
fn a_profile_with_a_text_dialect_reads_calls_in_the_text() {
    let home = Home::new();
    let model = script(
        &home,
        &[
            r#"{"text": "Wait. <tool_call><name>create_artifact</name><params><id>a</id><title>T</title><content>c</content></params></tool_call>"}"#,
            r#"{"text": "Made.", "expect": {"last_contains": "<tool_result name=\"create_artifact\" success=\"true\">"}}"#,
        ],
    );
    let run = home.haft(&["run", "--profile", "artifactflow", "--model", &model, "x"]);
    assert_eq!((run.exit, run.stdout.as_str()), (Some(0), "Made.\n"), "{run}");
    assert_eq!(home.haft(&["artifacts", "get", "a"]).stdout, "c");
}

#[test]
fn a_session_goes_on_with_what_was_said() {
    let home = Home::new();
    let first = script(&home, &[r#"{"text": "Noted."}"#]);
    home.haft(&["run", "--model", &first, "My name is Ada."]);
    let run = home.haft(&["run", "--session", "last", "--model", "demo", "calculator expression=1"]);
    assert_eq!(run.exit, Some(0), "{run}");
    let shown = home.haft(&["sessions", "show", "last"]).stdout;
    assert!(
        shown.contains("> My name is Ada.") && shown.contains("Noted.") && shown.contains("→ calculator"),
        "{shown}"
    );
}

#[test]
fn a_run_can_be_recorded_and_said_again() {
    let home = Home::new();
    let prompt = "calculator expression=6*7";
    let live = home.haft(&["run", "--model", "demo", "--record", "script.jsonl", prompt]);
    assert_eq!(live.exit, Some(0), "{live}");
    let script = home.read("script.jsonl");
    assert_eq!(script.lines().count(), 2, "{script}");
    let again = home.haft(&["run", "--model", "scripted:script.jsonl", prompt]);
    assert_eq!((again.exit, &again.stdout), (Some(0), &live.stdout), "{again}");
    // A recording of the script is the script.
    home.haft(&["run", "--model", "scripted:script.jsonl", "--record", "copy.jsonl", prompt]);
    assert_eq!(home.read("copy.jsonl"), script);

    haft_snapshot!(home, home.haft(&["run", "--model", "demo", "--record", "script.jsonl", prompt]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: `script.jsonl` cannot be made: File exists (os error 17)

      Name a file that is not there yet, in a folder that is.
    "#);
    assert_eq!(home.read("script.jsonl"), script);
    let dry = home.haft(&["run", "--model", "demo", "--record", "x.jsonl", "--dry-run", prompt]);
    assert_eq!(dry.exit, Some(2), "{dry}");
}
