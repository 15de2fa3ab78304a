//! The conversation of a session as its people see it: what they wrote and what they were answered, without calls and results.

use std::sync::Arc;

use haft_core::chat::{ChatFile, ChatHistory, ChatMessage, ChatRole};
use haft_core::message::Message;
use haft_core::ports::Store;
use haft_core::render::Renderer;
use haft_core::{BoxFuture, ErrorCode, SessionId, ToolError};

use crate::error::EngineError;
use crate::history;
use crate::imported;
use crate::session::SessionInner;

/// The conversation in the journal of one session, as far as it is stored.
pub(crate) struct StoredChat(pub(crate) Arc<SessionInner>);

impl ChatHistory for StoredChat {
    fn messages(&self) -> BoxFuture<'_, Result<Arc<[ChatMessage]>, ToolError>> {
        Box::pin(async move {
            self.read().await.map_err(|error| {
                let code = ErrorCode::new("agent.journal_unreadable");
                ToolError::new(
                    code,
                    "This conversation cannot be looked up now. Work with what stands before you.",
                )
                .with_detail(error.to_string())
            })
        })
    }
}

impl StoredChat {
    pub(crate) async fn read(&self) -> Result<Arc<[ChatMessage]>, EngineError> {
        Ok(chat_file(self.0.store(), &self.0.lease.session).await?.messages.into())
    }
}

/// The conversation of a session as its people see it, with the names of a chat that it began with.
///
/// # Errors
/// The journal cannot be read.
pub async fn chat_file(store: &dyn Store, session: &SessionId) -> Result<ChatFile, EngineError> {
    let (mut user, mut character, mut messages) = (None, None, Vec::new());
    for run in store.runs(Some(session)).await? {
        let records = store.records(&run.id).await?;
        if let Some(chat) = imported::chat(store, &run.id, &records).await? {
            (user, character) = (user.or(chat.user), character.or(chat.character));
            messages.extend(chat.messages);
        } else {
            let stored = history::messages_of(store, &run.id, &records, Renderer::Plain).await?;
            messages.extend(stored.into_iter().filter_map(spoken));
        }
    }
    Ok(ChatFile::new(user, character, messages))
}

/// A message that people see; none for results, and for answers that only call.
fn spoken(message: Message) -> Option<ChatMessage> {
    let (role, text) = match message {
        Message::User(text) => (ChatRole::User, text),
        Message::Assistant { text, .. } if !text.trim().is_empty() => (ChatRole::Assistant, text),
        Message::Assistant { .. } | Message::Results(_) => return None,
    };
    Some(ChatMessage { role, name: None, text })
}
