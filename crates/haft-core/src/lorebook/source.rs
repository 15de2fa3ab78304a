//! The port through which a run comes to its books.

use super::{Lorebook, LorebookError};

/// Why a book cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BookError {
    /// Nobody knows it.
    #[error("there is no book `{name}` of world info; {next_step}")]
    Missing {
        /// Its name.
        name: String,
        /// What to do.
        next_step: String,
    },
    /// It is there and cannot be read.
    #[error("the book `{name}` of world info cannot be read: {reason}")]
    Unreadable {
        /// Its name.
        name: String,
        /// What is wrong.
        reason: String,
    },
    /// It is no book.
    #[error(transparent)]
    Invalid(#[from] LorebookError),
}

/// Where the books of world info come from that a profile names (WLD-02).
pub trait Lorebooks: Send + Sync {
    /// The book of that name, as it is now.
    ///
    /// # Errors
    /// [`BookError`].
    fn book(&self, name: &str) -> Result<Lorebook, BookError>;
}
