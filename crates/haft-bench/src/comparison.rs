//! Measures named cases against one another: every round runs each case once, in turns, so that a machine that
//! slows down slows all of them.

use std::fmt;
use std::hint::black_box;
use std::time::Duration;

use crate::clock::Clock;
use crate::statistics::median;

/// Rounds that are run unless [`Comparison::rounds`] says otherwise, and the fewest that are allowed.
const LEAST_ROUNDS: usize = 7;
/// A sample repeats its case until it takes about this long, so that the clock's own grain does not count.
const SAMPLE: Duration = Duration::from_millis(20);
/// Longest run of one case within a sample, for cases that take no time at all.
const MOST_REPEATS: u64 = 1 << 24;

/// A bench with several cases, to be filled and then run.
///
/// ```
/// use haft_bench::{Clock, Comparison};
///
/// let measured = Comparison::new()
///     .clock(Clock::Process)
///     .repeats(3)
///     .case("short", || "a".repeat(10))
///     .case("long", || "a".repeat(100_000))
///     .run();
/// assert!(measured.ratio("long", "short") > 0.0);
/// ```
#[must_use = "a comparison measures nothing until it is run"]
pub struct Comparison<'a> {
    clock: Clock,
    rounds: usize,
    repeats: Option<u64>,
    cases: Vec<Case<'a>>,
}

struct Case<'a> {
    name: &'a str,
    /// Runs the case so many times and returns the time of all.
    sample: Box<dyn FnMut(Clock, u64) -> Duration + 'a>,
}

impl fmt::Debug for Comparison<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.cases.iter().map(|case| case.name).collect();
        f.debug_struct("Comparison")
            .field("clock", &self.clock)
            .field("cases", &names)
            .finish_non_exhaustive()
    }
}

impl Default for Comparison<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'a> Comparison<'a> {
    /// An empty comparison on the CPU clock of the thread.
    pub fn new() -> Self {
        Self { clock: Clock::Thread, rounds: LEAST_ROUNDS, repeats: None, cases: Vec::new() }
    }

    /// Measures on another clock.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Sets how many rounds are run; 7 at least.
    pub fn rounds(mut self, rounds: usize) -> Self {
        self.rounds = rounds.max(LEAST_ROUNDS);
        self
    }

    /// Sets how often each case is repeated in a sample, instead of as often as fills 20 ms.
    pub fn repeats(mut self, repeats: u64) -> Self {
        self.repeats = Some(repeats.max(1));
        self
    }

    /// Adds a case. Its result is kept from the optimiser and dropped within the measured time.
    pub fn case<T>(mut self, name: &'a str, mut work: impl FnMut() -> T + 'a) -> Self {
        let sample = Box::new(move |clock: Clock, repeats: u64| {
            clock.time(|| {
                for _ in 0..repeats {
                    drop(black_box(work()));
                }
            })
        });
        self.cases.push(Case { name, sample });
        self
    }

    /// Adds a case with a fresh input for every call; making the input is not measured. Each call is one sample of
    /// its own, so this is for work that takes well over the clock's grain of about a microsecond.
    pub fn case_with<I, T>(
        mut self,
        name: &'a str,
        mut input: impl FnMut() -> I + 'a,
        mut work: impl FnMut(I) -> T + 'a,
    ) -> Self {
        let sample = Box::new(move |clock: Clock, repeats: u64| {
            let mut taken = Duration::ZERO;
            for _ in 0..repeats {
                let input = input();
                taken += clock.time(|| drop(black_box(work(input))));
            }
            taken
        });
        self.cases.push(Case { name, sample });
        self
    }

    /// Warms every case up, then runs the rounds. Every second round goes through the cases backwards, so that none
    /// has a better place than another.
    pub fn run(mut self) -> Measured {
        let clock = self.clock;
        let repeats: Vec<u64> = self
            .cases
            .iter_mut()
            .map(|case| self.repeats.unwrap_or_else(|| fill_sample(|repeats| (case.sample)(clock, repeats))))
            .collect();
        let mut samples = vec![Vec::with_capacity(self.rounds); self.cases.len()];
        for round in 0..self.rounds {
            for case in order(round, self.cases.len()) {
                let taken = (self.cases[case].sample)(clock, repeats[case]);
                samples[case].push(taken.as_secs_f64() / repeats[case] as f64);
            }
        }
        let names = self.cases.iter().map(|case| case.name.to_owned());
        Measured { cases: names.zip(samples).collect() }
    }
}

/// The order of the cases in one round.
fn order(round: usize, cases: usize) -> Vec<usize> {
    if round.is_multiple_of(2) { (0..cases).collect() } else { (0..cases).rev().collect() }
}

/// How many repeats make a sample of about [`SAMPLE`]; `sample` runs so many and tells the time.
fn fill_sample(mut sample: impl FnMut(u64) -> Duration) -> u64 {
    let mut repeats = 1;
    loop {
        let taken = sample(repeats);
        if taken >= SAMPLE || repeats >= MOST_REPEATS {
            return repeats;
        }
        // Short samples say little of the rate: grow step by step, at most tenfold.
        let wanted = SAMPLE.as_secs_f64() / taken.as_secs_f64().max(1e-9);
        repeats = ((repeats as f64 * wanted.clamp(1.5, 10.0)).ceil() as u64).min(MOST_REPEATS);
    }
}

/// The samples of a comparison: per case one value a round, in seconds a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    cases: Vec<(String, Vec<f64>)>,
}

impl Measured {
    fn samples(&self, name: &str) -> &[f64] {
        self.cases.iter().find(|(case, _)| case == name).map_or(&[], |(_, samples)| samples)
    }

    /// Median time of one call in seconds; `NaN` when no case has this name.
    #[must_use]
    pub fn seconds(&self, name: &str) -> f64 {
        median(self.samples(name))
    }

    /// Median time of one call in microseconds; `NaN` when no case has this name.
    #[must_use]
    pub fn micros(&self, name: &str) -> f64 {
        self.seconds(name) * 1e6
    }

    /// Median time of one call in milliseconds; `NaN` when no case has this name.
    #[must_use]
    pub fn millis(&self, name: &str) -> f64 {
        self.seconds(name) * 1e3
    }

    /// Median over the rounds of how many times as long `name` takes as `peer`; `NaN` when a name is unknown.
    #[must_use]
    pub fn ratio(&self, name: &str, peer: &str) -> f64 {
        let rounds = self.samples(name).iter().zip(self.samples(peer));
        median(&rounds.map(|(own, peer)| own / peer).collect::<Vec<f64>>())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn rounds_interleave_the_cases_back_and_forth() {
        let seen = RefCell::new(String::new());
        let say = |name: char| seen.borrow_mut().push(name);
        let measured = Comparison::new()
            .rounds(3)
            .repeats(1)
            .case("a", || say('a'))
            .case("b", || say('b'))
            .case("c", || say('c'))
            .run();
        assert_eq!(*seen.borrow(), "abccba".repeat(3) + "abc", "seven rounds at least");
        assert!(measured.cases.iter().all(|(_, samples)| samples.len() == 7));
    }

    #[test]
    fn medians_and_ratios_of_rounds() {
        let measured = Measured {
            cases: vec![
                ("own".to_owned(), vec![2e-6, 9e-6, 4e-6]),
                ("peer".to_owned(), vec![1e-6, 3e-6, 4e-6]),
            ],
        };
        assert!((measured.micros("own") - 4.0).abs() < 1e-9);
        assert!((measured.millis("peer") - 0.003).abs() < 1e-9);
        assert!((measured.ratio("own", "peer") - 2.0).abs() < 1e-9);
        assert!(measured.ratio("own", "nobody").is_nan());
    }

    #[test]
    fn samples_are_filled() {
        let mut asked = Vec::new();
        let repeats = fill_sample(|repeats| {
            asked.push(repeats);
            Duration::from_micros(100) * u32::try_from(repeats).unwrap()
        });
        assert_eq!(asked, [1, 10, 100, 200]);
        assert_eq!(repeats, 200);
        assert_eq!(fill_sample(|_| Duration::ZERO), MOST_REPEATS);
    }

    #[test]
    fn inputs_are_made_for_each_call() {
        let made = RefCell::new(0);
        let input = || {
            *made.borrow_mut() += 1;
            vec![1u8; 10]
        };
        let measured = Comparison::new().repeats(2).case_with("sum", input, |bytes| bytes.len()).run();
        assert_eq!(*made.borrow(), 14);
        assert!(measured.seconds("sum") >= 0.0);
    }
}
