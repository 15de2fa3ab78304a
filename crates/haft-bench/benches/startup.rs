//! How long `haft tools` takes from start to end, in a home with a store that it must not open.
//!
//! The binary is a child process, so the time is that on the wall; it stands beside the cheapest start that this machine has.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, missing_docs, reason = "a bench")]

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::SystemTime;

use haft_bench::{Clock, Comparison, Goals};
use haft_core::journal::{Batch, ModelRequestFailed, Payload};
use haft_core::ports::{JournalRows as _, NewSession, SessionRows as _};
use haft_core::{InvocationId, RunId, SessionId, Timestamp};
use haft_store::SqliteStore;

/// Runs and records of the store that lies there: some 30 MB.
const RUNS: usize = 100;
const RECORDS: u64 = 100;
const ROUNDS: usize = 31;

fn main() -> ExitCode {
    let haft = release_binary();
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    let before = contents(folder.path());
    let start = |arguments: &[&str]| {
        let mut command = Command::new(&haft);
        command.env_clear().args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        assert!(command.status().unwrap().success(), "{arguments:?}");
    };
    let home = folder.path().to_str().unwrap();
    let fresh = folder.path().join("fresh");
    let measured = Comparison::new()
        .clock(Clock::Wall)
        .rounds(ROUNDS)
        .repeats(1)
        .case("tools", || start(&["--home", home, "tools"]))
        .case("fresh", || start(&["--home", fresh.to_str().unwrap(), "tools"]))
        .case("version", || start(&["--version"]))
        .run();
    assert_eq!(contents(folder.path()), before, "`haft tools` touched the home");
    assert!(!fresh.exists(), "`haft tools` made a home");

    let mut goals = Goals::new("startup");
    let megabytes = before.iter().map(|(_, bytes, _)| *bytes).sum::<u64>() as f64 / 1e6;
    goals.note("store that lies in the home", megabytes, "MB");
    goals.at_most("haft tools, start to end", measured.seconds("tools") * 1e3, 30.0, "ms");
    goals.at_most("haft tools without a home", measured.seconds("fresh") * 1e3, 30.0, "ms");
    goals.note("haft --version", measured.seconds("version") * 1e3, "ms");
    goals.finish()
}

/// The binary that people run, built if it is not there.
fn release_binary() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let built = Command::new(env!("CARGO")).args(["build", "--release", "--package", "haft-cli"]).status();
    assert!(built.unwrap().success(), "the binary cannot be built");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    target.join("release").join(format!("haft{}", std::env::consts::EXE_SUFFIX))
}

/// Makes a store with many records.
fn fill(home: &Path) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let store = SqliteStore::open(home, Timestamp(1)).unwrap();
        let id = SessionId::new("s_0000000000000000");
        let new =
            NewSession { id: id.clone(), created: Timestamp(1), profile: "default".into(), project: None };
        store.create_session(&new).await.unwrap();
        let lease = store.lease(&id, "bench", Timestamp(1)).await.unwrap();
        for run in 0..RUNS {
            let mut batch = Batch::new(RunId::new(format!("r_{run:016}")));
            for number in 0..RECORDS {
                let failed = ModelRequestFailed {
                    invocation: InvocationId::new("i_0000000000000000"),
                    turn: 1,
                    error_code: "model.unreachable".into(),
                    message: format!("{number:03000}"),
                };
                batch.record(Timestamp(5), &Payload::ModelRequestFailed(failed)).unwrap();
            }
            store.append(&lease, batch).await.unwrap();
        }
        store.release(&lease).await.unwrap();
    });
}

/// Name, size and time of the home and of all that lies in it. Opening the store makes files beside it for a moment, which
/// changes the time of the home.
fn contents(home: &Path) -> Vec<(PathBuf, u64, SystemTime)> {
    let inside = std::fs::read_dir(home).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<_> = inside
        .chain([home.to_owned()])
        .map(|path| {
            let data = path.metadata().unwrap();
            (path, data.len(), data.modified().unwrap())
        })
        .collect();
    all.sort();
    all
}
