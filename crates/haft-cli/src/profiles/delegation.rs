//! How an agent works with others: `delegation` of a profile (DEL-01, DEL-06, DEL-10, CONFLICT-30).

use std::fmt::Write;

use haft_core::Profile;
use haft_core::agents::DelegationPolicy;

use super::front::count;
use super::write::quoted;
use crate::document::reader::TableReader;

/// What one file says of it; what it leaves out is none.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Delegation {
    internal: Option<bool>,
    can_handoff: Option<bool>,
    callable: Option<bool>,
    allow_as_handoff_target: Option<bool>,
    allowed_callers: Option<Vec<String>>,
    max_handoff_depth: Option<u32>,
    child_rounds: Option<u32>,
    child_tokens: Option<u32>,
    nested: Option<bool>,
}

/// Reads the table of a profile.
pub(super) fn read(root: &TableReader<'_>) -> Delegation {
    let Some(table) = root.table("delegation") else { return Delegation::default() };
    let callers = table.texts("allowed_callers");
    let depth = table.whole("max_handoff_depth", 0, u64::from(DelegationPolicy::MOST_HANDOFFS));
    let read = Delegation {
        internal: table.boolean("internal"),
        can_handoff: table.boolean("can_handoff"),
        callable: table.boolean("callable"),
        allow_as_handoff_target: table.boolean("allow_as_handoff_target"),
        allowed_callers: callers.map(|names| names.into_iter().map(|(name, _)| name).collect()),
        max_handoff_depth: depth.and_then(|depth| u32::try_from(depth).ok()),
        child_rounds: count(&table, "child_rounds"),
        child_tokens: count(&table, "child_tokens"),
        nested: table.boolean("nested"),
    };
    table.finish();
    read
}

impl Delegation {
    /// What this file says over the one below. That an agent is hidden holds for its own file alone: what extends it is another
    /// agent.
    pub(super) fn over(self, below: Self) -> Self {
        Self {
            internal: self.internal,
            can_handoff: self.can_handoff.or(below.can_handoff),
            callable: self.callable.or(below.callable),
            allow_as_handoff_target: self.allow_as_handoff_target.or(below.allow_as_handoff_target),
            allowed_callers: self.allowed_callers.or(below.allowed_callers),
            max_handoff_depth: self.max_handoff_depth.or(below.max_handoff_depth),
            child_rounds: self.child_rounds.or(below.child_rounds),
            child_tokens: self.child_tokens.or(below.child_tokens),
            nested: self.nested.or(below.nested),
        }
    }

    pub(super) fn policy(self) -> DelegationPolicy {
        let default = DelegationPolicy::default();
        DelegationPolicy {
            internal: self.internal.unwrap_or(default.internal),
            can_handoff: self.can_handoff.unwrap_or(default.can_handoff),
            callable: self.callable.unwrap_or(default.callable),
            allow_as_handoff_target: self.allow_as_handoff_target.unwrap_or(default.allow_as_handoff_target),
            allowed_callers: self.allowed_callers,
            max_handoff_depth: self.max_handoff_depth.unwrap_or(default.max_handoff_depth),
            child_rounds: self.child_rounds.unwrap_or(default.child_rounds),
            child_tokens: self.child_tokens.unwrap_or(default.child_tokens),
            nested: self.nested.unwrap_or(default.nested),
        }
    }
}

/// Writes the table of a resolved profile, if it says anything.
pub(super) fn write(out: &mut String, profile: &Profile) -> std::fmt::Result {
    let policy = &profile.delegation;
    if policy.is_default() {
        return Ok(());
    }
    writeln!(out, "delegation:\n  internal: {}", policy.internal)?;
    writeln!(out, "  can_handoff: {}\n  callable: {}", policy.can_handoff, policy.callable)?;
    writeln!(out, "  allow_as_handoff_target: {}", policy.allow_as_handoff_target)?;
    if let Some(callers) = &policy.allowed_callers {
        let names: Vec<String> = callers.iter().map(|name| quoted(name)).collect();
        writeln!(out, "  allowed_callers: [{}]", names.join(", "))?;
    }
    writeln!(out, "  max_handoff_depth: {}", policy.max_handoff_depth)?;
    writeln!(out, "  child_rounds: {}\n  child_tokens: {}", policy.child_rounds, policy.child_tokens)?;
    writeln!(out, "  nested: {}", policy.nested)
}
