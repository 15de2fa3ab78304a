//! Artifacts: named, versioned texts of a session, and the port through which tools reach them (ART-01 to ART-06).
//!
//! Fuzzy matching and searching are the tools' work; this module knows ids, versions and the store's promise.

use haft_schema::{Digest, canonical};
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

    /// The canonical JSON of the whole version: what is exported of it.
    pub fn to_bytes(&self) -> Result<Vec<u8>, canonical::NoJsonForm> {
        canonical::serialize(self)
    }

    /// The SHA-256 of [`ArtifactVersion::to_bytes`]: what its record says of it, so that no part of it can be changed unnoticed.
    pub fn digest(&self) -> Result<Digest, canonical::NoJsonForm> {
        self.to_bytes().map(|bytes| Digest::of(&bytes))
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

/// Writes a part of an artifact for the model (ART-04, RES-15): its lines between `<artifact_slice …>` marks, then the hint
/// how to go on, if there is more. Text that would close the element is neutralised.
///
/// ```
/// use haft_core::artifact::{ArtifactVersion, artifact_slice};
/// use haft_core::slice::slice_lines;
/// let version = ArtifactVersion {
///     id: "plan".into(), version: 2, content_type: "text/markdown".into(), title: "Plan".into(),
///     source: "model".into(), content: "one\ntwo\n".into(),
/// };
/// let slice = slice_lines(&version.content, 1, Some(1), 100);
/// assert_eq!(
///     artifact_slice(&version, &slice, Some("Read on from line 2.")),
///     "<artifact_slice id=\"plan\" version=\"2\" shown_lines=\"1-1\" total_lines=\"2\" has_more=\"true\">\none\n</artifact_slice>\nRead on from line 2."
/// );
/// ```
pub fn artifact_slice(
    version: &ArtifactVersion,
    slice: &crate::slice::Slice<'_>,
    hint: Option<&str>,
) -> String {
    let shown = format!("{}-{}", slice.first_line, slice.last_line);
    let mut text = format!(
        "<artifact_slice id=\"{}\" version=\"{}\" shown_lines=\"{shown}\" total_lines=\"{}\" has_more=\"{}\">\n",
        version.id,
        version.version,
        slice.total_lines,
        slice.has_more()
    );
    let body = slice.text.replace("</artifact_slice", "<\\/artifact_slice");
    text.push_str(&body);
    if !body.ends_with('\n') {
        text.push('\n');
    }
    text.push_str("</artifact_slice>");
    if let (true, Some(hint)) = (slice.has_more(), hint) {
        text.push('\n');
        text.push_str(hint);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    // ART-01: stored for good, so that these bytes never change.
    #[test]
    fn a_version_is_written_whole_in_canonical_form() {
        let version = ArtifactVersion {
            id: "plan".into(),
            version: 2,
            content_type: "text/markdown".into(),
            title: "Plän".into(),
            source: "model".into(),
            content: "one\n".into(),
        };
        let bytes = version.to_bytes().unwrap();
        let expected = r#"{"content":"one\n","content_type":"text/markdown","id":"plan","source":"model","title":"Plän","version":2}"#;
        assert_eq!(String::from_utf8(bytes).unwrap(), expected);
        assert_eq!(version.digest().unwrap(), Digest::of(expected.as_bytes()));
    }
}
