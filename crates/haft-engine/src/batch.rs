//! The path of one batch: every attempt owns one slot, walks the steps of the path, and gets one result, in call order. Serial
//! mode runs them one after another, here; `parallel.rs` shares the steps.
//!
//! Calls that the tool defers run after the others (EXE-02). Before each call the stop is checked (EXE-03).

use std::sync::Arc;

use haft_core::budget::Resource;
use haft_core::consent::{Answer, Circumstances, Closing, Opening};
use haft_core::gate::{Admission, used_up_text};
use haft_core::journal::{ConsentClosed, GrantGiven, Payload, ToolCallRequested};
use haft_core::path::{AskingCall, PreparedArguments, Refused, Resolution, Standing};
use haft_core::policy::{Decision, Outcome};
use haft_core::profile::ExecutionMode;
use haft_core::{
    Attempt, AuthorizedCall, ConsentId, ErrorCode, GrantId, Lifetime, Placement, Question, ToolTurnContract,
};
use haft_schema::canonical;
use serde_json::{Map, Value};

use crate::error::EngineError;
use crate::reuse::Fate;
use crate::run::{CallOutcome, Driver};

impl Driver {
    /// Runs a batch. Results come in call order, one for each attempt.
    pub(crate) async fn run_batch(
        &mut self,
        contract: &ToolTurnContract,
        attempts: Vec<Attempt>,
    ) -> Result<Vec<CallOutcome>, EngineError> {
        let admissions = self.gate.admit(contract, attempts);
        self.shared.files.take_back(&self.invocation);
        if let Some(team) = &self.team {
            team.begin_batch();
        }
        self.begin_publication();
        self.begin_reuse().await?;
        if self.options.profile.taint.ask {
            self.session.outside.read(self.session.store(), &self.session.lease.session).await?;
        }
        let mut slots: Vec<Option<Box<CallOutcome>>> = Vec::new();
        slots.resize_with(admissions.len(), || None);
        let (deferred, first): (Vec<_>, Vec<_>) =
            admissions.into_iter().enumerate().partition(|(_, admission)| is_deferred(admission));
        let in_order = first.into_iter().chain(deferred);
        match self.options.profile.execution {
            ExecutionMode::Serial => {
                for (at, admission) in in_order {
                    let outcome = self.run_attempt(admission).await?;
                    if let Some(slot) = slots.get_mut(at) {
                        *slot = Some(outcome);
                    }
                }
            }
            ExecutionMode::Parallel => slots = self.run_parallel(in_order, slots).await?,
        }
        // What a call staged and its end does not tell of was never written.
        self.shared.files.take_back(&self.invocation);
        Ok(slots.into_iter().flatten().map(|outcome| *outcome).collect())
    }

    async fn run_attempt(&mut self, admission: Admission) -> Result<Box<CallOutcome>, EngineError> {
        match self.decide(admission).await? {
            Decided::Ended(outcome) => Ok(outcome),
            Decided::Authorized(authorized) => match self.repeat(authorized).await? {
                Fate::Runs(authorized) => self.execute(authorized).await,
                Fate::Repeats(repeated) => self.settle_repeated(&repeated),
            },
            Decided::Asking(asking) => {
                let question = self.open_question(&asking)?;
                self.writer.commit().await?;
                let closing = self.bench.ask(&question).await;
                match self.close_question(asking, &question, closing).await? {
                    Ok(authorized) => self.execute(authorized).await,
                    Err(outcome) => Ok(outcome),
                }
            }
        }
    }

    /// Walks the path up to the decision. What ends there is noted with its end, all else as requested but for a question.
    pub(crate) async fn decide(&mut self, admission: Admission) -> Result<Decided, EngineError> {
        let admitted = match admission {
            Admission::Refused(refused) => return self.refuse(*refused),
            Admission::Admitted(admitted) => admitted,
        };
        if self.stopper.run_is_stopped() {
            let message = was_stopped(&admitted.call().alias);
            return self.refuse(admitted.refuse(ErrorCode::CALL_CANCELLED, message));
        }
        if self.bench.time_is_over() {
            return self
                .refuse(admitted.refuse(ErrorCode::BUDGET_EXHAUSTED, used_up_text(Resource::WallTime)));
        }
        let prepared = match admitted.prepare(&self.surroundings.values) {
            Ok(prepared) => prepared,
            Err(refused) => return self.refuse(*refused),
        };
        let mut decided = prepared.decide(&self.surroundings.environment);
        if self.options.profile.taint.ask
            && let Some(source) = self.session.outside.source()
        {
            decided = decided.after_outside(&source);
        }
        if self.options.profile.repairs.ask {
            decided = decided.after_repairs();
        }
        let mut grants = self.session.live_grants();
        if decided.decision().outcome == Outcome::Ask && !grants.is_empty() {
            // A grant that another process took back stands in for nothing any more.
            if let Err(error) = self.session.look_for_revoked().await {
                let why = format!("it cannot be seen whether the yes still holds: {error}");
                return self.refuse(*decided.refuse_unguarded(&why));
            }
            self.tell_of_grants()?;
            grants = self.session.live_grants();
        }
        grants.retain(|grant| self.bounds.allow(grant));
        let standing = Standing {
            grants: &grants,
            yes: self.options.yes,
            approval: self.options.profile.approval,
            run: &self.writer.run,
            session: &self.session.lease.session,
            now: self.session.clock().now(),
        };
        match decided.resolve(standing) {
            Resolution::Refused(refused) => self.refuse(*refused),
            Resolution::Authorized(authorized) => {
                if let Some(grant) = authorized.grant() {
                    self.session.used(grant);
                    self.bounds.used(grant);
                }
                self.note_requested_call(&authorized)?;
                Ok(Decided::Authorized(authorized))
            }
            Resolution::Asking(asking) => Ok(Decided::Asking(asking)),
        }
    }

    /// Notes the call as requested and its question as opened; it may be put once that is durable.
    pub(crate) fn open_question(&mut self, asking: &AskingCall) -> Result<Arc<Question>, EngineError> {
        let consent = ConsentId::new(self.session.engine.fresh("q_"));
        let timeout = self.options.profile.consent.timeout_s;
        let now = self.session.clock().now();
        let deadline = (timeout > 0).then(|| now.plus(timeout.saturating_mul(1_000)));
        let deadline = [deadline, self.bench.ends_at].into_iter().flatten().min();
        let question = asking.question(Opening {
            id: consent,
            session: self.session.lease.session.clone(),
            run: self.writer.run.clone(),
            invocation: self.invocation.clone(),
            folder: self.session.environment.project_folder.clone(),
            deadline,
        });
        let requested = RequestedFacts {
            call: asking.call(),
            arguments: asking.arguments(),
            decision: asking.decision(),
            granted_by: None,
            grant: None,
        };
        note_requested(&mut self.writer, &requested)?;
        self.writer.note_question(&question, &asking.decision().secret_arguments)?;
        Ok(Arc::new(question))
    }

    /// Notes how the question ended; the call goes on, or ends with it. A yes is held against what holds now.
    pub(crate) async fn close_question(
        &mut self,
        asking: AskingCall,
        question: &Question,
        closing: Closing,
    ) -> Result<Result<AuthorizedCall, Box<CallOutcome>>, EngineError> {
        let call_id = asking.call().call_id.clone();
        let id = GrantId::new(self.session.engine.fresh("g_"));
        let now = self.session.clock().now();
        let ended = match self.circumstances(&closing).await {
            Ok(circumstances) => asking.close(question, &closing, &circumstances, (id, now)),
            Err(why) => Err(asking.refuse_unguarded(&why)),
        };
        let closed = ConsentClosed { consent: question.id.clone(), call_id, closing };
        self.writer.note(&Payload::ConsentClosed(closed), Map::new())?;
        match ended {
            Ok((authorized, grant)) => {
                let epoch = self.session.lease.epoch;
                let given = GrantGiven { epoch, grant: grant.clone() };
                self.writer.note(&Payload::GrantGiven(given), Map::new())?;
                match grant.lifetime {
                    // It is used up by this very call.
                    Lifetime::Once => {}
                    Lifetime::Run(_) | Lifetime::Session(_) | Lifetime::Until(_) => self.session.hold(grant),
                }
                Ok(Ok(authorized))
            }
            Err(refused) => Ok(Err(self.settle_refused(*refused)?)),
        }
    }

    /// What holds around the run's calls at this moment. It is looked up where a yes came; nothing else is bound to it.
    async fn circumstances(&self, closing: &Closing) -> Result<Circumstances, String> {
        let is_yes = match closing {
            Closing::Answered { answer, .. } => !matches!(answer, Answer::Deny { .. }),
            Closing::Expired | Closing::Cancelled | Closing::NoSurface => false,
        };
        if !is_yes {
            return Ok(Circumstances { folder: None, policy: self.tools.policy_version() });
        }
        let environment = &self.session.environment;
        let folder = match (&environment.project, &environment.project_folder) {
            (Some(project), Some(_)) => {
                let row = self.session.store().project(project).await;
                let row = row.map_err(|error| format!("the working folder cannot be looked up: {error}"))?;
                row.map(|row| row.path)
            }
            (_, folder) => folder.clone(),
        };
        let policy = match &self.options.policy_now {
            Some(current) => {
                let now = current.version().map_err(|why| format!("the rules cannot be read: {why}"))?;
                // The rules that can be read again are those of the root; an agent's own are frozen with it.
                if now == self.shared.policy { self.tools.policy_version() } else { now }
            }
            None => self.tools.policy_version(),
        };
        Ok(Circumstances { folder, policy })
    }

    /// The end of a call that may run and does not, because it was stopped.
    pub(crate) fn give_up(&mut self, authorized: AuthorizedCall) -> Result<Box<CallOutcome>, EngineError> {
        let message = was_stopped(&authorized.call().alias);
        self.settle_refused(*authorized.give_up(ErrorCode::CALL_CANCELLED, message))
    }

    /// A call that was decided a while ago; its end, where the yes that it rests on was taken back since, here or by another process.
    pub(crate) async fn still_granted(
        &mut self,
        authorized: AuthorizedCall,
    ) -> Result<Result<AuthorizedCall, Box<CallOutcome>>, EngineError> {
        let Some(grant) = authorized.grant() else { return Ok(Ok(authorized)) };
        let looked = self.session.look_for_revoked().await;
        self.tell_of_grants()?;
        let why = match looked {
            Ok(()) if !self.session.is_revoked(grant) => return Ok(Ok(authorized)),
            Ok(()) => "the yes that it rests on was taken back".to_owned(),
            Err(error) => format!("it cannot be seen whether the yes still holds: {error}"),
        };
        let alias = &authorized.call().alias;
        let message = format!("`{alias}` was refused: {why}. Ask the person before you try again.");
        Ok(Err(self.settle_refused(*authorized.give_up(ErrorCode::TOOL_DENIED, message))?))
    }

    /// The end of a call that may run and does not, because the model could not be given its result.
    pub(crate) fn give_up_for_want_of_room(
        &mut self,
        authorized: AuthorizedCall,
    ) -> Result<Box<CallOutcome>, EngineError> {
        let message = used_up_text(Resource::OutputBytes);
        self.settle_refused(*authorized.give_up(ErrorCode::BUDGET_EXHAUSTED, message))
    }

    /// Commits the intent and runs the tool.
    async fn execute(&mut self, authorized: AuthorizedCall) -> Result<Box<CallOutcome>, EngineError> {
        if !self.bounds.hold_output(&authorized, &self.options.profile) {
            return self.give_up_for_want_of_room(authorized);
        }
        let trace = self.trace(&authorized);
        let decision = Some((authorized.decision().outcome, authorized.decision().rule.clone()));
        let granted_by = authorized.granted_by().map(str::to_owned);
        self.writer.start(&authorized)?;
        let mut committed = self.writer.commit().await?;
        let started = authorized.start(&mut committed)?;
        let (ended, duration_ms) = self.bench.run(&started).await;
        let mut outcome = self.settle_started(started, ended, duration_ms, trace)?;
        outcome.decision = decision;
        outcome.granted_by = granted_by;
        Ok(outcome)
    }

    fn note_requested_call(&mut self, authorized: &AuthorizedCall) -> Result<(), EngineError> {
        let requested = RequestedFacts {
            call: authorized.call(),
            arguments: authorized.arguments(),
            decision: authorized.decision(),
            granted_by: authorized.granted_by(),
            grant: authorized.grant(),
        };
        note_requested(&mut self.writer, &requested)
    }

    /// An attempt that never started: it is noted as requested and failed, with no commit of its own.
    fn refuse(&mut self, refused: Refused) -> Result<Decided, EngineError> {
        let masked = self.writer.masked_arguments(&refused.arguments, &refused.secret_arguments);
        let written = masked.as_ref().unwrap_or(&refused.arguments);
        let payload = ToolCallRequested {
            call_id: refused.call_id.clone(),
            tool_id: refused.tool_id.clone(),
            alias: refused.alias.clone(),
            wire_id: refused.wire_id.clone(),
            arguments_file: self.writer.file(arguments_path(&refused.call_id), to_json(written)),
            arguments_digest: match &masked {
                Some(masked) => refused.digest.map(|_| canonical::digest(masked)),
                None => refused.digest,
            },
            repairs: refused.repairs.clone(),
            decision: refused.decision.as_ref().map(|decision| decision.outcome.as_str().to_owned()),
            rule: refused.decision.as_ref().map(|decision| decision.rule.clone()),
            grant: None,
            granted_by: None,
        };
        let joined = joined_arguments(self.writer.events.as_ref(), written);
        self.writer.note(&Payload::ToolCallRequested(payload), joined)?;
        Ok(Decided::Ended(self.settle_refused(refused)?))
    }
}

/// What becomes of an attempt at its decision.
pub(crate) enum Decided {
    /// It went no further.
    Ended(Box<CallOutcome>),
    /// It may run.
    Authorized(AuthorizedCall),
    /// A person must say so first.
    Asking(AskingCall),
}

struct RequestedFacts<'a> {
    call: &'a haft_core::ToolCall,
    arguments: &'a PreparedArguments,
    decision: &'a Decision,
    granted_by: Option<&'a str>,
    grant: Option<&'a GrantId>,
}

fn note_requested(
    writer: &mut crate::writer::RunWriter,
    facts: &RequestedFacts<'_>,
) -> Result<(), EngineError> {
    let call = facts.call;
    let masked = writer.masked_arguments(facts.arguments.value(), &facts.decision.secret_arguments);
    let path = arguments_path(&call.call_id);
    let arguments_file = writer.arguments_file(path, facts.arguments, masked.as_ref());
    let payload = ToolCallRequested {
        call_id: call.call_id.clone(),
        tool_id: Some(call.tool_id.clone()),
        alias: call.alias.clone(),
        wire_id: call.wire_id.clone(),
        arguments_digest: Some(arguments_file.sha256),
        arguments_file,
        repairs: call.repairs.clone(),
        decision: Some(facts.decision.outcome.as_str().to_owned()),
        rule: Some(facts.decision.rule.clone()),
        grant: facts.grant.cloned(),
        granted_by: facts.granted_by.map(str::to_owned),
    };
    let written = masked.as_ref().unwrap_or(facts.arguments.value());
    let joined = joined_arguments(writer.events.as_ref(), written);
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
    call.file_path("tool-args/", ".json")
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

/// What the model reads of a call that a stop kept from running.
fn was_stopped(alias: &str) -> String {
    format!("`{alias}` was not run: it was stopped.")
}
