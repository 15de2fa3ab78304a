//! What both stores agree on about rows: their messages, and what is read from batches.

use haft_core::journal::Batch;
use haft_core::ports::{StoreError, Timestamp};
use haft_core::{ArtifactVersion, RunId};

#[cfg(feature = "sqlite")]
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
#[cfg(feature = "sqlite")]
pub(crate) fn readable<T>(run: &RunId, row: Row<T>) -> Result<T, StoreError> {
    row.map_err(|row| StoreError::Damaged { what: format!("run {run}, {}: {}", row.place, row.reason) })
}
