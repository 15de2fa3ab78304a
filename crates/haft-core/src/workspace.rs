//! The workspace of a run: named files under a few roots, and the port through which tools reach them (WSP-01, JRN-08).
//!
//! Files are versions in the store, not files of the machine: nothing here has links, permissions or a place on a disk. What a
//! tool writes is staged, seen at once by later calls of the run, and stored with the record of the call that wrote it.

mod files;
mod path;

pub use files::RunFiles;
pub use path::{WorkspacePath, WorkspaceRoot};

use std::sync::Arc;

use haft_schema::Digest;
use serde::{Deserialize, Serialize};

use crate::error::ToolError;
use crate::ids::InvocationId;

/// The code of a fault of the workspace itself: the run fails (WSP-15).
pub const BROKEN: crate::ErrorCode = crate::ErrorCode::new("workspace.inconsistent");

/// Which roots an invocation sees and may write. `tool-results/` is always seen and never written.
///
/// ```
/// use haft_core::workspace::{WorkspaceRoot, WorkspaceRoots};
/// let narrow = WorkspaceRoots::new(&[WorkspaceRoot::Output, WorkspaceRoot::Plan], &[WorkspaceRoot::Output]);
/// assert!(narrow.sees(WorkspaceRoot::Plan) && !narrow.writes(WorkspaceRoot::Plan));
/// assert!(narrow.sees(WorkspaceRoot::ToolResults) && !narrow.writes(WorkspaceRoot::ToolResults));
/// assert!(WorkspaceRoots::default().writes(WorkspaceRoot::Persist));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceRoots {
    visible: Vec<WorkspaceRoot>,
    writable: Vec<WorkspaceRoot>,
}

impl WorkspaceRoots {
    /// These roots; what is writable is also seen.
    pub fn new(visible: &[WorkspaceRoot], writable: &[WorkspaceRoot]) -> Self {
        let of_profile = |root: &&WorkspaceRoot| WorkspaceRoot::OF_PROFILES.contains(root);
        let sees = |root: &&WorkspaceRoot| visible.contains(root) || writable.contains(root);
        Self {
            visible: WorkspaceRoot::OF_PROFILES.iter().filter(sees).copied().collect(),
            writable: WorkspaceRoot::OF_PROFILES
                .iter()
                .filter(|root| writable.contains(root))
                .filter(of_profile)
                .copied()
                .collect(),
        }
    }

    /// True for what holds where a profile says nothing.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// True if the root is seen.
    pub fn sees(&self, root: WorkspaceRoot) -> bool {
        root == WorkspaceRoot::ToolResults || self.visible.contains(&root)
    }

    /// True if files under the root may be written.
    pub fn writes(&self, root: WorkspaceRoot) -> bool {
        self.writable.contains(&root)
    }

    /// All roots that are seen, `tool-results/` last.
    pub fn visible(&self) -> impl Iterator<Item = WorkspaceRoot> + '_ {
        self.visible.iter().copied().chain([WorkspaceRoot::ToolResults])
    }

    /// The roots that may be written.
    pub fn writable(&self) -> impl Iterator<Item = WorkspaceRoot> + '_ {
        self.writable.iter().copied()
    }
}

impl Default for WorkspaceRoots {
    /// All that a profile could give (WSP-01).
    fn default() -> Self {
        Self::new(&WorkspaceRoot::OF_PROFILES, &WorkspaceRoot::OF_PROFILES)
    }
}

/// One version of a file of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceVersion {
    /// Where.
    pub path: WorkspacePath,
    /// From 1 in each run.
    pub version: u32,
    /// Its content.
    pub bytes: Arc<[u8]>,
}

impl WorkspaceVersion {
    /// SHA-256 of the content.
    pub fn digest(&self) -> Digest {
        Digest::of(&self.bytes)
    }

    /// The name of the create-only file that holds it among the files of its run: `workspace/output/main.md@3`.
    pub fn stored_path(&self) -> String {
        format!("workspace/{}@{}", self.path, self.version)
    }

    /// The path and version that such a name means.
    ///
    /// ```
    /// use haft_core::workspace::WorkspaceVersion;
    /// let (path, version) = WorkspaceVersion::of_stored_path("workspace/output/a@b.md@3").unwrap();
    /// assert_eq!((path.to_string().as_str(), version), ("output/a@b.md", 3));
    /// assert!(WorkspaceVersion::of_stored_path("tool-args/call_1.json").is_none());
    /// ```
    pub fn of_stored_path(name: &str) -> Option<(WorkspacePath, u32)> {
        let (path, version) = name.strip_prefix("workspace/")?.rsplit_once('@')?;
        Some((WorkspacePath::parse(path).ok()?, version.parse().ok()?))
    }
}

/// The workspace as one invocation sees it. Agents of one run share the files, each with the roots that its profile gives.
pub trait Workspace: Send + Sync {
    /// Whose view it is: what was read counts for this invocation alone.
    fn invocation(&self) -> &InvocationId;

    /// What it sees and may write.
    fn roots(&self) -> &WorkspaceRoots;

    /// The newest version of `path`; none if there is no such file. Roots are the caller's to check.
    ///
    /// # Errors
    /// A system failure if the workspace is broken.
    fn read(&self, path: &WorkspacePath) -> Result<Option<WorkspaceVersion>, ToolError>;

    /// The newest versions of all files under the roots that are seen, in order of path.
    ///
    /// # Errors
    /// A system failure if the workspace is broken.
    fn list(&self) -> Result<Vec<WorkspaceVersion>, ToolError>;

    /// Stages `version` as the newest. The caller hands the same version back as a [`Change`](crate::result::Change), with
    /// which it is stored.
    ///
    /// # Errors
    /// A system failure if it is not the successor of what is there: callers look first, and writers of one run take turns.
    fn stage(&self, version: WorkspaceVersion) -> Result<(), ToolError>;
}
