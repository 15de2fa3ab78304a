//! The conversation of a session, read back from its journal: what a model is told of earlier runs, what people see, and
//! the events of a stored run.

use std::collections::HashMap;

use haft_core::event::RunEvent;
use haft_core::journal::Payload;
use haft_core::message::{Message, ResultMessage};
use haft_core::ports::Store;
use haft_core::render::Renderer;
use haft_core::{CallId, CompiledTools, RunId, SessionId, ToolResult, WireId};
use serde_json::{Map, Value};

use crate::error::EngineError;
use crate::render::result_message;
use crate::settle::result_view;

/// The messages of all runs of a session that had a prompt, oldest first.
pub async fn conversation(store: &dyn Store, session: &SessionId) -> Result<Vec<Message>, EngineError> {
    messages(store, session, Renderer::Plain).await
}

pub(crate) async fn messages(
    store: &dyn Store,
    session: &SessionId,
    renderer: Renderer,
) -> Result<Vec<Message>, EngineError> {
    let mut all = Vec::new();
    for run in store.runs(Some(session)).await? {
        all.extend(run_messages(store, &run.id, renderer).await?);
    }
    Ok(all)
}

/// The messages of one run; none for single calls, which are no conversation.
pub(crate) async fn run_messages(
    store: &dyn Store,
    run: &RunId,
    renderer: Renderer,
) -> Result<Vec<Message>, EngineError> {
    let mut messages = Vec::new();
    let mut open: Vec<(CallId, Option<WireId>)> = Vec::new();
    let mut results: HashMap<CallId, ResultMessage> = HashMap::new();
    for record in store.records(run).await? {
        let Some(bytes) = record.payload.as_deref() else { continue };
        match Payload::read(&record.kind, bytes)? {
            Payload::RunStarted(body) => match body.prompt {
                Some(prompt) => messages.push(Message::User(prompt)),
                None => return Ok(Vec::new()),
            },
            Payload::ModelTurnCompleted(body) => {
                close_turn(&mut messages, &mut open, &mut results);
                let wire_ids = body.calls.iter().map(|call| call.requested.wire_id().cloned());
                open = body.calls.iter().map(|call| call.call_id.clone()).zip(wire_ids).collect();
                messages.push(Message::Assistant {
                    text: body.text,
                    raw: body.raw,
                    call_ids: body.calls.iter().map(|call| call.call_id.clone()).collect(),
                    calls: body.calls.into_iter().map(|call| call.requested).collect(),
                    provider_metadata: body.provider_metadata,
                });
            }
            Payload::ToolCallCompleted(body) => {
                let spilled = body.spilled_to.as_deref();
                let path = &body.result_file.path;
                insert_result(store, run, path, spilled, &open, renderer, &mut results).await?;
            }
            Payload::ToolCallFailed(body) => {
                insert_result(store, run, &body.result_file.path, None, &open, renderer, &mut results)
                    .await?;
            }
            Payload::ContextAssembled(_)
            | Payload::ModelRequestCreated(_)
            | Payload::ModelRequestFailed(_)
            | Payload::ToolCallRequested(_)
            | Payload::ToolCallStarted(_)
            | Payload::ConsentOpened(_)
            | Payload::ConsentClosed(_)
            | Payload::GrantGiven(_)
            | Payload::GrantRevoked(_)
            | Payload::RunEnded(_)
            | Payload::PayloadRedacted(_)
            | Payload::SessionDeleted(_) => {}
        }
    }
    close_turn(&mut messages, &mut open, &mut results);
    Ok(messages)
}

async fn insert_result(
    store: &dyn Store,
    run: &RunId,
    path: &str,
    spilled_to: Option<&str>,
    open: &[(CallId, Option<WireId>)],
    renderer: Renderer,
    results: &mut HashMap<CallId, ResultMessage>,
) -> Result<(), EngineError> {
    let Some(mut result) = stored_result(store, run, path).await? else { return Ok(()) };
    if let Some(artifact) = spilled_to {
        let note = format!("(A long result, kept as artifact `{artifact}`.)");
        result.content = vec![haft_core::ContentPart::Text { text: note }];
    }
    let wire_id = open.iter().find(|(id, _)| *id == result.call_id).and_then(|(_, wire_id)| wire_id.clone());
    results.insert(result.call_id.clone(), result_message(&result, wire_id, renderer));
    Ok(())
}

/// A result as its audit file holds it; none if it was redacted.
async fn stored_result(
    store: &dyn Store,
    run: &RunId,
    path: &str,
) -> Result<Option<ToolResult>, EngineError> {
    let Some(bytes) = store.file(run, path).await?.and_then(|file| file.bytes) else { return Ok(None) };
    Ok(serde_json::from_slice(&bytes).ok())
}

/// Adds the results of the turn before, in call order; a call without a result is left out with its question.
fn close_turn(
    messages: &mut Vec<Message>,
    open: &mut Vec<(CallId, Option<WireId>)>,
    results: &mut HashMap<CallId, ResultMessage>,
) {
    let ordered: Vec<ResultMessage> = open.drain(..).filter_map(|(id, _)| results.remove(&id)).collect();
    results.clear();
    if !ordered.is_empty() {
        messages.push(Message::Results(ordered));
    }
}

/// Fits earlier messages to the tools of a new invocation: calls whose tool is gone are told as plain text (CONFLICT-32).
pub(crate) fn fit_to(messages: Vec<Message>, tools: &CompiledTools) -> Vec<Message> {
    let known = |part: &ResultMessage| {
        part.tool_id
            .as_ref()
            .and_then(|id| tools.by_id(id))
            .is_some_and(|tool| tool.binding().alias == part.alias)
    };
    let mut fitted = Vec::with_capacity(messages.len());
    let mut source = messages.into_iter().peekable();
    while let Some(message) = source.next() {
        let Message::Assistant { text, calls, .. } = &message else {
            fitted.push(message);
            continue;
        };
        if calls.is_empty() {
            fitted.push(message);
            continue;
        }
        let results = match source.peek() {
            Some(Message::Results(results)) if results.len() == calls.len() && results.iter().all(known) => {
                fitted.push(message);
                continue;
            }
            Some(Message::Results(results)) => results.clone(),
            _ => Vec::new(),
        };
        let said = if text.is_empty() { "(I called tools.)".to_owned() } else { text.clone() };
        let told: Vec<String> =
            results.iter().map(|one| format!("`{}` answered: {}", one.alias, one.content)).collect();
        fitted.push(Message::Assistant {
            text: said,
            raw: None,
            calls: Vec::new(),
            call_ids: Vec::new(),
            provider_metadata: None,
        });
        if !told.is_empty() {
            source.next();
            fitted.push(Message::User(told.join("\n")));
        }
    }
    fitted
}

/// The events of a stored run, as surfaces saw them when it ran, but for stream deltas.
pub async fn replay_events(store: &dyn Store, run: &RunId) -> Result<Vec<RunEvent>, EngineError> {
    let mut events = Vec::new();
    for record in store.records(run).await? {
        let mut joined = Map::new();
        let payload = match record.payload.as_deref() {
            Some(bytes) => Some(Payload::read(&record.kind, bytes)?),
            None => None,
        };
        match payload {
            Some(Payload::ToolCallRequested(body)) => {
                let file = store.file(run, &body.arguments_file.path).await?.and_then(|file| file.bytes);
                let arguments = file.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
                joined.insert("arguments".to_owned(), arguments.unwrap_or(Value::Null));
            }
            Some(Payload::ToolCallCompleted(body)) => {
                join_result(store, run, &body.result_file.path, &mut joined).await?;
            }
            Some(Payload::ToolCallFailed(body)) => {
                join_result(store, run, &body.result_file.path, &mut joined).await?;
            }
            Some(_) | None => {}
        }
        events.push(RunEvent::of_record(&record, joined));
    }
    Ok(events)
}

async fn join_result(
    store: &dyn Store,
    run: &RunId,
    path: &str,
    joined: &mut Map<String, Value>,
) -> Result<(), EngineError> {
    if let Some(result) = stored_result(store, run, path).await? {
        joined.insert("view".to_owned(), result_view(&result, &Value::Null));
    }
    Ok(())
}
