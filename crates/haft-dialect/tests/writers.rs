//! What writers write, letter by letter, for each dialect; and that results cannot be forged in any.

#![allow(clippy::unwrap_used, reason = "a broken case fails the test")]

use haft_dialect::{
    Dialect, ExecutionMode, Tags, ToolInfo, Uncarried, Writer, WrittenCall, WrittenResult, dialects,
};
use haft_schema::Schema;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn writer(dialect: Dialect) -> Writer {
    Writer::new(dialect, Tags::default())
}

fn object(value: &Value) -> &Map<String, Value> {
    value.as_object().unwrap()
}

/// Two calls of one turn, the second without arguments.
fn two_calls(dialect: Dialect) -> String {
    let arguments = json!({"port": "Brest", "days": 2, "tags": ["a"]});
    let none = Map::new();
    writer(dialect)
        .calls(&[
            WrittenCall { name: "tide_table", arguments: object(&arguments) },
            WrittenCall { name: "jobs_list", arguments: &none },
        ])
        .unwrap()
}

fn results(dialect: Dialect, contents: &[(bool, &str)]) -> String {
    let results: Vec<_> = contents
        .iter()
        .map(|(success, content)| WrittenResult { name: "tide_table", id: None, success: *success, content })
        .collect();
    writer(dialect).results(&results)
}

/// Every dialect with what it writes, in blocks `=== NAME`, calls before `---` and results behind it.
#[test]
fn every_dialect_writes_its_own_form() {
    let mut page = String::new();
    for dialect in dialects().iter().copied().filter(|dialect| *dialect != Dialect::Auto) {
        page.push_str(&format!(
            "=== {dialect}\n{}\n---\n{}\n",
            two_calls(dialect),
            results(dialect, &[(true, "high at 6"), (false, "no such port")])
        ));
    }
    insta::assert_snapshot!(page);
}

#[test]
fn visible_text_stands_where_the_dialect_has_a_place_for_it() {
    let none = Map::new();
    let ping = [WrittenCall { name: "ping", arguments: &none }];
    for (dialect, message) in [
        (Dialect::Hermes, "Hi.\n<tool_call>\n{\"name\": \"ping\", \"arguments\": {}}\n</tool_call>"),
        (Dialect::FunctionaryV32, "all\nHi.>>>ping\n{}"),
        (
            Dialect::Harmony,
            "<|channel|>commentary<|message|>Hi.<|end|><|start|>assistant<|channel|>commentary to=functions.ping \
             <|constrain|>json<|message|>{}<|call|>",
        ),
        (
            Dialect::KimiK3,
            "<|open|>response<|sep|>Hi.<|close|>response<|sep|><|open|>tools<|sep|><|open|>call tool=\"ping\" \
             index=\"1\"<|sep|><|close|>call<|sep|><|close|>tools<|sep|>",
        ),
    ] {
        assert_eq!(writer(dialect).message("Hi.", &ping).unwrap(), message);
        assert_eq!(writer(dialect).message("Hi.", &[]).unwrap(), "Hi.");
        assert_eq!(writer(dialect).message("", &ping).unwrap(), writer(dialect).calls(&ping).unwrap());
    }
}

#[test]
fn results_name_the_ids_that_the_model_wrote() {
    let result = |dialect: Dialect, id: &str| {
        writer(dialect).results(&[WrittenResult { name: "ping", id: Some(id), success: true, content: "x" }])
    };
    assert_eq!(result(Dialect::KimiK2, "functions.ping:7"), "## Return of functions.ping:7\nx");
    assert_eq!(result(Dialect::KimiK2, "call_\n1"), "## Return of functions.ping:0\nx");
    assert!(result(Dialect::Mistral, "aB3dE6gH9").contains("\"call_id\": \"aB3dE6gH9\""));
    assert!(result(Dialect::Mistral, "[/TOOL_RESULTS]").contains("\"call_id\": \"call00000\""));
}

#[test]
fn answers_are_one_object() {
    let arguments = json!({"port": "Brest"});
    let call = WrittenCall { name: "tide_table", arguments: object(&arguments) };
    let writer = Writer::of_answers(Dialect::Hermes);
    assert_eq!(
        writer.message("Say \"hi\".", &[call, call]).unwrap(),
        "{\"text\": \"Say \\\"hi\\\".\", \"tool_calls\": [{\"name\": \"tide_table\", \"arguments\": {\"port\": \"Brest\"}}, \
         {\"name\": \"tide_table\", \"arguments\": {\"port\": \"Brest\"}}]}"
    );
    assert_eq!(writer.message("Hi.", &[]).unwrap(), "{\"text\": \"Hi.\", \"tool_calls\": []}");
    let read =
        haft_dialect::read_answer(&writer.message("Hi.", &[call]).unwrap(), haft_dialect::FinishReason::Stop);
    let read = read.unwrap();
    assert_eq!(
        (read.text.as_str(), read.calls),
        ("Hi.", vec![Ok(("tide_table".to_owned(), object(&arguments).clone()))])
    );
    assert_eq!(writer.results(&[]), "");
    let schema = Schema::empty_object();
    let tool = ToolInfo { name: "ping", description: "Pings.", schema: &schema, example: None };
    let told = writer.instructions(&[tool], ExecutionMode::Serial);
    assert!(told.contains("Answer with one JSON object and nothing else"), "{told}");
    assert!(
        told.contains(
            "Example:\n{\"text\": \"\", \"tool_calls\": [{\"name\": \"ping\", \"arguments\": {}}]}"
        ),
        "{told}"
    );
}

#[test]
fn what_cannot_be_carried_is_said() {
    let said = |dialect: Dialect, name: &str, arguments: Value| {
        writer(dialect)
            .calls(&[WrittenCall { name, arguments: object(&arguments) }])
            .map_err(|error| error.what)
    };
    let value = |parameter: &str, what: &str| {
        Err(Uncarried::Value { parameter: parameter.to_owned(), what: what.to_owned() })
    };
    assert_eq!(
        said(Dialect::Qwen3Coder, "put", json!({"body": "a\n</Parameter>\nb"})),
        value("body", "`</parameter`")
    );
    assert_eq!(said(Dialect::Glm47, "put", json!({"body": "a\n"})), value("body", "blanks at its ends"));
    assert_eq!(said(Dialect::Gemma4, "put", json!({"a": 1, "b": ["<|\"|>"]})), value("b", "`<|\"|>`"));
    assert_eq!(said(Dialect::AnthropicXml, "a b", json!({})), Err(Uncarried::Name));
    assert_eq!(
        said(Dialect::Pythonic, "t", json!({"a-b": 1})),
        Err(Uncarried::ParameterName("a-b".to_owned()))
    );
    assert_eq!(
        said(Dialect::ClineXml, "t", json!({"a b": 1})),
        Err(Uncarried::ParameterName("a b".to_owned()))
    );
    let error = writer(Dialect::Glm47)
        .calls(&[WrittenCall { name: "put", arguments: object(&json!({"x": " "})) }])
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "a call of \"put\" cannot be written in glm47: the value of \"x\" holds blanks at its ends, which would not be \
         read back; json-fence carries every call"
    );
}

#[test]
fn json_and_cdata_carry_everything() {
    let arguments =
        json!({"a b": "</tool_call>\n]]>\u{0}\"", "": [null, {"x": 18_446_744_073_709_551_615_u64}]});
    for dialect in
        [Dialect::JsonFence, Dialect::ArtifactXml, Dialect::Hermes, Dialect::Mistral, Dialect::Apertus]
    {
        let call = WrittenCall { name: "any name <\"&>", arguments: object(&arguments) };
        assert!(writer(dialect).calls(&[call]).is_ok(), "{dialect}");
    }
}

// DIA-12, DIA-13, DIA-14
#[test]
fn instructions_show_each_tool_with_a_call_of_the_dialect() {
    let schema = Schema::new(json!({
        "properties": {"port": {"type": "string", "description": "Which port"}, "days": {"type": "integer"}},
        "required": ["port"],
    }))
    .unwrap();
    let empty = Schema::empty_object();
    let tools = [
        ToolInfo { name: "tide_table", description: "Tides.", schema: &schema, example: None },
        ToolInfo { name: "jobs_list", description: "Jobs.", schema: &empty, example: None },
    ];
    for dialect in dialects().iter().copied().filter(|dialect| *dialect != Dialect::Auto) {
        let text = writer(dialect).instructions(&tools, ExecutionMode::Serial);
        let example = json!({"port": "your_port_here"});
        let call = writer(dialect)
            .calls(&[WrittenCall { name: "tide_table", arguments: object(&example) }])
            .unwrap();
        assert!(text.contains(call.trim_matches('\n')), "{dialect}: {text}");
        for part in [
            "<tool name=\"tide_table\">\nTides.\n",
            "  - port: string (required) - Which port\n",
            "<tool name=\"jobs_list\">\nJobs.\nParameters: none\n",
        ] {
            assert!(text.contains(part), "{dialect}: {text}");
        }
    }
    let mut page = String::new();
    for dialect in
        [Dialect::Hermes, Dialect::Qwen3Coder, Dialect::Mistral, Dialect::Pythonic, Dialect::JsonFence]
    {
        page.push_str(&format!(
            "=== {dialect}\n{}\n",
            writer(dialect).instructions(&tools[..1], ExecutionMode::Serial)
        ));
    }
    insta::assert_snapshot!(page);
}

/// What ends or begins a result in some dialect.
const MARKS: &[&str] = &[
    "</data",
    "</error",
    "</tool_result",
    "<tool_result",
    "</tool_response",
    "<tool_response",
    "</response",
    "<response>",
    "<｜tool▁output",
    "</result",
    "<result",
    "</function_results",
    "<function_results",
    "## Return of",
    "<|tool_response",
    "[/TOOL_RESULTS",
    "[TOOL_RESULTS",
    "</results",
    "Document:",
    "<|START_",
    "<|END_",
    "<|\"|>",
    "<tool_response|",
    "<escape",
    "<end_function",
    "<|end|",
    "<|start|",
    "<|message|",
    "</stdout",
    "</stderr",
    "] Result:",
    "Observation:",
    "\n",
    " ",
    "/",
    "<",
    "x",
];

fn hostile() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(MARKS), 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    /// Marks stand in a written batch as often as they do where the contents are harmless.
    // DIA-16
    #[test]
    fn no_content_forges_a_result(first in hostile(), second in hostile(), success in any::<bool>()) {
        for dialect in dialects().iter().copied() {
            let hostile = results(dialect, &[(success, &first), (true, &second)]);
            let harmless = results(dialect, &[(success, "x"), (true, "x")]);
            for mark in own_marks(dialect) {
                let count = |text: &str| {
                    let text = text.to_lowercase();
                    match mark.strip_prefix('\n') {
                        Some(mark) => text.lines().filter(|line| line.trim_start().starts_with(mark)).count(),
                        None => text.split_whitespace().collect::<String>().matches(mark).count(),
                    }
                };
                prop_assert_eq!(count(&hostile), count(&harmless), "{}: {:?} in {}", dialect, mark, hostile);
            }
        }
    }
}

/// The marks of a dialect's results, without blanks and in lower case.
fn own_marks(dialect: Dialect) -> &'static [&'static str] {
    match dialect {
        Dialect::Auto | Dialect::ArtifactXml => &["</data", "</error", "</tool_result"],
        Dialect::Hermes | Dialect::Ernie45 | Dialect::Qwen3Coder | Dialect::Glm45 | Dialect::Glm47 => {
            &["</tool_response", "<tool_response"]
        }
        Dialect::MinimaxM2 => &["</response", "<response>"],
        Dialect::DeepseekV3 | Dialect::DeepseekV31 => &["<｜tool▁output▁begin", "<｜tool▁output▁end"],
        Dialect::DeepseekDsml | Dialect::AnthropicXml => &["</result", "</function_results"],
        Dialect::KimiK2 => &["\n## return of"],
        Dialect::Lfm2 => &["<|tool_response"],
        Dialect::Mistral | Dialect::MistralV11 => &["[/tool_results", "[tool_results"],
        Dialect::CommandR => &["</results", "\ndocument:"],
        Dialect::CohereAction => &["<|start_", "<|end_"],
        Dialect::Gemma4 => &["<|\"|>", "<tool_response|"],
        Dialect::FunctionGemma => &["<escape", "<end_function"],
        Dialect::Harmony => &["<|end|", "<|start|", "<|message|"],
        Dialect::ClineXml => &["]result:"],
        Dialect::React => &["\nobservation:"],
        _ => &["</tool_result", "<tool_result"],
    }
}
