//! How things go wrong on the path: stable codes, three classes, and three texts (for the model, for the
//! person, for the log) kept apart.
//!
//! It must not decide what happens next: the path does (ERR-01).

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

/// A stable, dotted name of a fault, such as `workspace.file_not_found`. Seen in audit and `--json`, never by the model.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ErrorCode(Cow<'static, str>);

macro_rules! codes {
    ($($(#[$meta:meta])* $name:ident = $text:literal;)*) => {
        impl ErrorCode {
            $($(#[$meta])* pub const $name: Self = Self(Cow::Borrowed($text));)*
        }
    };
}

codes! {
    /// The name is no tool of this turn (ALI-07, EXE-09).
    UNKNOWN_TOOL = "agent.unknown_tool";
    /// The call could not be read (DIA-10).
    MALFORMED_CALL = "agent.malformed_call";
    /// The arguments do not fit the tool's schema (COE-06).
    INVALID_ARGUMENTS = "agent.invalid_arguments";
    /// Policy, consent or the turn's choice refused the call (POL-09, APR-06).
    TOOL_DENIED = "agent.tool_denied";
    /// The invocation or the tool has no calls left (GAT-04).
    BUDGET_EXHAUSTED = "agent.tool_budget_exhausted";
    /// A tool that must be the last of its batch was not (EXE-12).
    TOOL_AFTER_FINISH = "agent.tool_after_finish";
    /// The call was stopped before it ended.
    CALL_CANCELLED = "agent.call_cancelled";
    /// The call was started and nobody knows how it ended.
    OUTCOME_UNKNOWN = "agent.outcome_unknown";
    /// The tool ends or hands over a run, and there is no loop to end.
    NOT_IN_LOOP = "agent.not_in_loop";
    /// The call ran longer than it may.
    TIMED_OUT = "agent.call_timed_out";
    /// The tool itself failed and gave no code of its own.
    TOOL_FAILED = "agent.tool_failed";
    /// Two calls came with one id (JRN-03).
    REPEATED_CALL = "agent.repeated_call_id";
    /// Time, tokens or money of the run are used up, so that the model cannot be asked any more.
    RUN_BUDGET_EXHAUSTED = "agent.run_budget_exhausted";
    /// The same call failed, or the same wish was refused, again and again.
    NO_PROGRESS = "agent.no_progress";
    /// The model answered without a call where a tool must end its work (EXE-16).
    TOOL_CALL_REQUIRED = "model.tool_call_required";
    /// Another agent was called in the same batch before (DEL-18).
    SUPERSEDED = "agent.superseded";
    /// There is no such agent, or this one may not call it (DEL-01, DEL-10).
    NO_SUCH_AGENT = "agent.not_callable";
    /// The agent that was called failed.
    AGENT_FAILED = "agent.task_failed";
    /// The run has given as many tasks as it may, or agents call agents too deep.
    TOO_MANY_TASKS = "agent.too_many_tasks";
    /// Tasks of the agent that would hand over are not done (DEL-11).
    HANDOFF_PENDING_TASKS = "agent.handoff_pending_tasks";
    /// All rounds are used up (GAT-06).
    MAX_TOOL_ROUNDS = "agent.max_tool_rounds_exceeded";
}

impl ErrorCode {
    /// A code that a tool brings itself, in the same dotted style.
    pub const fn new(text: &'static str) -> Self {
        Self(Cow::Borrowed(text))
    }

    /// The code as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True for the two codes that the command line calls "refused" (exit 3).
    pub fn is_refusal(&self) -> bool {
        *self == Self::TOOL_DENIED || *self == Self::BUDGET_EXHAUSTED
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// What a fault means for the run (ERR-01).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// The model is told and the run goes on.
    Recoverable,
    /// A law refused the call; the model is told.
    PolicyDenied,
    /// The host itself is broken; the run fails.
    SystemFailure,
}

/// A tool's failure.
///
/// ```
/// use haft_core::{ErrorCode, ToolError};
/// let error = ToolError::new(ErrorCode::new("workspace.file_not_found"), "There is no file `a.txt`. List the folder first.");
/// assert_eq!(error.code().as_str(), "workspace.file_not_found");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolError(Box<Fault>);

/// Boxed, so that the good path carries a pointer and no more.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Fault {
    code: ErrorCode,
    class: ErrorClass,
    message: String,
    detail: Option<String>,
    data: Option<serde_json::Value>,
}

impl ToolError {
    /// A recoverable failure: `message` is what the model reads, so it says what to do next.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::of(code, ErrorClass::Recoverable, message.into())
    }

    /// A failure without a code of its own (`agent.tool_failed`).
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::TOOL_FAILED, message)
    }

    /// A failure of the host that fails the run.
    pub fn system(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::of(code, ErrorClass::SystemFailure, message.into())
    }

    /// A refusal by a law.
    pub fn denied(message: impl Into<String>) -> Self {
        Self::of(ErrorCode::TOOL_DENIED, ErrorClass::PolicyDenied, message.into())
    }

    fn of(code: ErrorCode, class: ErrorClass, message: String) -> Self {
        Self(Box::new(Fault { code, class, message, detail: None, data: None }))
    }

    /// Adds what only the log may see.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.0.detail = Some(detail.into());
        self
    }

    /// Adds structured data for audit and program.
    #[must_use]
    pub fn with_data(mut self, data: serde_json::Value) -> Self {
        self.0.data = Some(data);
        self
    }

    /// The stable code.
    pub fn code(&self) -> &ErrorCode {
        &self.0.code
    }

    /// What it means for the run.
    pub fn class(&self) -> ErrorClass {
        self.0.class
    }

    /// The text for the model.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The text for the log alone.
    pub fn detail(&self) -> Option<&str> {
        self.0.detail.as_deref()
    }

    /// Structured data for audit and program.
    pub fn data(&self) -> Option<&serde_json::Value> {
        self.0.data.as_ref()
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for ToolError {}
