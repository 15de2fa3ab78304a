//! `haft project`: the folders that file tools may work in.

use std::path::Path;

use haft_core::ProjectId;
use haft_core::nearest::nearest;
use haft_core::ports::{Clock, ProjectRow, ProjectRows};

use crate::args::ProjectCommand;
use crate::compose::Workplace;
use crate::exit::{Exit, Failure};
use crate::setup::Setup;
use crate::surroundings;

/// Runs the command.
pub(crate) async fn run(setup: Setup, command: Option<ProjectCommand>) -> Result<Exit, Failure> {
    let workplace = Workplace::open(setup, "haft project").await?;
    match command.unwrap_or(ProjectCommand::List) {
        ProjectCommand::List => list(&workplace).await?,
        ProjectCommand::Add { path, id } => add(&workplace, &path, id).await?,
        ProjectCommand::Remove { id } => remove(&workplace, &id).await?,
    }
    Ok(Exit::Done)
}

async fn list(workplace: &Workplace) -> Result<(), Failure> {
    let output = workplace.setup.output;
    let rows = workplace.store.projects().await?;
    if workplace.setup.globals.json {
        return output.json(&rows);
    }
    for row in &rows {
        output.foreign_line(&format!("{}  {}", row.id, row.path))?;
    }
    if rows.is_empty() {
        output.note("there is no project yet; `haft project add FOLDER` makes one");
    }
    Ok(())
}

async fn add(workplace: &Workplace, path: &Path, id: Option<String>) -> Result<(), Failure> {
    let folder = surroundings::folder(path)?;
    let id = match id {
        Some(id) => id,
        None => folder.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned(),
    };
    let good = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    if id.is_empty() || id.chars().count() > 64 || !id.chars().all(good) {
        return Err(Failure::usage(format!(
            "`{id}` is no project id: use 1 to 64 letters, digits, `_`, `-` or `.`"
        ))
        .hint("Name one with `--id`."));
    }
    let Some(text) = folder.to_str() else {
        return Err(Failure::usage(format!("the path `{}` is no UTF-8 text", folder.display())));
    };
    let id = ProjectId::new(id);
    if let Some(old) = workplace.store.project(&id).await?
        && old.path != text
    {
        return Err(Failure::usage(format!(
            "the project `{id}` is there already, with the folder {}",
            old.path
        ))
        .hint("Choose another id with `--id`, or remove the old one first."));
    }
    let row = ProjectRow { id, path: text.to_owned(), added: workplace.clock.now() };
    workplace.store.put_project(&row).await?;
    if workplace.setup.globals.json {
        return workplace.setup.output.json(&row);
    }
    workplace.setup.output.foreign_line(&format!("{}  {}", row.id, row.path))
}

async fn remove(workplace: &Workplace, id: &str) -> Result<(), Failure> {
    if workplace.store.remove_project(&ProjectId::from(id)).await? {
        workplace.setup.output.note(&format!("the project `{id}` is forgotten; its folder was not touched"));
        return Ok(());
    }
    let rows = workplace.store.projects().await?;
    let near = nearest(id, rows.iter().map(|row| row.id.as_str()), 5);
    let failure = Failure::usage(format!("there is no project `{id}`"));
    Err(if near.is_empty() {
        failure.hint("`haft project list` shows those that there are.")
    } else {
        failure.hint(format!("Did you mean {}?", near.join(", ")))
    })
}
