//! The model of a recorded agent: it says again what it said.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use haft_core::BoxFuture;
use haft_core::ports::{Cancel, Model, ModelError, ModelRequest, ModelTraits, ModelTurn, TurnSink};

use super::recorded::RecordedAgent;
use super::rerun::Rerun;

/// A model that gives the turns of one recorded agent, one after another.
pub(super) struct RecordedModel {
    traits: ModelTraits,
    rerun: Arc<Rerun>,
    agent: String,
    next: AtomicUsize,
}

impl RecordedModel {
    pub(super) fn new(rerun: Arc<Rerun>, agent: &str, recorded: Option<&RecordedAgent>) -> Self {
        let (name, dialect) =
            recorded.map(|agent| (agent.model.clone(), agent.dialect.clone())).unwrap_or_default();
        let traits = ModelTraits {
            name,
            dialect,
            images: false,
            wraps_results: false,
            provider_call_ids: false,
            context_tokens: None,
        };
        Self { traits, rerun, agent: agent.to_owned(), next: AtomicUsize::new(0) }
    }

    async fn say(&self, cancel: &dyn Cancel) -> Result<ModelTurn, ModelError> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let Some(turn) = self.rerun.agent(&self.agent).and_then(|agent| agent.turns.get(number)) else {
            return Err(ModelError::ScriptExhausted { script: "of the record".to_owned() });
        };
        let _step = self.rerun.enter(&self.agent, turn.span, cancel).await;
        if turn.stops {
            self.rerun.stop_agent(&self.agent);
        }
        let model = self.traits.name.clone();
        turn.answer.clone().map_err(|(code, message)| failure(model, &code, message))
    }
}

/// A failure with the code that was recorded.
fn failure(model: String, code: &str, reason: String) -> ModelError {
    match code {
        "model.cancelled" => ModelError::Cancelled,
        "model.unreachable" => ModelError::Unreachable { model, url: String::new(), reason },
        "model.refused" => ModelError::Refused { model, status: 0, body: reason },
        "model.cut_off" => ModelError::CutOff { model, reason },
        "model.script_exhausted" => ModelError::ScriptExhausted { script: model },
        "model.script_expectation" => {
            ModelError::ScriptExpectation { script: model, line: 0, expected: String::new(), got: reason }
        }
        _ => ModelError::Malformed { model, reason },
    }
}

impl Model for RecordedModel {
    fn traits(&self) -> &ModelTraits {
        &self.traits
    }

    fn turn<'a>(
        &'a self,
        _: &'a ModelRequest,
        _: &'a mut dyn TurnSink,
        cancel: &'a dyn Cancel,
    ) -> BoxFuture<'a, Result<ModelTurn, ModelError>> {
        Box::pin(self.say(cancel))
    }
}
