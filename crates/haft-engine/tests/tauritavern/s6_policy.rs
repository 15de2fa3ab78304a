//! Section 6: what a profile gives, what the host takes away, and what a name means.

use haft_core::ToolId;
use haft_core::facts::Permission;
use haft_core::journal::{Payload, RunStatus};
use haft_core::profile::BreachPolicy;
use serde_json::{Value, json};

use crate::crew::{CrewModel, calls, text};
use crate::tavern::{
    FILES, await_all, bodies, delegate, failures, files_and_agents, give_back, hand_over, one, scripted,
    stored, tavern,
};
use crate::writing::{commit, finish, write};

// SNP-02, SNP-03, SNP-04, SNP-08, POL-06, POL-08: deny beats allow, the order is the profile's, caps are frozen, the rest is invisible.
#[tokio::test]
async fn the_profile_gives_tools_in_its_order_with_their_caps() {
    let mut team = tavern(&["echo", "workspace.finish", "workspace.write_file", "look", "workspace.commit"]);
    let profile = &mut team.world.profile;
    profile.tools.deny.push(ToolId::builtin("look"));
    profile.budgets.calls_of.insert(ToolId::builtin("echo"), 2);
    profile.budgets.calls = 9;
    let model = scripted(vec![
        calls(vec![("look", json!({})), ("pair", json!({}))]),
        calls(vec![write("output/main.md", "x"), commit(), finish()]),
    ]);
    let outcome = team.run(&model).await;
    let shown: Vec<String> = model.asked("root")[0].tools.iter().map(|tool| tool.alias.clone()).collect();
    assert_eq!(shown, ["echo", "workspace_finish", "workspace_write_file", "workspace_commit"]);
    assert_eq!(failures(&team, &outcome.run).await, ["look agent.unknown_tool", "pair agent.unknown_tool"]);
    assert!(team.world.logged().is_empty());
    let payloads = team.world.payloads(&outcome.run).await;
    let Payload::ContextAssembled(context) = &payloads[1] else { panic!("{:?}", payloads[1]) };
    let snapshot = stored(&team, &outcome.run, &context.snapshot_file.path).await.unwrap();
    let snapshot: Value = serde_json::from_str(&snapshot).unwrap();
    assert_eq!(snapshot["max_calls_per_invocation"], json!(9));
    let binding = &snapshot["bindings"][0];
    assert_eq!(
        (&binding["alias"], &binding["max_calls_per_invocation"]),
        (&json!("echo"), &json!(2)),
        "{binding}"
    );
    let descriptor: Vec<&str> =
        binding["descriptor"].as_object().unwrap().keys().map(String::as_str).collect();
    assert!(descriptor.contains(&"description") && descriptor.contains(&"input_schema"), "{descriptor:?}");
}

// GAT-02, GAT-04, SNP-13: a budget that is used up is a result; the run goes on, and each invocation has its own.
#[tokio::test]
async fn a_used_up_budget_is_told_and_the_run_goes_on() {
    let tools: Vec<&str> = files_and_agents().into_iter().chain(["echo"]).collect();
    let mut team = tavern(&tools);
    team.world.profile.budgets.calls_of.insert(ToolId::builtin("echo"), 1);
    team.agent("scout", &["echo"], |profile| {
        profile.budgets.calls_of.insert(ToolId::builtin("echo"), 1);
    });
    let echo = || ("echo", json!({"text": "x"}));
    let model = CrewModel::new(vec![
        (
            "root",
            vec![
                calls(vec![echo(), echo()]),
                calls(vec![delegate("scout", "Look.")]),
                one(await_all()),
                calls(vec![write("output/main.md", "x"), commit(), finish()]),
            ],
        ),
        ("scout", vec![one(echo()), one(echo()), one(give_back("Seen."))]),
    ]);
    let outcome = team.run(&model).await;
    assert_eq!(outcome.status, RunStatus::Completed);
    let code = "echo agent.tool_budget_exhausted";
    assert_eq!(failures(&team, &outcome.run).await, [code, code]);
    assert_eq!(team.world.logged(), ["echo x", "echo x"]);
    assert_eq!(
        bodies(&model, "root")[1],
        "## Tool error\n\n`echo` has no calls left in this conversation. Go on without it."
    );
}

// SNP-05, DEL-14, POL-11: the exit policy takes commit, finish and the agents from a child that must return, whatever its profile
// allows, and gives it the one tool with which it ends.
#[tokio::test]
async fn the_host_takes_from_a_child_what_ends_or_steers_the_run() {
    let mut team = tavern(&files_and_agents());
    let all: Vec<&str> = files_and_agents().into_iter().chain(["agent.call", "agent.multi"]).collect();
    team.agent("critic", &all, |profile| profile.delegation.can_handoff = true);
    let model = CrewModel::new(vec![
        (
            "root",
            vec![
                one(delegate("critic", "Judge.")),
                one(await_all()),
                calls(vec![write("output/main.md", "x"), commit(), finish()]),
            ],
        ),
        (
            "critic",
            vec![
                calls(vec![
                    commit(),
                    finish(),
                    hand_over("root", "You."),
                    delegate("critic", "Me."),
                    ("workspace_write_file", json!({"path": "scratch/n.md", "content": "n"})),
                ]),
                one(give_back("Good.")),
            ],
        ),
    ]);
    let outcome = team.run(&model).await;
    assert_eq!(outcome.status, RunStatus::Completed);
    let unknown = |alias: &str| format!("{alias} agent.unknown_tool");
    assert_eq!(
        failures(&team, &outcome.run).await,
        [
            unknown("workspace_commit"),
            unknown("workspace_finish"),
            unknown("agent_handoff"),
            unknown("agent_delegate")
        ]
    );
    let tools: Vec<String> = model.asked("critic")[0].tools.iter().map(|tool| tool.alias.clone()).collect();
    assert_eq!(
        tools,
        [
            "workspace_list_files",
            "workspace_search_files",
            "workspace_read_file",
            "workspace_write_file",
            "workspace_apply_patch",
            "task_return",
        ]
    );
    // The file of its snapshot says the same, and what must end it.
    let payloads = team.world.payloads(&outcome.run).await;
    let context = payloads.iter().find_map(|payload| match payload {
        Payload::ContextAssembled(body) if body.task.is_some() => Some(body.clone()),
        _ => None,
    });
    let path = context.unwrap().snapshot_file.path;
    let snapshot: Value = serde_json::from_str(&stored(&team, &outcome.run, &path).await.unwrap()).unwrap();
    assert_eq!(snapshot["exit"], json!("task_return_required"));
    assert_eq!(snapshot["bindings"].as_array().unwrap().len(), 6);
}

// ALI-06, ALI-07, CONFLICT-03, CONFLICT-04, PRV-02: a name is looked up in this turn alone; canonical names and aliases of another
// snapshot mean nothing, and the preset ends the run with them.
#[tokio::test]
async fn a_name_that_is_not_advertised_ends_the_run() {
    let mut team = tavern(&files_and_agents());
    team.world.profile.unknown_alias = BreachPolicy::FailFast;
    team.world.profile.tools.alias.insert(ToolId::builtin("workspace.commit"), "publish".into());
    // Its canonical name, the alias that it would have elsewhere, the alias that is only a child's, a tool of the registry that is not
    // allowed.
    for name in ["workspace.commit", "builtin:workspace.commit", "workspace_commit", "task_return", "echo"] {
        let model = scripted(vec![
            calls(vec![write("output/main.md", "x"), (name, json!({}))]),
            calls(vec![("publish", json!({})), finish()]),
        ]);
        let outcome = team.run(&model).await;
        assert_eq!(
            (outcome.status, outcome.error_code.as_deref()),
            (RunStatus::Failed, Some("agent.unknown_tool")),
            "{name}"
        );
        // Nothing of that answer ran.
        assert!(!team.world.kinds(&outcome.run).await.contains(&"tool_call_started".to_owned()), "{name}");
    }
    let model = scripted(vec![calls(vec![write("output/main.md", "x"), ("publish", json!({})), finish()])]);
    assert_eq!(team.run(&model).await.status, RunStatus::Completed);
}

// ALI-07, SNP-06: a child's calls are read by its own snapshot, under its own profile's rule.
#[tokio::test]
async fn a_child_that_breaks_the_contract_fails_alone() {
    let mut team = tavern(&files_and_agents());
    team.world.profile.tools.alias.insert(ToolId::builtin("workspace.read_file"), "open".into());
    team.agent("critic", &FILES, |profile| profile.unknown_alias = BreachPolicy::FailFast);
    let model = CrewModel::new(vec![
        (
            "root",
            vec![
                one(delegate("critic", "Judge.")),
                one(await_all()),
                calls(vec![write("output/main.md", "x"), commit(), finish()]),
            ],
        ),
        ("critic", vec![one(("open", json!({"path": "output/main.md"}))), one(give_back("Never."))]),
    ]);
    let outcome = team.run(&model).await;
    assert_eq!(outcome.status, RunStatus::Completed);
    let told = &bodies(&model, "root")[1];
    assert!(told.starts_with("### task_1 (`critic`): failed\n\nThe model broke its contract"), "{told}");
    assert_eq!(model.asked("critic").len(), 1);
}

// ERR-01, POL-06: denied is a word to the model; the run goes on.
#[tokio::test]
async fn a_denied_call_is_a_result() {
    let tools: Vec<&str> = FILES.into_iter().chain(["put"]).collect();
    let mut team = tavern(&tools);
    team.world.profile.tools.permission.insert(ToolId::builtin("put"), Permission::Deny);
    let model = scripted(vec![
        one(("put", json!({"text": "a", "size": 1}))),
        text("Then not."),
        calls(vec![write("output/main.md", "x"), commit(), finish()]),
    ]);
    let outcome = team.run(&model).await;
    assert_eq!(outcome.status, RunStatus::Completed);
    let failed = failures(&team, &outcome.run).await;
    assert!(failed == ["put agent.tool_denied"] || failed == ["put agent.unknown_tool"], "{failed:?}");
    assert!(team.world.logged().is_empty());
}
