//! The clocks of the benches. CPU time is what a program is to blame for; wall time is for what waits on a disk
//! or on another process.
#![expect(clippy::disallowed_methods, reason = "a bench measures time; nothing that ships links this crate")]

use std::time::{Duration, Instant};

use cpu_time::{ProcessTime, ThreadTime};

/// What is counted while a case runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// CPU time of the thread that runs the bench. The right one for pure code.
    Thread,
    /// CPU time of all threads of the process. For code that works on several threads.
    Process,
    /// Time on the wall. For durable writes and child processes; the machine's other load is in it.
    Wall,
}

impl Clock {
    /// The time that `work` takes on this clock.
    pub fn time(self, work: impl FnOnce()) -> Duration {
        match self {
            Self::Thread => {
                let start = ThreadTime::now();
                work();
                start.elapsed()
            }
            Self::Process => {
                let start = ProcessTime::now();
                work();
                start.elapsed()
            }
            Self::Wall => {
                let start = Instant::now();
                work();
                start.elapsed()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_works_uses_time_on_every_clock() {
        for clock in [Clock::Thread, Clock::Process, Clock::Wall] {
            let taken = clock.time(|| {
                std::hint::black_box((0..2_000_000u64).fold(0, |sum, n| std::hint::black_box(sum ^ n)));
            });
            assert!(taken > Duration::ZERO, "{clock:?}");
        }
    }

    #[test]
    fn the_cpu_clock_of_a_thread_does_not_count_others() {
        let mine = Clock::Thread.time(|| {
            let other = std::thread::spawn(|| {
                std::hint::black_box((0..20_000_000u64).fold(0, |sum, n| std::hint::black_box(sum ^ n)));
                Clock::Thread.time(|| ())
            });
            assert!(other.join().is_ok());
        });
        let all = Clock::Process.time(|| {
            let other = std::thread::spawn(|| {
                std::hint::black_box((0..20_000_000u64).fold(0, |sum, n| std::hint::black_box(sum ^ n)));
            });
            assert!(other.join().is_ok());
        });
        assert!(mine < all, "{mine:?} against {all:?}");
    }
}
