//! Where a quoted passage stands in a text (ART-02): exactly, else with quotes, dashes and blanks made alike, else with few
//! edits. Pure.
//!
//! It must never guess between two places, and never take long: work is counted before it is done. Start at [`find`].

use std::ops::Range;

use memchr::memmem;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::canonical_combining_class;

use super::myers::{Pattern, Start};

/// Largest text that is searched other than exactly, in bytes.
const MAX_TEXT: usize = 1 << 20;
/// Most steps of an approximate search: well under a second, also without optimisation.
const MAX_STEPS: usize = 16_000_000;
/// Places named in a message, at most.
const MAX_PLACES: usize = 8;

/// How a passage was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// Character for character.
    Exact,
    /// With quotes, dashes, blanks and compatibility forms made alike.
    Alike,
    /// With this many characters changed, added or left out.
    Approximate(usize),
}

/// The one place of a passage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// Bytes of the text.
    pub(super) range: Range<usize>,
    pub(super) how: How,
}

/// Why there is no one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Miss {
    /// The passage is nowhere, also not nearly.
    Absent,
    /// It is nowhere exactly, and the text or the passage is too long to look for something near.
    TooLong,
    /// It could be meant in several places, which begin on these lines (from 1).
    Ambiguous(Vec<usize>),
}

/// Finds the one place of `passage` (not empty) in `text`.
pub(super) fn find(text: &str, passage: &str) -> Result<Found, Miss> {
    let exact = occurrences(text, passage);
    match exact.as_slice() {
        [] => {}
        [at] => return Ok(Found { range: *at..at + passage.len(), how: How::Exact }),
        several => return Err(ambiguous(text, several)),
    }
    if text.len() > MAX_TEXT || passage.len() > MAX_TEXT {
        return Err(Miss::TooLong);
    }
    let alike_text = Alike::of(text);
    let alike_passage = Alike::of(passage);
    if alike_passage.text.is_empty() {
        return Err(Miss::Absent);
    }
    let found: Vec<Range<usize>> = occurrences(&alike_text.text, &alike_passage.text)
        .into_iter()
        .filter_map(|at| alike_text.original(at..at + alike_passage.text.len()))
        .collect();
    match found.as_slice() {
        [] => approximate(text, &alike_text, &alike_passage),
        [range] => Ok(Found { range: range.clone(), how: How::Alike }),
        several => Err(ambiguous(text, &several.iter().map(|range| range.start).collect::<Vec<_>>())),
    }
}

/// The line (from 1) in which byte `at` of `text` stands.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    1 + memchr::memchr_iter(b'\n', text.as_bytes().get(..at).unwrap_or_default()).count()
}

/// Byte offsets of `passage` in `text`, overlapping ones too, a few at most.
fn occurrences(text: &str, passage: &str) -> Vec<usize> {
    let finder = memmem::Finder::new(passage);
    let mut found = Vec::new();
    let mut from = 0;
    while found.len() < MAX_PLACES
        && let Some(at) = text.as_bytes().get(from..).and_then(|rest| finder.find(rest))
    {
        found.push(from + at);
        from += at + 1;
    }
    found
}

fn ambiguous(text: &str, places: &[usize]) -> Miss {
    let mut lines: Vec<usize> = places.iter().map(|at| line_of(text, *at)).collect();
    lines.sort_unstable();
    lines.dedup();
    lines.truncate(MAX_PLACES);
    Miss::Ambiguous(lines)
}

/// A text in which quotes, dashes, blanks and compatibility forms are made alike, with the way back.
struct Alike {
    text: String,
    characters: Vec<char>,
    /// For each character, and for the end: its byte in `text`, and the bytes of the original that it came from.
    places: Vec<Place>,
}

struct Place {
    at: usize,
    original: Range<usize>,
}

impl Alike {
    fn of(original: &str) -> Self {
        let mut alike =
            Self { text: String::with_capacity(original.len()), characters: Vec::new(), places: Vec::new() };
        let mut start = 0;
        while let Some(length) = cluster(&original[start..]) {
            let range = start..start + length;
            let part = &original[range.clone()];
            if let [single] = part.as_bytes() {
                alike.push_single(same_as(char::from(*single)), range.clone());
            } else if part == "\r\n" {
                alike.push_single('\n', range.clone());
            } else {
                let mut characters = part.nfkc().map(same_as);
                match (characters.next(), characters.next()) {
                    (Some(single), None) => alike.push_single(single, range.clone()),
                    _ => part.nfkc().map(same_as).for_each(|character| alike.push(character, range.clone())),
                }
            }
            start = range.end;
        }
        alike
    }

    /// A character of the original that became one character.
    fn push_single(&mut self, character: char, original: Range<usize>) {
        match character {
            '\n' => self.push_break(original),
            ' ' => self.push_blank(original),
            other => self.push(other, original),
        }
    }

    fn push(&mut self, character: char, original: Range<usize>) {
        self.places.push(Place { at: self.text.len(), original });
        self.characters.push(character);
        self.text.push(character);
    }

    /// Blanks in a row count as one.
    fn push_blank(&mut self, original: Range<usize>) {
        match (self.characters.last(), self.places.last_mut()) {
            (Some(' '), Some(place)) => {
                place.original.end = original.end;
            }
            _ => self.push(' ', original),
        }
    }

    /// Blanks at the end of a line belong to its break.
    fn push_break(&mut self, original: Range<usize>) {
        let mut whole = original;
        if let (Some(' '), Some(place)) = (self.characters.last(), self.places.last()) {
            whole.start = place.original.start;
            self.places.pop();
            self.characters.pop();
            self.text.pop();
        }
        self.push('\n', whole);
    }

    /// The bytes of the original behind the bytes `range` of the text; none if an end falls inside of one character of
    /// the original.
    fn original(&self, range: Range<usize>) -> Option<Range<usize>> {
        let first = self.places.binary_search_by_key(&range.start, |place| place.at).ok()?;
        let after = self.places.partition_point(|place| place.at < range.end);
        let splits = |at: usize| {
            at > 0
                && at < self.places.len()
                && self.places[at - 1].original.start == self.places[at].original.start
        };
        if splits(first) || splits(after) {
            return None;
        }
        Some(self.covering(first..after))
    }

    /// The bytes of the original that the characters `range` (not empty) came from.
    fn covering(&self, range: Range<usize>) -> Range<usize> {
        let start = self.places.get(range.start).map_or(0, |place| place.original.start);
        let end = range
            .end
            .checked_sub(1)
            .and_then(|last| self.places.get(last))
            .map_or(start, |place| place.original.end);
        start..end.max(start)
    }
}

/// Bytes of the first character with all that combines with it; a carriage return with its line feed. None at the end.
fn cluster(text: &str) -> Option<usize> {
    let mut characters = text.char_indices();
    let (_, first) = characters.next()?;
    if first == '\r' && text.starts_with("\r\n") {
        return Some(2);
    }
    let combines = |c: char| {
        !c.is_ascii() && canonical_combining_class(c) != 0
            || matches!(c, '\u{1160}'..='\u{11ff}' | '\u{3099}' | '\u{309a}')
    };
    Some(characters.find(|(_, c)| !combines(*c)).map_or(text.len(), |(at, _)| at))
}

/// The common form of a quote, a dash or a blank.
fn same_as(character: char) -> char {
    match character {
        '\u{2018}'..='\u{201b}' | '\u{2032}' | '\u{2035}' | '`' | '\u{b4}' => '\'',
        '\u{201c}'..='\u{201f}' | '\u{2033}' | '\u{2036}' | '\u{ab}' | '\u{bb}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' => '-',
        '\t' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200b}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        other => other,
    }
}

/// The one place that needs the fewest edits, if they are few and no other place comes near.
fn approximate(text: &str, alike: &Alike, passage: &Alike) -> Result<Found, Miss> {
    let length = passage.characters.len();
    // The larger of 5 and 30 %, and never more than half: with less in common, it is another text.
    let limit = (length * 3 / 10).max(5).min(length / 2);
    let pattern = Pattern::new(passage.characters.iter().copied());
    // Two passes over the text and one over the passage.
    if pattern.steps(2 * alike.characters.len() + 2 * length) > MAX_STEPS {
        return Err(Miss::TooLong);
    }
    let mut ends: Vec<(usize, usize)> = Vec::new();
    let near = limit + rival_margin(limit);
    pattern.distances(alike.characters.iter().copied(), Start::Anywhere, |end, distance| {
        if distance <= near {
            ends.push((end, distance));
        }
    });
    let Some(least) = ends.iter().map(|(_, distance)| *distance).min().filter(|least| *least <= limit) else {
        return Err(Miss::Absent);
    };
    let characters = &alike.characters;
    let first_end = ends.iter().find(|(_, distance)| *distance == least).map_or(0, |(end, _)| *end);
    let end = ends
        .iter()
        .filter(|(end, distance)| *distance == least && (first_end..=first_end + least).contains(end))
        .map(|(end, _)| *end)
        .max_by_key(|end| edge(characters, *end, passage.characters.last(), Side::End))
        .unwrap_or(first_end);
    let start = best_start(characters, end, passage, least);
    if start >= end {
        return Err(Miss::Absent);
    }
    let range = alike.covering(start..end);
    let near = least + rival_margin(least);
    let before =
        ends.iter().filter(|(end, distance)| *end <= start && *distance <= near).map(|(end, _)| *end);
    // Some places on each side are enough to refuse and to name.
    let mut rivals: Vec<usize> = before.take(MAX_PLACES / 2).collect();
    pattern.distances(characters[end..].iter().copied(), Start::Anywhere, |at, distance| {
        if distance <= near && rivals.len() < MAX_PLACES {
            rivals.push(end + at);
        }
    });
    if rivals.is_empty() {
        return Ok(Found { range, how: How::Approximate(least) });
    }
    let mut places: Vec<usize> = rivals
        .iter()
        .filter_map(|end| alike.places.get(end.checked_sub(1)?))
        .map(|place| place.original.start)
        .collect();
    places.push(range.start);
    Err(ambiguous(text, &places))
}

/// How many more edits another place must need, so that the best one is clearly meant.
fn rival_margin(least: usize) -> usize {
    (least / 2).max(1)
}

/// The beginning of the match that ends at `end` with `least` edits: the same search backwards, from `end` on.
fn best_start(characters: &[char], end: usize, passage: &Alike, least: usize) -> usize {
    let backwards = Pattern::new(passage.characters.iter().rev().copied());
    let reach = (passage.characters.len() + least).min(end);
    let mut starts = Vec::new();
    let before = characters[end - reach..end].iter().rev().copied();
    backwards.distances(before, Start::First, |length, distance| {
        if distance == least {
            starts.push(end - length);
        }
    });
    let best = starts
        .iter()
        .rev()
        .max_by_key(|start| edge(characters, **start, passage.characters.first(), Side::Start));
    best.copied().unwrap_or(end)
}

#[derive(Clone, Copy)]
enum Side {
    Start,
    End,
}

/// How well a match may have its edge before character `at`: the character inside is of the kind that the passage has
/// there, and a word or line ends. With equal edits this decides.
fn edge(characters: &[char], at: usize, wanted: Option<&char>, side: Side) -> (bool, u8) {
    let before = at.checked_sub(1).and_then(|before| characters.get(before));
    let after = characters.get(at);
    let (inside, outside) = match side {
        Side::Start => (after, before),
        Side::End => (before, after),
    };
    let ending = match kind(outside) {
        Kind::Nothing | Kind::Break => 2,
        other => u8::from(other != kind(inside)),
    };
    (kind(inside) == kind(wanted), ending)
}

#[derive(PartialEq)]
enum Kind {
    Nothing,
    Break,
    Blank,
    Word,
    Sign,
}

fn kind(character: Option<&char>) -> Kind {
    match character {
        None => Kind::Nothing,
        Some('\n') => Kind::Break,
        Some(c) if c.is_whitespace() => Kind::Blank,
        Some(c) if c.is_alphanumeric() || *c == '_' => Kind::Word,
        Some(_) => Kind::Sign,
    }
}

#[cfg(test)]
mod tests;
