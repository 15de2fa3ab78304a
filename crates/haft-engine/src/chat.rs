//! The conversation of a session as its people see it: what they wrote and what they were answered, without calls and results.

use std::sync::Arc;

use haft_core::chat::{ChatHistory, ChatMessage, ChatRole};
use haft_core::message::Message;
use haft_core::render::Renderer;
use haft_core::{BoxFuture, ErrorCode, ToolError};

use crate::error::EngineError;
use crate::history;
use crate::session::SessionInner;

/// The conversation in the journal of one session, as far as it is stored.
pub(crate) struct StoredChat(pub(crate) Arc<SessionInner>);

impl ChatHistory for StoredChat {
    fn messages(&self) -> BoxFuture<'_, Result<Arc<[ChatMessage]>, ToolError>> {
        Box::pin(async move {
            self.read().await.map_err(|error| {
                let code = ErrorCode::new("agent.journal_unreadable");
                ToolError::new(code, "This conversation cannot be looked up now. Work with what stands before you.")
                    .with_detail(error.to_string())
            })
        })
    }
}

impl StoredChat {
    async fn read(&self) -> Result<Arc<[ChatMessage]>, EngineError> {
        let stored = history::messages(self.0.store(), &self.0.lease.session, Renderer::Plain).await?;
        Ok(stored.into_iter().filter_map(spoken).collect())
    }
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
