//! What free text must not hold under a grammar: whatever a reader could take for a call or for a mark of one.

use crate::{DeclaredTool, Tags};

/// What begins a call, a result or reasoning in any dialect; case does not count. A marker that is longer begins with one of
/// these.
const MARKS: &[&str] = &[
    "<tool",
    "</tool",
    "<function",
    "</function",
    "<invoke",
    "<antml",
    "<atem",
    "<name",
    "<params",
    "<parameter",
    "<arg_",
    "<seed:",
    "<minimax:",
    "<steptml:",
    "<longcat",
    "<start_function",
    "<call",
    "<think",
    "</think",
    "<result",
    "<response",
    "<observation",
    "]<]minimax",
    "<|",
    "<｜",
    "[tool_calls]",
    "[tool_request]",
    "[args]",
    "functools[",
    ">>>",
    "action:",
    "observation:",
    "to=functions",
];

/// The marks of a turn: those above, the configured tag, declared names as names of tags, quoted, or before a bracket, and
/// the backtick, which opens code.
pub(super) fn marks(tools: &[DeclaredTool], tags: &Tags) -> Vec<String> {
    let mut marks: Vec<String> = MARKS.iter().map(|mark| (*mark).to_owned()).collect();
    marks.push(format!("<{}", tags.call));
    marks.push("`".to_owned());
    for tool in tools {
        let name = &tool.name;
        marks.extend([
            format!("<{name}"),
            format!("{name}("),
            format!("{name}.call("),
            format!("call:{name}"),
        ]);
        // Readers take a name in quotes with blanks round it and in place of underscores; a small model finds such ways.
        for quoted in [name.clone(), name.replace('_', " ")] {
            marks.extend(["\"", "\" ", "'", "' ", "\"functions."].map(|before| format!("{before}{quoted}")));
        }
    }
    marks.sort_unstable();
    marks.dedup();
    marks
}
