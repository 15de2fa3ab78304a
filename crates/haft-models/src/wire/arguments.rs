//! A call as a provider wrote it, its arguments read: a call, or one that tells the model what to mend.

use haft_core::{ModelTool, RequestedCall, WireId};
use haft_schema::json::{self, Problem};
use serde_json::{Map, Value};

use super::Names;

/// Longest part of unreadable arguments that is kept.
const RAW_CHARS: usize = 4_000;

/// A call in a provider's words.
#[derive(Debug, Default)]
pub(crate) struct Written {
    /// The provider's id; empty if it sent none.
    pub(crate) id: String,
    /// The name; empty if there is none.
    pub(crate) name: String,
    /// The arguments as text.
    pub(crate) arguments: String,
    /// What goes back with the call.
    pub(crate) metadata: Option<Value>,
}

impl Written {
    /// The call. `cut`: the answer ended inside it, so that it is not run if its arguments cannot be read.
    pub(crate) fn read(self, names: &Names<'_>, cut: bool) -> RequestedCall {
        let wire_id = (!self.id.is_empty()).then(|| WireId::new(self.id));
        let name = self.name.trim();
        let reason = match read_arguments(&self.arguments, names.tool(name)) {
            Ok(_) if name.is_empty() => {
                "The call names no tool. Call a tool by its name, with its arguments.".to_owned()
            }
            Ok(arguments) => {
                return RequestedCall::Call {
                    name: names.alias(name),
                    arguments,
                    wire_id,
                    provider_metadata: self.metadata,
                    repairs: Vec::new(),
                };
            }
            Err(_) if cut => {
                "The answer ran out of tokens inside this call, so nothing was run. Ask for less at once."
                    .to_owned()
            }
            Err(reason) => reason,
        };
        let name = (!name.is_empty()).then(|| names.alias(name));
        RequestedCall::Malformed { name, reason, raw: shortened(self.arguments), wire_id }
    }
}

/// The arguments as an object. Nothing at all and `null` are no arguments.
fn read_arguments(text: &str, tool: Option<&ModelTool>) -> Result<Map<String, Value>, String> {
    if matches!(text.trim(), "" | "null") {
        return Ok(Map::new());
    }
    match json::read(text, tool.map(|tool| tool.input_schema.view())) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(other) => Err(format!(
            "The arguments are {}, not a JSON object. Write them as one object: {{\"name\": value, …}}.",
            kind(&other)
        )),
        Err(error) if error.problem == Problem::Cut => {
            Err(format!("The arguments end before their JSON does ({error}). Write the whole object."))
        }
        Err(error) => Err(format!(
            "The arguments are not JSON: {error}. Write them as one object: {{\"name\": value, …}}."
        )),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn shortened(text: String) -> String {
    match text.char_indices().nth(RAW_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
