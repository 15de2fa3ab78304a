//! Messages with recipients: `<|channel|>commentary to=functions.N<|message|>{…}` (harmony), ` to=N<|message|>` (muse),
//! `<|open|>call tool="N"<|sep|>` (Kimi K3), `<|message_model|>N` (inkling), `<|message_sep|>` (GigaChat).

use std::borrow::Cow;

use haft_schema::json::{self, Syntax};

use super::{Mode, Output, Reader};
use crate::Dialect;
use crate::artifact_xml::call::Block;
use crate::artifact_xml::tag::attributes;
use crate::draft::{Draft, Ending, Fault};
use crate::envelope::Envelope;
use crate::scan::{Reads, Source, is_blank};
use crate::tokens::{Meaning, Part, Thinking, Token, token_at};

/// Longest header of a message, in bytes.
const MAX_HEADER: usize = 400;

/// The header of a message in channels.
#[derive(Debug, Default)]
struct Header<'a> {
    channel: Option<&'a str>,
    recipient: Option<&'a str>,
    /// Where the content begins.
    end: usize,
}

impl<'a, O: Output> Reader<'a, '_, '_, O> {
    /// `<|start|>role`: a message of the model, or one that it invents.
    pub(super) fn message_start(&mut self, token: Token, at: usize) -> Reads<bool> {
        let source = self.source;
        let role = source.skip_blanks(token.end);
        let is_model = source.has_word(role, "assistant")?;
        if is_model {
            return self.harmony(at);
        }
        if self.output.has_outcomes() {
            self.message.mode = Mode::Ended;
            return Ok(true);
        }
        Ok(false)
    }

    /// Reads the header that begins here, up to `<|message|>`, and what the message is.
    pub(super) fn harmony(&mut self, at: usize) -> Reads<bool> {
        let source = self.source;
        let Some(header) = header(source, at)? else {
            // A header that says nothing is a mark, if a message is under way.
            return Ok(false);
        };
        self.message.in_channels = true;
        self.message.after_call = false;
        if let Some(recipient) = header.recipient.filter(|name| !is_nobody(name)) {
            return self.message_to(recipient, &header, at);
        }
        let private =
            header.recipient.is_some_and(|name| name == "self") || header.channel == Some("analysis");
        if private {
            self.output.think_mark(at, header.end);
            self.skip(header.end);
            self.message.mode = Mode::Thinking(Thinking::Message);
        } else {
            self.skip(header.end);
        }
        Ok(true)
    }

    /// A message to a tool.
    fn message_to(&mut self, recipient: &'a str, header: &Header<'a>, at: usize) -> Reads<bool> {
        let source = self.source;
        let first = source.skip_blanks(header.end);
        if !source.ends_at(first)? && source.byte(first) == Some(b'<') && token_at(source, first)?.is_none() {
            // Tags say themselves which tool is meant.
            self.skip(first);
            self.message.after_call = true;
            self.message.tag_form = Some(Dialect::MuseGlimmer);
            return Ok(true);
        }
        let envelope = Envelope::new(source, self.names, &mut self.message.ends, at, Dialect::Harmony);
        let block = envelope.with_head(recipient).read_arguments(header.end)?;
        self.take(block);
        self.message.in_channels = true;
        Ok(true)
    }

    /// `<|open|>name attributes<|sep|>`
    pub(super) fn kimi_open(&mut self, token: Token, at: usize) -> Reads<bool> {
        let source = self.source;
        let Some(element) = element(source, token.end)? else { return Ok(false) };
        self.message.in_channels = true;
        match element.name {
            "think" | "thinking" | "analysis" => {
                self.output.think_mark(at, element.end);
                self.skip(element.end);
                self.message.mode = Mode::Thinking(Thinking::Kimi);
            }
            "call" => {
                let block = self.kimi_call(&element, at)?;
                self.take(block);
            }
            _ => {
                self.skip(element.end);
                self.message.after_call |= element.name == "tools";
            }
        }
        Ok(true)
    }

    /// `<|close|>name<|sep|>`
    pub(super) fn kimi_close(&mut self, token: Token) -> Reads<bool> {
        let Some(element) = element(self.source, token.end)? else { return Ok(false) };
        self.skip(element.end);
        Ok(true)
    }

    fn kimi_call(&mut self, call: &Element<'a>, at: usize) -> Reads<Block> {
        let source = self.source;
        let mut draft = Draft::new(at);
        let mut outcomes = Vec::new();
        for (key, value) in attributes(call.attributes) {
            match key {
                "tool" | "name" => draft.set_name(value, self.names),
                "index" | "id" => draft.id = Some(value.into_owned()),
                _ => {}
            }
        }
        let mut next = call.end;
        loop {
            next = source.skip_blanks(next);
            if source.ends_at(next)? {
                draft.finish(Ending::Unclosed, next, self.names, &mut outcomes);
                return Ok(Block { end: next, outcomes, form: Dialect::KimiK3 });
            }
            let token = token_at(source, next)?;
            let inner = match token {
                Some(token) if !token.cut && token.meaning == Meaning::Channel(Part::Open) => {
                    element(source, token.end)?
                }
                Some(token) if !token.cut && token.meaning == Meaning::Channel(Part::Close) => {
                    let end = element(source, token.end)?.map_or(token.end, |element| element.end);
                    draft.finish(Ending::Closed, end, self.names, &mut outcomes);
                    return Ok(Block { end, outcomes, form: Dialect::KimiK3 });
                }
                Some(token) if token.cut => {
                    draft.finish(Ending::Unclosed, token.end, self.names, &mut outcomes);
                    return Ok(Block { end: token.end, outcomes, form: Dialect::KimiK3 });
                }
                Some(_) | None => None,
            };
            match inner {
                Some(argument) if argument.name.starts_with("arg") || argument.name.starts_with("param") => {
                    match kimi_value(source, argument.end)? {
                        Some((text, end)) => {
                            give(&mut draft, &argument, text);
                            next = end;
                        }
                        None => {
                            let name = attribute(&argument, "key").unwrap_or_default().into_owned();
                            draft.fault = Some(Fault::CutInValue(name));
                            draft.finish(Ending::Unclosed, source.len(), self.names, &mut outcomes);
                            return Ok(Block { end: source.len(), outcomes, form: Dialect::KimiK3 });
                        }
                    }
                }
                Some(_) => {
                    draft.finish(Ending::Unclosed, next, self.names, &mut outcomes);
                    return Ok(Block { end: next, outcomes, form: Dialect::KimiK3 });
                }
                None => {
                    // Arguments as JSON, or text where none may stand.
                    let step = source.rest(next).find("<|").map_or(source.len(), |length| next + length);
                    if step == source.len() {
                        source.ends_at(step)?;
                    }
                    let text = source.slice(next, step).trim_matches(is_blank);
                    match json::parse(text, Syntax::Json) {
                        Ok(json::Literal::Object(entries)) => {
                            entries.into_iter().for_each(|(key, value)| draft.give_literal(key, value));
                        }
                        Ok(_) | Err(_) => draft.stray_text(source.slice(next, step)),
                    }
                    next = step.max(next + 1);
                }
            }
        }
    }

    /// `<|message_model|>N<|content_invoke_tool_json|>{…}<|end_message|>`, or text or reasoning of the same form.
    pub(super) fn inkling(&mut self, token: Token, at: usize) -> Reads<bool> {
        let source = self.source;
        let Some((head, inner)) = head_before_token(source, token.end)? else { return Ok(false) };
        self.message.in_channels = true;
        match inner.meaning {
            Meaning::Channel(Part::InvokeJson) => {
                let envelope =
                    Envelope::new(source, self.names, &mut self.message.ends, at, Dialect::Inkling);
                let envelope = if head.is_empty() { envelope } else { envelope.with_head(head) };
                let block = envelope.read_arguments(inner.end)?;
                self.take(block);
                self.message.in_channels = true;
            }
            Meaning::Channel(Part::ContentThinking) => {
                self.output.think_mark(at, inner.end);
                self.skip(inner.end);
                self.message.mode = Mode::Thinking(Thinking::Message);
            }
            Meaning::Channel(Part::ContentText) => self.skip(inner.end),
            _ => {
                self.message.in_channels = false;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// `<|message_sep|>␤␤function call<|role_sep|>␤{…}`
    pub(super) fn gigachat(&mut self, token: Token, at: usize) -> Reads<bool> {
        let source = self.source;
        let Some((head, inner)) = head_before_token(source, token.end)? else { return Ok(false) };
        if inner.meaning != Meaning::Channel(Part::RoleSeparator) {
            return Ok(false);
        }
        if ["function call", "function_call", "tool call"].iter().any(|role| is_role(head, role)) {
            let envelope = Envelope::new(source, self.names, &mut self.message.ends, at, Dialect::Gigachat3);
            let block = envelope.read(inner.end)?;
            self.take(block);
        } else if is_role(head, "assistant") {
            self.skip(inner.end);
        } else if self.output.has_outcomes() {
            self.message.mode = Mode::Ended;
        } else {
            return Ok(false);
        }
        self.message.in_channels = true;
        Ok(true)
    }
}

/// Whether a head is this role; case and the width of blanks do not count.
fn is_role(head: &str, role: &str) -> bool {
    let mut written = head.split_whitespace();
    role.split(' ').all(|word| written.next().is_some_and(|written| written.eq_ignore_ascii_case(word)))
        && written.next().is_none()
}

/// Recipients that are no tools.
fn is_nobody(name: &str) -> bool {
    matches!(name, "self" | "user" | "all" | "assistant" | "")
}

/// The header that begins here, if it is one: roles, a channel and a recipient in any order up to `<|message|>`, or up to the arguments where
/// that is missing.
fn header(source: Source<'_>, at: usize) -> Reads<Option<Header<'_>>> {
    let mut found = Header::default();
    let mut cursor = at;
    let mut said_channel = false;
    loop {
        cursor = source.skip_blanks(cursor);
        if cursor - at > MAX_HEADER {
            return Ok(None);
        }
        if source.ends_at(cursor)? {
            found.end = cursor;
            return Ok(found.recipient.is_some().then_some(found));
        }
        if let Some(token) = token_at(source, cursor)? {
            if token.cut {
                found.end = token.end;
                return Ok(found.recipient.is_some().then_some(found));
            }
            match token.meaning {
                Meaning::Channel(Part::Start) if cursor == at => {}
                Meaning::Channel(Part::Constrain) => {}
                Meaning::Channel(Part::Channel) if !said_channel || found.recipient.is_some() => {
                    said_channel = true;
                }
                Meaning::Channel(Part::Message) => {
                    found.end = token.end;
                    return Ok(Some(found));
                }
                _ => return Ok(None),
            }
            cursor = token.end;
            continue;
        }
        if matches!(source.byte(cursor), Some(b'{')) && found.recipient.is_some() {
            found.end = cursor;
            return Ok(Some(found));
        }
        let mut end = cursor;
        while let Some(character) = source.char_at(end) {
            if is_blank(character) || matches!(character, '<' | '{') || end - cursor > MAX_HEADER {
                break;
            }
            end += character.len_utf8();
        }
        source.ends_at(end)?;
        let word = source.slice(cursor, end);
        match word.strip_prefix("to=") {
            Some(recipient) => found.recipient = Some(recipient),
            None if matches!(word, "analysis" | "commentary" | "final") => found.channel = Some(word),
            None if matches!(word, "assistant" | "json" | "code") => {}
            None if said_channel
                && !word.is_empty()
                && word.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {}
            None => return Ok(None),
        }
        cursor = end;
    }
}

/// The offset of `to=N` right before a `<|message|>`, where a message of Muse begins.
pub(super) fn recipient_before(source: Source<'_>, from: usize, at: usize) -> Option<usize> {
    let before = source.slice(from, at);
    let before = before.trim_end_matches([' ', '\t']);
    let start = before.rfind("to=").filter(|start| {
        before
            .get(start + 3..)
            .is_some_and(|name| !name.is_empty() && name.len() <= 160 && !name.contains(is_blank))
    })?;
    let head = source.slice(0, from + start);
    let bounded = head.is_empty() || head.ends_with(is_blank) || head.ends_with('>');
    bounded.then_some(from + start)
}

/// An element of Kimi K3.
struct Element<'a> {
    name: &'a str,
    attributes: &'a str,
    end: usize,
}

/// The offset behind an element's name and its mark.
pub(super) fn element_end(source: Source<'_>, from: usize) -> Reads<Option<usize>> {
    Ok(element(source, from)?.map(|element| element.end))
}

fn element(source: Source<'_>, from: usize) -> Reads<Option<Element<'_>>> {
    let mut name_end = from;
    while source.byte(name_end).is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        name_end += 1;
    }
    let mut at = name_end;
    let mut quote = None;
    loop {
        if source.ends_at(at)? || at - from > MAX_HEADER * 4 {
            return Ok(None);
        }
        let byte = source.byte(at);
        match (quote, byte) {
            (Some(open), Some(byte)) if byte == open => quote = None,
            (None, Some(byte @ (b'"' | b'\''))) => quote = Some(byte),
            (None, Some(b'<')) => break,
            (Some(_) | None, _) => {}
        }
        at += 1;
    }
    let token = token_at(source, at)?
        .filter(|token| !token.cut && token.meaning == Meaning::Channel(Part::Separator));
    Ok(token.filter(|_| name_end > from).map(|token| Element {
        name: source.slice(from, name_end),
        attributes: source.slice(name_end, at).trim_matches(is_blank),
        end: token.end,
    }))
}

fn attribute<'a>(element: &Element<'a>, name: &str) -> Option<Cow<'a, str>> {
    attributes(element.attributes).find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// The text of an argument and the offset after its closing mark, behind which another argument or the end of the call stands.
fn kimi_value(source: Source<'_>, from: usize) -> Reads<Option<(&str, usize)>> {
    let mut at = from;
    let mut unfit = None;
    loop {
        let rest = source.bytes().get(at..).unwrap_or_default();
        let Some(offset) = memchr::memmem::find(rest, b"<|") else {
            source.ends_at(source.len())?;
            return Ok(unfit);
        };
        let found = at + offset;
        if let Some(token) = token_at(source, found)?.filter(|token| !token.cut)
            && token.meaning == Meaning::Channel(Part::Close)
            && let Some(closed) = element(source, token.end)?
            && (closed.name.starts_with("arg") || closed.name.starts_with("param"))
        {
            let next = source.skip_blanks(closed.end);
            let value = (source.slice(from, found), closed.end);
            if source.ends_at(next)? {
                return Ok(Some(value));
            }
            let goes_on = token_at(source, next)?
                .is_some_and(|token| matches!(token.meaning, Meaning::Channel(Part::Open | Part::Close)));
            if goes_on {
                return Ok(Some(value));
            }
            unfit = unfit.or(Some(value));
        }
        at = found + 2;
    }
}

/// Gives an argument as its `type` says; a `string` is never anything but text.
fn give<'a>(draft: &mut Draft<'a, '_>, argument: &Element<'a>, text: &'a str) {
    let key = attribute(argument, "key").or_else(|| attribute(argument, "name")).unwrap_or_default();
    let typed = draft.is_typed(&key);
    let is_text = attribute(argument, "type").is_none_or(|kind| kind == "string");
    match json::parse(text, Syntax::Json) {
        Ok(literal) if !is_text && !typed => draft.give_literal(key, literal),
        Ok(_) | Err(_) => draft.give_text(key, Cow::Borrowed(text)),
    }
}

/// The short text before the next token, and the token.
fn head_before_token(source: Source<'_>, from: usize) -> Reads<Option<(&str, Token)>> {
    let window = source.bytes().get(from..source.len().min(from + MAX_HEADER)).unwrap_or_default();
    let Some(offset) = memchr::memchr(b'<', window) else {
        if window.len() < MAX_HEADER {
            source.ends_at(source.len())?;
        }
        return Ok(None);
    };
    let at = from + offset;
    let token = token_at(source, at)?.filter(|token| !token.cut);
    Ok(token.map(|token| (source.slice(from, at).trim_matches(is_blank), token)))
}
