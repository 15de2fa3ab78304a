//! Closing what a crash left open: every started call gets an end record, every run its end, and nothing runs again by itself.

use std::collections::{BTreeMap, HashMap};

use haft_core::consent::Closing;
use haft_core::journal::{
    AgentTaskCreated, Batch, ConsentClosed, InvocationEnded, Payload, PayloadError, RequestedCallRecord,
    RunEnded, RunFailed, RunPartialSuccess, RunStatus, SealedRecord, ToolCallFailed,
};
use haft_core::message::Message;
use haft_core::ports::{Clock, Lease, RunRow, Store};
use haft_core::{CallId, ConsentId, ContentPart, ErrorCode, InvocationId, RunId, ToolId, ToolResult};
use serde_json::Map;

use crate::committed;
use crate::error::EngineError;

/// A run that a crash had left open, as it was closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovered {
    /// The run.
    pub run: RunId,
    /// Calls that had started and whose outcome nobody knows, by the name that the model used.
    pub unknown: Vec<String>,
    /// Calls about which a person was asked and had not answered, by the name that the model used.
    pub unanswered: Vec<String>,
    /// How it ended: `failed`, or `partial_success` where it had put something into the conversation, which stays.
    pub status: RunStatus,
}

/// The code of what a crash cut off.
pub(crate) const INTERRUPTED: &str = "agent.interrupted";

/// What is said of a run that a crash cut off.
const CUT_OFF: &str =
    "Haft ended in the middle of this run; it was closed when the session was opened again.";

/// What a crash left open in a run.
#[derive(Default)]
struct Open {
    /// In call order.
    calls: Vec<(CallId, OpenCall)>,
    /// Agents at work, as their tasks name them.
    tasks: Vec<AgentTaskCreated>,
    /// Whose calls they are.
    callers: HashMap<CallId, InvocationId>,
}

impl Open {
    /// The calls that had started of the agents below `invocation`, itself included, by the names that the models used.
    fn unknown_of(&self, invocation: &InvocationId) -> Vec<&str> {
        let mut below = vec![invocation];
        // Whoever gives a task stands before it.
        for task in &self.tasks {
            if below.contains(&&task.parent) {
                below.push(&task.invocation);
            }
        }
        let is_below = |id: &CallId| self.callers.get(id).is_some_and(|caller| below.contains(&caller));
        let started = self.calls.iter().filter(|(id, call)| call.started && is_below(id));
        started.map(|(_, call)| call.alias.as_str()).collect()
    }

    /// What is said of the agents that worked for `call`; nothing if there are none, or nothing of theirs had started.
    fn inside(&self, call: &CallId) -> String {
        let given = self.tasks.iter().filter(|task| task.call_id == *call);
        let unknown: Vec<String> = given
            .flat_map(|task| self.unknown_of(&task.invocation))
            .map(|name| format!("`{name}`"))
            .collect();
        if unknown.is_empty() {
            return String::new();
        }
        format!(
            " The agents at work for it had started {}, and nobody knows how that went either.",
            unknown.join(", ")
        )
    }
}

struct OpenCall {
    tool: Option<ToolId>,
    alias: String,
    started: bool,
    /// The question that stands.
    question: Option<ConsentId>,
}

/// Closes all runs of the session that have no end.
pub(crate) async fn close_open_runs(
    store: &dyn Store,
    lease: &Lease,
    clock: &dyn Clock,
) -> Result<Vec<Recovered>, EngineError> {
    let runs = store.runs(Some(&lease.session)).await?;
    let mut recovered = Vec::new();
    for run in runs.iter().filter(|run| !run.ended) {
        recovered.push(close(store, lease, run, clock).await?);
    }
    Ok(recovered)
}

async fn close(
    store: &dyn Store,
    lease: &Lease,
    run: &RunRow,
    clock: &dyn Clock,
) -> Result<Recovered, EngineError> {
    let records = store.records(&run.id).await?;
    let open = open_calls(&records)?;
    let mut batch = Batch::new(run.id.clone());
    let now = clock.now();
    let mut unknown = Vec::new();
    let mut unanswered = Vec::new();
    for (call_id, call) in &open.calls {
        let alias = &call.alias;
        let (code, text) = if call.started {
            unknown.push(alias.clone());
            let text = format!(
                "`{alias}` had started when Haft ended, and nobody knows how it went.{} Look at what it should have done before you call it again.",
                open.inside(call_id)
            );
            (ErrorCode::OUTCOME_UNKNOWN, text)
        } else if let Some(consent) = call.question.clone() {
            unanswered.push(alias.clone());
            let closed = ConsentClosed { consent, call_id: call_id.clone(), closing: Closing::Expired };
            batch.record(now, &Payload::ConsentClosed(closed))?;
            let text = format!(
                "`{alias}` was refused: Haft ended before the person answered, and the question ended with it. Call it again if it is still wanted; the person is asked again."
            );
            (ErrorCode::TOOL_DENIED, text)
        } else {
            (ErrorCode::CALL_CANCELLED, format!("`{alias}` was not run: Haft ended before it started."))
        };
        let result = ToolResult {
            call_id: call_id.clone(),
            tool_id: call.tool.clone(),
            alias: call.alias.clone(),
            content: vec![ContentPart::Text { text }],
            structured: None,
            is_error: true,
            error_code: Some(code.clone()),
            resource_refs: Vec::new(),
            ui: None,
            metadata: Map::new(),
            duration_ms: 0,
            skipped: false,
        };
        let bytes = serde_json::to_vec(&result).map_err(|error| EngineError::System {
            code: "agent.result_unwritable".to_owned(),
            message: error.to_string(),
        })?;
        let file = batch.file(format!("tool-results/{}.json", call_id.file_stem()), bytes);
        let failed = ToolCallFailed {
            call_id: call_id.clone(),
            tool_id: call.tool.clone(),
            alias: call.alias.clone(),
            error_code: code,
            result_file: file,
            duration_ms: 0,
            files: Vec::new(),
            outside: None,
            reused_from: None,
            skipped: false,
        };
        batch.record(now, &Payload::ToolCallFailed(failed))?;
    }
    for task in &open.tasks {
        let unknown: Vec<String> =
            open.unknown_of(&task.invocation).into_iter().map(|name| format!("`{name}`")).collect();
        let rest = if unknown.is_empty() {
            String::new()
        } else {
            format!(" It had started {}, and nobody knows how that went.", unknown.join(", "))
        };
        let ended = InvocationEnded {
            invocation: task.invocation.clone(),
            task: task.task.clone(),
            status: RunStatus::Failed,
            error_code: Some(INTERRUPTED.to_owned()),
            message: Some(format!("Haft ended in the middle of its work.{rest}")),
            text: None,
            files: Vec::new(),
        };
        batch.record(now, &Payload::InvocationEnded(ended))?;
    }
    let (status, text) = class(store, &run.id, &records, |payload| batch.record(now, payload)).await?;
    let (error_code, message) = (Some(INTERRUPTED.to_owned()), Some(CUT_OFF.to_owned()));
    batch.record(now, &Payload::RunEnded(RunEnded { status, error_code, message, text }))?;
    store.append(lease, batch).await?;
    Ok(Recovered { run: run.id.clone(), unknown, unanswered, status })
}

/// How the run ends, and the text that it has in the conversation. What a run of kind `agent` put there stays: it is classed, and
/// that is noted, as where a run fails by itself (EXE-16).
async fn class(
    store: &dyn Store,
    run: &RunId,
    records: &[SealedRecord],
    mut note: impl FnMut(&Payload) -> Result<(), PayloadError>,
) -> Result<(RunStatus, Option<String>), EngineError> {
    if !committed::is_agent_run(records)? {
        return Ok((RunStatus::Failed, None));
    }
    let (error_code, told) = (INTERRUPTED.to_owned(), CUT_OFF.to_owned());
    if !records.iter().any(|record| record.kind == "chat_committed") {
        let failed = RunFailed { error_code, message: told, user_retryable: true };
        note(&Payload::RunFailed(failed))?;
        return Ok((RunStatus::Failed, None));
    }
    note(&Payload::RunPartialSuccess(RunPartialSuccess { error_code, warning: told }))?;
    let text =
        committed::messages(store, run, records).await?.into_iter().rev().find_map(|message| match message {
            Message::Assistant { text, .. } => Some(text),
            Message::User(_) | Message::Results(_) => None,
        });
    Ok((RunStatus::PartialSuccess, text))
}

/// What has begun and has no end.
fn open_calls(records: &[SealedRecord]) -> Result<Open, EngineError> {
    let mut order: Vec<CallId> = Vec::new();
    let mut all = Open::default();
    let mut open: BTreeMap<CallId, OpenCall> = BTreeMap::new();
    for record in records {
        let Some(bytes) = record.payload.as_deref() else { continue };
        match Payload::read(&record.kind, bytes)? {
            Payload::ToolCallRequested(body) => {
                order.push(body.call_id.clone());
                let (tool, alias) = (body.tool_id, body.alias);
                open.insert(body.call_id, OpenCall { tool, alias, started: false, question: None });
            }
            Payload::ConsentOpened(question) => {
                if let Some(call) = open.get_mut(&question.call_id) {
                    call.question = Some(question.id);
                }
            }
            Payload::ConsentClosed(body) => {
                if let Some(call) = open.get_mut(&body.call_id) {
                    call.question = None;
                }
            }
            Payload::ToolCallStarted(body) => {
                if let Some(call) = open.get_mut(&body.call_id) {
                    call.started = true;
                }
            }
            Payload::AgentTaskCreated(body) => all.tasks.push(body),
            Payload::InvocationEnded(body) => all.tasks.retain(|task| task.invocation != body.invocation),
            Payload::ModelTurnCompleted(body) => {
                let of_agent = |call: RequestedCallRecord| (call.call_id, body.invocation.clone());
                all.callers.extend(body.calls.into_iter().map(of_agent));
            }
            Payload::ToolCallCompleted(body) => {
                open.remove(&body.call_id);
            }
            Payload::ToolCallFailed(body) => {
                open.remove(&body.call_id);
            }
            Payload::RunStarted(_)
            | Payload::ChatImported(_)
            | Payload::WorldInfoActivated(_)
            | Payload::ContextAssembled(_)
            | Payload::ContextCompacted(_)
            | Payload::ModelRequestCreated(_)
            | Payload::ModelRequestFailed(_)
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
    all.calls = order.into_iter().filter_map(|id| open.remove(&id).map(|call| (id, call))).collect();
    Ok(all)
}
