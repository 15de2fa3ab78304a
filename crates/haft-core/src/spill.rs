//! Results that are too long: when they are spilled, and the preview that takes their place (RES-13 to RES-20, CONFLICT-07).
//!
//! Pure text work; the engine stores what is spilled, after the audit file is written (CONFLICT-08).

use serde::{Deserialize, Serialize};

use crate::artifact::{ArtifactVersion, artifact_slice};
use crate::facts::ResultCap;
use crate::ids::CallId;
use crate::slice::slice_lines;

/// Where a long result goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpillSink {
    /// An artifact of the session (A).
    Artifact,
    /// Nowhere: results stay whole.
    None,
}

/// A profile's spill policy. Sizes are Unicode characters; `>` the threshold spills (CONFLICT-07).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SpillPolicy {
    /// Longest result that stays whole.
    pub threshold: u64,
    /// Characters of the preview (CFG-02 `TOOL_PERSIST_PREVIEW_LENGTH`).
    pub preview: u64,
    /// Where the whole goes.
    pub sink: SpillSink,
}

impl Default for SpillPolicy {
    fn default() -> Self {
        Self { threshold: 50_000, preview: 1_000, sink: SpillSink::Artifact }
    }
}

impl SpillPolicy {
    /// True if a successful result of `characters` is spilled under this policy and the tool's own cap.
    ///
    /// ```
    /// use haft_core::{ResultCap, spill::SpillPolicy};
    /// let policy = SpillPolicy::default();
    /// assert!(!policy.spills(50_000, ResultCap::Profile));
    /// assert!(policy.spills(50_001, ResultCap::Profile));
    /// assert!(policy.spills(9_000, ResultCap::Chars(8_000)));
    /// assert!(!policy.spills(1_000_000, ResultCap::Unlimited));
    /// ```
    pub fn spills(&self, characters: u64, cap: ResultCap) -> bool {
        let limit = match cap {
            ResultCap::Profile => self.threshold,
            ResultCap::Chars(own) => own.min(self.threshold),
            ResultCap::Unlimited => return false,
        };
        match self.sink {
            SpillSink::Artifact => characters > limit,
            SpillSink::None => false,
        }
    }
}

/// The id of a spilled result: `tool_<name>_<12 hex>` (RES-14).
///
/// ```
/// use haft_core::{CallId, spill::spill_artifact_id};
/// let id = spill_artifact_id("web search!", &CallId::new("c_1"));
/// assert!(id.starts_with("tool_web_search__"));
/// assert_eq!(id.len(), "tool_web_search__".len() + 12);
/// ```
pub fn spill_artifact_id(alias: &str, call: &CallId) -> String {
    let name: String =
        alias.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).take(40).collect();
    format!("tool_{name}_{}", haft_schema::Digest::of(call.as_str().as_bytes()).hex_prefix(12))
}

/// How the model can read what was spilled; aliases are those of the current snapshot (ALI-09).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadOn<'a> {
    /// With the tool of that alias that reads artifacts.
    Artifact(&'a str),
    /// With the same tool again, by lines.
    Lines(&'a str),
    /// Not at all: the whole is kept for the user.
    UserAlone,
}

/// What takes the place of a spilled result: its first `preview` characters as an artifact slice, and how to read the rest
/// (RES-15).
///
/// ```
/// use haft_core::ArtifactVersion;
/// use haft_core::spill::{ReadOn, spill_preview};
/// let whole = ArtifactVersion {
///     id: "tool_x_0".into(), version: 1, content_type: "text/plain".into(), title: "Result of x".into(),
///     source: "tool".into(), content: "one\ntwo\n".into(),
/// };
/// let shown = spill_preview(&whole, 4, ReadOn::Artifact("read_artifact"));
/// assert!(shown.ends_with("Use read_artifact(id='tool_x_0') to read it."));
/// ```
pub fn spill_preview(whole: &ArtifactVersion, preview: u64, read_on: ReadOn<'_>) -> String {
    let characters = whole.content.chars().count();
    let head = crate::slice::first_characters(&whole.content, preview);
    let mut slice = slice_lines(head, 1, None, preview);
    slice.total_lines = whole.content.split_inclusive('\n').count();
    slice.cut_line = head.len() < whole.content.len() && !head.ends_with('\n');
    let id = &whole.id;
    let hint = match read_on {
        ReadOn::Artifact(alias) => format!(
            "The whole result has {characters} characters and is kept as an artifact. Use {alias}(id='{id}') to read it."
        ),
        ReadOn::Lines(alias) => format!(
            "The whole result has {characters} characters. Call {alias} with start_line and line_count to read a part of it."
        ),
        ReadOn::UserAlone => {
            format!(
                "The whole result has {characters} characters and is kept for the user as artifact `{id}`."
            )
        }
    };
    artifact_slice(whole, &slice, Some(&hint))
}
