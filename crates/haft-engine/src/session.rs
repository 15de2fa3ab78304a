//! An open session: its lease, its artifacts, its grants, and what can be started in it.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_core::consent::ConsentEnvironment;
use haft_core::grant::Grant;
use haft_core::ports::{Clock, Ids, Lease, Model, NewSession, SessionRow, Store, StoreError, Timestamp};
use haft_core::render::Renderer;
use haft_core::{Digest, GrantId, Payload, ProjectId, RequestedCall, RunId, SessionId};

use tokio_util::task::TaskTracker;

use crate::artifacts::SessionArtifacts;
use crate::earlier::Earlier;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::grants::{GrantBook, HeldGrant};
use crate::handle::RunHandle;
use crate::history::Past;
use crate::outside::Outside;
use crate::persist::Kept;
use crate::recover::{self, Recovered};
use crate::run::{CallOutcome, RunOptions, RunOutcome};
use crate::{run, turns};

/// Which session to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionChoice {
    /// A new one.
    New,
    /// The newest.
    Last,
    /// That one.
    Id(SessionId),
}

/// How often an owner says that it is still there. Leases last three times as long.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// An open session. Runs of one session follow each other; runs of two never wait for one another.
pub struct Session {
    pub(crate) inner: Arc<SessionInner>,
    recovered: Vec<Recovered>,
    heartbeat: tokio::task::AbortHandle,
    /// Runs that were started, whoever holds their handles.
    runs: TaskTracker,
}

pub(crate) struct SessionInner {
    pub(crate) engine: Engine,
    pub(crate) lease: Lease,
    pub(crate) row: SessionRow,
    pub(crate) environment: ConsentEnvironment,
    pub(crate) artifacts: Arc<SessionArtifacts>,
    pub(crate) previous_run: Mutex<Option<(RunId, Digest)>>,
    grants: Mutex<GrantBook>,
    earlier: Mutex<Earlier>,
    pub(crate) outside: Outside,
    /// What it keeps under `persist/`.
    pub(crate) kept: tokio::sync::Mutex<Kept>,
    /// One run at a time; it holds the conversation so far, once a run has read it from the journal.
    pub(crate) turn: tokio::sync::Mutex<Option<Conversation>>,
}

/// The messages of the session's earlier runs, as one renderer writes them.
pub(crate) struct Conversation {
    pub(crate) renderer: Renderer,
    pub(crate) past: Past,
}

impl SessionInner {
    pub(crate) fn clock(&self) -> &dyn Clock {
        self.engine.parts.clock.as_ref()
    }

    pub(crate) fn ids(&self) -> &dyn Ids {
        self.engine.parts.ids.as_ref()
    }

    pub(crate) fn store(&self) -> &dyn Store {
        self.engine.parts.store.as_ref()
    }

    pub(crate) fn project(&self) -> Option<&ProjectId> {
        self.environment.project.as_ref()
    }

    /// Earlier calls, as far as reuse knows them. Never held while anything is awaited.
    pub(crate) fn earlier(&self) -> MutexGuard<'_, Earlier> {
        self.earlier.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The grants. Never held while anything is awaited.
    fn book(&self) -> MutexGuard<'_, GrantBook> {
        self.grants.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Grants that may stand in for an answer, as this process knows them.
    pub(crate) fn live_grants(&self) -> Vec<Grant> {
        self.book().live(self.clock().now())
    }

    /// Looks whether another process took a grant back. What fails here must not let a call through.
    pub(crate) async fn look_for_revoked(&self) -> Result<(), StoreError> {
        for (id, time) in self.store().revoked_grants(&self.lease.session).await? {
            self.take_back(&id, time);
        }
        Ok(())
    }

    /// Takes a grant back here, with all results that rest on it; false if there is none to take back.
    fn take_back(&self, id: &GrantId, time: Timestamp) -> bool {
        let taken = self.book().revoke(id, time);
        if taken {
            self.earlier().forget(id);
        }
        taken
    }

    /// True if the grant was taken back since.
    pub(crate) fn is_revoked(&self, id: &GrantId) -> bool {
        self.book().is_revoked(id)
    }

    /// Keeps a grant that the journal was told of.
    pub(crate) fn hold(&self, grant: Grant) {
        self.book().hold(grant);
    }

    /// Counts a use of a grant.
    pub(crate) fn used(&self, id: &GrantId) {
        let now = self.clock().now();
        self.book().used(id, now);
    }

    /// What the journal is to be told of grants, once.
    pub(crate) fn untold_of_grants(&self) -> Vec<Payload> {
        self.book().tell()
    }
}

impl Session {
    pub(crate) async fn open(
        engine: &Engine,
        choice: SessionChoice,
        profile: &str,
        project: Option<ProjectId>,
        environment: ConsentEnvironment,
    ) -> Result<Self, EngineError> {
        let parts = &engine.parts;
        let store = &parts.store;
        let now = parts.clock.now();
        let (row, is_new) = match engine.find(&choice).await? {
            Some(row) => (row, false),
            None => {
                let new = NewSession {
                    id: engine.new_session_id(),
                    created: now,
                    profile: profile.to_owned(),
                    project: project.clone(),
                };
                store.create_session(&new).await?;
                let NewSession { id, created, profile, project } = new;
                (SessionRow { id, created, updated: now, profile, project, deleted: false }, true)
            }
        };
        let lease = store.lease(&row.id, &parts.owner, now).await?;
        let (artifacts, recovered, previous_run) = if is_new {
            (Vec::new(), Vec::new(), None)
        } else {
            let recovered = recover::close_open_runs(store.as_ref(), &lease, parts.clock.as_ref()).await?;
            let runs = store.runs(Some(&row.id)).await?;
            let previous = runs.last().map(|run| (run.id.clone(), run.head.hash));
            (store.artifacts(&row.id).await?, recovered, previous)
        };
        let environment =
            ConsentEnvironment { project: project.or_else(|| row.project.clone()), ..environment };
        let inner = Arc::new(SessionInner {
            engine: engine.clone(),
            lease,
            row,
            environment,
            artifacts: Arc::new(SessionArtifacts::new(artifacts)),
            previous_run: Mutex::new(previous_run),
            grants: Mutex::default(),
            earlier: Mutex::default(),
            outside: Outside::default(),
            kept: tokio::sync::Mutex::default(),
            turn: tokio::sync::Mutex::new(None),
        });
        let heartbeat = tokio::spawn(beat(inner.clone())).abort_handle();
        Ok(Self { inner, recovered, heartbeat, runs: TaskTracker::new() })
    }

    /// Its id.
    pub fn id(&self) -> &SessionId {
        &self.inner.lease.session
    }

    /// Its row as it was opened.
    pub fn row(&self) -> &SessionRow {
        &self.inner.row
    }

    /// Its project.
    pub fn project(&self) -> Option<&ProjectId> {
        self.inner.project()
    }

    /// Runs that a crash had left open and that this opening closed; a person should be told.
    pub fn recovered(&self) -> &[Recovered] {
        &self.recovered
    }

    /// Adds a standing yes for this opening of the session; the journal is told with the next run.
    pub fn grant(&self, grant: Grant) {
        self.inner.book().add(grant, self.inner.lease.epoch);
    }

    /// All that was granted since the session was opened, with what became of it.
    pub fn grants(&self) -> Vec<HeldGrant> {
        self.inner.book().all().to_vec()
    }

    /// Takes a grant back: from now on it lets no call through, and no result that rests on it is given again. False if this session
    /// holds no such grant, or it was taken back before.
    ///
    /// # Errors
    /// The store cannot keep it; the grant is taken back here all the same.
    pub async fn revoke(&self, id: &GrantId) -> Result<bool, EngineError> {
        let now = self.inner.clock().now();
        let taken = self.inner.take_back(id, now);
        if taken {
            self.inner.store().revoke_grant(&self.inner.lease.session, id, now).await?;
        }
        Ok(taken)
    }

    /// Its artifacts, newest versions by id.
    pub fn artifacts(&self) -> Vec<haft_core::ArtifactVersion> {
        self.inner.artifacts.newest()
    }

    /// Starts a run of one turn with these calls, whatever the profile's kind. Results come in call order.
    pub fn calls(&self, requested: Vec<RequestedCall>, options: RunOptions) -> RunHandle<Vec<CallOutcome>> {
        let run = RunId::new(self.inner.engine.fresh("r_"));
        let (inner, id) = (self.inner.clone(), run.clone());
        RunHandle::spawn(&self.runs, run, |stopper| run::one_turn(inner, id, requested, options, stopper))
    }

    /// Starts a run that works on `prompt` with `model` until it is done.
    pub fn prompt(
        &self,
        prompt: String,
        model: Arc<dyn Model>,
        options: RunOptions,
    ) -> RunHandle<RunOutcome> {
        let run = RunId::new(self.inner.engine.fresh("r_"));
        let (inner, id) = (self.inner.clone(), run.clone());
        RunHandle::spawn(&self.runs, run, |stopper| {
            turns::converse(inner, id, prompt, model, options, stopper)
        })
    }

    /// Waits for the runs that were started and gives the lease back. A session that is dropped instead is free when its lease has run out or its process is gone.
    pub async fn close(self) -> Result<(), EngineError> {
        self.runs.close();
        self.runs.wait().await;
        self.heartbeat.abort();
        Ok(self.inner.store().release(&self.inner.lease).await?)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.heartbeat.abort();
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("lease", &self.inner.lease).finish_non_exhaustive()
    }
}

/// Says that the owner is still there, until the session closes. A lost lease shows at the next append.
async fn beat(session: Arc<SessionInner>) {
    loop {
        tokio::time::sleep(HEARTBEAT).await;
        if session.store().renew(&session.lease, session.clock().now()).await.is_err() {
            return;
        }
    }
}
