//! Secrets that nobody named when the engine began: what a model writes where secrets are kept, and what it reads there. They are
//! masked from then on in everything that is stored and shown.

use haft_core::Attempt;

use crate::error::EngineError;
use crate::run::Driver;

/// How a place says that a secret was learned from the arguments of a call, and from a result.
const OF_ARGUMENT: &str = "argument";
const OF_RESULT: &str = "result";

impl Driver {
    /// Looks ahead at the calls of a turn before anything of it is noted, learns the secrets that they write, and gives both. What
    /// cannot be masked must not be stored, so that the run ends where they are too many.
    pub(crate) fn look_ahead(
        &mut self,
        attempts: Vec<Attempt>,
    ) -> Result<(Vec<Attempt>, Vec<String>), EngineError> {
        let foresee = |attempt: Attempt| attempt.foresee(&self.tools, &self.surroundings);
        let attempts: Vec<Attempt> = attempts.into_iter().map(foresee).collect();
        let secrets: Vec<String> = attempts.iter().flat_map(Attempt::written_secrets).collect();
        self.learn(OF_ARGUMENT, &secrets)?;
        Ok((attempts, secrets))
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
