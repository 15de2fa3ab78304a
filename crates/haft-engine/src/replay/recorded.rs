//! What the journal tells of a run, in the form in which it is run again.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use haft_core::journal::{Payload, RunStarted};
use haft_core::ports::{ModelTurn, Store};
use haft_core::profile::RunKind;
use haft_core::workspace::WorkspaceVersion;
use haft_core::{CallId, ErrorCode, RunId, ToolChoice, ToolRegistry, ToolResult};

use super::ReplayError;
use super::model::RecordedModel;
use super::steps::{Step, step_of};
use super::tools;
use crate::error::EngineError;

/// How a call ended.
#[derive(Debug, Clone)]
pub(super) struct RecordedEnd {
    pub(super) result: ToolResult,
    pub(super) workspace: Vec<WorkspaceVersion>,
}

/// A recorded run.
#[derive(Debug)]
pub struct Recorded {
    run: RunId,
    started: RunStarted,
    prompt: String,
    turns: Vec<Result<ModelTurn, (String, String)>>,
    /// By [`key_of`] the call.
    ends: Arc<HashMap<String, RecordedEnd>>,
    no_tools: bool,
    committed: bool,
    finished: bool,
    dialect: String,
    steps: Vec<Step>,
}

/// What names a call in every replay: its turn and its number there.
pub(super) fn key_of(call: &CallId) -> String {
    let text = call.as_str();
    let mut parts = text.rsplitn(3, '_');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(number), Some(turn), Some(_)) => format!("{turn}_{number}"),
        _ => text.to_owned(),
    }
}

impl Recorded {
    /// Reads a run and all that its calls gave.
    ///
    /// # Errors
    /// [`ReplayError`] if it cannot be run again, or cannot be read.
    pub async fn read(store: &dyn Store, run: &RunId) -> Result<Self, ReplayError> {
        let records = store.records(run).await.map_err(EngineError::from)?;
        if !records.iter().any(|record| record.kind == "run_ended") {
            return Err(ReplayError::NotEnded(run.clone()));
        }
        let (mut started, mut turns, mut ends) = (None, Vec::new(), HashMap::new());
        let (mut no_tools, mut committed, mut finished) = (false, false, false);
        let (mut dialect, mut steps, mut first_request) = (String::new(), Vec::new(), None);
        for record in &records {
            let Some(bytes) = record.payload.as_deref() else {
                return Err(ReplayError::Redacted { run: run.clone(), seq: record.seq });
            };
            let payload = Payload::read(&record.kind, bytes).map_err(EngineError::from)?;
            let mut content = None;
            match &payload {
                Payload::RunStarted(body) => started = Some(body.clone()),
                Payload::ModelRequestCreated(body) => {
                    first_request.get_or_insert(body.messages);
                    if dialect.is_empty() {
                        dialect.clone_from(&body.dialect);
                        no_tools = body.contract.choice == ToolChoice::None && body.note.is_none();
                    }
                }
                Payload::ModelTurnCompleted(body) => turns.push(Ok(ModelTurn {
                    text: body.text.clone(),
                    reasoning: body.reasoning.clone(),
                    calls: body.calls.iter().map(|call| call.requested.clone()).collect(),
                    raw: body.raw.clone(),
                    finish_reason: body.finish_reason,
                    usage: body.usage,
                    provider_metadata: body.provider_metadata.clone(),
                })),
                Payload::ModelRequestFailed(body) => {
                    turns.push(Err((body.error_code.clone(), body.message.clone())));
                }
                Payload::ToolCallCompleted(body) => {
                    let mut versions = Vec::new();
                    for file in &body.workspace {
                        versions.extend(version(store, run, &file.path).await?);
                    }
                    let end = end_of(store, run, record.seq, &body.result_file.path, versions).await?;
                    content = Some(end.result.text());
                    ends.insert(key_of(&body.call_id), end);
                }
                Payload::ToolCallFailed(body) => {
                    let end = end_of(store, run, record.seq, &body.result_file.path, Vec::new()).await?;
                    content = Some(end.result.text());
                    ends.insert(key_of(&body.call_id), end);
                }
                Payload::ChatCommitted(_) => committed = true,
                Payload::AgentTaskCreated(_) | Payload::InvocationEnded(_) => {
                    return Err(ReplayError::SeveralAgents(run.clone()));
                }
                Payload::RunEnded(body) => {
                    finished = body.status == haft_core::journal::RunStatus::Completed;
                }
                Payload::ContextAssembled(_)
                | Payload::ToolCallRequested(_)
                | Payload::ConsentOpened(_)
                | Payload::ConsentClosed(_)
                | Payload::GrantGiven(_)
                | Payload::GrantRevoked(_)
                | Payload::ToolCallStarted(_)
                | Payload::DirectOutputCaptured(_)
                | Payload::DriftRecoveryAttempted(_)
                | Payload::PersistPromoted(_)
                | Payload::RunFailed(_)
                | Payload::RunPartialSuccess(_)
                | Payload::ChatImported(_)
                | Payload::WorldInfoActivated(_)
                | Payload::PayloadRedacted(_)
                | Payload::SessionDeleted(_) => {}
            }
            steps.extend(step_of(record.seq, &payload, first_request.unwrap_or(0), content.as_deref()));
        }
        let no_turns = || ReplayError::NoTurns(run.clone());
        let started = started.ok_or_else(no_turns)?;
        let prompt = started.prompt.clone().ok_or_else(no_turns)?;
        Ok(Self {
            run: run.clone(),
            started,
            prompt,
            turns,
            ends: Arc::new(ends),
            no_tools,
            committed,
            finished,
            dialect,
            steps,
        })
    }

    /// The run.
    pub fn run(&self) -> &RunId {
        &self.run
    }

    pub(super) fn prompt(&self) -> String {
        self.prompt.clone()
    }

    pub(super) fn surface(&self) -> &str {
        &self.started.surface
    }

    pub(super) fn model_name(&self) -> Option<String> {
        self.started.model.clone()
    }

    pub(super) fn no_tools(&self) -> bool {
        self.no_tools
    }

    /// True if nobody waited for the run: it could end well without a commit.
    pub(super) fn is_background(&self) -> bool {
        self.started.run_kind == RunKind::Agent && self.finished && !self.committed
    }

    pub(super) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The calls that were refused, by [`key_of`] them.
    pub(super) fn refused(&self) -> HashSet<String> {
        let is_refusal =
            |end: &RecordedEnd| end.result.error_code.as_ref().is_some_and(ErrorCode::is_refusal);
        self.ends.iter().filter(|(_, end)| is_refusal(end)).map(|(key, _)| key.clone()).collect()
    }

    pub(super) fn model(&self) -> RecordedModel {
        let name = self.started.model.clone().unwrap_or_default();
        RecordedModel::new(name, self.dialect.clone(), self.turns.clone())
    }

    pub(super) fn tools(&self, registry: &ToolRegistry) -> Result<ToolRegistry, ReplayError> {
        tools::recorded(registry, &self.ends)
    }
}

async fn end_of(
    store: &dyn Store,
    run: &RunId,
    seq: u64,
    path: &str,
    workspace: Vec<WorkspaceVersion>,
) -> Result<RecordedEnd, ReplayError> {
    let gone = || ReplayError::Redacted { run: run.clone(), seq };
    let file = store.file(run, path).await.map_err(EngineError::from)?;
    let bytes = file.and_then(|file| file.bytes).ok_or_else(gone)?;
    let result = serde_json::from_slice(&bytes).map_err(|error| {
        let message = format!("`{path}` of the run {run} is no result: {error}");
        EngineError::System { code: "agent.journal_damaged".to_owned(), message }
    })?;
    Ok(RecordedEnd { result, workspace })
}

/// A version of a file of the workspace; none if the name means none, or it is gone.
async fn version(
    store: &dyn Store,
    run: &RunId,
    stored: &str,
) -> Result<Option<WorkspaceVersion>, ReplayError> {
    let Some((path, version)) = WorkspaceVersion::of_stored_path(stored) else { return Ok(None) };
    let file = store.file(run, stored).await.map_err(EngineError::from)?;
    let bytes = file.and_then(|file| file.bytes);
    Ok(bytes.map(|bytes| WorkspaceVersion { path, version, bytes: Arc::from(bytes) }))
}
