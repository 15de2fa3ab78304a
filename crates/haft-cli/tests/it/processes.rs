//! Two processes and one home: who owns a session, and what a killed process leaves.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use crate::support::Home;

/// A run that waits for its model for minutes.
fn waiting(home: &Home) -> Child {
    let script = home.write(
        "wait.jsonl",
        "{\"tool_calls\": [{\"name\": \"calculator\", \"arguments\": {\"expression\": \"1\"}}]}\n{\"text\": \"Never.\", \"delay_ms\": 600000}\n",
    );
    let mut command = home.command(&["run", "--model", &format!("scripted:{}", script.display()), "x"]);
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    // The result is told after it is durable; then the second turn waits.
    while !line.starts_with('←') {
        line.clear();
        assert_ne!(stderr.read_line(&mut line).unwrap(), 0);
    }
    child
}

#[test]
fn a_session_in_use_says_by_whom() {
    let home = Home::new();
    home.leaves_damage();
    let mut child = waiting(&home);
    let run = home.haft(&["call", "calculator", "expression=1", "--session", "last"]);
    assert_eq!(run.exit, Some(1), "{run}");
    assert!(run.stderr.contains("in use by") && run.stderr.contains("haft run"), "{run}");
    assert_eq!(home.haft(&["sessions", "delete", "last"]).exit, Some(1));
    // Reading and other sessions are free.
    assert_eq!(home.haft(&["sessions", "show", "last"]).exit, Some(0));
    assert_eq!(home.haft(&["call", "calculator", "expression=1"]).exit, Some(0));
    child.kill().unwrap();
    child.wait().unwrap();
}

// JRN-01
#[test]
fn what_a_killed_process_left_is_closed_and_told() {
    let home = Home::new();
    let mut child = waiting(&home);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(home.haft(&["audit", "verify"]).exit, Some(1));
    haft_snapshot!(home, home.haft(&["call", "calculator", "expression=2", "--session", "last"]), @r#"
    exit: 0
    --- stdout
    2
    --- stderr
    warning: the run r_[ID] had been cut off; it is closed now, and nothing of it runs again
    session s_[ID], run r_[ID]
    "#);
    assert_eq!(home.haft(&["audit", "verify"]).exit, Some(0));
}
