//! Runs as the engine writes them, for tests of stores: every kind of record that names files, artifacts or blobs.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may")]

use std::future::Future;
use std::sync::Arc;

use haft_core::journal::{
    ArtifactRef, Batch, Committed, ContextAssembled, ModelRequestFailed, Payload, RunEnded, RunStarted,
    RunStatus, ToolCallCompleted, ToolCallFailed, ToolCallRequested,
};
use haft_core::path::{InjectedValues, Resolution, Standing};
use haft_core::ports::{Lease, NewSession, Store, StoreError, Tool, ToolContext};
use haft_core::profile::{ApprovalMode, RunKind};
use haft_core::result::FileChange;
use haft_core::turn::TurnAliases;
use haft_core::*;
use serde_json::json;

/// Runs a future on this thread.
pub fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

struct Note(ToolDeclaration);

impl Tool for Note {
    fn declaration(&self) -> &ToolDeclaration {
        &self.0
    }

    fn call<'a>(
        &'a self,
        _: &'a StartedCall,
        _: &'a dyn ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async { Ok(ToolOutput::from("noted")) })
    }
}

pub fn tool_id() -> ToolId {
    ToolId::builtin("test.note")
}

/// The right to start the first call of `invocation`.
pub fn authorized(invocation: &InvocationId) -> AuthorizedCall {
    let schema = json!({"type": "object", "properties": {}});
    let declaration = ToolDeclaration::new(tool_id(), "Notes.", schema, Effect::Write).unwrap();
    let mut registry = ToolRegistry::default();
    registry.register(Arc::new(Note(declaration))).unwrap();
    let mut profile = Profile::new("test");
    profile.tools.allow.push(tool_id());
    let tools = snapshot::compile(invocation.clone(), &profile, &registry).unwrap();
    let contract = ToolTurnContract::all(&tools);
    let requested = RequestedCall::call("test_note", serde_json::Map::new());
    let attempts = TurnAliases::new(&tools, &contract, invocation, 1).decode(vec![requested]);
    let admitted = Gate::new(tools.clone()).admit(&contract, attempts).remove(0);
    let haft_core::gate::Admission::Admitted(call) = admitted else { panic!("not admitted") };
    let decided = call.prepare(&InjectedValues::default()).unwrap().decide(&Default::default());
    let (run, session) = (RunId::new("r"), SessionId::new("s"));
    let standing = Standing {
        grants: &[],
        yes: false,
        approval: ApprovalMode::Ask,
        run: &run,
        session: &session,
        now: Timestamp(0),
    };
    match decided.resolve(standing) {
        Resolution::Authorized(call) => call,
        other => panic!("not authorized: {other:?}"),
    }
}

/// Makes a session and takes its lease.
pub async fn session(store: &dyn Store, id: &str, now: u64) -> Lease {
    let id = SessionId::new(id);
    let new =
        NewSession { id: id.clone(), created: Timestamp(now), profile: "default".into(), project: None };
    store.create_session(&new).await.unwrap();
    store.lease(&id, "haft test", Timestamp(now)).await.unwrap()
}

/// A run that is being written, batch by batch.
pub struct RunWriter<'a> {
    pub store: &'a dyn Store,
    pub lease: &'a Lease,
    pub run: RunId,
    pub invocation: InvocationId,
    pub time: u64,
}

impl<'a> RunWriter<'a> {
    pub fn new(store: &'a dyn Store, lease: &'a Lease, run: &str, time: u64) -> Self {
        let invocation = InvocationId::new(format!("i_{run}"));
        Self { store, lease, run: RunId::new(run), invocation, time }
    }

    pub fn call(&self) -> CallId {
        CallId::of(&self.invocation, 1, 1)
    }

    pub fn batch(&self) -> Batch {
        Batch::new(self.run.clone())
    }

    pub fn now(&self) -> Timestamp {
        Timestamp(self.time)
    }

    pub async fn append(&self, batch: Batch) -> Result<Committed, StoreError> {
        self.store.append(self.lease, batch).await
    }

    pub async fn previous(&self) -> Option<(RunId, Digest)> {
        let runs = self.store.runs(Some(&self.lease.session)).await.unwrap();
        runs.into_iter().next_back().map(|run| (run.id, run.head.hash))
    }

    /// `run_started`, and the snapshot.
    pub fn beginning(&self, previous_run: Option<(RunId, Digest)>) -> Batch {
        let mut batch = self.batch();
        let started = Payload::RunStarted(RunStarted {
            session: self.lease.session.clone(),
            run_kind: RunKind::Chat,
            surface: "test".into(),
            profile: "default".into(),
            model: None,
            project: None,
            prompt: Some(format!("the secret prompt of {}", self.run)),
            haft: "0.1.0".into(),
        });
        batch.record(self.now(), &started).unwrap();
        let path = format!("input/invocations/{}/tool_snapshot.json", self.invocation);
        let assembled = Payload::ContextAssembled(ContextAssembled {
            session: self.lease.session.clone(),
            previous_run,
            invocation: self.invocation.clone(),
            snapshot_file: batch.file(path, b"{\"tools\":[]}".to_vec()),
            tools: vec![("test_note".into(), tool_id())],
            contract: ToolTurnContract { tools: vec![tool_id()], choice: ToolChoice::Auto },
            task: None,
            workspace: None,
        });
        batch.record(self.now(), &assembled).unwrap();
        batch
    }

    /// `tool_call_requested` and `tool_call_started`.
    pub fn intent(&self) -> Batch {
        let mut batch = self.batch();
        let call_id = self.call();
        let arguments_file = batch
            .file(format!("tool-args/{}.json", call_id.file_stem()), b"{\"text\":\"secret words\"}".to_vec());
        let requested = Payload::ToolCallRequested(ToolCallRequested {
            call_id,
            tool_id: Some(tool_id()),
            alias: "test_note".into(),
            wire_id: None,
            arguments_file,
            arguments_digest: None,
            repairs: Vec::new(),
            decision: Some("allow".into()),
            rule: Some("tool default".into()),
            grant: None,
            granted_by: None,
        });
        batch.record(self.now(), &requested).unwrap();
        batch.start(self.now(), &authorized(&self.invocation)).unwrap();
        batch
    }

    /// `tool_call_completed`, with a result, an artifact and the before-image of a file.
    pub fn completion(&self, artifact: Option<ArtifactVersion>, before: Option<Digest>) -> Batch {
        self.completion_showing(artifact, before, None)
    }

    /// The same, with an image in the result.
    pub fn completion_showing(
        &self,
        artifact: Option<ArtifactVersion>,
        before: Option<Digest>,
        image: Option<Digest>,
    ) -> Batch {
        let mut batch = self.batch();
        let call_id = self.call();
        let result_file = batch.file(
            format!("tool-results/{}.json", call_id.file_stem()),
            b"{\"content\":\"secret result\"}".to_vec(),
        );
        let artifacts = artifact.iter().map(|made| ArtifactRef::of(made).unwrap()).collect();
        let completed = Payload::ToolCallCompleted(ToolCallCompleted {
            call_id,
            tool_id: tool_id(),
            alias: "test_note".into(),
            result_file,
            duration_ms: 3,
            artifacts,
            files: vec![FileChange { root: "host".into(), path: "a/ü.txt".into(), before, after: None }],
            blobs: image.into_iter().collect(),
            outside: None,
            reused_from: None,
            skipped: false,
            spilled_to: None,
            workspace: Vec::new(),
        });
        batch.record(self.now(), &completed).unwrap();
        if let Some(artifact) = artifact {
            batch.artifact(artifact);
        }
        batch
    }

    /// `tool_call_failed`, as recovery writes it.
    pub fn failure(&self) -> Batch {
        let mut batch = self.batch();
        let call_id = self.call();
        let result_file = batch.file(format!("tool-results/{}.json", call_id.file_stem()), b"{}".to_vec());
        let failed = Payload::ToolCallFailed(ToolCallFailed {
            call_id,
            tool_id: Some(tool_id()),
            alias: "test_note".into(),
            error_code: ErrorCode::OUTCOME_UNKNOWN,
            result_file,
            duration_ms: 0,
            files: Vec::new(),
            outside: None,
            reused_from: None,
            skipped: false,
        });
        batch.record(self.now(), &failed).unwrap();
        batch
    }

    pub fn end(&self) -> Batch {
        let mut batch = self.batch();
        let ended = RunEnded {
            status: RunStatus::Completed,
            error_code: None,
            message: None,
            text: Some("done \u{1f600}\n".into()),
        };
        batch.record(self.now(), &Payload::RunEnded(ended)).unwrap();
        batch
    }

    /// A small record for tests that only count.
    pub fn small(&self, number: u64) -> Batch {
        let mut batch = self.batch();
        let failed = ModelRequestFailed {
            invocation: self.invocation.clone(),
            turn: 1,
            error_code: "model.unreachable".into(),
            message: format!("try {number}"),
        };
        batch.record(self.now(), &Payload::ModelRequestFailed(failed)).unwrap();
        batch
    }

    /// A whole run with one call: six records (0 started, 1 context, 2 requested, 3 call started, 4 completed, 5 ended).
    pub async fn whole(&self, artifact: Option<ArtifactVersion>, before: Option<&[u8]>) {
        self.append(self.beginning(self.previous().await)).await.unwrap();
        self.append(self.intent()).await.unwrap();
        let before = match before {
            Some(bytes) => Some(self.store.put_blob(bytes).await.unwrap()),
            None => None,
        };
        let mut last = self.completion(artifact, before);
        last.join(self.end());
        self.append(last).await.unwrap();
    }
}

pub fn artifact(id: &str, version: u32) -> ArtifactVersion {
    ArtifactVersion {
        id: id.into(),
        version,
        content_type: "text/markdown".into(),
        title: format!("Title of {id}"),
        source: "model".into(),
        content: format!("# secret text {version}\n"),
    }
}
