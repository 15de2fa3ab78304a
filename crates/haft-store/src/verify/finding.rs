//! What verification finds, as values with a text for people.

use std::fmt;

use haft_core::{CallId, Digest, RunId, SessionId};

/// One thing that does not fit.
///
/// ```
/// use haft_core::RunId;
/// use haft_store::verify::{Class, Fault, Finding, Place};
/// let finding = Finding {
///     run: Some(RunId::new("r_1")),
///     place: Place::File("tool-args/call_1.json".into()),
///     fault: Fault::Changed,
/// };
/// assert_eq!(finding.to_string(), "run r_1, file tool-args/call_1.json: it was changed");
/// assert_eq!(finding.class(), Class::Damage);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The run; none where the thing belongs to no run.
    pub run: Option<RunId>,
    /// Where.
    pub place: Place,
    /// What.
    pub fault: Fault,
}

/// Where something does not fit.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Place {
    /// The storage engine's own pages.
    Medium,
    /// A whole run.
    Run,
    /// A session.
    Session(SessionId),
    /// A record of the run.
    Record {
        /// Its number.
        seq: u64,
        /// Its kind; empty if it is not there.
        kind: String,
    },
    /// A file of the run workspace.
    File(String),
    /// An artifact version.
    Artifact {
        /// Its id.
        id: String,
        /// Its version.
        version: u32,
    },
    /// A blob.
    Blob(Digest),
    /// A row that cannot be read.
    Row(String),
}

/// What does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// It is not there.
    Missing,
    /// Its bytes are not those whose digest was recorded.
    Changed,
    /// A record whose hash does not fit its fields and the record before.
    Unchained,
    /// A record of an unknown format.
    UnknownFormat(u32),
    /// It cannot be read.
    Unreadable(String),
    /// It names another session than the run's records.
    ForeignSession(SessionId),
    /// It was taken away, and no later record says so.
    GoneUndeclared,
    /// A record says that it was taken away, and it is still there.
    StillThere,
    /// No record speaks of it.
    Unspoken,
    /// The run does not begin with `run_started`.
    NoBeginning,
    /// A call was started, and the run ended without an end of the call.
    CallNeverEnded(CallId),
    /// A call has a second end.
    CallEndedAgain(CallId),
    /// A record other than a removal stands after `run_ended`.
    AfterEnd,
    /// The run has no end and nobody works on it.
    NotEnded,
    /// The run names one before it that is not there, or not with that hash.
    LostPredecessor(RunId),
    /// Its mark of deletion and the records of its runs say different things.
    DeletionMismatch,
    /// An anchor names this record with another hash, or the record is not there.
    AnchorMissed,
}

/// How much a finding weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// Something was changed, lost or added.
    Damage,
    /// A run without an end: still running elsewhere, crashed, or its tail was cut. It counts as not fitting.
    Open,
    /// A blob that no record speaks of: a process died before its record, or somebody added it. Harmless: it counts as fitting.
    Loose,
}

impl Finding {
    pub(crate) fn of_run(run: &RunId, place: Place, fault: Fault) -> Self {
        Self { run: Some(run.clone()), place, fault }
    }

    /// How much it weighs.
    pub fn class(&self) -> Class {
        match (&self.place, &self.fault) {
            (_, Fault::NotEnded) => Class::Open,
            (Place::Blob(_), Fault::Unspoken) => Class::Loose,
            _ => Class::Damage,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Medium => f.write_str("the database"),
            Self::Run => f.write_str("the whole run"),
            Self::Session(id) => write!(f, "session {id}"),
            Self::Record { seq, kind } if kind.is_empty() => write!(f, "record {seq}"),
            Self::Record { seq, kind } => write!(f, "record {seq} ({kind})"),
            Self::File(path) => write!(f, "file {path}"),
            Self::Artifact { id, version } => write!(f, "artifact {id}@{version}"),
            Self::Blob(digest) => write!(f, "blob {digest}"),
            Self::Row(place) => f.write_str(place),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("it is missing"),
            Self::Changed => f.write_str("it was changed"),
            Self::Unchained => f.write_str("its hash does not fit its fields and the record before"),
            Self::UnknownFormat(version) => {
                write!(f, "it has format {version}, which this Haft does not know; use a newer one")
            }
            Self::Unreadable(reason) => write!(f, "it cannot be read: {reason}"),
            Self::ForeignSession(session) => {
                write!(f, "its row names the session {session}, the run's records another")
            }
            Self::GoneUndeclared => {
                f.write_str("its content is gone, and no later record says that it was taken away")
            }
            Self::StillThere => f.write_str("a record says that it was taken away, and it is still there"),
            Self::Unspoken => f.write_str("no record speaks of it"),
            Self::NoBeginning => f.write_str("the run should begin with run_started"),
            Self::CallNeverEnded(call) => {
                write!(f, "it starts the call {call}, which has no end although the run ended")
            }
            Self::CallEndedAgain(call) => write!(f, "it ends the call {call} a second time"),
            Self::AfterEnd => f.write_str("it stands after the end of the run"),
            Self::NotEnded => {
                f.write_str("not ended: it is still running elsewhere, its process died, or its tail was cut")
            }
            Self::LostPredecessor(previous) => {
                write!(f, "it follows the run {previous}, which is not there or was cut or changed")
            }
            Self::DeletionMismatch => {
                f.write_str("its mark of deletion and the records of its runs say different things")
            }
            Self::AnchorMissed => {
                f.write_str("the anchor names another hash: the record was changed or its tail was cut")
            }
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.run, &self.place) {
            (Some(run), Place::Run) => write!(f, "run {run}: {}", self.fault),
            (Some(run), place) => write!(f, "run {run}, {place}: {}", self.fault),
            (None, place) => write!(f, "{place}: {}", self.fault),
        }
    }
}
