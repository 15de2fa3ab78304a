//! `haft config`: show what holds and where it comes from; check what the file names.

use crate::args::ConfigCommand;
use crate::config;
use crate::exit::{Exit, Failure};
use crate::models;
use crate::setup::Setup;
use crate::surroundings;

/// Runs the command.
pub(crate) fn run(setup: &Setup, command: Option<ConfigCommand>) -> Result<Exit, Failure> {
    match command.unwrap_or(ConfigCommand::Show { origin: false }) {
        ConfigCommand::Show { origin } => show(setup, origin),
        ConfigCommand::Check => check(setup),
    }
}

fn show(setup: &Setup, origin: bool) -> Result<Exit, Failure> {
    let settings = config::settings(&setup.home, &setup.loaded);
    if setup.globals.json {
        setup.output.json(&settings)?;
        return Ok(Exit::Done);
    }
    for setting in settings {
        let value = match &setting.value {
            serde_json::Value::Null => "(not set)".to_owned(),
            value => value.to_string(),
        };
        let line = format!("{} = {value}", setting.key);
        let line = if origin { format!("{line:48} # {}", setting.origin) } else { line };
        setup.output.foreign_line(&line)?;
    }
    Ok(Exit::Done)
}

/// The file was read by the time we are here; what it names is looked at now, all of it.
fn check(setup: &Setup) -> Result<Exit, Failure> {
    let config = &setup.loaded.config;
    let file = setup.home.configuration().display().to_string();
    let mut faults = Vec::new();
    faults.extend(setup.profile(None).and_then(|(_, loaded)| setup.compile(&loaded)).err());
    if let Some(model) = &config.default_model {
        let fault = models::check_name(model, config).err();
        faults.extend(fault.map(|failure| failure.at(format!("{file}: `default_model`"))));
    }
    for (name, entry) in &config.models {
        let fault = models::check_entry(name, entry).err();
        faults.extend(fault.map(|failure| failure.at(format!("{file}: `models.{name}`"))));
    }
    if faults.len() > 1 {
        let texts: Vec<String> = faults.into_iter().map(Failure::text).collect();
        return Err(Failure::usage(texts.join("\n")));
    }
    if let Some(fault) = faults.pop() {
        return Err(fault);
    }
    for (name, entry) in &config.models {
        if let Some(variable) = &entry.key_env
            && surroundings::variable(variable).is_none()
        {
            setup
                .output
                .warn(&format!("`models.{name}.key_env`: the environment variable {variable} is not set"));
        }
    }
    if setup.loaded.tree.is_some() {
        setup.output.line(&format!("{file}: good"))?;
    } else {
        setup.output.line(&format!("{file}: there is no such file, so the defaults hold"))?;
    }
    Ok(Exit::Done)
}
