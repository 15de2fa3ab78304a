//! When a run goes round in circles: the same call fails again and again, the same wish is refused again and again, or nothing
//! works any more. Pure: it counts what it is told.

use std::collections::HashMap;
use std::fmt;

use haft_schema::Digest;
use serde::{Deserialize, Serialize};

use crate::scope::Scope;

/// After how many repetitions a run is ended; 0 switches a count off.
///
/// ```
/// use haft_core::streak::LoopLimits;
/// let limits = LoopLimits::default();
/// assert_eq!((limits.same_failures, limits.same_denials, limits.failed_batches), (3, 3, 8));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoopLimits {
    /// Failures of one call with one set of arguments, while nothing was changed in between (`loop.same_failures`).
    pub same_failures: u32,
    /// Refusals of one wish (`loop.same_denials`).
    pub same_denials: u32,
    /// Batches one after another in which every call failed (`loop.failed_batches`).
    pub failed_batches: u32,
}

impl Default for LoopLimits {
    fn default() -> Self {
        Self { same_failures: 3, same_denials: 3, failed_batches: 8 }
    }
}

/// How one call ended, as far as streaks look at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallEnd {
    /// It did its work.
    Done {
        /// It may have changed something, so that what failed before may work now.
        writes: bool,
    },
    /// It failed.
    Failed {
        /// The digest of its arguments.
        arguments: Digest,
    },
    /// Policy or a person refused it.
    Denied {
        /// What it was after, narrowest first: where that is a file, a folder, a host or a command, another tool with the same
        /// goal is the same wish; else the tool itself is what was refused.
        goal: Scope,
    },
    /// It had no chance: stopped, or out of budget. That is no sign of a circle, yet nothing worked.
    Barred,
}

/// Why a run makes no progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoProgress {
    /// One call failed so many times.
    SameFailure {
        /// The tool, as the model calls it.
        tool: String,
        /// How many times.
        times: u32,
    },
    /// One wish was refused so many times.
    SameDenial {
        /// The tool that tried last, as the model calls it.
        tool: String,
        /// What it was after.
        goal: Scope,
        /// How many times.
        times: u32,
    },
    /// So many batches without any call that worked.
    FailedBatches {
        /// How many.
        batches: u32,
    },
}

impl NoProgress {
    /// The profile key that sets the limit.
    pub fn key(&self) -> &'static str {
        match self {
            Self::SameFailure { .. } => "loop.same_failures",
            Self::SameDenial { .. } => "loop.same_denials",
            Self::FailedBatches { .. } => "loop.failed_batches",
        }
    }
}

impl fmt::Display for NoProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SameFailure { tool, times } => {
                write!(
                    f,
                    "`{tool}` failed {times} times with the same arguments, and nothing was changed in between"
                )
            }
            Self::SameDenial { tool, goal: Scope::Tool, times } => {
                write!(f, "`{tool}` was refused {times} times")
            }
            Self::SameDenial { tool, goal, times } => {
                write!(f, "what `{tool}` was to do with {goal} was refused {times} times")
            }
            Self::FailedBatches { batches } => {
                write!(f, "{batches} times one after another, none of the calls worked")
            }
        }
    }
}

/// What one wish is: a goal, or a tool where the goal is no narrower.
type Wish = (Option<String>, Scope);

/// The streaks of one invocation.
#[derive(Debug, Clone, Default)]
pub struct Streaks {
    limits: LoopLimits,
    failures: HashMap<(String, Digest), u32>,
    denials: HashMap<Wish, u32>,
    failed_batches: u32,
}

impl Streaks {
    /// No streaks yet.
    pub fn new(limits: LoopLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Takes one batch, tool by tool in call order, and says whether the run goes round in circles. `tool` is what the model
    /// called.
    pub fn batch<'a>(&mut self, ends: impl IntoIterator<Item = (&'a str, CallEnd)>) -> Option<NoProgress> {
        let mut found = None;
        let (mut any, mut any_done) = (false, false);
        for (tool, end) in ends {
            any = true;
            let one = match end {
                CallEnd::Done { writes } => {
                    any_done = true;
                    if writes {
                        self.failures.clear();
                    }
                    None
                }
                CallEnd::Failed { arguments } => self.failure(tool, arguments),
                CallEnd::Denied { goal } => self.denial(tool, goal),
                CallEnd::Barred => None,
            };
            found = found.or(one);
        }
        self.failed_batches = match (any, any_done) {
            (false, _) => self.failed_batches,
            (true, true) => 0,
            (true, false) => self.failed_batches.saturating_add(1),
        };
        let batches = self.failed_batches;
        found.or_else(|| {
            reached(batches, self.limits.failed_batches).then_some(NoProgress::FailedBatches { batches })
        })
    }

    fn failure(&mut self, tool: &str, arguments: Digest) -> Option<NoProgress> {
        let times = self.failures.entry((tool.to_owned(), arguments)).or_default();
        *times = times.saturating_add(1);
        let times = *times;
        reached(times, self.limits.same_failures)
            .then(|| NoProgress::SameFailure { tool: tool.to_owned(), times })
    }

    fn denial(&mut self, tool: &str, goal: Scope) -> Option<NoProgress> {
        let tool_itself = (goal == Scope::Tool).then(|| tool.to_owned());
        let times = self.denials.entry((tool_itself, goal.clone())).or_default();
        *times = times.saturating_add(1);
        let times = *times;
        reached(times, self.limits.same_denials).then(|| NoProgress::SameDenial {
            tool: tool.to_owned(),
            goal,
            times,
        })
    }
}

fn reached(times: u32, limit: u32) -> bool {
    limit > 0 && times >= limit
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(arguments: &str) -> CallEnd {
        CallEnd::Failed { arguments: Digest::of(arguments.as_bytes()) }
    }

    fn denied(path: &str) -> CallEnd {
        CallEnd::Denied { goal: Scope::File(path.into()) }
    }

    #[test]
    fn the_same_failure_counts_until_something_is_changed() {
        let mut streaks = Streaks::new(LoopLimits::default());
        assert_eq!(streaks.batch([("build", failed("a")), ("build", failed("b"))]), None);
        assert_eq!(streaks.batch([("look", CallEnd::Done { writes: false }), ("build", failed("a"))]), None);
        let mut changed = streaks.clone();
        assert_eq!(changed.batch([("edit", CallEnd::Done { writes: true }), ("build", failed("a"))]), None);
        let found = streaks.batch([("look", CallEnd::Done { writes: false }), ("build", failed("a"))]);
        assert_eq!(found, Some(NoProgress::SameFailure { tool: "build".into(), times: 3 }));
        assert_eq!(
            found.unwrap().to_string(),
            "`build` failed 3 times with the same arguments, and nothing was changed in between"
        );
    }

    // A blocked goal stays blocked, whichever tool tries.
    #[test]
    fn a_refused_goal_counts_across_tools_and_a_refused_tool_by_itself() {
        let mut streaks = Streaks::new(LoopLimits::default());
        assert_eq!(streaks.batch([("delete", denied("/a")), ("write", denied("/b"))]), None);
        assert_eq!(streaks.batch([("move", denied("/a"))]), None);
        let found = streaks.batch([("write", denied("/a"))]).unwrap();
        assert_eq!(found.to_string(), "what `write` was to do with file:/a was refused 3 times");

        let tool = |name: &'static str| (name, CallEnd::Denied { goal: Scope::Tool });
        let mut streaks = Streaks::new(LoopLimits::default());
        assert_eq!(streaks.batch([tool("one"), tool("two"), tool("one"), tool("two")]), None);
        assert_eq!(streaks.batch([tool("two")]).unwrap().to_string(), "`two` was refused 3 times");
    }

    #[test]
    fn batches_count_only_while_nothing_works() {
        let mut streaks = Streaks::new(LoopLimits { failed_batches: 2, ..LoopLimits::default() });
        assert_eq!(streaks.batch([("a", failed("1"))]), None);
        assert_eq!(streaks.batch([]), None);
        assert_eq!(streaks.batch([("a", failed("2")), ("b", CallEnd::Done { writes: false })]), None);
        assert_eq!(streaks.batch([("a", CallEnd::Barred)]), None);
        assert_eq!(streaks.batch([("a", failed("3"))]), Some(NoProgress::FailedBatches { batches: 2 }));
    }

    #[test]
    fn nought_switches_a_count_off() {
        let off = LoopLimits { same_failures: 0, same_denials: 0, failed_batches: 0 };
        let mut streaks = Streaks::new(off);
        for _ in 0..50 {
            assert_eq!(streaks.batch([("a", failed("1")), ("b", denied("/a"))]), None);
        }
    }
}
