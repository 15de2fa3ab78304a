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
use haft_core::profile::RunKind;
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

fn writer(store: Arc<dyn Store>) -> Team {
    let tools = ["echo", "workspace.write_file", "workspace.commit", "workspace.finish"];
    let mut team = Team::over(World::over(store), &tools);
    team.world.profile.run_kind = RunKind::Agent;
    team
}

fn story() -> Arc<CrewModel> {
    let write = |text: &str| {
        ("workspace_write_file", json!({"path": "output/main.md", "content": text, "mode": "replace"}))
    };
    CrewModel::new(vec![(
        "root",
        vec![
            calls(vec![("echo", json!({"text": "a"}))]),
            calls(vec![write("Once.")]),
            calls(vec![("workspace_commit", json!({})), ("echo", json!({"text": "b"}))]),
            calls(vec![write("Twice."), ("workspace_commit", json!({}))]),
            calls(vec![("workspace_finish", json!({}))]),
        ],
    )])
}

// EXE-16, EVT-05: a run that writes is classed by what it had committed, also where a crash ends it.
#[tokio::test]
async fn a_run_that_writes_is_classed_by_what_it_had_committed() {
    let (mut failed, mut partial, mut told_of) = (0, Vec::new(), 0);
    for commits in 1.. {
        let inner = Arc::new(MemoryStore::new());
        let first = writer(Arc::new(FailingStore::new(inner.clone(), commits)));
        let session = first.world.session().await;
        let handle = session.prompt("Do it".into(), story(), first.options());
        let run = handle.run().clone();
        let whole = handle.wait().await.is_ok();
        session.close().await.unwrap();
        if whole {
            break;
        }

        let survivor = writer(inner.clone());
        let session = survivor.world.reopen(SessionChoice::Last).await;
        let payloads = survivor.world.payloads(&run).await;
        let committed = payloads.iter().rev().find_map(|payload| match payload {
            Payload::ChatCommitted(body) => {
                Some(if body.source.ends_with("@1") { "Once." } else { "Twice." })
            }
            _ => None,
        });
        let [.., class, Payload::RunEnded(ended)] = payloads.as_slice() else {
            panic!("{commits}: {payloads:?}")
        };
        let code = "agent.interrupted";
        assert_eq!(ended.error_code.as_deref(), Some(code), "{commits}");
        let recovered = &session.recovered()[0];
        assert_eq!((&recovered.run, recovered.status), (&run, ended.status), "{commits}");
        match committed {
            None => {
                failed += 1;
                let Payload::RunFailed(body) = class else { panic!("{commits}: {class:?}") };
                assert_eq!((body.error_code.as_str(), body.user_retryable), (code, true), "{commits}");
                assert_eq!((ended.status, ended.text.as_deref()), (RunStatus::Failed, None), "{commits}");
            }
            Some(text) => {
                partial.push(text);
                let Payload::RunPartialSuccess(body) = class else { panic!("{commits}: {class:?}") };
                assert_eq!(body.error_code, code, "{commits}");
                assert_eq!(
                    (ended.status, ended.text.as_deref()),
                    (RunStatus::PartialSuccess, Some(text)),
                    "{commits}"
                );
            }
        }
        // The next run reads what is in the conversation, and of every call that nobody knows the outcome of.
        let model = CrewModel::new(vec![("root", vec![calls(vec![("echo", json!({"text": "c"}))])])]);
        survivor.prompt(&session, &model).await;
        let read = model.read_by("root");
        let unknown = &session.recovered()[0].unknown;
        told_of += unknown.len();
        assert_eq!(read.contains("nobody knows"), !unknown.is_empty(), "{commits}: {read}");
        assert!(unknown.iter().all(|name| read.contains(&format!("`{name}`"))), "{commits}: {read}");
        assert!(committed.is_none_or(|text| read.contains(text)), "{commits}: {read}");
        session.close().await.unwrap();
    }
    assert!(failed > 2 && partial.contains(&"Once.") && partial.contains(&"Twice.") && told_of > 3);
}
