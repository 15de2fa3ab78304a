//! Agents that put each other to work: calls, children side by side, background tasks, handoffs (DEL, CONFLICT-15, CONFLICT-30).
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

#[path = "support/crew.rs"]
mod crew;
mod support;

use std::sync::Arc;

use haft_core::consent::{Answer, Closing, ConsentSurface, Question};
use haft_core::journal::RunStatus;
use haft_core::message::Message;
use haft_core::profile::RunKind;
use haft_core::{ConsentId, Payload, Scope, ToolId};
use haft_engine::{ConsentService, Reply};
use serde_json::{Value, json};

use crew::{CrewModel, Team, calls, journal, text};

fn sub(agent: &str, instruction: &str) -> (&'static str, Value) {
    ("call_subagent", json!({"agent_name": agent, "instruction": instruction}))
}

fn give(agent: &str, task: &str) -> (&'static str, Value) {
    ("agent_delegate", json!({"agentId": agent, "task": task}))
}

fn hand(agent: &str, brief: &str) -> (&'static str, Value) {
    ("agent_handoff", json!({"agentId": agent, "brief": brief}))
}

fn give_back(result: &str) -> (&'static str, Value) {
    ("task_return", json!({"result": result}))
}

async fn codes(team: &Team, run: &haft_core::RunId) -> Vec<String> {
    let payloads = team.world.payloads(run).await.into_iter();
    let failed = payloads.filter_map(|payload| match payload {
        Payload::ToolCallFailed(body) => Some(format!("{} {}", body.alias, body.error_code)),
        _ => None,
    });
    failed.collect()
}

// DEL-01, DEL-02, DEL-18, EXE-02, CONFLICT-14, CONFLICT-15: the target works until it answers, and the caller goes on.
#[tokio::test]
async fn an_agent_is_called_and_its_text_is_the_result() {
    let mut team = Team::new(&["echo", "agent.call"]);
    team.agent("scout", &["echo"], |profile| profile.delegation.callable = false);
    team.agent("ghost", &[], |profile| profile.delegation.internal = true);
    let model = CrewModel::new(vec![
        (
            "root",
            vec![
                calls(vec![
                    sub("scout", "Look around."),
                    ("echo", json!({"text": "first"})),
                    sub("scout", "Again."),
                ]),
                calls(vec![sub("ghost", "Boo.")]),
                calls(vec![sub("nobody", "?")]),
                text("All done."),
            ],
        ),
        ("scout", vec![calls(vec![("echo", json!({"text": "seen"}))]), text("All quiet.")]),
    ]);
    let session = team.world.session().await;
    let outcome = team.prompt(&session, &model).await;
    assert_eq!((outcome.status, outcome.text.as_str()), (RunStatus::Completed, "All done."));
    insta::assert_snapshot!(journal(&team.world, &outcome.run).await);
    assert_eq!(team.world.logged(), ["echo first", "echo seen"]);
    let read = model.last_read("root");
    assert_eq!(
        read[1],
        "All quiet.\n---\n{\"text\":\"first\"}\n---\n## Tool error\n\n`scout` was not called: another agent was called in the same answer. Call it again if it is still needed."
    );
    // An internal agent is as good as none (DEL-01), and who is there is told.
    for (at, name) in [(2, "ghost"), (3, "nobody")] {
        let wanted = format!(
            "## Tool error\n\nThere is no agent `{name}` that can be called. The agents that can be called are `scout`."
        );
        assert_eq!(read[at], wanted);
    }
    // The agent has a conversation and a prompt of its own.
    let asked = model.asked("scout");
    assert_eq!(
        (asked[0].system.as_str(), asked[0].messages.clone()),
        ("You are scout.", vec![Message::User("Look around.".into())])
    );
    // The session's messages come from the root alone.
    let messages = haft_engine::conversation(team.world.store.as_ref(), session.id()).await.unwrap();
    let said: Vec<String> = messages
        .iter()
        .filter_map(|message| match message {
            Message::User(text) | Message::Assistant { text, .. } if !text.is_empty() => Some(text.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(said, ["Do it", "All done."]);
    session.close().await.unwrap();
}

// DEL-03, DEL-04, DEL-05, CTX-03, REG-10, CONFLICT-15, CONFLICT-30
#[tokio::test]
async fn children_work_side_by_side_with_a_few_turns_each() {
    let mut team = Team::new(&["echo", "look", "agent.multi"]);
    let again = || calls(vec![("echo", json!({"text": "x"}))]);
    let tasks = json!({"tasks": [
        {"name": "one", "instruction": "Count.", "tools": ["look"]},
        {"name": "two", "instruction": "Weigh."},
        {"name": "three", "instruction": "Fail."},
    ]});
    let model = CrewModel::new(vec![
        ("root", vec![calls(vec![("multi_agent", tasks)]), text("Done.")]),
        ("one", vec![text("One.")]),
        ("two", vec![again(), again(), text("Two, as far as I came.")]),
    ]);
    let outcome = team.run(&model).await;
    assert_eq!(outcome.status, RunStatus::Completed, "{outcome:?}");
    insta::assert_snapshot!(journal(&team.world, &outcome.run).await);
    let result: Value = serde_json::from_str(&model.last_read("root")[1]).unwrap();
    assert_eq!(
        result,
        json!({"success": true, "total": 3, "results": [
            {"task_name": "one", "success": true, "response": "One."},
            {"task_name": "two", "success": true, "response": "Two, as far as I came."},
            {"task_name": "three", "success": false,
             "error": "the script three has no turn left (model.script_exhausted); add a line or end the run earlier"},
        ]})
    );
    let tools = |name: &str, at: usize| -> Vec<String> {
        model.asked(name)[at].tools.iter().map(|tool| tool.alias.clone()).collect()
    };
    // A child has the tools that it is given, else the caller's, and never children of its own; none in its last turn.
    assert_eq!(
        (tools("one", 0), tools("two", 0)),
        (vec!["look".to_owned()], vec!["echo".to_owned(), "look".to_owned()])
    );
    assert_eq!((model.asked("two").len(), tools("two", 2)), (3, vec![]));
    assert!(model.asked("two").iter().all(|request| request.max_tokens == Some(4_096)));
    // Too many tasks and tools that nobody has start nothing.
    let task = |n: usize| json!({"name": format!("t{n}"), "instruction": "x"});
    let many: Vec<Value> = (0..6).map(task).collect();
    let model = CrewModel::new(vec![(
        "root",
        vec![
            calls(vec![("multi_agent", json!({"tasks": many}))]),
            calls(vec![(
                "multi_agent",
                json!({"tasks": [{"name": "a", "instruction": "b", "tools": ["echo", "sword"]}]}),
            )]),
            text("No."),
        ],
    )]);
    let outcome = team.run(&model).await;
    assert_eq!(
        codes(&team, &outcome.run).await,
        ["multi_agent agent.invalid_arguments", "multi_agent agent.invalid_arguments"]
    );
    assert!(model.last_read("root")[2].contains("there is no tool `sword`"));
    // Where the profile says so, children have children.
    team.world.profile.delegation.nested = true;
    let nest = |name: &str| ("multi_agent", json!({"tasks": [{"name": name, "instruction": "Go on."}]}));
    let model = CrewModel::new(vec![
        ("root", vec![calls(vec![nest("outer")]), text("Done.")]),
        ("outer", vec![calls(vec![nest("inner")]), text("Outer.")]),
        ("inner", vec![text("Inner.")]),
    ]);
    assert_eq!(team.run(&model).await.text, "Done.");
    assert!(model.last_read("outer")[1].contains("Inner."));
}

fn writers() -> Team {
    let tools = [
        "echo",
        "agent.list",
        "agent.delegate",
        "agent.handoff",
        "agent.await",
        "workspace.write_file",
        "workspace.commit",
        "workspace.finish",
    ];
    let mut team = Team::new(&tools);
    team.world.profile.delegation.can_handoff = true;
    team.agent("editor", &tools, |profile| profile.delegation.can_handoff = true);
    team.agent("critic", &tools, |profile| {
        profile.delegation.allow_as_handoff_target = false;
        profile.delegation.allowed_callers = Some(vec!["root".into()]);
    });
    team.agent("hermit", &tools, |profile| profile.delegation.callable = false);
    team
}

// DEL-06
#[tokio::test]
async fn agents_are_listed_by_what_they_may_do() {
    let team = writers();
    let list = |arguments: Value| ("agent_list", arguments);
    let model = CrewModel::new(vec![(
        "root",
        vec![
            calls(vec![
                list(json!({})),
                list(json!({"purpose": "handoff"})),
                list(json!({"query": "CRITIC does"})),
                list(json!({"limit": 1})),
                list(json!({"query": "nothing of that"})),
                list(json!({"limit": 21})),
            ]),
            text("Done."),
        ],
    )]);
    team.run(&model).await;
    let read = model.last_read("root")[1].clone();
    let parts: Vec<&str> = read.split("\n---\n").collect();
    assert_eq!(
        parts[..5],
        [
            "- `critic` (delegate): Does what critic does.\n- `editor` (delegate, handoff): Does what editor does.",
            "- `editor` (delegate, handoff): Does what editor does.",
            "- `critic` (delegate): Does what critic does.",
            "- `critic` (delegate): Does what critic does.\n(1 more; give a query or a higher limit.)",
            "No agent can be called for that. Do the work yourself.",
        ]
    );
    assert!(parts[5].starts_with("## Tool error"));
}

// DEL-07, DEL-08, DEL-12, DEL-13, DEL-14, DEL-17, DEL-16, SNP-05, SNP-07, SNP-11: a child in the background, whose result comes by itself.
#[tokio::test]
async fn a_background_task_returns_its_result_once() {
    let mut team = writers();
    team.agent(
        "critic",
        &["echo", "agent.delegate", "workspace.write_file", "workspace.commit", "workspace.finish"],
        |_| {},
    );
    let model = CrewModel::new(vec![
        (
            "root",
            vec![
                calls(vec![give("critic", "Read output/main.md."), give("editor", "Mend it.")]),
                calls(vec![("agent_await", json!({"taskIds": ["task_1"]}))]),
                calls(vec![("agent_await", json!({}))]),
                text("Done."),
            ],
        ),
        (
            "critic",
            vec![
                calls(vec![(
                    "workspace_write_file",
                    json!({"path": "scratch/notes.md", "content": "Weak.\n"}),
                )]),
                text("I am done."),
                calls(vec![(
                    "task_return",
                    json!({"result": "Three weak sentences.", "files": ["scratch/notes.md"]}),
                )]),
            ],
        ),
        ("editor", vec![calls(vec![give_back("Mended.")])]),
    ]);
    let outcome = team.run(&model).await;
    assert_eq!((outcome.status, outcome.text.as_str()), (RunStatus::Completed, "Done."));
    // SNP-05: no commit, no finish, no agents of its own; what it must end with is given by the host.
    let tools: Vec<String> = model.asked("critic")[0].tools.iter().map(|tool| tool.alias.clone()).collect();
    assert_eq!(tools, ["echo", "workspace_write_file", "task_return"]);
    // EXE-14: the reminder names the child's own ending.
    assert!(model.last_read("critic")[2].contains("`task_return`"), "{:?}", model.last_read("critic"));
    // Each result is told once: by the wait, or by itself before it.
    let read = model.last_read("root").join("\n");
    let all = model.read_by("root");
    for result in ["Three weak sentences.", "Mended."] {
        assert_eq!(all.matches(result).count(), 1, "{all}");
    }
    assert!(read.contains("Files: `summaries/task_1-result.md`, `scratch/notes.md`"), "{read}");
    // DEL-17
    let ended: Vec<_> = team
        .world
        .payloads(&outcome.run)
        .await
        .into_iter()
        .filter_map(|payload| match payload {
            Payload::InvocationEnded(body) => Some(body),
            _ => None,
        })
        .collect();
    assert_eq!(ended.len(), 2);
    for (body, result) in ended.iter().map(|body| (body, body.text.clone().unwrap())) {
        let paths: Vec<&str> = body.files.iter().map(|file| file.path.as_str()).collect();
        let summary = format!("workspace/summaries/{}-result.md@1", body.task);
        assert_eq!(paths, [format!("agent-results/{}.json", body.invocation), summary.clone()]);
        let file = team.world.store.file(&outcome.run, &summary).await.unwrap().unwrap();
        assert_eq!(file.bytes.unwrap(), result.as_bytes());
        // SNP-07: each invocation has its snapshot file.
        let snapshot = format!("input/invocations/{}/tool_snapshot.json", body.invocation);
        assert!(team.world.store.file(&outcome.run, &snapshot).await.unwrap().is_some());
    }
}

// COE-08: what the host decides is no argument; DEL-10: who may call whom.
#[tokio::test]
async fn runtime_fields_and_agents_that_may_not_be_called_are_refused() {
    let mut team = writers();
    team.world.profile.loops =
        haft_core::streak::LoopLimits { same_failures: 99, same_denials: 99, failed_batches: 99 };
    let mut all = Vec::new();
    for field in ["budget", "execution", "continuation", "invocationId"] {
        all.push(("agent_delegate", json!({"agentId": "editor", "task": "x", field: "y"})));
    }
    for field in ["execution", "continuation", "invocationId"] {
        all.push(("agent_handoff", json!({"agentId": "editor", "brief": "x", field: "y"})));
    }
    all.push(give("hermit", "x"));
    all.push(give("editor", &"x".repeat(8_001)));
    all.push(("agent_await", json!({"taskIds": ["task_9"]})));
    all.push(hand("critic", "x"));
    let single = all.into_iter().map(|one| calls(vec![one])).chain([text("Done.")]);
    let model = CrewModel::new(vec![("root", single.collect())]);
    let outcome = team.run(&model).await;
    let invalid = |tool: &str| format!("{tool} agent.invalid_arguments");
    let mut wanted: Vec<String> = (0..4).map(|_| invalid("agent_delegate")).collect();
    wanted.extend((0..3).map(|_| invalid("agent_handoff")));
    wanted.push("agent_delegate agent.not_callable".to_owned());
    wanted.push(invalid("agent_delegate"));
    wanted.push("agent_await agent.unknown_task".to_owned());
    wanted.push("agent_handoff agent.not_callable".to_owned());
    assert_eq!(codes(&team, &outcome.run).await, wanted);
    assert!(!team.world.kinds(&outcome.run).await.contains(&"agent_task_created".to_owned()));
}

// DEL-07 (its caps): eight background tasks a run, three at once.
#[tokio::test]
async fn background_tasks_are_few_and_take_turns() {
    let team = writers();
    let mut turns = vec![calls((0..9).map(|n| give("editor", &format!("Task {n}."))).collect())];
    turns.push(calls(vec![("agent_await", json!({}))]));
    turns.push(text("Done."));
    let editor = (0..8).map(|n| calls(vec![give_back(&format!("Result {n}."))])).collect();
    let model = CrewModel::new(vec![("root", turns), ("editor", editor)]);
    let outcome = team.run(&model).await;
    assert_eq!(codes(&team, &outcome.run).await, ["agent_delegate agent.too_many_tasks"]);
    let all = model.read_by("root");
    for n in 0..8 {
        assert_eq!(all.matches(&format!("Result {n}.")).count(), 1, "{n}");
    }
}

// DEL-09, DEL-10, DEL-11, SNP-06: another agent takes over in the same run; the conversation of the session is theirs together.
#[tokio::test]
async fn a_run_is_handed_over() {
    let team = writers();
    let model = CrewModel::new(vec![
        (
            "root",
            vec![
                calls(vec![hand("editor", "Too early."), ("echo", json!({"text": "after"}))]),
                calls(vec![give("critic", "Look.")]),
                calls(vec![hand("editor", "Still pending.")]),
                calls(vec![("agent_await", json!({}))]),
                calls(vec![hand("editor", "Finish the chapter.")]),
            ],
        ),
        ("critic", vec![calls(vec![("stays", json!({}))]), calls(vec![give_back("Fine.")])]),
        ("editor", vec![calls(vec![("echo", json!({"text": "edited"}))]), text("The chapter is finished.")]),
    ]);
    let session = team.world.session().await;
    let outcome = team.prompt(&session, &model).await;
    assert_eq!((outcome.status, outcome.text.as_str()), (RunStatus::Completed, "The chapter is finished."));
    let codes = codes(&team, &outcome.run).await;
    assert_eq!(codes[0], "agent_handoff agent.tool_after_finish");
    assert!(
        codes.contains(&"agent_handoff agent.handoff_pending_tasks".to_owned()) || codes.len() == 2,
        "{codes:?}"
    );
    let opening =
        "The person asked:\n\nDo it\n\nYou take over from the agent `root`, who says:\n\nFinish the chapter.";
    assert_eq!(model.asked("editor")[0].messages, [Message::User(opening.into())]);
    let messages = haft_engine::conversation(team.world.store.as_ref(), session.id()).await.unwrap();
    assert!(messages.contains(&Message::User(opening.into())), "{messages:#?}");
    assert!(
        matches!(messages.last(), Some(Message::Assistant { text, .. }) if text == "The chapter is finished.")
    );
    session.close().await.unwrap();
}

// DEL-10: the depth of handoffs.
#[tokio::test]
async fn a_run_is_handed_over_a_few_times_only() {
    let mut team = writers();
    let tools = ["agent.handoff"];
    for name in ["left", "right"] {
        team.agent(name, &tools, |profile| profile.delegation.can_handoff = true);
    }
    let pass = |to: &str| calls(vec![hand(to, "Your turn.")]);
    let mut left: Vec<_> = (0..5).map(|_| pass("right")).collect();
    left.push(text("I finish."));
    let mut right: Vec<_> = (0..5).map(|_| pass("left")).collect();
    right.push(text("I finish."));
    let model = CrewModel::new(vec![("root", vec![pass("left")]), ("left", left), ("right", right)]);
    let outcome = team.run(&model).await;
    let kinds = team.world.kinds(&outcome.run).await;
    assert_eq!(kinds.iter().filter(|kind| *kind == "agent_task_created").count(), 8);
    assert_eq!(codes(&team, &outcome.run).await[0], "agent_handoff agent.too_many_tasks");
    // A target may be stricter than the run.
    team.agent("once", &tools, |profile| profile.delegation.max_handoff_depth = 1);
    team.agent("left", &tools, |profile| profile.delegation.can_handoff = true);
    let model = CrewModel::new(vec![
        ("root", vec![pass("left")]),
        ("left", vec![pass("once"), text("Then I finish.")]),
    ]);
    assert_eq!(team.run(&model).await.text, "Then I finish.");
}

// DEL-15: the root may end while children work; they are stopped, and the run waits for their ends.
#[tokio::test]
async fn what_still_works_when_the_run_ends_is_stopped() {
    let mut team = writers();
    team.agent("slow", &["writes"], |_| {});
    let model = CrewModel::new(vec![
        (
            "root",
            vec![calls(vec![give("slow", "Never end."), ("yielding", json!({}))]), text("I do not wait.")],
        ),
        ("slow", vec![calls(vec![("writes", json!({}))])]),
    ]);
    team.world.profile.tools.allow.push(ToolId::builtin("yielding"));
    let outcome = team.run(&model).await;
    assert_eq!((outcome.status, outcome.text.as_str()), (RunStatus::Completed, "I do not wait."));
    let payloads = team.world.payloads(&outcome.run).await;
    let ended = payloads.iter().find_map(|payload| match payload {
        Payload::InvocationEnded(body) => Some((body.status, body.error_code.clone())),
        _ => None,
    });
    assert_eq!(ended, Some((RunStatus::Cancelled, Some("agent.run_cancelled".to_owned()))));
    assert!(matches!(payloads.last(), Some(Payload::RunEnded(_))));
}

/// Answers every question with a yes for the session.
struct SaysYes(Arc<ConsentService>, std::sync::Mutex<Vec<Question>>);

impl ConsentSurface for SaysYes {
    fn name(&self) -> &str {
        "test"
    }

    fn show(&self, question: &Question) {
        self.1.lock().unwrap().push(question.clone());
        let answer = Answer::Session { scope: Scope::Tool };
        self.0.answer(&question.id, Reply::to(question, answer, "test")).unwrap();
    }

    fn close(&self, _: &ConsentId, _: &Closing) {}
}

// Complaint 14: a child's question reaches the surface of the root run, and what was granted once holds for all agents of the session.
#[tokio::test]
async fn a_child_asks_the_person_of_the_root_run() {
    let mut team = Team::new(&["asks", "agent.call"]);
    team.agent("scout", &["asks"], |profile| profile.tools.permission.clear());
    let ask = || calls(vec![("asks", json!({"text": "go"}))]);
    let model = CrewModel::new(vec![
        ("root", vec![calls(vec![sub("scout", "Ask.")]), ask(), text("Done.")]),
        ("scout", vec![ask(), ask(), text("Asked.")]),
    ]);
    let session = team.world.session().await;
    let surface = Arc::new(SaysYes(team.world.engine.consent().clone(), Default::default()));
    let session_only = haft_engine::Audience::Session(session.id().clone());
    let id = team.world.engine.consent().attach_to(surface.clone(), session_only);
    let outcome = team.prompt(&session, &model).await;
    team.world.engine.consent().detach(id);
    assert_eq!(outcome.status, RunStatus::Completed);
    let questions = surface.1.lock().unwrap().clone();
    assert_eq!(questions.len(), 1, "{questions:#?}");
    let child = team.world.payloads(&outcome.run).await.into_iter().find_map(|payload| match payload {
        Payload::AgentTaskCreated(body) => Some(body.invocation),
        _ => None,
    });
    assert_eq!((&questions[0].run, &questions[0].invocation), (&outcome.run, &child));
    assert_eq!(team.world.logged(), ["asks go", "asks go", "asks go"]);
    session.close().await.unwrap();
}

// A child never gets round a question that its caller would have to ask.
#[tokio::test]
async fn what_the_caller_must_ask_its_agents_must_ask() {
    let mut team = Team::new(&["put", "agent.call"]);
    team.world.profile.tools.permission.insert(ToolId::builtin("put"), haft_core::facts::Permission::Ask);
    team.agent("scout", &["put"], |_| {});
    let model = CrewModel::new(vec![
        ("root", vec![calls(vec![sub("scout", "Put.")]), text("Done.")]),
        ("scout", vec![calls(vec![("put", json!({"text": "a", "size": 1}))]), text("I could not.")]),
    ]);
    let outcome = team.run(&model).await;
    assert_eq!(codes(&team, &outcome.run).await, ["put agent.tool_denied"]);
}

// Content from outside that an agent brought makes the calls of the root ask again.
#[tokio::test]
async fn what_an_agent_brings_from_outside_counts_for_all() {
    let mut team = Team::new(&["send", "agent.call"]);
    team.world.profile.taint.ask = true;
    team.agent("scout", &["fetch"], |_| {});
    let model = CrewModel::new(vec![
        (
            "root",
            vec![
                calls(vec![("send", json!({"text": "before"}))]),
                calls(vec![sub("scout", "Fetch.")]),
                calls(vec![("send", json!({"text": "after"}))]),
                text("Done."),
            ],
        ),
        ("scout", vec![calls(vec![("fetch", json!({"text": "page"}))]), text("Strange words.")]),
    ]);
    let outcome = team.run(&model).await;
    assert_eq!(codes(&team, &outcome.run).await, ["send agent.tool_denied"]);
    assert_eq!(team.world.logged(), ["send before", "fetch page"]);
}

// DEL-08, CONFLICT-30: a child takes from its own budget and from the run's.
#[tokio::test]
async fn a_childs_calls_are_paid_by_the_run_too() {
    let mut team = Team::new(&["echo", "agent.call"]);
    team.world.profile.budgets.calls = 4;
    team.agent("scout", &["echo"], |profile| profile.budgets.calls = 2);
    let echo = || calls(vec![("echo", json!({"text": "x"}))]);
    let model = CrewModel::new(vec![
        ("root", vec![calls(vec![sub("scout", "Go.")]), echo(), echo(), text("Summed up.")]),
        ("scout", vec![echo(), echo(), echo(), text("My own are used up.")]),
    ]);
    let outcome = team.run(&model).await;
    // One for the call, two of the child, one of the root; nothing is left for its second.
    let used_up = "echo agent.tool_budget_exhausted";
    assert_eq!(codes(&team, &outcome.run).await, [used_up, used_up]);
    assert_eq!(team.world.logged().len(), 3);
    assert_eq!(outcome.status, RunStatus::PartialSuccess);
}

// GAT-06, EXE-16: a child that never returns fails, and its caller is told.
#[tokio::test]
async fn a_child_that_never_returns_fails() {
    let mut team = writers();
    team.agent("idle", &[], |profile| profile.budgets.rounds = 2);
    let model = CrewModel::new(vec![
        (
            "root",
            vec![calls(vec![give("idle", "Work.")]), calls(vec![("agent_await", json!({}))]), text("Done.")],
        ),
        ("idle", vec![text("Hm."), text("Hm.")]),
    ]);
    let outcome = team.run(&model).await;
    let payloads = team.world.payloads(&outcome.run).await;
    let ended = payloads.iter().find_map(|payload| match payload {
        Payload::InvocationEnded(body) => Some((body.status, body.error_code.clone())),
        _ => None,
    });
    assert_eq!(ended, Some((RunStatus::Failed, Some("model.tool_call_required".to_owned()))));
    assert!(model.last_read("root").join("\n").contains("### task_1 (`idle`): failed"));
}

// design.md §6: without a run there are no agents.
#[tokio::test]
async fn a_single_call_has_no_agents() {
    let team = Team::new(&["agent.call", "agent.list"]);
    let session = team.world.session().await;
    let one = support::call("call_subagent", json!({"agent_name": "a", "instruction": "b"}));
    let outcomes = session.calls(vec![one], team.options()).wait().await.unwrap();
    assert_eq!(outcomes[0].result.error_code.as_ref().unwrap().as_str(), "agent.not_in_loop");
    session.close().await.unwrap();
}

// DEL-14: nobody may allow what the host alone gives.
#[tokio::test]
async fn no_profile_may_allow_task_return() {
    let mut team = Team::new(&["task.return"]);
    let session = team.world.session().await;
    let model = CrewModel::new(vec![("root", vec![text("?")])]);
    let error = session.prompt("x".into(), model.clone(), team.options()).wait().await.unwrap_err();
    assert!(error.to_string().contains("`builtin:task.return` cannot be allowed"), "{error}");
    session.close().await.unwrap();
    // An agent whose profile cannot be used is told to the caller, and nothing begins.
    team.world.profile = crew::profile("root", &["agent.call"]);
    team.agent("broken", &["task.return"], |_| {});
    let turns = vec![calls(vec![sub("broken", "x")]), calls(vec![sub("unreadable", "x")]), text("Done.")];
    let model = CrewModel::new(vec![("root", turns)]);
    let outcome = team.run(&model).await;
    let code = "call_subagent agent.not_callable";
    assert_eq!(codes(&team, &outcome.run).await, [code, code]);
    assert_eq!(outcome.status, RunStatus::Completed);
}

// The journal of a run of kind `agent` whose second agent finishes what the first began (C).
#[tokio::test]
async fn a_writing_run_with_a_critic_and_an_editor() {
    let mut team = writers();
    team.world.profile.run_kind = RunKind::Agent;
    let write =
        |path: &str, content: &str| ("workspace_write_file", json!({"path": path, "content": content}));
    team.agent("editor", &["workspace.write_file", "workspace.commit", "workspace.finish"], |profile| {
        profile.run_kind = RunKind::Agent;
    });
    let model = CrewModel::new(vec![
        (
            "root",
            vec![
                calls(vec![write("output/main.md", "Once.\n")]),
                calls(vec![give("critic", "Read output/main.md.")]),
                calls(vec![("agent_await", json!({}))]),
                calls(vec![hand("editor", "Make it longer, commit it, finish.")]),
            ],
        ),
        ("critic", vec![calls(vec![give_back("Too short.")])]),
        (
            "editor",
            vec![calls(vec![
                write("output/more.md", "Once upon a time.\n"),
                ("workspace_commit", json!({"path": "output/more.md"})),
                ("workspace_finish", json!({})),
            ])],
        ),
    ]);
    let outcome = team.run(&model).await;
    assert_eq!((outcome.status, outcome.text.as_str()), (RunStatus::Completed, "Once upon a time.\n"));
    insta::assert_snapshot!(journal(&team.world, &outcome.run).await);
}
