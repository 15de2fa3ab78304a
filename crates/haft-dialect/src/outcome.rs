//! What a text came to: calls, failed attempts, text and reasoning, and the events on the way there.

use serde_json::{Map, Value};

/// A piece of the input: UTF-8 byte offsets, end exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// First byte after the piece.
    pub end: usize,
}

/// Why the model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FinishReason {
    /// It came to its end, or nothing is known.
    #[default]
    Stop,
    /// The token limit cut it off: no unclosed call is run.
    Length,
}

/// A call that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedCall {
    /// The id written in the text, if there is one.
    pub id: Option<String>,
    /// The declared name, or the name as written where no declared tool is meant.
    pub name: String,
    /// The arguments, typed by the tool's schema, not validated.
    pub arguments: Map<String, Value>,
    /// What had to be mended, each kind once, in order of first need.
    pub repairs: Vec<Repair>,
    /// Where the call stands.
    pub span: Span,
    /// Nothing but the end of the text ended the last value.
    pub(crate) is_open_end: bool,
}

/// An attempt at a call that cannot be run (DIA-10, CONFLICT-03).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MalformedCall {
    /// The tool's name, if it could be read.
    pub name: Option<String>,
    /// What is wrong, in words for the model.
    pub reason: String,
    /// What to mend.
    pub hint: String,
    /// Where the attempt stands.
    pub span: Span,
}

/// One attempt in the order of the text; results are answered in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    /// An index into [`Parsed::calls`].
    Call(usize),
    /// An index into [`Parsed::malformed`].
    Malformed(usize),
}

/// The result of parsing a whole text. It alone is binding; events are a preview.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    /// The dialect that was read; `none` if the dialect was left open and no attempt was found.
    pub dialect: &'static str,
    /// The text by which the dialect was recognized: the beginning of the first attempt.
    pub evidence: Option<Span>,
    /// The calls to run, in order.
    pub calls: Vec<ParsedCall>,
    /// The attempts that cannot be run, in order.
    pub malformed: Vec<MalformedCall>,
    /// Calls and malformed attempts in the order of the text.
    pub order: Vec<Attempt>,
    /// Visible text, trimmed.
    pub text: String,
    /// Reasoning, trimmed.
    pub reasoning: String,
    /// The whole input in pieces, in order: together they rebuild it.
    pub pieces: Vec<Piece>,
}

/// What a piece of the input was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PieceKind {
    /// A call, with its marks.
    Call,
    /// An attempt that cannot be run.
    Malformed,
    /// A mark of the dialect that is neither text nor call.
    Mark,
    /// Reasoning.
    Reasoning,
    /// Visible text.
    Text,
    /// What does not count: blanks at the start, and what the model invented behind its calls.
    Dropped,
}

/// A piece of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// What it was.
    pub kind: PieceKind,
    /// Where it stands.
    pub span: Span,
}

/// What can be shown while the text still comes in. [`Parsed`] is authoritative, an event is not: text and calls before an
/// orphan `</think>` turn out to be reasoning, and calls that were never closed are refused when the model's turn
/// was cut off by a length limit. So show events, but run only what [`Parsed`] holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Event<'a> {
    /// Visible text, with characters that cannot be seen; beside calls the result leaves them out.
    Text(&'a str),
    /// Reasoning.
    Reasoning(&'a str),
    /// A call seems to begin: its name as written.
    CallStart(&'a str),
    /// More of the text of the call that began.
    ArgumentDelta(&'a str),
    /// A liberty that was taken to read the call that follows.
    Repair(&'a ParsedCall, Repair),
    /// A complete call.
    Call(&'a ParsedCall),
    /// A mark that is neither text nor call.
    Mark(&'a str),
    /// What the model invented behind its calls.
    Dropped(&'a str),
    /// A failed attempt.
    Malformed(&'a MalformedCall),
}

macro_rules! repairs {
    ($($(#[$doc:meta])+ $variant:ident = $name:literal,)+) => {
        /// A liberty that was taken to read a call. The set is closed, the names are stable.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Repair {
            $($(#[$doc])+ $variant,)+
        }

        impl Repair {
            /// The stable name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }
        }

        /// All repairs, for `haft parse --repairs`.
        pub const fn repairs() -> &'static [Repair] {
            &[$(Repair::$variant,)+]
        }
    };
}

repairs! {
    /// DIA-04: the tool's name was used as a tag.
    NameFromTag = "name_from_tag",
    /// DIA-05: `<name=…` instead of `<name>…`.
    TagEquals = "tag_equals",
    /// The closing bracket of a tag was missing.
    TagClosed = "tag_closed",
    /// DIA-06: a value without its own close tag.
    ValueClosed = "value_closed",
    /// A value without its own open tag.
    ValueOpened = "value_opened",
    /// DIA-07: parameters outside of the container, or several containers.
    ParamsMerged = "params_merged",
    /// DIA-08: the container was not closed.
    ParamsClosed = "params_closed",
    /// DIA-09: the call was not closed.
    CallClosed = "call_closed",
    /// A call without its wrapper, known by a declared name.
    WrapperAdded = "wrapper_added",
    /// Several calls in one wrapper.
    SiblingsSplit = "siblings_split",
    /// The name stood in an attribute.
    NameFromAttribute = "name_from_attribute",
    /// The name stood in the wrapper as plain text.
    NameFromText = "name_from_text",
    /// Parameters stood in attributes.
    ParamsFromAttributes = "params_from_attributes",
    /// The container held a JSON object.
    ParamsFromJson = "params_from_json",
    /// The whole call was JSON.
    CallFromJson = "call_from_json",
    /// JSON that only a loose reading accepts.
    LooseJson = "loose_json",
    /// JSON with too few or too many closing brackets.
    BracketsMended = "brackets_mended",
    /// A code fence round the call was taken off.
    FenceRemoved = "fence_removed",
    /// The tool's name was spelled otherwise and mapped to the only tool that can be meant.
    NameMapped = "name_mapped",
    /// A parameter's name was spelled otherwise and mapped.
    ParameterMapped = "parameter_mapped",
    /// Full-width characters stood for `<`, `>` or `/`.
    FullWidthMarks = "full_width_marks",
    /// Text between tags was dropped.
    StrayTextDropped = "stray_text_dropped",
    /// A tag that closes or opens nothing was dropped.
    StrayTagDropped = "stray_tag_dropped",
    /// A parameter given twice with the same value counts once.
    DuplicateDropped = "duplicate_dropped",
}

impl std::fmt::Display for Repair {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.pad(self.name())
    }
}
