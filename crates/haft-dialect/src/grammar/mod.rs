//! Grammars: what a server that can hold a model to a form must be sent, so that every call is one of this turn's and well
//! formed, with free text beside the calls.
//!
//! [`gbnf`] writes llama.cpp's `grammar` for a dialect, out of the same layouts that the writers follow;
//! [`answer_schema`] writes the JSON Schema of a `response_format`, whose answers [`read_answer`] reads. A grammar mends the
//! form and never the content: arguments are validated as ever.

mod answer;
mod calls;
mod marks;
mod rules;
mod text;
mod values;

pub use answer::{Answer, AnswerCall, answer_schema, read_answer};
pub use calls::gbnf;

use crate::{CannotCarry, DeclaredTool};

/// What the calls of one turn may be.
#[derive(Debug, Clone, Copy)]
pub struct Contract<'a> {
    /// The tools that may be called.
    pub tools: &'a [DeclaredTool],
    /// Whether there must be a call. Then nothing but reasoning stands before it.
    pub required: bool,
    /// Calls that one answer may hold, at most. Small models repeat a call for as long as they may.
    pub most_calls: usize,
}

/// Why no grammar can be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GrammarError {
    /// The dialect has no form for a tool.
    #[error(transparent)]
    CannotCarry(#[from] CannotCarry),
    /// A call is demanded, and nothing can be called.
    #[error("a call is demanded, but the turn has no tool")]
    NoTool,
}
