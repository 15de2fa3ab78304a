//! The push parser: text comes in by pieces, events go out, and at the end there is one [`Parsed`].
//!
//! The whole input is kept, so that spans, reasoning that turns out late and values are pieces of one buffer. What the
//! text so far does not decide is tried again when enough has come to pay for it: every byte fed earns a few bytes of
//! trying, so that the total work stays linear however the text is cut.
//! It must not know the grammar of a dialect.

use std::sync::Arc;

use crate::artifact_xml::names::Names;
use crate::collect::{Collected, Sending};
use crate::marks::effective_end;
use crate::message::{Held, Message};
use crate::preview::Preview;
use crate::scan::Source;
use crate::{Dialect, Event, FinishReason, MalformedCall, Parsed, Span, Tags, ToolSet};

/// Longest text that is read, in bytes; what comes after is not looked at.
pub const MAX_BYTES: usize = 16 << 20;

/// Attempts that one text may hold; what comes after is not looked at.
pub const MAX_ATTEMPTS: usize = 1000;

/// Bytes of trying that a fed byte pays for.
const CREDIT_PER_BYTE: usize = 1;

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

/// How calls begin whose element names the tool, and how that element and what may stand round it end.
const ELEMENT_OPENERS: [&[u8]; 3] = [b"<function", b"<invoke", b"]<]minimax"];
const ELEMENT_ENDS: [&[u8]; 3] = [b"function", b"invoke", b"call"];

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
    preview: Preview,
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
            preview: Preview::default(),
        }
    }

    /// Takes the next piece of the text and sends what it decides.
    pub fn feed(&mut self, chunk: &str, sink: &mut dyn FnMut(Event<'_>)) {
        self.push(chunk);
        self.credit = self.credit.saturating_add(CREDIT_PER_BYTE * chunk.len());
        if self.holding && !self.worth_trying(chunk) {
            self.preview.show(&self.buffer, self.message.at(), sink);
            return;
        }
        let source = Source::new(&self.buffer, false);
        let mut output = Sending { collected: &mut self.collected, text: &self.buffer, sent_to: 0, sink };
        self.holding = self.message.advance(source, &self.names, &mut output).is_err();
        if self.holding {
            self.credit = self.credit.saturating_sub(self.buffer.len() - self.message.at() + TRY_COST);
            self.preview.show(&self.buffer, self.message.at(), sink);
        }
    }

    /// Keeps a piece, as far as there is room for it.
    fn push(&mut self, chunk: &str) {
        let room = MAX_BYTES.saturating_sub(self.buffer.len());
        if chunk.len() <= room {
            self.buffer.push_str(chunk);
        } else {
            self.overflowed = true;
            let end = (0..=room).rev().find(|end| chunk.is_char_boundary(*end)).unwrap_or(0);
            self.buffer.push_str(chunk.get(..end).unwrap_or_default());
        }
    }

    /// Whether the held text is paid for, and could be decided by the piece that was fed last.
    fn worth_trying(&self, chunk: &str) -> bool {
        let held = self.buffer.len() - self.message.at();
        if held + TRY_COST > self.credit {
            return false;
        }
        let source = Source::new(&self.buffer, false);
        if held <= SHORT {
            return true;
        }
        // What may be a call and is long is decided by the end of its value or by its closing mark only.
        match self.message.held(source) {
            Held::Block => self.fed(chunk, b'>').next().is_some() && self.may_be_closed(chunk),
            Held::List => self.may_end_value(chunk, b']'),
            Held::Object => self.may_end_value(chunk, b'}'),
            Held::Fence => chunk.contains('`'),
            Held::Input => self.may_end_value(chunk, b'}') || chunk.contains('\n'),
            Held::Other => true,
        }
    }

    /// What stands before each place of a byte in the piece that was fed last.
    fn fed(&self, chunk: &str, byte: u8) -> impl Iterator<Item = &[u8]> {
        let fed_from = self.buffer.len() - chunk.len().min(self.buffer.len());
        memchr::memchr_iter(byte, chunk.as_bytes())
            .map(move |at| self.buffer.as_bytes().get(..fed_from + at).unwrap_or_default())
    }

    /// Whether a bracket in the piece that was fed last may end the held value, or a mark in brackets: `)]`, `"}`, `[TOOL_CALLS]`.
    fn may_end_value(&self, chunk: &str, bracket: u8) -> bool {
        self.fed(chunk, bracket).any(|before| {
            let last = before.trim_ascii_end().last();
            last.is_some_and(|last| {
                matches!(last, b')' | b'}' | b']' | b'{' | b'[' | b'"' | b'\'' | b'A'..=b'Z')
                    || bracket == b'}' && last.is_ascii_alphanumeric()
            })
        })
    }

    /// Whether a closing mark of the held block is in the piece that was fed last: that of its wrapper, of the element that
    /// names its tool, or a token; else that of the parameters. Marks in unusual forms are found at the end of the text.
    fn may_be_closed(&self, chunk: &str) -> bool {
        let held = self.buffer.as_bytes().get(self.message.at()..).unwrap_or_default();
        let wrapped = self.names.opens_plainly(held);
        let element = ELEMENT_OPENERS.iter().any(|opener| held.starts_with(opener));
        let token = held.starts_with(b"<|") || held.starts_with("<｜".as_bytes());
        self.fed(chunk, b'>').any(|before| {
            if token && (before.ends_with(b"|") || before.ends_with("｜".as_bytes())) {
                return true;
            }
            let before = before.strip_suffix(b"s").unwrap_or(before);
            if element {
                return ELEMENT_ENDS.iter().any(|name| before.ends_with(name));
            }
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
            let source = Source::new(text, true);
            let is_marked =
                self.buffer.get(end..).is_some_and(|marks| marks.trim_start().starts_with("</s>"));
            let source = if is_marked { source.before_mark() } else { source };
            let decided = self.message.advance(source, &self.names, &mut output);
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
        self.collected.into_parsed(self.dialect, end, self.buffer)
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
    // Nobody looks at events, and the end is known: it is read once.
    parser.push(text);
    parser.finish(reason)
}
