//! A world whose profile works as the `tauritavern` preset does, with the tools of all its families.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use haft_core::journal::{Payload, SealedRecord};
use haft_core::message::{Message, ResultMessage};
use haft_core::ports::{Ids, ModelError, ModelTurn};
use haft_core::profile::RunKind;
use haft_core::{RunId, Services, Tool, ToolRegistry, ToolResult};
use haft_engine::{Engine, EngineParts};
use serde_json::{Value, json};

use crate::crew::{CrewModel, Say, Team};
use crate::support::{TestIds, World, call, says};

/// The tools of the workspace, as the preset has them.
pub(crate) const FILES: [&str; 7] = [
    "workspace.list_files",
    "workspace.search_files",
    "workspace.read_file",
    "workspace.write_file",
    "workspace.apply_patch",
    "workspace.commit",
    "workspace.finish",
];

/// The tools of agents, as the preset has them.
pub(crate) const AGENTS: [&str; 4] = ["agent.list", "agent.delegate", "agent.handoff", "agent.await"];

/// The names of both.
pub(crate) fn files_and_agents() -> Vec<&'static str> {
    FILES.into_iter().chain(AGENTS).collect()
}

/// What a world is made of beside its store.
#[derive(Default)]
pub(crate) struct Parts {
    pub(crate) services: Services,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    /// Where ids come from; in order, unless something else is said.
    pub(crate) ids: Option<Arc<dyn Ids>>,
}

/// A world whose root has these tools and makes runs of kind `agent`.
pub(crate) fn tavern(tools: &[&str]) -> Team {
    tavern_of(World::new(), tools, Parts::default())
}

pub(crate) fn tavern_of(world: World, tools: &[&str], parts: Parts) -> Team {
    let mut team = Team::over(world, tools);
    let mut registry = ToolRegistry::default();
    for tool in team.world.engine.registry().iter() {
        registry.register(tool.clone()).unwrap();
    }
    let families = [
        haft_tools::chat::tools().unwrap(),
        haft_tools::worldinfo::tools().unwrap(),
        haft_tools::dice::tools().unwrap(),
        haft_tools::skills::tools().unwrap(),
        parts.tools,
    ];
    registry.register_all(families.into_iter().flatten()).unwrap();
    team.world.engine = Engine::new(EngineParts {
        store: team.world.store.clone(),
        clock: team.world.clock.clone(),
        ids: parts.ids.unwrap_or_else(|| Arc::new(TestIds::default())),
        registry: Arc::new(registry),
        services: parts.services,
        owner: "test".into(),
    });
    team.world.profile.run_kind = RunKind::Agent;
    team.world.profile.delegation.can_handoff = true;
    team
}

pub(crate) type Turn = Result<ModelTurn, ModelError>;

/// A model of one agent, which is the root.
pub(crate) fn scripted(turns: Vec<Turn>) -> Arc<CrewModel> {
    CrewModel::new(vec![("root", turns)])
}

/// A model whose agents think before they answer: so many times other agents may go on.
pub(crate) fn thinking(turns: Vec<(&str, Vec<(u32, Turn)>)>) -> Arc<CrewModel> {
    let of_agent = |(agent, turns): (&str, Vec<(u32, Turn)>)| {
        let says: VecDeque<Say> = turns.into_iter().map(|(yields, turn)| Say(yields, turn)).collect();
        (agent.to_owned(), says)
    };
    CrewModel::thinking(turns.into_iter().map(of_agent).collect::<HashMap<_, _>>())
}

/// A turn of one call.
pub(crate) fn one(call_of: (&str, Value)) -> Turn {
    says("", vec![call(call_of.0, call_of.1)])
}

pub(crate) fn read(path: &str) -> (&'static str, Value) {
    ("workspace_read_file", json!({"path": path}))
}

pub(crate) fn lines(path: &str, start: u64, count: u64) -> (&'static str, Value) {
    ("workspace_read_file", json!({"path": path, "start_line": start, "line_count": count}))
}

pub(crate) fn patch(path: &str, old: &str, new: &str) -> (&'static str, Value) {
    ("workspace_apply_patch", json!({"path": path, "old_string": old, "new_string": new}))
}

pub(crate) fn patch_all(path: &str, old: &str, new: &str) -> (&'static str, Value) {
    (
        "workspace_apply_patch",
        json!({"path": path, "old_string": old, "new_string": new, "replace_all": true}),
    )
}

pub(crate) fn commit_of(path: &str) -> (&'static str, Value) {
    ("workspace_commit", json!({"path": path}))
}

pub(crate) fn ask(agent: &str, instruction: &str) -> (&'static str, Value) {
    ("call_subagent", json!({"agent_name": agent, "instruction": instruction}))
}

pub(crate) fn delegate(agent: &str, task: &str) -> (&'static str, Value) {
    ("agent_delegate", json!({"agentId": agent, "task": task}))
}

pub(crate) fn hand_over(agent: &str, brief: &str) -> (&'static str, Value) {
    ("agent_handoff", json!({"agentId": agent, "brief": brief}))
}

pub(crate) fn await_all() -> (&'static str, Value) {
    ("agent_await", json!({}))
}

pub(crate) fn give_back(result: &str) -> (&'static str, Value) {
    ("task_return", json!({"result": result}))
}

/// The codes of the calls that failed, in the order of their ends, as `alias code`.
pub(crate) async fn failures(team: &Team, run: &RunId) -> Vec<String> {
    let payloads = team.world.payloads(run).await.into_iter();
    let failed = payloads.filter_map(|payload| match payload {
        Payload::ToolCallFailed(body) => Some(format!("{} {}", body.alias, body.error_code)),
        _ => None,
    });
    failed.collect()
}

/// The results that an agent read, turn by turn.
pub(crate) fn results(model: &CrewModel, agent: &str) -> Vec<Vec<ResultMessage>> {
    let asked = model.asked(agent);
    let Some(last) = asked.last() else { return Vec::new() };
    let of_turn = |message: &Message| match message {
        Message::Results(results) => Some(results.clone()),
        Message::User(_) | Message::Assistant { .. } => None,
    };
    last.messages.iter().filter_map(of_turn).collect()
}

/// What an agent read of its calls, one text a call.
pub(crate) fn bodies(model: &CrewModel, agent: &str) -> Vec<String> {
    results(model, agent).into_iter().flatten().map(|result| result.body).collect()
}

/// The calls of a run that ended, with their stored results, in the order of their ends.
pub(crate) async fn stored_results(team: &Team, run: &RunId) -> Vec<ToolResult> {
    let mut results = Vec::new();
    for payload in team.world.payloads(run).await {
        let file = match payload {
            Payload::ToolCallCompleted(body) => body.result_file,
            Payload::ToolCallFailed(body) => body.result_file,
            _ => continue,
        };
        let stored = team.world.store.file(run, &file.path).await.unwrap().unwrap();
        results.push(serde_json::from_slice(&stored.bytes.unwrap()).unwrap());
    }
    results
}

pub(crate) async fn records(team: &Team, run: &RunId) -> Vec<SealedRecord> {
    team.world.store.records(run).await.unwrap()
}

/// The text of a stored file of a run.
pub(crate) async fn stored(team: &Team, run: &RunId, path: &str) -> Option<String> {
    let file = team.world.store.file(run, path).await.unwrap()?;
    Some(String::from_utf8(file.bytes.unwrap()).unwrap())
}
