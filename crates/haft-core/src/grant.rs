//! What a yes covers: subject, scope, lifetime, who gave it, when, from where, and the question that it answered.

use serde::{Deserialize, Serialize};

use crate::ids::{ConsentId, GrantId, RunId, SessionId, ToolId};
use crate::ports::Timestamp;
use crate::scope::Scope;

/// How long a grant lives. All end with the process that owns the session (APR-17).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "value")]
pub enum Lifetime {
    /// One call: it was used when it was given.
    Once,
    /// The calls of one run.
    Run(RunId),
    /// The calls of one session.
    Session(SessionId),
    /// Until a time.
    Until(Timestamp),
}

/// A yes and what it covers.
///
/// ```
/// use haft_core::{Grant, GrantId, Lifetime, RunId, Scope, SessionId, Timestamp, ToolId};
/// let (tool, session) = (ToolId::builtin("project.file_write"), SessionId::new("s_1"));
/// let lifetime = Lifetime::Session(session.clone());
/// let grant = Grant::new(GrantId::new("g_1"), tool.clone(), Scope::Path("/p/notes".into()), lifetime, "terminal", Timestamp(5));
/// let wanted = |path: &str| [Scope::File(path.into())];
/// let covers = |path, session| grant.covers(&tool, &wanted(path), &RunId::new("r_1"), session, Timestamp(6));
/// assert!(covers("/p/notes/a.md", &session));
/// assert!(!covers("/p/notes-old/a.md", &session));
/// assert!(!covers("/p/notes/a.md", &SessionId::new("s_2")));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Its id: uses are counted and it is revoked by it.
    pub id: GrantId,
    /// Which tool.
    pub tool: ToolId,
    /// Which of its calls.
    pub scope: Scope,
    /// For how long.
    pub lifetime: Lifetime,
    /// From which surface or flag it came: `terminal`, `--allow` …
    pub granted_by: String,
    /// Who gave it, where the surface knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// When.
    pub given: Timestamp,
    /// The question that it answered; none for one that was given in advance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<ConsentId>,
}

impl Grant {
    /// A grant that was given without a question and by nobody in particular.
    pub fn new(
        id: GrantId,
        tool: ToolId,
        scope: Scope,
        lifetime: Lifetime,
        granted_by: impl Into<String>,
        given: Timestamp,
    ) -> Self {
        Self { id, tool, scope, lifetime, granted_by: granted_by.into(), by: None, given, question: None }
    }

    /// True if the grant covers a call of `tool` that asks for one of `wanted`, in that run and session, at that time.
    pub fn covers(
        &self,
        tool: &ToolId,
        wanted: &[Scope],
        run: &RunId,
        session: &SessionId,
        now: Timestamp,
    ) -> bool {
        let alive = match &self.lifetime {
            Lifetime::Once => false,
            Lifetime::Run(granted) => granted == run,
            Lifetime::Session(granted) => granted == session,
            Lifetime::Until(end) => now < *end,
        };
        let reaches = self.scope == Scope::Tool || wanted.iter().any(|scope| self.scope.covers(scope));
        alive && self.tool == *tool && reaches
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Pains 23: a yes to one call was used when it was given, and every other one ends when it says.
    #[test]
    fn each_lifetime_ends_where_it_says() {
        let (tool, run, session) = (ToolId::builtin("x"), RunId::new("r_1"), SessionId::new("s_1"));
        let covers = |lifetime: Lifetime, run: &RunId, session: &SessionId, now: u64| {
            let grant = Grant::new("g_1".into(), tool.clone(), Scope::Tool, lifetime, "test", Timestamp(0));
            grant.covers(&tool, &[Scope::Tool], run, session, Timestamp(now))
        };
        let (other_run, other_session) = (RunId::new("r_2"), SessionId::new("s_2"));
        assert!(!covers(Lifetime::Once, &run, &session, 1));
        assert!(covers(Lifetime::Run(run.clone()), &run, &session, 1));
        assert!(!covers(Lifetime::Run(run.clone()), &other_run, &session, 1));
        assert!(covers(Lifetime::Session(session.clone()), &other_run, &session, 1));
        assert!(!covers(Lifetime::Session(session.clone()), &run, &other_session, 1));
        assert!(covers(Lifetime::Until(Timestamp(5)), &run, &session, 4));
        assert!(!covers(Lifetime::Until(Timestamp(5)), &run, &session, 5));
    }
}
