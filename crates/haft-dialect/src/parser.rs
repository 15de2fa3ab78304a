//! The push parser: text comes in by pieces, events go out, and at the end there is one [`Parsed`].
//!
//! The whole input is kept, so that spans, reasoning that turns out late and values are pieces of one buffer. What the
//! text so far does not decide is tried again when enough has come to pay for it: every byte fed earns a few bytes of
//! trying, so that the total work stays linear however the text is cut.
//! It must not know the grammar of a dialect.

use std::sync::Arc;

use crate::artifact_xml::names::Names;
use crate::draft::Outcome;
use crate::marks::effective_end;
use crate::message::{Message, Output};
use crate::scan::{Source, is_blank};
use crate::{
    Attempt, Dialect, Event, FinishReason, MalformedCall, Parsed, ParsedCall, Repair, Span, Tags, ToolSet,
};

/// Longest text that is read, in bytes; what comes after is not looked at.
pub const MAX_BYTES: usize = 16 << 20;

/// Attempts that one text may hold; what comes after is not looked at.
pub const MAX_ATTEMPTS: usize = 1000;

/// Bytes of trying that a fed byte pays for.
const CREDIT_PER_BYTE: usize = 2;

/// What a try in vain costs beside the bytes it looks at.
const TRY_COST: usize = 8;

/// Held bytes up to which every piece is tried.
const SHORT: usize = 32;

/// What a parser needs to know beside dialect and tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ParserOptions {
    /// The names of the tags.
    pub tags: Tags,
}

/// Reads one text of a model.
///
/// ```
/// use std::sync::Arc;
///
/// use haft_dialect::{DeclaredTool, Dialect, Event, FinishReason, Parser, ParserOptions, ToolSet};
/// use haft_schema::Schema;
///
/// let schema = Schema::new(serde_json::json!({"properties": {"limit": {"type": "integer"}}}))?;
/// let tools = Arc::new(ToolSet::new([DeclaredTool { name: "find".to_owned(), schema }]));
/// let mut parser = Parser::new(Dialect::ArtifactXml, tools, &ParserOptions::default());
/// let mut shown = String::new();
/// for piece in ["One moment.\n<tool_c", "all><name>find</name><params><limit><![CDATA[3]]>", "</limit></params></tool_call>"] {
///     parser.feed(piece, &mut |event| {
///         if let Event::Text(text) = event {
///             shown.push_str(text);
///         }
///     });
/// }
/// let parsed = parser.finish(FinishReason::Stop);
/// assert_eq!(shown, "One moment.\n");
/// assert_eq!(parsed.text, "One moment.");
/// assert_eq!(parsed.calls[0].arguments["limit"], 3);
/// # Ok::<(), haft_schema::SchemaError>(())
/// ```
#[derive(Debug)]
pub struct Parser {
    dialect: Dialect,
    names: Names,
    buffer: String,
    message: Message,
    collected: Collected,
    /// Bytes of trying that are paid for.
    credit: usize,
    /// Bytes were left out because the text is too long.
    overflowed: bool,
    /// Something before the end is not decided yet.
    holding: bool,
}

impl Parser {
    /// A parser for one text.
    pub fn new(dialect: Dialect, tools: Arc<ToolSet>, options: &ParserOptions) -> Self {
        Self {
            dialect,
            names: Names::new(tools, &options.tags, dialect),
            buffer: String::new(),
            message: Message::new(),
            collected: Collected::default(),
            credit: 1024,
            overflowed: false,
            holding: false,
        }
    }

    /// Takes the next piece of the text and sends what it decides.
    pub fn feed(&mut self, chunk: &str, sink: &mut dyn FnMut(Event<'_>)) {
        let room = MAX_BYTES.saturating_sub(self.buffer.len());
        if chunk.len() <= room {
            self.buffer.push_str(chunk);
        } else {
            self.overflowed = true;
            let end = (0..=room).rev().find(|end| chunk.is_char_boundary(*end)).unwrap_or(0);
            self.buffer.push_str(chunk.get(..end).unwrap_or_default());
        }
        self.credit = self.credit.saturating_add(CREDIT_PER_BYTE * chunk.len());
        if self.holding && !self.worth_trying(chunk) {
            return;
        }
        let source = Source::new(&self.buffer, false);
        let mut output = Sending { collected: &mut self.collected, text: &self.buffer, sent_to: 0, sink };
        self.holding = self.message.advance(source, &self.names, &mut output).is_err();
        if self.holding {
            self.credit = self.credit.saturating_sub(self.buffer.len() - self.message.at() + TRY_COST);
        }
    }

    /// Whether the held text is paid for, and could be decided by the piece that was fed last.
    fn worth_trying(&self, chunk: &str) -> bool {
        let held = self.buffer.len() - self.message.at();
        if held + TRY_COST > self.credit {
            return false;
        }
        if held <= SHORT || !self.message.holds_block(Source::new(&self.buffer, false)) {
            return true;
        }
        // A long block that may be a call is decided by its closing mark only.
        let bytes = chunk.as_bytes();
        let closes =
            if bytes.len() < 16 { bytes.contains(&b'>') } else { memchr::memchr(b'>', bytes).is_some() };
        closes && self.may_be_closed(chunk)
    }

    /// Whether a closing mark of the held block is in the piece that was fed last: that of its wrapper, else that of the
    /// parameters. Marks in unusual forms are found at the end of the text.
    fn may_be_closed(&self, chunk: &str) -> bool {
        let wrapped =
            self.names.opens_plainly(self.buffer.as_bytes().get(self.message.at()..).unwrap_or_default());
        let fed_from = self.buffer.len() - chunk.len().min(self.buffer.len());
        memchr::memchr_iter(b'>', chunk.as_bytes()).any(|at| {
            let before = self.buffer.as_bytes().get(..fed_from + at).unwrap_or_default();
            let before = before.strip_suffix(b"s").unwrap_or(before);
            before.ends_with(self.names.wrapper_tail())
                || before.ends_with(b"call")
                || !wrapped && (before.ends_with(b"param") || before.ends_with(b"argument"))
        })
    }

    /// Ends the text. `reason` says why the model stopped.
    pub fn finish(self, reason: FinishReason) -> Parsed {
        self.finish_with(reason, &mut |_| {})
    }

    /// [`Parser::finish`], sending what only the end decided.
    pub fn finish_with(mut self, reason: FinishReason, sink: &mut dyn FnMut(Event<'_>)) -> Parsed {
        let reason = if self.overflowed { FinishReason::Length } else { reason };
        let whole = self.buffer.len();
        let end = effective_end(&self.buffer);
        let text = self.buffer.get(..end).unwrap_or_default();
        let sent_to = self.message.at();
        if end < whole {
            // Marks of the end were looked at as text. Nothing that was decided by them counts.
            self.message = Message::new();
            self.collected = Collected::default();
        }
        if self.holding || self.message.at() < end || self.message.needs_end() {
            let mut output = Sending { collected: &mut self.collected, text, sent_to, sink };
            // A complete source decides everything.
            let decided = self.message.advance(Source::new(text, true), &self.names, &mut output);
            debug_assert!(decided.is_ok(), "a complete text must be decided");
        }
        if reason == FinishReason::Length {
            self.collected.refuse_unclosed();
        }
        if self.overflowed {
            self.collected.push(Err(MalformedCall {
                name: None,
                reason: format!("the message is longer than {MAX_BYTES} bytes; the rest was not read"),
                hint: "Write shorter messages.".to_owned(),
                span: Span { start: whole, end: whole },
            }));
        }
        self.collected.into_parsed(self.dialect, self.buffer)
    }
}

/// Parses a whole text.
///
/// ```
/// use std::sync::Arc;
///
/// use haft_dialect::{Dialect, FinishReason, ParserOptions, ToolSet, parse};
///
/// let text = "<tool_call><name>ping</name><params/></tool_call>";
/// let parsed = parse(text, Dialect::Auto, Arc::new(ToolSet::default()), &ParserOptions::default(), FinishReason::Stop);
/// assert_eq!((parsed.dialect, parsed.calls[0].name.as_str()), ("artifact-xml", "ping"));
/// ```
pub fn parse(
    text: &str,
    dialect: Dialect,
    tools: Arc<ToolSet>,
    options: &ParserOptions,
    reason: FinishReason,
) -> Parsed {
    let mut parser = Parser::new(dialect, tools, options);
    parser.feed(text, &mut |_| {});
    parser.finish(reason)
}

/// What was found so far.
#[derive(Debug, Default)]
struct Collected {
    calls: Vec<ParsedCall>,
    malformed: Vec<MalformedCall>,
    order: Vec<Attempt>,
    text: Vec<Span>,
    reasoning: Vec<Span>,
    think_marks: Vec<Span>,
    has_text: bool,
}

impl Collected {
    fn push(&mut self, outcome: Outcome) {
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
    fn refuse_unclosed(&mut self) {
        let found = std::mem::take(self);
        let mut calls = found.calls.into_iter();
        let mut malformed = found.malformed.into_iter();
        *self = Self { text: found.text, reasoning: found.reasoning, ..Self::default() };
        for attempt in found.order {
            let outcome = match attempt {
                Attempt::Call(_) => calls.next().map(|call| {
                    if !call.repairs.contains(&Repair::CallClosed) {
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

    fn into_parsed(self, dialect: Dialect, buffer: String) -> Parsed {
        let reasoning = joined(&buffer, &self.reasoning);
        let dialect = match dialect {
            Dialect::Auto if self.order.is_empty() => "none",
            Dialect::Auto => Dialect::ArtifactXml.name(),
            named => named.name(),
        };
        let text = match self.text.as_slice() {
            // Nothing but text: the buffer becomes the text.
            [Span { start: 0, end }] => {
                let mut text = buffer;
                text.truncate(*end);
                trim(&mut text);
                text
            }
            spans => joined(&buffer, spans),
        };
        Parsed { dialect, calls: self.calls, malformed: self.malformed, order: self.order, text, reasoning }
    }
}

fn joined(buffer: &str, spans: &[Span]) -> String {
    let mut text = String::with_capacity(spans.iter().map(|span| span.end - span.start).sum());
    text.extend(spans.iter().map(|span| buffer.get(span.start..span.end).unwrap_or_default()));
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
struct Sending<'a> {
    collected: &'a mut Collected,
    text: &'a str,
    /// What lies before was sent already.
    sent_to: usize,
    sink: &'a mut dyn FnMut(Event<'_>),
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
            let start = match &outcome {
                Ok(call) => call.span.start,
                Err(malformed) => malformed.span.start,
            };
            self.collected.push(Err(MalformedCall {
                name: None,
                reason: format!("the message holds more than {MAX_ATTEMPTS} calls; the rest was not read"),
                hint: "Make fewer calls at once.".to_owned(),
                span: Span { start, end: self.text.len() },
            }));
            return false;
        }
        match &outcome {
            Ok(call) if call.span.start >= self.sent_to => (self.sink)(Event::Call(call)),
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
        let mut reasoning = Vec::with_capacity(think_marks.len() + 1);
        let mut start = 0;
        for mark in &think_marks {
            reasoning.push(Span { start, end: mark.start });
            start = mark.end;
        }
        reasoning.push(Span { start, end: to });
        *self.collected = Collected { reasoning, think_marks, ..Collected::default() };
    }

    fn think_mark(&mut self, from: usize, to: usize) {
        self.collected.think_marks.push(Span { start: from, end: to });
    }

    fn has_outcomes(&self) -> bool {
        !self.collected.order.is_empty()
    }

    fn has_text(&self) -> bool {
        self.collected.has_text
    }
}
