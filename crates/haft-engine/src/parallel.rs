//! The path of one batch, parallel (EXE-04, EXE-08, CONFLICT-01): gate, decision and consent in call order, as in serial mode;
//! calls that are decided run side by side where they do not touch the same, at most so many at once; results in call order.
//!
//! The batch owns every call and writes every record; what runs on the [`Workbench`](crate::workbench::Workbench) only tells
//! how it ended. Whatever goes wrong, a started call is waited for and gets its end.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use haft_core::consent::Closing;
use haft_core::gate::Admission;
use haft_core::path::AskingCall;
use haft_core::policy::Outcome;
use haft_core::ports::{BoxFuture, Touches};
use haft_core::{
    AuthorizedCall, Committed, Placement, Profile, Question, StartedCall, ToolError, ToolOutput,
};

use crate::batch::Decided;
use crate::earlier::Key;
use crate::error::EngineError;
use crate::reuse::{Fate, Trace, key};
use crate::run::{CallOutcome, Driver};
use crate::touching::meet;

/// What keeps two calls from running side by side.
struct Footprint {
    touches: Touches,
    /// Where one result may serve both, the second waits for the first.
    key: Option<Key>,
    /// It runs with nothing beside it: what must be last, comes last by itself, or steers the run.
    alone: bool,
}

impl Footprint {
    fn meets(&self, other: &Self) -> bool {
        let same = self.key.is_some() && self.key == other.key;
        self.alone || other.alone || same || meet(&self.touches, &other.touches)
    }
}

/// A decided call that has not started.
struct Ready {
    slot: usize,
    authorized: AuthorizedCall,
    footprint: Footprint,
}

/// A call between its start and its end.
struct Running {
    slot: usize,
    footprint: Footprint,
    trace: Option<Trace>,
    decision: (Outcome, String),
    granted_by: Option<String>,
}

struct Finished {
    slot: usize,
    started: StartedCall,
    ended: Result<ToolOutput, ToolError>,
    duration_ms: u64,
}

/// The call about which a person is asked.
struct Asked {
    slot: usize,
    asking: AskingCall,
    question: Arc<Question>,
}

struct Parallel<'a> {
    driver: &'a mut Driver,
    workers: usize,
    undecided: VecDeque<(usize, Admission)>,
    asked: Option<Asked>,
    /// The wait for its answer, once it is put.
    closing: Option<BoxFuture<'static, Closing>>,
    ready: Vec<Ready>,
    running: Vec<Running>,
    work: FuturesUnordered<BoxFuture<'static, Finished>>,
    slots: Vec<Option<Box<CallOutcome>>>,
}

impl Driver {
    /// Runs admitted calls side by side; gives one outcome for each slot.
    pub(crate) async fn run_parallel(
        &mut self,
        admissions: impl Iterator<Item = (usize, Admission)>,
        slots: Vec<Option<Box<CallOutcome>>>,
    ) -> Result<Vec<Option<Box<CallOutcome>>>, EngineError> {
        let workers = self.options.profile.max_workers.clamp(1, Profile::MOST_WORKERS);
        let mut batch = Parallel {
            driver: self,
            workers: workers as usize,
            undecided: admissions.collect(),
            asked: None,
            closing: None,
            ready: Vec::new(),
            running: Vec::new(),
            work: FuturesUnordered::new(),
            slots,
        };
        match batch.run().await {
            Ok(()) => Ok(batch.slots),
            Err(error) => {
                batch.abandon().await;
                Err(error)
            }
        }
    }
}

impl Parallel<'_> {
    async fn run(&mut self) -> Result<(), EngineError> {
        loop {
            self.decide().await?;
            let starting = self.choose().await?;
            if starting.is_empty() && self.work.is_empty() && self.asked.is_none() {
                return Ok(());
            }
            self.start(starting).await?;
            self.wait().await?;
        }
    }

    /// Decides call after call, as far as a question that waits for its answer.
    async fn decide(&mut self) -> Result<(), EngineError> {
        while self.asked.is_none()
            && let Some((slot, admission)) = self.undecided.pop_front()
        {
            match self.driver.decide(admission).await? {
                Decided::Ended(outcome) => self.fill(slot, outcome),
                Decided::Authorized(authorized) => self.make_ready(slot, authorized),
                Decided::Asking(asking) => {
                    let question = self.driver.open_question(&asking)?;
                    self.asked = Some(Asked { slot, asking, question });
                }
            }
        }
        Ok(())
    }

    fn make_ready(&mut self, slot: usize, authorized: AuthorizedCall) {
        let facts = &authorized.declaration().facts;
        let alone = match facts.placement {
            Placement::Anywhere => facts.effect.controls(),
            Placement::DeferLast | Placement::MustBeLast => true,
        };
        let reuse = self.driver.options.profile.reuse;
        let key =
            (reuse.is_on() && authorized.may_repeat(reuse.include_side_effects)).then(|| key(&authorized));
        let footprint = Footprint { touches: authorized.touches(), key, alone };
        self.ready.push(Ready { slot, authorized, footprint });
    }

    /// Takes out the decided calls that can start now. A call never overtakes one that it meets.
    async fn choose(&mut self) -> Result<Vec<Ready>, EngineError> {
        let mut starting: Vec<Ready> = Vec::new();
        let mut at = 0;
        while let Some(next) = self.ready.get(at) {
            let before = self.ready.iter().take(at).chain(&starting).map(|one| &one.footprint);
            let mut before = before.chain(self.running.iter().map(|one| &one.footprint));
            if self.running.len() + starting.len() >= self.workers
                || before.any(|one| next.footprint.meets(one))
                // What is left may be held by others and be free again when they have ended.
                || ((!self.running.is_empty() || !starting.is_empty()) && !self.driver.bounds.has_output_room())
            {
                at += 1;
                continue;
            }
            let Ready { slot, authorized, footprint } = self.ready.remove(at);
            if self.driver.stopper.run_is_stopped() {
                let outcome = self.driver.give_up(authorized)?;
                self.fill(slot, outcome);
                continue;
            }
            // It may have waited long since it was decided.
            let authorized = match self.driver.still_granted(authorized).await? {
                Ok(authorized) => authorized,
                Err(outcome) => {
                    self.fill(slot, outcome);
                    continue;
                }
            };
            match self.driver.repeat(authorized).await? {
                Fate::Runs(authorized) => {
                    if self.driver.bounds.hold_output(&authorized, &self.driver.options.profile) {
                        starting.push(Ready { slot, authorized, footprint });
                    } else {
                        let outcome = self.driver.give_up_for_want_of_room(authorized)?;
                        self.fill(slot, outcome);
                    }
                }
                Fate::Repeats(repeated) => {
                    let outcome = self.driver.settle_repeated(&repeated)?;
                    self.fill(slot, outcome);
                }
            }
        }
        Ok(starting)
    }

    /// Commits the intents together with all that waits to be written, then sets the calls going and puts a new question.
    async fn start(&mut self, starting: Vec<Ready>) -> Result<(), EngineError> {
        for ready in &starting {
            self.driver.writer.start(&ready.authorized)?;
        }
        if self.driver.writer.has_pending() {
            let mut committed = match self.driver.writer.commit().await {
                Ok(committed) => committed,
                Err(error) => {
                    self.ready.extend(starting);
                    return Err(error);
                }
            };
            for ready in starting {
                self.go(ready, &mut committed)?;
            }
        }
        if let (Some(asked), None) = (&self.asked, &self.closing) {
            let (bench, question) = (self.driver.bench.clone(), asked.question.clone());
            self.closing = Some(Box::pin(async move { bench.ask(&question).await }));
        }
        Ok(())
    }

    fn go(&mut self, ready: Ready, committed: &mut Committed) -> Result<(), EngineError> {
        let Ready { slot, authorized, footprint } = ready;
        let trace = self.driver.trace(&authorized);
        let decision = (authorized.decision().outcome, authorized.decision().rule.clone());
        let granted_by = authorized.granted_by().map(str::to_owned);
        let started = authorized.start(committed)?;
        let bench = self.driver.bench.clone();
        self.work.push(Box::pin(async move {
            let (ended, duration_ms) = bench.run(&started).await;
            Finished { slot, started, ended, duration_ms }
        }));
        self.running.push(Running { slot, footprint, trace, decision, granted_by });
        Ok(())
    }

    /// Waits until a call has ended or the question has, and notes it.
    async fn wait(&mut self) -> Result<(), EngineError> {
        let closing = async {
            match &mut self.closing {
                Some(closing) => closing.await,
                None => std::future::pending().await,
            }
        };
        let closing = tokio::select! {
            biased;
            Some(finished) = self.work.next() => {
                self.settle(finished)?;
                // What has ended by now as well shares the next commit.
                while let Some(Some(finished)) = self.work.next().now_or_never() {
                    self.settle(finished)?;
                }
                return Ok(());
            }
            closing = closing => closing,
        };
        self.closing = None;
        if let Some(Asked { slot, asking, question }) = self.asked.take() {
            match self.driver.close_question(asking, &question, closing).await? {
                Ok(authorized) => self.make_ready(slot, authorized),
                Err(outcome) => self.fill(slot, outcome),
            }
        }
        Ok(())
    }

    fn settle(&mut self, finished: Finished) -> Result<(), EngineError> {
        let Finished { slot, started, ended, duration_ms } = finished;
        let running = self.running.iter().position(|one| one.slot == slot).map(|at| self.running.remove(at));
        let (trace, decision, granted_by) = match running {
            Some(running) => (running.trace, Some(running.decision), running.granted_by),
            None => (None, None, None),
        };
        let mut outcome = self.driver.settle_started(started, ended, duration_ms, trace)?;
        outcome.decision = decision;
        outcome.granted_by = granted_by;
        self.fill(slot, outcome);
        Ok(())
    }

    /// The host itself is broken: stops what runs, waits for it, and notes as many ends as can be noted.
    async fn abandon(&mut self) {
        self.driver.stopper.stop();
        while let Some(finished) = self.work.next().await {
            // The first cause is what counts.
            let _told = self.settle(finished);
        }
        if let Some(Asked { asking, question, .. }) = self.asked.take() {
            let closing = match self.closing.take() {
                Some(closing) => closing.await,
                None => Closing::Cancelled,
            };
            if let Ok(Ok(authorized)) = self.driver.close_question(asking, &question, closing).await {
                let _told = self.driver.give_up(authorized);
            }
        }
        for ready in std::mem::take(&mut self.ready) {
            let _told = self.driver.give_up(ready.authorized);
        }
    }

    fn fill(&mut self, slot: usize, outcome: Box<CallOutcome>) {
        if let Some(slot) = self.slots.get_mut(slot) {
            *slot = Some(outcome);
        }
    }
}
