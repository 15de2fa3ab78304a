//! The port through which the text of a run gets into its conversation (WSP-22): the place of a front end's `saveReply`.
//!
//! Where nothing is put in its place, the conversation is what the journal says, and saving is the record alone.

use crate::error::ToolError;
use crate::ids::{RunId, SessionId};
use crate::ports::BoxFuture;
use crate::run_control::CommitMode;

/// A text for the message of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatReply {
    /// The conversation.
    pub session: SessionId,
    /// The run. All its texts go into one message (WSP-21).
    pub run: RunId,
    /// Index of that message, from 0, once there is one; none makes it.
    pub message: Option<u64>,
    /// How the text goes in; the first one makes the message either way.
    pub mode: CommitMode,
    /// The text, secrets masked.
    pub text: String,
}

/// Who keeps the conversation.
pub trait ChatHost: Send + Sync {
    /// Puts a text into the run's message and gives the index of that message.
    ///
    /// # Errors
    /// A recoverable error if it cannot be taken now; a system failure if run and conversation no longer agree.
    fn save<'a>(&'a self, reply: &'a ChatReply) -> BoxFuture<'a, Result<u64, ToolError>>;
}
