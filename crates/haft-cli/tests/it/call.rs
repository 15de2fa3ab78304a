//! `haft call`: one call through the whole path.

use crate::support::Home;

/// A profile in which the calculator asks.
const ASKS: &str = "---\ntools:\n  allow: [calculator, text_process, create_artifact]\n  permission: {calculator: ask, text_process: deny}\n---\n";

fn asking() -> Home {
    let home = Home::new();
    home.write("home/profiles/asks.md", ASKS);
    home
}

#[test]
fn content_goes_to_stdout_and_ids_to_stderr() {
    let home = Home::new();
    haft_snapshot!(home, home.haft(&["call", "calculator", "expression=6*7"]), @r#"
    exit: 0
    --- stdout
    42
    --- stderr
    session s_[ID], run r_[ID]
    "#);
    haft_snapshot!(home, home.haft(&["call", "calculator", "expression=1/0"]), @r#"
    exit: 1
    --- stdout
    `1/0` cannot be calculated: division by zero.
    --- stderr
    session s_[ID], run r_[ID]
    "#);
}

#[test]
fn json_is_the_object_of_the_contract() {
    let home = Home::new();
    haft_snapshot!(home, home.haft(&["call", "calculator", "expression=6*7", "--json"]), @r#"
    exit: 0
    --- stdout
    {"call_id":"c_[ID]_1_1","tool_id":"builtin:data.calculator","alias":"calculator","session":"s_[ID]","run":"r_[ID]","arguments":{"expression":"6*7"},"is_error":false,"error_code":null,"content":"42","structured":{"result":42,"exact":true},"metadata":{},"duration_ms":[N],"skipped":false,"repairs":[],"ui":null,"resource_refs":[],"decision":{"outcome":"allow","rule":"permission of `calculator`: allow","granted_by":null}}
    --- stderr
    session s_[ID], run r_[ID]
    "#);
    haft_snapshot!(home, home.haft(&["--json", "call", "calculator"]), @r#"
    exit: 1
    --- stdout
    {"call_id":"c_[ID]_1_1","tool_id":"builtin:data.calculator","alias":"calculator","session":"s_[ID]","run":"r_[ID]","arguments":{},"is_error":true,"error_code":"agent.invalid_arguments","content":"The call of `calculator` cannot run: Invalid arguments: missing required parameter \"expression\" (string).","structured":null,"metadata":{},"duration_ms":[N],"skipped":false,"repairs":[],"ui":null,"resource_refs":[],"decision":null}
    --- stderr
    session s_[ID], run r_[ID]
    "#);
}

// COE-01
#[test]
fn arguments_are_text_json_or_a_file_and_typed_by_the_schema() {
    let home = Home::new();
    let session = &["--profile", "artifactflow"][..];
    let file = home.write("text.txt", "one\ntwo\n");
    let file = format!("content@={}", file.display());
    let call = |arguments: &[&str]| home.haft(&[session, arguments].concat());
    assert_eq!(call(&["call", "create_artifact", "id=a", "title=T", &file]).exit, Some(0));
    let read = call(&["call", "read_artifact", "--session", "last", "id=a", "offset=2", "limit:=1"]);
    assert!(read.stdout.contains("two") && !read.stdout.contains("one"), "{read}");
    let by_args = call(&["call", "read_artifact", "--session", "last", "--args", r#"{"id": "a"}"#]);
    assert!(by_args.stdout.contains("one"), "{by_args}");
    let stdin = home.haft_with(
        &[session, &["call", "read_artifact", "--session", "last", "--args", "-", "limit=1"]].concat(),
        r#"{"id": "a"}"#,
    );
    assert!(stdin.stdout.contains("one") && !stdin.stdout.contains("two"), "{stdin}");
}

#[test]
fn unreadable_arguments_are_wrong_usage_and_store_nothing() {
    let home = Home::new();
    haft_snapshot!(home, home.haft(&["call", "calculator", "expression=1", "expression=2"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: the argument `expression` is given twice; give it once
    "#);
    haft_snapshot!(home, home.haft(&["call", "calculator", "nonsense"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: `nonsense` is no argument; write key=text, key:=json or key@=file
    "#);
    haft_snapshot!(home, home.haft(&["call", "calculator", "expression:={"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: the argument `expression` is no JSON: the text ends inside a value at byte 1; for plain text write `expression=…`
    "#);
    haft_snapshot!(home, home.haft(&["call", "calculator", "expression@=absent.txt"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: the file `absent.txt` of the argument `expression` cannot be read: No such file or directory (os error 2)
    "#);
    haft_snapshot!(home, home.haft(&["call", "calculator", "--args", "[1]"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: --args must be one JSON object: this is another JSON value
    "#);
    haft_snapshot!(home, home.haft(&["call", "calculator", "--args", r#"{"expression": 1"#]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: --args must be one JSON object: the text ends inside a value at byte 16
    "#);
    assert!(!home.path("home").exists());
}

// COE-05, COE-06
#[test]
fn arguments_that_do_not_fit_are_an_error_result() {
    let home = Home::new();
    haft_snapshot!(home, home.haft(&["call", "calculator", "expresion=1"]), @r#"
    exit: 1
    --- stdout
    The call of `calculator` cannot run: Invalid arguments: missing required parameter "expression" (string); unknown parameter "expresion" (did you mean "expression"?), the parameters are: expression.
    --- stderr
    session s_[ID], run r_[ID]
    "#);
}

#[test]
fn unknown_tools_are_wrong_usage_and_tools_of_other_profiles_are_refused() {
    let home = Home::new();
    haft_snapshot!(home, home.haft(&["call", "calculater", "expression=1"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: there is no tool `calculater`

      Did you mean `calculator`?
    "#);
    haft_snapshot!(home, home.haft(&["call", "get_weather", "city=Bern"]), @r#"
    exit: 3
    --- stdout
    --- stderr
    error: `builtin:data.weather` is not among the tools of the profile `default`

      Name another profile with `--profile`, or add the tool to `tools.allow` of your own.
    "#);
    haft_snapshot!(home, home.haft(&["call", "calculator", "expression=1", "--allow", "nope"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: --allow: there is no tool `nope`

      `haft tools` lists the tools of the profile.
    "#);
    haft_snapshot!(home, home.haft(&["call", "calculator", "expression=1", "--allow", "get_weather"]), @r#"
    exit: 3
    --- stdout
    --- stderr
    error: --allow: `builtin:data.weather` is not among the tools of the profile `default`

      Name another profile with `--profile`, or add the tool to `tools.allow` of your own.
    "#);
}

// APR-02, APR-06, POL-10
#[test]
fn without_a_terminal_what_asks_is_refused_unless_a_flag_says_yes() {
    let home = asking();
    let call = ["call", "calculator", "expression=6*7", "--profile", "asks"];
    haft_snapshot!(home, home.haft(&call), @r#"
    exit: 3
    --- stdout
    `calculator` was refused: it needs a person's yes, and nobody is there to ask.
    --- stderr
    session s_[ID], run r_[ID]
    calculator: say yes in advance with `--allow calculator`, with `--allow calculator=SCOPE`, or with `--yes`; `--dry-run` shows the question and its scopes
    "#);
    let decision = |flags: &[&str]| home.json(&[&call, flags].concat())["decision"].to_string();
    haft_snapshot!(home, decision(&[]), @r#"{"outcome":"ask","rule":"permission of `calculator`: ask","granted_by":null}"#);
    haft_snapshot!(home, decision(&["--allow", "calculator"]), @r#"{"outcome":"ask","rule":"permission of `calculator`: ask","granted_by":"--allow"}"#);
    haft_snapshot!(home, decision(&["--yes"]), @r#"{"outcome":"ask","rule":"permission of `calculator`: ask","granted_by":"--yes"}"#);
    haft_snapshot!(home, decision(&["--yes", "--allow", "data.calculator"]), @r#"{"outcome":"ask","rule":"permission of `calculator`: ask","granted_by":"--allow"}"#);
    assert_eq!(home.haft(&[&call[..], &["--allow", "create_artifact"]].concat()).exit, Some(3));
    assert_eq!(home.haft(&[&call[..], &["--allow", "calculator=path:/a"]].concat()).exit, Some(3));
}

#[test]
fn no_flag_lifts_a_deny() {
    let home = asking();
    let call = ["call", "text_process", "text=a", "operation=upper", "--profile", "asks"];
    haft_snapshot!(home, home.haft(&[&call[..], &["--yes", "--allow", "text_process"]].concat()), @r#"
    exit: 3
    --- stdout
    `text_process` was refused: permission of `text_process`: deny.
    --- stderr
    session s_[ID], run r_[ID]
    "#);
}

#[test]
fn a_dry_run_shows_the_decision_and_keeps_nothing() {
    let home = asking();
    let call = |more: &[&str]| home.haft(&[&["call", "--profile", "asks", "--dry-run"], more].concat());
    haft_snapshot!(home, call(&["calculator", "expression=6*7"]), @r#"
    exit: 0
    --- stdout
    calculator {"expression":"6*7"}
      ask: permission of `calculator`: ask
      question: Run calculator?
      a yes may cover: the whole tool
    --- stderr
    "#);
    haft_snapshot!(home, call(&["calculator", "expression=6*7", "--json"]), @r#"
    exit: 0
    --- stdout
    {"call_id":null,"tool_id":"builtin:data.calculator","alias":"calculator","session":null,"run":null,"arguments":{"expression":"6*7"},"is_error":false,"error_code":null,"content":null,"structured":null,"metadata":{},"duration_ms":null,"skipped":false,"repairs":[],"ui":null,"resource_refs":[],"decision":{"outcome":"ask","rule":"permission of `calculator`: ask","granted_by":null},"question":"Run calculator?","scopes":["tool"]}
    --- stderr
    "#);
    haft_snapshot!(home, call(&["calculator", "expression=6*7", "--yes"]), @r#"
    exit: 0
    --- stdout
    calculator {"expression":"6*7"}
      ask: permission of `calculator`: ask
      question: Run calculator?
      a yes may cover: the whole tool
      answered by --yes
    --- stderr
    "#);
    haft_snapshot!(home, call(&["create_artifact", "title=x", "id=a", "content="]), @r#"
    exit: 0
    --- stdout
    create_artifact {"content":"","content_type":"text/markdown","id":"a","title":"x"}
      allow: permission of `create_artifact`: allow
    --- stderr
    "#);
    haft_snapshot!(home, call(&["text_process", "text=a", "operation=upper"]), @r#"
    exit: 3
    --- stdout
    text_process {"operation":"upper","text":"a"}
      deny: permission of `text_process`: deny
    --- stderr
    "#);
    haft_snapshot!(home, call(&["calculator"]), @r#"
    exit: 1
    --- stdout
    calculator {}
      would not run: The call of `calculator` cannot run: Invalid arguments: missing required parameter "expression" (string).
    --- stderr
    "#);
    assert!(!home.path("home/haft.db").exists());
}

#[test]
fn sessions_are_new_unless_named() {
    let home = Home::new();
    let session = |flags: &[&str]| {
        let call = ["call", "calculator", "expression=1"];
        home.json(&[&call, flags].concat())["session"].as_str().unwrap().to_owned()
    };
    let (first, second) = (session(&[]), session(&[]));
    assert_ne!(first, second);
    assert_eq!(session(&["--session", "last"]), second);
    assert_eq!(session(&["--session", &first]), first);
    haft_snapshot!(home, home.haft(&["call", "calculator", "expression=1", "--session", "s_nope"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: there is no session `s_nope`; `haft sessions list` shows those that there are
    "#);
    let empty = Home::new();
    haft_snapshot!(empty, empty.haft(&["call", "calculator", "expression=1", "--session", "last"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: there is no session yet; leave `--session` out to start one
    "#);
}

#[test]
fn a_session_keeps_its_profile() {
    let home = asking();
    home.haft(&["call", "create_artifact", "id=a", "title=T", "content=x", "--profile", "asks"]);
    let run = home.haft(&["call", "calculator", "expression=1", "--session", "last"]);
    assert_eq!(run.exit, Some(3), "{run}");
    let other =
        home.haft(&["call", "calculator", "expression=1", "--session", "last", "--profile", "default"]);
    assert_eq!(other.exit, Some(0), "{other}");
    let tools = home.haft(&["tools", "--session", "last"]);
    assert!(tools.stderr.contains("profile `asks`"), "{tools}");
}
