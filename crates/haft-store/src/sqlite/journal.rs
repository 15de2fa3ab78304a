//! Journals, run workspaces and artifact versions as rows.

use std::path::Path;

use haft_core::journal::{Batch, Committed, Head};
use haft_core::ports::{
    ArtifactRows, AuditFile, BoxFuture, JournalRows, Lease, RedactionError, RunRow, StoreError, Timestamp,
};
use haft_core::{ArtifactVersion, Digest, RunId, SealedRecord, SessionId};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension as _, Row, ToSql, params};

use super::audit::record_rows;
use super::sessions::{live_session, set_until, touch};
use super::{SqliteStore, on, read_time, stored_time};
use crate::lease;
use crate::rows::{exists_artifact, exists_file, foreign_run, latest, readable, touches_session};

impl JournalRows for SqliteStore {
    fn append<'a>(&'a self, lease: &'a Lease, batch: Batch) -> BoxFuture<'a, Result<Committed, StoreError>> {
        let (lease, database) = (lease.clone(), self.database());
        Box::pin(async move {
            let (batch, records, head) =
                self.committer.write(move |connection| append(connection, &lease, batch, &database)).await?;
            Ok(batch.committed(records, head))
        })
    }

    fn records<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Vec<SealedRecord>, StoreError>> {
        Box::pin(async move { self.read_records(run, None) })
    }

    fn first_records<'a>(
        &'a self,
        run: &'a RunId,
        most: u32,
    ) -> BoxFuture<'a, Result<Vec<SealedRecord>, StoreError>> {
        Box::pin(async move { self.read_records(run, Some(most)) })
    }

    fn runs<'a>(&'a self, session: Option<&'a SessionId>) -> BoxFuture<'a, Result<Vec<RunRow>, StoreError>> {
        Box::pin(async move {
            self.read(Vec::new, |connection| runs(connection, session).map_err(on(&self.database())))
        })
    }

    fn file<'a>(
        &'a self,
        run: &'a RunId,
        path: &'a str,
    ) -> BoxFuture<'a, Result<Option<AuditFile>, StoreError>> {
        Box::pin(async move {
            self.read(
                || None,
                |connection| {
                    connection
                        .prepare_cached("SELECT path, bytes FROM files WHERE run = ?1 AND path = ?2")
                        .and_then(|mut select| select.query_row([run.as_str(), path], audit_file).optional())
                        .map_err(on(&self.database()))
                },
            )
        })
    }

    fn files<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Vec<AuditFile>, StoreError>> {
        Box::pin(async move {
            self.read(Vec::new, |connection| {
                connection
                    .prepare_cached("SELECT path, bytes FROM files WHERE run = ?1 ORDER BY path")
                    .and_then(|mut select| select.query_map([run.as_str()], audit_file)?.collect())
                    .map_err(on(&self.database()))
            })
        })
    }

    fn redact<'a>(
        &'a self,
        lease: &'a Lease,
        run: &'a RunId,
        seq: u64,
        reason: &'a str,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<(), RedactionError>> {
        Box::pin(self.remove_payload(lease.clone(), run.clone(), seq, reason.to_owned(), now))
    }
}

impl SqliteStore {
    /// The records of a run, in order: all of them, or the first ones.
    fn read_records(&self, run: &RunId, most: Option<u32>) -> Result<Vec<SealedRecord>, StoreError> {
        self.read(Vec::new, |connection| {
            let rows = record_rows(connection, run, most).map_err(on(&self.database()))?;
            rows.into_iter().map(|row| readable(run, row).map(|row| row.record)).collect()
        })
    }
}

impl ArtifactRows for SqliteStore {
    fn artifacts<'a>(
        &'a self,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Vec<ArtifactVersion>, StoreError>> {
        Box::pin(async move {
            self.read(Vec::new, |connection| {
                connection
                    .prepare_cached(
                        "SELECT id, version, content_type, title, source, content FROM artifacts
                         WHERE session = ?1 ORDER BY id, version",
                    )
                    .and_then(|mut select| select.query_map([session.as_str()], artifact_version)?.collect())
                    .map_err(on(&self.database()))
            })
        })
    }
}

/// Stores a batch inside the transaction; the batch comes back emptied, with its sealed records.
pub(super) fn append(
    connection: &Connection,
    lease: &Lease,
    mut batch: Batch,
    database: &Path,
) -> Result<(Batch, Vec<SealedRecord>, Head), StoreError> {
    let on = on(database);
    let row = live_session(connection, &lease.session, database)?;
    let holder = lease::fence(row.as_ref(), lease)?;
    let run = batch.run().clone();
    let head = match last_of(connection, &run).map_err(&on)? {
        Some((session, _)) if session != lease.session.as_str() => return Err(foreign_run(&run)),
        Some((_, head)) => head,
        None => Head::empty(),
    };
    for file in batch.files() {
        let added = connection
            .prepare_cached(
                "INSERT INTO files (run, path, bytes, sha256) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
            )
            .and_then(|mut insert| {
                insert.execute(params![
                    run.as_str(),
                    file.path,
                    file.bytes,
                    Digest::of(&file.bytes).as_bytes()
                ])
            })
            .map_err(&on)?;
        if added == 0 {
            return Err(exists_file(&run, &file.path));
        }
    }
    for version in batch.artifacts() {
        if insert_artifact(connection, &lease.session, &run, version).map_err(&on)? == 0 {
            return Err(exists_artifact(version));
        }
    }
    let (time, touched) = (latest(&batch), touches_session(&batch));
    let (records, head) = batch.seal(head);
    for record in &records {
        insert_record(connection, &lease.session, record).map_err(&on)?;
    }
    if let Some(until) = time.and_then(|time| lease::renewed_by_append(holder, time)) {
        set_until(connection, &lease.session, until).map_err(&on)?;
    }
    if let Some(time) = time.filter(|_| touched) {
        touch(connection, &lease.session, time).map_err(&on)?;
    }
    Ok((batch, records, head))
}

/// Session and head of a run, from its last record.
fn last_of(connection: &Connection, run: &RunId) -> rusqlite::Result<Option<(String, Head)>> {
    connection
        .prepare_cached("SELECT session, seq, hash FROM journal WHERE run = ?1 ORDER BY seq DESC LIMIT 1")?
        .query_row([run.as_str()], |row| Ok((row.get(0)?, head_of(row, 1)?)))
        .optional()
}

fn head_of(row: &Row<'_>, first: usize) -> rusqlite::Result<Head> {
    let seq: i64 = row.get(first)?;
    let hash: [u8; 32] = row.get(first + 1)?;
    Ok(Head { next: seq.unsigned_abs().saturating_add(1), hash: Digest::from_bytes(hash) })
}

/// Bytes that are text already, without another look at them.
struct Utf8<'a>(&'a [u8]);

impl ToSql for Utf8<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Text(self.0)))
    }
}

fn insert_record(
    connection: &Connection,
    session: &SessionId,
    record: &SealedRecord,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO journal (run, session, seq, kind, payload, payload_sha256, time, prev, hash, v)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )?
        .execute(params![
            record.run.as_str(),
            session.as_str(),
            i64::try_from(record.seq).unwrap_or(i64::MAX),
            record.kind,
            record.payload.as_deref().map(Utf8),
            record.payload_digest.as_bytes(),
            stored_time(record.time),
            record.previous.as_bytes(),
            record.hash.as_bytes(),
            record.version,
        ])
        .map(drop)
}

fn insert_artifact(
    connection: &Connection,
    session: &SessionId,
    run: &RunId,
    version: &ArtifactVersion,
) -> rusqlite::Result<usize> {
    connection
        .prepare_cached(
            "INSERT INTO artifacts (session, id, version, run, content_type, title, source, content)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            session.as_str(),
            version.id,
            version.version,
            run.as_str(),
            version.content_type,
            version.title,
            version.source,
            version.content,
        ])
}

fn runs(connection: &Connection, session: Option<&SessionId>) -> rusqlite::Result<Vec<RunRow>> {
    let of_session = if session.is_some() { "AND first.session = ?1" } else { "AND ?1 IS NULL" };
    let sql = format!(
        "SELECT first.run, first.session, first.time, last.seq, last.hash,
                EXISTS (SELECT 1 FROM journal WHERE run = first.run AND kind = 'run_ended')
         FROM journal first JOIN journal last
           ON last.run = first.run AND last.seq = (SELECT max(seq) FROM journal WHERE run = first.run)
         WHERE first.seq = 0 {of_session} ORDER BY first.number"
    );
    connection
        .prepare_cached(&sql)?
        .query_map([session.map(SessionId::as_str)], |row| {
            Ok(RunRow {
                id: RunId::new(row.get::<_, String>(0)?),
                session: SessionId::new(row.get::<_, String>(1)?),
                started: read_time(row.get(2)?),
                head: head_of(row, 3)?,
                ended: row.get(5)?,
            })
        })?
        .collect()
}

fn audit_file(row: &Row<'_>) -> rusqlite::Result<AuditFile> {
    Ok(AuditFile { path: row.get(0)?, bytes: row.get(1)? })
}

fn artifact_version(row: &Row<'_>) -> rusqlite::Result<ArtifactVersion> {
    Ok(ArtifactVersion {
        id: row.get(0)?,
        version: row.get(1)?,
        content_type: row.get(2)?,
        title: row.get(3)?,
        source: row.get(4)?,
        content: row.get::<_, Option<String>>(5)?.unwrap_or_default(),
    })
}
