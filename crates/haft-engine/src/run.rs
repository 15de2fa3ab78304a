//! What a run is given and what it gives; the run of one turn; the beginning and the end that all runs share.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft_core::agents::{Delegation, TaskReturn};
use haft_core::artifact::Artifacts;
use haft_core::budget::{Ledger, Price};
use haft_core::capability::Pledges;
use haft_core::chat::ChatHistory;
use haft_core::event::RunEvent;
use haft_core::exit::{ExitPolicy, Terms};
use haft_core::journal::{
    CompactedCall, ContextAssembled, GrantGiven, Head, Payload, RunEnded, RunStarted, RunStatus, TaskLink,
};
use haft_core::lorebook::WorldInfoActivation;
use haft_core::notes::SessionNotes;
use haft_core::path::{InjectedValues, Surroundings};
use haft_core::policy::Outcome;
use haft_core::ports::Model;
use haft_core::run_control::RunControl;
use haft_core::skills::SkillAccess;
use haft_core::snapshot::compile;
use haft_core::turn::TurnAliases;
use haft_core::workspace::RunFiles;
use haft_core::{
    CompiledTools, Digest, Gate, Grant, GrantId, InvocationId, Profile, RequestedCall, RunId, ToolChoice,
    ToolResult, ToolTurnContract, WireId,
};
use serde_json::{Map, Value};

use crate::agents::{AgentModel, Agents, NoAgents};
use crate::artifacts::RunArtifacts;
use crate::bounds::Bounds;
use crate::chat::StoredChat;
use crate::context::Stopper;
use crate::earlier::Earlier;
use crate::error::EngineError;
use crate::floor::Floor;
use crate::notes::StoredNotes;
use crate::publish::{Publication, Steering};
use crate::replay::Rerun;
use crate::session::SessionInner;
use crate::shared::RunShared;
use crate::tasks::Tasks;
use crate::team::Team;
use crate::workbench::Workbench;
use crate::workspace;
use crate::world;
use crate::writer::{RunJournal, RunWriter};

/// Receives the events of a run as they become durable. Quick: the run waits for it.
pub trait EventSink: Send + Sync {
    /// One event.
    fn event(&self, event: &RunEvent);

    /// False if events need not be made.
    fn wants_events(&self) -> bool {
        true
    }
}

/// An [`EventSink`] that listens to nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoEvents;

impl EventSink for NoEvents {
    fn event(&self, _event: &RunEvent) {}

    fn wants_events(&self) -> bool {
        false
    }
}

/// What the rules say at this moment, where they may have changed since a run began: a person may take long to answer, and the answer
/// counts only under the rules under which it was asked.
pub trait CurrentPolicy: Send + Sync {
    /// The version as [`CompiledTools::policy_version`] has it.
    ///
    /// # Errors
    /// Why it cannot be known, in words; then no answer counts.
    fn version(&self) -> Result<Digest, String>;
}

/// How a run is to be done.
#[derive(Clone)]
pub struct RunOptions {
    /// The profile.
    pub profile: Arc<Profile>,
    /// Which surface starts it: `call`, `exec`, `run`, `chat`, `embed` …
    pub surface: String,
    /// Name of the conversation's model, for injection and the record (CTX-04).
    pub model: Option<String>,
    /// Every ask is answered, but those that must be asked every time.
    pub yes: bool,
    /// No tools in this answer (EXE-19).
    pub no_tools: bool,
    /// Nobody waits for it: a schedule or a channel started it, so that it may finish without a commit (WSP-24).
    pub background: bool,
    /// Longest time of one call, in milliseconds.
    pub call_timeout_ms: Option<u64>,
    /// What the rules say when an answer comes; none where they cannot change while the run lasts.
    pub policy_now: Option<Arc<dyn CurrentPolicy>>,
    /// What the model's tokens cost; none where that is not known.
    pub price: Option<Price>,
    /// The agents that the run may put to work; none unless the embedding program gives some.
    pub agents: Arc<dyn Agents>,
    /// Who listens.
    pub events: Arc<dyn EventSink>,
    /// What is run again; none in a run of its own.
    pub(crate) rerun: Option<Arc<Rerun>>,
}

impl RunOptions {
    /// Options with nothing granted and nobody listening.
    pub fn new(profile: Arc<Profile>, surface: &str) -> Self {
        Self {
            profile,
            surface: surface.to_owned(),
            model: None,
            yes: false,
            no_tools: false,
            background: false,
            call_timeout_ms: Some(600_000),
            policy_now: None,
            price: None,
            agents: Arc::new(NoAgents),
            events: Arc::new(NoEvents),
            rerun: None,
        }
    }
}

impl std::fmt::Debug for RunOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunOptions")
            .field("profile", &self.profile.name)
            .field("surface", &self.surface)
            .field("yes", &self.yes)
            .finish_non_exhaustive()
    }
}

/// One call and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct CallOutcome {
    /// The run.
    pub run: RunId,
    /// The result, its content as the model sees it.
    pub result: ToolResult,
    /// The provider's id of the call.
    pub wire_id: Option<WireId>,
    /// Arguments as prepared, or as far as they were read.
    pub arguments: Value,
    /// Repairs that reading needed.
    pub repairs: Vec<String>,
    /// What policy said and by which rule; none where it was not asked.
    pub decision: Option<(Outcome, String)>,
    /// Who answered an ask.
    pub granted_by: Option<String>,
}

/// How a run of a prompt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOutcome {
    /// The run.
    pub run: RunId,
    /// How it ended.
    pub status: RunStatus,
    /// The final text.
    pub text: String,
    /// The stable code, if something failed.
    pub error_code: Option<String>,
    /// What a person should know.
    pub message: Option<String>,
    /// The end of its chain.
    pub head: Head,
}

/// What drives one invocation: its frozen tools, its gate, and its writer of the run's journal.
pub(crate) struct Driver {
    pub(crate) shared: Arc<RunShared>,
    pub(crate) session: Arc<SessionInner>,
    pub(crate) options: RunOptions,
    pub(crate) invocation: InvocationId,
    /// The name of its agent: of its profile, or of its task.
    pub(crate) agent: String,
    /// What the invocation is for; none for the root.
    pub(crate) task: Option<TaskLink>,
    /// The agents that it may put to work; none where no model is asked.
    pub(crate) team: Option<Arc<Team>>,
    /// What it gives back to its caller.
    pub(crate) returned: Option<TaskReturn>,
    /// The calls that a summary stands for in its conversation.
    pub(crate) compacted: Vec<CompactedCall>,
    pub(crate) tools: CompiledTools,
    pub(crate) gate: Gate,
    pub(crate) writer: RunWriter,
    pub(crate) stopper: Arc<Stopper>,
    pub(crate) surroundings: Arc<Surroundings>,
    pub(crate) bench: Arc<Workbench>,
    pub(crate) bounds: Bounds,
}

/// What an invocation is made of, beside what its run shares.
pub(crate) struct Stint {
    pub(crate) invocation: InvocationId,
    pub(crate) agent: String,
    pub(crate) terms: Terms,
    /// How many callers stand above it.
    pub(crate) depth: u32,
    pub(crate) task: Option<TaskLink>,
    /// Those of its run, with its own profile and model.
    pub(crate) options: RunOptions,
    pub(crate) tools: CompiledTools,
    pub(crate) ledger: Ledger,
    pub(crate) stopper: Arc<Stopper>,
    /// None where no model is asked.
    pub(crate) model: Option<AgentModel>,
}

impl Driver {
    /// Compiles the snapshot of the root and notes the beginning of the run; nothing is stored before the first commit.
    pub(crate) fn begin(
        session: Arc<SessionInner>,
        run: RunId,
        asked: Option<(String, Arc<dyn Model>)>,
        options: RunOptions,
        stopper: Arc<Stopper>,
        (files, world_info): (RunFiles, Option<Arc<WorldInfoActivation>>),
    ) -> Result<Self, EngineError> {
        let (prompt, model) = asked.unzip();
        let invocation = InvocationId::new(session.engine.fresh("i_"));
        let profile = options.profile.clone();
        let tools = compile(invocation.clone(), &profile, session.engine.registry())?;
        let now = session.clock().now();
        let (pledges, pledged) = if session.environment.attended {
            (Pledges::default(), Vec::new())
        } else {
            Pledges::open(&profile.unattended, &run, now, || GrantId::new(session.engine.fresh("g_")))
        };
        if let Some(rerun) = &options.rerun {
            rerun.begin_root(&invocation, &stopper);
        }
        if !profile.reuse.is_on() {
            // What this run does goes by unseen, so what was known before no longer holds.
            *session.earlier() = Earlier::default();
        }
        let shared = Arc::new(RunShared {
            journal: RunJournal::new(session.clone(), run.clone(), options.events.clone()),
            session,
            run,
            options: options.clone(),
            files: Arc::new(files),
            publication: Publication::default(),
            floor: Floor::default(),
            ledger: Ledger::root(tools.snapshot().ledger_limits(), now),
            pledges: Arc::new(Mutex::new(pledges)),
            policy: tools.policy_version(),
            stopper: stopper.clone(),
            prompt: prompt.clone(),
            world_info,
            tasks: Tasks::default(),
        });
        let (ledger, agent) = (shared.ledger.clone(), profile.name.clone());
        let (name, price) = (options.model.clone(), options.price);
        let model = model.map(|model| AgentModel { model, name, price });
        let (terms, depth, task) = (Terms::root(profile.run_kind), 0, None);
        let stint = Stint { invocation, agent, terms, depth, task, options, tools, ledger, stopper, model };
        let mut driver = Self::open(shared, stint);
        driver.note_beginning(prompt)?;
        driver.take_pledges(pledged)?;
        Ok(driver)
    }

    /// The driver of an invocation. It notes nothing.
    pub(crate) fn open(shared: Arc<RunShared>, stint: Stint) -> Self {
        let Stint { invocation, agent, terms, depth, task, options, tools, ledger, stopper, model } = stint;
        let converses = model.is_some();
        let (session, profile) = (shared.session.clone(), options.profile.clone());
        let artifacts = RunArtifacts {
            session: session.artifacts.clone(),
            invocation: invocation.clone(),
            read_cap: profile.read_artifact_chars,
        };
        let mut services = session.engine.parts.services.clone();
        services.insert::<dyn Artifacts>(Arc::new(artifacts));
        services.insert::<dyn SessionNotes>(Arc::new(StoredNotes(session.clone())));
        workspace::view(&mut services, &shared.files, &invocation, &profile.workspace);
        if converses && tools.snapshot().exit == ExitPolicy::FinishRequired {
            let steering = Steering { shared: shared.clone(), invocation: invocation.clone() };
            services.insert::<dyn RunControl>(Arc::new(steering));
        }
        services.insert(Arc::new(SkillAccess::new(profile.skills.clone())));
        services.insert::<dyn ChatHistory>(Arc::new(StoredChat(session.clone())));
        shared.world_info.iter().for_each(|active| services.insert(active.clone()));
        let team = model.map(|model| {
            // B's tools find the model by this name (REG-10).
            services.register_service("llm_client", Arc::new(model.model.clone()));
            Arc::new(Team {
                shared: shared.clone(),
                invocation: invocation.clone(),
                agent: agent.clone(),
                terms,
                depth,
                tools: tools.clone(),
                options: options.clone(),
                model,
                stopper: stopper.clone(),
                state: Mutex::default(),
            })
        });
        if let Some(team) = &team {
            services.insert::<dyn Delegation>(team.clone());
        }
        let values = InjectedValues {
            project_id: session.project().map(ToString::to_string),
            model: options.model.clone(),
        };
        let surroundings = Arc::new(Surroundings { values, environment: session.environment.clone() });
        let bounds = Bounds::new(&profile, ledger, shared.pledges.clone());
        // A run of single calls has no last turn to keep time for.
        let ends_at = if converses { bounds.work_ends_at(&tools) } else { bounds.ledger.ends_at() };
        let bench = Arc::new(Workbench {
            session: session.clone(),
            shared: shared.clone(),
            invocation: invocation.clone(),
            tools: tools.clone(),
            services,
            events: options.events.clone(),
            stopper: stopper.clone(),
            call_timeout_ms: options.call_timeout_ms,
            ends_at,
            grace: Duration::from_secs(profile.consent.grace_s),
        });
        let writer = RunWriter::new(shared.journal.clone());
        let gate = Gate::with_ledger(tools.clone(), bounds.ledger.clone());
        Self {
            shared,
            session,
            options,
            invocation,
            agent,
            task,
            team,
            returned: None,
            compacted: Vec::new(),
            tools,
            gate,
            writer,
            stopper,
            surroundings,
            bench,
            bounds,
        }
    }

    fn note_beginning(&mut self, prompt: Option<String>) -> Result<(), EngineError> {
        let started = RunStarted {
            session: self.session.lease.session.clone(),
            run_kind: if prompt.is_some() {
                self.options.profile.run_kind
            } else {
                haft_core::profile::RunKind::Chat
            },
            surface: self.options.surface.clone(),
            profile: self.options.profile.name.clone(),
            model: self.options.model.clone(),
            project: self.session.project().cloned(),
            prompt,
            haft: env!("CARGO_PKG_VERSION").to_owned(),
        };
        self.writer.note(&Payload::RunStarted(started), Map::new())?;
        self.note_context()?;
        self.note_world_info()?;
        self.tell_of_grants()
    }

    /// Notes the frozen tools of the invocation, with their file (SNP-07).
    pub(crate) fn note_context(&mut self) -> Result<(), EngineError> {
        let snapshot = self.tools.snapshot();
        let tools =
            snapshot.bindings.iter().map(|one| (one.alias.clone(), one.descriptor.id.clone())).collect();
        let bytes = serde_json::to_vec(snapshot).map_err(|error| EngineError::System {
            code: "agent.snapshot_unwritable".to_owned(),
            message: error.to_string(),
        })?;
        let snapshot_file = self.writer.file(snapshot.path(), bytes);
        let context = ContextAssembled {
            session: self.session.lease.session.clone(),
            previous_run: self
                .session
                .previous_run
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
                .clone(),
            invocation: self.invocation.clone(),
            snapshot_file,
            tools,
            contract: self.contract(),
            task: self.task.clone(),
            workspace: self.has_workspace().then(|| self.options.profile.workspace.clone()),
        };
        self.writer.note(&Payload::ContextAssembled(context), Map::new())
    }

    /// True if a tool of the invocation works on the files of the run.
    fn has_workspace(&self) -> bool {
        self.tools.tools().iter().any(|tool| tool.id().as_str().starts_with("builtin:workspace."))
    }

    /// Notes and holds the yeses that were given in advance to a run that nobody attends (CONFLICT-28).
    fn take_pledges(&mut self, pledged: Vec<Grant>) -> Result<(), EngineError> {
        for grant in pledged {
            let given = GrantGiven { epoch: self.session.lease.epoch, grant: grant.clone() };
            self.writer.note(&Payload::GrantGiven(given), Map::new())?;
            self.session.hold(grant);
        }
        Ok(())
    }

    /// Notes what became of grants since the journal was last told.
    pub(crate) fn tell_of_grants(&mut self) -> Result<(), EngineError> {
        for payload in self.session.untold_of_grants() {
            self.writer.note(&payload, Map::new())?;
        }
        Ok(())
    }

    /// The contract of a turn: all tools, and the model's choice unless tools are switched off.
    pub(crate) fn contract(&self) -> ToolTurnContract {
        let all = ToolTurnContract::all(&self.tools);
        if self.options.no_tools { ToolTurnContract { choice: ToolChoice::None, ..all } } else { all }
    }

    /// Notes the end and commits all that is pending.
    pub(crate) async fn end(&mut self, ended: RunEnded) -> Result<Head, EngineError> {
        self.writer.note(&Payload::RunEnded(ended), Map::new())?;
        self.writer.commit().await?;
        let head = self.shared.journal.head().await;
        let mut previous =
            self.session.previous_run.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *previous = Some((self.writer.run.clone(), head.hash));
        Ok(head)
    }

    /// Ends a run that the host itself broke, as far as that can still be written, and gives the cause back.
    pub(crate) async fn fail(&mut self, error: EngineError) -> EngineError {
        let code = match &error {
            EngineError::System { code, .. } => code.clone(),
            _ => "agent.system_failure".to_owned(),
        };
        // The store may be the very thing that is broken: the first cause is what counts.
        let _unwritten = self.note_broken(&code, &error.to_string());
        let ended = RunEnded {
            status: RunStatus::Failed,
            error_code: Some(code),
            message: Some(error.to_string()),
            text: None,
        };
        let _unwritten = self.end(ended).await;
        error
    }
}

/// A run of kind `chat` with one turn: `haft call`, `haft exec`.
pub(crate) async fn one_turn(
    session: Arc<SessionInner>,
    run: RunId,
    requested: Vec<RequestedCall>,
    options: RunOptions,
    stopper: Arc<Stopper>,
) -> Result<Vec<CallOutcome>, EngineError> {
    let waiting = session.clone();
    let _turn = waiting.turn.lock().await;
    let world_info = world::activate_for(&session, &options.profile, None).await?;
    let given = (RunFiles::default(), world_info);
    let mut driver = Driver::begin(session, run, None, options, stopper, given)?;
    let contract = driver.contract();
    let attempts = TurnAliases::new(&driver.tools, &contract, &driver.invocation, 1).decode(requested);
    let ran = match driver.look_ahead(attempts) {
        Ok((attempts, _)) => driver.run_batch(&contract, attempts).await,
        Err(error) => Err(error),
    };
    let outcomes = match ran {
        Ok(outcomes) => outcomes,
        Err(error) => return Err(driver.fail(error).await),
    };
    let failed = outcomes.iter().filter(|outcome| outcome.result.is_error).count();
    let status = match failed {
        _ if driver.stopper.run_is_stopped() => RunStatus::Cancelled,
        0 => RunStatus::Completed,
        some if some < outcomes.len() => RunStatus::PartialSuccess,
        _ => RunStatus::Failed,
    };
    driver.end(RunEnded { status, error_code: None, message: None, text: None }).await?;
    Ok(outcomes)
}
