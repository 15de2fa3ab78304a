//! The conversation of a session, read back from its journal: what a model is told of earlier runs, what people see, and
//! the events of a stored run.

use std::collections::{HashMap, HashSet};

use haft_core::event::RunEvent;
use haft_core::exit::Role;
use haft_core::journal::{CompactedCall, Payload, SealedRecord};
use haft_core::message::{Message, ResultMessage};
use haft_core::ports::Store;
use haft_core::render::Renderer;
use haft_core::{CallId, CompiledTools, RequestedCall, RunId, SessionId, ToolResult};
use serde_json::{Map, Value};

use crate::committed;
use crate::compact;
use crate::error::EngineError;
use crate::foreground::Foreground;
use crate::imported;
use crate::render::result_message;
use crate::settle::result_view;
use crate::taken::{Taken, taken_result};

/// The messages of all runs of a session that had a prompt, oldest first.
pub async fn conversation(store: &dyn Store, session: &SessionId) -> Result<Vec<Message>, EngineError> {
    let mut all = Vec::new();
    for run in store.runs(Some(session)).await? {
        let records = store.records(&run.id).await?;
        all.extend(messages_of(store, &run.id, &records, Renderer::Plain).await?);
    }
    Ok(all)
}

/// What a model reads of earlier runs: where older messages were summed up, the summary in their place.
#[derive(Debug, Default)]
pub(crate) struct Past {
    pub(crate) messages: Vec<Message>,
    /// The calls that the summary stands for.
    pub(crate) compacted: Vec<CompactedCall>,
}

impl Past {
    /// All runs of a session.
    pub(crate) async fn read(
        store: &dyn Store,
        session: &SessionId,
        renderer: Renderer,
    ) -> Result<Self, EngineError> {
        let mut past = Self::default();
        for run in store.runs(Some(session)).await? {
            past.add(store, &run.id, renderer).await?;
        }
        Ok(past)
    }

    /// Adds a run. A summary that was made in it stands for all that came before the run; what it says of the run itself stays too.
    pub(crate) async fn add(
        &mut self,
        store: &dyn Store,
        run: &RunId,
        renderer: Renderer,
    ) -> Result<(), EngineError> {
        let records = store.records(run).await?;
        if let Some((text, calls)) = summed_up(&records)? {
            self.compacted.extend(calls);
            self.messages = vec![Message::User(compact::summary(&text, &self.compacted))];
        }
        self.messages.extend(messages_of(store, run, &records, renderer).await?);
        Ok(())
    }
}

/// The newest summary that was made in a run for whoever spoke to the person, and the calls that its summaries stand for.
fn summed_up(records: &[SealedRecord]) -> Result<Option<(String, Vec<CompactedCall>)>, EngineError> {
    let mut children = HashSet::new();
    let (mut newest, mut calls) = (None, Vec::new());
    for record in records {
        if record.kind != "context_assembled" && record.kind != "context_compacted" {
            continue;
        }
        let Some(bytes) = record.payload.as_deref() else { continue };
        match Payload::read(&record.kind, bytes)? {
            Payload::ContextAssembled(body)
                if body.task.as_ref().is_some_and(|task| task.role == Role::Child) =>
            {
                children.insert(body.invocation);
            }
            Payload::ContextCompacted(body) if !children.contains(&body.invocation) => {
                calls.extend(body.calls);
                newest = Some(body.text);
            }
            _ => {}
        }
    }
    Ok(newest.map(|text| (text, calls)))
}

/// The messages of one run, whose records are at hand; none for single calls, which are no conversation.
pub(crate) async fn messages_of(
    store: &dyn Store,
    run: &RunId,
    records: &[SealedRecord],
    renderer: Renderer,
) -> Result<Vec<Message>, EngineError> {
    let mut messages = Vec::new();
    let mut open = OpenTurn { renderer, calls: Vec::new(), results: HashMap::new(), taken: None };
    if let Some(chat) = imported::chat(store, run, records).await? {
        return Ok(imported::as_model_reads(&chat));
    }
    if committed::is_agent_run(records)? {
        return committed::messages(store, run, records).await;
    }
    let taken = Taken::of(records);
    let mut foreground = Foreground::default();
    if !records.iter().any(|record| record.kind == "model_request_created") && is_gone(records.first()) {
        // Nobody knows whether there was a prompt; no model was asked.
        return Ok(Vec::new());
    }
    for record in records {
        let Some(bytes) = record.payload.as_deref() else {
            if let Some(message) = taken.message(record) {
                open.close(&mut messages);
                messages.push(message);
            } else if record.kind == "tool_call_completed" || record.kind == "tool_call_failed" {
                open.taken = Some(taken.text("This result", record));
            }
            continue;
        };
        match Payload::read(&record.kind, bytes)? {
            Payload::RunStarted(body) => {
                foreground.begin(&body.profile, body.prompt.as_deref());
                match body.prompt {
                    Some(prompt) => messages.push(Message::User(prompt)),
                    None => return Ok(Vec::new()),
                }
            }
            Payload::AgentTaskCreated(body) => foreground.task(body),
            Payload::ContextAssembled(body) => {
                if let Some(opening) = foreground.context(&body) {
                    open.close(&mut messages);
                    messages.push(Message::User(opening));
                }
            }
            Payload::ModelRequestCreated(body) if foreground.has(&body.invocation) => {
                if !body.told.is_empty() {
                    open.close(&mut messages);
                    messages.extend(body.told.into_iter().map(Message::User));
                }
            }
            Payload::InvocationEnded(body) => {
                if let Some(note) = foreground.cut_off(&body) {
                    open.close(&mut messages);
                    messages.push(Message::User(note));
                }
            }
            Payload::ModelTurnCompleted(body) if foreground.has(&body.invocation) => {
                open.close(&mut messages);
                open.calls =
                    body.calls.iter().map(|call| (call.call_id.clone(), call.requested.clone())).collect();
                messages.push(Message::Assistant {
                    text: body.text,
                    raw: body.raw,
                    call_ids: body.calls.iter().map(|call| call.call_id.clone()).collect(),
                    calls: body.calls.into_iter().map(|call| call.requested).collect(),
                    provider_metadata: body.provider_metadata,
                });
            }
            Payload::ToolCallCompleted(body) if open.has(&body.call_id) => {
                let spilled = body.spilled_to.as_deref();
                let path = &body.result_file.path;
                open.insert_result(store, run, path, spilled).await?;
            }
            Payload::ToolCallFailed(body) if open.has(&body.call_id) => {
                open.insert_result(store, run, &body.result_file.path, None).await?;
            }
            // Those of agents that do not speak to the person, and what no conversation tells.
            Payload::ModelRequestCreated(_)
            | Payload::ModelTurnCompleted(_)
            | Payload::ToolCallCompleted(_)
            | Payload::ToolCallFailed(_)
            | Payload::ModelRequestFailed(_)
            | Payload::ContextCompacted(_)
            | Payload::ChatImported(_)
            | Payload::WorldInfoActivated(_)
            | Payload::ToolCallRequested(_)
            | Payload::ToolCallStarted(_)
            | Payload::ConsentOpened(_)
            | Payload::ConsentClosed(_)
            | Payload::GrantGiven(_)
            | Payload::GrantRevoked(_)
            | Payload::ChatCommitted(_)
            | Payload::DirectOutputCaptured(_)
            | Payload::DriftRecoveryAttempted(_)
            | Payload::PersistPromoted(_)
            | Payload::RunFailed(_)
            | Payload::RunPartialSuccess(_)
            | Payload::RunEnded(_)
            | Payload::PayloadRedacted(_)
            | Payload::SessionDeleted(_) => {}
        }
    }
    open.close(&mut messages);
    Ok(messages)
}

fn is_gone(record: Option<&SealedRecord>) -> bool {
    record.is_some_and(|record| record.payload.is_none())
}

/// The calls of a turn until the next one, and their results as far as they are known.
struct OpenTurn {
    renderer: Renderer,
    calls: Vec<(CallId, RequestedCall)>,
    results: HashMap<CallId, ResultMessage>,
    /// What is said in the place of results that were taken away, if some were.
    taken: Option<String>,
}

impl OpenTurn {
    /// True if the call is one of the turn.
    fn has(&self, call: &CallId) -> bool {
        self.calls.iter().any(|(id, _)| id == call)
    }

    async fn insert_result(
        &mut self,
        store: &dyn Store,
        run: &RunId,
        path: &str,
        spilled_to: Option<&str>,
    ) -> Result<(), EngineError> {
        let Some(mut result) = stored_result(store, run, path).await? else { return Ok(()) };
        if let Some(artifact) = spilled_to {
            let note = format!("(A long result, kept as artifact `{artifact}`.)");
            result.content = vec![haft_core::ContentPart::Text { text: note }];
        }
        let requested = self.calls.iter().find(|(id, _)| *id == result.call_id);
        let wire_id = requested.and_then(|(_, requested)| requested.wire_id().cloned());
        self.results.insert(result.call_id.clone(), result_message(&result, wire_id, self.renderer));
        Ok(())
    }

    /// Adds the results in call order; a call without a result is left out, unless it was taken away.
    fn close(&mut self, messages: &mut Vec<Message>) {
        let taken = self.taken.take();
        let calls = std::mem::take(&mut self.calls);
        let ordered = calls.into_iter().filter_map(|(id, requested)| {
            let gone = || Some(taken_result(&id, &requested, taken.as_deref()?, self.renderer));
            self.results.remove(&id).or_else(gone)
        });
        let ordered: Vec<ResultMessage> = ordered.collect();
        self.results.clear();
        if !ordered.is_empty() {
            messages.push(Message::Results(ordered));
        }
    }
}

/// A result as its audit file holds it; none if it was redacted.
pub(crate) async fn stored_result(
    store: &dyn Store,
    run: &RunId,
    path: &str,
) -> Result<Option<ToolResult>, EngineError> {
    let Some(bytes) = store.file(run, path).await?.and_then(|file| file.bytes) else { return Ok(None) };
    Ok(serde_json::from_slice(&bytes).ok())
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
            Some(Payload::ChatCommitted(body)) => {
                let text = committed::text_of(store, run, &body.file.path, &body.file.sha256).await?;
                joined.insert("text".to_owned(), text.map_or(Value::Null, Value::String));
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
