//! Builtin tools, one module and one cargo feature a family.
//!
//! A tool knows its arguments and its [`ToolContext`](haft_core::ToolContext), nothing of runs, profiles or journals; the
//! outside world reaches it through typed ports in [`Services`](haft_core::Services) alone. A tool must never open a path,
//! a socket or a clock of its own. Start reading at the family.
//!
//! ```
//! let mut registry = haft_core::ToolRegistry::default();
//! registry.register_all(haft_tools::all()?)?;
//! assert!(registry.resolve("read_artifact").is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(feature = "agents")]
pub mod agents;
#[cfg(any(
    feature = "agents",
    feature = "artifacts",
    feature = "chat",
    feature = "data",
    feature = "dice",
    feature = "files",
    feature = "skills",
    feature = "workspace",
    feature = "worldinfo"
))]
mod arguments;
#[cfg(feature = "artifacts")]
pub mod artifacts;
#[cfg(feature = "chat")]
pub mod chat;
#[cfg(feature = "data")]
pub mod data;
#[cfg(feature = "dice")]
pub mod dice;
#[cfg(feature = "edit")]
mod edit;
#[cfg(feature = "files")]
pub mod files;
#[cfg(feature = "host")]
pub mod host;
#[cfg(feature = "files")]
mod secrets;
#[cfg(feature = "skills")]
pub mod skills;
#[cfg(feature = "workspace")]
pub mod workspace;
#[cfg(feature = "worldinfo")]
pub mod worldinfo;

use std::sync::Arc;

use haft_core::Tool;
use haft_schema::SchemaError;

/// All tools of the families that are compiled in. Those of `host` share their aliases with `files` and come after them, so
/// that `file_read` alone means the project's (CONFLICT-09).
///
/// # Errors
/// [`SchemaError`] if a declaration carries a schema that is none; the tests of this crate rule that out.
pub fn all() -> Result<Vec<Arc<dyn Tool>>, SchemaError> {
    let families: Vec<Vec<Arc<dyn Tool>>> = Vec::from([
        #[cfg(feature = "artifacts")]
        artifacts::tools()?,
        #[cfg(feature = "files")]
        files::tools()?,
        #[cfg(feature = "data")]
        data::tools()?,
        #[cfg(feature = "workspace")]
        workspace::tools()?,
        #[cfg(feature = "workspace")]
        workspace::control_tools()?,
        #[cfg(feature = "chat")]
        chat::tools()?,
        #[cfg(feature = "worldinfo")]
        worldinfo::tools()?,
        #[cfg(feature = "dice")]
        dice::tools()?,
        #[cfg(feature = "skills")]
        skills::tools()?,
        #[cfg(feature = "agents")]
        agents::tools()?,
        #[cfg(feature = "host")]
        host::tools()?,
    ]);
    Ok(families.into_iter().flatten().collect())
}
