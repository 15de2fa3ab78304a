//! The blocks of a message while they are written: text, calls, thoughts, and what this module does not know.

use haft_core::ports::TurnSink;
use haft_schema::json;
use serde_json::{Map, Value};

use crate::wire::Written;

/// One block.
#[derive(Debug)]
pub(super) enum Block {
    /// Visible text.
    Text(String),
    /// A call.
    Call(Written),
    /// A thought or another part of the service that goes back unchanged.
    Own {
        fields: Map<String, Value>,
        /// Input of a call of the service's own tools, in pieces.
        input: String,
    },
}

impl Block {
    /// Begins a block with what its start says.
    pub(super) fn begin(mut fields: Map<String, Value>, sink: &mut dyn TurnSink) -> Self {
        let text = |fields: &Map<String, Value>, name: &str| {
            fields.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        match fields.get("type").and_then(Value::as_str) {
            Some("text") => {
                let text = text(&fields, "text");
                if !text.is_empty() {
                    sink.text(&text);
                }
                Self::Text(text)
            }
            Some("tool_use") => Self::Call(Written {
                id: text(&fields, "id"),
                name: text(&fields, "name"),
                // An empty object stands here where the input follows in pieces.
                arguments: match fields.shift_remove("input") {
                    Some(Value::Object(input)) if input.is_empty() => String::new(),
                    Some(input) => input.to_string(),
                    None => String::new(),
                },
                metadata: None,
            }),
            _ => {
                if let Some(Value::String(thought)) = fields.get("thinking")
                    && !thought.is_empty()
                {
                    sink.reasoning(thought);
                }
                Self::Own { fields, input: String::new() }
            }
        }
    }

    /// Takes one more piece. What it does not know, it leaves out.
    pub(super) fn add(&mut self, delta: &Map<String, Value>, sink: &mut dyn TurnSink) {
        let piece = |name: &str| delta.get(name).and_then(Value::as_str).filter(|piece| !piece.is_empty());
        match self {
            Self::Text(text) => {
                if let Some(more) = piece("text") {
                    text.push_str(more);
                    sink.text(more);
                }
            }
            Self::Call(written) => {
                if let Some(more) = piece("partial_json") {
                    written.arguments.push_str(more);
                }
            }
            Self::Own { fields, input } => {
                if let Some(more) = piece("partial_json") {
                    input.push_str(more);
                }
                for name in ["thinking", "signature"] {
                    let Some(more) = piece(name) else { continue };
                    match fields.get_mut(name) {
                        Some(Value::String(whole)) => whole.push_str(more),
                        _ => drop(fields.insert(name.to_owned(), Value::String(more.to_owned()))),
                    }
                    if name == "thinking" {
                        sink.reasoning(more);
                    }
                }
            }
        }
    }

    /// What goes back of a block of the service's own.
    pub(super) fn own(mut fields: Map<String, Value>, input: &str) -> Value {
        if let Ok(input @ Value::Object(_)) = json::read(input, None) {
            fields.insert("input".into(), input);
        }
        Value::Object(fields)
    }
}
