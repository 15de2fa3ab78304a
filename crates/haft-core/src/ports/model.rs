//! The port of a model: one turn in, one turn out, streaming on the way.
//!
//! No provider's JSON stands here (PRV-03); what a provider wants back unchanged travels as opaque values.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::RequestedCall;
use crate::message::Message;
use crate::ports::{BoxFuture, Cancel};
use crate::turn::{ModelTool, ToolChoice};

/// What a model is like, as its entry says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelTraits {
    /// The name under which it was chosen: `openai:gpt-5`, `demo`, the name of an entry …
    pub name: String,
    /// The dialect in which it is spoken to: `native`, `artifact-xml` …
    pub dialect: String,
    /// It takes images.
    pub images: bool,
    /// The result form of its dialect carries the content itself, so no renderer is applied.
    pub wraps_results: bool,
    /// Wire ids are the provider's contract (CONFLICT-31 `call_ids = provider`).
    pub provider_call_ids: bool,
    /// Tokens of a request and its answer together that it can take, where that is known.
    pub context_tokens: Option<u64>,
}

/// One request.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    /// The agent that asks: the name of its profile, or of its task. It is for scripts and logs; no model is told.
    pub agent: String,
    /// The agent's prompt, without tool instructions: a text dialect adds its own.
    pub system: String,
    /// The conversation so far.
    pub messages: Vec<Message>,
    /// The tools of this turn.
    pub tools: Vec<ModelTool>,
    /// Which of them may or must be called.
    pub choice: ToolChoice,
    /// Calls of one answer run one after another (CONFLICT-27).
    pub serial: bool,
    /// Most tokens of the answer.
    pub max_tokens: Option<u32>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Sampling seed.
    pub seed: Option<u64>,
}

/// Why the model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// It was done.
    Stop,
    /// It wants calls to run.
    ToolCalls,
    /// It ran out of tokens: what is unclosed is cut.
    Length,
    /// The provider filtered the answer.
    ContentFilter,
    /// Something else, or nothing was said.
    Other,
}

/// Tokens, as the provider counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the request.
    pub input_tokens: u64,
    /// Tokens of the answer.
    pub output_tokens: u64,
}

/// One answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelTurn {
    /// Visible text.
    pub text: String,
    /// Reasoning that the model showed; never text, never searched for calls.
    pub reasoning: String,
    /// What it asks for, in order.
    pub calls: Vec<RequestedCall>,
    /// The answer as the model wrote it, where that differs from `text` (text dialects): it goes back into the history.
    pub raw: Option<String>,
    /// Why it stopped.
    pub finish_reason: FinishReason,
    /// Tokens.
    pub usage: Option<Usage>,
    /// What the provider wants back with this message. Opaque.
    pub provider_metadata: Option<Value>,
}

/// Receives an answer while it is written. The finished [`ModelTurn`] is what counts.
pub trait TurnSink: Send {
    /// More visible text.
    fn text(&mut self, delta: &str);
    /// More reasoning.
    fn reasoning(&mut self, delta: &str);
    /// A request is tried again: what was streamed so far does not count.
    fn restarted(&mut self, reason: &str);
}

/// A model request that failed for good, retries included.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The run was stopped.
    #[error("the model request was cancelled")]
    Cancelled,
    /// The server cannot be reached.
    #[error(
        "cannot reach the model `{model}` at {url}: {reason}. Is the server running? `haft doctor` looks for local ones"
    )]
    Unreachable {
        /// The model's name.
        model: String,
        /// Where it was looked for.
        url: String,
        /// What the network said.
        reason: String,
    },
    /// The server refused the request.
    #[error("the model `{model}` refused the request (HTTP {status}): {body}")]
    Refused {
        /// The model's name.
        model: String,
        /// HTTP status.
        status: u16,
        /// The server's own words, shortened.
        body: String,
    },
    /// The answer ended too early or took too long.
    #[error("the answer of the model `{model}` was cut off: {reason}. Nothing of it was run; try again")]
    CutOff {
        /// The model's name.
        model: String,
        /// What was seen.
        reason: String,
    },
    /// The answer breaks the provider's contract (EXE-17, PRV-02).
    #[error("the model `{model}` answered nonsense: {reason}")]
    Malformed {
        /// The model's name.
        model: String,
        /// What is wrong.
        reason: String,
    },
    /// A script has no more turns.
    #[error(
        "the script {script} has no turn left (model.script_exhausted); add a line or end the run earlier"
    )]
    ScriptExhausted {
        /// Which script.
        script: String,
    },
    /// A script expected another request.
    #[error(
        "the script {script}, line {line}: the last message does not contain {expected:?}; it was {got:?}"
    )]
    ScriptExpectation {
        /// Which script.
        script: String,
        /// Line, from 1.
        line: usize,
        /// What should stand in the last message.
        expected: String,
        /// What stood there, shortened.
        got: String,
    },
}

impl ModelError {
    /// The stable code, for journal and `--json`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Cancelled => "model.cancelled",
            Self::Unreachable { .. } => "model.unreachable",
            Self::Refused { .. } => "model.refused",
            Self::CutOff { .. } => "model.cut_off",
            Self::Malformed { .. } => "model.malformed_answer",
            Self::ScriptExhausted { .. } => "model.script_exhausted",
            Self::ScriptExpectation { .. } => "model.script_expectation",
        }
    }
}

/// A model.
pub trait Model: Send + Sync {
    /// What it is like.
    fn traits(&self) -> &ModelTraits;

    /// One turn. Requests that failed before anything was run may be tried again inside; tools never are (EXE-06).
    fn turn<'a>(
        &'a self,
        request: &'a ModelRequest,
        sink: &'a mut dyn TurnSink,
        cancel: &'a dyn Cancel,
    ) -> BoxFuture<'a, Result<ModelTurn, ModelError>>;
}
