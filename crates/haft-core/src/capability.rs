//! Yeses given in advance to work that nobody attends (CONFLICT-28): a plain list, checked when it is given, used only where
//! nobody is there to be asked.
//!
//! A capability never widens a profile, never lifts a deny, and never stands in for a question that must be asked every time.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::consent::ConsentEnvironment;
use crate::grant::{Grant, Lifetime};
use crate::ids::{GrantId, RunId, ToolId};
use crate::policy::Outcome;
use crate::ports::Timestamp;
use crate::prospect::prospect;
use crate::scope::Scope;
use crate::snapshot::CompiledTools;

/// One yes in advance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capability {
    /// Which tool.
    pub tool: ToolId,
    /// Which of its calls.
    pub scope: Scope,
    /// For how many calls of one run; none is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uses: Option<u32>,
    /// Until when; none is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

/// All that unattended work may do beyond what needs no yes. Empty is the default: what would be asked is refused.
///
/// ```
/// use haft_core::capability::{Capabilities, Capability};
/// use haft_core::{Scope, ToolId};
/// let tool = ToolId::builtin("project.file_write");
/// let notes = Capability { tool, scope: Scope::Path("/p/notes".into()), uses: Some(5), until: None };
/// let stored = serde_json::to_string(&Capabilities(vec![notes.clone()]))?;
/// assert_eq!(serde_json::from_str::<Capabilities>(&stored)?.0, [notes]);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Capabilities(pub Vec<Capability>);

/// Why a capability is refused when it is given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CapabilityError {
    /// The tool is not among those of the profile.
    #[error("`{0}` is not among the tools of the profile; add it to `tools.allow` first")]
    UnknownTool(ToolId),
    /// Nothing lifts a deny.
    #[error("`{tool}` is denied ({rule}); no capability lifts a deny")]
    Denied {
        /// The tool.
        tool: ToolId,
        /// Who denies it.
        rule: String,
    },
    /// Its calls must be asked every time (APR-10).
    #[error(
        "`{0}` must be asked every time, so nobody can say yes to it in advance; it stays refused where nobody is there"
    )]
    EveryTime(ToolId),
    /// The tool never asks for such a scope.
    #[error("`{tool}` has no part `{scope}`; it offers {offered}")]
    NotOffered {
        /// The tool.
        tool: ToolId,
        /// The scope.
        scope: Scope,
        /// What it offers, in words.
        offered: String,
    },
    /// No call at all.
    #[error("a capability for no calls of `{0}` gives nothing; leave it out")]
    NoUses(ToolId),
}

impl Capabilities {
    /// True if nothing is allowed in advance.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What is wrong with them for these tools; empty if all can be used. Whoever stores them asks this first.
    pub fn check(&self, tools: &CompiledTools, environment: &ConsentEnvironment) -> Vec<CapabilityError> {
        self.0.iter().filter_map(|capability| capability.check(tools, environment).err()).collect()
    }
}

impl Capability {
    fn check(&self, tools: &CompiledTools, environment: &ConsentEnvironment) -> Result<(), CapabilityError> {
        let tool = self.tool.clone();
        if let Some(rule) = tools.hidden_by(&tool) {
            return Err(CapabilityError::Denied { tool, rule: rule.to_string() });
        }
        let Some(bound) = tools.by_id(&tool) else { return Err(CapabilityError::UnknownTool(tool)) };
        if self.uses == Some(0) {
            return Err(CapabilityError::NoUses(tool));
        }
        // A tool of which no sample call can be made is held against the scopes of its real calls alone.
        let Some(decision) = prospect(bound, environment).decision else { return Ok(()) };
        if decision.outcome == Outcome::Deny && decision.by.is_of_the_whole_tool() {
            return Err(CapabilityError::Denied { tool, rule: decision.rule });
        }
        if decision.every_time {
            return Err(CapabilityError::EveryTime(tool));
        }
        let is_offered = decision.scopes.iter().any(|offered| may_cover(&self.scope, offered));
        if !is_offered || self.scope.frees_a_program() {
            let offered = match decision.scopes.as_slice() {
                [] | [Scope::Tool] => "nothing but the whole tool".to_owned(),
                scopes => {
                    let kinds: Vec<&str> = scopes.iter().map(kind).collect();
                    format!("{} and the whole tool", kinds.join(", "))
                }
            };
            return Err(CapabilityError::NotOffered { tool, scope: self.scope.clone(), offered });
        }
        Ok(())
    }

    /// True if a call that asks for one of `wanted` would be covered, as far as scopes go.
    pub fn reaches(&self, tool: &ToolId, wanted: &[Scope]) -> bool {
        self.tool == *tool
            && (self.scope == Scope::Tool || wanted.iter().any(|wanted| self.scope.covers(wanted)))
    }
}

/// True if some call that asks for a scope like `offered` could be covered by `granted`.
fn may_cover(granted: &Scope, offered: &Scope) -> bool {
    match granted {
        Scope::Tool => true,
        Scope::Path(_) => matches!(offered, Scope::Path(_) | Scope::File(_)),
        Scope::File(_) => matches!(offered, Scope::File(_)),
        Scope::Host(_) => matches!(offered, Scope::Host(_)),
        Scope::Command(_) => matches!(offered, Scope::Command(_)),
    }
}

fn kind(scope: &Scope) -> &'static str {
    match scope {
        Scope::Tool => "the whole tool",
        Scope::Path(_) => "`path:DIR`",
        Scope::File(_) => "`file:F`",
        Scope::Host(_) => "`host:H`",
        Scope::Command(_) => "`cmd:SHAPE`",
    }
}

/// The capabilities of one run as grants, and how often each may still be used.
#[derive(Debug, Clone, Default)]
pub struct Pledges {
    left: HashMap<GrantId, Option<u32>>,
}

impl Pledges {
    /// How grants that come from a capability say where they come from.
    pub const GRANTED_BY: &'static str = "unattended.allow";

    /// The grants of `run` that `capabilities` stand for, each under a fresh id, and the count of their uses.
    pub fn open(
        capabilities: &Capabilities,
        run: &RunId,
        now: Timestamp,
        mut fresh: impl FnMut() -> GrantId,
    ) -> (Self, Vec<Grant>) {
        let mut left = HashMap::new();
        let one = |capability: &Capability| {
            let id = fresh();
            left.insert(id.clone(), capability.uses);
            let lifetime = capability.until.map_or_else(|| Lifetime::Run(run.clone()), Lifetime::Until);
            let (tool, scope) = (capability.tool.clone(), capability.scope.clone());
            Grant::new(id, tool, scope, lifetime, Self::GRANTED_BY, now)
        };
        let grants = capabilities.0.iter().map(one).collect();
        (Self { left }, grants)
    }

    /// True if `grant` may be used: it comes from elsewhere, or from a capability of this run that is not used up.
    pub fn allow(&self, grant: &Grant) -> bool {
        grant.granted_by != Self::GRANTED_BY || self.left.get(&grant.id).is_some_and(|left| *left != Some(0))
    }

    /// Counts a use of the grant `id`, if it is one of these.
    pub fn count(&mut self, id: &GrantId) {
        if let Some(Some(left)) = self.left.get_mut(id) {
            *left = left.saturating_sub(1);
        }
    }
}
