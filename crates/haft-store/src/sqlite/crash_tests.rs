//! Kills the process at every place of the store's work, and looks at what is left.
//!
//! The test starts itself again with a place at which to die. The child notes each acknowledged commit in a file of its own;
//! whatever stands there must be in the store afterwards, the chain must verify, and the session must go on at once.

#![expect(
    clippy::disallowed_methods,
    reason = "the test starts itself again and looks at what is left on the disk"
)]

#[path = "../../tests/support/mod.rs"]
mod support;

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use haft_core::ports::{BlobRows as _, JournalRows as _, Lease, SessionRows as _};
use haft_core::{Digest, Payload, RunId, SessionId, Timestamp};

use self::support::{RunWriter, artifact, session, wait};
use crate::SqliteStore;
use crate::fault;
use crate::verify::{Class, verify_store};

const HOME: &str = "HAFT_CRASH_HOME";
const PLACE: &str = "HAFT_CRASH_AT";
const NAME: &str = "sqlite::crash_tests::every_acknowledged_record_survives_a_death_at_every_place";

/// Three runs in two sessions, a redaction and a deletion; `acknowledge` is told after every commit.
async fn work(store: &SqliteStore, acknowledge: impl Fn(String)) {
    let lease = session(store, "s_1", 1).await;
    acknowledge("session s_1".into());
    for run in ["r_1", "r_2"] {
        let writer = RunWriter::new(store, &lease, run, 5);
        let note = |next: u64| acknowledge(format!("run {run} {next}"));
        note(writer.append(writer.beginning(writer.previous().await)).await.unwrap().head().next);
        note(writer.append(writer.intent()).await.unwrap().head().next);
        let before = store.put_blob(run.as_bytes()).await.unwrap();
        acknowledge(format!("blob {before}"));
        let version = if run == "r_1" { 1 } else { 2 };
        let mut last = writer.completion(Some(artifact("notes", version)), Some(before));
        last.join(writer.end());
        note(writer.append(last).await.unwrap().head().next);
    }
    store.redact(&lease, &RunId::new("r_1"), 0, "asked", Timestamp(6)).await.unwrap();
    acknowledge("redacted".into());
    let other = session(store, "s_2", 1).await;
    RunWriter::new(store, &other, "r_3", 5).whole(Some(artifact("notes", 1)), Some(b"third")).await;
    store.delete_session(&other, Timestamp(7)).await.unwrap();
    acknowledge("deleted".into());
}

fn child(home: &Path, place: u64) {
    let store = SqliteStore::open(&home.join("store"), Timestamp(1)).unwrap();
    fault::die_at(place);
    wait(work(&store, |line| {
        let mut file = OpenOptions::new().create(true).append(true).open(home.join("acknowledged")).unwrap();
        writeln!(file, "{line}").unwrap();
    }));
    fs::write(home.join("places"), fault::reached().to_string()).unwrap();
}

fn die(home: &Path, place: u64) -> bool {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([NAME, "--exact", "--nocapture"]).stdout(Stdio::null()).stderr(Stdio::null());
    command.env(HOME, home).env(PLACE, place.to_string()).status().unwrap().success()
}

/// What is left after a death: all that was acknowledged, in a store that verifies and goes on.
async fn inspect(home: &Path, place: u64) {
    let store = SqliteStore::open(&home.join("store"), Timestamp(2)).unwrap();
    let acknowledged = fs::read_to_string(home.join("acknowledged")).unwrap_or_default();
    let deleted = acknowledged.contains("deleted");
    for line in acknowledged.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["session", id] => {
                assert!(store.session(&SessionId::new(id)).await.unwrap().is_some(), "{place}: {line}");
            }
            ["run", run, next] => {
                let records = store.records(&RunId::new(run)).await.unwrap();
                assert!(records.len() as u64 >= next.parse::<u64>().unwrap(), "{place}: {line}");
            }
            ["blob", digest] => {
                let bytes = store.blob(&digest.parse().unwrap()).await.unwrap();
                // The blob of r_1 stays until its record is redacted, which is not done here.
                assert_eq!(
                    bytes.map(|bytes| Digest::of(&bytes).to_string()).as_deref(),
                    Some(digest),
                    "{place}"
                );
            }
            ["redacted"] => {
                let records = store.records(&RunId::new("r_1")).await.unwrap();
                assert_eq!((records[0].payload.as_ref(), records.len()), (None, 7), "{place}");
            }
            ["deleted"] => assert!(store.session(&SessionId::new("s_2")).await.unwrap().unwrap().deleted),
            _ => panic!("{line}"),
        }
    }
    // The owner is gone, so the session goes on at once, long before its lease would have ended.
    for id in ["s_1", "s_2"].map(SessionId::new) {
        let Some(row) = store.session(&id).await.unwrap() else { continue };
        if row.deleted {
            continue;
        }
        let lease = store.lease(&id, "haft test", Timestamp(8)).await.unwrap();
        for run in store.runs(Some(&id)).await.unwrap().into_iter().filter(|run| !run.ended) {
            recover(&store, &lease, run.id).await;
        }
    }
    let report = verify_store(&store, &[], Timestamp(9)).unwrap();
    let bad: Vec<String> = report
        .findings()
        .filter(|finding| finding.class() != Class::Loose)
        .map(ToString::to_string)
        .collect();
    assert!(bad.is_empty(), "{place} (deleted: {deleted}): {bad:#?}");
}

/// Ends what was started and the run, as an engine does after a crash.
async fn recover(store: &SqliteStore, lease: &Lease, run: RunId) {
    let records = store.records(&run).await.unwrap();
    let writer = RunWriter::new(store, lease, run.as_str(), 8);
    let read = |kind: &str| records.iter().any(|record| record.kind == kind);
    let payloads =
        records.iter().map(|record| Payload::read(&record.kind, record.payload.as_ref().unwrap()).unwrap());
    assert_eq!(payloads.count(), records.len());
    let mut batch = writer.batch();
    if read("tool_call_started") && !read("tool_call_completed") {
        batch.join(writer.failure());
    }
    batch.join(writer.end());
    writer.append(batch).await.unwrap();
}

#[test]
fn every_acknowledged_record_survives_a_death_at_every_place() {
    if let (Some(home), Some(place)) = (std::env::var_os(HOME), std::env::var_os(PLACE)) {
        return child(Path::new(&home), place.to_str().unwrap().parse().unwrap());
    }
    let home = tempfile::tempdir().unwrap();
    assert!(die(home.path(), u64::MAX - 1), "without a death all goes well");
    let places: u64 = fs::read_to_string(home.path().join("places")).unwrap().parse().unwrap();
    wait(inspect(home.path(), u64::MAX));
    assert!(places > 50, "{places}");
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(place) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).filter(|place| *place < places)
                {
                    let home = tempfile::tempdir().unwrap();
                    assert!(!die(home.path(), place), "it dies at place {place}");
                    wait(inspect(home.path(), place));
                }
            });
        }
    });
    println!("{places} deaths, no acknowledged record lost");
}
