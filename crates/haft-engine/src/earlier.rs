//! Which calls of a session ended with which result, and which of them are stale: what reuse looks at (CCH-01 to CCH-04).
//!
//! It knows where a result stands and keeps none. It is read from the journal when a run first needs the session's history, so
//! that it survives the process, and is forgotten when a run reuses nothing.

use std::collections::HashMap;

use haft_core::journal::{FileRef, Payload};
use haft_core::mask::is_masked;
use haft_core::path::touches_of_stored;
use haft_core::ports::{Store, Timestamp, Touches};
use haft_core::profile::Reuse;
use haft_core::{CallId, ConsentId, Digest, ErrorCode, GrantId, RunId, SessionId, ToolId, ToolRegistry};

use crate::error::EngineError;
use crate::touching::spoils;

/// What two calls have in common of which the second may be answered by the first: tool and prepared arguments.
pub(crate) type Key = (ToolId, Digest);

/// An ended call.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) run: RunId,
    pub(crate) file: FileRef,
    ended: Timestamp,
    batch: u64,
    touches: Touches,
    /// The yes that it rests on.
    grant: Option<GrantId>,
    failed: bool,
    stale: bool,
}

/// How a call ended, and where its result stands.
pub(crate) struct End<'a> {
    pub(crate) run: &'a RunId,
    pub(crate) file: &'a FileRef,
    pub(crate) code: Option<&'a ErrorCode>,
    /// The yes that let the call through.
    pub(crate) grant: Option<&'a GrantId>,
    pub(crate) at: Timestamp,
}

/// The newest end of each call of a session.
#[derive(Debug, Default)]
pub(crate) struct Earlier {
    entries: HashMap<Key, Entry>,
    /// Number of the batch at hand, from 1; what the journal told is of batch 0.
    batch: u64,
    journal_is_read: bool,
}

impl Earlier {
    pub(crate) fn begin_batch(&mut self) {
        self.batch = self.batch.saturating_add(1);
    }

    pub(crate) fn journal_is_read(&self) -> bool {
        self.journal_is_read
    }

    /// The ended call that may stand in for one with that key.
    pub(crate) fn find(&self, key: &Key, reuse: &Reuse, now: Timestamp) -> Option<&Entry> {
        let entry = self.entries.get(key)?;
        let age = now.since(entry.ended);
        let cached = reuse.cache_ttl_s.is_some_and(|limit| age < limit.saturating_mul(1_000));
        let near = reuse.history || cached || (reuse.batch && entry.batch == self.batch);
        let good = (!entry.stale || reuse.include_side_effects) && (!entry.failed || reuse.failures);
        Some(entry).filter(|_| near && good)
    }

    /// A call that may change something starts: what it touches is no longer as others saw it.
    pub(crate) fn spoil(&mut self, written: &Touches) {
        self.entries
            .values_mut()
            .filter(|entry| !entry.stale && spoils(written, &entry.touches))
            .for_each(|entry| entry.stale = true);
    }

    /// A grant was taken back: what rests on it is given to nobody again.
    pub(crate) fn forget(&mut self, grant: &GrantId) {
        self.entries.retain(|_, entry| entry.grant.as_ref() != Some(grant));
    }

    /// A call that ran has ended. One that was stopped in the middle tells nothing of the next.
    pub(crate) fn remember(&mut self, key: Key, touches: Touches, end: &End<'_>) {
        let stopped = |code: &ErrorCode| {
            [ErrorCode::CALL_CANCELLED, ErrorCode::TIMED_OUT, ErrorCode::OUTCOME_UNKNOWN].contains(code)
        };
        if end.code.is_some_and(stopped) {
            self.entries.remove(&key);
            return;
        }
        let entry = Entry {
            run: end.run.clone(),
            file: end.file.clone(),
            ended: end.at,
            batch: self.batch,
            touches,
            grant: end.grant.cloned(),
            failed: end.code.is_some(),
            stale: false,
        };
        self.entries.insert(key, entry);
    }

    /// All that the journal tells of the session; what is here already is among it.
    pub(crate) async fn read(
        store: &dyn Store,
        session: &SessionId,
        registry: &ToolRegistry,
    ) -> Result<Self, EngineError> {
        let mut earlier = Self { journal_is_read: true, ..Self::default() };
        for run in store.runs(Some(session)).await? {
            earlier.read_run(store, &run.id, registry).await?;
        }
        for (grant, _) in store.revoked_grants(session).await? {
            earlier.forget(&grant);
        }
        Ok(earlier)
    }

    async fn read_run(
        &mut self,
        store: &dyn Store,
        run: &RunId,
        registry: &ToolRegistry,
    ) -> Result<(), EngineError> {
        let mut requested: HashMap<CallId, (Digest, FileRef)> = HashMap::new();
        let mut started: HashMap<CallId, (Key, Touches)> = HashMap::new();
        let mut asked: HashMap<ConsentId, CallId> = HashMap::new();
        let mut grants: HashMap<CallId, GrantId> = HashMap::new();
        for record in store.records(run).await? {
            let Some(bytes) = record.payload.as_deref() else { continue };
            match Payload::read(&record.kind, bytes)? {
                Payload::ToolCallRequested(body) => {
                    if let Some(grant) = body.grant {
                        grants.insert(body.call_id.clone(), grant);
                    }
                    if let Some(digest) = body.arguments_digest {
                        requested.insert(body.call_id, (digest, body.arguments_file));
                    }
                }
                Payload::ToolCallStarted(body) => {
                    let written = requested.remove(&body.call_id);
                    let tool = registry.get(&body.tool_id);
                    let arguments = match &written {
                        Some((_, file)) => store.file(run, &file.path).await?.and_then(|file| file.bytes),
                        None => None,
                    };
                    // What is masked in them, they do not tell.
                    let arguments = arguments.filter(|bytes| !is_masked(bytes));
                    let whole = arguments.is_some();
                    let touches = match (tool, arguments) {
                        (Some(tool), Some(bytes)) => touches_of_stored(tool.as_ref(), bytes),
                        // What cannot be known may have touched anything.
                        (None, _) | (_, None) => Touches::Everything,
                    };
                    if tool.is_none_or(|tool| tool.declaration().facts.effect.writes()) {
                        self.spoil(&touches);
                    }
                    if let Some((digest, _)) = written.filter(|_| whole) {
                        started.insert(body.call_id, ((body.tool_id, digest), touches));
                    }
                }
                Payload::ToolCallCompleted(body) => {
                    if let Some((key, touches)) = started.remove(&body.call_id) {
                        let grant = grants.get(&body.call_id);
                        let end = End { run, file: &body.result_file, code: None, grant, at: record.time };
                        self.remember(key, touches, &end);
                    }
                }
                Payload::ToolCallFailed(body) => {
                    if let Some((key, touches)) = started.remove(&body.call_id) {
                        let code = Some(&body.error_code);
                        let grant = grants.get(&body.call_id);
                        let end = End { run, file: &body.result_file, code, grant, at: record.time };
                        self.remember(key, touches, &end);
                    }
                }
                Payload::ConsentOpened(question) => {
                    asked.insert(question.id, question.call_id);
                }
                Payload::GrantGiven(body) => {
                    let call = body.grant.question.and_then(|question| asked.remove(&question));
                    grants.extend(call.map(|call| (call, body.grant.id)));
                }
                Payload::RunStarted(_)
                | Payload::ChatImported(_)
                | Payload::WorldInfoActivated(_)
                | Payload::ContextAssembled(_)
                | Payload::ModelRequestCreated(_)
                | Payload::ModelTurnCompleted(_)
                | Payload::ModelRequestFailed(_)
                | Payload::ConsentClosed(_)
                | Payload::GrantRevoked(_)
                | Payload::AgentTaskCreated(_)
                | Payload::InvocationEnded(_)
                | Payload::ChatCommitted(_)
                | Payload::DirectOutputCaptured(_)
                | Payload::DriftRecoveryAttempted(_)
                | Payload::ContextCompacted(_)
                | Payload::PersistPromoted(_)
                | Payload::RunFailed(_)
                | Payload::RunPartialSuccess(_)
                | Payload::RunEnded(_)
                | Payload::PayloadRedacted(_)
                | Payload::SessionDeleted(_) => {}
            }
        }
        Ok(())
    }
}
