//! Words and laws of Haft: the types of the one path of a tool call, and the ports through which the
//! rest of the world is reached.
//!
//! Read it in the order of a call: a [`ToolDeclaration`] enters a [`ToolRegistry`]; a [`Profile`] and the
//! registry are [compiled](snapshot::compile) into [`CompiledTools`]; a model's request is
//! [decoded](turn::TurnAliases::decode) into attempts, the [`Gate`] admits them, and each walks the steps
//! in [`path`] until a [`StartedCall`] reaches a [`Tool`]. What happened is written as
//! [`journal`] records through the [`Store`].
//!
//! This crate is pure: no input or output, no clock, no environment, no randomness, no async runtime. It must
//! never depend on a dialect, a provider's wire format or a storage engine.

pub mod agents;
pub mod artifact;
pub mod budget;
pub mod call;
pub mod capability;
pub mod catalog;
pub mod channel;
pub mod chat;
pub mod chat_host;
pub mod consent;
pub mod declaration;
pub mod descriptor;
pub mod error;
pub mod event;
pub mod exit;
pub mod facts;
pub mod gate;
pub mod grant;
pub mod ids;
pub mod journal;
pub mod lines;
pub mod lorebook;
pub mod mask;
pub mod message;
pub mod nearest;
pub mod notes;
pub mod path;
pub mod policy;
pub mod ports;
pub mod profile;
pub mod prospect;
pub mod query;
pub mod registry;
pub mod render;
pub mod result;
pub mod run_control;
pub mod scope;
pub mod services;
pub mod skills;
pub mod slice;
pub mod snapshot;
pub mod spill;
pub mod streak;
pub mod turn;
pub mod workspace;

pub use artifact::ArtifactVersion;
pub use call::{Attempt, MalformedCall, RequestedCall, ToolCall};
pub use catalog::ToolCatalog;
pub use consent::{Answer, Question};
pub use declaration::ToolDeclaration;
pub use descriptor::ToolDescriptor;
pub use error::{ErrorClass, ErrorCode, ToolError};
pub use facts::{Effect, Placement, ResultCap, ToolFacts};
pub use gate::Gate;
pub use grant::{Grant, Lifetime};
pub use haft_schema::{Digest, Schema};
pub use ids::{
    CallId, ConsentId, GrantId, InvocationId, ProjectId, RunId, SessionId, TaskId, ToolId, WireId,
};
pub use journal::{Batch, Committed, Payload, SealedRecord};
pub use path::{AdmittedCall, AuthorizedCall, DecidedCall, PreparedArguments, PreparedCall, StartedCall};
pub use ports::{BoxFuture, Cancel, Clock, Ids, Model, Store, Timestamp, Tool, ToolContext};
pub use profile::Profile;
pub use registry::ToolRegistry;
pub use result::{ContentPart, ToolOutput, ToolResult};
pub use scope::Scope;
pub use services::Services;
pub use snapshot::{CompiledTools, InvocationToolSnapshot};
pub use turn::{ModelTool, ToolChoice, ToolTurnContract};
