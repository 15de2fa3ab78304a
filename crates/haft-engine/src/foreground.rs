//! Which invocations of a run spoke to the person: its root, and whoever took over from it. What other agents did stands in the
//! journal and in no conversation.

use std::collections::HashMap;

use haft_core::exit::Role;
use haft_core::journal::{AgentTaskCreated, ContextAssembled, InvocationEnded, TaskKind};
use haft_core::{InvocationId, TaskId};

use crate::recover::INTERRUPTED;
use crate::work::handoff_opening;

/// The invocations in the foreground of a run, as its records name them one after another.
#[derive(Debug, Default)]
pub(crate) struct Foreground {
    /// Each with the name of its agent.
    agents: HashMap<InvocationId, String>,
    tasks: HashMap<TaskId, AgentTaskCreated>,
    profile: String,
    prompt: Option<String>,
}

impl Foreground {
    /// The run begins.
    pub(crate) fn begin(&mut self, profile: &str, prompt: Option<&str>) {
        self.profile = profile.to_owned();
        self.prompt = prompt.map(str::to_owned);
    }

    /// A task is given.
    pub(crate) fn task(&mut self, task: AgentTaskCreated) {
        self.tasks.insert(task.task.clone(), task);
    }

    /// An invocation begins; gives what it reads first, where it takes over.
    pub(crate) fn context(&mut self, context: &ContextAssembled) -> Option<String> {
        let Some(link) = &context.task else {
            self.agents.insert(context.invocation.clone(), self.profile.clone());
            return None;
        };
        match link.role {
            Role::Root | Role::Child => None,
            Role::Handoff => {
                let from = self.agents.get(&link.parent)?.clone();
                let task = self.tasks.get(&link.id)?;
                self.agents.insert(context.invocation.clone(), task.agent.clone());
                Some(handoff_opening(self.prompt.as_deref(), &from, &task.brief))
            }
        }
    }

    /// True if the invocation spoke to the person. One whose beginning was taken away is taken for one that did.
    pub(crate) fn has(&self, invocation: &InvocationId) -> bool {
        self.agents.is_empty() || self.agents.contains_key(invocation)
    }

    /// What whoever goes on must know of a background task that was cut off: no call of the conversation tells of it.
    pub(crate) fn cut_off(&self, ended: &InvocationEnded) -> Option<String> {
        let task = self.tasks.get(&ended.task)?;
        let told = ended.error_code.as_deref() == Some(INTERRUPTED)
            && task.kind == TaskKind::Delegate
            && self.agents.contains_key(&task.parent);
        let why = ended.message.as_deref().filter(|_| told)?;
        Some(format!(
            "(Note from the host: the task {} of the agent `{}` did not end. {why})",
            task.task, task.agent
        ))
    }
}
