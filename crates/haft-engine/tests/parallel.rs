//! Calls side by side: what overlaps, what never does, and what stays in call order.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod support;

use std::sync::{Arc, Mutex};

use haft_core::consent::{Answer, Closing, ConsentSurface, Question};
use haft_core::journal::RunStatus;
use haft_core::profile::ExecutionMode;
use haft_core::{
    ConsentId, ErrorCode, Grant, GrantId, Lifetime, Payload, Profile, RequestedCall, Scope, Timestamp, ToolId,
};
use haft_engine::{EngineError, Reply};
use proptest::prelude::*;
use serde_json::json;
use support::{FakeModel, World, call, says};

fn world() -> World {
    let mut world = World::new();
    world.profile.execution = ExecutionMode::Parallel;
    world
}

fn on(name: &str, cell: &str) -> RequestedCall {
    call(name, json!({"text": cell}))
}

// EXE-04, EXE-08: each of the two ends only while the other is under way.
#[tokio::test(start_paused = true)]
async fn calls_that_touch_different_things_overlap_and_results_keep_call_order() {
    let world = world();
    let session = world.session().await;
    let calls = vec![on("pair_writes", "a"), on("nobody", ""), on("pair", "b"), on("fails", "")];
    let outcomes = session.calls(calls, world.options()).wait().await.unwrap();
    let told: Vec<_> = outcomes.iter().map(|one| (one.result.alias.as_str(), one.result.is_error)).collect();
    assert_eq!(told, [("pair_writes", false), ("nobody", true), ("pair", false), ("fails", true)]);
    let ids: Vec<_> = outcomes.iter().map(|one| one.result.call_id.to_string()).collect();
    assert!(ids.is_sorted(), "{ids:?}");
}

// A yes that is taken back while its call waits for another one lets nothing through, wherever it was taken back.
#[tokio::test(start_paused = true)]
async fn a_yes_that_is_taken_back_while_its_call_waits_starts_nothing() {
    for elsewhere in [false, true] {
        let world = world();
        let session = world.session().await;
        let (id, lifetime) = (GrantId::new("g_1"), Lifetime::Session(session.id().clone()));
        let tool = ToolId::builtin("look_asks");
        session.grant(Grant::new(id.clone(), tool, Scope::Tool, lifetime, "--allow", Timestamp(0)));
        // The second waits for the first, which waits for the test.
        let handle = session.calls(vec![on("pair_writes", "x"), on("look_asks", "x")], world.options());
        while world.logged().is_empty() {
            tokio::task::yield_now().await;
        }
        if elsewhere {
            world.store.revoke_grant(session.id(), &id, Timestamp(99)).await.unwrap();
        } else {
            assert!(session.revoke(&id).await.unwrap());
        }
        world.cells.pair.meet().await;
        let outcomes = handle.wait().await.unwrap();
        assert!(!outcomes[0].result.is_error);
        assert_eq!(outcomes[1].result.error_code, Some(ErrorCode::TOOL_DENIED), "elsewhere: {elsewhere}");
        assert_eq!(world.logged(), ["pair_writes x"]);
    }
}

#[tokio::test(start_paused = true)]
async fn in_serial_mode_nothing_overlaps() {
    let mut world = world();
    world.profile.execution = ExecutionMode::Serial;
    let session = world.session().await;
    let calls = vec![on("stays", "a"), on("stays", "b")];
    session.calls(calls, world.options()).wait().await.unwrap();
    let comings: Vec<_> = world.cells.visits.lock().unwrap().iter().map(|visit| visit.1).collect();
    assert_eq!(comings, [true, false, true, false]);
}

// CONFLICT-01: reads of one thing overlap; a write waits for whatever touches it.
#[tokio::test(start_paused = true)]
async fn calls_that_touch_the_same_never_overlap() {
    for (one, other, overlap) in [
        ("pair", "pair", true),
        ("pair", "pair_writes", false),
        ("pair_writes", "pair", false),
        ("pair_writes", "pair_writes", false),
    ] {
        let world = world();
        let session = world.session().await;
        let calls = vec![on(one, "a"), on(other, "a/b")];
        let outcomes = session.calls(calls, world.options()).wait().await.unwrap();
        let met: Vec<_> = outcomes.iter().map(|outcome| !outcome.result.is_error).collect();
        // A barrier remembers one that gave up waiting.
        assert_eq!(met, [overlap, true], "{one} {other}");
    }
}

#[derive(Default)]
struct Shown(Mutex<Vec<Question>>);
impl ConsentSurface for Shown {
    fn name(&self) -> &'static str {
        "shown"
    }
    fn show(&self, question: &Question) {
        self.0.lock().unwrap().push(question.clone());
    }
    fn close(&self, _: &ConsentId, _: &Closing) {}
}

// GAT-02, CONFLICT-01: what comes after a question is not even decided, what came before runs on.
#[tokio::test]
async fn a_call_starts_when_all_before_it_are_decided() {
    let world = world();
    let surface = Arc::new(Shown::default());
    world.engine.consent().attach(surface.clone());
    let session = world.session().await;
    let calls = vec![on("stays", "a"), on("look_asks", "b"), on("look", "c")];
    let handle = session.calls(calls, world.options());
    let run = handle.run().clone();
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
    // The first is over and its end durable; the third has not so much as a record.
    assert_eq!(world.logged(), ["stays a"]);
    assert_eq!(world.cells.visits.lock().unwrap().len(), 2);
    let kinds = world.kinds(&run).await;
    assert_eq!(
        kinds[2..],
        [
            "tool_call_requested",
            "tool_call_requested",
            "consent_opened",
            "tool_call_started",
            "tool_call_completed"
        ]
    );
    let question = surface.0.lock().unwrap().remove(0);
    world.engine.consent().answer(&question.id, Reply::to(&question, Answer::Once, "shown")).unwrap();
    let outcomes = handle.wait().await.unwrap();
    assert!(outcomes.iter().all(|one| !one.result.is_error));
    assert_eq!(outcomes[1].granted_by.as_deref(), Some("shown"));
    assert_eq!(world.logged()[1..], ["look_asks b", "look c"]);
    let requested: Vec<_> = world
        .payloads(&run)
        .await
        .into_iter()
        .filter_map(|payload| match payload {
            Payload::ToolCallRequested(body) => Some(body.alias),
            _ => None,
        })
        .collect();
    assert_eq!(requested, ["stays", "look_asks", "look"]);
}

// A person's yes to this very call runs it, whatever is known from before.
#[tokio::test]
async fn a_call_that_a_person_answered_for_runs() {
    let mut world = world();
    world.profile.reuse.history = true;
    let session = world.session().await;
    let mut yes = world.options();
    yes.yes = true;
    session.calls(vec![on("look_asks", "b")], yes).wait().await.unwrap();
    let surface = Arc::new(Shown::default());
    world.engine.consent().attach(surface.clone());
    for mode in [ExecutionMode::Parallel, ExecutionMode::Serial] {
        world.profile.execution = mode;
        let handle = session.calls(vec![on("look_asks", "b")], world.options());
        while surface.0.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        let question = surface.0.lock().unwrap().remove(0);
        world.engine.consent().answer(&question.id, Reply::to(&question, Answer::Once, "shown")).unwrap();
        let outcomes = handle.wait().await.unwrap();
        assert_eq!((outcomes[0].result.is_error, outcomes[0].result.skipped), (false, false));
    }
    assert_eq!(world.logged(), ["look_asks b"; 3]);
}

// ERR-01: a broken host ends the run, and every started call has its end all the same.
#[tokio::test(start_paused = true)]
async fn what_runs_beside_a_broken_tool_is_stopped_and_told() {
    let world = world();
    let session = world.session().await;
    let calls = vec![on("pair", "a"), on("system", ""), on("look", "b"), on("pair", "c")];
    let mut options = world.options();
    options.call_timeout_ms = None;
    // `system` touches everything and waits for the first, which only a stop ends.
    let handle = session.calls(calls, options);
    let run = handle.run().clone();
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
    handle.interrupt();
    let error = handle.wait().await.unwrap_err();
    assert_eq!(
        error,
        EngineError::System { code: "test.broken".into(), message: "The disk is gone.".into() }
    );
    let payloads = world.payloads(&run).await;
    let count = |wanted: fn(&Payload) -> bool| payloads.iter().filter(|payload| wanted(payload)).count();
    assert_eq!(count(|one| matches!(one, Payload::ToolCallRequested(_))), 4);
    assert_eq!(count(|one| matches!(one, Payload::ToolCallFailed(_))), 4);
    let Some(Payload::RunEnded(ended)) = payloads.last() else { panic!() };
    assert_eq!((ended.status, ended.error_code.as_deref()), (RunStatus::Failed, Some("test.broken")));
}

// EXE-03: a call that waits for its turn when the run is stopped never starts.
#[tokio::test(start_paused = true)]
async fn a_stopped_run_starts_nothing_that_was_decided_before() {
    let world = world();
    let session = world.session().await;
    let calls = vec![on("pair_writes", "a"), call("put", json!({"text": "a", "size": 1})), on("look", "a/b")];
    let handle = session.calls(calls, world.options());
    let run = handle.run().clone();
    while world.logged().is_empty() {
        tokio::task::yield_now().await;
    }
    handle.stop();
    let outcomes = handle.wait().await.unwrap();
    let codes: Vec<_> =
        outcomes.iter().map(|one| one.result.error_code.as_ref().map(ToString::to_string)).collect();
    assert_eq!(codes, vec![Some("agent.call_cancelled".to_owned()); 3]);
    assert_eq!(world.logged(), ["pair_writes a"]);
    let kinds = world.kinds(&run).await;
    assert_eq!(kinds.iter().filter(|kind| *kind == "tool_call_started").count(), 1);
    assert_eq!(kinds.iter().filter(|kind| *kind == "tool_call_failed").count(), 3);
}

// EXE-08: the model is told that calls may run side by side.
#[tokio::test]
async fn the_request_says_that_calls_may_run_side_by_side() {
    let mut world = world();
    for (mode, serial) in [(ExecutionMode::Parallel, false), (ExecutionMode::Serial, true)] {
        world.profile.execution = mode;
        let session = world.session().await;
        let model = FakeModel::new(vec![says("done", vec![])]);
        session.prompt("go".into(), model.clone(), world.options()).wait().await.unwrap();
        assert_eq!(model.requests.lock().unwrap()[0].serial, serial);
    }
}

#[derive(Debug, Clone)]
struct Stay {
    tool: &'static str,
    cell: String,
    rounds: u64,
}

fn stay() -> impl Strategy<Value = Stay> {
    let tools = prop_oneof![4 => Just("stays"), 3 => Just("stays_writes"), 1 => Just("stays_last")];
    let cells = proptest::sample::select(vec!["a", "a/x", "a/y", "b", "c"]);
    (tools, cells, 0u64..6).prop_map(|(tool, cell, rounds)| Stay { tool, cell: cell.to_owned(), rounds })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    // CONFLICT-01, EXE-02, EXE-04
    #[test]
    fn overlaps_are_only_between_calls_that_do_not_meet(
        stays in proptest::collection::vec(stay(), 1..12),
        workers in 0u32..9,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let mut world = world();
            world.profile.max_workers = workers;
            let session = world.session().await;
            let calls = stays
                .iter()
                .map(|stay| call(stay.tool, json!({"text": stay.cell, "size": stay.rounds})))
                .collect();
            let outcomes = session.calls(calls, world.options()).wait().await.unwrap();
            assert!(outcomes.iter().all(|one| one.result.text() == "stayed"));
            let place = |id| outcomes.iter().position(|one| one.result.call_id == id).unwrap();
            let visits: Vec<_> = world.cells.visits.lock().unwrap().drain(..).collect();
            assert_eq!(visits.len(), stays.len() * 2);
            let mut there: Vec<usize> = Vec::new();
            let mut gone: Vec<usize> = Vec::new();
            for (id, comes) in visits {
                let at = place(id);
                if !comes {
                    there.retain(|one| *one != at);
                    gone.push(at);
                    continue;
                }
                assert!(there.iter().all(|one| !meet(&stays[*one], &stays[at])), "{there:?} {at}");
                let mut earlier = (0..stays.len()).filter(|one| comes_before(&stays, *one, at));
                assert!(earlier.all(|one| gone.contains(&one) || !meet(&stays[one], &stays[at])), "{gone:?} {at}");
                there.push(at);
                assert!(there.len() <= workers.clamp(1, Profile::MOST_WORKERS) as usize);
            }
        });
    }
}

/// The test's own word for what must not overlap.
fn meet(one: &Stay, other: &Stay) -> bool {
    let below = |one: &str, other: &str| one == other || one.starts_with(&format!("{other}/"));
    let same = below(&one.cell, &other.cell) || below(&other.cell, &one.cell);
    let writes = one.tool == "stays_writes" || other.tool == "stays_writes";
    one.tool == "stays_last" || other.tool == "stays_last" || (same && writes)
}

/// Call order, with those that come last by themselves after the others.
fn comes_before(stays: &[Stay], one: usize, other: usize) -> bool {
    let rank = |at: usize| (stays[at].tool == "stays_last", at);
    rank(one) < rank(other)
}
