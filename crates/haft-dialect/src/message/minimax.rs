//! MiniMax M3: `]<]minimax[>[` stands before every tag, so that nothing in a value can be one. Values may hold elements: objects by their names, lists as
//! `<item>`.

use haft_schema::View;
use haft_schema::json::{Literal, MAX_DEPTH};

use super::{Output, Reader};
use crate::Dialect;
use crate::artifact_xml::call::Block;
use crate::artifact_xml::tag::{Tag, TagKind, tag_at};
use crate::artifact_xml::value::{stands_between_breaks, without_layout as without_breaks};
use crate::draft::{Draft, Ending, Fault};
use crate::scan::{Reads, Source};

const SPACE: &str = "]<]minimax[>[";

/// Elements of one call, at most.
const MAX_ELEMENTS: usize = 10_000;

impl<O: Output> Reader<'_, '_, '_, O> {
    /// A tag of this form, if one begins here.
    pub(super) fn minimax(&mut self, at: usize) -> Reads<bool> {
        let source = self.source;
        // The first bracket may have been taken for text already.
        let whole = source.byte(at) == Some(b']');
        let rest = if whole { SPACE } else { SPACE.get(1..).unwrap_or_default() };
        if !source.has_word(at, rest)? {
            return Ok(false);
        }
        source.ends_at(at + rest.len())?;
        let Some(tag) = tag_at(source, at + rest.len())? else {
            self.skip(at + rest.len());
            return Ok(true);
        };
        if tag.cut
            && tag.kind != TagKind::Close
            && self.message.tag_form == Some(Dialect::MinimaxM3)
            && !self.output.has_outcomes()
        {
            return self.empty(at, tag.end);
        }
        if tag.kind == TagKind::Close || tag.cut {
            self.skip(tag.end);
            return Ok(true);
        }
        if self.names.wrapper(tag.name).is_some() {
            // The wrapper says nothing that the invocations inside do not say.
            let next = source.skip_blanks(tag.end);
            if source.ends_at(next)? {
                return self.empty(at, next);
            }
            let begins = source.has_word(next, SPACE)? || source.byte(next) == Some(b'<');
            if begins {
                self.skip(next);
                self.message.after_call = true;
                self.message.tag_form = Some(Dialect::MinimaxM3);
                return Ok(true);
            }
            return self.wrapper(&tag, crate::artifact_xml::names::Wrapper::Single, at);
        }
        let Some(name) = tag.carried_name() else {
            self.skip(tag.end);
            return Ok(true);
        };
        let mut draft = Draft::new(at);
        draft.set_name(name, self.names);
        let mut cursor = Cursor { source, at: tag.end, elements: 0 };
        let ending = cursor.invocation(&mut draft)?;
        let end = cursor.at;
        let mut outcomes = Vec::new();
        draft.finish(ending, end, self.names, &mut outcomes);
        self.take(Block { end, outcomes, form: Dialect::MinimaxM3 });
        Ok(true)
    }

    fn empty(&mut self, at: usize, end: usize) -> Reads<bool> {
        let mut draft = Draft::new(at);
        draft.fault = Some(Fault::NoName);
        let mut outcomes = Vec::new();
        draft.finish(Ending::Unclosed, end, self.names, &mut outcomes);
        self.take(Block { end, outcomes, form: Dialect::MinimaxM3 });
        Ok(true)
    }
}

/// A value as it was meant: line breaks at both ends are layout.
fn without_layout(text: &str) -> &str {
    if stands_between_breaks(text) { without_breaks(text) } else { text }
}

struct Cursor<'a> {
    source: Source<'a>,
    at: usize,
    elements: usize,
}

/// What a piece of content is followed by.
enum Mark<'a> {
    Tag(Tag<'a>),
    End,
}

impl<'a> Cursor<'a> {
    /// The text up to the next tag of this form, and the tag.
    fn content(&mut self) -> Reads<(&'a str, usize, Mark<'a>)> {
        let source = self.source;
        let from = self.at;
        let mut search = from;
        loop {
            let rest = source.bytes().get(search..).unwrap_or_default();
            let Some(offset) = memchr::memmem::find(rest, SPACE.as_bytes()) else {
                source.ends_at(source.len())?;
                self.at = source.len();
                return Ok((source.rest(from), source.len(), Mark::End));
            };
            let found = search + offset;
            if let Some(tag) = tag_at(source, found + SPACE.len())? {
                self.at = tag.end;
                return Ok((source.slice(from, found), found, Mark::Tag(tag)));
            }
            search = found + SPACE.len();
        }
    }

    fn invocation(&mut self, draft: &mut Draft<'a, '_>) -> Reads<Ending> {
        loop {
            let (text, tag_start, mark) = self.content()?;
            let Mark::Tag(tag) = mark else {
                draft.stray_text(text);
                return Ok(Ending::Unclosed);
            };
            draft.stray_text(text);
            match tag.kind {
                TagKind::Close if tag.cut => return Ok(Ending::Unclosed),
                TagKind::Close => return Ok(Ending::Closed),
                TagKind::Open | TagKind::Empty if tag.cut => {
                    draft.fault.get_or_insert(Fault::CutInTag);
                    return Ok(Ending::Unclosed);
                }
                TagKind::Open | TagKind::Empty if matches!(tag.name, "invoke" | "tool_call") => {
                    // The next call.
                    self.at = tag_start;
                    return Ok(Ending::Unclosed);
                }
                TagKind::Empty => draft.give_text(tag.name.into(), "".into()),
                TagKind::Open => {
                    let name = tag.carried_name().unwrap_or(tag.name.into());
                    let view = draft.tool.and_then(|tool| {
                        let known = tool.parameter(&name).map_or(&*name, |(parameter, _)| &parameter.name);
                        tool.declared.schema.view().property(known)
                    });
                    match self.value(tag.name, view, 0)? {
                        Some(Literal::String(text)) => draft.give_text(name, text),
                        Some(literal) => draft.give_literal(name, literal),
                        None => {
                            draft.fault.get_or_insert(Fault::CutInValue(name.into_owned()));
                            return Ok(Ending::Unclosed);
                        }
                    }
                }
            }
        }
    }

    /// The value of an element whose open tag was read: its text, or its elements.
    fn value(&mut self, name: &str, view: Option<View<'_>>, depth: usize) -> Reads<Option<Literal<'a>>> {
        let mut entries: Vec<(std::borrow::Cow<'a, str>, Literal<'a>)> = Vec::new();
        let mut items = Vec::new();
        self.elements += 1;
        loop {
            let from = self.at;
            let (text, tag_start, mark) = self.content()?;
            let Mark::Tag(tag) = mark else { return Ok(None) };
            if depth > MAX_DEPTH || self.elements > MAX_ELEMENTS || tag.cut {
                return Ok(None);
            }
            match tag.kind {
                TagKind::Close => {
                    if entries.is_empty() && items.is_empty() {
                        return Ok(Some(Literal::String(without_layout(text).into())));
                    }
                    // A wrong closer is left to the parent.
                    if !tag.name.eq_ignore_ascii_case(name) {
                        self.at = tag_start;
                    }
                    let listed = entries.is_empty()
                        || view.is_some_and(|view| view.types().has(haft_schema::Type::Array));
                    return Ok(Some(if listed && entries.is_empty() {
                        Literal::Array(items)
                    } else if items.is_empty() {
                        Literal::Object(entries)
                    } else {
                        return Ok(None);
                    }));
                }
                TagKind::Empty => entries.push((tag.name.into(), Literal::String("".into()))),
                TagKind::Open => {
                    let is_item =
                        tag.name == "item" && view.is_none_or(|view| view.property("item").is_none());
                    let inner = if is_item {
                        view.and_then(|view| view.item(items.len()))
                    } else {
                        view.and_then(|view| view.property(tag.name).or_else(|| view.additional()))
                    };
                    let Some(value) = self.value(tag.name, inner, depth + 1)? else { return Ok(None) };
                    if is_item {
                        items.push(value);
                    } else {
                        entries.push((tag.name.into(), value));
                    }
                }
            }
            debug_assert!(self.at > from || self.source.is_complete(), "every element moves on");
        }
    }
}
