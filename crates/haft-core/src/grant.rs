//! What a yes covers: subject, scope, lifetime, and who gave it.

use serde::{Deserialize, Serialize};

use crate::ids::{RunId, SessionId, ToolId};
use crate::ports::Timestamp;
use crate::scope::Scope;

/// How long a grant lives. All end with the process that owns the session (APR-17).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "value")]
pub enum Lifetime {
    /// One call.
    Once,
    /// The calls of one run.
    Run(RunId),
    /// The calls of one session.
    Session(SessionId),
    /// Until a time.
    Until(Timestamp),
}

/// A standing yes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Which tool.
    pub tool: ToolId,
    /// Which of its calls.
    pub scope: Scope,
    /// For how long.
    pub lifetime: Lifetime,
    /// Who gave it and where: `--allow`, `terminal` …
    pub granted_by: String,
}

impl Grant {
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
