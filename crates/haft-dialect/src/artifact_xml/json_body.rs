//! Calls and parameters of this dialect that a model wrote as JSON.
//! It must not read JSON itself; `call_json` does.

use std::borrow::Cow;

use haft_schema::json::{Literal, ReadError};

use super::call::{Block, CallReader, Next, Style};
use super::draft::{Draft, Ending, Fault};
use super::tag::{TagKind, tag_at};
use super::value::next_bracket;
use crate::Repair;
use crate::call_json::{self, NoCall};
use crate::scan::{Reads, Source};

/// JSON that was read after a repair, and the offset of the tag behind it.
pub(super) struct Mended<'a> {
    literal: Literal<'a>,
    end: usize,
    repair: Repair,
}

impl<'a, 'n> CallReader<'a, 'n, '_> {
    /// Makes calls of a JSON value that was read already and needs no wrapper.
    pub(super) fn read_json(mut self, found: call_json::Found<'a>) -> Block {
        let mut repairs = vec![Repair::WrapperAdded];
        if found.loose {
            repairs.push(Repair::LooseJson);
        }
        let end = found.end;
        let drafts: Vec<_> = call_json::calls(found.literal, &self.names.tools)
            .into_iter()
            .map(|call| self.json_draft(call, &repairs))
            .collect();
        self.finish_all(drafts, end, Ending::Closed);
        Block { end, outcomes: self.outcomes }
    }

    pub(super) fn json_parameters(&mut self, at: usize) -> Reads<Next> {
        match call_json::value_at(self.source, at)? {
            Ok(found) => {
                if let Literal::Object(entries) = found.literal {
                    self.take_json(entries, found.loose);
                }
                self.last_end = found.end;
                Ok(Next::At(found.end))
            }
            Err(error) => match self.mended_json(at)? {
                Some(Mended { literal: Literal::Object(entries), end, repair }) => {
                    self.take_json(entries, false);
                    self.draft.repair(repair);
                    self.last_end = end;
                    Ok(Next::At(end))
                }
                Some(_) | None => self.bad_json(at, &error),
            },
        }
    }

    pub(super) fn take_json(&mut self, entries: Vec<(Cow<'a, str>, Literal<'a>)>, loose: bool) {
        self.draft.repair(Repair::ParamsFromJson);
        if loose {
            self.draft.repair(Repair::LooseJson);
        }
        for (key, literal) in entries {
            self.draft.give_literal(key, literal);
        }
    }

    pub(super) fn bad_json(&mut self, at: usize, error: &ReadError) -> Reads<Next> {
        let next = self.recover(at)?;
        let fault = match &next {
            Next::End(_, Ending::Unclosed) if error.is_cut() => Fault::CutInJson,
            _ => Fault::BadJson(error.to_string()),
        };
        self.draft.fault.get_or_insert(fault);
        Ok(next)
    }

    /// A wrapper that holds calls in JSON, one after the other or in a list.
    pub(super) fn json_calls(&mut self, at: usize) -> Reads<Next> {
        let source = self.source;
        let mut at = at;
        let mut read = 0_usize;
        loop {
            let (literal, end, repairs) = match call_json::value_at(source, at)? {
                Ok(found) => {
                    let repairs = if found.loose { vec![Repair::LooseJson] } else { Vec::new() };
                    (found.literal, found.end, repairs)
                }
                Err(error) => match self.mended_json(at)? {
                    Some(mended) => (mended.literal, mended.end, vec![mended.repair]),
                    None => return self.bad_json(at, &error),
                },
            };
            let mut drafts: Vec<Draft<'a, 'n>> = call_json::calls(literal, &self.names.tools)
                .into_iter()
                .map(|call| self.json_draft(call, &repairs))
                .collect();
            read += drafts.len();
            // Too many closing brackets are a slip.
            let mut next = source.skip_blanks(end);
            while matches!(source.byte(next), Some(b'}' | b']')) {
                drafts.iter_mut().for_each(|draft| draft.repair(Repair::BracketsMended));
                next = source.skip_blanks(next + 1);
            }
            while matches!(source.byte(next), Some(b',' | b';')) {
                next = source.skip_blanks(next + 1);
            }
            if source.ends_at(next)? {
                return Ok(self.end_json(drafts, end, self.unclosed()));
            }
            if matches!(source.byte(next), Some(b'{' | b'[')) {
                self.finish_all(drafts, end, Ending::Closed);
                at = next;
                continue;
            }
            if read > 1 {
                drafts.iter_mut().for_each(|draft| draft.repair(Repair::SiblingsSplit));
            }
            return Ok(match self.recover(next)? {
                Next::End(block_end, Ending::Closed) => self.end_json(drafts, block_end, Ending::Closed),
                Next::End(..) | Next::At(_) => self.end_json(drafts, end, self.unclosed()),
            });
        }
    }

    pub(super) fn json_draft(
        &self,
        call: Result<call_json::JsonCall<'a>, NoCall>,
        repairs: &[Repair],
    ) -> Draft<'a, 'n> {
        let mut draft = Draft::new(self.draft.start);
        draft.repair(Repair::CallFromJson);
        repairs.iter().for_each(|repair| draft.repair(*repair));
        match call {
            Ok(call) => {
                draft.id = call.id;
                draft.set_name(call.name, self.names);
                for (key, literal) in call.arguments {
                    draft.give_literal(key, literal);
                }
            }
            Err(NoCall::NoName) => draft.fault = Some(Fault::NoName),
            Err(NoCall::ArgumentsNoObject) => draft.fault = Some(Fault::ArgumentsNoObject),
        }
        draft
    }

    pub(super) fn finish_all(&mut self, drafts: Vec<Draft<'a, 'n>>, end: usize, ending: Ending) {
        for draft in drafts {
            draft.finish(ending, end, self.names, &mut self.outcomes);
        }
    }

    /// Ends the block with the last of its drafts.
    pub(super) fn end_json(&mut self, mut drafts: Vec<Draft<'a, 'n>>, end: usize, ending: Ending) -> Next {
        if let Some(last) = drafts.pop() {
            self.finish_all(drafts, end, ending);
            self.draft = last;
        }
        Next::End(end, ending)
    }

    /// JSON whose closing brackets are missing, or whose quotes are not escaped, in a call that is closed.
    pub(super) fn mended_json(&self, at: usize) -> Reads<Option<Mended<'a>>> {
        if self.style == Style::Wrapped && !matches!(self.recover(at)?, Next::End(_, Ending::Closed)) {
            return Ok(None);
        }
        let Some(close) = self.closing_tag(at)? else { return Ok(None) };
        let body = self.source.slice(at, close);
        let mended = [
            (call_json::with_brackets_closed(body), Repair::BracketsMended),
            (call_json::with_quotes_escaped(body), Repair::LooseJson),
        ];
        for (text, repair) in mended {
            let Some(text) = text else { continue };
            let whole = Source::new(&text, true);
            if let Ok(found) = call_json::value_at(whole, 0)?
                && whole.skip_blanks(found.end) == whole.len()
            {
                return Ok(Some(Mended { literal: found.literal.into_owned(), end: close, repair }));
            }
        }
        Ok(None)
    }

    /// The offset of the first close tag of the container or the wrapper.
    fn closing_tag(&self, from: usize) -> Reads<Option<usize>> {
        let mut at = from;
        while let Some(found) = next_bracket(self.source, at) {
            if let Some(tag) = tag_at(self.source, found)?
                && tag.kind == TagKind::Close
                && !tag.cut
                && (self.names.wrapper(tag.name).is_some()
                    || self.names.is_container(tag.name, self.draft.tool))
            {
                return Ok(Some(found));
            }
            at = found + self.source.char_at(found).map_or(1, char::len_utf8);
        }
        self.source.ends_at(self.source.len())?;
        Ok(None)
    }
}
