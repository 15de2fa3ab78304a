//! The record of a conversation that was summed up for want of room: what the model reads from then on in place of older messages,
//! and which calls it stands for (PRV-04).

use serde::{Deserialize, Serialize};

use crate::ids::{CallId, InvocationId};
use crate::ports::Usage;

/// Older messages were summed up by the model itself. The messages stay in the journal as they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextCompacted {
    /// The calls among them, in order.
    pub calls: Vec<CompactedCall>,
    /// Whose conversation it is.
    pub invocation: InvocationId,
    /// How many messages it stands for.
    pub messages: u64,
    /// The model that wrote it.
    pub model: String,
    /// The summary.
    pub text: String,
    /// The turn before whose request it was made, from 1.
    pub turn: u32,
    /// Tokens that it cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// A call that a summary stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactedCall {
    /// The name that the model wrote.
    pub alias: String,
    /// The host's id.
    pub call_id: CallId,
    /// Its result was an error.
    pub is_error: bool,
}
