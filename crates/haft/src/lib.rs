//! Haft for embedders: the one path of a tool call as a library, with no command line and no server.
//!
//! A documented async function becomes a tool by [`#[tool]`](macro@tool); a tool that is known at run time alone comes from a
//! [`ToolBuilder`]. A [`Haft`] takes tools, a [`Profile`] and a store, and every call walks the one path: gate, prepared and
//! validated arguments, policy, consent, a durable intent, the tool, a result, and a journal that can be verified.
//!
//! ```
//! use haft::Haft;
//! use haft::serde_json::json;
//!
//! /// Adds two numbers.
//! #[haft::tool(effect = "read")]
//! async fn add(
//!     /// The first one.
//!     a: i64,
//!     /// The second one; 1 if left out.
//!     #[tool(default = 1)]
//!     b: i64,
//! ) -> String {
//!     (a + b).to_string()
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let haft = Haft::builder().tool(add::tool()).open().await?;
//!
//! let outcome = haft.call("add", json!({"a": "41"})).await?; // text is coerced, `b` is filled in
//! assert_eq!(outcome.result.text(), "42");
//! assert_eq!(outcome.arguments, json!({"a": 41, "b": 1}));
//!
//! let refused = haft.call("add", json!({"a": "several"})).await?; // never reaches the function
//! assert!(refused.result.is_error);
//!
//! let kinds: Vec<String> = haft.journal().await?.into_iter().map(|record| record.kind).collect();
//! assert_eq!(kinds[..3], ["run_started", "context_assembled", "tool_call_requested"]);
//! # Ok(())
//! # }
//! ```
//!
//! Builtin tools (`haft-tools`), models (`haft-models`) and stores ([`store`]) meet this crate in the ports of [`core`], so that one
//! takes only those that one needs: `Haft::builder().tools(haft_tools::all()?)`.
//!
//! Start reading at [`Haft`] to run calls, at [`ToolBuilder`] to make tools, at [`core`] for the words and laws. The real clock
//! and ids live in [`system`]. This crate must not read the environment or files, and adds no law to those of [`core`].

mod builder;
mod embed;
mod output;
mod schema;
pub mod system;

pub use builder::{ToolBuildError, ToolBuilder};
pub use embed::{Haft, HaftBuilder, HaftError, IntoTool};
pub use haft_core as core;
pub use haft_core::{
    Clock, Effect, Grant, Ids, Profile, Scope, Services, Tool, ToolContext, ToolError, ToolId, ToolOutput,
    ToolRegistry,
};
pub use haft_engine as engine;
pub use haft_engine::{CallOutcome, RunOutcome};
pub use haft_macros::tool;
pub use haft_store as store;
pub use output::{IntoToolOutput, Json};
pub use schema::{arguments_of, schema_of};
pub use {schemars, serde, serde_json};
