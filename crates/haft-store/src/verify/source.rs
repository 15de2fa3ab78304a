//! What verification reads: stored rows as far as they can be read, from either store.
//!
//! A damaged row is a value here, never an error: an error means that the store itself cannot be used.

use haft_core::ports::{StoreError, Timestamp};
use haft_core::{Digest, RunId, SealedRecord, SessionId};

/// A row, or why it cannot be read.
pub type Row<T> = Result<T, UnreadableRow>;

/// A row that does not hold what its table promises.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableRow {
    /// Which row: `journal row 12 (record 3)`, `file tool-args/x.json` …
    pub place: String,
    /// What is wrong: `hash: 31 bytes instead of 32` …
    pub reason: String,
}

/// A row of the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordRow {
    /// The session that the row names; the chain does not cover it, the run's first records do.
    pub session: SessionId,
    /// The record.
    pub record: SealedRecord,
}

/// A row of a run workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRow {
    /// Path in the run workspace.
    pub path: String,
    /// The bytes; none if they were taken away.
    pub bytes: Option<Vec<u8>>,
    /// The digest that the row names; none if it was taken away.
    pub digest: Option<Digest>,
}

/// A row of an artifact version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactRow {
    /// The session that the row names.
    pub session: SessionId,
    /// The artifact's id.
    pub id: String,
    /// The version.
    pub version: u32,
    /// Digest of the whole version as the row holds it; none if it was taken away.
    pub digest: Option<Digest>,
}

/// A session as verification sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionState {
    /// Its id.
    pub id: SessionId,
    /// It is marked as deleted.
    pub deleted: bool,
    /// Somebody holds a lease that has not ended, so that a run of it may still be going on.
    pub leased: bool,
}

/// A store that can be verified.
pub trait Auditable {
    /// Looks at the store as it is now: what is written meanwhile does not disturb the verification. Blobs alone are looked up when they
    /// are needed.
    fn audit(&self) -> Result<Box<dyn AuditSource + '_>, StoreError>;
}

/// Raw access to all that is verified.
pub trait AuditSource {
    /// What the storage engine itself finds wrong, one line each.
    fn medium(&self) -> Result<Vec<String>, StoreError>;
    /// All runs that any row names, oldest first.
    fn run_ids(&self) -> Result<Vec<Row<RunId>>, StoreError>;
    /// Rows of the journal that name the run, by number.
    fn record_rows(&self, run: &RunId) -> Result<Vec<Row<RecordRow>>, StoreError>;
    /// Files that name the run, by path.
    fn file_rows(&self, run: &RunId) -> Result<Vec<Row<FileRow>>, StoreError>;
    /// Artifact versions that the run made.
    fn artifact_rows(&self, run: &RunId) -> Result<Vec<Row<ArtifactRow>>, StoreError>;
    /// All sessions.
    fn session_states(&self, now: Timestamp) -> Result<Vec<Row<SessionState>>, StoreError>;
    /// Names of all blobs.
    fn blob_names(&self) -> Result<Vec<Row<Digest>>, StoreError>;
    /// The bytes of a blob; none if it is not there or cannot be read.
    fn blob_bytes(&self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError>;
}
