//! A store with many sessions, made of copies of one run.
//!
//! Rows are written past the store, in transactions of thousands without a sync, since a million commits would take an hour; tables
//! and sessions are the store's own, and each chain is sealed as the store would seal it.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use haft_core::facts::Permission;
use haft_core::journal::{Head, SealedRecord};
use haft_core::ports::{AuditFile, Clock as _, JournalRows as _, NewSession, SessionRows as _, Timestamp};
use haft_core::{Digest, RunId, SessionId};
use haft_store::{MemoryStore, SqliteStore};
use rusqlite::{Connection, params};

use crate::real::{RealClock, RealWorld, runtime};

/// Sessions of five runs each, beside the three that have names: 1.4 million records, a little over 1 GB.
pub(crate) const SESSIONS: usize = 2_800;
const RUNS: usize = 5;
/// A session of one run.
pub(crate) const SHORT: &str = "s_short";
/// A session of ten runs.
pub(crate) const MIDDLE: &str = "s_middle";
/// A session of a hundred runs.
pub(crate) const LONG: &str = "s_long";
/// Turns of the run that is copied: a hundred records.
const TURNS: usize = 20;
const RECORDS: usize = 100;

/// The run that is copied.
struct Template {
    session: SessionId,
    records: Vec<SealedRecord>,
    files: Vec<AuditFile>,
}

/// Makes the store unless it is there.
pub(crate) fn make_sure(home: &Path, sessions: usize) {
    let done = home.join("complete");
    if done.exists() {
        return;
    }
    if home.exists() {
        std::fs::remove_dir_all(home).unwrap();
    }
    println!("making a store of {} records in target/bench-data, once", sessions * RUNS * RECORDS);
    let began = Instant::now();
    make(home, sessions);
    std::fs::write(done, "").unwrap();
    println!("made in {:.0} s", began.elapsed().as_secs_f64());
}

/// Makes a store with the named sessions and so many others.
pub(crate) fn make(home: &Path, others: usize) {
    let runtime = runtime();
    let template = runtime.block_on(template());
    let names = (0..others).map(|number| (format!("s_{number:016}"), RUNS));
    let named = [(LONG, 100), (MIDDLE, 10), (SHORT, 1)].map(|(name, runs)| (name.to_owned(), runs));
    let sessions: Vec<(String, usize)> = names.chain(named).collect();
    let store = SqliteStore::open(home, RealClock.now()).unwrap();
    runtime.block_on(async {
        for (created, (name, _)) in sessions.iter().enumerate() {
            let (id, created) = (SessionId::new(name.clone()), Timestamp(created as u64 + 1));
            let new = NewSession { id, created, profile: "default".into(), project: None };
            store.create_session(&new).await.unwrap();
        }
    });
    drop(store);
    let mut connection = Connection::open(home.join("haft.db")).unwrap();
    connection.pragma_update(None, "synchronous", "off").unwrap();
    let mut run = 0;
    for some in sessions.chunks(100) {
        let transaction = connection.transaction().unwrap();
        for (session, runs) in some {
            for _ in 0..*runs {
                copy(&transaction, &template, session, &RunId::new(format!("r_{run:020}")));
                run += 1;
            }
        }
        transaction.commit().unwrap();
    }
    connection.pragma_update(None, "synchronous", "full").unwrap();
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
}

/// A run of many turns, as the engine wrote it.
async fn template() -> Template {
    let store = Arc::new(MemoryStore::new());
    let world = RealWorld::over(store.clone(), |facts| facts.permission = Permission::Allow);
    let session = world.session().await;
    world.run(&session, TURNS).await;
    let run = store.runs(None).await.unwrap().remove(0);
    let records = store.records(&run.id).await.unwrap();
    assert_eq!(records.len(), RECORDS);
    Template { session: session.id().clone(), records, files: store.files(&run.id).await.unwrap() }
}

fn copy(connection: &Connection, template: &Template, session: &str, run: &RunId) {
    let mut head = Head::empty();
    let mut insert = connection
        .prepare_cached(
            "INSERT INTO journal (run, session, seq, kind, payload, payload_sha256, time, prev, hash, v)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )
        .unwrap();
    for record in &template.records {
        let payload = String::from_utf8(record.payload.clone().unwrap()).unwrap();
        let payload = payload.replace(template.session.as_str(), session);
        let (record, next) = SealedRecord::seal(run, head, record.time, &record.kind, payload.into_bytes());
        head = next;
        let row = params![
            run.as_str(),
            session,
            record.seq as i64,
            record.kind,
            std::str::from_utf8(record.payload.as_deref().unwrap()).unwrap(),
            record.payload_digest.as_bytes(),
            record.time.0 as i64,
            record.previous.as_bytes(),
            record.hash.as_bytes(),
            record.version
        ];
        insert.execute(row).unwrap();
    }
    let mut insert = connection
        .prepare_cached("INSERT INTO files (run, path, bytes, sha256) VALUES (?1, ?2, ?3, ?4)")
        .unwrap();
    for file in &template.files {
        let bytes = file.bytes.as_deref().unwrap();
        insert.execute(params![run.as_str(), file.path, bytes, Digest::of(bytes).as_bytes()]).unwrap();
    }
}

pub(crate) fn records(home: &Path) -> u64 {
    let connection = Connection::open(home.join("haft.db")).unwrap();
    connection
        .query_row("SELECT max(number) FROM journal", [], |row| row.get::<_, i64>(0))
        .unwrap()
        .unsigned_abs()
}
