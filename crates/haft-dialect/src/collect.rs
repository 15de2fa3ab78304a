//! What the parser has found so far, and the events that say so.
//! It must not read text; the message does.

use crate::draft::Outcome;
use crate::message::Output;
use crate::parser::MAX_ATTEMPTS;
use crate::scan::{is_blank, is_invisible};
use crate::{Attempt, Dialect, Event, MalformedCall, Parsed, ParsedCall, Piece, PieceKind, Repair, Span};

/// What was found so far.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    calls: Vec<ParsedCall>,
    malformed: Vec<MalformedCall>,
    order: Vec<Attempt>,
    text: Vec<Span>,
    reasoning: Vec<Span>,
    /// All before this offset was reasoning, but for the marks of it.
    reasoned_to: usize,
    think_marks: Vec<Span>,
    marks: Vec<Span>,
    /// The dialect that the first attempt shows, and the text by which it does.
    form: Option<(Dialect, Span)>,
    has_text: bool,
}

impl Collected {
    pub(crate) fn push(&mut self, outcome: Outcome) {
        match outcome {
            Ok(call) => {
                self.order.push(Attempt::Call(self.calls.len()));
                self.calls.push(call);
            }
            Err(malformed) => {
                self.order.push(Attempt::Malformed(self.malformed.len()));
                self.malformed.push(malformed);
            }
        }
    }

    /// Where the length limit cut the text off, no call without its closing mark is run.
    pub(crate) fn refuse_unclosed(&mut self) {
        let found = std::mem::take(self);
        let mut calls = found.calls.into_iter();
        let mut malformed = found.malformed.into_iter();
        *self = Self {
            text: found.text,
            reasoning: found.reasoning,
            reasoned_to: found.reasoned_to,
            think_marks: found.think_marks,
            marks: found.marks,
            form: found.form,
            ..Self::default()
        };
        for attempt in found.order {
            let outcome = match attempt {
                Attempt::Call(_) => calls.next().map(|call| {
                    if !call.repairs.contains(&Repair::CallClosed) && !call.is_open_end {
                        return Ok(call);
                    }
                    Err(MalformedCall {
                        name: Some(call.name),
                        reason: "the text was cut off by the length limit before the call was closed"
                            .to_owned(),
                        hint: "Write the whole call again, shorter if it was too long.".to_owned(),
                        span: call.span,
                    })
                }),
                Attempt::Malformed(_) => malformed.next().map(Err),
            };
            if let Some(outcome) = outcome {
                self.push(outcome);
            }
        }
    }

    /// The result. Behind `end` stand marks of the end of the text.
    pub(crate) fn into_parsed(mut self, dialect: Dialect, end: usize, buffer: String) -> Parsed {
        self.settle_reasoning();
        let reasoning = joined(&buffer, &self.reasoning);
        let pieces = self.pieces(end, &buffer);
        let shown = self.form;
        let dialect = match (dialect, shown) {
            (Dialect::Auto, None) => "none",
            (Dialect::Auto, Some((form, _))) => form.name(),
            (named, _) => named.name(),
        };
        let evidence = shown.map(|(_, evidence)| evidence);
        let text = match self.text.as_slice() {
            // Nothing but text: the buffer becomes the text.
            [Span { start: 0, end }] => {
                let mut text = buffer;
                text.truncate(*end);
                trim(&mut text);
                text
            }
            spans => visible(&buffer, spans),
        };
        let Self { calls, malformed, order, .. } = self;
        Parsed { dialect, evidence, calls, malformed, order, text, reasoning, pieces }
    }

    /// Puts what turned out to be reasoning before what was known to be.
    fn settle_reasoning(&mut self) {
        if self.reasoned_to == 0 {
            return;
        }
        let mut reasoning = Vec::with_capacity(self.think_marks.len() + self.reasoning.len() + 1);
        let mut start = 0;
        for mark in self.think_marks.iter().take_while(|mark| mark.start < self.reasoned_to) {
            reasoning.push(Span { start, end: mark.start });
            start = mark.end;
        }
        if start < self.reasoned_to {
            reasoning.push(Span { start, end: self.reasoned_to });
        }
        reasoning.append(&mut self.reasoning);
        self.reasoning = reasoning;
    }

    /// Everything that was found, as pieces that rebuild the input.
    fn pieces(&self, end: usize, buffer: &str) -> Vec<Piece> {
        let texts = self.text.iter().map(|span| (PieceKind::Text, *span));
        let reasoning = self.reasoning.iter().map(|span| (PieceKind::Reasoning, *span));
        let marks = self.marks.iter().map(|span| (PieceKind::Mark, *span));
        let calls = self.calls.iter().map(|call| (PieceKind::Call, call.span));
        let malformed = self.malformed.iter().map(|call| (PieceKind::Malformed, call.span));
        let mut found: Vec<(PieceKind, Span)> =
            texts.chain(reasoning).chain(marks).chain(calls).chain(malformed).collect();
        found.sort_by_key(|(kind, span)| (span.start, *kind));
        let mut pieces: Vec<Piece> = Vec::with_capacity(found.len() + 1);
        let mut at = 0;
        let mut add = |kind: PieceKind, to: usize| {
            if to > at {
                let blank = || buffer.get(at..to).is_some_and(|piece| piece.chars().all(is_blank));
                // Blanks between calls are no text.
                let after_text = pieces.last().is_some_and(|last| last.kind == PieceKind::Text);
                let kind =
                    if kind == PieceKind::Text && !after_text && blank() { PieceKind::Dropped } else { kind };
                match pieces.last_mut() {
                    Some(last)
                        if last.kind == kind
                            && matches!(
                                kind,
                                PieceKind::Text | PieceKind::Reasoning | PieceKind::Dropped
                            ) =>
                    {
                        last.span.end = to;
                    }
                    _ => pieces.push(Piece { kind, span: Span { start: at, end: to } }),
                }
                at = to;
            }
        };
        for (kind, span) in found {
            add(PieceKind::Dropped, span.start);
            add(kind, span.end);
        }
        add(PieceKind::Dropped, end);
        add(PieceKind::Mark, buffer.len());
        pieces
    }
}

fn joined(buffer: &str, spans: &[Span]) -> String {
    let mut text = String::with_capacity(spans.iter().map(|span| span.end - span.start).sum());
    text.extend(spans.iter().map(|span| buffer.get(span.start..span.end).unwrap_or_default()));
    trim(&mut text);
    text
}

/// The visible text; characters that cannot be seen do not count beside what stood between its parts.
fn visible(buffer: &str, spans: &[Span]) -> String {
    let mut text = String::with_capacity(spans.iter().map(|span| span.end - span.start).sum());
    for span in spans {
        let part = buffer.get(span.start..span.end).unwrap_or_default();
        text.push_str(part.trim_matches(is_invisible));
    }
    trim(&mut text);
    text
}

/// Takes blanks off both ends, in place.
fn trim(text: &mut String) {
    text.truncate(text.trim_end_matches(is_blank).len());
    let leading = text.len() - text.trim_start_matches(is_blank).len();
    text.drain(..leading);
}

fn extend(spans: &mut Vec<Span>, from: usize, to: usize) {
    match spans.last_mut() {
        Some(last) if last.end == from => last.end = to,
        _ => spans.push(Span { start: from, end: to }),
    }
}

/// Collects and sends at once.
pub(crate) struct Sending<'a> {
    pub(crate) collected: &'a mut Collected,
    pub(crate) text: &'a str,
    /// What lies before was sent already.
    pub(crate) sent_to: usize,
    pub(crate) sink: &'a mut dyn FnMut(Event<'_>),
}

impl Sending<'_> {
    fn slice(&self, from: usize, to: usize) -> &str {
        self.text.get(from..to).unwrap_or_default()
    }
}

impl Output for Sending<'_> {
    fn text(&mut self, from: usize, to: usize) {
        if !self.collected.has_text {
            self.collected.has_text = self.slice(from, to).contains(|character| !is_blank(character));
        }
        extend(&mut self.collected.text, from, to);
        if to > self.sent_to {
            (self.sink)(Event::Text(self.text.get(from.max(self.sent_to)..to).unwrap_or_default()));
        }
    }

    fn reasoning(&mut self, from: usize, to: usize) {
        if to > from {
            extend(&mut self.collected.reasoning, from, to);
            if to > self.sent_to {
                (self.sink)(Event::Reasoning(self.text.get(from.max(self.sent_to)..to).unwrap_or_default()));
            }
        }
    }

    fn outcome(&mut self, outcome: Outcome) -> bool {
        if self.collected.order.len() >= MAX_ATTEMPTS {
            let span = match &outcome {
                Ok(call) => call.span,
                Err(malformed) => malformed.span,
            };
            self.collected.push(Err(MalformedCall {
                name: None,
                reason: format!("the message holds more than {MAX_ATTEMPTS} calls; the rest was not read"),
                hint: "Make fewer calls at once.".to_owned(),
                span,
            }));
            return false;
        }
        match &outcome {
            Ok(call) if call.span.start >= self.sent_to => {
                for repair in &call.repairs {
                    (self.sink)(Event::Repair(call, *repair));
                }
                (self.sink)(Event::Call(call));
            }
            Err(malformed) if malformed.span.start >= self.sent_to => {
                (self.sink)(Event::Malformed(malformed));
            }
            Ok(_) | Err(_) => {}
        }
        self.collected.push(outcome);
        true
    }

    fn all_was_reasoning(&mut self, to: usize) {
        // As it stood, without its marks: calls that were only drafts are part of it.
        let think_marks = std::mem::take(&mut self.collected.think_marks);
        let marks = std::mem::take(&mut self.collected.marks);
        *self.collected = Collected { reasoned_to: to, think_marks, marks, ..Collected::default() };
    }

    fn think_mark(&mut self, from: usize, to: usize) {
        self.collected.think_marks.push(Span { start: from, end: to });
    }

    fn mark(&mut self, from: usize, to: usize) {
        if to > from {
            extend(&mut self.collected.marks, from, to);
            if to > self.sent_to {
                (self.sink)(Event::Mark(self.text.get(from.max(self.sent_to)..to).unwrap_or_default()));
            }
        }
    }

    fn dropped(&mut self, from: usize, to: usize) {
        if to > from.max(self.sent_to) {
            (self.sink)(Event::Dropped(self.text.get(from.max(self.sent_to)..to).unwrap_or_default()));
        }
    }

    fn shows(&mut self, form: Dialect, evidence: Span) {
        self.collected.form.get_or_insert((form, evidence));
    }

    fn has_outcomes(&self) -> bool {
        !self.collected.order.is_empty()
    }

    fn has_text(&self) -> bool {
        self.collected.has_text
    }
}
