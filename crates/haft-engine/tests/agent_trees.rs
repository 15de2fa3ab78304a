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

/// What a journal says of who was asked when, and whose work came to a good end when. The places are those of the records.
#[derive(Default)]
struct Told {
    /// The requests of each agent.
    requests: BTreeMap<String, Vec<usize>>,
    /// The good end of an agent.
    ended: BTreeMap<String, usize>,
    /// The good end of the call that gave the agent its work.
    answered: BTreeMap<String, usize>,
}

impl Told {
    fn of(payloads: &[Payload]) -> Self {
        let mut told = Self::default();
        let mut agents: HashMap<String, String> = HashMap::new();
        let mut calls: HashMap<String, Vec<String>> = HashMap::new();
        for (at, payload) in payloads.iter().enumerate() {
            match payload {
                Payload::ContextAssembled(body) if body.task.is_none() => {
                    agents.insert(body.invocation.to_string(), "root".to_owned());
                }
                Payload::AgentTaskCreated(body) => {
                    agents.insert(body.invocation.to_string(), body.agent.clone());
                    calls.entry(body.call_id.to_string()).or_default().push(body.agent.clone());
                }
                Payload::ModelRequestCreated(body) => {
                    let agent = agents[body.invocation.as_str()].clone();
                    told.requests.entry(agent).or_default().push(at);
                }
                Payload::InvocationEnded(body) if body.status == RunStatus::Completed => {
                    told.ended.insert(agents[body.invocation.as_str()].clone(), at);
                }
                Payload::ToolCallCompleted(body) => {
                    for agent in calls.get(body.call_id.as_str()).into_iter().flatten() {
                        told.answered.insert(agent.clone(), at);
                    }
                }
                _ => {}
            }
        }
        told
    }

    /// The agent came to a good end, and its parent was asked again when it could be told.
    fn must_have_arrived(&self, agent: &str, parent: &str, given: Given) -> bool {
        let Some(ended) = self.ended.get(agent) else { return false };
        let requests = self.requests.get(parent).map_or(&[][..], Vec::as_slice);
        let after = |at: usize| requests.iter().filter(|request| **request > at).count();
        match given {
            // The result is that of the call, if the call was let to its end.
            Given::Call | Given::Multi => {
                self.answered.get(agent).is_some_and(|answered| after(*answered) > 0)
            }
            // It may end while the parent's request is under way; the one after that tells of it.
            Given::Delegate => after(*ended) > 1,
        }
    }
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
            let told = Told::of(&payloads);
            for (agent, (parent, given)) in &plan.parents {
                let times = model.read_by(parent).matches(&mark(agent)).count();
                assert!(times <= 1, "{agent} {given:?} in {}", model.read_by(parent));
                if told.must_have_arrived(agent, parent, *given) {
                    assert_eq!(times, 1, "{agent} {given:?} in {}", model.read_by(parent));
                }
            }
            // Nobody works on when all is over.
            let (asked, written) = (model.requests.lock().unwrap().len(), payloads.len());
            for _ in 0..200 {
                tokio::task::yield_now().await;
            }
            assert_eq!(model.requests.lock().unwrap().len(), asked);
            assert_eq!(team.world.payloads(&run).await.len(), written);
        });
    }
}
