//! The harness of Haft's benches: it measures several named cases in interleaved rounds on a CPU clock, takes
//! medians, and prints each goal beside its figure.
//!
//! A bench is a file in `benches/` with `harness = false`, run by `cargo bench -p haft-bench --bench NAME`, or all of
//! them by `make bench`. A goal is stated against a limit or against a peer that is measured in the same run, so that
//! a figure holds on another machine. Missed goals are printed and fail nothing, unless `HAFT_BENCH_STRICT=1`.
//!
//! With the feature `allocations`, linking this crate installs an allocator that counts what all threads allocate; since it costs
//! time, it stands in a bench of its own. The harness must not know what it measures: cases are closures.
//!
//! Start reading at [`Comparison`], then [`Goals`].
//!
//! ```no_run
//! use haft_bench::{Comparison, Goals};
//!
//! fn main() -> std::process::ExitCode {
//!     let text = "a <b> c ".repeat(64);
//!     let measured = Comparison::new()
//!         .case("split", || text.split('<').count())
//!         .case("scan", || text.bytes().filter(|byte| *byte == b'<').count())
//!         .run();
//!     let mut goals = Goals::new("text");
//!     goals.at_most("split / scan", measured.ratio("split", "scan"), 3.0, "x");
//!     goals.at_most("split", measured.micros("split"), 5.0, "µs");
//!     goals.finish()
//! }
//! ```

#[cfg(feature = "allocations")]
mod allocations;
mod clock;
mod comparison;
mod goals;
mod statistics;

#[cfg(feature = "allocations")]
pub use allocations::{Allocations, allocations, held_bytes};
pub use clock::Clock;
pub use comparison::{Comparison, Measured};
pub use goals::Goals;
pub use statistics::{median, percentile, worst_doubling};
