//! A run with three agents that is cut off at every point of its journal: on reopening each started call is of unknown outcome, the
//! model and the person are told, the session goes on, and the journal verifies.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

#[path = "support/crew.rs"]
mod crew;
mod support;

use std::collections::BTreeMap;
use std::sync::Arc;

use haft_core::journal::RunStatus;
use haft_core::ports::Store;
use haft_core::{Payload, Timestamp};
use haft_engine::SessionChoice;
use haft_store::MemoryStore;
use haft_store::verify::{Class, verify_store};
use serde_json::json;

use crew::{CrewModel, Team, calls, text};
use support::{FailingStore, World};

fn team(store: Arc<dyn Store>) -> Team {
    let mut team = Team::over(World::over(store), &["echo", "agent.call", "agent.delegate", "agent.await"]);
    team.agent("scout", &["echo"], |_| {});
    team.agent("critic", &["put"], |_| {});
    team
}

fn script() -> Arc<CrewModel> {
    CrewModel::new(vec![
        (
            "root",
            vec![
                calls(vec![("agent_delegate", json!({"agentId": "critic", "task": "Judge."}))]),
                calls(vec![
                    ("echo", json!({"text": "root"})),
                    ("call_subagent", json!({"agent_name": "scout", "instruction": "Look."})),
                ]),
                calls(vec![("agent_await", json!({}))]),
                text("Done."),
            ],
        ),
        ("scout", vec![calls(vec![("echo", json!({"text": "scout"}))]), text("Quiet.")]),
        (
            "critic",
            vec![
                calls(vec![("put", json!({"text": "a", "size": 1}))]),
                calls(vec![("task_return", json!({"result": "Good."}))]),
            ],
        ),
    ])
}

#[derive(Default)]
struct Ends {
    requested: u32,
    started: u32,
    codes: Vec<Option<String>>,
}

// JRN-03, JRN-06, DEL-15
#[tokio::test]
async fn a_run_of_three_agents_can_be_cut_off_anywhere() {
    let mut commits = 0;
    let mut unknown = 0;
    loop {
        let inner = Arc::new(MemoryStore::new());
        let first = team(Arc::new(FailingStore::new(inner.clone(), commits)));
        let session = first.world.session().await;
        let handle = session.prompt("Do it".into(), script(), first.options());
        let run = handle.run().clone();
        let ended = handle.wait().await;
        session.close().await.unwrap();
        let whole = ended.is_ok();
        let ran = first.world.logged();

        let survivor = team(inner.clone());
        let session = survivor.world.reopen(SessionChoice::Last).await;
        if commits > 0 {
            let closed = session.recovered().iter().flat_map(|one| one.unknown.clone()).count();
            let mut calls: BTreeMap<String, Ends> = BTreeMap::new();
            let mut open_tasks: Vec<String> = Vec::new();
            let payloads = survivor.world.payloads(&run).await;
            for payload in &payloads {
                match payload {
                    Payload::AgentTaskCreated(body) => open_tasks.push(body.task.to_string()),
                    Payload::InvocationEnded(body) => {
                        let at = open_tasks.iter().position(|task| task == body.task.as_str()).unwrap();
                        open_tasks.remove(at);
                    }
                    Payload::ToolCallRequested(body) => {
                        calls.entry(body.call_id.to_string()).or_default().requested += 1;
                    }
                    Payload::ToolCallStarted(body) => {
                        calls.entry(body.call_id.to_string()).or_default().started += 1;
                    }
                    Payload::ToolCallCompleted(body) => {
                        calls.entry(body.call_id.to_string()).or_default().codes.push(None);
                    }
                    Payload::ToolCallFailed(body) => {
                        let code = Some(body.error_code.to_string());
                        calls.entry(body.call_id.to_string()).or_default().codes.push(code);
                    }
                    _ => {}
                }
            }
            assert!(open_tasks.is_empty(), "{commits}: {open_tasks:?}");
            assert!(matches!(payloads.last(), Some(Payload::RunEnded(_))), "{commits}");
            let code = Some("agent.outcome_unknown".to_owned());
            let lost = calls.values().filter(|ends| ends.codes == [code.clone()]).count();
            assert_eq!(lost, closed, "{commits}");
            unknown += lost;
            for (call, ends) in &calls {
                assert!(
                    ends.requested == 1 && ends.started <= 1 && ends.codes.len() == 1,
                    "{commits}: {call}"
                );
                if ends.started == 1 && !whole {
                    assert!(
                        ends.codes[0].is_none() || ends.codes[0] == code,
                        "{commits}: {call} {:?}",
                        ends.codes
                    );
                }
            }
            // Nothing runs a second time by itself.
            assert!(survivor.world.logged().is_empty() && ran.len() <= 3, "{commits}");
        }
        // The session goes on, and the model reads what is not known.
        let model = CrewModel::new(vec![("root", vec![text("Going on.")])]);
        let outcome = survivor.prompt(&session, &model).await;
        assert_eq!((outcome.status, outcome.text.as_str()), (RunStatus::Completed, "Going on."), "{commits}");
        let told = model.read_by("root");
        let lost = session.recovered().iter().any(|one| !one.unknown.is_empty());
        assert_eq!(told.contains("nobody knows"), lost, "{commits}: {told}");
        session.close().await.unwrap();
        let report = verify_store(inner.as_ref(), &[], Timestamp(u64::MAX)).unwrap();
        let all = report.runs.iter().flat_map(|run| &run.findings).chain(&report.findings);
        let damage: Vec<String> =
            all.filter(|finding| matches!(finding.class(), Class::Damage)).map(ToString::to_string).collect();
        assert!(damage.is_empty(), "{commits}: {damage:#?}");
        if whole {
            break;
        }
        commits += 1;
    }
    assert!(commits > 10 && unknown > 5, "{commits} commits, {unknown} unknown");
}
