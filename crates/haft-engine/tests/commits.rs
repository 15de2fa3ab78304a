//! Durable commits of a call (design, "Storage"): requested and started together, completed with what comes next.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod support;

use std::sync::Arc;

use haft_core::Timestamp;
use haft_store::SqliteStore;
use serde_json::json;
use support::{FakeModel, World, call, says};

fn world() -> (World, Arc<SqliteStore>, tempfile::TempDir) {
    let home = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open(home.path(), Timestamp(1_000)).unwrap());
    (World::over(store.clone()), store, home)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn each_call_costs_one_commit_before_it_runs_and_its_end_joins_the_next() {
    let (world, store, _home) = world();
    let session = world.session().await;
    for calls in 1..4u64 {
        let before = store.commits();
        let batch = (0..calls).map(|_| call("echo", json!({"text": "x"}))).collect();
        session.calls(batch, world.options()).wait().await.unwrap();
        assert_eq!(store.commits() - before, calls + 1, "{calls} calls: one start each, and the run's end");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_refused_call_costs_no_commit_of_its_own() {
    let (world, store, _home) = world();
    let session = world.session().await;
    let before = store.commits();
    session
        .calls(vec![call("nobody", json!({})), call("echo", json!({"size": "x"}))], world.options())
        .wait()
        .await
        .unwrap();
    assert_eq!(store.commits() - before, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn in_the_loop_a_turn_costs_its_request_and_its_calls() {
    let (world, store, _home) = world();
    let session = world.session().await;
    let model = FakeModel::new(vec![
        says("", vec![call("echo", json!({})), call("echo", json!({}))]),
        says("done", vec![]),
    ]);
    let before = store.commits();
    session.prompt("go".into(), model, world.options()).wait().await.unwrap();
    // Two requests, two starts, one end.
    assert_eq!(store.commits() - before, 5);
}

// CCH-03, CCH-04
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_call_that_an_earlier_result_stands_in_for_costs_no_commit_of_its_own() {
    let (mut world, store, _home) = world();
    world.profile.reuse.history = true;
    let session = world.session().await;
    session.calls(vec![call("look", json!({"text": "a"}))], world.options()).wait().await.unwrap();
    let before = store.commits();
    let batch = (0..5).map(|_| call("look", json!({"text": "a"}))).collect();
    let outcomes = session.calls(batch, world.options()).wait().await.unwrap();
    assert!(outcomes.iter().all(|outcome| outcome.result.skipped));
    assert_eq!(store.commits() - before, 1);
}

// CONFLICT-01
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn calls_that_start_side_by_side_share_a_commit() {
    let (mut world, store, _home) = world();
    world.profile.execution = haft_core::profile::ExecutionMode::Parallel;
    let session = world.session().await;
    let before = store.commits();
    let batch = ["a", "b", "c", "d"].map(|cell| call("look", json!({"text": cell}))).to_vec();
    session.calls(batch, world.options()).wait().await.unwrap();
    assert_eq!(store.commits() - before, 2, "the starts, and the ends with the run's end");
}
