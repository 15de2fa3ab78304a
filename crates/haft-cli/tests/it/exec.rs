//! `haft exec`: the calls in a model's text.

use crate::support::Home;

const TEXT: &str = "Let me see.\n\
    <tool_call><name>calculator</name><params><expression><![CDATA[6*7]]></expression></params></tool_call>\n\
    <tool_call><name>calculator</name><params><expression>1</expression><expression>2</expression></params></tool_call>\n\
    <tool_call><name>calculater</name><params><expression><![CDATA[1]]></expression></params></tool_call>\n";

// RES-02, DIA-02, DIA-10, DIA-16
#[test]
fn results_come_in_call_order_in_the_dialect_of_the_text() {
    let home = Home::new();
    haft_snapshot!(home, home.haft_with(&["exec"], TEXT), @r#"
    exit: 1
    --- stdout
    <tool_result name="calculator" success="true">
    <data>
    42
    </data>
    </tool_result>
    <tool_result name="calculator" success="false">
    <error>The parameter "expression" is given twice with different values. Give each parameter once; for two calls write two separate calls.</error>
    </tool_result>
    <tool_result name="calculater" success="false">
    <error>There is no tool `calculater`. Did you mean calculator?</error>
    </tool_result>
    --- stderr
    session s_[ID], run r_[ID]
    "#);
}

#[test]
fn json_is_one_call_object_a_line() {
    let home = Home::new();
    let run = home.haft_with(&["exec", "--json"], TEXT);
    let calls: Vec<serde_json::Value> =
        run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<_> = calls
        .iter()
        .map(|call| (call["alias"].as_str(), call["is_error"].as_bool(), call["error_code"].as_str()))
        .collect();
    assert_eq!(
        told,
        [
            (Some("calculator"), Some(false), None),
            (Some("calculator"), Some(true), Some("agent.malformed_call")),
            (Some("calculater"), Some(true), Some("agent.unknown_tool")),
        ]
    );
}

#[test]
fn a_text_without_calls_does_nothing() {
    let home = Home::new();
    let run = home.haft_with(&["exec"], "Only words.");
    assert_eq!((run.exit, run.stdout.as_str()), (Some(0), ""), "{run}");
    assert!(!home.path("home").exists());
}

#[test]
fn the_exit_code_is_the_worst_one() {
    let home = Home::new();
    home.write(
        "home/profiles/asks.md",
        "---\ntools: {allow: [calculator], permission: {calculator: ask}}\n---\n",
    );
    let call = |expression: &str| {
        format!(
            "<tool_call><name>calculator</name><params><expression><![CDATA[{expression}]]></expression></params></tool_call>"
        )
    };
    let exit = |flags: &[&str], text: &str| home.haft_with(&[&["exec"], flags].concat(), text).exit;
    assert_eq!(exit(&[], &call("1")), Some(0));
    assert_eq!(exit(&[], &(call("1") + &call("1/0"))), Some(1));
    assert_eq!(exit(&["--profile", "asks"], &call("1")), Some(3));
    assert_eq!(exit(&["--profile", "asks"], &(call("1") + "<tool_call>x</tool_call>")), Some(1));
    assert_eq!(exit(&["--profile", "asks", "--yes"], &call("1")), Some(0));
    assert_eq!(exit(&["--dialect", "klingon"], "x"), Some(2));
}

#[test]
fn repaired_calls_that_write_are_asked_and_the_model_is_told() {
    let home = Home::new();
    home.write("home/profiles/trusting.md", "---\nextends: default\nrepairs: {ask: false}\n---\n");
    let call = |tool: &str, parameters: &str, end: &str| {
        format!("<tool_call><name>{tool}</name><params>{parameters}{end}</tool_call>")
    };
    let written = "<id><![CDATA[plan]]></id><title><![CDATA[Plan]]></title><content><![CDATA[x]]></content>";
    let writes = call("create_artifact", written, "");
    let one = |flags: &[&str], text: &str| -> serde_json::Value {
        let run = home.haft_with(&[&["exec", "--json"], flags].concat(), text);
        serde_json::from_str(run.stdout.trim()).unwrap_or_else(|error| panic!("{error}: {run}"))
    };
    let asked = one(&[], &writes);
    assert_eq!(asked["error_code"], "agent.tool_denied");
    assert_eq!(asked["decision"]["outcome"], "ask");
    assert_eq!(
        asked["decision"]["rule"],
        "the call had to be repaired to be read (params_closed), and `create_artifact` writes"
    );
    // Said in advance, or not asked at all.
    for flags in [&["--yes"][..], &["--allow", "create_artifact"], &["--profile", "trusting"]] {
        let ran = one(flags, &writes);
        assert_eq!(ran["is_error"], false, "{flags:?}: {ran}");
        let told = "Created artifact `plan`, version 1, 1 line.\nNote: the call was repaired to be read: params_closed.";
        assert_eq!(ran["content"], told);
    }
    // Reading asks nothing, nor does a name in other letters.
    let sum = "<expression><![CDATA[6*7]]></expression>";
    let read = one(&[], &call("calculator", sum, ""));
    assert_eq!(read["content"], "42\nNote: the call was repaired to be read: params_closed.");
    assert_eq!(one(&[], &call("Create_Artifact", written, "</params>"))["is_error"], false);
    assert_eq!(one(&[], &call("calculator", sum, "</params>"))["content"], "42");
}

// PRV-05, CONFLICT-06
#[test]
fn native_reads_one_assistant_message() {
    let home = Home::new();
    let message = r#"{"role": "assistant", "content": null, "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "calculator", "arguments": "{\"expression\": \"6*7\"}"}},
        {"id": "call_2", "type": "function", "function": {"name": "calculator", "arguments": "{\"expression\": "}},
        {"id": "call_3", "type": "function", "function": {"name": "nope", "arguments": {}}},
        {"id": "call_4"}]}"#;
    haft_snapshot!(home, home.haft_with(&["exec", "--dialect", "native"], message), @r###"
    exit: 1
    --- stdout
    {"role":"tool","tool_call_id":"call_1","content":"42"}
    {"role":"tool","tool_call_id":"call_2","content":"## Tool error\n\nThe arguments are no JSON object: the text ends inside a value at byte 15. Write one JSON object."}
    {"role":"tool","tool_call_id":"call_3","content":"## Tool error\n\nThere is no tool `nope`. The tools are: file_read, file_write, file_edit, file_list, calculator, create_artifact, update_artifact, rewrite_artifact, read_artifact, grep_artifact, call_subagent, skill_list, skill_read."}
    {"role":"tool","tool_call_id":"call_4","content":"## Tool error\n\nThe call has no `function.name`. Name the tool."}
    --- stderr
    session s_[ID], run r_[ID]
    "###);
    let nanoclaw = home.haft_with(&["exec", "--dialect", "native", "--profile", "nanoclaw"], message);
    assert!(nanoclaw.stdout.contains(r#"\"success\":true"#), "{nanoclaw}");
    haft_snapshot!(home, home.haft_with(&["exec", "--dialect", "native"], "Hello"), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: stdin holds no assistant message: expected value at line 1 column 1

      Write {"role":"assistant","tool_calls":[{"id":…,"function":{"name":…,"arguments":"{…}"}}]}.
    "#);
    assert_eq!(home.haft_with(&["exec", "--dialect", "native"], r#"{"content": "Hello"}"#).exit, Some(0));
}

#[test]
fn a_dry_run_decides_and_runs_nothing() {
    let home = Home::new();
    haft_snapshot!(home, home.haft_with(&["exec", "--dry-run"], TEXT), @r#"
    exit: 1
    --- stdout
    calculator {"expression":"6*7"}
      allow: permission of `calculator`: allow
    calculator "<tool_call><name>calculator</name><params><expression>1</expression><expression>2</expression></params></tool_call>"
      would not run: The parameter "expression" is given twice with different values. Give each parameter once; for two calls write two separate calls.
    calculater {"expression":"1"}
      would not run: There is no tool `calculater`. Did you mean calculator?
    --- stderr
    "#);
    assert!(!home.path("home").exists());
}

// ART-02, EXE-01
#[test]
fn calls_of_one_text_see_what_the_ones_before_did() {
    let home = Home::new();
    let text = "<tool_call><name>create_artifact</name><params><id><![CDATA[a]]></id><title><![CDATA[T]]></title>\
        <content><![CDATA[old]]></content></params></tool_call>\
        <tool_call><name>update_artifact</name><params><id><![CDATA[a]]></id><old_str><![CDATA[old]]></old_str>\
        <new_str><![CDATA[new]]></new_str></params></tool_call>";
    assert_eq!(home.haft_with(&["exec", "--profile", "artifactflow"], text).exit, Some(0));
    assert_eq!(home.haft(&["artifacts", "get", "a"]).stdout, "new");
}

#[test]
fn a_call_that_cannot_be_read_has_no_arguments() {
    let home = Home::new();
    let text = "<tool_call><name>calculator</name><params><expression><![CDATA[1 +";
    for more in [&["--json"][..], &["--json", "--dry-run"]] {
        let run = home.haft_with(&[&["exec"], more].concat(), text);
        let call: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(run.exit, Some(1), "{run}");
        assert_eq!(
            (&call["arguments"], &call["is_error"]),
            (&serde_json::Value::Null, &true.into()),
            "{run}"
        );
        assert_eq!(call["error_code"], "agent.malformed_call", "{run}");
    }
}
