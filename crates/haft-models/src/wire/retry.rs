//! When a failed request is tried again, and after which wait. Requests alone: tools are never run twice (EXE-06).

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use haft_core::ports::ModelError;

/// Tries of one request, the first one included.
pub(crate) const TRIES: u32 = 3;
/// A server that asks for more patience than this is not waited for.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Why a try failed, and whether another may help.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) error: ModelError,
    pub(crate) again: Again,
}

/// Whether another try may help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Again {
    No,
    Yes,
    /// The server says when.
    After(Duration),
}

impl Failure {
    /// A failure that stays one.
    pub(crate) fn last(error: ModelError) -> Self {
        Self { error, again: Again::No }
    }

    /// A failure that may pass.
    pub(crate) fn passing(error: ModelError) -> Self {
        Self { error, again: Again::Yes }
    }
}

/// How long to wait after the `tries`th try, `first` after the first; none: it was the last one. `body` spreads the waits of
/// different requests.
pub(crate) fn wait(tries: u32, again: Again, first: Duration, body: &[u8]) -> Option<Duration> {
    if tries >= TRIES {
        return None;
    }
    match again {
        Again::No => None,
        Again::After(wait) => (wait <= LONGEST_WAIT).then_some(wait),
        Again::Yes => {
            let wait = first.saturating_mul(2_u32.saturating_pow(tries.saturating_sub(1))).min(LONGEST_WAIT);
            let mut hasher = DefaultHasher::new();
            (body, tries).hash(&mut hasher);
            let quarters = u32::try_from(hasher.finish() % 256).unwrap_or_default();
            Some(wait + wait * quarters / 1024)
        }
    }
}

/// Whether a status may pass by itself: time-outs, too many requests, faults of the server.
pub(crate) fn passes(status: u16) -> bool {
    matches!(status, 408 | 429 | 500 | 502..=599)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Duration = Duration::from_millis(500);

    #[test]
    fn waits_grow_differ_between_requests_and_end() {
        let first = wait(1, Again::Yes, FIRST, b"one").unwrap();
        let second = wait(2, Again::Yes, FIRST, b"one").unwrap();
        assert!((500..=625).contains(&first.as_millis()), "{first:?}");
        assert!((1000..=1250).contains(&second.as_millis()), "{second:?}");
        assert_ne!(wait(1, Again::Yes, FIRST, b"two"), Some(first));
        assert_eq!(wait(3, Again::Yes, FIRST, b"one"), None);
    }

    #[test]
    fn a_servers_wish_is_obeyed_within_reason() {
        assert_eq!(wait(1, Again::After(Duration::from_secs(7)), FIRST, b""), Some(Duration::from_secs(7)));
        assert_eq!(wait(1, Again::After(Duration::from_secs(3600)), FIRST, b""), None);
        assert_eq!(wait(1, Again::No, FIRST, b""), None);
    }

    #[test]
    fn only_what_may_pass_is_tried_again() {
        let passing: Vec<u16> = (400..600).filter(|status| passes(*status)).collect();
        assert!([408, 429, 500, 502, 503, 504, 529].iter().all(|status| passing.contains(status)));
        assert!([400, 401, 403, 404, 409, 413, 422, 501].iter().all(|status| !passing.contains(status)));
    }
}
