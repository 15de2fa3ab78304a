//! Taking payloads away: one record's, or all of a session. What is gone is told by a record in the same transaction; bytes are
//! overwritten (`secure_delete`) and the write-ahead log is emptied after it.

use std::collections::BTreeSet;
use std::path::Path;

use haft_core::ports::{Lease, RedactionError, StoreError, Timestamp};
use haft_core::{Digest, Payload, RunId};
use rusqlite::{Connection, params};

use super::journal::append;
use super::sessions::{live_session, release, touch};
use super::{SqliteStore, audit, blocking, on};
use crate::rows::{TAKEN_TITLE, readable};
use crate::{lease, removal};

impl SqliteStore {
    /// See [`JournalRows::redact`](haft_core::ports::JournalRows::redact).
    pub(super) async fn remove_payload(
        &self,
        lease: Lease,
        run: RunId,
        seq: u64,
        reason: String,
        now: Timestamp,
    ) -> Result<(), RedactionError> {
        let database = self.database();
        let outcome = self
            .committer
            .write(move |connection| match redact(connection, &lease, &run, seq, &reason, now, &database) {
                Ok(loose) => Ok(Ok(loose)),
                // Nothing was written yet when a record turns out to stay.
                Err(RedactionError::NotRedactable { seq, kind }) => Ok(Err((seq, kind))),
                Err(RedactionError::Store(error)) => Err(error),
            })
            .await?;
        let loose = outcome.map_err(|(seq, kind)| RedactionError::NotRedactable { seq, kind })?;
        self.forget(&loose)?;
        Ok(())
    }

    /// See [`SessionRows::delete_session`](haft_core::ports::SessionRows::delete_session).
    pub(super) async fn remove_session(&self, lease: Lease, now: Timestamp) -> Result<(), StoreError> {
        let database = self.database();
        let loose =
            self.committer.write(move |connection| delete(connection, &lease, now, &database)).await?;
        self.forget(&loose)
    }

    /// Removes blobs that nothing names any more. If the process dies before, they are loose and harm nobody.
    fn forget(&self, loose: &BTreeSet<Digest>) -> Result<(), StoreError> {
        blocking(|| {
            self.committer.empty_log();
            loose.iter().try_for_each(|digest| self.blobs.remove(digest))
        })
    }
}

fn redact(
    connection: &Connection,
    lease: &Lease,
    run: &RunId,
    seq: u64,
    reason: &str,
    now: Timestamp,
    database: &Path,
) -> Result<BTreeSet<Digest>, RedactionError> {
    let on = on(database);
    let row = live_session(connection, &lease.session, database)?;
    lease::fence(row.as_ref(), lease)?;
    let found = audit::record_row(connection, run, seq).map_err(&on)?;
    let row = found.map(|row| readable(run, row)).transpose()?.filter(|row| row.session == lease.session);
    let Some(row) = row else {
        let what = format!("record {seq} in run {run} of session {}", lease.session);
        return Err(StoreError::Missing { what }.into());
    };
    let belongings = removal::of_record(&row.record)?;
    let take = || -> rusqlite::Result<BTreeSet<Digest>> {
        connection
            .prepare_cached("UPDATE journal SET payload = NULL WHERE run = ?1 AND seq = ?2")?
            .execute(params![run.as_str(), i64::try_from(seq).unwrap_or(i64::MAX)])?;
        for path in &belongings.files {
            connection
                .prepare_cached("UPDATE files SET bytes = NULL, sha256 = NULL WHERE run = ?1 AND path = ?2")?
                .execute([run.as_str(), path])?;
        }
        for (id, version) in &belongings.artifacts {
            connection
                .prepare_cached(
                    "UPDATE artifacts SET content = NULL, title = ?4
                     WHERE session = ?1 AND id = ?2 AND version = ?3",
                )?
                .execute(params![lease.session.as_str(), id, version, TAKEN_TITLE])?;
        }
        without_name(connection, belongings.blobs.iter().copied().collect())
    };
    let loose = take().map_err(&on)?;
    append(connection, lease, removal::redaction_batch(run, seq, &belongings, reason, now)?, database)?;
    touch(connection, &lease.session, now).map_err(&on)?;
    Ok(loose)
}

fn delete(
    connection: &Connection,
    lease: &Lease,
    now: Timestamp,
    database: &Path,
) -> Result<BTreeSet<Digest>, StoreError> {
    let on = on(database);
    let row = live_session(connection, &lease.session, database)?;
    lease::fence(row.as_ref(), lease)?;
    let session = lease.session.as_str();
    let mut named = BTreeSet::new();
    let runs: Vec<String> = connection
        .prepare_cached("SELECT run FROM journal WHERE session = ?1 AND seq = 0 ORDER BY number")
        .and_then(|mut select| select.query_map([session], |row| row.get(0))?.collect())
        .map_err(&on)?;
    for run in runs.into_iter().map(RunId::new) {
        let mut take = || -> rusqlite::Result<()> {
            each_blob(connection, Some(&run), |digest| {
                named.insert(digest);
            })?;
            connection
                .prepare_cached("UPDATE journal SET payload = NULL WHERE run = ?1")?
                .execute([run.as_str()])?;
            connection
                .prepare_cached("UPDATE files SET bytes = NULL, sha256 = NULL WHERE run = ?1")?
                .execute([run.as_str()])
                .map(drop)
        };
        take().map_err(&on)?;
        append(connection, lease, removal::deletion_batch(&run, &lease.session, now)?, database)?;
    }
    let finish = || -> rusqlite::Result<BTreeSet<Digest>> {
        connection
            .prepare_cached("UPDATE artifacts SET content = NULL, title = ?2 WHERE session = ?1")?
            .execute([session, TAKEN_TITLE])?;
        release(connection, lease)?;
        touch(connection, &lease.session, now)?;
        connection.prepare_cached("UPDATE sessions SET deleted = 1 WHERE id = ?1")?.execute([session])?;
        without_name(connection, named)
    };
    finish().map_err(on)
}

/// Those of `blobs` that no payload names any more.
fn without_name(connection: &Connection, mut blobs: BTreeSet<Digest>) -> rusqlite::Result<BTreeSet<Digest>> {
    if !blobs.is_empty() {
        each_blob(connection, None, |digest| {
            blobs.remove(&digest);
        })?;
    }
    Ok(blobs)
}

/// Goes through the blobs that payloads name: of one run, or all.
fn each_blob(
    connection: &Connection,
    run: Option<&RunId>,
    mut each: impl FnMut(Digest),
) -> rusqlite::Result<()> {
    let which = if run.is_some() { "run = ?1" } else { "?1 IS NULL" };
    let sql = format!("SELECT kind, payload FROM journal WHERE {which} AND payload IS NOT NULL");
    let mut select = connection.prepare_cached(&sql)?;
    let mut rows = select.query([run.map(RunId::as_str)])?;
    while let Some(row) = rows.next()? {
        let kind: String = row.get(0)?;
        let payload = row.get_ref(1)?.as_bytes_or_null().ok().flatten().unwrap_or_default();
        if removal::may_name_blobs(&kind)
            && let Ok(payload) = Payload::read(&kind, payload)
        {
            payload.blobs().into_iter().for_each(&mut each);
        }
    }
    Ok(())
}
