//! The loop: a model is asked, its calls run, their results go back, until it answers without calls (EXE-11, CONFLICT-26).
//!
//! A tool's failure never ends the loop (EXE-09); a broken model answer, a broken store and a stop do (EXE-17). Where rounds or a
//! budget are used up, or nothing moves any more, the model has one last turn without tools, to sum up.

use std::sync::Arc;

use haft_core::exit::ExitPolicy;
use haft_core::journal::{ModelTurnCompleted, Payload, RequestedCallRecord, RunEnded, RunStatus};
use haft_core::mask::{View, without_written};
use haft_core::message::Message;
use haft_core::ports::{Model, ModelError, ModelTurn};
use haft_core::profile::{BreachPolicy, RunKind};
use haft_core::turn::TurnAliases;
use haft_core::workspace::RunFiles;
use haft_core::{Attempt, ErrorCode, RunId, ToolChoice, ToolTurnContract};
use serde_json::Map;

use crate::asking::{Ask, Asked};
use crate::context::Stopper;
use crate::drift::call_required;
use crate::ending::Ending;
use crate::error::EngineError;
use crate::history::{self, Past};
use crate::identity::Identity;
use crate::persist;
use crate::render::result_message;
use crate::run::{Driver, RunOptions, RunOutcome};
use crate::session::{Conversation, SessionInner};
use crate::work::Takeover;
use crate::world;

/// How a run of a prompt ends, before it is written.
pub(crate) struct End {
    pub(crate) status: RunStatus,
    pub(crate) code: Option<String>,
    pub(crate) message: Option<String>,
    pub(crate) text: String,
}

/// How the turns of an invocation end.
pub(crate) enum Finished {
    /// Its work is over.
    End(End),
    /// Another agent takes over (DEL-09).
    HandedOver(Box<Takeover>),
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
    let mut past = match conversation.take() {
        Some(read) if read.renderer == renderer => read.past,
        Some(_) | None => Past::read(session.store(), &session.lease.session, renderer).await?,
    };
    let files = match options.profile.run_kind {
        RunKind::Chat => RunFiles::default(),
        RunKind::Agent => persist::begin(&session).await?,
    };
    let world_info = match &options.rerun {
        Some(rerun) => rerun.world_info(),
        None => world::activate_for(&session, &options.profile, Some(&prompt)).await?,
    };
    let asked = Some((prompt.clone(), model.clone()));
    let mut driver = Driver::begin(session, run.clone(), asked, options, stopper, (files, world_info))?;
    let mut messages = history::fit_to(past.messages.clone(), &driver.tools);
    driver.compacted.clone_from(&past.compacted);
    messages.push(Message::User(driver.writer.mask.text(&prompt, View::Model).into_owned()));
    driver.add_world_info(&mut messages);
    let ended = work_through(&mut driver, model, messages).await;
    // Whoever still works for the run ends first, and tells it (DEL-15).
    driver.let_others_end().await;
    driver.shared.tasks.wind_up().await;
    let ended = match (ended, driver.shared.tasks.take_failure()) {
        (Ok(end), None) => driver.class_end(end),
        (Err(error), _) | (Ok(_), Some(error)) => Err(error),
    };
    let end = match ended {
        Ok(end) => end,
        Err(error) => return Err(driver.fail(error).await),
    };
    if let Err(error) = driver.end_stint(&end).await {
        return Err(driver.fail(error).await);
    }
    let kept = match driver.promote(end.status).await {
        Ok(kept) => kept,
        Err(error) => return Err(driver.fail(error).await),
    };
    let End { status, code, mut message, mut text } = end;
    driver.writer.mask.put(&mut text, View::Record);
    message.as_mut().map(|message| driver.writer.mask.put(message, View::Record));
    let ended =
        RunEnded { status, error_code: code.clone(), message: message.clone(), text: Some(text.clone()) };
    let head = driver.end(ended).await?;
    if kept.is_some() {
        *waiting.kept.lock().await = kept;
    }
    // The next run of this session need not read what this one wrote, nor what came before.
    past.add(waiting.store(), &run, renderer).await?;
    *conversation = Some(Conversation { renderer, past });
    Ok(RunOutcome { run, status, text, error_code: code, message, head })
}

/// Lets the root work, and whoever takes over from it; `driver` is the one that works last.
async fn work_through(
    driver: &mut Driver,
    mut model: Arc<dyn Model>,
    mut messages: Vec<Message>,
) -> Result<End, EngineError> {
    let mut news = None;
    loop {
        let takeover = match driver.turns(model.as_ref(), messages, news).await? {
            Finished::End(end) => return Ok(end),
            Finished::HandedOver(takeover) => takeover,
        };
        let Takeover { driver: next, opening } = *takeover;
        driver.hand_on(&next.agent).await?;
        // Whoever takes over reads the results that nobody has read.
        news = driver.news(&format!("`{}`", driver.agent));
        *driver = next;
        if let Some(team) = &driver.team {
            model = team.model.model.clone();
        }
        messages = vec![Message::User(opening)];
    }
}

/// The conversation while a run works on it.
pub(crate) struct Talk {
    pub(crate) messages: Vec<Message>,
    /// Where the message stands with which the work began.
    pub(crate) opening: usize,
    /// The newest visible text of the model.
    pub(crate) text: String,
    /// Turns that were asked for.
    pub(crate) turn: u32,
    /// What the host added since the request before.
    told: Vec<String>,
    /// Answers without a call where a tool must end the work.
    pub(crate) drifts: u32,
    /// The newest answer was one.
    pub(crate) is_adrift: bool,
}

impl Talk {
    fn new(messages: Vec<Message>) -> Self {
        let (opening, text, told) = (messages.len().saturating_sub(1), String::new(), Vec::new());
        Self { messages, opening, text, turn: 0, told, drifts: 0, is_adrift: false }
    }

    /// Adds what the host has to say; the next request's record tells of it.
    pub(crate) fn tell(&mut self, text: String) {
        self.messages.push(Message::User(text.clone()));
        self.told.push(text);
    }
}

/// What comes after a turn.
pub(crate) enum Next {
    /// Another one.
    Turn,
    /// The end.
    End(End),
    /// Another agent takes over.
    HandOver(Box<Takeover>),
    /// No more tools: the model may sum up.
    LastTurn(Ending),
}

impl Driver {
    pub(crate) async fn turns(
        &mut self,
        model: &dyn Model,
        messages: Vec<Message>,
        news: Option<String>,
    ) -> Result<Finished, EngineError> {
        let mut talk = Talk::new(messages);
        talk.opening = self.opening_of(&talk);
        news.into_iter().for_each(|news| talk.tell(news));
        let ending = loop {
            match self.next_turn(model, &mut talk).await? {
                Next::Turn => {}
                Next::End(end) => return Ok(Finished::End(end)),
                Next::HandOver(takeover) => return Ok(Finished::HandedOver(takeover)),
                Next::LastTurn(ending) => break ending,
            }
        };
        let end = match self.tools.snapshot().exit {
            ExitPolicy::Text => self.last_turn(model, talk, &ending).await?,
            ExitPolicy::FinishRequired | ExitPolicy::TaskReturnRequired if talk.is_adrift => {
                call_required(talk.text)
            }
            // It ends by a tool, and this one did not (GAT-06).
            ExitPolicy::FinishRequired | ExitPolicy::TaskReturnRequired => {
                cut_short(&ending, RunStatus::Failed, talk.text, None)
            }
        };
        Ok(Finished::End(end))
    }

    async fn next_turn(&mut self, model: &dyn Model, talk: &mut Talk) -> Result<Next, EngineError> {
        let rounds = self.tools.snapshot().max_rounds;
        if talk.turn >= rounds {
            return Ok(Next::LastTurn(Ending::Rounds(rounds)));
        }
        self.tell_news(talk);
        self.compact(model, talk, talk.turn.saturating_add(1)).await?;
        let contract = self.contract();
        let told = std::mem::take(&mut talk.told);
        let ask = Ask { turn: talk.turn.saturating_add(1), contract: &contract, note: None, told };
        let answer = match self.ask_model(model, &ask, &talk.messages).await? {
            Asked::Answered(answer) => *answer,
            Asked::Failed(error) => return Ok(Next::End(model_failed(&error, talk.text.clone()))),
            Asked::TooDear(resource) => {
                talk.told = ask.told;
                return Ok(Next::LastTurn(Ending::Budget(resource)));
            }
        };
        talk.turn = ask.turn;
        talk.text.clone_from(&answer.text);
        let attempts = self.decode(&ask, &answer)?;
        if attempts.is_empty() {
            return self.after_text(talk, answer);
        }
        talk.is_adrift = false;
        if let Some(end) = self.breach(&attempts, &talk.text) {
            return Ok(Next::End(end));
        }
        let requested = answer.calls.clone();
        let expected = Identity::of_batch(&attempts);
        talk.messages.push(Message::Assistant {
            text: answer.text,
            raw: answer.raw,
            calls: answer.calls,
            call_ids: attempts.iter().map(|attempt| attempt.call_id().clone()).collect(),
            provider_metadata: answer.provider_metadata,
        });
        let outcomes = self.run_batch(&contract, attempts).await?;
        Identity::check_batch(&expected, &outcomes)?;
        let renderer = self.options.profile.renderer;
        let results = outcomes.iter().zip(&requested);
        talk.messages.push(Message::Results(
            results
                .map(|(outcome, call)| result_message(&outcome.result, call.wire_id().cloned(), renderer))
                .collect(),
        ));
        if self.is_finished_by(&outcomes) {
            let text = std::mem::take(&mut talk.text);
            return Ok(Next::End(End { status: RunStatus::Completed, code: None, message: None, text }));
        }
        if let Some(end) = self.returned_end() {
            return Ok(Next::End(end));
        }
        if self.stopper.run_is_stopped() {
            return Ok(Next::End(cancelled(std::mem::take(&mut talk.text))));
        }
        if self.tools.snapshot().exit == ExitPolicy::FinishRequired {
            self.publish_draft(&outcomes).await?;
        }
        if let Some(takeover) = self.team.as_ref().and_then(|team| team.take_takeover()) {
            return Ok(Next::HandOver(takeover));
        }
        let circle = self.bounds.end_batch(&outcomes, &self.tools).map(Ending::NoProgress);
        let ending = circle.or_else(|| self.bounds.used_up_by(&outcomes).map(Ending::Budget));
        Ok(ending.map_or(Next::Turn, Next::LastTurn))
    }

    /// Asks the model once more, without tools, to say what was done and what is left; that text ends the run.
    async fn last_turn(
        &mut self,
        model: &dyn Model,
        mut talk: Talk,
        ending: &Ending,
    ) -> Result<End, EngineError> {
        let contract = ToolTurnContract { choice: ToolChoice::None, ..self.contract() };
        let note = ending.note();
        self.tell_news(&mut talk);
        talk.messages.push(Message::User(note.clone()));
        let told = std::mem::take(&mut talk.told);
        let ask = Ask { turn: talk.turn.saturating_add(1), contract: &contract, note: Some(note), told };
        let answer = match self.ask_model(model, &ask, &talk.messages).await? {
            Asked::Answered(answer) => *answer,
            Asked::Failed(ModelError::Cancelled) => return Ok(cancelled(talk.text)),
            Asked::Failed(error) => {
                let why = format!("The model could not sum up: {error}.");
                return Ok(cut_short(ending, RunStatus::Failed, talk.text, Some(why)));
            }
            Asked::TooDear(_) => {
                let why = Some("Nothing is left for a summary.".to_owned());
                return Ok(cut_short(ending, RunStatus::Failed, talk.text, why));
            }
        };
        let attempts = self.decode(&ask, &answer)?;
        if !attempts.is_empty() {
            // Each is refused at the gate, and has its record.
            self.run_batch(&contract, attempts).await?;
        }
        let (status, text) = if answer.text.trim().is_empty() {
            (RunStatus::Failed, talk.text)
        } else {
            (RunStatus::PartialSuccess, answer.text)
        };
        Ok(cut_short(ending, status, text, None))
    }

    /// The calls of an answer, with its record noted.
    fn decode(&mut self, ask: &Ask<'_>, answer: &ModelTurn) -> Result<Vec<Attempt>, EngineError> {
        let aliases = TurnAliases::new(&self.tools, ask.contract, &self.invocation, ask.turn);
        let (attempts, secrets) = self.look_ahead(aliases.decode(answer.calls.clone()))?;
        self.note_turn(ask.turn, answer, &attempts, &secrets)?;
        Ok(attempts)
    }

    fn note_turn(
        &mut self,
        turn: u32,
        answer: &ModelTurn,
        attempts: &[Attempt],
        secrets: &[String],
    ) -> Result<(), EngineError> {
        let calls = attempts
            .iter()
            .zip(&answer.calls)
            .map(|(attempt, requested)| RequestedCallRecord {
                call_id: attempt.call_id().clone(),
                requested: requested.clone(),
                tool_id: attempt.tool_id().cloned(),
            })
            .collect();
        let mut completed = ModelTurnCompleted {
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
        if !secrets.is_empty() {
            // A dialect may write them otherwise than they are.
            completed.raw = None;
            completed.calls.iter_mut().for_each(|call| without_written(&mut call.requested, secrets));
        }
        self.writer.note(&Payload::ModelTurnCompleted(completed), Map::new())
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

fn model_failed(error: &ModelError, text: String) -> End {
    match error {
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
    }
}

/// The end of a run that was not let go on.
fn cut_short(ending: &Ending, status: RunStatus, text: String, why_more: Option<String>) -> End {
    let message = match why_more {
        Some(more) => format!("{} {more}", ending.message()),
        None => ending.message(),
    };
    End { status, code: Some(ending.code().to_string()), message: Some(message), text }
}

pub(crate) fn cancelled(text: String) -> End {
    let message = Some("The run was stopped. What was done before stays.".to_owned());
    End { status: RunStatus::Cancelled, code: Some("agent.run_cancelled".to_owned()), message, text }
}
