//! What a message quotes: inline code and fences. Nothing in them is a call.

use super::{Mode, Output, Reader};
use crate::artifact_xml::tag::{TagKind, tag_at};
use crate::marks::is_think_tag;
use crate::scan::{NeedMore, Reads, Source, is_blank};

/// Longest line in which the end of inline code is looked for, in bytes.
const MAX_INLINE_CODE: usize = 4096;

/// A fence, by the mark that opened it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fence {
    pub(crate) mark: u8,
    pub(crate) length: usize,
    pub(crate) start: usize,
}

/// Fences of tildes, followed up to an offset.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Tildes {
    pub(crate) to: usize,
    open: bool,
}

impl<O: Output> Reader<'_, '_, '_, O> {
    /// Inline code or a fence.
    pub(crate) fn backticks(&mut self, at: usize) -> Reads<()> {
        let length = self.run_length(at, b'`')?;
        if length >= 3 && begins_quoted_line(self.source, at) {
            // The end of a fence whose beginning is missing, behind the last call.
            if self.message.after_call && self.only_ends_follow(at + length)? {
                self.skip(at + length);
                return Ok(());
            }
            let rest = self.source.rest(at + length);
            let line = rest.find('\n').unwrap_or(rest.len());
            if line == rest.len() {
                self.source.ends_at(self.source.len())?;
            }
            // A closing mark on the same line makes it inline code.
            if !rest.get(..line).unwrap_or_default().contains('`') {
                if self.last_fences(at, length)? {
                    return Ok(());
                }
                self.message.mode = Mode::Fence(Fence { mark: b'`', length, start: at });
                self.pass(at + length + line);
                return Ok(());
            }
        }
        let mut from = at + length;
        let limit = at + MAX_INLINE_CODE;
        let bytes = self.source.bytes();
        let end = loop {
            let window = bytes.get(from..limit.min(bytes.len())).unwrap_or_default();
            match memchr::memchr2(b'`', b'\n', window) {
                Some(offset) if window.get(offset) == Some(&b'`') => {
                    let run = self.run_length(from + offset, b'`')?;
                    from += offset + run;
                    if run == length {
                        break from;
                    }
                }
                // Code that goes on in the next line, round a call.
                Some(offset) if self.begins_quoted_tag(at + length)? => from += offset + 1,
                Some(_) => break at + length,
                None if limit <= bytes.len() => break at + length,
                None => {
                    self.source.ends_at(bytes.len())?;
                    break at + length;
                }
            }
        };
        self.pass(end);
        Ok(())
    }

    /// Whether a tag stands right behind the mark of inline code.
    fn begins_quoted_tag(&self, at: usize) -> Reads<bool> {
        Ok(tag_at(self.source, at)?.is_some_and(|tag| self.names.wrapper(tag.name).is_some()))
    }

    pub(crate) fn run_length(&self, at: usize, mark: u8) -> Reads<usize> {
        let rest = self.source.bytes().get(at..).unwrap_or_default();
        let length = rest.iter().take_while(|byte| **byte == mark).count();
        self.source.ends_at(at + length)?;
        Ok(length)
    }

    pub(crate) fn open_fence(&mut self, at: usize) -> Reads<bool> {
        let Some(mark) = self.source.byte(at) else { return Ok(false) };
        let length = self.run_length(at, mark)?;
        if length < 3 || !self.source.begins_line(at) {
            return Ok(false);
        }
        self.message.mode = Mode::Fence(Fence { mark, length, start: at });
        self.pass(at + length);
        Ok(true)
    }

    /// Looks for the end of a quoted fence; everything in it is text.
    pub(crate) fn fence(&mut self, fence: Fence) -> Reads<()> {
        let source = self.source;
        loop {
            let from = self.message.at;
            let Some(line) = memchr::memchr(b'\n', source.bytes().get(from..).unwrap_or_default()) else {
                if source.is_complete() {
                    return self.unclosed_fence(fence);
                }
                return Err(NeedMore);
            };
            let line = from + line + 1;
            if let Some(end) = self.fence_end(line, fence)? {
                self.pass(end);
                self.move_to(end);
                self.message.mode = Mode::Text;
                return Ok(());
            }
            self.pass(line);
            if line >= source.len() {
                return Ok(());
            }
        }
    }

    /// The end of the closing mark, if the line that begins here is one.
    pub(crate) fn fence_end(&self, line: usize, fence: Fence) -> Reads<Option<usize>> {
        let source = self.source;
        let mut at = line;
        let in_quote = !source.begins_line(fence.start);
        while matches!(source.byte(at), Some(b' ' | b'\t')) || in_quote && source.byte(at) == Some(b'>') {
            at += 1;
        }
        if source.ends_at(at)? || source.byte(at) != Some(fence.mark) {
            return Ok(None);
        }
        let run = self.run_length(at, fence.mark)?;
        let rest = source.rest(at + run);
        let blank = rest.len() - rest.trim_start_matches(|next| next != '\n' && is_blank(next)).len();
        let after = at + run + blank;
        let closes = run >= fence.length && self.line_ends_at(after)?;
        Ok(closes.then_some(at + run))
    }

    /// A fence without end. If reasoning ends inside of it, it was part of the reasoning.
    pub(crate) fn unclosed_fence(&mut self, fence: Fence) -> Reads<()> {
        let source = self.source;
        let mut last = None;
        for at in memchr::memmem::find_iter(source.bytes().get(fence.start..).unwrap_or_default(), b"</") {
            let at = fence.start + at;
            let tag = tag_at(source, at)?;
            let tag = tag.filter(|tag| tag.kind == TagKind::Close && !tag.cut && is_think_tag(tag.name));
            last = tag.map(|tag| (at, tag)).or(last);
        }
        match last {
            Some((at, tag)) => self.reasoning_ended(&tag, at),
            None => self.pass(source.len()),
        }
        self.message.mode = Mode::Text;
        Ok(())
    }

    /// Whether an offset lies in a fence of tildes; those are looked for only where it matters.
    pub(crate) fn in_tilde_fence(&mut self, at: usize) -> bool {
        let source = self.source;
        let mut tildes = self.message.tildes;
        let window = source.bytes().get(tildes.to..at).unwrap_or_default();
        let mut skip_to = 0;
        let window = if memchr::memchr(b'~', window).is_some() { window } else { &[] };
        for offset in memchr::memmem::find_iter(window, b"~~~") {
            let found = tildes.to + offset;
            if found >= skip_to && source.begins_line(found) {
                tildes.open = !tildes.open;
            }
            skip_to = found + 4;
        }
        tildes.to = tildes.to.max(at);
        self.message.tildes = tildes;
        tildes.open
    }
}

/// Whether only blanks and the marks of a quote, as in `> `, stand between the start of the line and this offset.
fn begins_quoted_line(source: Source<'_>, at: usize) -> bool {
    let before = source.slice(0, at).trim_end_matches(|next| next != '\n' && (is_blank(next) || next == '>'));
    before.is_empty() || before.ends_with('\n')
}
