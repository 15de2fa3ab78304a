//! A recorded run, run again: its model's turns as a script, the results of its tools out of its journal, and the first place where
//! what comes of them is not what was recorded.
//!
//! Nothing is done a second time: a tool is asked what a call means and touches, and never run; only the tools that put text into
//! the conversation of the replayed run and end it work, and that conversation is in memory.

mod answers;
mod model;
mod recorded;
mod steps;
mod tools;

use std::sync::Arc;

use haft_core::consent::ConsentEnvironment;
use haft_core::{Profile, RunId};
use serde::Serialize;
use serde_json::Value;

use crate::engine::{Engine, EngineParts};
use crate::error::EngineError;
use crate::run::RunOptions;
use crate::session::SessionChoice;
use answers::RecordedAnswers;
pub use recorded::Recorded;

/// Where a replay goes another way than its record.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// What kind of step differs: `tools`, `request`, `answer`, `call`, `result`, `conversation`, `drift`, `kept`, `end`; `order` where
    /// another kind of step comes, `missing` where the replay ends before, `extra` where it goes on.
    pub kind: &'static str,
    /// The number of the record in the recorded run; none where the replay goes on after its end.
    pub seq: Option<u64>,
    /// What of the step differs; none where the step itself is another one.
    pub field: Option<String>,
    /// As it was recorded.
    pub recorded: Value,
    /// As it is now.
    pub replayed: Value,
}

/// Why a run cannot be replayed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// It asked no model.
    #[error("the run {0} asked no model, so there is nothing to run again")]
    NoTurns(RunId),
    /// Others worked in it.
    #[error("several agents worked in the run {0}; only the run of one agent can be replayed")]
    SeveralAgents(RunId),
    /// It goes on, or died.
    #[error("the run {0} is not ended; open its session once, which closes it, then replay it")]
    NotEnded(RunId),
    /// Something was taken out of it.
    #[error("record {seq} of the run {run} was taken away, so that nobody knows what was said there")]
    Redacted {
        /// The run.
        run: RunId,
        /// The record.
        seq: u64,
    },
    /// The host broke.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// Runs `recorded` again under `profile`, in the empty store of `parts`, and gives the first difference; none if all is the same.
///
/// # Errors
/// [`ReplayError`] if it cannot be run.
pub async fn replay(
    recorded: &Recorded,
    profile: Arc<Profile>,
    parts: EngineParts,
    environment: ConsentEnvironment,
) -> Result<Option<Difference>, ReplayError> {
    let registry = Arc::new(recorded.tools(&parts.registry)?);
    let store = parts.store.clone();
    let engine = Engine::new(EngineParts { registry, ..parts });
    engine.consent().attach(Arc::new(RecordedAnswers::new(recorded, engine.consent())));
    let environment = ConsentEnvironment { attended: true, ..environment };
    let project = environment.project.clone();
    let session = engine.open(SessionChoice::New, &profile.name, project, environment).await?;
    let mut options = RunOptions::new(profile, recorded.surface());
    options.model = recorded.model_name();
    options.no_tools = recorded.no_tools();
    options.background = recorded.is_background();
    let handle = session.prompt(recorded.prompt(), Arc::new(recorded.model()), options);
    let run = handle.run().clone();
    handle.wait().await?;
    session.close().await?;
    let again = Recorded::read(store.as_ref(), &run).await?;
    Ok(steps::first_difference(recorded.steps(), again.steps()))
}
