//! Allocations of one call along the whole path, and what a session holds that waits for its next run. Apart from the other
//! benches, since the allocator that counts costs time.
#![allow(clippy::unwrap_used, reason = "a bench that cannot set up has nothing to measure")]

mod world;

use std::process::ExitCode;
use std::sync::Arc;

use haft_bench::{Goals, allocations};
use haft_core::ports::Store;
use haft_store::MemoryStore;
use world::{CALLS, NullStore, World};

/// Sessions that are held at one time.
const SESSIONS: usize = 100;

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let a_call = |store: Arc<dyn Store>| {
        let world = runtime.block_on(World::over(store));
        let counted = |calls| allocations(|| runtime.block_on(world.run(calls))).count as f64;
        let _warm = counted(8);
        // The difference of two runs leaves out what a run costs once.
        (counted(CALLS + 64) - counted(64)) / CALLS as f64
    };
    let mut goals = Goals::new("allocations");
    goals.note("call, null store", a_call(Arc::new(NullStore)), "a call");
    goals.note("call, in-memory hash chain", a_call(Arc::new(MemoryStore::new())), "a call");
    // The store keeps nothing, so what is held is the session's own; the peak is a little above it, by one run.
    let held = allocations(|| {
        let idle = |_| {
            runtime.block_on(async {
                let world = World::over(Arc::new(NullStore)).await;
                world.run(8).await;
                world
            })
        };
        (0..SESSIONS).map(idle).collect::<Vec<_>>()
    });
    let each = held.peak_bytes as f64 / SESSIONS as f64 / 1_000.0;
    goals.at_most("an idle session, with an engine of its own", each, 50.0, "kB");
    goals.finish()
}
