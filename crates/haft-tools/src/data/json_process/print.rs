//! JSON text of a value as it was read: numbers keep their digits, keys their order.

use haft_schema::json::Literal;

/// On one line, without blanks.
pub(super) fn compact(value: &Literal<'_>) -> String {
    let mut out = String::new();
    write(value, None, &mut out);
    out
}

/// With two blanks of indentation a level.
pub(super) fn pretty(value: &Literal<'_>) -> String {
    let mut out = String::new();
    write(value, Some(0), &mut out);
    out
}

/// Writes at an indentation level, or compactly at none. Depth is bounded by the reader.
fn write(value: &Literal<'_>, level: Option<usize>, out: &mut String) {
    match value {
        Literal::Null => out.push_str("null"),
        Literal::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Literal::Number(digits) => out.push_str(digits),
        Literal::String(text) => string(text, out),
        Literal::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                separate(at, level, out);
                write(item, level.map(|level| level + 1), out);
            }
            close(items.is_empty(), level, out);
            out.push(']');
        }
        Literal::Object(entries) => {
            out.push('{');
            for (at, (name, item)) in entries.iter().enumerate() {
                separate(at, level, out);
                string(name, out);
                out.push_str(if level.is_some() { ": " } else { ":" });
                write(item, level.map(|level| level + 1), out);
            }
            close(entries.is_empty(), level, out);
            out.push('}');
        }
    }
}

fn string(text: &str, out: &mut String) {
    out.push_str(&serde_json::Value::from(text).to_string());
}

fn separate(at: usize, level: Option<usize>, out: &mut String) {
    if at > 0 {
        out.push(',');
    }
    if let Some(level) = level {
        new_line(level + 1, out);
    }
}

fn close(empty: bool, level: Option<usize>, out: &mut String) {
    if let (false, Some(level)) = (empty, level) {
        new_line(level, out);
    }
}

fn new_line(level: usize, out: &mut String) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", level));
}
