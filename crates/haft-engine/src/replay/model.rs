//! The model of a recorded run: it says again what it said.

use std::sync::atomic::{AtomicUsize, Ordering};

use haft_core::BoxFuture;
use haft_core::ports::{Cancel, Model, ModelError, ModelRequest, ModelTraits, ModelTurn, TurnSink};

/// A model that gives the turns of a record, one after another.
#[derive(Debug)]
pub(super) struct RecordedModel {
    traits: ModelTraits,
    turns: Vec<Result<ModelTurn, (String, String)>>,
    next: AtomicUsize,
}

impl RecordedModel {
    pub(super) fn new(
        name: String,
        dialect: String,
        turns: Vec<Result<ModelTurn, (String, String)>>,
    ) -> Self {
        let traits = ModelTraits {
            name,
            dialect,
            images: false,
            wraps_results: false,
            provider_call_ids: false,
            context_tokens: None,
        };
        Self { traits, turns, next: AtomicUsize::new(0) }
    }

    fn say(&self) -> Result<ModelTurn, ModelError> {
        let model = self.traits.name.clone();
        match self.turns.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            Some(Ok(turn)) => Ok(turn.clone()),
            Some(Err((code, message))) => Err(failure(model, code, message.clone())),
            None => Err(ModelError::ScriptExhausted { script: "of the record".to_owned() }),
        }
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
        _: &'a dyn Cancel,
    ) -> BoxFuture<'a, Result<ModelTurn, ModelError>> {
        Box::pin(async { self.say() })
    }
}
