//! One request to the model: what is reserved for it, its records, its time, and what it used.

use std::sync::Arc;
use std::time::Duration;

use haft_core::budget::{Amounts, Reservation, Resource};
use haft_core::event::RunEvent;
use haft_core::exit::Role;
use haft_core::journal::{ModelRequestCreated, ModelRequestFailed, Payload};
use haft_core::mask::{Mask, MaskedStream, View};
use haft_core::message::Message;
use haft_core::ports::{Model, ModelError, ModelRequest, ModelTurn, TurnSink};
use haft_core::profile::ExecutionMode;
use haft_core::turn::model_tools;
use haft_core::{ErrorCode, InvocationId, RunId, ToolChoice, ToolTurnContract};
use serde_json::{Map, json};

use crate::allowance::{Affordable, Allowance, afford, bytes_of, spent};
use crate::compact::room_for_request;
use crate::error::EngineError;
use crate::run::{Driver, EventSink};
use crate::session::SessionInner;
use crate::trim;

/// What is asked.
pub(crate) struct Ask<'a> {
    /// The turn, from 1.
    pub(crate) turn: u32,
    /// Its contract.
    pub(crate) contract: &'a ToolTurnContract,
    /// What the host told the model with its last turn; none in all others.
    pub(crate) note: Option<String>,
    /// What the host added to the conversation since the request before.
    pub(crate) told: Vec<String>,
}

/// What came of it.
pub(crate) enum Asked {
    /// An answer.
    Answered(Box<ModelTurn>),
    /// The request failed for good; that is noted.
    Failed(ModelError),
    /// A budget does not allow it, or its time ran out.
    TooDear(Resource),
}

impl Driver {
    /// Asks the model once, as far as the budgets of the run allow.
    pub(crate) async fn ask_model(
        &mut self,
        model: &dyn Model,
        ask: &Ask<'_>,
        messages: &[Message],
    ) -> Result<Asked, EngineError> {
        let mut request = self.request(ask.contract, messages);
        let limits = self.bounds.ledger.left();
        let room = model.traits().context_tokens;
        let is_metered = limits.model_tokens.is_some() || limits.money.is_some() || room.is_some();
        let shortened = room.map_or(0, |room| self.make_room(&mut request, room));
        let bytes = if is_metered { bytes_of(&request) } else { 0 };
        let prompt = self.bounds.meter.estimate(bytes);
        let is_last = ask.note.is_some();
        let allowance = match afford(&limits, self.options.price, prompt, request.max_tokens) {
            Affordable::Turn(allowance) => allowance,
            Affordable::LastTurn(_, allowance) if is_last => allowance,
            Affordable::LastTurn(resource, _) | Affordable::Nothing(resource) => {
                return Ok(Asked::TooDear(resource));
            }
        };
        let time = match self.time_of_a_turn(is_last) {
            Some(0) => return Ok(Asked::TooDear(Resource::WallTime)),
            time => time,
        };
        let Allowance { max_tokens, amounts } = allowance;
        request.max_tokens = max_tokens;
        let reservation = match self.bounds.ledger.reserve(amounts) {
            Ok(reservation) => reservation,
            Err(exhausted) => return Ok(Asked::TooDear(exhausted.resource)),
        };
        self.note_request(model, ask, &request, shortened)?;
        self.writer.commit().await?;
        if self.stopper.run_is_stopped() {
            self.bounds.ledger.settle(reservation, Amounts::default());
            return self.note_failed(ask, ModelError::Cancelled);
        }
        let cancel = self.stopper.run_token();
        let mut sink = Deltas {
            run: self.writer.run.clone(),
            child: self.task.as_ref().and_then(|task| match task.role {
                Role::Child => Some((self.invocation.clone(), self.agent.clone())),
                Role::Root | Role::Handoff => None,
            }),
            session: self.session.clone(),
            events: self.options.events.clone(),
            mask: self.writer.mask.clone(),
            text: MaskedStream::default(),
            reasoning: MaskedStream::default(),
        };
        let answering = model.turn(&request, &mut sink, &cancel);
        let answered = match time {
            None => answering.await,
            Some(time) => match tokio::time::timeout(Duration::from_millis(time), answering).await {
                Ok(answered) => answered,
                Err(_) => {
                    // Nobody knows what it has used by now.
                    self.bounds.ledger.settle(reservation, amounts);
                    return self.note_out_of_time(ask);
                }
            },
        };
        sink.end();
        match answered {
            Ok(answer) => {
                self.settle_turn(reservation, is_metered, bytes, &answer);
                Ok(Asked::Answered(Box::new(answer)))
            }
            Err(error) => {
                self.bounds.ledger.settle(reservation, amounts);
                self.note_failed(ask, error)
            }
        }
    }

    pub(crate) fn request(&self, contract: &ToolTurnContract, messages: &[Message]) -> ModelRequest {
        let profile = &self.options.profile;
        ModelRequest {
            agent: self.agent.clone(),
            system: self.system_prompt(),
            messages: messages.to_vec(),
            tools: match contract.choice {
                ToolChoice::None => Vec::new(),
                ToolChoice::Auto | ToolChoice::Required | ToolChoice::Tool(_) => {
                    model_tools(&self.tools, contract)
                }
            },
            choice: contract.choice.clone(),
            serial: match profile.execution {
                ExecutionMode::Serial => true,
                ExecutionMode::Parallel => false,
            },
            max_tokens: profile.max_tokens,
            temperature: profile.temperature,
            seed: None,
        }
    }

    /// Shortens old results so that request and answer fit into `room` tokens; gives how many.
    fn make_room(&self, request: &mut ModelRequest, room: u64) -> u64 {
        let most = self.bounds.meter.bytes_for(room_for_request(request, room));
        trim::fit(request, most, self.options.profile.renderer)
    }

    /// Milliseconds that a turn may take; none is no limit. All but the last leave time for that.
    pub(crate) fn time_of_a_turn(&self, is_last: bool) -> Option<u64> {
        let ledger = &self.bounds.ledger;
        let end = if is_last { ledger.ends_at() } else { self.bounds.work_ends_at(&self.tools) };
        end.map(|end| end.since(self.session.clock().now()))
    }

    pub(crate) fn settle_turn(
        &mut self,
        reservation: Reservation,
        is_metered: bool,
        bytes: u64,
        answer: &ModelTurn,
    ) {
        let used = if is_metered || answer.usage.is_some() {
            let calls = serde_json::to_string(&answer.calls).map_or(0, |text| text.len());
            let written = answer.text.len() + answer.reasoning.len() + calls;
            let usage = self.bounds.meter.used(bytes, written as u64, answer.usage);
            spent(usage, self.options.price)
        } else {
            Amounts::default()
        };
        self.bounds.ledger.settle(reservation, used);
    }

    fn note_request(
        &mut self,
        model: &dyn Model,
        ask: &Ask<'_>,
        request: &ModelRequest,
        shortened: u64,
    ) -> Result<(), EngineError> {
        let created = ModelRequestCreated {
            invocation: self.invocation.clone(),
            turn: ask.turn,
            model: model.traits().name.clone(),
            dialect: model.traits().dialect.clone(),
            messages: request.messages.len() as u64,
            contract: ask.contract.clone(),
            note: ask.note.clone(),
            told: ask.told.clone(),
            shortened,
        };
        self.writer.note(&Payload::ModelRequestCreated(created), Map::new())
    }

    fn note_failed(&mut self, ask: &Ask<'_>, error: ModelError) -> Result<Asked, EngineError> {
        let failed = ModelRequestFailed {
            invocation: self.invocation.clone(),
            turn: ask.turn,
            error_code: error.code().to_owned(),
            message: error.to_string(),
        };
        self.writer.note(&Payload::ModelRequestFailed(failed), Map::new())?;
        Ok(Asked::Failed(error))
    }

    fn note_out_of_time(&mut self, ask: &Ask<'_>) -> Result<Asked, EngineError> {
        let failed = ModelRequestFailed {
            invocation: self.invocation.clone(),
            turn: ask.turn,
            error_code: ErrorCode::RUN_BUDGET_EXHAUSTED.to_string(),
            message: "the time of the run ran out before the model had answered".to_owned(),
        };
        self.writer.note(&Payload::ModelRequestFailed(failed), Map::new())?;
        Ok(Asked::TooDear(Resource::WallTime))
    }
}

/// Hands stream deltas to the surfaces, masked: what may become a secret waits for what follows it.
struct Deltas {
    run: RunId,
    /// The agent that speaks, where it is not the run itself: then its words are no answer to the person.
    child: Option<(InvocationId, String)>,
    session: Arc<SessionInner>,
    events: Arc<dyn EventSink>,
    mask: Mask,
    text: MaskedStream,
    reasoning: MaskedStream,
}

impl Deltas {
    fn send(&self, kind: &str, key: &str, text: &str) {
        if !text.is_empty() {
            let time = self.session.clock().now();
            let event = match &self.child {
                None => RunEvent::delta(&self.run, time, kind, json!({ key: text })),
                Some((invocation, agent)) => {
                    let payload = json!({ key: text, "invocation": invocation, "agent": agent });
                    RunEvent::delta(&self.run, time, &format!("agent_{kind}"), payload)
                }
            };
            self.events.event(&event);
        }
    }

    /// Tells what still waits.
    fn end(&mut self) {
        let (reasoning, text) = (self.reasoning.end(&self.mask), self.text.end(&self.mask));
        self.send("reasoning_delta", "text", &reasoning);
        self.send("text_delta", "text", &text);
    }
}

impl TurnSink for Deltas {
    fn text(&mut self, delta: &str) {
        if self.events.wants_events() {
            let shown = self.text.push(&self.mask, delta);
            self.send("text_delta", "text", &shown);
        }
    }

    fn reasoning(&mut self, delta: &str) {
        if self.events.wants_events() {
            let shown = self.reasoning.push(&self.mask, delta);
            self.send("reasoning_delta", "text", &shown);
        }
    }

    fn restarted(&mut self, reason: &str) {
        self.text.restart();
        self.reasoning.restart();
        if self.events.wants_events() {
            let reason = self.mask.text(reason, View::Record);
            self.send("stream_restarted", "reason", &reason);
        }
    }
}
