//! Trees of agents that call, delegate and run side by side, with agents that fail and stops at random points: every task ends, every
//! result arrives once at most, nothing is left over, and the journal verifies (DEL; the world checks the journal when it goes).
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

#[path = "support/crew.rs"]
mod crew;
mod support;

use std::collections::{BTreeMap, HashMap, VecDeque};

use haft_core::Payload;
use haft_core::journal::RunStatus;
use haft_core::ports::{ModelError, ModelTurn};
use proptest::prelude::*;
use serde_json::json;

use crew::{CrewModel, Say, Team, calls, text};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Given {
    Call,
    Multi,
    Delegate,
}

/// An agent: how it is given its work, how long it thinks, whether it fails, and whom it gives work itself.
#[derive(Debug, Clone)]
struct Node {
    given: Given,
    thinks: u32,
    fails: bool,
    waits: bool,
    below: Vec<Node>,
}

fn node() -> impl Strategy<Value = Node> {
    let given = prop_oneof![Just(Given::Call), Just(Given::Multi), Just(Given::Delegate)];
    let one = (given, 0u32..12, prop::bool::weighted(0.2), any::<bool>());
    let leaf = one.clone().prop_map(|(given, thinks, fails, waits)| Node {
        given,
        thinks,
        fails,
        waits,
        below: vec![],
    });
    leaf.prop_recursive(3, 10, 3, move |inner| {
        (one.clone(), prop::collection::vec(inner, 0..3))
            .prop_map(|((given, thinks, fails, waits), below)| Node { given, thinks, fails, waits, below })
    })
}

/// Every agent by its name, with the name of its parent.
struct Plan {
    turns: HashMap<String, VecDeque<Say>>,
    parents: BTreeMap<String, (String, Given)>,
}

impl Plan {
    fn of(root: &Node) -> Self {
        let mut plan = Self { turns: HashMap::new(), parents: BTreeMap::new() };
        plan.add("root", root, false);
        plan
    }

    fn add(&mut self, name: &str, node: &Node, returns: bool) {
        let mut turns: Vec<Result<ModelTurn, ModelError>> = vec![calls(vec![("yielding", json!({}))])];
        // Whoever must return has no agents of its own.
        for (at, child) in node.below.iter().enumerate().filter(|_| !returns) {
            let agent = format!("{name}.{at}");
            let call = match child.given {
                Given::Call => ("call_subagent", json!({"agent_name": agent, "instruction": "Work."})),
                Given::Multi => ("multi_agent", json!({"tasks": [{"name": agent, "instruction": "Work."}]})),
                Given::Delegate => ("agent_delegate", json!({"agentId": agent, "task": "Work."})),
            };
            turns.push(calls(vec![call]));
            self.parents.insert(agent.clone(), (name.to_owned(), child.given));
            self.add(&agent, child, child.given == Given::Delegate);
        }
        turns.push(calls(vec![("asks", json!({}))]));
        if node.waits && !returns {
            turns.push(calls(vec![("agent_await", json!({}))]));
        }
        turns.push(match (node.fails, returns) {
            (true, _) => Err(ModelError::Refused { model: "crew".into(), status: 500, body: "no".into() }),
            (false, true) => calls(vec![("task_return", json!({"result": mark(name)}))]),
            (false, false) => text(&mark(name)),
        });
        self.turns.insert(name.to_owned(), turns.into_iter().map(|turn| Say(node.thinks, turn)).collect());
    }
}

fn mark(name: &str) -> String {
    format!("<result of {name}>")
}

fn team(plan: &Plan) -> Team {
    let tools = ["yielding", "asks", "agent.call", "agent.multi", "agent.delegate", "agent.await"];
    let mut team = Team::new(&tools);
    team.world.profile.delegation.nested = true;
    team.world.profile.delegation.child_rounds = 20;
    for name in plan.parents.keys() {
        team.agent(name, &tools, |profile| {
            profile.delegation.nested = true;
            profile.delegation.child_rounds = 20;
        });
    }
    team
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) })]

    #[test]
    fn every_task_ends_and_every_result_arrives_once(
        root in node(),
        stops in prop::collection::vec((0u32..150, any::<bool>()), 0..4),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let plan = Plan::of(&root);
            let team = team(&plan);
            let model = CrewModel::thinking(Plan::of(&root).turns);
            let session = team.world.session().await;
            let handle = session.prompt("Do it".into(), model.clone(), team.options());
            let run = handle.run().clone();
            for (yields, whole) in &stops {
                for _ in 0..*yields {
                    tokio::task::yield_now().await;
                }
                if *whole { handle.stop() } else { handle.interrupt() }
            }
            let outcome = handle.wait().await.unwrap();
            // It waits for all that was started.
            session.close().await.unwrap();
            if stops.is_empty() && !root.fails {
                assert_eq!((outcome.status, outcome.text), (RunStatus::Completed, mark("root")));
            }

            let mut tasks: BTreeMap<String, u32> = BTreeMap::new();
            let mut calls: BTreeMap<String, (u32, u32, u32)> = BTreeMap::new();
            let payloads = team.world.payloads(&run).await;
            for payload in &payloads {
                match payload {
                    Payload::AgentTaskCreated(body) => assert!(tasks.insert(body.task.to_string(), 0).is_none()),
                    Payload::InvocationEnded(body) => *tasks.get_mut(body.task.as_str()).unwrap() += 1,
                    Payload::ToolCallRequested(body) => calls.entry(body.call_id.to_string()).or_default().0 += 1,
                    Payload::ToolCallStarted(body) => calls.entry(body.call_id.to_string()).or_default().1 += 1,
                    Payload::ToolCallCompleted(body) => calls.entry(body.call_id.to_string()).or_default().2 += 1,
                    Payload::ToolCallFailed(body) => calls.entry(body.call_id.to_string()).or_default().2 += 1,
                    _ => {}
                }
            }
            assert!(tasks.values().all(|ends| *ends == 1), "{tasks:?}");
            for (call, (requested, started, ended)) in calls {
                assert!(requested == 1 && started <= 1 && ended == 1, "{call}: {requested} {started} {ended}");
            }
            assert!(matches!(payloads.last(), Some(Payload::RunEnded(_))));
            assert!(team.world.engine.consent().open().is_empty());
            for (agent, (parent, given)) in &plan.parents {
                let read = model.read_by(parent);
                let times = read.matches(&mark(agent)).count();
                assert!(times <= 1, "{agent} {given:?} in {read}");
                // Nobody was stopped, and the agent was called: then its result came.
                let was_called = !model.asked(agent).is_empty();
                let failed = model.asked(agent).len() < plan.turns[agent].len() || times == 0;
                if stops.is_empty() && was_called && *given != Given::Delegate && !failed {
                    assert_eq!(times, 1, "{agent} in {read}");
                }
            }
        });
    }
}
