//! Names of agents and calls that are the same in a record and in every replay of it: ids are fresh in each run.

use std::collections::HashMap;

use haft_core::journal::{AgentTaskCreated, Payload};
use haft_core::{CallId, InvocationId, TaskId};

/// The name of the root of a run.
pub(super) const ROOT: &str = "root";

/// Names by the ids of one run. An agent is named by its parent and by the call that gave it work: `root/2_1.1`.
#[derive(Debug, Default)]
pub(super) struct Names {
    agents: HashMap<InvocationId, String>,
    /// How many agents a call gave work.
    given: HashMap<CallId, u32>,
}

impl Names {
    /// The names of all agents of a record. The tasks of one call begin side by side, so that their records come in any order; their
    /// numbers tell in which they were given.
    pub(super) fn of<'a>(record: impl Iterator<Item = &'a Payload>) -> Self {
        let mut names = Self::default();
        let mut tasks = Vec::new();
        for payload in record {
            if let Payload::ContextAssembled(body) = payload
                && body.task.is_none()
            {
                names.root(&body.invocation);
            }
            if let Payload::AgentTaskCreated(body) = payload {
                tasks.push(body);
            }
        }
        names.tasks(tasks);
        names
    }

    fn tasks(&mut self, mut created: Vec<&AgentTaskCreated>) {
        created.sort_by_key(|created| number_of(&created.task));
        for created in created {
            self.task(created);
        }
    }

    /// The root of the run; the first one counts.
    pub(super) fn root(&mut self, invocation: &InvocationId) {
        if self.agents.is_empty() {
            self.agents.insert(invocation.clone(), ROOT.to_owned());
        }
    }

    /// An agent is given work; gives its name.
    pub(super) fn task(&mut self, created: &AgentTaskCreated) -> String {
        let given = self.given.entry(created.call_id.clone()).or_default();
        *given += 1;
        let parent = self.agents.get(&created.parent).map_or(ROOT, String::as_str);
        let name = format!("{parent}/{}.{given}", turn_and_number(&created.call_id));
        self.agents.insert(created.invocation.clone(), name.clone());
        name
    }

    /// The name of an agent.
    pub(super) fn agent(&self, invocation: &InvocationId) -> &str {
        self.agents.get(invocation).map_or(ROOT, String::as_str)
    }

    /// Whose call it is, and its turn and number there: `2_1`.
    pub(super) fn call(&self, call: &CallId) -> (String, String) {
        let invocation = call.as_str().rsplitn(3, '_').nth(2).and_then(|rest| rest.strip_prefix("c_"));
        let agent = invocation.map_or(ROOT, |id| self.agent(&InvocationId::from(id)));
        (agent.to_owned(), turn_and_number(call))
    }
}

/// The number of a task in its run: 12 of `task_12`.
fn number_of(task: &TaskId) -> u32 {
    task.as_str().rsplit('_').next().and_then(|number| number.parse().ok()).unwrap_or(u32::MAX)
}

fn turn_and_number(call: &CallId) -> String {
    let text = call.as_str();
    let mut parts = text.rsplitn(3, '_');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(number), Some(turn), Some(_)) => format!("{turn}_{number}"),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use haft_core::TaskId;
    use haft_core::journal::TaskKind;

    use super::*;

    fn created(call: CallId, parent: &str, invocation: &str) -> AgentTaskCreated {
        AgentTaskCreated {
            task: TaskId::new("task_1"),
            kind: TaskKind::Multi,
            agent: "a".into(),
            brief: "b".into(),
            parent: InvocationId::new(parent),
            invocation: InvocationId::new(invocation),
            call_id: call,
        }
    }

    #[test]
    fn the_order_of_records_names_nobody() {
        let call = CallId::of(&InvocationId::new("i_1"), 1, 1);
        let task = |number: u32| AgentTaskCreated {
            task: TaskId::new(format!("task_{number}")),
            ..created(call.clone(), "i_1", &format!("i_{number}"))
        };
        for order in [[9, 10, 11], [11, 10, 9], [10, 11, 9]] {
            let mut names = Names::default();
            names.root(&InvocationId::new("i_1"));
            names.tasks(order.map(task).iter().collect());
            let of = |number: u32| names.agent(&InvocationId::new(format!("i_{number}"))).to_owned();
            assert_eq!([9, 10, 11].map(of), ["root/1_1.1", "root/1_1.2", "root/1_1.3"]);
        }
    }

    #[test]
    fn names_say_by_which_call_an_agent_came_to_be() {
        let mut names = Names::default();
        names.root(&InvocationId::new("i_1"));
        let call = CallId::of(&InvocationId::new("i_1"), 2, 1);
        assert_eq!(names.task(&created(call.clone(), "i_1", "i_2")), "root/2_1.1");
        assert_eq!(names.task(&created(call, "i_1", "i_3")), "root/2_1.2");
        let inner = CallId::of(&InvocationId::new("i_3"), 1, 4);
        assert_eq!(names.call(&inner), ("root/2_1.2".to_owned(), "1_4".to_owned()));
        assert_eq!(names.task(&created(inner, "i_3", "i_4")), "root/2_1.2/1_4.1");
        assert_eq!(names.agent(&InvocationId::new("i_2")), "root/2_1.1");
    }
}
