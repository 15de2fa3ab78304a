//! Calls without a marker of their own: literal lists, recipients on a line, JSON on a line of its own at the end. Only declared names make one.

use haft_schema::json::{Literal, Problem, ReadError};

use super::opening::behind_brackets;
use super::quoted::Fence;
use super::{Output, Reader};
use crate::artifact_xml::call::Block;
use crate::artifact_xml::tag::{TagKind, tag_at};
use crate::call_json::{self, Found};
use crate::draft::{Draft, Ending, Fault, Outcome};
use crate::envelope::Envelope;
use crate::literal::{gemma, name_end, python};
use crate::marks::{invents_answer, is_result_tag};
use crate::mend::{Mended, mend};
use crate::scan::{NeedMore, Reads, Source, is_blank};
use crate::tokens::{Meaning, token_at};
use crate::{Dialect, Repair};

/// Longest first line that can be a recipient, in bytes.
const MAX_RECIPIENT: usize = 128;

impl<'a, O: Output> Reader<'a, '_, '_, O> {
    /// `[N(K=V), …]` or `N(K=V)` at a line's start: every name is declared, and every call can be read or the list is closed.
    pub(super) fn literal_calls(&mut self, at: usize) -> Reads<bool> {
        let source = self.source;
        let listed = source.byte(at) == Some(b'[');
        let first = if listed { source.skip_blanks(at + 1) } else { at };
        source.ends_at(first)?;
        let is_gemma = !listed && gemma::begins_declared(source, first, &self.names.tools)?;
        if !is_gemma {
            if !python::begins_declared(source, first, &self.names.tools)? {
                return Ok(false);
            }
            if !listed && !python::begins_keyword(source, first)? {
                return Ok(false);
            }
        }
        let form = if is_gemma { Dialect::Gemma4 } else { Dialect::Pythonic };
        let envelope = Envelope::new(source, self.names, &mut self.message.ends, at, form);
        let block = envelope.read_literal(at)?;
        if !self.names_declared(&block.outcomes) {
            return Ok(false);
        }
        // A call alone on its line is one only if nothing but calls follows.
        if !listed && !self.ends_line(block.end)? && !self.closes_call(block.end)? {
            return Ok(false);
        }
        self.take(block);
        Ok(true)
    }

    /// Whether the closing mark of calls stands here, whose opening one is missing.
    fn closes_call(&self, at: usize) -> Reads<bool> {
        Ok(token_at(self.source, at)?.is_some_and(|token| token.meaning == Meaning::CallClose))
    }

    /// JSON or a literal list that begins a line behind prose: a call only if nothing follows it.
    pub(super) fn last_line(&mut self, at: usize) -> Reads<bool> {
        // What a message in channels says to the user is no call.
        if self.message.in_channels {
            return Ok(false);
        }
        let source = self.source;
        if !source.begins_line(at) || self.message.unread_lines >= MAX_UNREAD_LINES {
            return Ok(false);
        }
        let first = source.skip_blanks(at + 1);
        source.ends_at(first)?;
        if source.byte(at) == Some(b'[') && source.byte(first) != Some(b'{') {
            if !python::begins_declared(source, first, &self.names.tools)? || self.in_tilde_fence(at) {
                return Ok(false);
            }
            let envelope = Envelope::new(source, self.names, &mut self.message.ends, at, Dialect::Pythonic);
            let block = envelope.read_literal(at)?;
            self.message.unread_lines += 1;
            let whole = block.outcomes.iter().all(|outcome| {
                outcome.as_ref().is_ok_and(|call| self.names.tools.resolve(&call.name).is_some())
            });
            if !whole || !self.only_ends_follow(block.end)? {
                return Ok(false);
            }
            self.take(block);
            return Ok(true);
        }
        if !begins_like_call(source, at)? || self.in_tilde_fence(at) {
            return Ok(false);
        }
        let Ok(found) = call_json::value_at(source, at)? else {
            self.message.unread_lines += 1;
            return Ok(false);
        };
        if !call_json::declared(&found.literal, &self.names.tools) {
            return Ok(false);
        }
        // Behind a closing mark whose opener is missing anything may follow.
        let closer = self.lone_closer(found.end)?;
        if closer.is_none() && !self.only_ends_follow(found.end)? {
            return Ok(false);
        }
        let mut block = self.bare_calls(at, found);
        block.end = closer.unwrap_or(block.end);
        if block.outcomes.iter().any(Result::is_err) {
            return Ok(false);
        }
        self.take(block);
        Ok(true)
    }

    /// The offset behind the closing mark of calls that stands here.
    fn lone_closer(&self, at: usize) -> Reads<Option<usize>> {
        let at = self.source.skip_blanks(at);
        if self.source.ends_at(at)? {
            return Ok(None);
        }
        if let Some(token) = token_at(self.source, at)?.filter(|token| !token.cut) {
            let closes = matches!(token.meaning, Meaning::CallClose | Meaning::SectionClose);
            return Ok(closes.then_some(token.end));
        }
        let closer = tag_at(self.source, at)?.filter(|tag| tag.kind == TagKind::Close && !tag.cut);
        Ok(closer.filter(|tag| self.names.wrapper(tag.name).is_some()).map(|tag| tag.end))
    }

    /// Fences that end the message and hold nothing but calls in JSON, or in Gemma's `tool_code`. Prose may stand before them.
    pub(super) fn last_fences(&mut self, at: usize, length: usize) -> Reads<bool> {
        // Each fence of a row meets what the row breaks off at.
        if self.message.unfit_fence.is_some_and(|unfit| at <= unfit) {
            return Ok(false);
        }
        let mut reached = at;
        let taken = self.fences_from(at, length, &mut reached)?;
        if !taken {
            self.message.unfit_fence = Some(reached);
        }
        Ok(taken)
    }

    /// The row of fences that begins here. `reached` is the start of the last one that was looked at.
    fn fences_from(&mut self, at: usize, length: usize, reached: &mut usize) -> Reads<bool> {
        let source = self.source;
        // Behind prose only these dialects have calls so; behind a call of another form the fence only shows it.
        let fits = match self.names.dialect {
            Dialect::JsonFence | Dialect::Gemma3 => true,
            Dialect::Auto => !self.output.has_outcomes(),
            _ => false,
        };
        if !fits && !self.begins_message() {
            return Ok(false);
        }
        let mut outcomes = Vec::new();
        let mut form = Dialect::JsonFence;
        let mut fence = Fence { mark: b'`', length, start: at };
        let mut next = source.skip_blanks(at + length);
        loop {
            let Some(info_end) = source.rest(next).find('\n').map(|length| next + length) else {
                source.ends_at(source.len())?;
                return Ok(false);
            };
            let info = source.slice(next, info_end).trim();
            // A body right behind the mark has no line of its own.
            let is_code = info == "tool_code" || info == "tool_call";
            next = source.skip_comments(if info.starts_with(['{', '[']) { next } else { info_end })?;
            if source.ends_at(next)? {
                return Ok(false);
            }
            let before = outcomes.len();
            loop {
                let is_json = matches!(source.byte(next), Some(b'{' | b'['));
                let block = match source.byte(next) {
                    Some(b'[') if is_code && self.python_in_fence(next)? => self.literal_block(next)?,
                    Some(b'{' | b'[') => {
                        if !begins_like_call(source, next)? {
                            return Ok(false);
                        }
                        match call_json::value_at(source, next)? {
                            Ok(found) if call_json::declared(&found.literal, &self.names.tools) => {
                                let mut block = self.bare_calls(at, found);
                                block.end = behind_brackets(source, block.end);
                                source.ends_at(block.end)?;
                                block
                            }
                            Ok(_) => return Ok(false),
                            Err(error) => match self.broken_in_fence(at, next, fence, &error)? {
                                Some(block) => block,
                                None => return Ok(false),
                            },
                        }
                    }
                    Some(_) if is_code && self.python_in_fence(next)? => {
                        form = Dialect::Gemma3;
                        self.literal_block(next)?
                    }
                    _ => return Ok(false),
                };
                let all_read = block.outcomes.iter().all(Result::is_ok);
                if !(all_read || is_json) || !self.names_declared(&block.outcomes) {
                    return Ok(false);
                }
                next = source.skip_blanks(block.end);
                outcomes.extend(block.outcomes);
                if source.ends_at(next)? {
                    break;
                }
                if matches!(source.byte(next), Some(b',' | b';')) {
                    next = source.skip_blanks(next + 1);
                    source.ends_at(next)?;
                }
                if source.byte(next) == Some(b'`') {
                    break;
                }
            }
            if outcomes.len() == before {
                return Ok(false);
            }
            if source.ends_at(next)? {
                break;
            }
            let run = self.run_length(next, b'`')?;
            if run < fence.length && !source.ends_at(next + run)? {
                return Ok(false);
            }
            next += run;
            if self.only_ends_follow(next)? {
                next = source.len();
                break;
            }
            next = source.skip_blanks(next);
            if self.invents_answer_at(next)? {
                break;
            }
            let run = self.run_length(next, b'`')?;
            if run < 3 || !source.begins_line(next) {
                return Ok(false);
            }
            fence = Fence { mark: b'`', length: run, start: next };
            *reached = next;
            next += run;
            while matches!(source.byte(next), Some(b' ')) {
                next += 1;
            }
        }
        for call in outcomes.iter_mut().flatten() {
            call.span.start = call.span.start.max(at);
            if !call.repairs.contains(&Repair::FenceRemoved) {
                call.repairs.push(Repair::FenceRemoved);
            }
        }
        self.take(Block { end: next, outcomes, form });
        Ok(true)
    }

    /// Whether an answer of a tool stands here, which only the model can have invented.
    fn invents_answer_at(&self, at: usize) -> Reads<bool> {
        let source = self.source;
        if let Some(tag) = tag_at(source, at)? {
            return Ok(tag.kind == TagKind::Open && is_result_tag(tag.name));
        }
        let rest = source.rest(at);
        let line = rest.lines().next().unwrap_or_default();
        match invents_answer(line) {
            Some(invents) => Ok(invents),
            None if line.len() == rest.len() => source.ends_at(source.len()).map(|_| false),
            None => Ok(false),
        }
    }

    /// Whether attempts name declared tools and no others, at least one of them.
    pub(super) fn names_declared(&self, outcomes: &[Outcome]) -> bool {
        let mut names = outcomes.iter().filter_map(|outcome| match outcome {
            Ok(call) => Some(call.name.as_str()),
            Err(malformed) => malformed.name.as_deref(),
        });
        let mut names = names.by_ref().peekable();
        names.peek().is_some() && names.all(|name| self.names.tools.resolve(name).is_some())
    }

    /// JSON that cannot be read as it stands, between here and the end of its fence or of the text: calls where one reading is left, else a
    /// report where it was cut off or gives one parameter twice.
    fn broken_in_fence(
        &mut self,
        start: usize,
        at: usize,
        fence: Fence,
        error: &ReadError,
    ) -> Reads<Option<Block>> {
        let source = self.source;
        let line = self.fence_end_line(at, fence)?;
        let end = line.unwrap_or(source.len());
        let ending = if line.is_some() { Ending::Closed } else { Ending::Unclosed };
        let text = source.slice(at, end);
        let declared = |mended: &Mended| call_json::declared(&mended.literal, &self.names.tools);
        if let Some(mended) = mend(text, line.is_some()).filter(declared) {
            let envelope =
                Envelope::new(source, self.names, &mut self.message.ends, start, Dialect::JsonFence);
            return Ok(Some(envelope.with_repairs([Repair::WrapperAdded]).read_mended(mended, end, ending)));
        }
        if text.starts_with('[') && line.is_some() {
            let fenced = Source::new(source.slice(0, end), true);
            let envelope =
                Envelope::new(fenced, self.names, &mut self.message.ends, start, Dialect::JsonFence);
            let block = envelope.with_repairs([Repair::WrapperAdded]).read(at)?;
            return Ok(block.outcomes.iter().any(Result::is_ok).then_some(block));
        }
        let fault = match error.problem {
            Problem::DuplicateKey { .. } if line.is_some() => Fault::BadJson(error.to_string()),
            Problem::Cut if line.is_none() => Fault::CutInJson,
            _ => return Ok(None),
        };
        let name = call_json::name_in(text).filter(|name| self.names.tools.resolve(name).is_some());
        let Some(name) = name else { return Ok(None) };
        let mut draft = Draft::new(start);
        draft.set_name(name.into(), self.names);
        draft.fault = Some(fault);
        let mut outcomes = Vec::new();
        draft.finish(ending, end, self.names, &mut outcomes);
        Ok(Some(Block { end, outcomes, form: Dialect::JsonFence }))
    }

    /// The start of the line that ends a fence, from a line of it on.
    fn fence_end_line(&self, at: usize, fence: Fence) -> Reads<Option<usize>> {
        let source = self.source;
        let mut line = at;
        loop {
            let Some(length) = memchr::memchr(b'\n', source.bytes().get(line..).unwrap_or_default()) else {
                source.ends_at(source.len())?;
                return Ok(None);
            };
            line += length + 1;
            if self.fence_end(line, fence)?.is_some() {
                return Ok(Some(line));
            }
        }
    }

    /// Fences at the start of a message whose first one holds JSON.
    pub(super) fn json_fences(&mut self, at: usize) -> Reads<bool> {
        let length = self.run_length(at, b'`')?;
        if length < 3 {
            return Ok(false);
        }
        let rest = self.source.rest(at + length);
        let Some(line) = rest.find('\n') else {
            self.source.ends_at(self.source.len())?;
            return Ok(false);
        };
        let body = self.source.skip_blanks(at + length + line);
        self.source.ends_at(body)?;
        Ok(matches!(self.source.byte(body), Some(b'{' | b'[')) && self.last_fences(at, length)?)
    }

    /// `functools[…]`, also with a single call behind it, or with a fence round the list.
    pub(super) fn functools(&mut self, at: usize) -> Reads<Option<Block>> {
        let source = self.source;
        let behind = at + "functools".len();
        let body = source.skip_blanks(behind);
        if source.ends_at(body)? || body > behind && !source.begins_line(at) || body - behind > MAX_APART {
            return Ok(None);
        }
        let mut json = body;
        if source.has_word(body, "```")? {
            let Some(info) = source.rest(body).find('\n') else {
                source.ends_at(source.len())?;
                return Ok(None);
            };
            json = source.skip_blanks(body + info);
        }
        let first = source.skip_blanks(json + 1);
        if source.ends_at(first)? {
            return Ok(None);
        }
        let begins = match source.byte(json) {
            Some(b'[') if source.byte(first) == Some(b'{') => true,
            Some(b'[') => match call_json::value_at(source, json)? {
                Ok(Found { literal: Literal::Array(entries), .. }) => {
                    entries.iter().any(|entry| matches!(entry, Literal::Object(_)))
                }
                Ok(_) | Err(_) => false,
            },
            Some(b'{') => begins_like_call(source, json)?,
            _ => false,
        };
        if !begins {
            return Ok(None);
        }
        Envelope::new(source, self.names, &mut self.message.ends, at, Dialect::Phi4).read(body).map(Some)
    }

    pub(super) fn python_in_fence(&self, at: usize) -> Reads<bool> {
        let source = self.source;
        let first = if source.byte(at) == Some(b'[') { source.skip_blanks(at + 1) } else { at };
        python::begins_declared(source, first, &self.names.tools)
    }

    pub(super) fn literal_block(&mut self, at: usize) -> Reads<Block> {
        Envelope::new(self.source, self.names, &mut self.message.ends, at, Dialect::Pythonic).read_literal(at)
    }

    /// The first line of a message in Functionary's form: `all`, or a declared name with its arguments on the next line.
    pub(super) fn recipient_line(&mut self, at: usize) -> Reads<bool> {
        let source = self.source;
        let named = self.names.dialect == Dialect::FunctionaryV32;
        if source.byte(at) == Some(b'>') && source.has_word(at, ">>>")? {
            return self.recipient(at);
        }
        let end = name_end(source, at);
        if end == at || end - at > MAX_RECIPIENT {
            source.ends_at(end)?;
            return Ok(false);
        }
        let line = self.line_break(end)?;
        let Some(next) = line else { return Ok(false) };
        let name = source.slice(at, end);
        if name == "all" {
            self.skip(next);
            self.message.recipients = true;
            return Ok(true);
        }
        let declared = self.names.tools.resolve(name).is_some();
        if !declared && !named {
            return Ok(false);
        }
        let body = source.skip_blanks(next);
        if source.ends_at(body)? || !self.begins_arguments(body)? {
            return Ok(false);
        }
        if !declared && self.text_follows(body)? {
            return Ok(false);
        }
        self.call_to(name, at, body)
    }

    /// Whether anything but the next recipient stands behind the JSON that begins here.
    fn text_follows(&self, at: usize) -> Reads<bool> {
        let source = self.source;
        let Ok(found) = call_json::value_at(source, at)? else { return Ok(false) };
        if self.only_ends_follow(found.end)? {
            return Ok(false);
        }
        Ok(!source.has_word(source.skip_blanks(found.end), ">>>")?)
    }

    /// `>>>N␤…`
    pub(super) fn recipient(&mut self, at: usize) -> Reads<bool> {
        let source = self.source;
        let name_at = source.skip_blanks(at + 3);
        let end = name_end(source, name_at);
        source.ends_at(end)?;
        let Some(next) = self.line_break(end)? else {
            if end == source.len() && self.message.recipients {
                // The text ends in the mark.
                let name = source.slice(name_at, end);
                if name == "all" || name.is_empty() {
                    self.skip(end);
                } else {
                    let mut draft = Draft::new(at);
                    draft.set_name(name.into(), self.names);
                    draft.fault = Some(Fault::CutInJson);
                    let mut outcomes = Vec::new();
                    draft.finish(Ending::Unclosed, end, self.names, &mut outcomes);
                    self.take(Block { end, outcomes, form: Dialect::FunctionaryV32 });
                }
                return Ok(true);
            }
            return Ok(false);
        };
        let name = source.slice(name_at, end);
        let begins = self.message.recipients || self.names.dialect == Dialect::FunctionaryV32;
        if !begins && name != "all" && self.names.tools.resolve(name).is_none() {
            return Ok(false);
        }
        if name == "all" {
            self.skip(next);
            self.message.recipients = true;
            self.message.after_call = false;
            return Ok(true);
        }
        self.call_to(name, at, next)
    }

    /// Whether arguments in JSON begin here, be it encoded once more.
    fn begins_arguments(&self, at: usize) -> Reads<bool> {
        Ok(self.source.byte(at) == Some(b'{') || call_json::encoded_at(self.source, at)?.is_some())
    }

    fn call_to(&mut self, name: &'a str, at: usize, body: usize) -> Reads<bool> {
        let source = self.source;
        self.message.recipients = true;
        let first = source.skip_blanks(body);
        if !source.ends_at(first)? && !self.begins_arguments(first)? {
            let block = self.text_to(name, at, first)?;
            self.take(block);
            return Ok(true);
        }
        let envelope = Envelope::new(source, self.names, &mut self.message.ends, at, Dialect::FunctionaryV32);
        let block = envelope.with_head(name).read_arguments(first)?;
        self.take(block);
        Ok(true)
    }

    /// A message in plain text to a tool that takes nothing else, such as code for `python`.
    fn text_to(&mut self, name: &'a str, at: usize, first: usize) -> Reads<Block> {
        let source = self.source;
        let rest = source.bytes().get(first..).unwrap_or_default();
        let (end, closed) = match memchr::memmem::find(rest, b">>>") {
            Some(length) => (first + length, true),
            None => {
                source.ends_at(source.len())?;
                (source.len(), false)
            }
        };
        let mut draft = Draft::new(at);
        draft.set_name(name.into(), self.names);
        match draft.tool.and_then(crate::tools::Tool::only_parameter) {
            Some(parameter) => draft.give_text(parameter.into(), source.slice(first, end).trim().into()),
            None => draft.fault = Some(Fault::TextInput),
        }
        draft.is_open_end = !closed;
        let mut outcomes = Vec::new();
        draft.finish(Ending::Closed, end, self.names, &mut outcomes);
        Ok(Block { end, outcomes, form: Dialect::FunctionaryV32 })
    }

    /// The offset behind the line break that ends the line here.
    fn line_break(&self, at: usize) -> Reads<Option<usize>> {
        let source = self.source;
        let rest = source.rest(at);
        let end = at + (rest.len() - rest.trim_start_matches([' ', '\t', '\r']).len());
        if source.ends_at(end)? {
            return Ok(None);
        }
        Ok((source.byte(end) == Some(b'\n')).then_some(end + 1))
    }
}

/// Lines that begin like a call and are none, at most; behind them no line is looked at for itself.
const MAX_UNREAD_LINES: usize = 16;

/// Brackets before the first key of a call, at most.
const MAX_OUTER: usize = 4;

/// Keys with which a call in JSON begins.
const CALL_KEYS: [&str; 16] = [
    "name",
    "tool",
    "tool_name",
    "function",
    "arguments",
    "parameters",
    "args",
    "tool_input",
    "id",
    "tool_call_id",
    "call_id",
    "tool_calls",
    "calls",
    "type",
    "tool_call",
    "function_call",
];

/// Whether the first key of a value in JSON is one of a call.
pub(super) fn begins_like_call(source: Source<'_>, at: usize) -> Reads<bool> {
    let mut next = at;
    for _ in 0..MAX_OUTER {
        if !matches!(source.byte(next), Some(b'[' | b'{')) {
            break;
        }
        next = source.skip_blanks(next + 1);
    }
    source.ends_at(next)?;
    let Some(quote @ (b'"' | b'\'')) = source.byte(next) else { return Ok(false) };
    let window = source.bytes().get(next + 1..source.len().min(next + 20)).unwrap_or_default();
    let Some(length) = memchr::memchr(quote, window) else {
        if window.len() < 19 {
            source.ends_at(source.len())?;
        }
        return Ok(false);
    };
    Ok(CALL_KEYS.contains(&source.slice(next + 1, next + 1 + length)))
}

/// Longest recipient that is held, with what stands before it in its word, in bytes.
const MAX_HELD_WORD: usize = 200;

/// The recipient `to=N` that ends the text, or its beginning: what follows may be a `<|message|>`.
fn recipient_held(text: &str) -> Option<usize> {
    let text = text.trim_end_matches([' ', '\t']);
    let word_at = text.char_indices().rev().find(|(_, character)| is_blank(*character));
    let word_at = word_at.map_or(0, |(at, blank)| at + blank.len_utf8());
    let word = text.get(word_at..).filter(|word| word.len() <= MAX_HELD_WORD)?;
    let starts = std::iter::once(0).chain(word.match_indices('>').map(|(at, _)| at + 1));
    let mut begun = starts.filter(|at| {
        let rest = word.get(*at..).unwrap_or_default();
        !rest.is_empty() && (rest.starts_with("to=") || "to=".starts_with(rest))
    });
    begun.next().map(|at| word_at + at)
}

/// Where the end of a text begins that may become a mark together with what follows; the text's end if there is none.
pub(super) fn held_from(source: Source<'_>, from: usize, recipients: bool) -> usize {
    let text = source.slice(from, source.len());
    let end = source.len();
    let mut held = end;
    // A label at the start of its line.
    let line_at = from + memchr::memrchr(b'\n', text.as_bytes()).map_or(0, |at| at + 1);
    let line = source.slice(line_at, end);
    let label = line.trim_start();
    if label.len() <= 16 && source.begins_line(line_at) {
        let bare: String = label
            .chars()
            .filter(|character| *character != '*' && !character.is_ascii_digit())
            .map(|character| character.to_ascii_lowercase())
            .collect();
        if !label.is_empty() && ("action".starts_with(bare.trim_end()) || bare.trim_end() == "action") {
            held = held.min(end - label.len());
        }
    }
    // A word that ends the text.
    let word_at = text
        .rfind(|character: char| !character.is_ascii_graphic())
        .map_or(0, |at| at + text.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8));
    let word = text.get(word_at..).unwrap_or_default();
    if word.len() <= 200 && !word.is_empty() {
        if "functools".starts_with(word) {
            held = held.min(from + word_at);
        }
        // Before a word a bracket may end: `)functools[`.
        if let Some(length) =
            (1..=9).rev().find(|length| word.ends_with("functools".get(..*length).unwrap_or("\0")))
            && word.len() > length
        {
            let before = word.as_bytes().get(word.len() - length - 1);
            if before.is_none_or(|byte| !byte.is_ascii_alphanumeric()) {
                held = held.min(end - length);
            }
        }
    }
    if source.slice_back(end, MAX_APART).ends_with(is_blank)
        && let Some(word) = functools_before(source, from, end)
    {
        held = held.min(word);
    }
    if let Some(at) = recipient_held(text) {
        held = held.min(from + at);
    }
    if text.ends_with(']') {
        held = held.min(end - 1);
    }
    if recipients {
        let marks = text.len() - text.trim_end_matches('>').len();
        held = held.min(end - marks.min(3));
    }
    held
}

/// Blanks between `functools` and what it opens, at most, in bytes.
const MAX_APART: usize = 8;

/// The start of `functools` before a bracket or a fence.
pub(super) fn functools_before(source: Source<'_>, from: usize, at: usize) -> Option<usize> {
    // Right before most brackets no word ends.
    let last = at.checked_sub(1).and_then(|last| source.byte(last))?;
    if !(last == b's' || last.is_ascii_whitespace() || !last.is_ascii_graphic()) {
        return None;
    }
    let near = source.slice_back(at, MAX_APART + "functools".len());
    let from = from.max(at - near.len());
    let start = source.slice(from, at).trim_end_matches(is_blank).strip_suffix("functools")?.len();
    let head = source.bytes().get(..from + start)?;
    let bounded = head.last().is_none_or(|byte| !byte.is_ascii_alphanumeric());
    bounded.then_some(from + start)
}

/// What is not decided yet is asked for again.
pub(super) fn undecided(source: Source<'_>, at: usize) -> Reads<()> {
    if at < source.len() && !source.is_complete() { Err(NeedMore) } else { Ok(()) }
}
