//! Every dialect: an answer with two calls against raw quick-xml or serde_json on the same bytes, `auto` on prose, and hostile texts of 1 MB.
//!
//! Hostile texts are measured at 500 kB and at 1 MB on the thread's clock: what grows faster than the text shows. With words
//! behind the command only what holds one of them is measured: `cargo bench -p haft-bench --bench forms -- react 'auto, 66'`.
#![allow(clippy::disallowed_methods, reason = "a bench looks at its own arguments")]
#![allow(clippy::needless_pass_by_value, reason = "values written at the place of the call")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a bench that cannot set up has nothing to measure"
)]

use std::process::ExitCode;
use std::sync::Arc;

use haft_bench::{Clock, Comparison, Goals};
use haft_dialect::{
    DeclaredTool, Dialect, Engine, Event, FinishReason, Parsed, Parser, ParserOptions, Tags, ToolSet, Writer,
    WrittenCall, dialects, parse,
};
use haft_schema::Schema;
use serde_json::{Map, Value, json};

fn tools() -> Arc<ToolSet> {
    let text = json!({"type": "string"});
    let declared = [
        ("note_find", json!({"query": text, "limit": {"type": "integer"}}), json!(["query"])),
        ("note_write", json!({"id": text, "body": text, "title": text}), json!(["id", "body"])),
    ];
    Arc::new(ToolSet::new(declared.map(|(name, properties, required)| DeclaredTool {
        name: name.to_owned(),
        schema:
            Schema::new(json!({"type": "object", "properties": properties, "required": required})).unwrap(),
    })))
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

/// Two calls as the dialect writes them, one with a code value of 600 bytes; one call where only one can be written.
fn answer(dialect: Dialect) -> (String, usize) {
    let code: String =
        (0..16).map(|line| format!("    if a[{line}] < b && c > {line} {{ push(a[{line}]); }}\n")).collect();
    let find = object(json!({"query": "winter moss & lichen on slate", "limit": 12}));
    let write =
        object(json!({"id": "loom-7", "title": "A loop over the warp", "body": code.get(..600).unwrap()}));
    let calls = [
        WrittenCall { name: "note_find", arguments: &find },
        WrittenCall { name: "note_write", arguments: &write },
    ];
    let writer = Writer::new(dialect, Tags::default());
    match writer.message("", &calls) {
        Ok(text) => (text, 2),
        Err(_) => (writer.message("", &calls[..1]).expect("one call can be written"), 1),
    }
}

fn whole(dialect: Dialect, text: &str, tools: &Arc<ToolSet>) -> Parsed {
    parse(text, dialect, tools.clone(), &ParserOptions::default(), FinishReason::Stop)
}

fn pieces(dialect: Dialect, text: &str, size: usize, tools: &Arc<ToolSet>) -> Parsed {
    let mut parser = Parser::new(dialect, tools.clone(), &ParserOptions::default());
    let mut sink = |_: Event<'_>| {};
    let mut rest = text;
    while !rest.is_empty() {
        let end = (size.min(rest.len())..=rest.len()).find(|end| rest.is_char_boundary(*end)).unwrap();
        let (piece, after) = rest.split_at(end);
        parser.feed(piece, &mut sink);
        rest = after;
    }
    parser.finish(FinishReason::Stop)
}

/// What a raw reader of the same bytes does: events of XML, or all JSON values from the first bracket on.
fn raw(engine: Engine, text: &str) -> usize {
    if matches!(engine, Engine::TagWithTags) {
        let mut reader = quick_xml::Reader::from_str(text);
        reader.config_mut().check_end_names = false;
        reader.config_mut().allow_unmatched_ends = true;
        let mut events = 0;
        loop {
            match reader.read_event() {
                Ok(quick_xml::events::Event::Eof) | Err(_) => return events,
                Ok(_) => events += 1,
            }
        }
    }
    let mut rest = text;
    let mut values = 0;
    while let Some(at) = rest.find('{') {
        rest = rest.get(at..).unwrap();
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        let read = stream.next().is_some_and(|value| value.is_ok());
        let end = if read { stream.byte_offset() } else { 1 };
        values += usize::from(read);
        rest = rest.get(end..).unwrap_or_default();
    }
    values
}

fn prose(size: usize) -> String {
    let sentence =
        "The kiln is slow to warm, and the glaze is slower; nobody minds, since the tea is good here.\n";
    sentence.repeat(size / sentence.len() + 1).get(..size).unwrap().to_owned()
}

/// Pieces whose floods make careless parsers slow.
const FLOODS: &[&str] = &[
    "<tool_call>{\"name\": \"note_find\", \"arguments\": {\"query\": \"a\"",
    "<tool_call>\n<function=note_find>\n<parameter=query>\n",
    "<tool_call>note_find<arg_key>query</arg_key><arg_value>",
    "<invoke name=\"note_find\"><parameter name=\"query\">",
    "<minimax:tool_call><invoke name=\"note_find\">",
    "]<]minimax[>[<invoke name=\"note_write\">]<]minimax[>[<body>",
    "]<]minimax[>[<tool_call>",
    "]<]minimax[>[",
    "<｜tool▁call▁begin｜>function<｜tool▁sep｜>note_find\n```json\n{\"query\": \"",
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>",
    "<｜DSML｜invoke name=\"note_find\"><｜DSML｜parameter name=\"query\" string=\"true\">",
    "<|tool_call_begin|>functions.note_find:0<|tool_call_argument_begin|>{\"query\": [",
    "<|open|>call tool=\"note_find\" index=\"1\"<|sep|><|open|>argument key=\"query\"<|sep|>",
    "<|open|>",
    "{\"name\": \"note_find\", \"parameters\": {\"query\": \"a\"}\n",
    "\n[{\"name\": \"note_find\"}, ",
    "\n{\"name\": ",
    "[note_find(query='it's', ",
    "note_find(query='a'\n",
    "[TOOL_CALLS]note_find[ARGS]{\"query\": ",
    "[TOOL_CALLS] [{\"name\": ",
    "[TOOL_CALLS]",
    "<|tool_call|>[{\"name\": ",
    "functools[{\"name\": \"note_find\", ",
    "functools[",
    "<|tool_call>call:note_find{query:<|\"|>a",
    "<|tool_call>call:note_find{query:[",
    "<|\"|>",
    "<start_function_call>call:note_find{query:<escape>",
    "<|channel|>commentary to=functions.note_find<|message|>{\"query\": ",
    "<|channel|>analysis<|message|>",
    "<|start|>assistant<|channel|>",
    " to=note_find<|message|>",
    "to=",
    ">>>note_find\n{\"query\": ",
    "all\n>>>",
    "Action: note_find\nAction Input: {\"query\": ",
    "Action: note_find\n",
    "Action: ",
    "\n```json\n{\"name\": \"note_find\", \"arguments\": {}}\n",
    "\n```json\n[",
    "```",
    "<|START_ACTION|>[{\"tool_name\": ",
    "<|START_THINKING|>",
    "[THINK]",
    "<|tools_prefix|>[{\"note_find\": {",
    "<|message_model|>note_find<|content_invoke_tool_json|>{",
    "<|message_sep|>\n\nfunction call<|role_sep|>\n{",
    "<function name=\"note_write\"><param name=\"body\"><![CDATA[",
    "<note_write>\n<body>\n",
    "<function_calls>\nnote_find(query=\"a\"\n",
    "<|python_tag|>note_find.call(",
    "<|",
    "<｜",
    "[",
    "[n",
    "{",
    "\n{",
    ":",
    "：",
    "]<",
    "</think>",
    "<think>",
];

/// The words behind the command.
fn words() -> Vec<String> {
    std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect()
}

fn main() -> ExitCode {
    let tools = tools();
    let words = words();
    let wanted = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word));
    let mut goals = Goals::new("dialects");
    for dialect in dialects().iter().copied().filter(|dialect| *dialect != Dialect::Auto) {
        if !wanted(dialect.name()) {
            continue;
        }
        let (text, calls) = answer(dialect);
        let read = whole(dialect, &text, &tools);
        assert_eq!(read.calls.len(), calls, "{dialect}: {text}\n{read:#?}");
        assert_eq!(pieces(dialect, &text, 16, &tools), read, "{dialect}");
        let engine = dialect.form().engine;
        let measured = Comparison::new()
            .case("whole", || whole(dialect, &text, &tools))
            .case("16 bytes", || pieces(dialect, &text, 16, &tools))
            .case("raw", || raw(engine, &text))
            .run();
        let limit = (3.0 * measured.micros("raw")).max(8.0);
        goals.at_most(&format!("{dialect}, two calls"), measured.micros("whole"), limit, "µs");
        goals.at_most(
            &format!("{dialect}, 16-byte pieces / whole"),
            measured.ratio("16 bytes", "whole"),
            3.0,
            "x",
        );
    }

    if wanted("auto, 66 kB of prose") {
        let text = prose(66_000);
        let finder = memchr::memmem::Finder::new("<tool_call>");
        let measured = Comparison::new()
            .case("prose", || whole(Dialect::Auto, &text, &tools))
            .case("memmem", || finder.find(text.as_bytes()))
            .run();
        goals.note("66 kB of prose, memmem", measured.micros("memmem"), "µs");
        goals.at_most("auto, 66 kB of prose / memmem", measured.ratio("prose", "memmem"), 3.0, "x");
    }

    for flood in FLOODS.iter().filter(|flood| wanted(&format!("flood {flood:?}"))) {
        for (begin, close) in [("", ""), ("<tool_call>", "</tool_call>"), ("x\n", "<|tool_call_end|>")] {
            let text = |size: usize| format!("{begin}{}{close}", flood.repeat(size / flood.len()));
            let (half, full) = (text(500_000), text(1_000_000));
            for piece in [usize::MAX, 16] {
                let time = |text: &str| {
                    let once = || {
                        Clock::Thread
                            .time(|| drop(std::hint::black_box(pieces(Dialect::Auto, text, piece, &tools))))
                            .as_secs_f64()
                    };
                    // The least of four: what else runs on the machine only adds.
                    (0..4).map(|_| once()).fold(f64::INFINITY, f64::min) * 1000.0
                };
                let (small, large) = (time(&half), time(&full));
                let shown: String = flood.chars().take(40).collect();
                let how = if piece == 16 { "by 16" } else { "whole" };
                goals.at_most(&format!("{begin:?} {shown:?}, {how}, 1 MB"), large, 20.0, "ms");
                // Short times are the clock's own noise.
                if large > 5.0 {
                    goals.at_most(
                        &format!("{begin:?} {shown:?}, {how}, growth a doubling"),
                        large / small,
                        2.6,
                        "x",
                    );
                }
            }
        }
    }
    goals.finish()
}
