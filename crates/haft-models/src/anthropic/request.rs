//! The body of a message request: Haft's messages and tools as Anthropic's blocks (PRV-01).
//!
//! It only converts: nothing is shortened, dropped or decided here, but empty texts, which the service refuses.

use haft_core::message::{Message, ResultMessage};
use haft_core::ports::ModelRequest;
use haft_core::{RequestedCall, ToolChoice};
use serde_json::{Map, Value, json};

use crate::entry::ModelEntry;
use crate::wire::layout::{Piece, pieces};
use crate::wire::{Images, Names, WireIds, add_extra, aliases, metadata};

/// Most tokens of an answer where nobody sets a limit: the service wants one, and every model of it takes this one.
const MAX_TOKENS: u32 = 8_192;
/// Longest id of a call that is sent back as it came.
const LONGEST_ID: usize = 128;

/// The body for `request` to the model of `entry`.
pub(super) fn body(
    entry: &ModelEntry,
    server: &str,
    request: &ModelRequest,
    names: &Names<'_>,
    images: &Images,
) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), json!(entry.model));
    body.insert("max_tokens".into(), json!(request.max_tokens.or(entry.max_tokens).unwrap_or(MAX_TOKENS)));
    if !request.system.is_empty() {
        body.insert("system".into(), json!(request.system));
    }
    body.insert("messages".into(), Value::Array(messages(server, request, names, images)));
    if !request.tools.is_empty() {
        let tools = names.iter().map(|(tool, name)| {
            json!({"name": name, "description": tool.description, "input_schema": tool.input_schema.object_root()})
        });
        body.insert("tools".into(), tools.collect());
        if let Some(choice) = choice(&request.choice, names) {
            body.insert("tool_choice".into(), choice);
        }
    }
    if let Some(temperature) = request.temperature.or(entry.temperature) {
        body.insert("temperature".into(), json!(temperature));
    }
    body.insert("stream".into(), json!(true));
    add_extra(&mut body, &entry.extra);
    Value::Object(body)
}

/// None where the service's own default says the same.
fn choice(choice: &ToolChoice, names: &Names<'_>) -> Option<Value> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some(json!({"type": "none"})),
        ToolChoice::Required => Some(json!({"type": "any"})),
        ToolChoice::Tool(id) => Some(match names.iter().find(|(tool, _)| tool.tool_id == *id) {
            Some((_, name)) => json!({"type": "tool", "name": name}),
            None => json!({"type": "any"}),
        }),
    }
}

/// Messages that take turns: neighbours of one role become one.
fn messages(server: &str, request: &ModelRequest, names: &Names<'_>, images: &Images) -> Vec<Value> {
    let mut turns: Vec<(&'static str, Vec<Value>)> = Vec::new();
    let mut wire_ids = WireIds::default();
    for (position, message) in request.messages.iter().enumerate() {
        let (role, blocks) = match message {
            Message::User(text) => ("user", text_block(text).into_iter().collect()),
            Message::Assistant { text, calls, call_ids, provider_metadata, .. } => {
                let results = match request.messages.get(position + 1) {
                    Some(Message::Results(results)) => results.as_slice(),
                    _ => &[],
                };
                // The service wants every id once in the whole conversation.
                let ids = wire_ids.of(calls, call_ids, id_fits);
                let aliases = aliases(call_ids, results);
                let calls: Vec<Value> = calls
                    .iter()
                    .zip(&ids)
                    .enumerate()
                    .map(|(place, (call, id))| {
                        tool_use(call, id, aliases.get(place).and_then(Option::as_deref), names)
                    })
                    .collect();
                ("assistant", assistant(server, text, &calls, provider_metadata.as_ref()))
            }
            Message::Results(results) => (
                "user",
                results.iter().map(|result| tool_result(result, &wire_ids.result(result), images)).collect(),
            ),
        };
        if blocks.is_empty() {
            continue;
        }
        match turns.last_mut() {
            Some((last, before)) if *last == role => before.extend(blocks),
            _ => turns.push((role, blocks)),
        }
    }
    turns.into_iter().map(|(role, blocks)| json!({"role": role, "content": blocks})).collect()
}

/// The service refuses texts of blanks alone.
fn text_block(text: &str) -> Option<Value> {
    (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}))
}

/// The blocks of an answer in the order in which they came, thoughts and their signatures unchanged (PRV-02).
fn assistant(server: &str, text: &str, calls: &[Value], provider_metadata: Option<&Value>) -> Vec<Value> {
    let layout = metadata::unwrap(server, provider_metadata).and_then(|fields| fields.get("layout"));
    let pieces = pieces(layout, text, calls.len()).into_iter().filter_map(|piece| match piece {
        Piece::Text(text, _) => text_block(text),
        Piece::Call(place) => calls.get(place).cloned(),
        Piece::Own(block) => Some(block.clone()),
    });
    pieces.collect()
}

fn tool_use(call: &RequestedCall, id: &str, alias: Option<&str>, names: &Names<'_>) -> Value {
    let (name, input) = match call {
        RequestedCall::Call { name, arguments, .. } => (name.as_str(), Value::Object(arguments.clone())),
        RequestedCall::Malformed { name, raw, .. } => {
            (name.as_deref().unwrap_or("unreadable_call"), json!({"INVALID_JSON": raw}))
        }
    };
    json!({"type": "tool_use", "id": id, "name": names.name(alias.unwrap_or(name)), "input": input})
}

fn tool_result(result: &ResultMessage, id: &str, images: &Images) -> Value {
    let body = images.body(result);
    let pictures: Vec<Value> = images
        .sent(result)
        .map(|(kind, data)| {
            json!({"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}})
        })
        .collect();
    let mut block = json!({"type": "tool_result", "tool_use_id": id});
    let content = if pictures.is_empty() {
        (!body.is_empty()).then(|| json!(body))
    } else {
        Some(text_block(&body).into_iter().chain(pictures).collect())
    };
    if let (Value::Object(block), Some(content)) = (&mut block, content) {
        block.insert("content".into(), content);
    }
    if result.is_error {
        block["is_error"] = json!(true);
    }
    block
}

fn id_fits(id: &str) -> bool {
    !id.is_empty()
        && id.len() <= LONGEST_ID
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}
