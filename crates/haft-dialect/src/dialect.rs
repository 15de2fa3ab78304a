//! The names of dialects and of their tags.

use std::fmt;
use std::str::FromStr;

/// A text dialect, as profiles and model entries name it (CONFLICT-02).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Dialect {
    /// Whatever the text shows; a result without any attempt names no dialect.
    #[default]
    Auto,
    /// ArtifactFlow's XML with every value in CDATA (DIA-01).
    ArtifactXml,
}

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
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::ArtifactXml => "artifact-xml",
        }
    }
}

/// All dialects that can be named, `auto` first.
pub const fn dialects() -> &'static [Dialect] {
    &[Dialect::Auto, Dialect::ArtifactXml]
}

impl fmt::Display for Dialect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for Dialect {
    type Err = UnknownDialect;

    fn from_str(name: &str) -> Result<Self, UnknownDialect> {
        dialects().iter().copied().find(|dialect| dialect.name() == name).ok_or_else(|| UnknownDialect {
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
