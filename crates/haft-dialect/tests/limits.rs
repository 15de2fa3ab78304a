//! What is bounded: attempts in one text, also inside of one envelope, and thoughts without end inside of a call.

mod support;

use haft_dialect::{
    Attempt, Dialect, FinishReason, MAX_ATTEMPTS, Parsed, Parser, ParserOptions, Tags, Writer, WrittenCall,
    dialects,
};
use serde_json::{Map, json};
use support::note_tools;

fn read(dialect: Dialect, text: &str, piece: usize) -> Parsed {
    let mut parser = Parser::new(dialect, note_tools(), &ParserOptions::default());
    let mut rest = text;
    while !rest.is_empty() {
        let end = (piece.min(rest.len())..=rest.len())
            .find(|end| rest.is_char_boundary(*end))
            .unwrap_or(rest.len());
        let (fed, after) = rest.split_at(end);
        parser.feed(fed, &mut |_| {});
        rest = after;
    }
    parser.finish(FinishReason::Stop)
}

/// `pieces` of the result lie side by side from the first byte to the last.
fn rebuilds(parsed: &Parsed, text: &str) -> bool {
    let ends = parsed.pieces.iter().map(|piece| piece.span.end);
    let starts = parsed.pieces.iter().map(|piece| piece.span.start);
    starts.eq(std::iter::once(0).chain(ends).take(parsed.pieces.len()))
        && parsed.pieces.last().map(|piece| piece.span.end) == Some(text.len())
}

// PRV-05
#[test]
fn calls_beyond_the_limit_are_one_malformed_attempt() {
    let arguments = json!({"query": "a"}).as_object().cloned().unwrap_or_else(Map::new);
    let call = WrittenCall { name: "note_find", arguments: &arguments };
    for dialect in dialects().iter().copied().filter(|dialect| *dialect != Dialect::Auto) {
        let Ok(text) = Writer::new(dialect, Tags::default()).calls(&vec![call; MAX_ATTEMPTS + 40]) else {
            continue;
        };
        let parsed = read(dialect, &text, usize::MAX);
        assert_eq!(parsed.calls.len(), MAX_ATTEMPTS, "{dialect}");
        assert_eq!(parsed.order.last(), Some(&Attempt::Malformed(0)), "{dialect}");
        assert_eq!(
            parsed.malformed.iter().map(|bad| bad.reason.as_str()).collect::<Vec<_>>(),
            ["the message holds more than 1000 calls; the rest was not read"],
            "{dialect}"
        );
        assert!(rebuilds(&parsed, &text), "{dialect}");
        assert_eq!(read(dialect, &text, 4099), parsed, "{dialect}");
    }
}

// PRV-05
#[test]
fn the_limit_itself_is_no_fault() {
    let text = format!("<function_calls>\n{}</function_calls>", "ping()\n".repeat(MAX_ATTEMPTS));
    let parsed = read(Dialect::Auto, &text, usize::MAX);
    assert_eq!((parsed.calls.len(), parsed.malformed.len()), (MAX_ATTEMPTS, 0));
    assert_eq!(read(Dialect::Auto, &text, 5), parsed);
}

// PRV-05
#[test]
fn unreadable_calls_count_too() {
    let text = format!("<function_calls>\n{}</function_calls>", "ping(x=\n".repeat(2 * MAX_ATTEMPTS));
    let lines =
        format!("<function_calls>\n{}</function_calls>", "note_find(query='a'\n".repeat(2 * MAX_ATTEMPTS));
    for text in [text, lines] {
        let parsed = read(Dialect::Auto, &text, usize::MAX);
        assert_eq!(parsed.calls, []);
        assert!((1..=MAX_ATTEMPTS + 1).contains(&parsed.malformed.len()), "{}", parsed.malformed.len());
        assert!(rebuilds(&parsed, &text));
        assert_eq!(read(Dialect::Auto, &text, 4099), parsed);
    }
}

#[test]
fn few_thoughts_without_end_leave_a_call_readable() {
    for (thoughts, calls) in [(1, 1), (4, 1), (5, 0), (400, 0)] {
        let text = format!(
            "<tool_call>\n<name>note_find</name>\n{}<params><query><![CDATA[a]]></query></params>\n</tool_call>",
            "<think>\n".repeat(thoughts)
        );
        let parsed = read(Dialect::Auto, &text, usize::MAX);
        assert_eq!(
            (parsed.calls.len(), parsed.malformed.len()),
            (calls, 1 - calls),
            "{thoughts}: {parsed:?}"
        );
        assert!(parsed.calls.iter().all(|call| call.arguments["query"] == "a"));
        assert!(rebuilds(&parsed, &text));
        assert_eq!(read(Dialect::Auto, &text, 7), parsed, "{thoughts}");
    }
}
