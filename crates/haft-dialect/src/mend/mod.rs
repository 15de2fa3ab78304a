//! JSON that no grammar accepts, mended where only one reading is left.
//!
//! Each way of mending changes the text once; what then can be read is a reading. Two different readings are none. It must not change what stands
//! inside of a string, but for the backslash before a quote that was not escaped.

mod brackets;
mod escapes;
mod loose;
mod quotes;

pub(crate) use brackets::{closed as with_brackets_closed, ends as bracket_ends};

use std::borrow::Cow;

use haft_schema::json::{self, Literal, Syntax};

use crate::Repair;
use crate::scan::is_blank;

/// Longest text that is mended, in bytes.
const MAX_BYTES: usize = 1 << 20;

/// A value that was read after repairs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mended {
    pub(crate) literal: Literal<'static>,
    pub(crate) repairs: Vec<Repair>,
}

/// Reads a text that strict and loose reading refuse. `closed` says whether a mark behind it proves that it is whole; without, only the
/// brackets round a closed object of arguments may be missing.
pub(crate) fn mend(text: &str, closed: bool) -> Option<Mended> {
    let text = text.trim_matches(is_blank);
    if text.len() > MAX_BYTES {
        return None;
    }
    // Braces that a template doubled.
    if closed
        && text.starts_with("{{")
        && let Some(literal) = text.get(1..).and_then(read)
    {
        return Some(Mended { literal, repairs: vec![Repair::BracketsMended] });
    }
    let escaped = escapes::mended(text);
    let text = escaped.as_deref().unwrap_or(text);
    let loosened = loose::loosened(text).filter(|loosened| loosened != text);
    // Quotes inside of strings make every other change a guess.
    let quoted = quotes::escaped(text);
    let bases = [(Some(text), escaped.is_some()), (quoted.as_deref(), true), (loosened.as_deref(), true)];
    let mut found: Option<Mended> = None;
    for (base, is_changed) in bases.into_iter().filter_map(|(base, changed)| Some((base?, changed))) {
        let bracketed = brackets::closed(base, closed);
        let as_it_is = is_changed.then_some((base, false));
        for (text, is_bracketed) in as_it_is.into_iter().chain(bracketed.as_deref().map(|text| (text, true)))
        {
            let Some(literal) = read(text) else { continue };
            match &found {
                Some(found) if found.literal != literal => return None,
                Some(_) => {}
                None => {
                    let loose = is_changed.then_some(Repair::LooseJson);
                    let repairs = loose.into_iter().chain(is_bracketed.then_some(Repair::BracketsMended));
                    found = Some(Mended { literal, repairs: repairs.collect() });
                }
            }
        }
    }
    found
}

/// The value of a whole text; too many closing brackets behind it do not count.
fn read(text: &str) -> Option<Literal<'static>> {
    [Syntax::Json, Syntax::Literal].into_iter().find_map(|syntax| {
        let (literal, end) = json::parse_prefix(text, syntax).ok()?;
        let rest = text.get(end..)?;
        rest.chars()
            .all(|character| is_blank(character) || matches!(character, '}' | ']'))
            .then(|| literal.into_owned())
    })
}

/// The length of the string that begins the text with this quote, quotes included.
pub(crate) fn string_length(text: &str, open: char) -> Option<usize> {
    let from = open.len_utf8();
    if let Ok(quote) = u8::try_from(open) {
        let bytes = text.as_bytes();
        let mut at = from;
        loop {
            at += memchr::memchr2(quote, b'\\', bytes.get(at..)?)?;
            if bytes.get(at) == Some(&quote) {
                return Some(at + 1);
            }
            at += 2;
        }
    }
    let closers = if matches!(open, '“' | '”') { ['”', '“'] } else { ['’', '‘'] };
    let mut escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            other if closers.contains(&other) => return Some(at + other.len_utf8()),
            _ => {}
        }
    }
    None
}

/// An object as it is, or written as text inside a string. An empty list is one without entries.
pub(crate) fn object<'a>(value: Literal<'a>) -> Option<Vec<(Cow<'a, str>, Literal<'a>)>> {
    match value {
        Literal::Object(entries) => Some(entries),
        Literal::Array(items) if items.is_empty() => Some(Vec::new()),
        Literal::String(text) if text.trim_matches(is_blank).is_empty() => Some(Vec::new()),
        Literal::String(text) => {
            let text = text.trim_matches(is_blank);
            let literal = read(text).or_else(|| mend(text, true).map(|mended| mended.literal))?;
            match literal {
                Literal::Object(entries) => Some(entries),
                // Encoded twice.
                Literal::String(_) | Literal::Array(_) => object(literal),
                Literal::Null | Literal::Bool(_) | Literal::Number(_) => None,
            }
        }
        Literal::Null | Literal::Bool(_) | Literal::Number(_) | Literal::Array(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read_back(text: &str, closed: bool) -> Option<Value> {
        mend(text, closed).map(|mended| mended.literal.into_value(None))
    }

    #[test]
    fn mends_what_has_one_reading() {
        for (text, expected) in [
            (r#"{"a": {"b": 1}"#, json!({"a": {"b": 1}})),
            (r#"{"a": ["x", "y"}"#, json!({"a": ["x", "y"]})),
            (r#"{"a": "print("x")"}"#, json!({"a": "print(\"x\")"})),
            ("{“a”: “x ”}", json!({"a": "x "})),
            ("{a: 1, b: 'x'}", json!({"a": 1, "b": "x"})),
            (r#"{"a": 1 "b": 2}"#, json!({"a": 1, "b": 2})),
            ("{\"a\": 1, // one\n \"b\": \"http://x\"}", json!({"a": 1, "b": "http://x"})),
            (r#"{"a": "the "one", two", "b": 1}"#, json!({"a": "the \"one\", two", "b": 1})),
            (r#"{"a"： 1，"b": 2}"#, json!({"a": 1, "b": 2})),
            (r#"{"a": 1}}}"#, json!(null)),
        ] {
            let expected = if expected.is_null() { None } else { Some(expected) };
            assert_eq!(read_back(text, true), expected, "{text}");
        }
    }

    #[test]
    fn leaves_what_has_two_readings_or_is_cut() {
        for text in [r#"["a" "b"]"#, r#"{"a": "b}"#, r#"{"a": ]"#] {
            assert_eq!(read_back(text, true), None, "{text}");
        }
        for text in [
            r#"{"name": "a", "arguments": {"b": 1"#,
            r#"{"name": "a""#,
            r#"{"name": "a", "arguments": {"b": {"c": 1}"#,
        ] {
            assert_eq!(read_back(text, false), None, "{text}");
        }
        let whole = read_back(r#"[{"name": "a", "arguments": {"b": 1}"#, false);
        assert_eq!(whole, Some(json!([{"name": "a", "arguments": {"b": 1}}])));
    }
}
