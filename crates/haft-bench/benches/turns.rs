//! What a turn of a run costs the engine, and how soon its first tool runs once the model has answered.
//!
//! Many runs share one SQLite file. CPU time is that of the whole process over all of it: the opening of the sessions, the bench's own
//! model and tool, SQLite and the system's part of writing are in it, and waiting is not. Time on the wall is measured with one run at
//! a time, on the disk that holds `target/` and in memory, since one durable commit lies in it; the goal is for an idle machine, so it
//! counts where the thread at work never had to wait for a core.
#![allow(clippy::unwrap_used, reason = "a bench that cannot set up has nothing to measure")]

mod real;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use haft_bench::{Clock, Comparison, Goals};
use haft_core::facts::Permission;
use haft_core::ports::Clock as _;
use haft_store::SqliteStore;
use real::{RealClock, RealWorld, Sample, at_most_idle, in_memory, on_disk, runtime};

const RUNS: usize = 200;
const TURNS: usize = 5;
const AT_ONCE: usize = 16;
/// Answers that are measured on the wall, a part of them in each of so many rounds.
const ANSWERS: usize = 1_000;
const ROUNDS: usize = 10;

fn world(home: &Path) -> RealWorld {
    let store = Arc::new(SqliteStore::open(home, RealClock.now()).unwrap());
    RealWorld::over(store, |facts| facts.permission = Permission::Allow)
}

/// Each run in a session of its own, so many at a time.
async fn runs(world: Arc<RealWorld>) {
    let next = Arc::new(AtomicUsize::new(0));
    let workers = (0..AT_ONCE).map(|_| {
        let (world, next) = (world.clone(), next.clone());
        tokio::spawn(async move {
            while next.fetch_add(1, Ordering::Relaxed) < RUNS {
                let session = world.session().await;
                world.run(&session, TURNS).await;
                session.close().await.unwrap();
            }
        })
    });
    for worker in workers.collect::<Vec<_>>() {
        worker.await.unwrap();
    }
}

fn cost(goals: &mut Goals) {
    let (home, runtime) = (on_disk(), runtime());
    let world = Arc::new(world(home.path()));
    let all = |clock| {
        let measured = Comparison::new()
            .clock(clock)
            .repeats(1)
            .case("runs", || runtime.block_on(runs(world.clone())))
            .run();
        measured.millis("runs") / (RUNS * TURNS) as f64
    };
    goals.at_most("CPU of a turn, 16 runs at a time, one SQLite file", all(Clock::Process), 2.0, "ms");
    goals.note("time on the wall of the same, a turn", all(Clock::Wall), "ms");
}

/// From the end of the model's answer to the start of the first tool, in one run of so many turns with a call.
async fn starts(world: &RealWorld, turns: usize) -> Vec<Sample> {
    let session = world.session().await;
    let script = world.script(turns + 1);
    let handle = session.prompt("Write down what we have.".to_owned(), script, world.options.clone());
    let taken = (0..turns).map(|_| world.ended().until(&world.reached())).collect();
    handle.wait().await.unwrap();
    world.forget();
    session.close().await.unwrap();
    taken
}

fn promptness(goals: &mut Goals) {
    let runtime = runtime();
    let homes: Vec<_> = std::iter::once(on_disk()).chain(in_memory()).collect();
    let worlds: Vec<_> = homes.iter().map(|home| world(home.path()).watching()).collect();
    let mut taken: Vec<Vec<Sample>> = worlds.iter().map(|_| Vec::new()).collect();
    for _ in 0..ROUNDS {
        for (world, taken) in worlds.iter().zip(&mut taken) {
            taken.extend(runtime.block_on(starts(world, ANSWERS / ROUNDS)));
        }
    }
    for (place, taken) in ["on disk", "in memory"].into_iter().zip(&taken) {
        at_most_idle(goals, &format!("end of the answer to start of the tool, {place}"), taken, 1.0);
    }
}

fn main() -> ExitCode {
    let mut goals = Goals::new("turns");
    cost(&mut goals);
    promptness(&mut goals);
    goals.finish()
}
