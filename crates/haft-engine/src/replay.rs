//! A recorded run, run again: its model's turns as a script, the results of its tools out of its journal, and the first place where
//! what comes of them is not what was recorded.
//!
//! Nothing is done a second time: a tool is asked what a call means and touches, and never run; only the tools that put text into
//! the conversation of the replayed run and end it work, and that conversation is in memory.

mod model;
mod names;
mod recorded;
mod rerun;
mod steps;
mod tools;

use std::sync::Arc;

use haft_core::consent::ConsentEnvironment;
use haft_core::ports::ProjectRow;
use haft_core::{Profile, RunId};
use serde::Serialize;
use serde_json::Value;

use crate::agents::{AgentModel, Agents};
use crate::engine::{Engine, EngineParts};
use crate::error::EngineError;
use crate::run::RunOptions;
use crate::session::SessionChoice;
pub use recorded::Recorded;
pub(crate) use rerun::Rerun;

/// Where a replay goes another way than its record.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// What kind of step differs: `tools`, `request`, `answer`, `call`, `result`, `conversation`, `drift`, `kept`, `task`,
    /// `agent_end`, `end`; `order` where another kind of step comes, `missing` where the replay ends before, `extra` where it goes on.
    pub kind: &'static str,
    /// The number of the record in the recorded run; none where the replay goes on after its end.
    pub seq: Option<u64>,
    /// Whose step it is: `root`, or the agent that a call gave work, as `root/TURN_CALL.NUMBER`.
    pub agent: String,
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
    #[error(
        "the run {0} asked no model, so there is nothing to run again; `haft audit show {0}` tells what it did"
    )]
    NoTurns(RunId),
    /// A crash ended it.
    #[error(
        "the run {0} was cut off when Haft ended, so that nobody knows what would have come; send its message again in its session"
    )]
    CutOff(RunId),
    /// It goes on, or died.
    #[error("the run {0} is not ended; open its session once, which closes it, then replay it")]
    NotEnded(RunId),
    /// Something was taken out of it.
    #[error(
        "record {seq} of the run {run} was taken away, so that nobody knows what was said there; \
         `haft audit show {run}` tells what is left"
    )]
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

/// The agents of today, with the models of the record.
struct RecordedAgents(Arc<dyn Agents>);

impl Agents for RecordedAgents {
    fn names(&self) -> Vec<String> {
        self.0.names()
    }

    fn profile(&self, name: &str) -> Result<Option<Arc<Profile>>, String> {
        self.0.profile(name)
    }

    fn model(&self, _profile: &Profile, caller: &AgentModel) -> Result<AgentModel, String> {
        Ok(caller.clone())
    }
}

/// Runs `recorded` again under `profile` and with `agents`, in the empty store of `parts`, and gives the first difference; none if all
/// is the same. People answer as they did, and the world info is as it was frozen.
///
/// # Errors
/// [`ReplayError`] if it cannot be run.
pub async fn replay(
    recorded: &Recorded,
    profile: Arc<Profile>,
    agents: Arc<dyn Agents>,
    parts: EngineParts,
    environment: ConsentEnvironment,
) -> Result<Option<Difference>, ReplayError> {
    let rerun = Rerun::new(recorded.agents(), recorded.world_info());
    let registry = Arc::new(tools::recorded(&parts.registry, &rerun)?);
    let store = parts.store.clone();
    let environment = ConsentEnvironment { attended: recorded.is_attended(), ..environment };
    let project = environment.project.clone();
    if let (Some(id), Some(path)) = (project.clone(), environment.project_folder.clone()) {
        // A yes is held against the folder that the store knows.
        let row = ProjectRow { id, path, added: parts.clock.now() };
        store.put_project(&row).await.map_err(EngineError::from)?;
    }
    let engine = Engine::new(EngineParts { registry, ..parts });
    let session = engine.open(SessionChoice::New, &profile.name, project, environment).await?;
    if let Some(source) = recorded.outside() {
        session.inner.outside.mark(source);
    }
    let mut options = RunOptions::new(profile, recorded.surface());
    options.model = recorded.model_name();
    options.no_tools = recorded.no_tools();
    options.background = recorded.is_background();
    options.agents = Arc::new(RecordedAgents(agents));
    options.rerun = Some(rerun.clone());
    let handle = session.prompt(recorded.prompt(), rerun.model(names::ROOT), options);
    let run = handle.run().clone();
    handle.wait().await?;
    session.close().await?;
    let again = Recorded::read(store.as_ref(), &run).await?;
    Ok(steps::first_difference(recorded.steps(), again.steps()))
}
