//! `haft chat` without a terminal: each line is a message.

use crate::support::Home;

#[test]
fn lines_are_messages_and_the_end_is_told() {
    let home = Home::new();
    haft_snapshot!(home, home.haft_with(&["chat", "--model", "demo", "--profile", "artifactflow"], "hello\n\ncreate_artifact id=a title=T content=c\nread_artifact id=a\n"), @r##"
    exit: 0
    --- stdout
    I am the demo, no language model: I cannot answer, but I can make calls. Write one call a line, for example:

    create_artifact {"id":"travel-plan","content_type":"text/markdown","title":"Travel plan","content":"# Travel plan\n\n1. Book the train\n"}

    A language model is set by --model, for example --model http://127.0.0.1:8080/v1#NAME.
    I am the demo, no language model. I make this call:
    create_artifact answered:
    Created artifact `a`, version 1, 1 line.
    I am the demo, no language model. I make this call:
    read_artifact answered:
    <artifact_slice id="a" version="1" shown_lines="1-1" total_lines="1" has_more="false">
    c
    </artifact_slice>
    --- stderr
    model demo, profile artifactflow, session s_[ID]
    → create_artifact id=a title=T content=c content_type=text/markdown
    ← create_artifact: Created artifact `a`, version 1, 1 line. ([N] ms)
    → read_artifact id=a offset=1
    ← read_artifact: <artifact_slice id="a" version="1" shown_lines="1-1" total_lines="1" has_more="false">\nc\n</artifact_slice> ([N] ms)
    answered 3 messages in session s_[ID]; `haft sessions show s_[ID]` shows it again
    "##);
}

#[test]
fn new_starts_another_session_and_quit_ends() {
    let home = Home::new();
    let run = home.haft_with(
        &["chat", "--model", "demo"],
        "calculator expression=1\n/new\ncalculator expression=2\n/quit\nnever\n",
    );
    assert_eq!(run.exit, Some(0), "{run}");
    assert!(!run.stdout.contains("never") && run.stderr.contains("answered 2 messages"), "{run}");
    assert_eq!(home.json(&["sessions"]).as_array().unwrap().len(), 2);
}

#[test]
fn an_old_session_goes_on() {
    let home = Home::new();
    home.haft_with(&["chat", "--model", "demo"], "hello\n");
    let run = home.haft_with(&["chat", "--model", "demo", "--session", "last"], "calculator expression=1\n");
    assert!(run.stderr.contains("2 messages so far"), "{run}");
    assert_eq!(home.json(&["sessions"]).as_array().unwrap().len(), 1);
}

#[test]
fn help_tells_the_commands() {
    let home = Home::new();
    haft_snapshot!(home, home.haft_with(&["chat", "--model", "demo"], "/help\n"), @r#"
    exit: 0
    --- stdout
    --- stderr
    model demo, profile default, session s_[ID]
    /new          start a new session, without the messages, artifacts and yeses of this one
    /resume ID    go on in another session; `last` is the newest
    /tools        the tools of this profile, and whether they run, ask or are denied
    /model        which model answers; /model NAME takes another one
    /grants       what was allowed in this session, and how often that was used
    /revoke ID    take a yes back
    /help         this help
    /quit         leave; Ctrl-D and twice Ctrl-C do the same
    While the model works, one Ctrl-C stops the running tool and two stop the run.
    Several lines can be pasted as one message.
    answered 0 messages in session s_[ID]; `haft sessions show s_[ID]` shows it again
    "#);
}

#[test]
fn tools_and_model_tell_what_holds() {
    let home = Home::new();
    home.write("home/haft.toml", "[models.near]\nurl = \"http://127.0.0.1:1/v1#m\"\n");
    home.write(
        "home/profiles/few.md",
        "---\ntools: {allow: [calculator, project.file_write], permission: {project.file_write: ask}}\n---\n",
    );
    haft_snapshot!(home, home.haft_with(&["chat", "--model", "demo", "--profile", "few"], "/tools\n/model\n"), @r#"
    exit: 0
    --- stdout
    --- stderr
    model demo, profile few, session s_[ID]
    calculator  allow  Calculate an arithmetic expression.
    file_write  ask    Write a text file of the project.
    model demo; /model NAME takes another one for what comes next
    entries of haft.toml: near
    answered 0 messages in session s_[ID]; `haft sessions show s_[ID]` shows it again
    "#);
}

#[test]
fn a_model_that_fails_is_told_and_the_next_line_is_tried() {
    let home = Home::new();
    let script = home
        .write("s.jsonl", "{\"error\": {\"status\": 400, \"body\": \"too long\"}}\n{\"text\": \"Here.\"}\n");
    let model = format!("scripted:{}", script.display());
    haft_snapshot!(home, home.haft_with(&["chat", "--model", &model], "one\ntwo\n"), @r#"
    exit: 1
    --- stdout
    Here.
    --- stderr
    model scripted:[FOLDER]/s.jsonl, profile default, session s_[ID]
    error: the model `scripted:[FOLDER]/s.jsonl` refused the request (HTTP 400): too long
    answered 2 messages in session s_[ID]; `haft sessions show s_[ID]` shows it again
    "#);
}

#[test]
fn without_a_model_the_demo_is_offered() {
    let home = Home::new();
    let run = home.haft_with(&["chat"], "");
    assert_eq!(run.exit, Some(0), "{run}");
    assert!(run.stderr.contains("No model is named.") && run.stderr.contains("Using demo"), "{run}");
}
