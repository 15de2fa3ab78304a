//! A script made of a live run: what a model answers is written down as `scripted:FILE` reads it (design.md §8).
//!
//! It opens no files: where the script goes is handed in. It changes nothing of what is asked and answered.

use std::fmt;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_core::BoxFuture;
use haft_core::ports::{Cancel, Model, ModelError, ModelRequest, ModelTraits, ModelTurn, TurnSink};

use crate::scripted::write;

/// A model whose answers are written down, one line a turn.
///
/// A request that the server refused becomes a line with `error`; one that was stopped, or that failed without an answer of the
/// server, leaves no line, so that a script ends where the run did.
///
/// ```
/// use std::sync::Arc;
///
/// use haft_core::Model;
/// use haft_models::{Demo, Recording};
///
/// let recording = Recording::new(Arc::new(Demo::in_dialect("native", None)?), std::io::sink());
/// assert_eq!(recording.traits().name, "demo");
/// assert!(recording.finish().is_ok());
/// # Ok::<(), haft_models::BuildError>(())
/// ```
pub struct Recording {
    model: Arc<dyn Model>,
    script: Mutex<Script>,
}

struct Script {
    out: Box<dyn Write + Send>,
    failure: Option<io::Error>,
    /// The agent that asked first; the lines of all others say whose they are.
    root: Option<String>,
}

impl Recording {
    /// Writes what `model` answers to `script`.
    pub fn new(model: Arc<dyn Model>, script: impl Write + Send + 'static) -> Self {
        Self { model, script: Mutex::new(Script { out: Box::new(script), failure: None, root: None }) }
    }

    /// Whether every answer so far was written.
    ///
    /// # Errors
    /// The first line that could not be written; nothing was written after it.
    pub fn finish(&self) -> io::Result<()> {
        let mut script = self.script();
        match script.failure.take() {
            Some(failure) => Err(failure),
            None => script.out.flush(),
        }
    }

    fn keep(&self, answer: &Result<ModelTurn, ModelError>, agent: &str) {
        let mut script = self.script();
        let root = script.root.get_or_insert_with(|| agent.to_owned());
        let agent = (root.as_str() != agent).then_some(agent);
        let line = match answer {
            Ok(turn) => write::turn(turn, agent),
            Err(ModelError::Refused { status, body, .. }) => write::refusal(*status, body, agent),
            Err(
                ModelError::Cancelled
                | ModelError::Unreachable { .. }
                | ModelError::CutOff { .. }
                | ModelError::Malformed { .. }
                | ModelError::ScriptExhausted { .. }
                | ModelError::ScriptExpectation { .. },
            ) => return,
        };
        if script.failure.is_none() {
            script.failure = writeln!(script.out, "{line}").and_then(|()| script.out.flush()).err();
        }
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recording").field("model", &self.model.traits().name).finish_non_exhaustive()
    }
}

impl Model for Recording {
    fn traits(&self) -> &ModelTraits {
        self.model.traits()
    }

    fn turn<'a>(
        &'a self,
        request: &'a ModelRequest,
        sink: &'a mut dyn TurnSink,
        cancel: &'a dyn Cancel,
    ) -> BoxFuture<'a, Result<ModelTurn, ModelError>> {
        Box::pin(async move {
            let answer = self.model.turn(request, sink, cancel).await;
            self.keep(&answer, &request.agent);
            answer
        })
    }
}
