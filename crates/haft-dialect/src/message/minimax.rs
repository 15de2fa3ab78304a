//! MiniMax M3: `]<]minimax[>[` stands before every tag, so that nothing in a value can be one. Values may hold elements: objects by their names, lists as
//! `<item>`. Tags without the mark count only where those with it leave no reading.

mod value;

use std::borrow::Cow;

use super::{Output, Reader};
use crate::artifact_xml::call::Block;
use crate::artifact_xml::names::Names;
use crate::artifact_xml::tag::{Tag, TagKind, skip_filling, tag_at};
use crate::draft::{Draft, Ending, Fault};
use crate::marks::is_result_tag;
use crate::scan::{Reads, Source};
use crate::{Dialect, Repair};
use value::Read;

/// Stands before every tag.
pub(super) const SPACE: &str = "]<]minimax[>[";

/// Longest text between a wrapper and its first invocation, in bytes.
const MAX_STRAY: usize = 400;

impl<'a, O: Output> Reader<'a, '_, '_, O> {
    /// A tag of this form, if one begins here.
    pub(super) fn minimax(&mut self, at: usize) -> Reads<bool> {
        let source = self.source;
        // The first bracket may have been taken for text already.
        let whole = source.byte(at) == Some(b']');
        let rest = if whole { SPACE } else { SPACE.get(1..).unwrap_or_default() };
        if !source.has_word(at, rest)? {
            // Half a mark behind a call belongs to it.
            let cut = self.message.after_call && rest.starts_with(source.rest(at));
            if cut {
                self.skip(source.len());
            }
            return Ok(cut);
        }
        let from = at + rest.len();
        source.ends_at(from)?;
        let tag = tag_at(source, from)?;
        if let Some(tag) = tag.filter(|tag| tag.kind != TagKind::Close && !tag.cut)
            && !self.in_tilde_fence(at)
        {
            if let Some(block) = self.minimax_block(&tag, at)? {
                self.take(block);
                return Ok(true);
            }
            if let Some(wrapper) = self.names.wrapper(tag.name) {
                return self.wrapper(&tag, wrapper, at);
            }
        }
        let closes = tag.is_none_or(|tag| tag.kind == TagKind::Close || tag.cut);
        if !closes || self.is_mention(at) {
            self.pass(from);
        } else {
            self.skip(tag.map_or(from, |tag| tag.end));
        }
        Ok(true)
    }

    /// The calls that a tag of this form opens, if it is not only mentioned; the tag is a wrapper or names a declared tool.
    pub(super) fn minimax_block(&mut self, tag: &Tag<'a>, at: usize) -> Reads<Option<Block>> {
        let source = self.source;
        let mut block = BlockReader {
            cursor: Cursor { source, names: self.names, at: tag.end, elements: 0, cuts: 0, overread: 0 },
            start: at,
            last_end: tag.end,
            block: Block { end: tag.end, outcomes: Vec::new(), form: Dialect::MinimaxM3 },
        };
        if self.names.wrapper(tag.name).is_some() {
            let next = skip_filling(source, tag.end)?;
            if source.ends_at(next)? {
                if self.is_mention(at) {
                    return Ok(None);
                }
            } else if !block.cursor.begins_calls(next)? {
                return Ok(None);
            }
            block.calls()?;
        } else {
            let declared = tag.carried_name().is_some_and(|name| self.names.tools.resolve(&name).is_some());
            let next = skip_filling(source, tag.end)?;
            let follows = !source.ends_at(next)? && block.cursor.mark_at(next)?.is_some();
            if !Names::is_named_element(tag.name) || !declared || !follows {
                return Ok(None);
            }
            block.call(tag)?;
        }
        self.message.ends.overread += block.cursor.overread;
        Ok(Some(block.block))
    }
}

/// A tag, with the mark before it or without.
struct Mark<'a> {
    tag: Tag<'a>,
    /// Where the tag begins, or the mark before it.
    start: usize,
    /// The mark stands before it.
    spaced: bool,
}

struct Cursor<'a, 'n> {
    source: Source<'a>,
    names: &'n Names,
    at: usize,
    elements: usize,
    /// Values whose end was looked for in vain, and the bytes that are read again behind them.
    cuts: usize,
    overread: usize,
}

impl<'a> Cursor<'a, '_> {
    /// The next tag.
    fn next_mark(&self, from: usize) -> Reads<Option<Mark<'a>>> {
        let source = self.source;
        let mut search = from;
        loop {
            let rest = source.bytes().get(search..).unwrap_or_default();
            let Some(offset) = memchr::memchr(b'<', rest) else {
                source.ends_at(source.len())?;
                return Ok(None);
            };
            let found = search + offset;
            let before = found.checked_sub(1).filter(|before| *before >= from);
            let space = match before {
                Some(before) if source.byte(before) == Some(b']') && source.has_word(before, SPACE)? => {
                    Some(before)
                }
                _ => None,
            };
            let tag_start = space.map_or(found, |space| space + SPACE.len());
            source.ends_at(tag_start)?;
            if let Some(tag) = tag_at(source, tag_start)?
                && !self.runs_into_mark(tag_start, tag.end)?
            {
                return Ok(Some(Mark { tag, start: space.unwrap_or(found), spaced: space.is_some() }));
            }
            search = tag_start.max(found + 1);
        }
    }

    /// Whether calls of this form begin behind a wrapper: a tag with the mark, an element that names a tool, or text before one that is declared.
    fn begins_calls(&self, next: usize) -> Reads<bool> {
        let source = self.source;
        if matches!(source.byte(next), Some(b'{' | b'[' | b'`')) {
            return Ok(false);
        }
        let window = source.bytes().get(next..source.len().min(next + MAX_STRAY)).unwrap_or_default();
        if memchr::memchr(b'<', window).is_none() {
            if window.len() < MAX_STRAY {
                source.ends_at(source.len())?;
            }
            return Ok(false);
        }
        let Some(mark) = self.next_mark(next)? else { return Ok(false) };
        let named = mark.tag.kind == TagKind::Open && Names::is_named_element(mark.tag.name);
        if mark.start == next {
            return Ok(mark.spaced || named);
        }
        let declared = mark.tag.carried_name().is_some_and(|name| self.names.tools.resolve(&name).is_some());
        Ok(mark.spaced && named && declared)
    }

    /// Whether a mark begins inside of what looks like a tag, which is none then.
    fn runs_into_mark(&self, from: usize, end: usize) -> Reads<bool> {
        let source = self.source;
        let inside = source.bytes().get(from..end).unwrap_or_default();
        if memchr::memmem::find(inside, SPACE.as_bytes()).is_some() {
            return Ok(true);
        }
        // Its first bracket may be the last byte.
        Ok(inside.last() == Some(&b']') && source.has_word(end - 1, SPACE)?)
    }

    /// The tag that begins here.
    fn mark_at(&self, at: usize) -> Reads<Option<Mark<'a>>> {
        if !matches!(self.source.byte(at), Some(b'<' | b']')) {
            return Ok(None);
        }
        Ok(self.next_mark(at)?.filter(|mark| mark.start == at))
    }

    /// Whether a tag opens or closes a call or a list of them.
    fn is_structure(&self, tag: &Tag<'_>) -> bool {
        let named = Names::is_named_element(tag.name)
            && (tag.kind == TagKind::Close || tag.name == "invoke" || tag.carried_name().is_some());
        named || self.names.wrapper(tag.name).is_some()
    }

    /// The parameters of one call, up to its close tag or to where it must end without one.
    fn invocation(&mut self, draft: &mut Draft<'a, '_>) -> Reads<Ending> {
        let source = self.source;
        loop {
            let from = skip_filling(source, self.at)?;
            let Some(Mark { tag, start, spaced }) = self.next_mark(from)? else {
                draft.stray_text(without_half(source.rest(from)));
                self.at = source.len();
                return Ok(Ending::Unclosed);
            };
            draft.stray_text(source.slice(from, start));
            self.at = tag.end;
            match tag.kind {
                TagKind::Close if tag.cut => return Ok(Ending::Unclosed),
                TagKind::Close if Names::is_named_element(tag.name) => return Ok(Ending::Closed),
                TagKind::Close if self.names.wrapper(tag.name).is_some() => {
                    self.at = start;
                    return Ok(Ending::Closed);
                }
                TagKind::Close => draft.repair(Repair::StrayTagDropped),
                TagKind::Open | TagKind::Empty if tag.cut => {
                    draft.fault.get_or_insert(Fault::CutInTag);
                    return Ok(Ending::Unclosed);
                }
                TagKind::Open | TagKind::Empty
                    if self.is_structure(&tag)
                        && draft.tool.is_none_or(|tool| tool.parameter(tag.name).is_none()) =>
                {
                    // The next call.
                    self.at = start;
                    return Ok(Ending::Unclosed);
                }
                // Markup in a stray text.
                TagKind::Open | TagKind::Empty
                    if !spaced
                        && draft.tool.is_some_and(|tool| tool.parameter(&parameter_name(&tag)).is_none()) => {
                }
                TagKind::Empty => draft.give_text(tag.name.into(), "".into()),
                TagKind::Open => {
                    let name = parameter_name(&tag);
                    match self.parameter(&tag, &name, spaced, draft)? {
                        Read::Text(text) => draft.give_text(name, text.into()),
                        Read::Literal(literal) => draft.give_literal(name, literal),
                        Read::Cut(resume) => {
                            draft.fault.get_or_insert(Fault::CutInValue(name.into_owned()));
                            self.at = resume;
                            return Ok(Ending::Unclosed);
                        }
                    }
                }
            }
        }
    }
}

/// The name of the parameter that a tag stands for.
fn parameter_name<'a>(tag: &Tag<'a>) -> Cow<'a, str> {
    tag.carried_name().unwrap_or(Cow::Borrowed(tag.name))
}

/// A text without the half of a tag in which it ends.
fn without_half(text: &str) -> &str {
    const CLOSER: &str = "]<]minimax[>[</";
    let half =
        (2..=CLOSER.len()).find(|length| CLOSER.get(..*length).is_some_and(|half| text.ends_with(half)));
    half.and_then(|length| text.get(..text.len() - length)).unwrap_or(text)
}

/// Reads the calls of one wrapper.
struct BlockReader<'a, 'n> {
    cursor: Cursor<'a, 'n>,
    start: usize,
    /// The end of the last thing that was understood.
    last_end: usize,
    block: Block,
}

impl<'a> BlockReader<'a, '_> {
    /// One call, whose open tag was read.
    fn call(&mut self, tag: &Tag<'a>) -> Reads<()> {
        let names = self.cursor.names;
        let mut draft = Draft::new(self.start);
        if let Some(name) = tag.carried_name() {
            draft.set_name(name, names);
        }
        self.cursor.at = tag.end;
        let ending =
            if tag.kind == TagKind::Empty { Ending::Closed } else { self.cursor.invocation(&mut draft)? };
        self.block.end = self.cursor.at;
        self.last_end = self.cursor.at;
        draft.finish(ending, self.cursor.at, names, &mut self.block.outcomes);
        Ok(())
    }

    /// A call that says nothing of itself.
    fn nameless(&mut self, fault: Fault, end: usize) {
        let mut draft = Draft::new(self.start);
        draft.fault = Some(fault);
        draft.finish(Ending::Unclosed, end, self.cursor.names, &mut self.block.outcomes);
    }

    /// The calls up to the close tag of the wrapper.
    fn calls(&mut self) -> Reads<()> {
        let source = self.cursor.source;
        loop {
            let from = skip_filling(source, self.cursor.at)?;
            let Some(Mark { tag, start, spaced }) = self.cursor.next_mark(from)? else {
                // Text behind the last call is not part of it; half a mark is.
                let rest = source.slice(self.last_end, source.len());
                let alone = without_half(rest).trim().is_empty();
                self.block.end =
                    if alone || self.block.outcomes.is_empty() { source.len() } else { self.last_end };
                break;
            };
            let wrapper = self.cursor.names.wrapper(tag.name).is_some();
            let named = Names::is_named_element(tag.name);
            let declared =
                tag.carried_name().is_some_and(|name| self.cursor.names.tools.resolve(&name).is_some());
            self.cursor.at = tag.end;
            match tag.kind {
                TagKind::Close if wrapper || tag.cut => {
                    self.block.end = tag.end;
                    break;
                }
                TagKind::Open | TagKind::Empty if tag.cut => {
                    if spaced {
                        self.nameless(Fault::CutInTag, tag.end);
                    }
                    self.block.end = tag.end;
                    break;
                }
                TagKind::Open | TagKind::Empty if wrapper || is_result_tag(tag.name) => {
                    self.block.end = start;
                    break;
                }
                TagKind::Open | TagKind::Empty if named && (spaced || start == from || declared) => {
                    if !self.block.outcomes.is_empty() {
                        self.start = start;
                    }
                    self.call(&tag)?;
                }
                // Marks between the calls say nothing.
                TagKind::Close | TagKind::Open | TagKind::Empty => {}
            }
        }
        if self.block.outcomes.is_empty() {
            self.nameless(Fault::NoName, self.block.end);
        }
        Ok(())
    }
}
