//! The conversation as a model reads it.

use serde_json::Value;

use crate::call::RequestedCall;
use crate::ids::{CallId, ToolId, WireId};
use crate::result::ContentPart;

/// One message of the conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// A person's words, or the host's in their place.
    User(String),
    /// A model's earlier answer.
    Assistant {
        /// Visible text.
        text: String,
        /// The answer as written, for text dialects.
        raw: Option<String>,
        /// Calls that it asked for, in order.
        calls: Vec<RequestedCall>,
        /// The host's ids of those calls, in the same order; they stand in for wire ids that are missing.
        call_ids: Vec<CallId>,
        /// What the provider wants back with this message.
        provider_metadata: Option<Value>,
    },
    /// Results of the calls of the assistant message before, in call order.
    Results(Vec<ResultMessage>),
}

/// One result, ready for the model: only content reaches it (RES-08, RES-09).
#[derive(Debug, Clone, PartialEq)]
pub struct ResultMessage {
    /// The host's id of the call.
    pub call_id: CallId,
    /// The provider's id, paired inside its own turn.
    pub wire_id: Option<WireId>,
    /// Which tool; none for a malformed call.
    pub tool_id: Option<ToolId>,
    /// The alias in the current request.
    pub alias: String,
    /// The call failed.
    pub is_error: bool,
    /// The content itself, for dialects whose result form wraps it.
    pub content: String,
    /// The content as the profile's renderer made it, for all others.
    pub body: String,
    /// Images among the content.
    pub images: Vec<ContentPart>,
}
