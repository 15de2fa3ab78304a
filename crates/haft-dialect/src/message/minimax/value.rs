//! The value of one element: its text, or its elements.

use haft_schema::json::{Literal, MAX_DEPTH};
use haft_schema::{Type, View};

use super::{Cursor, Mark, parameter_name, without_half};
use crate::Repair;
use crate::artifact_xml::tag::{Tag, TagKind, skip_filling};
use crate::artifact_xml::value::{stands_between_breaks, without_layout as without_breaks};
use crate::draft::Draft;
use crate::scan::Reads;
use crate::tools::Tool;

/// Elements of one call, at most.
const MAX_ELEMENTS: usize = 10_000;

/// Values of one wrapper whose end was looked for in vain, at most; behind them nothing more is read.
const MAX_CUTS: usize = 3;

/// The element of an entry of a list.
const ITEM: &str = "item";

/// What a value came to.
pub(super) enum Read<'a> {
    Text(&'a str),
    Literal(Literal<'a>),
    /// It has no end; reading may go on here.
    Cut(usize),
}

/// The element whose value is read.
struct Element<'a, 's> {
    name: &'a str,
    /// The mark stands before its open tag.
    spaced: bool,
    view: Option<View<'s>>,
    tool: Option<&'s Tool>,
    depth: usize,
}

impl Element<'_, '_> {
    /// Whether this element may stand in the value.
    fn may_hold(&self, tag: &Tag<'_>) -> bool {
        self.view.is_none_or(|view| {
            let types = view.types();
            types.is_any()
                || types.has(Type::Object)
                || types.has(Type::Array) && (tag.name == ITEM || !self.is_parameter(tag))
        })
    }

    /// Whether a tag is a parameter of the call.
    fn is_parameter(&self, tag: &Tag<'_>) -> bool {
        self.tool.is_some_and(|tool| tool.parameter(&parameter_name(tag)).is_some())
    }

    /// Whether an open tag inside begins the next parameter of the call.
    fn is_next(&self, tag: &Tag<'_>) -> bool {
        self.depth == 0 && self.is_parameter(tag) && !self.may_hold(tag)
    }
}

/// What was seen of a value so far.
#[derive(Default)]
struct Search {
    /// Elements of the value's own name opened inside of it.
    opened: usize,
    /// Other elements opened in a text.
    others: usize,
    /// Calls opened inside of it and not closed.
    nested: usize,
    /// The first of them.
    nested_at: Option<usize>,
    /// The first end of the call behind which text stands.
    call_end: Option<usize>,
    /// The first close tag that ends the value only if no better one follows, and the offset after it.
    weak: Option<(usize, usize)>,
}

/// A value as it was meant: line breaks at both ends are layout.
fn without_layout(text: &str) -> &str {
    if stands_between_breaks(text) { without_breaks(text) } else { text }
}

impl<'a> Cursor<'a, '_> {
    /// The value of a parameter whose open tag was read.
    pub(super) fn parameter(
        &mut self,
        tag: &Tag<'a>,
        name: &str,
        spaced: bool,
        draft: &mut Draft<'a, '_>,
    ) -> Reads<Read<'a>> {
        let tool = draft.tool;
        let view = tool.and_then(|tool| {
            let known = tool.parameter(name).map_or(name, |(parameter, _)| &parameter.name);
            tool.declared.schema.view().property(known)
        });
        let mut repairs = false;
        let element = Element { name: tag.name, spaced, view, tool, depth: 0 };
        let read = self.value(&element, &mut repairs)?;
        if repairs {
            draft.repair(Repair::ValueClosed);
        }
        Ok(read)
    }

    fn value(&mut self, element: &Element<'a, '_>, repaired: &mut bool) -> Reads<Read<'a>> {
        let from = self.at;
        let mut entries = Vec::new();
        let mut items = Vec::new();
        let mut search = Search::default();
        self.elements += 1;
        loop {
            let mark = self.next_mark(self.at)?;
            let plain = entries.is_empty() && items.is_empty();
            let full = element.depth > MAX_DEPTH || self.elements > MAX_ELEMENTS;
            let Some(Mark { tag, start, spaced }) =
                mark.filter(|mark| !(full || mark.spaced && mark.tag.cut))
            else {
                *repaired |= search.weak.is_none();
                let call_end = search.call_end.map(|end| (end, end)).filter(|_| search.nested_at.is_none());
                return Ok(match search.weak.or(call_end).filter(|_| plain && !full) {
                    Some(end) => self.text(from, end),
                    None => self.cut(search.nested_at),
                });
            };
            self.at = tag.end;
            let own = tag.name.eq_ignore_ascii_case(element.name);
            let inside = search.opened + search.nested > 0;
            match tag.kind {
                // Without the mark, a close tag counts only where none with it follows.
                TagKind::Close if !spaced && element.spaced => {
                    if own && plain && !inside && search.weak.is_none() && self.goes_on(tag.end, element)? {
                        search.weak = Some((start, tag.end));
                    }
                }
                TagKind::Close if own && search.opened > 0 => search.opened -= 1,
                TagKind::Close if search.nested > 0 && self.is_structure(&tag) => search.nested -= 1,
                TagKind::Close if own && plain && !inside => {
                    if self.goes_on(tag.end, element)? {
                        return Ok(self.text_or_list(from, (start, tag.end), element));
                    }
                    search.weak = search.weak.or(Some((start, tag.end)));
                }
                TagKind::Close if !plain => {
                    // A wrong closer is left to the parent.
                    if !own {
                        self.at = start;
                    }
                    return Ok(match (entries.is_empty(), items.is_empty()) {
                        (true, _) => Read::Literal(Literal::Array(items)),
                        (false, true) => Read::Literal(Literal::Object(entries)),
                        (false, false) => Read::Cut(self.at),
                    });
                }
                TagKind::Close if search.others > 0 && !self.is_structure(&tag) => search.others -= 1,
                TagKind::Close if !inside && !self.goes_on(tag.end, element)? => {
                    search.call_end = search.call_end.or(self.is_structure(&tag).then_some(start));
                }
                TagKind::Close if !inside => {
                    return Ok(match (search.weak, search.nested_at) {
                        (Some(end), _) => self.text(from, end),
                        (None, nested_at @ Some(_)) => self.cut(nested_at),
                        (None, None) => {
                            *repaired = true;
                            let after = if self.is_structure(&tag) { start } else { tag.end };
                            self.text(from, (start, after))
                        }
                    });
                }
                TagKind::Open | TagKind::Empty if !spaced && element.spaced => {}
                TagKind::Open if plain && !inside && (element.is_next(&tag) || search.weak.is_some()) => {
                    *repaired |= search.weak.is_none();
                    return Ok(self.text(from, search.weak.unwrap_or((start, start))));
                }
                TagKind::Open if plain && self.is_structure(&tag) => {
                    if self.begins_body(tag.end)? {
                        search.nested += 1;
                        search.nested_at = search.nested_at.or(Some(start));
                    }
                }
                TagKind::Open if !inside && element.may_hold(&tag) => {
                    if let Some(cut) = self.child(&tag, element, &mut entries, &mut items, repaired)? {
                        return Ok(cut);
                    }
                }
                TagKind::Open if own => search.opened += 1,
                TagKind::Open => search.others += 1,
                TagKind::Empty if !inside && element.may_hold(&tag) => {
                    entries.push((tag.name.into(), Literal::String("".into())));
                }
                TagKind::Close | TagKind::Empty => {}
            }
        }
    }

    /// A value without end: reading goes on where a call begins in it, if one does.
    fn cut(&mut self, nested_at: Option<usize>) -> Read<'a> {
        let end = self.source.len();
        self.cuts += 1;
        let resume = nested_at.filter(|_| self.cuts <= MAX_CUTS).unwrap_or(end);
        self.overread += end - resume;
        Read::Cut(resume)
    }

    /// An element inside of a value, or how the value is cut.
    fn child(
        &mut self,
        tag: &Tag<'a>,
        parent: &Element<'a, '_>,
        entries: &mut Vec<(std::borrow::Cow<'a, str>, Literal<'a>)>,
        items: &mut Vec<Literal<'a>>,
        repaired: &mut bool,
    ) -> Reads<Option<Read<'a>>> {
        let view = parent.view;
        let is_item = tag.name == ITEM && view.is_none_or(|view| view.property(ITEM).is_none());
        let inner = if is_item {
            view.and_then(|view| view.item(items.len()))
        } else {
            view.and_then(|view| view.property(tag.name).or_else(|| view.additional()))
        };
        let child =
            Element { name: tag.name, spaced: true, view: inner, tool: parent.tool, depth: parent.depth + 1 };
        let value = match self.value(&child, repaired)? {
            Read::Text(text) => Literal::String(text.into()),
            Read::Literal(literal) => literal,
            cut @ Read::Cut(_) => return Ok(Some(cut)),
        };
        if is_item {
            items.push(value);
        } else {
            entries.push((tag.name.into(), value));
        }
        Ok(None)
    }

    /// The text of a value, which ends at an offset and whose close tag ends at another.
    fn text(&mut self, from: usize, (end, after): (usize, usize)) -> Read<'a> {
        self.at = after;
        Read::Text(without_layout(self.source.slice(from, end)))
    }

    /// The text of a value that ends well; an empty list is written as nothing at all.
    fn text_or_list(&mut self, from: usize, end: (usize, usize), element: &Element<'a, '_>) -> Read<'a> {
        let only_list = element.view.is_some_and(|view| {
            let types = view.types();
            types.has(Type::Array) && !types.has(Type::String)
        });
        match self.text(from, end) {
            Read::Text(text) if only_list && text.trim().is_empty() => {
                Read::Literal(Literal::Array(Vec::new()))
            }
            read => read,
        }
    }

    /// Whether the call can go on like this behind the close tag of an element.
    fn goes_on(&self, at: usize, element: &Element<'_, '_>) -> Reads<bool> {
        let next = skip_filling(self.source, at)?;
        if self.source.ends_at(next)? {
            return Ok(true);
        }
        let Some(Mark { tag, spaced, .. }) = self.mark_at(next)? else {
            return Ok(without_half(self.source.rest(next)).is_empty());
        };
        Ok(match tag.kind {
            _ if tag.cut || self.is_structure(&tag) => true,
            TagKind::Close => element.depth > 0 || tag.name.eq_ignore_ascii_case(element.name),
            TagKind::Open | TagKind::Empty => {
                element.is_parameter(&tag) || spaced && (element.depth > 0 || element.view.is_none())
            }
        })
    }

    /// Whether what follows a tag is the inside of a call, not prose.
    fn begins_body(&self, at: usize) -> Reads<bool> {
        let next = skip_filling(self.source, at)?;
        Ok(!self.source.ends_at(next)? && self.mark_at(next)?.is_some())
    }
}
