//! The body of a chat completion: Haft's messages and tools as OpenAI's JSON (PRV-01, PRV-05).
//!
//! It only converts: nothing is shortened, dropped or decided here.

use haft_core::message::{Message, ResultMessage};
use haft_core::ports::ModelRequest;
use haft_core::{ModelTool, RequestedCall, ToolChoice};
use serde_json::{Map, Value, json};

use crate::entry::{Hold, ModelEntry, OPENAI_URL};
use crate::wire::{Images, Names, WireIds, add_extra, aliases, metadata};

/// The body for `request` to the model of `entry`, whose answer is held to `hold`.
pub(super) fn body(
    entry: &ModelEntry,
    hold: Option<&Hold>,
    server: &str,
    request: &ModelRequest,
    names: &Names<'_>,
    images: &Images,
) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), json!(entry.model));
    body.insert("messages".into(), Value::Array(messages(server, request, names, images)));
    if !request.tools.is_empty() {
        body.insert("tools".into(), names.iter().map(|(one, name)| tool(one, name)).collect());
        if let Some(choice) = choice(&request.choice, names) {
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
    match hold {
        Some(Hold::Gbnf(grammar)) => drop(body.insert("grammar".into(), json!(grammar))),
        Some(Hold::JsonSchema(schema)) => {
            let named = json!({"name": "answer", "strict": true, "schema": schema});
            body.insert("response_format".into(), json!({"type": "json_schema", "json_schema": named}));
        }
        None => {}
    }
    body.insert("stream".into(), json!(true));
    body.insert("stream_options".into(), json!({"include_usage": true}));
    add_extra(&mut body, &entry.extra);
    Value::Object(body)
}

fn tool(tool: &ModelTool, name: &str) -> Value {
    json!({
        "type": "function",
        "function": {"name": name, "description": tool.description, "parameters": tool.input_schema.object_root()},
    })
}

/// None where the server's own default says the same.
fn choice(choice: &ToolChoice, names: &Names<'_>) -> Option<Value> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some(json!("none")),
        ToolChoice::Required => Some(json!("required")),
        ToolChoice::Tool(id) => Some(match names.iter().find(|(tool, _)| tool.tool_id == *id) {
            Some((_, name)) => json!({"type": "function", "function": {"name": name}}),
            None => json!("required"),
        }),
    }
}

fn messages(server: &str, request: &ModelRequest, names: &Names<'_>, images: &Images) -> Vec<Value> {
    let mut out = Vec::new();
    if !request.system.is_empty() {
        out.push(json!({"role": "system", "content": request.system}));
    }
    let mut wire_ids = WireIds::default();
    for (position, message) in request.messages.iter().enumerate() {
        match message {
            Message::User(text) => out.push(json!({"role": "user", "content": text})),
            Message::Assistant { text, calls, call_ids, provider_metadata, .. } => {
                let results = match request.messages.get(position + 1) {
                    Some(Message::Results(results)) => results.as_slice(),
                    _ => &[],
                };
                wire_ids.forget();
                let ids = wire_ids.of(calls, call_ids, |_| true);
                let aliases = aliases(call_ids, results);
                let calls = calls.iter().zip(&ids).enumerate().map(|(position, (requested, id))| {
                    call(server, requested, id, aliases.get(position).and_then(Option::as_deref), names)
                });
                out.push(assistant(server, text, calls.collect(), provider_metadata.as_ref()));
            }
            Message::Results(results) => {
                out.extend(results.iter().map(|result| {
                    json!({"role": "tool", "tool_call_id": wire_ids.result(result), "content": images.body(result)})
                }));
                out.extend(pictures(results, images));
            }
        }
    }
    out
}

/// The images of `results` as a message of their own: a tool's message takes none.
fn pictures(results: &[ResultMessage], images: &Images) -> Option<Value> {
    let mut parts = Vec::new();
    for result in results {
        let sent = images.sent(result).map(|(kind, data)| {
            json!({"type": "image_url", "image_url": {"url": format!("data:{kind};base64,{data}")}})
        });
        let sent: Vec<Value> = sent.collect();
        if !sent.is_empty() {
            parts.push(
                json!({"type": "text", "text": format!("The images of the result of {}:", result.alias)}),
            );
            parts.extend(sent);
        }
    }
    (!parts.is_empty()).then(|| json!({"role": "user", "content": parts}))
}

fn assistant(server: &str, text: &str, calls: Vec<Value>, provider_metadata: Option<&Value>) -> Value {
    let mut message = Map::new();
    message.insert("role".into(), json!("assistant"));
    // Some servers refuse null, but none refuses it beside calls.
    let content = if text.is_empty() && !calls.is_empty() { Value::Null } else { json!(text) };
    message.insert("content".into(), content);
    if !calls.is_empty() {
        message.insert("tool_calls".into(), Value::Array(calls));
    }
    metadata::add_fields(&mut message, metadata::unwrap(server, provider_metadata));
    Value::Object(message)
}

fn call(server: &str, call: &RequestedCall, id: &str, alias: Option<&str>, names: &Names<'_>) -> Value {
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
    let name = names.name(alias.unwrap_or(name));
    out.insert("function".into(), json!({"name": name, "arguments": arguments}));
    metadata::add_fields(&mut out, metadata::unwrap(server, provider_metadata));
    Value::Object(out)
}
