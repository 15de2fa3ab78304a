//! The port of tools that steer their run: putting text into the conversation, and ending the work (WSP-13, WSP-14, WSP-21 to
//! WSP-24).
//!
//! The tools check arguments and say what happened; what a commit or an end means for the run is its owner's.

use serde::{Deserialize, Serialize};

use crate::error::ToolError;
use crate::ports::BoxFuture;
use crate::workspace::WorkspaceVersion;

/// How a text goes into the message of the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommitMode {
    /// In the place of what the message held.
    Replace,
    /// After what it holds; the first one makes the message (WSP-21).
    Append,
}

/// A text that the agent wants in the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatCommit {
    /// The file as it was when it was checked; the owner of the run reads it anew and compares (EXE-18).
    pub file: WorkspaceVersion,
    /// Its text; never empty.
    pub text: String,
    /// How it goes in.
    pub mode: CommitMode,
}

/// What a commit did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommitReceipt {
    /// Index of the message in the conversation, from 0.
    pub message: u64,
    /// Characters of the message now.
    pub characters: u64,
    /// Successful explicit commits of the run, this one included.
    pub commits: u32,
}

/// The run, as far as its tools may steer it.
pub trait RunControl: Send + Sync {
    /// Puts a text into the run's message.
    ///
    /// # Errors
    /// A recoverable error if the host cannot take it now; a system failure if run and conversation no longer agree.
    fn commit(&self, commit: ChatCommit) -> BoxFuture<'_, Result<CommitReceipt, ToolError>>;

    /// Asks for the end of the run; it begins when the call that asked has ended.
    ///
    /// # Errors
    /// `agent.foreground_commit_required` if a run in the foreground has committed nothing (WSP-23); `agent.not_in_loop` if
    /// there is nothing to end.
    fn finish(&self) -> BoxFuture<'_, Result<(), ToolError>>;
}
