//! The names of dialects and of their tags.

use std::fmt;
use std::str::FromStr;

use crate::forms::{Dialect, Form, dialects, forms};

/// A name that belongs to no dialect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown dialect {name:?}; known are: {known}")]
pub struct UnknownDialect {
    /// The name as given.
    pub name: String,
    /// All names, separated by commas.
    pub known: String,
}

impl Dialect {
    /// The stable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            other => other.form().name,
        }
    }

    fn find(name: &str) -> Option<Self> {
        if name == "auto" {
            return Some(Self::Auto);
        }
        let named = |form: &&Form| form.name == name || form.aliases.contains(&name);
        forms().iter().find(named).map(|form| form.dialect)
    }

    /// The dialect as data; for `auto` that of the first dialect, in which it writes.
    pub fn form(self) -> &'static Form {
        let forms = forms();
        let index = (self as usize).saturating_sub(1);
        forms.get(index).unwrap_or_else(|| &forms[0])
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for Dialect {
    type Err = UnknownDialect;

    fn from_str(name: &str) -> Result<Self, UnknownDialect> {
        Self::find(name).ok_or_else(|| UnknownDialect {
            name: name.to_owned(),
            known: dialects().iter().map(|dialect| dialect.name()).collect::<Vec<_>>().join(", "),
        })
    }
}

/// The names of the tags that a model entry may change: some models cannot write `<tool_call>`.
///
/// ```
/// use haft_dialect::{Tags, artifact_xml};
///
/// let tags = Tags { call: "function_call".to_owned() };
/// let call = artifact_xml::write_call("ping", &serde_json::Map::new(), &tags);
/// assert!(call.starts_with("<function_call>"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tags {
    /// The element round one call; `tool_call` unless configured.
    pub call: String,
}

impl Default for Tags {
    fn default() -> Self {
        Self { call: "tool_call".to_owned() }
    }
}
