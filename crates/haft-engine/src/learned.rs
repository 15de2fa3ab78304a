//! Secrets that nobody named when the engine began: what a model writes where secrets are kept, and what it reads there. They are
//! masked from then on in everything that is stored and shown.

use haft_core::Attempt;
use haft_core::mask::written_secrets;

use crate::error::EngineError;
use crate::run::Driver;

/// How a place says that a secret was learned from the arguments of a call, and from a result.
const OF_ARGUMENT: &str = "argument";
const OF_RESULT: &str = "result";

impl Driver {
    /// Learns the secrets that the calls of a model's turn write, before the turn is noted, and gives them. What cannot be masked must
    /// not be stored, so that the run ends where they are too many.
    pub(crate) fn learn_written(&mut self, attempts: &[Attempt]) -> Result<Vec<String>, EngineError> {
        let mut secrets = Vec::new();
        for attempt in attempts {
            if let Attempt::Call(call) = attempt
                && let Some(tool) = self.tools.by_id(&call.tool_id)
            {
                secrets.extend(written_secrets(call, tool, &self.injected, &self.session.environment));
            }
        }
        self.learn(OF_ARGUMENT, &secrets)?;
        Ok(secrets)
    }

    /// Learns a result that is a secret as a whole: whoever was given it may repeat it.
    pub(crate) fn learn_read(&mut self, text: String) -> Result<(), EngineError> {
        self.learn(OF_RESULT, &[text])
    }

    fn learn(&mut self, name: &str, secrets: &[String]) -> Result<(), EngineError> {
        let engine = &self.session.engine;
        if !secrets.is_empty() {
            engine.learn(name, secrets).map_err(|error| EngineError::System {
                code: "agent.secrets_unmaskable".to_owned(),
                message: error.to_string(),
            })?;
        }
        // Another invocation may have learned some too.
        self.writer.mask = engine.mask();
        Ok(())
    }
}
