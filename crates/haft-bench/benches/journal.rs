//! The durable journal: what a commit costs one session, and how sixteen share a sync.
//!
//! Everything is measured on the wall and on the disk that holds `target/`, beside its limit in the same round: a plain SQLite
//! transaction of the same rows for one session, and grouped write + fdatasync of the same bytes for sixteen.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, missing_docs, reason = "a bench")]

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Condvar, Mutex};

use haft_bench::{Clock, Comparison, Goals};
use haft_core::journal::{Batch, Committed, Head, ModelRequestFailed, Payload, SealedRecord};
use haft_core::ports::{JournalRows as _, Lease, NewSession, SessionRows, StoreError};
use haft_core::{InvocationId, RunId, SessionId, Timestamp};
use haft_store::{MemoryStore, SqliteStore};
use rusqlite::{Connection, params};

const SESSIONS: usize = 16;
/// Appends of each session in one sample of the case with sixteen.
const APPENDS: usize = 64;
const ALONE: u64 = 100;
const ROUNDS: usize = 15;

fn main() -> ExitCode {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    let folder = tempfile::Builder::new().prefix("bench-journal-").tempdir_in(target).unwrap();
    let mut goals = Goals::new("journal");
    in_memory(&mut goals);
    syncs(&mut goals, &folder.path().join("syncs"));
    one_session(&mut goals, folder.path());
    sixteen_sessions(&mut goals, folder.path());
    goals.finish()
}

/// A batch of `records` records with payloads of about 300 bytes, and a file of the same size.
fn batch(run: &RunId, records: u64, file: Option<u64>) -> Batch {
    let mut batch = Batch::new(run.clone());
    for number in 0..records {
        let failed = ModelRequestFailed {
            invocation: InvocationId::new("i_0000000000000000"),
            turn: 1,
            error_code: "model.unreachable".into(),
            message: format!("{number:0200}"),
        };
        batch.record(Timestamp(5), &Payload::ModelRequestFailed(failed)).unwrap();
    }
    if let Some(number) = file {
        batch.file(format!("tool-args/call_{number:016x}.json"), vec![b'x'; 300]);
    }
    batch
}

async fn session(store: &impl SessionRows, name: &str) -> Lease {
    let id = SessionId::new(name);
    let new = NewSession { id: id.clone(), created: Timestamp(1), profile: "default".into(), project: None };
    store.create_session(&new).await.unwrap();
    store.lease(&id, "bench", Timestamp(1)).await.unwrap()
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn in_memory(goals: &mut Goals) {
    let store = MemoryStore::new();
    let lease = wait(session(&store, "s_1"));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut number = 0;
    let measured = Comparison::new()
        .repeats(2_000)
        .case_with(
            "append",
            || {
                number += 1;
                batch(&RunId::new(format!("r_{}", number / 100)), 3, Some(number))
            },
            |batch| runtime.block_on(store.append(&lease, batch)).unwrap(),
        )
        .run();
    goals.note("3 records and a file in memory", measured.micros("append"), "µs");
}

/// Two durable commits for a call that asks nobody: requested + started, completed + what comes next.
fn syncs(goals: &mut Goals, home: &Path) {
    let store = SqliteStore::open(home, Timestamp(1)).unwrap();
    wait(async {
        let lease = session(&store, "s_1").await;
        let run = RunId::new("r_1");
        let calls = 10;
        let before = store.commits();
        for call in 0..calls {
            store.append(&lease, batch(&run, 2, Some(2 * call))).await.unwrap();
            store.append(&lease, batch(&run, 2, Some(2 * call + 1))).await.unwrap();
        }
        let commits = (store.commits() - before) as f64 / calls as f64;
        goals.at_most("syncs of a call that asks nobody", commits, 2.0, "");
    });
}

/// The tables that a plain program would have, in the settings of the store.
fn plain(folder: &Path) -> Connection {
    let connection = Connection::open(folder.join("plain.db")).unwrap();
    connection
        .execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000;
             CREATE TABLE journal (number INTEGER PRIMARY KEY, run TEXT, session TEXT, seq INTEGER, kind TEXT, payload TEXT,
                payload_sha256 BLOB, time INTEGER, prev BLOB, hash BLOB, v INTEGER, UNIQUE (run, seq));
             CREATE TABLE files (run TEXT, path TEXT, bytes BLOB, sha256 BLOB, PRIMARY KEY (run, path));",
        )
        .unwrap();
    connection
}

fn insert_plain(connection: &Connection, records: &[SealedRecord], path: &str, bytes: &[u8]) {
    connection.prepare_cached("BEGIN IMMEDIATE").unwrap().execute([]).unwrap();
    let mut insert = connection
        .prepare_cached(
            "INSERT INTO journal (run, session, seq, kind, payload, payload_sha256, time, prev, hash, v)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )
        .unwrap();
    for record in records {
        let payload = std::str::from_utf8(record.payload.as_deref().unwrap()).unwrap();
        insert
            .execute(params![
                record.run.as_str(),
                "s_1",
                record.seq as i64,
                record.kind,
                payload,
                record.payload_digest.as_bytes(),
                record.time.0 as i64,
                record.previous.as_bytes(),
                record.hash.as_bytes(),
                record.version
            ])
            .unwrap();
    }
    let run = records.first().unwrap().run.as_str();
    connection
        .prepare_cached("INSERT INTO files (run, path, bytes, sha256) VALUES (?1, ?2, ?3, ?4)")
        .unwrap()
        .execute(params![run, path, bytes, records.first().unwrap().hash.as_bytes()])
        .unwrap();
    connection.prepare_cached("COMMIT").unwrap().execute([]).unwrap();
}

fn one_session(goals: &mut Goals, folder: &Path) {
    let store = SqliteStore::open(&folder.join("one"), Timestamp(1)).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let lease = runtime.block_on(session(&store, "s_1"));
    let connection = plain(folder);
    let (mut ours, mut theirs, mut head) = (0, 0, Head::empty());
    let mut raw = File::create(folder.join("raw-alone")).unwrap();
    let measured = Comparison::new()
        .clock(Clock::Wall)
        .rounds(ROUNDS)
        .repeats(ALONE)
        .case_with(
            "session",
            || {
                ours += 1;
                batch(&RunId::new(format!("r_{}", ours / 50)), 2, Some(ours))
            },
            |batch| runtime.block_on(store.append(&lease, batch)).unwrap(),
        )
        .case_with(
            "plain",
            || {
                theirs += 1;
                if theirs % 50 == 0 {
                    head = Head::empty();
                }
                let (records, next) = batch(&RunId::new(format!("r_{}", theirs / 50)), 2, None).seal(head);
                head = next;
                (records, format!("tool-args/call_{theirs:016x}.json"), vec![b'x'; 300])
            },
            |(records, path, bytes)| insert_plain(&connection, &records, &path, &bytes),
        )
        .case("raw", || {
            raw.write_all(&[b'x'; 1_500]).unwrap();
            raw.sync_data().unwrap();
        })
        .run();
    goals.at_most("a lone session / plain SQLite transaction", measured.ratio("session", "plain"), 1.3, "x");
    goals.note("a lone session", measured.micros("session"), "µs");
    goals.note("plain SQLite transaction", measured.micros("plain"), "µs");
    goals.note("raw write + fdatasync", measured.micros("raw"), "µs");
}

/// Grouped write + fdatasync: whoever comes first writes and syncs for all that wait.
struct RawLog {
    state: Mutex<RawState>,
    done: Condvar,
    file: File,
}

#[derive(Default)]
struct RawState {
    queued: Vec<u8>,
    /// Number of the last append that is queued, and of the last that is durable.
    last: u64,
    durable: u64,
    is_led: bool,
}

impl RawLog {
    fn append(&self, bytes: &[u8]) {
        let mut state = self.state.lock().unwrap();
        state.queued.extend_from_slice(bytes);
        state.last += 1;
        let own = state.last;
        while state.durable < own {
            if state.is_led {
                state = self.done.wait(state).unwrap();
                continue;
            }
            state.is_led = true;
            let (group, last) = (std::mem::take(&mut state.queued), state.last);
            drop(state);
            (&self.file).write_all(&group).unwrap();
            self.file.sync_data().unwrap();
            state = self.state.lock().unwrap();
            state.durable = last;
            state.is_led = false;
            self.done.notify_all();
        }
    }
}

fn sixteen_sessions(goals: &mut Goals, folder: &Path) {
    let store = SqliteStore::open(&folder.join("sixteen"), Timestamp(1)).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let store = std::sync::Arc::new(store);
    let leases: Vec<Lease> =
        (0..SESSIONS).map(|number| runtime.block_on(session(&*store, &format!("s_{number}")))).collect();
    let raw = RawLog {
        state: Mutex::default(),
        done: Condvar::new(),
        file: File::create(folder.join("raw-grouped")).unwrap(),
    };
    let line = {
        let (records, _) = batch(&RunId::new("r_00_0000"), 1, None).seal(Head::empty());
        records.first().unwrap().export_line().to_string().into_bytes()
    };
    let before = store.commits();
    let mut round = 0;
    let measured = Comparison::new()
        .clock(Clock::Wall)
        .rounds(ROUNDS)
        .repeats(1)
        .case("sessions", || {
            round += 1;
            let tasks: Vec<_> = leases
                .iter()
                .enumerate()
                .map(|(number, lease)| {
                    let (store, lease) = (store.clone(), lease.clone());
                    let run = RunId::new(format!("r_{number:02}_{round:04}"));
                    runtime.spawn(async move {
                        for _ in 0..APPENDS {
                            let appended: Result<Committed, StoreError> =
                                store.append(&lease, batch(&run, 1, None)).await;
                            appended.unwrap();
                        }
                    })
                })
                .collect();
            runtime.block_on(async {
                for task in tasks {
                    task.await.unwrap();
                }
            });
        })
        .case("raw", || {
            std::thread::scope(|scope| {
                for _ in 0..SESSIONS {
                    scope.spawn(|| {
                        for _ in 0..APPENDS {
                            raw.append(&line);
                        }
                    });
                }
            });
        })
        .run();
    let appends = (SESSIONS * APPENDS) as f64;
    let per_commit = appends * (f64::from(round)) / (store.commits() - before) as f64;
    goals.at_least(
        "16 sessions / raw grouped write + fdatasync",
        measured.ratio("raw", "sessions"),
        0.8,
        "x",
    );
    goals.note("16 sessions", appends / measured.seconds("sessions"), "appends/s");
    goals.note("raw grouped write + fdatasync", appends / measured.seconds("raw"), "appends/s");
    goals.note("appends in one commit", per_commit, "");
}
