//! What a running call may use, made anew for each call.

use std::sync::{Arc, Mutex, PoisonError};

use haft_core::event::RunEvent;
use haft_core::mask::View;
use haft_core::ports::{BoxFuture, Cancel, Clock, Ids, Timestamp, ToolContext};
use haft_core::{CallId, CompiledTools, RunId, Services, SessionId, ToolId};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::run::EventSink;
use crate::session::SessionInner;

/// A [`Cancel`] over tokio's token.
#[derive(Debug, Clone)]
pub(crate) struct Token(pub(crate) CancellationToken);

impl Cancel for Token {
    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    fn cancelled(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.0.cancelled())
    }
}

/// Stops a run, or only the tool that runs in it.
#[derive(Debug)]
pub(crate) struct Stopper {
    run: CancellationToken,
    call: Mutex<CallStop>,
}

#[derive(Debug)]
struct CallStop {
    token: CancellationToken,
    /// How many calls run, or wait for a person's answer.
    running: u32,
}

impl Stopper {
    pub(crate) fn new() -> Self {
        Self::of(CancellationToken::new())
    }

    /// A stopper for an agent that works for another one: what stops that one stops it too.
    pub(crate) fn under(caller: &Self) -> Arc<Self> {
        Arc::new(Self::of(caller.run.child_token()))
    }

    fn of(run: CancellationToken) -> Self {
        let call = CallStop { token: run.child_token(), running: 0 };
        Self { run, call: Mutex::new(call) }
    }

    /// The run's own token.
    pub(crate) fn run_token(&self) -> Token {
        Token(self.run.clone())
    }

    pub(crate) fn run_is_stopped(&self) -> bool {
        self.run.is_cancelled()
    }

    /// A token for the call that starts now; it fires with the run's. One that never fired serves the next calls too, so that
    /// one interrupt stops all that run.
    pub(crate) fn begin_call(&self) -> Token {
        let mut call = self.lock();
        if call.token.is_cancelled() {
            call.token = self.run.child_token();
        }
        call.running = call.running.saturating_add(1);
        Token(call.token.clone())
    }

    pub(crate) fn end_call(&self) {
        let mut call = self.lock();
        call.running = call.running.saturating_sub(1);
    }

    /// Stops the running tools; if none runs, or they were stopped already, stops the run.
    pub(crate) fn interrupt(&self) {
        let call = self.lock();
        if call.running > 0 && !call.token.is_cancelled() { call.token.cancel() } else { self.run.cancel() }
    }

    /// Stops the run and the tool in it.
    pub(crate) fn stop(&self) {
        self.run.cancel();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, CallStop> {
        self.call.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The context of one call.
pub(crate) struct CallContext<'a> {
    pub(crate) session: &'a SessionInner,
    pub(crate) run: &'a RunId,
    pub(crate) call: &'a CallId,
    pub(crate) tools: &'a CompiledTools,
    pub(crate) services: &'a Services,
    pub(crate) events: &'a Arc<dyn EventSink>,
    pub(crate) cancel: &'a Token,
    pub(crate) deadline: Option<Timestamp>,
}

impl ToolContext for CallContext<'_> {
    fn cancel(&self) -> &dyn Cancel {
        self.cancel
    }

    fn deadline(&self) -> Option<Timestamp> {
        self.deadline
    }

    fn clock(&self) -> &dyn Clock {
        self.session.clock()
    }

    fn ids(&self) -> &dyn Ids {
        self.session.ids()
    }

    fn session(&self) -> &SessionId {
        &self.session.lease.session
    }

    fn run(&self) -> &RunId {
        self.run
    }

    fn services(&self) -> &Services {
        self.services
    }

    fn progress(&self, line: &str) {
        let payload =
            json!({"call_id": self.call, "line": self.session.engine.mask().text(line, View::Record)});
        self.events.event(&RunEvent::delta(self.run, self.session.clock().now(), "progress", payload));
    }

    fn alias_of(&self, tool: &ToolId) -> Option<&str> {
        self.tools.by_id(tool).map(|bound| bound.binding().alias.as_str())
    }
}
