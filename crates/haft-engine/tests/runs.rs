//! Whole runs over a memory store.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod support;

use std::sync::Arc;

use haft_core::consent::{Answer, Closing, ConsentEnvironment, ConsentSurface, Question};
use haft_core::journal::{ArtifactRef, RunStatus};
use haft_core::message::Message;
use haft_core::ports::ModelError;
use haft_core::profile::BreachPolicy;
use haft_core::{ConsentId, Digest, ErrorCode, Payload, ProjectId, RequestedCall, Scope, ToolId};
use haft_engine::{ConsentService, EngineError, Reply, SessionChoice};
use serde_json::json;
use support::{FakeModel, World, call, says};

async fn batch(world: &World, calls: Vec<RequestedCall>) -> Vec<haft_engine::CallOutcome> {
    let session = world.session().await;
    let outcomes = session.calls(calls, world.options()).wait().await.unwrap();
    session.close().await.unwrap();
    outcomes
}

// EXE-11, JRN-01, TRN-04 (the contract's records), DIA-02
#[tokio::test]
async fn a_run_is_written_in_the_order_of_its_life() {
    let world = World::new();
    let session = world.session().await;
    let model = FakeModel::new(vec![
        says("Looking.", vec![call("echo", json!({"text": "a"})), call("fails", json!({}))]),
        says("Done.", vec![]),
    ]);
    let outcome = session.prompt("Do it".into(), model.clone(), world.options()).wait().await.unwrap();
    assert_eq!((outcome.status, outcome.text.as_str()), (RunStatus::Completed, "Done."));
    assert_eq!(
        world.kinds(&outcome.run).await,
        [
            "run_started",
            "context_assembled",
            "model_request_created",
            "model_turn_completed",
            "tool_call_requested",
            "tool_call_started",
            "tool_call_completed",
            "tool_call_requested",
            "tool_call_started",
            "tool_call_failed",
            "model_request_created",
            "model_turn_completed",
            "run_ended",
        ]
    );
    let requests = model.requests.lock().unwrap().clone();
    assert_eq!(requests[0].messages, [Message::User("Do it".into())]);
    let Message::Results(results) = &requests[1].messages[2] else { panic!() };
    // RES-08: the default renderer heads an error.
    assert_eq!(results[0].body, "{\"text\":\"a\"}");
    assert_eq!(results[1].body, "## Tool error\n\nIt did not work. Try the other door.");
    // Every event is a record, but for the stream.
    let numbers: Vec<_> = world.events.0.lock().unwrap().iter().filter_map(|event| event.seq).collect();
    assert_eq!(numbers, (0..13).collect::<Vec<u64>>());
    assert_eq!(world.events_of("text_delta").len(), 2);
}

// EXE-01, EXE-02
#[tokio::test]
async fn calls_run_one_after_another_and_deferred_ones_last_while_results_keep_call_order() {
    let world = World::new();
    let calls = vec![
        call("deferred", json!({"text": "1"})),
        call("echo", json!({"text": "2"})),
        call("echo", json!({"text": "3"})),
    ];
    let outcomes = batch(&world, calls).await;
    assert_eq!(world.logged(), ["echo 2", "echo 3", "deferred 1"]);
    let aliases: Vec<_> = outcomes.iter().map(|outcome| outcome.result.alias.as_str()).collect();
    assert_eq!(aliases, ["deferred", "echo", "echo"]);
}

// EXE-07, EXE-09, ERR-01, ERR-03, EXE-06
#[tokio::test]
async fn failures_panics_and_unknown_names_are_results_and_nothing_runs_twice() {
    let world = World::new();
    let malformed = RequestedCall::Malformed {
        name: None,
        reason: "Close the tag.".into(),
        raw: "<x".into(),
        wire_id: None,
    };
    let calls = vec![
        call("fails", json!({})),
        call("panics", json!({})),
        call("nobody", json!({})),
        malformed,
        call("echo", json!({"text": 5, "size": "x"})),
        call("echo", json!({"text": "ok"})),
    ];
    let outcomes = batch(&world, calls).await;
    let codes: Vec<_> =
        outcomes.iter().map(|outcome| outcome.result.error_code.as_ref().map(ToString::to_string)).collect();
    let wanted = [
        "test.failed",
        "agent.tool_failed",
        "agent.unknown_tool",
        "agent.malformed_call",
        "agent.invalid_arguments",
    ];
    assert_eq!(codes[..5], wanted.map(|code| Some(code.to_owned())));
    assert_eq!(codes[5], None);
    assert_eq!(world.logged(), ["fails ", "panics ", "echo ok"]);
    assert_eq!(outcomes[1].result.text(), "`panics` crashed. The fault is in the tool, not in the call.");
    assert_eq!(outcomes[3].result.text(), "Close the tag.");
}

// RES-06, RES-10, JRN-02, RES-11
#[tokio::test]
async fn results_stand_whole_in_their_files_and_never_in_the_journal() {
    let world = World::new();
    let outcomes = batch(&world, vec![call("echo", json!({"text": "needle-in-the-hay"}))]).await;
    let run = &outcomes[0].run;
    for record in world.store.records(run).await.unwrap() {
        assert!(!String::from_utf8(record.payload.unwrap()).unwrap().contains("needle-in-the-hay"));
    }
    let stem = outcomes[0].result.call_id.file_stem();
    let file = world.store.file(run, &format!("tool-results/{stem}.json")).await.unwrap().unwrap();
    let stored: haft_core::ToolResult = serde_json::from_slice(&file.bytes.unwrap()).unwrap();
    assert_eq!(stored, outcomes[0].result);
    let arguments = world.store.file(run, &format!("tool-args/{stem}.json")).await.unwrap().unwrap();
    assert_eq!(arguments.bytes.unwrap(), br#"{"text":"needle-in-the-hay"}"#);
}

// RES-13, RES-14, RES-15, RES-16, CFG-02, CONFLICT-07
#[tokio::test]
async fn a_long_success_becomes_an_artifact_and_a_preview() {
    let world = World::new();
    let session = world.session().await;
    let calls = vec![call("long", json!({"size": 50_000})), call("long", json!({"size": 50_001}))];
    let outcomes = session.calls(calls, world.options()).wait().await.unwrap();
    assert_eq!(outcomes[0].result.text().chars().count(), 50_000);
    let result = &outcomes[1].result;
    let id = result.metadata["persisted_artifact_id"].as_str().unwrap();
    assert!(id.starts_with("tool_long_") && id.len() == "tool_long_".len() + 12, "{id}");
    assert_eq!(result.metadata["original_size_chars"], 50_001);
    assert!(result.text().starts_with(&format!("<artifact_slice id=\"{id}\" version=\"1\"")));
    assert_eq!(result.text().matches('é').count(), 1_000);
    let artifact = &session.artifacts()[0];
    assert_eq!(
        (artifact.id.as_str(), artifact.source.as_str(), artifact.content_type.as_str()),
        (id, "tool", "text/plain")
    );
    assert_eq!(artifact.content.chars().count(), 50_001);
    // The audit file holds the whole (CONFLICT-08), and the store the artifact.
    let stem = result.call_id.file_stem();
    let file =
        world.store.file(&outcomes[1].run, &format!("tool-results/{stem}.json")).await.unwrap().unwrap();
    assert!(String::from_utf8(file.bytes.unwrap()).unwrap().matches('é').count() == 50_001);
    session.close().await.unwrap();
    let again = world.reopen(SessionChoice::Last).await;
    assert_eq!(again.artifacts()[0].content.chars().count(), 50_001);
}

// ART-01, JRN-01: what the chain must cover of a call and of the run before.
#[tokio::test]
async fn records_name_whole_artifacts_images_and_the_run_before() {
    let world = World::new();
    world.store.put_blob(b"image").await.unwrap();
    let session = world.session().await;
    let one = session.calls(vec![call("image", json!({}))], world.options()).wait().await.unwrap().remove(0);
    let two = session.calls(vec![call("echo", json!({}))], world.options()).wait().await.unwrap().remove(0);
    let completed = world.payloads(&one.run).await.into_iter().find_map(|payload| match payload {
        Payload::ToolCallCompleted(body) => Some(body),
        _ => None,
    });
    let completed = completed.unwrap();
    assert_eq!(completed.blobs, [Digest::of(b"image")]);
    assert_eq!(completed.artifacts, [ArtifactRef::of(&session.artifacts()[0]).unwrap()]);
    let heads = world.store.runs(None).await.unwrap();
    let mut links = Vec::new();
    for run in [&one.run, &two.run] {
        let Payload::ContextAssembled(body) = world.payloads(run).await.remove(1) else {
            panic!("no context")
        };
        assert_eq!(body.session, *session.id());
        links.push(body.previous_run);
    }
    assert_eq!(links, [None, Some((one.run, heads[0].head.hash))]);
}

// RES-17
#[tokio::test]
async fn a_tool_without_a_cap_is_never_spilled() {
    let world = World::new();
    let outcomes = batch(&world, vec![call("whole", json!({"size": 60_000}))]).await;
    assert_eq!(outcomes[0].result.text().chars().count(), 60_000);
}

// RES-18, CONFLICT-08
#[tokio::test]
async fn a_spill_that_fails_falls_back_to_the_whole_result() {
    // Its own artifact, that no record tells of, is what an audit would find.
    let world = World::over(Arc::new(haft_store::MemoryStore::new()));
    let session = world.session().await;
    let first = session.calls(vec![call("echo", json!({}))], world.options()).wait().await.unwrap();
    // The id of the spill is taken, so it cannot be staged.
    let next_call = haft_core::CallId::new(first[0].result.call_id.as_str().replace("0002", "0004"));
    let taken = haft_core::spill::spill_artifact_id("long", &next_call);
    let mut batch = haft_core::Batch::new(first[0].run.clone());
    batch.artifact(haft_core::ArtifactVersion {
        id: taken.clone(),
        version: 1,
        content_type: "text/plain".into(),
        title: String::new(),
        source: "model".into(),
        content: "mine".into(),
    });
    let id = session.id().clone();
    session.close().await.unwrap();
    let lease = world.store.lease(&id, "test", haft_core::Timestamp(9_000)).await.unwrap();
    world.store.append(&lease, batch).await.unwrap();
    world.store.release(&lease).await.unwrap();
    let session = world.reopen(SessionChoice::Last).await;
    let outcomes =
        session.calls(vec![call("long", json!({"size": 50_001}))], world.options()).wait().await.unwrap();
    assert_eq!(
        haft_core::spill::spill_artifact_id("long", &outcomes[0].result.call_id),
        taken,
        "the test names the right call"
    );
    assert_eq!(outcomes[0].result.text().chars().count(), 50_001);
    assert!(!outcomes[0].result.metadata.contains_key("persisted_artifact_id"));
}

// ART-01, RES-21, EVT-02, RES-19
#[tokio::test]
async fn an_artifact_is_stored_with_its_record_and_a_failed_call_leaves_none() {
    let world = World::new();
    let session = world.session().await;
    let calls = vec![call("stages", json!({})), call("note", json!({"text": "kept"}))];
    let outcomes = session.calls(calls, world.options()).wait().await.unwrap();
    assert!(outcomes[0].result.is_error && !outcomes[1].result.is_error);
    let completed = world.events_of("tool_call_completed").remove(0);
    let seen = completed.artifactflow_view().unwrap();
    assert_eq!(seen["type"], "TOOL_COMPLETE");
    assert_eq!(seen["metadata"]["artifact_snapshot"]["content"], "kept");
    assert_eq!(seen["params"]["text"], "kept");
    session.close().await.unwrap();
    let contents: Vec<_> =
        world.reopen(SessionChoice::Last).await.artifacts().into_iter().map(|one| one.content).collect();
    assert_eq!(contents, ["kept"]);
}

// EVT-01, CONFLICT-23
#[tokio::test]
async fn as_events_and_haft_events_come_from_the_same_records() {
    let world = World::new();
    batch(&world, vec![call("echo", json!({"text": "x"})), call("fails", json!({}))]).await;
    let views: Vec<_> = world
        .events
        .0
        .lock()
        .unwrap()
        .iter()
        .filter_map(haft_core::event::RunEvent::artifactflow_view)
        .collect();
    let types: Vec<_> = views
        .iter()
        .map(|view| (view["type"].as_str().unwrap().to_owned(), view["success"].clone()))
        .collect();
    assert_eq!(
        types,
        [
            ("TOOL_START".to_owned(), json!(null)),
            ("TOOL_COMPLETE".to_owned(), json!(true)),
            ("TOOL_START".to_owned(), json!(null)),
            ("TOOL_COMPLETE".to_owned(), json!(false)),
        ]
    );
    assert!(views[1]["duration_ms"].is_u64());
    assert_eq!(views[0]["params"]["text"], "x");
}

// ERR-01
#[tokio::test]
async fn a_broken_host_fails_the_run_and_says_so() {
    let world = World::new();
    let session = world.session().await;
    let handle = session.calls(vec![call("system", json!({})), call("echo", json!({}))], world.options());
    let run = handle.run().clone();
    let error = handle.wait().await.unwrap_err();
    assert_eq!(
        error,
        EngineError::System { code: "test.broken".into(), message: "The disk is gone.".into() }
    );
    let Some(Payload::RunEnded(ended)) = world.payloads(&run).await.pop() else { panic!() };
    assert_eq!((ended.status, ended.error_code.as_deref()), (RunStatus::Failed, Some("test.broken")));
    assert!(world.logged() == ["system "]);
}

// GAT-06
#[tokio::test]
async fn rounds_end_only_when_they_are_used_up() {
    let mut world = World::new();
    world.profile.budgets.rounds = 2;
    let session = world.session().await;
    let more = || says("more", vec![call("echo", json!({}))]);
    let outcome = session
        .prompt("go".into(), FakeModel::new(vec![more(), more(), more()]), world.options())
        .wait()
        .await
        .unwrap();
    assert_eq!(outcome.error_code.as_deref(), Some("agent.max_tool_rounds_exceeded"));
    let fine = FakeModel::new(vec![more(), says("done", vec![])]);
    let outcome = session.prompt("go".into(), fine, world.options()).wait().await.unwrap();
    assert_eq!(outcome.status, RunStatus::Completed);
}

// EXE-17
#[tokio::test]
async fn a_model_that_fails_ends_the_run_and_keeps_what_was_done() {
    let world = World::new();
    let session = world.session().await;
    let broken = Err(ModelError::Malformed { model: "fake".into(), reason: "no JSON".into() });
    let model = FakeModel::new(vec![says("", vec![call("note", json!({"text": "kept"}))]), broken]);
    let outcome = session.prompt("go".into(), model, world.options()).wait().await.unwrap();
    assert_eq!(
        (outcome.status, outcome.error_code.as_deref()),
        (RunStatus::Failed, Some("model.malformed_answer"))
    );
    assert_eq!(session.artifacts().len(), 1);
}

// CONFLICT-04
#[tokio::test]
async fn an_unknown_alias_is_a_result_or_ends_the_run_as_the_profile_says() {
    let mut world = World::new();
    let turns = || FakeModel::new(vec![says("", vec![call("nobody", json!({}))]), says("sorry", vec![])]);
    let session = world.session().await;
    let outcome = session.prompt("go".into(), turns(), world.options()).wait().await.unwrap();
    assert_eq!(outcome.status, RunStatus::Completed);
    world.profile.unknown_alias = BreachPolicy::FailFast;
    let outcome = session.prompt("go".into(), turns(), world.options()).wait().await.unwrap();
    assert_eq!(
        (outcome.status, outcome.error_code.as_deref()),
        (RunStatus::Failed, Some("agent.unknown_tool"))
    );
}

// CTX-04
#[tokio::test]
async fn the_sessions_project_is_injected_and_an_explicit_one_goes_before() {
    let world = World::new();
    let ask = |session: haft_engine::Session| {
        let options = world.options();
        async move {
            let outcomes = session
                .calls(vec![call("project", json!({"project_id": "x"}))], options)
                .wait()
                .await
                .unwrap();
            session.close().await.unwrap();
            outcomes[0].arguments.get("project_id").cloned()
        }
    };
    let open = |choice, project: Option<&'static str>| {
        world.engine.open(choice, "test", project.map(ProjectId::from), ConsentEnvironment::default())
    };
    assert_eq!(ask(open(SessionChoice::New, Some("demo")).await.unwrap()).await, Some(json!("demo")));
    assert_eq!(ask(open(SessionChoice::Last, None).await.unwrap()).await, Some(json!("demo")));
    assert_eq!(ask(open(SessionChoice::Last, Some("other")).await.unwrap()).await, Some(json!("other")));
    assert_eq!(ask(open(SessionChoice::New, None).await.unwrap()).await, None);
}

/// A surface that answers as soon as it is asked.
struct Answers {
    service: Arc<ConsentService>,
    answer: Answer,
}

impl ConsentSurface for Answers {
    fn name(&self) -> &str {
        "test"
    }

    fn show(&self, question: &Question) {
        let reply = |answer| Reply::to(question, answer, "test");
        self.service.answer(&question.id, reply(self.answer.clone())).unwrap();
        let late = self.service.answer(&question.id, reply(Answer::Once));
        assert!(late.is_err());
    }

    fn close(&self, _: &ConsentId, _: &Closing) {}
}

// APR-02, APR-05 (the grant of a session), APR-06
#[tokio::test]
async fn a_surface_answers_and_a_session_yes_covers_the_next_call() {
    let world = World::new();
    let outcomes = batch(&world, vec![call("asks", json!({}))]).await;
    assert_eq!(outcomes[0].result.error_code, Some(ErrorCode::TOOL_DENIED));

    let service = world.engine.consent().clone();
    let surface = service.attach(Arc::new(Answers {
        service: service.clone(),
        answer: Answer::Session { scope: Scope::Tool },
    }));
    let outcomes = batch(&world, vec![call("asks", json!({})), call("asks", json!({}))]).await;
    assert!(
        outcomes
            .iter()
            .all(|outcome| !outcome.result.is_error && outcome.granted_by.as_deref() == Some("test"))
    );
    let kinds = world.kinds(&outcomes[0].run).await;
    assert_eq!(kinds.iter().filter(|kind| *kind == "consent_opened").count(), 1);
    assert!(service.open().is_empty());

    // A surface that went away is asked no more, and its yes ended with the session.
    service.detach(surface);
    let mut world = world;
    world.profile.consent.grace_s = 0;
    let outcomes = batch(&world, vec![call("asks", json!({}))]).await;
    assert_eq!(outcomes[0].result.error_code, Some(ErrorCode::TOOL_DENIED));
}

// EXE-03
#[tokio::test(start_paused = true)]
async fn a_stopped_run_starts_no_further_call() {
    let world = World::new();
    let session = world.session().await;
    let calls = vec![call("writes", json!({})), call("echo", json!({}))];
    let handle = session.calls(calls, world.options());
    while world.logged().is_empty() {
        tokio::task::yield_now().await;
    }
    handle.interrupt();
    handle.stop();
    let outcomes = handle.wait().await.unwrap();
    assert!(outcomes.iter().all(|outcome| outcome.result.error_code == Some(ErrorCode::CALL_CANCELLED)));
    assert!(outcomes[0].result.text().contains("may have done part of its work"));
    assert_eq!(world.logged(), ["writes "]);
}

// CONFLICT-32, ALI-08
#[tokio::test]
async fn earlier_turns_come_back_and_calls_of_tools_that_are_gone_come_as_text() {
    let mut world = World::new();
    let session = world.session().await;
    let model = FakeModel::new(vec![
        says("", vec![call("echo", json!({"text": "moss"}))]),
        says("It is moss.", vec![]),
    ]);
    session.prompt("What is it?".into(), model, world.options()).wait().await.unwrap();
    let again = FakeModel::new(vec![says("Yes.", vec![]), says("Yes.", vec![])]);
    session.prompt("Sure?".into(), again.clone(), world.options()).wait().await.unwrap();
    let seen = again.requests.lock().unwrap()[0].messages.clone();
    assert_eq!(seen.len(), 5);
    // Kept in memory or read back from the journal: it is the same conversation.
    let id = session.id().clone();
    session.close().await.unwrap();
    let session = world.reopen(SessionChoice::Id(id)).await;
    session.prompt("Sure?".into(), again.clone(), world.options()).wait().await.unwrap();
    let read_back = again.requests.lock().unwrap()[1].messages.clone();
    assert_eq!(read_back[..5], seen);
    assert!(matches!(&seen[2], Message::Results(results) if results[0].content.contains("moss")));

    world.profile.tools.allow.retain(|id| *id != ToolId::builtin("echo"));
    let gone = FakeModel::new(vec![says("Yes.", vec![])]);
    session.prompt("Really?".into(), gone.clone(), world.options()).wait().await.unwrap();
    let seen = gone.requests.lock().unwrap()[0].messages.clone();
    assert!(seen.iter().all(|message| !matches!(message, Message::Results(_))));
    assert!(
        matches!(&seen[2], Message::User(text) if text.contains("`echo` answered") && text.contains("moss"))
    );
}

// EXE-19 (the choice `none`)
#[tokio::test]
async fn tools_can_be_switched_off_for_an_answer() {
    let world = World::new();
    let session = world.session().await;
    let mut options = world.options();
    options.no_tools = true;
    let model = FakeModel::new(vec![says("", vec![call("echo", json!({}))]), says("fine", vec![])]);
    let outcome = session.prompt("go".into(), model.clone(), options).wait().await.unwrap();
    assert_eq!(outcome.text, "fine");
    assert!(model.requests.lock().unwrap()[0].tools.is_empty());
    assert!(world.logged().is_empty());
}

#[tokio::test]
async fn a_dry_run_decides_and_stores_nothing() {
    let world = World::new();
    let calls =
        vec![call("echo", json!({"size": " 7 "})), call("asks", json!({})), call("nobody", json!({}))];
    let dry = haft_engine::dry_run(
        &world.engine,
        calls,
        &world.options(),
        &[],
        &ConsentEnvironment::default(),
        None,
    )
    .unwrap();
    assert_eq!(dry[0].arguments, json!({"size": 7}));
    assert!(dry[0].question.is_none() && dry[1].question.is_some() && dry[2].refused.is_some());
    assert!(world.logged().is_empty());
    assert!(world.store.runs(None).await.unwrap().is_empty());
}

// REG-09
#[tokio::test]
async fn artifact_tools_see_the_artifacts_of_their_own_session_alone() {
    let world = World::new();
    let (one, two) = (world.session().await, world.session().await);
    one.calls(vec![call("note", json!({"text": "of one"}))], world.options()).wait().await.unwrap();
    assert!(two.artifacts().is_empty());
    let outcomes =
        two.calls(vec![call("note", json!({"text": "of two"}))], world.options()).wait().await.unwrap();
    assert!(!outcomes[0].result.is_error);
    assert_eq!(
        (one.artifacts()[0].content.as_str(), two.artifacts()[0].content.as_str()),
        ("of one", "of two")
    );
}

// EXE-10
#[tokio::test]
async fn a_tool_that_waits_holds_up_no_other_session() {
    let world = World::new();
    let (one, two) = (world.session().await, world.session().await);
    let waiting = one.calls(vec![call("writes", json!({}))], world.options());
    while world.logged().is_empty() {
        tokio::task::yield_now().await;
    }
    let outcomes = two.calls(vec![call("echo", json!({"text": "2"}))], world.options()).wait().await.unwrap();
    assert!(!outcomes[0].result.is_error);
    waiting.stop();
    assert_eq!(world.logged(), ["writes ", "echo 2"]);
}

// RES-30
#[tokio::test]
async fn what_must_reach_the_model_verbatim_is_never_replaced() {
    let world = World::new();
    let outcomes = batch(&world, vec![call("verbatim", json!({"size": 60_000}))]).await;
    assert_eq!(outcomes[0].result.text().chars().count(), 60_000);
    let outcomes = batch(&world, vec![call("long", json!({"size": 40_000}))]).await;
    assert_eq!(outcomes[0].result.text().chars().count(), 40_000);
}

// RES-20
#[tokio::test]
async fn spilling_looks_at_one_result_and_never_at_the_length_of_the_conversation() {
    let world = World::new();
    let session = world.session().await;
    let long = || call("long", json!({"size": 49_000}));
    let model = FakeModel::new(vec![says("", vec![long(), long(), long(), long()]), says("done", vec![])]);
    session.prompt("go".into(), model.clone(), world.options()).wait().await.unwrap();
    let requests = model.requests.lock().unwrap().clone();
    let Some(Message::Results(results)) = requests[1].messages.last() else { panic!() };
    assert!(results.iter().all(|result| result.body.chars().count() == 49_000));
}

// REG-11
#[tokio::test]
async fn results_are_no_chat_messages_and_titles_are_for_people_alone() {
    let world = World::new();
    let session = world.session().await;
    let outcomes = session
        .calls(vec![call("echo", json!({})), call("Echo", json!({}))], world.options())
        .wait()
        .await
        .unwrap();
    assert_eq!(outcomes[1].result.error_code, Some(ErrorCode::UNKNOWN_TOOL));
    assert!(haft_engine::conversation(world.store.as_ref(), session.id()).await.unwrap().is_empty());
}

// RES-15 under B's renderer: the structured data is what would flood.
#[tokio::test]
async fn structured_data_is_spilled_where_the_renderer_shows_it() {
    let mut world = World::new();
    world.profile.renderer = haft_core::render::Renderer::Json;
    let text = "x".repeat(60_000);
    let outcomes = batch(&world, vec![call("echo", json!({ "text": text }))]).await;
    let body = haft_engine::result_message(&outcomes[0].result, None, world.profile.renderer).body;
    assert!(body.len() < 2_000, "{}", body.len());
    assert!(body.contains("is kept for the user as artifact `tool_echo_"), "{body}");
}
