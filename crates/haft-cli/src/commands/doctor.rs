//! `haft doctor`: what works on this machine, one line a thing, with the next step where something does not.

use haft::system::SystemClock;
use haft_core::ports::{Clock, ProjectRows, SessionRows};
use haft_store::SqliteStore;
use serde_json::json;

use crate::args::Globals;
use crate::exit::{Exit, Failure};
use crate::home::Home;
use crate::models;
use crate::output::{Output, counted};
use crate::profiles;
use crate::setup::Setup;
use crate::surroundings;

/// One thing that was looked at.
struct Finding {
    name: &'static str,
    good: bool,
    text: String,
}

/// Runs the command: exit 1 if something is broken.
pub(crate) async fn run(globals: Globals, output: Output) -> Result<Exit, Failure> {
    let json = globals.json;
    let home = Home::find(globals.home.as_deref())?;
    let mut findings =
        vec![good("home", format!("{} (by {})", home.root().display(), home.origin().as_str()))];
    match Setup::load(globals, output) {
        Ok(setup) => look_at_setup(&setup, &mut findings),
        Err(failure) => findings.push(bad("haft.toml", failure)),
    }
    findings.push(store(&home).await);
    let found = haft_models::local_models(&haft_models::LOCAL_PORTS).await;
    findings.push(if found.is_empty() {
        good(
            "model servers",
            "none found on the ports 11434, 1234, 8080 and 8000; `--model demo` works without one".to_owned(),
        )
    } else {
        good("model servers", found.join(", "))
    });
    if json {
        let rows: Vec<_> =
            findings.iter().map(|one| json!({"name": one.name, "ok": one.good, "text": one.text})).collect();
        output.json(&rows)?;
    } else {
        for one in &findings {
            let mark = if one.good { "ok " } else { "BAD" };
            let text = one.text.replace('\n', &format!("\n{:20}", ""));
            output.foreign_line(&format!("{mark}  {:13}  {text}", one.name))?;
        }
    }
    Ok(if findings.iter().all(|one| one.good) { Exit::Done } else { Exit::Failed })
}

fn look_at_setup(setup: &Setup, findings: &mut Vec<Finding>) {
    findings.push(match &setup.loaded.tree {
        Some(_) => good("haft.toml", "read".to_owned()),
        None => good("haft.toml", "not there; the defaults hold".to_owned()),
    });
    findings.push(match setup.profile(None).and_then(|(_, loaded)| Ok((setup.compile(&loaded)?, loaded))) {
        Ok((tools, loaded)) => {
            good("profile", format!("{}, {}", loaded.profile.name, counted(tools.tools().len(), "tool")))
        }
        Err(failure) => bad("profile", failure),
    });
    if let Err(error) = profiles::all_names(&setup.home) {
        findings.push(bad("profiles", error.into()));
    }
    let config = &setup.loaded.config;
    findings.push(match &config.default_model {
        None => good("default model", "none; name one with `--model`".to_owned()),
        Some(name) => match models::check_name(name, config) {
            Ok(()) => good("default model", name.clone()),
            Err(failure) => bad("default model", failure),
        },
    });
    for (name, entry) in &config.models {
        let unset = entry.key_env.as_ref().filter(|variable| surroundings::variable(variable).is_none());
        findings.push(match (models::check_entry(name, entry), unset) {
            (Err(failure), _) => bad("model entry", failure.at(name)),
            (Ok(()), Some(variable)) => Finding {
                name: "model entry",
                good: false,
                text: format!("{name}: the environment variable {variable} is not set"),
            },
            (Ok(()), None) => good("model entry", name.clone()),
        });
    }
}

async fn store(home: &Home) -> Finding {
    let looked = async {
        let store = SqliteStore::open(home.root(), SystemClock.now())?;
        let sessions = store.sessions().await?;
        let projects = store.projects().await?;
        Ok::<_, haft_core::ports::StoreError>((sessions.len(), projects.len()))
    };
    match looked.await {
        Ok((sessions, projects)) => {
            good("store", format!("{}, {}", counted(sessions, "session"), counted(projects, "project")))
        }
        Err(error) => bad("store", error.into()),
    }
}

fn good(name: &'static str, text: String) -> Finding {
    Finding { name, good: true, text }
}

fn bad(name: &'static str, failure: Failure) -> Finding {
    let text = match failure {
        Failure::Message { text, hint: Some(hint), .. } => format!("{text}. {hint}"),
        Failure::Message { text, hint: None, .. } => text,
        Failure::ClosedPipe => "stdout is closed".to_owned(),
    };
    Finding { name, good: false, text }
}
