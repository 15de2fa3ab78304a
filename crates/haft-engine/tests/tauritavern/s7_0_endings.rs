//! Section 7.0: commits, the end of a run, drafts, drift, and the calls that must be last.

use haft_core::journal::{Payload, RunStatus};
use haft_core::message::Message;
use serde_json::json;

use crate::crew::{CrewModel, calls, text};
use crate::support::{call, says};
use crate::tavern::{
    FILES, ask, await_all, bodies, commit_of, delegate, failures, files_and_agents, give_back, hand_over,
    one, patch, scripted, stored, tavern,
};
use crate::writing::{append, chat, commit, count, finish, write};

// WSP-13, WSP-14, WSP-21, WSP-22: a run commits as often as it likes, into one message; the reminder is gentle, and text ends nothing.
#[tokio::test]
async fn a_run_commits_again_and_again_into_one_message() {
    let team = tavern(&FILES);
    let add = ("workspace_commit", json!({"path": "output/more.md", "mode": "append"}));
    let model = scripted(vec![
        calls(vec![write("output/more.md", "B"), add.clone()]),
        calls(vec![write("output/main.md", "A"), commit()]),
        calls(vec![patch("output/main.md", "A", "AA"), commit(), add]),
        one(finish()),
    ]);
    let session = team.world.session().await;
    let outcome = team.prompt(&session, &model).await;
    assert_eq!((outcome.status, outcome.text.as_str()), (RunStatus::Completed, "AAB"));
    assert_eq!(chat(&team.world, session.id()).await, ["user: Do it", "assistant: AAB"]);
    let payloads = team.world.payloads(&outcome.run).await;
    let messages: Vec<u64> = payloads
        .iter()
        .filter_map(|payload| match payload {
            Payload::ChatCommitted(body) => Some(body.message),
            _ => None,
        })
        .collect();
    assert_eq!(messages, [1, 1, 1, 1]);
    let told = &bodies(&model, "root")[1];
    assert!(told.contains("You may revise it and commit again; do not forget workspace_finish"), "{told}");
    session.close().await.unwrap();
}

// WSP-23: a draft is no commit; the commit of an agent that was before in the foreground is one.
#[tokio::test]
async fn a_finish_needs_a_commit_of_somebody_in_the_foreground() {
    let mut team = tavern(&files_and_agents());
    team.agent("editor", &FILES, |_| {});
    let model = CrewModel::new(vec![
        (
            "root",
            vec![
                one(write("output/main.md", "Draft.")),
                one(finish()),
                calls(vec![commit(), hand_over("editor", "Finish.")]),
            ],
        ),
        ("editor", vec![one(finish())]),
    ]);
    let outcome = team.run(&model).await;
    assert_eq!((outcome.status, outcome.text.as_str()), (RunStatus::Completed, "Draft."));
    assert_eq!(failures(&team, &outcome.run).await, ["workspace_finish agent.foreground_commit_required"]);
    // Without it, whoever took over must commit.
    let model = CrewModel::new(vec![
        ("root", vec![calls(vec![write("output/main.md", "Draft."), hand_over("editor", "Finish.")])]),
        ("editor", vec![one(finish()), calls(vec![commit(), finish()])]),
    ]);
    let outcome = team.run(&model).await;
    assert_eq!(outcome.status, RunStatus::Completed);
    assert_eq!(failures(&team, &outcome.run).await, ["workspace_finish agent.foreground_commit_required"]);
}

// EXE-18: once a turn, the last text that it wrote, also of the turn that hands over; never what a child wrote, never what was changed
// since, never after a commit.
#[tokio::test]
async fn the_host_publishes_the_last_draft_of_a_turn() {
    let tools: Vec<&str> = files_and_agents().into_iter().chain(["agent.call"]).collect();
    let mut team = tavern(&tools);
    team.agent("editor", &FILES, |_| {});
    team.agent("other", &FILES, |_| {});
    let model = CrewModel::new(vec![
        (
            "root",
            vec![
                // Another agent changes the file before the turn is over: the draft is not what was written.
                calls(vec![write("output/a.md", "Mine."), ask("other", "Change it.")]),
                // Another agent that only looks changes nothing of that.
                calls(vec![write("output/f.md", "Quiet."), ask("other", "Look.")]),
                calls(vec![append("output/b.txt", "One. "), append("output/b.txt", "Two.")]),
                calls(vec![write("output/c.json", "{}"), write("output/nothing.md", " ")]),
                calls(vec![write("output/d.md", "Before the handoff."), hand_over("editor", "Go on.")]),
            ],
        ),
        (
            "other",
            vec![
                calls(vec![
                    ("workspace_read_file", json!({"path": "output/a.md"})),
                    write("output/a.md", "Theirs."),
                ]),
                text("Done."),
                one(("workspace_read_file", json!({"path": "output/f.md"}))),
                text("Done."),
            ],
        ),
        (
            "editor",
            vec![one(commit_of("output/b.txt")), one(write("output/e.md", "Unpublished.")), one(finish())],
        ),
    ]);
    let outcome = team.run(&model).await;
    assert_eq!((outcome.status, outcome.text.as_str()), (RunStatus::Completed, "One. Two."));
    let mut committed = Vec::new();
    for payload in team.world.payloads(&outcome.run).await {
        if let Payload::ChatCommitted(body) = payload {
            let by = if body.call_id.is_some() { "the agent" } else { "the host" };
            let text = stored(&team, &outcome.run, &body.file.path).await.unwrap();
            committed.push(format!("{by}: {} {text:?}", body.source));
        }
    }
    assert_eq!(
        committed,
        [
            "the host: output/f.md@1 \"Quiet.\"",
            "the host: output/b.txt@2 \"One. Two.\"",
            "the host: output/d.md@1 \"Before the handoff.\"",
            "the agent: output/b.txt@2 \"One. Two.\"",
        ]
    );
}

// EXE-13, EXE-14, EXE-15: text is kept, pushed into the history and answered with a reminder, as often as it comes; what was committed
// before is not rolled back, and the run goes on.
#[tokio::test]
async fn drift_is_corrected_as_often_as_it_comes() {
    let team = tavern(&FILES);
    let model = scripted(vec![
        calls(vec![write("output/main.md", "First."), commit()]),
        text("Now I am done."),
        text("Really."),
        calls(vec![patch("output/main.md", "First", "Second"), commit()]),
        text("Once more."),
        one(finish()),
    ]);
    let outcome = team.run(&model).await;
    assert_eq!((outcome.status, outcome.text.as_str()), (RunStatus::Completed, "Second."));
    let payloads = team.world.payloads(&outcome.run).await;
    let attempts: Vec<(u32, u32)> = payloads
        .iter()
        .filter_map(|payload| match payload {
            Payload::DriftRecoveryAttempted(body) => Some((body.attempt, body.turn)),
            _ => None,
        })
        .collect();
    assert_eq!(attempts, [(1, 2), (2, 3), (3, 5)]);
    let mut kept = Vec::new();
    for payload in &payloads {
        if let Payload::DirectOutputCaptured(body) = payload {
            kept.push((body.file.path.clone(), stored(&team, &outcome.run, &body.file.path).await.unwrap()));
        }
    }
    let at =
        |version: u32, text: &str| (format!("workspace/output/direct_output.md@{version}"), text.to_owned());
    assert_eq!(kept, [at(1, "Now I am done."), at(2, "Really."), at(3, "Once more.")]);
    // In the history: the answer itself, then the reminder, which tells where it is kept and how the work ends.
    let asked = model.asked("root");
    let messages = &asked[3].messages;
    let Message::Assistant { text, calls, .. } = &messages[messages.len() - 2] else {
        panic!("{messages:?}")
    };
    assert_eq!((text.as_str(), calls.len()), ("Really.", 0));
    let Message::User(reminder) = &messages[messages.len() - 1] else { panic!("{messages:?}") };
    assert_eq!(
        reminder,
        "(Note from the host, not from the person: your answer held no tool call, and text alone does not end this work. Your text \
         was kept as `output/direct_output.md` and was not sent. Put what the person shall read into a file, call \
         `workspace_commit`, and when all is done call `workspace_finish`.)"
    );
    // What the model said by the way is no message of the conversation.
    assert_eq!(count(&team.world, &outcome.run, "chat_committed").await, 2);
}

// EXE-14, EXE-16: a child is reminded of its own ending, and one that drifts to its last round fails; the root goes on.
#[tokio::test]
async fn a_child_drifts_to_its_own_end() {
    let mut team = tavern(&files_and_agents());
    team.agent("critic", &["echo"], |profile| profile.budgets.rounds = 2);
    let model = CrewModel::new(vec![
        (
            "root",
            vec![
                calls(vec![delegate("critic", "Judge."), delegate("critic", "Judge again.")]),
                one(await_all()),
                calls(vec![write("output/main.md", "x"), commit(), finish()]),
            ],
        ),
        ("critic", vec![text("Weak."), text("Weak."), one(give_back("Good.")), text("Weak.")]),
    ]);
    let outcome = team.run(&model).await;
    assert_eq!(outcome.status, RunStatus::Completed);
    let payloads = team.world.payloads(&outcome.run).await;
    let mut ended: Vec<(RunStatus, Option<String>)> = payloads
        .iter()
        .filter_map(|payload| match payload {
            Payload::InvocationEnded(body) => Some((body.status, body.error_code.clone())),
            _ => None,
        })
        .collect();
    ended.sort_by_key(|(status, _)| *status == RunStatus::Failed);
    assert_eq!(
        ended,
        [(RunStatus::Completed, None), (RunStatus::Failed, Some("model.tool_call_required".to_owned()))]
    );
    let reminded =
        model.last_read("critic").into_iter().filter(|text| text.starts_with("(Note from the host"));
    for reminder in reminded {
        assert!(reminder.ends_with("Call `task_return` with your result when you are done.)"), "{reminder}");
        assert!(!reminder.contains("workspace_finish"), "{reminder}");
    }
    // Its text went into no conversation.
    assert_eq!(count(&team.world, &outcome.run, "chat_committed").await, 1);
}

// EXE-12, CONFLICT-14: what ends an agent's work is not taken unless it is the last call; the others run, and the next turn may end.
#[tokio::test]
async fn what_ends_the_work_must_be_the_last_call() {
    let tools: Vec<&str> = files_and_agents().into_iter().chain(["echo"]).collect();
    let mut team = tavern(&tools);
    team.agent("critic", &["echo"], |_| {});
    team.agent("editor", &FILES, |_| {});
    let echo = |text: &str| ("echo", json!({"text": text}));
    let model = CrewModel::new(vec![
        (
            "root",
            vec![
                one(delegate("critic", "Judge.")),
                one(await_all()),
                calls(vec![hand_over("editor", "Finish."), echo("root runs")]),
                one(hand_over("editor", "Finish.")),
            ],
        ),
        (
            "critic",
            vec![calls(vec![give_back("Too early."), echo("critic runs")]), one(give_back("In time."))],
        ),
        ("editor", vec![calls(vec![write("output/main.md", "x"), finish(), commit()]), one(finish())]),
    ]);
    let outcome = team.run(&model).await;
    assert_eq!(outcome.status, RunStatus::Completed);
    let code = |alias: &str| format!("{alias} agent.tool_after_finish");
    assert_eq!(
        failures(&team, &outcome.run).await,
        [code("task_return"), code("agent_handoff"), code("workspace_finish")]
    );
    assert_eq!(team.world.logged(), ["echo critic runs", "echo root runs"]);
    assert!(
        bodies(&model, "root")[1].contains("In time.") && !bodies(&model, "root")[1].contains("Too early")
    );
    assert_eq!(
        bodies(&model, "editor")[1],
        "## Tool error\n\n`workspace_finish` must be the last call of an answer. Call it again, alone or last."
    );
}

// GAT-06, EXE-16: calls up to the last round exhaust the rounds; the same after a commit is a partial success with a warning.
#[tokio::test]
async fn rounds_are_a_class_of_their_own_only_when_they_are_used_up() {
    let mut team = tavern(&FILES);
    team.world.profile.budgets.rounds = 2;
    let cases: [(Vec<_>, RunStatus, Option<&str>); 4] = [
        (
            vec![one(write("scratch/a.json", "1")), one(write("scratch/b.json", "2"))],
            RunStatus::Failed,
            Some("agent.max_tool_rounds_exceeded"),
        ),
        (
            vec![calls(vec![write("output/main.md", "x"), commit()]), one(write("scratch/b.json", "2"))],
            RunStatus::PartialSuccess,
            Some("agent.max_tool_rounds_exceeded"),
        ),
        (
            vec![calls(vec![write("output/main.md", "x"), commit()]), text("Done.")],
            RunStatus::PartialSuccess,
            Some("model.tool_call_required"),
        ),
        (
            vec![calls(vec![write("output/main.md", "x"), commit()]), one(finish())],
            RunStatus::Completed,
            None,
        ),
    ];
    for (turns, status, code) in cases {
        let outcome = team.run(&scripted(turns)).await;
        assert_eq!((outcome.status, outcome.error_code.as_deref()), (status, code));
        let payloads = team.world.payloads(&outcome.run).await;
        let classed: Vec<(bool, String)> = payloads
            .iter()
            .filter_map(|payload| match payload {
                Payload::RunFailed(body) => Some((body.user_retryable, body.error_code.clone())),
                Payload::RunPartialSuccess(body) => {
                    assert!(!body.warning.is_empty());
                    Some((false, body.error_code.clone()))
                }
                _ => None,
            })
            .collect();
        let expected: Vec<(bool, String)> =
            code.iter().map(|code| (status == RunStatus::Failed, (*code).to_owned())).collect();
        assert_eq!(classed, expected);
    }
}

// WSP-14, EXE-13: an answer that is empty is drift as well; there is nothing to keep of it.
#[tokio::test]
async fn an_empty_answer_is_drift() {
    let team = tavern(&FILES);
    let model = scripted(vec![
        text(" \n"),
        says("", vec![call("workspace_write_file", json!({"path": "output/main.md", "content": "x"}))]),
        calls(vec![commit(), finish()]),
    ]);
    let outcome = team.run(&model).await;
    assert_eq!(outcome.status, RunStatus::Completed);
    assert_eq!(count(&team.world, &outcome.run, "direct_output_captured").await, 0);
    assert_eq!(count(&team.world, &outcome.run, "drift_recovery_attempted").await, 1);
    assert!(!model.last_read("root")[1].contains("was kept"));
}
