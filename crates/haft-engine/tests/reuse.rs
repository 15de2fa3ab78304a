//! Earlier results that stand in for calls: which ones, and what the journal tells of it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod support;

use haft_core::journal::{ToolCallCompleted, ToolCallFailed};
use haft_core::profile::{ExecutionMode, Reuse};
use haft_core::{Payload, RequestedCall, RunId};
use haft_engine::{CallOutcome, Session, SessionChoice};
use proptest::prelude::*;
use serde_json::json;
use support::{World, call};

fn world(reuse: Reuse) -> World {
    let mut world = World::new();
    world.profile.reuse = reuse;
    world
}

const BATCH: Reuse =
    Reuse { batch: true, history: false, cache_ttl_s: None, include_side_effects: false, failures: false };
const HISTORY: Reuse = Reuse { batch: false, history: true, ..BATCH };
const CACHE: Reuse = Reuse { batch: false, cache_ttl_s: Some(Reuse::CACHE_TTL_S), ..BATCH };

async fn run(world: &World, session: &Session, calls: Vec<RequestedCall>) -> Vec<CallOutcome> {
    session.calls(calls, world.options()).wait().await.unwrap()
}

fn look(cell: &str) -> RequestedCall {
    call("look", json!({"text": cell}))
}

fn put(cell: &str, value: u64) -> RequestedCall {
    call("put", json!({"text": cell, "size": value}))
}

fn skipped(outcomes: &[CallOutcome]) -> Vec<bool> {
    outcomes.iter().map(|outcome| outcome.result.skipped).collect()
}

async fn ends(world: &World, run: &RunId) -> (Vec<ToolCallCompleted>, Vec<ToolCallFailed>) {
    let (mut completed, mut failed) = (Vec::new(), Vec::new());
    for payload in world.payloads(run).await {
        match payload {
            Payload::ToolCallCompleted(body) => completed.push(body),
            Payload::ToolCallFailed(body) => failed.push(body),
            _ => {}
        }
    }
    (completed, failed)
}

async fn stored(world: &World, run: &RunId, path: &str) -> haft_core::ToolResult {
    let file = world.store.file(run, path).await.unwrap().unwrap();
    serde_json::from_slice(&file.bytes.unwrap()).unwrap()
}

// CCH-03, CCH-05, RES-04, CONFLICT-16, EXE-05
#[tokio::test]
async fn a_second_call_of_a_batch_has_everything_of_its_own_but_a_start() {
    let world = world(BATCH);
    let session = world.session().await;
    let calls =
        vec![call("echo", json!({"text": "a", "size": 1})), call("echo", json!({"size": 1, "text": "a"}))];
    let outcomes = run(&world, &session, calls).await;
    assert_eq!(world.logged(), ["echo a"]);
    let kinds = world.kinds(&outcomes[0].run).await;
    assert_eq!(
        kinds[2..],
        [
            "tool_call_requested",
            "tool_call_started",
            "tool_call_completed",
            "tool_call_requested",
            "tool_call_completed",
            "run_ended"
        ]
    );
    let (first, second) = (&outcomes[0].result, &outcomes[1].result);
    assert_eq!((first.skipped, second.skipped, second.duration_ms), (false, true, 0));
    assert_ne!(first.call_id, second.call_id);
    assert_eq!((&first.content, &first.structured), (&second.content, &second.structured));
    assert_eq!(outcomes[0].decision, outcomes[1].decision);
    let (completed, _) = ends(&world, &outcomes[0].run).await;
    assert_eq!((completed[0].skipped, &completed[0].reused_from), (false, &None));
    assert_eq!((completed[1].skipped, completed[1].reused_from.as_ref()), (true, Some(&first.call_id)));
    assert_eq!(stored(&world, &outcomes[1].run, &completed[1].result_file.path).await, *second);
    let record = second.nanoclaw_record(&outcomes[1].arguments);
    let told = [&record["id"], &record["success"], &record["skipped"], &record["execution_time"]];
    assert_eq!(told, [&json!(second.call_id), &json!(true), &json!(true), &json!(0.0)]);
    // An ordinary record says nothing of it; the event of the other does.
    let events = world.events_of("tool_call_completed");
    assert_eq!(events[0].payload.get("skipped"), None);
    assert_eq!(events[1].payload["skipped"], true);
    // The next batch is another matter.
    assert_eq!(skipped(&run(&world, &session, vec![look("a"), look("a")]).await), [false, true]);
    assert_eq!(skipped(&run(&world, &session, vec![look("a")]).await), [false]);
}

// CONFLICT-16: nothing is reused unless the profile says so.
#[tokio::test]
async fn without_a_word_of_the_profile_every_call_runs() {
    let world = World::new();
    let session = world.session().await;
    assert_eq!(skipped(&run(&world, &session, vec![look("a"), look("a")]).await), [false, false]);
    assert_eq!(skipped(&run(&world, &session, vec![look("a")]).await), [false]);
}

// CCH-04
#[tokio::test]
async fn the_history_of_a_session_outlives_its_process_and_not_a_write() {
    let world = world(HISTORY);
    let session = world.session().await;
    run(&world, &session, vec![put("a", 1), look("a"), look("b")]).await;
    assert_eq!(skipped(&run(&world, &session, vec![look("a")]).await), [true]);
    session.close().await.unwrap();
    let session = world.reopen(SessionChoice::Last).await;
    let outcomes = run(&world, &session, vec![look("a"), put("a/x", 7), look("a"), look("b")]).await;
    assert_eq!(skipped(&outcomes), [true, false, false, true]);
    session.close().await.unwrap();
    let session = world.reopen(SessionChoice::Last).await;
    assert_eq!(skipped(&run(&world, &session, vec![look("a"), look("b")]).await), [true, true]);
    run(&world, &session, vec![put("b", 8)]).await;
    session.close().await.unwrap();
    // The write is told by the journal alone.
    let session = world.reopen(SessionChoice::Last).await;
    let outcomes = run(&world, &session, vec![look("b")]).await;
    assert_eq!((skipped(&outcomes), outcomes[0].result.text()), (vec![false], "8".to_owned()));
    // Another session knows nothing of it.
    let other = world.session().await;
    assert_eq!(skipped(&run(&world, &other, vec![look("b")]).await), [false]);
}

// CCH-01, CCH-02
#[tokio::test]
async fn the_cache_forgets_after_its_time() {
    let world = world(CACHE);
    let session = world.session().await;
    run(&world, &session, vec![look("a")]).await;
    world.clock.pass(290);
    assert_eq!(skipped(&run(&world, &session, vec![look("a")]).await), [true]);
    // A repeated call does not make the result any younger.
    world.clock.pass(11);
    assert_eq!(skipped(&run(&world, &session, vec![look("a")]).await), [false]);
}

// CONFLICT-16
#[tokio::test]
async fn calls_that_write_run_again_unless_the_profile_wants_nanoclaw_to_the_letter() {
    let batch = || vec![put("a", 1), put("a", 1), look("a"), put("a", 2), look("a"), put("a", 1), look("a")];
    let mut world = world(HISTORY);
    let session = world.session().await;
    let outcomes = run(&world, &session, batch()).await;
    assert_eq!(skipped(&outcomes), [false; 7]);
    assert_eq!(outcomes[6].result.text(), "1");
    world.profile.reuse.include_side_effects = true;
    let session = world.session().await;
    let outcomes = run(&world, &session, batch()).await;
    assert_eq!(skipped(&outcomes), [false, true, false, false, true, true, true]);
    assert_eq!(world.cells.values.lock().unwrap()["a"], 2);
}

// APR-10, CONFLICT-16
#[tokio::test]
async fn what_needs_a_yes_is_not_answered_by_an_earlier_result() {
    let mut world = world(HISTORY);
    world.profile.reuse.include_side_effects = true;
    let session = world.session().await;
    let asks = || vec![call("look_asks", json!({"text": "a"}))];
    let mut yes = world.options();
    yes.yes = true;
    let first = session.calls(asks(), yes.clone()).wait().await.unwrap();
    assert_eq!(skipped(&first), [false]);
    let refused = run(&world, &session, asks()).await;
    assert_eq!((refused[0].result.is_error, skipped(&refused)), (true, vec![false]));
    // Under a live grant it is.
    let again = session.calls(asks(), yes).wait().await.unwrap();
    assert_eq!((skipped(&again), again[0].granted_by.as_deref()), (vec![true], Some("--yes")));
    let calls = vec![
        call("every_time", json!({})),
        call("every_time", json!({})),
        call("steers", json!({})),
        call("steers", json!({})),
    ];
    assert_eq!(skipped(&run(&world, &session, calls).await), [false; 4]);
}

// EXE-06: a failure is the model's to try again.
#[tokio::test]
async fn failures_run_again_unless_the_profile_says_otherwise() {
    let mut world = world(BATCH);
    let session = world.session().await;
    let calls = || vec![call("fails", json!({})), call("fails", json!({}))];
    assert_eq!(skipped(&run(&world, &session, calls()).await), [false, false]);
    world.profile.reuse.failures = true;
    let outcomes = run(&world, &session, calls()).await;
    assert_eq!(skipped(&outcomes), [false, true]);
    let (first, second) = (&outcomes[0].result, &outcomes[1].result);
    assert_eq!((&second.error_code, &second.content), (&first.error_code, &first.content));
    let (_, failed) = ends(&world, &outcomes[0].run).await;
    assert_eq!((failed[1].skipped, failed[1].reused_from.as_ref()), (true, Some(&first.call_id)));
}

// Budget: every admitted call counts, also reused ones.
#[tokio::test]
async fn a_reused_call_takes_its_share_of_the_budget() {
    let mut world = world(BATCH);
    world.profile.budgets.calls = 2;
    let session = world.session().await;
    let outcomes = run(&world, &session, vec![look("a"), look("a"), look("a")]).await;
    let codes: Vec<_> =
        outcomes.iter().map(|one| one.result.error_code.as_ref().map(ToString::to_string)).collect();
    assert_eq!(codes, [None, None, Some("agent.tool_budget_exhausted".to_owned())]);
    assert_eq!(skipped(&outcomes), [false, true, false]);
}

#[tokio::test]
async fn a_redacted_result_is_given_to_nobody() {
    let world = world(HISTORY);
    let session = world.session().await;
    let first = run(&world, &session, vec![look("a")]).await;
    let id = session.id().clone();
    session.close().await.unwrap();
    let lease = world.store.lease(&id, "test", haft_core::Timestamp(1)).await.unwrap();
    let records = world.store.records(&first[0].run).await.unwrap();
    let end = records.iter().find(|record| record.kind == "tool_call_completed").unwrap().seq;
    world.store.redact(&lease, &first[0].run, end, "private", haft_core::Timestamp(2)).await.unwrap();
    world.store.release(&lease).await.unwrap();
    let session = world.reopen(SessionChoice::Last).await;
    assert_eq!(skipped(&run(&world, &session, vec![look("a")]).await), [false]);
}

// RES-13, CONFLICT-08: the whole is there behind a repeated preview as behind the first.
#[tokio::test]
async fn a_repeated_long_result_is_kept_whole_under_its_own_name() {
    let mut world = world(HISTORY);
    let session = world.session().await;
    let long = || vec![call("long", json!({"size": 60_000}))];
    let first = run(&world, &session, long()).await.remove(0).result;
    session.close().await.unwrap();
    let session = world.reopen(SessionChoice::Last).await;
    let second = run(&world, &session, long()).await.remove(0);
    assert!(second.result.skipped);
    let name = |result: &haft_core::ToolResult| result.metadata["persisted_artifact_id"].clone();
    assert_ne!(name(&first), name(&second.result));
    let whole = session.artifacts().into_iter().find(|one| name(&second.result) == one.id.as_str());
    assert_eq!(whole.unwrap().content.chars().count(), 60_000);
    // Under a profile that shows more, the whole is shown.
    world.profile.spill.threshold = 70_000;
    let third = run(&world, &session, long()).await.remove(0).result;
    assert_eq!((third.skipped, third.text().chars().count()), (true, 60_000));
}

// A run that reuses nothing is not watched; what it wrote counts all the same.
#[tokio::test]
async fn a_run_without_reuse_makes_results_stale_too() {
    let mut world = world(CACHE);
    let session = world.session().await;
    run(&world, &session, vec![look("a")]).await;
    world.profile.reuse = Reuse::default();
    run(&world, &session, vec![put("a", 5)]).await;
    for reuse in [CACHE, HISTORY] {
        world.profile.reuse = reuse;
        let outcomes = run(&world, &session, vec![look("a")]).await;
        assert_eq!(outcomes[0].result.text(), "5", "{reuse:?}");
    }
}

/// What happens between two batches.
#[derive(Debug, Clone)]
enum Between {
    Nothing,
    /// Longer than the cache keeps.
    TimePasses,
    Reopened,
    Breaks(&'static str),
    Mended(&'static str),
}

#[derive(Debug, Clone)]
enum Step {
    Look(&'static str),
    /// A call that asks; it is answered only in batches with a standing yes.
    LookAsks(&'static str),
    Put(&'static str, u64),
}

/// What the model remembers of a call that reached its tool.
struct Ran {
    name: &'static str,
    cell: &'static str,
    failed: bool,
    batch: usize,
    /// How often the clock had jumped.
    age: usize,
    /// How often the session had been opened.
    opening: usize,
}

/// The small model of reuse: it looks back through all that ran.
fn repeats(ran: &[Ran], name: &str, cell: &str, now: (usize, usize, usize), reuse: &Reuse) -> bool {
    let (batch, age, opening) = now;
    for one in ran.iter().rev() {
        let touches = one.cell == cell
            || one.cell.starts_with(&format!("{cell}/"))
            || cell.starts_with(&format!("{}/", one.cell));
        if one.name == "put" && touches {
            return false;
        }
        if (one.name, one.cell) == (name, cell) {
            let kept = reuse.history || one.opening == opening;
            let near = reuse.history
                || (reuse.batch && one.batch == batch)
                || (reuse.cache_ttl_s.is_some() && one.age == age);
            return kept && near && (reuse.failures || !one.failed);
        }
    }
    false
}

fn cell() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec!["a", "a/x", "a/y", "b"])
}

fn between() -> impl Strategy<Value = Between> {
    prop_oneof![
        4 => Just(Between::Nothing),
        1 => Just(Between::TimePasses),
        1 => Just(Between::Reopened),
        1 => cell().prop_map(Between::Breaks),
        1 => cell().prop_map(Between::Mended),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => cell().prop_map(Step::Look),
        2 => cell().prop_map(Step::LookAsks),
        1 => (cell(), 0u64..4).prop_map(|(cell, value)| Step::Put(cell, value)),
    ]
}

fn reuse() -> impl Strategy<Value = Reuse> {
    (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(batch, history, cache, failures)| Reuse {
            batch,
            history,
            cache_ttl_s: cache.then_some(300),
            include_side_effects: false,
            failures,
        },
    )
}

type Batches = Vec<(Between, bool, Vec<Step>)>;

async fn follow(reuse: Reuse, batches: Batches, mode: ExecutionMode) {
    let mut world = world(reuse);
    world.profile.execution = mode;
    let mut session = world.session().await;
    let mut ran: Vec<Ran> = Vec::new();
    let (mut age, mut opening) = (0, 0);
    for (batch, (between, yes, steps)) in batches.into_iter().enumerate() {
        match between {
            Between::Nothing => {}
            Between::TimePasses => {
                world.clock.pass(400);
                age += 1;
            }
            Between::Reopened => {
                session.close().await.unwrap();
                session = world.reopen(SessionChoice::Last).await;
                opening += 1;
            }
            Between::Breaks(cell) => drop(world.cells.broken.lock().unwrap().insert(cell.to_owned())),
            Between::Mended(cell) => drop(world.cells.broken.lock().unwrap().remove(cell)),
        }
        let calls = steps.iter().map(|step| match step {
            Step::Look(cell) => look(cell),
            Step::LookAsks(cell) => call("look_asks", json!({"text": cell})),
            Step::Put(cell, value) => put(cell, *value),
        });
        let mut options = world.options();
        options.yes = yes;
        let calls: Vec<_> = calls.collect();
        let mut values = world.cells.values.lock().unwrap().clone();
        let before = world.logged().len();
        let outcomes = session.calls(calls, options).wait().await.unwrap();
        assert_eq!(outcomes.len(), steps.len());
        let broken = world.cells.broken.lock().unwrap().clone();
        let mut reached = 0;
        for (step, outcome) in steps.iter().zip(&outcomes) {
            let result = &outcome.result;
            let (name, cell) = match step {
                Step::Look(cell) => ("look", *cell),
                Step::LookAsks(cell) => ("look_asks", *cell),
                Step::Put(cell, _) => ("put", *cell),
            };
            if name == "look_asks" && !yes {
                // What was granted before is no yes now, and no earlier result gets round it.
                assert_eq!(
                    result.error_code.as_ref().map(ToString::to_string).as_deref(),
                    Some("agent.tool_denied")
                );
                assert!(!result.skipped);
                continue;
            }
            let wanted = name != "put" && repeats(&ran, name, cell, (batch, age, opening), &reuse);
            assert_eq!(result.skipped, wanted, "{reuse:?} {step:?} in batch {batch}");
            if let Step::Put(_, value) = step {
                values.insert(cell.to_owned(), *value);
            }
            if !wanted {
                reached += 1;
                let failed = broken.contains(cell);
                assert_eq!(result.is_error, failed);
                ran.push(Ran { name, cell, failed, batch, age, opening });
            }
            // Whether it ran or not, a good answer is true.
            if !result.is_error {
                assert_eq!(result.text(), json!(values.get(cell)).to_string(), "{step:?} in batch {batch}");
            }
        }
        assert_eq!(
            world.logged().len() - before,
            reached,
            "tools are reached by calls that were not skipped alone"
        );
    }
    session.close().await.unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    // CCH-01, CCH-03, CCH-04, CONFLICT-16
    #[test]
    fn reuse_does_what_a_small_model_of_it_does(
        reuse in reuse(),
        batches in proptest::collection::vec(
            (between(), any::<bool>(), proptest::collection::vec(step(), 1..6)), 1..7,
        ),
        parallel in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let mode = if parallel { ExecutionMode::Parallel } else { ExecutionMode::Serial };
        runtime.block_on(follow(reuse, batches, mode));
    }
}
