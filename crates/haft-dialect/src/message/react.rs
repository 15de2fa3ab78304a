//! `Action: N` and `Action Input: …` on lines of their own; behind `Action:` also the JSON of Command R.

use haft_schema::json::Literal;

use super::{Output, Reader};
use crate::artifact_xml::call::Block;
use crate::call_json;
use crate::draft::{Draft, Ending, Fault};
use crate::envelope::Envelope;
use crate::literal::{name_end, python};
use crate::mend::mend;
use crate::scan::{Reads, Source, is_blank};
use crate::{Dialect, Repair};

/// Words that begin a line and end the input of an action.
const LINE_WORDS: [&str; 5] = ["observation", "thought", "action", "final answer", "answer"];

/// Longest name behind `Action:`, in bytes.
const MAX_NAME: usize = 200;

/// A line that begins with a word and a colon: `Action:`, `**Action:**`, `Action 2：`. Gives the offset behind it.
pub(super) fn labelled(source: Source<'_>, at: usize, word: &str) -> Reads<Option<usize>> {
    let mut cursor = source.skip_blanks(at);
    while matches!(source.byte(cursor), Some(b'*')) {
        cursor += 1;
    }
    for part in word.split(' ') {
        if !source.has_word(cursor, part)? {
            return Ok(None);
        }
        cursor += part.len();
        while matches!(source.byte(cursor), Some(b' ' | b'_' | b'*' | b'0'..=b'9')) {
            cursor += 1;
        }
    }
    if source.ends_at(cursor)? {
        return Ok(None);
    }
    let colon = match source.char_at(cursor) {
        Some(character @ (':' | '：')) => character.len_utf8(),
        _ => return Ok(None),
    };
    cursor += colon;
    while matches!(source.byte(cursor), Some(b'*')) {
        cursor += 1;
    }
    source.ends_at(cursor)?;
    Ok(Some(cursor))
}

/// The start of the label `Action` whose colon stands at an offset, if it begins its line.
pub(super) fn action_before(source: Source<'_>, from: usize, colon: usize) -> Option<usize> {
    let head = source.slice(from, colon);
    let line = head.trim_end_matches(|last: char| matches!(last, ' ' | '*') || last.is_ascii_digit());
    let length = "action".len();
    let start = line.len().checked_sub(length)?;
    if !line.get(start..)?.eq_ignore_ascii_case("action") {
        return None;
    }
    let bold = line.get(..start)?.trim_end_matches('*').len();
    let at = from + bold;
    source.begins_line(at).then_some(at)
}

impl<'a, O: Output> Reader<'a, '_, '_, O> {
    /// An action that begins here, if it is a call.
    pub(super) fn action(&mut self, at: usize) -> Reads<bool> {
        let source = self.source;
        let Some(behind) = labelled(source, at, "action")? else { return Ok(false) };
        let first = source.skip_blanks(behind);
        if source.ends_at(first)? {
            return Ok(false);
        }
        if source.byte(first) == Some(b'`') && source.has_word(first, "```")?
            || source.byte(first) == Some(b'{')
            || source.byte(first) == Some(b'[') && !self.is_name_in_brackets(first)?
        {
            return self.command(at, first);
        }
        let window = source.bytes().get(first..source.len().min(first + MAX_NAME)).unwrap_or_default();
        let Some(length) =
            memchr::memchr(b'\n', window).or_else(|| (window.len() < MAX_NAME).then_some(window.len()))
        else {
            return Ok(false);
        };
        let line_end = first + length;
        if line_end == source.len() {
            source.ends_at(line_end)?;
        }
        let written = source
            .slice(first, line_end)
            .trim_matches(|character| is_blank(character) || matches!(character, '*' | '`' | '"' | '\''));
        let written = written.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(written);
        if is_none(written) {
            return Ok(false);
        }
        if python::begins_declared(source, first, &self.names.tools)? {
            let envelope = Envelope::new(source, self.names, &mut self.message.ends, at, Dialect::React);
            let block = envelope.read_literal(first)?;
            self.take(block);
            return Ok(true);
        }
        let declared = self.names.tools.resolve(written).is_some();
        let Some(input) = labelled(source, line_end, "action input")? else {
            return self.action_alone(written, at, line_end);
        };
        if !declared && (written.contains(is_blank) || written.is_empty()) {
            return Ok(false);
        }
        let block = self.action_input(written, at, input)?;
        self.take(block);
        Ok(true)
    }

    /// `[N]`, as the instructions of this form show it.
    fn is_name_in_brackets(&self, at: usize) -> Reads<bool> {
        let end = name_end(self.source, at + 1);
        self.source.ends_at(end)?;
        let name = self.source.slice(at + 1, end);
        Ok(self.source.byte(end) == Some(b']') && self.names.tools.resolve(name).is_some())
    }

    /// JSON behind `Action:`.
    fn command(&mut self, at: usize, first: usize) -> Reads<bool> {
        let source = self.source;
        let mut body = first;
        if source.byte(first) == Some(b'`') {
            while source.byte(body) == Some(b'`') {
                body += 1;
            }
            while source.byte(body).is_some_and(|byte| byte.is_ascii_alphanumeric()) {
                body += 1;
            }
            body = source.skip_blanks(body);
        }
        if source.ends_at(body)? {
            return Ok(false);
        }
        if !matches!(source.byte(body), Some(b'[' | b'{')) {
            return Ok(false);
        }
        let envelope = Envelope::new(source, self.names, &mut self.message.ends, at, Dialect::CommandR);
        let mut block = envelope.read(first)?;
        // The pseudo-tool for a plain answer is no call.
        block.outcomes.retain(|outcome| {
            !outcome
                .as_ref()
                .is_ok_and(|call| call.name == "directly_answer" || call.name == "directly-answer")
        });
        self.take(block);
        Ok(true)
    }

    /// An action without any input: that of a tool that needs none.
    fn action_alone(&mut self, written: &'a str, at: usize, line_end: usize) -> Reads<bool> {
        let source = self.source;
        let Some((tool, _)) = self.names.tools.resolve(written) else { return Ok(false) };
        let next = source.skip_blanks(line_end);
        // The label of the input may be cut.
        let label = source.rest(next);
        let mut ends = source.ends_at(next)?
            || "action input".get(..label.len()).is_some_and(|head| head.eq_ignore_ascii_case(label));
        for word in LINE_WORDS {
            ends = ends || labelled(source, next, word)?.is_some();
        }
        if !ends {
            return Ok(false);
        }
        let mut draft = Draft::new(at);
        draft.set_name(written.into(), self.names);
        let ending = if tool.required.is_empty() { Ending::Closed } else { Ending::Unclosed };
        let mut outcomes = Vec::new();
        draft.finish(ending, line_end, self.names, &mut outcomes);
        self.take(Block { end: line_end, outcomes, form: Dialect::React });
        Ok(true)
    }

    fn action_input(&mut self, written: &'a str, at: usize, input: usize) -> Reads<Block> {
        let source = self.source;
        let mut draft = Draft::new(at);
        draft.set_name(written.into(), self.names);
        let mut outcomes = Vec::new();
        let mut first = source.skip_blanks(input);
        if !source.ends_at(first)? && source.byte(first) == Some(b'`') && source.has_word(first, "```")? {
            draft.repair(Repair::FenceRemoved);
            let rest = source.rest(first + 3);
            let language = rest.len()
                - rest.trim_start_matches(|character: char| character.is_ascii_alphanumeric()).len();
            first = source.skip_blanks(first + 3 + language);
        }
        source.ends_at(first)?;
        if source.byte(first) == Some(b'{') {
            match call_json::value_at(source, first)? {
                Ok(found) => {
                    if let Literal::Object(entries) = found.literal {
                        let call = call_json::named(written, entries, &self.names.tools);
                        call.arguments.into_iter().for_each(|(key, value)| draft.give_literal(key, value));
                    }
                    if found.loose {
                        draft.repair(Repair::LooseJson);
                    }
                    let end = behind_fence(source, found.end)?;
                    draft.finish(Ending::Closed, end, self.names, &mut outcomes);
                    return Ok(Block { end, outcomes, form: Dialect::React });
                }
                Err(error) => {
                    let (end, closed) = input_end(source, first)?;
                    match mend(
                        source.slice(first, end).trim_end_matches(is_blank).trim_end_matches('`'),
                        closed,
                    ) {
                        Some(mended) if closed => {
                            mended.repairs.iter().for_each(|repair| draft.repair(*repair));
                            if let Literal::Object(entries) = mended.literal {
                                entries.into_iter().for_each(|(key, value)| draft.give_literal(key, value));
                            }
                        }
                        Some(_) | None => {
                            draft.fault = Some(if closed {
                                Fault::BadJson(error.to_string())
                            } else {
                                Fault::CutInJson
                            });
                        }
                    }
                    draft.finish(Ending::Closed, end, self.names, &mut outcomes);
                    return Ok(Block { end, outcomes, form: Dialect::React });
                }
            }
        }
        let (end, closed) =
            input_end(source, input.max(source.slice(0, first).trim_end_matches(is_blank).len()))?;
        let text = source.slice(first, end).trim_matches(is_blank);
        let text = text.strip_suffix("```").map_or(text, |text| text.trim_end_matches(is_blank));
        let only = draft.tool.map(crate::tools::Tool::only_parameter);
        match only {
            _ if text.is_empty() || is_none(text) && only.flatten().is_none() => {}
            Some(Some(parameter)) => draft.give_text(parameter.into(), unquoted(text)),
            Some(None) | None => draft.fault = Some(Fault::TextInput),
        }
        draft.is_open_end = !closed;
        // No input at all is none for a tool that needs some.
        let needs_input = draft.tool.is_none_or(|tool| !tool.required.is_empty());
        let ending =
            if text.is_empty() && (needs_input || !closed) { Ending::Unclosed } else { Ending::Closed };
        draft.finish(ending, end, self.names, &mut outcomes);
        Ok(Block { end, outcomes, form: Dialect::React })
    }
}

/// Text that is one JSON string, without its quotes.
fn unquoted(text: &str) -> std::borrow::Cow<'_, str> {
    match haft_schema::json::parse(text, haft_schema::json::Syntax::Json) {
        Ok(Literal::String(inner)) => inner,
        Ok(_) | Err(_) => text.into(),
    }
}

fn is_none(name: &str) -> bool {
    let word = name
        .split(|character: char| !character.is_ascii_alphanumeric() && character != '/')
        .next()
        .unwrap_or_default();
    name.is_empty() || ["none", "n/a", "na", "null"].iter().any(|none| word.eq_ignore_ascii_case(none))
}

/// The end of an input in plain text, and whether a line behind it proves that it is whole.
fn input_end(source: Source<'_>, from: usize) -> Reads<(usize, bool)> {
    let mut at = from;
    loop {
        let rest = source.bytes().get(at..).unwrap_or_default();
        let Some(offset) = memchr::memchr(b'\n', rest) else {
            source.ends_at(source.len())?;
            return Ok((source.len(), false));
        };
        let line = at + offset + 1;
        let first = source.skip_blanks(line);
        if !source.ends_at(first)? {
            for word in LINE_WORDS {
                if labelled(source, first, word)?.is_some() {
                    return Ok((at + offset, true));
                }
            }
        }
        at = line.max(first);
    }
}

/// The offset behind the closing fence, if one follows.
fn behind_fence(source: Source<'_>, at: usize) -> Reads<usize> {
    let next = source.skip_blanks(at);
    if source.ends_at(next)? {
        return Ok(at);
    }
    Ok(if source.byte(next) == Some(b'`') && source.has_word(next, "```")? { next + 3 } else { at })
}
