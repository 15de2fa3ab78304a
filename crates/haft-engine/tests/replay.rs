//! Recorded runs, run again: what is the same, and the first difference where something is not.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

#[path = "support/crew.rs"]
mod crew;
mod support;
#[path = "support/writing.rs"]
mod writing;

use std::sync::Arc;

use haft_core::consent::ConsentEnvironment;
use haft_core::consent::{Answer, Closing, ConsentSurface, Question};
use haft_core::facts::Permission;
use haft_core::journal::RunStatus;
use haft_core::ports::Model;
use haft_core::profile::ExecutionMode;
use haft_core::{ConsentId, Profile, RunId, Scope, ToolId};
use haft_engine::{
    ConsentService, Difference, EngineParts, Recorded, ReplayError, Reply, SessionChoice, replay,
};
use haft_store::MemoryStore;
use serde_json::json;

use crew::{Crew, CrewModel, Say, Team, text};
use support::{FakeModel, TestClock, TestIds, World, call, says};
use writing::*;

async fn again(world: &World, run: &RunId, profile: &Profile) -> Result<Option<Difference>, ReplayError> {
    again_with(world, &Crew::default(), run, profile).await
}

async fn again_with(
    world: &World,
    crew: &Crew,
    run: &RunId,
    profile: &Profile,
) -> Result<Option<Difference>, ReplayError> {
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
    let agents = Arc::new(Crew(crew.0.clone()));
    replay(&recorded, Arc::new(profile.clone()), agents, parts, ConsentEnvironment::default()).await
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
    assert_eq!(again(&world, &outcome.run, &world.profile).await.unwrap(), None);
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

/// Answers each question with the next of these.
struct Answers(std::sync::Weak<ConsentService>, std::sync::Mutex<Vec<Answer>>);

impl ConsentSurface for Answers {
    fn name(&self) -> &str {
        "person"
    }

    fn show(&self, question: &Question) {
        let answer = self.1.lock().unwrap().remove(0);
        let (service, id) = (self.0.upgrade().unwrap(), question.id.clone());
        let reply = Reply::to(question, answer, "person");
        tokio::spawn(async move { service.answer(&id, reply) });
    }

    fn close(&self, _: &ConsentId, _: &Closing) {}
}

// A no with its reason, a yes to one call, and a yes that covers later calls.
#[tokio::test]
async fn people_answer_as_they_did() {
    let world = World::new();
    let answers = vec![
        Answer::Deny { reason: Some("Not on a Sunday.".into()) },
        Answer::Once,
        Answer::Run { scope: Scope::Tool },
    ];
    let service = world.engine.consent();
    service.attach(Arc::new(Answers(Arc::downgrade(service), std::sync::Mutex::new(answers))));
    let ask = |text: &str| says("", vec![call("asks", json!({"text": text}))]);
    let model = FakeModel::new(vec![ask("a"), ask("b"), ask("c"), ask("d"), says("Done.", vec![])]);
    let outcome = run(&world, &model).await;
    let payloads = world.payloads(&outcome.run).await;
    assert_eq!(payloads.iter().filter(|one| one.kind() == "consent_closed").count(), 3);
    assert_eq!(again(&world, &outcome.run, &world.profile).await.unwrap(), None);
}

fn team() -> Team {
    let mut team =
        Team::new(&["echo", "agent.call", "agent.multi", "agent.delegate", "agent.await", "agent.handoff"]);
    team.world.profile.delegation.can_handoff = true;
    team.agent("scout", &["echo"], |_| {});
    team.agent("critic", &["put", "asks"], |_| {});
    team.agent("closer", &["echo"], |_| {});
    team
}

fn thinking(agents: Vec<(&str, Vec<Say>)>) -> Arc<CrewModel> {
    CrewModel::thinking(agents.into_iter().map(|(name, turns)| (name.to_owned(), turns.into())).collect())
}

/// A call, tasks in the background whose results come at some time, children side by side, and a handover.
fn crowd(pace: [u32; 4]) -> Arc<CrewModel> {
    let say = |yields: u32, calls_of: Vec<(&str, serde_json::Value)>| Say(yields, calls(calls_of));
    let end = |yields: u32, words: &str| Say(yields, text(words));
    let delegate = |agent: &str| ("agent_delegate", json!({"agentId": agent, "task": "Judge."}));
    thinking(vec![
        (
            "root",
            vec![
                say(pace[0], vec![delegate("critic"), delegate("scout")]),
                say(
                    pace[1],
                    vec![("call_subagent", json!({"agent_name": "closer", "instruction": "Look."}))],
                ),
                say(pace[2], vec![("echo", json!({"text": "a"}))]),
                say(
                    pace[0],
                    vec![(
                        "multi_agent",
                        json!({"tasks": [{"name": "one", "instruction": "1"}, {"name": "two", "instruction": "2"}]}),
                    )],
                ),
                say(pace[3], vec![("agent_await", json!({"timeoutSeconds": 1}))]),
                say(pace[3], vec![("agent_handoff", json!({"agentId": "closer", "brief": "Finish."}))]),
            ],
        ),
        (
            "critic",
            vec![
                say(pace[2], vec![("put", json!({"text": "a", "size": 1})), ("asks", json!({}))]),
                say(pace[3], vec![("task_return", json!({"result": "Good."}))]),
            ],
        ),
        (
            "scout",
            vec![
                say(pace[1], vec![("echo", json!({"text": "s"}))]),
                say(pace[0], vec![("task_return", json!({"result": "Fog.", "status": "failed"}))]),
            ],
        ),
        ("one", vec![say(pace[3], vec![("echo", json!({"text": "1"}))]), end(pace[1], "One.")]),
        ("two", vec![end(pace[2], "Two.")]),
        (
            "closer",
            vec![end(pace[3], "Quiet."), say(pace[1], vec![("echo", json!({"text": "c"}))]), end(0, "Over.")],
        ),
    ])
}

// DEL-03, DEL-07, DEL-09, DEL-18: whoever was quicker, the replay goes the same way.
#[tokio::test]
async fn a_run_of_many_agents_is_the_same_again() {
    for pace in [[0, 0, 0, 0], [0, 9, 40, 3], [30, 0, 2, 25], [5, 60, 0, 0], [1, 2, 90, 70]] {
        for execution in [ExecutionMode::Serial, ExecutionMode::Parallel] {
            let mut team = team();
            team.world.profile.execution = execution;
            let outcome = team.run(&crowd(pace)).await;
            assert_eq!(
                (outcome.status, outcome.text.as_str()),
                (RunStatus::Completed, "Over."),
                "{outcome:?}"
            );
            let difference = again_with(&team.world, &team.crew, &outcome.run, &team.world.profile).await;
            assert_eq!(difference.unwrap(), None, "{pace:?} {execution:?}");
        }
    }
}

#[tokio::test]
async fn the_first_difference_names_the_agent() {
    let mut team = team();
    let outcome = team.run(&crowd([0, 3, 5, 1])).await;
    team.agent("scout", &[], |_| {});
    let difference =
        again_with(&team.world, &team.crew, &outcome.run, &team.world.profile).await.unwrap().unwrap();
    assert_eq!((difference.kind, difference.agent.as_str()), ("tools", "root/1_2.1"));
    team.crew.0.remove("scout");
    let difference =
        again_with(&team.world, &team.crew, &outcome.run, &team.world.profile).await.unwrap().unwrap();
    assert_eq!((difference.kind, difference.agent.as_str()), ("missing", "root/1_2.1"));
    assert_eq!(difference.recorded["agent"], json!("scout"));
}

// A run that was stopped with everybody in it.
#[tokio::test]
async fn a_run_that_was_stopped_is_the_same_again() {
    let mut team = Team::new(&["echo", "agent.delegate", "writes"]);
    team.agent("critic", &["writes"], |_| {});
    let model = thinking(vec![
        (
            "root",
            vec![
                Say(0, calls(vec![("agent_delegate", json!({"agentId": "critic", "task": "Judge."}))])),
                Say(5, calls(vec![("writes", json!({})), ("echo", json!({}))])),
            ],
        ),
        ("critic", vec![Say(0, calls(vec![("writes", json!({}))]))]),
    ]);
    let session = team.world.session().await;
    let handle = session.prompt("Do it".into(), model as Arc<dyn Model>, team.options());
    let run = handle.run().clone();
    loop {
        let started = team.world.kinds(&run).await.iter().filter(|kind| *kind == "tool_call_started").count();
        if started == 3 {
            break;
        }
        tokio::task::yield_now().await;
    }
    handle.stop();
    let outcome = handle.wait().await.unwrap();
    assert_eq!(outcome.status, RunStatus::Cancelled);
    session.close().await.unwrap();
    let difference = again_with(&team.world, &team.crew, &run, &team.world.profile).await;
    assert_eq!(difference.unwrap(), None);
}

#[tokio::test]
async fn a_run_that_was_cut_off_says_why_it_cannot_be_run_again() {
    let inner: Arc<dyn haft_core::ports::Store> = Arc::new(MemoryStore::new());
    let world = World::over(Arc::new(support::FailingStore::new(inner.clone(), 3)));
    let session = world.session().await;
    let model = FakeModel::new(vec![says("", vec![call("echo", json!({}))])]);
    let handle = session.prompt("Go".into(), model, world.options());
    let run = handle.run().clone();
    handle.wait().await.unwrap_err();
    session.close().await.unwrap();
    let survivor = World::over(inner);
    survivor.reopen(SessionChoice::Last).await.close().await.unwrap();
    let error = again(&survivor, &run, &survivor.profile).await.unwrap_err();
    assert_eq!(error, ReplayError::CutOff(run));
}
