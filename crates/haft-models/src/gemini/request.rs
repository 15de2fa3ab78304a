//! The body of a `generateContent` request: Haft's messages and tools as Gemini's contents (PRV-01).
//!
//! It only converts: nothing is shortened, dropped or decided here.

use std::collections::{HashMap, HashSet};

use haft_core::message::{Message, ResultMessage};
use haft_core::ports::ModelRequest;
use haft_core::{CallId, ModelTool, RequestedCall, ToolChoice};
use serde_json::{Map, Value, json};

use super::answer::SIGNED;
use crate::entry::ModelEntry;
use crate::wire::layout::{Piece, pieces};
use crate::wire::{Images, Names, add_extra, aliases, metadata};

/// What the service takes in place of the signature of a call that it did not make itself.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// The body for `request` to the model of `entry`.
///
/// # Errors
/// What the service wants back with an earlier call is lost (PRV-02).
pub(super) fn body(
    entry: &ModelEntry,
    server: &str,
    request: &ModelRequest,
    names: &Names<'_>,
    images: &Images,
) -> Result<Value, String> {
    let mut body = Map::new();
    if !request.system.is_empty() {
        body.insert("systemInstruction".into(), json!({"parts": [{"text": request.system}]}));
    }
    body.insert("contents".into(), Value::Array(contents(server, request, names, images)?));
    if !request.tools.is_empty() {
        let declarations: Vec<Value> = names.iter().map(|(tool, name)| declaration(tool, name)).collect();
        body.insert("tools".into(), json!([{"functionDeclarations": declarations}]));
        if let Some(config) = choice(&request.choice, names) {
            body.insert("toolConfig".into(), json!({"functionCallingConfig": config}));
        }
    }
    let mut generation = Map::new();
    if let Some(most) = request.max_tokens.or(entry.max_tokens) {
        generation.insert("maxOutputTokens".into(), json!(most));
    }
    if let Some(temperature) = request.temperature.or(entry.temperature) {
        generation.insert("temperature".into(), json!(temperature));
    }
    if let Some(seed) = request.seed.or(entry.seed) {
        generation.insert("seed".into(), json!(seed));
    }
    if !generation.is_empty() {
        body.insert("generationConfig".into(), Value::Object(generation));
    }
    add_extra(&mut body, &entry.extra);
    Ok(Value::Object(body))
}

fn declaration(tool: &ModelTool, name: &str) -> Value {
    let mut out = json!({"name": name, "description": tool.description});
    if let Some(parameters) = tool.input_schema.open_api() {
        out["parameters"] = parameters;
    }
    out
}

/// None where the service's own default says the same.
fn choice(choice: &ToolChoice, names: &Names<'_>) -> Option<Value> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some(json!({"mode": "NONE"})),
        ToolChoice::Required => Some(json!({"mode": "ANY"})),
        ToolChoice::Tool(id) => Some(match names.iter().find(|(tool, _)| tool.tool_id == *id) {
            Some((_, name)) => json!({"mode": "ANY", "allowedFunctionNames": [name]}),
            None => json!({"mode": "ANY"}),
        }),
    }
}

/// How the calls of the answer before were sent: name, and id where the service gave one.
type Sent = HashMap<CallId, (String, Option<Value>)>;

fn contents(
    server: &str,
    request: &ModelRequest,
    names: &Names<'_>,
    images: &Images,
) -> Result<Vec<Value>, String> {
    let mut out = Vec::new();
    let mut sent = Sent::new();
    for (position, message) in request.messages.iter().enumerate() {
        match message {
            Message::User(text) => out.push(json!({"role": "user", "parts": [{"text": text}]})),
            Message::Assistant { text, calls, call_ids, provider_metadata, .. } => {
                let results = match request.messages.get(position + 1) {
                    Some(Message::Results(results)) => results.as_slice(),
                    _ => &[],
                };
                let own = metadata::unwrap(server, provider_metadata.as_ref());
                let calls = function_calls(server, calls, own, &aliases(call_ids, results), names)?;
                let of = |part: &Value| {
                    let call = &part["functionCall"];
                    (call["name"].as_str().unwrap_or_default().to_owned(), call.get("id").cloned())
                };
                sent = call_ids.iter().cloned().zip(calls.iter().map(of)).collect();
                let parts = model_parts(text, &calls, own);
                if !parts.is_empty() {
                    out.push(json!({"role": "model", "parts": parts}));
                }
            }
            Message::Results(results) => {
                let parts: Vec<Value> =
                    results.iter().map(|result| function_response(result, &sent, names, images)).collect();
                out.push(json!({"role": "user", "parts": parts}));
                out.extend(pictures(results, images));
            }
        }
    }
    Ok(out)
}

/// The parts of an answer in the order in which they came, with their signatures.
fn model_parts(text: &str, calls: &[Value], own: Option<&Map<String, Value>>) -> Vec<Value> {
    let layout = own.and_then(|fields| fields.get("layout"));
    let pieces = pieces(layout, text, calls.len()).into_iter().filter_map(|piece| match piece {
        Piece::Text(text, beside) => {
            let mut part = Map::from_iter([("text".to_owned(), json!(text))]);
            metadata::add_fields(&mut part, beside);
            Some(Value::Object(part))
        }
        Piece::Call(place) => calls.get(place).cloned(),
        Piece::Own(part) => Some(part.clone()),
    });
    pieces.collect()
}

/// The calls of one answer. Those of this service carry what came with them; the first of another's carries the sign that
/// there is nothing.
fn function_calls(
    server: &str,
    calls: &[RequestedCall],
    own: Option<&Map<String, Value>>,
    aliases: &[Option<String>],
    names: &Names<'_>,
) -> Result<Vec<Value>, String> {
    let signed = own.and_then(|fields| fields.get(SIGNED)?.as_array());
    let mut seen = HashSet::new();
    let mut out = Vec::with_capacity(calls.len());
    for (place, call) in calls.iter().enumerate() {
        let (name, arguments, kept) = match call {
            RequestedCall::Call { name, arguments, provider_metadata, .. } => (
                name.as_str(),
                Value::Object(arguments.clone()),
                metadata::unwrap(server, provider_metadata.as_ref()),
            ),
            RequestedCall::Malformed { name, raw, .. } => {
                (name.as_deref().unwrap_or("unreadable_call"), json!({"INVALID_JSON": raw}), None)
            }
        };
        let was_signed = signed.is_some_and(|places| places.contains(&json!(place)));
        if was_signed && kept.is_none() && matches!(call, RequestedCall::Call { .. }) {
            return Err(format!(
                "what it wants back with its earlier call of `{name}` is lost, so it cannot be asked again in this conversation; start a new session"
            ));
        }
        let alias = aliases.get(place).and_then(Option::as_deref).unwrap_or(name);
        let mut part = Map::new();
        part.insert("functionCall".into(), json!({"name": names.name(alias), "args": arguments}));
        metadata::add_fields(&mut part, kept);
        if let Some(Value::Object(call)) = part.get_mut("functionCall")
            && let Some(id) = call.get("id").and_then(Value::as_str)
            && !seen.insert(id.to_owned())
        {
            // Given twice: the order of calls and results must do.
            call.shift_remove("id");
        }
        let foreign = own.is_none() && place == 0;
        if (foreign || matches!(call, RequestedCall::Malformed { .. }))
            && !part.contains_key("thoughtSignature")
        {
            part.insert("thoughtSignature".into(), json!(NO_SIGNATURE));
        }
        out.push(Value::Object(part));
    }
    Ok(out)
}

fn function_response(result: &ResultMessage, sent: &Sent, names: &Names<'_>, images: &Images) -> Value {
    let (name, id) = sent.get(&result.call_id).cloned().unwrap_or_else(|| (names.name(&result.alias), None));
    let key = if result.is_error { "error" } else { "output" };
    let mut response = json!({"name": name, "response": {key: images.body(result)}});
    if let Some(id) = id {
        response["id"] = id;
    }
    json!({"functionResponse": response})
}

/// The images of `results` as a content of their own: not every model takes them inside a response.
fn pictures(results: &[ResultMessage], images: &Images) -> Option<Value> {
    let mut parts = Vec::new();
    for result in results {
        let sent: Vec<Value> = images
            .sent(result)
            .map(|(kind, data)| json!({"inlineData": {"mimeType": kind, "data": data}}))
            .collect();
        if !sent.is_empty() {
            parts.push(json!({"text": format!("The images of the result of {}:", result.alias)}));
            parts.extend(sent);
        }
    }
    (!parts.is_empty()).then(|| json!({"role": "user", "parts": parts}))
}
