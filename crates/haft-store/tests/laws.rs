//! What every store promises, on both stores.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests may")]

mod support;

use haft_core::journal::{Batch, Head, Payload, check_chain};
use haft_core::ports::{
    AuditFile, Lease, NewSession, ProjectRow, RedactionError, RunRow, SessionRow, Store, StoreError,
};
use haft_core::{ArtifactVersion, Digest, GrantId, ProjectId, RunId, SessionId, Timestamp};
use haft_store::verify::{Auditable, Report, RunState, anchor, verify_run, verify_store};
use haft_store::{MemoryStore, SqliteStore, export_run};
use support::{RunWriter, artifact, authorized, session, wait};

trait Audited: Store + Auditable {}
impl<T: Store + Auditable> Audited for T {}

macro_rules! on_both_stores {
    ($($(#[$meta:meta])* $name:ident;)*) => {
        mod memory { $($(#[$meta])* #[test] fn $name() { super::wait(super::$name(&super::MemoryStore::new())); })* }
        mod sqlite {
            $($(#[$meta])* #[test] fn $name() {
                let home = tempfile::tempdir().unwrap();
                let store = super::SqliteStore::open(home.path(), super::Timestamp(1)).unwrap();
                super::wait(super::$name(&store));
            })*
        }
    };
}

on_both_stores! {
    sessions_are_listed_by_their_newest_change;
    a_lease_has_one_holder;
    // JRN-01
    a_batch_is_stored_whole_and_chained;
    // JRN-03
    create_only_rows_are_never_overwritten;
    an_old_epoch_is_refused;
    a_run_belongs_to_one_session;
    blobs_are_found_by_their_digest;
    projects_are_added_replaced_and_forgotten;
    // APR-17
    a_grant_is_taken_back_once_and_without_the_lease;
    artifacts_are_stored_with_their_record;
    a_payload_is_taken_away_and_the_chain_still_verifies;
    only_private_kinds_can_be_redacted;
    a_session_is_deleted_and_its_chains_still_verify;
    a_shared_blob_stays_until_its_last_name_goes;
    an_image_of_a_result_is_spoken_of_and_goes_with_it;
    a_run_without_an_end_is_open_unless_somebody_works_on_it;
    anchors_tell_of_what_was_there;
    records_in_an_impossible_order_are_findings;
}

fn fitting(report: &Report) {
    let findings: Vec<String> = report.findings().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "{findings:#?}");
}

fn row(id: &str, created: u64, updated: u64) -> SessionRow {
    SessionRow {
        id: SessionId::new(id),
        created: Timestamp(created),
        updated: Timestamp(updated),
        profile: "default".into(),
        project: Some(ProjectId::new("p")),
        deleted: false,
    }
}

async fn sessions_are_listed_by_their_newest_change(store: &dyn Audited) {
    assert_eq!(store.sessions().await, Ok(vec![]));
    for (id, created) in [("s_1", 1), ("s_2", 2), ("s_3", 2)] {
        let row = row(id, created, created);
        let new = NewSession { id: row.id, created: row.created, profile: row.profile, project: row.project };
        store.create_session(&new).await.unwrap();
        let again = store.create_session(&new).await.unwrap_err();
        assert_eq!(again, StoreError::Exists { what: format!("session {id}") });
    }
    let listed = store.sessions().await.unwrap();
    assert_eq!(listed, [row("s_3", 2, 2), row("s_2", 2, 2), row("s_1", 1, 1)]);
    let lease = store.lease(&SessionId::new("s_1"), "haft test", Timestamp(3)).await.unwrap();
    let writer = RunWriter::new(store, &lease, "r_1", 7);
    writer.append(writer.beginning(None)).await.unwrap();
    assert_eq!(store.session(&lease.session).await, Ok(Some(row("s_1", 1, 7))));
    assert_eq!(store.sessions().await.unwrap()[0].id, lease.session);
    assert_eq!(store.session(&SessionId::new("s_9")).await, Ok(None));
}

async fn a_lease_has_one_holder(store: &dyn Audited) {
    let id = SessionId::new("s_1");
    let missing = store.lease(&id, "haft chat", Timestamp(0)).await.unwrap_err();
    assert_eq!(missing, StoreError::Missing { what: "session s_1".into() });
    let first = session(store, "s_1", 1_000).await;
    let owner = "haft test".to_owned();
    assert_eq!(first, Lease { session: id.clone(), epoch: 1, owner: owner.clone() });
    let refused = store.lease(&id, "haft chat", Timestamp(2_000)).await.unwrap_err();
    let until = Timestamp(31_000);
    assert_eq!(refused, StoreError::Leased { session: id.clone(), owner: owner.clone(), until });
    // A renewal and an append move its end.
    store.renew(&first, Timestamp(5_000)).await.unwrap();
    let writer = RunWriter::new(store, &first, "r_1", 20_000);
    writer.append(writer.beginning(None)).await.unwrap();
    let refused = store.lease(&id, "haft chat", Timestamp(49_999)).await.unwrap_err();
    assert_eq!(refused, StoreError::Leased { session: id.clone(), owner, until: Timestamp(50_000) });
    let second = store.lease(&id, "haft chat", Timestamp(50_000)).await.unwrap();
    assert_eq!(second.epoch, 2);
    assert_eq!(
        store.renew(&first, Timestamp(50_001)).await,
        Err(StoreError::LeaseLost { session: id.clone() })
    );
    // One that was lost is nothing to give back.
    store.release(&first).await.unwrap();
    assert!(store.lease(&id, "haft run", Timestamp(50_002)).await.is_err());
    store.release(&second).await.unwrap();
    assert_eq!(
        store.renew(&second, Timestamp(50_003)).await,
        Err(StoreError::LeaseLost { session: id.clone() })
    );
    assert_eq!(store.lease(&id, "haft run", Timestamp(50_004)).await.unwrap().epoch, 3);
}

async fn a_batch_is_stored_whole_and_chained(store: &dyn Audited) {
    let lease = session(store, "s_1", 1).await;
    let writer = RunWriter::new(store, &lease, "r_1", 5);
    assert_eq!(store.records(&writer.run).await, Ok(vec![]));
    assert_eq!(store.runs(None).await, Ok(vec![]));
    let first = writer.append(writer.beginning(None)).await.unwrap();
    assert_eq!(first.head().next, 2);
    let mut started = writer.append(writer.intent()).await.unwrap();
    let call = authorized(&writer.invocation).start(&mut started).unwrap();
    assert_eq!(call.call_id(), &writer.call());
    assert!(authorized(&writer.invocation).start(&mut started).is_err(), "an intent starts one call");
    let records = store.records(&writer.run).await.unwrap();
    let kinds: Vec<&str> = records.iter().map(|record| record.kind.as_str()).collect();
    assert_eq!(kinds, ["run_started", "context_assembled", "tool_call_requested", "tool_call_started"]);
    assert_eq!(check_chain(&writer.run, &records), Ok(started.head()));
    assert_eq!(records[2..], *started.records());
    for most in 0..6 {
        let first: Vec<_> = records.iter().take(most as usize).cloned().collect();
        assert_eq!(store.first_records(&writer.run, most).await, Ok(first));
    }
    assert_eq!(store.first_records(&writer.run, u32::MAX).await, Ok(records.clone()));
    assert_eq!(store.first_records(&RunId::new("r_9"), 1).await, Ok(vec![]));
    let expected = RunRow {
        id: writer.run.clone(),
        session: lease.session.clone(),
        started: Timestamp(5),
        head: started.head(),
        ended: false,
    };
    assert_eq!(store.runs(Some(&lease.session)).await, Ok(vec![expected.clone()]));
    assert_eq!(store.runs(Some(&SessionId::new("s_2"))).await, Ok(vec![]));
    let mut end = writer.completion(None, None);
    end.join(writer.end());
    let ended = writer.append(end).await.unwrap();
    assert_eq!(store.runs(None).await, Ok(vec![RunRow { head: ended.head(), ended: true, ..expected }]));
    let paths: Vec<String> =
        store.files(&writer.run).await.unwrap().into_iter().map(|file| file.path).collect();
    let stem = writer.call().file_stem();
    let expected = [
        "input/invocations/i_r_1/tool_snapshot.json".to_owned(),
        format!("tool-args/{stem}.json"),
        format!("tool-results/{stem}.json"),
    ];
    assert_eq!(paths, expected);
    let file = store.file(&writer.run, &paths[1]).await.unwrap();
    let bytes = Some(b"{\"text\":\"secret words\"}".to_vec());
    assert_eq!(file, Some(AuditFile { path: paths[1].clone(), bytes }));
    assert_eq!(store.file(&writer.run, "tool-args/other.json").await, Ok(None));
    fitting(&verify_store(store, &[], Timestamp(6)).unwrap());
}

async fn create_only_rows_are_never_overwritten(store: &dyn Audited) {
    let lease = session(store, "s_1", 1).await;
    let writer = RunWriter::new(store, &lease, "r_1", 5);
    writer.append(writer.beginning(None)).await.unwrap();
    writer.append(writer.intent()).await.unwrap();
    let before = (store.records(&writer.run).await, store.files(&writer.run).await);
    let path = format!("tool-args/{}.json", writer.call().file_stem());
    let exists = StoreError::Exists { what: format!("file {path} of run r_1") };
    assert_eq!(writer.append(writer.intent()).await, Err(exists.clone()));
    let mut twice = writer.batch();
    twice.file("one", b"1".to_vec());
    twice.file("one", b"2".to_vec());
    assert!(matches!(writer.append(twice).await, Err(StoreError::Exists { .. })));
    assert_eq!((store.records(&writer.run).await, store.files(&writer.run).await), before);
    assert_eq!(exists.to_string(), format!("file {path} of run r_1 exists already; nothing was overwritten"));

    writer.append(writer.completion(Some(artifact("notes", 1)), None)).await.unwrap();
    let mut again = writer.small(1);
    again.artifact(ArtifactVersion { content: "other".into(), ..artifact("notes", 1) });
    let exists = StoreError::Exists { what: "artifact notes@1".into() };
    assert_eq!(writer.append(again).await, Err(exists));
    assert_eq!(store.artifacts(&lease.session).await, Ok(vec![artifact("notes", 1)]));
    assert_eq!(store.records(&writer.run).await.unwrap().len(), 5);
}

async fn an_old_epoch_is_refused(store: &dyn Audited) {
    let old = session(store, "s_1", 1).await;
    let writer = RunWriter::new(store, &old, "r_1", 5);
    writer.append(writer.beginning(None)).await.unwrap();
    let new = store.lease(&old.session, "haft test", Timestamp(40_000)).await.unwrap();
    let lost = StoreError::LeaseLost { session: old.session.clone() };
    assert_eq!(writer.append(writer.intent()).await, Err(lost.clone()));
    assert_eq!(store.redact(&old, &writer.run, 0, "x", Timestamp(6)).await, Err(lost.clone().into()));
    assert_eq!(store.delete_session(&old, Timestamp(6)).await, Err(lost));
    let writer = RunWriter { lease: &new, ..writer };
    assert_eq!(writer.append(writer.intent()).await.unwrap().head().next, 4);
}

async fn a_run_belongs_to_one_session(store: &dyn Audited) {
    let one = session(store, "s_1", 1).await;
    let two = session(store, "s_2", 1).await;
    let writer = RunWriter::new(store, &one, "r_1", 5);
    writer.append(writer.beginning(None)).await.unwrap();
    let other = RunWriter { lease: &two, ..writer };
    let refused = other.append(other.intent()).await.unwrap_err();
    assert_eq!(refused, StoreError::Exists { what: "run r_1 of another session".into() });
    let missing = store.redact(&two, &other.run, 0, "x", Timestamp(6)).await.unwrap_err();
    let what = "record 0 in run r_1 of session s_2".to_owned();
    assert_eq!(missing, StoreError::Missing { what }.into());
}

async fn blobs_are_found_by_their_digest(store: &dyn Audited) {
    let digest = store.put_blob(b"\0\xff").await.unwrap();
    assert_eq!(digest, Digest::of(b"\0\xff"));
    assert_eq!(store.put_blob(b"\0\xff").await, Ok(digest));
    assert_eq!(store.blob(&digest).await, Ok(Some(b"\0\xff".to_vec())));
    assert_eq!(store.blob(&Digest::of(b"other")).await, Ok(None));
    let report = verify_store(store, &[], Timestamp(1)).unwrap();
    let text: Vec<String> = report.findings().map(ToString::to_string).collect();
    assert_eq!(text, [format!("blob {digest}: no record speaks of it")]);
    assert!(report.fits(), "a loose blob harms nobody");
}

async fn projects_are_added_replaced_and_forgotten(store: &dyn Audited) {
    let project =
        |id: &str, path: &str| ProjectRow { id: ProjectId::new(id), path: path.into(), added: Timestamp(3) };
    assert_eq!(store.projects().await, Ok(vec![]));
    for (id, path) in [("b", "/b"), ("a", "/old"), ("a", "/a")] {
        store.put_project(&project(id, path)).await.unwrap();
    }
    assert_eq!(store.projects().await, Ok(vec![project("a", "/a"), project("b", "/b")]));
    assert_eq!(store.project(&ProjectId::new("a")).await, Ok(Some(project("a", "/a"))));
    assert_eq!(store.remove_project(&ProjectId::new("a")).await, Ok(true));
    assert_eq!(store.remove_project(&ProjectId::new("a")).await, Ok(false));
    assert_eq!(store.project(&ProjectId::new("a")).await, Ok(None));
}

async fn a_grant_is_taken_back_once_and_without_the_lease(store: &dyn Audited) {
    let (one, other, grant): (SessionId, SessionId, GrantId) = ("s_1".into(), "s_2".into(), "g_1".into());
    let missing = StoreError::Missing { what: "session s_1".into() };
    assert_eq!(store.revoke_grant(&one, &grant, Timestamp(5)).await, Err(missing.clone()));
    assert_eq!(store.holder(&one, Timestamp(5)).await.unwrap_or(None), None);
    let lease = session(store, "s_1", 1).await;
    session(store, "s_2", 1).await;
    assert_eq!(store.holder(&one, Timestamp(5)).await, Ok(Some(lease.clone())));
    assert_eq!(store.revoke_grant(&one, &grant, Timestamp(5)).await, Ok(Timestamp(5)));
    assert_eq!(
        store.revoke_grant(&one, &grant, Timestamp(9)).await,
        Ok(Timestamp(5)),
        "the first time counts"
    );
    store.revoke_grant(&one, &"g_0".into(), Timestamp(7)).await.unwrap();
    let revoked = store.revoked_grants(&one).await.unwrap();
    assert_eq!(revoked, [(grant, Timestamp(5)), ("g_0".into(), Timestamp(7))]);
    assert_eq!(store.revoked_grants(&other).await.unwrap(), []);
    store.release(&lease).await.unwrap();
    assert_eq!(store.holder(&one, Timestamp(5)).await, Ok(None));
}

async fn artifacts_are_stored_with_their_record(store: &dyn Audited) {
    let lease = session(store, "s_1", 1).await;
    let one = RunWriter::new(store, &lease, "r_1", 5);
    one.whole(Some(artifact("notes", 1)), None).await;
    let two = RunWriter::new(store, &lease, "r_2", 6);
    two.whole(Some(artifact("notes", 2)), None).await;
    assert_eq!(store.artifacts(&lease.session).await, Ok(vec![artifact("notes", 1), artifact("notes", 2)]));
    assert_eq!(store.artifacts(&SessionId::new("s_2")).await, Ok(vec![]));
    fitting(&verify_store(store, &[], Timestamp(6)).unwrap());
}

async fn a_payload_is_taken_away_and_the_chain_still_verifies(store: &dyn Audited) {
    let lease = session(store, "s_1", 1).await;
    let writer = RunWriter::new(store, &lease, "r_1", 5);
    writer.whole(Some(artifact("notes", 1)), Some(b"before")).await;
    let head = store.runs(None).await.unwrap()[0].head;
    for seq in [0, 2, 4, 5] {
        store.redact(&lease, &writer.run, seq, "asked by its owner", Timestamp(9)).await.unwrap();
    }
    let records = store.records(&writer.run).await.unwrap();
    let gone: Vec<u64> =
        records.iter().filter(|record| record.payload.is_none()).map(|record| record.seq).collect();
    assert_eq!(gone, [0, 2, 4, 5]);
    assert_eq!(records[5].hash, head.hash, "the chain is as it was");
    let Ok(Payload::PayloadRedacted(told)) =
        Payload::read("payload_redacted", records[8].payload.as_ref().unwrap())
    else {
        panic!("{:?}", records[8])
    };
    let result = format!("tool-results/{}.json", writer.call().file_stem());
    assert_eq!((told.seq, told.files), (4, vec![result.clone()]));
    assert_eq!(told.artifacts, [("notes".to_owned(), 1)]);
    assert_eq!(told.reason, "asked by its owner");
    assert_eq!(store.file(&writer.run, &result).await.unwrap().unwrap().bytes, None);
    let emptied =
        ArtifactVersion { content: String::new(), title: "(taken away)".into(), ..artifact("notes", 1) };
    assert_eq!(store.artifacts(&lease.session).await, Ok(vec![emptied]));
    assert_eq!(store.blob(&Digest::of(b"before")).await, Ok(None));
    fitting(&verify_store(store, &[], Timestamp(9)).unwrap());
    // The next run follows, and what was taken away is not given out again.
    let next = RunWriter::new(store, &lease, "r_2", 10);
    next.whole(Some(artifact("notes", 2)), None).await;
    fitting(&verify_store(store, &[], Timestamp(10)).unwrap());
}

async fn only_private_kinds_can_be_redacted(store: &dyn Audited) {
    let lease = session(store, "s_1", 1).await;
    let writer = RunWriter::new(store, &lease, "r_1", 5);
    writer.whole(None, None).await;
    let before = store.records(&writer.run).await;
    for (seq, kind) in [(1, "context_assembled"), (3, "tool_call_started")] {
        let refused = store.redact(&lease, &writer.run, seq, "x", Timestamp(9)).await.unwrap_err();
        assert_eq!(refused, RedactionError::NotRedactable { seq, kind: kind.into() });
    }
    let missing = store.redact(&lease, &writer.run, 6, "x", Timestamp(9)).await.unwrap_err();
    assert!(matches!(missing, RedactionError::Store(StoreError::Missing { .. })));
    assert_eq!(store.records(&writer.run).await, before);
    store.redact(&lease, &writer.run, 5, "x", Timestamp(9)).await.unwrap();
    let again = store.redact(&lease, &writer.run, 5, "x", Timestamp(9)).await.unwrap_err();
    assert_eq!(again.to_string(), "there is no payload in record 5 of run r_1: it was taken away before");
}

async fn a_session_is_deleted_and_its_chains_still_verify(store: &dyn Audited) {
    let lease = session(store, "s_1", 1).await;
    let kept = session(store, "s_2", 1).await;
    for (run, version) in [("r_1", 1), ("r_2", 2)] {
        RunWriter::new(store, &lease, run, 5).whole(Some(artifact("notes", version)), Some(b"before")).await;
    }
    RunWriter::new(store, &kept, "r_3", 5).whole(Some(artifact("notes", 1)), None).await;
    store.redact(&lease, &RunId::new("r_1"), 0, "x", Timestamp(8)).await.unwrap();
    let open = RunWriter::new(store, &lease, "r_4", 6);
    open.append(open.beginning(open.previous().await)).await.unwrap();
    let anchors = anchor(store).unwrap();
    store.delete_session(&lease, Timestamp(9)).await.unwrap();
    assert!(store.session(&lease.session).await.unwrap().unwrap().deleted);
    for run in store.runs(Some(&lease.session)).await.unwrap() {
        let records = store.records(&run.id).await.unwrap();
        let (last, gone) = records.split_last().unwrap();
        assert!(gone.iter().all(|record| record.payload.is_none()));
        assert_eq!(last.kind, "session_deleted");
        assert!(store.files(&run.id).await.unwrap().iter().all(|file| file.bytes.is_none()));
    }
    assert!(
        store.artifacts(&lease.session).await.unwrap().iter().all(|artifact| artifact.content.is_empty())
    );
    assert_eq!(store.artifacts(&kept.session).await, Ok(vec![artifact("notes", 1)]));
    assert_eq!(store.blob(&Digest::of(b"before")).await, Ok(None));
    let report = verify_store(store, &anchors, Timestamp(9)).unwrap();
    fitting(&report);
    let states: Vec<RunState> = report.runs.iter().map(|run| run.state).collect();
    assert_eq!(states, [RunState::Deleted, RunState::Deleted, RunState::Ended, RunState::Deleted]);
    let gone = StoreError::Missing { what: "session s_1: it was deleted".into() };
    assert_eq!(store.lease(&lease.session, "haft", Timestamp(99_999)).await, Err(gone.clone()));
    assert_eq!(open.append(open.end()).await, Err(gone));
}

async fn a_shared_blob_stays_until_its_last_name_goes(store: &dyn Audited) {
    let one = session(store, "s_1", 1).await;
    let two = session(store, "s_2", 1).await;
    RunWriter::new(store, &one, "r_1", 5).whole(None, Some(b"before")).await;
    RunWriter::new(store, &two, "r_2", 5).whole(None, Some(b"before")).await;
    store.delete_session(&one, Timestamp(6)).await.unwrap();
    assert_eq!(store.blob(&Digest::of(b"before")).await, Ok(Some(b"before".to_vec())));
    fitting(&verify_store(store, &[], Timestamp(6)).unwrap());
    store.redact(&two, &RunId::new("r_2"), 4, "x", Timestamp(7)).await.unwrap();
    assert_eq!(store.blob(&Digest::of(b"before")).await, Ok(None));
    fitting(&verify_store(store, &[], Timestamp(7)).unwrap());
}

async fn an_image_of_a_result_is_spoken_of_and_goes_with_it(store: &dyn Audited) {
    let lease = session(store, "s_1", 1).await;
    let writer = RunWriter::new(store, &lease, "r_1", 5);
    writer.append(writer.beginning(None)).await.unwrap();
    writer.append(writer.intent()).await.unwrap();
    let image = store.put_blob(b"\x89PNG").await.unwrap();
    let mut last = writer.completion_showing(None, None, Some(image));
    last.join(writer.end());
    writer.append(last).await.unwrap();
    fitting(&verify_store(store, &[], Timestamp(6)).unwrap());
    assert_eq!(export_run(store, &writer.run).await.unwrap().blobs, [(image, b"\x89PNG".to_vec())]);
    store.redact(&lease, &writer.run, 4, "x", Timestamp(7)).await.unwrap();
    assert_eq!(store.blob(&image).await, Ok(None));
    fitting(&verify_store(store, &[], Timestamp(7)).unwrap());
}

async fn a_run_without_an_end_is_open_unless_somebody_works_on_it(store: &dyn Audited) {
    let lease = session(store, "s_1", 1).await;
    let writer = RunWriter::new(store, &lease, "r_1", 5);
    writer.append(writer.beginning(None)).await.unwrap();
    writer.append(writer.intent()).await.unwrap();
    let running = verify_run(store, &writer.run, &[], Timestamp(6)).unwrap();
    fitting(&running);
    assert_eq!(running.runs[0].state, RunState::Running);
    for release in [false, true] {
        let now = if release { Timestamp(6) } else { Timestamp(90_000) };
        if release {
            store.release(&lease).await.unwrap();
        }
        let open = verify_run(store, &writer.run, &[], now).unwrap();
        let told: Vec<String> = open.findings().map(ToString::to_string).collect();
        let text = "run r_1: not ended: it is still running elsewhere, its process died, or its tail was cut";
        assert_eq!(told, [text]);
        assert!(!open.fits());
    }
    // Recovery ends what was started.
    let lease = store.lease(&lease.session, "haft test", Timestamp(7)).await.unwrap();
    let writer = RunWriter { lease: &lease, ..writer };
    let mut end = writer.failure();
    end.join(writer.end());
    writer.append(end).await.unwrap();
    fitting(&verify_run(store, &writer.run, &[], Timestamp(8)).unwrap());
}

async fn anchors_tell_of_what_was_there(store: &dyn Audited) {
    let lease = session(store, "s_1", 1).await;
    let writer = RunWriter::new(store, &lease, "r_1", 5);
    writer.append(writer.beginning(None)).await.unwrap();
    let early = anchor(store).unwrap();
    assert_eq!((early[0].run.as_str(), early[0].next), ("r_1", 2));
    writer.append(writer.end()).await.unwrap();
    fitting(&verify_store(store, &early, Timestamp(6)).unwrap());
    let mut wrong = anchor(store).unwrap();
    wrong[0].hash = Head::empty().hash;
    let mut vanished = wrong[0].clone();
    vanished.run = RunId::new("r_9");
    wrong.push(vanished);
    let report = verify_store(store, &wrong, Timestamp(6)).unwrap();
    let told: Vec<String> = report.findings().map(ToString::to_string).collect();
    let expected = [
        "run r_1, record 2 (run_ended): the anchor names another hash: the record was changed or its tail was cut",
        "run r_9: it is missing",
    ];
    assert_eq!(told, expected);
}

async fn records_in_an_impossible_order_are_findings(store: &dyn Audited) {
    let lease = session(store, "s_1", 1).await;
    let whole = RunWriter::new(store, &lease, "r_1", 5);
    whole.whole(None, None).await;
    // A second end under the same path is refused; under another path it is stored, and told.
    assert!(matches!(whole.append(whole.failure()).await, Err(StoreError::Exists { .. })));
    let mut second = whole.batch();
    let Ok(Payload::ToolCallFailed(mut failed)) =
        Payload::read("tool_call_failed", &whole.failure().records()[0].payload)
    else {
        panic!("no failure")
    };
    failed.result_file = second.file("tool-results/other.json", b"{}".to_vec());
    second.record(Timestamp(6), &Payload::ToolCallFailed(failed)).unwrap();
    whole.append(second).await.unwrap();
    let odd = RunWriter::new(store, &lease, "r_2", 6);
    odd.append(odd.intent()).await.unwrap();
    odd.append(odd.end()).await.unwrap();
    let report = verify_store(store, &[], Timestamp(6)).unwrap();
    let told: Vec<String> = report.findings().map(ToString::to_string).collect();
    let expected = [
        "run r_1, record 6 (tool_call_failed): it stands after the end of the run",
        "run r_1, record 6 (tool_call_failed): it ends the call c_i_r_1_1_1 a second time",
        "run r_2, record 0 (tool_call_requested): the run should begin with run_started",
        "run r_2, record 1 (tool_call_started): it starts the call c_i_r_2_1_1, which has no end although the run ended",
    ];
    assert_eq!(told, expected);
}

#[test]
fn an_empty_batch_is_committed() {
    let store = MemoryStore::new();
    wait(async {
        let lease = session(&store, "s_1", 1).await;
        let committed = store_append(&store, &lease).await.unwrap();
        assert_eq!(committed, Head::empty());
    });
}

async fn store_append(store: &dyn Store, lease: &Lease) -> Result<Head, StoreError> {
    store.append(lease, Batch::new(RunId::new("r_1"))).await.map(|committed| committed.head())
}
