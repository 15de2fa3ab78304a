//! Reading a text by lines: the one rule for all texts that a model reads by `start_line` and `line_count`
//! (WSP-03, WSP-17, WSP-18).
//!
//! A read over its limits succeeds: it shows the lines that fit and says where to read on. Characters only limit; nobody
//! addresses a text by them. Cutting out lines is [`slice_lines`]' work alone (CONFLICT-19).

use serde_json::{Map, Value, json};

use crate::slice::{Slice, first_characters, slice_lines};

/// Which lines a model wants. Both left out: the whole text from line 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LineRange {
    /// First line, from 1; none is 1.
    pub start_line: Option<u64>,
    /// Most lines; none is as many as fit.
    pub line_count: Option<u64>,
}

/// What one read may show at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadLimits {
    /// Unicode characters.
    pub chars: u64,
    /// Lines.
    pub lines: u64,
    /// Bytes.
    pub bytes: u64,
}

impl ReadLimits {
    /// A limit of characters alone.
    pub fn of_chars(chars: u64) -> Self {
        Self { chars, lines: u64::MAX, bytes: u64::MAX }
    }
}

/// The lines that a read shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineView<'a> {
    slice: Slice<'a>,
}

/// A range that the text does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RangeError {
    /// A line or a count of 0.
    #[error("lines are counted from 1, and at least 1 line is read")]
    Zero,
    /// The first line is past the end.
    #[error("line {start_line} is past the end: there {} {total_lines} {}", if *.total_lines == 1 { "is" } else { "are" }, if *.total_lines == 1 { "line" } else { "lines" })]
    PastEnd {
        /// The line that was wanted.
        start_line: u64,
        /// The lines that there are.
        total_lines: usize,
    },
}

/// The lines of `text` that `range` asks for, as far as `limits` allow.
///
/// # Errors
/// [`RangeError`] if there is no such line. Line 1 of an empty text is no error: it has no lines and is shown whole.
///
/// ```
/// use haft_core::lines::{LineRange, ReadLimits, read_lines};
/// let view = read_lines("one\ntwo\nthree\n", LineRange::default(), ReadLimits::of_chars(9)).unwrap();
/// assert_eq!((view.text(), view.start_line(), view.end_line()), ("one\ntwo\n", 1, 2));
/// assert_eq!(view.next_line(), Some(3));
/// ```
pub fn read_lines(text: &str, range: LineRange, limits: ReadLimits) -> Result<LineView<'_>, RangeError> {
    let start_line = range.start_line.unwrap_or(1);
    if start_line == 0 || range.line_count == Some(0) {
        return Err(RangeError::Zero);
    }
    let count = range.line_count.map_or(limits.lines, |count| count.min(limits.lines)).max(1);
    let slice = slice_lines(text, whole(start_line), Some(whole(count)), limits.chars);
    let total_lines = slice.total_lines;
    if whole(start_line) > total_lines.max(1) {
        return Err(RangeError::PastEnd { start_line, total_lines });
    }
    Ok(LineView { slice: within_bytes(slice, limits.bytes) })
}

/// A number of lines; one that no text has counts as the largest.
fn whole(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn within_bytes(slice: Slice<'_>, bytes: u64) -> Slice<'_> {
    let Ok(most) = usize::try_from(bytes) else { return slice };
    if slice.text.len() <= most {
        return slice;
    }
    let kept = slice.text.get(..slice.text.floor_char_boundary(most)).unwrap_or("");
    match kept.rfind('\n') {
        Some(end) => {
            let text = &kept[..=end];
            let last_line = slice.first_line + text.split_inclusive('\n').count() - 1;
            Slice { text, last_line, cut_line: false, ..slice }
        }
        None => Slice { text: kept, last_line: slice.first_line, cut_line: true, ..slice },
    }
}

impl<'a> LineView<'a> {
    /// The lines, with their line breaks.
    pub fn text(&self) -> &'a str {
        self.slice.text
    }

    /// First line shown, from 1; 0 if there is none.
    pub fn start_line(&self) -> usize {
        self.slice.first_line
    }

    /// Last line shown; 0 if there is none.
    pub fn end_line(&self) -> usize {
        self.slice.last_line
    }

    /// Last line that is shown from its beginning to its end; none if there is none.
    pub fn last_whole_line(&self) -> Option<usize> {
        let last = if self.slice.cut_line { self.slice.last_line - 1 } else { self.slice.last_line };
        (last >= self.slice.first_line && last > 0).then_some(last)
    }

    /// Lines of the whole text.
    pub fn total_lines(&self) -> usize {
        self.slice.total_lines
    }

    /// The line to read on from; none at the end. The rest of a cut line cannot be read.
    pub fn next_line(&self) -> Option<usize> {
        (self.slice.last_line < self.slice.total_lines).then(|| self.slice.next_line())
    }

    /// True if the last line shown is cut, since it alone is longer than the limit.
    pub fn is_cut(&self) -> bool {
        self.slice.cut_line
    }

    /// True if the whole text is shown.
    pub fn is_whole(&self) -> bool {
        self.slice.first_line <= 1 && !self.slice.has_more()
    }

    /// What a model must know of the part that it sees; none if it sees the whole text. `read_on` writes the call that reads
    /// from a line.
    ///
    /// ```
    /// use haft_core::lines::{LineRange, ReadLimits, read_lines};
    /// let range = LineRange { start_line: Some(2), line_count: Some(1) };
    /// let view = read_lines("one\ntwo\nthree\n", range, ReadLimits::of_chars(100)).unwrap();
    /// let note = view.note(|line| format!("read(start_line={line})"));
    /// assert_eq!(note.as_deref(), Some("[line 2 of 3; read on with read(start_line=3)]"));
    /// ```
    pub fn note(&self, read_on: impl FnOnce(usize) -> String) -> Option<String> {
        if self.is_whole() {
            return None;
        }
        let (first, last, total) = (self.start_line(), self.end_line(), self.total_lines());
        let shown = if first == last { format!("line {first}") } else { format!("lines {first}-{last}") };
        let cut = if self.is_cut() {
            let characters = self.text().chars().count();
            format!("; line {last} is cut after {characters} characters, its rest is too long to be shown")
        } else {
            String::new()
        };
        let next =
            self.next_line().map(|line| format!("; read on with {}", read_on(line))).unwrap_or_default();
        Some(format!("[{shown} of {total}{cut}{next}]"))
    }

    /// The lines and then the note.
    pub fn shown(&self, read_on: impl FnOnce(usize) -> String) -> String {
        let Some(note) = self.note(read_on) else { return self.text().to_owned() };
        let mut shown = self.text().to_owned();
        if !shown.is_empty() && !shown.ends_with('\n') {
            shown.push('\n');
        }
        shown.push_str(&note);
        shown
    }

    /// The numbers for programs: `startLine`, `endLine`, `totalLines`, then `nextStartLine` and `lineCut` where they hold.
    pub fn numbers(&self) -> Map<String, Value> {
        let mut numbers = Map::from_iter([
            ("startLine".to_owned(), json!(self.start_line())),
            ("endLine".to_owned(), json!(self.end_line())),
            ("totalLines".to_owned(), json!(self.total_lines())),
        ]);
        if let Some(next) = self.next_line() {
            numbers.insert("nextStartLine".to_owned(), json!(next));
        }
        if self.is_cut() {
            numbers.insert("lineCut".to_owned(), json!(true));
        }
        numbers
    }
}

/// At most `most` characters of one line, with a mark where it is cut.
///
/// ```
/// assert_eq!(haft_core::lines::one_line("  a long line\n", 8), "  a long…");
/// ```
pub fn one_line(line: &str, most: u64) -> String {
    let line = line.trim_end_matches(['\n', '\r']);
    let kept = first_characters(line, most);
    if kept.len() == line.len() { line.to_owned() } else { format!("{kept}…") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn range(start_line: u64, line_count: u64) -> LineRange {
        LineRange { start_line: Some(start_line), line_count: Some(line_count) }
    }

    // WSP-03, WSP-17
    #[test]
    fn a_read_over_its_limits_is_a_preview_that_can_be_read_on() {
        let text = "one\ntwo\nthree\nfour";
        let view =
            read_lines(text, LineRange::default(), ReadLimits { chars: 100, lines: 2, bytes: 100 }).unwrap();
        assert_eq!(
            view.shown(|line| format!("read({line})")),
            "one\ntwo\n[lines 1-2 of 4; read on with read(3)]"
        );
        assert_eq!(
            Value::Object(view.numbers()),
            json!({"startLine": 1, "endLine": 2, "totalLines": 4, "nextStartLine": 3})
        );
        let rest = read_lines(text, range(3, 9), ReadLimits::of_chars(100)).unwrap();
        assert_eq!(rest.shown(|line| format!("read({line})")), "three\nfour\n[lines 3-4 of 4]");
        let whole = read_lines(text, LineRange::default(), ReadLimits::of_chars(100)).unwrap();
        assert_eq!((whole.shown(|_| String::new()).as_str(), whole.is_whole()), (text, true));
        let empty = read_lines("", LineRange::default(), ReadLimits::of_chars(100)).unwrap();
        assert_eq!((empty.shown(|_| String::new()).as_str(), empty.is_whole()), ("", true));
    }

    // WSP-18
    #[test]
    fn a_line_that_is_too_long_is_marked_as_cut_and_reading_goes_on_after_it() {
        let view = read_lines("ééééé\nx\n", LineRange::default(), ReadLimits::of_chars(3)).unwrap();
        assert_eq!(
            view.shown(|line| format!("read({line})")),
            "ééé\n[line 1 of 2; line 1 is cut after 3 characters, its rest is too long to be shown; read on with read(2)]"
        );
        assert_eq!((view.is_whole(), view.last_whole_line(), view.next_line()), (false, None, Some(2)));
        let bytes = ReadLimits { chars: 100, lines: 100, bytes: 5 };
        let view = read_lines("ééééé\nx\n", LineRange::default(), bytes).unwrap();
        assert_eq!((view.text(), view.is_cut()), ("éé", true));
        let view = read_lines("a\nb\nc\n", range(2, 9), ReadLimits { bytes: 3, ..bytes }).unwrap();
        assert_eq!(
            (view.text(), view.end_line(), view.is_cut(), view.next_line()),
            ("b\n", 2, false, Some(3))
        );
    }

    // WSP-03
    #[test]
    fn lines_that_are_not_there_are_named() {
        let limits = ReadLimits::of_chars(9);
        let past = read_lines("a\nb\n", range(4, 1), limits).unwrap_err();
        assert_eq!(past.to_string(), "line 4 is past the end: there are 2 lines");
        let past = read_lines("a", range(u64::MAX, 1), limits).unwrap_err();
        assert_eq!(past.to_string(), format!("line {} is past the end: there is 1 line", u64::MAX));
        assert_eq!(read_lines("a", range(0, 1), limits), Err(RangeError::Zero));
        assert_eq!(read_lines("a", range(1, 0), limits), Err(RangeError::Zero));
    }

    proptest! {
        // WSP-17, WSP-18: reading on to the end shows each line once, in order.
        #[test]
        fn reading_on_shows_every_line_once(
            text in "([ab]{0,6}\n){0,9}[aé]{0,6}", chars in 1_u64..9, lines in 1_u64..4, bytes in 2_u64..12,
        ) {
            let limits = ReadLimits { chars, lines, bytes };
            let total = text.split_inclusive('\n').count();
            let mut seen = String::new();
            let mut next = Some(1);
            let mut expected_first = 1;
            while let Some(line) = next {
                let view = read_lines(&text, LineRange { start_line: Some(line as u64), line_count: None }, limits).unwrap();
                prop_assert!(view.text().chars().count() as u64 <= chars && view.text().len() as u64 <= bytes);
                if total > 0 {
                    prop_assert_eq!(view.start_line(), expected_first);
                    prop_assert!(view.end_line() >= view.start_line());
                }
                expected_first = view.end_line() + 1;
                seen.push_str(view.text());
                if view.is_cut() {
                    let cut = text.split_inclusive('\n').nth(view.end_line() - 1).unwrap();
                    prop_assert!(cut.starts_with(view.text().rsplit_once('\n').map_or(view.text(), |(_, end)| end)));
                    prop_assert!(cut.chars().count() as u64 > chars || cut.len() as u64 > bytes);
                    seen.truncate(seen.len() - view.text().len());
                    seen.push_str(cut);
                }
                next = view.next_line();
            }
            prop_assert_eq!(seen, text);
        }
    }
}
