//! Long lines for a terminal of a known width, so that the terminal itself wraps nothing.
//!
//! Every character stays: a line that was folded says so by how it begins, and no text can begin a line of its own.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Adds `value` to `text`, ending its last line. The three beginnings are those of the first line, of the lines after it, and of
/// what goes on because `columns` are not enough. Lines break behind blanks, and within words that are longer than a line.
pub(crate) fn fold(text: &mut String, value: &str, beginnings: [&str; 3], columns: usize) {
    let [first, next, continued] = beginnings;
    // A terminal that is narrower than this wraps by itself.
    let columns = columns.max(20);
    for (number, line) in value.split('\n').enumerate() {
        let beginning = if number == 0 { first } else { next };
        text.push_str(beginning);
        let mut at = beginning.width();
        let mut is_empty = true;
        for word in line.split_inclusive(' ') {
            let width = cells(word.trim_end_matches(' '));
            if at + width > columns && !is_empty {
                at = go_on(text, continued);
            }
            for character in word.chars() {
                let width = cells_of(character);
                if at + width > columns && character != ' ' {
                    at = go_on(text, continued);
                }
                text.push(character);
                at += width;
            }
            is_empty = false;
        }
        text.push('\n');
    }
}

fn go_on(text: &mut String, continued: &str) -> usize {
    text.push('\n');
    text.push_str(continued);
    continued.width()
}

fn cells(text: &str) -> usize {
    text.chars().map(cells_of).sum()
}

/// Columns of a character; a tab takes eight at most.
pub(crate) fn cells_of(character: char) -> usize {
    if character == '\t' { 8 } else { character.width().unwrap_or(0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(value: &str, columns: usize) -> String {
        let mut text = String::new();
        fold(&mut text, value, ["  path: ", "  | ", "  … "], columns);
        text
    }

    #[test]
    fn lines_break_behind_blanks_and_inside_long_words() {
        assert_eq!(folded("short", 20), "  path: short\n");
        assert_eq!(folded("one two three four", 20), "  path: one two \n  … three four\n");
        assert_eq!(folded("abcdefghijklmnopqrstuvwxyz", 20), "  path: abcdefghijkl\n  … mnopqrstuvwxyz\n");
        assert_eq!(folded("a\n\nb", 20), "  path: a\n  | \n  | b\n");
        assert_eq!(folded("漢字漢字漢字漢字", 20), "  path: 漢字漢字漢字\n  … 漢字\n");
    }

    #[test]
    fn no_text_begins_a_line_of_its_own() {
        for length in 0..60 {
            let text = folded(&format!("{}  path: safe.txt\n  path: safe.txt", "x".repeat(length)), 30);
            for line in text.lines().skip(1) {
                assert!(line.starts_with("  | ") || line.starts_with("  … "), "{text}");
                assert!(line.trim_end().width() <= 30, "{text}");
            }
            let whole: String = text.lines().map(|line| line.chars().skip(4).collect::<String>()).collect();
            assert_eq!(whole.replace(' ', "").matches("safe.txt").count(), 2, "{text}");
        }
    }
}
