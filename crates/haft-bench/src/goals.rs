//! Goals and figures, one line each: `ok    name  figure  goal`.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench prints, and reads HAFT_BENCH_STRICT"
)]

use std::fmt::Write as _;
use std::process::ExitCode;

/// The lines of one bench. Each is printed when it is added; [`Goals::finish`] gives the exit code.
///
/// ```
/// let mut goals = haft_bench::Goals::new("parse");
/// assert!(goals.at_most("two calls", 2.4, 3.0, "x"));
/// assert!(!goals.at_least("16 sessions", 0.7, 0.8, "x"));
/// assert_eq!(goals.missed(), 1);
/// ```
#[derive(Debug)]
pub struct Goals {
    bench: String,
    missed: usize,
}

impl Goals {
    /// Starts the list of one bench, whose name stands before each line's own.
    #[must_use]
    pub fn new(bench: &str) -> Self {
        Self { bench: bench.to_owned(), missed: 0 }
    }

    /// States that `figure` must not exceed `goal`, prints both, and returns whether it holds. `unit` is printed
    /// behind both numbers (`µs`, `ms`, `x` for a ratio).
    pub fn at_most(&mut self, name: &str, figure: f64, goal: f64, unit: &str) -> bool {
        self.add(name, figure, &format!("<= {}", number(goal)), unit, figure <= goal)
    }

    /// States that `figure` must reach `goal`, prints both, and returns whether it holds.
    pub fn at_least(&mut self, name: &str, figure: f64, goal: f64, unit: &str) -> bool {
        self.add(name, figure, &format!(">= {}", number(goal)), unit, figure >= goal)
    }

    /// Prints a figure that has no goal.
    pub fn note(&mut self, name: &str, figure: f64, unit: &str) {
        println!("{}", line("note", &self.bench, name, figure, unit, ""));
    }

    /// How many goals were missed so far.
    #[must_use]
    pub fn missed(&self) -> usize {
        self.missed
    }

    /// The exit code of the bench: failure only when a goal was missed and `HAFT_BENCH_STRICT=1` is set.
    #[must_use]
    pub fn finish(self) -> ExitCode {
        let is_strict = std::env::var_os("HAFT_BENCH_STRICT").is_some_and(|value| value == "1");
        exit_code(self.missed, is_strict)
    }

    /// A figure that is `NaN` holds no goal: the comparison by `<=` says so.
    fn add(&mut self, name: &str, figure: f64, goal: &str, unit: &str, holds: bool) -> bool {
        let verdict = if holds { "ok" } else { "MISS" };
        self.missed += usize::from(!holds);
        println!("{}", line(verdict, &self.bench, name, figure, unit, goal));
        holds
    }
}

fn exit_code(missed: usize, is_strict: bool) -> ExitCode {
    if is_strict && missed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn line(verdict: &str, bench: &str, name: &str, figure: f64, unit: &str, goal: &str) -> String {
    let mut line =
        format!("{verdict:<4}  {:<52}  {:>10} {unit:<7}", format!("{bench}: {name}"), number(figure));
    if !goal.is_empty() {
        // Writing to a String cannot fail.
        let _: Result<(), std::fmt::Error> = write!(line, "  goal {goal} {unit}");
    }
    line.truncate(line.trim_end().len());
    line
}

/// Three significant digits, without exponent.
fn number(value: f64) -> String {
    let digits = match value.abs() {
        large if large >= 100.0 => 0,
        middle if middle >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_hold_verdict_name_figure_and_goal() {
        assert_eq!(
            line("ok", "path", "null store", 3.456, "µs", "<= 5.00"),
            format!("ok    {:<52}        3.46 µs       goal <= 5.00 µs", "path: null store")
        );
        assert_eq!(
            line("note", "path", "allocations", 120.0, "a call", ""),
            format!("note  {:<52}         120 a call", "path: allocations")
        );
    }

    #[test]
    fn goals_are_missed_by_figures_beyond_them_and_by_none() {
        let mut goals = Goals::new("b");
        assert!(goals.at_most("a", 5.0, 5.0, "x"));
        assert!(!goals.at_most("a", 5.1, 5.0, "x"));
        assert!(goals.at_least("a", 0.8, 0.8, "x"));
        assert!(!goals.at_least("a", 0.79, 0.8, "x"));
        assert!(!goals.at_most("a", f64::NAN, 5.0, "x"));
        assert!(!goals.at_least("a", f64::NAN, 5.0, "x"));
        assert_eq!(goals.missed(), 4);
    }

    #[test]
    fn misses_fail_only_when_strict() {
        let same = |left: ExitCode, right: ExitCode| format!("{left:?}") == format!("{right:?}");
        assert!(same(exit_code(2, false), ExitCode::SUCCESS));
        assert!(same(exit_code(2, true), ExitCode::FAILURE));
        assert!(same(exit_code(0, true), ExitCode::SUCCESS));
    }

    #[test]
    fn numbers_have_three_digits() {
        assert_eq!([0.1234, 5.0, 12.34, 123.4].map(number), ["0.12", "5.00", "12.3", "123"]);
    }
}
