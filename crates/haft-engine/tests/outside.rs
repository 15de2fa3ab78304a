//! Content from outside marks a conversation: from then on what can carry data to a place that the model chose is asked again.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod support;

use haft_core::policy::Outcome;
use haft_core::profile::ExecutionMode;
use haft_core::{ErrorCode, Grant, GrantId, Lifetime, Payload, RequestedCall, Scope, Timestamp, ToolId};
use haft_engine::{CallOutcome, Session, SessionChoice};
use serde_json::json;
use support::{FakeModel, World, call, says};

const PAGE: &str = "https://example.org/page";

fn fetch() -> RequestedCall {
    call("fetch", json!({"text": "x", "url": PAGE}))
}

fn one(tool: &str) -> RequestedCall {
    call(tool, json!({"text": "hello"}))
}

fn grant(tool: &str) -> Grant {
    let lifetime = Lifetime::Until(Timestamp(u64::MAX));
    Grant::new(GrantId::new("g_0"), ToolId::builtin(tool), Scope::Tool, lifetime, "--allow", Timestamp(0))
}

async fn run(world: &World, session: &Session, calls: Vec<RequestedCall>) -> Vec<CallOutcome> {
    session.calls(calls, world.options()).wait().await.unwrap()
}

fn refused(outcome: &CallOutcome) -> bool {
    outcome.result.error_code == Some(ErrorCode::TOOL_DENIED)
}

const RULE: &str = "content from outside has entered this run: builtin:fetch of https://example.org/page";

#[tokio::test]
async fn in_one_batch_what_comes_in_counts_for_what_goes_out() {
    let world = World::new();
    let session = world.session().await;
    session.grant(grant("send_asks"));
    let before = run(&world, &session, vec![one("send"), one("send_asks")]).await;
    assert!(before.iter().all(|outcome| !outcome.result.is_error));
    let calls = vec![fetch(), one("send"), one("send_asks"), one("search"), one("echo"), fetch()];
    let outcomes = run(&world, &session, calls).await;
    // Nobody is there to be asked: the grant and the allow of policy count no more.
    assert_eq!(outcomes.iter().map(refused).collect::<Vec<_>>(), [false, true, true, false, false, true]);
    assert_eq!(outcomes[1].decision, Some((Outcome::Ask, RULE.to_owned())));
    let mut questions = Vec::new();
    for payload in world.payloads(&outcomes[0].run).await {
        match payload {
            Payload::ConsentOpened(question) => questions.push(question),
            Payload::ToolCallCompleted(body) if body.alias == "fetch" => {
                assert_eq!(body.outside.as_deref(), Some("builtin:fetch of https://example.org/page"));
            }
            Payload::ToolCallCompleted(body) => {
                assert_eq!(body.outside.is_some(), body.alias == "search", "{}", body.alias);
            }
            _ => {}
        }
    }
    assert_eq!(
        questions[0].text,
        format!(
            "Run send? Content from outside has entered this run (builtin:fetch of {PAGE}), and this call can carry data to a place \
         that the model chose."
        )
    );
    assert_eq!((questions[0].rule.as_str(), questions[0].every_time), (RULE, true));
    assert!(questions[1].scopes.is_empty());
}

#[tokio::test]
async fn yes_to_all_answers_it_and_a_deny_stays_a_deny() {
    let mut world = World::new();
    world.profile.tools.permission.insert(ToolId::builtin("send_asks"), haft_core::facts::Permission::Deny);
    let session = world.session().await;
    let mut options = world.options();
    options.yes = true;
    let calls = vec![fetch(), one("send"), one("send_asks")];
    let outcomes = session.calls(calls, options).wait().await.unwrap();
    assert_eq!(outcomes.iter().map(refused).collect::<Vec<_>>(), [false, false, true]);
    assert_eq!(outcomes[1].granted_by.as_deref(), Some("--yes"));
    assert_eq!(outcomes[2].decision.as_ref().map(|decision| decision.0), Some(Outcome::Deny));
}

#[tokio::test]
async fn the_mark_lasts_as_long_as_the_conversation() {
    let world = World::new();
    let session = world.session().await;
    let session = {
        assert!(!refused(&run(&world, &session, vec![one("send")]).await[0]));
        run(&world, &session, vec![fetch()]).await;
        session.close().await.unwrap();
        world.reopen(SessionChoice::Last).await
    };
    let outcome = run(&world, &session, vec![one("send")]).await.remove(0);
    assert!(refused(&outcome));
    assert_eq!(outcome.decision, Some((Outcome::Ask, RULE.to_owned())));
    // Another conversation knows nothing of it.
    let other = world.session().await;
    assert!(!refused(&run(&world, &other, vec![one("send")]).await[0]));
}

#[tokio::test]
async fn a_record_that_was_taken_away_may_have_told_of_it() {
    let world = World::new();
    let session = world.session().await;
    let outcomes = run(&world, &session, vec![fetch()]).await;
    let (id, run_id) = (session.id().clone(), outcomes[0].run.clone());
    session.close().await.unwrap();
    let seq = world.kinds(&run_id).await.iter().position(|kind| kind == "tool_call_completed").unwrap();
    let lease = world.store.lease(&id, "test", Timestamp(1)).await.unwrap();
    world.store.redact(&lease, &run_id, seq as u64, "test", Timestamp(2)).await.unwrap();
    world.store.release(&lease).await.unwrap();
    let session = world.reopen(SessionChoice::Id(id)).await;
    let outcome = run(&world, &session, vec![one("send")]).await.remove(0);
    let rule = "content from outside has entered this run: a call whose record was taken away";
    assert_eq!(outcome.decision, Some((Outcome::Ask, rule.to_owned())));
}

#[tokio::test]
async fn failures_and_tools_that_say_so_bring_content_too() {
    for (tool, marks) in
        [("fetch_fails", true), ("mail", true), ("send", false), ("echo", false), ("search", true)]
    {
        let world = World::new();
        let session = world.session().await;
        let outcomes = run(&world, &session, vec![one(tool), one("send")]).await;
        assert_eq!(refused(&outcomes[1]), marks, "{tool}");
        // A call that never ran brings nothing.
        let session = world.session().await;
        let outcomes = run(&world, &session, vec![call(tool, json!({"size": "many"})), one("send")]).await;
        assert!(!refused(&outcomes[1]), "{tool}");
    }
}

#[tokio::test]
async fn a_profile_may_say_otherwise() {
    let mut world = World::new();
    world.profile.taint.ask = false;
    let session = world.session().await;
    assert!(!refused(&run(&world, &session, vec![fetch(), one("send")]).await[1]));
    // The mark is there all the same, for a profile that heeds it.
    world.profile.taint.ask = true;
    assert!(refused(&run(&world, &session, vec![one("send")]).await[0]));
}

// EXE-08: what was written before anybody read the page is decided with it; what is decided later is not
#[tokio::test]
async fn side_by_side_the_mark_counts_from_its_arrival() {
    let mut world = World::new();
    world.profile.execution = ExecutionMode::Parallel;
    let session = world.session().await;
    // The question holds the calls after it back until it is answered, which is after the page came.
    let calls = vec![fetch(), one("asks"), one("send")];
    let outcomes = run(&world, &session, calls).await;
    assert_eq!(outcomes.iter().map(refused).collect::<Vec<_>>()[1..], [true, true]);
    assert_eq!(outcomes[2].decision, Some((Outcome::Ask, RULE.to_owned())));
}

#[tokio::test]
async fn in_a_conversation_a_later_turn_is_asked() {
    let world = World::new();
    let session = world.session().await;
    session.grant(grant("send"));
    let model = FakeModel::new(vec![
        says("", vec![fetch()]),
        says("", vec![call("send", json!({"text": "what the page said"}))]),
        says("done", vec![]),
    ]);
    session.prompt("read it".into(), model, world.options()).wait().await.unwrap();
    assert_eq!(world.logged(), ["fetch x"]);
    let opened = world.events_of("consent_opened");
    assert_eq!(opened.len(), 1);
    assert_eq!(opened[0].payload["rule"], RULE);
}
