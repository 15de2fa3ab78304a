//! What a profile says of skills, and the budget of reading them (SKL-01, SKL-04).
//!
//! Where skills lie and how their files are read is the tools' work.

use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

/// Which skills an agent sees, and how much of them it may read, in Unicode characters.
///
/// ```
/// use haft_core::skills::SkillPolicy;
/// let policy = SkillPolicy { deny: vec!["secret".into()], ..SkillPolicy::default() };
/// assert!(policy.shows("writing") && !policy.shows("secret"));
/// let few = SkillPolicy { visible: vec!["writing".into(), "secret".into()], ..policy };
/// assert!(few.shows("writing") && !few.shows("cooking") && !few.shows("secret"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SkillPolicy {
    /// Names of skills that are seen; `*` is all of them.
    pub visible: Vec<String>,
    /// Names of skills that are not seen, whatever `visible` says.
    pub deny: Vec<String>,
    /// Most characters of one call (`skills.maxReadCharsPerCall`).
    pub max_read_chars_per_call: u64,
    /// Most characters of all calls of an invocation (`skills.maxReadCharsPerRun`).
    pub max_read_chars_per_run: u64,
}

impl Default for SkillPolicy {
    fn default() -> Self {
        Self {
            visible: vec!["*".to_owned()],
            deny: Vec::new(),
            max_read_chars_per_call: 20_000,
            max_read_chars_per_run: 80_000,
        }
    }
}

impl SkillPolicy {
    /// True if the skill is seen: deny beats visible (SKL-01).
    pub fn shows(&self, name: &str) -> bool {
        let has = |list: &[String]| list.iter().any(|one| one == "*" || one == name);
        has(&self.visible) && !has(&self.deny)
    }

    /// True if the profile says nothing of skills.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The skills of one invocation: its policy, and what is left of its budget.
#[derive(Debug)]
pub struct SkillAccess {
    policy: SkillPolicy,
    left: Mutex<u64>,
}

impl SkillAccess {
    /// Access with a whole budget.
    pub fn new(policy: SkillPolicy) -> Self {
        let left = Mutex::new(policy.max_read_chars_per_run);
        Self { policy, left }
    }

    /// What the profile says.
    pub fn policy(&self) -> &SkillPolicy {
        &self.policy
    }

    /// Reserves as many characters as one call may read now; 0 if nothing is left. What is not used is
    /// [given back](SkillAccess::give_back).
    ///
    /// ```
    /// use haft_core::skills::{SkillAccess, SkillPolicy};
    /// let policy = SkillPolicy { max_read_chars_per_call: 6, max_read_chars_per_run: 10, ..SkillPolicy::default() };
    /// let access = SkillAccess::new(policy);
    /// assert_eq!((access.reserve(), access.reserve(), access.reserve()), (6, 4, 0));
    /// access.give_back(3);
    /// assert_eq!(access.reserve(), 3);
    /// ```
    pub fn reserve(&self) -> u64 {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = (*left).min(self.policy.max_read_chars_per_call);
        *left -= taken;
        taken
    }

    /// Gives back what was reserved and not used.
    pub fn give_back(&self, unused: u64) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        *left = left.saturating_add(unused).min(self.policy.max_read_chars_per_run);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // SKL-01
    #[test]
    fn deny_beats_visible_and_a_star_is_all() {
        let policy = |visible: &[&str], deny: &[&str]| SkillPolicy {
            visible: visible.iter().map(ToString::to_string).collect(),
            deny: deny.iter().map(ToString::to_string).collect(),
            ..SkillPolicy::default()
        };
        assert!(policy(&["*"], &[]).shows("a"));
        assert!(!policy(&["*", "a"], &["a"]).shows("a"));
        assert!(!policy(&[], &[]).shows("a"));
        assert!(!policy(&["a"], &["*"]).shows("a"));
    }
}
