//! Where a started call runs and a question waits: under deadline and stop, apart from the journal, so that several can be
//! under way at once. It writes nothing: what comes of a call is its run's to tell.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use haft_core::consent::Closing;
use haft_core::{
    CompiledTools, ErrorCode, InvocationId, Question, Services, StartedCall, Timestamp, ToolError, ToolOutput,
};

use crate::context::{CallContext, Stopper};
use crate::run::EventSink;
use crate::session::SessionInner;
use crate::shared::RunShared;

/// How long a stopped tool may take to end by itself before it is dropped.
const STOP_GRACE: Duration = Duration::from_secs(2);

/// What the calls of one invocation share.
pub(crate) struct Workbench {
    pub(crate) session: Arc<SessionInner>,
    pub(crate) shared: Arc<RunShared>,
    pub(crate) invocation: InvocationId,
    pub(crate) tools: CompiledTools,
    pub(crate) services: Services,
    pub(crate) events: Arc<dyn EventSink>,
    pub(crate) stopper: Arc<Stopper>,
    pub(crate) call_timeout_ms: Option<u64>,
    /// When the time of the run is over for calls and questions.
    pub(crate) ends_at: Option<Timestamp>,
    /// How long a question waits for a surface (APR-04).
    pub(crate) grace: Duration,
}

impl Workbench {
    /// Runs the tool; a panic is a failure like any other (EXE-07, EXE-09). Gives how it ended and how many milliseconds it took.
    pub(crate) async fn run(&self, started: &StartedCall) -> (Result<ToolOutput, ToolError>, u64) {
        let cancel = self.stopper.begin_call();
        let rerun = self.shared.options.rerun.as_ref();
        let _step = match rerun {
            Some(rerun) => rerun.start(started.call_id(), &cancel).await,
            None => None,
        };
        let _place = if self.shared.floor.is_shared() {
            tokio::select! {
                biased;
                place = self.shared.floor.enter(&self.invocation, started.touches()) => Some(place),
                () = cancel.0.cancelled() => {
                    self.stopper.end_call();
                    return (Err(stopped_in_the_middle(started)), 0);
                }
            }
        } else {
            None
        };
        let clock = self.session.clock();
        let begin = clock.now();
        let limit = self.time_of_a_call(started, begin);
        let context = CallContext {
            session: &self.session,
            run: &self.shared.run,
            call: started.call_id(),
            tools: &self.tools,
            services: &self.services,
            events: &self.events,
            cancel: &cancel,
            deadline: limit.map(|limit| begin.plus(limit)),
        };
        let work = AssertUnwindSafe(started.run(&context)).catch_unwind();
        tokio::pin!(work);
        let late = async {
            match limit {
                Some(limit) => tokio::time::sleep(Duration::from_millis(limit)).await,
                None => std::future::pending().await,
            }
        };
        let ended = tokio::select! {
            biased;
            ended = &mut work => ended,
            () = cancel.0.cancelled() => match tokio::time::timeout(STOP_GRACE, &mut work).await {
                Ok(ended) => ended,
                Err(_) => Ok(Err(stopped_in_the_middle(started))),
            },
            () = late => Ok(Err(self.timed_out(started, limit))),
        };
        self.stopper.end_call();
        let ended = ended.unwrap_or_else(|panic| Err(panicked(started, panic.as_ref())));
        (ended, clock.now().since(begin))
    }

    /// True if the time of the run is used up.
    pub(crate) fn time_is_over(&self) -> bool {
        self.ends_at.is_some_and(|end| end <= self.session.clock().now())
    }

    /// Milliseconds that a call may take: its own limit, or what is left of the run's time if that is less. What steers the run
    /// waits for agents, whose calls have limits of their own.
    fn time_of_a_call(&self, started: &StartedCall, begin: Timestamp) -> Option<u64> {
        let steers = started.tool().declaration().facts.effect.controls();
        let own = self.call_timeout_ms.filter(|_| !steers);
        let of_run = self.ends_at.map(|end| end.since(begin));
        match (own, of_run) {
            (Some(own), Some(of_run)) => Some(own.min(of_run)),
            (own, of_run) => own.or(of_run),
        }
    }

    fn timed_out(&self, started: &StartedCall, limit: Option<u64>) -> ToolError {
        let part = part_of_its_work(started);
        let alias = started.alias();
        let text = match limit {
            Some(limit) if self.call_timeout_ms == Some(limit) => {
                let seconds = limit as f64 / 1_000.0;
                format!("`{alias}` took longer than {seconds} seconds and was stopped{part}.")
            }
            Some(_) | None => format!("`{alias}` was stopped{part}: the time of this run is used up."),
        };
        ToolError::new(ErrorCode::TIMED_OUT, text)
    }

    /// Puts the question and waits for its end, holding nothing.
    pub(crate) async fn ask(&self, question: &Arc<Question>) -> Closing {
        if let Some(rerun) = &self.shared.options.rerun {
            return rerun.closing(question);
        }
        let cancel = self.stopper.begin_call();
        let service = self.session.engine.consent();
        let closing = service.ask(question, self.grace, &cancel, self.session.clock()).await;
        self.stopper.end_call();
        closing
    }
}

fn stopped_in_the_middle(started: &StartedCall) -> ToolError {
    let part = part_of_its_work(started);
    ToolError::new(
        ErrorCode::CALL_CANCELLED,
        format!("`{}` was stopped before it ended{part}.", started.alias()),
    )
}

fn part_of_its_work(started: &StartedCall) -> &'static str {
    let writes = started.tool().declaration().facts.effect.writes();
    if writes { "; it may have done part of its work, so look before you try again" } else { "" }
}

fn panicked(started: &StartedCall, panic: &(dyn std::any::Any + Send)) -> ToolError {
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned());
    let part = part_of_its_work(started);
    ToolError::failed(format!(
        "`{}` crashed{part}. The fault is in the tool, not in the call.",
        started.alias()
    ))
    .with_detail(text)
}
