//! The port of the store: what lasts. One trait a concern; [`Store`] is all of them.
//!
//! Everything is shaped for several nodes: a session is owned by a lease whose epoch every append checks in its own
//! transaction, and the first of two answers wins by the store's own constraint.

use serde::{Deserialize, Serialize};

use crate::artifact::ArtifactVersion;
use crate::ids::{GrantId, ProjectId, RunId, SessionId};
use crate::journal::{Batch, Committed, Head, SealedRecord};
use crate::ports::{BoxFuture, Timestamp};
use haft_schema::Digest;

/// Why the store could not do it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The place cannot be opened or written.
    #[error("the store at {place} cannot be used: {reason}. {next_step}")]
    Unusable {
        /// Where it is.
        place: String,
        /// What is wrong.
        reason: String,
        /// What to do.
        next_step: String,
    },
    /// A newer Haft wrote it.
    #[error(
        "the store at {place} has format {found}, and this Haft knows formats up to {known}. Use a newer Haft; nothing was changed"
    )]
    TooNew {
        /// Where it is.
        place: String,
        /// Its format.
        found: u32,
        /// The newest format known here.
        known: u32,
    },
    /// Another process owns the session.
    #[error("the session {session} is in use by {owner}. End that process, or wait until {until}")]
    Leased {
        /// The session.
        session: SessionId,
        /// Who owns it.
        owner: String,
        /// When the lease ends by itself.
        until: Timestamp,
    },
    /// The lease is no longer ours: somebody took over.
    #[error("the session {session} was taken over by another process; this one must stop writing")]
    LeaseLost {
        /// The session.
        session: SessionId,
    },
    /// A create-only row is there already (JRN-03, SNP-07).
    #[error("{what} exists already; nothing was overwritten")]
    Exists {
        /// What it is.
        what: String,
    },
    /// Something named is not there.
    #[error("there is no {what}")]
    Missing {
        /// What it is.
        what: String,
    },
    /// Stored data does not fit.
    #[error("stored data is damaged: {what}. `haft audit verify` names all that does not fit")]
    Damaged {
        /// What it is.
        what: String,
    },
}

/// The right to write to a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The session.
    pub session: SessionId,
    /// Grows with every owner.
    pub epoch: u64,
    /// Who holds it, in words for people.
    pub owner: String,
}

/// What a new session is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSession {
    /// Its id.
    pub id: SessionId,
    /// When it was made.
    pub created: Timestamp,
    /// Name of its profile.
    pub profile: String,
    /// Its project, if it has one.
    pub project: Option<ProjectId>,
}

/// A stored session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRow {
    /// Its id.
    pub id: SessionId,
    /// When it was made.
    pub created: Timestamp,
    /// When it last changed.
    pub updated: Timestamp,
    /// Name of its profile.
    pub profile: String,
    /// Its project.
    pub project: Option<ProjectId>,
    /// It was deleted: payloads and files are gone, the chain stays.
    pub deleted: bool,
}

/// A stored run. Derived from its records, never stored beside them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRow {
    /// Its id.
    pub id: RunId,
    /// Its session.
    pub session: SessionId,
    /// Time of the first record.
    pub started: Timestamp,
    /// Number of records and last hash.
    pub head: Head,
    /// It has a `run_ended` record.
    pub ended: bool,
}

/// A file of a run workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditFile {
    /// Its path.
    pub path: String,
    /// Its bytes; none if they were taken away.
    pub bytes: Option<Vec<u8>>,
}

/// A project folder that the user named.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectRow {
    /// Its id.
    pub id: ProjectId,
    /// The folder, absolute.
    pub path: String,
    /// When it was added.
    pub added: Timestamp,
}

/// Why a payload cannot be redacted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RedactionError {
    /// The record cannot be spared: the chain is read by it.
    #[error(
        "record {seq} is a `{kind}` record, which holds nothing private and stays; redact the record that holds the text"
    )]
    NotRedactable {
        /// The record.
        seq: u64,
        /// Its kind.
        kind: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Sessions and their leases.
pub trait SessionRows: Send + Sync {
    /// Stores a new session.
    fn create_session<'a>(&'a self, session: &'a NewSession) -> BoxFuture<'a, Result<(), StoreError>>;
    /// One session.
    fn session<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<Option<SessionRow>, StoreError>>;
    /// All sessions, newest change first.
    fn sessions(&self) -> BoxFuture<'_, Result<Vec<SessionRow>, StoreError>>;
    /// Takes the lease of a session, if nobody alive holds it. `owner` says in words for people who asks, with its process:
    /// `process 1234 (haft chat)`. `now` is the caller's clock; stores for several nodes use their own.
    fn lease<'a>(
        &'a self,
        session: &'a SessionId,
        owner: &'a str,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Lease, StoreError>>;
    /// Who holds the lease of a session now; none if nobody alive does. Nothing is taken or changed.
    fn holder<'a>(
        &'a self,
        session: &'a SessionId,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Option<Lease>, StoreError>>;
    /// Says that the owner is still there.
    fn renew<'a>(&'a self, lease: &'a Lease, now: Timestamp) -> BoxFuture<'a, Result<(), StoreError>>;
    /// Gives the lease back.
    fn release<'a>(&'a self, lease: &'a Lease) -> BoxFuture<'a, Result<(), StoreError>>;
    /// Takes away all payloads, files, artifacts and blobs of a session and says so in each of its runs; the chains still verify.
    fn delete_session<'a>(
        &'a self,
        lease: &'a Lease,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<(), StoreError>>;
}

/// Journals and run workspaces.
pub trait JournalRows: Send + Sync {
    /// Stores a batch in one durable transaction that checks the lease's epoch and the run's session.
    fn append<'a>(&'a self, lease: &'a Lease, batch: Batch) -> BoxFuture<'a, Result<Committed, StoreError>>;
    /// All records of a run, in order.
    fn records<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Vec<SealedRecord>, StoreError>>;
    /// The first records of a run, at most `most` of them, in order. A store that can do so reads no others.
    fn first_records<'a>(
        &'a self,
        run: &'a RunId,
        most: u32,
    ) -> BoxFuture<'a, Result<Vec<SealedRecord>, StoreError>> {
        Box::pin(async move {
            let mut records = self.records(run).await?;
            records.truncate(most as usize);
            Ok(records)
        })
    }
    /// Runs, oldest first: of a session, or all.
    fn runs<'a>(&'a self, session: Option<&'a SessionId>) -> BoxFuture<'a, Result<Vec<RunRow>, StoreError>>;
    /// One file of a run workspace.
    fn file<'a>(
        &'a self,
        run: &'a RunId,
        path: &'a str,
    ) -> BoxFuture<'a, Result<Option<AuditFile>, StoreError>>;
    /// All files of a run workspace, by path.
    fn files<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Vec<AuditFile>, StoreError>>;
    /// Takes the payload of record `seq` and the files that it speaks of away, and says so in the run's journal.
    fn redact<'a>(
        &'a self,
        lease: &'a Lease,
        run: &'a RunId,
        seq: u64,
        reason: &'a str,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<(), RedactionError>>;
}

/// Artifact versions; they are written by [`JournalRows::append`].
pub trait ArtifactRows: Send + Sync {
    /// All versions of all artifacts of a session, by id and version.
    fn artifacts<'a>(
        &'a self,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Vec<ArtifactVersion>, StoreError>>;
}

/// Content-addressed blobs: written and synced before the record that names them.
pub trait BlobRows: Send + Sync {
    /// Stores `bytes` and gives their digest.
    fn put_blob<'a>(&'a self, bytes: &'a [u8]) -> BoxFuture<'a, Result<Digest, StoreError>>;
    /// The bytes of a blob.
    fn blob<'a>(&'a self, digest: &'a Digest) -> BoxFuture<'a, Result<Option<Vec<u8>>, StoreError>>;
}

/// Grants that were taken back. What was granted lives in the process that owns the session; this is how another process reaches
/// it: the owner looks here before it lets a grant stand in for an answer.
pub trait GrantRows: Send + Sync {
    /// Takes a grant back, for good; it may be called without the lease. Gives when it was first taken back.
    fn revoke_grant<'a>(
        &'a self,
        session: &'a SessionId,
        grant: &'a GrantId,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Timestamp, StoreError>>;
    /// The grants of a session that were taken back, and when, in order.
    fn revoked_grants<'a>(
        &'a self,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Vec<(GrantId, Timestamp)>, StoreError>>;
}

/// Projects that the user named.
pub trait ProjectRows: Send + Sync {
    /// Adds or replaces a project.
    fn put_project<'a>(&'a self, project: &'a ProjectRow) -> BoxFuture<'a, Result<(), StoreError>>;
    /// One project.
    fn project<'a>(&'a self, id: &'a ProjectId) -> BoxFuture<'a, Result<Option<ProjectRow>, StoreError>>;
    /// All projects, by id.
    fn projects(&self) -> BoxFuture<'_, Result<Vec<ProjectRow>, StoreError>>;
    /// Forgets a project; its folder is not touched. False if it was not there.
    fn remove_project<'a>(&'a self, id: &'a ProjectId) -> BoxFuture<'a, Result<bool, StoreError>>;
}

/// All that lasts.
pub trait Store: SessionRows + JournalRows + ArtifactRows + BlobRows + GrantRows + ProjectRows {}

impl<T: SessionRows + JournalRows + ArtifactRows + BlobRows + GrantRows + ProjectRows> Store for T {}
