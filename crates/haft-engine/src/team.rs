//! The agents of a run as one invocation reaches them: who may be called, and how a task begins. What the tools of this family ask
//! for comes here through the port [`Delegation`]; each step shows the started call that wants it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_core::agents::{
    AgentCard, Delegation, DelegationPolicy, MultiTask, TaskReturn, TaskState, TaskView,
};
use haft_core::exit::{ExitPolicy, Role, Terms};
use haft_core::journal::{AgentTaskCreated, Payload, TaskKind, TaskLink};
use haft_core::ports::{BoxFuture, Cancel};
use haft_core::profile::RunKind;
use haft_core::snapshot::compile_under;
use haft_core::{CompiledTools, ErrorCode, InvocationId, Profile, StartedCall, TaskId, ToolError, ToolId};
use serde_json::Map;

use crate::agents::{AgentModel, called_by};
use crate::context::Stopper;
use crate::error::EngineError;
use crate::run::{Driver, RunOptions, Stint};
use crate::shared::RunShared;
use crate::tasks::{Ended, MOST_DEPTH, NewTask};
use crate::work::{self, Takeover};

/// What a child of `agent.multi` is told of itself.
const CHILD_PROMPT: &str = "You are one of several agents that work side by side, each on one task. Do what the task says and \
    nothing else, with the tools that you have. Your last answer is the result; it is all that is read of your work.";

/// The agents of a run, as one invocation reaches them.
pub(crate) struct Team {
    pub(crate) shared: Arc<RunShared>,
    pub(crate) invocation: InvocationId,
    /// The name of this invocation's agent.
    pub(crate) agent: String,
    pub(crate) terms: Terms,
    /// How many callers stand above it.
    pub(crate) depth: u32,
    pub(crate) tools: CompiledTools,
    pub(crate) options: RunOptions,
    pub(crate) model: AgentModel,
    pub(crate) stopper: Arc<Stopper>,
    pub(crate) state: Mutex<TeamState>,
}

/// What calls of the batch at hand asked for.
#[derive(Default)]
pub(crate) struct TeamState {
    /// An agent was called: another call is superseded (DEL-18).
    called: bool,
    takeover: Option<Box<Takeover>>,
    returned: Option<TaskReturn>,
}

/// Which agent shall work on what.
struct Work<'a> {
    kind: TaskKind,
    agent: &'a str,
    profile: Profile,
    brief: &'a str,
    terms: Terms,
    stopper: Arc<Stopper>,
    model: AgentModel,
}

/// Stops what works for a call when nobody waits for it any more.
struct StopOnDrop(Vec<Arc<Stopper>>);

impl StopOnDrop {
    fn stop(&self) {
        self.0.iter().for_each(|stopper| stopper.stop());
    }
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Team {
    /// A batch begins.
    pub(crate) fn begin_batch(&self) {
        self.lock().called = false;
    }

    /// What this invocation returned, if it did.
    pub(crate) fn take_returned(&self) -> Option<TaskReturn> {
        self.lock().returned.take()
    }

    /// Who takes over, if somebody does.
    pub(crate) fn take_takeover(&self) -> Option<Box<Takeover>> {
        self.lock().takeover.take()
    }

    fn lock(&self) -> MutexGuard<'_, TeamState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The profile of `agent` if `may` says that this invocation may call it.
    fn callee(&self, agent: &str, may: impl Fn(&DelegationPolicy) -> bool) -> Result<Profile, ToolError> {
        let agents = &self.shared.options.agents;
        let found = agents.profile(agent).map_err(|why| {
            let text = format!("The agent `{agent}` cannot be used now: {why}");
            ToolError::new(ErrorCode::NO_SUCH_AGENT, text)
        })?;
        match found.filter(|profile| may(&profile.delegation)) {
            Some(profile) => {
                let registry = self.shared.session.engine.registry();
                Ok(called_by(&self.options.profile, &self.tools, &profile, registry))
            }
            None => Err(self.not_callable(agent, may)),
        }
    }

    fn not_callable(&self, agent: &str, may: impl Fn(&DelegationPolicy) -> bool) -> ToolError {
        let agents = &self.shared.options.agents;
        let is_open = |name: &String| {
            agents.profile(name).ok().flatten().is_some_and(|profile| may(&profile.delegation))
        };
        let open: Vec<String> =
            agents.names().into_iter().filter(is_open).map(|name| format!("`{name}`")).collect();
        let rest = if open.is_empty() {
            "No agent can be called here; do the work yourself.".to_owned()
        } else {
            format!("The agents that can be called are {}.", open.join(", "))
        };
        ToolError::new(
            ErrorCode::NO_SUCH_AGENT,
            format!("There is no agent `{agent}` that can be called. {rest}"),
        )
    }

    fn model_of(&self, profile: &Profile) -> Result<AgentModel, ToolError> {
        self.shared.options.agents.model(profile, &self.model).map_err(|why| {
            let text = format!("The agent `{}` has no model: {why}", profile.name);
            ToolError::new(ErrorCode::NO_SUCH_AGENT, text)
        })
    }

    /// Makes a task and the invocation that will work on it; both are noted, and nothing is stored yet.
    fn prepare(&self, call: &StartedCall, work: Work<'_>) -> Result<(TaskId, Driver), ToolError> {
        let Work { kind, agent, profile, brief, terms, stopper, model } = work;
        let depth = match terms.role {
            Role::Child => self.depth + 1,
            Role::Root | Role::Handoff => self.depth,
        };
        if depth > MOST_DEPTH {
            let text =
                format!("`{agent}` cannot be called: agents call each other {MOST_DEPTH} deep at most.");
            return Err(ToolError::new(ErrorCode::TOO_MANY_TASKS, text));
        }
        let new = NewTask {
            kind,
            agent: agent.to_owned(),
            parent: self.invocation.clone(),
            stopper: stopper.clone(),
        };
        let shared = &self.shared;
        let Some(id) = shared.tasks.add(new) else {
            let text = "This run has given as many tasks as it may. Do the rest yourself, or await the tasks that run.";
            return Err(ToolError::new(ErrorCode::TOO_MANY_TASKS, text));
        };
        let made = self.make(call, &id, (kind, agent, brief), (profile, terms, depth), stopper, model);
        if made.is_err() {
            shared.tasks.forget(&id);
        }
        Ok((id, made?))
    }

    fn make(
        &self,
        call: &StartedCall,
        id: &TaskId,
        (kind, agent, brief): (TaskKind, &str, &str),
        (profile, terms, depth): (Profile, Terms, u32),
        stopper: Arc<Stopper>,
        model: AgentModel,
    ) -> Result<Driver, ToolError> {
        let shared = &self.shared;
        let engine = &shared.session.engine;
        let invocation = InvocationId::new(engine.fresh("i_"));
        let tools =
            compile_under(terms, invocation.clone(), &profile, engine.registry()).map_err(|error| {
                ToolError::new(
                    ErrorCode::NO_SUCH_AGENT,
                    format!("The agent `{agent}` cannot be used: {error}"),
                )
            })?;
        shared.floor.share();
        let parent = self.invocation.clone();
        let created = AgentTaskCreated {
            task: id.clone(),
            kind,
            agent: agent.to_owned(),
            brief: brief.to_owned(),
            parent: parent.clone(),
            invocation: invocation.clone(),
            call_id: call.call_id().clone(),
        };
        let ledger = shared.ledger.child(tools.snapshot().ledger_limits(), shared.session.clock().now());
        let options = RunOptions {
            profile: Arc::new(profile),
            model: model.name.clone(),
            price: model.price,
            no_tools: false,
            ..shared.options.clone()
        };
        let model = match &shared.options.rerun {
            Some(rerun) => rerun.begin(&created, &stopper, &model),
            None => model,
        };
        let task = Some(TaskLink { id: id.clone(), parent, role: terms.role });
        let (agent, model) = (agent.to_owned(), Some(model));
        let stint = Stint { invocation, agent, terms, depth, task, options, tools, ledger, stopper, model };
        let mut driver = Driver::open(shared.clone(), stint);
        let noted = driver.writer.note(&Payload::AgentTaskCreated(created), Map::new());
        noted.and_then(|()| driver.note_context()).map_err(|error| broken(&error))?;
        Ok(driver)
    }

    /// Waits for the end of tasks whose stoppers `guard` holds; a stop of the call stops them, and their ends are waited for.
    async fn ends_of(&self, ids: &[TaskId], guard: &StopOnDrop, cancel: &dyn Cancel) -> Vec<Ended> {
        let tasks = &self.shared.tasks;
        let ended = tasks.until(|| ids.iter().map(|id| tasks.ended(id)).collect::<Option<Vec<Ended>>>());
        tokio::pin!(ended);
        tokio::select! {
            biased;
            ended = &mut ended => return ended,
            () = cancel.cancelled() => guard.stop(),
        }
        ended.await
    }

    async fn call_agent(
        &self,
        call: &StartedCall,
        agent: &str,
        instruction: &str,
        cancel: &dyn Cancel,
    ) -> Result<String, ToolError> {
        if self.lock().called {
            let text = format!(
                "`{agent}` was not called: another agent was called in the same answer. Call it again if it is still needed."
            );
            return Err(ToolError::new(ErrorCode::SUPERSEDED, text));
        }
        let profile = self.callee(agent, |policy| !policy.internal)?;
        let model = self.model_of(&profile)?;
        let stopper = Stopper::under(&self.stopper);
        let terms = Terms { role: Role::Child, exit: ExitPolicy::Text };
        let kind = TaskKind::Call;
        let work = Work { kind, agent, profile, brief: instruction, terms, stopper: stopper.clone(), model };
        let (id, driver) = self.prepare(call, work)?;
        self.lock().called = true;
        let guard = StopOnDrop(vec![stopper]);
        work::spawn(driver, instruction.to_owned(), None);
        let ended = self.ends_of(&[id], &guard, cancel).await.pop();
        match ended {
            Some(Ended { state: TaskState::Completed, text, .. }) if text.trim().is_empty() => {
                Ok(format!("The agent `{agent}` ended its work and said nothing."))
            }
            Some(Ended { state: TaskState::Completed, text, .. }) => Ok(text),
            Some(Ended { state: TaskState::Cancelled, .. }) => {
                let text = format!("The agent `{agent}` was stopped before it ended.");
                Err(ToolError::new(ErrorCode::CALL_CANCELLED, text))
            }
            Some(Ended { text, .. }) => {
                let text = format!("The agent `{agent}` failed: {text}");
                Err(ToolError::new(ErrorCode::AGENT_FAILED, text))
            }
            None => Err(ToolError::new(ErrorCode::AGENT_FAILED, format!("Nothing came of `{agent}`."))),
        }
    }

    /// The profile of a child that works on `task` (DEL-03, DEL-04, CONFLICT-30).
    fn child_profile(&self, task: &MultiTask) -> Result<Profile, String> {
        let mut profile = self.options.profile.as_ref().clone();
        let policy = &profile.delegation;
        let multi = ToolId::builtin("agent.multi");
        let nested = policy.nested;
        // The last turn has no tools, and is not counted here.
        profile.budgets.rounds = policy.child_rounds.saturating_sub(1);
        profile.max_tokens = Some(profile.max_tokens.unwrap_or(u32::MAX).min(policy.child_tokens));
        let mut allow: Vec<ToolId> = self.tools.tools().iter().map(|tool| tool.id().clone()).collect();
        if let Some(names) = &task.tools {
            let id_of = |name: &String| {
                let known = self.tools.by_alias(name).ok_or_else(|| name.clone())?;
                Ok(known.id().clone())
            };
            allow = names.iter().map(id_of).collect::<Result<_, String>>()?;
        }
        allow.retain(|id| nested || *id != multi);
        let mut seen = std::collections::HashSet::new();
        allow.retain(|id| seen.insert(id.clone()));
        profile.policy.plan = None;
        profile.tools.allow = allow;
        profile.prompt = CHILD_PROMPT.to_owned();
        profile.run_kind = RunKind::Chat;
        let registry = self.shared.session.engine.registry();
        Ok(called_by(&self.options.profile, &self.tools, &profile, registry))
    }

    async fn call_children(
        &self,
        call: &StartedCall,
        tasks: Vec<MultiTask>,
        cancel: &dyn Cancel,
    ) -> Result<Vec<Result<String, String>>, ToolError> {
        let profiles = tasks.iter().map(|task| self.child_profile(task)).collect::<Result<Vec<_>, _>>();
        let profiles = profiles.map_err(|name| {
            let text =
                format!("No task was started: there is no tool `{name}` that an agent could be given.");
            ToolError::new(ErrorCode::INVALID_ARGUMENTS, text)
        })?;
        let mut guard = StopOnDrop(Vec::new());
        let mut prepared = Vec::new();
        for (task, profile) in tasks.iter().zip(profiles) {
            let stopper = Stopper::under(&self.stopper);
            guard.0.push(stopper.clone());
            let terms = Terms { role: Role::Child, exit: ExitPolicy::Text };
            let (kind, model) = (TaskKind::Multi, self.model.clone());
            let (agent, brief) = (task.name.as_str(), task.instruction.as_str());
            let work = Work { kind, agent, profile, brief, terms, stopper, model };
            let made = self.prepare(call, work);
            if made.is_err() {
                prepared
                    .iter()
                    .for_each(|(id, _, _): &(TaskId, Driver, String)| self.shared.tasks.forget(id));
            }
            let (id, driver) = made?;
            prepared.push((id, driver, task.instruction.clone()));
        }
        let mut ids = Vec::new();
        for (id, driver, instruction) in prepared {
            ids.push(id);
            work::spawn(driver, instruction, None);
        }
        let ended = self.ends_of(&ids, &guard, cancel).await;
        let outcome = |ended: Ended| match ended.state {
            TaskState::Completed => Ok(ended.text),
            TaskState::Cancelled => Err("It was stopped before it ended.".to_owned()),
            TaskState::Queued | TaskState::Running | TaskState::Failed => Err(ended.text),
        };
        Ok(ended.into_iter().map(outcome).collect())
    }

    async fn begin_task(&self, call: &StartedCall, agent: &str, task: &str) -> Result<TaskId, ToolError> {
        let profile = self.callee(agent, |policy| policy.callable && policy.admits(&self.agent))?;
        let model = self.model_of(&profile)?;
        let stopper = Stopper::under(&self.stopper);
        let terms = Terms { role: Role::Child, exit: ExitPolicy::TaskReturnRequired };
        let kind = TaskKind::Delegate;
        let work = Work { kind, agent, profile, brief: task, terms, stopper, model };
        let (id, mut driver) = self.prepare(call, work)?;
        if let Err(error) = driver.writer.commit().await {
            self.shared.tasks.forget(&id);
            return Err(broken(&error));
        }
        let opening = work::task_opening(task, &driver.tools);
        work::spawn(driver, opening, Some(self.shared.tasks.workers.clone()));
        Ok(id)
    }

    async fn wait_for(
        &self,
        wanted: &[TaskId],
        seconds: u64,
        cancel: &dyn Cancel,
    ) -> Result<Vec<TaskView>, ToolError> {
        let tasks = &self.shared.tasks;
        let own = tasks.delegated_by(&self.invocation);
        if let Some(foreign) = wanted.iter().find(|id| !own.contains(id)) {
            let names: Vec<String> = own.iter().map(|id| format!("`{id}`")).collect();
            let text = if names.is_empty() {
                format!("There is no task `{foreign}`: you have given none.")
            } else {
                format!("There is no task `{foreign}` of yours. Yours are {}.", names.join(", "))
            };
            return Err(ToolError::new(ErrorCode::new("agent.unknown_task"), text));
        }
        let wanted = if wanted.is_empty() { own } else { wanted.to_vec() };
        if seconds == 0 {
            return Ok(tasks.tell(&wanted));
        }
        tokio::select! {
            biased;
            () = tasks.until(|| tasks.are_over(&wanted).then_some(())) => {}
            () = cancel.cancelled() => {
                let text = "The wait was stopped; the tasks go on.";
                return Err(ToolError::new(ErrorCode::CALL_CANCELLED, text));
            }
            () = tokio::time::sleep(Duration::from_secs(seconds)) => {}
        }
        Ok(tasks.tell(&wanted))
    }

    fn prepare_takeover(&self, call: &StartedCall, agent: &str, brief: &str) -> Result<Takeover, ToolError> {
        let own = &self.options.profile.delegation;
        if !own.can_handoff {
            return Err(ToolError::denied("This agent may not hand its run over. Finish the work yourself."));
        }
        let tasks = &self.shared.tasks;
        if tasks.has_unfinished(&self.invocation) {
            let text = "Tasks that you have given are not done. Await them before you hand over.";
            return Err(ToolError::new(ErrorCode::HANDOFF_PENDING_TASKS, text));
        }
        let may = |policy: &DelegationPolicy| {
            policy.callable && policy.allow_as_handoff_target && policy.admits(&self.agent)
        };
        let profile = self.callee(agent, may)?;
        let model = self.model_of(&profile)?;
        let depths =
            [DelegationPolicy::MOST_HANDOFFS, own.max_handoff_depth, profile.delegation.max_handoff_depth];
        let most = depths.into_iter().min().unwrap_or(0);
        if tasks.hand_over(most).is_none() {
            let text = format!(
                "This run cannot be handed over any more (at most {most} times). Finish the work yourself."
            );
            return Err(ToolError::new(ErrorCode::TOO_MANY_TASKS, text));
        }
        let terms = Terms { role: Role::Handoff, exit: self.terms.exit };
        let kind = TaskKind::Handoff;
        let stopper = self.stopper.clone();
        let work = Work { kind, agent, profile, brief, terms, stopper, model };
        let (_, driver) = self.prepare(call, work)?;
        let opening = work::handoff_opening(self.shared.prompt.as_deref(), &self.agent, brief);
        Ok(Takeover { driver, opening })
    }
}

impl Delegation for Team {
    fn list(&self) -> Result<Vec<AgentCard>, ToolError> {
        let agents = &self.shared.options.agents;
        let own = &self.options.profile.delegation;
        let card = |name: String| {
            let profile = agents.profile(&name).ok().flatten()?;
            let policy = &profile.delegation;
            let is_open = policy.callable && policy.admits(&self.agent);
            is_open.then(|| AgentCard {
                id: name,
                description: profile.description.clone(),
                delegate: true,
                handoff: own.can_handoff && policy.allow_as_handoff_target,
            })
        };
        Ok(agents.names().into_iter().filter_map(card).collect())
    }

    fn call<'a>(
        &'a self,
        call: &'a StartedCall,
        agent: &'a str,
        instruction: &'a str,
        cancel: &'a dyn Cancel,
    ) -> BoxFuture<'a, Result<String, ToolError>> {
        Box::pin(self.call_agent(call, agent, instruction, cancel))
    }

    fn multi<'a>(
        &'a self,
        call: &'a StartedCall,
        tasks: Vec<MultiTask>,
        cancel: &'a dyn Cancel,
    ) -> BoxFuture<'a, Result<Vec<Result<String, String>>, ToolError>> {
        Box::pin(self.call_children(call, tasks, cancel))
    }

    fn delegate<'a>(
        &'a self,
        call: &'a StartedCall,
        agent: &'a str,
        task: &'a str,
    ) -> BoxFuture<'a, Result<TaskId, ToolError>> {
        Box::pin(self.begin_task(call, agent, task))
    }

    fn wait<'a>(
        &'a self,
        _call: &'a StartedCall,
        tasks: &'a [TaskId],
        seconds: u64,
        cancel: &'a dyn Cancel,
    ) -> BoxFuture<'a, Result<Vec<TaskView>, ToolError>> {
        Box::pin(self.wait_for(tasks, seconds, cancel))
    }

    fn hand_over(&self, call: &StartedCall, agent: &str, brief: &str) -> Result<(), ToolError> {
        let takeover = self.prepare_takeover(call, agent, brief)?;
        self.lock().takeover = Some(Box::new(takeover));
        Ok(())
    }

    fn give_back(&self, _call: &StartedCall, result: TaskReturn) -> Result<(), ToolError> {
        match self.terms.exit {
            ExitPolicy::TaskReturnRequired => {
                self.lock().returned = Some(result);
                Ok(())
            }
            ExitPolicy::Text | ExitPolicy::FinishRequired => Err(ToolError::new(
                ErrorCode::NOT_IN_LOOP,
                "There is no task to return: nobody gave you one.",
            )),
        }
    }
}

/// The host is broken: the run fails with it.
fn broken(error: &EngineError) -> ToolError {
    ToolError::system(
        ErrorCode::new("agent.task_not_written"),
        format!("the task could not be written: {error}"),
    )
}
