//! A chat that was brought along from another program, read back from the run that holds it (CHT-01 to CHT-03).
//!
//! People and tools see its messages as they were, with names and roles; a model sees them as messages of its own form.

use std::fmt::Write;

use haft_core::RunId;
use haft_core::chat::{ChatFile, ChatMessage, ChatRole};
use haft_core::journal::{Payload, SealedRecord};
use haft_core::message::Message;
use haft_core::ports::Store;

use crate::committed::text_of;
use crate::error::EngineError;
use crate::taken::Taken;

/// The chat that a run brought along; none for all other runs.
pub(crate) async fn chat(
    store: &dyn Store,
    run: &RunId,
    records: &[SealedRecord],
) -> Result<Option<ChatFile>, EngineError> {
    let Some(record) = records.iter().find(|record| record.kind == "chat_imported") else { return Ok(None) };
    let gone = || {
        let text = Taken::of(records).text("This chat", record);
        ChatFile::new(None, None, vec![ChatMessage { role: ChatRole::System, name: None, text }])
    };
    let Some(bytes) = record.payload.as_deref() else { return Ok(Some(gone())) };
    let Payload::ChatImported(body) = Payload::read(&record.kind, bytes)? else { return Ok(None) };
    let Some(lines) = text_of(store, run, &body.file.path, &body.file.sha256).await? else {
        return Ok(Some(gone()));
    };
    let messages = read_lines(&lines).map_err(|error| EngineError::System {
        code: "agent.journal_damaged".to_owned(),
        message: format!("`{}` of run {run} is no chat: {error}", body.file.path),
    })?;
    Ok(Some(ChatFile::new(body.user, body.character, messages)))
}

/// The messages as they are stored: one a line.
pub(crate) fn to_lines(messages: &[ChatMessage]) -> Result<String, serde_json::Error> {
    let mut lines = String::new();
    for message in messages {
        lines.push_str(&serde_json::to_string(message)?);
        lines.push('\n');
    }
    Ok(lines)
}

fn read_lines(lines: &str) -> Result<Vec<ChatMessage>, serde_json::Error> {
    lines.split_terminator('\n').map(serde_json::from_str).collect()
}

/// The messages as a model reads them. Where several speak in one role their names stand before what they say; what a narrator
/// says is marked; a conversation that a character opens has a word of the host before it, since most models want a person to
/// begin. Empty messages say nothing.
pub(crate) fn as_model_reads(chat: &ChatFile) -> Vec<Message> {
    let named = chat.is_group || has_several_people(&chat.messages);
    let spoken = chat.messages.iter().filter(|message| !message.text.trim().is_empty());
    let mut messages: Vec<Message> = spoken.map(|message| as_message(message, named)).collect();
    if matches!(messages.first(), Some(Message::Assistant { .. })) {
        messages.insert(0, Message::User("[The conversation begins.]".to_owned()));
    }
    messages
}

fn has_several_people(messages: &[ChatMessage]) -> bool {
    let of_people = messages.iter().filter(|message| message.role == ChatRole::User);
    let mut names = of_people.filter_map(|message| message.name.as_deref());
    let first = names.next();
    names.any(|name| Some(name) != first)
}

fn as_message(message: &ChatMessage, named: bool) -> Message {
    let mut text = String::new();
    if message.role == ChatRole::System {
        text.push_str("[system] ");
    }
    if let Some(name) = message.name.as_deref().filter(|_| named) {
        // Writing to a String cannot fail.
        let _written = write!(text, "{name}: ");
    }
    text.push_str(&message.text);
    match message.role {
        ChatRole::User | ChatRole::System => Message::User(text),
        ChatRole::Assistant => Message::Assistant {
            text,
            raw: None,
            calls: Vec::new(),
            call_ids: Vec::new(),
            provider_metadata: None,
        },
    }
}
