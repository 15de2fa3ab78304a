//! The provider's contract about the ids of calls, where a model entry asks for it (PRV-02, CONFLICT-31).

use std::collections::HashSet;

use haft_core::message::Message;
use haft_core::ports::{ModelError, ModelRequest};
use haft_core::{RequestedCall, WireId};

/// Fails if a call of `model`'s answer has no id, or one that was seen before in the conversation.
pub(crate) fn check(model: &str, calls: &[RequestedCall], request: &ModelRequest) -> Result<(), ModelError> {
    let earlier = request.messages.iter().filter_map(|message| match message {
        Message::Assistant { calls, .. } => Some(calls),
        Message::User(_) | Message::Results(_) => None,
    });
    let mut seen: HashSet<&str> =
        earlier.flatten().filter_map(RequestedCall::wire_id).map(WireId::as_str).collect();
    let fault = calls.iter().find_map(|call| match call.wire_id() {
        None => Some("a call has no id".to_owned()),
        Some(id) if !seen.insert(id.as_str()) => Some(format!("the call id `{id}` was given before")),
        Some(_) => None,
    });
    match fault {
        None => Ok(()),
        Some(fault) => Err(ModelError::Malformed {
            model: model.to_owned(),
            reason: format!(
                "{fault}, and `call_ids = provider` allows no other (with `call_ids = host` Haft gives its own)"
            ),
        }),
    }
}
