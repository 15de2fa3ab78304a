//! Quotes inside of strings that were not escaped.

use haft_schema::json::MAX_DEPTH;

use crate::scan::is_blank;

/// The text with the quotes inside of its strings escaped, if what follows each quote tells which of them end a string,
/// and the ones inside come in pairs.
pub(super) fn escaped(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len() + 16);
    let mut open: Vec<char> = Vec::new();
    let mut string: Option<InString> = None;
    let mut before = ' ';
    let mut mended = false;
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let Some(inside) = &mut string else {
            let character = rest.chars().next()?;
            match character {
                '"' => {
                    let is_key = open.last() == Some(&'{') && matches!(before, '{' | ',');
                    string = Some(InString { is_key, quotes: 0 });
                }
                '{' | '[' if open.len() > MAX_DEPTH => return None,
                '{' | '[' => open.push(character),
                '}' | ']' => drop(open.pop()),
                _ => {}
            }
            if !is_blank(character) {
                before = character;
            }
            out.push(character);
            at += character.len_utf8();
            continue;
        };
        let length = memchr::memchr2(b'"', b'\\', rest.as_bytes()).unwrap_or(rest.len());
        let (plain, behind) = rest.split_at_checked(length)?;
        out.push_str(plain);
        at += length;
        if behind.starts_with('\\') {
            let escape = behind.chars().take(2).map(char::len_utf8).sum();
            out.push_str(behind.get(..escape)?);
            at += escape;
        } else if let Some(follows) = behind.strip_prefix('"') {
            let follows = behind_comment(follows);
            let ends = if inside.is_key {
                follows.starts_with([':', '：'])
            } else {
                ends_value(follows, open.last().copied())?
            };
            if !ends {
                inside.quotes += 1;
                mended = true;
                out.push('\\');
            } else if inside.quotes % 2 == 0 {
                string = None;
                before = '"';
            } else {
                return None;
            }
            out.push('"');
            at += 1;
        }
    }
    (mended && string.is_none()).then_some(out)
}

/// Whether a quote before this text ends a value: in an object the next key must follow a comma.
fn ends_value(rest: &str, container: Option<char>) -> Option<bool> {
    Some(match rest.chars().next()? {
        ',' if container == Some('{') => {
            let next = behind_comment(rest.get(1..)?);
            match next.strip_prefix('"') {
                Some(key) => key.find('"').is_some_and(|end| {
                    key.get(end + 1..).is_some_and(|rest| rest.trim_start_matches(is_blank).starts_with(':'))
                }),
                None => next.starts_with('}'),
            }
        }
        // Only the bracket of its own container stands right behind a value.
        '}' | '｝' => container != Some('[') && ends_container(rest),
        ']' | '］' => container != Some('{') && ends_container(rest),
        '，' | ',' => true,
        _ => false,
    })
}

/// The text behind the blanks that begin it, and behind a comment up to the end of its line.
fn behind_comment(text: &str) -> &str {
    let next = text.trim_start_matches(is_blank);
    let is_comment = next.len() < text.len() && (next.starts_with("# ") || next.starts_with("// "));
    let line = if is_comment { next.split_once('\n') } else { None };
    line.map_or(next, |(_, behind)| behind.trim_start_matches(is_blank))
}

/// Whether behind the brackets that begin this text the JSON goes on, and not the string that they stand in.
fn ends_container(rest: &str) -> bool {
    let behind = rest
        .trim_start_matches(|character| is_blank(character) || matches!(character, '}' | ']' | '｝' | '］'));
    behind.chars().next().is_none_or(|next| matches!(next, ',' | '，' | '{' | '[' | ';' | '<' | '`'))
}

/// A string that is being read.
struct InString {
    is_key: bool,
    /// Quotes inside of it that are not escaped.
    quotes: u32,
}
