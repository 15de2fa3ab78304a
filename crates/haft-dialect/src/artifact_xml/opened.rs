//! Elements that a value opens and does not close. Their close tags belong to the value.
//! It must not decide where a value ends.

use std::collections::HashMap;

use super::tag::{TagKind, tag_at};
use super::value::next_bracket;
use crate::scan::Source;

/// How often elements were opened and not closed inside a value; filled only where the clean reading fails.
#[derive(Debug, Default)]
pub(crate) struct Opened<'a> {
    scanned_to: usize,
    counts: HashMap<&'a str, u32>,
}

impl<'a> Opened<'a> {
    pub(crate) fn scan(&mut self, source: Source<'a>, value: std::ops::Range<usize>) {
        let from = self.scanned_to.max(value.start);
        let piece = Source::new(source.slice(0, value.end), true);
        let mut at = from;
        while let Some(found) = next_bracket(piece, at) {
            match tag_at(piece, found) {
                Ok(Some(tag)) => {
                    match tag.kind {
                        TagKind::Open => self.open(tag.name),
                        TagKind::Close => self.close(tag.name),
                        TagKind::Empty => {}
                    }
                    at = tag.end;
                }
                _ => at = found + piece.char_at(found).map_or(1, char::len_utf8),
            }
        }
        self.scanned_to = value.end.max(self.scanned_to);
    }

    pub(crate) fn open(&mut self, name: &'a str) {
        *self.counts.entry(name).or_insert(0_u32) += 1;
    }

    /// What closes nothing that was opened does not count.
    pub(crate) fn close(&mut self, name: &str) {
        if let Some(count) = self.counts.get_mut(name).filter(|count| **count > 0) {
            *count -= 1;
        }
    }

    pub(crate) fn count(&self, name: &str) -> u32 {
        self.counts.get(name).copied().unwrap_or(0)
    }
}
