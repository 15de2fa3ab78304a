//! A rule as a person writes it: plain values with the place where they stand.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::glob::Glob;
use crate::facts::{Effect, Permission, ToolFacts};

/// Where a rule stands.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Place {
    /// The file, as messages name it: `haft.toml`, a profile's path, `preset nanoclaw` …
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, in characters from 1.
    pub column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// What a tool does, as a rule asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectMatch {
    /// Tools that only look.
    Read,
    /// Tools that may change something.
    Write,
    /// Tools that steer the run.
    Control,
    /// Tools that can carry data off the machine.
    OpenWorld,
}

impl EffectMatch {
    /// All, in the order of [`EffectMatch::WORDS`].
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Control, Self::OpenWorld];
    /// The words for them.
    pub const WORDS: [&'static str; 4] = ["read", "write", "control", "open_world"];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Control => "control",
            Self::OpenWorld => "open_world",
        }
    }

    pub(super) fn fits(self, facts: &ToolFacts) -> bool {
        match self {
            Self::Read => facts.effect == Effect::Read,
            Self::Write => facts.effect.writes(),
            Self::Control => facts.effect.controls(),
            Self::OpenWorld => facts.open_world,
        }
    }
}

/// What the value at a JSON pointer must be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueTest {
    /// This very value; 1 and 1.0 are one.
    Equals(Value),
    /// A text that fits.
    Glob(Glob),
}

impl ValueTest {
    pub(super) fn fits(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Equals(Value::Number(one)), Value::Number(other)) => {
                one == other || one.as_f64() == other.as_f64() && (one.is_f64() != other.is_f64())
            }
            (Self::Equals(wanted), _) => wanted == value,
            (Self::Glob(glob), Value::String(text)) => glob.fits(text),
            (Self::Glob(_), _) => false,
        }
    }
}

/// A condition on one argument.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValueMatch {
    /// A JSON pointer into the prepared arguments, such as `/mode`.
    pub pointer: String,
    /// What must stand there.
    pub test: ValueTest,
}

/// One rule (POL-01). All that it names must hold; what it leaves out holds always.
///
/// ```
/// use haft_core::facts::Permission;
/// use haft_core::policy::{Place, Rule};
/// let place = Place { file: "haft.toml".into(), line: 4, column: 1 };
/// let rule = Rule { path: Some("secrets".into()), ..Rule::new("file_*", Permission::Deny, place) };
/// assert_eq!(rule.to_string(), "haft.toml:4: deny `file_*` where path is in `secrets`");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// Which tools: a pattern for the id, the native name, or the alias.
    pub tool: Glob,
    /// What is decided.
    pub decision: Permission,
    /// Why; a person and the model may read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// A path that the call names is this one or below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// A host that the call names is this one, or below `NAME` where it reads `*.NAME`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// A command of the call's command line fits this pattern, such as `git push --force`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// An argument has this value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<ValueMatch>,
    /// The tool does this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<EffectMatch>,
    /// The tool comes from an MCP server whose registration fits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp: Option<Glob>,
    /// The agent's profile has a name that fits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Glob>,
    /// A person is there to ask, or nobody is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attended: Option<bool>,
    /// Arguments of calls that the rule is about; checked when it is read.
    #[serde(default, rename = "match", skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<Value>,
    /// Arguments of calls that it is not about; checked when it is read.
    #[serde(default, rename = "not_match", skip_serializing_if = "Vec::is_empty")]
    pub not_matches: Vec<Value>,
    /// Where it stands.
    pub place: Place,
}

impl Rule {
    /// A rule for `tool` without conditions.
    pub fn new(tool: &str, decision: Permission, place: Place) -> Self {
        Self {
            tool: Glob::new(tool),
            decision,
            reason: None,
            path: None,
            host: None,
            command: None,
            value: None,
            effect: None,
            mcp: None,
            agent: None,
            attended: None,
            matches: Vec::new(),
            not_matches: Vec::new(),
            place,
        }
    }

    /// True if it looks at the call and not only at the tool: such a deny hides nothing.
    pub fn is_about_calls(&self) -> bool {
        self.is_about_arguments() || self.attended.is_some()
    }

    /// True if it looks at arguments.
    pub fn is_about_arguments(&self) -> bool {
        self.path.is_some() || self.host.is_some() || self.command.is_some() || self.value.is_some()
    }

    /// True if both are about the same calls, word for word.
    pub(super) fn has_conditions_of(&self, other: &Self) -> bool {
        self.tool == other.tool
            && self.path == other.path
            && self.host == other.host
            && self.command == other.command
            && self.value == other.value
            && self.effect == other.effect
            && self.mcp == other.mcp
            && self.agent == other.agent
            && self.attended == other.attended
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} `{}`", self.place, self.decision.as_str(), self.tool.as_str())?;
        let mut word = " where";
        let mut condition = |f: &mut fmt::Formatter<'_>, text: fmt::Arguments<'_>| {
            write!(f, "{} {text}", std::mem::replace(&mut word, " and"))
        };
        if let Some(path) = &self.path {
            condition(f, format_args!("path is in `{path}`"))?;
        }
        if let Some(host) = &self.host {
            condition(f, format_args!("host is `{host}`"))?;
        }
        if let Some(command) = &self.command {
            condition(f, format_args!("command fits `{command}`"))?;
        }
        if let Some(ValueMatch { pointer, test }) = &self.value {
            match test {
                ValueTest::Equals(value) => condition(f, format_args!("`{pointer}` is {value}"))?,
                ValueTest::Glob(glob) => condition(f, format_args!("`{pointer}` fits `{}`", glob.as_str()))?,
            }
        }
        if let Some(effect) = self.effect {
            condition(f, format_args!("effect is {}", effect.as_str()))?;
        }
        if let Some(mcp) = &self.mcp {
            condition(f, format_args!("MCP server fits `{}`", mcp.as_str()))?;
        }
        if let Some(agent) = &self.agent {
            condition(f, format_args!("agent fits `{}`", agent.as_str()))?;
        }
        match self.attended {
            Some(true) => condition(f, format_args!("a person is there"))?,
            Some(false) => condition(f, format_args!("nobody is there"))?,
            None => {}
        }
        match &self.reason {
            Some(reason) => write!(f, " ({reason})"),
            None => Ok(()),
        }
    }
}
