//! What the store on disk promises beyond the laws: it makes nothing before it must, refuses what it does not know and leaves it as
//! it is, commits in groups, and shares a database between processes.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]
#![expect(clippy::disallowed_methods, reason = "the tests look at files and start a process")]

mod support;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use haft_core::ports::{
    BlobRows as _, GrantRows, JournalRows as _, NewSession, ProjectRows as _, SessionRows as _, Store,
    StoreError,
};
use haft_core::{Digest, ProjectId, RunId, SessionId, Timestamp};
use haft_store::SqliteStore;
use haft_store::verify::{anchor, verify_store};
use support::{RunWriter, artifact, session, wait};

const NOW: Timestamp = Timestamp(1);

fn database(home: &Path) -> rusqlite::Connection {
    rusqlite::Connection::open(home.join("haft.db")).unwrap()
}

#[test]
fn a_reader_of_an_empty_home_makes_nothing() {
    let parent = tempfile::tempdir().unwrap();
    let home = parent.path().join("not/there/yet");
    let store = SqliteStore::open(&home, NOW).unwrap();
    wait(async {
        assert_eq!(store.sessions().await, Ok(vec![]));
        assert_eq!(store.session(&SessionId::new("s")).await, Ok(None));
        assert_eq!(store.runs(None).await, Ok(vec![]));
        assert_eq!(store.records(&RunId::new("r")).await, Ok(vec![]));
        assert_eq!(store.files(&RunId::new("r")).await, Ok(vec![]));
        assert_eq!(store.projects().await, Ok(vec![]));
        assert_eq!(store.project(&ProjectId::new("p")).await, Ok(None));
        assert_eq!(store.blob(&Digest::of(b"")).await, Ok(None));
        assert!(verify_store(&store, &[], NOW).unwrap().fits());
        assert_eq!(anchor(&store), Ok(vec![]));
    });
    assert!(fs::read_dir(parent.path()).unwrap().next().is_none());
    // Another process makes the database; the reader sees it.
    let other = SqliteStore::open(&home, NOW).unwrap();
    wait(async {
        session(&other, "s_1", 1).await;
        assert_eq!(store.sessions().await.unwrap().len(), 1);
    });
}

#[test]
fn a_newer_format_is_refused_and_left_as_it_is() {
    let home = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(home.path(), NOW).unwrap();
    wait(session(&store, "s_1", 1));
    drop(store);
    database(home.path()).pragma_update(None, "user_version", 3).unwrap();
    let before = fs::read(home.path().join("haft.db")).unwrap();
    let place = home.path().join("haft.db").display().to_string();
    let error = SqliteStore::open(home.path(), NOW).unwrap_err();
    assert_eq!(error, StoreError::TooNew { place, found: 3, known: 2 });
    assert_eq!(fs::read(home.path().join("haft.db")).unwrap(), before);
}

#[test]
fn an_older_format_is_brought_up_to_date_with_all_that_it_holds() {
    let home = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(home.path(), NOW).unwrap();
    wait(session(&store, "s_1", 1));
    drop(store);
    // As format 1 was.
    let old = database(home.path());
    old.execute_batch("DROP TABLE revoked_grants; PRAGMA user_version = 1;").unwrap();
    drop(old);
    let store = SqliteStore::open(home.path(), NOW).unwrap();
    wait(async {
        assert_eq!(store.sessions().await.unwrap().len(), 1);
        let (session, grant) = ("s_1".into(), "g_1".into());
        assert_eq!(store.revoked_grants(&session).await.unwrap(), []);
        store.revoke_grant(&session, &grant, NOW).await.unwrap();
        assert_eq!(store.revoked_grants(&session).await.unwrap(), [(grant, NOW)]);
    });
}

#[test]
fn what_is_no_database_of_ours_is_refused_and_left_as_it_is() {
    let foreign = tempfile::tempdir().unwrap();
    rusqlite::Connection::open(foreign.path().join("haft.db"))
        .unwrap()
        .execute_batch("CREATE TABLE t (x)")
        .unwrap();
    let garbage = tempfile::tempdir().unwrap();
    fs::write(garbage.path().join("haft.db"), "# not a database\\n".repeat(400)).unwrap();
    let short = tempfile::tempdir().unwrap();
    fs::write(short.path().join("haft.db"), "x").unwrap();
    for (home, reason) in [
        (&foreign, "a database of another program"),
        (&garbage, "not a database"),
        (&short, "not a database"),
    ] {
        let before = fs::read(home.path().join("haft.db")).unwrap();
        let error = SqliteStore::open(home.path(), NOW).unwrap_err();
        let StoreError::Unusable { place, next_step, .. } = &error else { panic!("{error:?}") };
        assert_eq!(place, &home.path().join("haft.db").display().to_string());
        assert!(error.to_string().contains(reason), "{error}");
        assert!(next_step.contains("--home") && next_step.contains("nothing was changed"), "{error}");
        assert_eq!(fs::read(home.path().join("haft.db")).unwrap(), before);
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
    }
}

#[test]
fn a_database_that_was_just_begun_is_finished() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("haft.db"), "").unwrap();
    let store = SqliteStore::open(home.path(), NOW).unwrap();
    wait(async {
        assert_eq!(store.sessions().await, Ok(vec![]));
        session(&store, "s_1", 1).await;
        assert_eq!(store.sessions().await.unwrap().len(), 1);
    });
}

#[test]
fn places_that_cannot_be_written_are_said_with_the_next_step() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    fs::create_dir_all(folder.path().join("home/haft.db")).unwrap();
    let at_open = [folder.path().join("file"), folder.path().join("home")];
    for home in at_open {
        let error = SqliteStore::open(&home, NOW).unwrap_err();
        assert!(error.to_string().contains("another home with --home"), "{error}");
    }
    // `/proc` takes no folders, not even from root.
    for home in [folder.path().join("file/below"), "/proc/haft".into()] {
        let Ok(store) = SqliteStore::open(&home, NOW) else { continue };
        let new =
            NewSession { id: SessionId::new("s"), created: NOW, profile: "default".into(), project: None };
        let error = wait(store.create_session(&new)).unwrap_err();
        assert!(error.to_string().contains(home.to_str().unwrap()), "{error}");
        assert!(error.to_string().contains("another home with --home"), "{error}");
        assert!(wait(store.put_blob(b"x")).is_err());
    }
}

#[test]
fn what_was_taken_away_is_in_no_file_any_more() {
    let home = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(home.path(), NOW).unwrap();
    let holds = |word: &[u8]| {
        let mut files = vec![home.path().join("haft.db"), home.path().join("haft.db-wal")];
        files.retain(|file| file.exists());
        files.iter().any(|file| fs::read(file).unwrap().windows(word.len()).any(|bytes| bytes == word))
    };
    wait(async {
        let lease = session(&store, "s_1", 1).await;
        RunWriter::new(&store, &lease, "r_1", 5).whole(Some(artifact("notes", 1)), Some(b"before")).await;
        assert!(holds(b"secret words") && holds(b"secret prompt") && holds(b"secret text"));
        store.redact(&lease, &RunId::new("r_1"), 2, "asked", Timestamp(6)).await.unwrap();
        assert!(!holds(b"secret words") && holds(b"secret prompt"));
        store.delete_session(&lease, Timestamp(7)).await.unwrap();
        assert!(!holds(b"secret"));
    });
}

/// Sixteen sessions that write at once on a runtime with several threads.
#[test]
fn sixteen_sessions_commit_in_groups() {
    let home = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open(home.path(), NOW).unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).build().unwrap();
    const SESSIONS: u64 = 16;
    const APPENDS: u64 = 20;
    runtime.block_on(async {
        let writers: Vec<_> = (0..SESSIONS)
            .map(|number| {
                let store = Arc::clone(&store);
                tokio::spawn(async move {
                    let lease = session(&*store, &format!("s_{number}"), 1).await;
                    let writer = RunWriter::new(&*store, &lease, &format!("r_{number}"), 5);
                    writer.append(writer.beginning(None)).await.unwrap();
                    for at in 0..APPENDS {
                        let committed = writer.append(writer.small(at)).await.unwrap();
                        assert_eq!(committed.head().next, at + 3);
                        // One that is refused disturbs nobody.
                        let mut refused = writer.small(at);
                        refused.file(
                            format!("input/invocations/{}/tool_snapshot.json", writer.invocation),
                            vec![],
                        );
                        assert!(matches!(writer.append(refused).await, Err(StoreError::Exists { .. })));
                    }
                    writer.append(writer.end()).await.unwrap();
                })
            })
            .collect();
        for writer in writers {
            writer.await.unwrap();
        }
    });
    let report = verify_store(&*store, &[], NOW).unwrap();
    assert_eq!(report.findings().map(ToString::to_string).collect::<Vec<_>>(), Vec::<String>::new());
    assert!(report.runs.iter().all(|run| run.head.next == APPENDS + 3));
    let alone = SESSIONS * (APPENDS + 4);
    assert!(store.commits() < alone, "{} commits for {alone} pieces of work", store.commits());
}

// Two durable commits for a call that asks nobody (design.md §4).
#[test]
fn a_call_costs_two_commits() {
    let home = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(home.path(), NOW).unwrap();
    wait(async {
        let lease = session(&store, "s_1", 1).await;
        let writer = RunWriter::new(&store, &lease, "r_1", 5);
        writer.append(writer.beginning(None)).await.unwrap();
        let before = store.commits();
        writer.append(writer.intent()).await.unwrap();
        let mut last = writer.completion(None, None);
        last.join(writer.end());
        writer.append(last).await.unwrap();
        assert_eq!(store.commits() - before, 2);
    });
}

#[test]
fn two_stores_share_a_database_and_the_lease_decides() {
    let home = tempfile::tempdir().unwrap();
    let one = SqliteStore::open(home.path(), NOW).unwrap();
    let two = SqliteStore::open(home.path(), NOW).unwrap();
    wait(async {
        let old = session(&one, "s_1", 1).await;
        let owner = "haft test".to_owned();
        let refused = two.lease(&old.session, "haft chat", Timestamp(2)).await.unwrap_err();
        let until = Timestamp(30_001);
        assert_eq!(refused, StoreError::Leased { session: old.session.clone(), owner, until });
        let first = RunWriter::new(&one, &old, "r_1", 2);
        first.append(first.beginning(None)).await.unwrap();
        let new = two.lease(&old.session, "haft chat", Timestamp(90_000)).await.unwrap();
        let second = RunWriter::new(&two, &new, "r_1", 90_000);
        second.append(second.small(1)).await.unwrap();
        let lost = StoreError::LeaseLost { session: old.session.clone() };
        assert_eq!(first.append(first.small(2)).await, Err(lost));
        second.append(second.end()).await.unwrap();
        assert!(verify_store(&one, &[], Timestamp(90_001)).unwrap().fits());
    });
    // Both write at once from threads of their own.
    let write = |store: &SqliteStore, name: &str| {
        wait(async {
            let lease = session(store, &format!("s_{name}"), 1).await;
            let writer = RunWriter::new(store, &lease, &format!("r_{name}"), 5);
            writer.append(writer.beginning(None)).await.unwrap();
            for number in 0..20 {
                writer.append(writer.small(number)).await.unwrap();
            }
            writer.append(writer.end()).await.unwrap();
        });
    };
    std::thread::scope(|scope| {
        scope.spawn(|| write(&one, "a"));
        scope.spawn(|| write(&two, "b"));
    });
    assert!(verify_store(&one, &[], Timestamp(90_001)).unwrap().fits());
}

#[test]
fn many_processes_may_make_the_database_at_once() {
    let home = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for number in 0..8 {
            let home = home.path();
            scope.spawn(move || {
                let store = SqliteStore::open(home, NOW).unwrap();
                wait(session(&store, &format!("s_{number}"), 1));
            });
        }
    });
    let store: &dyn Store = &SqliteStore::open(home.path(), NOW).unwrap();
    assert_eq!(wait(store.sessions()).unwrap().len(), 8);
}

#[test]
fn the_lease_of_a_process_that_is_gone_is_taken_at_once() {
    let home = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(home.path(), NOW).unwrap();
    let lease = wait(session(&store, "s_1", 1));
    let change = |mark: &str| {
        database(home.path()).execute("UPDATE leases SET process = ?1", [mark]).unwrap();
    };
    let own: String =
        database(home.path()).query_row("SELECT process FROM leases", [], |row| row.get(0)).unwrap();
    let Some((pid, place)) = own.split_once(' ') else {
        println!("SKIPPED: this system has no /proc, so only time ends a lease");
        return;
    };
    assert_eq!(pid, std::process::id().to_string());
    // The same number in another place (another machine, another container) says nothing.
    change(&format!("4294967294 1 other-boot {}", place.rsplit(' ').next().unwrap()));
    assert!(matches!(
        wait(store.lease(&lease.session, "haft", Timestamp(2))),
        Err(StoreError::Leased { .. })
    ));
    let (_, place) = place.split_once(' ').unwrap();
    change(&format!("4294967294 1 {place}"));
    assert_eq!(wait(store.lease(&lease.session, "haft", Timestamp(2))).unwrap().epoch, 2);
}

#[test]
fn a_verification_is_not_disturbed_by_writers() {
    let home = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(home.path(), NOW).unwrap();
    let other = SqliteStore::open(home.path(), NOW).unwrap();
    let lease = wait(session(&store, "s_1", 1));
    let is_done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..12 {
                let version = Some(artifact("notes", number + 1));
                wait(RunWriter::new(&store, &lease, &format!("r_{number}"), 5).whole(version, None));
            }
            is_done.store(true, std::sync::atomic::Ordering::SeqCst);
        });
        let mut rounds = 0;
        while !is_done.load(std::sync::atomic::Ordering::SeqCst) || rounds == 0 {
            let report = verify_store(&other, &[], NOW).unwrap();
            assert_eq!(report.findings().map(ToString::to_string).collect::<Vec<_>>(), Vec::<String>::new());
            rounds += 1;
        }
    });
    assert_eq!(verify_store(&other, &[], NOW).unwrap().runs.len(), 12);
}
