//! Runs the evaluator on a thread with a deep stack, and stops it by the clock of the call.
//!
//! The thread wakes the waiting call every few steps; the call looks at its clock and says when it is enough. So the time
//! stays the port's, and a call that is dropped stops its thread.

use std::cmp::Ordering;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering as Memory};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use haft_core::ToolContext;

use super::expression::{Fault, rewrite};

/// Longest time, in milliseconds.
const MAX_MILLISECONDS: u64 = 750;
/// Most steps of the evaluator, should the clock stand still.
const MAX_STEPS: u64 = 3_000_000;
/// Steps between two looks at the clock.
const STEPS_A_LOOK: u64 = 64;
/// The evaluator recurses; this is enough for any expression within the limits.
const STACK: usize = 16 << 20;

/// A result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    /// As the evaluator writes it, without a mark of rounding.
    pub(super) text: String,
    /// Nothing was rounded.
    pub(super) exact: bool,
}

/// Reckons a guarded expression.
pub(super) async fn run(expression: String, context: &dyn ToolContext) -> Result<Answer, Fault> {
    let began = context.clock().now();
    let waiting = Waiting(Arc::new(Job::default()));
    let job = waiting.0.clone();
    std::thread::Builder::new()
        .name("calculator".to_owned())
        .stack_size(STACK)
        .spawn(move || {
            let finish = Finish(job);
            let answer = evaluate(&expression, &finish.0);
            finish.0.end(answer);
        })
        .map_err(|error| Fault::Failed(format!("no thread could be started ({error}); try again later")))?;
    poll_fn(|task| {
        if context.cancel().is_cancelled() {
            return Poll::Ready(Err(Fault::Stopped));
        }
        if context.clock().now().since(began) > MAX_MILLISECONDS {
            return Poll::Ready(Err(Fault::TooSlow));
        }
        let mut state = waiting.0.state();
        match state.answer.take() {
            Some(answer) => Poll::Ready(answer),
            None => {
                state.waker = Some(task.waker().clone());
                Poll::Pending
            }
        }
    })
    .await
}

/// What the thread and the call share.
#[derive(Default)]
struct Job {
    stop: AtomicBool,
    steps: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    answer: Option<Result<Answer, Fault>>,
    waker: Option<Waker>,
}

impl Job {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, answer: Result<Answer, Fault>) {
        let mut state = self.state();
        state.answer.get_or_insert(answer);
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
    }
}

impl fend_core::Interrupt for Job {
    fn should_interrupt(&self) -> bool {
        let steps = self.steps.fetch_add(1, Memory::Relaxed);
        if steps.is_multiple_of(STEPS_A_LOOK)
            && let Some(waker) = self.state().waker.take()
        {
            waker.wake();
        }
        steps > MAX_STEPS || self.stop.load(Memory::Relaxed)
    }
}

/// The call's end: when it goes, the thread stops.
struct Waiting(Arc<Job>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.stop.store(true, Memory::Relaxed);
    }
}

/// The thread's end: should the evaluator panic, the call still hears of it.
struct Finish(Arc<Job>);

impl Drop for Finish {
    fn drop(&mut self) {
        self.0.end(Err(Fault::Failed("the calculator cannot read it".to_owned())));
    }
}

fn evaluate(expression: &str, job: &Job) -> Result<Answer, Fault> {
    let expression = rewrite(expression, &mut |one, other| {
        let difference = one_line(&format!("({one}) - ({other})"), job)?;
        Ok(match difference.text.as_str() {
            "0" => Ordering::Equal,
            text if text.starts_with('-') => Ordering::Less,
            _ => Ordering::Greater,
        })
    })?;
    let answer = one_line(&expression, job)?;
    if answer.text == "0" && !answer.exact {
        // Too small for ten places: show ten significant digits instead.
        return one_line(&format!("({expression}) to 10 sf"), job);
    }
    Ok(answer)
}

fn one_line(expression: &str, job: &Job) -> Result<Answer, Fault> {
    let mut context = fend_core::Context::new();
    context.disable_rng();
    let result = fend_core::evaluate_with_interrupt(expression, &mut context, job)
        .map_err(|error| if error == "interrupted" { Fault::TooSlow } else { Fault::Failed(error) })?;
    let text = result.get_main_result().trim();
    if text.is_empty() {
        return Err(Fault::Refused("there is nothing to calculate.".to_owned()));
    }
    Ok(match text.strip_prefix("approx. ") {
        Some(rounded) => Answer { text: rounded.to_owned(), exact: false },
        None => Answer { text: text.to_owned(), exact: true },
    })
}
