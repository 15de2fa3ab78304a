//! Kimi K3: `<|open|>call tool="N"<|sep|>`, arguments as elements of the same kind, `<|close|>call<|sep|>`.

use std::borrow::Cow;

use haft_schema::json::{self, Syntax};

use super::channels::MAX_HEADER;
use super::{Mode, Output, Reader};
use crate::artifact_xml::call::Block;
use crate::artifact_xml::tag::{attributes, skip_filling};
use crate::draft::{Draft, Ending, Fault};
use crate::marks::is_think_tag;
use crate::scan::{Reads, Source, is_blank};
use crate::tokens::{Meaning, Part, Thinking, Token, token_at};
use crate::tools::Tool;
use crate::{Dialect, Repair};

impl<'a, O: Output> Reader<'a, '_, '_, O> {
    /// `<|open|>name attributes<|sep|>`
    pub(super) fn kimi_open(&mut self, token: Token, at: usize) -> Reads<bool> {
        let Some(element) = element(self.source, token.end)? else { return Ok(false) };
        if !self.message.in_channels && (element.cut || self.is_mention(at)) {
            // In prose only what goes on with another mark is more than a mention.
            let next = skip_filling(self.source, element.end)?;
            if self.source.ends_at(next)? || part_at(self.source, next)?.is_none() {
                return Ok(false);
            }
        }
        self.message.in_channels = true;
        if element.is("call") {
            let block = self.kimi_call(&element, at)?;
            self.take(block);
        } else if element.is_thought() && !element.cut {
            self.output.think_mark(at, element.end);
            self.skip(element.end);
            self.message.mode = Mode::Thinking(Thinking::Kimi);
        } else {
            self.skip(element.end);
            self.message.after_call |= element.is("tools");
        }
        Ok(true)
    }

    /// `<|close|>name<|sep|>`
    pub(super) fn kimi_close(&mut self, token: Token) -> Reads<bool> {
        let Some(element) = element(self.source, token.end)? else { return Ok(false) };
        let known = !element.cut || self.message.in_channels;
        if known {
            self.skip(element.end);
        }
        Ok(known)
    }

    fn kimi_call(&mut self, call: &Element<'a>, at: usize) -> Reads<Block> {
        let source = self.source;
        let mut draft = Draft::new(at);
        for (key, value) in attributes(call.attributes) {
            match key.to_ascii_lowercase().as_str() {
                "tool" | "name" => draft.set_name(value, self.names),
                "index" | "id" => draft.id = Some(value.into_owned()),
                _ => {}
            }
        }
        let mut next = call.end;
        let (end, ending) = if call.cut {
            draft.fault = Some(Fault::CutInName);
            (next, Ending::Unclosed)
        } else {
            loop {
                next = skip_filling(source, next)?;
                match part_at(source, next)? {
                    _ if source.ends_at(next)? => break (next, Ending::Unclosed),
                    Some(Found::Cut(end)) => break (end, Ending::Unclosed),
                    Some(Found::Open(argument)) if argument.cut => {
                        draft.fault.get_or_insert(Fault::CutInTag);
                        break (argument.end, Ending::Unclosed);
                    }
                    Some(Found::Open(argument)) if argument.is_argument() => {
                        match value(source, argument.end, draft.tool)? {
                            Value::Whole { text, end, repaired } => {
                                if repaired {
                                    draft.repair(Repair::ValueClosed);
                                }
                                give(&mut draft, &argument, text);
                                next = end;
                            }
                            Value::Cut { resume } => {
                                self.message.ends.overread += source.len() - resume;
                                draft.fault = Some(Fault::CutInValue(argument.key().into_owned()));
                                break (resume, Ending::Unclosed);
                            }
                        }
                    }
                    Some(Found::Open(_)) => break (next, Ending::Unclosed),
                    Some(Found::Close(closed)) if closed.cut => break (closed.end, Ending::Unclosed),
                    Some(Found::Close(closed)) if closed.is_argument() => {
                        draft.repair(Repair::StrayTagDropped);
                        next = closed.end;
                    }
                    // The end of the list ends the call too.
                    Some(Found::Close(closed)) => {
                        break (if closed.is("call") { closed.end } else { next }, Ending::Closed);
                    }
                    None => next = stray(source, next, &mut draft)?,
                }
            }
        };
        let mut outcomes = Vec::new();
        draft.finish(ending, end, self.names, &mut outcomes);
        Ok(Block { end, outcomes, form: Dialect::KimiK3 })
    }
}

/// Arguments as JSON, or text where none may stand. Gives the offset behind it.
fn stray<'a>(source: Source<'a>, at: usize, draft: &mut Draft<'a, '_>) -> Reads<usize> {
    let from = at + source.char_at(at).map_or(1, char::len_utf8);
    let end = source.rest(from).find("<|").map_or(source.len(), |length| from + length);
    if end == source.len() {
        source.ends_at(end)?;
    }
    let text = source.slice(at, end);
    match json::parse(text.trim_matches(is_blank), Syntax::Json) {
        Ok(json::Literal::Object(entries)) => {
            entries.into_iter().for_each(|(key, value)| draft.give_literal(key, value));
        }
        Ok(_) | Err(_) => draft.stray_text(text),
    }
    Ok(end)
}

/// An element of this form, by its name and attributes.
#[derive(Clone, Copy)]
struct Element<'a> {
    name: &'a str,
    attributes: &'a str,
    end: usize,
    /// The text ends inside of it.
    cut: bool,
}

impl<'a> Element<'a> {
    fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    fn is_argument(&self) -> bool {
        let begins =
            |word: &str| self.name.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word));
        begins("arg") || begins("param")
    }

    fn is_thought(&self) -> bool {
        is_think_tag(self.name) || self.is("analysis")
    }

    fn attribute(&self, name: &str) -> Option<Cow<'a, str>> {
        attributes(self.attributes).find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The name of the parameter.
    fn key(&self) -> Cow<'a, str> {
        self.attribute("key").or_else(|| self.attribute("name")).unwrap_or_default()
    }
}

/// The element whose mark ends here, if it is one.
fn element(source: Source<'_>, from: usize) -> Reads<Option<Element<'_>>> {
    let mut name_end = from;
    while source.byte(name_end).is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        name_end += 1;
    }
    let mut at = name_end;
    let mut quote = None;
    let (end, cut) = loop {
        if at - from > MAX_HEADER * 4 {
            return Ok(None);
        }
        if source.ends_at(at)? {
            break (at, true);
        }
        match (quote, source.byte(at)) {
            (Some(open), Some(byte)) if byte == open => quote = None,
            (None, Some(byte @ (b'"' | b'\''))) => quote = Some(byte),
            (None, Some(b'<')) => match token_at(source, at)? {
                Some(token) if token.cut => break (token.end, true),
                Some(token) if token.meaning == Meaning::Channel(Part::Separator) && name_end > from => {
                    break (token.end, false);
                }
                None if at + 1 == source.len() => break (source.len(), true),
                Some(_) | None => return Ok(None),
            },
            (Some(_) | None, _) => {}
        }
        at += 1;
    };
    Ok(Some(Element {
        name: source.slice(from, name_end),
        attributes: source.slice(name_end, at).trim_matches(is_blank),
        end,
        cut,
    }))
}

/// The end of the element that closes reasoning.
pub(super) fn thought_end(source: Source<'_>, from: usize) -> Reads<Option<usize>> {
    Ok(element(source, from)?
        .filter(|element| !element.cut && element.is_thought())
        .map(|element| element.end))
}

/// An element with the mark before it.
enum Found<'a> {
    Open(Element<'a>),
    Close(Element<'a>),
    /// Half a mark, at which the text ends.
    Cut(usize),
}

fn part_at(source: Source<'_>, at: usize) -> Reads<Option<Found<'_>>> {
    let Some(token) = token_at(source, at)? else { return Ok(None) };
    if token.cut {
        return Ok(Some(Found::Cut(token.end)));
    }
    Ok(match token.meaning {
        Meaning::Channel(Part::Open) => element(source, token.end)?.map(Found::Open),
        Meaning::Channel(Part::Close) => element(source, token.end)?.map(Found::Close),
        _ => None,
    })
}

/// What a value came to.
enum Value<'a> {
    Whole {
        text: &'a str,
        end: usize,
        /// Its own closing mark is missing.
        repaired: bool,
    },
    /// It has no end; reading may go on there.
    Cut { resume: usize },
}

/// The value of an argument: up to its closing mark, behind which the call goes on; where that is missing, up to the next known argument, a wrong
/// closing mark or the end of the call.
fn value<'a>(source: Source<'a>, from: usize, tool: Option<&Tool>) -> Reads<Value<'a>> {
    let whole = |(end, after): (usize, usize), repaired: bool| Value::Whole {
        text: source.slice(from, end),
        end: after,
        repaired,
    };
    let known = |argument: &Element<'_>| tool.is_some_and(|tool| tool.parameter(&argument.key()).is_some());
    // Arguments and calls that the value quotes, and the first of those calls.
    let (mut opened, mut nested, mut nested_at) = (0_usize, 0_usize, None);
    // A closing mark behind which text stands, and such an end of the call.
    let (mut unfit, mut call_end) = (None, None);
    let mut at = from;
    loop {
        let rest = source.bytes().get(at..).unwrap_or_default();
        let mut brackets = memchr::memchr_iter(b'<', rest);
        let Some(offset) = brackets.find(|offset| rest.get(offset + 1) == Some(&b'|')) else {
            source.ends_at(source.len())?;
            return Ok(match (unfit, nested_at, call_end) {
                (Some(end), ..) => whole(end, false),
                (None, Some(resume), _) => Value::Cut { resume },
                (None, None, Some(end)) => whole((end, end), true),
                (None, None, None) => Value::Cut { resume: source.len() },
            });
        };
        let found = at + offset;
        at = found + 2;
        match part_at(source, found)? {
            Some(Found::Open(argument)) if argument.is_argument() && !argument.cut => {
                if opened + nested == 0 && known(&argument) {
                    return Ok(whole(unfit.unwrap_or((found, found)), unfit.is_none()));
                }
                opened += 1;
            }
            Some(Found::Open(call)) if call.is("call") && !call.cut => {
                nested += 1;
                nested_at = nested_at.or(Some(found));
            }
            Some(Found::Close(closed)) if closed.cut => {}
            Some(Found::Close(closed)) if closed.is_argument() && opened > 0 => opened -= 1,
            Some(Found::Close(closed)) if closed.is("call") && nested > 0 => nested -= 1,
            Some(Found::Close(closed)) if opened + nested == 0 => {
                let next = skip_filling(source, closed.end)?;
                let follows = if source.ends_at(next)? { None } else { part_at(source, next)? };
                let goes_on = follows.is_some() || next == source.len();
                let next_argument = matches!(&follows, Some(Found::Open(argument)) if argument.is_argument());
                if closed.is_argument() {
                    if goes_on {
                        return Ok(whole((found, closed.end), false));
                    }
                    unfit = unfit.or(Some((found, closed.end)));
                } else if !goes_on {
                    let ends = closed.is("call") || closed.is("tools");
                    call_end = call_end.or(ends.then_some(found));
                } else if closed.is("call") || closed.is("tools") || next_argument {
                    return Ok(match (unfit, nested_at) {
                        (Some(end), _) => whole(end, false),
                        (None, Some(resume)) => Value::Cut { resume },
                        (None, None) => whole((found, if next_argument { closed.end } else { found }), true),
                    });
                }
            }
            Some(_) | None => {}
        }
    }
}

/// Gives an argument as its `type` says; a `string` is never anything but text.
fn give<'a>(draft: &mut Draft<'a, '_>, argument: &Element<'a>, text: &'a str) {
    let key = argument.key();
    let typed = draft.is_typed(&key);
    let is_text = argument.attribute("type").is_none_or(|kind| kind.eq_ignore_ascii_case("string"));
    match json::parse(text, Syntax::Json) {
        Ok(literal) if !is_text && !typed => draft.give_literal(key, literal),
        Ok(_) | Err(_) => draft.give_text(key, Cow::Borrowed(text)),
    }
}
