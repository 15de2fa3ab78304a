//! Places where a test may let the process die. In the program itself they are nothing.

/// One place in the order of reaching it.
#[cfg(not(test))]
#[inline(always)]
pub(crate) fn point() {}

#[cfg(test)]
pub(crate) use counted::{die_at, point, reached};

#[cfg(test)]
mod counted {
    use std::sync::atomic::{AtomicU64, Ordering};

    static REACHED: AtomicU64 = AtomicU64::new(0);
    static DIE_AT: AtomicU64 = AtomicU64::new(u64::MAX);

    /// One place in the order of reaching it.
    pub(crate) fn point() {
        let number = REACHED.fetch_add(1, Ordering::SeqCst);
        if number == DIE_AT.load(Ordering::SeqCst) {
            std::process::abort();
        }
    }

    /// Lets the process die at the `number`th place from now on, from 0.
    pub(crate) fn die_at(number: u64) {
        REACHED.store(0, Ordering::SeqCst);
        DIE_AT.store(number, Ordering::SeqCst);
    }

    /// How many places were reached.
    pub(crate) fn reached() -> u64 {
        REACHED.load(Ordering::SeqCst)
    }
}
