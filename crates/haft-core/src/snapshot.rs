//! The frozen tools of one invocation, compiled once from profile and registry (SNP-01 to SNP-04).
//!
//! After that nothing re-reads the profile: prompt, request, decoding, gate and execution use the snapshot (SNP-11).

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use haft_schema::{Defaults, Digest, Schema, Validator};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::budget::{Budgets, Limits};
use crate::declaration::ToolDeclaration;
use crate::descriptor::ToolDescriptor;
use crate::exit::{ExitPolicy, Terms, task_return};
use crate::facts::{InjectionSource, Permission};
use crate::ids::{InvocationId, ToolId};
use crate::nearest::nearest;
use crate::policy::{self, Layer, Rule, ToolRules, hiding_rule};
use crate::ports::Tool;
use crate::profile::{ExecutionMode, Profile};
use crate::registry::ToolRegistry;

/// Version of the stored snapshot (SNP-08).
pub const SNAPSHOT_VERSION: u32 = 1;

/// One tool of a snapshot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolBinding {
    /// The frozen descriptor.
    pub descriptor: ToolDescriptor,
    /// Its name for the model; it lives in this snapshot alone (ALI-01).
    pub alias: String,
    /// Effective permission (POL-10).
    pub permission: Permission,
    /// Most calls of this tool.
    pub max_calls_per_invocation: Option<u32>,
}

/// What is stored create-only for each invocation (SNP-07, SNP-08).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InvocationToolSnapshot {
    /// [`SNAPSHOT_VERSION`].
    pub version: u32,
    /// The invocation; also the snapshot's id (SNP-09).
    pub invocation: InvocationId,
    /// Tools, in the order in which the model sees them.
    pub bindings: Vec<ToolBinding>,
    /// Most calls of all tools together (SNP-13).
    pub max_calls_per_invocation: u32,
    /// Most model turns.
    pub max_rounds: u32,
    /// The other budgets, where there are any.
    #[serde(default, skip_serializing_if = "Limits::is_unlimited")]
    pub limits: Limits,
    /// How the calls of a batch run (CONFLICT-01).
    pub execution: ExecutionMode,
    /// What ends the invocation (SNP-02).
    #[serde(default, skip_serializing_if = "ExitPolicy::ends_with_text")]
    pub exit: ExitPolicy,
}

impl InvocationToolSnapshot {
    /// What the ledger of the invocation is opened with.
    pub fn ledger_limits(&self) -> Limits {
        Limits { calls: Some(self.max_calls_per_invocation.into()), ..self.limits }
    }

    /// Path of the stored snapshot in the run workspace.
    pub fn path(&self) -> String {
        format!("input/invocations/{}/tool_snapshot.json", self.invocation)
    }
}

/// One tool, ready to be called: what the snapshot froze, and what runs it.
pub struct BoundTool {
    binding: ToolBinding,
    declaration: ToolDeclaration,
    schema: Schema,
    defaults: Defaults,
    validator: Validator,
    rules: ToolRules,
    policy_version: Digest,
    tool: Arc<dyn Tool>,
}

impl BoundTool {
    /// What the snapshot froze.
    pub fn binding(&self) -> &ToolBinding {
        &self.binding
    }

    /// Descriptor and facts.
    pub fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    /// The tool's id.
    pub fn id(&self) -> &ToolId {
        &self.binding.descriptor.id
    }

    /// The schema that prepared arguments fit: the visible one and the injected parameters.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The defaults that it declares.
    pub fn defaults(&self) -> &Defaults {
        &self.defaults
    }

    /// Its compiled form.
    pub fn validator(&self) -> &Validator {
        &self.validator
    }

    /// The rules that can concern it.
    pub(crate) fn rules(&self) -> &ToolRules {
        &self.rules
    }

    /// The version of the policy by which its calls are decided; an answer holds for this one alone.
    pub fn policy_version(&self) -> Digest {
        self.policy_version
    }

    /// The tool itself: reached through a started call alone, and read by policy for what a call means.
    pub(crate) fn tool(&self) -> &dyn Tool {
        self.tool.as_ref()
    }
}

impl fmt::Debug for BoundTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoundTool").field("binding", &self.binding).finish_non_exhaustive()
    }
}

/// A compiled snapshot.
#[derive(Debug, Clone)]
pub struct CompiledTools {
    snapshot: Arc<InvocationToolSnapshot>,
    tools: Arc<[Arc<BoundTool>]>,
    by_alias: Arc<HashMap<String, usize>>,
    by_id: Arc<HashMap<ToolId, usize>>,
    hidden: Arc<HashMap<ToolId, Rule>>,
    policy_version: Digest,
}

impl CompiledTools {
    /// What is stored.
    pub fn snapshot(&self) -> &InvocationToolSnapshot {
        &self.snapshot
    }

    /// The version of the policy: rules of all layers, tools, permissions. It changes with any of them.
    pub fn policy_version(&self) -> Digest {
        self.policy_version
    }

    /// All tools, in order.
    pub fn tools(&self) -> &[Arc<BoundTool>] {
        &self.tools
    }

    /// The tool with that alias in this snapshot.
    pub fn by_alias(&self, alias: &str) -> Option<&Arc<BoundTool>> {
        self.tools.get(*self.by_alias.get(alias)?)
    }

    /// The tool with that id.
    pub fn by_id(&self, id: &ToolId) -> Option<&Arc<BoundTool>> {
        self.tools.get(*self.by_id.get(id)?)
    }

    /// The rule that hides a tool that the profile allows (POL-08).
    pub fn hidden_by(&self, id: &ToolId) -> Option<&Rule> {
        self.hidden.get(id)
    }

    /// Place of the tool with that id in [`CompiledTools::tools`].
    pub fn index_of(&self, id: &ToolId) -> Option<usize> {
        self.by_id.get(id).copied()
    }
}

/// Why a profile and a registry make no snapshot.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// The profile names a tool that nobody contributes.
    #[error("profile `{profile}`, {key}: there is no tool `{tool}`{}", suggestion(.suggestions))]
    UnknownTool {
        /// The profile.
        profile: String,
        /// Which key names it.
        key: &'static str,
        /// The name.
        tool: ToolId,
        /// The nearest ones.
        suggestions: Vec<String>,
    },
    /// Two tools with one alias.
    #[error(
        "profile `{profile}`: `{first}` and `{second}` would both be called `{alias}`; rename one under `tools.alias`"
    )]
    AliasClash {
        /// The profile.
        profile: String,
        /// The alias.
        alias: String,
        /// One of them.
        first: ToolId,
        /// The other.
        second: ToolId,
    },
    /// An alias that providers do not take.
    #[error(
        "profile `{profile}`: `{alias}` is no alias for `{tool}`; use 1 to 64 of the letters a-z, A-Z, digits, `_` and `-`"
    )]
    BadAlias {
        /// The profile.
        profile: String,
        /// The alias.
        alias: String,
        /// Whose it would be.
        tool: ToolId,
    },
    /// A tool is allowed twice.
    #[error("profile `{profile}`, tools.allow: `{tool}` stands there twice")]
    AllowedTwice {
        /// The profile.
        profile: String,
        /// The tool.
        tool: ToolId,
    },
    /// A tool that the host alone gives.
    #[error(
        "profile `{profile}`, tools.allow: `{tool}` cannot be allowed; an agent that must return a result gets it by itself"
    )]
    HostOnly {
        /// The profile.
        profile: String,
        /// The tool.
        tool: ToolId,
    },
    /// A tool's schema cannot be compiled.
    #[error("the input schema of `{tool}` cannot be used: {reason}")]
    Schema {
        /// The tool.
        tool: ToolId,
        /// What is wrong.
        reason: String,
    },
    /// A rule cannot be read.
    #[error("the rule `{rule}` cannot be used: `{key}`: {reason}")]
    Rule {
        /// The rule.
        rule: String,
        /// Its key.
        key: &'static str,
        /// What is wrong.
        reason: &'static str,
    },
}

fn suggestion(names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!("; did you mean {}?", names.join(", ")) }
}

/// Compiles the tools of the root invocation of a run. Pure: the same inputs give the same snapshot.
pub fn compile(
    invocation: InvocationId,
    profile: &Profile,
    registry: &ToolRegistry,
) -> Result<CompiledTools, CompileError> {
    compile_under(Terms::root(profile.run_kind), invocation, profile, registry)
}

/// Compiles the tools of an invocation that works under `terms` (SNP-02, SNP-05, SNP-06). Pure, as [`compile`].
pub fn compile_under(
    terms: Terms,
    invocation: InvocationId,
    profile: &Profile,
    registry: &ToolRegistry,
) -> Result<CompiledTools, CompileError> {
    check_names(profile, registry)?;
    if profile.allowed().contains(&task_return()) {
        return Err(CompileError::HostOnly { profile: profile.name.clone(), tool: task_return() });
    }
    let injected = terms.injected();
    let denied: HashSet<&ToolId> = profile.tools.deny.iter().collect();
    let policy_version = policy::version_of(profile, registry);
    let mut tools: Vec<Arc<BoundTool>> = Vec::with_capacity(profile.allowed().len());
    let mut by_alias = HashMap::new();
    let mut by_id = HashMap::new();
    let mut hidden = HashMap::new();
    let own = profile.allowed().iter().filter(|id| !denied.contains(id) && !terms.withholds(id));
    for id in own.chain(&injected) {
        let Some(tool) = registry.get(id) else { continue };
        let bound = bind(profile, tool, policy_version)?;
        let (declaration, alias) = (&bound.declaration, &bound.binding.alias);
        if let Some(rule) = hiding_rule(&profile.policy, &profile.name, declaration, alias) {
            hidden.insert(id.clone(), rule);
            continue;
        }
        if by_id.insert(id.clone(), tools.len()).is_some() {
            return Err(CompileError::AllowedTwice { profile: profile.name.clone(), tool: id.clone() });
        }
        let alias = bound.binding.alias.clone();
        if let Some(first) = by_alias.insert(alias.clone(), tools.len()).and_then(|at: usize| tools.get(at)) {
            let (first, second) = (first.id().clone(), id.clone());
            return Err(CompileError::AliasClash { profile: profile.name.clone(), alias, first, second });
        }
        tools.push(Arc::new(bound));
    }
    let Budgets { calls, rounds, .. } = profile.budgets;
    let snapshot = InvocationToolSnapshot {
        version: SNAPSHOT_VERSION,
        invocation,
        bindings: tools.iter().map(|bound| bound.binding.clone()).collect(),
        max_calls_per_invocation: calls,
        max_rounds: rounds,
        limits: profile.budgets.limits(),
        execution: profile.execution,
        exit: terms.exit,
    };
    Ok(CompiledTools {
        snapshot: Arc::new(snapshot),
        tools: tools.into(),
        by_alias: Arc::new(by_alias),
        by_id: Arc::new(by_id),
        hidden: Arc::new(hidden),
        policy_version,
    })
}

fn check_names(profile: &Profile, registry: &ToolRegistry) -> Result<(), CompileError> {
    let plan = profile.policy.plan.iter().flat_map(|plan| &plan.allow);
    let keys: [(&'static str, Vec<&ToolId>); 7] = [
        ("plan.allow", plan.flatten().collect()),
        ("tools.allow", profile.tools.allow.iter().collect()),
        ("tools.deny", profile.tools.deny.iter().collect()),
        ("tools.alias", profile.tools.alias.keys().collect()),
        ("tools.description", profile.tools.description.keys().collect()),
        ("tools.permission", profile.tools.permission.keys().collect()),
        ("budget.calls_of", profile.budgets.calls_of.keys().collect()),
    ];
    for (key, ids) in keys {
        if let Some(unknown) = ids.into_iter().find(|id| registry.get(id).is_none()) {
            let known = || registry.iter().map(|tool| tool.declaration().id());
            let near = nearest(unknown.native_name(), known().map(ToolId::native_name), 3);
            let suggestions = known()
                .filter(|id| near.contains(&id.native_name()))
                .map(ToString::to_string)
                .take(3)
                .collect();
            let (profile, tool) = (profile.name.clone(), unknown.clone());
            return Err(CompileError::UnknownTool { profile, key, tool, suggestions });
        }
    }
    Ok(())
}

fn bind(profile: &Profile, tool: &Arc<dyn Tool>, policy_version: Digest) -> Result<BoundTool, CompileError> {
    let mut declaration = tool.declaration().clone();
    let id = declaration.id().clone();
    if let Some(description) = profile.tools.description.get(&id) {
        declaration.descriptor.description.clone_from(description);
    }
    let alias = profile.tools.alias.get(&id).cloned().unwrap_or_else(|| declaration.alias());
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if alias.is_empty() || alias.len() > 64 || !alias.chars().all(good) {
        return Err(CompileError::BadAlias { profile: profile.name.clone(), alias, tool: id });
    }
    let schema = schema_with_injections(&declaration)
        .map_err(|error| CompileError::Schema { tool: id.clone(), reason: error.to_string() })?;
    let validator = Validator::compile(&schema)
        .map_err(|error| CompileError::Schema { tool: id.clone(), reason: error.to_string() })?;
    let binding = ToolBinding {
        descriptor: declaration.descriptor.clone(),
        alias,
        permission: profile
            .tools
            .permission
            .get(&id)
            .copied()
            .unwrap_or_else(|| profile.policy.default_of(declaration.facts.permission)),
        max_calls_per_invocation: profile.budgets.calls_of.get(&id).copied(),
    };
    let defaults = Defaults::of(&schema);
    let permission_by = if profile.tools.permission.contains_key(&id) { Layer::Profile } else { Layer::Tool };
    let rules =
        ToolRules::compile(&profile.policy, &profile.name, &declaration, &binding.alias, permission_by)
            .map_err(|(rule, key, reason)| CompileError::Rule { rule, key, reason })?;
    Ok(BoundTool {
        binding,
        declaration,
        schema,
        defaults,
        validator,
        rules,
        policy_version,
        tool: tool.clone(),
    })
}

/// The visible schema with the injected parameters added as optional text, so that a closed schema takes them.
fn schema_with_injections(declaration: &ToolDeclaration) -> Result<Schema, haft_schema::SchemaError> {
    let visible = &declaration.descriptor.input_schema;
    if declaration.facts.injections.is_empty() {
        return Ok(visible.clone());
    }
    let mut whole = visible.as_value().clone();
    let properties = whole.as_object_mut().map(|map| map.entry("properties").or_insert_with(|| json!({})));
    if let Some(Value::Object(properties)) = properties {
        for injection in &declaration.facts.injections {
            let schema = match injection.source {
                InjectionSource::ProjectId | InjectionSource::Model => json!({"type": "string"}),
            };
            properties.insert(injection.parameter.clone(), schema);
        }
    }
    Schema::new(whole)
}
