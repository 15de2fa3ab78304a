//! `haft artifacts`: the artifacts of a session, the newest one's where none is named.

use std::collections::BTreeMap;

use haft_core::ArtifactVersion;
use haft_core::ports::ArtifactRows;
use serde_json::{Value, json};

use crate::args::ArtifactsCommand;
use crate::compose::Workplace;
use crate::exit::{Exit, Failure};
use crate::setup::Setup;

/// Runs the command.
pub(crate) async fn run(setup: Setup, command: Option<ArtifactsCommand>) -> Result<Exit, Failure> {
    let workplace = Workplace::open(setup, "haft artifacts").await?;
    let name = workplace.setup.globals.session.clone().unwrap_or_else(|| "last".to_owned());
    let session = workplace.stored_session(&name).await?;
    let versions = workplace.store.artifacts(&session.id).await?;
    match command.unwrap_or(ArtifactsCommand::List) {
        ArtifactsCommand::List => list(&workplace, &versions, session.id.as_str())?,
        ArtifactsCommand::Get { id, version } => {
            let found = versions
                .iter()
                .rfind(|one| one.id == id && version.is_none_or(|wanted| wanted == one.version));
            let Some(found) = found else {
                return Err(missing(&versions, &id, version, session.id.as_str()));
            };
            if workplace.setup.globals.json {
                workplace.setup.output.json(&found.snapshot())?;
            } else {
                workplace.setup.output.foreign_exact(&found.content)?;
            }
        }
    }
    Ok(Exit::Done)
}

fn list(workplace: &Workplace, versions: &[ArtifactVersion], session: &str) -> Result<(), Failure> {
    let output = workplace.setup.output;
    let newest: BTreeMap<&str, &ArtifactVersion> =
        versions.iter().map(|one| (one.id.as_str(), one)).collect();
    if workplace.setup.globals.json {
        let rows: Vec<Value> = newest
            .values()
            .map(|one| {
                json!({
                    "id": one.id, "version": one.version, "content_type": one.content_type, "title": one.title,
                    "source": one.source, "characters": one.content.chars().count(),
                })
            })
            .collect();
        return output.json(&rows);
    }
    for one in newest.values() {
        output.foreign_line(&format!(
            "{}  version {}  {}  {}",
            one.id, one.version, one.content_type, one.title
        ))?;
    }
    if newest.is_empty() {
        output.note(&format!("session {session} holds no artifacts"));
    }
    Ok(())
}

fn missing(versions: &[ArtifactVersion], id: &str, version: Option<u32>, session: &str) -> Failure {
    if let Some(newest) = versions.iter().rfind(|one| one.id == id)
        && let Some(version) = version
    {
        return Failure::usage(format!("the artifact `{id}` has no version {version}"))
            .hint(format!("The newest is version {}.", newest.version));
    }
    let near = haft_core::nearest::nearest(id, versions.iter().map(|one| one.id.as_str()), 5);
    let failure = Failure::usage(format!("session {session} holds no artifact `{id}`"));
    if near.is_empty() {
        failure.hint("`haft artifacts list --session ID` lists those of a session.")
    } else {
        failure.hint(format!("Did you mean {}?", near.join(", ")))
    }
}
