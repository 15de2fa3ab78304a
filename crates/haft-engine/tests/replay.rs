//! Recorded runs, run again: what is the same, and the first difference where something is not.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod support;
#[path = "support/writing.rs"]
mod writing;

use std::sync::Arc;

use haft_core::consent::ConsentEnvironment;
use haft_core::facts::Permission;
use haft_core::{Profile, RunId, ToolId};
use haft_engine::{Difference, EngineParts, Recorded, ReplayError, replay};
use haft_store::MemoryStore;
use serde_json::json;
use support::{FakeModel, TestClock, TestIds, World, call, says};
use writing::*;

async fn again(world: &World, run: &RunId, profile: &Profile) -> Result<Option<Difference>, ReplayError> {
    let recorded = Recorded::read(world.store.as_ref(), run).await?;
    assert_eq!(recorded.run(), run);
    let mut registry = haft_core::ToolRegistry::default();
    registry.register_all(world.engine.registry().iter().cloned()).unwrap();
    let parts = EngineParts {
        store: Arc::new(MemoryStore::new()),
        clock: Arc::new(TestClock::default()),
        ids: Arc::new(TestIds::default()),
        registry: Arc::new(registry),
        services: haft_core::Services::default(),
        owner: "replay".into(),
    };
    replay(&recorded, Arc::new(profile.clone()), parts, ConsentEnvironment::default()).await
}

fn story() -> Arc<FakeModel> {
    FakeModel::new(vec![
        says("Let me begin.", vec![]),
        calls(vec![
            write("output/draft.md", "Once."),
            write("persist/notes.md", "Ada"),
            ("fails", json!({})),
        ]),
        calls(vec![
            (
                "workspace_apply_patch",
                json!({"path": "output/draft.md", "old_string": "Once", "new_string": "Twice"}),
            ),
            finish(),
        ]),
        calls(vec![("workspace_commit", json!({"path": "output/draft.md"})), finish()]),
    ])
}

#[tokio::test]
async fn a_run_of_an_agent_is_the_same_again() {
    let world = writing();
    let outcome = run(&world, &story()).await;
    assert_eq!(outcome.text, "Twice.");
    assert_eq!(again(&world, &outcome.run, &world.profile).await.unwrap(), None);
}

// Nothing is done a second time: the tools that were called are not run.
#[tokio::test]
async fn a_run_of_a_chat_is_the_same_again_and_no_tool_runs() {
    let mut world = World::new();
    world.profile.execution = haft_core::profile::ExecutionMode::Parallel;
    let model = FakeModel::new(vec![
        says(
            "",
            vec![
                call("echo", json!({"text": "a"})),
                call("long", json!({"size": 60_000})),
                call("fails", json!({})),
            ],
        ),
        says("", vec![call("nothing", json!({})), call("echo", json!({"text": 3}))]),
        says("Done.", vec![]),
    ]);
    let outcome = run(&world, &model).await;
    let before = world.logged();
    assert_eq!(again(&world, &outcome.run, &world.profile).await.unwrap(), None);
    assert_eq!(world.logged(), before);
}

#[tokio::test]
async fn the_first_difference_is_told() {
    let world = writing();
    let outcome = run(&world, &story()).await;
    // Other tools.
    let mut fewer = world.profile.clone();
    fewer.tools.deny.push(ToolId::builtin("fails"));
    let difference = again(&world, &outcome.run, &fewer).await.unwrap().unwrap();
    assert_eq!(
        (difference.kind, difference.seq, difference.field.as_deref()),
        ("tools", Some(1), Some("tools"))
    );
    // Other decisions.
    let mut careful = world.profile.clone();
    careful.tools.permission.insert(ToolId::builtin("workspace.write_file"), Permission::Ask);
    let difference = again(&world, &outcome.run, &careful).await.unwrap().unwrap();
    assert_eq!((difference.kind, difference.field.as_deref()), ("call", Some("decision")));
    assert_eq!((difference.recorded, difference.replayed), (json!("allow"), json!("ask")));
    // Other budgets: the run ends before.
    let mut hasty = world.profile.clone();
    hasty.budgets.rounds = 2;
    let difference = again(&world, &outcome.run, &hasty).await.unwrap().unwrap();
    assert_eq!((difference.kind, &difference.recorded["step"]), ("order", &json!("request")));
    assert_eq!(difference.replayed["step"], json!("end"));
}

#[tokio::test]
async fn questions_are_answered_as_they_were() {
    let mut world = World::new();
    world.profile.run_kind = haft_core::profile::RunKind::Chat;
    let model = FakeModel::new(vec![says("", vec![call("asks", json!({}))]), says("No, then.", vec![])]);
    // Nobody is there, so it is refused.
    let outcome = run(&world, &model).await;
    let difference = again(&world, &outcome.run, &world.profile).await.unwrap();
    // The words of a refusal tell who refused; that it was refused is the same.
    assert_eq!(difference.map(|one| (one.kind, one.field)), Some(("result", Some("content".into()))));
    // A yes is a yes, whoever gave it.
    let session = world.session().await;
    let mut options = world.options();
    options.yes = true;
    let model = FakeModel::new(vec![says("", vec![call("asks", json!({}))]), says("Yes.", vec![])]);
    let outcome = session.prompt("Go".into(), model, options).wait().await.unwrap();
    assert_eq!(again(&world, &outcome.run, &world.profile).await.unwrap(), None);
    session.close().await.unwrap();
}

#[tokio::test]
async fn what_cannot_be_run_again_says_why() {
    let world = World::new();
    let session = world.session().await;
    let handle = session.calls(vec![call("echo", json!({}))], world.options());
    let single = handle.run().clone();
    handle.wait().await.unwrap();
    let error = again(&world, &single, &world.profile).await.unwrap_err();
    assert_eq!(error, ReplayError::NoTurns(single));
    let none = RunId::new("r_none");
    let error = again(&world, &none, &world.profile).await.unwrap_err();
    assert_eq!(error, ReplayError::NotEnded(none));
    session.close().await.unwrap();
}
