//! What a question costs while nobody answers it, and how soon the tool runs once somebody does, over SQLite on disk.
//!
//! A thousand sessions wait in one process: memory is what the system says the process holds, before and with them. From an answer
//! to the start of its tool there lies one durable commit; that is the time on the wall, so the disk's share is in it.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a bench that cannot set up has nothing to measure"
)]

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use haft_bench::Goals;
use haft_core::consent::{Answer, Closing, ConsentEnvironment, ConsentSurface, Question};
use haft_core::facts::Permission;
use haft_core::path::StartedCall;
use haft_core::ports::{BoxFuture, Clock, Ids, Timestamp, Tool, ToolContext};
use haft_core::{
    ConsentId, Effect, Profile, RequestedCall, Services, ToolDeclaration, ToolError, ToolId, ToolOutput,
    ToolRegistry,
};
use haft_engine::{Engine, EngineParts, Reply, RunHandle, RunOptions, Session, SessionChoice};
use haft_store::SqliteStore;
use serde_json::{Map, Value, json};

const SESSIONS: usize = 1_000;
const ANSWERS: usize = 1_000;

struct RealClock;

impl Clock for RealClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        Timestamp(u64::try_from(since.as_millis()).unwrap())
    }
}

#[derive(Default)]
struct Counted(AtomicU64);

impl Ids for Counted {
    fn fresh(&self) -> String {
        format!("{:08}", self.0.fetch_add(1, Ordering::Relaxed))
    }
}

/// Tells when it is reached.
struct Asks(ToolDeclaration, Mutex<Sender<Instant>>);

impl Tool for Asks {
    fn declaration(&self) -> &ToolDeclaration {
        &self.0
    }

    fn call<'a>(
        &'a self,
        _: &'a StartedCall,
        _: &'a dyn ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        self.1.lock().unwrap().send(Instant::now()).unwrap();
        Box::pin(async { Ok(ToolOutput::of_value(Value::Null)) })
    }
}

struct Desk(Mutex<Sender<Question>>);

impl ConsentSurface for Desk {
    fn name(&self) -> &'static str {
        "desk"
    }
    fn show(&self, question: &Question) {
        self.0.lock().unwrap().send(question.clone()).unwrap();
    }
    fn close(&self, _: &ConsentId, _: &Closing) {}
}

struct World {
    engine: Engine,
    options: RunOptions,
    shown: Receiver<Question>,
    reached: Receiver<Instant>,
    folder: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(folder.path(), RealClock.now()).unwrap();
        let (reaches, reached) = channel();
        let (shows, shown) = channel();
        let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
        let id = ToolId::builtin("file.write");
        let declaration = ToolDeclaration::new(id.clone(), "Writes.", schema, Effect::Write).unwrap();
        let declaration = declaration.with_facts(|facts| facts.permission = Permission::Ask);
        let mut registry = ToolRegistry::default();
        registry.register(Arc::new(Asks(declaration, Mutex::new(reaches)))).unwrap();
        let mut profile = Profile::new("bench");
        profile.tools.allow = vec![id];
        let engine = Engine::new(EngineParts {
            store: Arc::new(store),
            clock: Arc::new(RealClock),
            ids: Arc::new(Counted::default()),
            registry: Arc::new(registry),
            services: Services::default(),
            owner: "process 1 (bench)".into(),
        });
        engine.consent().attach(Arc::new(Desk(Mutex::new(shows))));
        let options = RunOptions::new(Arc::new(profile), "bench");
        Self { engine, options, shown, reached, folder }
    }

    async fn session(&self) -> Session {
        self.engine.open(SessionChoice::New, "bench", None, ConsentEnvironment::default()).await.unwrap()
    }

    fn ask(&self, session: &Session) -> RunHandle<Vec<haft_engine::CallOutcome>> {
        let arguments = Map::from_iter([("path".to_owned(), Value::from("notes/a.md"))]);
        session.calls(vec![RequestedCall::call("file_write", arguments)], self.options.clone())
    }

    fn question(&self) -> Question {
        self.shown.recv_timeout(Duration::from_secs(60)).unwrap()
    }
}

/// A number of `/proc/self/status`.
fn status(key: &str) -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(key)).unwrap();
    line.split_whitespace().find_map(|word| word.parse().ok()).unwrap()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap()
}

fn waiting(goals: &mut Goals) {
    let (world, runtime) = (World::new(), runtime());
    runtime.block_on(async {
        let mut held = Vec::new();
        let mut open = async |number: usize| {
            for _ in 0..number {
                let session = world.session().await;
                let handle = world.ask(&session);
                held.push((session, handle));
                world.question();
            }
        };
        // What comes once is there before the first look.
        open(100).await;
        let (memory, threads) = (status("VmRSS:"), status("Threads:"));
        open(SESSIONS).await;
        let each = (status("VmRSS:") - memory) / SESSIONS as f64;
        goals.at_most("memory of a session that waits for a person", each, 50.0, "KB");
        // The runtime may start one for a commit that blocks; a session never does.
        let more = (status("Threads:") - threads) / SESSIONS as f64;
        goals.at_most("threads of a session that waits for a person", more, 0.005, "threads");
        assert_eq!(world.engine.consent().open().len(), SESSIONS + 100);
        for (session, handle) in held {
            handle.stop();
            handle.wait().await.unwrap();
            session.close().await.unwrap();
        }
    });
}

fn answering(goals: &mut Goals) {
    let (world, runtime) = (World::new(), runtime());
    let mut taken: Vec<Duration> = runtime.block_on(async {
        let session = world.session().await;
        let mut taken = Vec::new();
        for _ in 0..ANSWERS {
            let handle = world.ask(&session);
            let question = world.question();
            let answered = Instant::now();
            world.engine.consent().answer(&question.id, Reply::to(&question, Answer::Once, "desk")).unwrap();
            taken.push(world.reached.recv_timeout(Duration::from_secs(60)).unwrap() - answered);
            handle.wait().await.unwrap();
        }
        taken
    });
    let mut disk = durable_writes(world.folder.path());
    goals.at_most("from an answer to the start of its tool, 99 of 100", at(&mut taken, 0.99), 1.0, "ms");
    goals.note("from an answer to the start of its tool, half", at(&mut taken, 0.5), "ms");
    goals.note("a page written and synced on the same disk, 99 of 100", at(&mut disk, 0.99), "ms");
    goals.note("a page written and synced on the same disk, half", at(&mut disk, 0.5), "ms");
}

/// What the disk takes for each of as many pages, written and synced one after another.
fn durable_writes(folder: &Path) -> Vec<Duration> {
    let mut file = std::fs::File::create(folder.join("pages")).unwrap();
    let mut write = || {
        let began = Instant::now();
        file.write_all(&[7; 4_096]).unwrap();
        file.sync_data().unwrap();
        began.elapsed()
    };
    (0..ANSWERS).map(|_| write()).collect()
}

/// Milliseconds that a share of `times` does not exceed.
fn at(times: &mut [Duration], share: f64) -> f64 {
    times.sort();
    times[(share * times.len() as f64) as usize].as_secs_f64() * 1e3
}

fn main() -> ExitCode {
    let mut goals = Goals::new("consent");
    answering(&mut goals);
    if cfg!(target_os = "linux") {
        waiting(&mut goals);
    }
    goals.finish()
}
