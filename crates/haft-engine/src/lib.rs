//! Runs: the call path over a store, the loop over a model, context, consent and results.
//!
//! Start at [`Engine`]: it opens a [`Session`], and a session starts runs: a single call, the calls of a text, or a prompt
//! for a model. A started run is a [`RunHandle`]: it goes on if the handle is dropped, so that no call loses its end record.
//!
//! It meets stores, models, tools and surfaces in the ports of `haft-core` alone. It must not read files, the environment or
//! a clock of its own, and holds no lock while a person thinks.

mod agents;
mod allowance;
mod artifacts;
mod asking;
mod batch;
mod bounds;
mod chat;
mod committed;
mod compact;
mod consent;
mod context;
mod drift;
mod dry_run;
mod earlier;
mod ending;
mod engine;
mod error;
mod finishing;
mod floor;
mod foreground;
mod grants;
mod handle;
mod history;
mod identity;
mod import;
mod imported;
mod learned;
mod notes;
mod outside;
mod parallel;
mod persist;
mod publish;
mod recover;
mod render;
mod replay;
mod reuse;
mod run;
mod session;
mod settle;
mod shared;
mod stored;
mod taken;
mod tasks;
mod team;
mod touching;
mod trim;
mod turns;
mod work;
mod workbench;
mod workspace;
mod world;
mod writer;

pub use agents::{AgentModel, Agents, NoAgents};
pub use chat::chat_file;
pub use consent::{AnswerError, Audience, ConsentService, Reply, SurfaceId};
pub use dry_run::{DryCall, dry_run};
pub use engine::{Engine, EngineParts};
pub use error::EngineError;
pub use grants::{GrantRecord, HeldGrant, grants_of};
pub use handle::RunHandle;
pub use history::{conversation, replay_events};
pub use outside::outside_of;
pub use recover::Recovered;
pub use render::result_message;
pub use replay::{Difference, Recorded, ReplayError, replay};
pub use run::{CallOutcome, CurrentPolicy, EventSink, NoEvents, RunOptions, RunOutcome};
pub use session::{Session, SessionChoice};
pub use stored::{opening_of, results_of};
pub use world::{add_world_info, world_info};
