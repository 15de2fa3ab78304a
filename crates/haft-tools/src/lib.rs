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

mod arguments;
#[cfg(feature = "artifacts")]
pub mod artifacts;
#[cfg(feature = "data")]
pub mod data;

use std::sync::Arc;

use haft_core::Tool;
use haft_schema::SchemaError;

/// All tools of the families that are compiled in.
///
/// # Errors
/// [`SchemaError`] if a declaration carries a schema that is none; the tests of this crate rule that out.
pub fn all() -> Result<Vec<Arc<dyn Tool>>, SchemaError> {
    let mut tools = Vec::new();
    #[cfg(feature = "artifacts")]
    tools.extend(artifacts::tools()?);
    #[cfg(feature = "data")]
    tools.extend(data::tools()?);
    Ok(tools)
}
