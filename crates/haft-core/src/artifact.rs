//! Artifacts: named, versioned texts of a session, and the port through which tools reach them (ART-01 to ART-06).
//!
//! Fuzzy matching and searching are the tools' work; this module knows ids, versions and the store's promise.

use serde::{Deserialize, Serialize};

use crate::error::{ErrorCode, ToolError};

/// One version of an artifact. Each successful mutation is one version, stored with its record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactVersion {
    /// Its id inside the session: `^[\w\-.]{1,64}$`.
    pub id: String,
    /// From 1.
    pub version: u32,
    /// `text/markdown` …
    pub content_type: String,
    /// Title for people.
    pub title: String,
    /// Who made it: `model`, or `tool` for a spilled result (RES-14).
    pub source: String,
    /// The whole text.
    pub content: String,
}

impl ArtifactVersion {
    /// The snapshot that metadata carries to the user interface (RES-21).
    pub fn snapshot(&self) -> serde_json::Value {
        serde_json::json!({
            "id": self.id, "version": self.version, "content_type": self.content_type,
            "title": self.title, "source": self.source, "content": self.content,
        })
    }
}

/// The artifacts of one session, as its tools see them: what earlier calls of the run changed is visible at once.
/// Bound to the session of the request (REG-09).
pub trait Artifacts: Send + Sync {
    /// The newest version of `id`, or that `version`.
    fn read(&self, id: &str, version: Option<u32>) -> Option<ArtifactVersion>;

    /// Newest versions of all artifacts, in order of id.
    fn list(&self) -> Vec<ArtifactVersion>;

    /// Stages `version` as the newest. Fails if it is not the successor of what is there (1 for a new id).
    /// The caller hands the same version back as a [`Change`](crate::result::Change), with which it is stored.
    fn stage(&self, version: ArtifactVersion) -> Result<(), ToolError>;

    /// Hidden cap of one read, in characters (ART-05).
    fn read_cap(&self) -> u64;
}

/// Checks an artifact id.
///
/// ```
/// assert!(haft_core::artifact::check_id("plan-2.md").is_ok());
/// assert!(haft_core::artifact::check_id("../x").is_err());
/// ```
pub fn check_id(id: &str) -> Result<(), ToolError> {
    let good = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    if id.is_empty() || id.chars().count() > 64 || !id.chars().all(good) {
        return Err(ToolError::new(
            ErrorCode::new("artifact.invalid_id"),
            format!("`{id}` is no artifact id: use 1 to 64 letters, digits, `_`, `-` or `.`."),
        ));
    }
    Ok(())
}
