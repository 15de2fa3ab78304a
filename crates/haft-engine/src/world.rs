//! World info in a run: the books that the profile names are looked through once, when the run begins, and what is active then
//! is stored with the run and stays as it is until it ends (WLD-02).

use std::sync::Arc;

use haft_core::chat::ChatMessage;
use haft_core::exit::Role;
use haft_core::journal::{Payload, WorldInfoActivated};
use haft_core::lorebook::{Lorebook, Lorebooks, WorldInfoActivation, activate};
use haft_core::mask::{Mask, View};
use haft_core::message::Message;
use haft_core::{Profile, SessionId};
use serde_json::Map;

use crate::chat::chat_file;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::run::Driver;
use crate::session::SessionInner;

/// Where the active entries stand in the run workspace.
const ACTIVATION_FILE: &str = "input/world_info_activation.json";

/// What the conversation and `prompt` activate; none where the profile names no books.
pub(crate) async fn activate_for(
    session: &SessionInner,
    profile: &Profile,
    prompt: Option<&str>,
) -> Result<Option<Arc<WorldInfoActivation>>, EngineError> {
    let active = activate_in(&session.engine, Some(&session.lease.session), profile, prompt).await?;
    Ok(active.map(Arc::new))
}

/// What would be active in a run of `prompt` under `profile`: in that session, or in a new one. Nothing is stored; none where the
/// profile names no books (WLD-02).
///
/// # Errors
/// A book or the journal cannot be read.
pub async fn world_info(
    engine: &Engine,
    session: Option<&SessionId>,
    profile: &Profile,
    prompt: &str,
) -> Result<Option<WorldInfoActivation>, EngineError> {
    activate_in(engine, session, profile, Some(prompt)).await
}

async fn activate_in(
    engine: &Engine,
    session: Option<&SessionId>,
    profile: &Profile,
    prompt: Option<&str>,
) -> Result<Option<WorldInfoActivation>, EngineError> {
    if profile.world_info.is_empty() {
        return Ok(None);
    }
    let books = books(engine, profile)?;
    let chat = match session {
        Some(session) => chat_file(engine.store().as_ref(), session).await?.messages,
        None => Vec::new(),
    };
    let said: Vec<String> = chat.iter().map(spoken).chain(prompt.map(str::to_owned)).collect();
    let said: Vec<&str> = said.iter().map(String::as_str).collect();
    let mut active = activate(&books, &said, engine.parts.clock.now());
    mask(&mut active, &engine.mask(), View::Model);
    Ok(Some(active))
}

fn books(engine: &Engine, profile: &Profile) -> Result<Vec<Lorebook>, EngineError> {
    let unreadable = |message: String| EngineError::System {
        code: "worldinfo.book_unreadable".to_owned(),
        message: format!("the profile {}: {message}", profile.name),
    };
    let source = engine.parts.services.get::<dyn Lorebooks>();
    let source = source.ok_or_else(|| unreadable("no books of world info can be had here".to_owned()))?;
    let names = profile.world_info.iter();
    names.map(|name| source.book(name).map_err(|error| unreadable(error.to_string()))).collect()
}

/// A message as it is looked through: keys may be names too.
fn spoken(message: &ChatMessage) -> String {
    match &message.name {
        Some(name) => format!("{name}: {}", message.text),
        None => message.text.clone(),
    }
}

fn mask(active: &mut WorldInfoActivation, mask: &Mask, view: View) {
    for entry in &mut active.entries {
        for text in [&mut entry.name, &mut entry.book, &mut entry.content] {
            mask.put(text, view);
        }
    }
}

impl Driver {
    /// Notes what is active, with its file.
    pub(crate) fn note_world_info(&mut self) -> Result<(), EngineError> {
        let Some(active) = &self.shared.world_info else { return Ok(()) };
        let mut stored = active.as_ref().clone();
        mask(&mut stored, &self.writer.mask, View::Record);
        let bytes = serde_json::to_vec(&stored).map_err(|error| EngineError::System {
            code: "worldinfo.activation_unwritable".to_owned(),
            message: error.to_string(),
        })?;
        let activated = WorldInfoActivated {
            entries: stored.entries.len() as u64,
            file: self.writer.file(ACTIVATION_FILE.to_owned(), bytes),
            invocation: self.invocation.clone(),
        };
        self.writer.note(&Payload::WorldInfoActivated(activated), Map::new())
    }

    /// The prompt of the profile, with the entries that stand around it where the invocation speaks to the person.
    pub(crate) fn system_prompt(&self) -> String {
        let prompt = &self.options.profile.prompt;
        let is_child = self.task.as_ref().is_some_and(|task| task.role == Role::Child);
        match &self.shared.world_info {
            Some(active) if !is_child => active.around(prompt),
            Some(_) | None => prompt.clone(),
        }
    }

    /// Puts the entries that stand among the messages where they belong.
    pub(crate) fn add_world_info(&self, messages: &mut Vec<Message>) {
        if let Some(active) = &self.shared.world_info {
            add_world_info(active, messages);
        }
    }
}

/// Puts the entries that stand among the messages where they belong.
pub fn add_world_info(active: &WorldInfoActivation, messages: &mut Vec<Message>) {
    for (depth, text) in active.among() {
        messages.insert(from_end(messages, depth), Message::User(text));
    }
}

/// The place before the last `depth` messages; results belong to the message that called.
fn from_end(messages: &[Message], depth: u32) -> usize {
    let mut left = depth;
    messages
        .iter()
        .rposition(|message| {
            if left == 0 {
                return true;
            }
            left -= u32::from(!matches!(message, Message::Results(_)));
            false
        })
        .map_or(0, |before| before + 1)
}
