//! What an implementation says of itself beside the descriptor: effect, default permission, caps, place in a batch.
//!
//! Facts are defaults and warnings; profile and policy decide (POL-10).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What a tool does to the world (DES-06).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// It only looks.
    Read,
    /// It changes something.
    Write,
    /// It steers the run and changes nothing else.
    Control,
    /// It steers the run and changes something.
    WriteControl,
}

impl Effect {
    /// True if a call may change something: such a call is never run a second time by itself.
    pub fn writes(self) -> bool {
        match self {
            Self::Write | Self::WriteControl => true,
            Self::Read | Self::Control => false,
        }
    }

    /// True if a call steers the run.
    pub fn controls(self) -> bool {
        match self {
            Self::Control | Self::WriteControl => true,
            Self::Read | Self::Write => false,
        }
    }
}

/// Where a call may stand in its batch (CONFLICT-14).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// Anywhere.
    Anywhere,
    /// It runs after the other calls of the batch, wherever the model wrote it (EXE-02).
    DeferLast,
    /// It is refused unless it is the last of the batch (EXE-12).
    MustBeLast,
}

/// Whether a call needs a person's yes (APR-01: A's `auto` is allow, `confirm` is ask).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// Runs without asking.
    Allow,
    /// A person is asked.
    Ask,
    /// Refused.
    Deny,
}

impl Permission {
    /// The word for it, as configuration writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// How long a result may be before it is spilled, in Unicode characters (DES-05).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultCap {
    /// The profile's spill threshold holds.
    Profile,
    /// This many characters, if that is less than the profile's threshold.
    Chars(u64),
    /// Never spilled (RES-17).
    Unlimited,
}

/// A value that the host puts into the arguments; the model neither sees nor chooses it (CTX-05).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Injection {
    /// Name of the parameter.
    pub parameter: String,
    /// Where the value comes from.
    pub source: InjectionSource,
}

/// Sources of injected values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InjectionSource {
    /// The id of the session's project (CTX-02).
    ProjectId,
    /// The name of the conversation's model (CTX-03).
    Model,
}

/// The facts of one tool.
///
/// ```
/// use haft_core::facts::{Effect, Permission, ToolFacts};
/// let facts = ToolFacts { permission: Permission::Ask, ..ToolFacts::new(Effect::Write) };
/// assert!(facts.effect.writes());
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolFacts {
    /// What it does to the world.
    pub effect: Effect,
    /// The same call twice does no more than once.
    pub idempotent: bool,
    /// It can carry data off this machine to a place that the model chose.
    pub open_world: bool,
    /// Its results hold content from outside, which may hold instructions of strangers; where nothing is said, `open_world` tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside: Option<bool>,
    /// Though `open_world`, it only sends a few words to a search engine: not asked again after content from outside came in.
    #[serde(default)]
    pub plain_search: bool,
    /// Its results are secrets that a person lets the model see: never reused, spilled or stored (CONFLICT-29).
    #[serde(default)]
    pub secret: bool,
    /// The same call gives something else each time, or belongs to its run alone: no earlier result ever stands in for it (CONFLICT-16).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub never_repeats: bool,
    /// Name of the parameter that holds a command line of a shell: rules and grants look at every command in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Where it may stand in a batch.
    pub placement: Placement,
    /// Permission where the profile says nothing.
    pub permission: Permission,
    /// Longest result before spilling.
    pub result_cap: ResultCap,
    /// Group for listings: `file`, `data`, `artifact` …
    pub category: String,
    /// Offered in fast-path mode (FND-01).
    pub fast_path: bool,
    /// Its output must reach the model verbatim (RES-30).
    pub no_compress: bool,
    /// The alias that the sources know it by; else the native name with `_` for `.` (ALI-02).
    pub alias: Option<String>,
    /// Values that the host puts in.
    pub injections: Vec<Injection>,
    /// Arguments of the example call in prompts (DIA-12); else made from the required parameters.
    pub example: Option<Map<String, Value>>,
}

impl ToolFacts {
    /// Facts with the careful defaults: not idempotent, stays on the machine, anywhere in a batch, allowed.
    pub fn new(effect: Effect) -> Self {
        Self {
            effect,
            idempotent: false,
            open_world: false,
            outside: None,
            plain_search: false,
            secret: false,
            never_repeats: false,
            command: None,
            placement: Placement::Anywhere,
            permission: Permission::Allow,
            result_cap: ResultCap::Profile,
            category: "other".to_owned(),
            fast_path: false,
            no_compress: false,
            alias: None,
            injections: Vec::new(),
            example: None,
        }
    }

    /// True if what a call gives comes from outside.
    pub fn brings_outside(&self) -> bool {
        self.outside.unwrap_or(self.open_world)
    }

    /// True if a call can carry data to a place that the model chose.
    pub fn carries_away(&self) -> bool {
        self.open_world && !self.plain_search
    }
}
