//! Surfaces as the service holds them: which questions they show, and a fence around what they do.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use haft_core::consent::{Closing, ConsentSurface, Question};
use haft_core::{ConsentId, RunId, SessionId};

/// One attached surface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SurfaceId(pub(super) u64);

/// Which questions a surface shows: by session or root run, never by the agent that asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Audience {
    /// Those of all sessions.
    All,
    /// Those of one session.
    Session(SessionId),
    /// Those of one root run and all agents in it.
    Run(RunId),
}

impl Audience {
    /// True if `question` is for it.
    ///
    /// ```
    /// use haft_engine::Audience;
    /// # let question: haft_core::Question = serde_json::from_value(serde_json::json!({
    /// #     "id": "q", "session": "s_1", "run": "r_1", "invocation": "i_child", "call_id": "c", "tool_id": "builtin:x",
    /// #     "alias": "x", "title": "x", "text": "?", "arguments": {}, "digest": haft_core::Digest::of(b""),
    /// #     "scopes": [], "every_time": false, "rule": "", "deadline": null })).unwrap();
    /// assert!(Audience::Session("s_1".into()).includes(&question));
    /// assert!(Audience::Run("r_1".into()).includes(&question));
    /// assert!(!Audience::Run("r_2".into()).includes(&question));
    /// ```
    pub fn includes(&self, question: &Question) -> bool {
        match self {
            Self::All => true,
            Self::Session(session) => *session == question.session,
            Self::Run(run) => *run == question.run,
        }
    }
}

#[derive(Clone)]
pub(super) struct Attached {
    pub(super) id: SurfaceId,
    pub(super) surface: Arc<dyn ConsentSurface>,
    pub(super) audience: Audience,
}

impl Attached {
    /// False if the surface panicked.
    pub(super) fn show(&self, question: &Question) -> bool {
        catch_unwind(AssertUnwindSafe(|| self.surface.show(question))).is_ok()
    }

    /// False if the surface panicked.
    pub(super) fn close(&self, id: &ConsentId, how: &Closing) -> bool {
        catch_unwind(AssertUnwindSafe(|| self.surface.close(id, how))).is_ok()
    }
}
