//! Counts what all threads allocate, with the counting allocator that linking this crate installs.

use std::alloc::System;

use stats_alloc::StatsAlloc;

#[global_allocator]
static COUNTED: StatsAlloc<System> = StatsAlloc::system();

/// What all threads allocated while a piece of work ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allocations {
    /// Number of allocations; one that grows in place counts again.
    pub count: u64,
    /// Bytes asked for in all of them.
    pub bytes: u64,
}

/// Runs `work` once and counts what is allocated meanwhile. Run it once before, where caches must be warm.
///
/// ```
/// let counted = haft_bench::allocations(|| vec![0u8; 1_000_000]);
/// assert!(counted.count >= 1 && counted.bytes >= 1_000_000);
/// ```
pub fn allocations<T>(work: impl FnOnce() -> T) -> Allocations {
    let before = COUNTED.stats();
    drop(std::hint::black_box(work()));
    let made = COUNTED.stats() - before;
    Allocations { count: (made.allocations + made.reallocations) as u64, bytes: made.bytes_allocated as u64 }
}

/// Bytes that all threads together hold at this moment. What C code allocates, such as SQLite, is not among them.
///
/// ```
/// let before = haft_bench::held_bytes();
/// let kept = vec![0u8; 1_000_000];
/// assert!(haft_bench::held_bytes() >= before + 1_000_000);
/// drop(kept);
/// assert!(haft_bench::held_bytes() < before + 1_000_000);
/// ```
pub fn held_bytes() -> u64 {
    let all = COUNTED.stats();
    all.bytes_allocated.saturating_sub(all.bytes_deallocated) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Other tests may run meanwhile, so that a little more is allowed.
    #[test]
    fn allocations_of_other_threads_are_counted_and_kept_ones_held() {
        let before = held_bytes();
        let mut kept = Vec::new();
        let counted = allocations(|| {
            let made = std::thread::spawn(|| (vec![1u8; 3_000_000], vec![1u8; 4_000_000])).join();
            kept = made.map(|(kept, _)| kept).unwrap_or_default();
        });
        assert!(counted.count >= 2 && (7_000_000..7_500_000).contains(&counted.bytes), "{counted:?}");
        assert!((3_000_000..3_500_000).contains(&(held_bytes() - before)));
        drop(kept);
    }
}
