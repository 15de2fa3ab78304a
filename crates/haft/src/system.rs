//! The real clock and the real source of ids, for whoever puts Haft together: an embedding program or the command line.
//!
//! No other room may ask the machine for time or randomness; all of them take these through the ports.

#![expect(clippy::disallowed_methods, reason = "this room owns the clock and randomness")]

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use haft_core::{Clock, Digest, Ids, Timestamp};

/// The clock of the machine.
///
/// ```
/// use haft::Clock;
/// use haft::system::SystemClock;
/// assert!(SystemClock.now().0 > 1_700_000_000_000);
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    /// Milliseconds since 1970; 0 on a machine whose clock stands before that.
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }
}

/// The operating system gives no randomness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the operating system gives no randomness, so no ids can be made: {0}")]
pub struct NoRandomness(getrandom::Error);

/// Fresh ids: 80 bits of the SHA-256 of a secret seed and a counter. The seed is asked of the operating system once, so that
/// making an id cannot fail and costs no system call.
///
/// ```
/// use haft::Ids;
/// use haft::system::SystemIds;
/// let ids = SystemIds::new()?;
/// assert_eq!(ids.fresh().len(), 16);
/// assert_ne!(ids.fresh(), ids.fresh());
/// # Ok::<(), haft::system::NoRandomness>(())
/// ```
pub struct SystemIds {
    seed: [u8; 32],
    next: AtomicU64,
}

impl SystemIds {
    /// A source with a seed of its own.
    ///
    /// # Errors
    /// [`NoRandomness`] if the operating system has none.
    pub fn new() -> Result<Self, NoRandomness> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(NoRandomness)?;
        Ok(Self { seed, next: AtomicU64::new(0) })
    }
}

impl Ids for SystemIds {
    fn fresh(&self) -> String {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mut input = [0; 40];
        input[..32].copy_from_slice(&self.seed);
        input[32..].copy_from_slice(&number.to_le_bytes());
        let digest = Digest::of(&input);
        let mut bits = [0; 10];
        bits.copy_from_slice(&digest.as_bytes()[..10]);
        crockford(bits)
    }
}

impl fmt::Debug for SystemIds {
    /// Without the seed: whoever knows it knows all ids.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SystemIds").finish_non_exhaustive()
    }
}

/// Eighty bits, five a character, highest first, without the letters that are easily misread (i, l, o, u).
fn crockford(bits: [u8; 10]) -> String {
    const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    let number = bits.iter().fold(0u128, |number, byte| number << 8 | u128::from(*byte));
    (0..16).rev().map(|place| char::from(ALPHABET[(number >> (place * 5)) as usize & 31])).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn eighty_bits_are_sixteen_characters() {
        assert_eq!(crockford([0; 10]), "0".repeat(16));
        assert_eq!(crockford([0xff; 10]), "z".repeat(16));
        assert_eq!(crockford([0, 0, 0, 0, 0, 0, 0, 0, 0, 0b0010_1010]), "000000000000001a");
        assert_eq!(crockford([0b0000_1000, 0x40, 0, 0, 0, 0, 0, 0, 0, 0]), "1100000000000000");
    }

    #[test]
    fn no_id_is_given_out_twice() {
        let (one, two) = (SystemIds::new().unwrap(), SystemIds::new().unwrap());
        let ids: HashSet<String> = (0..1_000).flat_map(|_| [one.fresh(), two.fresh()]).collect();
        assert_eq!(ids.len(), 2_000);
        let good = |c: char| c.is_ascii_digit() || (c.is_ascii_lowercase() && !"ilou".contains(c));
        assert!(ids.iter().all(|id| id.len() == 16 && id.chars().all(good)));
        assert_eq!(format!("{one:?}"), "SystemIds { .. }");
    }
}
