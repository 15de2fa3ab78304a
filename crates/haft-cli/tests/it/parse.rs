//! `haft parse`: the contract of its output. What the dialects read is tested in their own room.

use crate::support::{Home, run};

const TOOLS: &str = r#"[{"name": "find", "parameters": {"type": "object", "properties": {"limit": {"type": "integer"}},
    "required": ["limit"]}}]"#;

const TEXT: &str = "Hm. <think>two?</think><tool_call><name>find</name><params><limit><![CDATA[2]]></limit></params></tool_call>\
    <tool_call><name>find</name><params><limit>1</limit><limit>2</limit></params></tool_call>";

// DIA-10
#[test]
fn one_object_with_calls_and_malformed_ones() {
    let home = Home::new();
    let tools = home.write("tools.json", TOOLS);
    let tools = tools.to_str().unwrap();
    haft_snapshot!(home, home.haft_with(&["parse", "--tools", tools], TEXT), @r#"
    exit: 0
    --- stdout
    {"dialect":"artifact-xml","calls":[{"id":null,"name":"find","arguments":{"limit":2},"repairs":[],"span":[23,108]}],"malformed":[{"name":"find","reason":"the parameter \"limit\" is given twice with different values","span":[108,197]}],"text":"Hm.","reasoning":"two?"}
    --- stderr
    "#);
    haft_snapshot!(home, home.haft_with(&["parse"], "nothing here"), @r#"
    exit: 0
    --- stdout
    {"dialect":"none","calls":[],"malformed":[],"text":"nothing here","reasoning":""}
    --- stderr
    "#);
}

#[test]
fn pieces_change_nothing() {
    let home = Home::new();
    let tools = home.write("tools.json", TOOLS);
    let tools = tools.to_str().unwrap();
    let whole = home.haft_with(&["parse", "--tools", tools, "--dialect", "artifact-xml"], TEXT);
    for characters in ["1", "2", "7", "100000"] {
        let arguments = ["parse", "--tools", tools, "--dialect", "artifact-xml", "--chunk", characters];
        assert_eq!(home.haft_with(&arguments, TEXT).stdout, whole.stdout, "{characters}");
    }
}

#[test]
fn after_a_length_stop_no_unclosed_call_counts() {
    let home = Home::new();
    let tools = home.write("tools.json", r#"[{"name": "ping"}]"#);
    let cut = "<tool_call><name>ping</name><params>";
    let calls = |arguments: &[&str]| {
        let run = home.haft_with(&[arguments, &["--tools", tools.to_str().unwrap()]].concat(), cut);
        serde_json::from_str::<serde_json::Value>(&run.stdout).unwrap()["calls"].as_array().unwrap().len()
    };
    assert_eq!(calls(&["parse"]), 1);
    assert_eq!(calls(&["parse", "--finish-reason", "length"]), 0);
    assert_eq!(home.haft_with(&["parse", "--finish-reason", "lenght"], cut).exit, Some(2));
}

#[test]
fn lines_are_answered_one_by_one() {
    let home = Home::new();
    let lines = [
        r#"{"id": 1, "text": "plain"}"#,
        r#"{"id": "b", "dialect": "artifact-xml", "tools": [{"name": "ping"}], "text": "<tool_call><name>ping</name>", "finish_reason": "length", "more": 0}"#,
        "",
        r#"{"id": 2}"#,
        r#"{"id": 2, "text": ["x"]}"#,
        r#"{"id": 2, "text": "x", "finish_reason": 3}"#,
        "no json",
        r#"{"id": 3, "text": "x", "dialect": "klingon"}"#,
        r#"{"id": 4, "text": "x", "tools": [{"parameters": {}}]}"#,
        r#"{"text": "without an id"}"#,
    ];
    haft_snapshot!(home, home.haft_with(&["parse", "--jsonl"], &lines.join("\n")), @r#"
    exit: 1
    --- stdout
    {"id":1,"dialect":"none","calls":[],"malformed":[],"text":"plain","reasoning":""}
    {"id":"b","dialect":"artifact-xml","calls":[],"malformed":[{"name":"ping","reason":"the text was cut off by the length limit before the call was closed","span":[0,28]}],"text":"","reasoning":""}
    {"id":null,"error":"`text` is missing"}
    {"id":null,"error":"`text` must be a string"}
    {"id":null,"error":"`finish_reason` must be a string"}
    {"id":null,"error":"the line is no JSON: expected ident at line 1 column 2"}
    {"id":null,"error":"there is no dialect `klingon`; `haft parse --dialects` lists them"}
    {"id":null,"error":"tool 1 has no `name`"}
    {"id":null,"dialect":"none","calls":[],"malformed":[],"text":"without an id","reasoning":""}
    --- stderr
    "#);
    assert_eq!(home.haft_with(&["parse", "--jsonl"], lines[0]).exit, Some(0));
}

#[test]
fn names_are_listed() {
    let home = Home::new();
    let dialects = home.haft(&["parse", "--dialects"]);
    assert_eq!(dialects.exit, Some(0));
    let listed: Vec<&str> = dialects.stdout.lines().collect();
    assert_eq!(listed.first(), Some(&"auto"));
    for name in ["artifact-xml", "hermes", "qwen3-coder", "deepseek-dsml", "harmony", "react", "lm-studio"] {
        assert!(listed.contains(&name), "{dialects}");
    }
    let repairs = home.haft(&["parse", "--repairs"]);
    assert_eq!(repairs.exit, Some(0));
    assert!(repairs.stdout.lines().any(|name| name == "params_merged"), "{repairs}");
}

#[test]
fn bad_input_says_what_and_where() {
    let home = Home::new();
    let no_array = home.write("a.json", "{}");
    let no_json = home.write("b.json", "[");
    haft_snapshot!(home, home.haft(&["parse", "--dialect", "klingon"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: there is no dialect `klingon`

      `haft parse --dialects` lists the dialects; where calls are run, native is one too.
    "#);
    haft_snapshot!(home, home.haft(&["parse", "--dialect", "native"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: `native` is a provider's own JSON and no text: there is nothing to find in it

      `haft parse --dialects` lists the dialects; `haft exec --dialect native` runs such calls.
    "#);
    haft_snapshot!(home, home.haft(&["parse", "--finish-reason", "tired"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: --finish-reason: `tired` is no reason to stop; write one of length, max_tokens, stop, tool_calls, tool_use, end_turn, content_filter, other
    "#);
    let near = home.haft(&["parse", "--dialect", "hermess"]);
    assert!(near.stderr.contains("Did you mean hermes?"), "{near}");
    haft_snapshot!(home, home.haft(&["parse", "--tools", no_array.to_str().unwrap()]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: --tools [FOLDER]/a.json: the tools must be a JSON array

      The file holds a JSON array of {"name": …, "parameters": SCHEMA}.
    "#);
    haft_snapshot!(home, home.haft(&["parse", "--tools", no_json.to_str().unwrap()]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: --tools [FOLDER]/b.json: it is no JSON: EOF while parsing a list at line 1 column 1

      The file holds a JSON array of {"name": …, "parameters": SCHEMA}.
    "#);
    haft_snapshot!(home, home.haft(&["parse", "--tools", "absent.json"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: --tools absent.json: the file cannot be read: No such file or directory (os error 2)

      The file holds a JSON array of {"name": …, "parameters": SCHEMA}.
    "#);
    haft_snapshot!(home, run(&mut home.command(&["parse"]), b"caf\xe9"), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: standard input cannot be used: it is not UTF-8 text: byte 3 does not fit
    "#);
}

#[test]
fn texts_of_16_megabytes_are_taken_and_longer_ones_refused() {
    let home = Home::new();
    let text = "word ".repeat(16_000_000 / 5);
    assert_eq!(home.haft_with(&["parse"], &text).exit, Some(0));
    let longer = "word ".repeat(17_000_000 / 5);
    assert_eq!(home.haft_with(&["parse"], &longer).exit, Some(2));
}
