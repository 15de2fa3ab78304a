//! The end of a run of kind `agent`: what ends it, and how it is classed (EXE-16, GAT-06).

use haft_core::ToolId;
use haft_core::journal::{Payload, RunFailed, RunPartialSuccess, RunStatus};
use haft_core::profile::RunKind;
use serde_json::Map;

use crate::error::EngineError;
use crate::run::{CallOutcome, Driver};
use crate::turns::End;

impl Driver {
    /// True if a call of the batch ended the work of this invocation.
    pub(crate) fn is_finished_by(&self, outcomes: &[CallOutcome]) -> bool {
        let finish = ToolId::builtin("workspace.finish");
        let ends = |outcome: &CallOutcome| {
            !outcome.result.is_error && outcome.result.tool_id.as_ref() == Some(&finish)
        };
        outcomes.iter().any(ends)
    }

    /// Classes the end of a run and notes it. A run of kind `chat` ends as it is.
    pub(crate) fn class_end(&mut self, mut end: End) -> Result<End, EngineError> {
        match self.shared.options.profile.run_kind {
            RunKind::Chat => return Ok(end),
            RunKind::Agent => {}
        }
        let committed = self.shared.publication.text();
        match end.status {
            RunStatus::Failed => {
                let error_code = end.code.clone().unwrap_or_default();
                let message = end.message.clone().unwrap_or_default();
                let payload = if committed.is_some() {
                    end.status = RunStatus::PartialSuccess;
                    Payload::RunPartialSuccess(RunPartialSuccess { error_code, warning: message })
                } else {
                    Payload::RunFailed(RunFailed { error_code, message, user_retryable: true })
                };
                self.writer.note(&payload, Map::new())?;
            }
            RunStatus::Completed | RunStatus::PartialSuccess | RunStatus::Cancelled => {}
        }
        if let Some(text) = committed {
            end.text = text;
        }
        Ok(end)
    }

    /// Notes that the host itself broke (JRN-06): whatever was committed, the run is failed.
    pub(crate) fn note_broken(&mut self, code: &str, message: &str) -> Result<(), EngineError> {
        match self.shared.options.profile.run_kind {
            RunKind::Chat => Ok(()),
            RunKind::Agent => {
                let (error_code, message) = (code.to_owned(), message.to_owned());
                let failed = RunFailed { error_code, message, user_retryable: false };
                self.writer.note(&Payload::RunFailed(failed), Map::new())
            }
        }
    }
}
