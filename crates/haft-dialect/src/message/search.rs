//! The next place of a message that could be anything but text; each kind is searched for once.
//! It must not decide what stands there.

use super::{Message, markerless, react};
use crate::artifact_xml::value::next_bracket;
use crate::scan::Source;
use crate::tokens::Thinking;

/// Whether a tag or a mark can go on like this after its bracket.
fn may_begin_tag(next: u8) -> bool {
    next.is_ascii_alphabetic() || !next.is_ascii() || matches!(next, b'/' | b'_' | b'|' | 0)
}

/// Whether a token in square brackets can go on like this after its bracket, as `[TOOL_CALLS]` does.
fn may_begin_token(next: u8) -> bool {
    matches!(next.to_ascii_lowercase(), b't' | b'a' | b'c' | b'e' | b's' | b'/')
}

/// Whether the first key of an object may stand behind its brace.
fn may_begin_object(source: Source<'_>, at: usize) -> bool {
    source.byte(source.skip_blanks(at + 1)).is_none_or(|first| matches!(first, b'"' | b'\''))
}

/// Whether a bar behind a bracket begins no mark, as in `<||` or `<｜<`.
fn bar_begins_nothing(behind: &[u8]) -> bool {
    let after = match behind {
        [b'|', after @ ..] | [0xEF, 0xBD, 0x9C, after @ ..] => after.first(),
        _ => return false,
    };
    after.is_some_and(|next| !next.is_ascii_alphanumeric() && !matches!(next, b'_' | b'-' | b'/' | 0xE2))
}

/// The next place of reasoning that could be its end.
pub(super) fn next_thinking_mark(source: Source<'_>, from: usize, thinking: Thinking) -> Option<usize> {
    if thinking != Thinking::Bracket {
        return next_bracket(source, from);
    }
    let rest = source.bytes().get(from..)?;
    memchr::memchr2(b'<', b'[', rest).map(|offset| from + offset)
}

/// What a search found, and what it looked at. Nothing is looked at again.
#[derive(Debug, Default)]
pub(super) struct Search {
    from: usize,
    to: usize,
    found: Option<usize>,
}

impl Search {
    /// The first place behind `from` that `find` gives, which is told where to begin and what was seen before.
    fn next(
        &mut self,
        source: Source<'_>,
        from: usize,
        find: impl Fn(Source<'_>, usize, usize) -> Option<usize>,
    ) -> Option<usize> {
        let known = self.from <= from && from <= self.to;
        let reached = match self.found.filter(|found| *found >= from) {
            // A bracket that was the last byte may be more by now.
            Some(found) if known && (found + 2 < self.to || self.to == source.len()) => return Some(found),
            Some(found) => found,
            None if self.found.is_none() => self.to,
            None => from,
        };
        let unseen = if known { reached.saturating_sub(16).max(from) } else { from };
        let unseen = (from..=unseen).rev().find(|at| source.is_boundary(*at)).unwrap_or(from);
        let found = find(source, from, unseen);
        *self = Self { from, to: source.len(), found };
        found
    }
}

impl Message {
    /// The next place of a text that could be anything but text.
    pub(super) fn next_mark(&mut self, source: Source<'_>, from: usize) -> Option<usize> {
        let bracket = self.next_opening.next(source, from, next_opening);
        let label = self.next_label.next(source, from, next_label);
        let first = earlier(bracket, label);
        if !self.recipients {
            return first;
        }
        earlier(first, self.next_recipient.next(source, from, next_recipient))
    }
}

/// The first of two places, if there is any.
fn earlier(left: Option<usize>, right: Option<usize>) -> Option<usize> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.min(right)),
        (place, None) | (None, place) => place,
    }
}

/// The next mark before a recipient.
fn next_recipient(source: Source<'_>, _from: usize, unseen: usize) -> Option<usize> {
    memchr::memmem::find(source.bytes().get(unseen..)?, b">>>").map(|offset| unseen + offset)
}

/// The next bracket or backtick.
fn next_opening(source: Source<'_>, from: usize, unseen: usize) -> Option<usize> {
    let mut at = unseen;
    let bytes = source.bytes();
    loop {
        let rest = bytes.get(at..)?;
        let offset = if rest.len() < 16 {
            rest.iter().position(|byte| matches!(byte, b'<' | b'`' | b'['))?
        } else {
            memchr::memchr3(b'<', b'`', b'[', rest)?
        };
        let found = at + offset;
        match bytes.get(found..).unwrap_or_default() {
            [b'<', b']', next, ..] if *next != b'm' => at = found + 2,
            [b'<', behind @ ..] if bar_begins_nothing(behind) => at = found + 2,
            [b'<'] | [b'<', b']', ..] => {
                // `]<]minimax[>[`
                let before = found > from && bytes.get(found - 1) == Some(&b']');
                return Some(if before { found - 1 } else { found });
            }
            [b'<', next, ..] if !may_begin_tag(*next) => {
                // Of a flood of brackets only the last can begin a tag.
                let more = bytes.get(found + 1..).unwrap_or_default();
                at = found + more.iter().take_while(|byte| **byte == b'<').count().max(1);
            }
            [b'[', rest @ ..] => {
                if let Some(word) = markerless::functools_before(source, from, found) {
                    return Some(word);
                }
                let Some(next) = rest.first() else { return Some(found) };
                if may_begin_token(*next) || source.begins_line(found) {
                    return Some(found);
                }
                at = found + 1;
            }
            [b'`', ..] => return Some(markerless::functools_before(source, from, found).unwrap_or(found)),
            _ => return Some(found),
        }
    }
}

/// The next full-width bracket, brace at the start of a line, or label.
fn next_label(source: Source<'_>, from: usize, unseen: usize) -> Option<usize> {
    let mut at = unseen;
    let bytes = source.bytes();
    loop {
        let found = at + memchr::memchr3(b':', b'{', 0xBC, bytes.get(at..)?)?;
        let wide = found > from && bytes.get(found - 1) == Some(&0xEF);
        match (bytes.get(found), bytes.get(found + 1)) {
            (Some(b'{'), _) if let Some(word) = markerless::functools_before(source, from, found) => {
                return Some(word);
            }
            (Some(b'{'), _) if may_begin_object(source, found) && source.begins_line(found) => {
                return Some(found);
            }
            (Some(b':'), _) => {
                if let Some(label) = react::action_before(source, from, found) {
                    return Some(label);
                }
            }
            (Some(0xBC), Some(0x9C)) if wide => return Some(found - 1),
            (Some(0xBC), Some(0x9A)) if wide => {
                if let Some(label) = react::action_before(source, from, found - 1) {
                    return Some(label);
                }
            }
            _ => {}
        }
        at = found + 1;
    }
}
