//! Close tags in a message: those of reasoning, those behind a call, and those whose opener is missing.

use super::{Output, Reader};
use crate::artifact_xml::names::Names;
use crate::artifact_xml::tag::{Tag, TagKind, tag_at};
use crate::marks::is_think_tag;
use crate::scan::Reads;

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
            let end = if self.source.begins_line(at) { self.only_closers_follow(at)? } else { None };
            if let Some(end) = end {
                self.skip(end);
            }
            return Ok(end.is_some());
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

    /// The end of close tags without openers, if the message ends with nothing but such tags from here on.
    fn only_closers_follow(&self, at: usize) -> Reads<Option<usize>> {
        let before = self.source.slice(0, at);
        let mut at = at;
        for _ in 0..MAX_LONE_CLOSERS {
            let Some(tag) = tag_at(self.source, at)?.filter(|tag| tag.kind == TagKind::Close && !tag.cut)
            else {
                return Ok(None);
            };
            let ours = self.names.wrapper(tag.name).is_some()
                || Names::is_named_element(tag.name)
                || Names::is_parameter_element(tag.name);
            if !ours {
                return Ok(None);
            }
            if self.only_ends_follow(tag.end)? {
                let opened = memchr::memmem::find(before.as_bytes(), tag.name.as_bytes()).is_some();
                return Ok((!opened).then_some(tag.end));
            }
            at = self.source.skip_blanks(tag.end);
        }
        Ok(None)
    }
}
