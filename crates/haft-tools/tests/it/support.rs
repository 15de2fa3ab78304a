//! What the tests of all families share: the path of a call, and small stand-ins for the ports.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use haft_core::artifact::Artifacts;
use haft_core::consent::{Answer, Circumstances, Closing, ConsentEnvironment, HostPlaces, Opening};
use haft_core::facts::Permission;
use haft_core::gate::Admission;
use haft_core::journal::Head;
use haft_core::path::{AskingCall, InjectedValues, Resolution, Standing, StartedCall};
use haft_core::policy::Decision;
use haft_core::ports::NeverCancelled;
use haft_core::profile::ApprovalMode;
use haft_core::turn::TurnAliases;
use haft_core::{
    ArtifactVersion, Batch, Cancel, Clock, ErrorClass, Gate, Grant, Ids, InvocationId, Profile, ProjectId,
    RequestedCall, RunId, Services, SessionId, Timestamp, Tool, ToolContext, ToolError, ToolId, ToolOutput,
    ToolRegistry, ToolTurnContract, snapshot,
};
use haft_core::{BoxFuture, Digest};
use haft_tools::files::{BeforeImages, ProjectError, ProjectFolders};
use serde_json::Value;

/// One invocation with some tools.
pub(crate) struct Invocation {
    gate: Gate,
    tools: haft_core::CompiledTools,
    contract: ToolTurnContract,
    injected: InjectedValues,
    environment: ConsentEnvironment,
    context: Context,
    turn: u32,
}

impl Invocation {
    pub(crate) fn new(tools: Vec<Arc<dyn Tool>>, services: Services) -> Self {
        Self::with_profile(tools, services, |_| {})
    }

    pub(crate) fn with_profile(
        tools: Vec<Arc<dyn Tool>>,
        services: Services,
        change: impl FnOnce(&mut Profile),
    ) -> Self {
        let mut profile = Profile::new("test");
        profile.tools.allow = tools.iter().map(|tool| tool.declaration().id().clone()).collect();
        profile.budgets.calls = u32::MAX;
        change(&mut profile);
        let mut registry = ToolRegistry::default();
        registry.register_all(tools).unwrap();
        let compiled = snapshot::compile(InvocationId::new("i_1"), &profile, &registry).unwrap();
        Self {
            gate: Gate::new(compiled.clone()),
            contract: ToolTurnContract::all(&compiled),
            context: Context::new(services, compiled.clone()),
            tools: compiled,
            injected: InjectedValues::default(),
            environment: ConsentEnvironment::default(),
            turn: 0,
        }
    }

    pub(crate) fn in_project(mut self, id: &str, folder: Option<&str>) -> Self {
        self.injected.project_id = Some(id.to_owned());
        self.environment = ConsentEnvironment {
            project: Some(ProjectId::new(id)),
            project_folder: folder.map(str::to_owned),
            ..ConsentEnvironment::default()
        };
        self
    }

    pub(crate) fn on_host(mut self, places: HostPlaces) -> Self {
        self.environment.host = Some(places);
        self
    }

    /// True if the call may run with these grants alone, nobody being there to ask.
    pub(crate) fn runs_with(&mut self, grants: &[Grant], alias: &str, arguments: Value) -> bool {
        let (run, session) = (RunId::new("r_1"), SessionId::new("s_1"));
        let standing = Standing {
            grants,
            yes: false,
            approval: ApprovalMode::Ask,
            run: &run,
            session: &session,
            now: Timestamp(0),
        };
        match self.decided(alias, arguments).unwrap().resolve(standing) {
            Resolution::Authorized(_) => true,
            Resolution::Asking(_) | Resolution::Refused(_) => false,
        }
    }

    /// Prepares a call and asks policy, as `--dry-run` does.
    pub(crate) fn decide(&mut self, alias: &str, arguments: Value) -> Decision {
        self.decided(alias, arguments).unwrap().decision().clone()
    }

    pub(crate) fn in_real_time(mut self) -> Self {
        self.context.clock = Box::new(RealTime);
        self
    }

    fn decided(&mut self, alias: &str, arguments: Value) -> Result<haft_core::DecidedCall, ToolError> {
        self.turn += 1;
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        let aliases =
            TurnAliases::new(&self.tools, &self.contract, &self.tools.snapshot().invocation, self.turn);
        let attempts = aliases.decode(vec![RequestedCall::call(alias, arguments)]);
        let refused = |refused: Box<haft_core::path::Refused>| ToolError::new(refused.code, refused.message);
        match self.gate.admit(&self.contract, attempts).pop().unwrap() {
            Admission::Admitted(call) => {
                Ok(call.prepare(&self.injected).map_err(refused)?.decide(&self.environment))
            }
            Admission::Refused(why) => Err(refused(why)),
        }
    }

    fn start(&mut self, alias: &str, arguments: Value) -> Result<StartedCall, ToolError> {
        let (run, session) = (RunId::new("r_1"), SessionId::new("s_1"));
        let standing = Standing {
            grants: &[],
            yes: true,
            approval: ApprovalMode::Ask,
            run: &run,
            session: &session,
            now: Timestamp(0),
        };
        let authorized = match self.decided(alias, arguments)?.resolve(standing) {
            Resolution::Authorized(call) => call,
            // What is asked every time is answered with a yes.
            Resolution::Asking(call) => yes(call, &self.tools, &self.environment),
            Resolution::Refused(why) => return Err(ToolError::new(why.code.clone(), why.message.clone())),
        };
        let mut batch = Batch::new(run);
        batch.start(Timestamp(0), &authorized).unwrap();
        let (records, head) = batch.seal(Head::empty());
        Ok(authorized.start(&mut batch.committed(records, head)).unwrap())
    }

    /// Walks one call along the whole path.
    pub(crate) async fn call(&mut self, alias: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
        let started = self.start(alias, arguments)?;
        started.run(&self.context).await
    }

    /// The text of a call that succeeds.
    pub(crate) async fn text(&mut self, alias: &str, arguments: Value) -> String {
        self.call(alias, arguments).await.unwrap().text()
    }

    /// Code and message of a call that fails.
    pub(crate) async fn error(&mut self, alias: &str, arguments: Value) -> (String, String) {
        let error = self.call(alias, arguments).await.unwrap_err();
        assert_eq!(error.class(), ErrorClass::Recoverable, "{alias}: {error}");
        (error.code().to_string(), error.message().to_owned())
    }
}

/// The call with a person's yes to it alone.
fn yes(
    call: AskingCall,
    tools: &haft_core::CompiledTools,
    environment: &ConsentEnvironment,
) -> haft_core::AuthorizedCall {
    let question = call.question(Opening {
        id: "q_1".into(),
        session: "s_1".into(),
        run: "r_1".into(),
        invocation: "i_1".into(),
        folder: environment.project_folder.clone(),
        deadline: None,
    });
    let shown = Some(question.digest);
    let closing = Closing::Answered { answer: Answer::Once, surface: "test".into(), by: None, shown };
    let now = Circumstances { folder: environment.project_folder.clone(), policy: tools.policy_version() };
    call.close(&question, &closing, &now, ("g_1".into(), Timestamp(0))).unwrap().0
}

struct Context {
    services: Services,
    tools: haft_core::CompiledTools,
    clock: Box<dyn Clock>,
    ids: Counter,
    session: SessionId,
    run: RunId,
}

impl Context {
    fn new(services: Services, tools: haft_core::CompiledTools) -> Self {
        let (session, run) = (SessionId::new("s_1"), RunId::new("r_1"));
        Self { services, tools, clock: Box::new(Ticks::default()), ids: Counter::default(), session, run }
    }
}

impl ToolContext for Context {
    fn cancel(&self) -> &dyn Cancel {
        &NeverCancelled
    }

    fn deadline(&self) -> Option<Timestamp> {
        None
    }

    fn clock(&self) -> &dyn Clock {
        self.clock.as_ref()
    }

    fn ids(&self) -> &dyn Ids {
        &self.ids
    }

    fn session(&self) -> &SessionId {
        &self.session
    }

    fn run(&self) -> &RunId {
        &self.run
    }

    fn services(&self) -> &Services {
        &self.services
    }

    fn progress(&self, _line: &str) {}

    fn alias_of(&self, tool: &ToolId) -> Option<&str> {
        self.tools.by_id(tool).map(|bound| bound.binding().alias.as_str())
    }
}

/// A clock that goes one millisecond further at every look.
#[derive(Default)]
struct Ticks(AtomicU64);

impl Clock for Ticks {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

/// The real time, for what is limited by it.
struct RealTime;

impl Clock for RealTime {
    #[expect(clippy::disallowed_methods, reason = "a limit of time is tested")]
    fn now(&self) -> Timestamp {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        Timestamp(u64::try_from(since.as_millis()).unwrap())
    }
}

#[derive(Default)]
struct Counter(AtomicU64);

impl Ids for Counter {
    fn fresh(&self) -> String {
        format!("{:016}", self.0.fetch_add(1, Ordering::Relaxed))
    }
}

/// Artifacts in memory.
pub(crate) struct MemoryArtifacts {
    versions: Mutex<BTreeMap<String, Vec<ArtifactVersion>>>,
    read_cap: u64,
}

impl MemoryArtifacts {
    /// Services with empty artifacts, of which one read shows `read_cap` characters.
    pub(crate) fn services(read_cap: u64) -> Services {
        let mut services = Services::default();
        services.insert::<dyn Artifacts>(Arc::new(Self { versions: Mutex::default(), read_cap }));
        services
    }
}

impl Artifacts for MemoryArtifacts {
    fn read(&self, id: &str, version: Option<u32>) -> Option<ArtifactVersion> {
        let all = self.versions.lock().unwrap();
        let versions = all.get(id)?;
        match version {
            None => versions.last().cloned(),
            Some(number) => versions.iter().find(|version| version.version == number).cloned(),
        }
    }

    fn list(&self) -> Vec<ArtifactVersion> {
        self.versions.lock().unwrap().values().filter_map(|versions| versions.last().cloned()).collect()
    }

    fn stage(&self, version: ArtifactVersion) -> Result<(), ToolError> {
        let mut all = self.versions.lock().unwrap();
        let versions = all.entry(version.id.clone()).or_default();
        assert_eq!(version.version as usize, versions.len() + 1, "the successor of what is there");
        versions.push(version);
        Ok(())
    }

    fn read_cap(&self) -> u64 {
        self.read_cap
    }
}

/// A profile in which `tools` ask.
pub(crate) fn asking(tools: &[&str]) -> impl FnOnce(&mut Profile) {
    let ids: Vec<ToolId> = tools.iter().map(|name| ToolId::builtin(name)).collect();
    move |profile| profile.tools.permission.extend(ids.into_iter().map(|id| (id, Permission::Ask)))
}

/// A folder of the test with a project `demo` and a canary beside it.
pub(crate) struct Ground {
    _folder: tempfile::TempDir,
    pub(crate) root: Dir,
    pub(crate) path: String,
    images: Arc<MemoryImages>,
}

impl Ground {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = Dir::open_ambient_dir(folder.path(), ambient_authority()).unwrap();
        root.create_dir_all("demo/src").unwrap();
        root.create_dir("outside").unwrap();
        root.write("outside/canary.txt", "canary").unwrap();
        let path = folder.path().to_str().unwrap().to_owned();
        Self { _folder: folder, root, path, images: Arc::default() }
    }

    pub(crate) fn services(&self) -> Services {
        let mut services = Services::default();
        services.insert::<dyn ProjectFolders>(Arc::new(Folders(self.root.try_clone().unwrap())));
        services.insert::<dyn BeforeImages>(self.images.clone());
        services
    }

    /// What was kept before changes, for tools that know no projects.
    pub(crate) fn images(&self) -> Arc<dyn BeforeImages> {
        self.images.clone()
    }

    /// The project's file, if it is there.
    pub(crate) fn file(&self, path: &str) -> Option<String> {
        self.root.read_to_string(format!("demo/{path}")).ok()
    }

    /// How many contents were kept.
    pub(crate) fn images_kept(&self) -> usize {
        self.images.0.lock().unwrap().len()
    }

    /// What was kept under that digest.
    pub(crate) fn image(&self, digest: &Digest) -> Option<Vec<u8>> {
        self.images.0.lock().unwrap().get(digest).cloned()
    }

    /// Fails unless everything outside of the project is as it was.
    pub(crate) fn assert_outside_untouched(&self) {
        let names = |folder: &str| -> Vec<String> {
            let entries = self.root.read_dir(folder).unwrap();
            let mut names: Vec<String> =
                entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        };
        assert_eq!(names("outside"), ["canary.txt"]);
        assert_eq!(names("."), ["demo", "outside"]);
        assert_eq!(self.root.read_to_string("outside/canary.txt").unwrap(), "canary");
    }
}

struct Folders(Dir);

impl ProjectFolders for Folders {
    fn open(&self, id: &str) -> Result<Dir, ProjectError> {
        if id != "demo" {
            return Err(ProjectError::NotFound(id.to_owned()));
        }
        self.0
            .open_dir(id)
            .map_err(|error| ProjectError::Unavailable { id: id.into(), reason: error.to_string() })
    }

    fn resolved(&self, _id: &str) -> Option<String> {
        None
    }
}

#[derive(Default)]
struct MemoryImages(Mutex<BTreeMap<Digest, Vec<u8>>>);

impl BeforeImages for MemoryImages {
    fn keep<'a>(&'a self, bytes: &'a [u8]) -> BoxFuture<'a, Result<Digest, ToolError>> {
        let digest = Digest::of(bytes);
        self.0.lock().unwrap().insert(digest, bytes.to_vec());
        Box::pin(async move { Ok(digest) })
    }
}
