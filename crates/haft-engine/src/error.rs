//! What ends a run for the host's own reasons.

use haft_core::journal::PayloadError;
use haft_core::path::NotCommitted;
use haft_core::ports::StoreError;
use haft_core::snapshot::CompileError;
use haft_core::{CallId, SessionId};

/// A failure of the host. A tool's failure is never one of these: it is a result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// The store failed; what was committed before stays (JRN-06).
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A record could not be written (JRN-06).
    #[error(transparent)]
    Payload(#[from] PayloadError),
    /// Profile and tools make no snapshot.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// A call had no committed intent.
    #[error(transparent)]
    NotCommitted(#[from] NotCommitted),
    /// A tool gave a result that is not of its call (RES-07).
    #[error("the result of call {0} belongs to another call; the run cannot go on")]
    Identity(CallId),
    /// A tool found the host itself broken (ERR-01 `SystemFailure`).
    #[error("{code}: {message}")]
    System {
        /// The stable code.
        code: String,
        /// What a person should know.
        message: String,
    },
    /// A session that is not there.
    #[error("there is no session `{0}`; `haft sessions list` shows those that there are")]
    NoSession(SessionId),
    /// A session that was deleted.
    #[error("the session `{0}` was deleted; its chain is kept for audit, and nothing can be added to it")]
    Deleted(SessionId),
    /// `last` without any session.
    #[error("there is no session yet; leave `--session` out to start one")]
    NoLastSession,
    /// The task of the run died.
    #[error("the run ended without an answer: {0}. `haft audit verify` tells what was kept")]
    Died(String),
}
