//! A whole message: what in it is text, reasoning, quoted code, a call, or invented by the model.
//!
//! Calls are looked for only at brackets and at the message's start; everything else is passed on as text at once. Where
//! the text so far does not decide, reading stops at that place and starts there again when more has come.

use super::call::{Block, CallReader, Style};
use super::draft::Outcome;
use super::names::{Names, Wrapper};
use super::tag::{Tag, TagKind, skip_filling, tag_at};
use super::value::{SectionEnds, next_bracket};
use crate::call_json;
use crate::marks::{Mark, invents_answer, is_result_tag, is_think_tag, mark_at};
use crate::scan::{NeedMore, Reads, Source, is_blank};
use crate::{MalformedCall, Repair, Span};

/// Longest line in which the end of inline code is looked for, in bytes.
const MAX_INLINE_CODE: usize = 4096;

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
    at: usize,
    mode: Mode,
    /// Whether text just before is a call, with nothing but blanks between.
    after_call: bool,
    ends: SectionEnds,
    tildes: Tildes,
}

/// Fences of tildes, followed up to an offset.
#[derive(Debug, Default, Clone, Copy)]
struct Tildes {
    to: usize,
    open: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Text,
    /// Inside of `<think>`.
    Thinking,
    /// Inside of a quoted fence.
    Fence(Fence),
    /// Behind what the model invented: nothing counts any more.
    Ended,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fence {
    mark: u8,
    length: usize,
    start: usize,
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

struct Reader<'a, 'n, 'm, O> {
    source: Source<'a>,
    names: &'n Names,
    output: &'m mut O,
    message: &'m mut Message,
}

impl<'a, O: Output> Reader<'a, '_, '_, O> {
    /// Passes text on up to an offset.
    fn pass(&mut self, to: usize) {
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
    fn skip(&mut self, to: usize) {
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

    /// Inline code or a fence.
    fn backticks(&mut self, at: usize) -> Reads<()> {
        let length = self.run_length(at, b'`')?;
        if length >= 3 && self.source.begins_line(at) {
            let rest = self.source.rest(at + length);
            let line = rest.find('\n').unwrap_or(rest.len());
            if line == rest.len() {
                self.source.ends_at(self.source.len())?;
            }
            // A closing mark on the same line makes it inline code.
            if !rest.get(..line).unwrap_or_default().contains('`') {
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

    fn run_length(&self, at: usize, mark: u8) -> Reads<usize> {
        let rest = self.source.bytes().get(at..).unwrap_or_default();
        let length = rest.iter().take_while(|byte| **byte == mark).count();
        self.source.ends_at(at + length)?;
        Ok(length)
    }

    fn open_fence(&mut self, at: usize) -> Reads<bool> {
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
    fn fence(&mut self, fence: Fence) -> Reads<()> {
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
                self.skip(end);
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
    fn fence_end(&self, line: usize, fence: Fence) -> Reads<Option<usize>> {
        let source = self.source;
        let mut at = line;
        while matches!(source.byte(at), Some(b' ' | b'\t')) {
            at += 1;
        }
        if source.ends_at(at)? || source.byte(at) != Some(fence.mark) {
            return Ok(None);
        }
        let run = self.run_length(at, fence.mark)?;
        let rest = source.rest(at + run);
        let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\r']).len();
        let after = at + run + blank;
        let closes = run >= fence.length && self.line_ends_at(after)?;
        Ok(closes.then_some(at + run))
    }

    /// A fence without end. If reasoning ends inside of it, it was part of the reasoning.
    fn unclosed_fence(&mut self, fence: Fence) -> Reads<()> {
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

    fn reasoning_ended(&mut self, tag: &Tag<'_>, at: usize) {
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

    fn ends_line(&self, at: usize) -> Reads<bool> {
        let rest = self.source.rest(at);
        let after = at + (rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\0']).len());
        self.line_ends_at(after)
    }

    /// Whether a line ends exactly here: by a break, by the end of the text, or by a mark of its end.
    fn line_ends_at(&self, at: usize) -> Reads<bool> {
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
    fn only_ends_follow(&self, at: usize) -> Reads<bool> {
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

    fn open_tag(&mut self, tag: &Tag<'a>, at: usize) -> Reads<bool> {
        if is_think_tag(tag.name)
            && tag.kind == TagKind::Open
            && !tag.cut
            && self.names.tools.resolve(tag.name).is_none()
        {
            self.output.think_mark(at, tag.end);
            self.skip(tag.end);
            self.message.mode = Mode::Thinking;
            return Ok(true);
        }
        if let Some(wrapper) = self.names.wrapper(tag.name) {
            return self.wrapper(tag, wrapper, at);
        }
        if tag.cut {
            return Ok(false);
        }
        if self.output.has_outcomes() && is_result_tag(tag.name) {
            self.message.mode = Mode::Ended;
            return Ok(true);
        }
        let block = if Names::is_name_tag(tag.name) {
            self.named_without_wrapper(tag, at)?
        } else {
            self.tool_as_tag(tag, at)?
        };
        Ok(match block {
            Some(block) => {
                self.take(block);
                true
            }
            None => false,
        })
    }

    fn take(&mut self, block: Block) {
        self.skip(block.end);
        self.message.after_call = true;
        for outcome in block.outcomes {
            if !self.output.outcome(outcome) {
                self.message.mode = Mode::Ended;
                return;
            }
        }
    }

    fn calls(&mut self, start: usize, style: Style) -> CallReader<'a, '_, '_> {
        CallReader::new(self.source, self.names, &mut self.message.ends, start, style)
    }

    /// An open tag of a wrapper: a call, or only a mention of the tag.
    fn wrapper(&mut self, tag: &Tag<'a>, wrapper: Wrapper, at: usize) -> Reads<bool> {
        if self.in_tilde_fence(at) {
            return Ok(false);
        }
        let begins_line = self.source.begins_line(at) || self.message.after_call;
        if tag.cut {
            return Ok(false);
        }
        let next = skip_filling(self.source, tag.end)?;
        let carries_name = tag.equals.is_some() || !tag.attributes.is_empty();
        if self.source.ends_at(next)? {
            if !begins_line && !carries_name {
                return Ok(false);
            }
        } else {
            let begins_call = match self.source.byte(next) {
                Some(b'{' | b'[') => true,
                Some(b'`') => self.source.has_word(next, "```")?,
                Some(b'<' | 0xEF) => match tag_at(self.source, next)? {
                    Some(inner) if inner.kind == TagKind::Close => begins_line,
                    Some(inner) => {
                        if wrapper == Wrapper::Plural
                            && self.names.wrapper(inner.name) == Some(Wrapper::Single)
                        {
                            // A list round single calls: the mark is dropped, its end too.
                            self.skip(next);
                            self.message.after_call = true;
                            return Ok(true);
                        }
                        true
                    }
                    None => begins_line,
                },
                _ => false,
            };
            if !begins_call && !carries_name && !self.encloses(tag.end, begins_line)? {
                return Ok(false);
            }
        }
        let block = self.calls(at, Style::Wrapped).read_wrapped(tag)?;
        self.take(block);
        Ok(true)
    }

    /// Whether a wrapper whose body begins with text is closed before another one opens. In the middle of a line it is a
    /// mention, whatever follows.
    fn encloses(&self, from: usize, begins_line: bool) -> Reads<bool> {
        if !begins_line {
            return Ok(false);
        }
        let mut at = from;
        while let Some(found) = next_bracket(self.source, at) {
            if let Some(tag) = tag_at(self.source, found)?
                && self.names.wrapper(tag.name).is_some()
            {
                return Ok(tag.kind == TagKind::Close && !tag.cut);
            }
            at = found + self.source.char_at(found).map_or(1, char::len_utf8);
        }
        self.source.ends_at(self.source.len())?;
        Ok(false)
    }

    /// `<name>declared</name>` with parameters behind it, and no wrapper.
    fn named_without_wrapper(&mut self, tag: &Tag<'a>, at: usize) -> Reads<Option<Block>> {
        let source = self.source;
        let (name, after) = match tag.equals {
            Some(name) => (name, tag.end),
            None if tag.kind == TagKind::Open => {
                let Some(end) = next_bracket(source, tag.end) else {
                    source.ends_at(source.len())?;
                    return Ok(None);
                };
                (source.slice(tag.end, end), end)
            }
            None => return Ok(None),
        };
        let Some((tool, _)) = self.names.tools.resolve(name.trim_matches(is_blank)) else { return Ok(None) };
        let mut next = skip_filling(source, after)?;
        if source.ends_at(next)? {
            return Ok(None);
        }
        if let Some(closer) = tag_at(source, next)?.filter(|closer| closer.kind == TagKind::Close) {
            next = skip_filling(source, closer.end)?;
            if source.ends_at(next)? {
                return Ok(None);
            }
        }
        let Some(follower) = tag_at(source, next)?.filter(|tag| tag.kind != TagKind::Close) else {
            return Ok(None);
        };
        if !self.names.is_container(follower.name, Some(tool)) && tool.parameter(follower.name).is_none() {
            return Ok(None);
        }
        if self.in_tilde_fence(at) {
            return Ok(None);
        }
        self.calls(at, Style::Bare).read_from(at).map(Some)
    }

    /// `<declared>` with a container or its parameters inside, and no wrapper.
    fn tool_as_tag(&mut self, tag: &Tag<'a>, at: usize) -> Reads<Option<Block>> {
        let source = self.source;
        let Some((tool, _)) = self.names.tools.resolve(tag.name) else { return Ok(None) };
        if tag.equals.is_some() || self.in_tilde_fence(at) {
            return Ok(None);
        }
        let alone = self.source.begins_line(at) && tool.required.is_empty();
        if tag.kind == TagKind::Empty {
            if !alone || !self.ends_line(tag.end)? {
                return Ok(None);
            }
            return self.calls(at, Style::Bare).read_from(at).map(Some);
        }
        let next = skip_filling(source, tag.end)?;
        if source.ends_at(next)? {
            return Ok(None);
        }
        let Some(follower) = tag_at(source, next)? else { return Ok(None) };
        let fits = match follower.kind {
            TagKind::Close => alone && super::names::same_tag(follower.name, tag.name),
            TagKind::Open | TagKind::Empty => {
                self.names.is_container(follower.name, Some(tool)) || tool.parameter(follower.name).is_some()
            }
        };
        if !fits {
            return Ok(None);
        }
        self.calls(at, Style::Bare).read_from(at).map(Some)
    }

    /// Whether an offset lies in a fence of tildes; those are looked for only where it matters.
    fn in_tilde_fence(&mut self, at: usize) -> bool {
        let source = self.source;
        let mut tildes = self.message.tildes;
        let window = source.bytes().get(tildes.to..at).unwrap_or_default();
        let mut skip_to = 0;
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

    /// Calls in JSON that begin the message, without any marker.
    fn bare_json(&mut self, at: usize) -> Reads<bool> {
        let found = match call_json::value_at(self.source, at)? {
            Ok(found) => found,
            Err(error) => return Ok(error.is_cut() && self.cut_json(at)),
        };
        if !call_json::declared(&found.literal, &self.names.tools) {
            self.pass(at + 1);
            return Ok(true);
        }
        let block = self.calls(at, Style::Bare).read_json(found);
        self.take(block);
        Ok(true)
    }

    /// Another JSON call right behind one.
    fn json_goes_on(&mut self) -> Reads<bool> {
        let source = self.source;
        let mut first = source.skip_blanks(self.message.at);
        if matches!(source.byte(first), Some(b',' | b';')) {
            first = source.skip_blanks(first + 1);
            source.ends_at(first)?;
        }
        if !matches!(source.byte(first), Some(b'{' | b'[')) {
            return Ok(false);
        }
        match call_json::value_at(source, first)? {
            Ok(found) if call_json::declared(&found.literal, &self.names.tools) => {
                let block = self.calls(first, Style::Bare).read_json(found);
                self.take(block);
                Ok(true)
            }
            Ok(_) | Err(_) => {
                self.message.after_call = false;
                Ok(false)
            }
        }
    }

    /// A JSON call that begins the message and was cut off: reported, if it names a declared tool.
    fn cut_json(&mut self, at: usize) -> bool {
        let text = self.source.rest(at);
        let closed = ["", "\"", "null"].iter().find_map(|tail| {
            let closed = call_json::with_brackets_closed(&format!("{text}{tail}"))?;
            call_json::value_at(Source::new(&closed, true), 0)
                .ok()?
                .ok()
                .map(|found| found.literal.into_owned())
        });
        let Some(literal) = closed.filter(|literal| call_json::declared(literal, &self.names.tools)) else {
            return false;
        };
        let name =
            call_json::calls(literal).into_iter().find_map(Result::ok).map(|call| call.name.into_owned());
        let end = self.source.len();
        self.take(Block {
            end,
            outcomes: vec![Err(MalformedCall {
                name,
                reason: "the text ends inside the JSON of the call".to_owned(),
                hint: "Write the whole call again and close every element.".to_owned(),
                span: Span { start: at, end },
            })],
        });
        true
    }

    /// A fence that is the whole message and holds nothing but calls.
    fn fence_as_call(&mut self, at: usize) -> Reads<bool> {
        let source = self.source;
        let Some(mark) = source.byte(at) else { return Ok(false) };
        let length = self.run_length(at, mark)?;
        if length < 3 {
            return Ok(false);
        }
        let rest = source.rest(at + length);
        let Some(line) = rest.find('\n') else {
            source.ends_at(source.len())?;
            return Ok(false);
        };
        let fence = Fence { mark, length, start: at };
        let mut next = skip_filling(source, at + length + line)?;
        let mut outcomes: Vec<Outcome> = Vec::new();
        loop {
            if source.ends_at(next)? {
                break;
            }
            if let Some(end) = self.fence_end(next, fence)? {
                if !self.only_ends_follow(end)? {
                    return Ok(false);
                }
                next = end;
                break;
            }
            let Some(block) = self.block_in_fence(next, &outcomes)? else { return Ok(false) };
            if block.outcomes.iter().any(Result::is_err) {
                return Ok(false);
            }
            next = skip_filling(source, block.end)?;
            outcomes.extend(block.outcomes);
        }
        if outcomes.is_empty() {
            return Ok(false);
        }
        for call in outcomes.iter_mut().flatten() {
            if !call.repairs.contains(&Repair::FenceRemoved) {
                call.repairs.push(Repair::FenceRemoved);
            }
        }
        self.take(Block { end: next, outcomes });
        Ok(true)
    }

    /// The next call inside of a fence.
    fn block_in_fence(&mut self, at: usize, before: &[Outcome]) -> Reads<Option<Block>> {
        let source = self.source;
        if matches!(source.byte(at), Some(b'{' | b'[')) {
            let Ok(found) = call_json::value_at(source, at)? else { return Ok(None) };
            if !call_json::declared(&found.literal, &self.names.tools) {
                return Ok(None);
            }
            return Ok(Some(self.calls(at, Style::Bare).read_json(found)));
        }
        let Some(tag) = tag_at(source, at)? else { return Ok(None) };
        let ours = self.names.wrapper(tag.name).is_some();
        match tag.kind {
            TagKind::Close if ours && !before.is_empty() => {
                Ok(Some(Block { end: tag.end, outcomes: Vec::new() }))
            }
            TagKind::Close => Ok(None),
            TagKind::Open | TagKind::Empty if tag.cut => Ok(None),
            TagKind::Open | TagKind::Empty if ours => {
                if self.names.wrapper(tag.name) == Some(Wrapper::Plural) {
                    let next = skip_filling(source, tag.end)?;
                    let inner = if source.ends_at(next)? { None } else { tag_at(source, next)? };
                    if inner.is_some_and(|inner| self.names.wrapper(inner.name) == Some(Wrapper::Single)) {
                        return Ok(Some(Block { end: tag.end, outcomes: Vec::new() }));
                    }
                }
                self.calls(at, Style::Wrapped).read_wrapped(&tag).map(Some)
            }
            TagKind::Open | TagKind::Empty if Names::is_name_tag(tag.name) => {
                self.named_without_wrapper(&tag, at)
            }
            TagKind::Open | TagKind::Empty => self.tool_as_tag(&tag, at),
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
            Some([b'<', next, ..]) if !may_begin_tag(*next) => {}
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
