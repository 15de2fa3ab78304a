//! A whole message: what in it is text, reasoning, quoted code, a call, or invented by the model.
//!
//! Calls are looked for only at brackets and at the message's start; everything else is passed on as text at once. Where
//! the text so far does not decide, reading stops at that place and starts there again when more has come.

mod channels;
mod closing;
mod kimi;
mod markerless;
mod minimax;
mod opening;
mod quoted;
mod react;
mod search;
mod shown;
mod tokens;

use quoted::{Fence, Tildes};
use search::{Search, next_thinking_mark};

use crate::artifact_xml::names::Names;
use crate::artifact_xml::section::SectionEnds;
use crate::artifact_xml::tag::{Tag, TagKind, skip_filling, tag_at};
use crate::draft::Outcome;
use crate::marks::{Mark, invents_answer, is_think_tag, mark_at};
use crate::scan::{NeedMore, Reads, Source, is_blank};
use crate::tokens::{Meaning, Part, Thinking, token_at};
use crate::{Dialect, Span};

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
    /// A mark that is neither text nor call.
    fn mark(&mut self, from: usize, to: usize);
    /// What does not count.
    fn dropped(&mut self, from: usize, to: usize);
    /// The dialect that an attempt shows, and by which text.
    fn shows(&mut self, form: Dialect, evidence: Span);
    /// Whether any attempt was found so far.
    fn has_outcomes(&self) -> bool;
    /// Whether visible text other than blanks was found so far.
    fn has_text(&self) -> bool;
}

/// The state of reading one message.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) at: usize,
    pub(crate) mode: Mode,
    /// Whether text just before is a call, with nothing but blanks between.
    pub(crate) after_call: bool,
    pub(crate) ends: SectionEnds,
    pub(crate) tildes: Tildes,
    /// The message is in channels: its marks are no text.
    pub(crate) in_channels: bool,
    /// The message names recipients behind `>>>`.
    pub(crate) recipients: bool,
    /// The next places of interest, each found once for all looks before it.
    next_opening: Search,
    next_label: Search,
    next_recipient: Search,
    /// Values on a line of their own that could not be read.
    pub(crate) unread_lines: usize,
    /// The last fence up to which a row of fences is known to be none that ends the message.
    pub(crate) unfit_fence: Option<usize>,
    /// Reasoning was read and ended.
    pub(crate) thought: bool,
    /// The answer stands in an element of its own.
    pub(crate) answer_open: bool,
    /// The dialect that the tags which follow belong to.
    pub(crate) tag_form: Option<Dialect>,
}

/// What could be a call and is not decided yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Held {
    /// In tags or marks, or behind a mark: only its closing mark decides.
    Block,
    /// A list of calls, or calls behind a mark in square brackets.
    List,
    /// A call in JSON.
    Object,
    /// A fence with calls in it.
    Fence,
    /// The input of an action.
    Input,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Text,
    /// Inside of reasoning.
    Thinking(Thinking),
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
            in_channels: false,
            recipients: false,
            next_opening: Search::default(),
            next_label: Search::default(),
            next_recipient: Search::default(),
            unread_lines: 0,
            unfit_fence: None,
            thought: false,
            answer_open: false,
            tag_form: None,
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

    /// What is held, by how it begins.
    pub(crate) fn held(&self, source: Source<'_>) -> Held {
        if self.mode != Mode::Text {
            return Held::Other;
        }
        let bytes = source.bytes().get(self.at..).unwrap_or_default();
        match bytes {
            [b'<' | b']' | 0xEF, ..] => Held::Block,
            [b'[', ..] => Held::List,
            [b'{', ..] => Held::Object,
            [b'`', ..] => Held::Fence,
            _ if bytes.starts_with(b"functools") => {
                match source.byte(source.skip_blanks(self.at + "functools".len())) {
                    Some(b'{') => Held::Object,
                    Some(b'`') => Held::Fence,
                    Some(_) | None => Held::List,
                }
            }
            _ if bytes.starts_with(b">>>") => Held::Object,
            _ if bytes.starts_with(b"Action") => Held::Input,
            _ => Held::Other,
        }
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
                    Mode::Thinking(thinking) => reader.thinking(thinking)?,
                    Mode::Fence(fence) => reader.fence(fence)?,
                    Mode::Ended => {
                        reader.output.dropped(reader.message.at, source.len());
                        reader.message.at = source.len();
                    }
                }
            }
            match reader.message.mode {
                Mode::Fence(fence) if source.is_complete() => reader.unclosed_fence(fence)?,
                Mode::Text | Mode::Thinking(_) | Mode::Fence(_) | Mode::Ended => return Ok(()),
            }
        }
    }
}

pub(crate) struct Reader<'a, 'n, 'm, O> {
    pub(crate) source: Source<'a>,
    pub(crate) names: &'n Names,
    pub(crate) output: &'m mut O,
    pub(crate) message: &'m mut Message,
}

impl<'a, O: Output> Reader<'a, '_, '_, O> {
    /// Passes text on up to an offset.
    pub(crate) fn pass(&mut self, to: usize) {
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
    pub(crate) fn skip(&mut self, to: usize) {
        self.output.mark(self.message.at, to);
        self.move_to(to);
    }

    /// Goes on at an offset; what stands before it is accounted for.
    pub(crate) fn move_to(&mut self, to: usize) {
        self.message.at = to;
        self.message.tildes.to = self.message.tildes.to.max(to);
    }

    pub(crate) fn begins_message(&self) -> bool {
        !self.output.has_outcomes() && !self.output.has_text()
    }

    fn text(&mut self) -> Reads<()> {
        if self.message.after_call && self.comment_between()? {
            return Ok(());
        }
        if self.begins_message() {
            let first = self.skip_blanks_at_start();
            self.message.at = first;
            if self.begin(first)? {
                return Ok(());
            }
        } else if self.message.after_call && (self.spare_brackets() || self.json_goes_on()?) {
            return Ok(());
        }
        let stop = if self.output.has_outcomes() { self.invented_line()? } else { None };
        let from = self.message.at;
        let found = self.message.next_mark(self.source, from);
        match found.filter(|found| stop.is_none_or(|stop| *found < stop)) {
            Some(found) => self.mark(found),
            None => match stop {
                Some(stop) => {
                    self.pass(stop);
                    self.message.mode = Mode::Ended;
                    Ok(())
                }
                None if self.source.is_complete() => {
                    self.pass(self.source.len());
                    Ok(())
                }
                None => {
                    self.pass(markerless::held_from(self.source, from, self.message.recipients));
                    markerless::undecided(self.source, self.message.at)
                }
            },
        }
    }

    /// Looks for what only the start of a message can be.
    fn begin(&mut self, first: usize) -> Reads<bool> {
        Ok(match self.source.byte(first) {
            None => true,
            Some(b'[') if self.literal_calls(first)? => true,
            Some(b'{' | b'[') if self.bare_json(first)? => true,
            Some(b'`') if self.json_fences(first)? => true,
            Some(b'`' | b'~') if self.fence_as_call(first)? => true,
            Some(b'~') => self.open_fence(first)?,
            Some(b'`' | b'<' | b'{' | b'[') => false,
            Some(_) => self.recipient_line(first)? || self.literal_calls(first)?,
        })
    }

    fn skip_blanks_at_start(&self) -> usize {
        self.source.skip_blanks(self.message.at)
    }

    fn mark(&mut self, at: usize) -> Reads<()> {
        let taken = match self.source.byte(at) {
            Some(b'`') => {
                self.pass(at);
                return self.backticks(at);
            }
            Some(b'[') => {
                self.pass(at);
                self.token(at)? || self.last_line(at)?
            }
            Some(b'{') => {
                self.pass(at);
                self.last_line(at)?
            }
            Some(b']') => {
                self.pass(at);
                self.minimax(at)?
            }
            Some(b'>') => {
                self.pass(at);
                self.recipient(at)?
            }
            Some(b'f') => {
                self.pass(at);
                let block = self.functools(at)?;
                let found = block.is_some();
                block.into_iter().for_each(|block| self.take(block));
                found
            }
            Some(b'a' | b'A' | b'*') => {
                self.pass(at);
                self.action(at)?
            }
            _ => return self.bracket(at),
        };
        if !taken {
            let width = match self.source.byte(at) {
                Some(b'f') => "functools".len(),
                // What follows the label is looked at as text.
                Some(b'a' | b'A' | b'*') => {
                    self.source.rest(at).find([':', '：']).map_or(1, |length| length + 1)
                }
                _ => 1,
            };
            let end =
                self.source.rest(at).char_indices().map(|(offset, _)| offset).find(|offset| *offset >= width);
            self.pass(end.map_or(self.source.len(), |offset| at + offset));
        }
        Ok(())
    }

    pub(crate) fn reasoning_ended(&mut self, tag: &Tag<'_>, at: usize) {
        self.output.all_was_reasoning(at);
        self.move_to(at);
        self.output.think_mark(at, tag.end);
        self.message.after_call = false;
        self.message.thought = true;
        self.message.mode = Mode::Text;
        self.skip(tag.end);
    }

    fn thinking(&mut self, thinking: Thinking) -> Reads<()> {
        let from = self.message.at;
        let source = self.source;
        let mut at = from;
        while let Some(found) = next_thinking_mark(source, at, thinking) {
            let end = match self.ends_thinking(found, thinking) {
                Ok(end) => end,
                Err(NeedMore) => {
                    self.output.reasoning(from, found);
                    self.move_to(found);
                    return Err(NeedMore);
                }
            };
            if let Some(end) = end {
                self.output.reasoning(from, found);
                self.move_to(found);
                if end > found {
                    self.output.think_mark(found, end);
                }
                self.skip(end);
                self.message.mode = Mode::Text;
                self.message.thought = true;
                return Ok(());
            }
            at = found + source.char_at(found).map_or(1, char::len_utf8);
        }
        self.output.reasoning(from, source.len());
        self.move_to(source.len());
        Ok(())
    }

    /// The offset behind the mark that ends reasoning of this kind; the mark's own offset where it begins something else.
    fn ends_thinking(&self, at: usize, thinking: Thinking) -> Reads<Option<usize>> {
        let source = self.source;
        if thinking == Thinking::Tag {
            let tag = tag_at(source, at)?;
            return Ok(tag
                .filter(|tag| tag.kind == TagKind::Close && is_think_tag(tag.name))
                .map(|tag| tag.end));
        }
        let Some(token) = token_at(source, at)?.filter(|token| !token.cut) else { return Ok(None) };
        Ok(match (token.meaning, thinking) {
            (Meaning::ThinkClose(closed), _) if closed == thinking => Some(token.end),
            (Meaning::Channel(Part::End), Thinking::Message) => Some(token.end),
            (
                Meaning::Channel(Part::Start | Part::Channel | Part::Model | Part::MessageSeparator),
                Thinking::Message,
            ) => Some(at),
            (Meaning::Channel(Part::Close), Thinking::Kimi) => kimi::thought_end(source, token.end)?,
            _ => None,
        })
    }

    /// A `<` or `＜` of the text.
    fn bracket(&mut self, at: usize) -> Reads<()> {
        let source = self.source;
        let header = self.recipient_of_message(at)?;
        self.pass(header.unwrap_or(at));
        if let Some(header) = header {
            if self.harmony(header)? {
                return Ok(());
            }
            self.pass(at);
        }
        match source.byte(at + 1) {
            Some(b'|' | b'/' | 0xEF | b's' | b'e' | b't' | b'S' | b'E' | b'T') if self.token(at)? => {
                return Ok(());
            }
            Some(b']') if self.minimax(at)? => return Ok(()),
            _ => {}
        }
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
        // A token that is only mentioned is no tag either.
        let mentioned = token_at(source, at)?.is_some_and(|token| !token.cut);
        let Some(tag) = tag_at(source, at)?.filter(|_| !mentioned) else {
            // A bracket alone that ends the text behind a call would have become a mark of it.
            if self.message.after_call && at + width == source.len() && source.ends_at(at + width)? {
                self.skip(at + width);
            } else {
                self.pass(at + width);
            }
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

    /// Comments right behind a call or inside of its wrapper, where the text ends or another tag follows.
    fn comment_between(&mut self) -> Reads<bool> {
        let source = self.source;
        let first = source.skip_blanks(self.message.at);
        if source.byte(first) != Some(b'<') || source.byte(first + 1).is_some_and(|next| next != b'!') {
            return Ok(false);
        }
        let next = skip_filling(source, first)?;
        let between =
            next > first && (source.ends_at(next)? || matches!(source.byte(next), Some(b'<' | b'[' | b']')));
        if between {
            self.skip(next);
        }
        Ok(between)
    }

    /// Where the header `to=N` before a `<|message|>` or `<|channel|>` at this offset begins.
    fn recipient_of_message(&self, at: usize) -> Reads<Option<usize>> {
        let rest = self.source.rest(at);
        if !(rest.starts_with("<|m") || rest.starts_with("<|c") || "<|".starts_with(rest))
            || channels::recipient_before(self.source, self.message.at, at).is_none()
        {
            return Ok(None);
        }
        let token = token_at(self.source, at)?;
        let is_message = token.is_some_and(|token| {
            !token.cut && matches!(token.meaning, Meaning::Channel(Part::Message | Part::Channel))
        });
        Ok(if is_message { channels::recipient_before(self.source, self.message.at, at) } else { None })
    }

    /// The end of the model's turn; only blanks and other ends may follow, else it is text, but for a mark right behind a call. Behind it,
    /// a turn that begins is invented.
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
            Mark::Begun | Mark::Nothing if self.message.after_call => self.skip(at + length),
            Mark::Begun | Mark::Nothing => self.pass(at + length),
        }
        Ok(())
    }

    pub(crate) fn ends_line(&self, at: usize) -> Reads<bool> {
        let rest = self.source.rest(at);
        let after = at + (rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\0']).len());
        self.line_ends_at(after)
    }

    /// Whether a line ends exactly here: by a break, by the end of the text, or by a mark of its end.
    pub(crate) fn line_ends_at(&self, at: usize) -> Reads<bool> {
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
    pub(crate) fn only_ends_follow(&self, at: usize) -> Reads<bool> {
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
    fn invented_line(&mut self) -> Reads<Option<usize>> {
        let source = self.source;
        let from = self.message.at;
        let until = self.message.next_mark(source, from).unwrap_or(source.len());
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
