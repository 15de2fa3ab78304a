//! Section 7.0: what is written for audit, under which names, and that nothing of it is written twice.

use std::sync::Arc;

use haft_core::journal::{Payload, RunStatus};
use haft_core::message::Message;
use haft_core::path::StartedCall;
use haft_core::ports::{BoxFuture, Ids};
use haft_core::{
    Digest, Effect, RequestedCall, Tool, ToolContext, ToolDeclaration, ToolError, ToolId, ToolOutput, WireId,
};
use haft_engine::replay_events;
use serde_json::{Value, json};

use crate::crew::{CrewModel, calls};
use crate::support::{World, says};
use crate::tavern::{
    FILES, Parts, await_all, delegate, files_and_agents, give_back, one, records, results, scripted, stored,
    tavern, tavern_of,
};
use crate::writing::{commit, finish, write};

fn with_wire_id(name: &str, arguments: Value, wire_id: &str) -> RequestedCall {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    RequestedCall::Call {
        name: name.to_owned(),
        arguments,
        wire_id: Some(WireId::new(wire_id)),
        provider_metadata: Some(json!({"signature": "opaque=="})),
        repairs: Vec::new(),
    }
}

// JRN-02, JRN-04, CONFLICT-31: files are named by eight bytes of a hash; the provider's id is opaque and names nothing.
#[tokio::test]
async fn audit_files_are_named_by_a_hash_and_the_providers_id_stays_opaque() {
    let team = tavern(&FILES);
    let wire = "../../etc/call 1\u{2603}";
    let model = scripted(vec![
        says(
            "",
            vec![with_wire_id(
                "workspace_write_file",
                json!({"path": "output/main.md", "content": "x"}),
                wire,
            )],
        ),
        calls(vec![commit(), finish()]),
    ]);
    let outcome = team.run(&model).await;
    let payloads = team.world.payloads(&outcome.run).await;
    let ids: Vec<_> = payloads
        .iter()
        .filter_map(|payload| match payload {
            Payload::ToolCallRequested(body) => Some((body.call_id.clone(), body.wire_id.clone())),
            _ => None,
        })
        .collect();
    assert_eq!(ids[0].1.as_ref().unwrap().as_str(), wire);
    let mut files: Vec<String> =
        team.world.store.files(&outcome.run).await.unwrap().into_iter().map(|file| file.path).collect();
    files.sort();
    let mut expected: Vec<String> = Vec::new();
    for (call, _) in &ids {
        let stem = &Digest::of(call.as_str().as_bytes()).to_string()[..16];
        for folder in ["tool-args", "tool-results"] {
            expected.push(format!("{folder}/call_{stem}.json"));
        }
        let arguments = stored(&team, &outcome.run, &format!("tool-args/call_{stem}.json")).await.unwrap();
        assert!(serde_json::from_str::<Value>(&arguments).unwrap().is_object(), "{arguments}");
        let result = stored(&team, &outcome.run, &format!("tool-results/call_{stem}.json")).await.unwrap();
        let result: Value = serde_json::from_str(&result).unwrap();
        assert_eq!(result["call_id"], json!(call));
    }
    expected.push("chat/commit_1.txt".to_owned());
    // The draft of the first turn.
    expected.push("chat/commit_2.txt".to_owned());
    let Payload::ContextAssembled(context) = &payloads[1] else { panic!("{:?}", payloads[1]) };
    expected.push(format!("input/invocations/{}/tool_snapshot.json", context.invocation));
    expected.push("workspace/output/main.md@1".to_owned());
    expected.sort();
    assert_eq!(files, expected);
    // It goes back to the provider with its result and with what the provider wants back (PRV-02).
    assert_eq!(results(&model, "root")[0][0].wire_id.as_ref().unwrap().as_str(), wire);
    let asked = model.asked("root");
    let Message::Assistant { calls: again, .. } = &asked[1].messages[1] else { panic!("{asked:?}") };
    let RequestedCall::Call { provider_metadata, .. } = &again[0] else { panic!("{again:?}") };
    assert_eq!(provider_metadata, &Some(json!({"signature": "opaque=="})));
}

/// Ids that are all the same.
struct OneId;

impl Ids for OneId {
    fn fresh(&self) -> String {
        "0001".to_owned()
    }
}

// JRN-03, JRN-06, SNP-07, SNP-09: an invocation whose name is taken does not begin, the run fails, and the first snapshot stands.
#[tokio::test]
async fn a_second_snapshot_under_one_name_fails_the_run() {
    let parts = Parts { ids: Some(Arc::new(OneId)), ..Parts::default() };
    let mut team = tavern_of(World::new(), &files_and_agents(), parts);
    team.agent("critic", &["echo"], |_| {});
    let model = CrewModel::new(vec![
        ("root", vec![one(delegate("critic", "Judge.")), one(await_all())]),
        ("critic", vec![one(give_back("Never."))]),
    ]);
    let session = team.world.session().await;
    let handle = session.prompt("Do it".into(), model.clone(), team.options());
    let run = handle.run().clone();
    let error = handle.wait().await.unwrap_err().to_string();
    assert!(error.contains("agent.task_not_written"), "{error}");
    session.close().await.unwrap();
    assert!(model.asked("critic").is_empty());
    let all = records(&team, &run).await;
    let contexts = all.iter().filter(|record| record.kind == "context_assembled").count();
    assert_eq!((contexts, all.last().unwrap().kind.as_str()), (1, "run_ended"));
    assert_eq!(all.last().unwrap().payload_value().unwrap()["status"], json!("failed"));
    let snapshot = stored(&team, &run, "input/invocations/i_0001/tool_snapshot.json").await.unwrap();
    assert!(snapshot.contains("builtin:workspace.finish"), "the first one stands: {snapshot}");
}

/// A tool of another provider that has the native name of a builtin.
struct Foreign(ToolDeclaration);

impl Tool for Foreign {
    fn declaration(&self) -> &ToolDeclaration {
        &self.0
    }

    fn call<'a>(
        &'a self,
        _: &'a StartedCall,
        _: &'a dyn ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async { Ok("from elsewhere".into()) })
    }
}

// JRN-07, CAT-04: two tools of one native name are told apart by their ids, in calls, in ends and in the turn that asked for them.
#[tokio::test]
async fn a_timeline_knows_tools_by_their_ids() {
    let foreign: ToolId = "mcp/5f0c:workspace.read_file".parse().unwrap();
    let declaration = ToolDeclaration::new(
        foreign.clone(),
        "Reads elsewhere.",
        json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        Effect::Read,
    );
    let parts = Parts { tools: vec![Arc::new(Foreign(declaration.unwrap()))], ..Parts::default() };
    let mut team = tavern_of(World::new(), &FILES, parts);
    team.world.profile.tools.allow.push(foreign.clone());
    team.world.profile.tools.permission.insert(foreign.clone(), haft_core::facts::Permission::Allow);
    team.world.profile.tools.alias.insert(foreign.clone(), "elsewhere".into());
    let model = scripted(vec![
        calls(vec![
            ("workspace_read_file", json!({"path": "output/none"})),
            ("elsewhere", json!({"path": "a"})),
            ("nobody", json!({})),
        ]),
        calls(vec![write("output/main.md", "x"), commit(), finish()]),
    ]);
    let outcome = team.run(&model).await;
    assert_eq!(outcome.status, RunStatus::Completed);
    let own = ToolId::builtin("workspace.read_file");
    assert_eq!(own.native_name(), foreign.native_name());
    let of_kind = |kind: &str| -> Vec<Value> {
        team.world.events_of(kind).into_iter().map(|event| event.payload).collect()
    };
    let turn = of_kind("model_turn_completed").remove(0);
    let named: Vec<&Value> = turn["calls"].as_array().unwrap().iter().map(|call| &call["tool_id"]).collect();
    assert_eq!(named, [&json!(own), &json!(foreign), &Value::Null]);
    let requested: Vec<Value> =
        of_kind("tool_call_requested").into_iter().map(|body| body["tool_id"].clone()).take(3).collect();
    assert_eq!(requested, [json!(own), json!(foreign), Value::Null]);
    assert_eq!(of_kind("tool_call_failed")[0]["tool_id"], json!(own));
    assert_eq!(of_kind("tool_call_completed")[0]["tool_id"], json!(foreign));
}

// SUR-02, JRN-01: what a surface shows of a run is made of its journal alone; no tool need be there.
#[tokio::test]
async fn a_timeline_is_read_from_the_journal_alone() {
    let mut team = tavern(&files_and_agents());
    team.agent("critic", &["echo"], |_| {});
    let model = CrewModel::new(vec![
        (
            "root",
            vec![
                one(delegate("critic", "Judge.")),
                one(await_all()),
                calls(vec![write("output/main.md", "x"), commit(), finish()]),
            ],
        ),
        ("critic", vec![one(give_back("Good."))]),
    ]);
    let outcome = team.run(&model).await;
    let shown: Vec<(String, Value)> = team
        .world
        .events
        .0
        .lock()
        .unwrap()
        .iter()
        .filter(|event| event.seq.is_some())
        .map(|event| (event.kind.clone(), without_arguments(event.payload.clone())))
        .collect();
    // Nothing but the store is left: no engine, no registry, no executor.
    let store = team.world.store.clone();
    let again: Vec<(String, Value)> = replay_events(store.as_ref(), &outcome.run)
        .await
        .unwrap()
        .into_iter()
        .map(|event| (event.kind, without_arguments(event.payload)))
        .collect();
    assert_eq!(again, shown);
    let kinds: Vec<&str> = again.iter().map(|(kind, _)| kind.as_str()).collect();
    for kind in ["agent_task_created", "invocation_ended", "chat_committed", "run_ended"] {
        assert!(kinds.contains(&kind), "{kind} in {kinds:?}");
    }
}

/// The view of an ended call repeats its arguments only while the call is fresh.
fn without_arguments(mut payload: Value) -> Value {
    if let Some(view) = payload.get_mut("view").and_then(Value::as_object_mut) {
        view.remove("arguments");
    }
    payload
}
