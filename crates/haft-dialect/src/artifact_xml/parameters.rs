//! The parameters of a call: elements, attributes, and the elements that other dialects use for them.
//! It must not find the ends of values; `value` does.

use std::borrow::Cow;

use haft_schema::json::{self, Literal, Syntax};

use super::call::{CallReader, Next};
use super::names::{Names, same_tag};
use super::tag::{Tag, TagKind, attributes, tag_at};
use super::value::Value;
use crate::draft::Fault;
use crate::scan::Reads;
use crate::{Dialect, Repair};

/// A value that stands in the tag itself, behind `=`.
struct Assigned<'a> {
    name: &'a str,
    value: &'a str,
    value_at: usize,
}

impl<'a> CallReader<'a, '_, '_> {
    /// The offset after `<name=value` and the close tag that may follow it.
    pub(crate) fn after_equals(&self, tag: &Tag<'a>) -> Reads<usize> {
        let next = self.source.skip_blanks(tag.end);
        if tag.kind == TagKind::Empty || self.source.ends_at(next)? {
            return Ok(tag.end);
        }
        let closer = tag_at(self.source, next)?;
        let own = closer.filter(|closer| closer.kind == TagKind::Close && same_tag(closer.name, tag.name));
        Ok(own.map_or(tag.end, |closer| closer.end))
    }

    /// `<query=value</query>`, `<parameter=query=value</parameter>`.
    fn assigned(&self, tag: &Tag<'a>, element: bool) -> Option<Assigned<'a>> {
        let value = tag.equals?;
        if !element {
            return Some(Assigned { name: tag.name, value, value_at: tag.equals_at });
        }
        let (name, value) = value.split_once('=')?;
        let offset = self.source.slice(tag.equals_at, tag.end).find('=')? + 1;
        let known = self.names.is_parameter(name, self.draft.tool);
        known.then_some(Assigned { name, value, value_at: tag.equals_at + offset })
    }

    pub(crate) fn container(&mut self, tag: &Tag<'a>) -> Next {
        if self.draft.container_open {
            self.draft.repair(Repair::ParamsClosed);
        }
        if self.draft.groups > 0 {
            self.draft.repair(Repair::ParamsMerged);
        }
        self.draft.groups += 1;
        self.draft.raw_everywhere &= self.names.dialect == Dialect::ClineXml;
        self.take_attributes(tag);
        self.draft.container_open = tag.kind == TagKind::Open;
        Next::At(tag.end)
    }

    pub(crate) fn take_attributes(&mut self, tag: &Tag<'a>) {
        for (key, value) in attributes(tag.attributes) {
            // `<params type="object">` says nothing.
            if key == "type" && !self.names.is_parameter(key, self.draft.tool) {
                continue;
            }
            self.draft.repair(Repair::ParamsFromAttributes);
            self.draft.give_text(Cow::Borrowed(key), value);
        }
    }

    /// Where the next parameter begins inside of a value that opens it in the middle of a line and does not close it. It counts only where it is
    /// given nowhere else, or where the value does not fit its own type.
    fn next_inside(&mut self, name: &str, value: &str, end: usize) -> Reads<Option<usize>> {
        let (Some(at), Some(tool)) = (self.values.inline, self.draft.tool) else { return Ok(None) };
        let Some(opener) = tag_at(self.source, at)? else { return Ok(None) };
        let inner = opener.carried_name().and_then(|inner| tool.parameter(&inner).map(|(inner, _)| inner));
        let own = tool.parameter(name).map(|(parameter, _)| parameter);
        let is_new = inner.is_some_and(|inner| {
            !self.draft.gives(&inner.name) && own.is_none_or(|own| own.name != inner.name)
        });
        if !is_new {
            return Ok(None);
        }
        let fits = own.is_none_or(|own| own.takes_text || json::parse(value.trim(), Syntax::Literal).is_ok());
        let counts = !fits || !self.values.opens_again(&opener, end)?;
        Ok(counts.then_some(at))
    }

    pub(crate) fn parameter(&mut self, tag: &Tag<'a>) -> Reads<Next> {
        if self.draft.is_full() {
            self.draft.fault.get_or_insert(Fault::TooManyParameters);
            return self.recover(tag.end);
        }
        let mut name = Cow::Borrowed(tag.name);
        let mut from = tag.end;
        let element =
            Names::is_parameter_element(tag.name) && !self.names.is_parameter(tag.name, self.draft.tool);
        if element {
            name = tag.carried_name().unwrap_or(name);
        }
        if let Some(assigned) = self.assigned(tag, element) {
            self.draft.repair(Repair::TagEquals);
            name = Cow::Borrowed(assigned.name);
            let next = self.source.skip_blanks(tag.end);
            let whole = tag.kind == TagKind::Empty
                || self.source.ends_at(next)?
                || tag_at(self.source, next)?.is_some();
            if whole {
                let next = self.after_equals(tag)?;
                self.draft.give_text(name, Cow::Borrowed(assigned.value));
                return Ok(Next::At(next));
            }
            // The bracket that seemed to end the tag is part of the value: `<query=a > b</query>`.
            from = assigned.value_at;
        }
        if !self.draft.container_open {
            self.draft.repair(Repair::ParamsMerged);
        }
        if tag.kind == TagKind::Empty {
            let value = tag.attribute("value");
            if value.is_some() {
                self.draft.repair(Repair::ParamsFromAttributes);
            }
            self.draft.give_text(name, value.unwrap_or_default());
            return Ok(Next::At(tag.end));
        }
        self.values.prefixed = tag.prefixed;
        self.values.bare = self.element_open;
        let is_string = tag.attribute("string");
        // `<parameter=key>` stands on a line of its own; other forms only where breaks stand at both ends.
        self.values.exact = is_string.is_some() || tag.equals.is_none();
        self.values.lone_break = is_string.is_none();
        self.values.raw = self.draft.raw && (element || self.draft.raw_everywhere) || tag.name == "arg_value";
        // `string="false"`: the value is JSON. Where a schema gives the parameter a type, that decides.
        let is_json =
            is_string.is_some_and(|is| is.eq_ignore_ascii_case("false")) && !self.draft.is_typed(&name);
        match self.values.read(tag.name, from, self.draft.tool, self.ends)? {
            Value::Whole { text, end, .. } if let Some(next) = self.next_inside(&name, &text, end)? => {
                let text = self.source.slice(from, next);
                self.draft.repair(Repair::ValueClosed);
                self.draft.give_text(name, Cow::Borrowed(text.strip_prefix('\n').unwrap_or(text)));
                self.last_end = next;
                Ok(Next::At(next))
            }
            Value::Whole { text, end, repair } => {
                if let Some(repair) = repair {
                    self.draft.repair(repair);
                }
                if element
                    && self.names.is_container(&name, self.draft.tool)
                    && let Ok(Literal::Object(entries)) = json::parse(text.trim(), Syntax::Json)
                {
                    let entries = entries
                        .into_iter()
                        .map(|(key, value)| (Cow::Owned(key.into_owned()), value.into_owned()));
                    self.take_json(entries.collect(), false);
                    self.last_end = end;
                    return Ok(Next::At(end));
                }
                match is_json.then(|| json::parse(&text, Syntax::Json).ok()).flatten() {
                    Some(literal) => self.draft.give_literal(name, literal.into_owned()),
                    None => self.draft.give_text(name, text),
                }
                self.last_end = end;
                Ok(Next::At(end))
            }
            Value::Cut { resume } => {
                self.draft.fault.get_or_insert_with(|| Fault::CutInValue(name.into_owned()));
                Ok(Next::End(resume, self.unclosed()))
            }
            Value::Ambiguous => {
                self.draft.fault.get_or_insert_with(|| Fault::AmbiguousEnd(name.into_owned()));
                self.recover(tag.end)
            }
        }
    }
}
