//! Section 7.1: listing, delegating, awaiting, returning.

use haft_core::ToolId;
use haft_core::journal::{Payload, RunStatus};
use haft_core::workspace::{WorkspaceRoot, WorkspaceRoots};
use serde_json::{Value, json};

use crate::crew::{CrewModel, Team, calls, text};
use crate::tavern::{
    FILES, ask, await_all, bodies, delegate, failures, files_and_agents, give_back, hand_over, one, read,
    records, stored, stored_results, tavern, thinking,
};
use crate::writing::{commit, finish, write};

fn end() -> crate::tavern::Turn {
    calls(vec![write("output/main.md", "x"), commit(), finish()])
}

fn parameters(team: &Team, tool: &str) -> Vec<String> {
    let tool = team.world.engine.registry().get(&ToolId::builtin(tool)).unwrap();
    let schema = tool.declaration().descriptor.input_schema.as_value().clone();
    assert_eq!(schema["additionalProperties"], json!(false));
    schema["properties"].as_object().unwrap().keys().cloned().collect()
}

// DES-06, DES-07, COE-08, DEL-07, DEL-09: what the tools are and take; budgets and ids are no arguments of anybody.
#[test]
fn the_tools_of_agents_take_a_name_and_a_brief() {
    let team = tavern(&files_and_agents());
    assert_eq!(parameters(&team, "agent.delegate"), ["agentId", "task"]);
    assert_eq!(parameters(&team, "agent.handoff"), ["agentId", "brief"]);
    assert_eq!(parameters(&team, "agent.list"), ["purpose", "query", "limit"]);
    assert_eq!(parameters(&team, "agent.await"), ["taskIds", "timeoutSeconds"]);
    let effect = |tool: &str| {
        let tool = team.world.engine.registry().get(&ToolId::builtin(tool)).unwrap();
        let effect = tool.declaration().facts.effect;
        (effect.writes(), effect.controls())
    };
    let table = [
        ("agent.list", (false, false)),
        ("agent.delegate", (true, true)),
        ("agent.handoff", (true, true)),
        ("agent.await", (false, true)),
        ("workspace.list_files", (false, false)),
        ("workspace.search_files", (false, false)),
        ("workspace.read_file", (false, false)),
        ("workspace.write_file", (true, false)),
        ("workspace.apply_patch", (true, false)),
        ("workspace.commit", (true, true)),
        ("workspace.finish", (false, true)),
        ("chat.search", (false, false)),
        ("chat.read_messages", (false, false)),
        ("skill.list", (false, false)),
        ("skill.search", (false, false)),
        ("skill.read", (false, false)),
        ("worldinfo.read_activated", (false, false)),
        ("dice.roll", (false, false)),
    ];
    for (tool, expected) in table {
        assert_eq!(effect(tool), expected, "{tool}");
    }
    let said = |tool: &str| {
        let tool = team.world.engine.registry().get(&ToolId::builtin(tool)).unwrap();
        let descriptor = &tool.declaration().descriptor;
        format!("{} {}", descriptor.description, descriptor.input_schema.as_value()).to_lowercase()
    };
    for word in ["workspace path", "file", "artifact"] {
        assert!(said("agent.delegate").contains(word), "{word}");
    }
    for word in ["objective", "workspace path", "context", "constraints", "complet"] {
        assert!(said("agent.handoff").contains(word), "{word}");
    }
}

// DEL-06, DEL-10: who is listed and who may be called depends on who asks.
#[tokio::test]
async fn who_may_be_called_depends_on_the_caller() {
    let mut team = tavern(&files_and_agents());
    let tools = files_and_agents();
    team.agent("editor", &tools, |_| {});
    team.agent("friend", &["echo"], |profile| {
        profile.delegation.allowed_callers = Some(vec!["editor".into()]);
    });
    team.agent("hermit", &["echo"], |profile| profile.delegation.callable = false);
    team.agent("clerk", &["echo"], |profile| profile.delegation.allow_as_handoff_target = false);
    let list = |arguments: Value| ("agent_list", arguments);
    let model = CrewModel::new(vec![
        (
            "root",
            vec![
                calls(vec![
                    list(json!({})),
                    list(json!({"purpose": "handoff"})),
                    delegate("friend", "x"),
                    delegate("hermit", "x"),
                    hand_over("clerk", "x"),
                ]),
                one(hand_over("friend", "x")),
                one(hand_over("hermit", "x")),
                one(hand_over("editor", "Go on.")),
            ],
        ),
        (
            "editor",
            vec![
                calls(vec![list(json!({"purpose": "delegate"})), delegate("friend", "Say hello.")]),
                one(await_all()),
                // It may not hand over itself.
                one(hand_over("friend", "x")),
                end(),
            ],
        ),
        ("friend", vec![one(give_back("Hello."))]),
    ]);
    let outcome = team.run(&model).await;
    assert_eq!(outcome.status, RunStatus::Completed);
    let not = |alias: &str| format!("{alias} agent.not_callable");
    assert_eq!(
        failures(&team, &outcome.run).await,
        [
            not("agent_delegate"),
            not("agent_delegate"),
            not("agent_handoff"),
            not("agent_handoff"),
            not("agent_handoff"),
            "agent_handoff agent.tool_denied".to_owned(),
        ]
    );
    let root = bodies(&model, "root");
    assert_eq!(
        root[0],
        "- `clerk` (delegate): Does what clerk does.\n- `editor` (delegate, handoff): Does what editor does."
    );
    assert_eq!(root[1], "- `editor` (delegate, handoff): Does what editor does.");
    // Nobody can be handed over to by somebody who may not hand over.
    assert_eq!(
        bodies(&model, "editor")[0],
        "- `clerk` (delegate): Does what clerk does.\n- `editor` (delegate): Does what editor does.\n\
         - `friend` (delegate): Does what friend does."
    );
}

// DEL-07, DEL-12: delegating returns at once; awaiting drives nothing, tells how far a task is, and leaves the structured result for
// audit.
#[tokio::test]
async fn delegating_does_not_block_and_awaiting_only_looks() {
    let mut team = tavern(&files_and_agents());
    team.agent("slow", &["echo"], |_| {});
    let look = || ("agent_await", json!({"timeoutSeconds": 0}));
    let give = |n: u32| delegate("slow", &format!("Task {n}."));
    let model = thinking(vec![
        (
            "root",
            vec![
                (0, calls(vec![give(1), give(2), give(3), give(4), look()])),
                (0, one(await_all())),
                (0, one(("agent_await", json!({"taskIds": ["task_2", "task_4"]})))),
                (0, end()),
            ],
        ),
        ("slow", (0..4).map(|_| (50, one(give_back("Done.")))).collect()),
    ]);
    let outcome = team.run(&model).await;
    assert_eq!(outcome.status, RunStatus::Completed);
    let bodies = bodies(&model, "root");
    assert_eq!(
        bodies[0],
        "`slow` works on task_1 in the background. Go on with your own work. `agent_await` waits for it; its result also comes to you \
         by itself."
    );
    // None of them can be over when it is looked how far they are; that waits for nothing.
    let states: Vec<&str> = bodies[4]
        .lines()
        .filter_map(|line| line.strip_prefix("### ")?.rsplit_once(": "))
        .map(|it| it.1)
        .collect();
    assert_eq!(states.len(), 4, "{}", bodies[4]);
    assert!(states.iter().all(|state| ["queued", "running"].contains(state)), "{states:?}");
    assert!(bodies[4].ends_with("(4 of 4 not done yet. Their results come to you by themselves.)"));
    insta::assert_snapshot!([&bodies[5], &bodies[6]].map(String::as_str).join("\n=====\n"));
    // All of them were begun before the first was asked anything: nobody waited.
    let kinds: Vec<(String, Value)> = records(&team, &outcome.run)
        .await
        .iter()
        .map(|record| (record.kind.clone(), record.payload_value().unwrap()))
        .collect();
    let created = kinds.iter().rposition(|(kind, _)| kind == "agent_task_created").unwrap();
    let ended = kinds.iter().position(|(kind, _)| kind == "invocation_ended").unwrap();
    assert!(created < ended);
    let results = stored_results(&team, &outcome.run).await;
    let waited = results.iter().filter(|result| result.alias == "agent_await").nth(1).unwrap();
    let tasks = waited.structured.as_ref().unwrap()["tasks"].as_array().unwrap().clone();
    let states: Vec<(&Value, &Value)> = tasks.iter().map(|task| (&task["taskId"], &task["status"])).collect();
    let completed = json!("completed");
    assert_eq!(
        states,
        [
            (&json!("task_1"), &completed),
            (&json!("task_2"), &completed),
            (&json!("task_3"), &completed),
            (&json!("task_4"), &completed)
        ]
    );
}

// DEL-12: an agent sees its own tasks alone.
#[tokio::test]
async fn nobody_awaits_the_tasks_of_another() {
    let mut team = tavern(&files_and_agents());
    let tools = files_and_agents();
    team.agent("editor", &tools, |_| {});
    team.agent("critic", &["echo"], |_| {});
    let model = CrewModel::new(vec![
        (
            "root",
            vec![one(delegate("critic", "Judge.")), one(await_all()), one(hand_over("editor", "Go on."))],
        ),
        ("critic", vec![one(give_back("Good."))]),
        ("editor", vec![calls(vec![("agent_await", json!({"taskIds": ["task_1"]})), await_all()]), end()]),
    ]);
    let outcome = team.run(&model).await;
    assert_eq!(outcome.status, RunStatus::Completed);
    assert_eq!(failures(&team, &outcome.run).await, ["agent_await agent.unknown_task"]);
    assert_eq!(
        bodies(&model, "editor")[..2],
        [
            "## Tool error\n\nThere is no task `task_1`: you have given none.".to_owned(),
            "You have given no task.".to_owned()
        ]
    );
}

// DEL-13: a result comes into the next request after a turn of calls, once, whether anybody waits for it or not.
#[tokio::test]
async fn a_result_comes_by_itself_and_once() {
    let tools: Vec<&str> = files_and_agents().into_iter().chain(["yielding"]).collect();
    let mut team = tavern(&tools);
    team.agent("critic", &["echo"], |_| {});
    let model = thinking(vec![
        (
            "root",
            vec![
                (0, one(delegate("critic", "Judge."))),
                (200, one(("yielding", json!({})))),
                (0, one(("yielding", json!({})))),
                (0, one(await_all())),
                (0, end()),
            ],
        ),
        ("critic", vec![(0, one(give_back("Three weak sentences.")))]),
    ]);
    let outcome = team.run(&model).await;
    assert_eq!(outcome.status, RunStatus::Completed);
    let told = "(Note from the host: tasks that you gave have ended.)\n\n### task_1 (`critic`): completed\n\nThree weak sentences.\n\n\
                Files: `summaries/task_1-result.md`";
    let read = model.last_read("root");
    assert_eq!(read[2], told);
    assert_eq!(model.read_by("root").matches("Three weak sentences.").count(), 1);
    // The record of that request tells it too, so that the conversation can be read back.
    let payloads = team.world.payloads(&outcome.run).await;
    let recorded: Vec<Vec<String>> = payloads
        .iter()
        .filter_map(|payload| match payload {
            Payload::ModelRequestCreated(body) if !body.told.is_empty() => Some(body.told.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(recorded, [vec![told.to_owned()]]);
}

// DEL-14, DEL-16, DEL-17, DES-08: a child works under the same paths, within its own roots; what it returns lies under two names.
#[tokio::test]
async fn a_child_shares_the_paths_and_has_roots_of_its_own() {
    let mut team = tavern(&files_and_agents());
    team.agent("critic", &FILES, |profile| {
        let seen = [WorkspaceRoot::Output, WorkspaceRoot::Summaries, WorkspaceRoot::Scratch];
        profile.workspace = WorkspaceRoots::new(&seen, &[WorkspaceRoot::Summaries, WorkspaceRoot::Scratch]);
    });
    let model = CrewModel::new(vec![
        (
            "root",
            vec![
                calls(vec![write("output/song.md", "The sea."), write("plan/p.md", "x")]),
                one(delegate("critic", "Read output/song.md and note what is weak.")),
                one(await_all()),
                calls(vec![read("scratch/notes.md"), read("summaries/task_1-result.md")]),
                end(),
            ],
        ),
        (
            "critic",
            vec![
                calls(vec![
                    read("output/song.md"),
                    read("plan/p.md"),
                    write("output/song.md", "Mine."),
                    write("scratch/notes.md", "Short."),
                ]),
                one(("task_return", json!({"result": "Too short.", "files": ["scratch/notes.md"]}))),
            ],
        ),
    ]);
    let outcome = team.run(&model).await;
    assert_eq!(outcome.status, RunStatus::Completed);
    assert_eq!(
        failures(&team, &outcome.run).await,
        [
            "workspace_read_file workspace.path_not_visible",
            "workspace_write_file workspace.path_not_writable",
        ]
    );
    assert_eq!(bodies(&model, "critic")[0], "The sea.");
    let root = bodies(&model, "root");
    assert_eq!(root[4..6], ["Short.".to_owned(), "Too short.".to_owned()]);
    // It is told whose folders are for what, by paths alone.
    let asked = model.asked("critic");
    let opening = &model.last_read("critic")[0];
    assert_eq!(
        opening,
        "Read output/song.md and note what is weak.\n\n(You work on this task for another agent. Keep notes of your own under \
         summaries/ or scratch/; write under other folders only where the task asks for a file or an edit. End your work with \
         `task_return`: its result is all that the other agent reads.)"
    );
    let said: String = asked[0].tools.iter().map(|tool| tool.description.clone()).collect();
    for word in ["sha256", "invocation", "physical", "i_0"] {
        assert!(!said.contains(word) && !opening.contains(word), "{word}");
    }
    let payloads = team.world.payloads(&outcome.run).await;
    let ended = payloads.iter().find_map(|payload| match payload {
        Payload::InvocationEnded(body) => Some(body.clone()),
        _ => None,
    });
    let path = format!("agent-results/{}.json", ended.unwrap().invocation);
    let result: Value = serde_json::from_str(&stored(&team, &outcome.run, &path).await.unwrap()).unwrap();
    assert_eq!(
        (&result["result"], &result["files"], &result["agent"]),
        (&json!("Too short."), &json!(["scratch/notes.md"]), &json!("critic"))
    );
}

// DEL-08, CONFLICT-30: the budget of a child is its own profile's; the brief is all that a caller can say.
#[tokio::test]
async fn a_childs_budget_is_its_own_profiles() {
    let mut team = tavern(&files_and_agents());
    team.world.profile.budgets.rounds = 9;
    team.agent("critic", &["echo"], |profile| profile.budgets.rounds = 3);
    let echo = || one(("echo", json!({"text": "x"})));
    let model = CrewModel::new(vec![
        ("root", vec![one(delegate("critic", "Take a thousand turns.")), one(await_all()), end()]),
        ("critic", vec![echo(), echo(), echo(), echo()]),
    ]);
    let outcome = team.run(&model).await;
    assert_eq!(outcome.status, RunStatus::Completed);
    assert_eq!(model.asked("critic").len(), 3);
    let body = &bodies(&model, "root")[1];
    assert!(body.starts_with("### task_1 (`critic`): failed"), "{body}");
}

// DEL-07, CONFLICT-15: agents call agents eight deep and no deeper.
#[tokio::test]
async fn agents_call_agents_eight_deep() {
    let mut team = tavern(&["agent.call", "workspace.write_file", "workspace.commit", "workspace.finish"]);
    let names: Vec<String> = (1..=9).map(|depth| format!("deep{depth}")).collect();
    for name in &names {
        team.agent(name, &["agent.call"], |_| {});
    }
    let mut script = vec![("root", vec![one(ask("deep1", "Down.")), end()])];
    for (at, name) in names.iter().enumerate() {
        let mut turns = Vec::new();
        if let Some(below) = names.get(at + 1) {
            turns.push(one(ask(below, "Down.")));
        }
        turns.push(text(&format!("{name} is back.")));
        script.push((name.as_str(), turns));
    }
    let model = CrewModel::new(script);
    let outcome = team.run(&model).await;
    assert_eq!(outcome.status, RunStatus::Completed);
    assert_eq!(failures(&team, &outcome.run).await, ["call_subagent agent.too_many_tasks"]);
    assert_eq!(
        bodies(&model, "deep8"),
        ["## Tool error\n\n`deep9` cannot be called: agents call each other 8 deep at most."]
    );
    assert!(model.asked("deep9").is_empty());
    assert_eq!(bodies(&model, "root")[0], "deep1 is back.");
}

// DEL-15: a finish stops the tasks that the agent gave; the run waits for their ends, and nothing of them is lost or kept by halves.
#[tokio::test]
async fn a_finish_stops_what_still_works() {
    let tools: Vec<&str> = files_and_agents().into_iter().chain(["yielding"]).collect();
    let mut team = tavern(&tools);
    team.agent("slow", &["writes", "workspace.write_file"], |_| {});
    let model = thinking(vec![
        (
            "root",
            vec![
                (
                    0,
                    calls(vec![
                        write("output/main.md", "x"),
                        commit(),
                        delegate("slow", "Never end."),
                        delegate("slow", "Nor you."),
                    ]),
                ),
                // It waits for nothing that they do.
                (100, one(finish())),
            ],
        ),
        (
            "slow",
            (0..2)
                .flat_map(|_| [(0, one(write("scratch/n.md", "n"))), (0, one(("writes", json!({}))))])
                .collect(),
        ),
    ]);
    let outcome = team.run(&model).await;
    assert_eq!((outcome.status, outcome.text.as_str()), (RunStatus::Completed, "x"));
    let payloads = team.world.payloads(&outcome.run).await;
    let ends: Vec<(RunStatus, Option<String>)> = payloads
        .iter()
        .filter_map(|payload| match payload {
            Payload::InvocationEnded(body) => Some((body.status, body.error_code.clone())),
            _ => None,
        })
        .collect();
    let stopped = (RunStatus::Cancelled, Some("agent.run_cancelled".to_owned()));
    assert_eq!(ends, [stopped.clone(), stopped]);
    assert!(matches!(payloads.last(), Some(Payload::RunEnded(_))));
    // No tool with which a model could stop a task.
    let tools: Vec<String> = model.asked("root")[0].tools.iter().map(|tool| tool.alias.clone()).collect();
    assert!(tools.iter().all(|alias| !alias.contains("cancel") && !alias.contains("stop")), "{tools:?}");
}
