//! How a command ends: the exit codes of the contract, and failures with a message and a code.
//!
//! Only `main` turns these into a process exit; nothing here writes.

use std::fmt;

/// The exit codes of the command line. They are a stable contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done,
    /// The tool or the run failed.
    Failed,
    /// Wrong usage or configuration.
    Usage,
    /// Refused by policy, consent or budget.
    Refused,
    /// Cancelled.
    Cancelled,
}

impl Exit {
    /// The number that the shell sees.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Refused => 3,
            Self::Cancelled => 130,
        }
    }
}

/// Why a command ends early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Something to say on stderr, and the exit code.
    Message {
        /// The exit code.
        exit: Exit,
        /// What failed and where.
        text: String,
        /// What to do next.
        hint: Option<String>,
    },
    /// The reader of stdout went away: end quietly.
    ClosedPipe,
}

impl Failure {
    /// Wrong usage or configuration (exit 2).
    pub(crate) fn usage(text: impl fmt::Display) -> Self {
        Self::of(Exit::Usage, text)
    }

    /// The tool or the run failed (exit 1).
    pub(crate) fn failed(text: impl fmt::Display) -> Self {
        Self::of(Exit::Failed, text)
    }

    /// Policy, consent or budget refused (exit 3).
    pub(crate) fn refused(text: impl fmt::Display) -> Self {
        Self::of(Exit::Refused, text)
    }

    /// The person called it off (exit 130).
    pub(crate) fn cancelled() -> Self {
        Self::of(Exit::Cancelled, "cancelled")
    }

    /// What failed and where.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Message { text, .. } => text,
            Self::ClosedPipe => "nobody reads any more".to_owned(),
        }
    }

    fn of(exit: Exit, text: impl fmt::Display) -> Self {
        Self::Message { exit, text: text.to_string(), hint: None }
    }

    /// Says where it failed.
    #[must_use]
    pub(crate) fn at(self, place: impl fmt::Display) -> Self {
        match self {
            Self::Message { exit, text, hint } => {
                Self::Message { exit, text: format!("{place}: {text}"), hint }
            }
            Self::ClosedPipe => Self::ClosedPipe,
        }
    }

    /// Adds the next step.
    #[must_use]
    pub(crate) fn hint(self, next_step: impl fmt::Display) -> Self {
        match self {
            Self::Message { exit, text, .. } => {
                Self::Message { exit, text, hint: Some(next_step.to_string()) }
            }
            Self::ClosedPipe => Self::ClosedPipe,
        }
    }
}
