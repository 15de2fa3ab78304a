//! Text inside of markup: XML's entities, CDATA, and marks that content must not hold.

use std::borrow::Cow;

/// The text with XML's entities.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '>', '"']) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;"))
}

/// A value in CDATA; where it holds `]]>`, or could be taken for more sections, it is split between sections.
pub(crate) fn push_cdata(value: &str, into: &mut String) {
    into.push_str("<![CDATA[");
    let mut rest = value;
    while let Some(at) = rest.find("]]>") {
        into.push_str(rest.get(..at + 2).unwrap_or_default());
        into.push_str("]]><![CDATA[");
        rest = rest.get(at + 2..).unwrap_or_default();
    }
    into.push_str(rest);
    into.push_str("]]>");
}

/// The content with a backslash inside every mark of `marks` that stands in it, in any case, with blanks between its letters,
/// with full-width letters, or cut by characters that nobody sees (DIA-16).
///
/// A mark that begins with a line break counts at the beginnings of lines alone, the first one included.
pub(crate) fn neutralised<'a>(content: &'a str, marks: &[&str]) -> Cow<'a, str> {
    let mut safe = String::new();
    let mut plain_from = 0;
    let mut line_start = true;
    for (at, character) in content.char_indices() {
        let rest = content.get(at..).unwrap_or_default();
        let found = marks.iter().any(|mark| match mark.strip_prefix('\n') {
            Some(mark) => line_start && begins_loosely(rest, mark),
            None => begins_loosely(rest, mark),
        });
        if found {
            // Behind what begins the mark: `<\/data>`, `[\TOOL_RESULTS]`, `O\bservation:`.
            let inner = at + character.len_utf8();
            let blanks = content.get(inner..).unwrap_or_default();
            let inner = inner + blanks.len() - blanks.trim_start_matches(is_gap).len();
            if inner > plain_from {
                safe.push_str(content.get(plain_from..inner).unwrap_or_default());
                safe.push('\\');
                plain_from = inner;
            }
        }
        line_start = character == '\n' || character == '\r' || line_start && is_gap(character);
    }
    if plain_from == 0 {
        return Cow::Borrowed(content);
    }
    safe.push_str(content.get(plain_from..).unwrap_or_default());
    Cow::Owned(safe)
}

/// Whether `text` begins with `mark`, read loosely.
fn begins_loosely(text: &str, mark: &str) -> bool {
    let mut letters = text.chars().map(narrow);
    let mut wanted = mark.chars().filter(|letter| !is_gap(*letter));
    let Some(first) = wanted.next() else { return false };
    if letters.next() != Some(first.to_ascii_lowercase()) {
        return false;
    }
    let mut last = first.to_ascii_lowercase();
    for wanted in wanted {
        let wanted = wanted.to_ascii_lowercase();
        // Some close a tag twice over: `<//data>`.
        let found = letters.by_ref().find(|letter| !(is_gap(*letter) || last == '/' && *letter == '/'));
        if found != Some(wanted) {
            return false;
        }
        last = wanted;
    }
    true
}

/// Blanks and characters that nobody sees.
fn is_gap(character: char) -> bool {
    character.is_whitespace()
        || matches!(character, '\0' | '\u{feff}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{ad}')
}

/// In lower case, full-width letters as ASCII.
fn narrow(character: char) -> char {
    match character {
        '\u{ff01}'..='\u{ff5e}' if character != '｜' => char::from_u32(u32::from(character) - 0xfee0)
            .map_or(character, |ascii| ascii.to_ascii_lowercase()),
        other => other.to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // DIA-16
    #[test]
    fn marks_are_found_however_they_are_written() {
        let marks = ["</data", "[/TOOL_RESULTS]", "\nObservation:"];
        for (content, safe) in [
            ("a</data >b", "a<\\/data >b"),
            ("< / DATA>", "< \\/ DATA>"),
            ("<//data>", "<\\//data>"),
            ("<\u{200b}/da\u{200b}ta>", "<\u{200b}\\/da\u{200b}ta>"),
            ("＜／data", "＜\\／data"),
            ("[/tool_results]", "[\\/tool_results]"),
            (
                "Observation: x\n observation : y, no Observation: z",
                "O\\bservation: x\n o\\bservation : y, no Observation: z",
            ),
            ("<data> [TOOL_RESULTS] <", "<data> [TOOL_RESULTS] <"),
            ("</data></data>", "<\\/data><\\/data>"),
        ] {
            assert_eq!(neutralised(content, &marks), safe);
        }
    }
}
