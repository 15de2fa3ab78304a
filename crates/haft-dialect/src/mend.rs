//! JSON that no grammar accepts, mended where only one reading is left.
//!
//! Each way of mending changes the text once; what then can be read is a reading. Two different readings are none. It must not change what stands
//! inside of a string, but for the backslash before a quote that was not escaped.

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
    let escaped = with_escapes_mended(text);
    let is_escaped = escaped.is_some();
    let text = escaped.as_deref().unwrap_or(text);
    let mut found: Option<Mended> = None;
    for loosened in [None, loosened(text)] {
        if loosened.as_deref() == Some(text) {
            continue;
        }
        let is_loosened = loosened.is_some() || is_escaped;
        let base = loosened.as_deref().unwrap_or(text);
        // Quotes inside of strings make every other change a guess.
        let quoted = if loosened.is_some() { None } else { with_quotes_escaped(base) };
        for quoted in [None, quoted] {
            let is_quoted = quoted.is_some();
            let quoted = quoted.as_deref().unwrap_or(base);
            for bracketed in [None, with_brackets_closed(quoted, closed)] {
                let mut repairs = Vec::new();
                if is_loosened || is_quoted {
                    repairs.push(Repair::LooseJson);
                }
                if bracketed.is_some() {
                    repairs.push(Repair::BracketsMended);
                }
                if repairs.is_empty() {
                    continue;
                }
                let Some(literal) = read(bracketed.as_deref().unwrap_or(quoted)) else { continue };
                match &found {
                    Some(found) if found.literal != literal => return None,
                    Some(_) => {}
                    None => found = Some(Mended { literal, repairs }),
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

/// The text with each backslash doubled that begins no escape of JSON, as in `C:\Users`; `None` if there is none.
fn with_escapes_mended(text: &str) -> Option<String> {
    memchr::memchr(b'\\', text.as_bytes())?;
    let mut mended = String::with_capacity(text.len() + 8);
    let mut changed = false;
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, from) = rest.split_at(at);
        mended.push_str(before);
        let next = from.chars().nth(1);
        let is_hex =
            || from.as_bytes().get(2..6).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let is_escape = match next {
            // A quote may be escaped in a string of the other kind.
            Some('"' | '\'' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't') => true,
            Some('u') => is_hex(),
            Some(_) | None => false,
        };
        let length = if is_escape { 1 + next.map_or(0, char::len_utf8) } else { 1 };
        if !is_escape {
            mended.push('\\');
            changed = true;
        }
        mended.push_str(from.get(..length)?);
        rest = from.get(length..)?;
    }
    mended.push_str(rest);
    changed.then_some(mended)
}

/// The text with its missing closing brackets added, if brackets are all that is missing. Without proof that the text is whole (`closed`),
/// only those may be missing that stand round a closed object.
pub(crate) fn with_brackets_closed(text: &str, closed: bool) -> Option<String> {
    let mut open: Vec<char> = Vec::new();
    let mut mended = String::with_capacity(text.len() + 8);
    let mut in_string: Option<char> = None;
    let mut escaped = false;
    let mut deepest = 0_usize;
    for character in text.chars() {
        if let Some(quote) = in_string {
            match character {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                other if other == quote => in_string = None,
                _ => {}
            }
            mended.push(character);
            continue;
        }
        match character {
            '"' => in_string = Some('"'),
            '\'' => in_string = Some('\''),
            '{' => open.push('}'),
            '[' => open.push(']'),
            '(' => open.push(')'),
            '}' | ']' | ')' if open.last() == Some(&character) => drop(open.pop()),
            // A bracket further inside is missing; only that of the call, if nothing else proves that the text is whole.
            '}' | ']' | ')'
                if closed && open.contains(&character) || ends_list(character, &open, &mended) =>
            {
                while let Some(missing) = open.pop().filter(|missing| *missing != character) {
                    mended.push(missing);
                }
            }
            '}' | ']' | ')' => return None,
            _ => {}
        }
        mended.push(character);
        deepest = deepest.max(open.len());
        if open.len() > json::MAX_DEPTH {
            return None;
        }
    }
    let end = mended.trim_end_matches(is_blank).len();
    if in_string.is_some() || open.is_empty() && mended == text {
        return None;
    }
    if !closed {
        // Behind the object of arguments nothing but the brackets of the call and of its list may be missing.
        let calls = open.iter().filter(|bracket| **bracket == '}').count();
        let whole = mended.get(..end)?.trim_end_matches(']').trim_end_matches(is_blank).ends_with(['}', '"']);
        if !whole || calls > 1 || open.len() > 2 || deepest <= open.len() {
            return None;
        }
    }
    mended.truncate(end);
    if mended.ends_with(',') {
        mended.pop();
    }
    mended.extend(open.into_iter().rev());
    Some(mended)
}

/// Whether a bracket ends a list of calls in which the last call, whose arguments are closed, lacks its own.
fn ends_list(bracket: char, open: &[char], before: &str) -> bool {
    bracket == ']' && open == [']', '}'] && before.trim_end_matches(is_blank).ends_with('}')
}

/// The text with the quotes inside of its strings escaped, if what follows each quote tells which of them end a string,
/// and the ones inside come in pairs.
pub(crate) fn with_quotes_escaped(text: &str) -> Option<String> {
    let mut escaped = String::with_capacity(text.len() + 16);
    let mut open: Vec<char> = Vec::new();
    let mut string: Option<InString> = None;
    let mut before = ' ';
    let mut mended = false;
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match (&mut string, character) {
            (Some(_), '\\') => {
                escaped.push(character);
                escaped.extend(characters.next().map(|(_, next)| next));
                continue;
            }
            (Some(inside), '"') => {
                let rest = text.get(at + 1..)?.trim_start_matches(is_blank);
                let ends = if inside.is_key {
                    rest.starts_with([':', '：'])
                } else {
                    ends_value(rest, open.last().copied())?
                };
                if !ends {
                    inside.quotes += 1;
                    mended = true;
                    escaped.push('\\');
                } else if inside.quotes % 2 == 0 {
                    string = None;
                    before = '"';
                } else {
                    return None;
                }
            }
            (Some(_), _) => {}
            (None, '"') => {
                let is_key = open.last() == Some(&'{') && matches!(before, '{' | ',');
                string = Some(InString { is_key, quotes: 0 });
            }
            (None, _) => {
                match character {
                    '{' | '[' if open.len() > json::MAX_DEPTH => return None,
                    '{' | '[' => open.push(character),
                    '}' | ']' => drop(open.pop()),
                    _ => {}
                }
                if !is_blank(character) {
                    before = character;
                }
            }
        }
        escaped.push(character);
    }
    (mended && string.is_none()).then_some(escaped)
}

/// Whether a quote before this text ends a value: in an object the next key must follow a comma.
fn ends_value(rest: &str, container: Option<char>) -> Option<bool> {
    Some(match rest.chars().next()? {
        ',' if container == Some('{') => {
            let next = rest.get(1..)?.trim_start_matches(is_blank);
            match next.strip_prefix('"') {
                Some(key) => key.find('"').is_some_and(|end| {
                    key.get(end + 1..).is_some_and(|rest| rest.trim_start_matches(is_blank).starts_with(':'))
                }),
                None => next.starts_with('}'),
            }
        }
        '}' | ']' | '｝' | '］' | '，' | ',' => true,
        _ => false,
    })
}

/// A string that is being read.
struct InString {
    is_key: bool,
    /// Quotes inside of it that are not escaped.
    quotes: u32,
}

/// The text with typographic quotes and full-width marks outside of strings as ASCII, comments left out, bare keys in quotes, and commas between
/// neighbouring values.
fn loosened(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len() + 16);
    let mut before = ' ';
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let rest = text.get(at..)?;
        match character {
            '"' | '\'' | '“' | '‘' | '”' | '’' => {
                if matches!(before, '"' | '}' | ']') || before.is_ascii_alphanumeric() {
                    out.push(',');
                }
                let length = string_length(rest, character)?;
                let inner = rest.get(character.len_utf8()..length)?;
                let closer = inner.chars().next_back()?;
                let content = inner.get(..inner.len() - closer.len_utf8())?;
                let quote = if character == '\'' { '\'' } else { '"' };
                out.push(quote);
                if character.is_ascii() {
                    out.push_str(content);
                } else {
                    // What an ASCII quote would end is escaped.
                    out.push_str(&content.replace('"', "\\\""));
                }
                out.push(quote);
                before = '"';
                while characters.next_if(|(next, _)| *next < at + length).is_some() {}
            }
            '/' if rest.starts_with("//") => {
                let length = rest.find('\n').unwrap_or(rest.len());
                while characters.next_if(|(next, _)| *next < at + length).is_some() {}
            }
            '/' if rest.starts_with("/*") => {
                let length = rest.find("*/").map_or(rest.len(), |end| end + 2);
                while characters.next_if(|(next, _)| *next < at + length).is_some() {}
            }
            _ if matches!(before, '{' | ',') && (character.is_alphabetic() || character == '_') => {
                let length = rest
                    .find(|next: char| !next.is_alphanumeric() && !matches!(next, '_' | '-' | '.'))
                    .unwrap_or(rest.len());
                let word = rest.get(..length)?;
                let is_key = rest.get(length..)?.trim_start_matches(is_blank).starts_with([':', '：']);
                if is_key {
                    out.push('"');
                    out.push_str(word);
                    out.push('"');
                } else {
                    out.push_str(word);
                }
                before = '"';
                while characters.next_if(|(next, _)| *next < at + length).is_some() {}
            }
            _ => {
                let plain = narrow(character);
                if matches!(plain, '{' | '[') && matches!(before, '"' | '}' | ']') {
                    out.push(',');
                }
                out.push(plain);
                if !is_blank(plain) {
                    before = plain;
                }
            }
        }
    }
    Some(out)
}

fn narrow(character: char) -> char {
    match character {
        '，' => ',',
        '：' => ':',
        '｛' => '{',
        '｝' => '}',
        '［' => '[',
        '］' => ']',
        other => other,
    }
}

/// The length of the string that begins the text, quotes included.
fn string_length(text: &str, open: char) -> Option<usize> {
    let closes = |character: char| match open {
        '“' | '”' => matches!(character, '”' | '“'),
        '‘' | '’' => matches!(character, '’' | '‘'),
        other => character == other,
    };
    let mut escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            other if closes(other) => return Some(at + other.len_utf8()),
            _ => {}
        }
    }
    None
}

/// An object written as text inside a string, or as it is.
pub(crate) fn object<'a>(value: Literal<'a>) -> Option<Vec<(Cow<'a, str>, Literal<'a>)>> {
    match value {
        Literal::Object(entries) => Some(entries),
        Literal::String(text) if text.trim_matches(is_blank).is_empty() => Some(Vec::new()),
        Literal::String(text) => {
            let text = text.trim_matches(is_blank);
            let literal = read(text).or_else(|| mend(text, true).map(|mended| mended.literal))?;
            match literal {
                Literal::Object(entries) => Some(entries),
                // Encoded twice.
                Literal::String(_) => object(literal),
                Literal::Null | Literal::Bool(_) | Literal::Number(_) | Literal::Array(_) => None,
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
