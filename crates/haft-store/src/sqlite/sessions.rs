//! Sessions and their leases as rows.

use std::path::Path;

use haft_core::SessionId;
use haft_core::ports::{BoxFuture, Lease, NewSession, SessionRow, SessionRows, StoreError, Timestamp};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::{SqliteStore, on, read_time, stored_time};
use crate::lease::{self, Holder, LEASE_MS, LeaseRow};
use crate::process;

impl SessionRows for SqliteStore {
    fn create_session<'a>(&'a self, session: &'a NewSession) -> BoxFuture<'a, Result<(), StoreError>> {
        let (session, database) = (session.clone(), self.database());
        Box::pin(self.committer.write(move |connection| {
            let added = connection
                .prepare_cached(
                    "INSERT INTO sessions (id, created, updated, profile, project) VALUES (?1, ?2, ?2, ?3, ?4)
                     ON CONFLICT DO NOTHING",
                )
                .and_then(|mut insert| {
                    let project = session.project.as_ref().map(haft_core::ProjectId::as_str);
                    insert.execute(params![
                        session.id.as_str(),
                        stored_time(session.created),
                        session.profile,
                        project
                    ])
                })
                .map_err(on(&database))?;
            if added == 0 {
                return Err(StoreError::Exists { what: format!("session {}", session.id) });
            }
            Ok(())
        }))
    }

    fn session<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<Option<SessionRow>, StoreError>> {
        Box::pin(async move {
            self.read(
                || None,
                |connection| {
                    let sql = format!("{SELECT_SESSION} WHERE id = ?1");
                    let mut select = connection.prepare_cached(&sql).map_err(on(&self.database()))?;
                    select.query_row([id.as_str()], session_row).optional().map_err(on(&self.database()))
                },
            )
        })
    }

    fn sessions(&self) -> BoxFuture<'_, Result<Vec<SessionRow>, StoreError>> {
        Box::pin(async move {
            self.read(Vec::new, |connection| {
                let sql = format!("{SELECT_SESSION} ORDER BY updated DESC, number DESC");
                let mut select = connection.prepare_cached(&sql).map_err(on(&self.database()))?;
                let rows = select.query_map([], session_row).map_err(on(&self.database()))?;
                rows.collect::<rusqlite::Result<_>>().map_err(on(&self.database()))
            })
        })
    }

    fn lease<'a>(
        &'a self,
        session: &'a SessionId,
        owner: &'a str,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Lease, StoreError>> {
        let (session, owner, database) = (session.clone(), owner.to_owned(), self.database());
        Box::pin(self.committer.write(move |connection| {
            let row = live_session(connection, &session, &database)?;
            let holder = Holder {
                owner: owner.clone(),
                process: process::own_mark().to_owned(),
                until: now.plus(LEASE_MS),
            };
            let taken = lease::take(row.as_ref(), &session, holder, now, process::is_gone)?;
            write_lease(connection, &session, &taken).map_err(on(&database))?;
            Ok(Lease { session, epoch: taken.epoch, owner })
        }))
    }

    fn holder<'a>(
        &'a self,
        session: &'a SessionId,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Option<Lease>, StoreError>> {
        Box::pin(async move {
            self.read(
                || None,
                |connection| {
                    let row = live_session(connection, session, &self.database())?;
                    Ok(lease::holder(row.as_ref(), session, now, process::is_gone))
                },
            )
        })
    }

    fn renew<'a>(&'a self, lease: &'a Lease, now: Timestamp) -> BoxFuture<'a, Result<(), StoreError>> {
        let (lease, database) = (lease.clone(), self.database());
        Box::pin(self.committer.write(move |connection| {
            let row = live_session(connection, &lease.session, &database)?;
            let holder = lease::fence(row.as_ref(), &lease)?;
            let until = holder.until.max(now.plus(LEASE_MS));
            set_until(connection, &lease.session, until).map_err(on(&database))
        }))
    }

    fn release<'a>(&'a self, lease: &'a Lease) -> BoxFuture<'a, Result<(), StoreError>> {
        let (lease, database) = (lease.clone(), self.database());
        Box::pin(self.committer.write(move |connection| release(connection, &lease).map_err(on(&database))))
    }

    fn delete_session<'a>(
        &'a self,
        lease: &'a Lease,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.remove_session(lease.clone(), now))
    }
}

const SELECT_SESSION: &str = "SELECT id, created, updated, profile, project, deleted FROM sessions";

fn session_row(row: &Row<'_>) -> rusqlite::Result<SessionRow> {
    Ok(SessionRow {
        id: SessionId::new(row.get::<_, String>(0)?),
        created: read_time(row.get(1)?),
        updated: read_time(row.get(2)?),
        profile: row.get(3)?,
        project: row.get::<_, Option<String>>(4)?.map(haft_core::ProjectId::new),
        deleted: row.get(5)?,
    })
}

/// The lease row of a session that is there and not deleted; inside a transaction.
pub(super) fn live_session(
    connection: &Connection,
    session: &SessionId,
    database: &Path,
) -> Result<Option<LeaseRow>, StoreError> {
    let found = connection
        .prepare_cached(
            "SELECT s.deleted, l.epoch, l.owner, l.process, l.until
             FROM sessions s LEFT JOIN leases l ON l.session = s.id WHERE s.id = ?1",
        )
        .and_then(|mut select| {
            select
                .query_row([session.as_str()], |row| Ok((row.get::<_, bool>(0)?, lease_row(row)?)))
                .optional()
        })
        .map_err(on(database))?;
    match found {
        Some((false, lease)) => Ok(lease),
        Some((true, _)) => Err(StoreError::Missing { what: format!("session {session}: it was deleted") }),
        None => Err(StoreError::Missing { what: format!("session {session}") }),
    }
}

fn lease_row(row: &Row<'_>) -> rusqlite::Result<Option<LeaseRow>> {
    let Some(epoch) = row.get::<_, Option<i64>>(1)? else { return Ok(None) };
    let owner: Option<String> = row.get(2)?;
    let holder = match owner {
        Some(owner) => Some(Holder { owner, process: row.get(3)?, until: read_time(row.get(4)?) }),
        None => None,
    };
    Ok(Some(LeaseRow { epoch: epoch.unsigned_abs(), holder }))
}

fn write_lease(connection: &Connection, session: &SessionId, row: &LeaseRow) -> rusqlite::Result<()> {
    let holder = row.holder.as_ref();
    connection
        .prepare_cached("INSERT OR REPLACE INTO leases (session, epoch, owner, process, until) VALUES (?1, ?2, ?3, ?4, ?5)")?
        .execute(params![
            session.as_str(),
            i64::try_from(row.epoch).unwrap_or(i64::MAX),
            holder.map(|holder| &holder.owner),
            holder.map(|holder| &holder.process),
            holder.map(|holder| stored_time(holder.until)),
        ])
        .map(drop)
}

/// Moves the end of a lease.
pub(super) fn set_until(
    connection: &Connection,
    session: &SessionId,
    until: Timestamp,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached("UPDATE leases SET until = ?2 WHERE session = ?1")?
        .execute(params![session.as_str(), stored_time(until)])
        .map(drop)
}

/// Gives a lease back; one that was lost is nothing to give back.
pub(super) fn release(connection: &Connection, lease: &Lease) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "UPDATE leases SET owner = NULL, process = NULL, until = NULL WHERE session = ?1 AND epoch = ?2",
        )?
        .execute(params![lease.session.as_str(), i64::try_from(lease.epoch).unwrap_or(i64::MAX)])
        .map(drop)
}

/// Notes that a session changed.
pub(super) fn touch(connection: &Connection, session: &SessionId, now: Timestamp) -> rusqlite::Result<()> {
    connection
        .prepare_cached("UPDATE sessions SET updated = max(updated, ?2) WHERE id = ?1")?
        .execute(params![session.as_str(), stored_time(now)])
        .map(drop)
}
