//! The repairs of the document, one test for each row: what is read, and that the model is told.

mod support;

use haft_dialect::{Dialect, FinishReason, Parsed, ParserOptions, Repair, parse};
use serde_json::{Value, json};

fn read(text: &str) -> Parsed {
    parse(text, Dialect::ArtifactXml, support::note_tools(), &ParserOptions::default(), FinishReason::Stop)
}

/// Asserts that the text is one call with these repairs, and nothing else.
fn is_one_call(text: &str, name: &str, arguments: &Value, repairs: &[Repair]) {
    let parsed = read(text);
    assert_eq!(parsed.malformed, [], "{text}");
    assert_eq!(parsed.calls.len(), 1, "{text}");
    let call = &parsed.calls[0];
    assert_eq!((call.name.as_str(), &json!(call.arguments)), (name, arguments), "{text}");
    assert_eq!(call.repairs, repairs, "{text}");
    assert_eq!(parsed.text, "", "{text}");
}

// DIA-03
#[test]
fn layers_are_strict_then_repair_then_scan_then_error() {
    let arguments = json!({"query": "moss"});
    let strict =
        "<tool_call><name>note_find</name><params><query><![CDATA[moss]]></query></params></tool_call>";
    is_one_call(strict, "note_find", &arguments, &[]);
    let repaired = strict.replace("</params>", "");
    is_one_call(&repaired, "note_find", &arguments, &[Repair::ParamsClosed]);
    let scanned = strict.replace("<tool_call>", "").replace("</tool_call>", "");
    is_one_call(&scanned, "note_find", &arguments, &[Repair::WrapperAdded]);
    let error = read("<tool_call>\nI will look for moss.\n</tool_call>");
    assert!(error.calls.is_empty());
    assert_eq!(error.malformed.len(), 1);
    assert_eq!(error.malformed[0].reason, "no tool name can be found in the call");
}

// DIA-04
#[test]
fn a_tool_name_as_tag() {
    for closer in ["", "</note_find>"] {
        let text = format!("<tool_call><note_find><params><query>moss</query></params>{closer}</tool_call>");
        is_one_call(&text, "note_find", &json!({"query": "moss"}), &[Repair::NameFromTag]);
    }
}

// DIA-05
#[test]
fn a_name_behind_an_equals_sign() {
    for name in ["<name=note_find</name>", "<name=note_find>", "<name=\"note_find\"></name>"] {
        let text = format!("<tool_call>{name}<params><query>moss</query></params></tool_call>");
        is_one_call(&text, "note_find", &json!({"query": "moss"}), &[Repair::TagEquals]);
    }
}

// DIA-06
#[test]
fn a_section_without_its_close_tag() {
    let text = "<tool_call><name>note_write</name><params><id><![CDATA[kiln]]>\n<body><![CDATA[Cone 6\n]]>\n\
                </params></tool_call>";
    is_one_call(text, "note_write", &json!({"id": "kiln", "body": "Cone 6\n"}), &[Repair::ValueClosed]);
}

// DIA-07
#[test]
fn parameters_outside_of_params_or_in_several() {
    let arguments = json!({"id": "brine", "body": "3%"});
    for inside in [
        "<id>brine</id><body>3%</body>",
        "<params><id>brine</id></params><params><body>3%</body></params>",
        "<id>brine</id><params><body>3%</body></params>",
    ] {
        let text = format!("<tool_call><name>note_write</name>{inside}</tool_call>");
        is_one_call(&text, "note_write", &arguments, &[Repair::ParamsMerged]);
    }
}

// DIA-08
#[test]
fn params_without_its_close_tag() {
    let text = "<tool_call><name>note_find</name><params><query>moss</query></tool_call>";
    is_one_call(text, "note_find", &json!({"query": "moss"}), &[Repair::ParamsClosed]);
}

// DIA-09
#[test]
fn an_unclosed_call_at_the_end() {
    let text = "<tool_call>\n<name>note_find</name>\n<params>\n<query>moss</query>\n</params>\n";
    is_one_call(text, "note_find", &json!({"query": "moss"}), &[Repair::CallClosed]);
    // Never a cut value, nor one without what is required.
    for cut in ["<query><![CDATA[mo", "<query>mo", "<limit>3</limit>"] {
        let text = format!("<tool_call>\n<name>note_find</name>\n<params>\n{cut}");
        let parsed = read(&text);
        assert_eq!((parsed.calls.len(), parsed.malformed.len()), (0, 1), "{text}");
    }
    let cut_off = parse(
        text,
        Dialect::ArtifactXml,
        support::note_tools(),
        &ParserOptions::default(),
        FinishReason::Length,
    );
    assert_eq!((cut_off.calls.len(), cut_off.malformed.len()), (0, 1));
}
