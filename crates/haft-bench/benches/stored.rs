//! What a store that holds much costs at the start of a process and where a session goes on: over a million journal records, over 1 GB.
//!
//! The store is made once, in `target/bench-data`, by bulk inserts into the tables that the store itself makes: a run that the engine
//! drove is copied under other names, with its chain sealed anew. It stays there; remove the folder to have it made again. Everything
//! is measured on the wall beside the same thing in a store that holds those few sessions alone. Before a cold start the system is told
//! to forget the pages of the database, so that they come from the disk.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a bench that cannot set up has nothing to measure"
)]

#[path = "stored/data.rs"]
mod data;
mod real;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use data::{LONG, MIDDLE, SHORT};
use haft_bench::{Clock, Goals, median, percentile};
use haft_core::ports::Clock as _;
use haft_engine::{SessionChoice, conversation};
use haft_store::SqliteStore;
use real::{RealClock, RealWorld, millis, on_disk, runtime, target};
use rustix::fs::{Advice, fadvise};

const ROUNDS: usize = 31;

fn main() -> ExitCode {
    let large = target().join("bench-data").join("stored-2");
    let small = on_disk();
    data::make_sure(&large, data::SESSIONS);
    data::make(small.path(), 0);
    let mut goals = Goals::new("stored");
    goals.note("database", file(&large).metadata().unwrap().len() as f64 / 1e9, "GB");
    goals.note("records", data::records(&large) as f64 / 1e6, "million");
    resumes(&mut goals, &large, small.path());
    starts(&mut goals, &large, small.path());
    goals.finish()
}

/// Whole processes, from start to end.
fn starts(goals: &mut Goals, large: &Path, small: &Path) {
    let haft = release_binary();
    let start = |home: &Path, arguments: &[&str]| {
        let mut command = Command::new(&haft);
        command.env_clear().arg("--home").arg(home).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let began = Instant::now();
        assert!(command.status().unwrap().success(), "{arguments:?}");
        began.elapsed()
    };
    let tools = ["tools", "--session", SHORT];
    let run = ["run", "--dry-run", "--model", "demo", "--session", MIDDLE, "Hello."];
    let cases: [(&str, &[&str]); 2] = [
        ("a process that opens the store", &tools),
        ("the same, and reads 1,000 records of a session", &run),
    ];
    for (name, arguments) in cases {
        let mut taken = [const { Vec::new() }; 3];
        for _ in 0..ROUNDS {
            taken[0].push(start(large, arguments));
            taken[1].push(start(small, arguments));
            forget_pages(large);
            taken[2].push(start(large, arguments));
        }
        let [large, small, cold] = taken.map(|taken| median(&millis(&taken)));
        goals.at_most(name, large, 50.0, "ms");
        goals.at_most(&format!("{name}, cold"), cold, 50.0, "ms");
        goals.note("against a store that holds little", large / small, "x");
    }
}

/// What something took on the wall, and on the CPU of all threads: on a busy machine the two are far apart.
#[derive(Default)]
struct Times {
    wall: Vec<f64>,
    cpu: Vec<f64>,
}

impl Times {
    fn add<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let (mut value, mut wall) = (None, Duration::ZERO);
        let cpu = Clock::Process.time(|| {
            let began = Instant::now();
            value = Some(work());
            wall = began.elapsed();
        });
        self.wall.extend(millis(&[wall]));
        self.cpu.extend(millis(&[cpu]));
        value.unwrap()
    }
}

/// Opening store and session, and then what is read once for its next run.
fn resumes(goals: &mut Goals, large: &Path, small: &Path) {
    let runtime = runtime();
    let resume = |home: &Path, choice: SessionChoice, opened: &mut Times, tail: &mut Times| {
        let (store, session) = opened.add(|| {
            let store = Arc::new(SqliteStore::open(home, RealClock.now()).unwrap());
            let world = RealWorld::over(store.clone(), |_| ());
            (store, runtime.block_on(world.open(choice)))
        });
        let messages =
            tail.add(|| runtime.block_on(conversation(store.as_ref(), session.id())).unwrap().len());
        runtime.block_on(session.close()).unwrap();
        messages
    };
    let of = |name: &str| SessionChoice::Id(name.into());
    let cases = [
        ("100 records", of(SHORT), 100),
        ("1,000 records", of(MIDDLE), 1_000),
        ("10,000 records", of(LONG), 10_000),
        ("the newest", SessionChoice::Last, 100),
    ];
    for (name, choice, records) in cases {
        let mut taken: [(Times, Times); 3] = Default::default();
        for _ in 0..ROUNDS {
            for (at, home) in [large, small, large].into_iter().enumerate() {
                if at == 2 {
                    forget_pages(large);
                }
                let (opened, tail) = &mut taken[at];
                let messages = resume(home, choice.clone(), opened, tail);
                assert!(messages > records / 5, "{messages}");
            }
        }
        let [large, small, cold] = &taken;
        for (name, (opened, tail)) in [(name.to_owned(), large), (format!("{name}, cold"), cold)] {
            goals.at_most(&format!("resuming a session: {name}"), median(&opened.wall), 20.0, "ms");
            goals.note("9 of 10", percentile(&opened.wall, 0.9), "ms");
            goals.note("on the CPU", median(&opened.cpu), "ms");
            goals.note("its tail", median(&tail.wall), "ms");
            goals.note("its tail on the CPU", median(&tail.cpu), "ms");
        }
        goals.note(
            "on the CPU, against a store that holds little",
            median(&large.0.cpu) / median(&small.0.cpu),
            "x",
        );
    }
}

fn file(home: &Path) -> PathBuf {
    home.join("haft.db")
}

/// Lets the system forget what it has read of the database.
fn forget_pages(home: &Path) {
    fadvise(File::open(file(home)).unwrap(), 0, None, Advice::DontNeed).unwrap();
}

/// The binary that people run, built if it is not there.
fn release_binary() -> PathBuf {
    let built = Command::new(env!("CARGO")).args(["build", "--release", "--package", "haft-cli"]).status();
    assert!(built.unwrap().success(), "the binary cannot be built");
    target().join("release").join(format!("haft{}", std::env::consts::EXE_SUFFIX))
}
