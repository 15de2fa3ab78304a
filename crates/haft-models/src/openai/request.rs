//! The body of a chat completion: Haft's messages and tools as OpenAI's JSON (PRV-01, PRV-05).
//!
//! It only converts: nothing is shortened, dropped or decided here.

use std::collections::{HashMap, HashSet};

use haft_core::message::{Message, ResultMessage};
use haft_core::ports::ModelRequest;
use haft_core::{CallId, ModelTool, RequestedCall, ToolChoice, WireId};
use serde_json::{Map, Value, json};

use crate::entry::{ModelEntry, OPENAI_URL};
use crate::wire::metadata;

/// The body for `request` to the model of `entry`.
pub(super) fn body(entry: &ModelEntry, server: &str, request: &ModelRequest) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), json!(entry.model));
    body.insert("messages".into(), Value::Array(messages(server, request)));
    if !request.tools.is_empty() {
        body.insert("tools".into(), request.tools.iter().map(tool).collect());
        if let Some(choice) = choice(&request.choice, &request.tools) {
            body.insert("tool_choice".into(), choice);
        }
    }
    if let Some(most) = request.max_tokens.or(entry.max_tokens) {
        // OpenAI's newer models refuse the old name, other servers do not know the new one.
        let name = if server == OPENAI_URL { "max_completion_tokens" } else { "max_tokens" };
        body.insert(name.into(), json!(most));
    }
    if let Some(temperature) = request.temperature.or(entry.temperature) {
        body.insert("temperature".into(), json!(temperature));
    }
    if let Some(seed) = request.seed.or(entry.seed) {
        body.insert("seed".into(), json!(seed));
    }
    if let Some(grammar) = &entry.grammar {
        body.insert("grammar".into(), json!(grammar));
    }
    body.insert("stream".into(), json!(true));
    body.insert("stream_options".into(), json!({"include_usage": true}));
    Value::Object(body)
}

fn tool(tool: &ModelTool) -> Value {
    let mut parameters = tool.input_schema.as_value().clone();
    if let Value::Object(schema) = &mut parameters {
        schema.entry("type").or_insert_with(|| json!("object"));
        schema.entry("properties").or_insert_with(|| json!({}));
    }
    json!({
        "type": "function",
        "function": {"name": tool.alias, "description": tool.description, "parameters": parameters},
    })
}

/// None where the server's own default says the same.
fn choice(choice: &ToolChoice, tools: &[ModelTool]) -> Option<Value> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some(json!("none")),
        ToolChoice::Required => Some(json!("required")),
        ToolChoice::Tool(id) => Some(match tools.iter().find(|tool| tool.tool_id == *id) {
            Some(tool) => json!({"type": "function", "function": {"name": tool.alias}}),
            None => json!("required"),
        }),
    }
}

fn messages(server: &str, request: &ModelRequest) -> Vec<Value> {
    let mut out = Vec::new();
    if !request.system.is_empty() {
        out.push(json!({"role": "system", "content": request.system}));
    }
    let mut wire_ids = HashMap::new();
    for (position, message) in request.messages.iter().enumerate() {
        match message {
            Message::User(text) => out.push(json!({"role": "user", "content": text})),
            Message::Assistant { text, calls, call_ids, provider_metadata, .. } => {
                let results = match request.messages.get(position + 1) {
                    Some(Message::Results(results)) => results.as_slice(),
                    _ => &[],
                };
                let ids = ids(calls, call_ids);
                let metadata = provider_metadata.as_ref();
                out.push(assistant(server, text, calls, &ids, metadata, &aliases(call_ids, results)));
                wire_ids = call_ids.iter().cloned().zip(ids).collect();
            }
            Message::Results(results) => out.extend(results.iter().map(|result| answer(result, &wire_ids))),
        }
    }
    out
}

/// The id of each call on the wire: the server's own, unless it is missing or was given twice in this answer.
fn ids(calls: &[RequestedCall], call_ids: &[CallId]) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut ids = Vec::with_capacity(calls.len());
    for (position, call) in calls.iter().enumerate() {
        let wire = call.wire_id().map(WireId::as_str).filter(|id| seen.insert(*id));
        let host = call_ids.get(position).map(CallId::as_str);
        ids.push(wire.or(host).map_or_else(|| format!("call_{position}"), str::to_owned));
    }
    ids
}

/// The alias of each call in this request, as its result carries it (ALI-08).
fn aliases(call_ids: &[CallId], results: &[ResultMessage]) -> Vec<Option<String>> {
    let alias_of = |id: &CallId| {
        let result = results.iter().find(|result| result.call_id == *id)?;
        result.tool_id.as_ref().map(|_| result.alias.clone())
    };
    call_ids.iter().map(alias_of).collect()
}

fn assistant(
    server: &str,
    text: &str,
    calls: &[RequestedCall],
    ids: &[String],
    provider_metadata: Option<&Value>,
    aliases: &[Option<String>],
) -> Value {
    let mut message = Map::new();
    message.insert("role".into(), json!("assistant"));
    // Some servers refuse null, but none refuses it beside calls.
    let content = if text.is_empty() && !calls.is_empty() { Value::Null } else { json!(text) };
    message.insert("content".into(), content);
    if !calls.is_empty() {
        let numbered = calls.iter().zip(ids).enumerate();
        let calls = numbered.map(|(position, (requested, id))| {
            call(server, requested, id, aliases.get(position).and_then(Option::as_deref))
        });
        message.insert("tool_calls".into(), calls.collect());
    }
    add_fields(&mut message, metadata::unwrap(server, provider_metadata));
    Value::Object(message)
}

fn call(server: &str, call: &RequestedCall, id: &str, alias: Option<&str>) -> Value {
    let (name, arguments, provider_metadata) = match call {
        RequestedCall::Call { name, arguments, provider_metadata, .. } => {
            (name.as_str(), Value::Object(arguments.clone()).to_string(), provider_metadata.as_ref())
        }
        RequestedCall::Malformed { name, raw, .. } => {
            // Servers read the arguments of earlier calls: what was no JSON goes back inside JSON.
            (name.as_deref().unwrap_or("unreadable_call"), json!({"INVALID_JSON": raw}).to_string(), None)
        }
    };
    let mut out = Map::new();
    out.insert("id".into(), json!(id));
    out.insert("type".into(), json!("function"));
    let name = alias.map_or_else(|| wire_name(name), str::to_owned);
    out.insert("function".into(), json!({"name": name, "arguments": arguments}));
    add_fields(&mut out, metadata::unwrap(server, provider_metadata));
    Value::Object(out)
}

/// A name that no tool has, in the letters that every server takes.
fn wire_name(name: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.');
    name.chars().take(64).map(|letter| if plain(letter) { letter } else { '_' }).collect()
}

/// Adds opaque fields; they never replace what Haft says itself.
fn add_fields(into: &mut Map<String, Value>, fields: Option<&Map<String, Value>>) {
    for (key, value) in fields.into_iter().flatten() {
        match (into.get_mut(key), value) {
            (None, value) => {
                into.insert(key.clone(), value.clone());
            }
            (Some(Value::Object(own)), Value::Object(more)) => add_fields(own, Some(more)),
            (Some(_), _) => {}
        }
    }
}

fn answer(result: &ResultMessage, wire_ids: &HashMap<CallId, String>) -> Value {
    let id = wire_ids.get(&result.call_id).map_or_else(
        || result.wire_id.as_ref().map_or(result.call_id.as_str(), WireId::as_str),
        String::as_str,
    );
    json!({"role": "tool", "tool_call_id": id, "content": result.body})
}
