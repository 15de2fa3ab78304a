//! A store that forgets: the same laws as on disk, in one process and for its lifetime.
//!
//! For single calls, tests, benches and embedders. Its journal is hash-chained like any other; nothing is durable.

mod audit;
mod journal;
mod removal;
mod sessions;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use haft_core::ports::{
    BlobRows, BoxFuture, GrantRows, ProjectRow, ProjectRows, SessionRow, StoreError, Timestamp,
};
use haft_core::{ArtifactVersion, Digest, GrantId, ProjectId, RunId, SealedRecord, SessionId};

use indexmap::IndexMap;

use crate::lease::LeaseRow;

/// A store in memory.
///
/// ```
/// use haft_core::ports::BlobRows;
/// use haft_core::Digest;
/// use haft_store::MemoryStore;
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let store = MemoryStore::new();
/// let digest = store.put_blob(b"before").await?;
/// assert_eq!(digest, Digest::of(b"before"));
/// assert_eq!(store.blob(&digest).await?.as_deref(), Some(&b"before"[..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct MemoryStore {
    state: Mutex<State>,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug, Default)]
struct State {
    /// In the order in which they were made.
    sessions: IndexMap<SessionId, SessionRow>,
    leases: HashMap<SessionId, LeaseRow>,
    /// In the order in which they were begun.
    runs: Vec<RunId>,
    journals: HashMap<RunId, RunState>,
    artifacts: HashMap<SessionId, BTreeMap<(String, u32), StoredArtifact>>,
    blobs: BTreeMap<Digest, Vec<u8>>,
    projects: BTreeMap<ProjectId, ProjectRow>,
    revoked_grants: HashMap<SessionId, IndexMap<GrantId, Timestamp>>,
}

#[derive(Debug)]
struct RunState {
    session: SessionId,
    records: Vec<SealedRecord>,
    files: BTreeMap<String, Option<Vec<u8>>>,
}

#[derive(Debug)]
struct StoredArtifact {
    run: RunId,
    version: ArtifactVersion,
    is_taken: bool,
}

impl BlobRows for MemoryStore {
    fn put_blob<'a>(&'a self, bytes: &'a [u8]) -> BoxFuture<'a, Result<Digest, StoreError>> {
        Box::pin(async move {
            let digest = Digest::of(bytes);
            self.state().blobs.entry(digest).or_insert_with(|| bytes.to_vec());
            Ok(digest)
        })
    }

    fn blob<'a>(&'a self, digest: &'a Digest) -> BoxFuture<'a, Result<Option<Vec<u8>>, StoreError>> {
        Box::pin(async move { Ok(self.state().blobs.get(digest).cloned()) })
    }
}

impl GrantRows for MemoryStore {
    fn revoke_grant<'a>(
        &'a self,
        session: &'a SessionId,
        grant: &'a GrantId,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Timestamp, StoreError>> {
        Box::pin(async move {
            let mut state = self.state();
            state.live(session)?;
            let revoked = state.revoked_grants.entry(session.clone()).or_default();
            Ok(*revoked.entry(grant.clone()).or_insert(now))
        })
    }

    fn revoked_grants<'a>(
        &'a self,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Vec<(GrantId, Timestamp)>, StoreError>> {
        Box::pin(async move {
            let state = self.state();
            let revoked = state.revoked_grants.get(session);
            Ok(revoked.into_iter().flatten().map(|(id, time)| (id.clone(), *time)).collect())
        })
    }
}

impl ProjectRows for MemoryStore {
    fn put_project<'a>(&'a self, project: &'a ProjectRow) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            self.state().projects.insert(project.id.clone(), project.clone());
            Ok(())
        })
    }

    fn project<'a>(&'a self, id: &'a ProjectId) -> BoxFuture<'a, Result<Option<ProjectRow>, StoreError>> {
        Box::pin(async move { Ok(self.state().projects.get(id).cloned()) })
    }

    fn projects(&self) -> BoxFuture<'_, Result<Vec<ProjectRow>, StoreError>> {
        Box::pin(async move { Ok(self.state().projects.values().cloned().collect()) })
    }

    fn remove_project<'a>(&'a self, id: &'a ProjectId) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move { Ok(self.state().projects.remove(id).is_some()) })
    }
}
