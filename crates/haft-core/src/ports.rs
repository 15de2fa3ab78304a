//! The ports: what the path needs from the rest of the world, as small traits.
//!
//! Nothing here is implemented in this crate but the smallest things that tests and pure code share.

mod model;
mod store;
mod tool;

use std::fmt;
use std::future::Future;
use std::pin::Pin;

pub use model::{FinishReason, Model, ModelError, ModelRequest, ModelTraits, ModelTurn, TurnSink, Usage};
use serde::{Deserialize, Serialize};
pub use store::{
    ArtifactRows, AuditFile, BlobRows, GrantRows, JournalRows, Lease, NewSession, ProjectRow, ProjectRows,
    RedactionError, RunRow, SessionRow, SessionRows, Store, StoreError,
};
pub use tool::{Tool, ToolContext, Touches};

/// A boxed future: what an asynchronous port returns.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Milliseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// Milliseconds from `earlier` to `self`; 0 if the clock went back.
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Reads a time as it is shown, such as `2026-12-31T18:00:00Z`; a date alone is its beginning in UTC.
    pub fn parse(text: &str) -> Option<Self> {
        let whole =
            if text.len() == "2026-12-31".len() { format!("{text}T00:00:00Z") } else { text.to_owned() };
        let time = humantime::parse_rfc3339_weak(&whole).ok()?;
        let since = time.duration_since(std::time::UNIX_EPOCH).ok()?;
        u64::try_from(since.as_millis()).ok().map(Self)
    }

    /// The time `milliseconds` later.
    #[must_use]
    pub fn plus(self, milliseconds: u64) -> Self {
        Self(self.0.saturating_add(milliseconds))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_millis(self.0.min(253_402_300_799_999));
        write!(f, "{}", humantime::format_rfc3339_millis(time))
    }
}

/// The clock.
pub trait Clock: Send + Sync {
    /// The time now.
    fn now(&self) -> Timestamp;
}

/// The source of fresh ids.
pub trait Ids: Send + Sync {
    /// Eighty bits that were never given out before, as 16 lower-case characters of Crockford's base 32.
    fn fresh(&self) -> String;
}

/// Whether the work was called off.
pub trait Cancel: Send + Sync {
    /// True once the work was called off; it never becomes false again.
    fn is_cancelled(&self) -> bool;

    /// Ends when the work is called off.
    fn cancelled(&self) -> BoxFuture<'_, ()>;
}

/// A [`Cancel`] that never fires.
#[derive(Debug, Clone, Copy, Default)]
pub struct NeverCancelled;

impl Cancel for NeverCancelled {
    fn is_cancelled(&self) -> bool {
        false
    }

    fn cancelled(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shown_in_utc() {
        assert_eq!(Timestamp(0).to_string(), "1970-01-01T00:00:00.000Z");
        assert_eq!(Timestamp(u64::MAX).to_string(), "9999-12-31T23:59:59.999Z");
        assert_eq!(Timestamp::parse("1970-01-02"), Some(Timestamp(86_400_000)));
        assert_eq!(Timestamp::parse("1970-01-01T00:00:01.500Z"), Some(Timestamp(1_500)));
        assert_eq!(Timestamp::parse("tomorrow"), None);
    }
}
