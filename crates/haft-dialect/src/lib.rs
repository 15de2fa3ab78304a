//! Text dialects of tool calls: push parsers, writers and prompt instructions.
//!
//! A [`Parser`] is fed a model's text in pieces of any size and, at the end, gives one [`Parsed`]: calls with arguments typed
//! by their schema, attempts that could not be read (never silence), visible text and reasoning. However the text is
//! cut, the result is the same, and the work per byte is constant.
//!
//! Pure: no I/O, no clock. A dialect decides what was meant, never whether it may run; it validates nothing and
//! knows no permissions. Start with [`Parser`]; [`artifact_xml`] holds the dialect's grammar and its writers.

pub mod artifact_xml;
mod call_json;
mod collect;
mod dialect;
mod draft;
mod envelope;
mod forms;
mod grammar;
mod literal;
mod marks;
mod mend;
mod message;
mod outcome;
mod parser;
mod preview;
mod scan;
mod tokens;
mod tools;
mod write;

pub use dialect::{Tags, UnknownDialect};
pub use forms::{Dialect, Engine, Form, ValueTyping, dialects, forms};
pub use grammar::{Answer, AnswerCall, Contract, GrammarError, answer_schema, gbnf, read_answer};
pub use outcome::{
    Attempt, Event, FinishReason, MalformedCall, Parsed, ParsedCall, Piece, PieceKind, Repair, Span, repairs,
};
pub use parser::{MAX_ATTEMPTS, MAX_BYTES, Parser, ParserOptions, parse};
pub use tools::{DeclaredTool, ToolSet};
pub use write::{CannotCarry, ExecutionMode, ToolInfo, Uncarried, Writer, WrittenCall, WrittenResult};
