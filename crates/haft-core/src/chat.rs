//! The messages of a conversation as its people see them, and the port through which tools reach them (CHT-01 to CHT-03).
//!
//! Also the reader of chats that other programs wrote as JSON Lines: a header, then one message a line.

mod jsonl;

pub use jsonl::{ChatFile, ChatFileError, read_chat_file};

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::ToolError;
use crate::ports::BoxFuture;

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChatRole {
    /// A person.
    User,
    /// A model, or a character that it plays.
    Assistant,
    /// The host or a narrator.
    System,
}

impl ChatRole {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::System => "system",
        }
    }
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatMessage {
    /// Who speaks.
    pub role: ChatRole,
    /// By which name; several in a group chat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What is said.
    pub text: String,
}

impl ChatMessage {
    /// `assistant, Ada`.
    pub fn speaker(&self) -> String {
        match &self.name {
            Some(name) => format!("{}, {name}", self.role.as_str()),
            None => self.role.as_str().to_owned(),
        }
    }
}

/// The conversation that a run is bound to. A tool can name no other (CHT-01).
pub trait ChatHistory: Send + Sync {
    /// All its messages, oldest first; the first one has index 0.
    ///
    /// # Errors
    /// [`ToolError`] if they cannot be read.
    fn messages(&self) -> BoxFuture<'_, Result<Arc<[ChatMessage]>, ToolError>>;
}
