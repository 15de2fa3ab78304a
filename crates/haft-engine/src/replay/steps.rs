//! The steps of a run that a replay is held against: what its records say, without ids, times and digests of what has them.

use std::collections::{BTreeMap, HashMap};

use haft_core::journal::Payload;
use haft_core::{CallId, InvocationId};
use serde_json::{Map, Value, json};

use super::Difference;
use super::names::{Names, ROOT};

/// One step.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Step {
    seq: u64,
    kind: &'static str,
    /// The name of the agent whose step it is: those of agents that worked side by side are held against each other agent by agent.
    agent: String,
    /// The call, by its turn and number: those that ran side by side are held against each other call by call.
    call: Option<String>,
    facts: Map<String, Value>,
}

/// How long the conversation of each agent was when its model was asked first.
pub(super) type Known = HashMap<InvocationId, i64>;

/// Whose step it is.
enum By<'a> {
    Run,
    Agent(&'a InvocationId),
    Call(&'a CallId),
}

/// The step that a record tells of; none for questions, answers and yeses, which are not repeated. `content` is what an ended call
/// gave.
pub(super) fn step_of(
    seq: u64,
    payload: &Payload,
    names: &Names,
    known: &mut Known,
    content: Option<&str>,
) -> Option<Step> {
    let (kind, by, facts) = match payload {
        Payload::ContextAssembled(body) => {
            let facts = json!({"tools": body.tools, "workspace": body.workspace});
            ("tools", By::Agent(&body.invocation), facts)
        }
        Payload::ModelRequestCreated(body) => {
            let messages = i64::try_from(body.messages).unwrap_or(i64::MAX);
            let first = *known.entry(body.invocation.clone()).or_insert(messages);
            let facts = json!({
                "turn": body.turn, "contract": body.contract, "note": body.note, "told": body.told,
                "messages": messages.saturating_sub(first),
            });
            ("request", By::Agent(&body.invocation), facts)
        }
        Payload::ModelTurnCompleted(body) => {
            let calls: Vec<_> = body.calls.iter().map(|call| &call.requested).collect();
            let facts = json!({"turn": body.turn, "text": body.text, "calls": calls});
            ("answer", By::Agent(&body.invocation), facts)
        }
        Payload::ModelRequestFailed(body) => {
            let facts = json!({"turn": body.turn, "error_code": body.error_code});
            ("answer", By::Agent(&body.invocation), facts)
        }
        Payload::ToolCallRequested(body) => {
            let facts = json!({
                "alias": body.alias, "tool_id": body.tool_id, "arguments": body.arguments_file.sha256,
                "decision": body.decision, "rule": body.rule, "repairs": body.repairs,
            });
            ("call", By::Call(&body.call_id), facts)
        }
        Payload::ToolCallCompleted(body) => {
            let workspace: Vec<_> = body.workspace.iter().map(|file| (&file.path, file.sha256)).collect();
            let facts = json!({
                "alias": body.alias, "content": content, "spilled": body.spilled_to.is_some(),
                "skipped": body.skipped, "workspace": workspace,
            });
            ("result", By::Call(&body.call_id), facts)
        }
        Payload::ToolCallFailed(body) => {
            let facts = json!({
                "alias": body.alias, "error_code": body.error_code, "content": content, "skipped": body.skipped,
            });
            ("result", By::Call(&body.call_id), facts)
        }
        Payload::ChatCommitted(body) => {
            let facts = json!({
                "mode": body.mode, "source": body.source, "characters": body.characters, "text": body.file.sha256,
            });
            let by = body.call_id.as_ref().map_or(By::Agent(&body.invocation), By::Call);
            ("conversation", by, facts)
        }
        Payload::DirectOutputCaptured(body) => {
            let facts = json!({"turn": body.turn, "path": body.file.path, "text": body.file.sha256});
            ("drift", By::Agent(&body.invocation), facts)
        }
        Payload::DriftRecoveryAttempted(body) => {
            ("drift", By::Agent(&body.invocation), json!({"turn": body.turn, "attempt": body.attempt}))
        }
        Payload::PersistPromoted(body) => {
            let files: Vec<_> = body.files.iter().map(|file| (&file.path, file.sha256)).collect();
            ("kept", By::Run, json!({"files": files}))
        }
        Payload::RunFailed(body) => {
            let facts = json!({"error_code": body.error_code, "user_retryable": body.user_retryable});
            ("end", By::Run, facts)
        }
        Payload::RunPartialSuccess(body) => ("end", By::Run, json!({"error_code": body.error_code})),
        Payload::RunEnded(body) => {
            let facts = json!({"status": body.status, "error_code": body.error_code, "text": body.text});
            ("end", By::Run, facts)
        }
        Payload::AgentTaskCreated(body) => {
            let facts = json!({"kind": body.kind, "agent": body.agent, "brief": body.brief});
            ("task", By::Agent(&body.invocation), facts)
        }
        Payload::InvocationEnded(body) => {
            let facts = json!({"status": body.status, "error_code": body.error_code, "text": body.text});
            ("agent_end", By::Agent(&body.invocation), facts)
        }
        Payload::ContextCompacted(body) => {
            // One message stands for many; in the replay none does.
            if let Some(first) = known.get_mut(&body.invocation) {
                let gone = i64::try_from(body.messages).unwrap_or(i64::MAX);
                *first = first.saturating_sub(gone).saturating_add(1);
            }
            return None;
        }
        Payload::RunStarted(_)
        | Payload::ConsentOpened(_)
        | Payload::ConsentClosed(_)
        | Payload::GrantGiven(_)
        | Payload::GrantRevoked(_)
        | Payload::ToolCallStarted(_)
        | Payload::ChatImported(_)
        | Payload::WorldInfoActivated(_)
        | Payload::PayloadRedacted(_)
        | Payload::SessionDeleted(_) => return None,
    };
    let Value::Object(facts) = facts else { return None };
    let (agent, call) = match by {
        By::Run => (ROOT.to_owned(), None),
        By::Agent(invocation) => (names.agent(invocation).to_owned(), None),
        By::Call(call) => {
            let (agent, call) = names.call(call);
            (agent, Some(call))
        }
    };
    Some(Step { seq, kind, agent, call, facts })
}

/// The first place where `replayed` goes another way: the agent's that comes first in the record.
pub(super) fn first_difference(recorded: &[Step], replayed: &[Step]) -> Option<Difference> {
    let mut agents: BTreeMap<&str, (Vec<&Step>, Vec<&Step>)> = BTreeMap::new();
    for step in recorded {
        agents.entry(&step.agent).or_default().0.push(step);
    }
    for step in replayed {
        agents.entry(&step.agent).or_default().1.push(step);
    }
    let differences = agents.values().filter_map(|(recorded, replayed)| of_agent(recorded, replayed));
    differences.min_by_key(|difference| difference.seq.unwrap_or(u64::MAX))
}

fn of_agent(recorded: &[&Step], replayed: &[&Step]) -> Option<Difference> {
    let (recorded, replayed) = (call_by_call(recorded), call_by_call(replayed));
    let pairs = recorded.iter().zip(&replayed);
    if let Some((before, now)) = pairs.into_iter().find(|(before, now)| !before.is_like(now)) {
        return Some(before.against(now));
    }
    match (recorded.get(replayed.len()), replayed.get(recorded.len())) {
        (Some(before), _) => Some(Difference {
            kind: "missing",
            seq: Some(before.seq),
            agent: before.agent.clone(),
            field: None,
            recorded: before.told(),
            replayed: Value::Null,
        }),
        (None, Some(now)) => Some(Difference {
            kind: "extra",
            seq: None,
            agent: now.agent.clone(),
            field: None,
            recorded: Value::Null,
            replayed: now.told(),
        }),
        (None, None) => None,
    }
}

/// The steps, those of the calls of one turn ordered by call.
fn call_by_call<'a>(steps: &[&'a Step]) -> Vec<&'a Step> {
    let mut ordered = steps.to_vec();
    for group in ordered.chunk_by_mut(|before, after| before.call.is_some() && after.call.is_some()) {
        group.sort_by_key(|step| step.call.as_deref().map(place_of));
    }
    ordered
}

/// The turn of a call and its number there.
fn place_of(key: &str) -> (u32, u32) {
    let (turn, number) = key.split_once('_').unwrap_or((key, ""));
    (turn.parse().unwrap_or(u32::MAX), number.parse().unwrap_or(u32::MAX))
}

impl Step {
    fn is_like(&self, other: &Self) -> bool {
        (self.kind, &self.call, &self.facts) == (other.kind, &other.call, &other.facts)
    }

    /// What the step is, for people.
    fn told(&self) -> Value {
        let mut told = Map::from_iter([("step".to_owned(), json!(self.kind))]);
        told.extend(self.call.as_ref().map(|call| ("call".to_owned(), json!(call))));
        told.extend(self.facts.clone());
        Value::Object(told)
    }

    fn against(&self, now: &Self) -> Difference {
        let (seq, agent) = (Some(self.seq), self.agent.clone());
        if (self.kind, &self.call) != (now.kind, &now.call) {
            let (recorded, replayed) = (self.told(), now.told());
            return Difference { kind: "order", seq, agent, field: None, recorded, replayed };
        }
        let names = self.facts.keys().chain(now.facts.keys());
        let field = names.into_iter().find(|name| self.facts.get(*name) != now.facts.get(*name)).cloned();
        let of = |step: &Self| {
            field.as_ref().and_then(|name| step.facts.get(name)).cloned().unwrap_or(Value::Null)
        };
        Difference { kind: self.kind, seq, agent, recorded: of(self), replayed: of(now), field }
    }
}
