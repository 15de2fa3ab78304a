//! How an invocation of a run begins and how it must end, and what that does to its tools (SNP-02, SNP-05, CONFLICT-26).
//!
//! The host decides it when it starts the invocation; neither profile nor model can change it.

use serde::{Deserialize, Serialize};

use crate::ids::ToolId;
use crate::profile::RunKind;

/// What ends an invocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExitPolicy {
    /// An answer without calls: its text is the result.
    #[default]
    Text,
    /// `workspace.finish`; an answer without calls is drift (EXE-13).
    FinishRequired,
    /// `task.return`; an answer without calls is drift (EXE-14, DEL-14).
    TaskReturnRequired,
}

impl ExitPolicy {
    /// That of the root of a run of that kind.
    pub fn of_root(kind: RunKind) -> Self {
        match kind {
            RunKind::Chat => Self::Text,
            RunKind::Agent => Self::FinishRequired,
        }
    }

    /// True if the invocation ends with an answer without calls.
    pub fn ends_with_text(&self) -> bool {
        match self {
            Self::Text => true,
            Self::FinishRequired | Self::TaskReturnRequired => false,
        }
    }

    /// The tools with which the invocation ends, in the order in which they are used; none where a text ends it (EXE-14).
    pub fn ending_tools(self) -> Vec<ToolId> {
        let names: &[&str] = match self {
            Self::Text => &[],
            Self::FinishRequired => &["workspace.commit", "workspace.finish"],
            Self::TaskReturnRequired => &["task.return"],
        };
        names.iter().map(|name| ToolId::builtin(name)).collect()
    }
}

/// How an invocation came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The first of its run.
    #[default]
    Root,
    /// It works for another one, which gets its result.
    Child,
    /// It took over from another one, which is over.
    Handoff,
}

/// The terms under which an invocation works.
///
/// ```
/// use haft_core::ToolId;
/// use haft_core::exit::{ExitPolicy, Role, Terms};
/// let child = Terms { role: Role::Child, exit: ExitPolicy::TaskReturnRequired };
/// assert!(child.withholds(&ToolId::builtin("workspace.finish")));
/// assert!(child.withholds(&ToolId::builtin("agent.delegate")));
/// assert_eq!(child.injected(), [ToolId::builtin("task.return")]);
/// assert!(!Terms::default().withholds(&ToolId::builtin("agent.delegate")));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Terms {
    /// How it came to be.
    pub role: Role,
    /// What ends it.
    pub exit: ExitPolicy,
}

impl Terms {
    /// Those of the root of a run of that kind.
    pub fn root(kind: RunKind) -> Self {
        Self { role: Role::Root, exit: ExitPolicy::of_root(kind) }
    }

    /// True for the tools that the invocation does not get, whatever its profile allows: a child neither commits to the
    /// conversation nor ends or hands over the run, and one that must return has no agents of its own (SNP-05).
    pub fn withholds(&self, tool: &ToolId) -> bool {
        let Some(name) = tool.as_str().strip_prefix("builtin:") else { return false };
        let of_the_run = matches!(name, "workspace.commit" | "workspace.finish" | "agent.handoff");
        let of_agents = name.starts_with("agent.");
        match (self.role, self.exit) {
            (Role::Root | Role::Handoff, ExitPolicy::Text | ExitPolicy::FinishRequired) => false,
            (Role::Child, ExitPolicy::Text | ExitPolicy::FinishRequired) => of_the_run,
            (Role::Root | Role::Child | Role::Handoff, ExitPolicy::TaskReturnRequired) => {
                of_the_run || of_agents
            }
        }
    }

    /// The tools that it gets beside those of its profile (SNP-05).
    pub fn injected(&self) -> Vec<ToolId> {
        match self.exit {
            ExitPolicy::Text | ExitPolicy::FinishRequired => Vec::new(),
            ExitPolicy::TaskReturnRequired => vec![task_return()],
        }
    }
}

/// The tool that no profile may allow: the host gives it to those who must use it (DEL-14).
pub fn task_return() -> ToolId {
    ToolId::builtin("task.return")
}
