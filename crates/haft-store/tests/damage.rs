//! `verify` names what was touched: one byte in every column of every kind of row, rows that are gone, tails that were cut,
//! blobs on the disk, and rows of the wrong form.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]
#![expect(clippy::disallowed_methods, reason = "the tests damage files")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use haft_core::ports::{JournalRows as _, SessionRows as _};
use haft_core::{CallId, Digest, RunId, Timestamp};
use haft_store::SqliteStore;
use haft_store::verify::{Anchor, Class, Report, anchor, verify_run, verify_store};
use support::{RunWriter, artifact, session, wait};

const NOW: Timestamp = Timestamp(9);

/// Two sessions: `s_1` with `r_1`, `r_2` (its completed call was redacted) and `r_3`, `s_2` with `r_4`.
fn build(home: &Path) {
    wait(async {
        let store = SqliteStore::open(home, Timestamp(1)).unwrap();
        let one = session(&store, "s_1", 1).await;
        let two = session(&store, "s_2", 1).await;
        RunWriter::new(&store, &one, "r_1", 5).whole(Some(artifact("notes", 1)), Some(b"before one")).await;
        RunWriter::new(&store, &one, "r_2", 5).whole(Some(artifact("notes", 2)), Some(b"before two")).await;
        RunWriter::new(&store, &one, "r_3", 5).whole(None, None).await;
        RunWriter::new(&store, &two, "r_4", 5).whole(Some(artifact("plan", 1)), Some(b"before one")).await;
        store.redact(&one, &RunId::new("r_2"), 4, "asked", Timestamp(6)).await.unwrap();
        store.release(&one).await.unwrap();
        store.release(&two).await.unwrap();
    });
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn blob_path(home: &Path, bytes: &[u8]) -> PathBuf {
    let name = Digest::of(bytes).to_string();
    home.join("blobs").join(&name[..2]).join(&name[2..])
}

fn verify(home: &Path, anchors: &[Anchor]) -> Report {
    let store = SqliteStore::open(home, NOW).unwrap();
    verify_store(&store, anchors, NOW).unwrap()
}

fn told(report: &Report) -> Vec<String> {
    report.findings().map(ToString::to_string).collect()
}

fn stem(run: &str) -> String {
    CallId::new(format!("c_i_{run}_1_1")).file_stem()
}

/// Changes a fresh copy by `sql` and compares all that is told with `expected`.
fn check(template: &Path, sql: &str, expected: &[&str]) {
    let home = tempfile::tempdir().unwrap();
    copy(template, home.path());
    let database = rusqlite::Connection::open(home.path().join("haft.db")).unwrap();
    database.execute_batch(sql).unwrap();
    assert!(database.total_changes() > 0, "{sql}: changes nothing");
    drop(database);
    let report = verify(home.path(), &[]);
    let expected: Vec<String> = expected.iter().map(|line| line.replace("{stem}", &stem("r_1"))).collect();
    assert_eq!(told(&report), expected, "{sql}");
    assert_eq!(report.fits(), expected.is_empty(), "{sql}");
}

#[test]
fn one_byte_in_every_column_is_named() {
    let template = tempfile::tempdir().unwrap();
    build(template.path());
    assert_eq!(told(&verify(template.path(), &[])), Vec::<String>::new());
    let cases: &[(&str, &[&str])] = &[
        // the journal
        (
            "UPDATE journal SET run = 'r_x' WHERE run = 'r_1' AND seq = 2",
            &[
                "run r_1, record 2: it is missing",
                "run r_1, file tool-args/{stem}.json: no record speaks of it",
                "run r_x, record 0: it is missing",
                "run r_x, record 2 (tool_call_requested): the run should begin with run_started",
                "run r_x, file tool-args/{stem}.json: it is missing",
                "run r_x: not ended: it is still running elsewhere, its process died, or its tail was cut",
            ],
        ),
        (
            "UPDATE journal SET session = 's_2' WHERE run = 'r_1' AND seq = 3",
            &[
                "run r_1, record 3 (tool_call_started): its row names the session s_2, the run's records another",
            ],
        ),
        ("UPDATE journal SET seq = 9 WHERE run = 'r_1' AND seq = 5", &["run r_1, record 5: it is missing"]),
        (
            "UPDATE journal SET kind = 'run_endee' WHERE run = 'r_1' AND seq = 5",
            &[
                "run r_1, record 5 (run_endee): its hash does not fit its fields and the record before",
                "run r_1, record 5 (run_endee): it cannot be read: this kind is not known; a newer Haft may have written it",
                "run r_1: not ended: it is still running elsewhere, its process died, or its tail was cut",
            ],
        ),
        (
            "UPDATE journal SET payload = replace(payload, 'secret', 'Secret') WHERE run = 'r_1' AND seq = 0",
            &["run r_1, record 0 (run_started): it was changed"],
        ),
        (
            "UPDATE journal SET payload = payload || ' ' WHERE run = 'r_1' AND seq = 3",
            &["run r_1, record 3 (tool_call_started): it was changed"],
        ),
        (
            "UPDATE journal SET payload_sha256 = zeroblob(32) WHERE run = 'r_1' AND seq = 3",
            &[
                "run r_1, record 3 (tool_call_started): its hash does not fit its fields and the record before",
                "run r_1, record 3 (tool_call_started): it was changed",
            ],
        ),
        (
            "UPDATE journal SET time = time + 1 WHERE run = 'r_1' AND seq = 1",
            &[
                "run r_1, record 1 (context_assembled): its hash does not fit its fields and the record before",
            ],
        ),
        (
            "UPDATE journal SET prev = zeroblob(32) WHERE run = 'r_1' AND seq = 1",
            &[
                "run r_1, record 1 (context_assembled): its hash does not fit its fields and the record before",
            ],
        ),
        (
            "UPDATE journal SET hash = zeroblob(32) WHERE run = 'r_1' AND seq = 1",
            &[
                "run r_1, record 1 (context_assembled): its hash does not fit its fields and the record before",
            ],
        ),
        (
            "UPDATE journal SET v = 2 WHERE run = 'r_1' AND seq = 1",
            &[
                "run r_1, record 1 (context_assembled): it has format 2, which this Haft does not know; use a newer one",
            ],
        ),
        // files
        (
            "UPDATE files SET run = 'r_y' WHERE run = 'r_1' AND path LIKE 'tool-args/%'",
            &[
                "run r_1, file tool-args/{stem}.json: it is missing",
                "run r_y: it is missing",
                "run r_y, file tool-args/{stem}.json: no record speaks of it",
            ],
        ),
        (
            "UPDATE files SET path = 'other' WHERE run = 'r_1' AND path LIKE 'tool-args/%'",
            &[
                "run r_1, file other: no record speaks of it",
                "run r_1, file tool-args/{stem}.json: it is missing",
            ],
        ),
        (
            "UPDATE files SET bytes = CAST(replace(bytes, 'secret', 'Secret') AS BLOB)
             WHERE run = 'r_1' AND path LIKE 'tool-results/%'",
            &["run r_1, file tool-results/{stem}.json: it was changed"],
        ),
        (
            "UPDATE files SET sha256 = zeroblob(32) WHERE run = 'r_1' AND path LIKE 'tool-results/%'",
            &["run r_1, file tool-results/{stem}.json: it was changed"],
        ),
        // artifacts
        (
            "UPDATE artifacts SET session = 's_2' WHERE run = 'r_1'",
            &["run r_1, artifact notes@1: its row names the session s_2, the run's records another"],
        ),
        (
            "UPDATE artifacts SET id = 'Notes' WHERE run = 'r_1'",
            &[
                "run r_1, artifact Notes@1: no record speaks of it",
                "run r_1, artifact notes@1: it is missing",
            ],
        ),
        (
            "UPDATE artifacts SET version = 7 WHERE run = 'r_1'",
            &[
                "run r_1, artifact notes@7: no record speaks of it",
                "run r_1, artifact notes@1: it is missing",
            ],
        ),
        (
            "UPDATE artifacts SET run = 'r_3' WHERE run = 'r_1'",
            &[
                "run r_1, artifact notes@1: it is missing",
                "run r_3, artifact notes@1: no record speaks of it",
            ],
        ),
        (
            "UPDATE artifacts SET content_type = 'text/Markdown' WHERE run = 'r_1'",
            &["run r_1, artifact notes@1: it was changed"],
        ),
        (
            "UPDATE artifacts SET title = title || '.' WHERE run = 'r_1'",
            &["run r_1, artifact notes@1: it was changed"],
        ),
        (
            "UPDATE artifacts SET source = 'tool' WHERE run = 'r_1'",
            &["run r_1, artifact notes@1: it was changed"],
        ),
        (
            "UPDATE artifacts SET content = replace(content, 'secret', 'Secret') WHERE run = 'r_1'",
            &["run r_1, artifact notes@1: it was changed"],
        ),
        // sessions
        ("UPDATE sessions SET id = 's_x' WHERE id = 's_2'", &["run r_4, session s_2: it is missing"]),
        (
            "UPDATE sessions SET deleted = 1 WHERE id = 's_2'",
            &["run r_4, session s_2: its mark of deletion and the records of its runs say different things"],
        ),
    ];
    for (sql, expected) in cases {
        // A lease refers to its session; a vandal does not care.
        check(template.path(), &format!("PRAGMA foreign_keys = OFF; {sql}"), expected);
    }
}

#[test]
fn what_is_gone_or_cut_or_added_is_named() {
    let template = tempfile::tempdir().unwrap();
    build(template.path());
    let not_ended =
        "run r_3: not ended: it is still running elsewhere, its process died, or its tail was cut";
    let cases: &[(&str, &[&str])] = &[
        ("DELETE FROM journal WHERE run = 'r_3' AND seq = 5", &[not_ended]),
        (
            "DELETE FROM journal WHERE run = 'r_1' AND seq = 0",
            &[
                "run r_1, record 0: it is missing",
                "run r_1, record 1 (context_assembled): the run should begin with run_started",
            ],
        ),
        (
            "DELETE FROM journal WHERE run = 'r_1' AND seq = 4",
            &[
                "run r_1, record 4: it is missing",
                "run r_1, record 3 (tool_call_started): it starts the call c_i_r_1_1_1, which has no end although the run ended",
                "run r_1, file tool-results/{stem}.json: no record speaks of it",
                "run r_1, artifact notes@1: no record speaks of it",
            ],
        ),
        // A run in the middle of its session, with all that belonged to it: the next one misses it.
        (
            "DELETE FROM journal WHERE run = 'r_2'; DELETE FROM files WHERE run = 'r_2';
             DELETE FROM artifacts WHERE run = 'r_2'",
            &[
                "run r_3, record 1 (context_assembled): it follows the run r_2, which is not there or was cut or changed",
            ],
        ),
        (
            "DELETE FROM files WHERE run = 'r_1' AND path LIKE 'tool-args/%'",
            &["run r_1, file tool-args/{stem}.json: it is missing"],
        ),
        ("DELETE FROM artifacts WHERE run = 'r_1'", &["run r_1, artifact notes@1: it is missing"]),
        (
            "UPDATE journal SET payload = NULL WHERE run = 'r_1' AND seq = 5",
            &[
                "run r_1, record 5 (run_ended): its content is gone, and no later record says that it was taken away",
            ],
        ),
        (
            "UPDATE files SET bytes = NULL, sha256 = NULL WHERE run = 'r_1' AND path LIKE 'tool-args/%'",
            &[
                "run r_1, file tool-args/{stem}.json: its content is gone, and no later record says that it was taken away",
            ],
        ),
        (
            "UPDATE artifacts SET content = NULL WHERE run = 'r_1'",
            &[
                "run r_1, artifact notes@1: its content is gone, and no later record says that it was taken away",
            ],
        ),
        // What was declared gone comes back.
        (
            "UPDATE artifacts SET content = 'x' WHERE run = 'r_2'",
            &["run r_2, artifact notes@2: a record says that it was taken away, and it is still there"],
        ),
        // The record of a redaction is cut: what it declared is undeclared.
        (
            "DELETE FROM journal WHERE run = 'r_2' AND seq = 6",
            &[
                "run r_2, record 4 (tool_call_completed): its content is gone, and no later record says that it was taken away",
                "run r_2, record 3 (tool_call_started): it starts the call c_i_r_2_1_1, which has no end although the run ended",
                "run r_2, file tool-results/{stem2}.json: its content is gone, and no later record says that it was taken away",
                "run r_2, artifact notes@2: its content is gone, and no later record says that it was taken away",
            ],
        ),
        (
            "INSERT INTO files VALUES ('r_1', 'zzz', x'00', NULL)",
            &["run r_1, file zzz: no record speaks of it"],
        ),
    ];
    for (sql, expected) in cases {
        let expected: Vec<String> =
            expected.iter().map(|line| line.replace("{stem2}", &stem("r_2"))).collect();
        check(template.path(), sql, &expected.iter().map(String::as_str).collect::<Vec<_>>());
    }
}

/// Redacting a prompt must not loosen what ties a run to its session.
#[test]
fn a_redacted_beginning_keeps_its_session_and_the_run_before() {
    let template = tempfile::tempdir().unwrap();
    build(template.path());
    wait(async {
        let store = SqliteStore::open(template.path(), NOW).unwrap();
        for (session, run) in [("s_1", "r_2"), ("s_1", "r_3"), ("s_2", "r_4")] {
            let lease = store.lease(&session.into(), "haft test", NOW).await.unwrap();
            store.redact(&lease, &RunId::new(run), 0, "asked", NOW).await.unwrap();
            store.release(&lease).await.unwrap();
        }
    });
    check(
        template.path(),
        "DELETE FROM journal WHERE run = 'r_2'; DELETE FROM files WHERE run = 'r_2';
         DELETE FROM artifacts WHERE run = 'r_2'",
        &[
            "run r_3, record 1 (context_assembled): it follows the run r_2, which is not there or was cut or changed",
        ],
    );
    // The only run of its session, with all its rows.
    let home = tempfile::tempdir().unwrap();
    copy(template.path(), home.path());
    let database = rusqlite::Connection::open(home.path().join("haft.db")).unwrap();
    database
        .execute_batch(
            "UPDATE journal SET session = 's_1' WHERE run = 'r_4';
             UPDATE artifacts SET session = 's_1' WHERE run = 'r_4'",
        )
        .unwrap();
    drop(database);
    let report = verify(home.path(), &[]);
    let foreign = told(&report).iter().filter(|line| line.contains("names the session s_1")).count();
    assert_eq!(foreign, 8, "seven records and an artifact");
}

#[test]
fn rows_of_the_wrong_form_are_findings_and_never_a_panic() {
    let template = tempfile::tempdir().unwrap();
    build(template.path());
    let no_utf8 = "CAST(x'ff00' AS TEXT)";
    let cases = [
        (
            "journal SET payload_sha256 = x'01' WHERE run = 'r_1' AND seq = 3",
            "run r_1, record 3: it cannot be read: payload_sha256: 1 bytes instead of 32",
        ),
        (
            "journal SET hash = x'' WHERE run = 'r_1' AND seq = 3",
            "run r_1, record 3: it cannot be read: hash: 0 bytes instead of 32",
        ),
        (
            "journal SET seq = -1 WHERE run = 'r_1' AND seq = 3",
            "run r_1, journal row 4: it cannot be read: seq: -1",
        ),
        (
            "journal SET time = -5 WHERE run = 'r_1' AND seq = 3",
            "run r_1, record 3: it cannot be read: time: -5",
        ),
        (
            "journal SET v = 9999999999 WHERE run = 'r_1' AND seq = 3",
            "run r_1, record 3: it cannot be read: v: 9999999999",
        ),
        (
            "journal SET kind = TEXT WHERE run = 'r_1' AND seq = 3",
            "run r_1, record 3: it cannot be read: kind: no valid UTF-8",
        ),
        (
            "journal SET session = TEXT WHERE run = 'r_1' AND seq = 3",
            "run r_1, record 3: it cannot be read: session: no valid UTF-8",
        ),
        (
            "journal SET payload = TEXT WHERE run = 'r_1' AND seq = 3",
            "run r_1, record 3 (tool_call_started): it was changed",
        ),
        (
            "journal SET run = TEXT WHERE run = 'r_1' AND seq = 3",
            "a row that names no run: it cannot be read: run: no valid UTF-8",
        ),
        (
            "files SET path = TEXT WHERE run = 'r_1' AND path LIKE 'tool-args/%'",
            "run r_1, a file: it cannot be read: path: no valid UTF-8",
        ),
        (
            "files SET sha256 = x'01' WHERE run = 'r_1' AND path LIKE 'tool-args/%'",
            "it cannot be read: sha256: 1 bytes instead of 32",
        ),
        (
            "artifacts SET version = -1 WHERE run = 'r_1'",
            "run r_1, an artifact: it cannot be read: version: -1",
        ),
        (
            "artifacts SET title = TEXT WHERE run = 'r_1'",
            "run r_1, artifact notes@1: it cannot be read: title: no valid UTF-8",
        ),
        (
            "artifacts SET content = TEXT WHERE run = 'r_1'",
            "run r_1, artifact notes@1: it cannot be read: content: no valid UTF-8",
        ),
        ("sessions SET deleted = -1 WHERE id = 's_1'", "session s_1: it cannot be read: deleted: -1"),
    ];
    for (change, expected) in cases {
        let home = tempfile::tempdir().unwrap();
        copy(template.path(), home.path());
        let database = rusqlite::Connection::open(home.path().join("haft.db")).unwrap();
        database.execute_batch(&format!("UPDATE {}", change.replace("TEXT", no_utf8))).unwrap();
        drop(database);
        let report = verify(home.path(), &[]);
        assert!(!report.fits(), "{change}");
        let told = told(&report);
        assert!(told.iter().any(|line| line.contains(expected)), "{change}: {told:#?}");
        // What is read in the ordinary way says so, too, or reads what is there.
        let store = SqliteStore::open(home.path(), NOW).unwrap();
        wait(async {
            if expected.contains("run r_1, record 3: it cannot be read") {
                let error = store.records(&RunId::new("r_1")).await.unwrap_err();
                assert!(error.to_string().contains("haft audit verify"), "{error}");
            }
            drop((store.runs(None).await, store.files(&RunId::new("r_1")).await, store.sessions().await));
        });
    }
}

#[test]
fn blobs_on_the_disk_are_named() {
    let template = tempfile::tempdir().unwrap();
    build(template.path());
    let digest = Digest::of(b"before one");
    let change = |change: &dyn Fn(&Path)| {
        let home = tempfile::tempdir().unwrap();
        copy(template.path(), home.path());
        change(home.path());
        verify(home.path(), &[])
    };
    let changed = change(&|home| fs::write(blob_path(home, b"before one"), b"before One").unwrap());
    let lines = ["r_1", "r_4"].map(|run| format!("run {run}, blob {digest}: it was changed"));
    assert_eq!(told(&changed), lines);
    let removed = change(&|home| fs::remove_file(blob_path(home, b"before one")).unwrap());
    let lines = ["r_1", "r_4"].map(|run| format!("run {run}, blob {digest}: it is missing"));
    assert_eq!(told(&removed), lines);
    let added = change(&|home| fs::write(home.join("blobs/note"), b"x").unwrap());
    assert_eq!(told(&added), ["blobs/note: it cannot be read: its name is no digest"]);
    let loose = change(&|home| {
        let path = blob_path(home, b"loose");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, b"loose").unwrap();
    });
    assert_eq!(told(&loose), [format!("blob {}: no record speaks of it", Digest::of(b"loose"))]);
    assert!(loose.fits());
    assert_eq!(loose.findings().map(haft_store::verify::Finding::class).collect::<Vec<_>>(), [Class::Loose]);
}

#[test]
fn a_cut_tail_is_missed_by_an_anchor_even_at_the_end_of_a_session() {
    let template = tempfile::tempdir().unwrap();
    build(template.path());
    let anchors = anchor(&SqliteStore::open(template.path(), NOW).unwrap()).unwrap();
    assert_eq!(anchors.len(), 4);
    assert_eq!(told(&verify(template.path(), &anchors)), Vec::<String>::new());
    let home = tempfile::tempdir().unwrap();
    copy(template.path(), home.path());
    let database = rusqlite::Connection::open(home.path().join("haft.db")).unwrap();
    // The last run of its session, with everything: nothing but the anchor knows of it.
    database
        .execute_batch(
            "DELETE FROM journal WHERE run = 'r_4'; DELETE FROM files WHERE run = 'r_4'; DELETE FROM artifacts WHERE run = 'r_4'",
        )
        .unwrap();
    drop(database);
    assert!(verify(home.path(), &[]).fits());
    assert_eq!(told(&verify(home.path(), &anchors)), ["run r_4: it is missing"]);
}

#[test]
fn a_run_that_is_not_there_is_said_to_be_missing() {
    let home = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(home.path(), NOW).unwrap();
    let report = verify_run(&store, &RunId::new("r_1"), &[], NOW).unwrap();
    assert_eq!(told(&report), ["run r_1: it is missing"]);
}

/// The head of every page, and its last bytes, where the rows are.
#[test]
fn damaged_pages_are_noticed_and_never_a_panic() {
    let template = tempfile::tempdir().unwrap();
    build(template.path());
    let database = rusqlite::Connection::open(template.path().join("haft.db")).unwrap();
    database.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(database);
    let good = fs::read(template.path().join("haft.db")).unwrap();
    let home = tempfile::tempdir().unwrap();
    copy(template.path(), home.path());
    let is_noticed = |at: usize| {
        let mut bad = good.clone();
        bad[at..at + 8].fill(0xff);
        fs::write(home.path().join("haft.db"), &bad).unwrap();
        let outcome = SqliteStore::open(home.path(), NOW).and_then(|store| verify_store(&store, &[], NOW));
        outcome.is_err() || outcome.is_ok_and(|report| !report.fits())
    };
    for page in 0..good.len() / 4096 {
        let head = if page == 0 { 100 } else { page * 4096 };
        assert!(is_noticed(head), "the head of page {page}");
        is_noticed(page * 4096 + 4096 - 200);
    }
}
