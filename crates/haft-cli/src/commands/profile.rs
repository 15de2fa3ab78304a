//! `haft profile`: list, show and check profiles.

use haft_core::consent::ConsentEnvironment;
use serde_json::json;

use crate::args::ProfileCommand;
use crate::exit::{Exit, Failure};
use crate::folders;
use crate::output::counted;
use crate::profiles::{self, LoadedProfile, ProfileName};
use crate::setup::Setup;
use crate::unattended;

/// Runs the command.
pub(crate) fn run(setup: &Setup, command: Option<ProfileCommand>) -> Result<Exit, Failure> {
    match command.unwrap_or(ProfileCommand::List) {
        ProfileCommand::List => list(setup),
        ProfileCommand::Show { name } => show(setup, name.as_deref()),
        ProfileCommand::Check { names } => check(setup, names),
    }
}

fn load(setup: &Setup, name: &str) -> Result<LoadedProfile, Failure> {
    let name = ProfileName::new(name)?;
    Ok(profiles::load(&name, &setup.home, &setup.loaded.config, &setup.registry)?)
}

/// A profile that cannot be read is listed all the same, with what is wrong.
fn list(setup: &Setup) -> Result<Exit, Failure> {
    let mut rows = Vec::new();
    for name in profiles::all_names(&setup.home)? {
        let (description, source) = match load(setup, &name) {
            Ok(loaded) => (loaded.profile.description, loaded.chain.first().cloned().unwrap_or_default()),
            Err(Failure::Message { text, .. }) => (broken(&name, &text), String::new()),
            Err(closed @ Failure::ClosedPipe) => return Err(closed),
        };
        rows.push((name, description, source));
    }
    if setup.globals.json {
        let rows: Vec<_> = rows
            .iter()
            .map(|(name, description, source)| json!({"name": name, "description": description, "source": source}))
            .collect();
        setup.output.json(&rows)?;
        return Ok(Exit::Done);
    }
    let width = rows.iter().map(|(name, ..)| name.chars().count()).max().unwrap_or(0);
    for (name, description, _) in rows {
        setup.output.foreign_line(&format!("{name:width$}  {description}"))?;
    }
    Ok(Exit::Done)
}

/// The first thing that is wrong with a profile, in one line.
fn broken(name: &str, text: &str) -> String {
    match text.split_once('\n') {
        None => format!("cannot be used: {text}"),
        Some((first, _)) => format!("cannot be used: {first} (`haft profile check {name}` tells more)"),
    }
}

fn show(setup: &Setup, name: Option<&str>) -> Result<Exit, Failure> {
    let loaded = match name {
        Some(name) => load(setup, name)?,
        None => setup.profile(None)?.1,
    };
    if setup.globals.json {
        setup.output.json(&json!({"profile": loaded.profile, "sources": loaded.chain}))?;
    } else {
        setup.output.foreign(&profiles::as_file(&loaded.profile))?;
        setup.output.note(&format!("read from {}", loaded.chain.join(", which extends ")));
    }
    Ok(Exit::Done)
}

fn check(setup: &Setup, names: Vec<String>) -> Result<Exit, Failure> {
    let names = if names.is_empty() { profiles::all_names(&setup.home)? } else { names };
    let mut rows = Vec::new();
    for name in names {
        let found = load(setup, &name).and_then(|loaded| {
            let tools = setup.compile(&loaded)?;
            let host = Some(folders::places(setup.home.root()));
            let environment = ConsentEnvironment { host, ..ConsentEnvironment::default() };
            unattended::check(&loaded, &tools, &environment)?;
            Ok(tools.tools().len())
        });
        let (ok, text) = match found {
            Ok(tools) => (true, format!("good, {}", counted(tools, "tool"))),
            Err(Failure::Message { text, .. }) => (false, text),
            Err(closed @ Failure::ClosedPipe) => return Err(closed),
        };
        rows.push((name, ok, text));
    }
    if setup.globals.json {
        let rows: Vec<_> =
            rows.iter().map(|(name, ok, text)| json!({"name": name, "ok": ok, "text": text})).collect();
        setup.output.json(&rows)?;
    } else {
        for (name, ok, text) in &rows {
            if *ok {
                setup.output.foreign_line(&format!("{name}: {text}"))?;
            } else {
                setup.output.error(text, None);
            }
        }
    }
    Ok(if rows.iter().all(|(_, ok, _)| *ok) { Exit::Done } else { Exit::Usage })
}
