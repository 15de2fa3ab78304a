//! Section 5: the life of a call, from the snapshot to the next request.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use haft_core::journal::{Payload, RunStatus};
use haft_core::turn::ToolChoice;
use haft_core::{Profile, ToolId};
use haft_engine::{AgentModel, Agents};
use serde_json::{Value, json};

use crate::crew::{CrewModel, calls, profile, text};
use crate::tavern::{FILES, ask, bodies, one, records, results, scripted, stored, tavern};
use crate::writing::{commit, finish, write};

// EXE-11, JRN-01, TRN-02, TRN-04, SNP-07, SNP-09, SNP-11, SNP-13: one snapshot, the whole of it in every turn, the model's choice, and
// contract, request and file agree.
#[tokio::test]
async fn one_snapshot_rules_every_turn_of_an_invocation() {
    let mut team = tavern(&FILES);
    team.world.profile.budgets.calls = 7;
    team.world.profile.tools.deny.push(ToolId::builtin("workspace.search_files"));
    let model = scripted(vec![
        one(write("output/main.md", "One.")),
        text("I drift."),
        calls(vec![commit(), finish()]),
    ]);
    let outcome = team.run(&model).await;
    assert_eq!(outcome.status, RunStatus::Completed);
    let payloads = team.world.payloads(&outcome.run).await;
    let Payload::ContextAssembled(context) = &payloads[1] else { panic!("{:?}", payloads[1]) };
    let path = format!("input/invocations/{}/tool_snapshot.json", context.invocation);
    assert_eq!(context.snapshot_file.path, path);
    let snapshot: Value = serde_json::from_str(&stored(&team, &outcome.run, &path).await.unwrap()).unwrap();
    assert_eq!(
        (&snapshot["version"], &snapshot["invocation"], &snapshot["max_calls_per_invocation"]),
        (&json!(1), &json!(context.invocation), &json!(7))
    );
    let bindings: Vec<(String, ToolId)> = snapshot["bindings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            (
                one["alias"].as_str().unwrap().to_owned(),
                one["descriptor"]["id"].as_str().unwrap().parse().unwrap(),
            )
        })
        .collect();
    // Deny beats allow, and the order is the profile's.
    let expected: Vec<ToolId> = FILES
        .iter()
        .filter(|name| **name != "workspace.search_files")
        .map(|name| ToolId::builtin(name))
        .collect();
    assert_eq!(bindings.iter().map(|(_, id)| id.clone()).collect::<Vec<_>>(), expected);
    assert_eq!(context.tools, bindings);
    assert_eq!(
        (context.contract.tools.clone(), context.contract.choice.clone()),
        (expected, ToolChoice::Auto)
    );
    let contracts: Vec<_> = payloads
        .iter()
        .filter_map(|payload| match payload {
            Payload::ModelRequestCreated(body) => Some(body.contract.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(contracts, vec![context.contract.clone(); 3]);
    for request in model.asked("root") {
        let shown: Vec<(String, ToolId)> =
            request.tools.iter().map(|tool| (tool.alias.clone(), tool.tool_id.clone())).collect();
        assert_eq!((shown, request.choice), (bindings.clone(), ToolChoice::Auto));
    }
}

// EXE-11, JRN-01, RES-07: intent before the tool, result before the next request, which carries the result's content.
#[tokio::test]
async fn a_call_lives_from_request_to_the_next_request() {
    let tools: Vec<&str> = FILES.into_iter().chain(["fails"]).collect();
    let team = tavern(&tools);
    let model = scripted(vec![
        calls(vec![write("output/main.md", "One."), ("fails", json!({}))]),
        calls(vec![commit(), finish()]),
    ]);
    let outcome = team.run(&model).await;
    let all = records(&team, &outcome.run).await;
    let of_calls: Vec<String> = all
        .iter()
        .map(|record| (record.kind.clone(), record.payload_value().unwrap()))
        .filter(|(kind, _)| kind.starts_with("tool_call") || kind == "model_request_created")
        .map(|(kind, body)| match body["call_id"].as_str() {
            Some(id) => format!("{kind} {}", id.rsplit_once("_").unwrap().1),
            None => kind,
        })
        .collect();
    assert_eq!(
        of_calls[..8],
        [
            "model_request_created",
            "tool_call_requested 1",
            "tool_call_started 1",
            "tool_call_completed 1",
            "tool_call_requested 2",
            "tool_call_started 2",
            "tool_call_failed 2",
            "model_request_created",
        ]
    );
    let first = &results(&model, "root")[0];
    assert_eq!(first.iter().map(|one| one.is_error).collect::<Vec<_>>(), [false, true]);
}

/// An agent whose profile changes every time somebody looks at it.
struct Fickle {
    looks: AtomicU32,
    profiles: Mutex<Vec<Vec<&'static str>>>,
}

impl Agents for Fickle {
    fn names(&self) -> Vec<String> {
        vec!["scout".to_owned()]
    }

    fn profile(&self, name: &str) -> Result<Option<Arc<Profile>>, String> {
        self.looks.fetch_add(1, Ordering::SeqCst);
        let mut profiles = self.profiles.lock().unwrap();
        let tools = if profiles.len() > 1 { profiles.remove(0) } else { profiles[0].clone() };
        Ok((name == "scout").then(|| {
            let mut profile = profile("scout", &tools);
            profile.delegation.callable = true;
            Arc::new(profile)
        }))
    }

    fn model(&self, _: &Profile, caller: &AgentModel) -> Result<AgentModel, String> {
        Ok(caller.clone())
    }
}

// SNP-01, SNP-06, SNP-10: an invocation looks at its profile once; what changes there is the next one's.
#[tokio::test]
async fn an_invocation_never_looks_at_its_profile_again() {
    let tools: Vec<&str> = FILES.into_iter().chain(["agent.call"]).collect();
    let team = tavern(&tools);
    let echo = |text: &str| one(("echo", json!({"text": text})));
    let model = CrewModel::new(vec![
        (
            "root",
            vec![
                one(ask("scout", "Look.")),
                one(ask("scout", "Look again.")),
                calls(vec![write("output/main.md", "x"), commit(), finish()]),
            ],
        ),
        ("scout", vec![echo("a"), echo("b"), text("First."), echo("c"), text("Second.")]),
    ]);
    let fickle =
        Arc::new(Fickle { looks: AtomicU32::new(0), profiles: Mutex::new(vec![vec!["echo"], vec!["look"]]) });
    let mut options = team.options();
    options.agents = fickle.clone();
    let session = team.world.session().await;
    let outcome = session.prompt("Do it".into(), model.clone(), options).wait().await.unwrap();
    session.close().await.unwrap();
    assert_eq!(outcome.status, RunStatus::Completed);
    assert_eq!(fickle.looks.load(Ordering::SeqCst), 2, "one look for each invocation");
    assert_eq!(team.world.logged(), ["echo a", "echo b"]);
    let tools: Vec<String> =
        model.asked("scout").iter().map(|request| request.tools[0].alias.clone()).collect();
    assert_eq!(tools, ["echo", "echo", "echo", "look", "look"]);
    assert!(bodies(&model, "root")[0].contains("First."));
}
