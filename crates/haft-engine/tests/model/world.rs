//! The real engine over a store in memory, with a person who does what the sequence says and time that passes only while all wait.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use haft_core::consent::{Answer, Closing, ConsentEnvironment, ConsentSurface, Question};
use haft_core::facts::Permission;
use haft_core::policy::{Place, Rule, ValueMatch, ValueTest};
use haft_core::ports::{Clock, Ids, Store, Timestamp};
use haft_core::profile::ExecutionMode;
use haft_core::streak::LoopLimits;
use haft_core::{
    ConsentId, Digest, ErrorCode, GrantId, Payload, Profile, RequestedCall, RunId, Scope, Services,
    ToolRegistry,
};
use haft_engine::{
    ConsentService, Engine, EngineParts, Reply, RunOptions, Session, SessionChoice, SurfaceId,
};
use haft_store::MemoryStore;
use indexmap::IndexMap;
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio::time::{Duration, Instant};

use crate::reference::{Call, Fate, UNTIL_MS};
use crate::tools::{self, Log};

/// What the person does at a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answering {
    Once,
    Deny,
    /// Yes, up to this scope of those offered.
    Session(usize),
    Run(usize),
    Until(usize),
    /// Yes to other bytes, then nothing more.
    OtherBytes,
    /// Yes to a scope that is not offered, then nothing more.
    NotOffered,
    Silence,
    /// No, and at once yes from elsewhere.
    Twice,
    /// Goes away for good.
    Leaves,
    /// Goes away, comes back within the grace and says yes.
    ComesBack,
    /// Stops the run, and then says yes.
    Stop,
    /// The process ends.
    Crash,
}

impl Answering {
    pub(crate) const TIMEOUT_MS: u64 = 60_000;
    pub(crate) const GRACE_MS: u64 = 30_000;
    pub(crate) const AWAY_MS: u64 = 10_000;
}

/// What one run showed.
pub(crate) struct Seen {
    /// When it began, in milliseconds.
    pub(crate) began: u64,
    pub(crate) fates: Vec<Fate>,
}

struct ModelClock {
    began: Instant,
    /// By how much processes that came after a crash are later.
    ahead: AtomicU64,
}

impl Clock for ModelClock {
    fn now(&self) -> Timestamp {
        let passed = u64::try_from(self.began.elapsed().as_millis()).unwrap();
        Timestamp(1_000 + passed + self.ahead.load(Ordering::Relaxed))
    }
}

struct ModelIds(AtomicU64);

impl Ids for ModelIds {
    fn fresh(&self) -> String {
        format!("{:05}", self.0.fetch_add(1, Ordering::Relaxed))
    }
}

enum Deed {
    Stop,
    Crash(Question),
    Away(Question),
    Gone,
}

struct Person {
    service: Weak<ConsentService>,
    clock: Arc<ModelClock>,
    answers: Mutex<VecDeque<Answering>>,
    deeds: mpsc::UnboundedSender<Deed>,
    last: Mutex<Option<Question>>,
}

impl ConsentSurface for Person {
    fn name(&self) -> &'static str {
        "person"
    }

    fn show(&self, question: &Question) {
        let again =
            self.last.lock().unwrap().replace(question.clone()).is_some_and(|last| last.id == question.id);
        let answering = if again { None } else { self.answers.lock().unwrap().pop_front() };
        let Some(service) = self.service.upgrade() else { return };
        let give = |answer: Answer| service.answer(&question.id, Reply::to(question, answer, "person"));
        let scope = |number: usize| question.scopes.get(number).cloned();
        let lasting =
            |scope: Option<Scope>, of: &dyn Fn(Scope) -> Answer| give(scope.map_or(Answer::Once, of));
        match answering.unwrap_or(Answering::Once) {
            Answering::Once => give(Answer::Once).unwrap(),
            Answering::Deny => give(Answer::Deny { reason: None }).unwrap(),
            Answering::Session(number) => {
                lasting(scope(number), &|scope| Answer::Session { scope }).unwrap();
            }
            Answering::Run(number) => lasting(scope(number), &|scope| Answer::Run { scope }).unwrap(),
            Answering::Until(number) => {
                let time = Timestamp(self.clock.now().0 + UNTIL_MS);
                lasting(scope(number), &|scope| Answer::Until { scope, time }).unwrap();
            }
            Answering::OtherBytes => {
                let other =
                    Reply { shown: Digest::of(b"other"), ..Reply::to(question, Answer::Once, "person") };
                service.answer(&question.id, other).unwrap_err();
            }
            Answering::NotOffered => {
                let scope = Scope::Command("*".into());
                give(Answer::Session { scope }).unwrap_err();
            }
            Answering::Silence => {}
            Answering::Twice => {
                give(Answer::Deny { reason: None }).unwrap();
                give(Answer::Once).unwrap_err();
            }
            Answering::Leaves => self.deeds.send(Deed::Gone).unwrap(),
            Answering::ComesBack => self.deeds.send(Deed::Away(question.clone())).unwrap(),
            Answering::Stop => self.deeds.send(Deed::Stop).unwrap(),
            Answering::Crash => self.deeds.send(Deed::Crash(question.clone())).unwrap(),
        }
    }

    fn close(&self, _: &ConsentId, _: &Closing) {}
}

struct Process {
    engine: Engine,
    session: Session,
    person: Arc<Person>,
    surface: Option<SurfaceId>,
    deeds: mpsc::UnboundedReceiver<Deed>,
}

pub(crate) struct World {
    pub(crate) memory: Arc<MemoryStore>,
    pub(crate) log: Log,
    registry: Arc<ToolRegistry>,
    profile: Arc<Profile>,
    clock: Arc<ModelClock>,
    ids: Arc<ModelIds>,
    process: Option<Process>,
    watched: bool,
}

impl World {
    pub(crate) async fn new(parallel: bool, reuse: bool, limit: u32) -> Self {
        let log = Log::default();
        let mut registry = ToolRegistry::default();
        registry.register_all(tools::all(&log)).unwrap();
        let mut profile = Profile::new("model");
        profile.tools.allow = registry.iter().map(|tool| tool.declaration().id().clone()).collect();
        let place = Place { file: "haft.toml".into(), line: 1, column: 1 };
        let test = ValueTest::Equals("forbidden".into());
        let value = Some(ValueMatch { pointer: "/cell".into(), test });
        profile.policy.user = vec![Rule { value, ..Rule::new("*", Permission::Deny, place) }];
        profile.budgets.calls = limit;
        profile.loops = LoopLimits { same_failures: 0, same_denials: 0, failed_batches: 0 };
        profile.execution = if parallel { ExecutionMode::Parallel } else { ExecutionMode::Serial };
        profile.reuse.history = reuse;
        profile.consent.timeout_s = Answering::TIMEOUT_MS / 1_000;
        profile.consent.grace_s = Answering::GRACE_MS / 1_000;
        let mut world = Self {
            memory: Arc::new(MemoryStore::new()),
            log,
            registry: Arc::new(registry),
            profile: Arc::new(profile),
            clock: Arc::new(ModelClock { began: Instant::now(), ahead: AtomicU64::new(0) }),
            ids: Arc::new(ModelIds(AtomicU64::new(0))),
            process: None,
            watched: true,
        };
        world.begin(SessionChoice::New).await;
        world
    }

    /// A process over what lasts.
    async fn begin(&mut self, choice: SessionChoice) {
        let engine = Engine::new(EngineParts {
            store: self.memory.clone(),
            clock: self.clock.clone(),
            ids: self.ids.clone(),
            registry: self.registry.clone(),
            services: Services::default(),
            owner: "a test".into(),
        });
        let (sender, deeds) = mpsc::unbounded_channel();
        let person = Arc::new(Person {
            service: Arc::downgrade(engine.consent()),
            clock: self.clock.clone(),
            answers: Mutex::default(),
            deeds: sender,
            last: Mutex::default(),
        });
        // Somebody was there at some time, so that a lost surface is waited for.
        let surface = engine.consent().attach(person.clone());
        let environment = ConsentEnvironment { attended: true, ..ConsentEnvironment::default() };
        let session = engine.open(choice, "model", None, environment).await.unwrap();
        self.process = Some(Process { engine, session, person, surface: Some(surface), deeds });
        let watched = self.watched;
        self.surface(watched);
    }

    fn process(&self) -> &Process {
        self.process.as_ref().unwrap()
    }

    pub(crate) fn is_watched(&self) -> bool {
        self.watched
    }

    /// The person is there from now on, or not.
    pub(crate) fn surface(&mut self, is_there: bool) {
        self.watched = is_there;
        let process = self.process.as_mut().unwrap();
        let service = process.engine.consent();
        match (process.surface, is_there) {
            (None, true) => process.surface = Some(service.attach(process.person.clone())),
            (Some(surface), false) => {
                service.detach(surface);
                process.surface = None;
            }
            (Some(_), true) | (None, false) => {}
        }
    }

    pub(crate) async fn pass(&self, seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }

    pub(crate) async fn reopen(&mut self) {
        let process = self.process.take().unwrap();
        let id = process.session.id().clone();
        process.session.close().await.unwrap();
        self.begin(SessionChoice::Id(id)).await;
    }

    /// The grants that the process holds, in the order in which they were given.
    pub(crate) fn grants(&self) -> Vec<String> {
        self.process().session.grants().iter().map(|held| held.grant.id.to_string()).collect()
    }

    /// Takes back the grant of that number, if there is one that was not taken back.
    pub(crate) async fn revoke(&self, number: usize, elsewhere: bool) -> Option<String> {
        let session = &self.process().session;
        let held = session.grants().into_iter().filter(|held| held.revoked.is_none()).nth(number)?;
        let id: GrantId = held.grant.id;
        if elsewhere {
            let store: &dyn Store = self.memory.as_ref();
            store.revoke_grant(session.id(), &id, self.clock.now()).await.unwrap();
        } else {
            assert!(session.revoke(&id).await.unwrap());
        }
        Some(id.to_string())
    }

    /// A yes to the newest question, which has ended.
    pub(crate) fn late_answer(&self) {
        let last = self.process().person.last.lock().unwrap().clone();
        if let Some(question) = last {
            let yes = Reply::to(&question, Answer::Once, "person");
            self.process().engine.consent().answer(&question.id, yes).unwrap_err();
        }
    }

    pub(crate) fn open_questions(&self) -> Vec<Arc<Question>> {
        self.process().engine.consent().open()
    }

    /// One run of one batch.
    pub(crate) async fn calls(&mut self, calls: &[Call], answers: &[Answering], yes: bool) -> Seen {
        let mut options = RunOptions::new(self.profile.clone(), "model");
        options.yes = yes;
        let requested = calls.iter().map(|call| {
            let arguments = Map::from_iter([("cell".to_owned(), Value::from(call.cell))]);
            RequestedCall::call(call.tool, arguments)
        });
        *self.process().person.answers.lock().unwrap() = answers.iter().copied().collect();
        let began = self.clock.now().0;
        let handle = self.process().session.calls(requested.collect(), options);
        let run = handle.run().clone();
        let stop = handle.stopper();
        let mut crashed = None;
        let mut ended = std::pin::pin!(handle.wait());
        loop {
            let deeds = &mut self.process.as_mut().unwrap().deeds;
            tokio::select! {
                biased;
                ended = &mut ended => {
                    assert_eq!(ended.unwrap().len(), calls.len(), "one outcome for each call");
                    break;
                }
                Some(deed) = deeds.recv() => match deed {
                    // The second one stops the run.
                    Deed::Stop => { stop(); stop(); }
                    Deed::Gone => self.surface(false),
                    Deed::Away(question) => {
                        self.surface(false);
                        tokio::time::sleep(Duration::from_millis(Answering::AWAY_MS)).await;
                        self.surface(true);
                        assert!(self.process().person.last.lock().unwrap().as_ref() == Some(&question));
                    }
                    Deed::Crash(question) => {
                        crashed = Some(question);
                        break;
                    }
                },
            }
        }
        if crashed.is_some() {
            self.crash().await;
        }
        Seen { began, fates: self.fates(&run, calls.len(), crashed.as_ref()).await }
    }

    /// The process is gone: its lease runs out, and it writes nothing more.
    async fn crash(&mut self) {
        let dead = self.process.take().unwrap();
        let id = dead.session.id().clone();
        std::mem::forget(dead);
        self.clock.ahead.fetch_add(3_600_000, Ordering::Relaxed);
        self.begin(SessionChoice::Id(id)).await;
    }

    /// What the journal says became of each call.
    async fn fates(&self, run: &RunId, number: usize, crashed: Option<&Question>) -> Vec<Fate> {
        let store: &dyn Store = self.memory.as_ref();
        // A call's own number stands at the end of its id, so that calls that run side by side come in their order.
        let mut calls: IndexMap<String, (bool, bool, Option<Fate>)> = IndexMap::new();
        let mut order = Vec::new();
        for record in store.records(run).await.unwrap() {
            let payload = Payload::read(&record.kind, record.payload.as_deref().unwrap()).unwrap();
            let Some(id) = payload.call_id().map(ToString::to_string) else { continue };
            let (asked, started, fate) = calls.entry(id.clone()).or_default();
            match payload {
                Payload::ToolCallRequested(_) => order.push(id),
                Payload::ConsentOpened(_) => *asked = true,
                Payload::ToolCallStarted(_) => *started = true,
                Payload::ToolCallCompleted(body) => {
                    *fate = Some(match (body.reused_from, *asked) {
                        (Some(_), _) => Fate::Repeated,
                        (None, true) => Fate::AskedAndRan,
                        (None, false) => Fate::Ran,
                    });
                }
                Payload::ToolCallFailed(body) => {
                    let code = body.error_code;
                    let is_crashed = crashed.is_some_and(|question| question.call_id == body.call_id);
                    *fate = Some(match (*started, *asked) {
                        _ if is_crashed => Fate::Crashed,
                        // It had run, and the process ended before that was told.
                        (true, true) => Fate::AskedAndRan,
                        (true, false) => Fate::Ran,
                        _ if code == ErrorCode::CALL_CANCELLED => Fate::Stopped,
                        _ if code == ErrorCode::BUDGET_EXHAUSTED => Fate::OverBudget,
                        (false, true) => Fate::AskedAndRefused,
                        (false, false) => Fate::Denied,
                    });
                }
                _ => {}
            }
        }
        let mut fates: Vec<Fate> = order.iter().map(|id| calls[id].2.unwrap()).collect();
        fates.resize(number, Fate::Lost);
        fates
    }
}
