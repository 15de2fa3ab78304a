//! Step 5 of the path: an earlier result stands in for a call that was allowed (CCH-03, CCH-04, CONFLICT-16).

use haft_core::journal::FileRef;
use haft_core::mask::is_masked;
use haft_core::path::{EarlierResult, RepeatedCall};
use haft_core::ports::Touches;
use haft_core::{AuthorizedCall, Digest, ErrorCode, GrantId, RunId, ToolResult};

use crate::earlier::{Earlier, End, Key};
use crate::error::EngineError;
use crate::run::Driver;

/// What reuse notes of a call that starts, until it has ended.
pub(crate) struct Trace {
    key: Key,
    touches: Touches,
    grant: Option<GrantId>,
}

/// What becomes of an authorized call.
pub(crate) enum Fate {
    /// It runs.
    Runs(AuthorizedCall),
    /// An earlier result stands in for it.
    Repeats(Box<RepeatedCall>),
}

impl Driver {
    /// Makes the session's earlier calls known, where the profile wants them.
    pub(crate) async fn begin_reuse(&self) -> Result<(), EngineError> {
        let reuse = self.options.profile.reuse;
        if reuse.history && !self.session.earlier().journal_is_read() {
            let (store, session) = (self.session.store(), &self.session.lease.session);
            let read = Earlier::read(store, session, self.session.engine.registry()).await?;
            *self.session.earlier() = read;
        }
        if reuse.is_on() {
            self.session.earlier().begin_batch();
        }
        Ok(())
    }

    /// Looks for an earlier result that may stand in for the call.
    pub(crate) async fn repeat(&self, authorized: AuthorizedCall) -> Result<Fate, EngineError> {
        let reuse = self.options.profile.reuse;
        if !reuse.is_on() || !authorized.may_repeat(reuse.include_side_effects) {
            return Ok(Fate::Runs(authorized));
        }
        let key = key(&authorized);
        let now = self.session.clock().now();
        let found =
            self.session.earlier().find(&key, &reuse, now).map(|one| (one.run.clone(), one.file.clone()));
        let Some((run, file)) = found else { return Ok(Fate::Runs(authorized)) };
        let Some(result) = self.stored_result(&run, &file).await? else { return Ok(Fate::Runs(authorized)) };
        let earlier = EarlierResult { digest: key.1, result };
        Ok(match authorized.repeat(earlier, reuse.include_side_effects) {
            Ok(repeated) => Fate::Repeats(Box::new(repeated)),
            Err(authorized) => Fate::Runs(*authorized),
        })
    }

    /// The whole result that a record names; none if it was taken away or is not what the record says.
    async fn stored_result(&self, run: &RunId, file: &FileRef) -> Result<Option<ToolResult>, EngineError> {
        let pending = (*run == self.writer.run).then(|| self.writer.pending_file(&file.path)).flatten();
        let bytes = match pending {
            Some(bytes) => Some(bytes.to_vec()),
            None => self.session.store().file(run, &file.path).await?.and_then(|file| file.bytes),
        };
        let whole = bytes.filter(|bytes| Digest::of(bytes) == file.sha256 && !is_masked(bytes));
        Ok(whole.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    /// Notes a call that starts now; what it may change is stale from here on.
    pub(crate) fn trace(&self, authorized: &AuthorizedCall) -> Option<Trace> {
        if !self.options.profile.reuse.is_on() {
            return None;
        }
        let touches = authorized.touches();
        if authorized.declaration().facts.effect.writes() {
            self.session.earlier().spoil(&touches);
        }
        Some(Trace { key: key(authorized), touches, grant: authorized.grant().cloned() })
    }

    /// Keeps in mind how a traced call ended.
    pub(crate) fn remember(&self, trace: Option<Trace>, file: &FileRef, code: Option<&ErrorCode>) {
        if let Some(Trace { key, touches, grant }) = trace {
            // It may have been taken back while the call ran.
            if grant.as_ref().is_some_and(|grant| self.session.is_revoked(grant)) {
                return;
            }
            let grant = grant.as_ref();
            let end = End { run: &self.writer.run, file, code, grant, at: self.session.clock().now() };
            self.session.earlier().remember(key, touches, &end);
        }
    }
}

pub(crate) fn key(authorized: &AuthorizedCall) -> Key {
    (authorized.tool_id().clone(), authorized.arguments().digest())
}
