//! The agents that a run may put to work: who gives their profiles and models, and what an agent may do that another one calls.

use std::sync::Arc;

use haft_core::budget::Price;
use haft_core::facts::Permission;
use haft_core::ports::Model;
use haft_core::profile::ApprovalMode;
use haft_core::{CompiledTools, Profile, ToolRegistry};

/// The model of an agent.
#[derive(Clone)]
pub struct AgentModel {
    /// The model.
    pub model: Arc<dyn Model>,
    /// The name under which it was chosen.
    pub name: Option<String>,
    /// What its tokens cost; none where that is not known.
    pub price: Option<Price>,
}

impl std::fmt::Debug for AgentModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentModel").field("name", &self.name).finish_non_exhaustive()
    }
}

/// All agents that the embedding program knows, by name. What of them an agent may call is told by their profiles
/// ([`DelegationPolicy`](haft_core::agents::DelegationPolicy)).
pub trait Agents: Send + Sync {
    /// Their names, in the order in which they are listed.
    fn names(&self) -> Vec<String>;

    /// The profile of an agent; none if there is no such agent.
    ///
    /// # Errors
    /// Why it cannot be had, in words.
    fn profile(&self, name: &str) -> Result<Option<Arc<Profile>>, String>;

    /// The model with which an agent of that profile works, where the run that calls it works with `caller`.
    ///
    /// # Errors
    /// Why it cannot be had, in words.
    fn model(&self, profile: &Profile, caller: &AgentModel) -> Result<AgentModel, String>;
}

/// No agents at all.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoAgents;

impl Agents for NoAgents {
    fn names(&self) -> Vec<String> {
        Vec::new()
    }

    fn profile(&self, _name: &str) -> Result<Option<Arc<Profile>>, String> {
        Ok(None)
    }

    fn model(&self, _profile: &Profile, caller: &AgentModel) -> Result<AgentModel, String> {
        Ok(caller.clone())
    }
}

/// The profile of an agent as it holds where another agent put it to work: what the caller must ask for, it must ask for as well,
/// so that nobody gets round a question by letting somebody else do it. Nobody gives it yeses in advance.
pub(crate) fn called_by(
    caller: &Profile,
    tools: &CompiledTools,
    agent: &Profile,
    registry: &ToolRegistry,
) -> Profile {
    let mut agent = agent.clone();
    for id in agent.allowed().to_vec() {
        let Some(bound) = tools.by_id(&id) else { continue };
        let Some(tool) = registry.get(&id) else { continue };
        let own = agent.tools.permission.get(&id).copied().unwrap_or(tool.declaration().facts.permission);
        let floor = bound.binding().permission;
        if strictness(floor) > strictness(own) {
            agent.tools.permission.insert(id, floor);
        }
    }
    agent.taint.ask |= caller.taint.ask;
    agent.repairs.ask |= caller.repairs.ask;
    if caller.approval == ApprovalMode::Ask {
        agent.approval = ApprovalMode::Ask;
    }
    agent.unattended = haft_core::capability::Capabilities::default();
    agent
}

fn strictness(permission: Permission) -> u8 {
    match permission {
        Permission::Allow => 0,
        Permission::Ask => 1,
        Permission::Deny => 2,
    }
}
