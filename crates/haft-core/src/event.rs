//! What surfaces see of a run: projections of its journal records (CONFLICT-23).
//!
//! An event is made from a record that is durable, with what stands in its files joined in for people; nothing is told
//! that the journal does not hold. Stream deltas alone have no record and no number.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::ids::RunId;
use crate::journal::SealedRecord;
use crate::ports::Timestamp;

/// One line of `haft run --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunEvent {
    /// Version of the event form.
    pub v: u32,
    /// The run.
    pub run: RunId,
    /// The record's number; none for stream deltas.
    pub seq: Option<u64>,
    /// When.
    pub time: Timestamp,
    /// The record's kind, or `text_delta`, `reasoning_delta`, `stream_restarted`, `progress`.
    pub kind: String,
    /// The record's payload, with `arguments` (of a requested call) or `view` (of an ended one) joined in from its files.
    pub payload: Value,
}

impl RunEvent {
    /// The event of a stored record; `joined` is what its files say to people.
    pub fn of_record(record: &SealedRecord, joined: Map<String, Value>) -> Self {
        let mut payload = record.payload_value().unwrap_or(Value::Null);
        if let Value::Object(map) = &mut payload {
            map.extend(joined);
        }
        Self {
            v: 1,
            run: record.run.clone(),
            seq: Some(record.seq),
            time: record.time,
            kind: record.kind.clone(),
            payload,
        }
    }

    /// A stream delta.
    pub fn delta(run: &RunId, time: Timestamp, kind: &str, payload: Value) -> Self {
        Self { v: 1, run: run.clone(), seq: None, time, kind: kind.to_owned(), payload }
    }

    /// A's event for this one, if A has one (EVT-01 to EVT-03): `TOOL_START`, `PERMISSION_REQUEST` or `TOOL_COMPLETE`.
    ///
    /// ```
    /// use haft_core::event::RunEvent;
    /// use haft_core::{RunId, Timestamp};
    /// let mut event = RunEvent::delta(&RunId::new("r"), Timestamp(1), "tool_call_requested",
    ///     serde_json::json!({"call_id": "c_1", "alias": "web_search", "arguments": {"query": "moss"}}));
    /// let start = event.artifactflow_view().unwrap();
    /// assert_eq!(start["type"], "TOOL_START");
    /// assert_eq!(start["params"]["query"], "moss");
    /// event.kind = "run_started".into();
    /// assert!(event.artifactflow_view().is_none());
    /// ```
    pub fn artifactflow_view(&self) -> Option<Value> {
        let payload = &self.payload;
        let tool = payload.get("alias").cloned().unwrap_or(Value::Null);
        let view = payload.get("view");
        let of_view = |key: &str| view.and_then(|view| view.get(key)).cloned().unwrap_or(Value::Null);
        match self.kind.as_str() {
            "tool_call_requested" => Some(json!({
                "type": "TOOL_START", "call_id": payload.get("call_id"), "tool": tool,
                "params": payload.get("arguments"),
            })),
            // APR-03: the name, the parameters, and the level that made it ask.
            "consent_opened" => Some(json!({
                "type": "PERMISSION_REQUEST", "request_id": payload.get("id"), "call_id": payload.get("call_id"),
                "tool": tool, "params": payload.get("arguments"), "permission_level": "confirm",
            })),
            "tool_call_completed" | "tool_call_failed" => Some(json!({
                "type": "TOOL_COMPLETE", "call_id": payload.get("call_id"), "tool": tool,
                "params": of_view("arguments"),
                "success": self.kind == "tool_call_completed", "result": of_view("content"),
                "duration_ms": payload.get("duration_ms"), "metadata": of_view("metadata"),
            })),
            _ => None,
        }
    }

    /// D's event for this one, if D has one (EVT-04): `consent_request`. The card that it makes is answered under `request_id` (APR-19).
    ///
    /// ```
    /// use haft_core::event::RunEvent;
    /// use haft_core::{RunId, Timestamp};
    /// let event = RunEvent::delta(&RunId::new("r_1"), Timestamp(1), "consent_opened", serde_json::json!({
    ///     "id": "q_1", "session": "s_1", "run": "r_1", "call_id": "c_1", "alias": "shell", "text": "Run `ls`?",
    ///     "arguments": {"command": "ls"}, "every_time": false, "scopes": [{"kind": "tool"}],
    /// }));
    /// let card = event.ethan_view().unwrap();
    /// assert_eq!((&card["type"], &card["request_id"]), (&"consent_request".into(), &"q_1".into()));
    /// assert_eq!(card["message"], "Run `ls`?");
    /// ```
    pub fn ethan_view(&self) -> Option<Value> {
        let payload = &self.payload;
        let of = |key: &str| payload.get(key).cloned().unwrap_or(Value::Null);
        (self.kind == "consent_opened").then(|| {
            json!({
                "type": "consent_request", "request_id": of("id"), "session_id": of("session"), "tool": of("alias"),
                "args": of("arguments"), "message": of("text"), "scopes": of("scopes"), "always": of("every_time"),
                "deadline": of("deadline"),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // EVT-03, EVT-04, APR-03, APR-19: both systems' events are views of the one record, and nobody else's records make one.
    #[test]
    fn a_question_is_told_in_the_forms_of_both_systems() {
        let opened = json!({
            "id": "q_1", "session": "s_1", "run": "r_1", "call_id": "c_1", "alias": "file_write", "text": "Write `a`?",
            "arguments": {"path": "a"}, "every_time": true, "scopes": [], "deadline": 9,
        });
        let mut event = RunEvent::delta(&RunId::new("r_1"), Timestamp(1), "consent_opened", opened);
        let permission = json!({
            "type": "PERMISSION_REQUEST", "request_id": "q_1", "call_id": "c_1", "tool": "file_write",
            "params": {"path": "a"}, "permission_level": "confirm",
        });
        assert_eq!(event.artifactflow_view(), Some(permission));
        let card = json!({
            "type": "consent_request", "request_id": "q_1", "session_id": "s_1", "tool": "file_write", "args": {"path": "a"},
            "message": "Write `a`?", "scopes": [], "always": true, "deadline": 9,
        });
        assert_eq!(event.ethan_view(), Some(card));
        for kind in ["consent_closed", "grant_given", "tool_call_started", "run_started"] {
            event.kind = kind.to_owned();
            assert_eq!((event.artifactflow_view(), event.ethan_view()), (None, None), "{kind}");
        }
    }
}
