//! World info: books of entries that become active when a conversation speaks of them (WLD-01, WLD-02).
//!
//! Reading a book and scanning messages are pure. What a scan activates is frozen into a [`WorldInfoActivation`] before the run
//! begins; nothing that the run does changes it.

mod place;
mod read;
mod scan;
mod source;

pub use read::{LorebookError, read_lorebook};
pub use scan::activate;
pub use source::{BookError, Lorebooks};

use serde::{Deserialize, Serialize};

/// A book.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lorebook {
    /// Its name.
    pub name: String,
    /// How many of the newest messages are looked at, unless an entry says otherwise; none is the scan's own default.
    pub scan_depth: Option<usize>,
    /// Its entries.
    pub entries: Vec<LoreEntry>,
}

/// How secondary keys decide when a primary key was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyLogic {
    /// One of them must be there as well.
    AndAny,
    /// Not all of them may be there.
    NotAll,
    /// None of them may be there.
    NotAny,
    /// All of them must be there as well.
    AndAll,
}

/// Where in a prompt an entry belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LorePosition {
    /// Before the character's description.
    BeforeCharacter,
    /// After the character's description.
    AfterCharacter,
    /// At the top of the author's note.
    NoteTop,
    /// At the bottom of the author's note.
    NoteBottom,
    /// Among the messages, so many from the end as [`LoreEntry::depth`] says.
    AtDepth,
    /// Before the examples.
    BeforeExamples,
    /// After the examples.
    AfterExamples,
}

impl LorePosition {
    /// In words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BeforeCharacter => "before the character",
            Self::AfterCharacter => "after the character",
            Self::NoteTop => "top of the author's note",
            Self::NoteBottom => "bottom of the author's note",
            Self::AtDepth => "among the messages",
            Self::BeforeExamples => "before the examples",
            Self::AfterExamples => "after the examples",
        }
    }
}

/// An entry of a book.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoreEntry {
    /// Its number in the book.
    pub uid: u64,
    /// Its name for people; may be empty.
    pub name: String,
    /// One of these must be found.
    pub keys: Vec<String>,
    /// These decide as well, if there are any.
    pub secondary: Vec<String>,
    /// How they decide.
    pub logic: KeyLogic,
    /// Always active.
    pub constant: bool,
    /// Never active.
    pub disabled: bool,
    /// Capitals matter.
    pub case_sensitive: bool,
    /// A key counts as a whole word alone.
    pub whole_words: bool,
    /// How many of the newest messages are looked at.
    pub scan_depth: Option<usize>,
    /// Later entries stand nearer to the end of their position.
    pub order: i64,
    /// Where it belongs.
    pub position: LorePosition,
    /// How many messages from the end, at [`LorePosition::AtDepth`].
    pub depth: u32,
    /// The text.
    pub content: String,
}

/// An entry that is active in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ActivatedEntry {
    /// The name by which tools ask for it: `w1`, `w2` …
    #[serde(rename = "ref")]
    pub reference: String,
    /// Its number in its book.
    pub uid: u64,
    /// Its name, else its first key.
    pub name: String,
    /// Its book.
    pub book: String,
    /// Where it belongs.
    pub position: LorePosition,
    /// How many messages from the end.
    pub depth: u32,
    /// Its place among those of its position.
    pub order: i64,
    /// The text.
    pub content: String,
}

/// What is active in a run: `promptSnapshot.worldInfoActivation`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorldInfoActivation {
    /// When it was found out, in milliseconds since 1970.
    pub timestamp_ms: u64,
    /// The entries: by position, then by order.
    pub entries: Vec<ActivatedEntry>,
}
