//! Properties of the parser: cutting changes nothing, nothing panics, what is written is read back.

mod support;

use haft_dialect::artifact_xml::{write_call, write_result};
use haft_dialect::{Attempt, Dialect, Event, FinishReason, Parsed, Parser, ParserOptions, Tags, parse};
use proptest::prelude::*;
use serde_json::{Map, Value};
use support::{characters, note_tools, tools_of};

/// Pieces of which hostile and half-right messages are made.
const FRAGMENTS: &[&str] = &[
    "<tool_call>",
    "</tool_call>",
    "<tool_calls>",
    "</tool_calls>",
    "<Tool_Call>",
    "<tool_call name=\"ping\">",
    "<tool_call",
    "</tool_ca",
    "<name>",
    "</name>",
    "<name=ping</name>",
    "<name>note_find</name>",
    "<name>ping</name>",
    "<name>x</name>",
    "<params>",
    "</params>",
    "<params/>",
    "<params query=\"a\" limit='2'/>",
    "<query>",
    "</query>",
    "<query/>",
    "<limit>",
    "</limit>",
    "<query><![CDATA[a]]></query>",
    "<limit><![CDATA[ 3 ]]></limit>",
    "<note_find>",
    "</note_find>",
    "<ping/>",
    "<![CDATA[",
    "]]>",
    "]]",
    ">",
    "<![cdata[",
    "]]]>",
    "<",
    "</",
    "＜query＞",
    "＜/query＞",
    "＜",
    "```",
    "```xml\n",
    "````",
    "~~~",
    "`",
    "``",
    "\n",
    "\n\n",
    " ",
    "<think>",
    "</think>",
    "<thinking>",
    "</thinking>",
    "&lt;",
    "&amp;",
    "&",
    "\0",
    "\u{feff}",
    "\u{200b}",
    "中文，",
    "é",
    "😀",
    "text ",
    "Observation:",
    "Observation: x",
    "<tool_result>",
    "</tool_result>",
    "<observation>",
    "<|im_end|>",
    "<|im_start|>",
    "<|im",
    "</s>",
    "{\"name\": \"ping\"}",
    "{\"name\": \"note_find\", \"arguments\": {\"query\": \"a\"}}",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "{\"query\": \"z\"}",
    "{'name': 'ping'}",
    ",",
    ";",
    "<!--",
    "-->",
    "<a href=\"",
    "<b>",
    "</b>",
    "<function=ping>",
    "</function>",
    "<invoke name=\"ping\">",
    "<parameter name=\"query\">",
    "<parameter=query>",
    "</parameter>",
    "=",
    "/>",
    "ping",
    "note_find",
    "\r\n",
];

/// Marks of the other dialects.
const MARKS: &[&str] = &[
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁call▁begin｜>",
    "function<｜tool▁sep｜>",
    "<｜tool▁sep｜>",
    "<｜tool▁call▁end｜>",
    "<｜tool▁calls▁end｜>",
    "<|tool_calls_section_begin|>",
    "<|tool_call_begin|>",
    "functions.note_find:0",
    "call_9",
    "<|tool_call_argument_begin|>",
    "<|tool_call_end|>",
    "<|tool_calls_section_end|>",
    "<|python_tag|>",
    "<|python_start|>",
    "<|python_end|>",
    "note_find(query='a')",
    "note_find(query=\"it's\")",
    "note_find(query='it's', limit=2)",
    "note_find(query='a'\n",
    "note_find(query=\"a\"\nping()\n",
    "ping.call()",
    "ping()",
    "[ping()]",
    "[note_find(query='a'), ping()]",
    "[TOOL_CALLS]",
    "[ARGS]",
    "[CALL_ID]",
    "[/TOOL_CALLS]",
    "[THINK]",
    "[/THINK]",
    "[TOOL_REQUEST]",
    "[END_TOOL_REQUEST]",
    "[TOOL_RESULTS]",
    "[{\"name\": \"ping\"}, {\"name\": \"note_find\", \"arguments\": {\"query\": \"b\"}}]",
    "[{\"name\": \"ping\"}, {\"name\": ]",
    "<|tool_call|>",
    "<|tool_call>",
    "<tool_call|>",
    "call:note_find{query:<|\"|>a<|\"|>,limit:3}",
    "<|\"|>",
    "<escape>",
    "<start_function_call>",
    "<end_function_call>",
    "<|START_THINKING|>",
    "<|END_THINKING|>",
    "<|START_ACTION|>",
    "<|END_ACTION|>",
    "<|START_RESPONSE|>",
    "<|tools_prefix|>",
    "<|tools_suffix|>",
    "<|inner_prefix|>",
    "<|inner_suffix|>",
    "functools",
    "functools[",
    "<|channel|>",
    "analysis",
    "commentary",
    "<|message|>",
    "<|start|>",
    "assistant",
    " to=functions.note_find",
    " to=ping",
    "to=self",
    "<|constrain|>json",
    "<|end|>",
    "<|call|>",
    "<|return|>",
    "<|open|>",
    "<|close|>",
    "<|sep|>",
    "<|open|>tools<|sep|>",
    "<|open|>call tool=\"note_find\"<|sep|>",
    "<|open|>argument key=\"query\" type=\"string\"<|sep|>",
    "<|close|>argument<|sep|>",
    "<|close|>call<|sep|>",
    "<|open|>think<|sep|>",
    "<|message_model|>",
    "<|content_invoke_tool_json|>",
    "<|content_thinking|>",
    "<|end_message|>",
    "<|message_sep|>",
    "function call",
    "<|role_sep|>",
    ">>>",
    ">>>all\n",
    ">>>note_find\n",
    "all\n",
    "note_find\n",
    "Action: ",
    "Action:",
    "Action Input:",
    "Action Input: {\"query\": \"a\"}",
    "Thought: x\n",
    "Action: ping\n",
    "Action: note_find\nAction Input: moss\n",
    "Action: None",
    "**Action:** ",
    "Final Answer: ",
    "```json\n",
    "\n```",
    "```tool_code\n",
    "<｜DSML｜",
    "<｜DSML｜function_calls>",
    "<｜DSML｜invoke name=\"note_find\">",
    "<｜DSML｜parameter name=\"query\" string=\"true\">",
    "</｜DSML｜parameter>",
    "</｜DSML｜invoke>",
    "<|DSML|invoke name=\"ping\">",
    "]<]minimax[>[",
    "]<]minimax[>[<tool_call>",
    "]<]minimax[>[<invoke name=\"note_find\">",
    "]<]minimax[>[<query>",
    "]<]minimax[>[</query>",
    "]<]minimax[>[</invoke>",
    "]<]min",
    "]",
    "]<",
    "<minimax:tool_call>",
    "<seed:tool_call>",
    "<seed:think>",
    "<steptml:invoke name=\"ping\">",
    "<atem:function_calls>",
    "<arg_key>",
    "</arg_key>",
    "<arg_value>",
    "</arg_value>",
    "<tool_sep>",
    "<TOOLCALL>",
    "</TOOLCALL>",
    "<function_calls>",
    "</function_calls>",
    "<param name=\"query\">",
    "</param>",
    "<function name=\"ping\">",
    "<channel|>",
    "<|channel>thought",
    "“",
    "”",
    "’",
    "：",
    "ｆ",
    "\\",
    "\\d",
    "'",
    "\"\"\"",
    "{\"query\": \"a",
    "{query: 'a'}",
    "{\"name\": \"ping\", \"arguments\": {}",
];

fn dialect() -> impl Strategy<Value = Dialect> {
    prop_oneof![1 => Just(Dialect::Auto), 2 => prop::sample::select(haft_dialect::dialects().to_vec())]
}

/// A message of marks of other dialects.
fn marked() -> impl Strategy<Value = String> {
    let fragment = prop_oneof![
        6 => prop::sample::select(MARKS.to_vec()).prop_map(str::to_owned),
        3 => prop::sample::select(FRAGMENTS.to_vec()).prop_map(str::to_owned),
    ];
    prop::collection::vec(fragment, 0..12).prop_map(|pieces| pieces.concat())
}

/// A public case, damaged: a piece left out, doubled, or put in from elsewhere.
fn damaged() -> impl Strategy<Value = String> {
    let texts: Vec<String> = support::cases(include_str!("cases/public.jsonl"))
        .into_iter()
        .chain(support::cases(include_str!("cases/own.jsonl")))
        .map(|case| case.text)
        .filter(|text| text.len() < 1200)
        .collect();
    let any_text = prop::sample::select(texts);
    (
        any_text.clone(),
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
        0..5_u8,
        prop::sample::select(MARKS.to_vec()),
        any_text,
    )
        .prop_map(|(text, from, to, how, mark, other)| {
            let boundary = |index: prop::sample::Index| {
                let at = index.index(text.len() + 1);
                (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
            };
            let (mut from, mut to) = (boundary(from), boundary(to));
            if from > to {
                std::mem::swap(&mut from, &mut to);
            }
            match how {
                0 => format!("{}{}", &text[..from], &text[to..]),
                1 => format!("{}{}", &text[..to], &text[from..]),
                2 => format!("{}{mark}{}", &text[..from], &text[from..]),
                3 => text[..to].to_owned(),
                _ => format!("{text}{other}"),
            }
        })
}

fn message() -> impl Strategy<Value = String> {
    let fragment = prop_oneof![
        12 => prop::sample::select(FRAGMENTS.to_vec()).prop_map(str::to_owned),
        1 => "[a-z <>/]{0,6}",
    ];
    prop::collection::vec(fragment, 0..14).prop_map(|pieces| pieces.concat())
}

/// A message that begins like a call, so that the deep states are reached often.
fn call_like() -> impl Strategy<Value = String> {
    (message(), message()).prop_map(|(inside, after)| {
        format!("<tool_call>\n<name>note_find</name>\n<params>\n<query>{inside}</query>\n</params>\n</tool_call>{after}")
    })
}

fn pieces<'a>(text: &'a str, cuts: &[prop::sample::Index]) -> Vec<&'a str> {
    let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
    at.push(0);
    at.push(text.len());
    at.retain(|at| text.is_char_boundary(*at));
    at.sort_unstable();
    at.dedup();
    at.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect()
}

fn read<'a>(pieces: impl IntoIterator<Item = &'a str>, finish: FinishReason) -> Parsed {
    read_as(Dialect::Auto, pieces, finish)
}

fn read_as<'a>(dialect: Dialect, pieces: impl IntoIterator<Item = &'a str>, finish: FinishReason) -> Parsed {
    let mut parser = Parser::new(dialect, note_tools(), &ParserOptions::default());
    for piece in pieces {
        parser.feed(piece, &mut |_| {});
    }
    parser.finish(finish)
}

fn check_shape(text: &str, parsed: &Parsed) {
    let mut last = 0;
    for attempt in &parsed.order {
        let span = match attempt {
            Attempt::Call(index) => parsed.calls[*index].span,
            Attempt::Malformed(index) => parsed.malformed[*index].span,
        };
        assert!(text.get(span.start..span.end).is_some(), "{span:?}");
        assert!(span.start >= last || span.start <= span.end, "{span:?}");
        last = span.start;
    }
    assert_eq!(parsed.order.len(), parsed.calls.len() + parsed.malformed.len());
    let mut rebuilt = String::new();
    for piece in &parsed.pieces {
        assert_eq!(piece.span.start, rebuilt.len(), "{:?}", parsed.pieces);
        rebuilt.push_str(&text[piece.span.start..piece.span.end]);
    }
    assert_eq!(rebuilt, text);
}

/// The entry of a fuzzer: any bytes, whole and by characters.
fn fuzz_one(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let whole = read([&*text], FinishReason::Stop);
    check_shape(&text, &whole);
    assert_eq!(read(characters(&text), FinishReason::Stop), whole);
}

/// More cases than usual can be asked for with `PROPTEST_CASES`.
fn config(cases: u32) -> ProptestConfig {
    let default = ProptestConfig::default();
    let cases = if default.cases == 256 { cases } else { default.cases };
    ProptestConfig { cases, failure_persistence: None, ..default }
}

proptest! {
    #![proptest_config(config(768))]

    #[test]
    fn cutting_changes_nothing(
        text in prop_oneof![message(), call_like()],
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        length in any::<bool>(),
    ) {
        let finish = if length { FinishReason::Length } else { FinishReason::Stop };
        let whole = read([text.as_str()], finish);
        check_shape(&text, &whole);
        prop_assert_eq!(&read(pieces(&text, &cuts), finish), &whole);
        prop_assert_eq!(&read(characters(&text), finish), &whole);
    }

    // PRV-05
    #[test]
    fn cutting_changes_nothing_in_any_dialect(
        text in prop_oneof![3 => marked(), 3 => damaged()],
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
        dialect in dialect(),
        length in any::<bool>(),
    ) {
        let finish = if length { FinishReason::Length } else { FinishReason::Stop };
        let whole = read_as(dialect, [text.as_str()], finish);
        check_shape(&text, &whole);
        prop_assert_eq!(&read_as(dialect, pieces(&text, &cuts), finish), &whole);
        prop_assert_eq!(&read_as(dialect, characters(&text), finish), &whole);
    }

    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        fuzz_one(&bytes);
    }

    #[test]
    fn events_agree_with_the_result(text in message()) {
        let mut parser = Parser::new(Dialect::ArtifactXml, note_tools(), &ParserOptions::default());
        let mut shown = String::new();
        let mut attempts = 0;
        let mut sink = |event: Event<'_>| match event {
            Event::Text(text) => shown.push_str(text),
            Event::Reasoning(_)
            | Event::CallStart(_)
            | Event::ArgumentDelta(_)
            | Event::Repair(..)
            | Event::Mark(_)
            | Event::Dropped(_) => {}
            Event::Call(_) | Event::Malformed(_) => attempts += 1,
        };
        characters(&text).for_each(|piece| parser.feed(piece, &mut sink));
        let parsed = parser.finish_with(FinishReason::Stop, &mut sink);
        // An orphan end of reasoning takes back what was shown; marks of the end may.
        if !["</think", "<|", "</s"].iter().any(|mark| text.contains(mark)) {
            prop_assert_eq!(attempts, parsed.order.len());
            // What cannot be seen beside a call is no part of the result.
            let seen = |text: &str| text.replace(['\0', '\u{feff}', '\u{200b}'], "");
            let (shown, said) = (seen(&shown), seen(&parsed.text));
            prop_assert!(shown.contains(&said), "{:?} {:?}", shown, said);
        }
    }
}

fn value_text() -> impl Strategy<Value = String> {
    prop_oneof![
        message(),
        ".{0,20}",
        "[ \n\t]{0,4}",
        Just("]]>".to_owned()),
        Just("]]".to_owned()),
        Just("<![CDATA[".to_owned()),
        "(\\]|>|<!\\[CDATA\\[|</body>|<body>|</id>){0,8}",
    ]
}

proptest! {
    #![proptest_config(config(768))]

    // DIA-01, DIA-15
    #[test]
    fn what_is_written_is_read_back(id in value_text(), body in value_text(), title in value_text(), before in "[a-z .]{0,8}") {
        let mut arguments = Map::new();
        arguments.insert("id".to_owned(), Value::String(id));
        arguments.insert("body".to_owned(), Value::String(body));
        arguments.insert("title".to_owned(), Value::String(title));
        for tag in ["tool_call", "function_call", "act"] {
            let tags = Tags { call: tag.to_owned() };
            let written = format!("{before}\n{}\n{}", write_call("note_write", &arguments, &tags), write_call("ping", &Map::new(), &tags));
            let options = ParserOptions { tags };
            let parsed = parse(&written, Dialect::ArtifactXml, note_tools(), &options, FinishReason::Stop);
            prop_assert_eq!(parsed.calls.len(), 2, "{}", written);
            prop_assert_eq!(&parsed.calls[0].arguments, &arguments, "{}", written);
            prop_assert!(parsed.calls[0].repairs.is_empty(), "{:?} {}", parsed.calls[0].repairs, written);
            prop_assert_eq!(&parsed.text, before.trim());
        }
    }

    #[test]
    fn typed_values_are_read_back(level in any::<f64>().prop_filter("finite", |float| float.is_finite()), count in any::<i64>(), on in any::<bool>(), list in prop::collection::vec(value_text(), 0..4)) {
        let tools = tools_of(&serde_json::json!([{"name": "t", "parameters": {"properties": {
            "level": {"type": "number"}, "count": {"type": "integer"}, "on": {"type": "boolean"},
            "list": {"type": "array", "items": {"type": "string"}},
        }}}]));
        let value = serde_json::json!({"level": level, "count": count, "on": on, "list": list});
        let written = write_call("t", value.as_object().unwrap(), &Tags::default());
        let parsed = parse(&written, Dialect::ArtifactXml, tools, &ParserOptions::default(), FinishReason::Stop);
        prop_assert!(haft_schema::canonical::same(&Value::Object(parsed.calls[0].arguments.clone()), &value), "{written}");
    }

    #[test]
    fn any_parameter_name_is_read_back(name in "[^\\p{Cc}\\p{Z}]{1,12}", value in value_text()) {
        prop_assume!(name.trim_matches(|c: char| c.is_whitespace() || "\u{feff}\u{200b}\u{200c}\u{200d}\u{2060}".contains(c)) == name);
        let tools = tools_of(&serde_json::json!([{"name": "t", "parameters": {"properties": {&name: {"type": "string"}}}}]));
        let mut arguments = Map::new();
        arguments.insert(name, Value::String(value));
        let written = write_call("t", &arguments, &Tags::default());
        let parsed = parse(&written, Dialect::ArtifactXml, tools, &ParserOptions::default(), FinishReason::Stop);
        prop_assert_eq!(parsed.calls.len(), 1, "{}", written);
        prop_assert_eq!(&parsed.calls[0].arguments, &arguments, "{}", written);
    }

    // DIA-16
    #[test]
    fn results_cannot_be_forged(content in prop_oneof![message(), "(</?|< ?/ ?|data|DATA|error|tool_result|>|\\\\| |\n){0,12}"], success in any::<bool>()) {
        let written = write_result("t", success, &content).to_lowercase();
        let squeezed: String = written.split_whitespace().collect();
        for closer in ["</data", "</error", "</tool_result"] {
            prop_assert!(squeezed.matches(closer).count() <= 1, "{written}");
        }
    }
}

/// Texts that once went wrong, or nearly: whole and by characters in every dialect, cut off at every place in `auto`.
#[test]
fn the_saved_corpus() {
    for line in include_str!("cases/corpus.jsonl").lines() {
        let text: String = serde_json::from_str(line).unwrap();
        for dialect in haft_dialect::dialects().iter().copied() {
            // Cut off at every place where the dialect is left open, whole in all others.
            let from = if dialect == Dialect::Auto { 0 } else { text.len() };
            for end in (from..=text.len()).filter(|end| text.is_char_boundary(*end)) {
                let text = &text[..end];
                let whole = read_as(dialect, [text], FinishReason::Stop);
                check_shape(text, &whole);
                assert_eq!(
                    read_as(dialect, characters(text), FinishReason::Stop),
                    whole,
                    "{dialect} {text:?}"
                );
            }
        }
    }
}
