//! The skills of a profile: `skills` of its file (SKL-01, SKL-04).

use std::fmt::Write;

use haft_core::Profile;
use haft_core::skills::SkillPolicy;

use super::write::quoted;
use crate::document::reader::TableReader;

/// What one file says of skills; what it leaves out is none or empty.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Skills {
    visible: Option<Vec<String>>,
    deny: Vec<String>,
    max_read_chars_per_call: Option<u64>,
    max_read_chars_per_run: Option<u64>,
}

/// Reads the table of a profile.
pub(super) fn read(root: &TableReader<'_>) -> Skills {
    let Some(skills) = root.table("skills") else { return Skills::default() };
    let names =
        |key| skills.texts(key).map(|names| names.into_iter().map(|(name, _)| name).collect::<Vec<_>>());
    let characters = |key| skills.whole(key, 1, u64::MAX);
    let read = Skills {
        visible: names("visible"),
        deny: names("deny").unwrap_or_default(),
        max_read_chars_per_call: characters("max_read_chars_per_call"),
        max_read_chars_per_run: characters("max_read_chars_per_run"),
    };
    skills.finish();
    read
}

impl Skills {
    /// What this file says over the one below; denials add up.
    pub(super) fn over(self, below: Self) -> Self {
        Self {
            visible: self.visible.or(below.visible),
            deny: [below.deny, self.deny].concat(),
            max_read_chars_per_call: self.max_read_chars_per_call.or(below.max_read_chars_per_call),
            max_read_chars_per_run: self.max_read_chars_per_run.or(below.max_read_chars_per_run),
        }
    }

    pub(super) fn policy(self) -> SkillPolicy {
        let default = SkillPolicy::default();
        SkillPolicy {
            visible: self.visible.unwrap_or(default.visible),
            deny: self.deny,
            max_read_chars_per_call: self.max_read_chars_per_call.unwrap_or(default.max_read_chars_per_call),
            max_read_chars_per_run: self.max_read_chars_per_run.unwrap_or(default.max_read_chars_per_run),
        }
    }
}

/// Writes the table of a resolved profile, if it says anything.
pub(super) fn write(out: &mut String, profile: &Profile) -> std::fmt::Result {
    let skills = &profile.skills;
    if skills.is_default() {
        return Ok(());
    }
    let list = |names: &[String]| names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
    writeln!(out, "skills:\n  visible: [{}]\n  deny: [{}]", list(&skills.visible), list(&skills.deny))?;
    writeln!(out, "  max_read_chars_per_call: {}", skills.max_read_chars_per_call)?;
    writeln!(out, "  max_read_chars_per_run: {}", skills.max_read_chars_per_run)
}
