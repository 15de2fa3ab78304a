//! Close tags in a message: those of reasoning, those behind a call, and those whose opener is missing.

use super::minimax::SPACE;
use super::{Output, Reader};
use crate::artifact_xml::names::Names;
use crate::artifact_xml::tag::{Tag, TagKind, tag_at};
use crate::marks::is_think_tag;
use crate::scan::Reads;
use crate::tokens::{Meaning, token_at};

/// Close tags in a row that are looked at as one end of a message, at most.
const MAX_LONE_CLOSERS: usize = 8;

impl<'a, O: Output> Reader<'a, '_, '_, O> {
    /// A close tag: whether it is more than text.
    pub(super) fn close_tag(&mut self, tag: &Tag<'a>, at: usize) -> Reads<bool> {
        if is_think_tag(tag.name) && !tag.cut {
            self.reasoning_ended(tag, at);
            return Ok(true);
        }
        if self.message.answer_open && tag.name == "answer" && !tag.cut && self.only_ends_follow(tag.end)? {
            self.skip(tag.end);
            return Ok(true);
        }
        if !self.output.has_outcomes() {
            return self.lone_closers(at);
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

    /// Close tags and closing marks without openers that end the message: they are no text.
    pub(super) fn lone_closers(&mut self, at: usize) -> Reads<bool> {
        if self.is_mention(at) {
            return Ok(false);
        }
        let before = self.source.slice(0, at);
        let mut next = at;
        for _ in 0..MAX_LONE_CLOSERS {
            let Some(closer) = self.closer_at(next)? else { return Ok(false) };
            if self.only_ends_follow(closer.end)? {
                let opened = match closer.name {
                    Some(name) => memchr::memmem::find(before.as_bytes(), name.as_bytes()).is_some(),
                    None => self.opens_call_before(at)?,
                };
                if !opened {
                    self.skip(closer.end);
                }
                return Ok(!opened);
            }
            next = self.source.skip_blanks(closer.end);
        }
        Ok(false)
    }

    /// A close tag or a closing mark of calls.
    fn closer_at(&self, at: usize) -> Reads<Option<Closer<'a>>> {
        if let Some(token) = token_at(self.source, at)?.filter(|token| !token.cut) {
            let closes = matches!(token.meaning, Meaning::CallClose | Meaning::SectionClose);
            return Ok(closes.then_some(Closer { name: None, end: token.end }));
        }
        let spaced = self.source.byte(at) == Some(b']') && self.source.has_word(at, SPACE)?;
        let at = if spaced { at + SPACE.len() } else { at };
        self.source.ends_at(at)?;
        let tag = tag_at(self.source, at)?.filter(|tag| tag.kind == TagKind::Close && !tag.cut);
        let ours = |tag: &Tag<'_>| {
            self.names.wrapper(tag.name).is_some()
                || Names::is_named_element(tag.name)
                || Names::is_parameter_element(tag.name)
        };
        Ok(tag.filter(ours).map(|tag| Closer { name: Some(tag.name), end: tag.end }))
    }

    /// Whether a mark that opens calls stands anywhere before an offset.
    fn opens_call_before(&self, at: usize) -> Reads<bool> {
        let before = self.source.bytes().get(..at).unwrap_or_default();
        for found in memchr::memchr2_iter(b'<', b'[', before) {
            let token = token_at(self.source, found)?;
            if token.is_some_and(|token| matches!(token.meaning, Meaning::CallOpen(_) | Meaning::SectionOpen))
            {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// What ends calls, by the name of its tag if it is one.
struct Closer<'a> {
    name: Option<&'a str>,
    end: usize,
}
