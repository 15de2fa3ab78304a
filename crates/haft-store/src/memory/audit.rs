//! What verification reads of a store in memory.

use std::sync::MutexGuard;

use haft_core::ports::{StoreError, Timestamp};
use haft_core::{Digest, RunId};

use super::{MemoryStore, State, StoredArtifact};
use crate::verify::{
    ArtifactRow, AuditSource, Auditable, FileRow, RecordRow, Row, SessionState, UnreadableRow,
};

impl Auditable for MemoryStore {
    fn audit(&self) -> Result<Box<dyn AuditSource + '_>, StoreError> {
        Ok(Box::new(Locked(self.state())))
    }
}

/// The state, held still.
struct Locked<'a>(MutexGuard<'a, State>);

impl AuditSource for Locked<'_> {
    fn medium(&self) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }

    fn run_ids(&self) -> Result<Vec<Row<RunId>>, StoreError> {
        Ok(self.0.runs.iter().cloned().map(Ok).collect())
    }

    fn record_rows(&self, run: &RunId) -> Result<Vec<Row<RecordRow>>, StoreError> {
        let state = &self.0;
        let rows = state.journals.get(run).into_iter().flat_map(|journal| {
            let session = &journal.session;
            journal
                .records
                .iter()
                .map(|record| RecordRow { session: session.clone(), record: record.clone() })
        });
        Ok(rows.map(Ok).collect())
    }

    fn file_rows(&self, run: &RunId) -> Result<Vec<Row<FileRow>>, StoreError> {
        let state = &self.0;
        let files = state.journals.get(run).into_iter().flat_map(|journal| &journal.files);
        let rows = files.map(|(path, bytes)| FileRow {
            path: path.clone(),
            bytes: bytes.clone(),
            digest: bytes.as_deref().map(Digest::of),
        });
        Ok(rows.map(Ok).collect())
    }

    fn artifact_rows(&self, run: &RunId) -> Result<Vec<Row<ArtifactRow>>, StoreError> {
        let state = &self.0;
        let Some(session) = state.journals.get(run).map(|journal| &journal.session) else {
            return Ok(Vec::new());
        };
        let stored = state.artifacts.get(session).into_iter().flat_map(std::collections::BTreeMap::values);
        let rows = stored.filter(|artifact| artifact.run == *run).map(
            |StoredArtifact { version, is_taken, .. }| {
                let digest =
                    (!is_taken).then(|| version.digest()).transpose().map_err(|error| UnreadableRow {
                        place: format!("artifact {}@{}", version.id, version.version),
                        reason: error.to_string(),
                    })?;
                let (session, id) = (session.clone(), version.id.clone());
                Ok(ArtifactRow { session, id, version: version.version, digest })
            },
        );
        Ok(rows.collect())
    }

    fn session_states(&self, now: Timestamp) -> Result<Vec<Row<SessionState>>, StoreError> {
        let state = &self.0;
        let rows = state.sessions.values().map(|session| {
            let holder = state.leases.get(&session.id).and_then(|row| row.holder.as_ref());
            let leased = holder.is_some_and(|holder| now < holder.until);
            SessionState { id: session.id.clone(), deleted: session.deleted, leased }
        });
        Ok(rows.map(Ok).collect())
    }

    fn blob_names(&self) -> Result<Vec<Row<Digest>>, StoreError> {
        Ok(self.0.blobs.keys().copied().map(Ok).collect())
    }

    fn blob_bytes(&self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.0.blobs.get(digest).cloned())
    }
}
