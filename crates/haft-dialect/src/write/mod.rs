//! Writers: calls, results and prompt instructions in every dialect.
//!
//! What a dialect looks like is data (`layout` and `layouts`, `result`); what is written, the parser reads back exactly, and
//! what a dialect cannot carry is said ([`CannotCarry`]) instead of damaged. Start with [`Writer`].
//! Nothing here reads a model's text.

pub(crate) mod call;
pub(crate) mod escape;
mod instructions;
pub(crate) mod layout;
pub(crate) mod layouts;
pub(crate) mod parameters;
mod result;
pub(crate) mod values;

pub use call::{CannotCarry, Uncarried, WrittenCall};
pub use instructions::{ExecutionMode, ToolInfo};
pub use result::WrittenResult;

use crate::{Dialect, Tags};
use layout::{Layout, TextPlace};

/// Writes one dialect.
///
/// ```
/// use haft_dialect::{Dialect, Tags, WrittenCall, WrittenResult, Writer};
///
/// let arguments = serde_json::json!({"port": "Brest", "days": 2});
/// let arguments = arguments.as_object().ok_or("no object")?;
/// let writer = Writer::new(Dialect::MistralV11, Tags::default());
/// let call = WrittenCall { name: "tide_table", arguments };
/// assert_eq!(writer.calls(&[call])?, "[TOOL_CALLS]tide_table[ARGS]{\"port\": \"Brest\", \"days\": 2}");
/// let result = WrittenResult { name: "tide_table", id: None, success: true, content: "Observation: high" };
/// let writer = Writer::new(Dialect::React, Tags::default());
/// assert_eq!(writer.results(&[result]), "Observation: O\\bservation: high");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Writer {
    dialect: Dialect,
    tags: Tags,
    layout: &'static Layout,
    /// Messages are one JSON object each.
    answers: bool,
}

impl Writer {
    /// A writer of `dialect`; `auto`, which only reads, is written as `artifact-xml`. Only that dialect has tags that can
    /// be named otherwise.
    pub fn new(dialect: Dialect, tags: Tags) -> Self {
        let dialect = if dialect == Dialect::Auto { Dialect::ArtifactXml } else { dialect };
        Self { dialect, tags, layout: layouts::layout(dialect), answers: false }
    }

    /// A writer of messages that are one JSON object each, as [`read_answer`](crate::read_answer) reads them; results are those
    /// of `dialect`.
    pub fn of_answers(dialect: Dialect) -> Self {
        Self { layout: &layouts::ANSWER, answers: true, ..Self::new(dialect, Tags::default()) }
    }

    /// The dialect.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// A batch of calls, as a model of this dialect writes them at the end of its message.
    ///
    /// # Errors
    /// The dialect has no form for a name or a value; nothing is written then.
    pub fn calls(&self, calls: &[WrittenCall<'_>]) -> Result<String, CannotCarry> {
        let mut text = String::new();
        call::push_calls(self.layout, calls, &self.tags.call, &mut text).map_err(|(index, what)| {
            CannotCarry {
                dialect: self.dialect,
                tool: calls.get(index).map(|call| call.name.to_owned()).unwrap_or_default(),
                what,
            }
        })?;
        Ok(text)
    }

    /// A message of visible text and calls.
    ///
    /// # Errors
    /// As [`Writer::calls`].
    pub fn message(&self, text: &str, calls: &[WrittenCall<'_>]) -> Result<String, CannotCarry> {
        let written = self.calls(calls)?;
        if self.answers {
            let mut message = String::from("{\"text\": ");
            values::push_json_string(text, &mut message);
            message.push_str(", \"tool_calls\": [");
            message.push_str(written.strip_prefix(layouts::ANSWER_OPEN).unwrap_or("]}"));
            return Ok(message);
        }
        if text.is_empty() || calls.is_empty() {
            return Ok(if calls.is_empty() { text.to_owned() } else { written });
        }
        let (before, behind) = self.layout.text;
        Ok(format!("{before}{text}{behind}{written}"))
    }

    /// Whether a reader finds calls beside visible text: in some dialects the calls must be the whole message.
    pub fn text_beside_calls(&self) -> bool {
        self.answers || self.layout.place != TextPlace::Nowhere
    }

    /// The results of a batch, in the order of its calls, as they go back to the model (RES-02, DIA-16).
    ///
    /// No content can close its own element or begin another result: marks in it get a backslash.
    pub fn results(&self, results: &[WrittenResult<'_>]) -> String {
        result::write(self.dialect, results)
    }

    /// Whether success and failure are part of the form of a result, so that its content need not say so.
    pub fn results_say_success(&self) -> bool {
        result::says_success(self.dialect)
    }

    /// The part of a system prompt that tells a model how to call these tools (DIA-13, DIA-14).
    pub fn instructions(&self, tools: &[ToolInfo<'_>], mode: ExecutionMode) -> String {
        instructions::instructions(self, tools, mode)
    }
}
