//! `haft sessions`: list, show, bring along, give out and delete conversations.

mod chats;
mod shown;

use haft_core::message::Message;
use haft_core::ports::{Clock, SessionRow, SessionRows};
use haft_engine::{conversation, opening_of, results_of};
use serde::Serialize;

use crate::args::SessionsCommand;
use crate::compose::Workplace;
use crate::exit::{Exit, Failure};
use crate::setup::Setup;
use shown::{as_json, as_text};

/// Characters of what a conversation begins with, in a list.
const OPENING_CHARS: usize = 60;

/// A session in the list.
#[derive(Serialize)]
struct Listed {
    #[serde(flatten)]
    row: SessionRow,
    /// What its conversation begins with.
    opening: Option<String>,
}

/// Runs the command.
pub(crate) async fn run(setup: Setup, command: Option<SessionsCommand>) -> Result<Exit, Failure> {
    let workplace = Workplace::open(setup, "haft sessions").await?;
    match command.unwrap_or(SessionsCommand::List) {
        SessionsCommand::List => list(&workplace).await?,
        SessionsCommand::Show { id } => show(&workplace, &id).await?,
        SessionsCommand::Import { file } => chats::import(&workplace, &file).await?,
        SessionsCommand::Export { id } => chats::export(&workplace, &id).await?,
        SessionsCommand::Delete { id } => delete(&workplace, &id).await?,
    }
    Ok(Exit::Done)
}

async fn list(workplace: &Workplace) -> Result<(), Failure> {
    let output = workplace.setup.output;
    let mut rows = Vec::new();
    for row in workplace.store.sessions().await?.into_iter().filter(|row| !row.deleted) {
        let opening = opening_of(workplace.store.as_ref(), &row.id).await?;
        rows.push(Listed { row, opening: opening.map(|text| first_words(&text)) });
    }
    if workplace.setup.globals.json {
        return output.json(&rows);
    }
    for Listed { row, opening } in &rows {
        let project = row.project.as_ref().map_or(String::new(), |project| format!("  project {project}"));
        let opening = opening.as_ref().map_or(String::new(), |opening| format!("  {opening}"));
        output.foreign_line(&format!(
            "{}  {}  profile {}{project}{opening}",
            row.id, row.updated, row.profile
        ))?;
    }
    if rows.is_empty() {
        output.note("there is no session yet; `haft chat` starts one");
    }
    Ok(())
}

/// The beginning of `text`, on one line.
fn first_words(text: &str) -> String {
    let mut words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = words.char_indices().nth(OPENING_CHARS) {
        words.truncate(end);
        words.truncate(words.trim_end().len());
        words.push('…');
    }
    words
}

async fn show(workplace: &Workplace, id: &str) -> Result<(), Failure> {
    let output = workplace.setup.output;
    let row = workplace.stored_session(id).await?;
    let messages = conversation(workplace.store.as_ref(), &row.id).await?;
    if workplace.setup.globals.json {
        let results = results_of(workplace.store.as_ref(), &row.id).await?;
        return output.json(&messages.iter().map(|message| as_json(message, &results)).collect::<Vec<_>>());
    }
    for (number, message) in messages.iter().enumerate() {
        if number > 0 && matches!(message, Message::User(_)) {
            output.line("")?;
        }
        output.foreign_line(&as_text(message))?;
    }
    if messages.is_empty() {
        let id = &row.id;
        output.note(&format!(
            "session {id} holds no messages; `haft audit runs` lists the calls that were made alone"
        ));
    }
    Ok(())
}

async fn delete(workplace: &Workplace, id: &str) -> Result<(), Failure> {
    let row = workplace.stored_session(id).await?;
    let now = workplace.clock.now();
    let owner = format!("process {} (haft sessions delete)", std::process::id());
    let lease = workplace.store.lease(&row.id, &owner, now).await?;
    let deleted = workplace.store.delete_session(&lease, now).await;
    workplace.store.release(&lease).await?;
    deleted?;
    let id = &row.id;
    workplace.setup.output.note(&format!(
        "session {id} is deleted: its texts, files and artifacts are gone; its chain is kept and still verifies"
    ));
    Ok(())
}
