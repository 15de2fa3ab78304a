//! The journal of a run: what its records say, how they are chained, and the batch in which they are committed.
//!
//! The format is specified in `docs/spec/journal.md`; [`SealedRecord::seal`] is its only writer. Storing is the
//! [`Store`](crate::ports::Store)'s work. Nothing here reads a clock.

mod agent_run;
mod batch;
mod chain;
mod compaction;
mod input;
mod payload;

pub use agent_run::{
    ChatCommitted, DirectOutputCaptured, DriftRecoveryAttempted, KeptFile, PersistPromoted, RunFailed,
    RunPartialSuccess,
};
pub use batch::{Batch, Committed, NewFile, NewRecord};
pub use chain::{ChainFault, FORMAT_VERSION, Head, SealedRecord, check_chain};
pub use compaction::{CompactedCall, ContextCompacted};
pub use input::{ChatImported, WorldInfoActivated};
pub use payload::{
    AgentTaskCreated, ArtifactRef, ConsentClosed, ContextAssembled, FileRef, GrantGiven, GrantRevoked,
    InvocationEnded, ModelRequestCreated, ModelRequestFailed, ModelTurnCompleted, Payload, PayloadError,
    PayloadRedacted, RequestedCallRecord, RunEnded, RunStarted, RunStatus, SessionDeleted, TaskKind,
    TaskLink, ToolCallCompleted, ToolCallFailed, ToolCallRequested, ToolCallStarted,
};
