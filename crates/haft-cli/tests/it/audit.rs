//! `haft audit`: the journals, whole and damaged.

use crate::support::Home;

fn called() -> Home {
    let home = Home::new();
    home.haft(&["call", "calculator", "expression=6*7"]);
    home
}

#[test]
fn runs_and_records_are_shown() {
    let home = called();
    haft_snapshot!(home, home.haft(&["audit"]), @r#"
    exit: 0
    --- stdout
    r_[ID]  [TIME]  session s_[ID]  6 records  head [HASH]
    --- stderr
    "#);
    haft_snapshot!(home, home.haft(&["audit", "show", "last"]), @r#"
    exit: 0
    --- stdout
       0  [TIME]  run_started            haft call, profile default
       1  [TIME]  context_assembled      13 tools
       2  [TIME]  tool_call_requested    → calculator expression=6*7  [allow]
       3  [TIME]  tool_call_started      builtin:data.calculator
       4  [TIME]  tool_call_completed    ← calculator: 42
       5  [TIME]  run_ended              completed
    --- stderr
    head [HASH]
    "#);
    let json = home.json(&["audit", "show", "last"]);
    let kinds: Vec<_> =
        json.as_array().unwrap().iter().map(|event| event["kind"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        [
            "run_started",
            "context_assembled",
            "tool_call_requested",
            "tool_call_started",
            "tool_call_completed",
            "run_ended"
        ]
    );
    assert_eq!(home.json(&["audit", "runs"])[0]["records"], 6);
    haft_snapshot!(home, home.haft(&["audit", "show", "r_nope"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: there is no run `r_nope`

      `haft audit runs` lists those that there are.
    "#);
    let empty = Home::new();
    haft_snapshot!(empty, empty.haft(&["audit"]), @r#"
    exit: 0
    --- stdout
    --- stderr
    there is no run yet
    "#);
    haft_snapshot!(empty, empty.haft(&["audit", "verify"]), @r#"
    exit: 0
    --- stdout
    --- stderr
    0 runs: everything fits
    "#);
}

#[test]
fn what_fits_verifies_and_what_was_touched_is_named() {
    let home = called();
    home.leaves_damage();
    haft_snapshot!(home, home.haft(&["audit", "verify"]), @r#"
    exit: 0
    --- stdout
    run r_[ID]: 6 records, ended, head [HASH]
    --- stderr
    1 run: everything fits
    "#);
    haft_snapshot!(home, home.haft(&["audit", "verify", "last", "--json"]), @r#"
    exit: 0
    --- stdout
    {"fits":true,"runs":[{"run":"r_[ID]","session":"s_[ID]","records":6,"head":"[HASH]","state":"ended","findings":[]}],"findings":[]}
    --- stderr
    "#);
    haft_snapshot!(home, home.haft(&["audit", "verify", "r_nope"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: there is no run `r_nope`

      `haft audit runs` lists those that there are.
    "#);
    // One byte of a payload, in the database file itself.
    let path = home.path("home/haft.db");
    let mut bytes = std::fs::read(&path).unwrap();
    let needle = br#""surface":"call""#;
    let at = bytes.windows(needle.len()).position(|window| window == needle).unwrap();
    bytes[at + needle.len() - 2] = b'k';
    std::fs::write(&path, bytes).unwrap();
    haft_snapshot!(home, home.haft(&["audit", "verify"]), @r#"
    exit: 1
    --- stdout
    run r_[ID], record 0 (run_started): it was changed
    --- stderr
    error: 1 run: something does not fit
    "#);
    assert_eq!(home.json(&["audit", "verify"])["fits"], false);
}

#[test]
fn a_run_is_exported_as_files() {
    let home = called();
    haft_snapshot!(home, home.haft(&["audit", "export", "last", "--output", "out"]), @r#"
    exit: 0
    --- stdout
    [FOLDER]/out
    --- stderr
    run r_[ID]: 6 records and 3 files exported; head [HASH]
    "#);
    assert_eq!(home.read("out/journal.jsonl").lines().count(), 6);
    let again = home.haft(&["audit", "export", "last", "--output", "out"]);
    assert_ne!(again.exit, Some(0), "{again}");
}

#[test]
fn one_record_is_redacted_and_the_chain_verifies() {
    let home = called();
    let seq = home
        .json(&["audit", "show", "last"])
        .as_array()
        .unwrap()
        .iter()
        .find(|event| event["kind"] == "tool_call_requested")
        .unwrap()["seq"]
        .to_string();
    haft_snapshot!(home, home.haft(&["audit", "redact", "last", &seq, "--reason", "private"]), @r#"
    exit: 0
    --- stdout
    --- stderr
    record 2 of run r_[ID] is redacted, with the files that it speaks of; the journal says so and still verifies
    "#);
    assert_eq!(home.haft(&["audit", "verify"]).exit, Some(0));
    haft_snapshot!(home, home.haft(&["audit", "show", "last"]), @r#"
    exit: 0
    --- stdout
       0  [TIME]  run_started            haft call, profile default
       1  [TIME]  context_assembled      13 tools
       2  [TIME]  tool_call_requested    (taken away)
       3  [TIME]  tool_call_started      builtin:data.calculator
       4  [TIME]  tool_call_completed    ← calculator: 42
       5  [TIME]  run_ended              completed
       6  [TIME]  payload_redacted       record 2: private
    --- stderr
    head [HASH]
    "#);
    haft_snapshot!(home, home.haft(&["audit", "redact", "last", "99"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: there is no record 99 in run r_[ID] of session s_[ID]
    "#);
}

// What the host told a model may repeat what others said, so that it can be taken away like all else that was said.
#[test]
fn what_the_host_told_a_model_is_redacted_too() {
    let home = Home::new();
    home.write("home/profiles/hasty.md", "---\nextends: tauritavern\nbudget:\n  rounds: 2\n---\n");
    let script = home.write("script.jsonl", "{\"text\": \"Moss.\"}\n{\"text\": \"More moss.\"}\n");
    let model = format!("scripted:{}", script.display());
    assert_eq!(home.haft(&["run", "--profile", "hasty", "--model", &model, "Write"]).exit, Some(1));
    let told = |home: &Home| {
        let events = home.json(&["audit", "show"]);
        let events = events.as_array().unwrap().clone();
        events.into_iter().rfind(|event| event["kind"] == "model_request_created").unwrap()
    };
    let event = told(&home);
    assert!(event["payload"]["told"][0].as_str().unwrap().contains("workspace_finish"), "{event}");
    let redacted = home.haft(&["audit", "redact", "last", &event["seq"].to_string(), "--reason", "private"]);
    assert_eq!(redacted.exit, Some(0), "{redacted}");
    let payload = &told(&home)["payload"];
    assert!(payload["told"].is_null() && !payload.to_string().contains("workspace_finish"), "{payload}");
    assert_eq!(home.haft(&["audit", "verify"]).exit, Some(0));
    read_again(&home, "redacted");
    let refused = home.haft(&["replay"]);
    assert_eq!(refused.exit, Some(2), "{refused}");
    assert!(refused.stderr.contains("was taken away"), "{refused}");
    assert_eq!(home.haft(&["sessions", "delete", "last"]).exit, Some(0));
    assert_eq!(home.haft(&["audit", "verify"]).exit, Some(0));
    read_again(&home, "deleted");
    let events = home.json(&["audit", "show"]).to_string();
    assert!(!events.contains("workspace_finish") && !events.contains("Moss"), "{events}");
}

/// The second reader, where there is a Python for it, agrees.
fn read_again(home: &Home, name: &str) {
    let export = home.haft(&["audit", "export", "last", "--output", name]);
    assert_eq!(export.exit, Some(0), "{export}");
    let reader = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/verify_journal.py");
    let python = std::process::Command::new("python3").arg(reader).arg(home.path(name)).output();
    let Ok(read) = python else { return };
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stdout));
}

#[test]
fn heads_are_anchored_and_a_lost_run_is_missed() {
    let home = called();
    let anchors = home.haft(&["audit", "anchor"]);
    let file = home.write("anchors.jsonl", &anchors.stdout);
    let file = file.to_str().unwrap();
    assert_eq!(home.haft(&["audit", "verify", "--anchors", file]).exit, Some(0));
    let array = home.write("anchors.json", &home.haft(&["audit", "anchor", "--json"]).stdout);
    assert_eq!(home.haft(&["audit", "verify", "--anchors", array.to_str().unwrap()]).exit, Some(0));
    let other = called();
    let missed = other.haft(&["audit", "verify", "--anchors", file]);
    assert_eq!(missed.exit, Some(1), "{missed}");
    haft_snapshot!(home, home.haft(&["audit", "verify", "--anchors", "absent"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: --anchors absent: No such file or directory (os error 2)
    "#);
}

#[test]
fn where_no_run_is_yet_the_next_step_is_told() {
    let home = Home::new();
    for command in ["show", "export"] {
        let run = home.haft(&["audit", command, "last"]);
        assert_eq!((run.exit, run.stdout.as_str()), (Some(2), ""), "{run}");
        assert!(run.stderr.starts_with("error: there is no run yet\n"), "{run}");
    }
}
