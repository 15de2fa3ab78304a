//! The question itself: everything that a person must see before a yes, and what the yes is bound to.

use haft_schema::Digest;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::examples::Examples;
use crate::facts::{Effect, ToolFacts};
use crate::ids::{CallId, ConsentId, InvocationId, RunId, SessionId, ToolId};
use crate::ports::Timestamp;
use crate::scope::{Scope, narrowest_first};

/// What holds around a call, beside its bytes, when it is asked about and again when the answer is used. A yes counts only
/// while both are the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Circumstances {
    /// The working folder: the project's, resolved; none without a project.
    pub folder: Option<String>,
    /// The version of all that decides calls ([`CompiledTools::policy_version`](crate::CompiledTools::policy_version)).
    pub policy: Digest,
}

/// What a tool does to the world, as a question says it (APR-25).
///
/// ```
/// use haft_core::consent::effect_in_words;
/// use haft_core::{Effect, ToolFacts};
/// let facts = ToolFacts { open_world: true, ..ToolFacts::new(Effect::Write) };
/// assert_eq!(effect_in_words(&facts), "changes something; can carry data off this machine");
/// ```
pub fn effect_in_words(facts: &ToolFacts) -> String {
    let effect = match facts.effect {
        Effect::Read => "only looks",
        Effect::Write => "changes something",
        Effect::Control => "steers the run",
        Effect::WriteControl => "steers the run and changes something",
    };
    let leaves = if facts.open_world { "; can carry data off this machine" } else { "" };
    format!("{effect}{leaves}")
}

/// Where a question comes from and how long it may stand: what the host adds to the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opening {
    /// The question's id.
    pub id: ConsentId,
    /// The session.
    pub session: SessionId,
    /// The root run.
    pub run: RunId,
    /// Which agent of the run wants the call.
    pub invocation: InvocationId,
    /// The working folder now.
    pub folder: Option<String>,
    /// No answer by then is a no; none is no limit (CONFLICT-13).
    pub deadline: Option<Timestamp>,
}

/// One question, whole: a surface shows all of it.
///
/// It is stored as the payload of `consent_opened`. Fields that older journals do not have are empty when such a journal is read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// Its id.
    pub id: ConsentId,
    /// The session.
    pub session: SessionId,
    /// The root run: questions of nested agents go to its surface, and to no other.
    pub run: RunId,
    /// Which agent of the run wants the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invocation: Option<InvocationId>,
    /// The call.
    pub call_id: CallId,
    /// The tool.
    pub tool_id: ToolId,
    /// The name that the model used.
    pub alias: String,
    /// The tool's name for people.
    pub title: String,
    /// Who contributes the tool: `builtin`, `mcp/ID`, `ext/ID` (APR-25).
    #[serde(default)]
    pub source: String,
    /// What the tool does to the world, in words (APR-25).
    #[serde(default)]
    pub effect: String,
    /// What is asked, in the host's words.
    pub text: String,
    /// The canonical arguments that a yes runs.
    pub arguments: Value,
    /// Their digest; the answer is bound to it.
    pub digest: Digest,
    /// The working folder; the answer is bound to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The version of the policy; the answer is bound to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Digest>,
    /// What a yes could cover beside this call, narrowest first, at most [`Question::MOST_SCOPES`]; none where each call is asked.
    pub scopes: Vec<Scope>,
    /// What each of the scopes would allow and what not, in the order of `scopes`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<Examples>,
    /// A yes is never remembered.
    pub every_time: bool,
    /// The rule that asks.
    pub rule: String,
    /// The reason that this rule gives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// No answer by then is a no; none is no limit (CONFLICT-13).
    pub deadline: Option<Timestamp>,
}

impl Question {
    /// Most scopes that a question offers.
    pub const MOST_SCOPES: usize = 3;

    /// What may be offered of `scopes`, narrowest first: at most three, none where each call is asked, and never one that covers
    /// whatever a network or interpreter program is told to do.
    pub(crate) fn offered(scopes: &[Scope], every_time: bool) -> Vec<Scope> {
        if every_time {
            return Vec::new();
        }
        let mut offered = narrowest_first(scopes.iter().filter(|scope| !scope.frees_a_program()).cloned());
        offered.truncate(Self::MOST_SCOPES);
        offered
    }

    /// True if a yes may cover `scope`.
    pub fn offers(&self, scope: &Scope) -> bool {
        !self.every_time && self.scopes.contains(scope)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // APR-09: narrowest first, whatever the tool's order.
    #[test]
    fn scopes_are_offered_narrowest_first_and_at_most_three() {
        let [file, folder, wide, all] = [
            Scope::File("/p/notes/a.md".into()),
            Scope::Path("/p/notes".into()),
            Scope::Path("/p".into()),
            Scope::Tool,
        ];
        let given = [folder.clone(), all.clone(), file.clone(), folder.clone(), wide.clone()];
        assert_eq!(Question::offered(&given, false), [file, folder, wide]);
        assert_eq!(Question::offered(&given, true), []);
        assert_eq!(
            Question::offered(&[Scope::Host("a".into()), all.clone()], false),
            [Scope::Host("a".into()), all]
        );
    }
}
