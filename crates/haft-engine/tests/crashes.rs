//! Stops and crashes: every call has one owner and one end.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod support;

use std::collections::BTreeMap;

use std::sync::Arc;

use haft_core::journal::RunStatus;
use haft_core::ports::Store;
use haft_core::profile::ExecutionMode;
use haft_core::{Payload, RunId, Timestamp};
use haft_engine::SessionChoice;
use haft_store::MemoryStore;
use proptest::prelude::*;
use serde_json::json;
use support::{FailingStore, World, call};

/// Number of requested, started and ended records of each call.
async fn ends(world: &World, run: &RunId) -> BTreeMap<String, (u32, u32, u32)> {
    let mut counts: BTreeMap<String, (u32, u32, u32)> = BTreeMap::new();
    for payload in world.payloads(run).await {
        let Some(call) = payload.call_id() else { continue };
        let count = counts.entry(call.to_string()).or_default();
        match payload {
            Payload::ToolCallRequested(_) => count.0 += 1,
            Payload::ToolCallStarted(_) => count.1 += 1,
            Payload::ToolCallCompleted(_) | Payload::ToolCallFailed(_) => count.2 += 1,
            _ => {}
        }
    }
    counts
}

#[derive(Debug, Clone, Copy)]
enum Stop {
    Interrupt,
    Run,
    DropHandle,
}

fn stop() -> impl Strategy<Value = Stop> {
    prop_oneof![3 => Just(Stop::Interrupt), 2 => Just(Stop::Run), 1 => Just(Stop::DropHandle)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    // A call's outcome has one owner, also under cancellation.
    #[test]
    fn sixteen_calls_cancelled_at_random_points_each_have_one_end(
        parallel in any::<bool>(),
        stops in proptest::collection::vec((0u32..120, stop()), 1..8),
        asks in proptest::collection::vec(any::<bool>(), 16),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let mut world = World::new();
            if parallel {
                world.profile.execution = ExecutionMode::Parallel;
            }
            let session = world.session().await;
            let calls = asks.iter().map(|asks| call(if *asks { "asks" } else { "yielding" }, json!({}))).collect();
            let handle = session.calls(calls, world.options());
            let run = handle.run().clone();
            let mut handle = Some(handle);
            for (yields, stop) in stops {
                for _ in 0..yields {
                    tokio::task::yield_now().await;
                }
                match stop {
                    Stop::Interrupt => handle.as_ref().into_iter().for_each(haft_engine::RunHandle::interrupt),
                    Stop::Run => handle.as_ref().into_iter().for_each(haft_engine::RunHandle::stop),
                    Stop::DropHandle => handle = None,
                }
            }
            if let Some(handle) = handle {
                let outcomes = handle.wait().await.unwrap();
                assert_eq!(outcomes.len(), 16);
            }
            // Closing waits for the run, whoever dropped the handle.
            session.close().await.unwrap();
            let ends = ends(&world, &run).await;
            assert_eq!(ends.len(), 16, "{ends:?}");
            for (call, (requested, started, ended)) in ends {
                assert!(requested == 1 && started <= 1 && ended == 1, "{call}: {requested} {started} {ended}");
            }
            assert!(matches!(world.payloads(&run).await.last(), Some(Payload::RunEnded(_))));
            assert!(world.engine.consent().open().is_empty());
        });
    }
}

// JRN-06
#[tokio::test]
async fn a_store_that_fails_fails_the_run_and_the_next_opening_closes_it() {
    // Enough for a whole run, one commit less, and so on.
    for commits in 0..5 {
        let inner: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let world = World::over(Arc::new(FailingStore::new(inner.clone(), commits)));
        let session = world.session().await;
        let calls = vec![call("echo", json!({"text": "1"})), call("echo", json!({"text": "2"}))];
        let handle = session.calls(calls, world.options());
        let run = handle.run().clone();
        let ended = handle.wait().await;
        session.close().await.unwrap();
        // Two starts and the end are three commits.
        assert_eq!(ended.is_ok(), commits >= 3, "{commits}: {ended:?}");
        // No tool runs whose intent is not durable.
        assert_eq!(world.logged().len(), commits.min(2) as usize);

        let survivor = World::over(inner);
        let session = survivor.reopen(SessionChoice::Last).await;
        let closed = usize::from((1..3).contains(&commits));
        assert_eq!(session.recovered().len(), closed, "{commits}");
        assert_eq!(session.recovered().iter().flat_map(|one| one.unknown.clone()).count(), closed);
        for (call, (requested, started, ended)) in ends(&survivor, &run).await {
            assert!(requested == 1 && started == 1 && ended == 1, "{commits}: {call}");
        }
        if closed == 1 {
            let Some(Payload::RunEnded(ended)) = survivor.payloads(&run).await.pop() else {
                panic!("{commits}")
            };
            assert_eq!(
                (ended.status, ended.error_code.as_deref()),
                (RunStatus::Failed, Some("agent.interrupted"))
            );
        }
        assert!(survivor.logged().is_empty());
        session.close().await.unwrap();
        assert!(survivor.reopen(SessionChoice::Last).await.recovered().is_empty());
    }
}

// JRN-03 and the law: whatever is called started ends; after a crash the outcome is unknown and nothing runs again.
#[tokio::test]
async fn a_call_that_had_started_ends_as_outcome_unknown() {
    let world = World::new();
    let session = world.session().await;
    let id = session.id().clone();
    let handle = session.calls(vec![call("writes", json!({}))], world.options());
    let run = handle.run().clone();
    while world.logged().is_empty() {
        tokio::task::yield_now().await;
    }
    // The process "dies": its lease is taken over while the call still runs.
    let lease = world.store.lease(&id, "test", Timestamp(10_000_000)).await;
    assert!(lease.is_ok(), "{lease:?}");
    world.store.release(&lease.unwrap()).await.unwrap();
    let survivor = World::over(world.store.clone());
    let reopened = survivor.reopen(SessionChoice::Id(id)).await;
    assert_eq!(reopened.recovered()[0].unknown, ["writes"]);
    let failed = survivor.payloads(&run).await.into_iter().find_map(|payload| match payload {
        Payload::ToolCallFailed(body) => Some(body.error_code.to_string()),
        _ => None,
    });
    assert_eq!(failed.as_deref(), Some("agent.outcome_unknown"));
    assert!(survivor.logged().is_empty());
    // The old owner can write nothing more (JRN-06).
    handle.stop();
    assert!(handle.wait().await.is_err());
    assert_eq!(survivor.kinds(&run).await.last().map(String::as_str), Some("run_ended"));
}
