//! The ports of the family: where projects are, and where before-images are kept.

use cap_std::fs::Dir;
use haft_core::{BoxFuture, Digest, ErrorCode, ToolError};

/// The folders that the user named as projects.
///
/// ```
/// use std::sync::Arc;
/// use cap_std::fs::Dir;
/// use haft_tools::files::{ProjectError, ProjectFolders};
///
/// /// One folder, opened by whoever owns the file system.
/// struct Only(Dir);
///
/// impl ProjectFolders for Only {
///     fn open(&self, id: &str) -> Result<Dir, ProjectError> {
///         let lost = |error: std::io::Error| ProjectError::Unavailable { id: id.into(), reason: error.to_string() };
///         if id == "demo" { self.0.try_clone().map_err(lost) } else { Err(ProjectError::NotFound(id.into())) }
///     }
///     fn resolved(&self, _id: &str) -> Option<String> {
///         None
///     }
/// }
///
/// let dir = Dir::open_ambient_dir(".", cap_std::ambient_authority())?;
/// let mut services = haft_core::Services::default();
/// services.insert::<dyn ProjectFolders>(Arc::new(Only(dir)));
/// # Ok::<(), std::io::Error>(())
/// ```
pub trait ProjectFolders: Send + Sync {
    /// Opens the folder of project `id`. May touch the disk; called where blocking is allowed.
    ///
    /// # Errors
    /// [`ProjectError`] if there is no such project or its folder cannot be opened.
    fn open(&self, id: &str) -> Result<Dir, ProjectError>;

    /// The absolute path of the folder with all links resolved, for consent and for people; none if it is unknown.
    fn resolved(&self, id: &str) -> Option<String>;
}

/// Why a project cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProjectError {
    /// Nobody named a project so (FIL-02).
    #[error("Project not found: {0}")]
    NotFound(String),
    /// Its folder is gone or closed to us.
    #[error("The folder of project {id} cannot be opened: {reason}. Ask the user to check it.")]
    Unavailable {
        /// The project.
        id: String,
        /// What the system says.
        reason: String,
    },
}

impl ProjectError {
    pub(super) fn to_tool_error(&self) -> ToolError {
        let code = match self {
            Self::NotFound(_) => "project.not_found",
            Self::Unavailable { .. } => "project.unavailable",
        };
        ToolError::new(ErrorCode::new(code), self.to_string())
    }
}

/// Where the content of a file is kept before a tool overwrites or deletes it, so that undo can come later.
pub trait BeforeImages: Send + Sync {
    /// Keeps `bytes` durably and gives their digest. If it fails, the file is not touched.
    fn keep<'a>(&'a self, bytes: &'a [u8]) -> BoxFuture<'a, Result<Digest, ToolError>>;
}
