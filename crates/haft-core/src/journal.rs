//! The journal of a run: what its records say, how they are chained, and the batch in which they are committed.
//!
//! The format is specified in `docs/spec/journal.md`; [`SealedRecord::seal`] is its only writer. Storing is the
//! [`Store`](crate::ports::Store)'s work. Nothing here reads a clock.

mod batch;
mod chain;
mod payload;

pub use batch::{Batch, Committed, NewFile, NewRecord};
pub use chain::{ChainFault, FORMAT_VERSION, Head, SealedRecord, check_chain};
pub use payload::{
    ArtifactRef, ConsentClosed, ContextAssembled, FileRef, GrantGiven, GrantRevoked, ModelRequestCreated,
    ModelRequestFailed, ModelTurnCompleted, Payload, PayloadError, PayloadRedacted, RequestedCallRecord,
    RunEnded, RunStarted, RunStatus, SessionDeleted, ToolCallCompleted, ToolCallFailed, ToolCallRequested,
    ToolCallStarted,
};
