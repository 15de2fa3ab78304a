//! A replay while it runs: which of its invocations is which recorded agent, what was said and answered there, and who may go on.
//!
//! Agents that worked side by side are let on in the order of the record: what had ended before a step began has ended before it
//! begins again. Nobody waits for an agent that has gone another way, so that a replay always comes to its end.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_core::consent::{Answer, Closing, Question};
use haft_core::journal::{AgentTaskCreated, RunStatus};
use haft_core::lorebook::WorldInfoActivation;
use haft_core::ports::{Cancel, Model};
use haft_core::{CallId, InvocationId};
use tokio::sync::Notify;

use super::model::RecordedModel;
use super::names::{Names, ROOT};
use super::recorded::{RecordedAgent, RecordedCall, Span};
use crate::agents::AgentModel;
use crate::context::Stopper;

/// What the engine asks while it runs something again.
pub(crate) struct Rerun {
    agents: HashMap<String, RecordedAgent>,
    /// The world info that was active; none if there was none.
    world_info: Option<Arc<WorldInfoActivation>>,
    live: Mutex<Live>,
    changed: Notify,
}

#[derive(Default)]
struct Live {
    names: Names,
    stoppers: HashMap<String, Arc<Stopper>>,
    /// Spans that are over, by where they began.
    done: HashSet<u64>,
    /// How far each agent has come: where its newest span begins.
    reached: HashMap<String, u64>,
    /// Agents that nobody waits for any more.
    over: HashSet<String>,
}

/// A step that is being done again; over when it is dropped.
pub(crate) struct Step<'a> {
    rerun: &'a Rerun,
    span: Span,
}

impl Drop for Step<'_> {
    fn drop(&mut self) {
        self.rerun.lock().done.insert(self.span.begin);
        self.rerun.changed.notify_waiters();
    }
}

impl Rerun {
    pub(super) fn new(
        agents: HashMap<String, RecordedAgent>,
        world_info: Option<Arc<WorldInfoActivation>>,
    ) -> Arc<Self> {
        Arc::new(Self { agents, world_info, live: Mutex::default(), changed: Notify::new() })
    }

    fn lock(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The world info of the run, as it was frozen.
    pub(crate) fn world_info(&self) -> Option<Arc<WorldInfoActivation>> {
        self.world_info.clone()
    }

    /// The root begins.
    pub(crate) fn begin_root(&self, invocation: &InvocationId, stopper: &Arc<Stopper>) {
        self.lock().names.root(invocation);
        self.enlist(ROOT, stopper);
    }

    /// An agent is given work; gives its model.
    pub(crate) fn begin(
        self: &Arc<Self>,
        created: &AgentTaskCreated,
        stopper: &Arc<Stopper>,
        caller: &AgentModel,
    ) -> AgentModel {
        let name = self.lock().names.task(created);
        self.enlist(&name, stopper);
        AgentModel { model: self.model(&name), name: caller.name.clone(), price: caller.price }
    }

    fn enlist(&self, agent: &str, stopper: &Arc<Stopper>) {
        self.lock().stoppers.insert(agent.to_owned(), stopper.clone());
        let never_asked = |recorded: &RecordedAgent| recorded.turns.is_empty();
        if self.agents.get(agent).is_some_and(|recorded| recorded.was_stopped() && never_asked(recorded)) {
            stopper.stop();
        }
    }

    /// The model of an agent; one that says nothing where the record knows none.
    pub(super) fn model(self: &Arc<Self>, agent: &str) -> Arc<dyn Model> {
        Arc::new(RecordedModel::new(self.clone(), agent, self.agents.get(agent)))
    }

    pub(super) fn agent(&self, name: &str) -> Option<&RecordedAgent> {
        self.agents.get(name)
    }

    /// What the record holds of a call.
    pub(super) fn call(&self, call: &CallId) -> Option<&RecordedCall> {
        let (agent, call) = self.lock().names.call(call);
        self.agents.get(&agent)?.calls.get(&call)
    }

    /// The results of tasks that the host told the invocation with the request of that turn.
    pub(crate) fn news(&self, invocation: &InvocationId, turn: u32) -> Vec<String> {
        let live = self.lock();
        let agent = self.agents.get(live.names.agent(invocation));
        agent.and_then(|agent| agent.news.get(&turn)).cloned().unwrap_or_default()
    }

    /// How a question ends: as it did. Where none was put, as the call went on.
    pub(crate) fn closing(&self, question: &Question) -> Closing {
        let answered = |answer| Closing::Answered {
            answer,
            surface: "replay".to_owned(),
            by: None,
            shown: Some(question.digest),
        };
        let call = self.call(&question.call_id);
        let was_refused = call.is_some_and(RecordedCall::was_refused);
        match call.and_then(|call| call.closing.clone()) {
            Some(Closing::Answered { answer, .. }) => {
                let is_offered = answer.scope().is_none_or(|scope| question.offers(scope));
                answered(if is_offered { answer } else { Answer::Once })
            }
            Some(Closing::Cancelled) => {
                if call.is_some_and(|call| call.stops) {
                    self.stop(&question.call_id);
                }
                Closing::Cancelled
            }
            Some(closing @ (Closing::Expired | Closing::NoSurface)) => closing,
            None if was_refused => answered(Answer::Deny { reason: None }),
            None => answered(Answer::Once),
        }
    }

    /// Stops the agent whose call that is.
    pub(super) fn stop(&self, call: &CallId) {
        let agent = self.lock().names.call(call).0;
        self.stop_agent(&agent);
    }

    pub(super) fn stop_agent(&self, agent: &str) {
        let stopper = self.lock().stoppers.get(agent).cloned();
        if let Some(stopper) = stopper {
            stopper.stop();
        }
    }

    /// The agent whose call that is waits for others, so that nobody waits for it.
    pub(super) fn waits(&self, call: &CallId) {
        {
            let mut live = self.lock();
            let agent = live.names.call(call).0;
            live.over.insert(agent);
        }
        self.changed.notify_waiters();
    }

    /// Nobody waits for that invocation any more: it has ended, or waits for others itself.
    pub(crate) fn is_over(&self, invocation: &InvocationId) {
        {
            let mut live = self.lock();
            let name = live.names.agent(invocation).to_owned();
            live.over.insert(name);
        }
        self.changed.notify_waiters();
    }

    /// The call may start when all that had ended before it started is over.
    pub(crate) async fn start(&self, call: &CallId, cancel: &dyn Cancel) -> Option<Step<'_>> {
        let (agent, number) = self.lock().names.call(call);
        let span = self.agents.get(&agent)?.calls.get(&number)?.span?;
        Some(self.enter(&agent, span, cancel).await)
    }

    pub(super) async fn enter(&self, agent: &str, span: Span, cancel: &dyn Cancel) -> Step<'_> {
        {
            let mut live = self.lock();
            let reached = live.reached.entry(agent.to_owned()).or_default();
            *reached = span.begin.max(*reached);
        }
        self.changed.notify_waiters();
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if self.may_enter(agent, span) {
                break;
            }
            tokio::select! {
                () = changed => {}
                () = cancel.cancelled() => break,
            }
        }
        Step { rerun: self, span }
    }

    fn may_enter(&self, agent: &str, span: Span) -> bool {
        let live = self.lock();
        let is_awaited = |other: &str| other != agent && !live.over.contains(other);
        let mut others = live.stoppers.keys().filter(|other| is_awaited(other));
        others.all(|other| {
            let reached = live.reached.get(other).copied().unwrap_or(0);
            let spans = self.agents.get(other).map(RecordedAgent::spans).unwrap_or_default();
            let is_behind =
                |one: &Span| one.end < span.begin && one.begin >= reached && !live.done.contains(&one.begin);
            !spans.iter().any(is_behind)
        })
    }
}

impl RecordedAgent {
    pub(super) fn was_stopped(&self) -> bool {
        self.status == Some(RunStatus::Cancelled)
    }
}

impl std::fmt::Debug for Rerun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rerun").field("agents", &self.agents.keys()).finish_non_exhaustive()
    }
}
