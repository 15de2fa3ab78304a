//! Writes turns as `read` reads them: what is written and read again is the same turn.

use haft_core::ports::{FinishReason, ModelTurn};
use haft_core::{RequestedCall, WireId};
use serde_json::{Map, Value, json};

/// The line of a turn of `agent`.
pub(crate) fn turn(turn: &ModelTurn, agent: Option<&str>) -> String {
    let mut line = Map::new();
    let mut add = |key: &str, value: Option<Value>| {
        line.extend(value.map(|value| (key.to_owned(), value)));
    };
    add("agent", agent.map(|agent| json!(agent)));
    add("reasoning", text(&turn.reasoning));
    add("text", text(&turn.text));
    add("tool_calls", (!turn.calls.is_empty()).then(|| turn.calls.iter().map(call).collect()));
    add("finish_reason", Some(json!(finish_reason(turn.finish_reason))));
    let usage = |usage: haft_core::ports::Usage| json!({"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens});
    add("usage", turn.usage.map(usage));
    add("raw", turn.raw.as_ref().map(|raw| json!(raw)));
    add("provider_metadata", turn.provider_metadata.clone());
    Value::Object(line).to_string()
}

/// The line of a request of `agent` that the server refused.
pub(crate) fn refusal(status: u16, body: &str, agent: Option<&str>) -> String {
    let mut line = Map::new();
    line.extend(agent.map(|agent| ("agent".to_owned(), json!(agent))));
    line.insert("error".to_owned(), json!({"status": status, "body": body}));
    Value::Object(line).to_string()
}

fn text(text: &str) -> Option<Value> {
    (!text.is_empty()).then(|| json!(text))
}

fn call(call: &RequestedCall) -> Value {
    let mut out = Map::new();
    if let Some(id) = call.wire_id().map(WireId::as_str) {
        out.insert("id".into(), json!(id));
    }
    match call {
        RequestedCall::Call { name, arguments, provider_metadata, repairs, .. } => {
            out.insert("name".into(), json!(name));
            out.insert("arguments".into(), Value::Object(arguments.clone()));
            if !repairs.is_empty() {
                out.insert("repairs".into(), json!(repairs));
            }
            out.extend(provider_metadata.clone().map(|value| ("provider_metadata".to_owned(), value)));
        }
        RequestedCall::Malformed { name, reason, raw, .. } => {
            out.extend(name.as_ref().map(|name| ("name".to_owned(), json!(name))));
            out.insert("arguments".into(), json!(raw));
            out.insert("malformed".into(), json!(reason));
        }
    }
    Value::Object(out)
}

fn finish_reason(reason: FinishReason) -> &'static str {
    match reason {
        FinishReason::Stop => "stop",
        FinishReason::ToolCalls => "tool_calls",
        FinishReason::Length => "length",
        FinishReason::ContentFilter => "content_filter",
        FinishReason::Other => "other",
    }
}
