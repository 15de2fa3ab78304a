//! Haft for embedders: the one path of a tool call as a library.

mod builder;
mod output;
mod schema;
pub mod system;

pub use builder::{ToolBuildError, ToolBuilder};
pub use haft_core as core;
pub use haft_core::{Clock, Effect, Ids, Profile, Tool, ToolContext, ToolError, ToolOutput, ToolRegistry};
pub use haft_macros::tool;
pub use output::{IntoToolOutput, Json};
pub use schema::{arguments_of, schema_of};
pub use {schemars, serde, serde_json};
