//! `haft replay`: a recorded run is run again, and the first difference is told. Nothing is done a second time.

use std::sync::Arc;

use haft_core::{RunId, Services};
use haft_engine::{Difference, EngineParts, Recorded, ReplayError, SessionChoice, replay};
use haft_store::MemoryStore;
use serde_json::{Value, json};

use crate::agents::HomeAgents;
use crate::commands::audit;
use crate::compose::Workplace;
use crate::exit::{Exit, Failure};
use crate::secrets;
use crate::setup::Setup;
use crate::untrusted::visible_short;

/// Longest value that is shown of a difference.
const WIDTH: usize = 400;

impl From<ReplayError> for Failure {
    fn from(error: ReplayError) -> Self {
        match error {
            ReplayError::NoTurns(_)
            | ReplayError::CutOff(_)
            | ReplayError::NotEnded(_)
            | ReplayError::Redacted { .. } => Self::usage(error),
            ReplayError::Engine(error) => error.into(),
        }
    }
}

/// Runs the command.
pub(crate) async fn run(setup: Setup, run: &str) -> Result<Exit, Failure> {
    let workplace = Workplace::open(setup, "haft replay").await?;
    let row = audit::find(&workplace, run).await?;
    let recorded = Recorded::read(workplace.store.as_ref(), &row.id).await?;
    let chosen = workplace.choose_for(SessionChoice::Id(row.session.clone())).await?;
    let mut services = Services::default();
    services.insert(Arc::new(secrets::mask(&workplace.setup)?));
    let parts = EngineParts {
        store: Arc::new(MemoryStore::new()),
        clock: workplace.clock.clone(),
        ids: workplace.ids.clone(),
        registry: Arc::new(workplace.setup.registry.clone()),
        services,
        owner: format!("process {} (haft replay)", std::process::id()),
    };
    let agents = HomeAgents::of(&workplace.setup, workplace.store.clone());
    let (profile, environment) = (chosen.profile.clone(), chosen.environment.clone());
    let difference = replay(&recorded, profile, agents, parts, environment).await?;
    let output = workplace.setup.output;
    if workplace.setup.globals.json {
        let same = difference.is_none();
        output.json(&json!({"run": row.id, "same": same, "difference": difference}))?;
    } else {
        match &difference {
            None => output.line(&format!("run {}: the same", row.id))?,
            Some(difference) => output.foreign_line(&as_text(&row.id, difference))?,
        }
    }
    Ok(if difference.is_none() { Exit::Done } else { Exit::Failed })
}

fn as_text(run: &RunId, difference: &Difference) -> String {
    let place = match difference.seq {
        Some(seq) => format!("record {seq}"),
        None => "after its end".to_owned(),
    };
    let agent = match difference.agent.as_str() {
        "root" => String::new(),
        agent => format!(" of agent {}", visible_short(agent, WIDTH)),
    };
    let field = difference.field.as_ref().map_or(String::new(), |field| format!(", {field}"));
    let shown = |value: &Value| match value {
        Value::Null => "nothing".to_owned(),
        Value::String(text) => visible_short(text, WIDTH),
        other => visible_short(&other.to_string(), WIDTH),
    };
    format!(
        "run {run}: {}{agent} differs, {place}{field}\n  recorded: {}\n  replayed: {}",
        difference.kind,
        shown(&difference.recorded),
        shown(&difference.replayed)
    )
}
