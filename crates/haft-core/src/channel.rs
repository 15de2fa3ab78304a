//! Who may do what through a chat channel, where everybody can write and nobody can be shown a question (APR-21).
//!
//! Pure: a channel keeps one guard and holds every call against it before the call takes the path.

use crate::error::ToolError;
use crate::facts::ToolFacts;

/// The guard of one channel.
///
/// ```
/// use haft_core::channel::ChannelGuard;
/// use haft_core::{Effect, ToolFacts};
/// let mut guard = ChannelGuard::default();
/// let writes = ToolFacts::new(Effect::Write);
/// assert!(guard.admit("ou_anna", "file_write", &writes).is_ok());
/// guard.claim("ou_anna")?;
/// let refused = guard.admit("ou_ben", "file_write", &writes).unwrap_err();
/// assert_eq!(refused.message(), "`file_write` was refused: it changes something, and only the owner of this channel may ask for that.");
/// assert!(guard.admit("ou_ben", "file_read", &ToolFacts::new(Effect::Read)).is_ok());
/// assert!(guard.admit("ou_anna", "file_write", &writes).is_ok());
/// # Ok::<(), haft_core::channel::AlreadyClaimed>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChannelGuard {
    owner: Option<String>,
}

/// Somebody else owns the channel.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the channel has an owner already; the owner alone can give it away")]
pub struct AlreadyClaimed;

impl ChannelGuard {
    /// A guard whose owner is known from before.
    pub fn owned_by(person: impl Into<String>) -> Self {
        Self { owner: Some(person.into()) }
    }

    /// Who owns the channel.
    pub fn owner(&self) -> Option<&str> {
        self.owner.as_deref()
    }

    /// Makes `person` the owner, by the id that the channel's own service vouches for.
    ///
    /// # Errors
    /// [`AlreadyClaimed`] if somebody else owns it.
    pub fn claim(&mut self, person: &str) -> Result<(), AlreadyClaimed> {
        match &self.owner {
            Some(owner) if owner != person => Err(AlreadyClaimed),
            Some(_) => Ok(()),
            None => {
                self.owner = Some(person.to_owned());
                Ok(())
            }
        }
    }

    /// Gives the channel up, if `person` owns it; true if it has no owner now.
    pub fn release(&mut self, person: &str) -> bool {
        if self.owner.as_deref() == Some(person) {
            self.owner = None;
        }
        self.owner.is_none()
    }

    /// Refuses a call that `person` wants, if the channel has another owner and the tool has effects: it changes something, or can carry
    /// data away. No grant, rule or question lifts that.
    ///
    /// # Errors
    /// A refusal in words for the model.
    pub fn admit(&self, person: &str, alias: &str, facts: &ToolFacts) -> Result<(), ToolError> {
        let why = match (facts.effect.writes(), facts.open_world) {
            (true, _) => "it changes something",
            (false, true) => "it can carry data off this machine",
            (false, false) => return Ok(()),
        };
        match &self.owner {
            Some(owner) if owner != person => Err(ToolError::denied(format!(
                "`{alias}` was refused: {why}, and only the owner of this channel may ask for that."
            ))),
            Some(_) | None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorCode;
    use crate::facts::Effect;

    // APR-21
    #[test]
    fn once_an_owner_is_claimed_others_get_no_effects() {
        let mut guard = ChannelGuard::default();
        let tools = [
            (ToolFacts::new(Effect::Read), true),
            (ToolFacts::new(Effect::Control), true),
            (ToolFacts::new(Effect::Write), false),
            (ToolFacts::new(Effect::WriteControl), false),
            (ToolFacts { open_world: true, ..ToolFacts::new(Effect::Read) }, false),
        ];
        assert!(tools.iter().all(|(facts, _)| guard.admit("b", "x", facts).is_ok()));
        guard.claim("a").unwrap();
        guard.claim("a").unwrap();
        assert_eq!(guard.claim("b"), Err(AlreadyClaimed));
        for (facts, free) in &tools {
            assert!(guard.admit("a", "x", facts).is_ok());
            let other = guard.admit("b", "x", facts);
            assert_eq!(other.is_ok(), *free, "{facts:?}");
            assert!(other.err().is_none_or(|error| *error.code() == ErrorCode::TOOL_DENIED));
            // Nobody is the owner under an empty or a look-alike name.
            assert_eq!(guard.admit("", "x", facts).is_ok(), *free);
            assert_eq!(guard.admit("а", "x", facts).is_ok(), *free);
        }
        assert!(!guard.release("b") && guard.owner() == Some("a"));
        assert!(guard.release("a") && guard.claim("b").is_ok());
        assert_eq!(ChannelGuard::owned_by("b"), guard);
    }
}
