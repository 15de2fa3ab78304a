//! What is said in a conversation where something was taken out of the journal: that it was, and why.

use std::collections::HashMap;

use haft_core::journal::{Payload, SealedRecord};
use haft_core::message::{Message, ResultMessage};
use haft_core::render::Renderer;
use haft_core::{CallId, ContentPart, RequestedCall, ToolResult, WireId};
use serde_json::Map;

use crate::render::result_message;

/// The reasons for which payloads of one run were taken away, by the number of the record.
pub(crate) struct Taken(HashMap<u64, String>);

impl Taken {
    /// What the records of a run tell of it.
    pub(crate) fn of(records: &[SealedRecord]) -> Self {
        let removals =
            records.iter().filter(|record| record.kind == "payload_redacted").filter_map(|record| {
                match Payload::read(&record.kind, record.payload.as_deref()?) {
                    Ok(Payload::PayloadRedacted(body)) => Some((body.seq, body.reason)),
                    Ok(_) | Err(_) => None,
                }
            });
        Self(removals.collect())
    }

    /// What stands in the place of the text that `record` held.
    pub(crate) fn text(&self, what: &str, record: &SealedRecord) -> String {
        match self.0.get(&record.seq).map(|reason| reason.trim()).filter(|reason| !reason.is_empty()) {
            Some(reason) => format!("[{what} was taken away: {reason}]"),
            None => format!("[{what} was taken away]"),
        }
    }

    /// The message that stands in the place of the one that `record` held; none if it held none.
    pub(crate) fn message(&self, record: &SealedRecord) -> Option<Message> {
        match record.kind.as_str() {
            "run_started" => Some(Message::User(self.text("This message", record))),
            "model_turn_completed" => Some(Message::Assistant {
                text: self.text("This answer", record),
                raw: None,
                calls: Vec::new(),
                call_ids: Vec::new(),
                provider_metadata: None,
            }),
            _ => None,
        }
    }
}

/// What stands in the place of the result of a call whose end was taken away.
pub(crate) fn taken_result(
    call_id: &CallId,
    requested: &RequestedCall,
    text: &str,
    renderer: Renderer,
) -> ResultMessage {
    let (alias, wire_id): (String, Option<WireId>) = match requested {
        RequestedCall::Call { name, wire_id, .. } => (name.clone(), wire_id.clone()),
        RequestedCall::Malformed { name, wire_id, .. } => (name.clone().unwrap_or_default(), wire_id.clone()),
    };
    let result = ToolResult {
        call_id: call_id.clone(),
        tool_id: None,
        alias,
        content: vec![ContentPart::Text { text: text.to_owned() }],
        structured: None,
        is_error: false,
        error_code: None,
        resource_refs: Vec::new(),
        ui: None,
        metadata: Map::new(),
        duration_ms: 0,
        skipped: false,
    };
    result_message(&result, wire_id, renderer)
}
