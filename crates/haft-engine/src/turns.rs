//! The loop: a model is asked, its calls run, their results go back, until it answers without calls (EXE-11, CONFLICT-26).
//!
//! A tool's failure never ends the loop (EXE-09); a broken model answer, a broken store and a stop do (EXE-17).

use std::sync::Arc;

use haft_core::event::RunEvent;
use haft_core::journal::{
    ModelRequestCreated, ModelRequestFailed, ModelTurnCompleted, Payload, RequestedCallRecord, RunEnded,
    RunStatus,
};
use haft_core::message::Message;
use haft_core::ports::{Model, ModelError, ModelRequest, ModelTurn, TurnSink};
use haft_core::profile::BreachPolicy;
use haft_core::turn::{TurnAliases, model_tools};
use haft_core::{Attempt, ErrorCode, RunId, ToolChoice, ToolTurnContract};
use serde_json::{Map, json};

use crate::context::Stopper;
use crate::error::EngineError;
use crate::history;
use crate::render::result_message;
use crate::run::{Driver, EventSink, RunOptions, RunOutcome};
use crate::session::{Conversation, SessionInner};

/// How a run of a prompt ends, before it is written.
struct End {
    status: RunStatus,
    code: Option<String>,
    message: Option<String>,
    text: String,
}

pub(crate) async fn converse(
    session: Arc<SessionInner>,
    run: RunId,
    prompt: String,
    model: Arc<dyn Model>,
    options: RunOptions,
    stopper: Arc<Stopper>,
) -> Result<RunOutcome, EngineError> {
    let waiting = session.clone();
    let mut conversation = waiting.turn.lock().await;
    let renderer = options.profile.renderer;
    let mut earlier = match conversation.take() {
        Some(read) if read.renderer == renderer => read.messages,
        Some(_) | None => history::messages(session.store(), &session.lease.session, renderer).await?,
    };
    let mut driver = Driver::begin(session, run.clone(), Some(prompt.clone()), options, stopper)?;
    let mut messages = history::fit_to(earlier.clone(), &driver.tools);
    messages.push(Message::User(prompt));
    let end = match driver.turns(model.as_ref(), messages).await {
        Ok(end) => end,
        Err(error) => return Err(driver.fail(error).await),
    };
    let End { status, code, message, text } = end;
    let ended =
        RunEnded { status, error_code: code.clone(), message: message.clone(), text: Some(text.clone()) };
    let head = driver.end(ended).await?;
    // The next run of this session need not read what this one wrote, nor what came before.
    earlier.extend(history::run_messages(waiting.store(), &run, renderer).await?);
    *conversation = Some(Conversation { renderer, messages: earlier });
    Ok(RunOutcome { run, status, text, error_code: code, message, head })
}

impl Driver {
    async fn turns(&mut self, model: &dyn Model, mut messages: Vec<Message>) -> Result<End, EngineError> {
        let rounds = self.tools.snapshot().max_rounds;
        let mut text = String::new();
        for turn in 1..=rounds {
            let contract = self.contract();
            let answer = match self.ask_model(model, turn, &contract, &messages).await? {
                Ok(answer) => answer,
                Err(error) => return self.model_failed(turn, &error, text),
            };
            text.clone_from(&answer.text);
            let requested = answer.calls.clone();
            let attempts =
                TurnAliases::new(&self.tools, &contract, &self.invocation, turn).decode(requested.clone());
            self.note_turn(turn, &answer, &attempts)?;
            if attempts.is_empty() {
                return Ok(End { status: RunStatus::Completed, code: None, message: None, text });
            }
            if let Some(end) = self.breach(&attempts, &text) {
                return Ok(end);
            }
            let call_ids = attempts.iter().map(|attempt| attempt.call_id().clone()).collect();
            messages.push(Message::Assistant {
                text: answer.text,
                raw: answer.raw,
                calls: requested.clone(),
                call_ids,
                provider_metadata: answer.provider_metadata,
            });
            let outcomes = self.run_batch(&contract, attempts).await?;
            let renderer = self.options.profile.renderer;
            let results = outcomes.iter().zip(&requested);
            messages.push(Message::Results(
                results
                    .map(|(outcome, call)| result_message(&outcome.result, call.wire_id().cloned(), renderer))
                    .collect(),
            ));
            if self.stopper.run_is_stopped() {
                return Ok(cancelled(text));
            }
        }
        let message = format!(
            "The model used all {rounds} rounds and still wants to call tools. Raise `budget.rounds` in the profile, or ask for less at once."
        );
        let code = Some(ErrorCode::MAX_TOOL_ROUNDS.to_string());
        Ok(End { status: RunStatus::Failed, code, message: Some(message), text })
    }

    async fn ask_model(
        &mut self,
        model: &dyn Model,
        turn: u32,
        contract: &ToolTurnContract,
        messages: &[Message],
    ) -> Result<Result<ModelTurn, ModelError>, EngineError> {
        let profile = self.options.profile.clone();
        let tools = match contract.choice {
            ToolChoice::None => Vec::new(),
            ToolChoice::Auto | ToolChoice::Required | ToolChoice::Tool(_) => {
                model_tools(&self.tools, contract)
            }
        };
        let request = ModelRequest {
            system: profile.prompt.clone(),
            messages: messages.to_vec(),
            tools,
            choice: contract.choice.clone(),
            serial: match profile.execution {
                haft_core::profile::ExecutionMode::Serial => true,
                haft_core::profile::ExecutionMode::Parallel => false,
            },
            max_tokens: profile.max_tokens,
            temperature: profile.temperature,
            seed: None,
        };
        let created = ModelRequestCreated {
            invocation: self.invocation.clone(),
            turn,
            model: model.traits().name.clone(),
            dialect: model.traits().dialect.clone(),
            messages: request.messages.len() as u64,
            contract: contract.clone(),
        };
        self.writer.note(&Payload::ModelRequestCreated(created), Map::new())?;
        self.writer.commit().await?;
        if self.stopper.run_is_stopped() {
            return Ok(Err(ModelError::Cancelled));
        }
        let cancel = self.stopper.run_token();
        let mut sink = Deltas {
            run: self.writer.run.clone(),
            session: self.session.clone(),
            events: self.options.events.clone(),
        };
        Ok(model.turn(&request, &mut sink, &cancel).await)
    }

    fn note_turn(&mut self, turn: u32, answer: &ModelTurn, attempts: &[Attempt]) -> Result<(), EngineError> {
        let calls = attempts
            .iter()
            .zip(&answer.calls)
            .map(|(attempt, requested)| RequestedCallRecord {
                call_id: attempt.call_id().clone(),
                requested: requested.clone(),
            })
            .collect();
        let completed = ModelTurnCompleted {
            invocation: self.invocation.clone(),
            turn,
            text: answer.text.clone(),
            reasoning: answer.reasoning.clone(),
            raw: answer.raw.clone(),
            calls,
            finish_reason: answer.finish_reason,
            usage: answer.usage,
            provider_metadata: answer.provider_metadata.clone(),
        };
        self.writer.note(&Payload::ModelTurnCompleted(completed), Map::new())
    }

    fn model_failed(&mut self, turn: u32, error: &ModelError, text: String) -> Result<End, EngineError> {
        let failed = ModelRequestFailed {
            invocation: self.invocation.clone(),
            turn,
            error_code: error.code().to_owned(),
            message: error.to_string(),
        };
        self.writer.note(&Payload::ModelRequestFailed(failed), Map::new())?;
        Ok(match error {
            ModelError::Cancelled => cancelled(text),
            ModelError::Unreachable { .. }
            | ModelError::Refused { .. }
            | ModelError::CutOff { .. }
            | ModelError::Malformed { .. }
            | ModelError::ScriptExhausted { .. }
            | ModelError::ScriptExpectation { .. } => End {
                status: RunStatus::Failed,
                code: Some(error.code().to_owned()),
                message: Some(error.to_string()),
                text,
            },
        })
    }

    /// The end of a run whose profile fails fast on a breach of the provider's contract (CONFLICT-03, CONFLICT-04).
    fn breach(&self, attempts: &[Attempt], text: &str) -> Option<End> {
        let profile = &self.options.profile;
        attempts.iter().find_map(|attempt| {
            let Attempt::Malformed(call) = attempt else { return None };
            let policy = if call.code == ErrorCode::UNKNOWN_TOOL {
                profile.unknown_alias
            } else {
                profile.malformed_arguments
            };
            match policy {
                BreachPolicy::ToolError => None,
                BreachPolicy::FailFast => Some(End {
                    status: RunStatus::Failed,
                    code: Some(call.code.to_string()),
                    message: Some(format!("The model broke its contract: {}", call.reason)),
                    text: text.to_owned(),
                }),
            }
        })
    }
}

fn cancelled(text: String) -> End {
    let message = Some("The run was stopped. What was done before stays.".to_owned());
    End { status: RunStatus::Cancelled, code: Some("agent.run_cancelled".to_owned()), message, text }
}

/// Hands stream deltas to the surfaces.
struct Deltas {
    run: RunId,
    session: Arc<SessionInner>,
    events: Arc<dyn EventSink>,
}

impl Deltas {
    fn send(&self, kind: &str, key: &str, text: &str) {
        if self.events.wants_events() {
            let time = self.session.clock().now();
            self.events.event(&RunEvent::delta(&self.run, time, kind, json!({ key: text })));
        }
    }
}

impl TurnSink for Deltas {
    fn text(&mut self, delta: &str) {
        self.send("text_delta", "text", delta);
    }

    fn reasoning(&mut self, delta: &str) {
        self.send("reasoning_delta", "text", delta);
    }

    fn restarted(&mut self, reason: &str) {
        self.send("stream_restarted", "reason", reason);
    }
}
