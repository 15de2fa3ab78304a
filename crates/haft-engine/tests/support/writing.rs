//! A world for runs of kind `agent`: the real tools of the workspace, and a model that says what it is told.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::fmt::Write;
use std::sync::{Arc, Mutex};

use haft_core::chat_host::{ChatHost, ChatReply};
use haft_core::ports::{BoxFuture, ModelTurn, Tool, ToolContext};
use haft_core::profile::RunKind;
use haft_core::run_control::{ChatCommit, CommitMode, RunControl};
use haft_core::workspace::{WorkspacePath, WorkspaceVersion};
use haft_core::{
    CallId, Effect, Payload, RunId, Services, StartedCall, ToolDeclaration, ToolError, ToolId, ToolOutput,
    ToolRegistry,
};
use haft_engine::{Engine, EngineParts, RunOutcome, Session};
use serde_json::{Value, json};

use crate::support::{FakeModel, TestIds, World, call, says};

/// A conversation kept by somebody else.
#[derive(Default)]
pub struct ForeignChat {
    pub replies: Mutex<Vec<(Option<u64>, CommitMode, String)>>,
    pub closed: Mutex<bool>,
}

impl ChatHost for ForeignChat {
    fn save<'a>(&'a self, reply: &'a ChatReply) -> BoxFuture<'a, Result<u64, ToolError>> {
        Box::pin(async move {
            if *self.closed.lock().unwrap() {
                let text = "The chat is closed now. Try again later.";
                return Err(ToolError::new(haft_core::ErrorCode::new("chat.unavailable"), text));
            }
            self.replies.lock().unwrap().push((reply.message, reply.mode, reply.text.clone()));
            Ok(reply.message.unwrap_or(17))
        })
    }
}

/// Commits a version of `output/a.md` that was never written: a file that others changed after it was looked at.
struct StaleCommit(ToolDeclaration);

impl Tool for StaleCommit {
    fn declaration(&self) -> &ToolDeclaration {
        &self.0
    }

    fn call<'a>(
        &'a self,
        _: &'a StartedCall,
        context: &'a dyn ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let path = WorkspacePath::parse("output/a.md")?;
            let file = WorkspaceVersion { path, version: 1, bytes: Arc::from(*b"never") };
            let control = context.services().get::<dyn RunControl>().unwrap();
            let commit = ChatCommit { file, text: "never".into(), mode: CommitMode::Replace };
            control.commit(commit).await.map(|_| "committed".into())
        })
    }
}

/// A world whose profile works as the `tauritavern` preset does.
pub fn writing() -> World {
    with_services(Services::default())
}

pub fn with_chat(chat: &Arc<ForeignChat>) -> World {
    let mut services = Services::default();
    services.insert::<dyn ChatHost>(chat.clone());
    with_services(services)
}

fn with_services(services: Services) -> World {
    let mut world = World::new();
    let mut registry = ToolRegistry::default();
    for tool in world.engine.registry().iter() {
        registry.register(tool.clone()).unwrap();
    }
    let declaration = ToolDeclaration::new(
        ToolId::builtin("stale_commit"),
        "Commits what is not there.",
        json!({"type": "object"}),
        Effect::WriteControl,
    );
    registry.register(Arc::new(StaleCommit(declaration.unwrap()))).unwrap();
    let own = [haft_tools::workspace::tools().unwrap(), haft_tools::workspace::control_tools().unwrap()];
    let own: Vec<_> = own.into_iter().flatten().collect();
    world.profile.tools.allow = ["endless_write", "fails", "writes", "stale_commit"]
        .iter()
        .filter(|name| registry.get(&ToolId::builtin(name)).is_some())
        .map(|name| ToolId::builtin(name))
        .chain(own.iter().map(|tool| tool.declaration().id().clone()))
        .collect();
    registry.register_all(own).unwrap();
    world.profile.run_kind = RunKind::Agent;
    world.profile.name = "writer".into();
    world.engine = Engine::new(EngineParts {
        store: world.store.clone(),
        clock: world.clock.clone(),
        ids: Arc::new(TestIds::default()),
        registry: Arc::new(registry),
        services,
        owner: "test".into(),
    });
    world
}

/// A turn of calls.
pub fn calls(calls: Vec<(&str, Value)>) -> Result<ModelTurn, haft_core::ports::ModelError> {
    says("", calls.into_iter().map(|(name, arguments)| call(name, arguments)).collect())
}

pub fn write(path: &str, content: &str) -> (&'static str, Value) {
    ("workspace_write_file", json!({"path": path, "content": content}))
}

pub fn append(path: &str, content: &str) -> (&'static str, Value) {
    ("workspace_write_file", json!({"path": path, "content": content, "mode": "append"}))
}

pub fn commit() -> (&'static str, Value) {
    ("workspace_commit", json!({}))
}

pub fn finish() -> (&'static str, Value) {
    ("workspace_finish", json!({}))
}

/// Runs one prompt in a new session.
pub async fn run(world: &World, model: &Arc<FakeModel>) -> RunOutcome {
    let session = world.session().await;
    let outcome = prompt(world, &session, model).await;
    session.close().await.unwrap();
    outcome
}

/// Runs one prompt in that session.
pub async fn prompt(world: &World, session: &Session, model: &Arc<FakeModel>) -> RunOutcome {
    session.prompt("Write".into(), model.clone(), world.options()).wait().await.unwrap()
}

/// The journal of a run, one record a line; what every run tells differently is left out.
pub async fn journal(world: &World, run: &RunId) -> String {
    let mut text = String::new();
    for payload in world.payloads(run).await {
        let line = match &payload {
            Payload::RunStarted(body) => format!("{:?} {:?}", body.run_kind, body.prompt),
            Payload::ContextAssembled(body) => {
                let names: Vec<&str> = body.tools.iter().map(|(alias, _)| alias.as_str()).collect();
                format!("{} with {}", body.snapshot_file.path, names.join(" "))
            }
            Payload::ModelRequestCreated(body) => {
                let told =
                    if body.told.is_empty() { String::new() } else { format!(", told {:?}", body.told) };
                format!("turn {}, {} tools{told}", body.turn, body.contract.tools.len())
            }
            Payload::ModelTurnCompleted(body) => format!("turn {}, {:?}", body.turn, body.text),
            Payload::ToolCallRequested(body) => format!("{} {}", body.alias, body.call_id),
            Payload::ToolCallStarted(body) => body.call_id.to_string(),
            Payload::ToolCallCompleted(body) => {
                let files: Vec<&str> = body.workspace.iter().map(|file| file.path.as_str()).collect();
                format!("{} {}", body.call_id, files.join(" ")).trim_end().to_owned()
            }
            Payload::ToolCallFailed(body) => format!("{} {}", body.call_id, body.error_code),
            Payload::ChatCommitted(body) => format!(
                "message {}, {:?} {} as {}, {} characters, by {}",
                body.message,
                body.mode,
                body.source,
                body.file.path,
                body.characters,
                body.call_id.as_ref().map_or("the host", CallId::as_str)
            ),
            Payload::DirectOutputCaptured(body) => format!("turn {}, {}", body.turn, body.file.path),
            Payload::DriftRecoveryAttempted(body) => format!("turn {}, attempt {}", body.turn, body.attempt),
            Payload::PersistPromoted(body) => {
                let files: Vec<&str> = body.files.iter().map(|file| file.stored.as_str()).collect();
                files.join(" ")
            }
            Payload::RunFailed(body) => {
                format!("{}, user_retryable {}: {}", body.error_code, body.user_retryable, body.message)
            }
            Payload::RunPartialSuccess(body) => format!("{}: {}", body.error_code, body.warning),
            Payload::RunEnded(body) => format!("{:?} {:?} {:?}", body.status, body.error_code, body.text),
            other => format!("{other:?}"),
        };
        writeln!(text, "{} {line}", payload.kind()).unwrap();
    }
    text
}

/// The records of that kind.
pub async fn count(world: &World, run: &RunId, kind: &str) -> usize {
    world.kinds(run).await.iter().filter(|one| *one == kind).count()
}

/// What the conversation of a session holds, as `role: text`.
pub async fn chat(world: &World, session: &haft_core::SessionId) -> Vec<String> {
    let messages = haft_engine::conversation(world.store.as_ref(), session).await.unwrap();
    messages
        .into_iter()
        .map(|message| match message {
            haft_core::message::Message::User(text) => format!("user: {text}"),
            haft_core::message::Message::Assistant { text, calls, .. } => {
                assert!(calls.is_empty(), "{calls:?}");
                format!("assistant: {text}")
            }
            haft_core::message::Message::Results(results) => format!("results: {results:?}"),
        })
        .collect()
}
