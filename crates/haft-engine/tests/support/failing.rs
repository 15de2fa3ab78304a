//! A store whose appends fail after a number of commits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use haft_core::journal::{Batch, Committed, SealedRecord};
use haft_core::ports::{
    ArtifactRows, AuditFile, BlobRows, BoxFuture, GrantRows, JournalRows, Lease, NewSession, ProjectRow,
    ProjectRows, RedactionError, RunRow, SessionRow, SessionRows, Store, StoreError, Timestamp,
};
use haft_core::{ArtifactVersion, Digest, GrantId, ProjectId, RunId, SessionId};

pub struct FailingStore {
    inner: Arc<dyn Store>,
    left: AtomicU32,
    /// What was taken back cannot be read.
    pub blind: AtomicBool,
    /// Projects cannot be read.
    pub lost: AtomicBool,
    /// Runs that were read whole.
    pub read_whole: AtomicU32,
}

impl FailingStore {
    pub fn new(inner: Arc<dyn Store>, commits: u32) -> Self {
        Self {
            inner,
            left: AtomicU32::new(commits),
            blind: AtomicBool::new(false),
            lost: AtomicBool::new(false),
            read_whole: AtomicU32::new(0),
        }
    }

    /// From now on it takes what it is given.
    pub fn recover(&self) {
        self.left.store(u32::MAX, Ordering::SeqCst);
    }
}

fn full() -> StoreError {
    StoreError::Unusable {
        place: "the disk".into(),
        reason: "it is full".into(),
        next_step: "Make room".into(),
    }
}

impl GrantRows for FailingStore {
    fn revoke_grant<'a>(
        &'a self,
        session: &'a SessionId,
        grant: &'a GrantId,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Timestamp, StoreError>> {
        self.inner.revoke_grant(session, grant, now)
    }

    fn revoked_grants<'a>(
        &'a self,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Vec<(GrantId, Timestamp)>, StoreError>> {
        if self.blind.load(Ordering::SeqCst) {
            return Box::pin(std::future::ready(Err(full())));
        }
        self.inner.revoked_grants(session)
    }
}

impl JournalRows for FailingStore {
    fn append<'a>(&'a self, lease: &'a Lease, batch: Batch) -> BoxFuture<'a, Result<Committed, StoreError>> {
        let left = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        if left.is_ok() {
            return self.inner.append(lease, batch);
        }
        Box::pin(std::future::ready(Err(full())))
    }

    fn records<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Vec<SealedRecord>, StoreError>> {
        self.read_whole.fetch_add(1, Ordering::SeqCst);
        self.inner.records(run)
    }

    fn first_records<'a>(
        &'a self,
        run: &'a RunId,
        most: u32,
    ) -> BoxFuture<'a, Result<Vec<SealedRecord>, StoreError>> {
        self.inner.first_records(run, most)
    }

    fn runs<'a>(&'a self, session: Option<&'a SessionId>) -> BoxFuture<'a, Result<Vec<RunRow>, StoreError>> {
        self.inner.runs(session)
    }

    fn file<'a>(
        &'a self,
        run: &'a RunId,
        path: &'a str,
    ) -> BoxFuture<'a, Result<Option<AuditFile>, StoreError>> {
        self.inner.file(run, path)
    }

    fn files<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Vec<AuditFile>, StoreError>> {
        self.inner.files(run)
    }

    fn redact<'a>(
        &'a self,
        lease: &'a Lease,
        run: &'a RunId,
        seq: u64,
        reason: &'a str,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<(), RedactionError>> {
        self.inner.redact(lease, run, seq, reason, now)
    }
}

impl SessionRows for FailingStore {
    fn create_session<'a>(&'a self, session: &'a NewSession) -> BoxFuture<'a, Result<(), StoreError>> {
        self.inner.create_session(session)
    }

    fn session<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<Option<SessionRow>, StoreError>> {
        self.inner.session(id)
    }

    fn sessions(&self) -> BoxFuture<'_, Result<Vec<SessionRow>, StoreError>> {
        self.inner.sessions()
    }

    fn lease<'a>(
        &'a self,
        session: &'a SessionId,
        owner: &'a str,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Lease, StoreError>> {
        self.inner.lease(session, owner, now)
    }

    fn holder<'a>(
        &'a self,
        session: &'a SessionId,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Option<Lease>, StoreError>> {
        self.inner.holder(session, now)
    }

    fn renew<'a>(&'a self, lease: &'a Lease, now: Timestamp) -> BoxFuture<'a, Result<(), StoreError>> {
        self.inner.renew(lease, now)
    }

    fn release<'a>(&'a self, lease: &'a Lease) -> BoxFuture<'a, Result<(), StoreError>> {
        self.inner.release(lease)
    }

    fn delete_session<'a>(
        &'a self,
        lease: &'a Lease,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.inner.delete_session(lease, now)
    }
}

impl ArtifactRows for FailingStore {
    fn artifacts<'a>(
        &'a self,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Vec<ArtifactVersion>, StoreError>> {
        self.inner.artifacts(session)
    }
}

impl BlobRows for FailingStore {
    fn put_blob<'a>(&'a self, bytes: &'a [u8]) -> BoxFuture<'a, Result<Digest, StoreError>> {
        self.inner.put_blob(bytes)
    }

    fn blob<'a>(&'a self, digest: &'a Digest) -> BoxFuture<'a, Result<Option<Vec<u8>>, StoreError>> {
        self.inner.blob(digest)
    }
}

impl ProjectRows for FailingStore {
    fn put_project<'a>(&'a self, project: &'a ProjectRow) -> BoxFuture<'a, Result<(), StoreError>> {
        self.inner.put_project(project)
    }

    fn project<'a>(&'a self, id: &'a ProjectId) -> BoxFuture<'a, Result<Option<ProjectRow>, StoreError>> {
        if self.lost.load(Ordering::SeqCst) {
            return Box::pin(std::future::ready(Err(full())));
        }
        self.inner.project(id)
    }

    fn projects(&self) -> BoxFuture<'_, Result<Vec<ProjectRow>, StoreError>> {
        self.inner.projects()
    }

    fn remove_project<'a>(&'a self, id: &'a ProjectId) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.inner.remove_project(id)
    }
}
