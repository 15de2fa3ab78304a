//! How one agent may work: a plain value that files are read into elsewhere.
//!
//! A profile names tools by id and never holds a tool.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::agents::DelegationPolicy;
use crate::budget::Budgets;
use crate::capability::Capabilities;
use crate::facts::Permission;
use crate::ids::ToolId;
use crate::policy::{Plan, Policy};
use crate::render::Renderer;
use crate::skills::SkillPolicy;
use crate::spill::SpillPolicy;
use crate::streak::LoopLimits;
use crate::workspace::WorkspaceRoots;

/// What kind of run a profile makes (CONFLICT-26).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunKind {
    /// Ends on a reply without calls.
    Chat,
    /// Ends by a finishing tool; a reply without calls is drift.
    Agent,
}

/// How the calls of one batch run (CONFLICT-01).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionMode {
    /// One after another, in call order (EXE-01).
    Serial,
    /// Side by side where they do not touch the same; results keep call order (EXE-04, EXE-08).
    Parallel,
}

/// What happens to a call of an unknown alias, or to native arguments that are not JSON (CONFLICT-03, CONFLICT-04).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BreachPolicy {
    /// It becomes a result that tells the model.
    ToolError,
    /// The run fails.
    FailFast,
}

/// Whose ids of calls count (CONFLICT-31).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallIds {
    /// The host's own. Those of the model's server are paired inside their turn, whatever they are.
    Host,
    /// Those of the model's server: a missing or a repeated one fails the run.
    Provider,
}

/// Which tools an agent has.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ToolSelection {
    /// Allowed tools, in the order in which the model sees them (SNP-04).
    pub allow: Vec<ToolId>,
    /// Denied tools; deny beats allow.
    pub deny: Vec<ToolId>,
    /// Aliases given by the profile.
    pub alias: IndexMap<ToolId, String>,
    /// Descriptions given by the profile; they are frozen in the snapshot in place of the tool's own (DES-09).
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub description: IndexMap<ToolId, String>,
    /// Permissions given by the profile; they replace the tool's default (POL-10).
    pub permission: IndexMap<ToolId, Permission>,
}

/// What holds once content from outside has entered a conversation (design.md §5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taint {
    /// Calls that can carry data to a place that the model chose are asked again, whatever was granted (`taint.ask`).
    pub ask: bool,
}

impl Default for Taint {
    fn default() -> Self {
        Self { ask: true }
    }
}

/// What is asked of calls that had to be repaired to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repairs {
    /// Those that write are asked first, also where policy allows them (`repairs.ask`).
    pub ask: bool,
}

impl Default for Repairs {
    fn default() -> Self {
        Self { ask: true }
    }
}

/// Times of consent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsentTimes {
    /// Seconds until a question without an answer is a no; 0 is no limit (CONFLICT-13, CFG-02).
    pub timeout_s: u64,
    /// Seconds without any surface until a question is a no (APR-04).
    pub grace_s: u64,
}

impl Default for ConsentTimes {
    fn default() -> Self {
        Self { timeout_s: 300, grace_s: 30 }
    }
}

/// Whether the tools of MCP servers ask where their permission is Ask (APR-22, CONFLICT-12, `approval.mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalMode {
    /// They run as if it were Allow, and surfaces say so.
    Off,
    /// They ask, as all tools do.
    #[default]
    Ask,
}

impl ApprovalMode {
    /// What a surface must say where tools of MCP servers are offered (APR-22).
    pub fn notice(self) -> Option<&'static str> {
        match self {
            Self::Off => Some(
                "tools of MCP servers run without asking, whether their permission is Ask or Allow (`approval.mode: off`)",
            ),
            Self::Ask => None,
        }
    }
}

/// When an earlier result stands in for a call (CCH-01 to CCH-04, CONFLICT-16). Nothing is reused by default.
///
/// Only a call that policy allows or a live grant covers is looked at, never one that must be asked every time or that steers
/// the run. What a call wrote makes earlier results that looked at it stale.
///
/// ```
/// use haft_core::profile::Reuse;
/// assert!(!Reuse::default().is_on());
/// assert!(Reuse { cache_ttl_s: Some(Reuse::CACHE_TTL_S), ..Reuse::default() }.is_on());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Reuse {
    /// The same call again in one batch (CCH-03, `dedupe.batch`).
    pub batch: bool,
    /// The same call again in the session, however long ago (CCH-04, `dedupe.history`).
    pub history: bool,
    /// The same call again within that many seconds (CCH-01, CCH-02, `cache`); none is no cache.
    pub cache_ttl_s: Option<u64>,
    /// Also calls that write, and whatever was written since: NanoClaw to the letter (`dedupe.include_side_effects`).
    pub include_side_effects: bool,
    /// Also calls whose tool failed; else a failed call runs again (`dedupe.failures`).
    pub failures: bool,
}

impl Reuse {
    /// How long the cache keeps a result unless the profile says otherwise, in seconds (CCH-01, CFG-03).
    pub const CACHE_TTL_S: u64 = 300;

    /// True if any earlier result can stand in for a call.
    pub fn is_on(&self) -> bool {
        self.batch || self.history || self.cache_ttl_s.is_some()
    }
}

/// When older messages are summed up by the model, so that a long conversation fits into what it takes (PRV-04).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Compaction {
    /// At how many percent of what a request may have; 0 is never. It says nothing where nobody knows what the model takes.
    pub at: u8,
}

impl Compaction {
    /// True if nothing is ever summed up.
    pub fn is_off(&self) -> bool {
        self.at == 0
    }
}

/// A resolved profile.
///
/// ```
/// use haft_core::{Profile, ToolId};
/// let mut profile = Profile::new("mine");
/// profile.tools.allow.push(ToolId::builtin("data.calculator"));
/// assert_eq!(profile.budgets.calls, 80);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// One line for people.
    pub description: String,
    /// The agent's prompt.
    pub prompt: String,
    /// The model, where the profile names one.
    pub model: Option<String>,
    /// The dialect, where the profile names one; it beats the model entry.
    pub dialect: Option<String>,
    /// What kind of run it makes.
    pub run_kind: RunKind,
    /// Its tools.
    pub tools: ToolSelection,
    /// The rules of all layers that hold for its calls (POL-01).
    #[serde(default, skip_serializing_if = "Policy::is_empty")]
    pub policy: Policy,
    /// Its budgets.
    pub budgets: Budgets,
    /// After how many failures or refusals of the same kind a run is ended.
    #[serde(default, rename = "loop")]
    pub loops: LoopLimits,
    /// What it may do beyond what needs no yes, where nobody is there (CONFLICT-28).
    #[serde(default, skip_serializing_if = "Capabilities::is_empty")]
    pub unattended: Capabilities,
    /// How the calls of a batch run.
    pub execution: ExecutionMode,
    /// Most calls at once in parallel mode, from 1 to [`Profile::MOST_WORKERS`] (CFG-03 `max_workers`).
    #[serde(default = "default_workers")]
    pub max_workers: u32,
    /// When an earlier result stands in for a call.
    #[serde(default)]
    pub reuse: Reuse,
    /// How results are written for the model.
    pub renderer: Renderer,
    /// What happens to results that are too long.
    pub spill: SpillPolicy,
    /// Times of consent.
    pub consent: ConsentTimes,
    /// When older messages are summed up.
    #[serde(default, skip_serializing_if = "Compaction::is_off")]
    pub compact: Compaction,
    /// What content from outside changes.
    #[serde(default)]
    pub taint: Taint,
    /// What is asked of repaired calls.
    #[serde(default)]
    pub repairs: Repairs,
    /// Whether tools of MCP servers ask.
    #[serde(default)]
    pub approval: ApprovalMode,
    /// Calls of unknown aliases.
    pub unknown_alias: BreachPolicy,
    /// Native arguments that are not JSON.
    pub malformed_arguments: BreachPolicy,
    /// Whose ids of calls count, where the profile says so; it beats the model entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_ids: Option<CallIds>,
    /// How it works with other agents.
    #[serde(default, skip_serializing_if = "DelegationPolicy::is_default")]
    pub delegation: DelegationPolicy,
    /// Which roots of a run's workspace it sees and may write (WSP-01).
    #[serde(default, skip_serializing_if = "WorkspaceRoots::is_default")]
    pub workspace: WorkspaceRoots,
    /// Which skills it sees, and how much of them it may read (SKL-01, SKL-04).
    #[serde(default, skip_serializing_if = "SkillPolicy::is_default")]
    pub skills: SkillPolicy,
    /// Books of world info that are looked through when a run begins, by name (WLD-02).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub world_info: Vec<String>,
    /// Hidden cap of `read_artifact`, in characters (ART-05, CFG-02 `READ_ARTIFACT_MAX_CHARS`).
    pub read_artifact_chars: u64,
    /// Most tokens of one answer, where the profile limits it.
    pub max_tokens: Option<u32>,
    /// Sampling temperature, where the profile sets it.
    pub temperature: Option<f64>,
}

fn default_workers() -> u32 {
    Profile::DEFAULT_WORKERS
}

impl Profile {
    /// Calls at once in parallel mode where the profile gives no number.
    pub const DEFAULT_WORKERS: u32 = 4;
    /// Most calls at once in parallel mode, whatever the profile says.
    pub const MOST_WORKERS: u32 = 6;

    /// The tools that may be visible: those of the plan, if it names any, else its own (POL-05).
    pub fn allowed(&self) -> &[ToolId] {
        let plan = self.policy.plan.as_ref().and_then(|plan| plan.allow.as_deref());
        plan.unwrap_or(&self.tools.allow)
    }

    /// The same profile for one run of a plan.
    #[must_use]
    pub fn under(&self, plan: Plan) -> Self {
        let policy = Policy { plan: Some(plan), ..self.policy.clone() };
        Self { policy, ..self.clone() }
    }

    /// A profile without tools and with the defaults of the ledger.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: String::new(),
            prompt: String::new(),
            model: None,
            dialect: None,
            run_kind: RunKind::Chat,
            tools: ToolSelection::default(),
            policy: Policy::default(),
            budgets: Budgets::default(),
            loops: LoopLimits::default(),
            unattended: Capabilities::default(),
            execution: ExecutionMode::Serial,
            max_workers: Self::DEFAULT_WORKERS,
            reuse: Reuse::default(),
            renderer: Renderer::Markdown,
            spill: SpillPolicy::default(),
            consent: ConsentTimes::default(),
            compact: Compaction::default(),
            taint: Taint::default(),
            repairs: Repairs::default(),
            approval: ApprovalMode::default(),
            unknown_alias: BreachPolicy::ToolError,
            malformed_arguments: BreachPolicy::ToolError,
            delegation: DelegationPolicy::default(),
            call_ids: None,
            workspace: WorkspaceRoots::default(),
            skills: SkillPolicy::default(),
            world_info: Vec::new(),
            read_artifact_chars: 50_000,
            max_tokens: None,
            temperature: None,
        }
    }
}
