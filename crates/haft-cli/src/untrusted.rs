//! Text of models, tools and files, made safe for a terminal: what a terminal would obey or hide is shown instead.
//!
//! Line breaks and tabs stay. Nothing is cut: a question to a person is always shown whole.

use std::borrow::Cow;
use std::ops::RangeInclusive;

/// `text` with control, bidirectional and invisible characters written as `\u{…}`.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    let Some(first) = text.char_indices().find(|(_, c)| is_hidden(*c)).map(|(at, _)| at) else {
        return Cow::Borrowed(text);
    };
    let mut shown = String::with_capacity(text.len() + 16);
    shown.push_str(&text[..first]);
    let mut characters = text[first..].chars().peekable();
    while let Some(character) = characters.next() {
        if character == '\r' && characters.peek() == Some(&'\n') {
            continue;
        }
        if is_hidden(character) {
            shown.push_str(&format!("\\u{{{:x}}}", u32::from(character)));
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

/// `text` on one line: as [`visible`], with line breaks and tabs written out too.
pub(crate) fn visible_line(text: &str) -> String {
    visible(text).replace('\n', "\\n").replace('\t', "\\t")
}

/// `text` on one line of at most `width` characters, with `…` where it was cut.
pub(crate) fn visible_short(text: &str, width: usize) -> String {
    let line = visible_line(text);
    match line.char_indices().nth(width) {
        None => line,
        Some(_) => {
            let keep = line.char_indices().nth(width.saturating_sub(1)).map_or(0, |(at, _)| at);
            format!("{}…", &line[..keep])
        }
    }
}

/// Characters that take no place or change the order of others, beside the control characters.
const HIDDEN: [RangeInclusive<char>; 17] = [
    // soft hyphen, combining grapheme joiner, Arabic letter mark, Hangul fillers, Khmer vowels, Mongolian separators
    '\u{ad}'..='\u{ad}',
    '\u{34f}'..='\u{34f}',
    '\u{61c}'..='\u{61c}',
    '\u{115f}'..='\u{1160}',
    '\u{17b4}'..='\u{17b5}',
    '\u{180b}'..='\u{180f}',
    // zero width and marks of direction, separators and overrides, invisible operators and isolates
    '\u{200b}'..='\u{200f}',
    '\u{2028}'..='\u{202e}',
    '\u{2060}'..='\u{206f}',
    // Hangul fillers, byte order mark, interlinear annotation
    '\u{3164}'..='\u{3164}',
    '\u{feff}'..='\u{feff}',
    '\u{ffa0}'..='\u{ffa0}',
    '\u{fff0}'..='\u{fffb}',
    // Egyptian and shorthand format controls, musical control, tags and variation selectors beyond the first plane
    '\u{13430}'..='\u{1343f}',
    '\u{1bca0}'..='\u{1bca3}',
    '\u{1d173}'..='\u{1d17a}',
    '\u{e0000}'..='\u{e0fff}',
];

fn is_hidden(character: char) -> bool {
    match character {
        '\n' | '\t' | ' '..='~' => false,
        other => other.is_control() || HIDDEN.iter().any(|range| range.contains(&other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_or_hides_is_shown() {
        assert_eq!(visible("plain ü 漢 🙂\n\tline"), "plain ü 漢 🙂\n\tline");
        assert_eq!(visible("a\u{1b}[2Jb"), "a\\u{1b}[2Jb");
        assert_eq!(visible("rm\u{202e}txt.exe"), "rm\\u{202e}txt.exe");
        assert_eq!(visible("a\u{200b}b\u{feff}\u{e0041}"), "a\\u{200b}b\\u{feff}\\u{e0041}");
        assert_eq!(visible("over\rwritten\r\nnext"), "over\\u{d}written\nnext");
        assert_eq!(visible("\u{9b}31m\0"), "\\u{9b}31m\\u{0}");
    }

    #[test]
    fn short_lines_are_cut_between_characters() {
        assert_eq!(visible_short("äöü\nx", 10), "äöü\\nx");
        assert_eq!(visible_short("äöüß", 3), "äö…");
        assert_eq!(visible_short("", 3), "");
    }
}
