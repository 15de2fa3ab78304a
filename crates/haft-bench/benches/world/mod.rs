//! A world for benches of the path: a tool that adds, a store that keeps nothing, and sessions over any store.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use haft_core::consent::ConsentEnvironment;
use haft_core::journal::{Batch, Committed, Head, SealedRecord};
use haft_core::path::StartedCall;
use haft_core::ports::{
    ArtifactRows, AuditFile, BlobRows, BoxFuture, Clock, GrantRows, Ids, JournalRows, Lease, NewSession,
    ProjectRow, ProjectRows, RedactionError, RunRow, SessionRow, SessionRows, Store, StoreError, Timestamp,
    Tool, ToolContext,
};
use haft_core::{
    ArtifactVersion, Digest, Effect, GrantId, Profile, ProjectId, RequestedCall, RunId, Services, SessionId,
    ToolDeclaration, ToolError, ToolId, ToolOutput, ToolRegistry,
};
use haft_engine::{Engine, EngineParts, RunOptions, Session, SessionChoice};
use serde_json::{Value, json};

/// Calls of one measured run: the run's own beginning and end are shared by them.
pub(crate) const CALLS: usize = 256;

struct Add(ToolDeclaration);

impl Tool for Add {
    fn declaration(&self) -> &ToolDeclaration {
        &self.0
    }

    fn call<'a>(
        &'a self,
        call: &'a StartedCall,
        _: &'a dyn ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let number = |name| call.arguments().get(name).and_then(Value::as_i64).unwrap_or_default();
            Ok(ToolOutput::of_text((number("a") + number("b")).to_string()))
        })
    }
}

struct Tick(AtomicU64);

impl Clock for Tick {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

impl Ids for Tick {
    fn fresh(&self) -> String {
        format!("{:016x}", self.0.fetch_add(1, Ordering::Relaxed))
    }
}

/// Keeps nothing: what is left is the path itself.
pub(crate) struct NullStore;

fn ready<'a, T: Send + 'a>(value: T) -> BoxFuture<'a, T> {
    Box::pin(std::future::ready(value))
}

impl JournalRows for NullStore {
    fn append<'a>(&'a self, _: &'a Lease, batch: Batch) -> BoxFuture<'a, Result<Committed, StoreError>> {
        ready(Ok(batch.committed(Vec::new(), Head::empty())))
    }

    fn records<'a>(&'a self, _: &'a RunId) -> BoxFuture<'a, Result<Vec<SealedRecord>, StoreError>> {
        ready(Ok(Vec::new()))
    }

    fn runs<'a>(&'a self, _: Option<&'a SessionId>) -> BoxFuture<'a, Result<Vec<RunRow>, StoreError>> {
        ready(Ok(Vec::new()))
    }

    fn file<'a>(&'a self, _: &'a RunId, _: &'a str) -> BoxFuture<'a, Result<Option<AuditFile>, StoreError>> {
        ready(Ok(None))
    }

    fn files<'a>(&'a self, _: &'a RunId) -> BoxFuture<'a, Result<Vec<AuditFile>, StoreError>> {
        ready(Ok(Vec::new()))
    }

    fn redact<'a>(
        &'a self,
        _: &'a Lease,
        _: &'a RunId,
        _: u64,
        _: &'a str,
        _: Timestamp,
    ) -> BoxFuture<'a, Result<(), RedactionError>> {
        ready(Ok(()))
    }
}

impl SessionRows for NullStore {
    fn create_session<'a>(&'a self, _: &'a NewSession) -> BoxFuture<'a, Result<(), StoreError>> {
        ready(Ok(()))
    }

    fn session<'a>(&'a self, _: &'a SessionId) -> BoxFuture<'a, Result<Option<SessionRow>, StoreError>> {
        ready(Ok(None))
    }

    fn sessions(&self) -> BoxFuture<'_, Result<Vec<SessionRow>, StoreError>> {
        ready(Ok(Vec::new()))
    }

    fn lease<'a>(
        &'a self,
        session: &'a SessionId,
        owner: &'a str,
        _: Timestamp,
    ) -> BoxFuture<'a, Result<Lease, StoreError>> {
        ready(Ok(Lease { session: session.clone(), epoch: 1, owner: owner.to_owned() }))
    }

    fn holder<'a>(
        &'a self,
        _: &'a SessionId,
        _: Timestamp,
    ) -> BoxFuture<'a, Result<Option<Lease>, StoreError>> {
        ready(Ok(None))
    }

    fn renew<'a>(&'a self, _: &'a Lease, _: Timestamp) -> BoxFuture<'a, Result<(), StoreError>> {
        ready(Ok(()))
    }

    fn release<'a>(&'a self, _: &'a Lease) -> BoxFuture<'a, Result<(), StoreError>> {
        ready(Ok(()))
    }

    fn delete_session<'a>(&'a self, _: &'a Lease, _: Timestamp) -> BoxFuture<'a, Result<(), StoreError>> {
        ready(Ok(()))
    }
}

impl ArtifactRows for NullStore {
    fn artifacts<'a>(&'a self, _: &'a SessionId) -> BoxFuture<'a, Result<Vec<ArtifactVersion>, StoreError>> {
        ready(Ok(Vec::new()))
    }
}

impl BlobRows for NullStore {
    fn put_blob<'a>(&'a self, bytes: &'a [u8]) -> BoxFuture<'a, Result<Digest, StoreError>> {
        ready(Ok(Digest::of(bytes)))
    }

    fn blob<'a>(&'a self, _: &'a Digest) -> BoxFuture<'a, Result<Option<Vec<u8>>, StoreError>> {
        ready(Ok(None))
    }
}

impl GrantRows for NullStore {
    fn revoke_grant<'a>(
        &'a self,
        _: &'a SessionId,
        _: &'a GrantId,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Timestamp, StoreError>> {
        ready(Ok(now))
    }

    fn revoked_grants<'a>(
        &'a self,
        _: &'a SessionId,
    ) -> BoxFuture<'a, Result<Vec<(GrantId, Timestamp)>, StoreError>> {
        ready(Ok(Vec::new()))
    }
}

impl ProjectRows for NullStore {
    fn put_project<'a>(&'a self, _: &'a ProjectRow) -> BoxFuture<'a, Result<(), StoreError>> {
        ready(Ok(()))
    }

    fn project<'a>(&'a self, _: &'a ProjectId) -> BoxFuture<'a, Result<Option<ProjectRow>, StoreError>> {
        ready(Ok(None))
    }

    fn projects(&self) -> BoxFuture<'_, Result<Vec<ProjectRow>, StoreError>> {
        ready(Ok(Vec::new()))
    }

    fn remove_project<'a>(&'a self, _: &'a ProjectId) -> BoxFuture<'a, Result<bool, StoreError>> {
        ready(Ok(false))
    }
}

pub(crate) struct World {
    session: Session,
    options: RunOptions,
}

impl World {
    pub(crate) async fn over(store: Arc<dyn Store>) -> Self {
        let id = ToolId::builtin("bench.add");
        let declaration = ToolDeclaration::new(id.clone(), "Adds.", schema(), Effect::Read).unwrap();
        let mut registry = ToolRegistry::default();
        registry.register(Arc::new(Add(declaration))).unwrap();
        let mut profile = Profile::new("bench");
        profile.tools.allow = vec![id];
        profile.budgets.calls = u32::MAX;
        let engine = Engine::new(EngineParts {
            store,
            clock: Arc::new(Tick(AtomicU64::new(1))),
            ids: Arc::new(Tick(AtomicU64::new(1))),
            registry: Arc::new(registry),
            services: Services::default(),
            owner: "bench".into(),
        });
        let session =
            engine.open(SessionChoice::New, "bench", None, ConsentEnvironment::default()).await.unwrap();
        let mut options = RunOptions::new(Arc::new(profile), "bench");
        options.call_timeout_ms = None;
        Self { session, options }
    }

    pub(crate) async fn run(&self, calls: usize) {
        let arguments = json!({"a": 19, "b": 23});
        let arguments = arguments.as_object().unwrap();
        let requested = (0..calls).map(|_| RequestedCall::call("bench_add", arguments.clone())).collect();
        let outcomes = self.session.calls(requested, self.options.clone()).wait().await.unwrap();
        assert!(outcomes.len() == calls && !outcomes[0].result.is_error);
    }
}

/// The schema of the tool that adds.
pub(crate) fn schema() -> Value {
    json!({
        "type": "object", "additionalProperties": false, "required": ["a", "b"],
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}
    })
}
