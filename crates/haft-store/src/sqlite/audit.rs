//! Raw rows for verification: whatever stands in them, each becomes a row or a reason why not.

use std::path::PathBuf;

use haft_core::ports::{StoreError, Timestamp};
use haft_core::{ArtifactVersion, Digest, RunId, SealedRecord, SessionId};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row as SqlRow};

use super::schema::open_reader;
use super::{SqliteStore, on, stored_time};
use crate::blobs::BlobFolder;
use crate::verify::{
    ArtifactRow, AuditSource, Auditable, FileRow, RecordRow, Row, SessionState, UnreadableRow,
};

impl Auditable for SqliteStore {
    fn audit(&self) -> Result<Box<dyn AuditSource + '_>, StoreError> {
        let connection = open_reader(&self.home)?;
        if let Some(connection) = &connection {
            // The first read of the transaction fixes what all others see.
            let begun = connection.execute_batch("BEGIN; SELECT 1 FROM sqlite_schema;");
            begun.map_err(on(&self.database()))?;
        }
        Ok(Box::new(Snapshot { connection, database: self.database(), blobs: &self.blobs }))
    }
}

/// One read transaction on a connection of its own; it ends with the connection.
struct Snapshot<'a> {
    /// None while there is no database.
    connection: Option<Connection>,
    database: PathBuf,
    blobs: &'a BlobFolder,
}

impl AuditSource for Snapshot<'_> {
    fn medium(&self) -> Result<Vec<String>, StoreError> {
        let Some(connection) = &self.connection else { return Ok(Vec::new()) };
        let lines = connection.prepare("PRAGMA integrity_check").and_then(|mut check| {
            check.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<Vec<String>>>()
        });
        // A check that breaks off tells of damage too.
        let lines = lines.unwrap_or_else(|error| vec![error.to_string()]);
        Ok(lines.into_iter().filter(|line| line != "ok").collect())
    }

    fn run_ids(&self) -> Result<Vec<Row<RunId>>, StoreError> {
        self.rows(
            "SELECT run, min(number) FROM (SELECT run, number FROM journal
               UNION ALL SELECT run, 9223372036854775807 FROM files UNION ALL SELECT run, 9223372036854775807 FROM artifacts)
             GROUP BY run ORDER BY min(number), run",
            None::<i64>,
            |row| text(row, 0, "run").map(RunId::new).map_err(|reason| unreadable("a row that names no run", reason)),
        )
    }

    fn record_rows(&self, run: &RunId) -> Result<Vec<Row<RecordRow>>, StoreError> {
        let Some(connection) = &self.connection else { return Ok(Vec::new()) };
        record_rows(connection, run, None).map_err(on(&self.database))
    }

    fn file_rows(&self, run: &RunId) -> Result<Vec<Row<FileRow>>, StoreError> {
        self.rows(
            "SELECT path, bytes, sha256 FROM files WHERE run = ?1 ORDER BY path",
            Some(run.as_str()),
            |row| {
                let path = text(row, 0, "path").map_err(|reason| unreadable("a file", reason))?;
                let read = || {
                    let digest = optional(row, 2, |row, column| digest(row, column, "sha256"))?;
                    Ok(FileRow { path: path.clone(), bytes: blob(row, 1)?, digest })
                };
                read().map_err(|reason| unreadable(format!("file {path}"), reason))
            },
        )
    }

    fn artifact_rows(&self, run: &RunId) -> Result<Vec<Row<ArtifactRow>>, StoreError> {
        self.rows(
            "SELECT session, id, version, content_type, title, source, content FROM artifacts
             WHERE run = ?1 ORDER BY id, version",
            Some(run.as_str()),
            |row| {
                let named = || Ok((text(row, 1, "id")?, number(row, 2, "version")?));
                let (id, version) = named().map_err(|reason| unreadable("an artifact", reason))?;
                let read = || {
                    let session = SessionId::new(text(row, 0, "session")?);
                    let content = optional(row, 6, |row, column| text(row, column, "content"))?;
                    let is_taken = content.is_none();
                    let whole = ArtifactVersion {
                        id: id.clone(),
                        version: u32::try_from(version).map_err(|_| format!("version: {version}"))?,
                        content_type: text(row, 3, "content_type")?,
                        title: text(row, 4, "title")?,
                        source: text(row, 5, "source")?,
                        content: content.unwrap_or_default(),
                    };
                    let digest = (!is_taken).then(|| whole.digest()).transpose();
                    let digest = digest.map_err(|error| error.to_string())?;
                    Ok(ArtifactRow { session, id: whole.id, version: whole.version, digest })
                };
                read().map_err(|reason| unreadable(format!("artifact {id}@{version}"), reason))
            },
        )
    }

    fn session_states(&self, now: Timestamp) -> Result<Vec<Row<SessionState>>, StoreError> {
        self.rows(
            "SELECT s.id, s.deleted, l.owner IS NOT NULL AND l.until > ?1, l.process FROM sessions s
             LEFT JOIN leases l ON l.session = s.id ORDER BY s.number",
            Some(stored_time(now)),
            |row| {
                let id = text(row, 0, "id").map_err(|reason| unreadable("a session", reason))?;
                let read = || {
                    let held = row.get_ref(2).is_ok_and(|value| value == ValueRef::Integer(1));
                    let gone =
                        held && text(row, 3, "process").is_ok_and(|mark| crate::process::is_gone(&mark));
                    let deleted = number(row, 1, "deleted")? != 0;
                    Ok(SessionState { id: SessionId::new(id.clone()), deleted, leased: held && !gone })
                };
                read().map_err(|reason| unreadable(format!("session {id}"), reason))
            },
        )
    }

    fn blob_names(&self) -> Result<Vec<Row<Digest>>, StoreError> {
        self.blobs.names()
    }

    fn blob_bytes(&self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.blobs.get(digest).unwrap_or(None))
    }
}

impl Snapshot<'_> {
    fn rows<T>(
        &self,
        sql: &str,
        parameter: Option<impl rusqlite::ToSql>,
        read: impl Fn(&SqlRow<'_>) -> Row<T>,
    ) -> Result<Vec<Row<T>>, StoreError> {
        let Some(connection) = &self.connection else { return Ok(Vec::new()) };
        collect(connection, sql, parameter, read).map_err(on(&self.database))
    }
}

/// Damage of pages in the middle of a table ends the rows with one that says so.
fn collect<T>(
    connection: &Connection,
    sql: &str,
    parameter: Option<impl rusqlite::ToSql>,
    read: impl Fn(&SqlRow<'_>) -> Row<T>,
) -> rusqlite::Result<Vec<Row<T>>> {
    let mut select = connection.prepare_cached(sql)?;
    let mut rows = match parameter {
        Some(parameter) => select.query([parameter])?,
        None => select.query([])?,
    };
    let mut found = Vec::new();
    loop {
        match rows.next() {
            Ok(Some(row)) => found.push(read(row)),
            Ok(None) => return Ok(found),
            Err(error) => {
                found.push(Err(unreadable("the rows from here on", error.to_string())));
                return Ok(found);
            }
        }
    }
}

const SELECT_RECORD: &str = "SELECT session, seq, kind, payload, payload_sha256, time, prev, hash, v, number FROM journal WHERE run = ?1";

/// The rows of a run, by number: all of them, or the first ones.
pub(super) fn record_rows(
    connection: &Connection,
    run: &RunId,
    most: Option<u32>,
) -> rusqlite::Result<Vec<Row<RecordRow>>> {
    let limit = most.map_or_else(String::new, |most| format!(" LIMIT {most}"));
    let sql = format!("{SELECT_RECORD} ORDER BY seq{limit}");
    collect(connection, &sql, Some(run.as_str()), |row| record_row_of(run, row))
}

/// One row of a run.
pub(super) fn record_row(
    connection: &Connection,
    run: &RunId,
    seq: u64,
) -> rusqlite::Result<Option<Row<RecordRow>>> {
    let sql = format!("{SELECT_RECORD} AND seq = ?2");
    let mut select = connection.prepare_cached(&sql)?;
    let mut rows = select.query(rusqlite::params![run.as_str(), i64::try_from(seq).unwrap_or(i64::MAX)])?;
    Ok(rows.next()?.map(|row| record_row_of(run, row)))
}

fn record_row_of(run: &RunId, row: &SqlRow<'_>) -> Row<RecordRow> {
    let seq = match number(row, 1, "seq") {
        Ok(seq) => seq,
        Err(reason) => {
            let place = format!("journal row {}", number(row, 9, "number").unwrap_or_default());
            return Err(unreadable(place, reason));
        }
    };
    let read = || {
        Ok(RecordRow {
            session: SessionId::new(text(row, 0, "session")?),
            record: SealedRecord {
                version: number(row, 8, "v").and_then(|v| u32::try_from(v).map_err(|_| format!("v: {v}")))?,
                run: run.clone(),
                seq,
                time: Timestamp(number(row, 5, "time")?),
                kind: text(row, 2, "kind")?,
                payload: blob(row, 3)?,
                payload_digest: digest(row, 4, "payload_sha256")?,
                previous: digest(row, 6, "prev")?,
                hash: digest(row, 7, "hash")?,
            },
        })
    };
    read().map_err(|reason| unreadable(format!("record {seq}"), reason))
}

fn unreadable(place: impl Into<String>, reason: String) -> UnreadableRow {
    UnreadableRow { place: place.into(), reason }
}

fn text(row: &SqlRow<'_>, column: usize, name: &str) -> Result<String, String> {
    match row.get_ref(column) {
        Ok(ValueRef::Text(bytes)) => {
            String::from_utf8(bytes.to_vec()).map_err(|_| format!("{name}: no valid UTF-8"))
        }
        Ok(other) => Err(format!("{name}: {} instead of text", other.data_type())),
        Err(error) => Err(error.to_string()),
    }
}

fn number(row: &SqlRow<'_>, column: usize, name: &str) -> Result<u64, String> {
    match row.get_ref(column) {
        Ok(ValueRef::Integer(number)) => u64::try_from(number).map_err(|_| format!("{name}: {number}")),
        Ok(other) => Err(format!("{name}: {} instead of a number", other.data_type())),
        Err(error) => Err(error.to_string()),
    }
}

fn digest(row: &SqlRow<'_>, column: usize, name: &str) -> Result<Digest, String> {
    match row.get_ref(column) {
        Ok(ValueRef::Blob(bytes)) => <[u8; 32]>::try_from(bytes)
            .map(Digest::from_bytes)
            .map_err(|_| format!("{name}: {} bytes instead of 32", bytes.len())),
        Ok(other) => Err(format!("{name}: {} instead of bytes", other.data_type())),
        Err(error) => Err(error.to_string()),
    }
}

/// Text or bytes as bytes; none for null.
fn blob(row: &SqlRow<'_>, column: usize) -> Result<Option<Vec<u8>>, String> {
    match row.get_ref(column) {
        Ok(value) => {
            value.as_bytes_or_null().map(|bytes| bytes.map(<[u8]>::to_vec)).map_err(|error| error.to_string())
        }
        Err(error) => Err(error.to_string()),
    }
}

fn optional<T>(
    row: &SqlRow<'_>,
    column: usize,
    read: impl Fn(&SqlRow<'_>, usize) -> Result<T, String>,
) -> Result<Option<T>, String> {
    match row.get_ref(column) {
        Ok(ValueRef::Null) => Ok(None),
        Ok(_) => read(row, column).map(Some),
        Err(error) => Err(error.to_string()),
    }
}
