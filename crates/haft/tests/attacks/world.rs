//! The real path for one case: real engine, real policy, real file tools, a store in memory; only time, the person and what a
//! command does are made up.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use haft_core::budget::Budgets;
use haft_core::capability::{Capabilities, Capability};
use haft_core::consent::{ConsentEnvironment, Question};
use haft_core::policy::{Rule, check};
use haft_core::ports::{Clock, Ids, ProjectRow, Store};
use haft_core::profile::{ApprovalMode, ExecutionMode, Reuse};
use haft_core::snapshot::compile;
use haft_core::streak::LoopLimits;
use haft_core::{
    Grant, GrantId, Lifetime, Payload, Profile, RequestedCall, RunId, Scope, Timestamp, Tool, ToolId,
    ToolRegistry,
};
use haft_engine::{
    AgentModel, Agents, CallOutcome, Engine, EngineError, EngineParts, RunHandle, RunOptions, RunOutcome,
    Session, SessionChoice,
};
use haft_models::{Scripted, TextDialect};
use haft_store::MemoryStore;
use haft_store::verify::{Class, verify_store};
use indexmap::IndexMap;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio::time::{Duration, Instant};

use crate::case::{self, Case, Setup, Step, Verdict};
use crate::ground::Ground;
use crate::person::{Deed, MINUTE, Person, RulesNow};
use crate::tools::{self, Log};

/// The time of tokio, which is paused: it passes where everybody waits.
struct CaseClock {
    began: Instant,
    /// Milliseconds by which this process is late.
    ahead: AtomicU64,
}

impl Clock for CaseClock {
    fn now(&self) -> Timestamp {
        let passed = u64::try_from(self.began.elapsed().as_millis()).unwrap();
        Timestamp(1_000 + passed + self.ahead.load(Ordering::Relaxed))
    }
}

struct CaseIds(AtomicU64);

impl Ids for CaseIds {
    fn fresh(&self) -> String {
        format!("{:04}", self.0.fetch_add(1, Ordering::Relaxed))
    }
}

/// What became of one call.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) verdict: Verdict,
    pub(crate) what: String,
}

/// One case at work.
pub(crate) struct World {
    setup: Setup,
    pub(crate) ground: Ground,
    memory: Arc<MemoryStore>,
    clock: Arc<CaseClock>,
    ids: Arc<CaseIds>,
    pub(crate) log: Log,
    registry: Arc<ToolRegistry>,
    profile: Profile,
    process: Option<Process>,
    last_question: Option<Question>,
    /// What models and callers read.
    pub(crate) read: Vec<String>,
}

/// The agents that can be called.
struct Crew(IndexMap<String, Arc<Profile>>);

impl Agents for Crew {
    fn names(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    fn profile(&self, name: &str) -> Result<Option<Arc<Profile>>, String> {
        Ok(self.0.get(name).cloned())
    }

    fn model(&self, _: &Profile, caller: &AgentModel) -> Result<AgentModel, String> {
        Ok(caller.clone())
    }
}

/// What ends with a process.
struct Process {
    engine: Engine,
    session: Session,
    person: Arc<Person>,
    deeds: mpsc::UnboundedReceiver<Deed>,
}

enum Work {
    Calls(RunHandle<Vec<CallOutcome>>),
    Prompt(RunHandle<RunOutcome>),
}

impl Work {
    fn run(&self) -> RunId {
        match self {
            Self::Calls(handle) => handle.run().clone(),
            Self::Prompt(handle) => handle.run().clone(),
        }
    }

    async fn wait(self) -> Result<Vec<CallOutcome>, EngineError> {
        match self {
            Self::Calls(handle) => handle.wait().await,
            Self::Prompt(handle) => handle.wait().await.map(|_| Vec::new()),
        }
    }
}

impl World {
    pub(crate) async fn new(case: &Case) -> Self {
        let ground = Ground::new();
        let setup = placed(&ground, case.setup.clone());
        ground.write(&setup.files);
        ground.link(&setup.links);
        ground.hard_link(&setup.hard_links);
        let log = Log::default();
        let clock = Arc::new(CaseClock { began: Instant::now(), ahead: AtomicU64::new(0) });
        let ids = Arc::new(CaseIds(AtomicU64::new(0)));
        let registry = Arc::new(registry(&log, &setup));
        let profile = profile_of(&setup, &registry);
        let memory = Arc::new(MemoryStore::new());
        let project = ProjectRow { id: "demo".into(), path: ground.path("project"), added: Timestamp(1) };
        let store: Arc<dyn Store> = memory.clone();
        store.put_project(&project).await.unwrap();
        let mut world = Self {
            setup,
            ground,
            memory,
            clock,
            ids,
            log,
            registry,
            profile,
            process: None,
            last_question: None,
            read: Vec::new(),
        };
        world.begin(SessionChoice::New).await;
        world
    }

    /// A process of its own over what lasts.
    async fn begin(&mut self, choice: SessionChoice) {
        let store: Arc<dyn Store> = self.memory.clone();
        let engine = Engine::new(EngineParts {
            store: store.clone(),
            clock: self.clock.clone(),
            ids: self.ids.clone(),
            registry: self.registry.clone(),
            services: self.ground.services(&self.setup.secrets, &self.memory),
            owner: "a test".into(),
        });
        let (sender, deeds) = mpsc::unbounded_channel();
        let person = Person::new(engine.consent(), store, sender);
        if !self.setup.nobody {
            engine.consent().attach(person.clone());
        }
        let project = Some("demo".into());
        let session = engine.open(choice, "attacked", project, self.environment()).await.unwrap();
        self.process = Some(Process { engine, session, person, deeds });
    }

    fn environment(&self) -> ConsentEnvironment {
        ConsentEnvironment {
            project: Some("demo".into()),
            project_folder: Some(self.ground.path("project")),
            host: Some(self.ground.places()),
            attended: !self.setup.nobody,
        }
    }

    /// Gives the yeses that the case begins with.
    pub(crate) fn grant(&self) {
        let process = self.process.as_ref().unwrap();
        for (number, text) in self.setup.grants.iter().enumerate() {
            let (tool, scope) = self.allowed(text);
            let lifetime = Lifetime::Session(process.session.id().clone());
            let id = GrantId::new(format!("g_given_{number}"));
            process.session.grant(Grant::new(id, tool, scope, lifetime, "--allow", Timestamp(1)));
        }
    }

    fn allowed(&self, text: &str) -> (ToolId, Scope) {
        let (alias, scope) = text.split_once('=').unwrap_or((text, ""));
        (id_of(&self.registry, &self.profile, alias), scope.parse().unwrap())
    }

    /// Does one step, and says what became of its calls.
    pub(crate) async fn step(&mut self, step: &Step) -> Vec<Seen> {
        self.ground.write(&step.files);
        self.ground.link(&step.links);
        tokio::time::sleep(Duration::from_secs(step.wait_s)).await;
        if let Some(from) = &step.revoke {
            self.revoke(from).await;
        }
        if step.reopen {
            let process = self.process.take().unwrap();
            let id = process.session.id().clone();
            process.session.close().await.unwrap();
            self.begin(SessionChoice::Id(id)).await;
        }
        if step.late_yes {
            let question = self.last_question.as_ref().expect("nothing was asked before");
            let yes = haft_engine::Reply::to(question, haft_core::consent::Answer::Once, "person");
            let service = self.process.as_ref().unwrap().engine.consent();
            assert!(service.answer(&question.id, yes).is_err(), "a late answer counts");
        }
        match self.work(step) {
            Some(work) => self.follow(work).await,
            None => Vec::new(),
        }
    }

    async fn revoke(&self, from: &str) {
        let process = self.process.as_ref().unwrap();
        let live = process.session.grants().into_iter().filter(|one| one.is_live(self.clock.now()));
        for held in live {
            match from {
                "here" => assert!(process.session.revoke(&held.grant.id).await.unwrap()),
                "elsewhere" => {
                    let store: &dyn Store = self.memory.as_ref();
                    let session = process.session.id();
                    store.revoke_grant(session, &held.grant.id, self.clock.now()).await.unwrap();
                }
                other => panic!("`{other}` is no place to take a yes back from"),
            }
        }
    }

    fn work(&self, step: &Step) -> Option<Work> {
        let process = self.process.as_ref().unwrap();
        let mut options = RunOptions::new(Arc::new(self.profile.clone()), "attack");
        options.yes = self.setup.yes;
        options.agents = Arc::new(self.crew());
        let tools = compile("i_rules".into(), &self.profile, &self.registry).unwrap();
        let rules = Arc::new(RulesNow::new(tools.policy_version()));
        options.policy_now = Some(rules.clone());
        process.person.prepare(&step.answers, rules);
        if !step.says.is_empty() {
            let done = ["I am done.".to_owned()];
            let turns = step.says.iter().chain(&done).map(|text| {
                let text = self.ground.placed(text);
                json!({"text": text}).to_string()
            });
            let script = turns.collect::<Vec<_>>().join("\n");
            let model = Scripted::from_jsonl("attack", &script).unwrap();
            let dialect = step.dialect.as_deref().unwrap_or("hermes");
            let model = Arc::new(TextDialect::new(model, dialect, None).unwrap());
            return Some(Work::Prompt(process.session.prompt("Go on.".into(), model, options)));
        }
        let shell = step.shell.iter().map(|line| ("shell".to_owned(), json!({"command": line})));
        let calls = shell.chain(step.calls.iter().cloned()).map(|(alias, arguments)| {
            let Value::Object(arguments) = placed_value(&self.ground, arguments) else { panic!("no object") };
            RequestedCall::call(&alias, arguments)
        });
        let calls: Vec<_> = calls.collect();
        (!calls.is_empty()).then(|| Work::Calls(process.session.calls(calls, options)))
    }

    /// The agents of the case: under the rules of all, each with its own tools.
    fn crew(&self) -> Crew {
        let agent = |(name, tools): (&String, &Vec<String>)| {
            let mut profile = Profile { name: name.clone(), ..self.profile.clone() };
            profile.tools.allow =
                tools.iter().map(|alias| id_of(&self.registry, &self.profile, alias)).collect();
            profile.delegation.callable = true;
            (name.clone(), Arc::new(profile))
        };
        Crew(self.setup.agents.iter().map(agent).collect())
    }

    async fn follow(&mut self, work: Work) -> Vec<Seen> {
        let run = work.run();
        let process = self.process.as_mut().unwrap();
        let before = process.person.asked.lock().unwrap().len();
        let mut stop = None;
        let outcomes = {
            let stopper = match &work {
                Work::Calls(handle) => Box::new(handle.stopper()) as Box<dyn Fn()>,
                Work::Prompt(handle) => Box::new(handle.stopper()),
            };
            let mut ended = std::pin::pin!(work.wait());
            loop {
                tokio::select! {
                    biased;
                    ended = &mut ended => break Some(ended.unwrap()),
                    Some(deed) = process.deeds.recv() => match deed {
                        // The second Ctrl-C ends the run.
                        Deed::Stop => { stopper(); stopper(); }
                        Deed::Crash => { stop = Some(()); break None; }
                    },
                }
            }
        };
        let asked = process.person.asked.lock().unwrap()[before..].to_vec();
        let left = process.person.left();
        assert!(left.is_empty(), "nobody asked for these answers: {left:?}");
        self.last_question = asked.last().cloned().or(self.last_question.take());
        if stop.is_some() {
            // The process is gone; its store sees no more of it, and its lease runs out.
            let dead = self.process.take().unwrap();
            let id = dead.session.id().clone();
            std::mem::forget(dead);
            self.clock.ahead.fetch_add(3_600_000, Ordering::Relaxed);
            self.begin(SessionChoice::Id(id)).await;
        }
        self.read.extend(outcomes.into_iter().flatten().map(|outcome| outcome.result.text()));
        self.seen(&run).await
    }

    /// What the journal tells of each call of a run, in order.
    async fn seen(&self, run: &RunId) -> Vec<Seen> {
        let mut calls: IndexMap<String, Seen> = IndexMap::new();
        for payload in self.payloads(run).await {
            let Some(id) = payload.call_id().map(ToString::to_string) else { continue };
            if let Payload::ToolCallRequested(body) = payload {
                let what = format!("`{}` by {}", body.alias, body.rule.unwrap_or_default());
                calls.insert(id, Seen { verdict: Verdict::Refused, what });
                continue;
            }
            let seen = calls.get_mut(&id).unwrap();
            match payload {
                Payload::ConsentOpened(_) => seen.verdict = Verdict::Asked,
                Payload::ToolCallCompleted(_) if seen.verdict == Verdict::Refused => {
                    seen.verdict = Verdict::Allowed;
                }
                Payload::ToolCallFailed(body) => seen.what.push_str(&format!(" ({})", body.error_code)),
                _ => {}
            }
        }
        calls.into_values().collect()
    }

    async fn payloads(&self, run: &RunId) -> Vec<Payload> {
        let store: &dyn Store = self.memory.as_ref();
        let records = store.records(run).await.unwrap();
        records
            .iter()
            .map(|record| Payload::read(&record.kind, record.payload.as_deref().unwrap()).unwrap())
            .collect()
    }

    /// What the store keeps of it all, as text.
    pub(crate) async fn stored(&self) -> String {
        let store: &dyn Store = self.memory.as_ref();
        let mut all = String::new();
        for run in store.runs(None).await.unwrap() {
            for record in store.records(&run.id).await.unwrap() {
                all.push_str(&String::from_utf8_lossy(record.payload.as_deref().unwrap_or_default()));
            }
            for file in store.files(&run.id).await.unwrap() {
                all.push_str(&String::from_utf8_lossy(file.bytes.as_deref().unwrap_or_default()));
            }
        }
        all
    }

    /// What holds after every case: nothing is open, and the journal is whole. Says what does not.
    pub(crate) fn end(&self) -> Vec<String> {
        let open = self.process.as_ref().unwrap().engine.consent().open();
        let report = verify_store(self.memory.as_ref(), &[], Timestamp(u64::MAX)).unwrap();
        let findings = report.runs.iter().flat_map(|run| &run.findings).chain(&report.findings);
        let damage = findings.filter(|finding| !matches!(finding.class(), Class::Loose));
        let open = open.iter().map(|question| format!("{} is still open", question.id));
        open.chain(damage.map(|finding| format!("the journal does not verify: {finding}"))).collect()
    }
}

fn registry(log: &Log, setup: &Setup) -> ToolRegistry {
    let mut registry = ToolRegistry::default();
    let agents = haft_tools::agents::tools().unwrap().into_iter();
    let called = |tool: &Arc<dyn Tool>| tool.declaration().id().native_name() == "agent.call";
    let agents = agents.filter(|tool| !setup.agents.is_empty() && called(tool));
    let files = haft_tools::files::tools().unwrap().into_iter().chain(haft_tools::host::tools().unwrap());
    let files = files.chain(agents);
    let all: Vec<Arc<dyn Tool>> = tools::all(log, &setup.output).into_iter().chain(files).collect();
    registry.register_all(all).unwrap();
    registry
}

fn id_of(registry: &ToolRegistry, profile: &Profile, alias: &str) -> ToolId {
    let named = |tool: &&Arc<dyn Tool>| {
        let declaration = tool.declaration();
        let given = profile.tools.alias.get(declaration.id());
        given.map_or_else(|| declaration.alias(), String::clone) == alias
    };
    let tool = registry.iter().find(named).unwrap_or_else(|| panic!("there is no tool `{alias}`"));
    tool.declaration().id().clone()
}

fn profile_of(setup: &Setup, registry: &ToolRegistry) -> Profile {
    let mut profile = Profile::new("attacked");
    profile.tools.allow = registry.iter().map(|tool| tool.declaration().id().clone()).collect();
    for name in ["read", "write", "list"] {
        let id = ToolId::builtin(&format!("host.file_{name}"));
        profile.tools.alias.insert(id, format!("host_{name}"));
    }
    for (old, new) in &setup.alias {
        let id = id_of(registry, &profile, old);
        profile.tools.alias.insert(id, new.clone());
    }
    let id = |alias: &String| id_of(registry, &profile, alias);
    let permission = setup.permission.iter().map(|(alias, permission)| (id(alias), *permission)).collect();
    let deny = setup.deny.iter().map(id).collect();
    let calls_of = setup.calls_of.iter().map(|(alias, most)| (id(alias), *most)).collect();
    let unattended = setup.unattended.iter().map(|text| {
        let (allow, uses) = match text.rsplit_once(" x") {
            Some((allow, uses)) => (allow, Some(uses.parse().unwrap())),
            None => (text.as_str(), None),
        };
        let (alias, scope) = allow.split_once('=').unwrap_or((allow, ""));
        let until = None;
        Capability { tool: id(&alias.to_owned()), scope: scope.parse().unwrap(), uses, until }
    });
    let unattended = Capabilities(unattended.collect());
    (profile.tools.permission, profile.tools.deny, profile.unattended) = (permission, deny, unattended);
    let default = Budgets::default();
    profile.budgets = Budgets {
        calls: setup.calls.unwrap_or(default.calls),
        calls_of,
        output_bytes: setup.output_bytes,
        ..default
    };
    let off = LoopLimits { same_failures: 0, same_denials: 0, failed_batches: 0 };
    profile.loops = LoopLimits { same_denials: setup.same_denials.unwrap_or(0), ..off };
    let on = |word: &str| setup.reuse.iter().any(|one| one == word);
    profile.reuse = Reuse {
        batch: on("batch"),
        history: on("history"),
        cache_ttl_s: on("cache").then_some(Reuse::CACHE_TTL_S),
        include_side_effects: on("side_effects"),
        failures: false,
    };
    profile.execution = if setup.parallel { ExecutionMode::Parallel } else { ExecutionMode::Serial };
    profile.approval = if setup.approval_off { ApprovalMode::Off } else { ApprovalMode::Ask };
    profile.consent.timeout_s = MINUTE / 1_000;
    let read = |rules: &[Map<String, Value>], file: &str| {
        let rules: Vec<Rule> =
            rules.iter().enumerate().map(|(at, keys)| case::rule(keys, file, at + 1)).collect();
        let problems = check(&rules, registry, &profile.tools.alias);
        assert!(problems.is_empty(), "{problems:?}");
        rules
    };
    let (user, platform, own) = (
        read(&setup.rules, "haft.toml"),
        read(&setup.platform_rules, "platform"),
        read(&setup.profile_rules, "profile"),
    );
    (profile.policy.user, profile.policy.platform, profile.policy.profile) = (user, platform, own);
    profile.policy.default = setup.default;
    profile
}

fn placed(ground: &Ground, mut setup: Setup) -> Setup {
    let rules = [&mut setup.rules, &mut setup.profile_rules, &mut setup.platform_rules];
    for rule in rules.into_iter().flatten() {
        for value in rule.values_mut() {
            *value = placed_value(ground, value.take());
        }
    }
    for text in setup.grants.iter_mut().chain(&mut setup.unattended) {
        *text = ground.placed(text);
    }
    setup.output = setup.output.iter().map(|(key, value)| (ground.placed(key), value.clone())).collect();
    setup
}

fn placed_value(ground: &Ground, value: Value) -> Value {
    match value {
        Value::String(text) => ground.placed(&text).into(),
        Value::Array(items) => items.into_iter().map(|item| placed_value(ground, item)).collect(),
        Value::Object(map) => map
            .into_iter()
            .map(|(key, value)| (key, placed_value(ground, value)))
            .collect::<Map<_, _>>()
            .into(),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_)) => other,
    }
}
