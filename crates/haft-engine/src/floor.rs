//! Calls of several agents of one run, side by side: a call waits while one of another agent runs that touches the same.
//!
//! Inside one invocation the batch sees to that. Between invocations each call takes a place in the order in which it came, so
//! that two never wait for each other; a call holds nothing else while it waits.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use haft_core::InvocationId;
use haft_core::ports::Touches;
use tokio::sync::Notify;

use crate::touching::meet;

/// Where the calls of a run's agents stand.
#[derive(Debug, Default)]
pub(crate) struct Floor {
    /// There is more than one agent.
    shared: AtomicBool,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    /// Calls that run or wait, in the order in which they came.
    places: Vec<Place>,
}

#[derive(Debug)]
struct Place {
    number: u64,
    by: InvocationId,
    touches: Touches,
}

/// A call's place; it is free again when this is dropped.
#[derive(Debug)]
pub(crate) struct OnFloor<'a> {
    floor: &'a Floor,
    number: u64,
}

impl Floor {
    /// A second agent comes. Until then nothing is kept.
    pub(crate) fn share(&self) {
        self.shared.store(true, Ordering::Release);
    }

    /// True if there is more than one agent.
    pub(crate) fn is_shared(&self) -> bool {
        self.shared.load(Ordering::Acquire)
    }

    /// Waits until nothing of another agent that came before touches the same.
    pub(crate) async fn enter(&self, by: &InvocationId, touches: Touches) -> OnFloor<'_> {
        let place = {
            let mut state = self.lock();
            let number = state.next;
            state.next += 1;
            state.places.push(Place { number, by: by.clone(), touches });
            OnFloor { floor: self, number }
        };
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if self.lock().is_free(place.number) {
                return place;
            }
            changed.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_free(&self, number: u64) -> bool {
        let Some(own) = self.places.iter().find(|place| place.number == number) else { return true };
        let mut before = self.places.iter().take_while(|place| place.number < number);
        !before.any(|other| other.by != own.by && meet(&other.touches, &own.touches))
    }
}

impl Drop for OnFloor<'_> {
    fn drop(&mut self) {
        self.floor.lock().places.retain(|place| place.number != self.number);
        self.floor.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn writes(name: &str) -> Touches {
        Touches::Resources { reads: Vec::new(), writes: vec![name.to_owned()] }
    }

    #[tokio::test]
    async fn agents_wait_for_each_other_where_they_touch_the_same() {
        let floor = Floor::default();
        let [one, two] = ["i_1", "i_2"].map(InvocationId::new);
        let first = floor.enter(&one, writes("a")).await;
        // The same agent sees to itself, and what does not meet does not wait.
        drop(floor.enter(&one, writes("a")).await);
        let beside = floor.enter(&two, writes("b")).await;
        let mut second = Box::pin(floor.enter(&two, writes("a")));
        assert!(second.as_mut().now_or_never().is_none());
        // In the order in which they came: what waits is not overtaken.
        let mut third = Box::pin(floor.enter(&one, writes("a")));
        drop(first);
        assert!(third.as_mut().now_or_never().is_none());
        drop(second.await);
        drop(third.await);
        drop(beside);
        assert!(floor.lock().places.is_empty());
    }

    #[tokio::test]
    async fn a_wait_that_is_given_up_holds_nobody_up() {
        let floor = Floor::default();
        let [one, two] = ["i_1", "i_2"].map(InvocationId::new);
        let first = floor.enter(&one, Touches::Everything).await;
        let mut second = Box::pin(floor.enter(&two, writes("a")));
        assert!(second.as_mut().now_or_never().is_none());
        drop(second);
        drop(first);
        assert!(floor.enter(&one, writes("a")).now_or_never().is_some());
        assert!(floor.lock().places.is_empty());
    }
}
