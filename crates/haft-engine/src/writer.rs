//! The one writer of a run's journal: records are collected, committed together, and told to surfaces when they are durable.

use std::sync::Arc;

use haft_core::event::RunEvent;
use haft_core::journal::{Batch, FileRef, Head, Payload};
use haft_core::path::{AuthorizedCall, PreparedArguments};
use haft_core::{ArtifactVersion, Committed, RunId};
use serde_json::{Map, Value};

use crate::error::EngineError;
use crate::run::EventSink;
use crate::session::SessionInner;

pub(crate) struct RunWriter {
    pub(crate) session: Arc<SessionInner>,
    pub(crate) run: RunId,
    pub(crate) events: Arc<dyn EventSink>,
    pending: Batch,
    /// What the files of each pending record say to people.
    joined: Vec<Map<String, Value>>,
    head: Option<Head>,
}

impl RunWriter {
    pub(crate) fn new(session: Arc<SessionInner>, run: RunId, events: Arc<dyn EventSink>) -> Self {
        let pending = Batch::new(run.clone());
        Self { session, run, events, pending, joined: Vec::new(), head: None }
    }

    /// Adds a record to the next commit.
    pub(crate) fn note(&mut self, payload: &Payload, joined: Map<String, Value>) -> Result<(), EngineError> {
        self.pending.record(self.session.clock().now(), payload)?;
        self.joined.push(joined);
        Ok(())
    }

    /// Adds a file to the next commit.
    pub(crate) fn file(&mut self, path: String, bytes: Vec<u8>) -> FileRef {
        self.pending.file(path, bytes)
    }

    /// The bytes of a file that waits for the next commit.
    pub(crate) fn pending_file(&self, path: &str) -> Option<&[u8]> {
        self.pending.files().iter().find(|file| file.path == path).map(|file| file.bytes.as_slice())
    }

    /// Adds the file of prepared arguments to the next commit.
    pub(crate) fn arguments_file(&mut self, path: String, arguments: &PreparedArguments) -> FileRef {
        self.pending.arguments_file(path, arguments)
    }

    /// Adds an artifact version to the next commit.
    pub(crate) fn artifact(&mut self, version: ArtifactVersion) {
        self.pending.artifact(version);
    }

    /// Adds the start of a call to the next commit.
    pub(crate) fn start(&mut self, call: &AuthorizedCall) -> Result<(), EngineError> {
        self.pending.start(self.session.clock().now(), call)?;
        self.joined.push(Map::new());
        Ok(())
    }

    /// True if there is anything to commit.
    pub(crate) fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Makes all that is pending durable, then tells the surfaces.
    pub(crate) async fn commit(&mut self) -> Result<Committed, EngineError> {
        let batch = std::mem::replace(&mut self.pending, Batch::new(self.run.clone()));
        let joined = std::mem::take(&mut self.joined);
        let committed = self.session.store().append(&self.session.lease, batch).await?;
        self.head = Some(committed.head());
        if self.events.wants_events() {
            for (record, joined) in committed.records().iter().zip(joined) {
                self.events.event(&RunEvent::of_record(record, joined));
            }
        }
        Ok(committed)
    }

    /// The end of the chain after the last commit.
    pub(crate) fn head(&self) -> Head {
        self.head.unwrap_or_else(Head::empty)
    }
}
