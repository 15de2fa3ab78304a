//! The parts of an envelope, one after the other.

use super::head::{Head, Stands, Word, word_at};
use super::{Envelope, Here, here};
use crate::Dialect;
use crate::Repair;
use crate::artifact_xml::call::{CallReader, Style};
use crate::artifact_xml::names::Names;
use crate::artifact_xml::tag::{TagKind, tag_at};
use crate::call_json;
use crate::draft::{Draft, Ending, Fault};
use crate::literal::{LiteralCall, Unreadable, gemma, name_end, python};
use crate::mend::with_brackets_closed;
use crate::scan::{Reads, Source, is_blank};
use crate::tools::Tool;

/// Literal calls of one envelope that are tried with their last bracket added, at most.
const MAX_CLOSINGS: u32 = 4;

/// Whether the envelope goes on, and where; or how it ended.
pub(super) enum Step {
    At(usize),
    Done(usize, Ending),
}

/// The end of an envelope whose insides cannot be read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Region {
    /// Where its contents end.
    pub(super) end: usize,
    /// Where reading goes on.
    pub(super) resume: usize,
    /// A closing mark proves that the contents are whole.
    pub(super) closed: bool,
}

impl<'a, 'n> Envelope<'a, 'n, '_> {
    /// One part of the envelope.
    pub(super) fn item(&mut self, at: usize) -> Reads<Step> {
        let source = self.source;
        match source.byte(at) {
            Some(b'{') => self.object(at),
            // Arguments that were encoded once more.
            Some(b'"') if self.head.is_some() => self.object(at),
            Some(b'"') if !self.read_any => self.without_brace(at),
            Some(b'[') if self.head.is_some_and(|head| head.named && head.is_declared(self.names)) => {
                self.object(at)
            }
            // Nothing but the beginning of a mark behind the last call.
            Some(b'[') if self.read_any && source.ends_at(at + 1)? => {
                Ok(Step::Done(at + 1, self.ending_without_mark()))
            }
            // Arguments that are no object.
            Some(b'[') if self.head.is_some_and(|head| head.is_marked()) => self.object(at),
            Some(b'[') => self.list(at),
            Some(0xEF) if !self.read_any && source.rest(at).starts_with('｛') => self.object(at),
            Some(b'#' | b'/') if !self.read_any && source.skip_comments(at)? > at => {
                self.repair(Repair::StrayTextDropped);
                Ok(Step::At(source.skip_comments(at)?))
            }
            Some(b',' | b';') if self.read_any => Ok(Step::At(at + 1)),
            Some(b'}' | b']' | b')') if self.read_any => {
                self.drafts.iter_mut().for_each(|draft| draft.repair(Repair::BracketsMended));
                if at == self.last_end {
                    self.last_end = at + 1;
                }
                Ok(Step::At(at + 1))
            }
            Some(b'`') if source.has_word(at, "```")? => self.fence_mark(at),
            // Half a fence at the end of the text.
            Some(b'`') if self.read_any && source.rest(at).bytes().all(|byte| byte == b'`') => {
                Ok(Step::Done(source.len(), self.ending_without_mark()))
            }
            Some(b'<' | 0xEF) if !self.read_any && tag_at(source, at)?.is_some() => self.tags(at),
            _ if self.head.is_some_and(|head| head.stands == Stands::InHeader) => self.text_input(at),
            _ => self.word(at),
        }
    }

    /// Plain text where the header of a message names the tool: the value of the only parameter that can be meant.
    fn text_input(&mut self, at: usize) -> Reads<Step> {
        let region = self.region(at)?;
        let mut draft = self.draft();
        if let Some(head) = self.head.take() {
            head.name_draft(&mut draft, self.names);
        }
        match draft.tool.and_then(Tool::only_parameter) {
            Some(parameter) => {
                draft.give_text(parameter.to_owned().into(), self.source.slice(at, region.end).trim().into());
            }
            None => draft.fault = Some(Fault::TextInput),
        }
        draft.is_open_end = !region.closed;
        self.drafts.push(draft);
        self.read_any = true;
        self.last_end = region.end;
        Ok(Step::Done(region.resume, Ending::Closed))
    }

    /// A code fence between marks is no text.
    fn fence_mark(&mut self, at: usize) -> Reads<Step> {
        let native = matches!(self.form, Dialect::DeepseekV3 | Dialect::DeepseekV31 | Dialect::CommandR);
        if !native && !self.repairs.contains(&Repair::FenceRemoved) {
            self.repairs.push(Repair::FenceRemoved);
            self.drafts.iter_mut().for_each(|draft| draft.repair(Repair::FenceRemoved));
        }
        let source = self.source;
        let mut end = at;
        while source.byte(end) == Some(b'`') {
            end += 1;
        }
        source.ends_at(end)?;
        while source.byte(end).is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            end += 1;
        }
        source.ends_at(end)?;
        if self.read_any && self.form == Dialect::CommandR {
            return Ok(Step::Done(end, Ending::Closed));
        }
        // The fence closes what it opened.
        if self.read_any && (native || self.fence_open) {
            self.last_end = end;
            self.fence_open = false;
        } else {
            self.fence_open = !self.read_any;
        }
        Ok(Step::At(end))
    }

    /// Tags inside of the envelope, as in the form of Step 3.
    fn tags(&mut self, at: usize) -> Reads<Step> {
        let mut repairs = std::mem::take(&mut self.repairs);
        let mut block = CallReader::new(self.source, self.names, self.ends, at, Style::Bare).read_from(at)?;
        for outcome in &mut block.outcomes {
            match outcome {
                Ok(call) => {
                    call.span.start = self.start;
                    call.repairs.retain(|repair| *repair != Repair::WrapperAdded);
                    repairs.append(&mut call.repairs);
                    call.repairs = std::mem::take(&mut repairs);
                }
                Err(malformed) => malformed.span.start = self.start,
            }
        }
        self.form = if self.form == Dialect::DeepseekV31 { Dialect::Step3 } else { self.form };
        self.head = None;
        self.outcomes.append(&mut block.outcomes);
        self.read_any = true;
        self.last_end = block.end;
        if block.end <= at {
            return Ok(Step::Done(block.end.max(at), Ending::Unclosed));
        }
        Ok(Step::At(block.end))
    }

    fn word(&mut self, at: usize) -> Reads<Step> {
        if let Some(name) = gemma::behind_call_word(self.source, at)? {
            if python::begins_call(self.source, name)?.is_some() {
                return self.python_call(name);
            }
            // A name alone: that of a tool that needs nothing.
            let end = name_end(self.source, name);
            let next = self.source.skip_blanks(end);
            if end > name && matches!(here(self.source, self.names, next)?, Here::Closer(_, false)) {
                let written = self.source.slice(name, end);
                self.head = Some(Head { written, id: None, named: true, stands: Stands::Alone });
                return Ok(Step::At(next));
            }
        }
        match word_at(self.source, self.names, at)? {
            Word::Gemma => {
                let read = gemma::call_at(self.source, at, &self.names.tools)?;
                self.literal(at, read)
            }
            Word::Python => self.python_call(at),
            // A word alone behind a call is text.
            Word::Name { marked: false, .. } if self.read_any && self.head.is_none() => self.stray(at),
            Word::Name { end, next, marked } if !self.read_any || self.head.is_none() => {
                let source = self.source;
                let id = source.slice(at, end);
                let drifts = self.form == Dialect::KimiK2 || self.names.dialect == Dialect::KimiK2;
                let drifted = drifts.then(|| call_json::drifted(id, &self.names.tools)).flatten();
                if drifted.is_some() {
                    self.repair(Repair::NameMapped);
                }
                let written = drifted.unwrap_or(id);
                let stands = if marked && !matches!(source.byte(next), Some(b'{' | b'`')) {
                    Stands::BeforeMark
                } else {
                    Stands::Alone
                };
                match &mut self.head {
                    // `function<sep>N`: the first word says what kind of call it is.
                    Some(head) if head.written == "function" => {
                        *head = Head { written, id: None, named: marked, stands }
                    }
                    // `N[CALL_ID]x[ARGS]{…}`
                    Some(head) => head.id = Some(written),
                    None => {
                        self.head = Some(Head { written, id: drifted.map(|_| id), named: marked, stands });
                    }
                }
                Ok(Step::At(next))
            }
            Word::Name { .. } | Word::Prose => self.stray(at),
        }
    }

    /// A list of calls in JSON or literals.
    fn list(&mut self, at: usize) -> Reads<Step> {
        let source = self.source;
        let first = source.skip_blanks(at + 1);
        source.ends_at(first)?;
        let python = python::begins_call(source, first)?.is_some();
        if !python {
            return self.json_list(at);
        }
        let mut next = first;
        loop {
            if source.ends_at(next)? {
                return Ok(Step::At(next));
            }
            match source.byte(next) {
                Some(b',' | b';') => next = source.skip_blanks(next + 1),
                Some(b']') => {
                    self.last_end = next + 1;
                    return Ok(Step::At(next + 1));
                }
                _ if python::begins_call(source, next)?.is_some() => match self.python_call(next)? {
                    Step::At(end) => next = source.skip_blanks(end),
                    done @ Step::Done(..) => return Ok(done),
                },
                _ => match self.unreadable_entry(next)? {
                    Some(end) => next = end,
                    None if name_end(source, next) == source.len() => {
                        let mut draft = self.draft();
                        draft.fault = Some(Fault::CutInName);
                        self.finish_drafts(Ending::Closed, next);
                        self.drafts.push(draft);
                        return Ok(Step::Done(source.len(), Ending::Unclosed));
                    }
                    None => return Ok(Step::At(next)),
                },
            }
        }
    }

    /// An entry of a list that is no call, and where the next one or the end of the list stands.
    fn unreadable_entry(&mut self, at: usize) -> Reads<Option<usize>> {
        let source = self.source;
        let limit = self.region(at)?.end;
        let window = source.bytes().get(at..limit).unwrap_or_default();
        let mut found = None;
        for offset in memchr::memchr_iter(b',', window) {
            let next = source.skip_blanks(at + offset + 1);
            if python::begins_call(source, next)?.is_some() {
                found = Some(next);
                break;
            }
        }
        let inside = source.slice(at, limit).trim_end_matches(is_blank);
        let end = found.or_else(|| inside.ends_with(']').then(|| at + inside.len() - 1));
        if end.is_some() {
            let mut draft = self.draft();
            draft.fault = Some(Fault::UnreadableCall(0));
            self.finish_drafts(Ending::Closed, at);
            self.drafts.push(draft);
            self.read_any = true;
        }
        Ok(end)
    }

    fn python_call(&mut self, at: usize) -> Reads<Step> {
        let read = python::call_at(self.source, at, &self.names.tools)?;
        self.literal(at, read)
    }

    /// Takes a literal call, or reports it and goes on behind it.
    fn literal(&mut self, at: usize, read: Result<LiteralCall<'a>, Unreadable>) -> Reads<Step> {
        let mut draft = self.draft();
        match read {
            Ok(call) => {
                if let Some(repair) = call.repair {
                    draft.repair(repair);
                }
                draft.set_name(call.name.into(), self.names);
                for (key, literal) in call.arguments {
                    draft.give_literal(key, literal);
                }
                // The call closed itself.
                self.finish_drafts(Ending::Closed, call.end);
                self.drafts.push(draft);
                self.read_any = true;
                self.last_end = call.end;
                Ok(Step::At(call.end))
            }
            Err(problem) => {
                if let Some(step) = self.literal_closed(at)? {
                    return Ok(step);
                }
                draft.fault = Some(match problem {
                    Unreadable::Cut => Fault::CutInCall,
                    Unreadable::Unfit(place) => Fault::UnreadableCall(place.saturating_sub(at)),
                });
                if let Some(name) = python::begins_call(self.source, at)? {
                    draft.set_name(python::bare_name(name, &self.names.tools).into(), self.names);
                }
                self.behind_unreadable(draft, problem, at)
            }
        }
    }

    /// A literal call whose last bracket is missing, where a closing mark proves that the rest is there.
    fn literal_closed(&mut self, at: usize) -> Reads<Option<Step>> {
        let region = self.region(at)?;
        if self.closings >= MAX_CLOSINGS {
            return Ok(None);
        }
        self.closings += 1;
        let text = self.source.slice(at, region.end).trim_end_matches(is_blank);
        let listed = self.source.slice(0, at).trim_end().ends_with(['[', ',']);
        // The end of its list proves it too.
        if !(region.closed || listed && closes_list(text)) {
            return Ok(None);
        }
        let names = self.names;
        let tools = &names.tools;
        for is_python in [true, false] {
            // The bracket of a list of calls stands behind the call; on a line of its own the call may have been cut.
            if is_python && !listed && !text.ends_with(']') {
                continue;
            }
            let text = if is_python { text.trim_end_matches([']', ' ', '\n']) } else { text };
            let Some(whole) = with_brackets_closed(text, true) else { continue };
            let source = Source::new(&whole, true);
            let read =
                if is_python { python::call_at(source, 0, tools) } else { gemma::call_at(source, 0, tools) };
            let Ok(Ok(call)) = read else { continue };
            if call.end != whole.len() || call.repair.is_some() {
                continue;
            }
            let mut draft = self.draft();
            draft.repair(Repair::BracketsMended);
            draft.set_name(call.name.to_owned().into(), self.names);
            for (key, literal) in call.arguments {
                draft.give_literal(key.into_owned().into(), literal.into_owned());
            }
            self.finish_drafts(Ending::Closed, at);
            self.drafts.push(draft);
            self.read_any = true;
            self.last_end = region.end;
            return Ok(Some(Step::At(region.end)));
        }
        Ok(None)
    }

    /// Where reading goes on behind a literal call that cannot be read: at the next line of calls, or where its brackets close.
    fn behind_unreadable(&mut self, draft: Draft<'a, 'n>, problem: Unreadable, at: usize) -> Reads<Step> {
        let source = self.source;
        let line = python::next_line_call(source, at, &self.names.tools)?;
        let region = match line {
            Some(line) => Region { end: line, resume: line, closed: false },
            None => self.region(at)?,
        };
        if problem == Unreadable::Cut {
            self.ends.overread += source.len() - region.end;
        }
        let end = line.or_else(|| python::skip_call(source, at, region.end));
        self.finish_drafts(Ending::Closed, at);
        self.drafts.push(draft);
        self.read_any = true;
        self.last_end = end.unwrap_or(region.end);
        // Siblings behind it can be read, if its end is known.
        Ok(match end {
            Some(end) => Step::At(end),
            None => Step::Done(region.resume, if region.closed { Ending::Closed } else { Ending::Unclosed }),
        })
    }

    /// Text where only calls may stand.
    pub(super) fn stray(&mut self, at: usize) -> Reads<Step> {
        if self.read_any && self.ending_without_mark() == Ending::Closed {
            return Ok(Step::Done(self.last_end, Ending::Closed));
        }
        let region = self.region(at)?;
        if !self.read_any
            && let Some(json) = call_json::behind_text(self.source, at, region.end)?
        {
            self.head = None;
            self.repair(Repair::StrayTextDropped);
            return Ok(Step::At(json));
        }
        if !self.read_any
            && let Some(element) = self.element_behind_text(at, region.end)?
        {
            self.head = None;
            self.repair(Repair::StrayTextDropped);
            return Ok(Step::At(element));
        }
        if self.read_any
            && let Some(line) = python::next_line_call(self.source, at, &self.names.tools)?
            && line < region.end
        {
            self.drafts.iter_mut().for_each(|draft| draft.repair(Repair::StrayTextDropped));
            return Ok(Step::At(line));
        }
        if !self.read_any {
            self.head = None;
            let mut draft = self.draft();
            draft.fault = Some(Fault::NoName);
            self.drafts.push(draft);
            self.read_any = true;
            return Ok(Step::Done(
                region.resume,
                if region.closed { Ending::Closed } else { Ending::Unclosed },
            ));
        }
        if region.closed {
            self.drafts.iter_mut().for_each(|draft| draft.repair(Repair::StrayTextDropped));
            return Ok(Step::At(region.end));
        }
        Ok(Step::Done(self.last_end, Ending::Unclosed))
    }

    /// The element that names a tool and stands behind text, before an offset; only the first bracket is looked at.
    fn element_behind_text(&self, from: usize, to: usize) -> Reads<Option<usize>> {
        let window = self.source.bytes().get(from..to).unwrap_or_default();
        let Some(found) = memchr::memchr(b'<', window).map(|offset| from + offset) else { return Ok(None) };
        let tag = tag_at(self.source, found)?.filter(|tag| {
            tag.kind == TagKind::Open && Names::is_named_element(tag.name) && tag.carried_name().is_some()
        });
        Ok(tag.map(|_| found))
    }

    /// Where the envelope ends, if nothing inside of it tells. It is looked for once.
    pub(super) fn region(&mut self, from: usize) -> Reads<Region> {
        if let Some((known_from, region)) = self.known_region
            && (known_from..=region.end).contains(&from)
        {
            return Ok(region);
        }
        let region = region_from(self.source, self.names, self.form, from)?;
        self.known_region = Some((from, region));
        Ok(region)
    }
}

/// Whether a text behind the opening bracket of a list ends with the bracket that closes it, and lacks one before.
fn closes_list(text: &str) -> bool {
    text.ends_with(']')
        && with_brackets_closed(&format!("[{text}"), true)
            .is_some_and(|closed| closed.len() == text.len() + 2 && closed.ends_with(")]"))
}

/// Where the next closing mark, or what can only stand behind the envelope, begins.
fn region_from(source: Source<'_>, names: &Names, form: Dialect, from: usize) -> Reads<Region> {
    let mut at = from;
    // Each message to a recipient ends where the next one begins.
    let recipients = form == Dialect::FunctionaryV32;
    let next = recipients.then(|| memchr::memmem::find(source.rest(from).as_bytes(), b">>>")).flatten();
    let next = next.map(|length| from + length);
    loop {
        let window = source.bytes().get(at..next.unwrap_or(source.len())).unwrap_or_default();
        let Some(offset) = memchr::memchr3(b'<', b'[', 0x9C, window) else {
            if let Some(next) = next {
                return Ok(Region { end: next, resume: next, closed: true });
            }
            source.ends_at(source.len())?;
            let end = source.len();
            // GigaChat's calls end with the mark of the end.
            let closed = form == Dialect::Gigachat3 && source.stands_before_mark();
            return Ok(Region { end, resume: end, closed });
        };
        let mut found = at + offset;
        if source.byte(found) == Some(0x9C) {
            if found < from + 2 || source.bytes().get(found - 2..found) != Some(&[0xEF, 0xBC]) {
                at = found + 1;
                continue;
            }
            found -= 2;
        }
        // Most brackets belong to JSON.
        let next = source.byte(found + 1);
        let json = source.byte(found) == Some(b'[')
            && next.is_some_and(|next| !next.is_ascii_alphabetic() && next != b'/');
        if json {
            at = found + 1;
            continue;
        }
        match here(source, names, found)? {
            Here::Closer(end, cut) => return Ok(Region { end: found, resume: end, closed: !cut }),
            Here::End | Here::Next => return Ok(Region { end: found, resume: found, closed: false }),
            Here::Separator(_) | Here::Filler(_) | Here::Other => {}
        }
        at = found + source.char_at(found).map_or(1, char::len_utf8);
    }
}
