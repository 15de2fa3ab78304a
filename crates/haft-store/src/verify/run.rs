//! Verification of one run: its chain, what its records speak of, what was taken away, its calls and its place in the session.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use haft_core::journal::{FORMAT_VERSION, FileRef, Head};
use haft_core::ports::StoreError;
use haft_core::{CallId, Digest, Payload, RunId, SealedRecord, SessionId};

use super::finding::{Fault, Finding, Place};
use super::source::{AuditSource, RecordRow};
use super::{Anchor, Blobs, RunReport, RunState, Sessions, unreadable};

/// Checks a run from its rows alone.
pub(super) fn check(
    source: &dyn AuditSource,
    run: &RunId,
    anchors: &[Anchor],
    sessions: &Sessions,
    blobs: &mut Blobs,
) -> Result<RunReport, StoreError> {
    let mut check = RunCheck { run, findings: Vec::new() };
    let mut rows = Vec::new();
    for row in source.record_rows(run)? {
        match row {
            Ok(row) => rows.push(row),
            Err(row) => check.findings.push(unreadable(Some(run.clone()), row)),
        }
    }
    if rows.is_empty() {
        check.add(Place::Run, Fault::Missing);
    }
    check.chain(&rows);
    let payloads = check.payloads(&rows);
    let removals = Removals::read(&payloads);
    check.gone_payloads(&rows, &removals);
    check.order(&rows);
    check.calls(&rows, &payloads, &removals);
    check.anchors(&rows, anchors);

    let session = check.session(&rows, &payloads);
    let spoken = Spoken::collect(&payloads);
    check.files(source, &spoken, &removals)?;
    check.artifacts(source, session.as_ref(), &spoken, &removals)?;
    for digest in &spoken.blobs {
        if let Some(fault) = blobs.check(source, *digest)? {
            check.add(Place::Blob(*digest), fault);
        }
    }
    check.predecessor(source, session.as_ref(), &payloads)?;

    let deleted = removals.deleted_at.is_some();
    if let Some(session) = &session {
        check.findings.extend(sessions.compare(run, session, deleted));
    }
    let ended = rows.iter().any(|row| row.record.kind == "run_ended");
    let state = match (deleted, ended) {
        (true, _) => RunState::Deleted,
        (false, true) => RunState::Ended,
        (false, false) if session.as_ref().is_some_and(|id| sessions.is_leased(id)) => RunState::Running,
        (false, false) => RunState::Open,
    };
    if state == RunState::Open && !rows.is_empty() {
        check.add(Place::Run, Fault::NotEnded);
    }
    let head = rows
        .last()
        .map_or(Head::empty(), |row| Head { next: row.record.seq.saturating_add(1), hash: row.record.hash });
    Ok(RunReport { run: run.clone(), session, head, state, findings: check.findings })
}

/// What later records say was taken away.
#[derive(Default)]
struct Removals {
    /// Redacted record to the record that says so.
    payloads: HashMap<u64, u64>,
    /// Paths of files.
    files: HashSet<String>,
    /// Artifact versions.
    artifacts: HashSet<(String, u32)>,
    /// The record that says that everything before it is gone.
    deleted_at: Option<u64>,
}

impl Removals {
    fn read(payloads: &[(u64, Payload)]) -> Self {
        let mut removals = Self::default();
        for (seq, payload) in payloads {
            match payload {
                Payload::PayloadRedacted(body) if body.seq < *seq => {
                    removals.payloads.insert(body.seq, *seq);
                    removals.files.extend(body.files.iter().cloned());
                    removals.artifacts.extend(body.artifacts.iter().cloned());
                }
                Payload::SessionDeleted(_) => removals.deleted_at = Some(*seq),
                _ => {}
            }
        }
        removals
    }

    fn covers_payload(&self, seq: u64) -> bool {
        self.payloads.contains_key(&seq) || self.deleted_at.is_some_and(|deleted| seq < deleted)
    }

    fn covers_file(&self, path: &str) -> bool {
        self.deleted_at.is_some() || self.files.contains(path)
    }

    fn covers_artifact(&self, version: &(String, u32)) -> bool {
        self.deleted_at.is_some() || self.artifacts.contains(version)
    }
}

/// What the readable payloads speak of.
#[derive(Default)]
struct Spoken<'a> {
    files: BTreeMap<&'a str, &'a FileRef>,
    artifacts: BTreeMap<(String, u32), Digest>,
    blobs: BTreeSet<Digest>,
}

impl<'a> Spoken<'a> {
    fn collect(payloads: &'a [(u64, Payload)]) -> Self {
        let mut spoken = Self::default();
        for (_, payload) in payloads {
            spoken.files.extend(payload.files().into_iter().map(|file| (file.path.as_str(), file)));
            if let Payload::ToolCallCompleted(body) = payload {
                let made = body.artifacts.iter().map(|made| ((made.id.clone(), made.version), made.sha256));
                spoken.artifacts.extend(made);
            }
            spoken.blobs.extend(payload.blobs());
        }
        spoken
    }
}

struct RunCheck<'a> {
    run: &'a RunId,
    findings: Vec<Finding>,
}

impl RunCheck<'_> {
    fn add(&mut self, place: Place, fault: Fault) {
        self.findings.push(Finding::of_run(self.run, place, fault));
    }

    /// Order, format and hashes; only the first break of the chain is told, since all after it hangs on it.
    fn chain(&mut self, rows: &[RecordRow]) {
        let mut head = Head::empty();
        for RecordRow { record, .. } in rows {
            if record.version != FORMAT_VERSION {
                return self.add(place(record), Fault::UnknownFormat(record.version));
            }
            if record.seq != head.next {
                return self.add(Place::Record { seq: head.next, kind: String::new() }, Fault::Missing);
            }
            if record.previous != head.hash || record.computed_hash() != record.hash {
                return self.add(place(record), Fault::Unchained);
            }
            head = Head { next: record.seq.saturating_add(1), hash: record.hash };
        }
    }

    /// Payloads with the right bytes, read.
    fn payloads(&mut self, rows: &[RecordRow]) -> Vec<(u64, Payload)> {
        let mut payloads = Vec::new();
        for RecordRow { record, .. } in rows {
            let Some(bytes) = &record.payload else { continue };
            if Digest::of(bytes) != record.payload_digest {
                self.add(place(record), Fault::Changed);
                continue;
            }
            match Payload::read(&record.kind, bytes) {
                Ok(payload) => payloads.push((record.seq, payload)),
                Err(error) => self.add(place(record), Fault::Unreadable(error.reason)),
            }
        }
        payloads
    }

    fn gone_payloads(&mut self, rows: &[RecordRow], removals: &Removals) {
        for RecordRow { record, .. } in rows {
            let covered = removals.covers_payload(record.seq);
            match &record.payload {
                None if !covered => self.add(place(record), Fault::GoneUndeclared),
                Some(_) if covered => self.add(place(record), Fault::StillThere),
                None | Some(_) => {}
            }
        }
    }

    /// A run begins with `run_started`, and after `run_ended` only removals come.
    fn order(&mut self, rows: &[RecordRow]) {
        if let Some(first) = rows.first().filter(|row| row.record.kind != "run_started") {
            self.add(place(&first.record), Fault::NoBeginning);
        }
        let after = rows.iter().skip_while(|row| row.record.kind != "run_ended").skip(1);
        for row in after {
            if !matches!(row.record.kind.as_str(), "payload_redacted" | "session_deleted") {
                self.add(place(&row.record), Fault::AfterEnd);
            }
        }
    }

    /// Whatever was started has one end when the run has one. Ends whose payloads are gone count for any call.
    fn calls(&mut self, rows: &[RecordRow], payloads: &[(u64, Payload)], removals: &Removals) {
        let mut started: Vec<(u64, &CallId)> = Vec::new();
        let mut ended = HashSet::new();
        for (seq, payload) in payloads {
            match payload {
                Payload::ToolCallStarted(body) => started.push((*seq, &body.call_id)),
                Payload::ToolCallCompleted(_) | Payload::ToolCallFailed(_) => {
                    let Some(call) = payload.call_id() else { continue };
                    if !ended.insert(call) {
                        let place = Place::Record { seq: *seq, kind: payload.kind().to_owned() };
                        self.add(place, Fault::CallEndedAgain(call.clone()));
                    }
                }
                _ => {}
            }
        }
        let is_end = |kind: &str| matches!(kind, "tool_call_completed" | "tool_call_failed");
        let unknown_ends = rows
            .iter()
            .filter(|row| row.record.payload.is_none() && is_end(&row.record.kind))
            .filter(|row| removals.covers_payload(row.record.seq))
            .count();
        if rows.iter().any(|row| row.record.kind == "run_ended") {
            let open: Vec<_> = started.into_iter().filter(|(_, call)| !ended.contains(call)).collect();
            for (seq, call) in open.into_iter().skip(unknown_ends) {
                let place = Place::Record { seq, kind: "tool_call_started".to_owned() };
                self.add(place, Fault::CallNeverEnded(call.clone()));
            }
        }
    }

    fn anchors(&mut self, rows: &[RecordRow], anchors: &[Anchor]) {
        for anchor in anchors.iter().filter(|anchor| anchor.run == *self.run) {
            let Some(seq) = anchor.next.checked_sub(1) else { continue };
            let found = rows.iter().find(|row| row.record.seq == seq);
            if found.is_none_or(|row| row.record.hash != anchor.hash) {
                let kind = found.map_or(String::new(), |row| row.record.kind.clone());
                self.add(Place::Record { seq, kind }, Fault::AnchorMissed);
            }
        }
    }

    /// The session: what the records say, else what the first row says; every row must name it.
    fn session(&mut self, rows: &[RecordRow], payloads: &[(u64, Payload)]) -> Option<SessionId> {
        let recorded = payloads.iter().find_map(|(_, payload)| match payload {
            Payload::RunStarted(body) => Some(body.session.clone()),
            Payload::ContextAssembled(body) => Some(body.session.clone()),
            Payload::SessionDeleted(body) => Some(body.session.clone()),
            _ => None,
        });
        let session = recorded.or_else(|| rows.first().map(|row| row.session.clone()))?;
        for row in rows.iter().filter(|row| row.session != session) {
            self.add(place(&row.record), Fault::ForeignSession(row.session.clone()));
        }
        Some(session)
    }

    fn files(
        &mut self,
        source: &dyn AuditSource,
        spoken: &Spoken<'_>,
        removals: &Removals,
    ) -> Result<(), StoreError> {
        let mut missing = spoken.files.clone();
        for row in source.file_rows(self.run)? {
            let row = match row {
                Ok(row) => row,
                Err(row) => {
                    self.findings.push(unreadable(Some(self.run.clone()), row));
                    continue;
                }
            };
            let place = || Place::File(row.path.clone());
            let reference = missing.remove(row.path.as_str());
            let removed = removals.covers_file(&row.path);
            match (&row.bytes, reference) {
                (None, _) if removed => {}
                (None, _) => self.add(place(), Fault::GoneUndeclared),
                (Some(_), _) if removed => self.add(place(), Fault::StillThere),
                (Some(_), None) => self.add(place(), Fault::Unspoken),
                (Some(bytes), Some(reference)) => {
                    let fits = reference.bytes == bytes.len() as u64
                        && Digest::of(bytes) == reference.sha256
                        && row.digest == Some(reference.sha256);
                    if !fits {
                        self.add(place(), Fault::Changed);
                    }
                }
            }
        }
        for path in missing.into_keys() {
            self.add(Place::File(path.to_owned()), Fault::Missing);
        }
        Ok(())
    }

    fn artifacts(
        &mut self,
        source: &dyn AuditSource,
        session: Option<&SessionId>,
        spoken: &Spoken<'_>,
        removals: &Removals,
    ) -> Result<(), StoreError> {
        let mut missing = spoken.artifacts.clone();
        for row in source.artifact_rows(self.run)? {
            let row = match row {
                Ok(row) => row,
                Err(row) => {
                    self.findings.push(unreadable(Some(self.run.clone()), row));
                    continue;
                }
            };
            let place = || Place::Artifact { id: row.id.clone(), version: row.version };
            if session.is_some_and(|session| *session != row.session) {
                self.add(place(), Fault::ForeignSession(row.session.clone()));
            }
            let version = (row.id.clone(), row.version);
            let recorded = missing.remove(&version);
            let removed = removals.covers_artifact(&version);
            match (row.digest, recorded) {
                (None, _) if removed => {}
                (None, _) => self.add(place(), Fault::GoneUndeclared),
                (Some(_), _) if removed => self.add(place(), Fault::StillThere),
                (Some(_), None) => self.add(place(), Fault::Unspoken),
                (Some(stored), Some(recorded)) => {
                    if stored != recorded {
                        self.add(place(), Fault::Changed);
                    }
                }
            }
        }
        for (id, version) in missing.into_keys() {
            self.add(Place::Artifact { id, version }, Fault::Missing);
        }
        Ok(())
    }

    /// The run before this one must be there with the hash that `context_assembled` names, so that a run that is gone is missed.
    fn predecessor(
        &mut self,
        source: &dyn AuditSource,
        session: Option<&SessionId>,
        payloads: &[(u64, Payload)],
    ) -> Result<(), StoreError> {
        let named = payloads.iter().find_map(|(seq, payload)| match payload {
            Payload::ContextAssembled(body) => body.previous_run.as_ref().map(|previous| (*seq, previous)),
            _ => None,
        });
        let Some((seq, (previous, hash))) = named else { return Ok(()) };
        let rows = source.record_rows(previous)?;
        let holds =
            rows.iter().flatten().any(|row| row.record.hash == *hash && Some(&row.session) == session);
        if !holds {
            let place = Place::Record { seq, kind: "context_assembled".to_owned() };
            self.add(place, Fault::LostPredecessor(previous.clone()));
        }
        Ok(())
    }
}

fn place(record: &SealedRecord) -> Place {
    Place::Record { seq: record.seq, kind: record.kind.clone() }
}
