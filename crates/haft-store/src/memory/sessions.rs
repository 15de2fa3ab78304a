//! Sessions and their leases in memory.

use haft_core::SessionId;
use haft_core::ports::{BoxFuture, Lease, NewSession, SessionRow, SessionRows, StoreError, Timestamp};

use super::{MemoryStore, State};
use crate::lease::{self, Holder, LEASE_MS};
use crate::process;

impl SessionRows for MemoryStore {
    fn create_session<'a>(&'a self, session: &'a NewSession) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let mut state = self.state();
            if state.find(&session.id).is_some() {
                return Err(StoreError::Exists { what: format!("session {}", session.id) });
            }
            let row = SessionRow {
                id: session.id.clone(),
                created: session.created,
                updated: session.created,
                profile: session.profile.clone(),
                project: session.project.clone(),
                deleted: false,
            };
            state.sessions.insert(row.id.clone(), row);
            Ok(())
        })
    }

    fn session<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<Option<SessionRow>, StoreError>> {
        Box::pin(async move { Ok(self.state().find(id).cloned()) })
    }

    fn sessions(&self) -> BoxFuture<'_, Result<Vec<SessionRow>, StoreError>> {
        Box::pin(async move {
            let mut sessions: Vec<SessionRow> = self.state().sessions.values().rev().cloned().collect();
            sessions.sort_by_key(|session| std::cmp::Reverse(session.updated));
            Ok(sessions)
        })
    }

    fn lease<'a>(
        &'a self,
        session: &'a SessionId,
        owner: &'a str,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Lease, StoreError>> {
        Box::pin(async move {
            let mut state = self.state();
            state.live(session)?;
            let owner = owner.to_owned();
            let process = process::own_mark().to_owned();
            let holder = Holder { owner: owner.clone(), process, until: now.plus(LEASE_MS) };
            let taken = lease::take(state.leases.get(session), session, holder, now, |_| false)?;
            let epoch = taken.epoch;
            state.leases.insert(session.clone(), taken);
            Ok(Lease { session: session.clone(), epoch, owner })
        })
    }

    fn holder<'a>(
        &'a self,
        session: &'a SessionId,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Option<Lease>, StoreError>> {
        Box::pin(async move {
            let state = self.state();
            state.live(session)?;
            Ok(lease::holder(state.leases.get(session), session, now, |_| false))
        })
    }

    fn renew<'a>(&'a self, lease: &'a Lease, now: Timestamp) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let mut state = self.state();
            let until = state.fenced(lease)?.until.max(now.plus(LEASE_MS));
            state.set_until(&lease.session, until);
            Ok(())
        })
    }

    fn release<'a>(&'a self, lease: &'a Lease) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            self.state().release(lease);
            Ok(())
        })
    }

    fn delete_session<'a>(
        &'a self,
        lease: &'a Lease,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { self.state().delete(lease, now) })
    }
}

impl State {
    pub(super) fn find(&self, id: &SessionId) -> Option<&SessionRow> {
        self.sessions.get(id)
    }

    /// An error if the session is not there or was deleted.
    pub(super) fn live(&self, id: &SessionId) -> Result<(), StoreError> {
        match self.find(id) {
            Some(session) if !session.deleted => Ok(()),
            Some(_) => Err(StoreError::Missing { what: format!("session {id}: it was deleted") }),
            None => Err(StoreError::Missing { what: format!("session {id}") }),
        }
    }

    /// The holder's row, if `lease` is still the right to write.
    pub(super) fn fenced(&self, lease: &Lease) -> Result<&Holder, StoreError> {
        self.live(&lease.session)?;
        lease::fence(self.leases.get(&lease.session), lease)
    }

    pub(super) fn set_until(&mut self, session: &SessionId, until: Timestamp) {
        if let Some(holder) = self.leases.get_mut(session).and_then(|row| row.holder.as_mut()) {
            holder.until = until;
        }
    }

    pub(super) fn release(&mut self, lease: &Lease) {
        if let Some(row) = self.leases.get_mut(&lease.session).filter(|row| row.epoch == lease.epoch) {
            row.holder = None;
        }
    }

    /// Notes that a session changed.
    pub(super) fn touch(&mut self, id: &SessionId, now: Timestamp, deleted: bool) {
        if let Some(session) = self.sessions.get_mut(id) {
            session.updated = session.updated.max(now);
            session.deleted |= deleted;
        }
    }
}
