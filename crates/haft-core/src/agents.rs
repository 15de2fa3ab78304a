//! How agents put other agents to work: what a profile says of it, and the port through which tools reach whoever owns the run
//! (DEL, CONFLICT-15).
//!
//! The tools check arguments and write what the model reads; who may call whom, and what becomes of a task, is the owner's. Every
//! step that starts or ends work takes the [`StartedCall`] that wants it, so that nothing begins without a committed intent.

use serde::{Deserialize, Serialize};

use crate::error::ToolError;
use crate::ids::TaskId;
use crate::path::StartedCall;
use crate::ports::{BoxFuture, Cancel};

/// What a profile says of working with other agents (`delegation`). Nobody may be called as an agent unless a profile says so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DelegationPolicy {
    /// Hidden from `agent.call` (DEL-01).
    pub internal: bool,
    /// It may hand its run over (`canHandoff`, DEL-10).
    pub can_handoff: bool,
    /// It may be given work by `agent.delegate`, and is listed (DEL-06).
    pub callable: bool,
    /// It may take over a run (`allowAsHandoffTarget`, DEL-10).
    pub allow_as_handoff_target: bool,
    /// The agents that may call it, by name; none is all of them (`allowedCallers`).
    pub allowed_callers: Option<Vec<String>>,
    /// How often a run may have been handed over, this agent's handoff included; at most [`DelegationPolicy::MOST_HANDOFFS`].
    pub max_handoff_depth: u32,
    /// Model turns of a child of `agent.multi`, the last one without tools (DEL-03).
    pub child_rounds: u32,
    /// Most tokens of one answer of such a child (DEL-03).
    pub child_tokens: u32,
    /// Such children may have `agent.multi` themselves (CONFLICT-15).
    pub nested: bool,
}

impl DelegationPolicy {
    /// Most handoffs of one run, whatever profiles say.
    pub const MOST_HANDOFFS: u32 = 8;

    /// True if nothing differs from what holds where a profile says nothing.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// True if the agent called `caller` may call this one.
    pub fn admits(&self, caller: &str) -> bool {
        self.allowed_callers.as_ref().is_none_or(|allowed| allowed.iter().any(|name| name == caller))
    }
}

impl Default for DelegationPolicy {
    /// B's numbers for children (CONFLICT-30).
    fn default() -> Self {
        Self {
            internal: false,
            can_handoff: false,
            callable: false,
            allow_as_handoff_target: false,
            allowed_callers: None,
            max_handoff_depth: Self::MOST_HANDOFFS,
            child_rounds: 3,
            child_tokens: 4_096,
            nested: false,
        }
    }
}

/// An agent as another one sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentCard {
    /// Its name.
    pub id: String,
    /// One line.
    pub description: String,
    /// It can be given work.
    pub delegate: bool,
    /// It can take over.
    pub handoff: bool,
}

/// One task of `agent.multi`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MultiTask {
    /// Its name.
    pub name: String,
    /// What to do.
    pub instruction: String,
    /// The tools that it may use, by the caller's aliases; none is all of the caller's.
    pub tools: Option<Vec<String>>,
}

/// How far a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TaskState {
    /// It waits for its turn.
    Queued,
    /// An agent works on it.
    Running,
    /// It has a result.
    Completed,
    /// It failed.
    Failed,
    /// It was stopped.
    Cancelled,
}

impl TaskState {
    /// True if nothing comes of it any more.
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Queued | Self::Running => false,
            Self::Completed | Self::Failed | Self::Cancelled => true,
        }
    }

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// A task as its owner sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskView {
    /// The task.
    pub id: TaskId,
    /// Who works on it.
    pub agent: String,
    /// How far it is.
    pub state: TaskState,
    /// Its result, or why there is none; none before its end.
    pub text: Option<String>,
    /// Paths in the workspace that hold its result or that it names.
    pub files: Vec<String>,
    /// Its result was given before.
    pub given_before: bool,
}

impl TaskView {
    /// What the model reads of it (DEL-12).
    ///
    /// ```
    /// use haft_core::TaskId;
    /// use haft_core::agents::{TaskState, TaskView};
    /// let mut task = TaskView {
    ///     id: TaskId::new("task_1"), agent: "scout".into(), state: TaskState::Completed, text: Some("All quiet.".into()),
    ///     files: vec!["summaries/task_1-result.md".into()], given_before: false,
    /// };
    /// assert_eq!(
    ///     task.capsule(),
    ///     "### task_1 (`scout`): completed\n\nAll quiet.\n\nFiles: `summaries/task_1-result.md`"
    /// );
    /// task.given_before = true;
    /// assert!(!task.capsule().contains("All quiet."));
    /// ```
    pub fn capsule(&self) -> String {
        let mut capsule = format!("### {} (`{}`): {}", self.id, self.agent, self.state.as_str());
        match (&self.text, self.given_before) {
            (Some(_), true) => capsule.push_str("\n\nIts result was given to you before."),
            (Some(text), false) => {
                capsule.push_str("\n\n");
                capsule.push_str(text);
            }
            (None, _) => {}
        }
        if !self.files.is_empty() {
            let names: Vec<String> = self.files.iter().map(|file| format!("`{file}`")).collect();
            capsule.push_str("\n\nFiles: ");
            capsule.push_str(&names.join(", "));
        }
        capsule
    }
}

/// What a child gives back by `task.return`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskReturn {
    /// The result.
    pub result: String,
    /// The task could not be done; `result` says why.
    pub failed: bool,
    /// Files of the workspace that belong to it.
    pub files: Vec<String>,
}

/// The agents of a run, as the tools of one of its invocations reach them.
pub trait Delegation: Send + Sync {
    /// Those that this invocation may put to work by [`Delegation::delegate`] or [`Delegation::hand_over`] (DEL-06).
    ///
    /// # Errors
    /// They cannot be looked up.
    fn list(&self) -> Result<Vec<AgentCard>, ToolError>;

    /// Lets `agent` work on `instruction` and gives its final text (DEL-01, DEL-18).
    ///
    /// # Errors
    /// There is no such agent, another one was called in the same batch, or it failed.
    fn call<'a>(
        &'a self,
        call: &'a StartedCall,
        agent: &'a str,
        instruction: &'a str,
        cancel: &'a dyn Cancel,
    ) -> BoxFuture<'a, Result<String, ToolError>>;

    /// Lets children of this agent work on all tasks side by side; one answer or error a task, in their order (DEL-03 to DEL-05).
    ///
    /// # Errors
    /// A task names a tool that this agent does not have; nothing was started then.
    fn multi<'a>(
        &'a self,
        call: &'a StartedCall,
        tasks: Vec<MultiTask>,
        cancel: &'a dyn Cancel,
    ) -> BoxFuture<'a, Result<Vec<Result<String, String>>, ToolError>>;

    /// Gives `agent` a task to work on in the background (DEL-07).
    ///
    /// # Errors
    /// It may not be called, or no more tasks are left.
    fn delegate<'a>(
        &'a self,
        call: &'a StartedCall,
        agent: &'a str,
        task: &'a str,
    ) -> BoxFuture<'a, Result<TaskId, ToolError>>;

    /// Waits at most so many seconds for tasks of this invocation; all of them where none is named (DEL-12).
    ///
    /// # Errors
    /// A task is not one of this invocation's, or the wait was stopped.
    fn wait<'a>(
        &'a self,
        call: &'a StartedCall,
        tasks: &'a [TaskId],
        seconds: u64,
        cancel: &'a dyn Cancel,
    ) -> BoxFuture<'a, Result<Vec<TaskView>, ToolError>>;

    /// Lets `agent` take over the run when this batch is over (DEL-09 to DEL-11).
    ///
    /// # Errors
    /// It may not take over, or tasks of this invocation are not done.
    fn hand_over(&self, call: &StartedCall, agent: &str, brief: &str) -> Result<(), ToolError>;

    /// Gives back the result of this invocation, which ends with this batch (DEL-14).
    ///
    /// # Errors
    /// It has nothing to return.
    fn give_back(&self, call: &StartedCall, result: TaskReturn) -> Result<(), ToolError>;
}
