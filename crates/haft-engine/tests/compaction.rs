//! Conversations that outgrow what their model takes: the model sums up the older part and reads the summary from then on; people,
//! the journal and every call keep their identity.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod support;

use std::sync::Arc;

use haft_core::consent::ConsentEnvironment;
use haft_core::journal::{ContextCompacted, RunStatus};
use haft_core::lorebook::{BookError, Lorebook, Lorebooks, read_lorebook};
use haft_core::message::Message;
use haft_core::ports::{ModelError, ModelTurn, Timestamp};
use haft_core::profile::Compaction;
use haft_core::{Payload, RequestedCall, RunId, ToolChoice, ToolId, ToolRegistry};
use haft_engine::{
    Engine, EngineParts, NoAgents, Recorded, RunOutcome, Session, SessionChoice, conversation, replay,
};
use haft_store::MemoryStore;
use serde_json::json;
use support::{FakeModel, TestClock, TestIds, World, call, says};

const SUMMARY: &str = "The person wants a look; it was long.";

fn world(at: u8) -> World {
    let mut world = World::new();
    world.profile.tools.allow = ["long", "fails"].map(ToolId::builtin).to_vec();
    world.profile.compact = Compaction { at };
    world
}

fn long() -> RequestedCall {
    call("long", json!({"size": 800}))
}

fn model(turns: Vec<Result<ModelTurn, ModelError>>) -> Arc<FakeModel> {
    let mut model = FakeModel::new(turns);
    Arc::get_mut(&mut model).unwrap().takes(4_000);
    model
}

fn two_long_turns() -> Vec<Result<ModelTurn, ModelError>> {
    vec![says("I look.", vec![long(), call("fails", json!({}))]), says("", vec![long()])]
}

async fn ask(world: &World, session: &Session, model: &Arc<FakeModel>) -> RunOutcome {
    session.prompt("Have a look".into(), model.clone(), world.options()).wait().await.unwrap()
}

async fn compacted(world: &World, run: &RunId) -> Vec<ContextCompacted> {
    let of = |payload| match payload {
        Payload::ContextCompacted(body) => Some(body),
        _ => None,
    };
    world.payloads(run).await.into_iter().filter_map(of).collect()
}

fn roles(messages: &[Message]) -> String {
    let of = |message: &Message| match message {
        Message::User(_) => 'u',
        Message::Assistant { .. } => 'a',
        Message::Results(_) => 'r',
    };
    messages.iter().map(of).collect()
}

// PRV-04: calls keep their ids and ends, people see all, and the next run goes on from the summary.
#[tokio::test]
async fn older_turns_are_summed_up_and_no_call_is_lost() {
    let world = world(50);
    let mut turns = two_long_turns();
    turns.extend([says(SUMMARY, vec![]), says("Seen.", vec![])]);
    let model = model(turns);
    let session = world.session().await;
    let outcome = ask(&world, &session, &model).await;
    assert_eq!((outcome.status, outcome.text.as_str()), (RunStatus::Completed, "Seen."), "{outcome:?}");
    let requests = model.requests.lock().unwrap().clone();
    let [_, _, asked, last] = requests.as_slice() else { panic!("{} requests", requests.len()) };
    assert_eq!((asked.agent.as_str(), &asked.choice, asked.tools.len()), ("summary", &ToolChoice::None, 0));
    let [Message::User(read)] = asked.messages.as_slice() else { panic!("{:?}", asked.messages) };
    assert!(read.contains("I look.") && read.contains("→ `long` {\"size\":800}"), "{read}");
    assert!(read.contains("← `fails` failed: "), "{read}");
    // The prompt and the newest turn stand as they were.
    assert_eq!(roles(&last.messages), "uuar");
    let Message::User(summary) = &last.messages[0] else { panic!("{:?}", last.messages[0]) };
    assert!(summary.contains(SUMMARY), "{summary}");
    assert_eq!(last.messages[1], Message::User("Have a look".into()));
    let told = compacted(&world, &outcome.run).await;
    let [told] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!((told.messages, told.turn, told.text.as_str()), (2, 3, SUMMARY));
    let calls: Vec<(&str, bool)> =
        told.calls.iter().map(|call| (call.alias.as_str(), call.is_error)).collect();
    assert_eq!(calls, [("long", false), ("fails", true)]);
    for call in &told.calls {
        assert!(summary.contains(call.call_id.as_str()), "{summary}");
    }
    // People see the conversation itself.
    let seen = conversation(world.store.as_ref(), session.id()).await.unwrap();
    assert_eq!(roles(&seen), "uarara");
    // The next run reads the summary, in this process and in another one.
    let next = FakeModel::new(vec![says("On.", vec![])]);
    ask(&world, &session, &next).await;
    session.close().await.unwrap();
    let session = world.reopen(SessionChoice::Last).await;
    let later = FakeModel::new(vec![says("On.", vec![])]);
    ask(&world, &session, &later).await;
    session.close().await.unwrap();
    let first = next.requests.lock().unwrap()[0].messages.clone();
    assert_eq!(first[0], last.messages[0]);
    let second = later.requests.lock().unwrap()[0].messages.clone();
    assert_eq!(second[..first.len()], first[..]);
    // It is replayed without summing up again.
    let recorded = Recorded::read(world.store.as_ref(), &outcome.run).await.unwrap();
    let mut registry = ToolRegistry::default();
    registry.register_all(world.engine.registry().iter().cloned()).unwrap();
    let parts = EngineParts {
        store: Arc::new(MemoryStore::new()),
        clock: Arc::new(TestClock::default()),
        ids: Arc::new(TestIds::default()),
        registry: Arc::new(registry),
        services: haft_core::Services::default(),
        owner: "replay".into(),
    };
    let profile = Arc::new(world.profile.clone());
    let difference =
        replay(&recorded, profile, Arc::new(NoAgents), parts, ConsentEnvironment::default()).await;
    assert_eq!(difference.unwrap(), None);
}

// What was summed up once is summed up again with what came since; its calls stay in the list.
#[tokio::test]
async fn summaries_are_summed_up_too() {
    let world = world(50);
    let mut turns = two_long_turns();
    turns.extend([
        says(SUMMARY, vec![]),
        says("", vec![long()]),
        says("More.", vec![]),
        says("Seen.", vec![]),
    ]);
    let model = model(turns);
    let session = world.session().await;
    let outcome = ask(&world, &session, &model).await;
    session.close().await.unwrap();
    assert_eq!(outcome.text, "Seen.");
    assert_eq!(compacted(&world, &outcome.run).await.len(), 2);
    let requests = model.requests.lock().unwrap().clone();
    let again = format!("{:?}", requests[4].messages);
    assert!(again.contains(SUMMARY), "{again}");
    let Message::User(summary) = &requests[5].messages[0] else { panic!("{:?}", requests[5].messages) };
    assert_eq!(summary.matches("\n- `").count(), 3, "{summary}");
}

#[tokio::test]
async fn a_profile_that_wants_none_shortens_results() {
    let world = world(0);
    let mut turns = two_long_turns();
    turns.extend([says("", vec![long()]), says("", vec![long()]), says("Seen.", vec![])]);
    let session = world.session().await;
    let outcome = ask(&world, &session, &model(turns)).await;
    session.close().await.unwrap();
    assert_eq!((outcome.text.as_str(), compacted(&world, &outcome.run).await), ("Seen.", vec![]));
}

// A summary that cannot be had costs nothing but itself.
#[tokio::test]
async fn a_summary_that_fails_leaves_the_run_as_it_was() {
    for failed in
        [Err(ModelError::Malformed { model: "fake".into(), reason: "no".into() }), says("  ", vec![])]
    {
        let world = world(50);
        let mut turns = two_long_turns();
        turns.extend([failed, says("Seen.", vec![])]);
        let session = world.session().await;
        let model = model(turns);
        let outcome = ask(&world, &session, &model).await;
        session.close().await.unwrap();
        assert_eq!((outcome.status, outcome.text.as_str()), (RunStatus::Completed, "Seen."));
        assert_eq!(compacted(&world, &outcome.run).await, []);
        assert_eq!(roles(&model.requests.lock().unwrap()[3].messages), "uarar");
    }
}

// A summary holds what others said, so that it can be taken away; then the next run reads the messages themselves.
#[tokio::test]
async fn a_summary_can_be_redacted() {
    let world = world(50);
    let mut turns = two_long_turns();
    turns.extend([says(SUMMARY, vec![]), says("Seen.", vec![])]);
    let session = world.session().await;
    let outcome = ask(&world, &session, &model(turns)).await;
    let id = session.id().clone();
    session.close().await.unwrap();
    let kinds = world.kinds(&outcome.run).await;
    let seq = kinds.iter().position(|kind| kind == "context_compacted").unwrap() as u64;
    let lease = world.store.lease(&id, "test", Timestamp(9_000)).await.unwrap();
    world.store.redact(&lease, &outcome.run, seq, "private", Timestamp(9_000)).await.unwrap();
    world.store.release(&lease).await.unwrap();
    let session = world.reopen(SessionChoice::Last).await;
    let next = FakeModel::new(vec![says("On.", vec![])]);
    ask(&world, &session, &next).await;
    session.close().await.unwrap();
    assert_eq!(roles(&next.requests.lock().unwrap()[0].messages), "uararau");
}

/// A book of one entry that is always active and stands behind the newest message.
struct LastWord;

impl Lorebooks for LastWord {
    fn book(&self, name: &str) -> Result<Lorebook, BookError> {
        let entry = r#"{"entries": {"0": {"uid": 0, "key": [], "constant": true, "position": 4, "depth": 0, "content": "Fog."}}}"#;
        Ok(read_lorebook(name, entry)?)
    }
}

// WLD-02: what the person asked stays as it stands, wherever world info stands.
#[tokio::test]
async fn world_info_behind_the_prompt_is_not_taken_for_it() {
    let mut world = world(50);
    let mut registry = ToolRegistry::default();
    registry.register_all(world.engine.registry().iter().cloned()).unwrap();
    let mut services = haft_core::Services::default();
    services.insert::<dyn Lorebooks>(Arc::new(LastWord));
    world.profile.world_info = vec!["fog".into()];
    world.engine = Engine::new(EngineParts {
        store: world.store.clone(),
        clock: world.clock.clone(),
        ids: Arc::new(TestIds::default()),
        registry: Arc::new(registry),
        services,
        owner: "test".into(),
    });
    let mut turns = two_long_turns();
    turns.extend([says(SUMMARY, vec![]), says("Seen.", vec![])]);
    let model = model(turns);
    let session = world.session().await;
    ask(&world, &session, &model).await;
    session.close().await.unwrap();
    let requests = model.requests.lock().unwrap().clone();
    assert_eq!(
        requests[0].messages,
        [Message::User("Have a look".into()), Message::User("[World info]\nFog.".into())]
    );
    assert_eq!(requests[3].messages[1], Message::User("Have a look".into()));
}
