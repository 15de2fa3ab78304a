//! Parameters of this dialect that a model wrote as JSON.
//! It must not read JSON itself; `call_json` does, and whole calls in JSON are the envelope's.

use std::borrow::Cow;

use haft_schema::json::{Literal, ReadError};

use super::call::{CallReader, Next, Style};
use super::names::Names;
use super::tag::{TagKind, tag_at};
use super::value::next_bracket;
use crate::Repair;
use crate::call_json;
use crate::draft::{Ending, Fault};
use crate::mend::{mend, string_length};
use crate::scan::Reads;

/// Blanks between the last brace of JSON and the tag behind it, at most, in bytes.
const MAX_BLANKS: usize = 64;

/// JSON that was read after a repair, and the offset of the tag behind it.
pub(crate) struct Mended<'a> {
    literal: Literal<'a>,
    end: usize,
    repair: Repair,
}

impl<'a, 'n> CallReader<'a, 'n, '_> {
    pub(crate) fn json_parameters(&mut self, at: usize) -> Reads<Next> {
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

    pub(crate) fn take_json(&mut self, entries: Vec<(Cow<'a, str>, Literal<'a>)>, loose: bool) {
        self.draft.repair(Repair::ParamsFromJson);
        if loose {
            self.draft.repair(Repair::LooseJson);
        }
        for (key, literal) in entries {
            self.draft.give_literal(key, literal);
        }
    }

    pub(crate) fn bad_json(&mut self, at: usize, error: &ReadError) -> Reads<Next> {
        if let Some(closer) = self.element_closer(at)? {
            self.draft.fault.get_or_insert_with(|| Fault::BadJson(error.to_string()));
            return Ok(Next::At(closer));
        }
        let next = self.recover(at)?;
        let fault = match &next {
            Next::End(_, Ending::Unclosed) if error.is_cut() => Fault::CutInJson,
            _ => Fault::BadJson(error.to_string()),
        };
        self.draft.fault.get_or_insert(fault);
        Ok(next)
    }

    /// JSON whose closing brackets are missing, or whose quotes are not escaped, in a call that is closed.
    pub(crate) fn mended_json(&self, at: usize) -> Reads<Option<Mended<'a>>> {
        let proven = self.element_open || self.style == Style::Bare;
        if !proven && !matches!(self.recover(at)?, Next::End(_, Ending::Closed)) {
            return Ok(None);
        }
        let Some(close) = self.closing_tag(at)? else { return Ok(None) };
        let body = self.source.slice(at, close);
        Ok(mend(body, true).and_then(|mended| {
            let repair = mended.repairs.first().copied()?;
            Some(Mended { literal: mended.literal, end: close, repair })
        }))
    }

    /// The offset of the tag that closes the element round JSON that cannot be read, right behind a brace and outside of its strings: what
    /// stands behind it can be read.
    fn element_closer(&self, from: usize) -> Reads<Option<usize>> {
        if !self.element_open {
            return Ok(None);
        }
        let source = self.source;
        let mut at = from;
        loop {
            let rest = source.bytes().get(at..).unwrap_or_default();
            let Some(found) = memchr::memchr2(b'"', b'<', rest).map(|offset| at + offset) else {
                source.ends_at(source.len())?;
                return Ok(None);
            };
            if source.byte(found) == Some(b'"') {
                let Some(length) = string_length(source.rest(found), '"') else {
                    source.ends_at(source.len())?;
                    return Ok(None);
                };
                at = found + length;
                continue;
            }
            at = found + 1;
            let Some(tag) = tag_at(source, found)? else { continue };
            if self.names.wrapper(tag.name).is_some() || Names::is_named_element(tag.name) {
                let behind_brace = source.slice_back(found, MAX_BLANKS).trim_end().ends_with('}');
                let closes = tag.kind == TagKind::Close && !tag.cut && Names::is_named_element(tag.name);
                return Ok((closes && behind_brace).then_some(found));
            }
        }
    }

    /// The offset of the first close tag of the container or the wrapper, before the next call begins.
    fn closing_tag(&self, from: usize) -> Reads<Option<usize>> {
        let mut at = from;
        while let Some(found) = next_bracket(self.source, at) {
            if let Some(tag) = tag_at(self.source, found)?
                && !tag.cut
            {
                let wrapper = self.names.wrapper(tag.name).is_some();
                let closes = wrapper
                    || self.element_open && Names::is_named_element(tag.name)
                    || self.names.is_container(tag.name, self.draft.tool);
                match tag.kind {
                    TagKind::Close if closes => return Ok(Some(found)),
                    TagKind::Open if wrapper && self.element_open => return Ok(None),
                    TagKind::Close | TagKind::Open | TagKind::Empty => {}
                }
            }
            at = found + self.source.char_at(found).map_or(1, char::len_utf8);
        }
        self.source.ends_at(self.source.len())?;
        Ok(None)
    }
}
