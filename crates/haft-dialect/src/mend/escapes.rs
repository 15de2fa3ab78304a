//! Backslashes that begin no escape.

use memchr::memchr;

/// The text with each backslash doubled that begins no escape of JSON, as in `C:\Users`; `None` if there is none.
pub(super) fn mended(text: &str) -> Option<String> {
    memchr(b'\\', text.as_bytes())?;
    let mut out = String::with_capacity(text.len() + 8);
    let mut changed = false;
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
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
            out.push('\\');
            changed = true;
        }
        out.push_str(from.get(..length)?);
        rest = from.get(length..)?;
    }
    out.push_str(rest);
    changed.then_some(out)
}
