//! One call of a trivial tool along the whole path: decode, gate, prepare, decide, commit, run, settle.
//!
//! Two stores: one that keeps nothing, so that what is left is the path itself, and the in-memory store with its hash chain.
#![allow(clippy::unwrap_used, reason = "a bench that cannot set up has nothing to measure")]

mod world;

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;

use haft_bench::{Comparison, Goals};
use haft_core::Schema;
use haft_schema::Validator;
use haft_store::MemoryStore;
use serde_json::{Value, json};
use world::{CALLS, NullStore, World, schema};

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let null = runtime.block_on(World::over(Arc::new(NullStore)));
    let validator = Validator::compile(&Schema::new(schema()).unwrap()).unwrap();
    let measured = Comparison::new()
        .case("floor", || {
            for _ in 0..CALLS {
                let arguments: Value = serde_json::from_str(black_box(r#"{"a":19,"b":23}"#)).unwrap();
                assert!(validator.validate(&arguments).is_ok());
                let number = |name: &str| arguments.get(name).and_then(Value::as_i64).unwrap_or_default();
                black_box(json!({"content": (number("a") + number("b")).to_string()}).to_string());
            }
        })
        .case("null store", || runtime.block_on(null.run(CALLS)))
        // A memory store grows; each sample gets a new one, so that no run pays for the ones before.
        .case("memory journal", || {
            runtime.block_on(async {
                let world = World::over(Arc::new(MemoryStore::new())).await;
                world.run(CALLS).await;
            });
        })
        .run();
    let mut goals = Goals::new("path");
    let each = CALLS as f64;
    goals.at_most("call, null store", measured.micros("null store") / each, 5.0, "µs");
    goals.at_most("call, in-memory hash chain", measured.micros("memory journal") / each, 15.0, "µs");
    goals.note(
        "call, null store, against parse + validate + serialise",
        measured.ratio("null store", "floor"),
        "x",
    );
    goals.finish()
}
