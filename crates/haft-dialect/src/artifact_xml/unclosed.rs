//! Values whose close tag is missing or wrong: which other mark ends them, and where reading goes on.
//! It must not look at values that are closed; `value` does.

use std::borrow::Cow;

use super::names::Names;
use super::opened::Opened;
use super::tag::{Tag, TagKind, skip_filling, tag_at};
use super::value::{Value, ValueReader, next_bracket, stands_between_breaks};
use crate::Repair;
use crate::scan::Reads;
use crate::tools::Tool;

impl<'a> ValueReader<'a, '_> {
    /// Whether a tag opens the container of the call, or names its tool while that is not known.
    pub(super) fn opens_body(&self, tag: &Tag<'_>, tool: Option<&Tool>) -> bool {
        !self.raw
            && (Names::is_own_container(tag.name) && self.names.is_container(tag.name, tool)
                || tool.is_none() && Names::is_name_tag(tag.name))
    }

    /// The wrong close tag that ends a value although the call has no end: one that the value did not open, with the next parameter behind it.
    pub(super) fn wrong_closer(
        &self,
        start: usize,
        name: &str,
        tool: Option<&Tool>,
    ) -> Reads<Option<(usize, usize)>> {
        let source = self.source;
        let mut opened = Opened::default();
        let mut at = start;
        while let Some(found) = next_bracket(source, at) {
            let Some(tag) = tag_at(source, found)? else {
                at = found + source.char_at(found).map_or(1, char::len_utf8);
                continue;
            };
            at = tag.end;
            match tag.kind {
                TagKind::Open if self.names.is_parameter(tag.name, tool) => return Ok(None),
                TagKind::Open => opened.open(tag.name),
                TagKind::Close if opened.count(tag.name) > 0 => opened.close(tag.name),
                TagKind::Close => {
                    let next = skip_filling(source, tag.end)?;
                    let follows = !source.ends_at(next)? && self.goes_on(tag.end, name, tool, false)?;
                    return Ok(follows.then_some((found, tag.end)));
                }
                TagKind::Empty => {}
            }
        }
        Ok(None)
    }

    /// The end of a value whose close tag is missing: the first tag that cannot belong to it, before the call's end.
    pub(super) fn plain_without_closer(
        &self,
        start: usize,
        call_end: usize,
        name: &str,
        tool: Option<&Tool>,
    ) -> Reads<Value<'a>> {
        let source = self.source;
        let mut opened = Opened::default();
        let mut at = start;
        while let Some(found) = next_bracket(source, at).filter(|found| *found < call_end) {
            let Some(tag) = tag_at(source, found)? else {
                at = found + source.char_at(found).map_or(1, char::len_utf8);
                continue;
            };
            at = tag.end;
            let whole = |end: usize| Value::Whole {
                text: self.text_without_closer(start, found),
                end,
                repair: Some(Repair::ValueClosed),
            };
            match tag.kind {
                TagKind::Open
                    if self.names.is_parameter(tag.name, tool)
                        || self.names.carries_parameter(&tag, tool)
                        || self.opens_body(&tag, tool)
                        || name == "arg_value" && tag.name == "arg_key"
                        || name == "arg_key" && tag.name == "arg_value" =>
                {
                    return Ok(whole(found));
                }
                TagKind::Open => opened.open(tag.name),
                TagKind::Close if opened.count(tag.name) > 0 => opened.close(tag.name),
                TagKind::Close if self.names.is_container(tag.name, tool) => return Ok(whole(found)),
                TagKind::Close if self.goes_on(tag.end, name, tool, false)? => return Ok(whole(tag.end)),
                TagKind::Close | TagKind::Empty => {}
            }
        }
        let text = self.text_without_closer(start, call_end);
        Ok(Value::Whole { text, end: call_end, repair: Some(Repair::ValueClosed) })
    }

    /// The text of a value whose close tag is missing: the line break before the tag that ends it is layout.
    pub(super) fn text_without_closer(&self, start: usize, end: usize) -> Cow<'a, str> {
        let text = self.source.slice(start, end);
        if self.raw && self.exact && !stands_between_breaks(text) {
            let end = text
                .strip_suffix("\r\n")
                .or_else(|| text.strip_suffix('\n'))
                .map_or(end, |text| start + text.len());
            return self.plain_text(start, end, &[]);
        }
        self.plain_text(start, end, &[])
    }

    /// Where reading goes on behind a value without end: at the next call, unless it stands in a fence of the value; else nowhere.
    pub(super) fn resume_at(&self, start: usize, next: Option<usize>) -> usize {
        let end = self.source.len();
        let Some(next) = next else { return end };
        let fences =
            self.source.slice(start, next).lines().filter(|line| line.trim_start().starts_with("```"));
        if fences.count() % 2 == 0 { next } else { end }
    }
}
