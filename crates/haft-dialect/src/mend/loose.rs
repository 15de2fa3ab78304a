//! Marks, keys, comments and commas as other languages write them.

use haft_schema::json::{self, MAX_DEPTH, Syntax};

use super::string_length;
use crate::scan::is_blank;

/// The text with typographic quotes and full-width marks outside of strings as ASCII, comments left out, bare keys and digits
/// that are no number in quotes, and commas between neighbouring values.
pub(super) fn loosened(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len() + 16);
    let mut before = ' ';
    let mut depth = 0_usize;
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let length = match character {
            '"' | '\'' | '“' | '‘' | '”' | '’' => {
                if matches!(before, '"' | '}' | ']') || before.is_ascii_alphanumeric() {
                    out.push(',');
                }
                let length = string_length(rest, character)?;
                push_string(&mut out, rest.get(..length)?, character)?;
                before = '"';
                length
            }
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            _ if matches!(before, '{' | ',') && (character.is_alphabetic() || character == '_') => {
                let length = rest
                    .find(|next: char| !next.is_alphanumeric() && !matches!(next, '_' | '-' | '.'))
                    .unwrap_or(rest.len());
                let (word, behind) = rest.split_at_checked(length)?;
                let is_key = behind.trim_start_matches(is_blank).starts_with([':', '：']);
                let quote = if is_key { "\"" } else { "" };
                out.extend([quote, word, quote]);
                before = '"';
                length
            }
            // Digits that are no number are a text: `03`, `2024-01-05`.
            '0'..='9' | '+' | '-' if matches!(before, ':' | '[' | ',') => {
                let fits =
                    |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'+' | b'-' | b'_');
                let word = rest.get(..rest.bytes().take_while(fits).count())?;
                let is_text = !word.bytes().any(|byte| byte.is_ascii_alphabetic())
                    && json::parse(word, Syntax::Literal).is_err();
                let quote = if is_text { "\"" } else { "" };
                out.extend([quote, word, quote]);
                before = if is_text { '"' } else { '0' };
                word.len()
            }
            _ => {
                let plain = narrow(character);
                match plain {
                    '{' | '[' if matches!(before, '"' | '}' | ']') => {
                        out.push(',');
                        depth += 1;
                    }
                    '{' | '[' => depth += 1,
                    '}' | ']' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                // No reading goes so deep.
                if depth > MAX_DEPTH {
                    return None;
                }
                out.push(plain);
                if !is_blank(plain) {
                    before = plain;
                }
                character.len_utf8()
            }
        };
        rest = rest.get(length..)?;
    }
    Some(out)
}

/// A string in ASCII quotes. What such a quote would end is escaped.
fn push_string(out: &mut String, string: &str, open: char) -> Option<()> {
    if open.is_ascii() {
        out.push_str(string);
        return Some(());
    }
    let inner = string.get(open.len_utf8()..)?;
    let content = inner.strip_suffix(|_: char| true)?;
    out.push('"');
    out.push_str(&content.replace('"', "\\\""));
    out.push('"');
    Some(())
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
