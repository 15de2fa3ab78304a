//! What tools note for later calls of a session: small values in the metadata of their results, which no model sees.
//!
//! A later process finds them in the journal again, so that what a model has read stays known when a session goes on.

use serde_json::Value;

use crate::error::ToolError;
use crate::ids::ToolId;
use crate::ports::BoxFuture;

/// Key of the metadata in which a file tool notes what was read of a file.
pub const READ_STATE: &str = "read_state";

/// The notes of a session's earlier calls.
pub trait SessionNotes: Send + Sync {
    /// The values that completed results of these tools in the session carry in their metadata under `key`, oldest first.
    /// Results that were taken away have none; those of the running batch may be missing.
    ///
    /// # Errors
    /// [`ToolError`] if the journal cannot be read.
    fn notes<'a>(&'a self, tools: &'a [ToolId], key: &'a str)
    -> BoxFuture<'a, Result<Vec<Value>, ToolError>>;
}
