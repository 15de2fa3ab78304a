//! The messages of a conversation as JSON and as text.

use std::collections::HashMap;

use haft_core::message::Message;
use haft_core::{CallId, RequestedCall, ToolResult};
use serde_json::{Value, json};

use crate::terminal::screen::call_line;

/// A message for programs. Calls have B's form with their results in it (RES-04).
pub(super) fn as_json(message: &Message, results: &HashMap<CallId, ToolResult>) -> Value {
    match message {
        Message::User(text) => json!({"role": "user", "text": text}),
        Message::Assistant { text, calls, call_ids, .. } => {
            let calls = calls.iter().zip(call_ids);
            let calls: Vec<Value> = calls.map(|(call, id)| call_json(call, id, results.get(id))).collect();
            json!({"role": "assistant", "text": text, "calls": calls})
        }
        Message::Results(results) => {
            let results: Vec<Value> = results
                .iter()
                .map(|result| {
                    json!({
                        "call_id": result.call_id, "tool_id": result.tool_id, "alias": result.alias,
                        "is_error": result.is_error, "content": result.content,
                    })
                })
                .collect();
            json!({"role": "tool", "results": results})
        }
    }
}

/// A call as B stores it. Where its result was taken away, what only that tells is null.
fn call_json(call: &RequestedCall, id: &CallId, result: Option<&ToolResult>) -> Value {
    let (name, arguments, malformed) = match call {
        RequestedCall::Call { name, arguments, .. } => {
            (name.clone(), Value::Object(arguments.clone()).to_string(), None)
        }
        RequestedCall::Malformed { name, reason, raw, .. } => {
            (name.clone().unwrap_or_default(), raw.clone(), Some(reason))
        }
    };
    let mut record = match result {
        Some(result) => result.nanoclaw_record(&Value::Null),
        None => json!({
            "id": id, "type": "function", "function": {}, "result": null, "success": null, "skipped": null,
            "execution_time": null,
        }),
    };
    record["function"] = json!({"name": name, "arguments": arguments});
    if let Some(reason) = malformed {
        record["malformed"] = json!(reason);
    }
    record
}

/// A message for people.
pub(super) fn as_text(message: &Message) -> String {
    match message {
        Message::User(text) => format!("> {}", text.trim_end().replace('\n', "\n> ")),
        Message::Assistant { text, calls, .. } => {
            let mut lines: Vec<String> = Vec::new();
            if !text.trim().is_empty() {
                lines.push(text.trim_end().to_owned());
            }
            lines.extend(calls.iter().map(|call| match call {
                RequestedCall::Call { name, arguments, .. } => {
                    call_line(name, Some(&Value::Object(arguments.clone())))
                }
                RequestedCall::Malformed { reason, .. } => {
                    format!("→ (a call that could not be read: {reason})")
                }
            }));
            lines.join("\n")
        }
        Message::Results(results) => {
            let lines = results.iter().map(|result| {
                let mark = if result.is_error { '✗' } else { '←' };
                format!("{mark} {}: {}", result.alias, result.content.trim_end())
            });
            lines.collect::<Vec<_>>().join("\n")
        }
    }
}
