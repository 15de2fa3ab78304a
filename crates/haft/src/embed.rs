//! One session of Haft inside another program: tools, a profile and a store go in; calls and prompts walk the whole path.
//!
//! It puts the ports together and adds no law of its own: what it does not offer, [`Haft::engine`] and [`Haft::session`] do.

use std::fmt;
use std::sync::Arc;

use haft_core::consent::{ConsentEnvironment, ConsentSurface};
use haft_core::grant::Grant;
use haft_core::nearest::nearest;
use haft_core::ports::{Model, Store, StoreError};
use haft_core::profile::ExecutionMode;
use haft_core::registry::RegistrationError;
use haft_core::{Profile, ProjectId, RequestedCall, SealedRecord, Services, Tool, ToolId, ToolRegistry};
use haft_engine::{
    CallOutcome, Engine, EngineError, EngineParts, EventSink, NoEvents, RunOptions, RunOutcome, Session,
    SessionChoice,
};
use haft_store::MemoryStore;
use serde_json::Value;

use crate::builder::ToolBuildError;
use crate::system::{NoRandomness, SystemClock, SystemIds};

/// How this surface is called in records and grants.
const SURFACE: &str = "embed";

/// Why something could not be begun. A tool's failure is never one of these: it is a [`CallOutcome`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HaftError {
    /// A tool cannot be built.
    #[error(transparent)]
    Build(#[from] ToolBuildError),
    /// A tool cannot be registered.
    #[error(transparent)]
    Registration(#[from] RegistrationError),
    /// No ids can be made.
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
    /// The host failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No tool has that name.
    #[error("there is no tool `{name}`{}", did_you_mean(.suggestions))]
    UnknownTool {
        /// The name.
        name: String,
        /// The nearest ones, at most five.
        suggestions: Vec<String>,
    },
    /// The tool is there, and the profile does not allow it.
    #[error("the profile `{profile}` does not allow `{tool}`; add it to its `tools.allow`")]
    NotAllowed {
        /// The tool.
        tool: ToolId,
        /// The profile.
        profile: String,
    },
    /// Arguments that are no object of named parameters.
    #[error("the arguments of `{0}` must be an object of named parameters, such as {{\"text\": \"hello\"}}")]
    NotAnObject(String),
    /// A prompt without a model.
    #[error("there is no model to ask; give the builder one by `model`")]
    NoModel,
}

fn did_you_mean(names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!("; did you mean {}?", names.join(", ")) }
}

/// What becomes a tool: one that is there, or one that was just built.
pub trait IntoTool {
    /// The tool.
    ///
    /// # Errors
    /// If it could not be built.
    fn into_tool(self) -> Result<Arc<dyn Tool>, ToolBuildError>;
}

impl IntoTool for Arc<dyn Tool> {
    fn into_tool(self) -> Result<Arc<dyn Tool>, ToolBuildError> {
        Ok(self)
    }
}

impl IntoTool for Result<Arc<dyn Tool>, ToolBuildError> {
    fn into_tool(self) -> Result<Arc<dyn Tool>, ToolBuildError> {
        self
    }
}

/// Puts a [`Haft`] together. Without more than tools it has a session in memory, in which all of them may be called.
#[must_use = "a builder opens no session before `open`"]
pub struct HaftBuilder {
    registry: ToolRegistry,
    tools: Vec<Result<Arc<dyn Tool>, ToolBuildError>>,
    profile: Option<Profile>,
    store: Option<Arc<dyn Store>>,
    model: Option<Arc<dyn Model>>,
    services: Services,
    session: SessionChoice,
    project: Option<ProjectId>,
    owner: String,
    surface: Option<Arc<dyn ConsentSurface>>,
    events: Arc<dyn EventSink>,
    yes: bool,
}

impl HaftBuilder {
    /// Adds a tool, after those that are there.
    pub fn tool(mut self, tool: impl IntoTool) -> Self {
        self.tools.push(tool.into_tool());
        self
    }

    /// Adds several tools, in order.
    pub fn tools<T: IntoTool>(self, tools: impl IntoIterator<Item = T>) -> Self {
        tools.into_iter().fold(self, Self::tool)
    }

    /// Takes the tools of `registry`, and its rule about clashes; tools given one by one come after them.
    pub fn registry(mut self, registry: ToolRegistry) -> Self {
        self.registry = registry;
        self
    }

    /// How the session works: tools, permissions, budgets. Without one all tools are allowed, in order of registration.
    pub fn profile(mut self, profile: Profile) -> Self {
        self.profile = Some(profile);
        self
    }

    /// Where sessions and journals last; without one in memory.
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// The model that [`Haft::run`] asks.
    pub fn model(mut self, model: Arc<dyn Model>) -> Self {
        self.model = Some(model);
        self
    }

    /// Services that tools find through their context (REG-10).
    pub fn services(mut self, services: Services) -> Self {
        self.services = services;
        self
    }

    /// Which session to open; without it a new one.
    pub fn session(mut self, session: SessionChoice) -> Self {
        self.session = session;
        self
    }

    /// The session's project, whose id is put into the arguments of tools that ask for it.
    pub fn project(mut self, project: ProjectId) -> Self {
        self.project = Some(project);
        self
    }

    /// The name of the program, for whoever finds the session in use.
    pub fn owner(mut self, owner: impl Into<String>) -> Self {
        self.owner = owner.into();
        self
    }

    /// Where questions are shown. Answers go to [`Engine::consent`]; without any surface every question is a no.
    pub fn surface(mut self, surface: Arc<dyn ConsentSurface>) -> Self {
        self.surface = Some(surface);
        self
    }

    /// Who hears of each record as it becomes durable, and of what a model streams.
    pub fn events(mut self, events: Arc<dyn EventSink>) -> Self {
        self.events = events;
        self
    }

    /// Answers every ask with yes, but those that must be asked every time.
    pub fn yes(mut self, yes: bool) -> Self {
        self.yes = yes;
        self
    }

    /// Opens the session. Needs a tokio runtime with time.
    ///
    /// # Errors
    /// The first tool that cannot be built or registered; a store or a session that cannot be used.
    pub async fn open(self) -> Result<Haft, HaftError> {
        let mut registry = self.registry;
        for tool in self.tools {
            registry.register(tool?)?;
        }
        let registry = Arc::new(registry);
        let profile = Arc::new(self.profile.unwrap_or_else(|| allow_all(&registry)));
        let engine = Engine::new(EngineParts {
            store: self.store.unwrap_or_else(|| Arc::new(MemoryStore::default())),
            clock: Arc::new(SystemClock),
            ids: Arc::new(SystemIds::new()?),
            registry,
            services: self.services,
            owner: self.owner,
        });
        if let Some(surface) = self.surface {
            engine.consent().attach(surface);
        }
        let environment = ConsentEnvironment::default();
        let session = engine.open(self.session, &profile.name, self.project, environment).await?;
        let mut options = RunOptions::new(profile, SURFACE);
        options.yes = self.yes;
        options.events = self.events;
        options.model = self.model.as_ref().map(|model| model.traits().name.clone());
        Ok(Haft { engine, session, options, model: self.model })
    }
}

/// A profile in which all of `registry` may be called.
fn allow_all(registry: &ToolRegistry) -> Profile {
    let mut profile = Profile::new(SURFACE);
    profile.tools.allow = registry.iter().map(|tool| tool.declaration().id().clone()).collect();
    profile
}

impl fmt::Debug for HaftBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HaftBuilder").field("tools", &self.tools.len()).finish_non_exhaustive()
    }
}

/// An open session with its tools. See the [crate](crate) for a whole example.
pub struct Haft {
    engine: Engine,
    session: Session,
    options: RunOptions,
    model: Option<Arc<dyn Model>>,
}

impl Haft {
    /// Begins to put one together.
    pub fn builder() -> HaftBuilder {
        HaftBuilder {
            registry: ToolRegistry::default(),
            tools: Vec::new(),
            profile: None,
            store: None,
            model: None,
            services: Services::default(),
            session: SessionChoice::New,
            project: None,
            owner: "an embedding program".to_owned(),
            surface: None,
            events: Arc::new(NoEvents),
            yes: false,
        }
    }

    /// One call through the whole path, as a run of its own. `tool` is an alias of the profile, a tool id (`builtin:` may be left
    /// out), or the alias that a tool would have.
    ///
    /// What goes wrong on the path — arguments that do not fit, a refusal, a failing tool — is the result of the call.
    ///
    /// # Errors
    /// If no such tool is there or allowed, if `arguments` is no JSON object, or if the host fails.
    pub async fn call(&self, tool: &str, arguments: Value) -> Result<CallOutcome, HaftError> {
        let alias = self.alias_of(tool)?;
        let Value::Object(arguments) = arguments else { return Err(HaftError::NotAnObject(tool.to_owned())) };
        let mut outcomes = self.calls(vec![RequestedCall::call(alias, arguments)]).await?;
        // One call in, one outcome out: that is the engine's promise.
        outcomes.pop().ok_or_else(|| EngineError::Died("the call has no outcome".to_owned()).into())
    }

    /// Several calls as one batch, in one run; outcomes come in call order. Names are aliases, and one that is unknown is an
    /// error outcome, as for a model.
    ///
    /// # Errors
    /// If the host fails.
    pub async fn calls(&self, requested: Vec<RequestedCall>) -> Result<Vec<CallOutcome>, HaftError> {
        Ok(self.session.calls(requested, self.options.clone()).wait().await?)
    }

    /// B's first entry point (EXE-04): the calls one after another, whatever the profile says. Outcomes come in call order;
    /// [`nanoclaw_record`](haft_core::ToolResult::nanoclaw_record) gives each as a result dict (RES-04).
    ///
    /// # Errors
    /// If the host fails.
    pub async fn process_tool_calls(
        &self,
        requested: Vec<RequestedCall>,
    ) -> Result<Vec<CallOutcome>, HaftError> {
        self.calls_in_mode(requested, ExecutionMode::Serial, 1).await
    }

    /// B's second entry point (EXE-04): the calls side by side where they do not touch the same, at most `max_workers` at once
    /// (1 to [`Profile::MOST_WORKERS`]), whatever the profile says. Outcomes come in call order.
    ///
    /// ```
    /// # use haft::Haft;
    /// # use haft::core::RequestedCall;
    /// # use haft::serde_json::json;
    /// # /// Doubles a number.
    /// # #[haft::tool(effect = "read")]
    /// # async fn double(
    /// #     /// The number.
    /// #     of: i64,
    /// # ) -> String {
    /// #     (of * 2).to_string()
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let haft = Haft::builder().tool(double::tool()).open().await?;
    /// let call = |of: i64| RequestedCall::call("double", [("of".to_owned(), json!(of))].into_iter().collect());
    /// let outcomes = haft.process_tool_calls_parallel(vec![call(1), call(2)], 4).await?;
    /// let record = outcomes[1].result.nanoclaw_record(&outcomes[1].arguments);
    /// assert_eq!((record["function"]["name"].as_str(), record["success"].as_bool()), (Some("double"), Some(true)));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the host fails.
    pub async fn process_tool_calls_parallel(
        &self,
        requested: Vec<RequestedCall>,
        max_workers: u32,
    ) -> Result<Vec<CallOutcome>, HaftError> {
        self.calls_in_mode(requested, ExecutionMode::Parallel, max_workers).await
    }

    async fn calls_in_mode(
        &self,
        requested: Vec<RequestedCall>,
        execution: ExecutionMode,
        max_workers: u32,
    ) -> Result<Vec<CallOutcome>, HaftError> {
        let mut options = self.options.clone();
        options.profile = Arc::new(Profile { execution, max_workers, ..Profile::clone(&options.profile) });
        Ok(self.session.calls(requested, options).wait().await?)
    }

    /// Lets the model work on `prompt` until it is done.
    ///
    /// # Errors
    /// If there is no model, or if the host fails.
    pub async fn run(&self, prompt: impl Into<String>) -> Result<RunOutcome, HaftError> {
        let model = self.model.clone().ok_or(HaftError::NoModel)?;
        Ok(self.session.prompt(prompt.into(), model, self.options.clone()).wait().await?)
    }

    /// All records of the session, run after run.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn journal(&self) -> Result<Vec<SealedRecord>, HaftError> {
        let store = self.engine.store();
        let mut records = Vec::new();
        for run in store.runs(Some(self.session.id())).await? {
            records.extend(store.records(&run.id).await?);
        }
        Ok(records)
    }

    /// Adds a standing yes for as long as the session is open.
    pub fn grant(&self, grant: Grant) {
        self.session.grant(grant);
    }

    /// The engine: consent service, store, registry, further sessions.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The open session: its id, artifacts, and runs that can be stopped.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The profile.
    pub fn profile(&self) -> &Arc<Profile> {
        &self.options.profile
    }

    /// Ends the session's use by this program, so that another may open it at once.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn close(self) -> Result<(), HaftError> {
        Ok(self.session.close().await?)
    }

    /// The alias under which the profile knows the tool that `name` means.
    fn alias_of(&self, name: &str) -> Result<String, HaftError> {
        let (registry, profile) = (self.engine.registry(), self.profile());
        let tools = &profile.tools;
        let alias = |tool: &Arc<dyn Tool>| {
            let declaration = tool.declaration();
            tools.alias.get(declaration.id()).cloned().unwrap_or_else(|| declaration.alias())
        };
        let is_allowed = |id: &ToolId| tools.allow.contains(id) && !tools.deny.contains(id);
        if tools
            .allow
            .iter()
            .filter(|id| is_allowed(id))
            .filter_map(|id| registry.get(id))
            .any(|tool| alias(tool) == name)
        {
            return Ok(name.to_owned());
        }
        match registry.resolve(name) {
            Some(id) if is_allowed(&id) => Ok(registry.get(&id).map(alias).unwrap_or_default()),
            Some(tool) => Err(HaftError::NotAllowed { tool, profile: profile.name.clone() }),
            None => {
                let known: Vec<String> = registry.iter().map(alias).collect();
                let near = nearest(name, known.iter().map(String::as_str), 5);
                let suggestions = near.into_iter().map(str::to_owned).collect();
                Err(HaftError::UnknownTool { name: name.to_owned(), suggestions })
            }
        }
    }
}

impl fmt::Debug for Haft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Haft")
            .field("session", self.session.id())
            .field("profile", &self.options.profile.name)
            .finish_non_exhaustive()
    }
}
