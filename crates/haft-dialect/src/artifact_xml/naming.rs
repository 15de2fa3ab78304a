//! How a call comes by its name: in its own element, in a tag, in an attribute, in a wrapper's tag.
//! It must not read parameters; `parameters` does.

use std::borrow::Cow;

use super::call::{CallReader, Next};
use super::names::{Names, same_tag};
use super::tag::{Tag, TagKind, attributes, cdata_at, skip_filling, tag_at};
use super::value::next_bracket;
use crate::draft::{Draft, Ending, Fault};
use crate::scan::{Reads, is_blank};
use crate::{Dialect, Repair};

impl<'a> CallReader<'a, '_, '_> {
    /// Whether an element holds nothing but text.
    pub(crate) fn holds_text(&self, tag: &Tag<'a>) -> Reads<bool> {
        let Some(next) = next_bracket(self.source, tag.end) else {
            self.source.ends_at(self.source.len())?;
            return Ok(false);
        };
        let closer = tag_at(self.source, next)?;
        let closed =
            closer.is_some_and(|closer| closer.kind == TagKind::Close && same_tag(closer.name, tag.name));
        Ok(tag.kind == TagKind::Open && closed && self.source.skip_blanks(tag.end) < next)
    }

    pub(crate) fn is_name_as_tag(&self, tag: &Tag<'a>) -> Reads<bool> {
        if self.names.tools.resolve(tag.name).is_some() {
            return Ok(true);
        }
        let next = skip_filling(self.source, tag.end)?;
        if tag.kind == TagKind::Empty || self.source.ends_at(next)? {
            return Ok(false);
        }
        let next = tag_at(self.source, next)?;
        Ok(next.is_some_and(|next| next.kind != TagKind::Close && self.names.is_container(next.name, None)))
    }

    /// The name and parameters that a wrapper's open tag carries.
    pub(crate) fn open(&mut self, tag: &Tag<'a>) {
        self.last_end = tag.end;
        if let Some(name) = tag.equals {
            self.draft.repair(Repair::TagEquals);
            self.draft.set_name(Cow::Borrowed(name), self.names);
        }
        let mut rest = Vec::new();
        for (key, value) in attributes(tag.attributes) {
            let is_one_of = |keys: &[&str]| keys.iter().any(|known| key.eq_ignore_ascii_case(known));
            if is_one_of(&["name", "tool", "tool_name", "function"]) {
                self.draft.repair(Repair::NameFromAttribute);
                self.draft.named_by_wrapper = true;
                self.draft.set_name(value, self.names);
            } else if is_one_of(&["id", "call_id", "tool_call_id"]) {
                self.draft.id = Some(value.into_owned());
            } else {
                rest.push((key, value));
            }
        }
        for (key, value) in rest {
            if self.names.is_parameter(key, self.draft.tool) {
                self.draft.repair(Repair::ParamsFromAttributes);
                self.draft.give_text(Cow::Borrowed(key), value);
            }
        }
    }

    pub(crate) fn name(&mut self, tag: &Tag<'a>, at: usize) -> Reads<Next> {
        if let Some(name) = tag.equals {
            let next = self.after_equals(tag)?;
            self.draft_for_next_name(name, at);
            self.draft.repair(Repair::TagEquals);
            self.draft.set_name(Cow::Borrowed(name), self.names);
            return Ok(Next::At(next));
        }
        if let Some(name) = tag.carried_name() {
            return Ok(self.take_name(name, tag, at));
        }
        if tag.kind == TagKind::Empty {
            return Ok(Next::At(tag.end));
        }
        let source = self.source;
        let first = source.skip_blanks(tag.end);
        let (from, end, mut next) = match cdata_at(source, first)? {
            Some(content) => {
                let rest = source.bytes().get(content..).unwrap_or_default();
                match memchr::memmem::find(rest, b"]]>") {
                    Some(length) => (content, content + length, content + length + 3),
                    None => {
                        source.ends_at(source.len())?;
                        (content, source.len(), source.len())
                    }
                }
            }
            None => match next_bracket(source, tag.end) {
                Some(end) => (tag.end, end, end),
                None => {
                    source.ends_at(source.len())?;
                    (tag.end, source.len(), source.len())
                }
            },
        };
        if source.ends_at(next)? {
            self.draft.fault.get_or_insert(Fault::CutInName);
            return Ok(Next::End(source.len(), self.unclosed()));
        }
        next = source.skip_blanks(next);
        let closer = if source.ends_at(next)? { None } else { tag_at(source, next)? };
        let mut closed = false;
        // `<name>x<name>`: the slash is missing, if another tag follows at once.
        if let Some(again) =
            closer.filter(|again| again.kind == TagKind::Open && same_tag(again.name, tag.name))
        {
            let behind = source.skip_blanks(again.end);
            if !source.ends_at(behind)? && matches!(source.byte(behind), Some(b'<')) {
                next = again.end;
            }
        }
        if let Some(closer) = closer.filter(|closer| closer.kind == TagKind::Close) {
            if self.names.wrapper(closer.name).is_none() && !self.names.is_container(closer.name, None) {
                closed = same_tag(closer.name, tag.name);
                next = closer.end;
            }
            if closer.full_width {
                self.draft.repair(Repair::FullWidthMarks);
            }
        }
        let name = super::entity::decode(source.slice(from, end));
        self.draft_for_next_name(name.trim_matches(is_blank), at);
        if !closed {
            self.draft.repair(Repair::ValueClosed);
        }
        self.draft.set_name(name, self.names);
        self.last_end = next;
        Ok(Next::At(next))
    }

    pub(crate) fn take_name(&mut self, name: Cow<'a, str>, tag: &Tag<'a>, at: usize) -> Next {
        self.draft_for_next_name(&name, at);
        self.draft.repair(Repair::NameFromAttribute);
        self.draft.set_name(name, self.names);
        // `<tool name=…>` is how this dialect's own instructions show a tool.
        self.draft.raw = Names::is_named_element(tag.name) && !tag.name.eq_ignore_ascii_case("tool");
        self.element_open = Names::is_named_element(tag.name) && tag.kind == TagKind::Open;
        Next::At(tag.end)
    }

    /// An element that should carry a name: a call without one, unless its name follows in an element of its own.
    pub(crate) fn unnamed(&mut self, tag: &Tag<'a>, at: usize) -> Next {
        if std::mem::take(&mut self.element_closed) {
            self.finish_for_sibling(at, Ending::Closed);
        }
        self.element_open = true;
        Next::At(tag.end)
    }

    pub(crate) fn finish_for_sibling(&mut self, at: usize, ending: Ending) {
        let finished = std::mem::replace(&mut self.draft, Draft::new(at));
        finished.finish(ending, at, self.names, &mut self.outcomes);
    }

    /// Before a name is set: a call that has one already is finished, and a sibling begins.
    pub(crate) fn draft_for_next_name(&mut self, name: &str, at: usize) {
        if !self.draft.has_name() {
            // A call in an element without a name is malformed, and takes no name of another one.
            if std::mem::take(&mut self.element_closed) && !self.draft.is_untouched() {
                self.finish_for_sibling(at, Ending::Closed);
            }
            return;
        }
        let closed = std::mem::take(&mut self.element_closed);
        if !self.draft.has_parameters() && !closed {
            if self.draft.is_named(name) {
                self.draft.repair(Repair::DuplicateDropped);
                return;
            }
            let whole =
                !self.draft.named_by_wrapper && self.draft.tool.is_some_and(|tool| tool.required.is_empty());
            if !whole || self.names.tools.resolve(name).is_none() {
                self.draft.fault.get_or_insert_with(|| Fault::TwoNames(name.to_owned()));
                return;
            }
        }
        if self.draft.container_open {
            self.draft.repair(Repair::ParamsClosed);
            self.draft.container_open = false;
        }
        // An element that was not closed is no proof that the call is whole.
        let ending = if self.element_open { Ending::Unclosed } else { Ending::Closed };
        self.finish_for_sibling(at, ending);
        if !closed || self.names.dialect == Dialect::ArtifactXml {
            self.draft.repair(Repair::SiblingsSplit);
        }
    }
}
