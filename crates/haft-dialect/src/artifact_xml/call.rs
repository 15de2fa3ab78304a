//! One call, or several siblings in one wrapper: from the tag that opens it to where it ends.
//!
//! The clean form is read straight through; each deviation has its own place here and is recorded as a repair. A call
//! that cannot be read ends where the next one can begin, so that it does not take its neighbours with it.

use std::borrow::Cow;

use super::names::{Names, Wrapper, same_tag};
use super::section::SectionEnds;
use super::tag::{Tag, TagKind, cdata_at, skip_filling, tag_at};
use super::value::{ValueReader, next_bracket};
use crate::call_json;
use crate::draft::{Draft, Ending, Fault, Outcome};
use crate::envelope::{self, Envelope};
use crate::marks::{is_result_tag, is_think_tag};
use crate::scan::{Reads, Source, is_blank};
use crate::{Dialect, Repair};

/// Stands between the name and the parameters in the dialect of Hunyuan.
pub(crate) const TOOL_SEPARATOR: &str = "tool_sep";

/// Thoughts without end in one call, at most; with more it cannot be read.
const MAX_ENDLESS_THOUGHTS: u32 = 4;

/// Ends of a section that are tried as the end of the JSON in it, at most.
const MAX_SECTION_ENDS: usize = 16;

/// Longest value of a parameter that a tool does not have, without any wrapper, in bytes.
const MAX_UNDECLARED: usize = 4096;

/// The calls of one wrapper and the offset at which reading goes on.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) end: usize,
    pub(crate) outcomes: Vec<Outcome>,
    /// The dialect in whose form the calls are written.
    pub(crate) form: Dialect,
}

/// What a block is opened by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// A wrapper's open tag; whatever is inside is an attempt.
    Wrapped,
    /// A declared name without any wrapper.
    Bare,
}

pub(crate) struct CallReader<'a, 'n, 's> {
    pub(crate) source: Source<'a>,
    pub(crate) names: &'n Names,
    pub(crate) ends: &'s mut SectionEnds,
    pub(crate) values: ValueReader<'a, 'n>,
    pub(crate) draft: Draft<'a, 'n>,
    pub(crate) outcomes: Vec<Outcome>,
    pub(crate) style: Style,
    /// The last text or section that stood where only tags may stand.
    loose: Option<Loose<'a>>,
    /// Inside of an element that names the tool.
    pub(crate) element_open: bool,
    /// The element that names the tool was closed: the next one is another call.
    pub(crate) element_closed: bool,
    /// Reasoning whose end was looked for in vain.
    endless_thoughts: u32,
    /// The end of the last thing that was understood.
    pub(crate) last_end: usize,
    /// The dialect in whose form the call is written, as far as it is known.
    pub(crate) form: Dialect,
}

/// Text where only tags may stand, with its offsets.
struct Loose<'a> {
    text: &'a str,
    start: usize,
    end: usize,
}

/// Whether the loop over tags goes on, and where; or how the block ended.
pub(crate) enum Next {
    At(usize),
    End(usize, Ending),
    /// What stands inside is no tags; it was read to its end.
    Foreign(Block),
}

impl<'a, 'n, 's> CallReader<'a, 'n, 's> {
    pub(crate) fn new(
        source: Source<'a>,
        names: &'n Names,
        ends: &'s mut SectionEnds,
        start: usize,
        style: Style,
    ) -> Self {
        Self {
            source,
            names,
            ends,
            values: ValueReader::new(source, names),
            draft: Draft::new(start),
            outcomes: Vec::new(),
            style,
            loose: None,
            element_open: false,
            element_closed: false,
            endless_thoughts: 0,
            last_end: start,
            form: Dialect::ArtifactXml,
        }
    }

    /// Reads a block whose wrapper's open tag is given.
    pub(crate) fn read_wrapped(mut self, opener: &Tag<'a>) -> Reads<Block> {
        self.open(opener);
        if opener.kind == TagKind::Empty {
            return Ok(self.close(opener.end, Ending::Closed));
        }
        self.read_from(opener.end)
    }

    /// Reads a block from its first tag on.
    pub(crate) fn read_from(mut self, at: usize) -> Reads<Block> {
        if self.style == Style::Bare {
            self.draft.repair(Repair::WrapperAdded);
        }
        let mut at = at;
        loop {
            match self.step(at)? {
                Next::At(next) => at = next,
                Next::End(end, ending) => return Ok(self.close(end, ending)),
                Next::Foreign(mut block) => {
                    self.outcomes.append(&mut block.outcomes);
                    return Ok(Block { outcomes: self.outcomes, ..block });
                }
            }
        }
    }

    fn close(mut self, end: usize, ending: Ending) -> Block {
        let draft = std::mem::replace(&mut self.draft, Draft::new(end));
        draft.finish(ending, end, self.names, &mut self.outcomes);
        Block { end, outcomes: self.outcomes, form: self.form }
    }

    pub(crate) fn unclosed(&self) -> Ending {
        match self.style {
            // Without a wrapper the container, or the element that names the tool, is the closing mark.
            Style::Bare if !self.draft.container_open && !self.element_open => Ending::Closed,
            Style::Bare | Style::Wrapped => Ending::Unclosed,
        }
    }

    /// A body in the form of another dialect: JSON, literal calls, a name and its arguments.
    fn foreign(&mut self, at: usize) -> Reads<Block> {
        // Calls of Granite 20B have no closing mark.
        let form = match self.names.dialect {
            Dialect::Granite20b => Dialect::Granite20b,
            _ => Dialect::Hermes,
        };
        let repairs = self.draft.repairs().to_vec();
        Envelope::new(self.source, self.names, self.ends, self.draft.start, form)
            .with_repairs(repairs)
            .read(at)
    }

    /// The end of a call whose closing mark is missing. Text behind its last element is not part of it.
    fn end_unclosed(&self, at: usize) -> Reads<Next> {
        let begun = self.draft.has_name() || self.draft.has_parameters();
        let only_filling = skip_filling(self.source, self.last_end)? == at;
        let end = if begun && self.draft.fault.is_none() && !only_filling { self.last_end } else { at };
        Ok(Next::End(end, self.unclosed()))
    }

    fn step(&mut self, at: usize) -> Reads<Next> {
        let source = self.source;
        let at = skip_filling(source, at)?;
        if source.ends_at(at)? {
            return self.end_unclosed(at);
        }
        if self.style == Style::Bare
            && self.draft.groups > 0
            && !self.draft.container_open
            && let Some(next) = self.after_bare_container(at)?
        {
            return Ok(next);
        }
        match source.byte(at) {
            Some(b'<' | 0xEF) => {
                if let Some(content) = cdata_at(source, at)? {
                    return self.section(at, content);
                }
                if let Some(tag) = tag_at(source, at)? {
                    if tag.full_width {
                        self.draft.repair(Repair::FullWidthMarks);
                    }
                    if tag.unclosed {
                        self.draft.repair(Repair::TagClosed);
                    }
                    let next = self.tag(&tag, at)?;
                    if let Next::At(after) = next {
                        self.last_end = after;
                    }
                    return Ok(next);
                }
                if self.draft.is_untouched()
                    && self.style == Style::Wrapped
                    && source.rest(at).starts_with('｛')
                {
                    return self.foreign(at).map(Next::Foreign);
                }
            }
            Some(_)
                if self.draft.is_untouched()
                    && self.style == Style::Wrapped
                    && envelope::begins(source, self.names, at)? =>
            {
                return self.foreign(at).map(Next::Foreign);
            }
            // The first brace is missing.
            Some(b'"')
                if self.draft.is_untouched()
                    && self.style == Style::Wrapped
                    && source.has_word(at, "\"name\"")? =>
            {
                return self.foreign(at).map(Next::Foreign);
            }
            Some(b'{')
                if self.draft.container_open || self.draft.has_name() && !self.draft.has_parameters() =>
            {
                return self.json_parameters(at);
            }
            Some(b'`') if source.has_word(at, "```")? => return self.fence_mark(at),
            Some(b'"') if self.element_open && !self.draft.has_parameters() => {
                if let Some((entries, end)) = call_json::encoded_at(source, at)? {
                    self.take_json(entries, false);
                    self.last_end = end;
                    return Ok(Next::At(end));
                }
            }
            _ => {}
        }
        self.stray(at)
    }

    /// After the container of a call without a wrapper: close tags that fit, a second container and further parameters
    /// belong to it, nothing else.
    fn after_bare_container(&mut self, at: usize) -> Reads<Option<Next>> {
        let tool = self.draft.tool;
        let ended = Ok(Some(Next::End(self.last_end, Ending::Closed)));
        let Some(tag) = tag_at(self.source, at)? else { return ended };
        let container = self.names.is_container(tag.name, tool);
        if tag.kind == TagKind::Close {
            if self.closes_name_tag(tag.name) && self.element_open {
                return Ok(Some(Next::End(tag.end, Ending::Closed)));
            }
            if self.closes_name_tag(tag.name) || container || self.names.wrapper(tag.name).is_some() {
                self.last_end = tag.end;
                return Ok(Some(Next::At(tag.end)));
            }
            return ended;
        }
        if container || self.names.is_parameter(tag.name, tool) { Ok(None) } else { ended }
    }

    /// Text where only tags may stand.
    fn stray(&mut self, at: usize) -> Reads<Next> {
        let source = self.source;
        let from = at + source.char_at(at).map_or(1, char::len_utf8);
        let mut end = from;
        loop {
            let Some(found) = next_bracket(source, end) else {
                source.ends_at(source.len())?;
                end = source.len();
                break;
            };
            let is_comment = source.byte(found + 1) == Some(b'!') && source.has_word(found, "<!--")?;
            if is_comment || tag_at(source, found)?.is_some() || cdata_at(source, found)?.is_some() {
                end = found;
                break;
            }
            end = found + source.char_at(found).map_or(1, char::len_utf8);
        }
        if self.style == Style::Bare
            && self.draft.groups == 0
            && !self.draft.container_open
            && !self.element_open
        {
            return Ok(Next::End(self.last_end, Ending::Closed));
        }
        if self.draft.is_untouched()
            && self.style == Style::Wrapped
            && let Some(json) = call_json::behind_text(source, at, end)?
        {
            self.draft.repair(Repair::StrayTextDropped);
            return self.foreign(json).map(Next::Foreign);
        }
        // Words before the JSON object of the parameters.
        if self.draft.container_open
            && let Some(json) = source.slice(at, end).find('{').filter(|length| *length > 0)
            && let Ok(found) = call_json::value_at(source, at + json)?
            && matches!(found.literal, haft_schema::json::Literal::Object(_))
        {
            self.draft.stray_text(source.slice(at, at + json));
            return Ok(Next::At(at + json));
        }
        let text = source.slice(at, end);
        self.draft.stray_text(text);
        self.loose = Some(Loose { text: text.trim_matches(is_blank), start: at, end });
        Ok(Next::At(end))
    }

    /// A code fence between tags is no text: `` ```json `` inside of a wrapper.
    fn fence_mark(&mut self, at: usize) -> Reads<Next> {
        let rest = self.source.rest(at);
        let line = match rest.find('\n') {
            Some(length) => length,
            None => {
                self.source.ends_at(self.source.len())?;
                rest.len()
            }
        };
        // The mark may have a call behind it on the same line.
        let mark = rest.get(..line).unwrap_or_default();
        let length = mark.find(['<', '{', '[']).unwrap_or(line);
        self.draft.repair(Repair::FenceRemoved);
        Ok(Next::At(at + length))
    }

    /// CDATA directly in a container, or between parameters.
    fn section(&mut self, at: usize, content: usize) -> Reads<Next> {
        let source = self.source;
        let rest = source.bytes().get(content..).unwrap_or_default();
        let mut ends = memchr::memmem::find_iter(rest, b"]]>").take(MAX_SECTION_ENDS).peekable();
        let Some(first) = ends.peek().copied() else {
            source.ends_at(source.len())?;
            self.draft.fault.get_or_insert(Fault::CutInTag);
            return Ok(Next::End(source.len(), self.unclosed()));
        };
        // An end inside of a string is none.
        if self.draft.container_open && source.slice(content, content + first).trim_start().starts_with('{') {
            for length in ends {
                let text = source.slice(content, content + length).trim_matches(is_blank);
                let json = Source::new(text, true);
                if let Ok(Ok(found)) = call_json::value_at(json, 0)
                    && let haft_schema::json::Literal::Object(entries) = found.literal
                    && json.skip_blanks(found.end) == json.len()
                {
                    self.take_json(entries, found.loose);
                    return Ok(Next::At(content + length + 3));
                }
            }
            source.ends_at(source.len())?;
        }
        let text = source.slice(content, content + first);
        self.draft.stray_text(text);
        self.loose = Some(Loose { text, start: at, end: content + first + 3 });
        Ok(Next::At(content + first + 3))
    }

    fn tag(&mut self, tag: &Tag<'a>, at: usize) -> Reads<Next> {
        match tag.kind {
            TagKind::Close => Ok(self.close_tag(tag, at)),
            TagKind::Open | TagKind::Empty if tag.cut => {
                // Behind an element that was closed the next call begins.
                if std::mem::take(&mut self.element_closed) {
                    self.finish_for_sibling(at, Ending::Closed);
                }
                self.draft.fault.get_or_insert(Fault::CutInTag);
                Ok(Next::End(self.source.len(), self.unclosed()))
            }
            TagKind::Open | TagKind::Empty => self.open_tag(tag, at),
        }
    }

    fn close_tag(&mut self, tag: &Tag<'a>, at: usize) -> Next {
        if self.names.wrapper(tag.name).is_some() && !tag.cut {
            if self.draft.container_open {
                self.draft.repair(Repair::ParamsClosed);
                self.draft.container_open = false;
            }
            return Next::End(tag.end, Ending::Closed);
        }
        let container =
            self.names.is_container(tag.name, self.draft.tool) || Names::is_own_container(tag.name);
        if container && self.draft.container_open {
            self.draft.container_open = false;
        } else if self.element_open && self.style == Style::Bare && self.closes_name_tag(tag.name) {
            return Next::End(tag.end, Ending::Closed);
        } else if self.element_open
            && !tag.cut
            && (Names::is_named_element(tag.name) || self.closes_name_tag(tag.name))
        {
            self.element_open = false;
            self.element_closed = true;
        } else if !tag.cut && !self.closes_name_tag(tag.name) && !self.closes_unopened(tag.name, at) {
            self.draft.repair(Repair::StrayTagDropped);
        }
        Next::At(tag.end)
    }

    /// Whether the tag closes a declared parameter whose open tag is missing; the text before it is the value then.
    fn closes_unopened(&mut self, name: &'a str, at: usize) -> bool {
        let known = self.draft.tool.and_then(|tool| tool.parameter(name));
        // Nothing else may stand between it and the tags on both sides.
        let value = self.loose.take().filter(|loose| {
            self.source.skip_blanks(loose.end) == at && self.source.skip_blanks(self.last_end) == loose.start
        });
        if name == "arg_value"
            && self.draft.awaits_value()
            && let Some(value) = &value
        {
            self.draft.repair(Repair::ValueOpened);
            self.draft.take_stray(value.text);
            self.draft.give_text(Cow::Borrowed(name), Cow::Borrowed(value.text));
            return true;
        }
        let (Some((parameter, _)), Some(value)) = (known, value) else { return false };
        let given = self.draft.gives(name) || self.draft.gives(&parameter.name);
        if given && self.draft.has_repair(Repair::ValueOpened) || value.text.contains(&format!("<{name}")) {
            self.draft.fault.get_or_insert(Fault::AmbiguousEnd(parameter.name.clone()));
        }
        if given {
            return false;
        }
        self.draft.repair(Repair::ValueOpened);
        self.draft.take_stray(value.text);
        self.draft.give_text(Cow::Borrowed(name), Cow::Borrowed(value.text));
        true
    }

    fn closes_name_tag(&self, name: &str) -> bool {
        self.draft.tool.is_some_and(|tool| same_tag(&tool.declared.name, name))
            || self.draft.is_named(name)
            || Names::is_named_element(name)
    }

    fn open_tag(&mut self, tag: &Tag<'a>, at: usize) -> Reads<Next> {
        let tool = self.draft.tool;
        let container = Names::is_own_container(tag.name)
            && !self.draft.container_open
            && !self.is_parameter_of_tag(tag)?;
        // A tool may have a parameter `name`: the second `<name>` is it.
        let second_name = Names::is_name_tag(tag.name)
            && self.draft.has_name()
            && self.draft.groups == 0
            && !self.draft.gives(tag.name);
        let parameter = tool.is_some()
            && (self.draft.container_open || second_name)
            && self.names.is_parameter(tag.name, tool);
        if let Some(wrapper) = self.names.wrapper(tag.name).filter(|_| !parameter) {
            if !self.draft.is_untouched() {
                return self.end_unclosed(at);
            }
            // A list wrapper, or the same tag twice.
            self.draft.start = at;
            if wrapper == Wrapper::Single && self.style == Style::Wrapped {
                self.draft.repair(Repair::StrayTagDropped);
            }
            self.open(tag);
            return Ok(Next::At(tag.end));
        }
        if parameter {
            return self.parameter(tag);
        }
        if Names::is_name_tag(tag.name) {
            return self.name(tag, at);
        }
        if Names::is_named_element(tag.name)
            && let Some(name) = tag.carried_name()
        {
            return Ok(self.take_name(name, tag, at));
        }
        if Names::is_named_element(tag.name) && !self.draft.has_name() && self.holds_text(tag)? {
            return self.name(tag, at);
        }
        if self.begins_unnamed(tag)? {
            return Ok(self.unnamed(tag, at));
        }
        if container || self.names.is_container(tag.name, tool) {
            return Ok(self.container(tag));
        }
        if tag.name == TOOL_SEPARATOR {
            self.draft.name_from_stray(self.names);
            return Ok(Next::At(tag.end));
        }
        let known = self.names.is_parameter(tag.name, tool)
            || self.names.carries_parameter(tag, tool)
            || !self.draft.has_name() && self.names.tools.resolve(tag.name).is_some();
        if !known && is_result_tag(tag.name) {
            return self.end_unclosed(at);
        }
        if !known && is_think_tag(tag.name) {
            return self.thinking(tag);
        }
        // Where tools are tags, another declared one is the next call.
        if !known && self.draft.has_name() && self.names.tools.declares(tag.name) {
            let closed = self.element_closed || self.draft.groups > 0 && !self.draft.container_open;
            if self.style == Style::Wrapped && closed {
                self.draft_for_next_name(tag.name, at);
            } else if self.draft.raw_everywhere {
                return self.end_unclosed(at);
            }
        }
        if !self.draft.has_parameters() && !self.draft.has_name() && self.is_name_as_tag(tag)? {
            self.draft.repair(Repair::NameFromTag);
            // As Cline writes it.
            let cline = self.names.dialect == Dialect::ClineXml
                || self.style == Style::Bare && self.names.dialect != Dialect::ArtifactXml;
            self.draft.raw |= cline;
            self.draft.raw_everywhere |= cline;
            self.draft.set_name(Cow::Borrowed(tag.name), self.names);
            self.element_open = tag.kind == TagKind::Open;
            self.take_attributes(tag);
            return Ok(Next::At(tag.end));
        }
        let inside = self.draft.container_open || known || self.element_open && self.is_undeclared(tag)?;
        if self.style == Style::Bare && !inside {
            return Ok(Next::End(self.last_end, Ending::Closed));
        }
        self.parameter(tag)
    }

    /// Whether a tag is an element for a call that should carry a name and does not: `<invoke>` with tags inside.
    fn begins_unnamed(&self, tag: &Tag<'a>) -> Reads<bool> {
        if !Names::is_named_element(tag.name)
            || tag.kind != TagKind::Open
            || !self.element_closed && !self.draft.is_untouched()
            || self.names.is_parameter(tag.name, self.draft.tool)
            || self.names.tools.resolve(tag.name).is_some()
        {
            return Ok(false);
        }
        let next = skip_filling(self.source, tag.end)?;
        Ok(!self.source.ends_at(next)? && tag_at(self.source, next)?.is_some())
    }

    /// Whether a tag in the element that names the tool is a parameter that the tool does not have: it is an element for
    /// parameters, or it is closed and the call goes on behind it.
    fn is_undeclared(&self, tag: &Tag<'a>) -> Reads<bool> {
        if Names::is_parameter_element(tag.name) {
            return Ok(tag.carried_name().is_some());
        }
        if tag.kind != TagKind::Open || tag.equals.is_some() {
            return Ok(false);
        }
        let closer = format!("</{}>", tag.name);
        let window = self.source.bytes().get(tag.end..).unwrap_or_default();
        let window = window.get(..MAX_UNDECLARED).unwrap_or(window);
        match memchr::memmem::find(window, closer.as_bytes()) {
            Some(length) => {
                self.values.goes_on(tag.end + length + closer.len(), tag.name, self.draft.tool, false)
            }
            None => {
                if window.len() < MAX_UNDECLARED {
                    self.source.ends_at(self.source.len())?;
                }
                Ok(false)
            }
        }
    }

    /// Whether `<params>` is a parameter of a tool whose name is the tag, as Cline writes it: the tool has one, and no other
    /// parameter begins in it.
    fn is_parameter_of_tag(&self, tag: &Tag<'a>) -> Reads<bool> {
        let tool = self.draft.tool;
        if !self.draft.raw_everywhere || tool.is_none() || !self.names.is_parameter(tag.name, tool) {
            return Ok(false);
        }
        let next = skip_filling(self.source, tag.end)?;
        if self.source.ends_at(next)? {
            return Ok(true);
        }
        Ok(!tag_at(self.source, next)?
            .is_some_and(|inner| inner.kind != TagKind::Close && self.names.is_parameter(inner.name, tool)))
    }

    /// Reasoning between the tags of a call.
    fn thinking(&mut self, tag: &Tag<'a>) -> Reads<Next> {
        if self.endless_thoughts >= MAX_ENDLESS_THOUGHTS {
            self.draft.fault.get_or_insert(Fault::EndlessThoughts);
            return self.recover(tag.end);
        }
        let mut at = tag.end;
        while let Some(found) = next_bracket(self.source, at) {
            match tag_at(self.source, found)? {
                Some(closer) if closer.kind == TagKind::Close && same_tag(closer.name, tag.name) => {
                    return Ok(Next::At(closer.end));
                }
                _ => at = found + self.source.char_at(found).map_or(1, char::len_utf8),
            }
        }
        self.source.ends_at(self.source.len())?;
        self.endless_thoughts += 1;
        Ok(Next::At(tag.end))
    }

    /// Where a block that cannot be read ends: behind the next close tag of a wrapper, before its next open tag.
    pub(crate) fn recover(&self, from: usize) -> Reads<Next> {
        let mut at = from;
        while let Some(found) = next_bracket(self.source, at) {
            if let Some(tag) = tag_at(self.source, found)?
                && self.names.wrapper(tag.name).is_some()
            {
                return Ok(match tag.kind {
                    TagKind::Close if !tag.cut => Next::End(tag.end, Ending::Closed),
                    TagKind::Close => Next::End(tag.end, self.unclosed()),
                    TagKind::Open | TagKind::Empty => Next::End(found, self.unclosed()),
                });
            }
            at = found + self.source.char_at(found).map_or(1, char::len_utf8);
        }
        self.source.ends_at(self.source.len())?;
        Ok(Next::End(self.source.len(), self.unclosed()))
    }
}
