//! The artifact-xml parser against raw quick-xml events and a memmem scan of the same bytes, and on hostile texts.
//!
//! Growth is stated per doubling over four doublings, from 62.5 kB to 1 MB, so that a cache boundary between two sizes
//! does not count as a law.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a bench that cannot set up has nothing to measure"
)]

use std::process::ExitCode;
use std::sync::Arc;

use haft_bench::{Comparison, Goals, worst_doubling};
use haft_dialect::{DeclaredTool, Dialect, FinishReason, Parsed, Parser, ParserOptions, ToolSet, parse};
use haft_schema::Schema;
use serde_json::json;

const SIZES: [usize; 5] = [62_500, 125_000, 250_000, 500_000, 1_000_000];
const PIECES: [usize; 4] = [0, 1, 16, 4096];

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

/// Two calls in a text of 1.1 kB, one with a code value of 600 bytes.
fn answer() -> String {
    let code: String =
        (0..16).map(|line| format!("    if a[{line}] < b && c > {line} {{ push(a[{line}]); }}\n")).collect();
    let code = code.get(..600).unwrap();
    format!(
        "Let me look at the notes first, and then write the new one as you asked me to do.\n<tool_call>\n  \
         <name>note_find</name>\n  <params>\n    <query><![CDATA[winter moss & lichen on slate]]></query>\n    \
         <limit><![CDATA[12]]></limit>\n  </params>\n</tool_call>\n<tool_call>\n  <name>note_write</name>\n  <params>\n    \
         <id><![CDATA[loom-7]]></id>\n    <title><![CDATA[A loop over the warp]]></title>\n    \
         <body><![CDATA[{code}]]></body>\n  </params>\n</tool_call>\nBack in a moment with what I find.\n"
    )
}

fn prose(size: usize) -> String {
    let sentence =
        "The kiln is slow to warm, and the glaze is slower; nobody minds, since the tea is good here.\n";
    sentence.repeat(size / sentence.len() + 1).get(..size).unwrap().to_owned()
}

fn whole(text: &str, tools: &Arc<ToolSet>) -> Parsed {
    parse(text, Dialect::ArtifactXml, tools.clone(), &ParserOptions::default(), FinishReason::Stop)
}

/// The text in pieces of so many bytes; 0 is the whole.
fn pieces(text: &str, size: usize, tools: &Arc<ToolSet>) -> Parsed {
    if size == 0 {
        return whole(text, tools);
    }
    let mut parser = Parser::new(Dialect::ArtifactXml, tools.clone(), &ParserOptions::default());
    let mut sink = |_: haft_dialect::Event<'_>| {};
    let mut at = 0;
    while at < text.len() {
        let end = (at + size).min(text.len());
        parser.feed(text.get(at..end).expect("the texts are ASCII"), &mut sink);
        at = end;
    }
    parser.finish(FinishReason::Stop)
}

fn quick_xml_events(text: &str) -> usize {
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

fn repeated(piece: &str, size: usize) -> String {
    piece.repeat(size / piece.len())
}

const OPEN: &str = "<tool_call>\n<name>note_write</name>\n<params>\n<id><![CDATA[a]]></id>\n";
const CLOSE: &str = "</params>\n</tool_call>";

/// Texts that make careless parsers slow, of about this many bytes.
fn hostile(size: usize) -> Vec<(&'static str, String)> {
    let row = "if a[0] < b && c > 0 then <td>0</td>\n";
    vec![
        ("value in CDATA", format!("{OPEN}<body><![CDATA[{}]]></body>{CLOSE}", repeated(row, size))),
        ("value without CDATA", format!("{OPEN}<body>{}</body>{CLOSE}", repeated(row, size))),
        ("unclosed openers", repeated("<tool_call>\n", size)),
        ("unclosed calls", repeated("<tool_call><name>note_find</name><params><query>a</query>\n", size)),
        ("openers inside a block", format!("{OPEN}{}", repeated("<body>", size))),
        ("openers inside a closed block", format!("{OPEN}{}{CLOSE}", repeated("<body>", size))),
        ("only <", repeated("<", size)),
        ("]] flood", format!("{OPEN}<body><![CDATA[{}]]></body>{CLOSE}", repeated("]]", size))),
        ("]]> flood", format!("{OPEN}<body><![CDATA[{}]]></body>{CLOSE}", repeated("]]>", size))),
        ("]]></x> flood", format!("{OPEN}<body><![CDATA[{}]]></body>{CLOSE}", repeated("]]></x>", size))),
        ("cut value", format!("{OPEN}<body><![CDATA[{}", repeated(row, size))),
        ("cut value without CDATA", format!("{OPEN}<body>{}", repeated(row, size))),
        ("names without a wrapper", repeated("<name>note_find</name>", size)),
        ("backticks", repeated("` `` ``` ```` ", size)),
        ("JSON opened", format!("<tool_call>{}", repeated("{\"name\":[", size))),
    ]
}

fn main() -> ExitCode {
    let tools = tools();
    let mut goals = Goals::new("artifact-xml");

    let text = answer();
    assert_eq!(whole(&text, &tools).calls.len(), 2);
    assert_eq!(pieces(&text, 16, &tools), whole(&text, &tools));
    let measured = Comparison::new()
        .case("whole", || whole(&text, &tools))
        .case("16 bytes", || pieces(&text, 16, &tools))
        .case("quick-xml", || quick_xml_events(&text))
        .run();
    goals.note("bytes of the answer", text.len() as f64, "B");
    goals.note("quick-xml", measured.micros("quick-xml"), "µs");
    goals.note("two calls / quick-xml", measured.ratio("whole", "quick-xml"), "x");
    // The goal is three times quick-xml or 5 µs, whichever is more.
    let limit = (3.0 * measured.micros("quick-xml")).max(5.0);
    goals.at_most("two calls, whole", measured.micros("whole"), limit, "µs");
    goals.at_most("two calls, 16-byte pieces / whole", measured.ratio("16 bytes", "whole"), 3.0, "x");

    let text = prose(66_000);
    let finder = memchr::memmem::Finder::new("<tool_call>");
    let measured = Comparison::new()
        .case("prose", || whole(&text, &tools))
        .case("memmem", || finder.find(text.as_bytes()))
        .case("copy", || text.clone())
        .run();
    goals.note("66 kB of prose, memmem", measured.micros("memmem"), "µs");
    goals.note("66 kB of prose, one copy", measured.micros("copy"), "µs");
    goals.note("66 kB of prose", measured.micros("prose"), "µs");
    goals.at_most("66 kB of prose / memmem", measured.ratio("prose", "memmem"), 2.0, "x");

    let names: Vec<&str> = hostile(SIZES[0]).into_iter().map(|(name, _)| name).collect();
    for (index, name) in names.into_iter().enumerate() {
        let texts: Vec<String> = SIZES.iter().map(|size| hostile(*size).swap_remove(index).1).collect();
        for piece in PIECES {
            let labels: Vec<String> = SIZES.iter().map(ToString::to_string).collect();
            let mut comparison = Comparison::new();
            for (label, text) in labels.iter().zip(&texts) {
                let tools = &tools;
                comparison = comparison.case(label, move || pieces(text, piece, tools));
            }
            let measured = comparison.run();
            let how = if piece == 0 { "whole".to_owned() } else { format!("by {piece}") };
            let points: Vec<(f64, f64)> = [0, SIZES.len() - 1]
                .map(|at| (texts[at].len() as f64, measured.seconds(&labels[at])))
                .to_vec();
            let millis = measured.millis(&labels[SIZES.len() - 1]);
            goals.at_most(&format!("{name}, {how}, 1 MB"), millis, 20.0, "ms");
            goals.at_most(&format!("{name}, {how}, growth a doubling"), worst_doubling(&points), 1.15, "x");
        }
    }
    goals.finish()
}
