//! The store in memory and the store on disk are twins: any sequence of operations gives the same answers and the same state.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod support;

use haft_core::ports::{Lease, NewSession, ProjectRow, Store};
use haft_core::{ProjectId, RunId, SessionId, Timestamp};
use haft_store::verify::{Auditable, anchor, verify_store};
use haft_store::{MemoryStore, SqliteStore};
use proptest::prelude::*;
use support::{RunWriter, artifact, wait};

trait Twin: Store + Auditable {}
impl<T: Store + Auditable> Twin for T {}

#[derive(Debug, Clone)]
enum Step {
    Create(u8),
    Lease(u8),
    Renew(u8),
    Release(u8),
    Begin(u8, u8),
    Intent(u8, u8),
    Complete(u8, u8, u8),
    Small(u8, u8),
    End(u8, u8),
    Redact(u8, u8, u8),
    Delete(u8),
    Blob(u8),
    AddProject(u8),
    RemoveProject(u8),
    Wait(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let (session, run) = (0..2u8, 0..3u8);
    let both = (session.clone(), run);
    let step = prop_oneof![
        1 => session.clone().prop_map(Step::Create),
        3 => session.clone().prop_map(Step::Lease),
        1 => session.clone().prop_map(Step::Renew),
        1 => session.clone().prop_map(Step::Release),
        4 => both.clone().prop_map(|(s, r)| Step::Begin(s, r)),
        4 => both.clone().prop_map(|(s, r)| Step::Intent(s, r)),
        4 => (both.clone(), 0..3u8).prop_map(|((s, r), n)| Step::Complete(s, r, n)),
        2 => both.clone().prop_map(|(s, r)| Step::Small(s, r)),
        2 => both.clone().prop_map(|(s, r)| Step::End(s, r)),
        3 => (both, 0..7u8).prop_map(|((s, r), seq)| Step::Redact(s, r, seq)),
        1 => session.clone().prop_map(Step::Delete),
        1 => (0..3u8).prop_map(Step::Blob),
        1 => session.clone().prop_map(Step::AddProject),
        1 => session.prop_map(Step::RemoveProject),
        2 => prop_oneof![Just(5), Just(9_000), Just(40_000)].prop_map(Step::Wait),
    ];
    prop::collection::vec(step, 10..40).prop_map(|steps| {
        let beginning = [Step::Create(0), Step::Create(1), Step::Lease(0), Step::Lease(1)];
        beginning.into_iter().chain(steps).collect()
    })
}

/// Runs the steps and tells all that can be seen of them.
async fn history(store: &dyn Twin, steps: &[Step]) -> Vec<String> {
    let mut now = 1_000;
    let mut leases: Vec<Lease> = (0..2)
        .map(|n| Lease { session: SessionId::new(format!("s_{n}")), epoch: 0, owner: "nobody".into() })
        .collect();
    let mut seen = Vec::new();
    for step in steps {
        let told = match step {
            Step::Wait(time) => {
                now += time;
                String::new()
            }
            Step::Create(s) => {
                let id = leases[usize::from(*s)].session.clone();
                let project = Some(ProjectId::new("p"));
                let new = NewSession { id, created: Timestamp(now), profile: "default".into(), project };
                format!("{:?}", store.create_session(&new).await)
            }
            Step::Lease(s) => {
                let lease = &mut leases[usize::from(*s)];
                let taken = store.lease(&lease.session, "haft test", Timestamp(now)).await;
                let told = format!("{taken:?}");
                if let Ok(taken) = taken {
                    *lease = taken;
                }
                told
            }
            Step::Renew(s) => format!("{:?}", store.renew(&leases[usize::from(*s)], Timestamp(now)).await),
            Step::Release(s) => format!("{:?}", store.release(&leases[usize::from(*s)]).await),
            Step::Delete(s) => {
                format!("{:?}", store.delete_session(&leases[usize::from(*s)], Timestamp(now)).await)
            }
            Step::Blob(n) => format!("{:?}", store.put_blob(&[*n]).await),
            Step::AddProject(n) => {
                let row = ProjectRow {
                    id: ProjectId::new(format!("p_{n}")),
                    path: format!("/{now}"),
                    added: Timestamp(now),
                };
                format!("{:?}", store.put_project(&row).await)
            }
            Step::RemoveProject(n) => {
                format!("{:?}", store.remove_project(&ProjectId::new(format!("p_{n}"))).await)
            }
            Step::Redact(s, r, seq) => {
                let (lease, run) = (&leases[usize::from(*s)], RunId::new(format!("r_{r}")));
                format!("{:?}", store.redact(lease, &run, u64::from(*seq), "asked", Timestamp(now)).await)
            }
            Step::Begin(s, r)
            | Step::Intent(s, r)
            | Step::Small(s, r)
            | Step::End(s, r)
            | Step::Complete(s, r, _) => {
                let writer = RunWriter::new(store, &leases[usize::from(*s)], &format!("r_{r}"), now);
                let batch = match step {
                    Step::Begin(..) => writer.beginning(writer.previous().await),
                    Step::Intent(..) => writer.intent(),
                    Step::Complete(_, _, 0) => writer.completion(None, None),
                    Step::Complete(_, _, n) => {
                        let before = store.put_blob(&[*n]).await.unwrap();
                        writer.completion(Some(artifact("notes", u32::from(*n))), Some(before))
                    }
                    Step::Small(..) => writer.small(now),
                    _ => writer.end(),
                };
                format!("{:?}", writer.append(batch).await)
            }
        };
        seen.push(format!("{step:?}: {told}"));
    }
    seen.extend(state(store, now).await);
    seen
}

fn names(store: &dyn Twin) -> Vec<haft_store::verify::Row<haft_core::Digest>> {
    store.audit().unwrap().blob_names().unwrap()
}

/// All that a store tells of its state.
async fn state(store: &dyn Twin, now: u64) -> Vec<String> {
    let mut seen = vec![format!("{:?}", store.sessions().await), format!("{:?}", store.projects().await)];
    for session in store.sessions().await.unwrap() {
        seen.push(format!("{:?}", store.session(&session.id).await));
        seen.push(format!("{:?}", store.runs(Some(&session.id)).await));
        seen.push(format!("{:?}", store.artifacts(&session.id).await));
    }
    for run in store.runs(None).await.unwrap() {
        seen.push(format!("{:?}", store.records(&run.id).await));
        seen.push(format!("{:?}", store.first_records(&run.id, 2).await));
        seen.push(format!("{:?}", store.files(&run.id).await));
    }
    for name in names(store) {
        seen.push(format!("{:?}", store.blob(&name.unwrap()).await));
    }
    seen.push(format!("{:?}", anchor(store)));
    seen.push(format!("{:?}", verify_store(store, &[], Timestamp(now))));
    seen
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn both_stores_answer_alike(steps in steps()) {
        let home = tempfile::tempdir().unwrap();
        let sqlite = SqliteStore::open(home.path(), Timestamp(1)).unwrap();
        let memory = MemoryStore::new();
        let (one, two) = wait(async { (history(&memory, &steps).await, history(&sqlite, &steps).await) });
        for (memory, sqlite) in one.iter().zip(&two) {
            prop_assert_eq!(memory, sqlite);
        }
        prop_assert_eq!(one.len(), two.len());
    }
}
