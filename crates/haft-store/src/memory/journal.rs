//! Journals, run workspaces and artifact versions in memory.

use std::collections::{BTreeMap, HashSet};

use haft_core::journal::{Batch, Committed, Head};
use haft_core::ports::{
    ArtifactRows, AuditFile, BoxFuture, JournalRows, Lease, RedactionError, RunRow, StoreError, Timestamp,
};
use haft_core::{ArtifactVersion, RunId, SealedRecord, SessionId};

use super::{MemoryStore, RunState, State, StoredArtifact};
use crate::lease;
use crate::rows::{exists_artifact, exists_file, foreign_run, latest, touches_session};

impl JournalRows for MemoryStore {
    fn append<'a>(&'a self, lease: &'a Lease, batch: Batch) -> BoxFuture<'a, Result<Committed, StoreError>> {
        Box::pin(async move { self.state().append(lease, batch) })
    }

    fn records<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Vec<SealedRecord>, StoreError>> {
        Box::pin(async move {
            Ok(self.state().journals.get(run).map(|run| run.records.clone()).unwrap_or_default())
        })
    }

    fn first_records<'a>(
        &'a self,
        run: &'a RunId,
        most: u32,
    ) -> BoxFuture<'a, Result<Vec<SealedRecord>, StoreError>> {
        Box::pin(async move {
            let state = self.state();
            let records = state.journals.get(run).map(|run| run.records.iter()).into_iter().flatten();
            Ok(records.take(most as usize).cloned().collect())
        })
    }

    fn runs<'a>(&'a self, session: Option<&'a SessionId>) -> BoxFuture<'a, Result<Vec<RunRow>, StoreError>> {
        Box::pin(async move {
            let state = self.state();
            let rows = state.runs.iter().filter_map(|id| {
                let run = state.journals.get(id)?;
                Some(RunRow {
                    id: id.clone(),
                    session: run.session.clone(),
                    started: run.records.first()?.time,
                    head: run.head(),
                    ended: run.records.iter().any(|record| record.kind == "run_ended"),
                })
            });
            Ok(rows.filter(|row| session.is_none_or(|session| row.session == *session)).collect())
        })
    }

    fn file<'a>(
        &'a self,
        run: &'a RunId,
        path: &'a str,
    ) -> BoxFuture<'a, Result<Option<AuditFile>, StoreError>> {
        Box::pin(async move {
            let state = self.state();
            let bytes = state.journals.get(run).and_then(|run| run.files.get(path));
            Ok(bytes.map(|bytes| AuditFile { path: path.to_owned(), bytes: bytes.clone() }))
        })
    }

    fn files<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Vec<AuditFile>, StoreError>> {
        Box::pin(async move {
            let state = self.state();
            let files = state.journals.get(run).map(|run| run.files.iter()).into_iter().flatten();
            Ok(files.map(|(path, bytes)| AuditFile { path: path.clone(), bytes: bytes.clone() }).collect())
        })
    }

    fn redact<'a>(
        &'a self,
        lease: &'a Lease,
        run: &'a RunId,
        seq: u64,
        reason: &'a str,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<(), RedactionError>> {
        Box::pin(async move { self.state().redact(lease, run, seq, reason, now) })
    }
}

impl ArtifactRows for MemoryStore {
    fn artifacts<'a>(
        &'a self,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Vec<ArtifactVersion>, StoreError>> {
        Box::pin(async move {
            let state = self.state();
            let stored = state.artifacts.get(session).map(BTreeMap::values).into_iter().flatten();
            Ok(stored.map(|artifact| artifact.version.clone()).collect())
        })
    }
}

impl RunState {
    fn head(&self) -> Head {
        self.records
            .last()
            .map_or(Head::empty(), |last| Head { next: last.seq.saturating_add(1), hash: last.hash })
    }
}

impl State {
    /// Checks all that could refuse the batch, then stores it whole.
    pub(super) fn append(&mut self, lease: &Lease, mut batch: Batch) -> Result<Committed, StoreError> {
        let holder = self.fenced(lease)?;
        let until = latest(&batch).and_then(|time| lease::renewed_by_append(holder, time));
        let run = batch.run().clone();
        let journal = self.journals.get(&run);
        if journal.is_some_and(|journal| journal.session != lease.session) {
            return Err(foreign_run(&run));
        }
        let mut new = HashSet::new();
        for file in batch.files() {
            if journal.is_some_and(|journal| journal.files.contains_key(&file.path))
                || !new.insert(&file.path)
            {
                return Err(exists_file(&run, &file.path));
            }
        }
        let mut versions = HashSet::new();
        for version in batch.artifacts() {
            let key = (version.id.clone(), version.version);
            let is_there = self.artifacts.get(&lease.session).is_some_and(|stored| stored.contains_key(&key));
            if is_there || !versions.insert(key) {
                return Err(exists_artifact(version));
            }
        }
        let (time, touched) = (latest(&batch), touches_session(&batch));
        for version in batch.artifacts() {
            let key = (version.id.clone(), version.version);
            let stored = StoredArtifact { run: run.clone(), version: version.clone(), is_taken: false };
            self.artifacts.entry(lease.session.clone()).or_default().insert(key, stored);
        }
        if journal.is_none() {
            self.runs.push(run.clone());
        }
        let journal = self.journals.entry(run).or_insert_with(|| RunState {
            session: lease.session.clone(),
            records: Vec::new(),
            files: BTreeMap::new(),
        });
        let files = batch.files().iter().map(|file| (file.path.clone(), Some(file.bytes.clone())));
        journal.files.extend(files);
        let (records, head) = batch.seal(journal.head());
        journal.records.extend(records.iter().cloned());
        if let Some(until) = until {
            self.set_until(&lease.session, until);
        }
        if let Some(time) = time.filter(|_| touched) {
            self.touch(&lease.session, time, false);
        }
        Ok(batch.committed(records, head))
    }
}
