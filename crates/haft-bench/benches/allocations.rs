//! Allocations of one call along the whole path, and what a session holds that waits for its next run. Apart from the other
//! benches, since the allocator that counts costs time.
#![allow(clippy::unwrap_used, reason = "a bench that cannot set up has nothing to measure")]

mod real;
mod world;

use std::process::ExitCode;
use std::sync::Arc;

use haft_bench::{Goals, allocations, held_bytes};
use haft_core::facts::Permission;
use haft_core::ports::{Clock as _, Store};
use haft_store::{MemoryStore, SqliteStore};
use real::{RealClock, RealWorld, on_disk};
use world::{CALLS, NullStore, World};

/// Sessions that are held at one time, after as many as warm everything up.
const SESSIONS: usize = 1_000;
const WARM: usize = 100;
/// Turns of the run that each has behind it.
const TURNS: usize = 5;

fn main() -> ExitCode {
    let mut goals = Goals::new("allocations");
    goals.note("call, null store", of_a_call(Arc::new(NullStore)), "a call");
    goals.note("call, in-memory hash chain", of_a_call(Arc::new(MemoryStore::new())), "a call");
    idle(&mut goals);
    goals.finish()
}

fn of_a_call(store: Arc<dyn Store>) -> f64 {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let world = runtime.block_on(World::over(store));
    let counted = |calls| allocations(|| runtime.block_on(world.run(calls))).count as f64;
    let _warm = counted(8);
    // The difference of two runs leaves out what a run costs once.
    (counted(CALLS + 64) - counted(64)) / CALLS as f64
}

/// What many open sessions of one engine hold, in all threads, each with a run behind it whose conversation it keeps.
fn idle(goals: &mut Goals) {
    let (home, runtime) = (on_disk(), real::runtime());
    runtime.block_on(async {
        let store = Arc::new(SqliteStore::open(home.path(), RealClock.now()).unwrap());
        let world = RealWorld::over(store, |facts| facts.permission = Permission::Allow);
        let open = async |number: usize, turns: usize| {
            let mut sessions = Vec::with_capacity(number);
            for _ in 0..number {
                let session = world.session().await;
                if turns > 0 {
                    world.run(&session, turns).await;
                }
                sessions.push(session);
            }
            world.forget();
            sessions
        };
        // They are kept to the end, so that none gives back what another is measured by.
        let mut all = vec![open(WARM, TURNS).await];
        for (name, turns) in
            [("an idle session that was just opened", 0), ("an idle session after 5 turns", TURNS)]
        {
            let before = held_bytes();
            all.push(open(SESSIONS, turns).await);
            let each = held_bytes().saturating_sub(before) as f64 / SESSIONS as f64 / 1_000.0;
            goals.at_most(name, each, 50.0, "kB");
        }
    });
}
