//! Records of what a run was given beside its prompt: a chat that was brought along, and the world info that is active
//! (CHT-01, WLD-02). The texts stand in create-only files under `input/`.

use serde::{Deserialize, Serialize};

use super::payload::FileRef;
use crate::ids::InvocationId;

/// A chat of another program is the beginning of the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatImported {
    /// The character's name, as the header has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub character: Option<String>,
    /// Its messages, one [`ChatMessage`](crate::chat::ChatMessage) a line.
    pub file: FileRef,
    /// More than one character speaks.
    pub is_group: bool,
    /// How many messages there are.
    pub messages: u64,
    /// What it was read from: the name of a file, without its folder.
    pub source: String,
    /// The person's name, as the header has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
}

/// The world info of the run is found out and stays as it is until the run ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorldInfoActivated {
    /// How many entries are active.
    pub entries: u64,
    /// The entries: a [`WorldInfoActivation`](crate::lorebook::WorldInfoActivation).
    pub file: FileRef,
    /// The invocation in whose context they stand.
    pub invocation: InvocationId,
}
