//! `scripted:FILE`: turns from a script instead of a model, for tests and demonstrations (design.md §8).
//!
//! It reads no files: the text of the script is handed in. One turn a request, in order: an agent that lines name gets those and
//! no others, all other agents share the lines that name none.

mod read;
pub(crate) mod write;

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use haft_core::BoxFuture;
use haft_core::message::Message;
use haft_core::ports::{
    Cancel, FinishReason, Model, ModelError, ModelRequest, ModelTraits, ModelTurn, TurnSink,
};

use crate::call_ids;
use crate::entry::{CallIds, NATIVE};
use read::ScriptTurn;

/// Most characters of the last message that an unmet expectation shows.
const SHOWN_CHARS: usize = 200;

/// A line of a script that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the script {script}, line {line}: {reason}")]
pub struct ScriptError {
    /// Which script.
    pub script: String,
    /// Line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub reason: String,
}

/// A model that says what its script says.
///
/// ```
/// use haft_core::Model;
/// use haft_models::Scripted;
///
/// let script = r#"{"tool_calls": [{"name": "calculator", "arguments": {"expression": "6*7"}}]}
/// {"text": "It is 42.", "expect": {"last_contains": "42"}}"#;
/// let model = Scripted::from_jsonl("sum.jsonl", script)?;
/// assert_eq!(model.traits().name, "scripted:sum.jsonl");
///
/// let error = Scripted::from_jsonl("bad.jsonl", r#"{"txt": "Hi"}"#).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "the script bad.jsonl, line 1: unknown key `txt` in a turn; did you mean `text`?"
/// );
/// # Ok::<(), haft_models::ScriptError>(())
/// ```
#[derive(Debug)]
pub struct Scripted {
    script: String,
    turns: Vec<ScriptTurn>,
    /// Turns that were given, by the agent whose lines they are.
    given: Mutex<HashMap<Option<String>, usize>>,
    traits: ModelTraits,
}

impl Scripted {
    /// Reads the script `text`, called `name` in messages.
    ///
    /// # Errors
    /// The first line that is no turn, with its place.
    pub fn from_jsonl(name: &str, text: &str) -> Result<Self, ScriptError> {
        let traits = ModelTraits {
            name: format!("scripted:{name}"),
            dialect: NATIVE.to_owned(),
            images: false,
            wraps_results: false,
            provider_call_ids: false,
            context_tokens: None,
        };
        Ok(Self { script: name.to_owned(), turns: read::read(name, text)?, given: Mutex::default(), traits })
    }

    /// Holds the script to the ids of its calls, as a model entry with `call_ids` does.
    #[must_use]
    pub fn with_call_ids(mut self, call_ids: CallIds) -> Self {
        self.traits.provider_call_ids = call_ids == CallIds::Provider;
        self
    }

    /// The next turn that is for `agent`.
    fn next_for(&self, agent: &str) -> Option<&ScriptTurn> {
        let named = self.turns.iter().any(|turn| turn.agent.as_deref() == Some(agent));
        let whose = named.then(|| agent.to_owned());
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        let given = given.entry(whose.clone()).or_default();
        let turn = self.turns.iter().filter(|turn| turn.agent == whose).nth(*given)?;
        *given += 1;
        Some(turn)
    }

    async fn say(&self, request: &ModelRequest, sink: &mut dyn TurnSink) -> Result<ModelTurn, ModelError> {
        let Some(turn) = self.next_for(&request.agent) else {
            return Err(ModelError::ScriptExhausted { script: self.script.clone() });
        };
        if let Some(expected) = &turn.last_contains {
            let last = request.messages.last().map(text_of).unwrap_or_default();
            if !last.contains(expected.as_str()) {
                return Err(ModelError::ScriptExpectation {
                    script: self.script.clone(),
                    line: turn.line,
                    expected: expected.clone(),
                    got: shortened(&last),
                });
            }
        }
        if !turn.delay.is_zero() {
            tokio::time::sleep(turn.delay).await;
        }
        if let Some((status, body)) = &turn.error {
            let (model, status, body) = (self.traits.name.clone(), *status, body.clone());
            return Err(ModelError::Refused { model, status, body });
        }
        if self.traits.provider_call_ids {
            call_ids::check(&self.traits.name, &turn.calls, request)?;
        }
        if !turn.reasoning.is_empty() {
            sink.reasoning(&turn.reasoning);
        }
        for chunk in &turn.chunks {
            sink.text(chunk);
        }
        let own = if turn.calls.is_empty() { FinishReason::Stop } else { FinishReason::ToolCalls };
        Ok(ModelTurn {
            text: turn.chunks.concat(),
            reasoning: turn.reasoning.clone(),
            calls: turn.calls.clone(),
            raw: turn.raw.clone(),
            finish_reason: turn.finish_reason.unwrap_or(own),
            usage: turn.usage,
            provider_metadata: turn.provider_metadata.clone(),
        })
    }
}

impl Model for Scripted {
    fn traits(&self) -> &ModelTraits {
        &self.traits
    }

    fn turn<'a>(
        &'a self,
        request: &'a ModelRequest,
        sink: &'a mut dyn TurnSink,
        cancel: &'a dyn Cancel,
    ) -> BoxFuture<'a, Result<ModelTurn, ModelError>> {
        Box::pin(async move {
            tokio::select! {
                biased;
                () = cancel.cancelled() => Err(ModelError::Cancelled),
                turn = self.say(request, sink) => turn,
            }
        })
    }
}

/// A message as a model of this dialect reads it.
fn text_of(message: &Message) -> String {
    match message {
        Message::User(text) | Message::Assistant { text, .. } => text.clone(),
        Message::Results(results) => {
            results.iter().map(|result| result.body.as_str()).collect::<Vec<_>>().join("\n")
        }
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
