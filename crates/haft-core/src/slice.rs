//! The one line-slicer (CONFLICT-19): lines from 1, a cap in characters, and what is needed to read on.

/// A part of a text by lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slice<'a> {
    /// The lines shown, with their line breaks.
    pub text: &'a str,
    /// First line shown, from 1; 0 if none is.
    pub first_line: usize,
    /// Last line shown; 0 if none is.
    pub last_line: usize,
    /// Lines of the whole text.
    pub total_lines: usize,
    /// The last line shown is cut in its middle, since it alone is longer than the cap.
    pub cut_line: bool,
}

impl Slice<'_> {
    /// True if lines follow after the slice, or its last line is cut.
    pub fn has_more(&self) -> bool {
        self.cut_line || self.last_line < self.total_lines
    }

    /// The line to read on from.
    pub fn next_line(&self) -> usize {
        self.last_line + 1
    }
}

/// Lines of `text` from `first` (1-based; 0 counts as 1), at most `count` of them and at most `cap` characters.
/// A text without a final line break has its last line all the same; an empty text has no lines.
///
/// ```
/// use haft_core::slice::slice_lines;
/// let slice = slice_lines("one\ntwo\nthree\n", 2, Some(1), 100);
/// assert_eq!((slice.text, slice.first_line, slice.last_line, slice.total_lines), ("two\n", 2, 2, 3));
/// assert!(slice.has_more());
/// ```
pub fn slice_lines(text: &str, first: usize, count: Option<usize>, cap: u64) -> Slice<'_> {
    let first = first.max(1);
    let total_lines = text.split_inclusive('\n').count();
    let mut start = 0;
    let mut shown = 0usize;
    let mut length = 0;
    let mut characters = 0u64;
    let mut cut_line = false;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        if index + 1 < first {
            start += line.len();
            continue;
        }
        if count.is_some_and(|count| shown >= count) {
            break;
        }
        let in_line = line.chars().count() as u64;
        if characters + in_line > cap {
            if shown == 0 {
                let keep = usize::try_from(cap).unwrap_or(usize::MAX);
                length = line.char_indices().nth(keep).map_or(line.len(), |(at, _)| at);
                shown = 1;
                cut_line = true;
            }
            break;
        }
        characters += in_line;
        length += line.len();
        shown += 1;
    }
    let slice = text.get(start..start + length).unwrap_or("");
    let (first_line, last_line) =
        if shown == 0 { (0, total_lines.min(first - 1)) } else { (first, first + shown - 1) };
    Slice { text: slice, first_line, last_line, total_lines, cut_line }
}

/// The first `count` characters of `text`.
pub fn first_characters(text: &str, count: u64) -> &str {
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    text.char_indices().nth(count).map_or(text, |(at, _)| &text[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    // CONFLICT-19
    #[test]
    fn slices_count_lines_from_one_and_never_split_a_character() {
        let text = "a\nb\nc";
        assert_eq!(slice_lines(text, 1, None, 100).text, text);
        assert_eq!(slice_lines(text, 3, None, 100).text, "c");
        let past = slice_lines(text, 9, None, 100);
        assert_eq!((past.text, past.first_line, past.has_more()), ("", 0, false));
        let cut = slice_lines("ééé\nx", 1, None, 2);
        assert_eq!((cut.text, cut.cut_line, cut.last_line), ("éé", true, 1));
        assert_eq!(slice_lines("", 1, None, 5).total_lines, 0);
    }
}
