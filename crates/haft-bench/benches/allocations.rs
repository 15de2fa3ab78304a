//! Allocations of one call along the whole path. Apart from the other benches, since the allocator that counts costs time.
#![allow(clippy::unwrap_used, reason = "a bench that cannot set up has nothing to measure")]

mod world;

use std::process::ExitCode;
use std::sync::Arc;

use haft_bench::{Goals, allocations};
use haft_core::ports::Store;
use haft_store::MemoryStore;
use world::{CALLS, NullStore, World};

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
    goals.finish()
}
