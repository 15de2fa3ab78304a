//! A whole message: what in it is text, reasoning, quoted code, a call, or invented by the model.
//!
//! Calls are looked for only at brackets and at the message's start; everything else is passed on as text at once. Where
//! the text so far does not decide, reading stops at that place and starts there again when more has come.

use super::draft::Outcome;
use super::names::Names;
use super::quoted::{Fence, Tildes};
use super::section::SectionEnds;
use super::tag::{Tag, TagKind, tag_at};
use super::value::next_bracket;
use crate::marks::{Mark, invents_answer, is_think_tag, mark_at};
use crate::scan::{NeedMore, Reads, Source, is_blank};

/// Where the parts of a message go.
pub(crate) trait Output {
    /// Visible text.
    fn text(&mut self, from: usize, to: usize);
    /// Reasoning.
    fn reasoning(&mut self, from: usize, to: usize);
    /// An attempt at a call. Says whether more are taken.
    fn outcome(&mut self, outcome: Outcome) -> bool;
    /// All before this offset was reasoning.
    fn all_was_reasoning(&mut self, to: usize);
    /// A think tag, which is neither text nor reasoning.
    fn think_mark(&mut self, from: usize, to: usize);
    /// Whether any attempt was found so far.
    fn has_outcomes(&self) -> bool;
    /// Whether visible text other than blanks was found so far.
    fn has_text(&self) -> bool;
}

/// The state of reading one message.
#[derive(Debug)]
pub(crate) struct Message {
    pub(super) at: usize,
    pub(super) mode: Mode,
    /// Whether text just before is a call, with nothing but blanks between.
    pub(super) after_call: bool,
    pub(super) ends: SectionEnds,
    pub(super) tildes: Tildes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Text,
    /// Inside of `<think>`.
    Thinking,
    /// Inside of a quoted fence.
    Fence(Fence),
    /// Behind what the model invented: nothing counts any more.
    Ended,
}

impl Message {
    pub(crate) fn new() -> Self {
        Self {
            at: 0,
            mode: Mode::Text,
            after_call: false,
            ends: SectionEnds::default(),
            tildes: Tildes::default(),
        }
    }

    /// The offset up to which everything is decided.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Whether the end of the text may change what was read already.
    pub(crate) fn needs_end(&self) -> bool {
        matches!(self.mode, Mode::Fence(_))
    }

    /// Whether what is held could be a call, which only its end decides.
    pub(crate) fn holds_block(&self, source: Source<'_>) -> bool {
        self.mode == Mode::Text && matches!(source.byte(self.at), Some(b'<' | 0xEF))
    }

    /// Reads on as far as the text decides.
    pub(crate) fn advance<O: Output>(
        &mut self,
        source: Source<'_>,
        names: &Names,
        output: &mut O,
    ) -> Reads<()> {
        let mut reader = Reader { source, names, output, message: self };
        loop {
            while reader.message.at < source.len() {
                match reader.message.mode {
                    Mode::Text => reader.text()?,
                    Mode::Thinking => reader.thinking()?,
                    Mode::Fence(fence) => reader.fence(fence)?,
                    Mode::Ended => reader.message.at = source.len(),
                }
            }
            match reader.message.mode {
                Mode::Fence(fence) if source.is_complete() => reader.unclosed_fence(fence)?,
                Mode::Text | Mode::Thinking | Mode::Fence(_) | Mode::Ended => return Ok(()),
            }
        }
    }
}

pub(super) struct Reader<'a, 'n, 'm, O> {
    pub(super) source: Source<'a>,
    pub(super) names: &'n Names,
    pub(super) output: &'m mut O,
    pub(super) message: &'m mut Message,
}

impl<'a, O: Output> Reader<'a, '_, '_, O> {
    /// Passes text on up to an offset.
    pub(super) fn pass(&mut self, to: usize) {
        let from = self.message.at;
        if to > from {
            if self.message.after_call && !self.source.slice(from, to).chars().all(is_blank) {
                self.message.after_call = false;
            }
            self.output.text(from, to);
            self.message.at = to;
        }
    }

    /// Leaves out what stands between here and an offset.
    pub(super) fn skip(&mut self, to: usize) {
        self.message.at = to;
        self.message.tildes.to = self.message.tildes.to.max(to);
    }

    fn begins_message(&self) -> bool {
        !self.output.has_outcomes() && !self.output.has_text()
    }

    fn text(&mut self) -> Reads<()> {
        if self.begins_message() {
            let first = self.skip_blanks_at_start();
            self.message.at = first;
            match self.source.byte(first) {
                None => return Ok(()),
                Some(b'{' | b'[') if self.bare_json(first)? => return Ok(()),
                Some(b'`' | b'~') if self.fence_as_call(first)? => return Ok(()),
                Some(b'~') if self.open_fence(first)? => return Ok(()),
                Some(_) => {}
            }
        } else if self.message.after_call && self.json_goes_on()? {
            return Ok(());
        }
        let stop = if self.output.has_outcomes() { self.invented_line()? } else { None };
        let from = self.message.at;
        match next_mark(self.source, from).filter(|found| stop.is_none_or(|stop| *found < stop)) {
            Some(found) => self.mark(found),
            None => {
                match stop {
                    Some(stop) => {
                        self.pass(stop);
                        self.message.mode = Mode::Ended;
                    }
                    None => self.pass(self.source.len()),
                }
                Ok(())
            }
        }
    }

    fn skip_blanks_at_start(&self) -> usize {
        self.source.skip_blanks(self.message.at)
    }

    fn mark(&mut self, at: usize) -> Reads<()> {
        match self.source.byte(at) {
            Some(b'`') => {
                self.pass(at);
                self.backticks(at)
            }
            _ => self.bracket(at),
        }
    }

    pub(super) fn reasoning_ended(&mut self, tag: &Tag<'_>, at: usize) {
        self.output.all_was_reasoning(at);
        self.output.think_mark(at, tag.end);
        self.message.after_call = false;
        self.message.mode = Mode::Text;
        self.skip(tag.end);
    }

    fn thinking(&mut self) -> Reads<()> {
        let from = self.message.at;
        let source = self.source;
        let mut at = from;
        while let Some(found) = next_bracket(source, at) {
            let tag = match tag_at(source, found) {
                Ok(tag) => tag,
                Err(NeedMore) => {
                    self.output.reasoning(from, found);
                    self.skip(found);
                    return Err(NeedMore);
                }
            };
            if let Some(tag) = tag.filter(|tag| tag.kind == TagKind::Close && is_think_tag(tag.name)) {
                self.output.reasoning(from, found);
                self.output.think_mark(found, tag.end);
                self.skip(tag.end);
                self.message.mode = Mode::Text;
                return Ok(());
            }
            at = found + source.char_at(found).map_or(1, char::len_utf8);
        }
        self.output.reasoning(from, source.len());
        self.skip(source.len());
        Ok(())
    }

    /// A `<` or `＜` of the text.
    fn bracket(&mut self, at: usize) -> Reads<()> {
        let source = self.source;
        self.pass(at);
        match mark_at(source.rest(at)) {
            Mark::End(length) => return self.end_mark(at, length),
            Mark::Turn if self.output.has_outcomes() => {
                self.message.mode = Mode::Ended;
                return Ok(());
            }
            Mark::Begun => {
                source.ends_at(source.len())?;
            }
            Mark::Turn | Mark::Nothing => {}
        }
        let width = source.char_at(at).map_or(1, char::len_utf8);
        let Some(tag) = tag_at(source, at)? else {
            self.pass(at + width);
            return Ok(());
        };
        let taken = match tag.kind {
            TagKind::Close => self.close_tag(&tag, at)?,
            TagKind::Open | TagKind::Empty => self.open_tag(&tag, at)?,
        };
        if !taken {
            self.pass(at + width);
        }
        Ok(())
    }

    /// The end of the model's turn; only blanks and other ends may follow, else it is text. Behind it, a turn that begins
    /// is invented.
    fn end_mark(&mut self, at: usize, length: usize) -> Reads<()> {
        let next = self.source.skip_blanks(at + length);
        if self.source.ends_at(next)? {
            self.skip(next);
            return Ok(());
        }
        match mark_at(self.source.rest(next)) {
            Mark::Turn => self.message.mode = Mode::Ended,
            Mark::End(_) => self.skip(next),
            Mark::Begun if !self.source.is_complete() => return Err(NeedMore),
            Mark::Begun | Mark::Nothing => self.pass(at + length),
        }
        Ok(())
    }

    fn close_tag(&mut self, tag: &Tag<'a>, at: usize) -> Reads<bool> {
        if is_think_tag(tag.name) && !tag.cut {
            self.reasoning_ended(tag, at);
            return Ok(true);
        }
        if !self.output.has_outcomes() {
            return Ok(false);
        }
        let ours = self.names.wrapper(tag.name).is_some()
            || self.names.is_container(tag.name, None)
            || Names::is_name_tag(tag.name)
            || Names::is_named_element(tag.name)
            || self.names.tools.resolve(tag.name).is_some();
        // Close tags right behind a call, whole or begun, are marks of it.
        if self.message.after_call && (ours || tag.cut) {
            self.skip(tag.end);
            return Ok(true);
        }
        let alone = ours && self.source.begins_line(at) && self.ends_line(tag.end)?;
        if alone {
            self.skip(tag.end);
        }
        Ok(alone)
    }

    pub(super) fn ends_line(&self, at: usize) -> Reads<bool> {
        let rest = self.source.rest(at);
        let after = at + (rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\0']).len());
        self.line_ends_at(after)
    }

    /// Whether a line ends exactly here: by a break, by the end of the text, or by a mark of its end.
    pub(super) fn line_ends_at(&self, at: usize) -> Reads<bool> {
        if self.source.ends_at(at)? || self.source.byte(at) == Some(b'\n') {
            return Ok(true);
        }
        match mark_at(self.source.rest(at)) {
            Mark::End(_) => Ok(true),
            Mark::Begun if !self.source.is_complete() => Err(NeedMore),
            Mark::Turn | Mark::Begun | Mark::Nothing => Ok(false),
        }
    }

    /// Whether nothing follows but blanks and marks of the end.
    pub(super) fn only_ends_follow(&self, at: usize) -> Reads<bool> {
        let mut at = self.source.skip_blanks(at);
        loop {
            if self.source.ends_at(at)? {
                return Ok(true);
            }
            match mark_at(self.source.rest(at)) {
                Mark::End(length) => at = self.source.skip_blanks(at + length),
                Mark::Begun if !self.source.is_complete() => return Err(NeedMore),
                Mark::Turn => return Ok(true),
                Mark::Begun | Mark::Nothing => return Ok(false),
            }
        }
    }

    /// The offset of the next line that begins like an invented answer, before anything else of interest.
    fn invented_line(&self) -> Reads<Option<usize>> {
        let source = self.source;
        let from = self.message.at;
        let until = next_mark(source, from).unwrap_or(source.len());
        let mut line = if source.begins_line(from) || self.message.after_call {
            Some(source.skip_blanks(from))
        } else {
            None
        };
        loop {
            if let Some(at) = line.filter(|at| *at < until) {
                let rest = source.rest(at);
                let end = rest.find('\n').unwrap_or(rest.len());
                match invents_answer(rest.get(..end).unwrap_or_default()) {
                    Some(true) => return Ok(Some(at)),
                    None if end == rest.len() => {
                        source.ends_at(source.len())?;
                    }
                    Some(false) | None => {}
                }
            }
            let search = line.unwrap_or(from).max(from);
            let window = source.bytes().get(search..until).unwrap_or_default();
            match memchr::memchr(b'\n', window) {
                Some(offset) => line = Some(source.skip_blanks(search + offset + 1)),
                None => return Ok(None),
            }
        }
    }
}

/// Whether a tag or a mark can go on like this after its bracket.
fn may_begin_tag(next: u8) -> bool {
    next.is_ascii_alphabetic() || !next.is_ascii() || matches!(next, b'/' | b'_' | b'|' | 0)
}

/// The next place of a text that could be anything but text.
fn next_mark(source: Source<'_>, from: usize) -> Option<usize> {
    let mut at = from;
    let bytes = source.bytes();
    loop {
        let rest = bytes.get(at..)?;
        let offset = if rest.len() < 16 {
            rest.iter().position(|byte| matches!(byte, b'<' | b'`' | 0x9C))?
        } else {
            memchr::memchr3(b'<', b'`', 0x9C, rest)?
        };
        let found = at + offset;
        match bytes.get(found..) {
            Some([b'<', next, ..]) if !may_begin_tag(*next) => {
                // Of a flood of brackets only the last can begin a tag.
                let more = bytes.get(found + 1..).unwrap_or_default();
                at = found + more.iter().take_while(|byte| **byte == b'<').count().max(1);
                continue;
            }
            Some([0x9C, ..]) => {
                if found >= from + 2 && bytes.get(found - 2..found) == Some(&[0xEF, 0xBC]) {
                    return Some(found - 2);
                }
            }
            _ => return Some(found),
        }
        at = found + 1;
    }
}
