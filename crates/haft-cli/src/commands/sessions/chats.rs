//! Chats of other programs: brought along as a session, and given out again as a file (CHT-01, CHT-02).

use std::path::Path;

use haft_core::ProjectId;
use haft_core::chat::{ChatFileError, read_chat_file};
use haft_engine::chat_file;
use serde_json::json;

use crate::compose::Workplace;
use crate::exit::Failure;
use crate::output::counted;
use crate::surroundings;

/// Makes a session of the file; the id goes to stdout.
pub(super) async fn import(workplace: &Workplace, file: &Path) -> Result<(), Failure> {
    let setup = &workplace.setup;
    if setup.globals.session.is_some() {
        return Err(Failure::usage("a chat becomes a session of its own")
            .hint("Leave `--session` out; `haft chat --session ID` goes on in it afterwards."));
    }
    let place = file.display();
    let text = surroundings::text(file).map_err(|reason| {
        Failure::usage(format!("`{place}` cannot be read: {reason}"))
            .hint("Name a chat in JSON Lines of at most 16 MB; nothing was imported.")
    })?;
    let chat = read_chat_file(&text)
        .map_err(|error| Failure::usage(format!("{place}: {error}")).hint(next_step(&error)))?;
    let (profile, loaded) = setup.profile(None)?;
    setup.compile(&loaded)?;
    let source =
        file.file_name().map_or_else(|| place.to_string(), |name| name.to_string_lossy().into_owned());
    let project = setup.globals.project.as_deref().map(ProjectId::from);
    let (session, run) = workplace.engine.import_chat(&chat, &source, &profile.text(), project).await?;
    let messages = chat.messages.len();
    if setup.globals.json {
        return setup.output.json(&json!({
            "session": session, "run": run, "messages": messages, "is_group": chat.is_group,
            "user": chat.user, "character": chat.character,
        }));
    }
    setup.output.line(session.as_str())?;
    setup.output.note(&format!(
        "imported {} of {source}; `haft chat --session {session}` goes on",
        counted(messages, "message")
    ));
    Ok(())
}

fn next_step(error: &ChatFileError) -> &'static str {
    match error {
        ChatFileError::Empty | ChatFileError::NoHeader => {
            "Begin the file with a line such as {\"user_name\": \"Ada\", \"character_name\": \"Keeper\"}; nothing was imported."
        }
        ChatFileError::TooLarge => "Split it into several chats; nothing was imported.",
        ChatFileError::Line { .. } => "Mend that line, or take it out; nothing was imported.",
    }
}

/// Prints the conversation of a session as a file that `import` reads.
pub(super) async fn export(workplace: &Workplace, id: &str) -> Result<(), Failure> {
    let row = workplace.stored_session(id).await?;
    let chat = chat_file(workplace.store.as_ref(), &row.id).await?;
    workplace.setup.output.foreign(&chat.to_jsonl())
}
