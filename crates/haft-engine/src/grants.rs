//! The grants of an open session: what was given, what it has let through, and what was taken back.
//!
//! They live here and nowhere else (APR-17): the journal is told of them and never arms one again. Another process can only take one
//! back, by a row that is looked at before a grant stands in for an answer.

use haft_core::journal::{GrantGiven, GrantRevoked, Payload};
use haft_core::ports::{Store, Timestamp};
use haft_core::{Grant, GrantId, Lifetime, SessionId};
use indexmap::IndexMap;

use crate::error::EngineError;

/// A grant with what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldGrant {
    /// The grant.
    pub grant: Grant,
    /// How many calls it let through, beside the one that it was given for.
    pub uses: u64,
    /// When it last did.
    pub last_use: Option<Timestamp>,
    /// When it was taken back.
    pub revoked: Option<Timestamp>,
}

impl HeldGrant {
    /// True if it may still stand in for an answer, in some run of its session.
    pub fn is_live(&self, now: Timestamp) -> bool {
        let lives = match self.grant.lifetime {
            Lifetime::Once => false,
            Lifetime::Run(_) | Lifetime::Session(_) => true,
            Lifetime::Until(end) => now < end,
        };
        lives && self.revoked.is_none()
    }
}

/// The grants of one session.
#[derive(Debug, Default)]
pub(crate) struct GrantBook {
    held: Vec<HeldGrant>,
    /// What the journal does not know yet.
    untold: Vec<Payload>,
}

impl GrantBook {
    /// Adds a grant that the journal learns of with the next run.
    pub(crate) fn add(&mut self, grant: Grant, epoch: u64) {
        self.untold.push(Payload::GrantGiven(GrantGiven { epoch, grant: grant.clone() }));
        self.hold(grant);
    }

    /// Adds a grant that the journal was told of.
    pub(crate) fn hold(&mut self, grant: Grant) {
        self.held.push(HeldGrant { grant, uses: 0, last_use: None, revoked: None });
    }

    /// All, in the order in which they were given.
    pub(crate) fn all(&self) -> &[HeldGrant] {
        &self.held
    }

    /// Those that may stand in for an answer.
    pub(crate) fn live(&self, now: Timestamp) -> Vec<Grant> {
        self.held.iter().filter(|one| one.is_live(now)).map(|one| one.grant.clone()).collect()
    }

    /// Counts a use.
    pub(crate) fn used(&mut self, id: &GrantId, now: Timestamp) {
        if let Some(one) = self.held.iter_mut().find(|one| one.grant.id == *id) {
            one.uses = one.uses.saturating_add(1);
            one.last_use = Some(now);
        }
    }

    /// Takes a grant back; false if it is not here or was taken back before.
    pub(crate) fn revoke(&mut self, id: &GrantId, time: Timestamp) -> bool {
        let Some(one) = self.held.iter_mut().find(|one| one.grant.id == *id && one.revoked.is_none()) else {
            return false;
        };
        one.revoked = Some(time);
        self.untold.push(Payload::GrantRevoked(GrantRevoked { grant: id.clone(), revoked: time }));
        true
    }

    /// True if the grant was taken back.
    pub(crate) fn is_revoked(&self, id: &GrantId) -> bool {
        self.held.iter().any(|one| one.grant.id == *id && one.revoked.is_some())
    }

    /// What the journal is to be told, once.
    pub(crate) fn tell(&mut self) -> Vec<Payload> {
        std::mem::take(&mut self.untold)
    }
}

/// A grant as the journal tells of it: its history, which arms nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantRecord {
    /// The grant.
    pub grant: Grant,
    /// The epoch of the lease under which it was given; it ended with that owner of the session.
    pub epoch: u64,
    /// The run for which it was given is over.
    pub run_ended: bool,
    /// How many calls it let through, beside the one that it was given for.
    pub uses: u64,
    /// When it last did.
    pub last_use: Option<Timestamp>,
    /// When it was taken back.
    pub revoked: Option<Timestamp>,
}

/// All that was granted in a session, in the order in which it was given.
///
/// # Errors
/// If the store fails, or holds what cannot be read.
pub async fn grants_of(store: &dyn Store, session: &SessionId) -> Result<Vec<GrantRecord>, EngineError> {
    let mut grants: IndexMap<GrantId, GrantRecord> = IndexMap::new();
    for run in store.runs(Some(session)).await? {
        for record in store.records(&run.id).await? {
            let Some(bytes) = record.payload.as_deref() else { continue };
            match Payload::read(&record.kind, bytes)? {
                Payload::GrantGiven(body) => {
                    let run_ended = match &body.grant.lifetime {
                        Lifetime::Run(_) => run.ended,
                        Lifetime::Once | Lifetime::Session(_) | Lifetime::Until(_) => false,
                    };
                    let (grant, epoch) = (body.grant, body.epoch);
                    let id = grant.id.clone();
                    let (uses, last_use, revoked) = (0, None, None);
                    grants.insert(id, GrantRecord { grant, epoch, run_ended, uses, last_use, revoked });
                }
                Payload::ToolCallRequested(body) => {
                    if let Some(one) = body.grant.and_then(|id| grants.get_mut(&id)) {
                        one.uses = one.uses.saturating_add(1);
                        one.last_use = Some(record.time);
                    }
                }
                Payload::GrantRevoked(body) => {
                    if let Some(one) = grants.get_mut(&body.grant) {
                        one.revoked.get_or_insert(body.revoked);
                    }
                }
                Payload::RunStarted(_)
                | Payload::ChatImported(_)
                | Payload::WorldInfoActivated(_)
                | Payload::ContextAssembled(_)
                | Payload::ModelRequestCreated(_)
                | Payload::ModelTurnCompleted(_)
                | Payload::ModelRequestFailed(_)
                | Payload::ConsentOpened(_)
                | Payload::ConsentClosed(_)
                | Payload::ToolCallStarted(_)
                | Payload::ToolCallCompleted(_)
                | Payload::ToolCallFailed(_)
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
    }
    for (id, time) in store.revoked_grants(session).await? {
        if let Some(one) = grants.get_mut(&id) {
            one.revoked.get_or_insert(time);
        }
    }
    Ok(grants.into_values().collect())
}
