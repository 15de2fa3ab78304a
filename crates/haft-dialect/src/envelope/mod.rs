//! Calls behind a marker: JSON, a list of calls, a name with its arguments, literal calls. Whatever form stands inside is read, whichever
//! marker stands round it.
//!
//! It must not decide whether a marker is only mentioned; the message does, with [`begins`].

mod body;
mod head;
mod json;

pub(crate) use head::{begins, ends_in_name};

use crate::artifact_xml::call::Block;
use crate::artifact_xml::names::Names;
use crate::artifact_xml::section::SectionEnds;
use crate::artifact_xml::tag::{TagKind, skip_filling, tag_at};
use crate::draft::{Draft, Ending, Fault, Outcome};
use crate::literal::{gemma, python};
use crate::marks::{Mark, is_result_tag, mark_at};
use crate::parser::MAX_ATTEMPTS;
use crate::scan::{Reads, Source, is_blank};
use crate::tokens::{Meaning, Part, token_at};
use crate::{Dialect, Repair};

/// Reads one envelope.
pub(crate) struct Envelope<'a, 'n, 's> {
    source: Source<'a>,
    names: &'n Names,
    ends: &'s mut SectionEnds,
    start: usize,
    form: Dialect,
    /// What had to be mended before the first call was read.
    repairs: Vec<Repair>,
    /// Calls of the last value, whose ending is not known yet.
    drafts: Vec<Draft<'a, 'n>>,
    outcomes: Vec<Outcome>,
    /// The name of a call whose arguments are not read yet.
    head: Option<head::Head<'a>>,
    /// Something was read, be it only an empty list.
    read_any: bool,
    /// The end of the last thing that was understood.
    last_end: usize,
    /// Literal calls whose last bracket was added to see whether they can be read then.
    closings: u32,
    /// A code fence was opened inside of the envelope.
    fence_open: bool,
    /// Half a closing mark behind the name proves that it is whole.
    name_is_whole: bool,
    /// Where the end of the envelope was looked for, and what was found.
    known_region: Option<(usize, body::Region)>,
}

/// What stands at a place between the parts of an envelope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Here {
    /// The end of the text, or a mark of it.
    End,
    /// A closing mark that ends here; cut off by the end of the text.
    Closer(usize, bool),
    /// Another call, an answer, or another message begins.
    Next,
    Separator(usize),
    Filler(usize),
    Other,
}

impl<'a, 'n, 's> Envelope<'a, 'n, 's> {
    pub(crate) fn new(
        source: Source<'a>,
        names: &'n Names,
        ends: &'s mut SectionEnds,
        start: usize,
        form: Dialect,
    ) -> Self {
        Self {
            source,
            names,
            ends,
            start,
            form,
            repairs: Vec::new(),
            drafts: Vec::new(),
            outcomes: Vec::new(),
            head: None,
            read_any: false,
            last_end: start,
            fence_open: false,
            closings: 0,
            name_is_whole: false,
            known_region: None,
        }
    }

    /// Records what had to be mended so far.
    pub(crate) fn with_repairs(mut self, repairs: impl IntoIterator<Item = Repair>) -> Self {
        self.repairs.extend(repairs);
        self
    }

    /// Names the call whose arguments follow.
    pub(crate) fn with_head(mut self, written: &'a str) -> Self {
        self.head = Some(head::Head { written, id: None, named: true, stands: head::Stands::InHeader });
        self
    }

    /// Reads the arguments of the call that was named. Its message ends with a mark or where the next one begins.
    pub(crate) fn read_arguments(self, at: usize) -> Reads<Block> {
        self.read(at)
    }

    /// Reads literal calls that need no mark to end them.
    pub(crate) fn read_literal(mut self, at: usize) -> Reads<Block> {
        let mut at = at;
        loop {
            match self.item(at)? {
                body::Step::At(next) => {
                    let listed = self.source.byte(next.saturating_sub(1)) == Some(b']');
                    let following = self.source.skip_blanks(next);
                    let tools = &self.names.tools;
                    let again = !listed
                        && (python::begins_declared(self.source, following, tools)?
                            || gemma::begins_declared(self.source, following, tools)?);
                    if !again || self.outcomes.len() > MAX_ATTEMPTS {
                        return Ok(self.close(next, Ending::Closed));
                    }
                    at = following;
                }
                body::Step::Done(end, ending) => return Ok(self.close(end, ending)),
            }
        }
    }

    /// Reads the body that begins at an offset, up to the closing mark or to where it must end without one.
    pub(crate) fn read(mut self, at: usize) -> Reads<Block> {
        let mut at = at;
        loop {
            at = skip_filling(self.source, at)?;
            match here(self.source, self.names, at)? {
                Here::End | Here::Next => return Ok(self.close_unclosed(at)),
                Here::Closer(end, cut) => {
                    let ending = if cut { self.ending_without_mark() } else { Ending::Closed };
                    self.name_is_whole |= cut && self.head.is_some();
                    return Ok(self.close(end, ending));
                }
                Here::Separator(end) | Here::Filler(end) => {
                    at = end;
                    continue;
                }
                Here::Other => {}
            }
            match self.item(at)? {
                body::Step::At(next) => at = next,
                body::Step::Done(end, ending) => return Ok(self.close(end, ending)),
            }
            // What comes behind so many is not read.
            if self.outcomes.len() > MAX_ATTEMPTS {
                return Ok(self.close(at, Ending::Unclosed));
            }
        }
    }

    /// How a call without its closing mark ends: some forms have none.
    fn ending_without_mark(&self) -> Ending {
        match self.form {
            Dialect::Mistral
            | Dialect::MistralV11
            | Dialect::Granite
            | Dialect::Granite20b
            | Dialect::Llama3Json
            | Dialect::Llama3Builtin
            | Dialect::Pythonic
            | Dialect::Phi4
            | Dialect::Gigachat3
            | Dialect::FunctionaryV32
            | Dialect::CommandR => Ending::Closed,
            _ => Ending::Unclosed,
        }
    }

    /// The end where no closing mark stands. Text behind the last thing that was understood is not part of the call.
    fn close_unclosed(self, at: usize) -> Block {
        // Nothing proves that an unknown name is whole.
        let cut = self.head.is_some_and(|head| !head.named && !head.is_declared(self.names));
        let ending = if cut { Ending::Unclosed } else { self.ending_without_mark() };
        let end = if self.drafts.is_empty() && self.outcomes.is_empty() || self.head.is_some() {
            at
        } else {
            let behind = self.source.slice(self.last_end, at);
            let marks = |character: char| is_blank(character) || matches!(character, ',' | ';');
            // What separates calls is no text.
            if behind.chars().all(marks) { at } else { self.last_end }
        };
        self.close(end, ending)
    }

    fn close(mut self, end: usize, ending: Ending) -> Block {
        if let Some(head) = self.head.take() {
            let mut draft = self.draft();
            let whole = ending == Ending::Closed || self.name_is_whole;
            if whole && head.may_stand_alone(self.form, self.names) {
                head.name_draft(&mut draft, self.names);
            } else if whole && head.stands == head::Stands::Alone && !head.is_declared(self.names) {
                draft.fault = Some(Fault::NoName);
            } else {
                draft.fault = Some(if head.named { Fault::CutInJson } else { Fault::CutInName });
                head.name_draft(&mut draft, self.names);
            }
            self.drafts.push(draft);
            self.read_any = true;
        }
        if self.drafts.is_empty() && self.outcomes.is_empty() {
            let mut draft = self.draft();
            draft.fault = Some(Fault::NoName);
            self.drafts.push(draft);
        }
        self.finish_drafts(ending, end);
        Block { end, outcomes: self.outcomes, form: self.form }
    }

    /// Judges the calls read so far.
    fn finish_drafts(&mut self, ending: Ending, end: usize) {
        for draft in std::mem::take(&mut self.drafts) {
            draft.finish(ending, end, self.names, &mut self.outcomes);
        }
    }

    /// Records what had to be mended for the calls that follow.
    fn repair(&mut self, repair: Repair) {
        if !self.repairs.contains(&repair) {
            self.repairs.push(repair);
        }
    }

    /// A call that begins; the repairs of the envelope are its own.
    fn draft(&self) -> Draft<'a, 'n> {
        let mut draft = Draft::new(self.start);
        self.repairs.iter().for_each(|repair| draft.repair(*repair));
        draft
    }
}

/// What stands at a place between the parts of an envelope.
fn here(source: Source<'_>, names: &Names, at: usize) -> Reads<Here> {
    if source.ends_at(at)? {
        return Ok(Here::End);
    }
    if !matches!(source.byte(at), Some(b'<' | b'[' | 0xEF)) {
        return Ok(Here::Other);
    }
    if let Some(token) = token_at(source, at)? {
        return Ok(match token.meaning {
            Meaning::CallClose | Meaning::SectionClose | Meaning::Frame | Meaning::Channel(Part::End) => {
                Here::Closer(token.end, token.cut)
            }
            _ if token.cut => Here::Closer(token.end, true),
            Meaning::Separator => Here::Separator(token.end),
            Meaning::Filler => Here::Filler(token.end),
            Meaning::CallOpen(_)
            | Meaning::SectionOpen
            | Meaning::Answer
            | Meaning::ThinkOpen(_)
            | Meaning::ThinkClose(_)
            | Meaning::Channel(_) => Here::Next,
        });
    }
    if source.byte(at) == Some(b'<') {
        match mark_at(source.rest(at)) {
            Mark::End(_) | Mark::Turn => return Ok(Here::End),
            Mark::Begun => source.ends_at(source.len()).map(drop)?,
            Mark::Nothing => {}
        }
    }
    let Some(tag) = tag_at(source, at)? else { return Ok(Here::Other) };
    let wrapper = names.wrapper(tag.name).is_some();
    Ok(match tag.kind {
        TagKind::Close
            if wrapper || Names::is_named_element(tag.name) || names.is_container(tag.name, None) =>
        {
            Here::Closer(tag.end, tag.cut)
        }
        TagKind::Close if tag.cut => Here::Closer(tag.end, true),
        TagKind::Open | TagKind::Empty if wrapper || is_result_tag(tag.name) => Here::Next,
        TagKind::Close | TagKind::Open | TagKind::Empty => Here::Other,
    })
}
