//! `haft run`: one prompt, worked on until it is done.

use std::sync::Arc;

use haft_core::journal::RunStatus;
use haft_core::lorebook::WorldInfoActivation;
use haft_core::message::Message;
use haft_core::ports::{Model, ModelRequest, NeverCancelled, TurnSink};
use haft_core::profile::ExecutionMode;
use haft_core::{ErrorCode, ToolChoice, ToolTurnContract, turn};
use haft_engine::{RunOutcome, add_world_info, conversation, dry_run, world_info};
use haft_models::Recording;

use crate::args::RunArgs;
use crate::calls;
use crate::compose::{Chosen, Workplace};
use crate::exit::{Exit, Failure};
use crate::models;
use crate::output::Output;
use crate::prices;
use crate::setup::Setup;
use crate::surroundings;
use crate::terminal::screen::{Mode, Screen};
use crate::untrusted::visible_line;

/// Runs the command.
pub(crate) async fn run(setup: Setup, arguments: RunArgs) -> Result<Exit, Failure> {
    let workplace = Workplace::open(setup, "haft run").await?;
    let chosen = workplace.choose().await?;
    let name = workplace.setup.model_name(&chosen.profile).ok_or_else(no_model)?;
    let model = models::build(&name, &workplace.setup, &chosen.profile, workplace.store.clone())?;
    let price = prices::of(&name, &workplace.setup, &chosen.profile)?;
    let prompt = match arguments.prompt.as_str() {
        "-" => {
            if surroundings::stdin_is_terminal() {
                workplace.setup.output.note("reading the prompt; end it with Ctrl-D");
            }
            surroundings::standard_input()?
        }
        text => text.to_owned(),
    };
    if prompt.trim().is_empty() {
        return Err(Failure::usage("the prompt is empty").hint("Write what the model should do."));
    }
    if arguments.dry_run {
        return dry(&workplace, &chosen, model, prompt, arguments.no_tools).await;
    }
    let recording = match &arguments.record {
        Some(file) => Some(Arc::new(Recording::new(model.clone(), surroundings::new_file(file)?))),
        None => None,
    };
    let model = recording.clone().map_or(model, |recording| recording as Arc<dyn Model>);
    let output = workplace.setup.output;
    let json = workplace.setup.globals.json;
    let screen = Arc::new(Screen::new(output, if json { Mode::Json } else { Mode::Calls }));
    let session = workplace.start(&chosen).await?;
    let mut options = workplace.options(&chosen, "run");
    options.price = price;
    options.model = Some(name);
    options.no_tools = arguments.no_tools;
    options.events = screen.clone();
    let watch = workplace.watch().await;
    let handle = session.prompt(prompt, model, options);
    workplace.tell_ids(&session, handle.run());
    let ended = workplace.guard(handle, watch, Some(&screen)).await?;
    session.close().await?;
    if let Some(failure) = screen.take_failure() {
        return Err(failure);
    }
    if let Some(error) = recording.and_then(|recording| recording.finish().err()) {
        let hint = "The run itself is whole and stands in its session.";
        return Err(Failure::failed(format!("the recording could not be written: {error}")).hint(hint));
    }
    if !json && !ended.text.is_empty() {
        output.foreign_line(&ended.text)?;
    }
    Ok(tell_end(&workplace.setup, &ended))
}

/// Says on stderr how a run ended, if it did not simply complete, and gives its exit code.
pub(crate) fn tell_end(setup: &Setup, ended: &RunOutcome) -> Exit {
    let message = ended.message.as_deref().unwrap_or("no reason is known");
    match ended.status {
        RunStatus::Completed => Exit::Done,
        RunStatus::PartialSuccess => {
            setup.output.warn(&format!("the run was a partial success: {message}"));
            Exit::Done
        }
        RunStatus::Failed => {
            setup.output.error(message, None);
            let no_budget = Some(ErrorCode::RUN_BUDGET_EXHAUSTED.as_str());
            if ended.error_code.as_deref() == no_budget { Exit::Refused } else { Exit::Failed }
        }
        RunStatus::Cancelled => {
            setup.output.note("cancelled");
            Exit::Cancelled
        }
    }
}

fn no_model() -> Failure {
    Failure::usage("no model is named").hint(
        "Name one with `--model`, for example `--model demo` or `--model http://127.0.0.1:11434/v1#NAME`,\n  \
         or set `default_model` in haft.toml. `haft doctor` looks for model servers on this machine.",
    )
}

/// Asks the model once and shows what would run.
async fn dry(
    workplace: &Workplace,
    chosen: &Chosen,
    model: Arc<dyn Model>,
    prompt: String,
    no_tools: bool,
) -> Result<Exit, Failure> {
    let row = workplace.engine.find(&chosen.session).await?;
    let session = row.as_ref().map(|row| &row.id);
    let mut messages = match session {
        Some(id) => conversation(workplace.store.as_ref(), id).await?,
        None => Vec::new(),
    };
    let active = world_info(&workplace.engine, session, &chosen.profile, &prompt).await?;
    messages.push(Message::User(prompt));
    let mut system = chosen.profile.prompt.clone();
    if let Some(active) = &active {
        system = active.around(&system);
        add_world_info(active, &mut messages);
        tell_world_info(workplace.setup.output, active);
    }
    let contract = ToolTurnContract::all(&chosen.tools);
    let request = ModelRequest {
        agent: chosen.profile.name.clone(),
        system,
        messages,
        tools: turn::model_tools(&chosen.tools, &contract),
        choice: if no_tools { ToolChoice::None } else { ToolChoice::Auto },
        serial: match chosen.profile.execution {
            ExecutionMode::Serial => true,
            ExecutionMode::Parallel => false,
        },
        max_tokens: chosen.profile.max_tokens,
        temperature: chosen.profile.temperature,
        seed: None,
    };
    let answer = model.turn(&request, &mut Unheard, &NeverCancelled).await.map_err(Failure::failed)?;
    let output = workplace.setup.output;
    let json = workplace.setup.globals.json;
    if !json && !answer.text.is_empty() {
        output.foreign_line(&answer.text)?;
    }
    let mut options = workplace.options(chosen, "run");
    options.model = Some(model.traits().name.clone());
    let outside = workplace.outside(chosen).await?;
    let (grants, environment) = (&chosen.grants, &chosen.environment);
    let calls = dry_run(&workplace.engine, answer.calls, &options, grants, environment, outside.as_deref())
        .map_err(Failure::usage)?;
    calls::print_dry(output, json, &calls, &chosen.tools)
}

/// Says on stderr which entries of world info the run would begin with.
fn tell_world_info(output: Output, active: &WorldInfoActivation) {
    let count = match active.entries.len() {
        1 => "1 entry of world info would be active".to_owned(),
        count => format!("{count} entries of world info would be active"),
    };
    output.note(&count);
    for entry in &active.entries {
        let place = entry.position.as_str();
        let line = format!("  {}: {} ({}, {place})", entry.reference, entry.name, entry.book);
        output.note(&visible_line(&line));
    }
}

/// Nobody watches a dry run.
struct Unheard;

impl TurnSink for Unheard {
    fn text(&mut self, _delta: &str) {}
    fn reasoning(&mut self, _delta: &str) {}
    fn restarted(&mut self, _reason: &str) {}
}
