//! The rules of all layers as plain values, who is heard first, and the version by which answers are bound to them.

use std::iter;

use haft_schema::{Digest, canonical};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::rule::Rule;
use crate::facts::Permission;
use crate::ids::ToolId;
use crate::profile::Profile;
use crate::registry::ToolRegistry;

/// Version of what rules mean. It is part of [`Policy::version`], so that no answer outlives a change of meaning.
pub const POLICY_SCHEMA: u32 = 1;

/// Who speaks, in the order in which they are heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// The user, in `haft.toml`.
    User,
    /// The administrator of the machine, or the program that embeds Haft.
    Platform,
    /// The plan of this run.
    Plan,
    /// The profile.
    Profile,
    /// What was set for the tool's provider: an MCP server, an extension.
    Source,
    /// The tool's own default.
    Tool,
}

impl Layer {
    /// As a person reads it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "the user's rules",
            Self::Platform => "the platform's rules",
            Self::Plan => "the plan",
            Self::Profile => "the profile",
            Self::Source => "the rules for the tool's source",
            Self::Tool => "the tool's default",
        }
    }
}

/// What one run of a plan may do (POL-05): a step of a larger plan knows better than the profile what it needs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Plan {
    /// Its name, for people.
    pub name: String,
    /// The tools of the run, in place of the profile's `tools.allow`; what the profile denies stays denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow: Option<Vec<ToolId>>,
    /// Its rules, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Rule>,
}

/// The rules that hold for an agent, as written (POL-01).
///
/// ```
/// use haft_core::facts::Permission;
/// use haft_core::policy::{Layer, Place, Policy, Rule};
/// let rule = |decision| Rule::new("*", decision, Place { file: "rules".into(), line: 1, column: 1 });
/// let policy = Policy { user: vec![rule(Permission::Allow)], platform: vec![rule(Permission::Ask)], ..Policy::default() };
/// assert_eq!(policy.voices().map(|voice| voice.layer).collect::<Vec<_>>(), [Layer::User, Layer::Platform]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Policy {
    /// The user's, in the order of the file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub user: Vec<Rule>,
    /// The platform's: an administrator's file, or what the embedding program sets (POL-04).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub platform: Vec<Rule>,
    /// The plan of this run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
    /// The profile's, what it extends last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profile: Vec<Rule>,
    /// Those for the tools of one provider, by its name: `builtin`, `mcp/ID`, `ext/ID`.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub source: IndexMap<String, Vec<Rule>>,
    /// What holds of a tool of which nobody speaks, where that is stricter than the tool's own default: with `deny`, only what
    /// rules and permissions allow is ever run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Permission>,
}

/// One rule with whose it is.
#[derive(Debug, Clone, Copy)]
pub struct Voice<'a> {
    /// The layer.
    pub layer: Layer,
    /// The provider whose tools alone it is about; set in the layer of sources.
    pub source: Option<&'a str>,
    /// The rule.
    pub rule: &'a Rule,
}

impl Policy {
    /// True if nobody wrote a rule.
    pub fn is_empty(&self) -> bool {
        self.plan.is_none() && self.default.is_none() && self.voices().next().is_none()
    }

    /// All rules, in the order in which they are heard.
    pub fn voices(&self) -> impl Iterator<Item = Voice<'_>> {
        let plan = self.plan.iter().flat_map(|plan| &plan.rules);
        let layers = self.user.iter().map(|rule| (Layer::User, rule));
        let layers = layers.chain(self.platform.iter().map(|rule| (Layer::Platform, rule)));
        let layers = layers.chain(plan.map(|rule| (Layer::Plan, rule)));
        let layers = layers.chain(self.profile.iter().map(|rule| (Layer::Profile, rule)));
        let sources = self.source.iter().flat_map(|(source, rules)| iter::repeat(source.as_str()).zip(rules));
        layers
            .map(|(layer, rule)| Voice { layer, source: None, rule })
            .chain(sources.map(|(source, rule)| Voice { layer: Layer::Source, source: Some(source), rule }))
    }

    /// Those that can be about a tool of the provider of `id`, in order.
    pub(super) fn voices_of<'a>(&'a self, id: &'a ToolId) -> impl Iterator<Item = Voice<'a>> {
        self.voices().filter(|voice| voice.source.is_none_or(|source| source == id.source()))
    }

    /// The permission of a tool of which neither a rule nor the profile speaks.
    pub(crate) fn default_of(&self, own: Permission) -> Permission {
        match (own, self.default) {
            (Permission::Deny, _) | (_, Some(Permission::Deny)) => Permission::Deny,
            (Permission::Ask, _) | (_, Some(Permission::Ask)) => Permission::Ask,
            (Permission::Allow, Some(Permission::Allow) | None) => Permission::Allow,
        }
    }

    /// What the rules say, as one digest: another order, another word or another layer gives another one.
    pub fn version(&self) -> Digest {
        let rules = serde_json::to_value(self).unwrap_or_default();
        canonical::digest(&json!({"schema": POLICY_SCHEMA, "rules": rules}))
    }
}

/// What an answer is bound to beside the call: all that decided that a person was asked. Covers the rules of all layers, the
/// agent's name, its tools with their aliases, their permissions, and how approval and content from outside are handled.
pub(crate) fn version_of(profile: &Profile, registry: &ToolRegistry) -> Digest {
    let facts = |id: &ToolId| registry.get(id).map(|tool| tool.declaration().facts.permission);
    let defaults: Vec<_> = profile.allowed().iter().map(facts).collect();
    canonical::digest(&json!({
        "policy": profile.policy.version().hex_prefix(64),
        "agent": profile.name,
        "tools": profile.tools,
        "defaults": defaults,
        "approval": profile.approval,
        "taint": profile.taint,
        "repairs": profile.repairs,
    }))
}
