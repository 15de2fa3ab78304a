//! JSON in an envelope: calls, lists of them, and the arguments behind a name.

use std::borrow::Cow;

use haft_schema::json::{Literal, ReadError};

use super::Envelope;
use super::body::Step;
use crate::artifact_xml::call::Block;
use crate::call_json::{self, JsonCall, NoCall};
use crate::draft::{Draft, Ending, Fault};
use crate::literal::gemma;
use crate::mend::{self, Mended, mend};
use crate::parser::MAX_ATTEMPTS;
use crate::scan::{Reads, Source, is_blank};
use crate::{Dialect, Repair};

/// Entries of one list that are no objects and cannot be read, at most; of others only the end is looked for.
const MAX_UNREAD: usize = 16;

/// A value that was read, be it after repairs.
struct Value<'a> {
    literal: Literal<'a>,
    end: usize,
    repairs: Vec<Repair>,
    /// Where the envelope ends, if the value was mended up to there.
    region: Option<(usize, bool)>,
}

impl<'a, 'n> Envelope<'a, 'n, '_> {
    /// An object: a call, or the arguments of the name before it.
    pub(super) fn object(&mut self, at: usize) -> Reads<Step> {
        let value = match self.value(at)? {
            Ok(value) => value,
            Err(error) => return self.unreadable(at, &error),
        };
        self.finish_drafts(Ending::Closed, at);
        if self.head.is_some_and(|head| !head.names(&value.literal, self.names)) {
            self.head = None;
            self.repair(Repair::StrayTextDropped);
        }
        let drafts = match (self.head.take(), value.literal) {
            (Some(head), literal) => {
                let entries = mend::object(literal);
                let mut draft = self.draft();
                if entries.is_none() {
                    draft.fault = Some(Fault::ArgumentsNoObject);
                }
                let call = call_json::named(head.written, entries.unwrap_or_default(), &self.names.tools);
                draft.id = head.id.map(str::to_owned);
                if call.name.is_empty() {
                    draft.fault = Some(Fault::NoName);
                } else {
                    self.fill(&mut draft, call);
                }
                vec![draft]
            }
            (None, literal) => call_json::calls(literal, &self.names.tools)
                .into_iter()
                .map(|call| self.json_draft(call))
                .collect(),
        };
        Ok(self.take(drafts, value.end, &value.repairs, value.region))
    }

    /// A call whose first brace is missing, where a closing mark proves that the rest is there.
    pub(super) fn without_brace(&mut self, at: usize) -> Reads<Step> {
        if let Ok(found) = call_json::value_at(self.source, at)?
            && let [Ok(_)] = call_json::calls(found.literal.clone(), &self.names.tools).as_slice()
        {
            return self.object(at);
        }
        let region = self.region(at)?;
        let text = format!("{{{}", self.source.slice(at, region.end));
        let literal = match call_json::value_at(Source::new(&text, true), 0) {
            Ok(Ok(found))
                if text.get(found.end..).is_some_and(|rest| rest.trim_matches(is_blank).is_empty()) =>
            {
                Some(found.literal.into_owned())
            }
            _ => mend(&text, true).map(|mended| mended.literal),
        };
        let Some(literal) =
            literal.filter(|literal| region.closed && call_json::whole_call(literal).is_some())
        else {
            return self.stray(at);
        };
        let drafts: Vec<_> = call_json::calls(literal, &self.names.tools)
            .into_iter()
            .map(|call| self.json_draft(call))
            .collect();
        Ok(self.take(drafts, region.end, &[Repair::BracketsMended], None))
    }

    /// Makes calls of a JSON value that was read already.
    pub(crate) fn read_found(mut self, found: call_json::Found<'a>) -> Block {
        let end = found.end;
        self.drafts = call_json::calls(found.literal, &self.names.tools)
            .into_iter()
            .map(|call| self.json_draft(call))
            .collect();
        self.read_any = true;
        self.close(end, Ending::Closed)
    }

    /// Makes calls of a JSON value that was mended up to an offset.
    pub(crate) fn read_mended(mut self, mended: Mended, end: usize, ending: Ending) -> Block {
        self.repairs.extend(mended.repairs);
        self.drafts = call_json::calls(mended.literal, &self.names.tools)
            .into_iter()
            .map(|call| self.json_draft(call))
            .collect();
        self.read_any = true;
        self.close(end, ending)
    }

    fn take(
        &mut self,
        mut drafts: Vec<Draft<'a, 'n>>,
        end: usize,
        repairs: &[Repair],
        region: Option<(usize, bool)>,
    ) -> Step {
        for draft in &mut drafts {
            repairs.iter().for_each(|repair| draft.repair(*repair));
        }
        self.drafts = drafts;
        self.read_any = true;
        self.last_end = end;
        match region {
            // Mended up to the end of the text: proof enough lies in the arguments.
            Some((resume, false)) => Step::Done(resume, Ending::Unclosed),
            Some((_, true)) | None => Step::At(end),
        }
    }

    /// A list of calls in JSON; each entry is one attempt.
    pub(super) fn json_list(&mut self, at: usize) -> Reads<Step> {
        let source = self.source;
        match call_json::value_at(source, at)? {
            Ok(found) => {
                self.finish_drafts(Ending::Closed, at);
                let repairs = if found.loose { vec![Repair::LooseJson] } else { Vec::new() };
                let drafts: Vec<_> = call_json::calls(found.literal, &self.names.tools)
                    .into_iter()
                    .map(|call| self.json_draft(call))
                    .collect();
                Ok(self.take(drafts, found.end, &repairs, None))
            }
            Err(error) => {
                if let Some(step) = self.entries(at, false)? {
                    return Ok(step);
                }
                let mended = self.mended(at)?;
                if mended.is_none()
                    && let Some(step) = self.entries(at, true)?
                {
                    return Ok(step);
                }
                match mended {
                    Some(value) => {
                        self.finish_drafts(Ending::Closed, at);
                        let drafts: Vec<_> = call_json::calls(value.literal, &self.names.tools)
                            .into_iter()
                            .map(|call| self.json_draft(call))
                            .collect();
                        Ok(self.take(drafts, value.end, &value.repairs, value.region))
                    }
                    None => self.unreadable(at, &error),
                }
            }
        }
    }

    /// The entries of a list that cannot be read as a whole, one by one, if the end of each is known and at least one of them can be
    /// read. `others` allows entries that are no objects, and lists in which nothing can be read; each entry is an attempt.
    fn entries(&mut self, open: usize, others: bool) -> Reads<Option<Step>> {
        let source = self.source;
        let mut region = self.region(open)?;
        let mut drafts: Vec<Draft<'a, 'n>> = Vec::new();
        let mut readable = 0_usize;
        let mut objects = 0_usize;
        let mut unread = 0_usize;
        let mut at = source.skip_blanks(open + 1);
        let mut closed = false;
        // What comes behind so many is not read.
        while at < region.end && drafts.len() <= MAX_ATTEMPTS {
            match source.byte(at) {
                Some(b']') => {
                    closed = true;
                    at += 1;
                    break;
                }
                Some(b',') => at = source.skip_blanks(at + 1),
                Some(b'`') if self.fence_open => break,
                // One bracket too many behind an entry.
                Some(b'}') if drafts.last().is_some_and(|draft| draft.fault.is_none()) => {
                    drafts.iter_mut().for_each(|draft| draft.repair(Repair::BracketsMended));
                    at = source.skip_blanks(at + 1);
                }
                Some(b'{') => {
                    let (draft, end) = self.entry(at, region.end, region.closed)?;
                    readable += usize::from(draft.fault.is_none());
                    objects += 1;
                    drafts.push(draft);
                    at = source.skip_blanks(end);
                    // A closing mark in a string of the entry is none.
                    if end > region.end {
                        region = self.region(end)?;
                    }
                }
                _ if others => {
                    let rest = source.slice(at, region.end);
                    let found =
                        if unread < MAX_UNREAD { call_json::value_at(source, at)?.ok() } else { None };
                    unread += usize::from(found.is_none());
                    let end = match found {
                        Some(found) if found.end <= region.end => found.end,
                        Some(_) | None => {
                            let end = rest.find(",").or_else(|| rest.rfind(']'));
                            end.map_or(region.end, |length| at + length)
                        }
                    };
                    let mut draft = self.draft();
                    draft.fault = Some(Fault::NoName);
                    drafts.push(draft);
                    at = source.skip_blanks(end);
                }
                _ => return Ok(None),
            }
        }
        let is_whole = closed || region.closed || self.fence_open && source.byte(at) == Some(b'`');
        let is_attempt = readable > 0 || others && objects > 0 && drafts.len() > 1;
        if !is_attempt || drafts.len() < 2 && !is_whole {
            return Ok(None);
        }
        self.finish_drafts(Ending::Closed, open);
        let cut = !is_whole;
        if let Some(last) = drafts.pop() {
            for draft in drafts {
                draft.finish(Ending::Closed, at, self.names, &mut self.outcomes);
            }
            self.drafts = vec![last];
        }
        self.read_any = true;
        self.last_end = at;
        if !closed && !cut {
            self.drafts.iter_mut().for_each(|draft| draft.repair(Repair::BracketsMended));
        }
        Ok(Some(if cut { Step::Done(region.resume, Ending::Unclosed) } else { Step::At(at) }))
    }

    /// One entry of a list, and where it ends.
    fn entry(&self, at: usize, limit: usize, closed: bool) -> Reads<(Draft<'a, 'n>, usize)> {
        let source = self.source;
        let error = match call_json::value_at(source, at)? {
            Ok(found) => {
                let repairs = if found.loose { vec![Repair::LooseJson] } else { Vec::new() };
                return Ok((self.entry_draft(found.literal, &repairs), found.end));
            }
            Err(error) => error,
        };
        let end = entry_end(source.slice(at, limit)).map_or(limit, |length| at + length);
        let whole = end < limit || closed;
        match mend(source.slice(at, end).trim_end_matches([',', ']', ' ', '\n']), whole) {
            Some(mended) => Ok((self.entry_draft(mended.literal, &mended.repairs), end)),
            None => {
                let mut draft = self.draft();
                draft.fault = Some(if error.is_cut() && !whole {
                    Fault::CutInJson
                } else {
                    Fault::BadJson(error.to_string())
                });
                Ok((draft, end))
            }
        }
    }

    fn entry_draft(&self, literal: Literal<'a>, repairs: &[Repair]) -> Draft<'a, 'n> {
        let mut calls = call_json::calls(literal, &self.names.tools).into_iter();
        let mut draft = match (calls.next(), calls.next()) {
            (Some(call), None) => self.json_draft(call),
            (Some(_), Some(_)) | (None, _) => self.json_draft(Err(NoCall::NoName)),
        };
        repairs.iter().for_each(|repair| draft.repair(*repair));
        draft
    }

    fn json_draft(&self, call: Result<JsonCall<'a>, NoCall>) -> Draft<'a, 'n> {
        let mut draft = self.draft();
        if self.names.dialect == Dialect::ArtifactXml {
            draft.repair(Repair::CallFromJson);
        }
        match call {
            Ok(call) => self.fill(&mut draft, call),
            Err(NoCall::NoName) => draft.fault = Some(Fault::NoName),
            Err(NoCall::ArgumentsNoObject) => draft.fault = Some(Fault::ArgumentsNoObject),
        }
        draft
    }

    fn fill(&self, draft: &mut Draft<'a, 'n>, call: JsonCall<'a>) {
        if call.id.is_some() {
            draft.id = call.id;
        }
        draft.set_name(call.name, self.names);
        for (key, literal) in call.arguments {
            draft.give_literal(key, literal);
        }
    }

    /// The value that begins here: strictly, loosely, in Gemma's literals behind a name, or mended.
    fn value(&mut self, at: usize) -> Reads<Result<Value<'a>, ReadError>> {
        let error = match call_json::value_at(self.source, at)? {
            Ok(found) => {
                let repairs = if found.loose { vec![Repair::LooseJson] } else { Vec::new() };
                return Ok(Ok(Value { literal: found.literal, end: found.end, repairs, region: None }));
            }
            Err(error) => error,
        };
        if self.head.is_some()
            && let Some((entries, end)) = gemma::object_at(self.source, at)?
        {
            return Ok(Ok(Value {
                literal: Literal::Object(entries),
                end,
                repairs: vec![Repair::LooseJson],
                region: None,
            }));
        }
        Ok(self.mended(at)?.ok_or(error))
    }

    /// The value mended, up to the end of the envelope.
    fn mended(&mut self, at: usize) -> Reads<Option<Value<'a>>> {
        let region = self.region(at)?;
        let text = self.source.slice(at, region.end);
        // The next call ends the value, or a fence round it.
        let end = if self.head.is_none() { end_before_call(text) } else { None };
        let end = end.or_else(|| if self.fence_open { text.rfind("```") } else { None });
        let text = end.and_then(|end| text.get(..end)).unwrap_or(text);
        let closed = region.closed || end.is_some();
        // Behind a name the arguments themselves must be closed, be it in a call that repeats the name.
        let is_known_whole = |mended: &Mended| {
            closed
                || !mended.repairs.contains(&Repair::BracketsMended)
                || self.head.is_none_or(|head| head.is_repeated_in(&mended.literal, self.names))
        };
        Ok(mend(text, closed).filter(is_known_whole).map(|mended| Value {
            literal: mended.literal,
            end: at + text.len(),
            repairs: mended.repairs,
            region: end.is_none().then_some((region.resume, region.closed)),
        }))
    }

    fn unreadable(&mut self, at: usize, error: &ReadError) -> Reads<Step> {
        let region = self.region(at)?;
        if error.is_cut() {
            self.ends.overread += self.source.len() - region.end;
        }
        self.finish_drafts(Ending::Closed, at);
        if self.head.is_none()
            && let Some(end) = end_before_call(self.source.slice(at, region.end)).map(|length| at + length)
        {
            let (draft, end) = self.entry(at, end, true)?;
            return Ok(self.take(vec![draft], end, &[], None));
        }
        let mut draft = self.draft();
        match self.head.take() {
            Some(head) => head.name_draft(&mut draft, self.names),
            None => {
                let name = call_json::name_in(self.source.slice(at, region.end));
                if let Some(name) = name {
                    draft.set_name(Cow::Borrowed(name), self.names);
                }
            }
        }
        draft.fault = Some(if error.is_cut() && !region.closed {
            Fault::CutInJson
        } else {
            Fault::BadJson(error.to_string())
        });
        self.drafts.push(draft);
        self.read_any = true;
        let ending = if region.closed { Ending::Closed } else { Ending::Unclosed };
        Ok(Step::Done(region.resume, ending))
    }
}

/// The length of an object behind which the next call follows, with `;` between them or nothing. Its own last bracket may be missing.
fn end_before_call(text: &str) -> Option<usize> {
    if !text.starts_with('{') {
        return None;
    }
    mend::bracket_ends(text).filter(|(_, depth)| *depth <= 1).map(|(end, _)| end).find(|end| {
        let behind = text.get(*end..).unwrap_or_default();
        let next = behind.trim_start_matches(|character| is_blank(character) || character == ';');
        let key = next.strip_prefix('{').map(|next| next.trim_start_matches(is_blank));
        key.and_then(|key| key.strip_prefix(['"', '\''])).is_some_and(call_json::begins_with_name_key)
    })
}

/// The length of an entry that cannot be read: up to where its brackets match, or up to a brace behind which the next entry stands.
fn entry_end(text: &str) -> Option<usize> {
    let next_entry = |rest: &str| {
        let next = rest.strip_prefix(',').map(str::trim_start);
        next.is_some_and(|next| next.starts_with("{\"") || next.starts_with("{'"))
    };
    let matched = mend::bracket_ends(text).filter(|(_, depth)| *depth <= 1).find(|(end, depth)| {
        let rest = text.get(*end..).unwrap_or_default().trim_start();
        next_entry(rest) || *depth == 0 && (rest.is_empty() || rest.starts_with([',', ']']))
    });
    matched.map(|(end, _)| end).or_else(|| {
        memchr::memchr_iter(b'}', text.as_bytes())
            .map(|at| at + 1)
            .find(|end| text.get(*end..).is_some_and(|rest| next_entry(rest.trim_start())))
    })
}
