//! A record of a journal in one line for people; `--json` prints all of it.

use haft_core::event::RunEvent;
use serde_json::Value;

use crate::commands::grants::grant_line;
use crate::output::counted;
use crate::terminal::screen::call_line;
use crate::untrusted::visible_short;

/// Longest foreign text in a line, in characters.
const WIDTH: usize = 100;

/// What the record says.
pub(super) fn line(event: &RunEvent) -> String {
    let payload = &event.payload;
    if payload.is_null() {
        return "(taken away)".to_owned();
    }
    let text = |key: &str| payload.get(key).and_then(Value::as_str).unwrap_or_default();
    let number = |key: &str| payload.get(key).and_then(Value::as_u64).unwrap_or_default();
    let length = |key: &str| payload.get(key).and_then(Value::as_array).map_or(0, Vec::len);
    let content = || payload.get("view").and_then(|view| view.get("content")).and_then(Value::as_str);
    match event.kind.as_str() {
        "run_started" => {
            let mut line = format!("haft {}, profile {}", text("surface"), text("profile"));
            for (key, name) in [("model", "model"), ("project", "project"), ("prompt", "prompt")] {
                if let Some(value) = payload.get(key).and_then(Value::as_str) {
                    line.push_str(&format!(", {name} {}", visible_short(value, WIDTH)));
                }
            }
            line
        }
        "context_assembled" => counted(length("tools"), "tool"),
        "chat_imported" => {
            format!("{} messages of {}", number("messages"), visible_short(text("source"), WIDTH))
        }
        "world_info_activated" => format!("{} active", number("entries")),
        "model_request_created" => {
            format!("turn {}, {} messages in {}", number("turn"), number("messages"), text("dialect"))
        }
        "model_turn_completed" => {
            let calls = counted(length("calls"), "call");
            format!("turn {}, {calls}: {}", number("turn"), visible_short(text("text"), WIDTH))
        }
        "model_request_failed" => {
            format!("{}: {}", text("error_code"), visible_short(text("message"), WIDTH))
        }
        "tool_call_requested" => {
            let line = call_line(text("alias"), payload.get("arguments"));
            match (text("decision"), text("granted_by")) {
                ("", _) => line,
                (decision, "") => format!("{line}  [{decision}]"),
                (decision, by) => format!("{line}  [{decision}, answered by {by}]"),
            }
        }
        "tool_call_started" => text("tool_id").to_owned(),
        "tool_call_completed" => {
            format!("← {}: {}", text("alias"), visible_short(content().unwrap_or("(taken away)"), WIDTH))
        }
        "tool_call_failed" => {
            let content = visible_short(content().unwrap_or("(taken away)"), WIDTH);
            format!("✗ {} {}: {content}", text("alias"), text("error_code"))
        }
        "consent_opened" => format!("? {}", visible_short(text("text"), WIDTH)),
        "consent_closed" => {
            let closing = payload.get("closing").cloned().unwrap_or_default();
            let word = |value: &Value, key: &str| {
                value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
            };
            let answer = closing.get("answer").map(|answer| word(answer, "kind")).unwrap_or_default();
            match word(&closing, "surface").as_str() {
                "" => word(&closing, "kind"),
                surface => format!("{answer}, by {surface}"),
            }
        }
        "grant_given" => {
            let grant = payload.get("grant").cloned().unwrap_or_default();
            match serde_json::from_value::<haft_core::Grant>(grant) {
                Ok(grant) => visible_short(&grant_line(&grant), WIDTH),
                Err(_) => visible_short(&payload.to_string(), WIDTH),
            }
        }
        "context_compacted" => {
            let said = visible_short(text("text"), WIDTH);
            format!("turn {}, {} messages summed up: {said}", number("turn"), number("messages"))
        }
        "grant_revoked" => format!("{} taken back", text("grant")),
        "run_ended" => {
            let said = if text("message").is_empty() { text("text") } else { text("message") };
            let said = visible_short(said, WIDTH);
            if said.is_empty() { text("status").to_owned() } else { format!("{}: {said}", text("status")) }
        }
        "payload_redacted" => format!("record {}: {}", number("seq"), visible_short(text("reason"), WIDTH)),
        _ => visible_short(&payload.to_string(), WIDTH),
    }
}
