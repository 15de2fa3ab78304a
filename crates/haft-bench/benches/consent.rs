//! What a question costs while nobody answers it, and how soon the tool runs once somebody does, over SQLite.
//!
//! A thousand sessions wait in one process: memory is what the system says the process holds, before and with them. From an answer
//! to the start of its tool there lies one durable commit: an answer is durable before anything is done with it. That is time on the
//! wall, measured on the disk that holds `target/` and in memory, so that the disk's share shows; the goal is for an idle machine, so it
//! counts where the thread at work never had to wait for a core.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a bench that cannot set up has nothing to measure"
)]

mod real;

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use haft_bench::{Goals, percentile};
use haft_core::ConsentId;
use haft_core::consent::{Answer, Closing, ConsentSurface, Question};
use haft_core::facts::Permission;
use haft_core::ports::Clock as _;
use haft_engine::{Reply, RunHandle, Session};
use haft_store::SqliteStore;
use real::{Mark, RealClock, RealWorld, Sample, at_most_idle, in_memory, millis, on_disk, runtime};

const SESSIONS: usize = 1_000;
/// Answers that are measured, a part of them in each of so many rounds.
const ANSWERS: usize = 1_000;
const ROUNDS: usize = 10;

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
    real: RealWorld,
    shown: Receiver<Question>,
}

impl World {
    fn new(home: &Path) -> Self {
        let store = SqliteStore::open(home, RealClock.now()).unwrap();
        let real = RealWorld::over(Arc::new(store), |facts| facts.permission = Permission::Ask).watching();
        let (shows, shown) = channel();
        real.engine.consent().attach(Arc::new(Desk(Mutex::new(shows))));
        Self { real, shown }
    }

    fn ask(&self, session: &Session) -> RunHandle<Vec<haft_engine::CallOutcome>> {
        session.calls(vec![real::call(0)], self.real.options.clone())
    }

    fn question(&self) -> Question {
        self.shown.recv_timeout(Duration::from_secs(60)).unwrap()
    }

    /// From the answer to the start of the tool, for each of so many calls.
    async fn answers(&self, number: usize) -> Vec<Sample> {
        let session = self.real.session().await;
        let mut taken = Vec::new();
        for _ in 0..number {
            let handle = self.ask(&session);
            let question = self.question();
            let reply = Reply::to(&question, Answer::Once, "desk");
            let answered = Mark::now();
            self.real.engine.consent().answer(&question.id, reply).unwrap();
            taken.push(answered.until(&self.real.reached()));
            handle.wait().await.unwrap();
        }
        session.close().await.unwrap();
        taken
    }
}

/// A number of `/proc/self/status`.
fn status(key: &str) -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(key)).unwrap();
    line.split_whitespace().find_map(|word| word.parse().ok()).unwrap()
}

fn waiting(goals: &mut Goals) {
    let (home, runtime) = (on_disk(), runtime());
    let world = World::new(home.path());
    runtime.block_on(async {
        let mut held = Vec::new();
        let mut open = async |number: usize| {
            for _ in 0..number {
                let session = world.real.session().await;
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
        assert_eq!(world.real.engine.consent().open().len(), SESSIONS + 100);
        for (session, handle) in held {
            handle.stop();
            handle.wait().await.unwrap();
            session.close().await.unwrap();
        }
    });
}

fn answering(goals: &mut Goals) {
    let runtime = runtime();
    let homes: Vec<_> = std::iter::once(on_disk()).chain(in_memory()).collect();
    let worlds: Vec<_> = homes.iter().map(|home| World::new(home.path())).collect();
    let mut taken: Vec<(Vec<Sample>, Vec<f64>)> = worlds.iter().map(|_| Default::default()).collect();
    for _ in 0..ROUNDS {
        for ((world, home), (answers, writes)) in worlds.iter().zip(&homes).zip(&mut taken) {
            answers.extend(runtime.block_on(world.answers(ANSWERS / ROUNDS)));
            writes.extend(millis(&durable_writes(home.path(), ANSWERS / ROUNDS)));
        }
    }
    for (place, (answers, writes)) in ["on disk", "in memory"].into_iter().zip(&taken) {
        at_most_idle(goals, &format!("answer to start of its tool, {place}"), answers, 1.0);
        let name = |share| format!("a page written and synced {place}, {share}");
        goals.note(&name("99 of 100"), percentile(writes, 0.99), "ms");
        goals.note(&name("half"), percentile(writes, 0.5), "ms");
    }
}

/// What the place takes for each of as many pages of a file that is there, written and synced one after another.
fn durable_writes(folder: &Path, number: usize) -> Vec<Duration> {
    let path = folder.join("pages");
    std::fs::write(&path, vec![0; number * 4_096]).unwrap();
    let mut file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    file.sync_all().unwrap();
    let mut write = || {
        let began = Instant::now();
        file.write_all(&[7; 4_096]).unwrap();
        file.sync_data().unwrap();
        began.elapsed()
    };
    (0..number).map(|_| write()).collect()
}

fn main() -> ExitCode {
    let mut goals = Goals::new("consent");
    answering(&mut goals);
    if cfg!(target_os = "linux") {
        waiting(&mut goals);
    }
    goals.finish()
}
