//! Counts what one call allocates, with the counting allocator that linking this crate installs.

/// What the current thread allocated while a piece of work ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allocations {
    /// Number of allocations; one that grows in place counts again.
    pub count: u64,
    /// Bytes asked for in all of them.
    pub bytes: u64,
    /// Most bytes held at one time.
    pub peak_bytes: u64,
}

/// Runs `work` once and counts what it allocates on this thread. Run it once before, where caches must be warm.
///
/// ```
/// let counted = haft_bench::allocations(|| vec![0u8; 1000]);
/// assert_eq!((counted.count, counted.bytes), (1, 1000));
/// ```
pub fn allocations<T>(work: impl FnOnce() -> T) -> Allocations {
    let counted = allocation_counter::measure(|| drop(std::hint::black_box(work())));
    Allocations { count: counted.count_total, bytes: counted.bytes_total, peak_bytes: counted.bytes_max }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocations_are_counted_and_the_peak_kept() {
        let counted = allocations(|| {
            drop(std::hint::black_box(vec![1u8; 300]));
            drop(std::hint::black_box(Box::new([1u8; 100])));
        });
        assert_eq!(counted, Allocations { count: 2, bytes: 400, peak_bytes: 300 });
        assert_eq!(allocations(|| 1 + 1), Allocations { count: 0, bytes: 0, peak_bytes: 0 });
    }
}
