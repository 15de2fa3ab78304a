//! What the journal tells of a run, in the form in which it is run again.

use std::collections::HashMap;
use std::sync::Arc;

use haft_core::consent::Closing;
use haft_core::journal::{
    ModelRequestCreated, ModelTurnCompleted, Payload, RunStarted, RunStatus, SealedRecord,
};
use haft_core::lorebook::WorldInfoActivation;
use haft_core::ports::{ModelTurn, Store};
use haft_core::profile::RunKind;
use haft_core::workspace::WorkspaceVersion;
use haft_core::{CallId, ErrorCode, InvocationId, RunId, SessionId, ToolChoice, ToolResult};
use serde::de::DeserializeOwned;

use super::ReplayError;
use super::names::{Names, ROOT};
use super::steps::{Known, Step, step_of};
use crate::error::EngineError;
use crate::outside::source_in;
use crate::recover::INTERRUPTED;
use crate::work::NEWS;

/// From which record to which one a step lasted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) begin: u64,
    pub(super) end: u64,
}

/// How a call ended.
#[derive(Debug, Clone)]
pub(super) struct RecordedEnd {
    pub(super) result: ToolResult,
    pub(super) workspace: Vec<WorkspaceVersion>,
}

/// A call.
#[derive(Debug, Clone, Default)]
pub(super) struct RecordedCall {
    pub(super) end: Option<RecordedEnd>,
    /// From its start to its end; none if it never started.
    pub(super) span: Option<Span>,
    /// How the question about it ended.
    pub(super) closing: Option<Closing>,
    /// Its agent was stopped with it.
    pub(super) stops: bool,
}

impl RecordedCall {
    pub(super) fn was_refused(&self) -> bool {
        let code = self.end.as_ref().and_then(|end| end.result.error_code.as_ref());
        code.is_some_and(ErrorCode::is_refusal)
    }
}

/// An answer of a model, or why there is none.
#[derive(Debug, Clone)]
pub(super) struct RecordedTurn {
    pub(super) answer: Result<ModelTurn, (String, String)>,
    pub(super) span: Span,
    /// Its agent was stopped with it.
    pub(super) stops: bool,
}

/// An agent of the run.
#[derive(Debug, Clone, Default)]
pub(super) struct RecordedAgent {
    pub(super) model: String,
    pub(super) dialect: String,
    pub(super) turns: Vec<RecordedTurn>,
    /// By turn and number.
    pub(super) calls: HashMap<String, RecordedCall>,
    /// Results of tasks that it was told of, by the turn with whose request.
    pub(super) news: HashMap<u32, Vec<String>>,
    pub(super) status: Option<RunStatus>,
    /// The newest request.
    asked: u64,
}

impl RecordedAgent {
    /// Its steps that have a length.
    pub(super) fn spans(&self) -> Vec<Span> {
        let calls = self.calls.values().filter_map(|call| call.span);
        self.turns.iter().map(|turn| turn.span).chain(calls).collect()
    }

    fn answer(&mut self, seq: u64, answer: Result<ModelTurn, (String, String)>) {
        self.turns.push(RecordedTurn { answer, span: Span { begin: self.asked, end: seq }, stops: false });
    }

    /// Finds out with what it was stopped.
    fn find_stop(&mut self) {
        let Some(last) = self.turns.last_mut().filter(|last| last.answer.is_ok()) else { return };
        let of_last = |call: &&mut RecordedCall| {
            let began = call.span.map(|span| span.begin);
            began.is_some_and(|began| began > last.span.end) || call.closing == Some(Closing::Cancelled)
        };
        let calls = self.calls.values_mut().filter(of_last);
        match calls.max_by_key(|call| call.span.map(|span| span.begin)) {
            Some(call) => call.stops = true,
            None => last.stops = true,
        }
    }
}

/// A recorded run.
#[derive(Debug)]
pub struct Recorded {
    run: RunId,
    started: RunStarted,
    prompt: String,
    agents: HashMap<String, RecordedAgent>,
    world_info: Option<Arc<WorldInfoActivation>>,
    /// What earlier runs of the session had brought in from outside.
    outside: Option<String>,
    no_tools: bool,
    committed: bool,
    status: RunStatus,
    steps: Vec<Step>,
}

/// What is read so far.
#[derive(Default)]
struct Reading {
    names: Names,
    agents: HashMap<String, RecordedAgent>,
    started: Option<RunStarted>,
    world_info: Option<Arc<WorldInfoActivation>>,
    no_tools: bool,
    committed: bool,
    status: Option<RunStatus>,
    is_cut_off: bool,
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
        let payload_of = |record: SealedRecord| {
            let gone = || ReplayError::Redacted { run: run.clone(), seq: record.seq };
            let bytes = record.payload.as_deref().ok_or_else(gone)?;
            Ok((record.seq, Payload::read(&record.kind, bytes).map_err(EngineError::from)?))
        };
        let payloads: Vec<(u64, Payload)> =
            records.into_iter().map(payload_of).collect::<Result<_, ReplayError>>()?;
        let names = Names::of(payloads.iter().map(|(_, payload)| payload));
        let mut reading = Reading { names, ..Reading::default() };
        let mut known = Known::default();
        let mut steps = Vec::new();
        for (seq, payload) in &payloads {
            let content = reading.take_in(store, (run, *seq), payload).await?;
            steps.extend(step_of(*seq, payload, &reading.names, &mut known, content.as_deref()));
        }
        if reading.is_cut_off {
            return Err(ReplayError::CutOff(run.clone()));
        }
        reading.agents.values_mut().filter(|agent| agent.was_stopped()).for_each(RecordedAgent::find_stop);
        let no_turns = || ReplayError::NoTurns(run.clone());
        let started = reading.started.ok_or_else(no_turns)?;
        let prompt = started.prompt.clone().ok_or_else(no_turns)?;
        Ok(Self {
            run: run.clone(),
            prompt,
            outside: outside_before(store, &started.session, run).await?,
            started,
            agents: reading.agents,
            world_info: reading.world_info,
            no_tools: reading.no_tools,
            committed: reading.committed,
            status: reading.status.unwrap_or(RunStatus::Failed),
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

    pub(super) fn agents(&self) -> HashMap<String, RecordedAgent> {
        self.agents.clone()
    }

    pub(super) fn world_info(&self) -> Option<Arc<WorldInfoActivation>> {
        self.world_info.clone()
    }

    pub(super) fn outside(&self) -> Option<&str> {
        self.outside.as_deref()
    }

    /// True if nobody waited for the run: it could end well without a commit.
    pub(super) fn is_background(&self) -> bool {
        self.started.run_kind == RunKind::Agent && self.status == RunStatus::Completed && !self.committed
    }

    /// True unless a question found nobody to ask.
    pub(super) fn is_attended(&self) -> bool {
        let mut calls = self.agents.values().flat_map(|agent| agent.calls.values());
        !calls.any(|call| call.closing == Some(Closing::NoSurface))
    }

    pub(super) fn steps(&self) -> &[Step] {
        &self.steps
    }
}

impl Reading {
    fn agent(&mut self, invocation: &InvocationId) -> &mut RecordedAgent {
        self.agents.entry(self.names.agent(invocation).to_owned()).or_default()
    }

    fn call(&mut self, call: &CallId) -> &mut RecordedCall {
        let (agent, number) = self.names.call(call);
        self.agents.entry(agent).or_default().calls.entry(number).or_default()
    }

    /// Takes a record in; gives what an ended call gave, as text.
    async fn take_in(
        &mut self,
        store: &dyn Store,
        (run, seq): (&RunId, u64),
        payload: &Payload,
    ) -> Result<Option<String>, ReplayError> {
        match payload {
            Payload::RunStarted(body) => self.started = Some(body.clone()),
            Payload::WorldInfoActivated(body) => {
                let active = stored_json(store, run, seq, &body.file.path).await?;
                self.world_info = Some(Arc::new(active));
            }
            Payload::ModelRequestCreated(body) => self.request(seq, body),
            Payload::ModelTurnCompleted(body) => self.agent(&body.invocation).answer(seq, Ok(turn_of(body))),
            Payload::ModelRequestFailed(body) => {
                let error = (body.error_code.clone(), body.message.clone());
                self.agent(&body.invocation).answer(seq, Err(error));
            }
            Payload::ConsentClosed(body) => {
                self.call(&body.call_id).closing = Some(body.closing.clone());
            }
            Payload::ToolCallStarted(body) => {
                self.call(&body.call_id).span = Some(Span { begin: seq, end: seq });
            }
            Payload::ToolCallCompleted(body) => {
                let mut workspace = Vec::new();
                for file in &body.workspace {
                    workspace.extend(version(store, run, &file.path).await?);
                }
                return self.end(store, (run, seq), (&body.call_id, &body.result_file.path), workspace).await;
            }
            Payload::ToolCallFailed(body) => {
                return self
                    .end(store, (run, seq), (&body.call_id, &body.result_file.path), Vec::new())
                    .await;
            }
            Payload::ChatCommitted(_) => self.committed = true,
            Payload::InvocationEnded(body) => self.agent(&body.invocation).status = Some(body.status),
            Payload::RunEnded(body) => {
                self.status = Some(body.status);
                self.agents.entry(ROOT.to_owned()).or_default().status = Some(body.status);
                self.is_cut_off = body.error_code.as_deref() == Some(INTERRUPTED);
            }
            Payload::ContextAssembled(_)
            | Payload::AgentTaskCreated(_)
            | Payload::ContextCompacted(_)
            | Payload::ToolCallRequested(_)
            | Payload::ConsentOpened(_)
            | Payload::GrantGiven(_)
            | Payload::GrantRevoked(_)
            | Payload::DirectOutputCaptured(_)
            | Payload::DriftRecoveryAttempted(_)
            | Payload::PersistPromoted(_)
            | Payload::RunFailed(_)
            | Payload::RunPartialSuccess(_)
            | Payload::ChatImported(_)
            | Payload::PayloadRedacted(_)
            | Payload::SessionDeleted(_) => {}
        }
        Ok(None)
    }

    fn request(&mut self, seq: u64, body: &ModelRequestCreated) {
        let is_first = self.agents.get(ROOT).is_none_or(|root| root.model.is_empty());
        if is_first {
            self.no_tools = body.contract.choice == ToolChoice::None && body.note.is_none();
        }
        let agent = self.agent(&body.invocation);
        agent.asked = seq;
        agent.model.clone_from(&body.model);
        agent.dialect.clone_from(&body.dialect);
        let news: Vec<String> = body.told.iter().filter(|told| told.starts_with(NEWS)).cloned().collect();
        agent.news.insert(body.turn, news);
    }

    async fn end(
        &mut self,
        store: &dyn Store,
        (run, seq): (&RunId, u64),
        (call, path): (&CallId, &str),
        workspace: Vec<WorkspaceVersion>,
    ) -> Result<Option<String>, ReplayError> {
        let result: ToolResult = stored_json(store, run, seq, path).await?;
        let content = result.text();
        let call = self.call(call);
        call.end = Some(RecordedEnd { result, workspace });
        if let Some(span) = &mut call.span {
            span.end = seq;
        }
        Ok(Some(content))
    }
}

fn turn_of(body: &ModelTurnCompleted) -> ModelTurn {
    ModelTurn {
        text: body.text.clone(),
        reasoning: body.reasoning.clone(),
        calls: body.calls.iter().map(|call| call.requested.clone()).collect(),
        raw: body.raw.clone(),
        finish_reason: body.finish_reason,
        usage: body.usage,
        provider_metadata: body.provider_metadata.clone(),
    }
}

/// What runs of the session before this one brought in from outside.
async fn outside_before(
    store: &dyn Store,
    session: &SessionId,
    run: &RunId,
) -> Result<Option<String>, EngineError> {
    let runs = store.runs(Some(session)).await?;
    for earlier in runs.iter().take_while(|earlier| earlier.id != *run) {
        for record in store.records(&earlier.id).await? {
            if let Some(source) = source_in(&record.kind, record.payload.as_deref())? {
                return Ok(Some(source));
            }
        }
    }
    Ok(None)
}

async fn stored_json<T: DeserializeOwned>(
    store: &dyn Store,
    run: &RunId,
    seq: u64,
    path: &str,
) -> Result<T, ReplayError> {
    let gone = || ReplayError::Redacted { run: run.clone(), seq };
    let file = store.file(run, path).await.map_err(EngineError::from)?;
    let bytes = file.and_then(|file| file.bytes).ok_or_else(gone)?;
    Ok(serde_json::from_slice(&bytes).map_err(|error| {
        let message = format!("`{path}` of the run {run} is not what it should be: {error}");
        EngineError::System { code: "agent.journal_damaged".to_owned(), message }
    })?)
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
