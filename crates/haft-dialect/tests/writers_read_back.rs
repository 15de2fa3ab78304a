//! What is written in a dialect is read back as it was, and whatever a grammar allows is read as calls of the turn.

#![allow(clippy::unwrap_used, reason = "a broken case fails the test")]
#![allow(clippy::disallowed_methods, reason = "one dialect can be asked for by a variable")]

#[path = "support/gbnf.rs"]
mod gbnf_reader;

use std::sync::Arc;

use gbnf_reader::Gbnf;
use haft_dialect::{
    Contract, DeclaredTool, Dialect, FinishReason, Parsed, ParserOptions, Tags, ToolSet, Writer, WrittenCall,
    dialects, gbnf, parse,
};
use haft_schema::{Schema, canonical};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn all() -> impl Iterator<Item = Dialect> {
    dialects().iter().copied().filter(|dialect| *dialect != Dialect::Auto)
}

fn tools() -> Vec<DeclaredTool> {
    let tool = |name: &str, schema: Value| DeclaredTool {
        name: name.to_owned(),
        schema: Schema::new(schema).unwrap(),
    };
    vec![
        tool(
            "doc_put",
            json!({"type": "object", "properties": {
            "path": {"type": "string"}, "content": {"type": "string"}, "count": {"type": "integer"},
            "level": {"type": "number"}, "on": {"type": "boolean"},
            "lines": {"type": "array", "items": {"type": "string"}},
            "point": {"type": "object", "properties": {"x": {"type": "number"}, "label": {"type": "string"}}},
        }, "required": ["path"]}),
        ),
        tool("jobs.list", json!({"type": "object", "properties": {}})),
    ]
}

fn read(dialect: Dialect, text: &str) -> Parsed {
    let tools = Arc::new(ToolSet::new(tools()));
    parse(text, dialect, tools, &ParserOptions::default(), FinishReason::Stop)
}

/// Texts as files and messages hold them.
fn text() -> impl Strategy<Value = String> {
    const PIECES: &[&str] = &[
        "\n",
        " ",
        "\t",
        "\r\n",
        "<",
        ">",
        "</",
        "/>",
        "&lt;",
        "&",
        "\"",
        "'",
        "\\",
        "\\n",
        "`",
        "```",
        "{",
        "}",
        "[",
        "]",
        "]]>",
        "<![CDATA[",
        "(",
        ")",
        ",",
        ":",
        "=",
        "a",
        "word",
        "007",
        "true",
        "null",
        "1.5",
        "中文",
        "é",
        "😀",
        "\u{7f}",
        "</parameter>",
        "<parameter=x>",
        "</tool_call>",
        "<tool_call>",
        "</content>",
        "<|\"|>",
        "<escape>",
        "[ARGS]",
        "<｜tool▁call▁end｜>",
        "<|tool_call_end|>",
        "function",
        "Observation:",
        "Action:",
        ">>>",
        "<think>",
        "</think>",
        "{\"name\": \"doc_put\"}",
        "doc_put(",
        "#",
        "--",
        "%",
        "$x",
        "|",
        "｜",
        "<b>bold</b>",
    ];
    prop_oneof![
        3 => prop::collection::vec(prop::sample::select(PIECES), 0..8).prop_map(|pieces| pieces.concat()),
        1 => "[a-z .,]{0,30}",
        1 => "[ -~\n]{0,20}",
    ]
}

fn arguments() -> impl Strategy<Value = Map<String, Value>> {
    let some = |strategy: BoxedStrategy<Value>| prop::option::of(strategy);
    (
        text(),
        some(text().prop_map(Value::from).boxed()),
        some(any::<i64>().prop_map(Value::from).boxed()),
        some(any::<f64>().prop_filter("finite", |float| float.is_finite()).prop_map(Value::from).boxed()),
        some(any::<bool>().prop_map(Value::from).boxed()),
        some(prop::collection::vec(text(), 0..3).prop_map(Value::from).boxed()),
        some((any::<i32>(), text()).prop_map(|(x, label)| json!({"x": x, "label": label})).boxed()),
    )
        .prop_map(|(path, content, count, level, on, lines, point)| {
            let optional = [
                ("content", content),
                ("count", count),
                ("level", level),
                ("on", on),
                ("lines", lines),
                ("point", point),
            ];
            let mut map = Map::from_iter([("path".to_owned(), Value::from(path))]);
            map.extend(optional.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
            map
        })
}

/// Why the calls are not read back as they were, if they are not.
fn mismatch(dialect: Dialect, before: &str, calls: &[WrittenCall<'_>]) -> Option<String> {
    let written = Writer::new(dialect, Tags::default()).message(before, calls).ok()?;
    let parsed = read(dialect, &written);
    let found: Vec<Value> =
        parsed.calls.iter().map(|call| json!({"name": call.name, "arguments": call.arguments})).collect();
    let wanted: Vec<Value> =
        calls.iter().map(|call| json!({"name": call.name, "arguments": call.arguments})).collect();
    let repaired: Vec<_> = parsed.calls.iter().flat_map(|call| &call.repairs).collect();
    let right = canonical::same(&json!(found), &json!(wanted))
        && parsed.malformed.is_empty()
        && repaired.is_empty()
        && parsed.text == before;
    (!right).then(|| {
        format!(
            "{dialect}\nwritten: {written:?}\nwanted:  {}\nfound:   {}\ntext: {:?}, malformed: {:?}, repairs: {repaired:?}",
            json!(wanted), json!(found), parsed.text, parsed.malformed
        )
    })
}

fn config(cases: u32) -> ProptestConfig {
    let default = ProptestConfig::default();
    let cases = if default.cases == 256 { cases } else { default.cases };
    ProptestConfig { cases, failure_persistence: None, ..default }
}

/// `HAFT_DIALECT` looks at one dialect alone.
fn looked_at() -> Vec<Dialect> {
    match std::env::var("HAFT_DIALECT") {
        Ok(name) => vec![name.parse().unwrap()],
        Err(_) => all().collect(),
    }
}

proptest! {
    #![proptest_config(config(64))]

    #[test]
    fn what_is_written_is_read_back(first in arguments(), second in arguments(), prose in any::<bool>()) {
        let none = Map::new();
        let calls = [
            WrittenCall { name: "doc_put", arguments: &first },
            WrittenCall { name: "jobs.list", arguments: &none },
            WrittenCall { name: "doc_put", arguments: &second },
        ];
        for dialect in looked_at() {
            let before = if prose && !alone(dialect) { "Both at once." } else { "" };
            for batch in [&calls[..1], &calls[..]] {
                let mismatch = mismatch(dialect, before, batch);
                prop_assert!(mismatch.is_none(), "{}", mismatch.unwrap());
            }
        }
    }
}

#[test]
fn whatever_a_grammar_allows_is_read() {
    let tools = tools();
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    for dialect in looked_at() {
        let contract = Contract { tools: &tools, required: true, most_calls: 2 };
        let grammar = Gbnf::read(&gbnf(dialect, &Tags::default(), &contract).unwrap());
        for seed in 1..=24_u64 {
            let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mut dice = |sides: usize| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                (state % (sides.max(1) as u64)) as usize
            };
            let text = grammar.walk(&mut dice);
            let parsed = read(dialect, &text);
            let known = parsed.calls.iter().all(|call| names.contains(&call.name.as_str()));
            let plain = parsed.calls.iter().all(|call| call.repairs.is_empty());
            let right = parsed.malformed.is_empty() && !parsed.calls.is_empty() && known && plain;
            assert!(right, "{dialect}: {text:?}\n{parsed:?}");
        }
    }
}

/// Dialects whose calls must be the whole message.
fn alone(dialect: Dialect) -> bool {
    matches!(dialect, Dialect::Llama3Json | Dialect::Pythonic | Dialect::Xlam | Dialect::Gemma3)
}
