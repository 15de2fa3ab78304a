//! Verification: does all that is stored fit, and what was touched if not.
//!
//! It reads rows as they are and turns whatever is wrong into [`Finding`]s; it never changes anything and never fails on
//! damaged data. The algorithm is specified in `docs/spec/journal.md`. It must not trust anything but digests: derived columns
//! are compared with the records.

mod finding;
mod run;
mod source;

use std::collections::{HashMap, HashSet};

use haft_core::journal::Head;
use haft_core::ports::{StoreError, Timestamp};
use haft_core::{Digest, RunId, SessionId};
use serde::{Deserialize, Serialize};

pub use finding::{Class, Fault, Finding, Place};
pub use source::{ArtifactRow, AuditSource, Auditable, FileRow, RecordRow, Row, SessionState, UnreadableRow};

/// A head that was written down elsewhere: a run that no longer holds it was cut or changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchor {
    /// The run.
    pub run: RunId,
    /// Number of its records.
    pub next: u64,
    /// Hash of the last of them.
    pub hash: Digest,
}

/// What a run is, as far as it could be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RunState {
    /// It ended.
    Ended,
    /// It has no end, and its session is leased: somebody works on it.
    Running,
    /// It has no end, and nobody works on it.
    Open,
    /// It went with its session.
    Deleted,
}

/// One verified run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunReport {
    /// The run.
    pub run: RunId,
    /// Its session, if a row names one.
    pub session: Option<SessionId>,
    /// The end of its chain as stored.
    pub head: Head,
    /// What it is.
    pub state: RunState,
    /// What does not fit in it.
    pub findings: Vec<Finding>,
}

/// The outcome of a verification.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// The runs, oldest first.
    pub runs: Vec<RunReport>,
    /// What does not fit and belongs to no run.
    pub findings: Vec<Finding>,
}

impl Report {
    /// All findings: those of runs first, in the order of records.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.runs.iter().flat_map(|run| &run.findings).chain(&self.findings)
    }

    /// True if nothing was changed, lost or added and every run is ended or at work.
    pub fn fits(&self) -> bool {
        self.findings().all(|finding| match finding.class() {
            Class::Damage | Class::Open => false,
            Class::Loose => true,
        })
    }
}

/// Verifies one run, with its files, artifacts and blobs.
pub fn verify_run(
    store: &dyn Auditable,
    run: &RunId,
    anchors: &[Anchor],
    now: Timestamp,
) -> Result<Report, StoreError> {
    let source = &*store.audit()?;
    let sessions = Sessions::read(source, now)?;
    let mut blobs = Blobs::default();
    let checked = run::check(source, run, anchors, &sessions, &mut blobs)?;
    Ok(Report { runs: vec![checked], findings: Vec::new() })
}

/// Verifies everything in the store.
///
/// ```
/// use haft_core::Timestamp;
/// use haft_store::{MemoryStore, verify};
/// let report = verify::verify_store(&MemoryStore::new(), &[], Timestamp(0))?;
/// assert!(report.fits() && report.runs.is_empty());
/// # Ok::<(), haft_core::ports::StoreError>(())
/// ```
pub fn verify_store(store: &dyn Auditable, anchors: &[Anchor], now: Timestamp) -> Result<Report, StoreError> {
    let source = &*store.audit()?;
    let mut report = Report::default();
    let whole = |fault| Finding { run: None, place: Place::Medium, fault };
    report.findings.extend(source.medium()?.into_iter().map(|line| whole(Fault::Unreadable(line))));
    let mut sessions = Sessions::read(source, now)?;
    let mut blobs = Blobs::default();
    let mut seen = HashSet::new();
    for run in source.run_ids()? {
        match run {
            Ok(run) => {
                report.runs.push(run::check(source, &run, anchors, &sessions, &mut blobs)?);
                seen.insert(run);
            }
            Err(row) => report.findings.push(unreadable(None, row)),
        }
    }
    for anchor in anchors.iter().filter(|anchor| !seen.contains(&anchor.run)) {
        report.findings.push(Finding::of_run(&anchor.run, Place::Run, Fault::Missing));
    }
    report.findings.append(&mut sessions.findings);
    for name in source.blob_names()? {
        match name {
            Ok(digest) => report.findings.extend(blobs.loose(source, digest)?),
            Err(row) => report.findings.push(unreadable(None, row)),
        }
    }
    Ok(report)
}

/// The heads of all runs, to be written down elsewhere. Runs whose last record cannot be read are left out.
pub fn anchor(store: &dyn Auditable) -> Result<Vec<Anchor>, StoreError> {
    let source = &*store.audit()?;
    let mut anchors = Vec::new();
    for run in source.run_ids()?.into_iter().flatten() {
        if let Some(Ok(last)) = source.record_rows(&run)?.pop() {
            anchors.push(Anchor { run, next: last.record.seq.saturating_add(1), hash: last.record.hash });
        }
    }
    Ok(anchors)
}

fn unreadable(run: Option<RunId>, row: UnreadableRow) -> Finding {
    Finding { run, place: Place::Row(row.place), fault: Fault::Unreadable(row.reason) }
}

/// The sessions, by id, and the rows that could not be read.
struct Sessions {
    states: HashMap<SessionId, SessionState>,
    findings: Vec<Finding>,
}

impl Sessions {
    fn read(source: &dyn AuditSource, now: Timestamp) -> Result<Self, StoreError> {
        let mut sessions = Self { states: HashMap::new(), findings: Vec::new() };
        for row in source.session_states(now)? {
            match row {
                Ok(state) => drop(sessions.states.insert(state.id.clone(), state)),
                Err(row) => sessions.findings.push(unreadable(None, row)),
            }
        }
        Ok(sessions)
    }

    /// What does not fit between a session and what one of its runs says of it.
    fn compare(&self, run: &RunId, session: &SessionId, deleted: bool) -> Option<Finding> {
        let fault = match self.states.get(session) {
            None => Fault::Missing,
            Some(state) if state.deleted != deleted => Fault::DeletionMismatch,
            Some(_) => return None,
        };
        Some(Finding::of_run(run, Place::Session(session.clone()), fault))
    }

    fn is_leased(&self, session: &SessionId) -> bool {
        self.states.get(session).is_some_and(|state| state.leased)
    }
}

/// What is known of blobs, so that each is read once.
#[derive(Default)]
struct Blobs {
    checked: HashMap<Digest, Option<Fault>>,
}

impl Blobs {
    /// What is wrong with a blob that a record names.
    fn check(&mut self, source: &dyn AuditSource, digest: Digest) -> Result<Option<Fault>, StoreError> {
        if let Some(known) = self.checked.get(&digest) {
            return Ok(known.clone());
        }
        let fault = match source.blob_bytes(&digest)? {
            None => Some(Fault::Missing),
            Some(bytes) if Digest::of(&bytes) != digest => Some(Fault::Changed),
            Some(_) => None,
        };
        self.checked.insert(digest, fault.clone());
        Ok(fault)
    }

    /// What is wrong with a blob that no record named so far.
    fn loose(&mut self, source: &dyn AuditSource, digest: Digest) -> Result<Vec<Finding>, StoreError> {
        if self.checked.contains_key(&digest) {
            return Ok(Vec::new());
        }
        let finding = |fault| Finding { run: None, place: Place::Blob(digest), fault };
        let fault = self.check(source, digest)?;
        Ok(fault.into_iter().chain([Fault::Unspoken]).map(finding).collect())
    }
}
