//! What benches over a store that lasts share: the real clock, a tool that tells when it starts, a model that follows a script without
//! waiting, and the places where a store can lie.
#![allow(dead_code, reason = "each bench uses its part")]
#![allow(clippy::disallowed_methods, reason = "a bench measures time and makes its own files")]

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use haft_bench::{Goals, percentile};
use haft_core::consent::ConsentEnvironment;
use haft_core::event::RunEvent;
use haft_core::message::Message;
use haft_core::path::StartedCall;
use haft_core::ports::{
    BoxFuture, Cancel, Clock, FinishReason, Ids, Model, ModelError, ModelRequest, ModelTraits, ModelTurn,
    Store, Timestamp, Tool, ToolContext, TurnSink,
};
use haft_core::{
    Effect, Profile, RequestedCall, Services, ToolDeclaration, ToolError, ToolFacts, ToolId, ToolOutput,
    ToolRegistry,
};
use haft_engine::{Engine, EngineParts, EventSink, RunOptions, Session, SessionChoice};
use serde_json::{Map, Value, json};

/// Longest that a bench waits for something to be told.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct RealClock;

impl Clock for RealClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        Timestamp(u64::try_from(since.as_millis()).unwrap())
    }
}

/// Ids that no other run of a bench over the same store has given: they begin with the time.
pub(crate) struct Counted {
    begun: u64,
    given: AtomicU64,
}

impl Counted {
    pub(crate) fn new() -> Self {
        Self { begun: RealClock.now().0, given: AtomicU64::new(0) }
    }
}

impl Ids for Counted {
    fn fresh(&self) -> String {
        format!("{:012x}{:08x}", self.begun, self.given.fetch_add(1, Ordering::Relaxed))
    }
}

/// Tells when it is reached, and answers with a few words.
struct Tells {
    declaration: ToolDeclaration,
    reaches: Mutex<Sender<Mark>>,
    watch: Arc<AtomicBool>,
}

impl Tool for Tells {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn call<'a>(
        &'a self,
        _: &'a StartedCall,
        _: &'a dyn ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        let mark = Mark::take(self.watch.load(Ordering::Relaxed), true);
        self.reaches.lock().unwrap().send(mark).unwrap();
        Box::pin(async { Ok(ToolOutput::of_text("The note was written: 3 lines, 42 words.")) })
    }
}

/// Listens as a surface does that prints everything.
struct Listens;

impl EventSink for Listens {
    fn event(&self, event: &RunEvent) {
        std::hint::black_box(event);
    }
}

/// What one answer of the model says before it calls.
const WORDS: &str = "I will write down what we have found so far, and then look at the next part of the list. \
                     There are three open points; the second one depends on the first.";

/// Calls in all turns of a run but the last, and says so in pieces as a model would. Each run needs one of its own.
pub(crate) struct Script {
    traits: ModelTraits,
    turns: usize,
    ended: Mutex<Sender<Mark>>,
    watch: Arc<AtomicBool>,
}

impl Model for Script {
    fn traits(&self) -> &ModelTraits {
        &self.traits
    }

    fn turn<'a>(
        &'a self,
        request: &'a ModelRequest,
        sink: &'a mut dyn TurnSink,
        _: &'a dyn Cancel,
    ) -> BoxFuture<'a, Result<ModelTurn, ModelError>> {
        Box::pin(async move {
            for piece in WORDS.split_inclusive(' ') {
                sink.text(piece);
            }
            let of_this_run = request.messages.iter().rev();
            let before = of_this_run.take_while(|one| !matches!(one, Message::User(_)));
            let before = before.filter(|one| matches!(one, Message::Results(_))).count();
            let calls = if before + 1 < self.turns { vec![call(before)] } else { Vec::new() };
            let finish_reason = if calls.is_empty() { FinishReason::Stop } else { FinishReason::ToolCalls };
            let turn = ModelTurn {
                text: WORDS.to_owned(),
                reasoning: String::new(),
                calls,
                raw: None,
                finish_reason,
                usage: None,
                provider_metadata: None,
            };
            let mark = Mark::take(self.watch.load(Ordering::Relaxed), false);
            self.ended.lock().unwrap().send(mark).unwrap();
            Ok(turn)
        })
    }
}

/// A call of the tool. No two of a run are alike.
pub(crate) fn call(number: usize) -> RequestedCall {
    let text = format!("Point {number}: the list is longer than it looks.");
    RequestedCall::call(
        "note_write",
        Map::from_iter([
            ("path".to_owned(), Value::from("notes/a.md")),
            ("text".to_owned(), Value::from(text)),
        ]),
    )
}

/// An engine over a store, with one tool, and what the tool and the models tell.
pub(crate) struct RealWorld {
    pub(crate) engine: Engine,
    pub(crate) options: RunOptions,
    reached: Mutex<Receiver<Mark>>,
    ended: (Sender<Mark>, Mutex<Receiver<Mark>>),
    watch: Arc<AtomicBool>,
}

impl RealWorld {
    /// `facts` sets the facts of the tool.
    pub(crate) fn over(store: Arc<dyn Store>, facts: impl FnOnce(&mut ToolFacts)) -> Self {
        let (reaches, reached) = channel();
        let schema = json!({
            "type": "object", "additionalProperties": false, "required": ["path", "text"],
            "properties": {"path": {"type": "string"}, "text": {"type": "string"}}
        });
        let id = ToolId::builtin("note.write");
        let declaration = ToolDeclaration::new(id.clone(), "Writes a note.", schema, Effect::Write).unwrap();
        let mut registry = ToolRegistry::default();
        let watch = Arc::new(AtomicBool::new(false));
        let declaration = declaration.with_facts(facts);
        let tool = Tells { declaration, reaches: Mutex::new(reaches), watch: watch.clone() };
        registry.register(Arc::new(tool)).unwrap();
        let mut profile = Profile::new("bench");
        profile.tools.allow = vec![id];
        profile.budgets.rounds = u32::MAX;
        profile.budgets.calls = u32::MAX;
        let engine = Engine::new(EngineParts {
            store,
            clock: Arc::new(RealClock),
            ids: Arc::new(Counted::new()),
            registry: Arc::new(registry),
            services: Services::default(),
            owner: "process 1 (bench)".into(),
        });
        let mut options = RunOptions::new(Arc::new(profile), "bench");
        options.events = Arc::new(Listens);
        let (ends, ended) = channel();
        Self { engine, options, reached: Mutex::new(reached), ended: (ends, Mutex::new(ended)), watch }
    }

    /// Lets tool and models look how long threads have waited for a core, just outside of what is measured. That takes some time.
    pub(crate) fn watching(self) -> Self {
        self.watch.store(true, Ordering::Relaxed);
        self
    }

    pub(crate) async fn session(&self) -> Session {
        self.open(SessionChoice::New).await
    }

    pub(crate) async fn open(&self, choice: SessionChoice) -> Session {
        self.engine.open(choice, "bench", None, ConsentEnvironment::default()).await.unwrap()
    }

    /// A model whose runs have so many turns; all but the last call the tool.
    pub(crate) fn script(&self, turns: usize) -> Arc<Script> {
        let traits = ModelTraits {
            name: "script".to_owned(),
            dialect: "native".to_owned(),
            images: false,
            wraps_results: false,
            provider_call_ids: false,
            context_tokens: None,
        };
        let (ended, watch) = (Mutex::new(self.ended.0.clone()), self.watch.clone());
        Arc::new(Script { traits, turns, ended, watch })
    }

    /// One run of so many turns in `session`.
    pub(crate) async fn run(&self, session: &Session, turns: usize) {
        let handle =
            session.prompt("Write down what we have.".to_owned(), self.script(turns), self.options.clone());
        let outcome = handle.wait().await.unwrap();
        assert!(outcome.error_code.is_none(), "{outcome:?}");
    }

    /// When the tool was next reached.
    pub(crate) fn reached(&self) -> Mark {
        self.reached.lock().unwrap().recv_timeout(PATIENCE).unwrap()
    }

    /// When an answer of a model next ended.
    pub(crate) fn ended(&self) -> Mark {
        self.ended.1.lock().unwrap().recv_timeout(PATIENCE).unwrap()
    }

    /// Forgets what was told so far.
    pub(crate) fn forget(&self) {
        self.reached.lock().unwrap().try_iter().for_each(drop);
        self.ended.1.lock().unwrap().try_iter().for_each(drop);
    }
}

/// A runtime as the binary has it.
pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// A folder on the disk that holds `target/`.
pub(crate) fn on_disk() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("bench-").tempdir_in(target()).unwrap()
}

/// A folder in memory, where there is such a place: what is left there is not the disk's.
pub(crate) fn in_memory() -> Option<tempfile::TempDir> {
    let place = Path::new("/dev/shm");
    place.is_dir().then(|| tempfile::Builder::new().prefix("bench-").tempdir_in(place).unwrap())
}

pub(crate) fn target() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

/// What each thread of this process has waited for a core so far, by its number. Nothing where the system does not tell.
fn waits() -> HashMap<String, Duration> {
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else { return HashMap::new() };
    let wait = |thread: std::fs::DirEntry| {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        let waited = text.split_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)?;
        Some((thread.file_name().into_string().ok()?, waited))
    };
    threads.flatten().filter_map(wait).collect()
}

/// The number of this thread, where the system tells.
fn own_number() -> String {
    let link = std::fs::read_link("/proc/thread-self").unwrap_or_default();
    link.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// A moment, the thread at work in it, and what all threads had waited for a core by then.
pub(crate) struct Mark {
    at: Instant,
    thread: String,
    waits: HashMap<String, Duration>,
}

impl Mark {
    /// Now. `watch` says whether waits are looked at, which takes some time: before the moment, or after it where it `ends` something.
    fn take(watch: bool, ends: bool) -> Self {
        let looked = |wanted: bool| if watch && wanted { waits() } else { HashMap::new() };
        let before = looked(!ends);
        let at = Instant::now();
        let after = looked(ends);
        let thread = if watch { own_number() } else { String::new() };
        Self { at, thread, waits: if ends { after } else { before } }
    }

    pub(crate) fn now() -> Self {
        Self::take(true, false)
    }

    /// What lies between this moment and a later one. The work ran on the thread of the later one.
    pub(crate) fn until(&self, end: &Self) -> Sample {
        let waited = |mark: &Self| mark.waits.get(&end.thread).copied().unwrap_or_default();
        let idle = waited(end).saturating_sub(waited(self)) < IDLE;
        Sample { taken: end.at - self.at, idle }
    }
}

/// How long something took, and whether the machine had a core for the thread at work all the time.
pub(crate) struct Sample {
    taken: Duration,
    idle: bool,
}

/// Longest that the thread may have waited where a machine counts as idle.
const IDLE: Duration = Duration::from_micros(50);

/// States a goal for 99 of 100 samples that were taken while there was a free core, and prints what all of them say.
pub(crate) fn at_most_idle(goals: &mut Goals, name: &str, samples: &[Sample], goal: f64) {
    let idle: Vec<Duration> = samples.iter().filter(|one| one.idle).map(|one| one.taken).collect();
    let all: Vec<Duration> = samples.iter().map(|one| one.taken).collect();
    goals.at_most(&format!("{name}, 99 of 100"), percentile(&millis(&idle), 0.99), goal, "ms");
    goals.note("half of those", percentile(&millis(&idle), 0.5), "ms");
    goals.note("share of samples that never waited for a core", idle.len() as f64 / all.len() as f64, "");
    goals.note("99 of 100 of all, with the machine's other load", percentile(&millis(&all), 0.99), "ms");
    goals.note("half of all", percentile(&millis(&all), 0.5), "ms");
}

/// Milliseconds of each.
pub(crate) fn millis(times: &[Duration]) -> Vec<f64> {
    times.iter().map(|time| time.as_secs_f64() * 1e3).collect()
}
