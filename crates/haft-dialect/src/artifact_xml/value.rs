//! Where a parameter's value ends.
//!
//! CDATA is kept as it is (`section`); text without CDATA is trimmed, its entities are decoded, and it ends at the close
//! tag after which the grammar goes on. Never the first literal closer alone decides. Every byte is looked at a bounded number of times: a search that fails is remembered.

use std::borrow::Cow;

use super::entity;
use super::names::{Names, same_tag};
use super::section::SectionEnds;
use super::tag::{PAIRED, Tag, TagKind, cdata_at, skip_filling, skip_short_comments, tag_at};
use crate::Repair;
use crate::marks::is_result_tag;
use crate::scan::{Reads, Source, is_blank};
use crate::tools::Tool;

/// Calls nested inside a value, at most; deeper ones are taken for calls that were cut.
const MAX_NESTED: u32 = 3;
/// Searches of one call that may run to its end without finding a close tag.
const MAX_SEARCHES: u32 = 8;

/// What a value came to.
#[derive(Debug)]
pub(crate) enum Value<'a> {
    /// A whole value and the offset after it.
    Whole { text: Cow<'a, str>, end: usize, repair: Option<Repair> },
    /// The text, or the next call, came before the value's end; going on is possible at `resume`.
    Cut { resume: usize },
    /// Several places could be the end.
    Ambiguous,
}

/// Reads values of one call.
pub(crate) struct ValueReader<'a, 'n> {
    pub(crate) source: Source<'a>,
    pub(crate) names: &'n Names,
    /// Names whose close tag is known to be missing from here on, with what ends the call instead.
    missing: Vec<Missing<'a>>,
    /// Searches that ran to the end of the call.
    searches: u32,
    /// The value is raw, as in other dialects: no entities, one line break at each end is layout.
    pub(crate) raw: bool,
    /// The call has no wrapper: the element that names its tool ends it.
    pub(crate) bare: bool,
    /// Line breaks are layout only where they stand at both ends, since this form has none of its own.
    pub(crate) exact: bool,
    /// One line break alone is layout too.
    pub(crate) lone_break: bool,
    /// The open tag has a prefix before its name.
    pub(crate) prefixed: bool,
    /// Where in the middle of a line the value just read opens another declared parameter, which it does not close.
    pub(crate) inline: Option<usize>,
}

#[derive(Debug, Clone, Copy)]
struct Missing<'a> {
    name: &'a str,
    call_end: usize,
}

impl<'a, 'n> ValueReader<'a, 'n> {
    pub(crate) fn new(source: Source<'a>, names: &'n Names) -> Self {
        Self {
            source,
            names,
            missing: Vec::new(),
            searches: 0,
            raw: false,
            exact: false,
            lone_break: false,
            bare: false,
            prefixed: false,
            inline: None,
        }
    }

    /// Reads the value of the element `name` whose open tag ends at `start`.
    pub(crate) fn read(
        &mut self,
        name: &'a str,
        start: usize,
        tool: Option<&Tool>,
        ends: &mut SectionEnds,
    ) -> Reads<Value<'a>> {
        self.inline = None;
        let first = skip_short_comments(self.source, start)?;
        if let Some(content) = cdata_at(self.source, first)? {
            let value = self.sections(name, content, tool, ends)?;
            // Where values are raw, a section that does not fill the value is text like any other.
            if self.raw && !matches!(value, Value::Whole { .. }) {
                return self.plain(name, start, tool, ends);
            }
            return Ok(value);
        }
        if self.source.byte(first) == Some(b'<')
            && let Some(again) = tag_at(self.source, first)?
            && again.kind == TagKind::Open
            && again.equals.is_none()
            && same_tag(again.name, name)
        {
            // The value may begin with an element of the same name.
            let state = (self.missing.len(), self.searches);
            let value = self.plain(name, start, tool, ends)?;
            if let Value::Whole { text, repair: None, .. } = &value
                && text.matches(&format!("</{name}")).count() >= text.matches(&format!("<{name}")).count()
            {
                return Ok(value);
            }
            self.missing.truncate(state.0);
            self.searches = state.1;
            return Ok(self.opened_twice(name, again.end, tool, ends)?.unwrap_or(value));
        }
        self.plain(name, start, tool, ends)
    }

    /// The value behind an open tag that stands there twice by mistake, because it is closed only once.
    fn opened_twice(
        &mut self,
        name: &'a str,
        start: usize,
        tool: Option<&Tool>,
        ends: &mut SectionEnds,
    ) -> Reads<Option<Value<'a>>> {
        let first = skip_short_comments(self.source, start)?;
        let again = |tag: &Tag<'_>| tag.kind == TagKind::Open && same_tag(tag.name, name);
        if self.source.byte(first) == Some(b'<') && tag_at(self.source, first)?.as_ref().is_some_and(again) {
            // More than twice is no slip.
            return Ok(None);
        }
        let value = match cdata_at(self.source, first)? {
            Some(content) => self.sections(name, content, tool, ends)?,
            None => self.plain(name, start, tool, ends)?,
        };
        let Value::Whole { text, end, repair } = value else { return Ok(None) };
        let next = skip_filling(self.source, end)?;
        if !self.source.ends_at(next)?
            && tag_at(self.source, next)?
                .is_some_and(|tag| tag.kind == TagKind::Close && same_tag(tag.name, name))
        {
            return Ok(None);
        }
        Ok(Some(Value::Whole { text, end, repair: repair.or(Some(Repair::StrayTagDropped)) }))
    }

    fn plain(
        &mut self,
        name: &'a str,
        start: usize,
        tool: Option<&Tool>,
        ends: &mut SectionEnds,
    ) -> Reads<Value<'a>> {
        if let Some(missing) = self.missing.iter().find(|missing| same_tag(missing.name, name)).copied() {
            return self.plain_without_closer(start, missing.call_end, name, tool);
        }
        let source = self.source;
        let mut search = PlainSearch::default();
        let mut sections: Vec<(usize, usize, usize)> = Vec::new();
        let mut at = start;
        while let Some(found) = next_bracket(source, at) {
            if let Some(content) = cdata_at(source, found)? {
                let Some(end) = ends.next(source, content) else {
                    source.ends_at(source.len())?;
                    if self.raw {
                        at = content;
                        continue;
                    }
                    return Ok(Value::Cut { resume: source.len() });
                };
                sections.push((found, content, end));
                at = end + 3;
                continue;
            }
            let Some(tag) = tag_at(source, found)? else {
                at = found + source.char_at(found).map_or(1, char::len_utf8);
                continue;
            };
            // What only looks like a tag, as `<a="` in code, may hold the close tag.
            let plain = tag.attributes.is_empty() && tag.equals.is_none() && !tag.cut;
            at = if plain { tag.end } else { found + source.char_at(found).map_or(1, char::len_utf8) };
            if tag.cut && tag.kind != TagKind::Close {
                continue;
            }
            match self.look(name, tool, &tag, found, &mut search)? {
                Look::On => {}
                Look::End => {
                    self.inline = search.inline.filter(|_| search.opened > 0);
                    let text = self.plain_text(start, found, &sections);
                    return Ok(Value::Whole { text, end: tag.end, repair: None });
                }
                // Text between the close tag and the next parameter does not count.
                Look::Next if search.unfit.len() == 1 && search.opened == 0 => {
                    let (end, after) = search.unfit.first().copied().unwrap_or((found, found));
                    let text = self.plain_text(start, end, &sections);
                    return Ok(Value::Whole { text, end: after, repair: None });
                }
                Look::Next => {
                    let ended = search.element_end.into_iter().chain(search.call_end).min();
                    let end = ended.unwrap_or(found);
                    return self.plain_without_closer(start, end, name, tool);
                }
                Look::Stop => break,
            }
        }
        if !search.stopped {
            source.ends_at(source.len())?;
        }
        self.searches += 1;
        if self.searches > MAX_SEARCHES {
            return Ok(Value::Ambiguous);
        }
        if let Some((end, after)) = search.bare {
            let text = self.plain_text(start, end, &sections);
            return Ok(Value::Whole { text, end: after, repair: None });
        }
        match (search.unfit.as_slice(), search.call_end) {
            ([(end, after)], _) => {
                let text = self.plain_text(start, *end, &sections);
                Ok(Value::Whole { text, end: *after, repair: None })
            }
            ([_, ..], _) => Ok(Value::Ambiguous),
            // The next call opens inside of a value that nothing closes.
            ([], _) if search.element_end.is_none() && search.element_at.is_some() => {
                let resume = self.resume_at(start, search.element_at);
                ends.overread += source.len() - resume;
                Ok(Value::Cut { resume })
            }
            ([], Some(call_end)) => {
                self.missing.push(Missing { name, call_end });
                self.plain_without_closer(start, call_end, name, tool)
            }
            ([], None) if self.bare && search.element_end.is_some() => {
                let call_end = search.element_end.unwrap_or(source.len());
                self.missing.push(Missing { name, call_end });
                self.plain_without_closer(start, call_end, name, tool)
            }
            ([], None) => Ok(match self.wrong_closer(start, name, tool)? {
                Some((end, after)) => {
                    let text = self.text_without_closer(start, end);
                    Value::Whole { text, end: after, repair: Some(Repair::ValueClosed) }
                }
                None => Value::Cut { resume: self.resume_at(start, search.nested_at) },
            }),
        }
    }

    /// Judges one tag inside a value without CDATA.
    fn look(
        &self,
        name: &str,
        tool: Option<&Tool>,
        tag: &Tag<'a>,
        at: usize,
        search: &mut PlainSearch,
    ) -> Reads<Look> {
        let own = same_tag(tag.name, name);
        // Where tags have a prefix, those without one belong to a value.
        let wrapper = (!self.prefixed || tag.prefixed) && self.names.wrapper(tag.name).is_some();
        match tag.kind {
            TagKind::Close if tag.cut => {}
            // Without the prefix of the open tag, it counts only where none with it follows.
            TagKind::Close if own && self.prefixed && !tag.prefixed => {
                if search.bare.is_none() && self.goes_on(tag.end, name, tool, false)? {
                    search.bare = Some((at, tag.end));
                }
            }
            TagKind::Open if own && self.prefixed && !tag.prefixed => {}
            TagKind::Close if own => {
                // Behind a mention of a wrapper's open tag, the close tag that the value did not open ends it too.
                if search.nested + search.elements == 0 || search.opened == 0 {
                    if self.goes_on(tag.end, name, tool, search.opened > 0)? {
                        return Ok(Look::End);
                    }
                    if search.nested == 0
                        && search.opened == 0
                        && search.unfit.len() < 2
                        && search.call_end.is_none()
                    {
                        search.unfit.push((at, tag.end));
                    }
                }
                search.opened = search.opened.saturating_sub(1);
            }
            TagKind::Close if wrapper => match search.nested {
                0 => search.call_end = search.call_end.or(Some(at)),
                _ => search.nested -= 1,
            },
            TagKind::Close
                if self.bare
                    && search.element_end.is_none()
                    && search.opened + search.nested == 0
                    && (Names::is_named_element(tag.name)
                        || tool.is_some_and(|tool| same_tag(&tool.declared.name, tag.name))) =>
            {
                match search.elements {
                    0 => search.element_end = Some(at),
                    _ => search.elements -= 1,
                }
            }
            // Behind the end of the call, or of the element that names the tool, the next call.
            TagKind::Open if search.element_end.or(search.call_end).is_some() && self.opens_call(tag) => {
                return Ok(Look::Next);
            }
            TagKind::Open if self.bare && self.opens_call(tag) => {
                if self.follows_tag_or_break(at) {
                    search.element_at = search.element_at.or(Some(at));
                }
                search.elements += 1;
                if search.elements > MAX_NESTED {
                    search.stopped = true;
                    return Ok(Look::Stop);
                }
            }
            TagKind::Open
                if own
                    && search.opened + search.nested + search.elements == 0
                    && self.names.carries_parameter(tag, tool)
                    && (self.follows_tag_or_break(at) || search.unfit.len() == 1) =>
            {
                return Ok(Look::Next);
            }
            // The close tag of a key is missing.
            TagKind::Open
                if name == "arg_key" && tag.name == "arg_value" && search.opened + search.nested == 0 =>
            {
                return Ok(Look::Next);
            }
            TagKind::Open if own => {
                if search.opened + search.nested == 0 && self.names.carries_parameter(tag, tool) {
                    search.inline = search.inline.or(Some(at));
                }
                search.opened += 1;
            }
            // The value of a pair ends where the next key begins.
            TagKind::Open
                if name == "arg_value"
                    && tag.name == "arg_key"
                    && search.opened + search.nested == 0
                    && self.holds_parameter(tag.end, tool)? =>
            {
                return Ok(Look::Next);
            }
            TagKind::Open if wrapper && self.begins_body(tag.end)? => {
                if !self.bare || self.begins_element(tag.end)? {
                    search.nested_at = search.nested_at.or(Some(at));
                }
                search.nested += 1;
                if search.call_end.is_some() || search.nested > MAX_NESTED {
                    search.stopped = true;
                    return Ok(Look::Stop);
                }
            }
            // Behind the end of the call another one begins.
            TagKind::Open
                if search.call_end.is_some()
                    && (Names::is_name_tag(tag.name) || self.names.is_container(tag.name, tool)) =>
            {
                search.stopped = true;
                return Ok(Look::Stop);
            }
            TagKind::Close | TagKind::Open | TagKind::Empty => {}
        }
        Ok(Look::On)
    }

    /// Whether the grammar goes on after a close tag: the next parameter, the end of a container or of the call, the
    /// end of the text or the same close tag again if the value did not open it.
    pub(crate) fn goes_on(&self, at: usize, name: &str, tool: Option<&Tool>, opened: bool) -> Reads<bool> {
        let at = skip_filling(self.source, at)?;
        if self.source.ends_at(at)? {
            return Ok(!opened);
        }
        match self.source.byte(at) {
            Some(b'`') => return Ok(self.source.has_word(at, "```")? && self.source.begins_line(at)),
            Some(b'<' | 0xEF) => {}
            _ => return Ok(false),
        }
        let Some(tag) = tag_at(self.source, at)? else { return Ok(false) };
        if tag.kind == TagKind::Close && same_tag(tag.name, name) {
            return Ok(!opened);
        }
        Ok(if tag.cut { !opened } else { self.is_structure(&tag, tool) })
    }

    /// Whether the text up to the next tag names a declared parameter.
    fn holds_parameter(&self, from: usize, tool: Option<&Tool>) -> Reads<bool> {
        let Some(end) = next_bracket(self.source, from) else {
            self.source.ends_at(self.source.len())?;
            return Ok(false);
        };
        let name = self.source.slice(from, end).trim_matches(is_blank);
        Ok(name.len() <= 128 && self.names.is_parameter(name, tool))
    }

    fn follows_tag_or_break(&self, at: usize) -> bool {
        self.source.begins_line(at)
            || self.source.bytes().get(..at).is_some_and(|before| before.ends_with(b">"))
    }

    /// Whether a tag opens a call whose element names the tool, as `<invoke name="x">`, or Cline's `<x>`, does.
    fn opens_call(&self, tag: &Tag<'_>) -> bool {
        Names::is_named_element(tag.name) && tag.carried_name().is_some()
            || self.raw && self.names.tools.declares(tag.name)
    }

    /// Whether an element opens again before the call ends.
    pub(crate) fn opens_again(&mut self, opener: &Tag<'_>, from: usize) -> Reads<bool> {
        self.searches += 1;
        let name = opener.carried_name();
        let mut at = from;
        while let Some(found) = next_bracket(self.source, at).filter(|_| self.searches <= MAX_SEARCHES) {
            let Some(tag) = tag_at(self.source, found)? else {
                at = found + self.source.char_at(found).map_or(1, char::len_utf8);
                continue;
            };
            at = tag.end;
            let ends = self.names.wrapper(tag.name).is_some() || Names::is_named_element(tag.name);
            match tag.kind {
                TagKind::Close if ends && !tag.cut => return Ok(false),
                TagKind::Open if same_tag(tag.name, opener.name) && tag.carried_name() == name => {
                    return Ok(true);
                }
                TagKind::Close | TagKind::Open | TagKind::Empty => {}
            }
        }
        if self.searches <= MAX_SEARCHES {
            self.source.ends_at(self.source.len())?;
        }
        Ok(false)
    }

    /// Whether a tag belongs to the grammar of a call.
    pub(crate) fn is_structure(&self, tag: &Tag<'_>, tool: Option<&Tool>) -> bool {
        let name = tag.name;
        if self.names.wrapper(name).is_some()
            || Names::is_own_container(name)
            || self.names.is_container(name, tool)
        {
            return true;
        }
        match tag.kind {
            TagKind::Close => {
                tool.is_some_and(|tool| same_tag(&tool.declared.name, name)) || Names::is_named_element(name)
            }
            TagKind::Open | TagKind::Empty => {
                self.names.is_parameter(name, tool)
                    || Names::is_name_tag(name)
                    || Names::is_parameter_element(name)
                        && (tag.equals.is_some() || !tag.attributes.is_empty())
                    || is_result_tag(name)
                    || PAIRED.contains(&name)
                    || self.opens_call(tag)
                    || tool.is_none()
            }
        }
    }

    /// Whether an element that names a tool follows a wrapper's open tag.
    fn begins_element(&self, at: usize) -> Reads<bool> {
        let at = skip_filling(self.source, at)?;
        if self.source.ends_at(at)? {
            return Ok(false);
        }
        Ok(tag_at(self.source, at)?.is_some_and(|tag| self.opens_call(&tag)))
    }

    /// Whether what follows a wrapper's open tag begins a call.
    pub(crate) fn begins_body(&self, at: usize) -> Reads<bool> {
        let at = skip_filling(self.source, at)?;
        if self.source.ends_at(at)? {
            return Ok(false);
        }
        match self.source.byte(at) {
            Some(b'{' | b'[') => Ok(true),
            Some(b'<' | 0xEF) => Ok(tag_at(self.source, at)?.is_some_and(|tag| tag.kind != TagKind::Close)),
            _ => Ok(false),
        }
    }

    /// The text of a value without CDATA: as it is if the value is raw, else trimmed, entities decoded, sections inside it kept as they are.
    pub(super) fn plain_text(
        &self,
        start: usize,
        end: usize,
        sections: &[(usize, usize, usize)],
    ) -> Cow<'a, str> {
        let source = self.source;
        let inside: Vec<_> = sections.iter().filter(|(open, ..)| *open < end && !self.raw).collect();
        if inside.is_empty()
            && let Some(content) = misspelled_section(source.slice(start, end).trim_matches(is_blank))
        {
            return Cow::Borrowed(content);
        }
        if inside.is_empty() && self.raw {
            let text = source.slice(start, end);
            let layout = !self.exact
                || stands_between_breaks(text)
                || self.lone_break && matches!(text, "\n" | "\r\n");
            return Cow::Borrowed(if layout { without_layout(text) } else { text });
        }
        if inside.is_empty() {
            return entity::decode(source.slice(start, end).trim_matches(is_blank));
        }
        let mut text = String::new();
        let mut from = start;
        for (index, (open, content, close)) in inside.iter().copied().enumerate() {
            let before = source.slice(from, *open);
            let before = if index == 0 { before.trim_start_matches(is_blank) } else { before };
            text.push_str(&entity::decode(before));
            text.push_str(source.slice(*content, *close));
            from = close + 3;
        }
        text.push_str(&entity::decode(source.slice(from, end).trim_end_matches(is_blank)));
        Cow::Owned(text)
    }
}

/// What a search for the end of a value without CDATA has seen so far.
#[derive(Debug, Default)]
struct PlainSearch {
    /// Calls opened inside of the value and not closed.
    nested: u32,
    /// The first of them.
    nested_at: Option<usize>,
    /// Elements that name a tool, opened inside of the value and not closed.
    elements: u32,
    /// The first of them that stands at the start of a line or behind a tag.
    element_at: Option<usize>,
    /// Elements of the value's own name opened inside of it.
    opened: u32,
    /// The first of them that names a declared parameter.
    inline: Option<usize>,
    /// Own close tags after which the grammar does not go on: where, and the offset after it.
    unfit: Vec<(usize, usize)>,
    /// The first own close tag without the prefix of the open tag, and the offset after it.
    bare: Option<(usize, usize)>,
    /// The first close tag of the call that nothing inside the value opened.
    call_end: Option<usize>,
    /// The first close tag of the element that names the tool, which ends a call without a wrapper.
    element_end: Option<usize>,
    /// The search ended before the end of the text.
    stopped: bool,
}

enum Look {
    On,
    End,
    /// The next parameter begins before this one was closed.
    Next,
    Stop,
}

/// The content of a section whose opening mark is misspelled: `<![CDATA`, `<!CDATA[`, `<[CDATA[` …
fn misspelled_section(text: &str) -> Option<&str> {
    let body = text.strip_suffix("]]>")?.strip_prefix('<')?;
    let body = body.strip_prefix('!').unwrap_or(body);
    let body = body.strip_prefix('[').unwrap_or(body);
    let (word, content) = body.split_at_checked(5)?;
    if !word.eq_ignore_ascii_case("cdata") {
        return None;
    }
    let content = content.strip_prefix(' ').unwrap_or(content);
    Some(content.strip_prefix('[').unwrap_or(content))
}

/// Whether a text begins with one line break and ends with another.
pub(crate) fn stands_between_breaks(text: &str) -> bool {
    let behind = text.strip_prefix("\r\n").or_else(|| text.strip_prefix('\n'));
    behind.is_some_and(|behind| behind.ends_with('\n'))
}

/// A value without the one line break at each end that is layout.
pub(crate) fn without_layout(text: &str) -> &str {
    let text = text.strip_prefix("\r\n").or_else(|| text.strip_prefix('\n')).unwrap_or(text);
    text.strip_suffix("\r\n").or_else(|| text.strip_suffix('\n')).unwrap_or(text)
}

/// The next `<` or `＜`.
pub(crate) fn next_bracket(source: Source<'_>, from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let rest = source.bytes().get(at..)?;
        let offset = memchr::memchr2(b'<', 0x9C, rest)?;
        let found = at + offset;
        if rest.get(offset) == Some(&b'<') {
            return Some(found);
        }
        if found >= 2 && source.bytes().get(found - 2..found) == Some(&[0xEF, 0xBC]) && found - 2 >= from {
            return Some(found - 2);
        }
        at = found + 1;
    }
}
