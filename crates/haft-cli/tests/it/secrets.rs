//! Secrets of the home: masked wherever something is stored or shown, and read with consent alone.

use serde_json::Value;

use crate::support::Home;

const KEY: &str = "n0body-kn0ws-this";
const FORM: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

fn home() -> Home {
    let home = Home::new();
    home.write("home/.secrets/weather", &format!("{KEY}\n"));
    home.write(
        "profile.md",
        "---\nextends: default\ntools:\n  allow: [host.file_read, data.calculator]\n---\n",
    );
    home
}

fn profile(home: &Home) -> String {
    home.path("profile.md").display().to_string()
}

fn script(home: &Home, lines: &[&str]) -> String {
    format!("scripted:{}", home.write("script.jsonl", &lines.join("\n")).display())
}

#[track_caller]
fn assert_not_stored(home: &Home, secret: &str) {
    for name in ["home/haft.db", "home/haft.db-wal"] {
        let bytes = std::fs::read(home.path(name)).unwrap_or_default();
        let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
        assert!(!found, "{name} holds {secret}");
    }
}

// APR-14, CONFLICT-29
#[test]
fn a_secret_is_read_with_a_yes_to_that_very_file_alone() {
    let home = home();
    let file = home.path("home/.secrets/weather").display().to_string();
    let (profile, path) = (profile(&home), format!("path={file}"));
    let read = |allow: &[&str]| {
        home.haft(&[&["call", "--profile", &profile, "host.file_read", &path], allow].concat())
    };
    let folder = home.path("home/.secrets").display().to_string();
    for wide in [
        "host.file_read".to_owned(),
        format!("host.file_read=path:{folder}"),
        "host.file_read=path:/".to_owned(),
    ] {
        let refused = read(&["--allow", &wide]);
        assert_eq!(refused.exit, Some(3), "{wide}: {refused}");
        assert!(!refused.stdout.contains(KEY), "{wide}: {refused}");
    }
    let given = read(&["--allow", &format!("host.file_read=file:{file}")]);
    assert_eq!((given.exit, given.stdout.trim()), (Some(0), KEY));
    let shown = home.haft(&["audit", "show", "last", "--json"]).stdout;
    assert!(shown.contains("[secret result, ") && !shown.contains(KEY), "{shown}");
    assert_not_stored(&home, KEY);
}

#[test]
fn known_secrets_and_forms_are_shown_nowhere() {
    let home = home();
    let text = format!("it is {KEY} or {FORM}");
    let model = script(&home, &[&serde_json::json!({"text": text}).to_string()]);
    let ran = home.haft(&["run", "--json", "--model", &model, &format!("use {KEY} and {FORM}")]);
    assert_eq!(ran.exit, Some(0), "{ran}");
    assert!(!ran.stdout.contains(KEY) && !ran.stdout.contains(FORM), "{ran}");
    assert!(ran.stdout.contains("it is [secret weather] or [masked GitHub token, 40 characters]"), "{ran}");
    let plain = home.haft(&["run", "--model", &model, "again"]);
    assert_eq!(plain.stdout.trim(), "it is [secret weather] or [masked GitHub token, 40 characters]");
    for secret in [KEY, FORM] {
        assert_not_stored(&home, secret);
    }
}

#[test]
fn the_key_of_a_model_is_masked_too() {
    let home = Home::new();
    home.write("home/haft.toml", "[models.mine]\nurl = \"http://127.0.0.1:9/v1#m\"\nkey_env = \"MY_KEY\"\n");
    let model = script(&home, &[r#"{"text": "the key is abcd-efgh-ijkl"}"#]);
    let mut command = home.command(&["run", "--model", &model, "hello"]);
    let ran = crate::support::run(command.env("MY_KEY", "abcd-efgh-ijkl"), b"");
    assert_eq!(ran.stdout.trim(), "the key is [secret MY_KEY]", "{ran}");
    assert_not_stored(&home, "abcd-efgh-ijkl");
}

#[cfg(unix)]
#[test]
fn secrets_that_cannot_be_read_stop_everything_that_would_store_them() {
    let home = Home::new();
    home.write("home/.secrets", "a file in the place of the folder");
    let refused = home.haft(&["call", "calculator", "expression=1+1"]);
    assert_eq!(refused.exit, Some(1), "{refused}");
    assert!(refused.stderr.contains("could not be masked"), "{refused}");
}

#[test]
fn a_message_that_was_taken_away_is_told_of() {
    let home = home();
    let model = script(
        &home,
        &[
            r#"{"text": "I look.", "tool_calls": [{"name": "calculator", "arguments": {"expression": "6*7"}}]}"#,
            r#"{"text": "It is 42."}"#,
        ],
    );
    assert_eq!(home.haft(&["run", "--model", &model, "my name is Ada"]).exit, Some(0));
    let events = home.json(&["audit", "show", "last"]);
    let seq = |kind: &str| {
        let found = events.as_array().unwrap().iter().find(|event| event["kind"] == kind);
        found.map_or(Value::Null, |event| event["seq"].clone()).to_string()
    };
    for (kind, reason) in [("run_started", "a name"), ("tool_call_completed", "a number")] {
        let redacted = home.haft(&["audit", "redact", "last", &seq(kind), "--reason", reason]);
        assert_eq!(redacted.exit, Some(0), "{redacted}");
    }
    let shown = home.haft(&["sessions", "show", "last"]).stdout;
    assert!(shown.starts_with("> [This message was taken away: a name]\n"), "{shown}");
    assert!(shown.contains("calculator: [This result was taken away: a number]\n"), "{shown}");
    assert!(shown.ends_with("It is 42.\n") && !shown.contains("Ada"), "{shown}");
    let answer = seq("model_turn_completed");
    assert_eq!(home.haft(&["audit", "redact", "last", &answer, "--reason", ""]).exit, Some(0));
    let shown = home.haft(&["sessions", "show", "last"]).stdout;
    assert!(shown.contains("[This answer was taken away]"), "{shown}");
    assert_eq!(home.haft(&["audit", "verify"]).exit, Some(0));
}
