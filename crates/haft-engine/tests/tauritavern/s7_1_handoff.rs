//! Section 7.1: handing a run over.

use haft_core::ToolId;
use haft_core::journal::{Payload, RunStatus, TaskKind};
use haft_core::message::Message;
use serde_json::json;

use crate::crew::{CrewModel, calls};
use crate::tavern::{
    FILES, await_all, bodies, commit_of, delegate, failures, files_and_agents, give_back, hand_over, one,
    read, tavern, thinking,
};
use crate::writing::{chat, commit, finish, write};

// DEL-09, DEL-11, SNP-06, WSP-23: the target goes on in the same run with tools of its own; the caller is asked nothing more and reads
// no summary; the commits of both are in one message.
#[tokio::test]
async fn an_agent_takes_over_in_the_same_run() {
    let mut team = tavern(&files_and_agents());
    team.agent("editor", &FILES, |profile| {
        profile.tools.alias.insert(ToolId::builtin("workspace.commit"), "publish".into());
    });
    let model = CrewModel::new(vec![
        (
            "root",
            vec![
                calls(vec![write("output/main.md", "First."), commit()]),
                one(hand_over("editor", "Make it better.")),
            ],
        ),
        (
            "editor",
            vec![
                one(read("output/main.md")),
                calls(vec![
                    ("workspace_write_file", json!({"path": "output/main.md", "content": "Second."})),
                    ("publish", json!({})),
                    finish(),
                ]),
            ],
        ),
    ]);
    let session = team.world.session().await;
    let outcome = team.prompt(&session, &model).await;
    assert_eq!((outcome.status, outcome.text.as_str()), (RunStatus::Completed, "Second."));
    assert_eq!(model.asked("root").len(), 2);
    assert_eq!(chat(&team.world, session.id()).await, ["user: Do it", "assistant: Second."]);
    let payloads = team.world.payloads(&outcome.run).await;
    let tasks: Vec<(TaskKind, String, String)> = payloads
        .iter()
        .filter_map(|payload| match payload {
            Payload::AgentTaskCreated(body) => Some((body.kind, body.agent.clone(), body.brief.clone())),
            _ => None,
        })
        .collect();
    assert_eq!(tasks, [(TaskKind::Handoff, "editor".to_owned(), "Make it better.".to_owned())]);
    let kinds = team.world.kinds(&outcome.run).await;
    let of = |kind: &str| kinds.iter().filter(|one| *one == kind).count();
    assert_eq!((of("run_started"), of("context_assembled"), of("run_ended")), (1, 2, 1));
    let messages: Vec<u64> = payloads
        .iter()
        .filter_map(|payload| match payload {
            Payload::ChatCommitted(body) => Some(body.message),
            _ => None,
        })
        .collect();
    assert_eq!(messages, [1, 1]);
    session.close().await.unwrap();
}

// DEL-10: each of the conditions alone is enough to refuse, and all of them are recoverable.
#[tokio::test]
async fn each_condition_of_a_handoff_holds_alone() {
    let cases: [(&str, &str); 5] = [
        ("no_handoff", "agent.tool_denied"),
        ("not_callable", "agent.not_callable"),
        ("no_target", "agent.not_callable"),
        ("other_callers", "agent.not_callable"),
        ("no_depth", "agent.too_many_tasks"),
    ];
    for (case, code) in cases {
        let mut team = tavern(&files_and_agents());
        team.world.profile.delegation.can_handoff = case != "no_handoff";
        team.agent("editor", &FILES, |profile| {
            profile.delegation.callable = case != "not_callable";
            profile.delegation.allow_as_handoff_target = case != "no_target";
            if case == "other_callers" {
                profile.delegation.allowed_callers = Some(vec!["somebody".into()]);
            }
            if case == "no_depth" {
                profile.delegation.max_handoff_depth = 0;
            }
        });
        let model = CrewModel::new(vec![(
            "root",
            vec![
                one(hand_over("editor", "Finish.")),
                calls(vec![write("output/main.md", "x"), commit(), finish()]),
            ],
        )]);
        let outcome = team.run(&model).await;
        assert_eq!(outcome.status, RunStatus::Completed, "{case}");
        assert_eq!(failures(&team, &outcome.run).await, [format!("agent_handoff {code}")], "{case}");
        assert!(model.asked("editor").is_empty(), "{case}");
    }
    // The tool must be visible as well.
    let tools: Vec<&str> = files_and_agents().into_iter().filter(|tool| *tool != "agent.handoff").collect();
    let mut team = tavern(&tools);
    team.agent("editor", &FILES, |_| {});
    let model = CrewModel::new(vec![(
        "root",
        vec![
            one(hand_over("editor", "Finish.")),
            calls(vec![write("output/main.md", "x"), commit(), finish()]),
        ],
    )]);
    let outcome = team.run(&model).await;
    assert_eq!(failures(&team, &outcome.run).await, ["agent_handoff agent.unknown_tool"]);
}

// DEL-11: with a task that is not over, an agent cannot hand over; awaiting it is the way out.
#[tokio::test]
async fn a_task_that_is_not_over_holds_the_handoff() {
    let mut team = tavern(&files_and_agents());
    team.agent("editor", &FILES, |_| {});
    team.agent("critic", &["echo"], |_| {});
    let model = thinking(vec![
        (
            "root",
            vec![
                (0, calls(vec![delegate("critic", "Judge."), hand_over("editor", "Finish.")])),
                (0, one(await_all())),
                (0, one(hand_over("editor", "Finish."))),
            ],
        ),
        ("critic", vec![(100, one(give_back("Good.")))]),
        (
            "editor",
            vec![(0, calls(vec![write("output/main.md", "x"), commit_of("output/main.md"), finish()]))],
        ),
    ]);
    let outcome = team.run(&model).await;
    assert_eq!(outcome.status, RunStatus::Completed);
    assert_eq!(failures(&team, &outcome.run).await, ["agent_handoff agent.handoff_pending_tasks"]);
    assert_eq!(
        bodies(&model, "root")[1],
        "## Tool error\n\nTasks that you have given are not done. Await them before you hand over."
    );
}

// DEL-11, DEL-13: what a task gave and nobody has read is told to whoever takes over, once.
#[tokio::test]
async fn whoever_takes_over_reads_the_results_that_nobody_read() {
    let mut team = tavern(&files_and_agents());
    team.agent("editor", &FILES, |_| {});
    team.agent("critic", &["echo"], |_| {});
    let model = thinking(vec![
        (
            "root",
            vec![
                (0, one(delegate("critic", "Judge."))),
                // It ends while this agent thinks, after it was asked.
                (200, one(hand_over("editor", "Finish."))),
            ],
        ),
        ("critic", vec![(0, one(give_back("Three weak sentences.")))]),
        ("editor", vec![(0, calls(vec![write("output/main.md", "x"), commit(), finish()]))]),
    ]);
    let outcome = team.run(&model).await;
    assert_eq!(outcome.status, RunStatus::Completed, "{outcome:?}");
    assert!(!model.read_by("root").contains("Three weak sentences."));
    let Some(Message::User(note)) = model.asked("editor")[0].messages.get(1).cloned() else {
        panic!("{:?}", model.asked("editor")[0].messages)
    };
    assert_eq!(
        note,
        "(Note from the host: tasks that `root` gave have ended.)\n\n### task_1 (`critic`): completed\n\nThree weak sentences.\n\n\
         Files: `summaries/task_1-result.md`"
    );
}
