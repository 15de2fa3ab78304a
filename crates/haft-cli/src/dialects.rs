//! Calls in a text and results as text: the bridge between the dialects and the neutral calls of the path.
//!
//! Text dialects live in `haft-dialect`; `native` here is one assistant message in OpenAI's JSON form.

use std::sync::Arc;

use haft_core::nearest::nearest;
use haft_core::profile::ExecutionMode;
use haft_core::render::Renderer;
use haft_core::{CompiledTools, ModelTool, RequestedCall, ToolResult, WireId};
use haft_dialect::{
    Attempt, DeclaredTool, Dialect, FinishReason, Parsed, ParserOptions, Tags, ToolInfo, ToolSet, Writer,
    WrittenResult,
};
use serde_json::{Map, Value, json};

use crate::exit::Failure;

/// The name of the dialect that is a provider's own JSON.
pub(crate) const NATIVE: &str = "native";

/// A dialect in which results are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spoken {
    /// OpenAI's JSON.
    Native,
    /// A text dialect.
    Text(Dialect),
}

/// What stands in a model's text.
#[derive(Debug)]
pub(crate) struct Written {
    /// The dialect that was found.
    pub(crate) dialect: Spoken,
    /// Its calls, malformed ones included, in order.
    pub(crate) calls: Vec<RequestedCall>,
}

/// Reads the calls of `text` for the tools of a snapshot.
pub(crate) fn read(dialect: &str, text: &str, tools: &CompiledTools, tags: Tags) -> Result<Written, Failure> {
    if dialect == NATIVE {
        return Ok(Written { dialect: Spoken::Native, calls: native(text)? });
    }
    let dialect = text_dialect(dialect)?;
    let declared = tools.tools().iter().map(|tool| DeclaredTool {
        name: tool.binding().alias.clone(),
        schema: tool.binding().descriptor.input_schema.clone(),
    });
    let tools = Arc::new(ToolSet::new(declared));
    let parsed = haft_dialect::parse(text, dialect, tools, &ParserOptions { tags }, FinishReason::Stop);
    // What was found, where the dialect was left open.
    let spoken = parsed.dialect.parse().unwrap_or(dialect);
    Ok(Written { dialect: Spoken::Text(spoken), calls: requested(parsed, text) })
}

/// The text dialect of that name.
pub(crate) fn text_dialect(name: &str) -> Result<Dialect, Failure> {
    name.parse::<Dialect>().map_err(|_| {
        let names = haft_dialect::dialects().iter().map(|dialect| dialect.name());
        let near = nearest(name, names.chain([NATIVE]), 3);
        let hint = match near.as_slice() {
            [] => format!(
                "`haft parse --dialects` lists the dialects; where calls are run, {NATIVE} is one too."
            ),
            near => format!("Did you mean {}? `haft parse --dialects` lists all.", near.join(", ")),
        };
        Failure::usage(format!("there is no dialect `{name}`")).hint(hint)
    })
}

fn requested(parsed: Parsed, text: &str) -> Vec<RequestedCall> {
    let mut calls: Vec<_> = parsed.calls.into_iter().map(Some).collect();
    let mut malformed: Vec<_> = parsed.malformed.into_iter().map(Some).collect();
    let attempts = parsed.order.into_iter().filter_map(|attempt| match attempt {
        Attempt::Call(at) => calls.get_mut(at).and_then(Option::take).map(|call| RequestedCall::Call {
            name: call.name,
            arguments: call.arguments,
            wire_id: call.id.map(WireId::new),
            provider_metadata: None,
            repairs: call.repairs.iter().map(|repair| repair.name().to_owned()).collect(),
        }),
        Attempt::Malformed(at) => {
            malformed.get_mut(at).and_then(Option::take).map(|bad| RequestedCall::Malformed {
                name: bad.name,
                reason: format!("{} {}", sentence(&bad.reason), bad.hint).trim_end().to_owned(),
                raw: text.get(bad.span.start..bad.span.end).unwrap_or_default().to_owned(),
                wire_id: None,
            })
        }
    });
    attempts.collect()
}

/// With a capital at its beginning and a full stop at its end.
pub(crate) fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let Some(first) = letters.next() else { return String::new() };
    let end = if text.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{}{}{end}", first.to_uppercase(), letters.as_str())
}

/// The calls of one assistant message: `{"role": "assistant", "tool_calls": [{"id", "function": {"name", "arguments"}}]}`.
fn native(text: &str) -> Result<Vec<RequestedCall>, Failure> {
    let fail = |what: String| {
        Failure::usage(format!("stdin holds no assistant message: {what}"))
            .hint("Write {\"role\":\"assistant\",\"tool_calls\":[{\"id\":…,\"function\":{\"name\":…,\"arguments\":\"{…}\"}}]}.")
    };
    let message: Value = serde_json::from_str(text).map_err(|error| fail(error.to_string()))?;
    let Value::Object(message) = message else { return Err(fail("it is no JSON object".to_owned())) };
    match message.get("tool_calls") {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(calls)) => Ok(calls.iter().map(native_call).collect()),
        Some(_) => Err(fail("`tool_calls` is no array".to_owned())),
    }
}

fn native_call(call: &Value) -> RequestedCall {
    let wire_id = call.get("id").and_then(Value::as_str).map(WireId::from);
    let function = call.get("function");
    let name = function.and_then(|function| function.get("name")).and_then(Value::as_str).map(str::to_owned);
    let malformed = |name: Option<String>, reason: String| RequestedCall::Malformed {
        name,
        reason,
        raw: call.to_string(),
        wire_id: wire_id.clone(),
    };
    let Some(name) = name else {
        return malformed(None, "The call has no `function.name`. Name the tool.".to_owned());
    };
    let arguments = match function.and_then(|function| function.get("arguments")) {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(map)) => Ok(map.clone()),
        Some(Value::String(text)) if text.trim().is_empty() => Ok(Map::new()),
        Some(Value::String(text)) => match haft_schema::json::read(text, None) {
            Ok(Value::Object(map)) => Ok(map),
            Ok(_) => Err("they are another JSON value".to_owned()),
            Err(error) => Err(error.to_string()),
        },
        Some(_) => Err("they are another JSON value".to_owned()),
    };
    match arguments {
        Ok(arguments) => {
            RequestedCall::Call { name, arguments, wire_id, provider_metadata: None, repairs: Vec::new() }
        }
        Err(reason) => malformed(
            Some(name),
            format!("The arguments are no JSON object: {reason}. Write one JSON object."),
        ),
    }
}

/// The results of one batch in the form of `dialect`, in order; what stands inside is made by the profile's renderer, but in
/// ArtifactFlow's form, which carries the content itself (CONFLICT-06).
pub(crate) fn write_results<'a>(
    dialect: Spoken,
    results: impl Iterator<Item = (&'a ToolResult, Option<WireId>)>,
    renderer: Renderer,
) -> String {
    let messages: Vec<_> =
        results.map(|(result, wire_id)| haft_engine::result_message(result, wire_id, renderer)).collect();
    match dialect {
        Spoken::Native => {
            let lines = messages.iter().map(|message| {
                let id = message.wire_id.as_ref().map_or(message.call_id.as_str(), WireId::as_str);
                json!({"role": "tool", "tool_call_id": id, "content": message.body}).to_string()
            });
            lines.collect::<Vec<_>>().join("\n")
        }
        Spoken::Text(dialect) => {
            let own = matches!(dialect, Dialect::Auto | Dialect::ArtifactXml);
            let written: Vec<_> = messages
                .iter()
                .map(|message| WrittenResult {
                    name: &message.alias,
                    id: message.wire_id.as_ref().map(WireId::as_str),
                    success: !message.is_error,
                    content: if own { &message.content } else { &message.body },
                })
                .collect();
            Writer::new(dialect, Tags::default()).results(&written)
        }
    }
}

/// The tools as a model of `dialect` reads them.
pub(crate) fn tool_prompt(
    dialect: &str,
    tools: &[ModelTool],
    mode: ExecutionMode,
    tags: &Tags,
) -> Result<String, Failure> {
    if dialect == NATIVE {
        let functions: Vec<Value> = tools
            .iter()
            .map(|tool| {
                json!({"type": "function", "function": {
                    "name": tool.alias, "description": tool.description,
                    "parameters": tool.input_schema.as_value(),
                }})
            })
            .collect();
        return Ok(serde_json::to_string_pretty(&functions).unwrap_or_default());
    }
    let infos: Vec<ToolInfo<'_>> = tools
        .iter()
        .map(|tool| ToolInfo {
            name: &tool.alias,
            description: &tool.description,
            schema: &tool.input_schema,
            example: tool.example.as_ref(),
        })
        .collect();
    let mode = match mode {
        ExecutionMode::Serial => haft_dialect::ExecutionMode::Serial,
        ExecutionMode::Parallel => haft_dialect::ExecutionMode::Parallel,
    };
    match text_dialect(dialect)? {
        Dialect::Auto => Err(Failure::usage("`auto` only reads; it has no prompt of its own")
            .hint("Name `native` or a text dialect.")),
        dialect => Ok(Writer::new(dialect, tags.clone()).instructions(&infos, mode)),
    }
}
