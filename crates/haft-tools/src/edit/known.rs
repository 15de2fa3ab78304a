//! What is known of one file: its version, and which of its lines were read (WSP-06, WSP-08, WSP-09).

use haft_core::Digest;
use serde_json::{Value, json};

use super::changes::{Changes, marks};
use super::{line_count, span};

/// A version of a file, as far as it was read or written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KnownFile {
    digest: Digest,
    /// One number for each line of the version; none if an older process read it and it is no longer there.
    marks: Option<Vec<u64>>,
    seen: Seen,
    /// A patch failed on what was read in part; the next one needs the whole file (WSP-11).
    doubtful: bool,
}

/// Which lines of a version are known.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Seen {
    Whole,
    Lines(LineSet),
}

/// Lines from 1, as ranges with both ends, in order, with gaps between them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct LineSet(Vec<(usize, usize)>);

/// Why a whole file is not replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WriteRefusal {
    /// It was not read.
    NotRead,
    /// Only these lines were read.
    PartlyRead(String),
    /// Others changed it since, in this way.
    Stale(String),
}

impl KnownFile {
    /// A version that is known to its last line: read whole, or written.
    pub(crate) fn whole(text: &str) -> Self {
        Self {
            digest: Digest::of(text.as_bytes()),
            marks: Some(marks(text)),
            seen: Seen::Whole,
            doubtful: false,
        }
    }

    /// What is known after the lines `first` to `last` of `text` were read, both from 1.
    pub(crate) fn read(before: Option<&Self>, text: &str, first: usize, last: usize) -> Self {
        let digest = Digest::of(text.as_bytes());
        let mut known = match before {
            Some(before) if before.digest == digest => before.clone(),
            // What was read of an older version says nothing of this one.
            Some(_) | None => {
                let doubtful = before.is_some_and(|before| before.doubtful);
                Self { digest, marks: Some(marks(text)), seen: Seen::Lines(LineSet::default()), doubtful }
            }
        };
        let total = line_count(text);
        if let Seen::Lines(lines) = &mut known.seen {
            lines.add(first, last.min(total));
            if lines.is_all(total) {
                known.seen = Seen::Whole;
                known.doubtful = false;
            }
        }
        known
    }

    /// What a later process needs to know: for the metadata of a result.
    pub(crate) fn to_note(&self, name: &str) -> Value {
        let lines = match &self.seen {
            Seen::Whole => Value::Null,
            Seen::Lines(lines) => json!(lines.0),
        };
        json!({"file": name, "sha256": self.digest.to_string(), "lines": lines})
    }

    /// What such a note says of `name`, if it speaks of it. `text` is what the file holds now.
    pub(crate) fn from_note(note: &Value, name: &str, text: &str) -> Option<Self> {
        if note.get("file")?.as_str()? != name {
            return None;
        }
        let digest = note.get("sha256")?.as_str()?.parse().ok()?;
        let seen = match note.get("lines")? {
            Value::Null => Seen::Whole,
            ranges => {
                let ranges: Vec<(usize, usize)> = serde_json::from_value(ranges.clone()).ok()?;
                let mut lines = LineSet::default();
                ranges.into_iter().for_each(|(first, last)| lines.add(first, last));
                Seen::Lines(lines)
            }
        };
        let marks = (digest == Digest::of(text.as_bytes())).then(|| marks(text));
        Some(Self { digest, marks, seen, doubtful: false })
    }

    /// The version.
    pub(super) fn digest(&self) -> Digest {
        self.digest
    }

    /// True if the version is known to its last line.
    pub(crate) fn is_whole(&self) -> bool {
        self.seen == Seen::Whole
    }

    pub(super) fn is_doubtful(&self) -> bool {
        self.doubtful
    }

    /// True if line `line` was read.
    pub(super) fn has_seen(&self, line: usize) -> bool {
        match &self.seen {
            Seen::Whole => true,
            Seen::Lines(lines) => lines.has(line),
        }
    }

    /// The lines that were read, in words.
    pub(super) fn seen(&self) -> String {
        match &self.seen {
            Seen::Whole => "all of it".to_owned(),
            Seen::Lines(lines) if lines.0.is_empty() => "no whole line".to_owned(),
            Seen::Lines(lines) => {
                lines.0.iter().map(|(first, last)| span(*first, *last)).collect::<Vec<_>>().join(", ")
            }
        }
    }

    /// What others changed since, if `text` is another version.
    pub(super) fn changes(&self, text: &str) -> Option<Changes> {
        if self.digest == Digest::of(text.as_bytes()) {
            return None;
        }
        Some(match &self.marks {
            Some(before) => Changes::between(before, &marks(text)),
            None => Changes::Unknown,
        })
    }

    /// A patch on it failed. What was read in part no longer counts; what was read whole does.
    #[must_use]
    pub(crate) fn doubted(&self) -> Self {
        match self.seen {
            Seen::Whole => self.clone(),
            Seen::Lines(_) => Self { seen: Seen::Lines(LineSet::default()), doubtful: true, ..self.clone() },
        }
    }

    /// May the whole file, which now holds `text`, be replaced by somebody who knows `known` of it?
    pub(crate) fn check_replace(known: Option<&Self>, text: &str) -> Result<(), WriteRefusal> {
        let known = known.ok_or(WriteRefusal::NotRead)?;
        match known.changes(text) {
            Some(changes) => Err(WriteRefusal::Stale(changes.to_string())),
            None if known.is_whole() => Ok(()),
            None => Err(WriteRefusal::PartlyRead(known.seen())),
        }
    }

    /// What is known after `added` was put at the end of `before`. Nothing is learned of lines that were not read (WSP-09).
    pub(crate) fn appended(known: Option<&Self>, before: &str, added: &str) -> Option<Self> {
        let known = known?;
        if known.digest != Digest::of(before.as_bytes()) {
            return Some(known.clone());
        }
        let text = [before, added].concat();
        let mut after = Self::whole(&text);
        if let Seen::Lines(lines) = &known.seen {
            let mut lines = lines.clone();
            lines.add(line_count(before) + 1, line_count(&text));
            after.seen = Seen::Lines(lines);
            after.doubtful = known.doubtful;
        }
        Some(after)
    }

    /// What is known after a patch: `text` is the new version in which the lines `first` to `last` of the version before became
    /// `new_last - first + 1` lines; `seen` says which lines of the version before were known.
    pub(super) fn patched(
        text: &str,
        total_before: usize,
        (first, last, new_last): (usize, usize, usize),
        seen: impl Fn(usize) -> bool,
    ) -> Self {
        let mut after = Self::whole(text);
        let mut lines = LineSet::default();
        (1..first).filter(|line| seen(*line)).for_each(|line| lines.add(line, line));
        lines.add(first, new_last);
        for line in (last + 1..=total_before).filter(|line| seen(*line)) {
            let moved = line - last + new_last;
            lines.add(moved, moved);
        }
        if !lines.is_all(line_count(text)) {
            after.seen = Seen::Lines(lines);
        }
        after
    }
}

impl LineSet {
    fn add(&mut self, first: usize, last: usize) {
        if first == 0 || last < first {
            return;
        }
        let from = self.0.partition_point(|range| range.1 + 1 < first);
        let to = self.0.partition_point(|range| range.0 <= last.saturating_add(1));
        let joined =
            self.0[from..to].iter().fold((first, last), |all, one| (all.0.min(one.0), all.1.max(one.1)));
        self.0.splice(from..to, [joined]);
    }

    fn has(&self, line: usize) -> bool {
        let at = self.0.partition_point(|range| range.1 < line);
        self.0.get(at).is_some_and(|range| range.0 <= line)
    }

    fn is_all(&self, total: usize) -> bool {
        total == 0 || self.0 == [(1, total)]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    // WSP-06
    #[test]
    fn parts_of_one_version_add_up_and_those_of_another_do_not() {
        let text = "a\nb\nc\n";
        let first = KnownFile::read(None, text, 1, 1);
        assert_eq!((first.seen().as_str(), first.has_seen(2)), ("line 1", false));
        let rest = KnownFile::read(Some(&first), text, 2, 9);
        assert!(rest.is_whole());
        let other = KnownFile::read(Some(&first), "a\nb\nC\n", 3, 3);
        assert_eq!(other.seen(), "line 3");
        assert!(KnownFile::read(None, "", 0, 0).is_whole());
    }

    // WSP-11
    #[test]
    fn after_a_failed_patch_on_a_part_the_whole_must_be_read_anew() {
        let text = "a\nb\n";
        let doubted = KnownFile::read(None, text, 1, 1).doubted();
        let part = KnownFile::read(Some(&doubted), text, 2, 2);
        assert!(part.is_doubtful());
        assert!(KnownFile::read(Some(&doubted), "a\nB\n", 1, 1).is_doubtful());
        let whole = KnownFile::read(Some(&part), text, 1, 2);
        assert!(whole.is_whole() && !whole.is_doubtful());
        assert_eq!(whole.doubted(), whole);
    }

    // WSP-09
    #[test]
    fn appending_teaches_nothing_of_what_was_not_read() {
        let (before, added) = ("a\nb\n", "c\n");
        assert_eq!(KnownFile::appended(None, before, added), None);
        let whole = KnownFile::whole(before);
        assert_eq!(KnownFile::appended(Some(&whole), before, added), Some(KnownFile::whole("a\nb\nc\n")));
        let part = KnownFile::read(None, before, 1, 1);
        let after = KnownFile::appended(Some(&part), before, added).unwrap();
        assert_eq!(after.seen(), "line 1, line 3");
        assert_eq!(KnownFile::appended(Some(&whole), "x\n", added), Some(whole));
    }

    // WSP-08
    #[test]
    fn a_file_is_replaced_by_who_knows_all_of_it_alone() {
        let text = "a\nb\n";
        assert_eq!(KnownFile::check_replace(None, text), Err(WriteRefusal::NotRead));
        let part = KnownFile::read(None, text, 2, 2);
        assert_eq!(
            KnownFile::check_replace(Some(&part), text),
            Err(WriteRefusal::PartlyRead("line 2".into()))
        );
        let whole = KnownFile::whole(text);
        assert_eq!(KnownFile::check_replace(Some(&whole), text), Ok(()));
        let stale = Err(WriteRefusal::Stale("line 2 changed".into()));
        assert_eq!(KnownFile::check_replace(Some(&whole), "a\nB\n"), stale);
    }

    #[test]
    fn a_note_tells_a_later_process_what_was_read() {
        let text = "a\nb\nc\n";
        let part = KnownFile::read(None, text, 2, 2);
        let note = part.to_note("f");
        assert_eq!(KnownFile::from_note(&note, "f", text), Some(part));
        assert_eq!(KnownFile::from_note(&note, "g", text), None);
        assert_eq!(
            KnownFile::from_note(&json!({"file": "f", "sha256": "x", "lines": null}), "f", text),
            None
        );
        let whole = KnownFile::whole(text);
        assert_eq!(KnownFile::from_note(&whole.to_note("f"), "f", text), Some(whole.clone()));
        let later = KnownFile::from_note(&whole.to_note("f"), "f", "other\n").unwrap();
        assert_eq!(later.changes("other\n"), Some(Changes::Unknown));
    }

    proptest! {
        #[test]
        fn a_set_of_lines_has_what_was_added(ranges in proptest::collection::vec((0_usize..12, 0_usize..12), 0..8)) {
            let mut set = LineSet::default();
            let mut model = BTreeSet::new();
            for (first, last) in ranges {
                set.add(first, last);
                if first > 0 {
                    model.extend(first..=last);
                }
            }
            prop_assert_eq!((0..14).filter(|line| set.has(*line)).collect::<BTreeSet<_>>(), model.clone());
            prop_assert_eq!(set.is_all(11), model.len() == 11);
        }
    }
}
