//! Runs of kind `agent`, with the workspace's own tools: commits, the end, drift, drafts, what is kept (EXE-12 to EXE-18, WSP).
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod support;
#[path = "support/writing.rs"]
mod writing;

use std::sync::Arc;

use haft_core::journal::RunStatus;
use haft_core::message::Message;
use haft_core::ports::ModelError;
use haft_core::profile::RunKind;
use haft_core::run_control::CommitMode;
use haft_core::workspace::{WorkspaceRoot, WorkspaceRoots};
use haft_core::{Payload, RequestedCall, ToolId};
use haft_engine::SessionChoice;
use serde_json::json;
use support::{FakeModel, World, call, says};
use writing::*;

/// The codes of the calls that failed, in order.
async fn failures(world: &World, run: &haft_core::RunId) -> Vec<String> {
    let payloads = world.payloads(run).await;
    let failed = payloads.iter().filter_map(|payload| match payload {
        Payload::ToolCallFailed(body) => Some(format!("{} {}", body.alias, body.error_code)),
        _ => None,
    });
    failed.collect()
}

// WSP-13, WSP-14, WSP-22, EVT-05, TRN-04, JRN-01, JRN-02, RES-27: the whole run, as its journal tells it.
#[tokio::test]
async fn a_run_writes_commits_and_finishes() {
    let world = writing();
    let model = FakeModel::new(vec![
        calls(vec![write("output/main.md", "Once.\n"), commit()]),
        calls(vec![write("output/main.md", "Once upon.\n"), commit(), finish()]),
    ]);
    let session = world.session().await;
    let outcome = prompt(&world, &session, &model).await;
    assert_eq!((outcome.status, outcome.text.as_str()), (RunStatus::Completed, "Once upon.\n"));
    insta::assert_snapshot!(journal(&world, &outcome.run).await);
    // The model is reminded gently of what is left to do.
    let results = match model.requests.lock().unwrap()[1].messages.last().unwrap() {
        Message::Results(results) => results.iter().map(|one| one.content.clone()).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        results,
        [
            "Wrote the new file `output/main.md`, 1 line.",
            "Committed: the text of `output/main.md` is now your message. You may revise it and commit again; do not forget workspace_finish when you are done.",
        ]
    );
    assert_eq!(chat(&world, session.id()).await, ["user: Write", "assistant: Once upon.\n"]);
    session.close().await.unwrap();
}

// WSP-22: earlier runs are told as the conversation that they made, and nothing else of them.
#[tokio::test]
async fn the_next_run_reads_the_conversation_and_not_the_work() {
    let world = writing();
    let session = world.session().await;
    let first = FakeModel::new(vec![
        calls(vec![write("scratch/plan.txt", "plan"), write("output/main.md", "One."), commit()]),
        says("I am done now.", vec![]),
        calls(vec![finish()]),
    ]);
    prompt(&world, &session, &first).await;
    let second = FakeModel::new(vec![calls(vec![write("output/main.md", "Two."), commit(), finish()])]);
    prompt(&world, &session, &second).await;
    let expected = ["user: Write", "assistant: One.", "user: Write", "assistant: Two."];
    assert_eq!(chat(&world, session.id()).await, expected);
    let asked = second.requests.lock().unwrap()[0].messages.len();
    assert_eq!(asked, 3, "two messages of the conversation, and the prompt");
    // The message of the second run is the fourth of the conversation.
    let committed = world.events_of("chat_committed");
    let indexes: Vec<_> = committed.iter().map(|event| event.payload["message"].clone()).collect();
    // The draft that the host published is of the same message as the commit.
    assert_eq!(indexes, [json!(1), json!(3)]);
    session.close().await.unwrap();
}

// WSP-23, WSP-24
#[tokio::test]
async fn a_run_in_the_foreground_finishes_with_a_commit_alone() {
    let world = writing();
    let script = || {
        FakeModel::new(vec![
            calls(vec![write("output/draft.md", "Draft.")]),
            calls(vec![finish()]),
            calls(vec![("workspace_commit", json!({"path": "output/draft.md"})), finish()]),
        ])
    };
    let outcome = run(&world, &script()).await;
    // The draft that the host published does not count.
    assert_eq!(failures(&world, &outcome.run).await, ["workspace_finish agent.foreground_commit_required"]);
    assert_eq!(outcome.status, RunStatus::Completed);

    let session = world.session().await;
    let mut options = world.options();
    options.background = true;
    let outcome = session.prompt("Write".into(), script(), options).wait().await.unwrap();
    assert_eq!((outcome.status, outcome.text.as_str()), (RunStatus::Completed, ""));
    assert_eq!(count(&world, &outcome.run, "chat_committed").await, 0);
    assert_eq!(chat(&world, session.id()).await, ["user: Write"]);
    session.close().await.unwrap();
}

// EXE-12
#[tokio::test]
async fn a_finish_before_other_calls_is_refused_and_they_still_run() {
    let world = writing();
    let model = FakeModel::new(vec![
        calls(vec![write("output/main.md", "A"), commit(), finish(), write("scratch/after.txt", "b")]),
        calls(vec![finish()]),
    ]);
    let outcome = run(&world, &model).await;
    assert_eq!(failures(&world, &outcome.run).await, ["workspace_finish agent.tool_after_finish"]);
    assert_eq!(count(&world, &outcome.run, "tool_call_completed").await, 4);
    assert_eq!((outcome.status, model.requests.lock().unwrap().len()), (RunStatus::Completed, 2));
}

// EXE-13, EXE-14, EXE-15, ALI-09: the names in the reminder are those of this snapshot.
#[tokio::test]
async fn text_without_a_call_is_kept_and_the_model_is_told_how_its_work_ends() {
    let mut world = writing();
    world.profile.tools.alias.insert(ToolId::builtin("workspace.commit"), "publish".into());
    let model = FakeModel::new(vec![
        says("Here is the story.", vec![]),
        says("Still here.", vec![]),
        says(
            "",
            vec![
                call("publish", json!({"path": "output/direct_output.md"})),
                call("workspace_finish", json!({})),
            ],
        ),
    ]);
    let outcome = run(&world, &model).await;
    assert_eq!((outcome.status, outcome.text.as_str()), (RunStatus::Completed, "Still here."));
    insta::assert_snapshot!(journal(&world, &outcome.run).await);
    let requests = model.requests.lock().unwrap();
    let Message::User(reminder) = requests[1].messages.last().unwrap() else { panic!("no reminder") };
    assert!(reminder.contains("`publish`") && reminder.contains("`workspace_finish`"), "{reminder}");
    assert!(
        matches!(&requests[1].messages[1], Message::Assistant { text, .. } if text == "Here is the story.")
    );
    assert_eq!(requests[2].messages.len(), 5);
}

// EXE-16, EVT-05: nothing in the conversation, so the run failed and the person may try again.
#[tokio::test]
async fn drift_to_the_last_round_fails_the_run() {
    let mut world = writing();
    world.profile.budgets.rounds = 2;
    let model = FakeModel::new(vec![says("One.", vec![]), says("Two.", vec![])]);
    let session = world.session().await;
    let outcome = prompt(&world, &session, &model).await;
    assert_eq!(outcome.status, RunStatus::Failed);
    assert_eq!(outcome.error_code.as_deref(), Some("model.tool_call_required"));
    insta::assert_snapshot!(journal(&world, &outcome.run).await);
    assert_eq!(chat(&world, session.id()).await, ["user: Write"]);
    session.close().await.unwrap();
}

// EXE-16: what is in the conversation stays, and the fault is a warning.
#[tokio::test]
async fn drift_after_a_commit_is_a_partial_success() {
    let mut world = writing();
    world.profile.budgets.rounds = 2;
    let model = FakeModel::new(vec![
        calls(vec![write("output/main.md", "Kept."), commit()]),
        says("That was it.", vec![]),
    ]);
    let session = world.session().await;
    let outcome = prompt(&world, &session, &model).await;
    assert_eq!((outcome.status, outcome.text.as_str()), (RunStatus::PartialSuccess, "Kept."));
    assert_eq!(outcome.error_code.as_deref(), Some("model.tool_call_required"));
    let payloads = world.payloads(&outcome.run).await;
    let partial = payloads.iter().find_map(|payload| match payload {
        Payload::RunPartialSuccess(body) => Some(body.clone()),
        _ => None,
    });
    assert_eq!(Some(partial.unwrap().warning), outcome.message);
    assert_eq!(count(&world, &outcome.run, "run_failed").await, 0);
    assert_eq!(chat(&world, session.id()).await, ["user: Write", "assistant: Kept."]);
    session.close().await.unwrap();
}

// GAT-06: rounds are a class of end only when they are really used up, and there is no last turn to sum up in.
#[tokio::test]
async fn a_run_that_uses_all_its_rounds_is_classed_by_what_it_committed() {
    let mut world = writing();
    world.profile.budgets.rounds = 2;
    let note = |name: &str| calls(vec![write(name, "x")]);
    let nothing = FakeModel::new(vec![note("scratch/a.txt"), note("scratch/b.json"), says("more", vec![])]);
    world.profile.workspace = WorkspaceRoots::default();
    let outcome = run(&world, &nothing).await;
    let code = outcome.error_code.as_deref();
    // `scratch/a.txt` was published as a draft, so that something is in the conversation.
    assert_eq!((outcome.status, code), (RunStatus::PartialSuccess, Some("agent.max_tool_rounds_exceeded")));
    assert_eq!(nothing.requests.lock().unwrap().len(), 2);

    let nothing = FakeModel::new(vec![note("scratch/a.json"), note("scratch/b.json")]);
    let outcome = run(&world, &nothing).await;
    let code = outcome.error_code.as_deref();
    assert_eq!((outcome.status, code), (RunStatus::Failed, Some("agent.max_tool_rounds_exceeded")));
    let last =
        FakeModel::new(vec![calls(vec![write("output/main.md", "x"), commit()]), calls(vec![finish()])]);
    assert_eq!(run(&world, &last).await.status, RunStatus::Completed);
}

// EXE-18
#[tokio::test]
async fn the_last_text_of_a_turn_is_published_until_the_agent_commits() {
    let world = writing();
    let patch = |old: &str, new: &str| {
        ("workspace_apply_patch", json!({"path": "output/a.md", "old_string": old, "new_string": new}))
    };
    let model = FakeModel::new(vec![
        // Two texts of one turn: the last one alone.
        calls(vec![write("output/a.md", "First"), write("output/b.txt", "Second")]),
        // A patch counts; a failed one does not.
        calls(vec![patch("First", "Patched"), patch("nowhere", "x")]),
        // The last success is no text: nothing of this turn.
        calls(vec![write("output/a.md", "Unseen"), write("output/c.json", "{}")]),
        calls(vec![("workspace_commit", json!({"path": "output/b.txt", "mode": "append"}))]),
        // After a commit nothing is published any more.
        calls(vec![write("output/a.md", "Later")]),
        calls(vec![finish()]),
    ]);
    let outcome = run(&world, &model).await;
    // The first commit takes the place of the drafts, also one that appends.
    assert_eq!((outcome.status, outcome.text.as_str()), (RunStatus::Completed, "Second"));
    let journal = journal(&world, &outcome.run).await;
    let committed: Vec<&str> =
        journal.lines().filter_map(|line| line.strip_prefix("chat_committed ")).collect();
    insta::assert_snapshot!(committed.join("\n"), @r"
    message 1, Replace output/b.txt@1 as chat/commit_1.txt, 6 characters, by the host
    message 1, Replace output/a.md@2 as chat/commit_2.txt, 7 characters, by the host
    message 1, Replace output/b.txt@1 as chat/commit_3.txt, 6 characters, by c_i_0002_4_1
    ");
}

// EXE-18, WSP-12: the file is read anew when it is saved, and must be what was checked.
#[tokio::test]
async fn what_was_changed_meanwhile_is_not_committed() {
    let world = writing();
    let model = FakeModel::new(vec![
        calls(vec![write("output/a.md", "There"), ("stale_commit", json!({}))]),
        calls(vec![("workspace_commit", json!({"path": "output/a.md"})), finish()]),
    ]);
    let outcome = run(&world, &model).await;
    assert_eq!(failures(&world, &outcome.run).await, ["stale_commit workspace.commit_stale"]);
    assert_eq!((outcome.status, outcome.text.as_str()), (RunStatus::Completed, "There"));
}

// WSP-21
#[tokio::test]
async fn appended_texts_go_into_one_message() {
    let world = writing();
    let add = |path: &str| ("workspace_commit", json!({"path": path, "mode": "append"}));
    let model = FakeModel::new(vec![
        calls(vec![write("output/1.json", "One"), write("output/2.json", "\nTwo"), add("output/1.json")]),
        calls(vec![add("output/2.json"), finish()]),
    ]);
    let session = world.session().await;
    let outcome = prompt(&world, &session, &model).await;
    assert_eq!(outcome.text, "One\nTwo");
    assert_eq!(chat(&world, session.id()).await, ["user: Write", "assistant: One\nTwo"]);
    let journal = journal(&world, &outcome.run).await;
    assert_eq!(journal.matches("chat_committed message 1, Append").count(), 2, "{journal}");
    session.close().await.unwrap();
}

// WSP-12
#[tokio::test]
async fn what_cannot_be_committed_is_told_to_the_model() {
    let world = writing();
    let at = |path: &str| ("workspace_commit", json!({"path": path}));
    let model = FakeModel::new(vec![
        calls(vec![write("output/chapters/1.md", " \n"), at("output/main.md"), at("output/chapters")]),
        calls(vec![at("output/chapters/1.md"), at("input/secret"), at("../x")]),
        calls(vec![write("output/main.md", "x"), commit(), finish()]),
    ]);
    let outcome = run(&world, &model).await;
    assert_eq!(
        failures(&world, &outcome.run).await,
        [
            "workspace_commit workspace.file_not_found",
            "workspace_commit workspace.path_is_directory",
            "workspace_commit workspace.commit_empty",
            "workspace_commit workspace.path_not_visible",
            "workspace_commit workspace.path_invalid",
        ]
    );
    assert_eq!(outcome.status, RunStatus::Completed);
}

// WSP-22: one port, for commits and drafts alike.
#[tokio::test]
async fn the_conversation_may_be_kept_by_somebody_else() {
    let foreign = Arc::new(ForeignChat::default());
    let world = with_chat(&foreign);
    let add = ("workspace_commit", json!({"mode": "append"}));
    let model = FakeModel::new(vec![
        calls(vec![write("output/main.md", "A")]),
        calls(vec![commit()]),
        calls(vec![add, finish()]),
    ]);
    assert_eq!(run(&world, &model).await.text, "AA");
    let expected = [
        (None, CommitMode::Replace, "A".to_owned()),
        (Some(17), CommitMode::Replace, "A".to_owned()),
        (Some(17), CommitMode::Append, "A".to_owned()),
    ];
    assert_eq!(*foreign.replies.lock().unwrap(), expected);

    // It may refuse: the model is told, and the run cannot finish.
    *foreign.closed.lock().unwrap() = true;
    let mut world = world;
    world.profile.budgets.rounds = 2;
    let model =
        FakeModel::new(vec![calls(vec![write("output/main.md", "B"), commit()]), calls(vec![finish()])]);
    let outcome = run(&world, &model).await;
    assert_eq!(
        failures(&world, &outcome.run).await,
        ["workspace_commit chat.unavailable", "workspace_finish agent.foreground_commit_required"]
    );
    assert_eq!((outcome.status, count(&world, &outcome.run, "chat_committed").await), (RunStatus::Failed, 0));
}

// WSP-02
#[tokio::test]
async fn what_lies_under_persist_is_kept_after_a_good_end_alone() {
    let world = writing();
    let keep = |text: &str| write("persist/notes.md", text);
    let read = || ("workspace_read_file", json!({"path": "persist/notes.md"}));
    let session = world.session().await;
    let good = FakeModel::new(vec![calls(vec![
        keep("Ada is tall."),
        write("scratch/x.txt", "gone"),
        write("output/main.md", "x"),
        commit(),
        finish(),
    ])]);
    let outcome = prompt(&world, &session, &good).await;
    assert_eq!(count(&world, &outcome.run, "persist_promoted").await, 1);
    // A run that fails writes nothing back, though what it did can be committed.
    let mut hasty = writing_options(&world, 1);
    hasty.events = world.events.clone();
    let bad = FakeModel::new(vec![calls(vec![
        read(),
        append("persist/notes.md", " Lost."),
        write("output/main.md", "y"),
        commit(),
    ])]);
    let outcome = session.prompt("Write".into(), bad, hasty).wait().await.unwrap();
    assert_eq!(outcome.status, RunStatus::PartialSuccess);
    assert_eq!(count(&world, &outcome.run, "persist_promoted").await, 0);
    let id = session.id().clone();
    session.close().await.unwrap();
    // Another process finds it too, and what it leaves alone stays.
    let session = world.reopen(SessionChoice::Id(id)).await;
    let look = || {
        FakeModel::new(vec![
            calls(vec![read(), ("workspace_list_files", json!({}))]),
            calls(vec![write("output/main.md", "z"), commit(), finish()]),
        ])
    };
    for _ in 0..2 {
        let model = look();
        let outcome = prompt(&world, &session, &model).await;
        assert_eq!(outcome.status, RunStatus::Completed);
        let requests = model.requests.lock().unwrap();
        let Message::Results(results) = requests[1].messages.last().unwrap() else { panic!("no results") };
        assert!(results[0].content.contains("Ada is tall."), "{}", results[0].content);
        assert!(!results[0].content.contains("Lost"), "{}", results[0].content);
        assert!(results[1].content.contains("scratch/ (empty)"), "{}", results[1].content);
    }
    session.close().await.unwrap();
}

fn writing_options(world: &World, rounds: u32) -> haft_engine::RunOptions {
    let mut profile = world.profile.clone();
    profile.budgets.rounds = rounds;
    haft_engine::RunOptions::new(Arc::new(profile), "test")
}

// WSP-01: the profile narrows the roots, and the record of the invocation says so.
#[tokio::test]
async fn the_roots_of_the_profile_hold_and_are_told() {
    let mut world = writing();
    let all = [WorkspaceRoot::Output, WorkspaceRoot::Plan];
    world.profile.workspace = WorkspaceRoots::new(&all, &[WorkspaceRoot::Output]);
    let model = FakeModel::new(vec![
        calls(vec![write("plan/a.txt", "x"), write("scratch/a.txt", "x"), write("tool-results/a.txt", "x")]),
        calls(vec![write("output/main.md", "x"), commit(), finish()]),
    ]);
    let outcome = run(&world, &model).await;
    assert_eq!(
        failures(&world, &outcome.run).await,
        [
            "workspace_write_file workspace.path_not_writable",
            "workspace_write_file workspace.path_not_visible",
            "workspace_write_file workspace.path_not_writable",
        ]
    );
    let payloads = world.payloads(&outcome.run).await;
    let roots = payloads.iter().find_map(|payload| match payload {
        Payload::ContextAssembled(body) => body.workspace.clone(),
        _ => None,
    });
    assert_eq!(
        serde_json::to_value(roots.unwrap()).unwrap(),
        json!({"visible": ["output", "plan"], "writable": ["output"]})
    );
}

// EXE-17: what is no tool's failure ends the run, whatever the model could be told.
#[tokio::test]
async fn a_broken_answer_and_a_stop_end_the_run_at_once() {
    let world = writing();
    let broken = || Err(ModelError::Malformed { model: "fake".into(), reason: "a call has no id".into() });
    let model = FakeModel::new(vec![broken(), calls(vec![finish()])]);
    let outcome = run(&world, &model).await;
    assert_eq!(
        (outcome.status, outcome.error_code.as_deref()),
        (RunStatus::Failed, Some("model.malformed_answer"))
    );
    assert_eq!(model.requests.lock().unwrap().len(), 1);
    assert_eq!(count(&world, &outcome.run, "run_failed").await, 1);

    // A stop is no failure: nothing is classed, and nothing is kept.
    let session = world.session().await;
    let model = FakeModel::new(vec![
        calls(vec![write("persist/a.txt", "x"), write("output/main.md", "x"), commit()]),
        calls(vec![("writes", json!({}))]),
    ]);
    let handle = session.prompt("Write".into(), model.clone(), world.options());
    while world.events_of("tool_call_started").len() < 4 {
        tokio::task::yield_now().await;
    }
    handle.stop();
    let outcome = handle.wait().await.unwrap();
    assert_eq!((outcome.status, outcome.text.as_str()), (RunStatus::Cancelled, "x"));
    for kind in ["run_failed", "run_partial_success", "persist_promoted"] {
        assert_eq!(count(&world, &outcome.run, kind).await, 0, "{kind}");
    }
    session.close().await.unwrap();
}

// CONFLICT-26: in a run of kind `chat` text is the answer.
#[tokio::test]
async fn a_chat_never_drifts() {
    let mut world = writing();
    world.profile.run_kind = RunKind::Chat;
    let model = FakeModel::new(vec![says("Hello.", vec![])]);
    let outcome = run(&world, &model).await;
    assert_eq!((outcome.status, outcome.text.as_str()), (RunStatus::Completed, "Hello."));
    assert_eq!(count(&world, &outcome.run, "direct_output_captured").await, 0);
}

// WSP-14: a single call has nothing to commit to and nothing to end.
#[tokio::test]
async fn a_single_call_cannot_finish() {
    let world = writing();
    let session = world.session().await;
    let requested: Vec<RequestedCall> = vec![
        call("workspace_write_file", json!({"path": "output/main.md", "content": "x"})),
        call("workspace_commit", json!({})),
        call("workspace_finish", json!({})),
    ];
    let outcomes = session.calls(requested, world.options()).wait().await.unwrap();
    let codes: Vec<_> =
        outcomes.iter().map(|one| one.result.error_code.as_ref().map(ToString::to_string)).collect();
    let not_in_loop = Some("agent.not_in_loop".to_owned());
    assert_eq!(codes, [None, not_in_loop.clone(), not_in_loop]);
    session.close().await.unwrap();
}

// JRN-06: a commit that was taken away is missed, and told.
#[tokio::test]
async fn a_commit_can_be_redacted() {
    let world = writing();
    let session = world.session().await;
    let model = FakeModel::new(vec![calls(vec![write("output/main.md", "A name."), commit(), finish()])]);
    let outcome = prompt(&world, &session, &model).await;
    let records = world.store.records(&outcome.run).await.unwrap();
    let commit = records.iter().find(|record| record.kind == "chat_committed").unwrap();
    let id = session.id().clone();
    session.close().await.unwrap();
    let lease = world.store.lease(&id, "test", haft_core::Timestamp(9_000_000)).await.unwrap();
    let now = haft_core::Timestamp(9_000_001);
    world.store.redact(&lease, &outcome.run, commit.seq, "a name", now).await.unwrap();
    world.store.release(&lease).await.unwrap();
    assert_eq!(chat(&world, &id).await, ["user: Write", "assistant: [This message was taken away: a name]"]);
}
