//! How one agent may work: a plain value that files are read into elsewhere.
//!
//! A profile names tools by id and never holds a tool.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::budget::Budgets;
use crate::facts::Permission;
use crate::ids::ToolId;
use crate::policy::Policy;
use crate::render::Renderer;
use crate::spill::SpillPolicy;

/// What kind of run a profile makes (CONFLICT-26).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunKind {
    /// Ends on a reply without calls.
    Chat,
    /// Ends by a finishing tool; a reply without calls is drift.
    Agent,
}

/// How the calls of one batch run (CONFLICT-01). Parallel mode comes with reuse and `touches`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionMode {
    /// One after another, in call order (EXE-01).
    Serial,
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
    /// The rules that hold for its calls: the user's and its own (POL-01).
    #[serde(default, skip_serializing_if = "Policy::is_empty")]
    pub policy: Policy,
    /// Its budgets.
    pub budgets: Budgets,
    /// How the calls of a batch run.
    pub execution: ExecutionMode,
    /// How results are written for the model.
    pub renderer: Renderer,
    /// What happens to results that are too long.
    pub spill: SpillPolicy,
    /// Times of consent.
    pub consent: ConsentTimes,
    /// Calls of unknown aliases.
    pub unknown_alias: BreachPolicy,
    /// Native arguments that are not JSON.
    pub malformed_arguments: BreachPolicy,
    /// Hidden cap of `read_artifact`, in characters (ART-05, CFG-02 `READ_ARTIFACT_MAX_CHARS`).
    pub read_artifact_chars: u64,
    /// Most tokens of one answer, where the profile limits it.
    pub max_tokens: Option<u32>,
    /// Sampling temperature, where the profile sets it.
    pub temperature: Option<f64>,
}

impl Profile {
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
            execution: ExecutionMode::Serial,
            renderer: Renderer::Markdown,
            spill: SpillPolicy::default(),
            consent: ConsentTimes::default(),
            unknown_alias: BreachPolicy::ToolError,
            malformed_arguments: BreachPolicy::ToolError,
            read_artifact_chars: 50_000,
            max_tokens: None,
            temperature: None,
        }
    }
}
