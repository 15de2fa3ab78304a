//! Messages with recipients: `<|channel|>commentary to=functions.N<|message|>{…}` (harmony), ` to=N<|message|>` (muse),
//! `<|message_model|>N` (inkling), `<|message_sep|>` (GigaChat).

use super::{Mode, Output, Reader};
use crate::Dialect;
use crate::artifact_xml::tag::{TagKind, tag_at};
use crate::envelope::Envelope;
use crate::scan::{Reads, Source, is_blank};
use crate::tokens::{Meaning, Part, Thinking, Token, token_at};

/// Longest header of a message, in bytes.
pub(super) const MAX_HEADER: usize = 400;

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
        if let Some(wrapper) = self.wrapper_behind_text(first)? {
            self.skip(wrapper);
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

    /// The wrapper of calls in tags that stands behind a short text, which does not count.
    fn wrapper_behind_text(&self, at: usize) -> Reads<Option<usize>> {
        let source = self.source;
        if source.ends_at(at)? || matches!(source.byte(at), Some(b'{' | b'[' | b'"' | b'`' | b'<')) {
            return Ok(None);
        }
        let window = source.bytes().get(at..source.len().min(at + MAX_HEADER)).unwrap_or_default();
        let Some(found) = memchr::memchr(b'<', window).map(|offset| at + offset) else {
            if window.len() < MAX_HEADER {
                source.ends_at(source.len())?;
            }
            return Ok(None);
        };
        let tag = tag_at(source, found)?.filter(|tag| tag.kind == TagKind::Open && !tag.cut);
        Ok(tag.filter(|tag| self.names.wrapper(tag.name).is_some()).map(|_| found))
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
            Meaning::Channel(part @ (Part::ContentThinking | Part::ContentText)) => {
                self.inkling_content(part, inner.end, at);
            }
            _ => {
                self.message.in_channels = false;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reasoning or text behind its mark, which ends at an offset.
    pub(super) fn inkling_content(&mut self, part: Part, end: usize, at: usize) {
        self.message.in_channels = true;
        if part == Part::ContentThinking {
            self.output.think_mark(at, end);
            self.message.mode = Mode::Thinking(Thinking::Message);
        }
        self.skip(end);
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

/// Whether a character may stand in a recipient: it does not begin anything else.
fn is_in_name(character: char) -> bool {
    !is_blank(character) && !matches!(character, '[' | '{' | '<' | '>' | '`')
}

/// The offset of `to=N` right before a `<|message|>`, where a message of Muse begins.
pub(super) fn recipient_before(source: Source<'_>, from: usize, at: usize) -> Option<usize> {
    let before = source.slice(from, at);
    let before = before.trim_end_matches([' ', '\t']);
    let start = before.rfind("to=").filter(|start| {
        before
            .get(start + 3..)
            .is_some_and(|name| !name.is_empty() && name.len() <= 160 && name.chars().all(is_in_name))
    })?;
    let head = source.slice(0, from + start);
    let bounded = head.is_empty() || head.ends_with(is_blank) || head.ends_with('>');
    bounded.then_some(from + start)
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
