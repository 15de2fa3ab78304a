//! Gate, budget, policy, consent, grants, content from outside and reuse against a small model of them, over random sequences of
//! calls, answers, revocations, stops, crashes, restarts and surfaces that come and go.
//!
//! The model (`model/reference.rs`) says before each call what must become of it; the journal is then held against laws that know
//! nothing of the model (`model/laws.rs`). `HAFT_MODEL_CASES=20000 cargo test --release -p haft-engine --test model` is a long run.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]
#![expect(clippy::disallowed_methods, reason = "how long it runs is said from outside")]

#[path = "model/laws.rs"]
mod laws;
#[path = "model/reference.rs"]
mod reference;
#[path = "model/tools.rs"]
mod tools;
#[path = "model/world.rs"]
mod world;

use proptest::prelude::*;
use reference::{CELLS, Call, Fate, Reference, TOOLS};
use world::{Answering, World};

/// One thing that happens to a session.
#[derive(Debug, Clone)]
enum Step {
    /// A batch of calls as a run of its own, with what a person does at each question; `--yes` or not.
    Calls(Vec<Call>, Vec<Answering>, bool),
    /// A grant is taken back, by this process or by another.
    Revoke { number: usize, elsewhere: bool },
    /// Seconds pass.
    Pass(u64),
    /// The session is closed and opened by another process.
    Reopen,
    /// The person goes away, or comes.
    Surface(bool),
    /// An answer to a question that ended long ago.
    Late,
}

fn call() -> impl Strategy<Value = Call> {
    // Mostly what is asked about, so that yeses meet calls that they nearly cover.
    let tool = prop_oneof![
        5 => Just("view"),
        3 => Just("write"),
        3 => proptest::sample::select(&TOOLS[..]),
    ];
    let cell =
        prop_oneof![4 => proptest::sample::select(&CELLS[..4]), 1 => proptest::sample::select(&CELLS[..])];
    (tool, cell).prop_map(|(tool, cell)| Call { tool, cell })
}

fn answering() -> impl Strategy<Value = Answering> {
    prop_oneof![
        4 => Just(Answering::Once),
        2 => Just(Answering::Deny),
        4 => (0usize..3).prop_map(Answering::Session),
        2 => (0usize..3).prop_map(Answering::Run),
        1 => (0usize..3).prop_map(Answering::Until),
        1 => Just(Answering::OtherBytes),
        1 => Just(Answering::NotOffered),
        1 => Just(Answering::Silence),
        1 => Just(Answering::Twice),
        1 => Just(Answering::Leaves),
        1 => Just(Answering::ComesBack),
        1 => Just(Answering::Stop),
        1 => Just(Answering::Crash),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let calls = (
        proptest::collection::vec(call(), 1..6),
        proptest::collection::vec(answering(), 6),
        proptest::bool::weighted(0.3),
    );
    prop_oneof![
        8 => calls.prop_map(|(calls, answers, yes)| Step::Calls(calls, answers, yes)),
        3 => (0usize..2, any::<bool>()).prop_map(|(number, elsewhere)| Step::Revoke { number, elsewhere }),
        1 => (1u64..120).prop_map(Step::Pass),
        1 => Just(Step::Reopen),
        1 => any::<bool>().prop_map(Step::Surface),
        1 => Just(Step::Late),
    ]
}

async fn follow(steps: Vec<Step>, parallel: bool, reuse: bool, limit: u32) {
    // What runs side by side is repeated in an order that the model does not know.
    let reuse = reuse && !parallel;
    let mut world = World::new(parallel, reuse, limit).await;
    let mut reference = Reference::new(parallel, reuse, limit);
    for step in steps {
        match step {
            Step::Calls(calls, answers, yes) => {
                let watched = world.is_watched();
                let seen = world.calls(&calls, &answers, yes).await;
                let told = reference.batch(&calls, &answers, yes, watched, seen.began);
                assert_eq!(seen.fates, told, "{calls:?} with {answers:?}, --yes: {yes}");
                if told.contains(&Fate::Crashed) {
                    reference.restart();
                }
            }
            Step::Revoke { number, elsewhere } => {
                if let Some(id) = world.revoke(number, elsewhere).await {
                    reference.revoke(&id);
                }
            }
            Step::Pass(seconds) => world.pass(seconds).await,
            Step::Reopen => {
                world.reopen().await;
                reference.restart();
            }
            Step::Surface(is_there) => world.surface(is_there),
            Step::Late => world.late_answer(),
        }
        reference.learn(world.grants());
    }
    laws::hold(&world, limit).await;
}

fn cases() -> u32 {
    std::env::var("HAFT_MODEL_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(300)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    // No execution without a matching, unconsumed decision; no consent left open; budgets never exceeded; one end for each call.
    #[test]
    fn the_real_path_does_what_the_model_says(
        steps in proptest::collection::vec(step(), 1..16),
        parallel in proptest::bool::weighted(0.3),
        reuse in proptest::bool::weighted(0.8),
        limit in 2u32..8,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(follow(steps, parallel, reuse, limit));
    }
}
