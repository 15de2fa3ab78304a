//! Complaints about loops and unattended work from other harnesses, as tests: numbers are those of the collected complaints.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod support;

use std::fmt::Write;
use std::sync::Arc;

use haft_core::budget::{Money, Price};
use haft_core::capability::{Capabilities, Capability, CapabilityError};
use haft_core::consent::ConsentEnvironment;
use haft_core::event::RunEvent;
use haft_core::facts::Permission;
use haft_core::journal::RunStatus;
use haft_core::message::Message;
use haft_core::policy::{Place, Policy, Rule};
use haft_core::ports::{ModelTurn, Usage};
use haft_core::profile::{ExecutionMode, RunKind};
use haft_core::snapshot::compile;
use haft_core::{ErrorCode, InvocationId, Payload, Scope, ToolChoice, ToolId};
use haft_engine::{EventSink, RunOutcome};
use serde_json::json;
use support::{FakeModel, World, call, says};

async fn run(world: &World, model: &Arc<FakeModel>) -> RunOutcome {
    let session = world.session().await;
    let outcome = session.prompt("Do it".into(), model.clone(), world.options()).wait().await.unwrap();
    session.close().await.unwrap();
    outcome
}

/// A run as its journal tells it, line by line.
async fn told(world: &World, outcome: &RunOutcome) -> String {
    let mut text = String::new();
    for payload in world.payloads(&outcome.run).await {
        match payload {
            Payload::ModelRequestCreated(body) => {
                let note = body.note.map_or(String::new(), |note| format!(": {note}"));
                writeln!(text, "turn {} asked, {:?}{note}", body.turn, body.contract.choice).unwrap();
            }
            Payload::ModelRequestFailed(body) => {
                writeln!(text, "turn {} failed, {}: {}", body.turn, body.error_code, body.message).unwrap();
            }
            Payload::ModelTurnCompleted(body) => {
                writeln!(text, "turn {} says {:?}, {} calls", body.turn, body.text, body.calls.len())
                    .unwrap();
            }
            Payload::ToolCallCompleted(body) => writeln!(text, "  {} done", body.alias).unwrap(),
            Payload::ToolCallFailed(body) => writeln!(text, "  {} {}", body.alias, body.error_code).unwrap(),
            Payload::GrantGiven(body) => {
                writeln!(text, "grant of {} from {}", body.grant.tool, body.grant.granted_by).unwrap();
            }
            Payload::RunEnded(body) => {
                let code = body.error_code.unwrap_or_default();
                writeln!(text, "ended {:?} {code}: {}", body.status, body.message.unwrap_or_default())
                    .unwrap();
                writeln!(text, "text {:?}", body.text.unwrap_or_default()).unwrap();
            }
            _ => {}
        }
    }
    text
}

fn counted(mut turn: ModelTurn, input_tokens: u64, output_tokens: u64) -> ModelTurn {
    turn.usage = Some(Usage { input_tokens, output_tokens });
    turn
}

// GAT-06: rounds, then one turn to sum up.
#[tokio::test]
async fn after_the_last_round_the_model_sums_up_without_tools() {
    let mut world = World::new();
    world.profile.budgets.rounds = 2;
    let more = |text: &str| says("more", vec![call("echo", json!({"text": text}))]);
    let model = FakeModel::new(vec![more("1"), more("2"), says("Two of five are done.", vec![])]);
    let outcome = run(&world, &model).await;
    insta::assert_snapshot!(told(&world, &outcome).await, @r#"
    turn 1 asked, Auto
    turn 1 says "more", 1 calls
      echo done
    turn 2 asked, Auto
    turn 2 says "more", 1 calls
      echo done
    turn 3 asked, None: (Note from the host, not from the person: this is your last answer in this run, because all rounds of this run are used up. No tool can be called any more. Say in a few sentences what was done, what you found out, and what is left to do.)
    turn 3 says "Two of five are done.", 0 calls
    ended PartialSuccess agent.max_tool_rounds_exceeded: The model used all 2 rounds and still wants to call tools. Raise `budget.rounds` in the profile, or ask for less at once.
    text "Two of five are done."
    "#);
    let requests = model.requests.lock().unwrap().clone();
    assert!(requests[2].tools.is_empty() && requests[2].choice == ToolChoice::None);
    assert!(matches!(requests[2].messages.last(), Some(Message::User(note)) if note.contains("last answer")));
    // What came before is sent as it was, so that a cached prompt still serves.
    assert_eq!(requests[2].messages[..3], requests[1].messages[..3]);
}

// GAT-04: a model that goes on calling without a budget.
#[tokio::test]
async fn when_the_calls_are_used_up_and_more_are_wanted_the_run_ends_with_a_summary() {
    let mut world = World::new();
    world.profile.budgets.calls = 2;
    let echo = |text: &str| call("echo", json!({"text": text}));
    let model = FakeModel::new(vec![
        says("", vec![echo("1"), echo("2")]),
        says("", vec![echo("3")]),
        says("Done as far as it went.", vec![echo("4")]),
    ]);
    let outcome = run(&world, &model).await;
    insta::assert_snapshot!(told(&world, &outcome).await, @r#"
    turn 1 asked, Auto
    turn 1 says "", 2 calls
      echo done
      echo done
    turn 2 asked, Auto
    turn 2 says "", 1 calls
      echo agent.tool_budget_exhausted
    turn 3 asked, None: (Note from the host, not from the person: this is your last answer in this run, because the number of tool calls is used up. No tool can be called any more. Say in a few sentences what was done, what you found out, and what is left to do.)
    turn 3 says "Done as far as it went.", 1 calls
      echo agent.tool_denied
    ended PartialSuccess agent.tool_budget_exhausted: The run was ended because the number of tool calls is used up. Raise `budget.calls` in the profile, or ask for less at once.
    text "Done as far as it went."
    "#);
    assert_eq!(world.logged(), ["echo 1", "echo 2"]);
    // The exact number is no reason to end: the model may be done.
    let model = FakeModel::new(vec![says("", vec![echo("1"), echo("2")]), says("All done.", vec![])]);
    assert_eq!(run(&world, &model).await.status, RunStatus::Completed);
}

// Complaint 40: a blocked or failing call that loops for hundreds of dollars.
#[tokio::test]
async fn complaint_40_the_same_failure_three_times_ends_the_run() {
    let world = World::new();
    let again = || says("Again.", vec![call("fails", json!({"text": "x"})), call("echo", json!({}))]);
    let mut turns: Vec<_> = (0..3).map(|_| again()).collect();
    turns.push(says("The door does not open. The other one is left to try.", vec![]));
    let model = FakeModel::new(turns);
    let outcome = run(&world, &model).await;
    insta::assert_snapshot!(told(&world, &outcome).await, @r#"
    turn 1 asked, Auto
    turn 1 says "Again.", 2 calls
      fails test.failed
      echo done
    turn 2 asked, Auto
    turn 2 says "Again.", 2 calls
      fails test.failed
      echo done
    turn 3 asked, Auto
    turn 3 says "Again.", 2 calls
      fails test.failed
      echo done
    turn 4 asked, None: (Note from the host, not from the person: this is your last answer in this run, because `fails` failed 3 times with the same arguments, and nothing was changed in between. No tool can be called any more. Say in a few sentences what was done, what you found out, and what is left to do.)
    turn 4 says "The door does not open. The other one is left to try.", 0 calls
    ended PartialSuccess agent.no_progress: The run was ended because it made no progress: `fails` failed 3 times with the same arguments, and nothing was changed in between. What was done before stays. Say what should be done otherwise, or raise `loop.same_failures` in the profile.
    text "The door does not open. The other one is left to try."
    "#);
    assert_eq!(outcome.status, RunStatus::PartialSuccess);
}

// Complaint 40
#[tokio::test]
async fn complaint_40_other_arguments_or_work_in_between_are_no_circle() {
    let mut world = World::new();
    let fails = |text: &str| call("fails", json!({"text": text}));
    let put = |size: u64| call("put", json!({"text": "a", "size": size}));
    let turns = vec![
        says("", vec![fails("1")]),
        says("", vec![fails("2")]),
        says("", vec![fails("1")]),
        says("", vec![put(1), fails("1")]),
        says("", vec![fails("1")]),
        says("", vec![put(2), fails("1")]),
        says("Done.", vec![]),
    ];
    assert_eq!(run(&world, &FakeModel::new(turns)).await.status, RunStatus::Completed);
    // Switched off, nothing but the rounds ends it.
    world.profile.loops.same_failures = 0;
    world.profile.budgets.rounds = 5;
    let endless: Vec<_> = (0..5).map(|_| says("x", vec![fails("1")])).collect();
    let outcome = run(&world, &FakeModel::new(endless)).await;
    assert_eq!(outcome.error_code.as_deref(), Some("agent.max_tool_rounds_exceeded"));
}

// Complaint 40, complaint 32: what was refused three times is not tried a fourth time.
#[tokio::test]
async fn complaint_40_the_same_refusal_three_times_ends_the_run() {
    let world = World::new();
    let ask = |text: &str| says("", vec![call("asks", json!({"text": text}))]);
    let model = FakeModel::new(vec![ask("1"), ask("2"), ask("3"), says("I may not.", vec![])]);
    let outcome = run(&world, &model).await;
    assert_eq!(
        (outcome.status, outcome.error_code.as_deref(), outcome.text.as_str()),
        (RunStatus::PartialSuccess, Some("agent.no_progress"), "I may not.")
    );
    assert_eq!(
        outcome.message.as_deref(),
        Some(
            "The run was ended because it made no progress: `asks` was refused 3 times. What was done before stays. Say what should be done otherwise, or raise `loop.same_denials` in the profile."
        )
    );
}

// Complaint 40: nothing works, each time otherwise.
#[tokio::test]
async fn complaint_40_batches_in_which_nothing_works_end_the_run() {
    let mut world = World::new();
    world.profile.loops.failed_batches = 3;
    let odd = |text: &str| says("", vec![call("fails", json!({"text": text})), call(text, json!({}))]);
    let model = FakeModel::new(vec![odd("a"), odd("b"), odd("c")]);
    let outcome = run(&world, &model).await;
    // The model cannot even sum up: the reason is still the circle, and the run has failed.
    assert_eq!(
        (outcome.status, outcome.error_code.as_deref()),
        (RunStatus::Failed, Some("agent.no_progress"))
    );
    let message = outcome.message.unwrap();
    assert!(message.contains("3 times one after another, none of the calls worked"), "{message}");
    assert!(message.contains("could not sum up"), "{message}");
}

// GAT-06: an agent ends by its finishing tool, so rounds that are used up are its failure.
#[tokio::test]
async fn an_agent_that_used_its_rounds_has_failed() {
    let mut world = World::new();
    world.profile.run_kind = RunKind::Agent;
    world.profile.budgets.rounds = 1;
    let model = FakeModel::new(vec![says("x", vec![call("echo", json!({}))]), says("unasked", vec![])]);
    let outcome = run(&world, &model).await;
    assert_eq!(
        (outcome.status, outcome.error_code.as_deref()),
        (RunStatus::Failed, Some("agent.max_tool_rounds_exceeded"))
    );
    assert_eq!(model.requests.lock().unwrap().len(), 1);
}

// Budgets of tokens: the next turn is not begun if the last one could not be paid any more.
#[tokio::test]
async fn tokens_are_reserved_and_the_last_turn_is_kept() {
    let mut world = World::new();
    world.profile.budgets.model_tokens = Some(30_000);
    world.profile.max_tokens = Some(500);
    let turn =
        |n: u64| says("more", vec![call("echo", json!({"size": n}))]).map(|turn| counted(turn, 9_000, 100));
    let last = says("Summed up.", vec![]).map(|turn| counted(turn, 9_300, 50));
    let model = FakeModel::new(vec![turn(1), turn(2), last]);
    let outcome = run(&world, &model).await;
    insta::assert_snapshot!(told(&world, &outcome).await, @r#"
    turn 1 asked, Auto
    turn 1 says "more", 1 calls
      echo done
    turn 2 asked, Auto
    turn 2 says "more", 1 calls
      echo done
    turn 3 asked, None: (Note from the host, not from the person: this is your last answer in this run, because the number of model tokens is used up. No tool can be called any more. Say in a few sentences what was done, what you found out, and what is left to do.)
    turn 3 says "Summed up.", 0 calls
    ended PartialSuccess agent.run_budget_exhausted: The run was ended because the number of model tokens is nearly used up. Raise `budget.model_tokens` in the profile, or ask for less at once.
    text "Summed up."
    "#);
    let limits: Vec<_> = model.requests.lock().unwrap().iter().map(|request| request.max_tokens).collect();
    assert_eq!(limits, [Some(500), Some(500), Some(500)]);
}

// What cannot even be begun is refused before anything is sent.
#[tokio::test]
async fn a_prompt_that_is_too_dear_is_never_sent() {
    let mut world = World::new();
    world.profile.budgets.model_tokens = Some(50);
    let model = FakeModel::new(vec![says("never", vec![])]);
    let outcome = run(&world, &model).await;
    assert_eq!(
        (outcome.status, outcome.error_code.as_deref()),
        (RunStatus::Failed, Some("agent.run_budget_exhausted"))
    );
    assert!(model.requests.lock().unwrap().is_empty());
}

// Money, where prices are known.
#[tokio::test]
async fn money_is_counted_by_the_price_of_the_model() {
    let mut world = World::new();
    world.profile.budgets.money = Money::of_units(0.2);
    let session = world.session().await;
    let mut options = world.options();
    options.price = Some(Price { input: Money(3_000_000), output: Money(15_000_000) });
    let turn = |n: u64| {
        says("more", vec![call("echo", json!({"size": n}))]).map(|turn| counted(turn, 20_000, 1_000))
    };
    let last = says("Summed up.", vec![]).map(|turn| counted(turn, 20_000, 50));
    let model = FakeModel::new(vec![turn(1), last]);
    let outcome = session.prompt("Do it".into(), model, options).wait().await.unwrap();
    assert_eq!(
        (outcome.status, outcome.error_code.as_deref(), outcome.text.as_str()),
        (RunStatus::PartialSuccess, Some("agent.run_budget_exhausted"), "Summed up.")
    );
    assert!(outcome.message.unwrap().contains("`budget.money`"));
}

// Bytes of results: reserved before, cut to what there is, and the whole kept for audit.
#[tokio::test]
async fn results_are_cut_to_the_room_that_is_left() {
    for mode in [ExecutionMode::Serial, ExecutionMode::Parallel] {
        let mut world = World::new();
        world.profile.execution = mode;
        world.profile.budgets.output_bytes = Some(1_000);
        let long = || call("long", json!({"size": 400}));
        let session = world.session().await;
        let calls = vec![long(), long(), long()];
        let outcomes = session.calls(calls, world.options()).wait().await.unwrap();
        let shown: Vec<usize> = outcomes.iter().map(|outcome| outcome.result.text().len()).collect();
        assert_eq!(shown[0], 800, "{mode:?}");
        assert_eq!(shown[1], 200, "{mode:?}");
        assert!(outcomes[1].result.text().ends_with("is used up]"));
        assert_eq!(outcomes[2].result.error_code, Some(ErrorCode::BUDGET_EXHAUSTED));
        let stem = outcomes[1].result.call_id.file_stem();
        let file = format!("tool-results/{stem}.json");
        let whole = world.store.file(&outcomes[1].run, &file).await.unwrap().unwrap().bytes.unwrap();
        assert_eq!(String::from_utf8(whole).unwrap().matches('é').count(), 400);
    }
}

// Time: the run's end bounds each call, and keeps time for the last turn.
#[tokio::test(start_paused = true)]
async fn the_time_of_a_run_bounds_its_calls() {
    let mut world = World::new();
    world.profile.budgets.wall_s = Some(100);
    let model = FakeModel::new(vec![says("", vec![call("writes", json!({}))]), says("It hung.", vec![])]);
    let outcome = run(&world, &model).await;
    let failed = world.events_of("tool_call_failed").remove(0);
    assert_eq!(failed.payload["error_code"], "agent.call_timed_out");
    // The clock of the tests stands still while tokio's goes on, so the run itself has time left.
    assert_eq!((outcome.status, outcome.text.as_str()), (RunStatus::Completed, "It hung."));
    assert!(failed.payload["view"]["content"].as_str().unwrap().contains("the time of this run is used up"));
}

/// Lets time pass when a call has ended.
struct Slow(Arc<support::TestClock>);

impl EventSink for Slow {
    fn event(&self, event: &RunEvent) {
        if event.kind == "tool_call_completed" {
            self.0.pass(95);
        }
    }
}

// Time: no call and no turn with tools begins when it is over, but the last turn has what was kept for it.
#[tokio::test]
async fn when_the_time_is_used_up_the_model_sums_up() {
    let mut world = World::new();
    world.profile.budgets.wall_s = Some(100);
    let session = world.session().await;
    let mut options = world.options();
    options.events = Arc::new(Slow(world.clock.clone()));
    let echo = |text: &str| says("", vec![call("echo", json!({"text": text}))]);
    let model = FakeModel::new(vec![echo("1"), echo("2"), says("Half of it.", vec![])]);
    let outcome = session.prompt("go".into(), model, options).wait().await.unwrap();
    insta::assert_snapshot!(told(&world, &outcome).await, @r#"
    turn 1 asked, Auto
    turn 1 says "", 1 calls
      echo done
    turn 2 asked, Auto
    turn 2 says "", 1 calls
      echo agent.tool_budget_exhausted
    turn 3 asked, None: (Note from the host, not from the person: this is your last answer in this run, because the time of this run is used up. No tool can be called any more. Say in a few sentences what was done, what you found out, and what is left to do.)
    turn 3 says "Half of it.", 0 calls
    ended PartialSuccess agent.run_budget_exhausted: The run was ended because the time of this run is nearly used up. Raise `budget.wall_s` in the profile, or ask for less at once.
    text "Half of it."
    "#);
    assert_eq!(world.logged(), ["echo 1"]);
}

// Complaint 15: nobody is there, so the answer comes at once and says why.
#[tokio::test(start_paused = true)]
async fn complaint_15_a_question_that_nobody_can_see_is_answered_at_once() {
    let mut world = World::new();
    world.profile.consent.timeout_s = 0;
    world.profile.consent.grace_s = 0;
    let model = FakeModel::new(vec![says("", vec![call("asks", json!({}))]), says("Refused.", vec![])]);
    let before = tokio::time::Instant::now();
    let outcome = run(&world, &model).await;
    assert_eq!((outcome.status, outcome.text.as_str()), (RunStatus::Completed, "Refused."));
    assert_eq!(before.elapsed().as_secs(), 0);
    let requests = model.requests.lock().unwrap().clone();
    let Some(Message::Results(results)) = requests[1].messages.last() else { panic!() };
    assert!(results[0].content.contains("nobody is there to ask"), "{}", results[0].content);
}

fn yes_to(tool: &str, uses: Option<u32>) -> Capability {
    Capability { tool: ToolId::builtin(tool), scope: Scope::Tool, uses, until: None }
}

// Complaint 20, CONFLICT-28: work that nobody attends has what it was given beforehand, no more, and does not die of the rest.
#[tokio::test]
async fn complaint_20_unattended_work_uses_what_was_agreed_beforehand() {
    let mut world = World::new();
    world.profile.unattended = Capabilities(vec![yes_to("asks", Some(2)), yes_to("every_time", None)]);
    let ask = |tool: &str| call(tool, json!({}));
    let model = FakeModel::new(vec![
        says("", vec![ask("asks"), ask("asks"), ask("asks")]),
        says("", vec![ask("look_asks")]),
        says("Two done.", vec![]),
    ]);
    let outcome = run(&world, &model).await;
    insta::assert_snapshot!(told(&world, &outcome).await, @r#"
    grant of builtin:asks from unattended.allow
    grant of builtin:every_time from unattended.allow
    turn 1 asked, Auto
    turn 1 says "", 3 calls
      asks done
      asks done
      asks agent.tool_denied
    turn 2 asked, Auto
    turn 2 says "", 1 calls
      look_asks agent.tool_denied
    turn 3 asked, Auto
    turn 3 says "Two done.", 0 calls
    ended Completed : 
    text "Two done."
    "#);
    // The next run has its own uses; where somebody attends, there is a person to ask instead.
    let again = FakeModel::new(vec![says("", vec![ask("asks")]), says("Done.", vec![])]);
    let session = world.session().await;
    session.prompt("go".into(), again, world.options()).wait().await.unwrap();
    assert_eq!(world.logged().len(), 3);
    let attended = ConsentEnvironment { attended: true, ..ConsentEnvironment::default() };
    let session = world.engine.open(haft_engine::SessionChoice::New, "test", None, attended).await.unwrap();
    let outcomes = session.calls(vec![ask("asks")], world.options()).wait().await.unwrap();
    assert_eq!(outcomes[0].result.error_code, Some(ErrorCode::TOOL_DENIED));
}

// Complaint 20, CONFLICT-28: the list is checked when it is given.
#[test]
fn complaint_20_what_cannot_be_agreed_beforehand_is_refused_beforehand() {
    let mut world = World::new();
    let place = Place { file: "rules".into(), line: 1, column: 1 };
    world.profile.policy =
        Policy { user: vec![Rule::new("note", Permission::Deny, place)], ..Policy::default() };
    world.profile.tools.permission.insert(ToolId::builtin("put"), Permission::Deny);
    world.profile.tools.permission.insert(ToolId::builtin("every_time"), Permission::Ask);
    let tools = compile(InvocationId::new("i"), &world.profile, world.engine.registry()).unwrap();
    let file = Capability { scope: Scope::File("/a".into()), ..yes_to("asks", None) };
    let asked = Capabilities(vec![
        yes_to("asks", Some(1)),
        yes_to("nothing", None),
        yes_to("every_time", None),
        yes_to("note", None),
        yes_to("put", None),
        yes_to("look", Some(0)),
        file,
    ]);
    let problems: Vec<String> =
        asked.check(&tools, &ConsentEnvironment::default()).iter().map(CapabilityError::to_string).collect();
    assert_eq!(
        problems,
        [
            "`builtin:nothing` is not among the tools of the profile; add it to `tools.allow` first",
            "`builtin:every_time` must be asked every time, so nobody can say yes to it in advance; it stays refused where nobody is there",
            "`builtin:note` is denied (rules:1: deny `note`); no capability lifts a deny",
            "`builtin:put` is denied (permission of `put`: deny); no capability lifts a deny",
            "a capability for no calls of `builtin:look` gives nothing; leave it out",
            "`builtin:asks` has no part `file:/a`; it offers nothing but the whole tool",
        ]
    );
}

// Complaint 21: an unattended path without an approval manager. Here there is no such path: a session without any surface goes
// through the same gate, policy and consent. That none can be made without them is shown by the compile-fail tests of haft-core
// (`gate_skipped`, `consent_skipped`, `tool_reached`, `unattended_without_gate`).
#[tokio::test]
async fn complaint_21_rules_hold_where_nobody_is() {
    let mut world = World::new();
    let place = || Place { file: "rules".into(), line: 1, column: 1 };
    let unattended = Rule { attended: Some(false), ..Rule::new("echo", Permission::Deny, place()) };
    world.profile.policy = Policy { user: vec![unattended], ..Policy::default() };
    world.profile.unattended = Capabilities(vec![yes_to("echo", None)]);
    let session = world.session().await;
    let calls = vec![call("echo", json!({})), call("asks", json!({})), call("look", json!({}))];
    let outcomes = session.calls(calls, world.options()).wait().await.unwrap();
    let codes: Vec<_> = outcomes.iter().map(|outcome| outcome.result.error_code.clone()).collect();
    assert_eq!(codes, [Some(ErrorCode::TOOL_DENIED), Some(ErrorCode::TOOL_DENIED), None]);
    assert_eq!(world.logged(), ["look "]);
}
