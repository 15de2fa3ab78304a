//! Answers as one JSON object, for servers that hold a model to a JSON Schema (`response_format`): visible text and calls.

use haft_schema::json;
use serde_json::{Map, Value, json};

use super::{Contract, GrammarError};
use crate::{FinishReason, MalformedCall, Span};

/// The schema of an answer, `{"text": …, "tool_calls": [{"name": …, "arguments": {…}}]}`: calls of the turn's tools alone.
///
/// ```
/// use haft_dialect::{Contract, DeclaredTool, answer_schema};
/// use haft_schema::Schema;
///
/// let tools = [DeclaredTool { name: "ping".to_owned(), schema: Schema::empty_object() }];
/// let schema = answer_schema(&Contract { tools: &tools, required: true, most_calls: 1 })?;
/// let calls = &schema["properties"]["tool_calls"];
/// assert_eq!(calls["minItems"], 1);
/// assert_eq!(calls["items"]["anyOf"][0]["properties"]["name"]["const"], "ping");
/// # Ok::<(), haft_dialect::GrammarError>(())
/// ```
///
/// # Errors
/// A call is demanded and there is no tool.
pub fn answer_schema(contract: &Contract<'_>) -> Result<Value, GrammarError> {
    let most = if contract.tools.is_empty() { 0 } else { contract.most_calls };
    if contract.required && most == 0 {
        return Err(GrammarError::NoTool);
    }
    let mut schema = json!({
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text", "tool_calls"],
        "additionalProperties": false,
    });
    let mut definitions = Map::new();
    let mut kinds = Vec::new();
    for (index, tool) in contract.tools.iter().enumerate() {
        let place = format!("tool_{index}");
        let mut parameters = tool.schema.as_value().clone();
        move_references(&mut parameters, &format!("#/$defs/{place}"), 0);
        if let Value::Object(map) = &mut parameters {
            map.entry("type").or_insert_with(|| json!("object"));
        }
        definitions.insert(place.clone(), parameters);
        kinds.push(json!({
            "type": "object",
            "properties": {"name": {"const": tool.name}, "arguments": {"$ref": format!("#/$defs/{place}")}},
            "required": ["name", "arguments"],
            "additionalProperties": false,
        }));
    }
    let items = if kinds.is_empty() { json!({}) } else { json!({"anyOf": kinds}) };
    let least = u64::from(contract.required);
    schema["properties"]["tool_calls"] =
        json!({"type": "array", "items": items, "minItems": least, "maxItems": most});
    if !definitions.is_empty() {
        schema["$defs"] = Value::Object(definitions);
    }
    Ok(schema)
}

/// References of a document that becomes part of another one, at `place`.
fn move_references(node: &mut Value, place: &str, depth: u32) {
    if depth > 64 {
        return;
    }
    match node {
        Value::Object(map) => {
            for (key, value) in map {
                match value {
                    Value::String(reference) if key == "$ref" && reference.starts_with('#') => {
                        *reference = format!("{place}{}", reference.get(1..).unwrap_or_default());
                    }
                    other => move_references(other, place, depth + 1),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| move_references(item, place, depth + 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// One call of an answer, or what is wrong with it.
pub type AnswerCall = Result<(String, Map<String, Value>), MalformedCall>;

/// An answer as it was read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answer {
    /// Visible text.
    pub text: String,
    /// The calls, in order.
    pub calls: Vec<AnswerCall>,
}

/// Reads an answer that was held to [`answer_schema`]; none where the text is no such object, as from a server that holds
/// nobody to anything. An answer that was cut off is one malformed call.
///
/// ```
/// use haft_dialect::{FinishReason, read_answer};
///
/// let answer = read_answer(r#"{"text": "Now.", "tool_calls": [{"name": "ping", "arguments": {}}]}"#, FinishReason::Stop);
/// let answer = answer.ok_or("no answer")?;
/// assert_eq!((answer.text.as_str(), answer.calls.len()), ("Now.", 1));
/// assert_eq!(read_answer("Just text.", FinishReason::Stop), None);
/// # Ok::<(), &str>(())
/// ```
pub fn read_answer(text: &str, reason: FinishReason) -> Option<Answer> {
    let trimmed = text.trim();
    if !trimmed.starts_with('{') {
        return None;
    }
    let malformed = |name: Option<String>, reason: &str, hint: &str| MalformedCall {
        name,
        reason: reason.to_owned(),
        hint: hint.to_owned(),
        span: Span { start: 0, end: text.len() },
    };
    let mut object = match json::read(trimmed, None) {
        Ok(Value::Object(object)) => object,
        Err(error) if error.is_cut() || reason == FinishReason::Length => {
            let cut = malformed(
                None,
                "the answer was cut off before its end",
                "Write the whole answer again, shorter if it was too long.",
            );
            return Some(Answer { text: String::new(), calls: vec![Err(cut)] });
        }
        Ok(_) | Err(_) => return None,
    };
    let Some(Value::Array(listed)) = object.remove("tool_calls") else { return None };
    let text = match object.remove("text") {
        Some(Value::String(text)) => text,
        _ => String::new(),
    };
    let hint = "Write {\"name\": …, \"arguments\": {…}}.";
    let calls = listed.into_iter().map(|call| {
        let Value::Object(mut call) = call else {
            return Err(malformed(None, "a call is no JSON object", hint));
        };
        let Some(Value::String(name)) = call.remove("name") else {
            return Err(malformed(None, "a call has no name", hint));
        };
        match call.remove("arguments") {
            None | Some(Value::Null) => Ok((name, Map::new())),
            Some(Value::Object(arguments)) => Ok((name, arguments)),
            Some(_) => Err(malformed(Some(name), "the arguments are no JSON object", hint)),
        }
    });
    Some(Answer { text, calls: calls.collect() })
}
