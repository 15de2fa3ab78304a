//! Names of things: one newtype for every id, so that none is taken for another.
//!
//! Ids are plain text and cheap to clone. Nothing here makes random ids: the [`Ids`](crate::ports::Ids) port does.

use std::fmt::{self, Write};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

macro_rules! text_id {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Takes `text` as it is.
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }

            /// The text of the id.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self::new(text)
            }
        }
    };
}

text_id!(
    /// One conversation (`s_…`).
    SessionId
);
text_id!(
    /// One request being worked on in a session (`r_…`).
    RunId
);
text_id!(
    /// One agent's stint inside a run (`i_…`); also the id of its tool snapshot (SNP-09).
    InvocationId
);
text_id!(
    /// One piece of work that an agent of a run was given (`task_<n>`), counted in the run; also its key in the workspace (DEL-17).
    TaskId
);
text_id!(
    /// One durable question to a person (`q_…`).
    ConsentId
);
text_id!(
    /// One standing yes (`g_…`).
    GrantId
);
text_id!(
    /// One project folder, by the name that the user gave it.
    ProjectId
);
text_id!(
    /// What a provider called a tool call. Opaque, paired inside its own turn only, never a file name (JRN-04).
    WireId
);
text_id!(
    /// The host's own id of a call: `c_<invocation>_<turn>_<n>` (CONFLICT-31). Keys audit, files and uniqueness.
    CallId
);

impl CallId {
    /// The id of the `number`th call (from 1) of the `turn`th turn (from 1) of `invocation`.
    ///
    /// ```
    /// use haft_core::{CallId, InvocationId};
    /// let id = CallId::of(&InvocationId::new("i_7"), 2, 1);
    /// assert_eq!(id.as_str(), "c_i_7_2_1");
    /// ```
    pub fn of(invocation: &InvocationId, turn: u32, number: u32) -> Self {
        let mut text = String::with_capacity(invocation.as_str().len() + 24);
        // Writing to a text cannot fail.
        let _whole = write!(text, "c_{invocation}_{turn}_{number}");
        Self::new(text)
    }

    /// The stem of this call's audit files: `call_<16 hex of the SHA-256 of the id>` (JRN-02).
    pub fn file_stem(&self) -> String {
        self.file_path("", "")
    }

    /// The path of an audit file of this call: `folder`, the stem, and `ending` (JRN-02).
    pub fn file_path(&self, folder: &str, ending: &str) -> String {
        let hex = haft_schema::Digest::of(self.as_str().as_bytes()).hex();
        let prefix = std::str::from_utf8(&hex[..16]).unwrap_or_default();
        [folder, "call_", prefix, ending].concat()
    }
}

/// Who contributes a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Provider<'a> {
    /// Haft itself.
    Builtin,
    /// An MCP server, by the UUID of its registration.
    Mcp(&'a str),
    /// An extension or the embedding program, by its id.
    Extension(&'a str),
}

/// The stable name of a tool: provider and native name (CAT-03, CAT-04). Never an alias, never a title.
///
/// ```
/// use haft_core::ids::{Provider, ToolId};
/// let id: ToolId = "builtin:workspace.read_file".parse()?;
/// assert_eq!(id.provider(), Provider::Builtin);
/// assert_eq!(id.native_name(), "workspace.read_file");
/// assert_eq!("mcp/5f0c:issue.create".parse::<ToolId>()?.provider(), Provider::Mcp("5f0c"));
/// assert!("workspace.read_file".parse::<ToolId>().is_err());
/// # Ok::<(), haft_core::ids::ToolIdError>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolId {
    text: Arc<str>,
    colon: usize,
}

/// Why a text is no [`ToolId`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is no tool id: {why} (a tool id looks like `builtin:data.calculator`, `mcp/<uuid>:name` or `ext/<id>:name`)"
)]
pub struct ToolIdError {
    text: String,
    why: &'static str,
}

/// The provider id of tools that the embedding program brings itself.
pub const OWN_PROVIDER: &str = "ext/own";

impl ToolId {
    /// A builtin's id, from its native name.
    pub fn builtin(native_name: &str) -> Self {
        Self { text: format!("builtin:{native_name}").into(), colon: "builtin".len() }
    }

    /// The id of a tool that the embedding program brings itself: `ext/own:<name>`.
    pub fn own(native_name: &str) -> Self {
        Self { text: format!("{OWN_PROVIDER}:{native_name}").into(), colon: OWN_PROVIDER.len() }
    }

    /// The whole id as text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// What the provider itself calls the tool.
    pub fn native_name(&self) -> &str {
        self.text.get(self.colon + 1..).unwrap_or("")
    }

    /// Who contributes the tool, as text: `builtin`, `mcp/ID`, `ext/ID`.
    pub fn source(&self) -> &str {
        self.text.get(..self.colon).unwrap_or("")
    }

    /// Who contributes the tool.
    pub fn provider(&self) -> Provider<'_> {
        match self.source().split_once('/') {
            Some(("mcp", id)) => Provider::Mcp(id),
            Some((_, id)) => Provider::Extension(id),
            None => Provider::Builtin,
        }
    }

    /// True for builtins and for tools of the embedding program: two of them with one alias in a profile are
    /// a compile error, where foreign tools give way (ALI-04).
    pub fn is_own(&self) -> bool {
        matches!(self.provider(), Provider::Builtin | Provider::Extension("own"))
    }
}

impl std::str::FromStr for ToolId {
    type Err = ToolIdError;

    fn from_str(text: &str) -> Result<Self, ToolIdError> {
        let fail = |why| Err(ToolIdError { text: text.to_owned(), why });
        let Some(colon) = text.find(':') else { return fail("there is no `:`") };
        let (provider, native) = (&text[..colon], &text[colon + 1..]);
        if native.is_empty() || native.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return fail("the name after `:` is empty or has blanks");
        }
        match provider.split_once('/') {
            None if provider == "builtin" => {}
            Some(("mcp" | "ext", id)) if !id.is_empty() => {}
            _ => return fail("the provider is none of `builtin`, `mcp/<uuid>`, `ext/<id>`"),
        }
        Ok(Self { text: text.into(), colon })
    }
}

impl fmt::Display for ToolId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for ToolId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ToolId({})", self.text)
    }
}

impl Serialize for ToolId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for ToolId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // CAT-04
    #[test]
    fn tools_with_one_native_name_stay_distinct() {
        let builtin: ToolId = "builtin:issue.create".parse().unwrap();
        let one: ToolId = "mcp/aa:issue.create".parse().unwrap();
        let two: ToolId = "mcp/bb:issue.create".parse().unwrap();
        assert_eq!(builtin.native_name(), one.native_name());
        assert!(builtin != one && one != two);
        assert_eq!(serde_json::to_string(&one).unwrap(), "\"mcp/aa:issue.create\"");
    }

    // CAT-03
    #[test]
    fn an_alias_or_a_title_is_no_tool_id() {
        for text in ["", "web_search", "builtin:", ":x", "other:x", "mcp/:x", "builtin:a b", "Builtin:x"] {
            assert!(text.parse::<ToolId>().is_err(), "{text}");
        }
    }

    // JRN-02
    #[test]
    fn audit_files_are_named_by_the_digest_of_the_call_id() {
        let stem = CallId::new("c_i_1_1").file_stem();
        assert_eq!(stem.len(), "call_".len() + 16);
        assert_ne!(stem, CallId::new("c_i_1_2").file_stem());
    }
}
