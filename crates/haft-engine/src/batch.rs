//! The path of one batch, serial: every attempt owns one slot, walks the steps of the path, and gets one result, in call order.
//!
//! Calls that the tool defers run after the others (EXE-02). Before each call the stop is checked (EXE-03).

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;
use haft_core::gate::Admission;
use haft_core::journal::{ConsentClosed, Payload, ToolCallRequested};
use haft_core::path::{AskingCall, PreparedArguments, Refused, Resolution, Standing};
use haft_core::policy::Decision;
use haft_core::{
    AdmittedCall, Attempt, AuthorizedCall, ConsentId, ErrorCode, Placement, StartedCall, ToolError,
    ToolOutput, ToolTurnContract,
};
use serde_json::{Map, Value};

use crate::context::CallContext;
use crate::error::EngineError;
use crate::run::{CallOutcome, Driver};

/// How long a stopped tool may take to end by itself before it is dropped.
const STOP_GRACE: Duration = Duration::from_secs(2);

impl Driver {
    /// Runs a batch. Results come in call order, one for each attempt.
    pub(crate) async fn run_batch(
        &mut self,
        contract: &ToolTurnContract,
        attempts: Vec<Attempt>,
    ) -> Result<Vec<CallOutcome>, EngineError> {
        let admissions = self.gate.admit(contract, attempts);
        let mut slots: Vec<Option<CallOutcome>> = Vec::new();
        slots.resize_with(admissions.len(), || None);
        let (deferred, first): (Vec<_>, Vec<_>) =
            admissions.into_iter().enumerate().partition(|(_, admission)| is_deferred(admission));
        for (at, admission) in first.into_iter().chain(deferred) {
            let outcome = self.run_attempt(admission).await?;
            if let Some(slot) = slots.get_mut(at) {
                *slot = Some(outcome);
            }
        }
        Ok(slots.into_iter().flatten().collect())
    }

    async fn run_attempt(&mut self, admission: Admission) -> Result<CallOutcome, EngineError> {
        let admitted = match admission {
            Admission::Refused(refused) => return self.refuse(*refused),
            Admission::Admitted(admitted) => admitted,
        };
        if self.stopper.run_is_stopped() {
            return self.refuse(stopped(admitted));
        }
        let prepared = match admitted.prepare(&self.injected) {
            Ok(prepared) => prepared,
            Err(refused) => return self.refuse(*refused),
        };
        let decided = prepared.decide(&self.session.environment);
        let grants = self.session.grants();
        let standing = Standing {
            grants: &grants,
            yes: self.options.yes,
            run: &self.writer.run,
            session: &self.session.lease.session,
            now: self.session.clock().now(),
        };
        match decided.resolve(standing) {
            Resolution::Refused(refused) => self.refuse(*refused),
            Resolution::Authorized(authorized) => {
                self.note_requested_call(&authorized)?;
                self.execute(authorized).await
            }
            Resolution::Asking(asking) => self.ask(asking).await,
        }
    }

    /// Puts the question, waits without holding anything, and goes on with the answer.
    async fn ask(&mut self, asking: AskingCall) -> Result<CallOutcome, EngineError> {
        let consent = ConsentId::new(self.session.engine.fresh("q_"));
        let timeout = self.options.profile.consent.timeout_s;
        let now = self.session.clock().now();
        let deadline = (timeout > 0).then(|| now.plus(timeout.saturating_mul(1_000)));
        let session = self.session.lease.session.clone();
        let question = asking.question(consent.clone(), session, self.writer.run.clone(), deadline);
        let requested = RequestedFacts {
            call: asking.call(),
            arguments: asking.arguments(),
            decision: asking.decision(),
            granted_by: None,
        };
        note_requested(&mut self.writer, &requested)?;
        self.writer.note(&Payload::ConsentOpened(question.clone()), Map::new())?;
        self.writer.commit().await?;

        let cancel = self.stopper.begin_call();
        let service = self.session.engine.consent().clone();
        let closing = service.ask(&question, &cancel, self.session.clock()).await;
        self.stopper.end_call();

        let call_id = asking.call().call_id.clone();
        let closed = ConsentClosed { consent, call_id, closing: closing.clone() };
        self.writer.note(&Payload::ConsentClosed(closed), Map::new())?;
        match asking.close(&question, &closing) {
            Ok((authorized, grant)) => {
                if let Some(grant) = grant {
                    self.session.grant(grant);
                }
                self.execute(authorized).await
            }
            Err(refused) => self.settle_refused(*refused),
        }
    }

    /// Commits the intent and runs the tool.
    async fn execute(&mut self, authorized: AuthorizedCall) -> Result<CallOutcome, EngineError> {
        let decision = Some((authorized.decision().outcome, authorized.decision().rule.clone()));
        let granted_by = authorized.granted_by().map(str::to_owned);
        self.writer.start(&authorized)?;
        let mut committed = self.writer.commit().await?;
        let started = authorized.start(&mut committed)?;
        let (ended, duration_ms) = self.run_started(&started).await;
        let mut outcome = self.settle_started(&started, ended, duration_ms)?;
        outcome.decision = decision;
        outcome.granted_by = granted_by;
        Ok(outcome)
    }

    /// Runs the tool under deadline and stop; a panic is a failure like any other (EXE-07, EXE-09).
    async fn run_started(&self, started: &StartedCall) -> (Result<ToolOutput, ToolError>, u64) {
        let clock = self.session.clock();
        let begin = clock.now();
        let cancel = self.stopper.begin_call();
        let context = CallContext {
            session: &self.session,
            run: &self.writer.run,
            call: started.call_id(),
            tools: &self.tools,
            services: &self.services,
            events: &self.options.events,
            cancel: &cancel,
            deadline: self.options.call_timeout_ms.map(|limit| begin.plus(limit)),
        };
        let work = AssertUnwindSafe(started.run(&context)).catch_unwind();
        tokio::pin!(work);
        let late = async {
            match self.options.call_timeout_ms {
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
            () = late => Ok(Err(timed_out(started, self.options.call_timeout_ms.unwrap_or_default()))),
        };
        self.stopper.end_call();
        let ended = ended.unwrap_or_else(|panic| Err(panicked(started, panic.as_ref())));
        (ended, clock.now().since(begin))
    }

    fn note_requested_call(&mut self, authorized: &AuthorizedCall) -> Result<(), EngineError> {
        let requested = RequestedFacts {
            call: authorized.call(),
            arguments: authorized.arguments(),
            decision: authorized.decision(),
            granted_by: authorized.granted_by(),
        };
        note_requested(&mut self.writer, &requested)
    }

    /// An attempt that never started: it is noted as requested and failed, with no commit of its own.
    fn refuse(&mut self, refused: Refused) -> Result<CallOutcome, EngineError> {
        let payload = ToolCallRequested {
            call_id: refused.call_id.clone(),
            tool_id: refused.tool_id.clone(),
            alias: refused.alias.clone(),
            wire_id: refused.wire_id.clone(),
            arguments_file: self.writer.file(arguments_path(&refused.call_id), to_json(&refused.arguments)),
            arguments_digest: refused.digest,
            repairs: refused.repairs.clone(),
            decision: refused.decision.as_ref().map(|decision| decision.outcome.as_str().to_owned()),
            rule: refused.decision.as_ref().map(|decision| decision.rule.clone()),
            granted_by: None,
        };
        let joined = joined_arguments(self.writer.events.as_ref(), &refused.arguments);
        self.writer.note(&Payload::ToolCallRequested(payload), joined)?;
        self.settle_refused(refused)
    }
}

struct RequestedFacts<'a> {
    call: &'a haft_core::ToolCall,
    arguments: &'a PreparedArguments,
    decision: &'a Decision,
    granted_by: Option<&'a str>,
}

fn note_requested(
    writer: &mut crate::writer::RunWriter,
    facts: &RequestedFacts<'_>,
) -> Result<(), EngineError> {
    let call = facts.call;
    let payload = ToolCallRequested {
        call_id: call.call_id.clone(),
        tool_id: Some(call.tool_id.clone()),
        alias: call.alias.clone(),
        wire_id: call.wire_id.clone(),
        arguments_file: writer.arguments_file(arguments_path(&call.call_id), facts.arguments),
        arguments_digest: Some(facts.arguments.digest()),
        repairs: call.repairs.clone(),
        decision: Some(facts.decision.outcome.as_str().to_owned()),
        rule: Some(facts.decision.rule.clone()),
        granted_by: facts.granted_by.map(str::to_owned),
    };
    let joined = joined_arguments(writer.events.as_ref(), facts.arguments.value());
    writer.note(&Payload::ToolCallRequested(payload), joined)
}

fn joined_arguments(events: &dyn crate::run::EventSink, arguments: &Value) -> Map<String, Value> {
    if events.wants_events() {
        Map::from_iter([("arguments".to_owned(), arguments.clone())])
    } else {
        Map::new()
    }
}

fn arguments_path(call: &haft_core::CallId) -> String {
    ["tool-args/", &call.file_stem(), ".json"].concat()
}

fn to_json(value: &Value) -> Vec<u8> {
    value.to_string().into_bytes()
}

fn is_deferred(admission: &Admission) -> bool {
    match admission {
        Admission::Admitted(call) => match call.tool().declaration().facts.placement {
            Placement::DeferLast => true,
            Placement::Anywhere | Placement::MustBeLast => false,
        },
        Admission::Refused(_) => false,
    }
}

fn stopped(admitted: AdmittedCall) -> Refused {
    let message = format!("`{}` was not run: it was stopped.", admitted.call().alias);
    admitted.refuse(ErrorCode::CALL_CANCELLED, message)
}

fn stopped_in_the_middle(started: &StartedCall) -> ToolError {
    let part = part_of_its_work(started);
    ToolError::new(
        ErrorCode::CALL_CANCELLED,
        format!("`{}` was stopped before it ended{part}.", started.alias()),
    )
}

fn timed_out(started: &StartedCall, limit_ms: u64) -> ToolError {
    let part = part_of_its_work(started);
    let seconds = limit_ms as f64 / 1_000.0;
    let text = format!("`{}` took longer than {seconds} seconds and was stopped{part}.", started.alias());
    ToolError::new(ErrorCode::TIMED_OUT, text)
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
