//! Taking payloads away in memory.

use std::collections::BTreeSet;

use haft_core::ports::{Lease, RedactionError, StoreError, Timestamp};
use haft_core::{Digest, Payload, RunId, SealedRecord};

use super::State;
use crate::removal;
use crate::rows::TAKEN_TITLE;

impl State {
    pub(super) fn redact(
        &mut self,
        lease: &Lease,
        run: &RunId,
        seq: u64,
        reason: &str,
        now: Timestamp,
    ) -> Result<(), RedactionError> {
        self.fenced(lease)?;
        let journal = self.journals.get_mut(run).filter(|journal| journal.session == lease.session);
        let found = journal.and_then(|journal| {
            let record = journal.records.iter_mut().find(|record| record.seq == seq)?;
            Some((record, &mut journal.files))
        });
        let Some((record, files)) = found else {
            let what = format!("record {seq} in run {run} of session {}", lease.session);
            return Err(StoreError::Missing { what }.into());
        };
        let belongings = removal::of_record(record)?;
        record.payload = None;
        for path in &belongings.files {
            if let Some(bytes) = files.get_mut(path) {
                *bytes = None;
            }
        }
        let mut artifacts = self.artifacts.get_mut(&lease.session);
        for key in &belongings.artifacts {
            if let Some(artifact) = artifacts.as_mut().and_then(|stored| stored.get_mut(key)) {
                artifact.take();
            }
        }
        self.append(lease, removal::redaction_batch(run, seq, &belongings, reason, now)?)?;
        self.forget(belongings.blobs.into_iter().collect());
        self.touch(&lease.session, now, false);
        Ok(())
    }

    pub(super) fn delete(&mut self, lease: &Lease, now: Timestamp) -> Result<(), StoreError> {
        self.fenced(lease)?;
        let mut named = BTreeSet::new();
        for run in self.runs.clone() {
            let journal = self.journals.get_mut(&run).filter(|journal| journal.session == lease.session);
            let Some(journal) = journal else { continue };
            for record in &mut journal.records {
                named.extend(blobs_of(record));
                record.payload = None;
            }
            journal.files.values_mut().for_each(|bytes| *bytes = None);
            self.append(lease, removal::deletion_batch(&run, &lease.session, now)?)?;
        }
        if let Some(artifacts) = self.artifacts.get_mut(&lease.session) {
            artifacts.values_mut().for_each(super::StoredArtifact::take);
        }
        self.release(lease);
        self.touch(&lease.session, now, true);
        self.forget(named);
        Ok(())
    }

    /// Drops those of `blobs` that no payload names any more.
    fn forget(&mut self, mut blobs: BTreeSet<Digest>) {
        if blobs.is_empty() {
            return;
        }
        for record in self.journals.values().flat_map(|journal| &journal.records) {
            for digest in blobs_of(record) {
                blobs.remove(&digest);
            }
        }
        self.blobs.retain(|digest, _| !blobs.contains(digest));
    }
}

impl super::StoredArtifact {
    fn take(&mut self) {
        self.version.content.clear();
        TAKEN_TITLE.clone_into(&mut self.version.title);
        self.is_taken = true;
    }
}

fn blobs_of(record: &SealedRecord) -> Vec<Digest> {
    let Some(payload) = record.payload.as_deref().filter(|_| removal::may_name_blobs(&record.kind)) else {
        return Vec::new();
    };
    Payload::read(&record.kind, payload).map(|payload| payload.blobs()).unwrap_or_default()
}
