//! The writers of a run's journal: each invocation collects its records, commits them together, and tells surfaces of them when
//! they are durable. Invocations of one run take turns at the commit, so that the order of commits is that of the chain and of
//! what surfaces hear.
//!
//! Secrets are masked here, before anything is hashed: what is committed is what surfaces see and what is verified.

use std::sync::Arc;

use haft_core::consent::Closing;
use haft_core::event::RunEvent;
use haft_core::journal::{Batch, ConsentClosed, FileRef, Head, Payload};
use haft_core::mask::{Mask, View, secret_argument};
use haft_core::path::{AuthorizedCall, PreparedArguments};
use haft_core::{ArtifactVersion, Committed, Digest, Question, RunId};
use haft_schema::canonical;
use serde_json::{Map, Value};

use crate::error::EngineError;
use crate::run::EventSink;
use crate::session::SessionInner;

/// The journal of one run, which all its invocations write.
pub(crate) struct RunJournal {
    session: Arc<SessionInner>,
    pub(crate) run: RunId,
    events: Arc<dyn EventSink>,
    /// Held while a batch is made durable; it keeps the end of the chain.
    head: tokio::sync::Mutex<Head>,
}

impl RunJournal {
    pub(crate) fn new(session: Arc<SessionInner>, run: RunId, events: Arc<dyn EventSink>) -> Arc<Self> {
        Arc::new(Self { session, run, events, head: tokio::sync::Mutex::new(Head::empty()) })
    }

    async fn commit(&self, batch: Batch, joined: Vec<Map<String, Value>>) -> Result<Committed, EngineError> {
        let mut head = self.head.lock().await;
        let committed = self.session.store().append(&self.session.lease, batch).await?;
        *head = committed.head();
        if self.events.wants_events() {
            for (record, joined) in committed.records().iter().zip(joined) {
                self.events.event(&RunEvent::of_record(record, joined));
            }
        }
        Ok(committed)
    }

    /// The end of the chain after the last commit.
    pub(crate) async fn head(&self) -> Head {
        *self.head.lock().await
    }
}

/// The writer of one invocation.
pub(crate) struct RunWriter {
    pub(crate) journal: Arc<RunJournal>,
    pub(crate) session: Arc<SessionInner>,
    pub(crate) run: RunId,
    pub(crate) events: Arc<dyn EventSink>,
    pub(crate) mask: Mask,
    pending: Batch,
    /// What the files of each pending record say to people.
    joined: Vec<Map<String, Value>>,
    /// Digests of arguments that were asked about, and those of the same arguments masked.
    masked_digests: Vec<(Digest, Digest)>,
}

impl RunWriter {
    pub(crate) fn new(journal: Arc<RunJournal>) -> Self {
        let (session, run, events) = (journal.session.clone(), journal.run.clone(), journal.events.clone());
        let pending = Batch::new(run.clone());
        let mask = session.engine.mask();
        Self { journal, session, run, events, mask, pending, joined: Vec::new(), masked_digests: Vec::new() }
    }

    /// Adds a record to the next commit.
    pub(crate) fn note(
        &mut self,
        payload: &Payload,
        mut joined: Map<String, Value>,
    ) -> Result<(), EngineError> {
        let masked = self.with_masked_digest(self.mask.masked_payload(payload)?, payload);
        let payload = masked.as_ref().unwrap_or(payload);
        self.pending.record(self.session.clock().now(), payload)?;
        self.mask.map(&mut joined, View::Record);
        self.joined.push(joined);
        Ok(())
    }

    /// An answer tells the digest of what was shown; what is stored tells that of the stored question.
    fn with_masked_digest(&self, masked: Option<Payload>, payload: &Payload) -> Option<Payload> {
        let Payload::ConsentClosed(ConsentClosed { closing, .. }) = payload else { return masked };
        let Closing::Answered { shown: Some(shown), .. } = closing else { return masked };
        let Some((_, stored)) = self.masked_digests.iter().find(|(digest, _)| digest == shown) else {
            return masked;
        };
        let mut payload = masked.unwrap_or_else(|| payload.clone());
        if let Payload::ConsentClosed(ConsentClosed { closing: Closing::Answered { shown, .. }, .. }) =
            &mut payload
        {
            *shown = Some(*stored);
        }
        Some(payload)
    }

    /// Adds a file to the next commit. Its bytes are masked already.
    pub(crate) fn file(&mut self, path: String, bytes: Vec<u8>) -> FileRef {
        self.pending.file(path, bytes)
    }

    /// The bytes of a file that waits for the next commit.
    pub(crate) fn pending_file(&self, path: &str) -> Option<&[u8]> {
        self.pending.files().iter().find(|file| file.path == path).map(|file| file.bytes.as_slice())
    }

    /// Adds the file of prepared arguments to the next commit: their canonical bytes, or those of `masked` where something is
    /// masked in them.
    pub(crate) fn arguments_file(
        &mut self,
        path: String,
        arguments: &PreparedArguments,
        masked: Option<&Value>,
    ) -> FileRef {
        match masked {
            None => self.pending.arguments_file(path, arguments),
            Some(masked) => self.pending.file(path, canonical::to_bytes(masked)),
        }
    }

    /// Adds the record of a question to the next commit. `secret` names the arguments of which nothing but the length is stored.
    pub(crate) fn note_question(
        &mut self,
        question: &Question,
        secret: &[String],
    ) -> Result<(), EngineError> {
        let mut stored = question.clone();
        if let Some(masked) = self.masked_arguments(&question.arguments, secret) {
            stored.digest = canonical::digest(&masked);
            stored.arguments = masked;
            self.masked_digests.push((question.digest, stored.digest));
        }
        self.note(&Payload::ConsentOpened(stored), Map::new())
    }

    /// A masked copy of arguments; none if there is nothing to mask. `secret` names those of which nothing but the length is told.
    pub(crate) fn masked_arguments(&self, arguments: &Value, secret: &[String]) -> Option<Value> {
        if secret.is_empty() {
            return self.mask.masked(arguments, View::Record);
        }
        let mut masked = arguments.clone();
        for name in secret {
            if let Some(value) = masked.get_mut(name) {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                *value = Value::String(secret_argument(text.chars().count()));
            }
        }
        self.mask.value(&mut masked, View::Record);
        Some(masked)
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
        self.journal.commit(batch, joined).await
    }
}
