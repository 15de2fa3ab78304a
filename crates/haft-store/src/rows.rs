//! What both stores agree on about rows: their messages, and what is derived from them.

use haft_core::journal::Batch;
use haft_core::ports::{StoreError, Timestamp};
use haft_core::{ArtifactVersion, Digest, RunId};

use crate::verify::Row;

/// The title of an artifact version whose text was taken away.
pub(crate) const TAKEN_TITLE: &str = "(taken away)";

pub(crate) fn exists_file(run: &RunId, path: &str) -> StoreError {
    StoreError::Exists { what: format!("file {path} of run {run}") }
}

pub(crate) fn exists_artifact(version: &ArtifactVersion) -> StoreError {
    StoreError::Exists { what: format!("artifact {}@{}", version.id, version.version) }
}

/// A run that belongs to another session than the lease.
pub(crate) fn foreign_run(run: &RunId) -> StoreError {
    StoreError::Exists { what: format!("run {run} of another session") }
}

/// When the newest record of a batch was made.
pub(crate) fn latest(batch: &Batch) -> Option<Timestamp> {
    batch.records().iter().map(|record| record.time).max()
}

/// Whether a batch begins or ends a run, so that its session counts as changed.
pub(crate) fn touches_session(batch: &Batch) -> bool {
    batch.records().iter().any(|record| matches!(record.kind, "run_started" | "run_ended"))
}

/// A row that can be read, else the error that names it.
pub(crate) fn readable<T>(run: &RunId, row: Row<T>) -> Result<T, StoreError> {
    row.map_err(|row| StoreError::Damaged { what: format!("run {run}, {}: {}", row.place, row.reason) })
}

/// The checksum of an artifact row. The chain covers the digest of the text alone; this tells of changes beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ArtifactChecksum(pub(crate) Digest);

impl ArtifactChecksum {
    pub(crate) fn of(version: &ArtifactVersion) -> Self {
        let content = Digest::of(version.content.as_bytes());
        Self::over(&version.content_type, &version.title, &version.source, content)
    }

    pub(crate) fn over(content_type: &str, title: &str, source: &str, content: Digest) -> Self {
        let fields = serde_json::json!([content_type, title, source, content]);
        Self(haft_schema::canonical::digest(&fields))
    }
}
