//! Reads scripts: JSON Lines, one turn a line (design.md §8). Every fault has its line and the next step.

use std::time::Duration;

use haft_core::nearest::nearest;
use haft_core::ports::{FinishReason, Usage};
use haft_core::{RequestedCall, WireId};
use haft_schema::json;
use serde_json::{Map, Value};

use super::ScriptError;

const KEYS: [&str; 12] = [
    "agent",
    "text",
    "chunks",
    "reasoning",
    "tool_calls",
    "finish_reason",
    "usage",
    "provider_metadata",
    "raw",
    "delay_ms",
    "error",
    "expect",
];
/// What a script may call the agent of the run itself, whatever its profile is called.
const ROOT: &str = "root";
/// Longest wait that a script may ask for.
const MOST_DELAY_MS: u64 = 3_600_000;

/// One line.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct ScriptTurn {
    /// Its place in the file, from 1.
    pub(super) line: usize,
    /// The agent that the turn is for; none is for all agents that have no lines of their own.
    pub(super) agent: Option<String>,
    pub(super) chunks: Vec<String>,
    pub(super) reasoning: String,
    pub(super) calls: Vec<RequestedCall>,
    pub(super) finish_reason: Option<FinishReason>,
    pub(super) usage: Option<Usage>,
    pub(super) provider_metadata: Option<Value>,
    /// The answer as written, where that differs from its text.
    pub(super) raw: Option<String>,
    pub(super) delay: Duration,
    /// Status and body of a refusal.
    pub(super) error: Option<(u16, String)>,
    pub(super) last_contains: Option<String>,
}

/// Reads a whole script.
pub(super) fn read(script: &str, text: &str) -> Result<Vec<ScriptTurn>, ScriptError> {
    let lines = text.strip_prefix('\u{feff}').unwrap_or(text).lines().enumerate();
    let turns = lines.filter(|(_, line)| !line.trim().is_empty()).map(|(index, line)| {
        read_line(index + 1, line).map_err(|reason| ScriptError {
            script: script.to_owned(),
            line: index + 1,
            reason,
        })
    });
    turns.collect()
}

fn read_line(number: usize, line: &str) -> Result<ScriptTurn, String> {
    let value = json::read(line, None).map_err(|error| format!("it is not JSON: {error}"))?;
    let mut map = object("the line", value)?;
    let mut turn = ScriptTurn { line: number, ..ScriptTurn::default() };
    check_keys("a turn", &map, &KEYS)?;
    let agent = taken(&mut map, "agent").map(|value| text("agent", value)).transpose()?;
    turn.agent = agent.filter(|agent| agent != ROOT);
    let whole = taken(&mut map, "text").map(|value| text("text", value)).transpose()?;
    let chunks = taken(&mut map, "chunks").map(|value| list("chunks", value)).transpose()?;
    turn.chunks = match (whole, chunks) {
        (Some(_), Some(_)) => return Err("`text` and `chunks` exclude each other".to_owned()),
        (Some(whole), None) => vec![whole],
        (None, chunks) => {
            chunks.into_iter().flatten().map(|chunk| text("chunks", chunk)).collect::<Result<_, _>>()?
        }
    };
    if let Some(value) = taken(&mut map, "reasoning") {
        turn.reasoning = text("reasoning", value)?;
    }
    if let Some(value) = taken(&mut map, "tool_calls") {
        turn.calls = list("tool_calls", value)?.into_iter().map(call).collect::<Result<_, _>>()?;
    }
    turn.finish_reason = taken(&mut map, "finish_reason")
        .map(|value| finish_reason(&text("finish_reason", value)?))
        .transpose()?;
    turn.usage = taken(&mut map, "usage").map(usage).transpose()?;
    turn.provider_metadata = taken(&mut map, "provider_metadata");
    turn.raw = taken(&mut map, "raw").map(|value| text("raw", value)).transpose()?;
    if let Some(value) = taken(&mut map, "delay_ms") {
        let most = |delay: &u64| *delay <= MOST_DELAY_MS;
        let delay = value.as_u64().filter(most).ok_or("`delay_ms` must be a whole number up to 3600000")?;
        turn.delay = Duration::from_millis(delay);
    }
    turn.error = taken(&mut map, "error").map(error).transpose()?;
    if let Some(value) = taken(&mut map, "expect") {
        let mut expect = object("`expect`", value)?;
        check_keys("`expect`", &expect, &["last_contains"])?;
        turn.last_contains =
            taken(&mut expect, "last_contains").map(|value| text("last_contains", value)).transpose()?;
    }
    Ok(turn)
}

fn check_keys(place: &str, map: &Map<String, Value>, known: &[&str]) -> Result<(), String> {
    let Some(key) = map.keys().find(|key| !known.contains(&key.as_str())) else { return Ok(()) };
    Err(match nearest(key, known.iter().copied(), 1).first() {
        Some(near) => format!("unknown key `{key}` in {place}; did you mean `{near}`?"),
        None => format!("unknown key `{key}` in {place}; known are {}", known.join(", ")),
    })
}

/// The value of a key; null counts as absent.
fn taken(map: &mut Map<String, Value>, key: &str) -> Option<Value> {
    map.shift_remove(key).filter(|value| !value.is_null())
}

fn object(place: &str, value: Value) -> Result<Map<String, Value>, String> {
    match value {
        Value::Object(map) => Ok(map),
        _ => Err(format!("{place} must be a JSON object")),
    }
}

fn text(key: &str, value: Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text),
        _ => Err(format!("`{key}` must be text")),
    }
}

fn list(key: &str, value: Value) -> Result<Vec<Value>, String> {
    match value {
        Value::Array(items) => Ok(items),
        _ => Err(format!("`{key}` must be a list")),
    }
}

/// Arguments are an object, or text as providers send it: text that is no object makes a malformed call. `malformed` says of
/// a recorded call why it could not be read.
fn call(value: Value) -> Result<RequestedCall, String> {
    let mut map = object("a call in `tool_calls`", value)?;
    check_keys("a call", &map, &["id", "name", "arguments", "repairs", "provider_metadata", "malformed"])?;
    let wire_id = taken(&mut map, "id").map(|value| text("id", value)).transpose()?.map(WireId::new);
    if let Some(reason) = taken(&mut map, "malformed") {
        let name = taken(&mut map, "name").map(|value| text("name", value)).transpose()?;
        let raw = taken(&mut map, "arguments").map(|value| text("arguments", value)).transpose()?;
        let (reason, raw) = (text("malformed", reason)?, raw.unwrap_or_default());
        return Ok(RequestedCall::Malformed { name, reason, raw, wire_id });
    }
    let repairs = taken(&mut map, "repairs").map(|value| list("repairs", value)).transpose()?;
    let repairs =
        repairs.into_iter().flatten().map(|repair| text("repairs", repair)).collect::<Result<_, _>>()?;
    let provider_metadata = taken(&mut map, "provider_metadata");
    let name = taken(&mut map, "name").ok_or("a call in `tool_calls` has no `name`")?;
    let name = text("name", name)?;
    let arguments = match taken(&mut map, "arguments") {
        None => Map::new(),
        Some(Value::Object(arguments)) => arguments,
        Some(Value::String(raw)) => match json::read(&raw, None) {
            Ok(Value::Object(arguments)) => arguments,
            Ok(_) => {
                let reason = "The arguments are not a JSON object. Write them as one object.".to_owned();
                return Ok(RequestedCall::Malformed { name: Some(name), reason, raw, wire_id });
            }
            Err(error) => {
                let reason = format!("The arguments are not JSON: {error}. Write them as one object.");
                return Ok(RequestedCall::Malformed { name: Some(name), reason, raw, wire_id });
            }
        },
        Some(_) => return Err("`arguments` must be an object or text".to_owned()),
    };
    Ok(RequestedCall::Call { name, arguments, wire_id, provider_metadata, repairs })
}

fn finish_reason(word: &str) -> Result<FinishReason, String> {
    Ok(match word {
        "stop" => FinishReason::Stop,
        "tool_calls" => FinishReason::ToolCalls,
        "length" => FinishReason::Length,
        "content_filter" => FinishReason::ContentFilter,
        "other" => FinishReason::Other,
        _ => {
            return Err(format!(
                "unknown `finish_reason` `{word}`; known are stop, tool_calls, length, content_filter, other"
            ));
        }
    })
}

/// Tokens, under Haft's names or OpenAI's.
fn usage(value: Value) -> Result<Usage, String> {
    let mut map = object("`usage`", value)?;
    check_keys(
        "`usage`",
        &map,
        &["input_tokens", "output_tokens", "prompt_tokens", "completion_tokens", "total_tokens"],
    )?;
    let mut count = |names: [&str; 2]| {
        let value = names.into_iter().find_map(|name| taken(&mut map, name));
        value.map_or(Ok(0), |value| value.as_u64().ok_or("tokens in `usage` must be whole numbers"))
    };
    Ok(Usage {
        input_tokens: count(["input_tokens", "prompt_tokens"])?,
        output_tokens: count(["output_tokens", "completion_tokens"])?,
    })
}

fn error(value: Value) -> Result<(u16, String), String> {
    let mut map = object("`error`", value)?;
    check_keys("`error`", &map, &["status", "body"])?;
    let status = taken(&mut map, "status").and_then(|value| value.as_u64());
    let status =
        status.filter(|status| (100..1000).contains(status)).and_then(|status| u16::try_from(status).ok());
    let body = match taken(&mut map, "body") {
        None => String::new(),
        Some(Value::String(body)) => body,
        Some(other) => other.to_string(),
    };
    Ok((status.ok_or("`error` needs a `status` from 100 to 999")?, body))
}
