//! Which model answers in `haft chat`: what is offered where none is named, and `/model`.

use std::io::{self, BufRead};
use std::sync::Arc;

use haft_core::ports::Model;

use crate::compose::{Chosen, Workplace};
use crate::exit::Failure;
use crate::models;
use crate::prices;
use crate::setup::Setup;

/// `/model` alone: the model that answers, and those that haft.toml names.
pub(super) fn tell(setup: &Setup, name: &str) {
    setup.output.note(&format!("model {name}; /model NAME takes another one for what comes next"));
    let entries: Vec<&str> = setup.loaded.config.models.keys().map(String::as_str).collect();
    if !entries.is_empty() {
        setup.output.note(&format!("entries of haft.toml: {}", entries.join(", ")));
    }
}

/// `/model NAME`: that model; none where it cannot be had, which is told.
pub(super) fn switch(
    workplace: &Workplace,
    chosen: &Chosen,
    name: &str,
) -> Result<Option<Arc<dyn Model>>, Failure> {
    let (setup, profile) = (&workplace.setup, &chosen.profile);
    let built = models::build(name, setup, profile, workplace.store.clone())
        .and_then(|model| prices::of(name, setup, profile).map(|_| model));
    match built {
        Ok(model) => {
            setup.output.note(&format!("model {name}"));
            Ok(Some(model))
        }
        Err(Failure::Message { text, hint, .. }) => {
            setup.output.note(&text);
            if let Some(hint) = hint {
                setup.output.note(&format!("  {hint}"));
            }
            Ok(None)
        }
        Err(Failure::ClosedPipe) => Err(Failure::ClosedPipe),
    }
}

/// No model is named: offers the demo and what is found on this machine.
pub(super) async fn offer(setup: &Setup, interactive: bool) -> Result<String, Failure> {
    let found = haft_models::local_models(&haft_models::LOCAL_PORTS).await;
    let output = setup.output;
    output.note("No model is named.");
    if !interactive {
        for model in &found {
            output.note(&format!("Found on this machine: {model}"));
        }
        output.note("Using demo, which is no language model. Name another one with `--model`.");
        return Ok("demo".to_owned());
    }
    output.note("  1  demo, which is no language model and shows how calls work");
    for (number, model) in (2..).zip(&found) {
        output.note(&format!("  {number}  {model}"));
    }
    if found.is_empty() {
        output.note(
            "No model server was found on this machine. `--model` or `default_model` in haft.toml names one.",
        );
    }
    output.note_raw("Which one? [1] ");
    let mut line = String::new();
    let length = tokio::task::block_in_place(|| io::stdin().lock().read_line(&mut line))
        .map_err(|error| Failure::failed(format!("cannot read the terminal: {error}")))?;
    if length == 0 {
        return Err(Failure::cancelled());
    }
    match line.trim() {
        "" | "1" => Ok("demo".to_owned()),
        text => text
            .parse::<usize>()
            .ok()
            .and_then(|number| found.get(number.checked_sub(2)?).cloned())
            .ok_or_else(|| Failure::usage(format!("`{text}` is none of the numbers"))),
    }
}
