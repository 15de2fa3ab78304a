//! Special tokens in a message: what they open, and when they are only mentioned.

use super::{Mode, Output, Reader};
use crate::Dialect;
use crate::artifact_xml::call::Block;
use crate::artifact_xml::tag::skip_filling;
use crate::envelope::{self, Envelope};
use crate::literal::python;
use crate::scan::Reads;
use crate::tokens::{Meaning, Part, Thinking, Token, token_at};

/// Longest name of a call before its mark, in bytes.
const MAX_HEAD: usize = 200;

impl<'a, O: Output> Reader<'a, '_, '_, O> {
    /// A token at this offset, if one stands there and is more than a mention.
    pub(crate) fn token(&mut self, at: usize) -> Reads<bool> {
        let Some(token) = token_at(self.source, at)? else { return Ok(false) };
        if token.cut {
            // Half a mark behind a call belongs to it.
            let drops = self.message.after_call;
            if drops {
                self.skip(token.end);
            }
            return Ok(drops);
        }
        match token.meaning {
            Meaning::SectionOpen => self.section_open(token, at),
            Meaning::CallOpen(form) => self.call_open(token, form, at),
            Meaning::CallClose | Meaning::SectionClose | Meaning::Separator | Meaning::Filler => {
                self.lone_mark(token, at)
            }
            Meaning::ThinkOpen(thinking) => self.think_open(token, thinking, at),
            Meaning::ThinkClose(_) => {
                if self.is_mention(at) {
                    return Ok(false);
                }
                self.output.all_was_reasoning(at);
                self.move_to(at);
                self.output.think_mark(at, token.end);
                self.message.after_call = false;
                self.skip(token.end);
                Ok(true)
            }
            Meaning::Frame => {
                if self.is_mention(at) {
                    return Ok(false);
                }
                self.skip(token.end);
                Ok(true)
            }
            Meaning::Answer => {
                if self.output.has_outcomes() && !self.is_mention(at) {
                    self.message.mode = Mode::Ended;
                    return Ok(true);
                }
                Ok(false)
            }
            Meaning::Channel(part) => self.channel_part(part, token, at),
        }
    }

    /// Whether a mark stands in the middle of prose: a blank before it on its line, and text behind it.
    pub(crate) fn is_mention(&self, at: usize) -> bool {
        if self.message.after_call || self.source.begins_line(at) {
            return false;
        }
        self.source.slice(0, at).ends_with([' ', '`', '"', '\'', '(', '“'])
    }

    fn section_open(&mut self, token: Token, at: usize) -> Reads<bool> {
        let source = self.source;
        let next = skip_filling(source, token.end)?;
        if !source.ends_at(next)?
            && let Some(inner) = token_at(source, next)?
            && !inner.cut
        {
            return Ok(match inner.meaning {
                Meaning::CallOpen(_) => {
                    self.skip(next);
                    self.message.after_call = true;
                    true
                }
                // Nothing between the marks.
                Meaning::SectionClose => {
                    self.skip(inner.end);
                    true
                }
                _ => false,
            });
        }
        self.call_open(token, Dialect::DeepseekV31, at)
    }

    fn call_open(&mut self, token: Token, form: Dialect, at: usize) -> Reads<bool> {
        if self.in_tilde_fence(at) {
            return Ok(false);
        }
        let next = skip_filling(self.source, token.end)?;
        if self.source.ends_at(next)? {
            if self.is_mention(at) {
                return Ok(false);
            }
        } else if !envelope::begins(self.source, self.names, next)? && !self.tags_begin(next)? {
            if form == Dialect::Llama3Json {
                return self.python_source(token, at);
            }
            let enclosed =
                self.is_enclosed(token.end)? && (self.source.begins_line(at) || self.message.after_call);
            if !enclosed && (self.is_mention(at) || !envelope::ends_in_name(self.source, next)?) {
                return Ok(false);
            }
        }
        let block = self.envelope_behind(token, form, at)?;
        self.take(block);
        Ok(true)
    }

    fn envelope_behind(&mut self, token: Token, form: Dialect, at: usize) -> Reads<Block> {
        let form = self.family(form, token.end)?;
        Envelope::new(self.source, self.names, &mut self.message.ends, at, form).read(token.end)
    }

    /// The calls behind a mark inside of a fence that may be the whole message; an empty block where the mark itself says nothing.
    pub(super) fn token_in_fence(
        &mut self,
        token: Token,
        at: usize,
        calls_before: bool,
    ) -> Reads<Option<Block>> {
        let source = self.source;
        let mark = Block { end: token.end, outcomes: Vec::new(), form: Dialect::Llama3Json };
        if token.cut {
            return Ok(None);
        }
        let form = match token.meaning {
            Meaning::CallOpen(form) => form,
            Meaning::SectionOpen => {
                let next = skip_filling(source, token.end)?;
                let inner = if source.ends_at(next)? { None } else { token_at(source, next)? };
                if inner.is_some_and(|inner| matches!(inner.meaning, Meaning::CallOpen(_))) {
                    return Ok(Some(mark));
                }
                Dialect::DeepseekV31
            }
            Meaning::CallClose | Meaning::SectionClose | Meaning::Filler if calls_before => {
                return Ok(Some(mark));
            }
            _ => return Ok(None),
        };
        let next = skip_filling(source, token.end)?;
        if source.ends_at(next)? || !envelope::begins(source, self.names, next)? && !self.tags_begin(next)? {
            return Ok(None);
        }
        self.envelope_behind(token, form, at).map(Some)
    }

    /// Whether tags that carry a call stand here.
    fn tags_begin(&self, at: usize) -> Reads<bool> {
        use crate::artifact_xml::names::Names;
        use crate::artifact_xml::tag::{TagKind, tag_at};
        Ok(tag_at(self.source, at)?.is_some_and(|tag| {
            tag.kind != TagKind::Close
                && !tag.cut
                && (Names::is_named_element(tag.name)
                    || Names::is_name_tag(tag.name)
                    || self.names.wrapper(tag.name).is_some())
        }))
    }

    /// Whether a mark that ends calls follows before another one opens.
    fn is_enclosed(&self, from: usize) -> Reads<bool> {
        let source = self.source;
        let mut at = from;
        loop {
            let rest = source.bytes().get(at..).unwrap_or_default();
            let Some(offset) = memchr::memchr2(b'<', b'[', rest) else {
                source.ends_at(source.len())?;
                return Ok(false);
            };
            let found = at + offset;
            if let Some(token) = token_at(source, found)? {
                match token.meaning {
                    Meaning::CallClose | Meaning::SectionClose => return Ok(!token.cut),
                    Meaning::CallOpen(_) | Meaning::SectionOpen => return Ok(false),
                    _ => {}
                }
            }
            at = found + 1;
        }
    }

    /// Which dialect of a family of tokens is written: the first that its body shows.
    fn family(&self, form: Dialect, from: usize) -> Reads<Dialect> {
        let source = self.source;
        let first = skip_filling(source, from)?;
        let bracket_list = source.byte(first) == Some(b'[');
        Ok(match form {
            Dialect::Mistral if !matches!(source.byte(first), Some(b'[' | b'{')) => Dialect::MistralV11,
            Dialect::DeepseekV31 => self.named_by_mark(first)?,
            Dialect::Llama3Json if !bracket_list && python::begins_call(source, first)?.is_some() => {
                Dialect::Llama3Builtin
            }
            other => other,
        })
    }

    /// The dialect whose mark stands behind the name of a call that begins at this offset.
    fn named_by_mark(&self, first: usize) -> Reads<Dialect> {
        let source = self.source;
        let window = source.bytes().get(first..source.len().min(first + MAX_HEAD)).unwrap_or_default();
        let Some(length) = memchr::memchr(b'<', window) else {
            if window.len() < MAX_HEAD {
                source.ends_at(source.len())?;
            }
            return Ok(Dialect::DeepseekV31);
        };
        let mark = token_at(source, first + length)?;
        let arguments = mark.is_some_and(|mark| source.slice(first + length, mark.end).contains("argument"));
        Ok(match source.slice(first, first + length) {
            "function" => Dialect::DeepseekV3,
            name if arguments && name.starts_with(char::is_alphanumeric) => Dialect::KimiK2,
            _ => Dialect::DeepseekV31,
        })
    }

    /// Raw code behind `<|python_tag|>`, for a tool that takes nothing but code.
    fn python_source(&mut self, token: Token, at: usize) -> Reads<bool> {
        let Some((tool, _)) =
            self.names.tools.resolve("python").or_else(|| self.names.tools.resolve("code_interpreter"))
        else {
            return Ok(false);
        };
        let Some(parameter) = tool.only_parameter() else { return Ok(false) };
        let source = self.source;
        source.ends_at(source.len())?;
        let mut draft = crate::draft::Draft::new(at);
        draft.set_name(tool.declared.name.as_str().into(), self.names);
        let code = source.rest(token.end).trim();
        draft.give_text(parameter.into(), code.into());
        let mut outcomes = Vec::new();
        draft.finish(crate::draft::Ending::Unclosed, source.len(), self.names, &mut outcomes);
        self.take(Block { end: source.len(), outcomes, form: Dialect::Llama3Builtin });
        Ok(true)
    }

    /// A closing mark without its opener, or a mark that says nothing.
    fn lone_mark(&mut self, token: Token, at: usize) -> Reads<bool> {
        let alone = self.source.begins_line(at) && self.ends_line(token.end)?;
        let drops = self.message.after_call || self.output.has_outcomes() && (alone || !self.is_mention(at));
        if drops {
            self.skip(token.end);
        } else if !self.output.has_outcomes()
            && matches!(token.meaning, Meaning::CallClose | Meaning::SectionClose)
        {
            return self.lone_closers(at);
        }
        Ok(drops)
    }

    fn think_open(&mut self, token: Token, thinking: Thinking, at: usize) -> Reads<bool> {
        if self.is_mention(at) {
            return Ok(false);
        }
        let mut from = token.end;
        if thinking == Thinking::Gemma {
            let next = self.source.skip_blanks(from);
            if !self.source.has_word(next, "thought")? {
                return Ok(false);
            }
            from = next + "thought".len();
        }
        self.output.think_mark(at, from);
        self.skip(from);
        self.message.mode = Mode::Thinking(thinking);
        Ok(true)
    }

    /// Whether a mark behind a quote ends a message all the same: the text ends behind it, or another mark follows.
    fn ends_message(&self, part: Part, from: usize) -> Reads<bool> {
        if part != Part::End || !self.message.in_channels {
            return Ok(false);
        }
        let next = self.source.skip_blanks(from);
        Ok(self.source.ends_at(next)? || token_at(self.source, next)?.is_some())
    }

    /// A message part of a dialect in channels.
    fn channel_part(&mut self, part: Part, token: Token, at: usize) -> Reads<bool> {
        match part {
            Part::Start => self.message_start(token, at),
            Part::Channel | Part::Message => self.harmony(at),
            Part::Open => self.kimi_open(token, at),
            Part::Close => self.kimi_close(token),
            Part::Model => self.inkling(token, at),
            Part::MessageSeparator => self.gigachat(token, at),
            Part::ContentThinking | Part::ContentText if self.begins_message() => {
                self.inkling_content(part, token.end, at);
                Ok(true)
            }
            Part::Constrain
            | Part::End
            | Part::Separator
            | Part::InvokeJson
            | Part::ContentThinking
            | Part::ContentText
            | Part::RoleSeparator => {
                let known = self.message.in_channels || self.output.has_outcomes();
                if known && (!self.is_mention(at) || self.ends_message(part, token.end)?) {
                    self.skip(token.end);
                    return Ok(true);
                }
                Ok(false)
            }
        }
    }
}
