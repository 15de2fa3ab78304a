//! What is committed in one transaction, and the proof that it was.
//!
//! A [`Committed`] is made from a [`Batch`] alone and cannot be made elsewhere; only with one that holds its intent does an
//! [`AuthorizedCall`](crate::path::AuthorizedCall) become a [`StartedCall`](crate::path::StartedCall).

use haft_schema::Digest;

use super::chain::{Head, SealedRecord};
use super::payload::{FileRef, Payload, PayloadError, ToolCallStarted};
use crate::artifact::ArtifactVersion;
use crate::ids::{CallId, RunId};
use crate::path::{AuthorizedCall, PreparedArguments};
use crate::ports::Timestamp;

/// A record before it is sealed.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRecord {
    /// When it happened.
    pub time: Timestamp,
    /// Stored name of the kind.
    pub kind: &'static str,
    /// Canonical bytes of the payload.
    pub payload: Vec<u8>,
}

/// A create-only file of the run workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewFile {
    /// Path in the run workspace.
    pub path: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Records, files and artifact versions of one run that are stored together or not at all.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    run: RunId,
    records: Vec<NewRecord>,
    files: Vec<NewFile>,
    artifacts: Vec<ArtifactVersion>,
    started: Vec<CallId>,
}

impl Batch {
    /// An empty batch of `run`.
    pub fn new(run: RunId) -> Self {
        Self { run, records: Vec::new(), files: Vec::new(), artifacts: Vec::new(), started: Vec::new() }
    }

    /// The run.
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// True if there is nothing to store.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty() && self.files.is_empty() && self.artifacts.is_empty()
    }

    /// Adds a record. `tool_call_started` comes from [`Batch::start`] alone and is refused here.
    pub fn record(&mut self, time: Timestamp, payload: &Payload) -> Result<(), PayloadError> {
        if let Payload::ToolCallStarted(_) = payload {
            let reason = "a call is started by its authorized call alone".to_owned();
            return Err(PayloadError { kind: payload.kind().to_owned(), reason });
        }
        self.push(time, payload)
    }

    /// Adds the record that `call` starts.
    pub fn start(&mut self, time: Timestamp, call: &AuthorizedCall) -> Result<(), PayloadError> {
        let (call_id, tool_id) = (call.call_id().clone(), call.tool_id().clone());
        self.push(time, &Payload::ToolCallStarted(ToolCallStarted { call_id: call_id.clone(), tool_id }))?;
        self.started.push(call_id);
        Ok(())
    }

    /// Adds a create-only file and gives what a record says of it.
    pub fn file(&mut self, path: impl Into<String>, bytes: Vec<u8>) -> FileRef {
        let sha256 = Digest::of(&bytes);
        self.file_of(path.into(), bytes, sha256)
    }

    /// Adds the file of a call's prepared arguments: their canonical bytes, whose digest is known already.
    pub fn arguments_file(&mut self, path: String, arguments: &PreparedArguments) -> FileRef {
        self.file_of(path, arguments.canonical().to_vec(), arguments.digest())
    }

    fn file_of(&mut self, path: String, bytes: Vec<u8>, sha256: Digest) -> FileRef {
        let reference = FileRef { path: path.clone(), sha256, bytes: bytes.len() as u64 };
        self.files.push(NewFile { path, bytes });
        reference
    }

    /// Adds an artifact version.
    pub fn artifact(&mut self, version: ArtifactVersion) {
        self.artifacts.push(version);
    }

    /// Adds all of `other`, which must be of the same run, after what is here.
    pub fn join(&mut self, other: Self) {
        debug_assert_eq!(self.run, other.run);
        self.records.extend(other.records);
        self.files.extend(other.files);
        self.artifacts.extend(other.artifacts);
        self.started.extend(other.started);
    }

    /// The records, for a store.
    pub fn records(&self) -> &[NewRecord] {
        &self.records
    }

    /// The files, for a store.
    pub fn files(&self) -> &[NewFile] {
        &self.files
    }

    /// The artifact versions, for a store.
    pub fn artifacts(&self) -> &[ArtifactVersion] {
        &self.artifacts
    }

    /// Seals the records after `head`, in order: what a store writes in its transaction.
    pub fn seal(&mut self, head: Head) -> (Vec<SealedRecord>, Head) {
        let run = self.run.clone();
        let mut head = head;
        let sealed = self
            .records
            .drain(..)
            .map(|record| {
                let (sealed, next) = SealedRecord::seal(&run, head, record.time, record.kind, record.payload);
                head = next;
                sealed
            })
            .collect();
        (sealed, head)
    }

    /// The proof for the caller. A store calls it after its transaction is durable, and never before.
    pub fn committed(self, records: Vec<SealedRecord>, head: Head) -> Committed {
        Committed { run: self.run, records, head, started: self.started }
    }

    fn push(&mut self, time: Timestamp, payload: &Payload) -> Result<(), PayloadError> {
        self.records.push(NewRecord { time, kind: payload.kind(), payload: payload.to_bytes()? });
        Ok(())
    }
}

/// Proof that a batch is durable.
#[derive(Debug, PartialEq)]
pub struct Committed {
    run: RunId,
    records: Vec<SealedRecord>,
    head: Head,
    started: Vec<CallId>,
}

impl Committed {
    /// The run.
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// The records as stored.
    pub fn records(&self) -> &[SealedRecord] {
        &self.records
    }

    /// The end of the run's chain.
    pub fn head(&self) -> Head {
        self.head
    }

    /// Takes the intent of `call` out; true once for each started call, so that no intent starts two.
    pub(crate) fn take_started(&mut self, call: &CallId) -> bool {
        let found = self.started.iter().position(|id| id == call);
        found.map(|at| self.started.swap_remove(at)).is_some()
    }
}
