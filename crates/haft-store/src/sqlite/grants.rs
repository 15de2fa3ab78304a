//! Grants that were taken back, as rows.

use haft_core::ports::{BoxFuture, GrantRows, StoreError, Timestamp};
use haft_core::{GrantId, SessionId};
use rusqlite::params;

use super::sessions::live_session;
use super::{SqliteStore, on, read_time, stored_time};

impl GrantRows for SqliteStore {
    fn revoke_grant<'a>(
        &'a self,
        session: &'a SessionId,
        grant: &'a GrantId,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Timestamp, StoreError>> {
        let (session, grant, database) = (session.clone(), grant.clone(), self.database());
        Box::pin(self.committer.write(move |connection| {
            live_session(connection, &session, &database)?;
            let key = params![session.as_str(), grant.as_str(), stored_time(now)];
            connection
                .prepare_cached(
                    "INSERT INTO revoked_grants (session, id, revoked) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
                )
                .and_then(|mut insert| insert.execute(key))
                .and_then(|_| {
                    connection
                        .prepare_cached("SELECT revoked FROM revoked_grants WHERE session = ?1 AND id = ?2")?
                        .query_row([session.as_str(), grant.as_str()], |row| row.get(0))
                })
                .map(read_time)
                .map_err(on(&database))
        }))
    }

    fn revoked_grants<'a>(
        &'a self,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Vec<(GrantId, Timestamp)>, StoreError>> {
        Box::pin(async move {
            self.read(Vec::new, |connection| {
                connection
                    .prepare_cached(
                        "SELECT id, revoked FROM revoked_grants WHERE session = ?1 ORDER BY revoked, id",
                    )
                    .and_then(|mut select| {
                        select
                            .query_map([session.as_str()], |row| {
                                Ok((GrantId::new(row.get::<_, String>(0)?), read_time(row.get(1)?)))
                            })?
                            .collect()
                    })
                    .map_err(on(&self.database()))
            })
        })
    }
}
