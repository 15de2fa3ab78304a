//! `haft sessions` and `haft artifacts`.

use crate::support::Home;

fn chatted() -> Home {
    let home = Home::new();
    home.haft_with(
        &["chat", "--model", "demo", "--profile", "artifactflow"],
        "create_artifact id=plan.md title=Plan content=one\nrewrite_artifact id=plan.md content=two\nread_artifact\n",
    );
    home
}

#[test]
fn sessions_are_listed_and_shown() {
    let home = chatted();
    haft_snapshot!(home, home.haft(&["sessions"]), @r#"
    exit: 0
    --- stdout
    s_[ID]  [TIME]  profile artifactflow  create_artifact id=plan.md title=Plan content=one
    --- stderr
    "#);
    haft_snapshot!(home, home.haft(&["sessions", "list", "--json"]), @r#"
    exit: 0
    --- stdout
    [{"id":"s_[ID]","created":[MS],"updated":[MS],"profile":"artifactflow","project":null,"deleted":false,"opening":"create_artifact id=plan.md title=Plan content=one"}]
    --- stderr
    "#);
    haft_snapshot!(home, home.haft(&["sessions", "show", "last"]), @r#"
    exit: 0
    --- stdout
    > create_artifact id=plan.md title=Plan content=one
    I am the demo, no language model. I make this call:
    → create_artifact content=one id=plan.md title=Plan
    ← create_artifact: Created artifact `plan.md`, version 1, 1 line.
    create_artifact answered:
    Created artifact `plan.md`, version 1, 1 line.

    > rewrite_artifact id=plan.md content=two
    I am the demo, no language model. I make this call:
    → rewrite_artifact content=two id=plan.md
    ← rewrite_artifact: Rewrote artifact `plan.md`: version 2, 1 line.
    rewrite_artifact answered:
    Rewrote artifact `plan.md`: version 2, 1 line.

    > read_artifact
    I am the demo, no language model. I make this call:
    → read_artifact
    ✗ read_artifact: The call of `read_artifact` cannot run: Invalid arguments: missing required parameter "id" (string).
    read_artifact failed:
    The call of `read_artifact` cannot run: Invalid arguments: missing required parameter "id" (string).
    --- stderr
    "#);
    let json = home.json(&["sessions", "show", "last"]);
    let roles: Vec<_> =
        json.as_array().unwrap().iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles[..4], ["user", "assistant", "tool", "assistant"]);
    haft_snapshot!(home, home.haft(&["sessions", "show", "s_nope"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: there is no session `s_nope`; `haft sessions list` shows those that there are
    "#);
    let empty = Home::new();
    haft_snapshot!(empty, empty.haft(&["sessions"]), @r#"
    exit: 0
    --- stdout
    --- stderr
    there is no session yet; `haft chat` starts one
    "#);
    haft_snapshot!(empty, empty.haft(&["sessions", "show", "last"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: there is no session yet

      `haft chat` starts one.
    "#);
}

#[test]
fn a_deleted_session_is_gone_and_its_chain_verifies() {
    let home = chatted();
    let id = home.json(&["sessions"])[0]["id"].as_str().unwrap().to_owned();
    haft_snapshot!(home, home.haft(&["sessions", "delete", "last"]), @r#"
    exit: 0
    --- stdout
    --- stderr
    session s_[ID] is deleted: its texts, files and artifacts are gone; its chain is kept and still verifies
    "#);
    assert_eq!(home.json(&["sessions"]), serde_json::json!([]));
    haft_snapshot!(home, home.haft(&["sessions", "show", &id]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: the session `s_[ID]` was deleted; its chain is kept for audit, and nothing can be added to it
    "#);
    haft_snapshot!(home, home.haft(&["run", "--model", "demo", "x", "--session", &id]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: the session `s_[ID]` was deleted; its chain is kept for audit, and nothing can be added to it
    "#);
    let verified = home.haft(&["audit", "verify"]);
    assert_eq!(verified.exit, Some(0), "{verified}");
    let database = std::fs::read(home.path("home/haft.db")).unwrap();
    assert!(!database.windows(8).any(|bytes| bytes == b"plan.md\""), "the text is still in the file");
}

// ART-03
#[test]
fn artifacts_are_listed_and_printed() {
    let home = chatted();
    haft_snapshot!(home, home.haft(&["artifacts"]), @r#"
    exit: 0
    --- stdout
    plan.md  version 2  text/markdown  Plan
    --- stderr
    "#);
    haft_snapshot!(home, home.haft(&["artifacts", "list", "--session", "last", "--json"]), @r#"
    exit: 0
    --- stdout
    [{"id":"plan.md","version":2,"content_type":"text/markdown","title":"Plan","source":"model","characters":3}]
    --- stderr
    "#);
    haft_snapshot!(home, home.haft(&["artifacts", "get", "plan.md"]), @r#"
    exit: 0
    --- stdout
    two⏎
    --- stderr
    "#);
    haft_snapshot!(home, home.haft(&["artifacts", "get", "plan.md", "--version", "1"]), @r#"
    exit: 0
    --- stdout
    one⏎
    --- stderr
    "#);
    haft_snapshot!(home, home.haft(&["artifacts", "get", "plan.md", "--json"]), @r#"
    exit: 0
    --- stdout
    {"id":"plan.md","version":2,"content_type":"text/markdown","title":"Plan","source":"model","content":"two"}
    --- stderr
    "#);
    haft_snapshot!(home, home.haft(&["artifacts", "get", "plan"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: session s_[ID] holds no artifact `plan`

      Did you mean plan.md?
    "#);
    haft_snapshot!(home, home.haft(&["artifacts", "get", "plan.md", "--version", "7"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: the artifact `plan.md` has no version 7

      The newest is version 2.
    "#);
    let empty = Home::new();
    haft_snapshot!(empty, empty.haft(&["artifacts"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: there is no session yet

      `haft chat` starts one.
    "#);
}
