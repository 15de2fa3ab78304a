//! Puts store, engine, tools and surfaces together: the composition root of the binary.
//!
//! [`Workplace`] is what the commands that run or read something share; [`Chosen`] is what a run needs: session, profile,
//! project and the yeses given in advance.

use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use haft::system::{SystemClock, SystemIds};
use haft_core::consent::ConsentEnvironment;
use haft_core::ids::Provider;
use haft_core::journal::RunStatus;
use haft_core::ports::{Clock, Ids, ProjectRows, SessionRow};
use haft_core::snapshot::BoundTool;
use haft_core::{
    CompiledTools, Grant, GrantId, Lifetime, Profile, ProjectId, RunId, Scope, Services, SessionId, Timestamp,
};
use haft_engine::{
    Audience, CurrentPolicy, Engine, EngineError, EngineParts, RunHandle, RunOptions, Session, SessionChoice,
    SurfaceId, outside_of,
};
use haft_store::SqliteStore;
use tokio::sync::Notify;

use crate::agents::HomeAgents;
use crate::current::RulesOnDisk;
use crate::exit::Failure;
use crate::folders;
use crate::secrets;
use crate::setup::Setup;
use crate::surroundings;
use crate::terminal::screen::Screen;
use crate::terminal::surface::TerminalSurface;
use crate::toolset;
use crate::unattended;
use crate::world_info::HomeBooks;

/// Store and engine over the home.
pub(crate) struct Workplace {
    /// Home, configuration, tools.
    pub(crate) setup: Setup,
    /// What lasts.
    pub(crate) store: Arc<SqliteStore>,
    /// What runs.
    pub(crate) engine: Engine,
    /// The clock.
    pub(crate) clock: Arc<SystemClock>,
    /// Fresh ids.
    pub(crate) ids: Arc<SystemIds>,
    /// The terminal, if a person is there.
    surface: Option<SurfaceId>,
    /// Told of a Ctrl-C that a question swallowed.
    pub(crate) interrupted: Arc<Notify>,
}

/// What a run is made of.
pub(crate) struct Chosen {
    /// Which session.
    pub(crate) session: SessionChoice,
    /// The profile, as it is named again.
    pub(crate) profile_name: String,
    /// The profile.
    pub(crate) profile: Arc<Profile>,
    /// Its tools, as the run's snapshot will have them.
    pub(crate) tools: CompiledTools,
    /// The project.
    pub(crate) environment: ConsentEnvironment,
    /// What `--allow` says.
    pub(crate) grants: Vec<Grant>,
    /// Whether the rules are still the same when a person has answered; none where nobody is asked.
    current: Option<Arc<RulesOnDisk>>,
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        match &error {
            EngineError::NoSession(_)
            | EngineError::Deleted(_)
            | EngineError::NoLastSession
            | EngineError::Compile(_) => Self::usage(error),
            EngineError::Store(store) => store.clone().into(),
            EngineError::Payload(_)
            | EngineError::NotCommitted(_)
            | EngineError::Identity(_)
            | EngineError::System { .. }
            | EngineError::Died(_) => Self::failed(error),
        }
    }
}

impl From<haft_core::ports::StoreError> for Failure {
    fn from(error: haft_core::ports::StoreError) -> Self {
        use haft_core::ports::StoreError;
        match &error {
            StoreError::Unusable { .. } | StoreError::TooNew { .. } | StoreError::Missing { .. } => {
                Self::usage(error)
            }
            StoreError::Leased { .. }
            | StoreError::LeaseLost { .. }
            | StoreError::Exists { .. }
            | StoreError::Damaged { .. } => Self::failed(error),
        }
    }
}

impl Workplace {
    /// Opens the store in the home, and the terminal as the place for questions if a person is there. `command` names this process to others: `haft chat`.
    pub(crate) async fn open(setup: Setup, command: &str) -> Result<Self, Failure> {
        let clock = Arc::new(SystemClock);
        let ids = Arc::new(SystemIds::new().map_err(Failure::failed)?);
        let store = Arc::new(SqliteStore::open(setup.home.root(), clock.now())?);
        let mut services = Services::default();
        services.insert(Arc::new(secrets::mask(&setup)?));
        folders::insert(&mut services, setup.home.root(), store.projects().await?, store.clone());
        let engine = Engine::new(EngineParts {
            store: store.clone(),
            clock: clock.clone(),
            ids: ids.clone(),
            registry: Arc::new(setup.registry.clone()),
            services,
            owner: format!("process {} ({command})", std::process::id()),
        });
        let interrupted = Arc::new(Notify::new());
        let surface = (surroundings::has_terminal() && !setup.globals.json)
            .then(|| TerminalSurface::attach(engine.consent(), setup.output, interrupted.clone()));
        Ok(Self { setup, store, engine, clock, ids, surface, interrupted })
    }

    /// The session that `--session` means.
    pub(crate) fn session_choice(&self) -> SessionChoice {
        match self.setup.globals.session.as_deref() {
            None => SessionChoice::New,
            Some(text) => named_session(text),
        }
    }

    /// The stored session that `text` means: an id or `last`.
    pub(crate) async fn stored_session(&self, text: &str) -> Result<SessionRow, Failure> {
        match self.engine.find(&named_session(text)).await {
            Ok(Some(row)) => Ok(row),
            Err(EngineError::NoLastSession) => {
                Err(Failure::usage("there is no session yet").hint("`haft chat` starts one."))
            }
            Ok(None) => Err(Failure::usage(format!("there is no session `{text}`"))),
            Err(error) => Err(error.into()),
        }
    }

    /// Session, profile, project and yeses, as the contract chooses them.
    pub(crate) async fn choose(&self) -> Result<Chosen, Failure> {
        self.choose_for(self.session_choice()).await
    }

    /// As [`Workplace::choose`], for that session.
    pub(crate) async fn choose_for(&self, session: SessionChoice) -> Result<Chosen, Failure> {
        let row = self.engine.find(&session).await?;
        let (name, mut loaded) = self.setup.profile(row.as_ref().map(|row| row.profile.as_str()))?;
        let tools = self.setup.compile(&loaded)?;
        HomeBooks::of(self.setup.home.root()).check(&loaded.profile)?;
        let named = self.setup.globals.project.as_deref().map(ProjectId::from);
        let project = named.or_else(|| row.and_then(|row| row.project));
        let project_folder = match &project {
            Some(id) => self.project_folder(id).await?,
            None => None,
        };
        let grants = self.grants(&tools, &loaded.profile, project_folder.as_deref())?;
        let environment = ConsentEnvironment {
            project,
            project_folder,
            host: Some(folders::places(self.setup.home.root())),
            attended: surroundings::has_terminal() && !self.setup.globals.json,
        };
        unattended::fix(&mut loaded.profile.unattended, environment.project_folder.as_deref())?;
        unattended::check(&loaded, &tools, &environment)?;
        let profile_name = name.text();
        let current =
            (self.surface.is_some()).then(|| RulesOnDisk::of(&self.setup, &profile_name, &loaded, &tools));
        Ok(Chosen {
            session,
            profile_name,
            profile: Arc::new(loaded.profile),
            tools,
            environment,
            grants,
            current,
        })
    }

    /// Opens the session with its grants.
    pub(crate) async fn start(&self, chosen: &Chosen) -> Result<Session, Failure> {
        let project = chosen.environment.project.clone();
        let environment = chosen.environment.clone();
        let session =
            self.engine.open(chosen.session.clone(), &chosen.profile_name, project, environment).await?;
        if let Some(surface) = self.surface {
            // The terminal shows the questions of the session at hand and of no other (APR-20).
            self.engine.consent().bind(surface, Audience::Session(session.id().clone()));
        }
        for grant in &chosen.grants {
            let (id, given) = (GrantId::new(format!("g_{}", self.ids.fresh())), self.clock.now());
            let lifetime = Lifetime::Session(session.id().clone());
            let by = surroundings::login_name();
            session.grant(Grant { id, given, lifetime, by, ..grant.clone() });
        }
        let of_servers = |tool: &Arc<BoundTool>| matches!(tool.id().provider(), Provider::Mcp(_));
        if let Some(notice) = chosen.profile.approval.notice()
            && chosen.tools.tools().iter().any(of_servers)
        {
            self.setup.output.note(notice);
        }
        for recovered in session.recovered() {
            self.setup.output.warn(&recovered_text(recovered));
        }
        Ok(session)
    }

    /// Which content from outside is in the conversation already, where the profile asks again because of it.
    pub(crate) async fn outside(&self, chosen: &Chosen) -> Result<Option<String>, Failure> {
        if !chosen.profile.taint.ask {
            return Ok(None);
        }
        match self.engine.find(&chosen.session).await? {
            Some(row) => Ok(outside_of(self.store.as_ref(), &row.id).await?),
            None => Ok(None),
        }
    }

    /// The options that all runs of this start share.
    pub(crate) fn options(&self, chosen: &Chosen, surface: &str) -> RunOptions {
        let mut options = RunOptions::new(chosen.profile.clone(), surface);
        options.yes = self.setup.globals.yes;
        options.agents = HomeAgents::of(&self.setup, self.store.clone());
        options.policy_now = chosen.current.clone().map(|current| current as Arc<dyn CurrentPolicy>);
        options
    }

    /// Begins to watch for Ctrl-C. It comes before the run, so that no Ctrl-C ends the process instead of the run.
    pub(crate) async fn watch(&self) -> Watch {
        let mut watch = watch();
        // The first look is what makes the process listen.
        tokio::select! {
            biased;
            _ = &mut watch => {}
            () = std::future::ready(()) => return watch,
        }
        self::watch()
    }

    /// Waits for a run. A Ctrl-C stops its tool, a second one the run; so does a reader of stdout that went away.
    pub(crate) async fn guard<T: Send + 'static>(
        &self,
        handle: RunHandle<T>,
        mut watch: Watch,
        screen: Option<&Screen>,
    ) -> Result<T, Failure> {
        let interrupt = handle.stopper();
        // A Ctrl-C at a question of the run before does not count for this one.
        tokio::select! {
            biased;
            () = self.interrupted.notified() => {}
            () = std::future::ready(()) => {}
        }
        let mut ended = std::pin::pin!(handle.wait());
        let nobody_reads = async {
            match screen {
                Some(screen) => screen.stopped().await,
                None => std::future::pending().await,
            }
        };
        let mut nobody_reads = std::pin::pin!(nobody_reads);
        let mut reading = true;
        loop {
            tokio::select! {
                ended = &mut ended => return Ok(ended?),
                pressed = &mut watch => {
                    watch = self::watch();
                    pressed.map_err(|error| Failure::failed(format!("Ctrl-C cannot be watched: {error}")))?;
                    if surroundings::has_terminal() {
                        // The terminal itself shows `^C`.
                        self.setup.output.note("");
                    }
                    interrupt();
                }
                () = self.interrupted.notified() => interrupt(),
                () = &mut nobody_reads, if reading => {
                    reading = false;
                    interrupt();
                    interrupt();
                }
            }
        }
    }

    /// Tells which session and run this is.
    pub(crate) fn tell_ids(&self, session: &Session, run: &RunId) {
        self.setup.output.note(&format!("session {}, run {run}", session.id()));
    }

    async fn project_folder(&self, id: &ProjectId) -> Result<Option<String>, Failure> {
        let Some(row) = self.store.project(id).await? else {
            self.setup
                .output
                .warn(&format!("there is no project `{id}`; `haft project add FOLDER --id {id}` makes one"));
            return Ok(None);
        };
        Ok(Some(row.path))
    }

    fn grants(
        &self,
        tools: &CompiledTools,
        profile: &Profile,
        project_folder: Option<&str>,
    ) -> Result<Vec<Grant>, Failure> {
        let grant = |allow: &crate::args::Allow| {
            let tool = toolset::find(tools, &self.setup.registry, &allow.tool, &profile.name)
                .map_err(|failure| failure.at("--allow"))?;
            let scope = match &allow.scope {
                Scope::Path(path) => Scope::Path(real(path, project_folder)?),
                Scope::File(path) => Scope::File(real(path, project_folder)?),
                other @ (Scope::Tool | Scope::Host(_) | Scope::Command(_)) => other.clone(),
            };
            // Whatever the session's id will be: `start` makes it a yes of that session.
            let lifetime = Lifetime::Until(Timestamp(u64::MAX));
            let (id, tool) = (GrantId::new("g_allow"), tool.id().clone());
            Ok(Grant::new(id, tool, scope, lifetime, "--allow", Timestamp(0)))
        };
        self.setup.globals.allow.iter().map(grant).collect()
    }
}

/// Ends at the next Ctrl-C.
pub(crate) type Watch = Pin<Box<dyn Future<Output = std::io::Result<()>> + Send>>;

fn watch() -> Watch {
    Box::pin(tokio::signal::ctrl_c())
}

/// A path as tools name it: absolute, links resolved. A relative one starts from the project's folder, if there is one.
pub(crate) fn real(path: &str, project_folder: Option<&str>) -> Result<String, Failure> {
    let path = Path::new(path);
    let path = match project_folder {
        Some(folder) if path.is_relative() => Path::new(folder).join(path),
        _ => surroundings::absolute(path)?,
    };
    Ok(surroundings::resolved(&path).display().to_string())
}

fn named_session(text: &str) -> SessionChoice {
    if text == "last" { SessionChoice::Last } else { SessionChoice::Id(SessionId::from(text)) }
}

fn recovered_text(recovered: &haft_engine::Recovered) -> String {
    let run = &recovered.run;
    let mut text = if recovered.unknown.is_empty() {
        format!("the run {run} had been cut off; it is closed now, and nothing of it runs again")
    } else {
        let names = recovered.unknown.join(", ");
        format!(
            "the run {run} had been cut off while it ran {names}: look whether that happened; nothing of it runs again"
        )
    };
    if recovered.status == RunStatus::PartialSuccess {
        text.push_str("; what it had committed stays");
    }
    if !recovered.unanswered.is_empty() {
        let names = recovered.unanswered.join(", ");
        text.push_str(&format!("; the question about {names} was never answered and counts as a no"));
    }
    text
}
