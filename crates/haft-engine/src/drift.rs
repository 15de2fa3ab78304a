//! Drift: a model answers with text where a tool must end its work (EXE-13 to EXE-16).
//!
//! The text is kept as a file, and the model is told again how its work ends, as often as turns are left.

use std::sync::Arc;

use haft_core::ErrorCode;
use haft_core::journal::{DirectOutputCaptured, DriftRecoveryAttempted, Payload, RunStatus};
use haft_core::mask::View;
use haft_core::message::Message;
use haft_core::ports::ModelTurn;
use haft_core::workspace::{WorkspacePath, WorkspaceRoot};
use serde_json::Map;

use crate::error::EngineError;
use crate::run::Driver;
use crate::turns::{End, Next, Talk};

/// The name of the file that keeps such a text, under the root of the message's body.
const DIRECT_OUTPUT: &str = "direct_output.md";

impl Driver {
    /// What follows an answer without calls.
    pub(crate) fn after_text(&mut self, talk: &mut Talk, answer: ModelTurn) -> Result<Next, EngineError> {
        let exit = self.tools.snapshot().exit;
        if exit.ends_with_text() {
            let text = std::mem::take(&mut talk.text);
            return Ok(Next::End(End { status: RunStatus::Completed, code: None, message: None, text }));
        }
        let kept = self.capture(talk.turn, &answer.text)?;
        talk.drifts = talk.drifts.saturating_add(1);
        talk.is_adrift = true;
        if talk.turn >= self.tools.snapshot().max_rounds {
            return Ok(Next::End(call_required(std::mem::take(&mut talk.text))));
        }
        let reminder = self.reminder(kept.as_ref());
        let attempted = DriftRecoveryAttempted {
            attempt: talk.drifts,
            invocation: self.invocation.clone(),
            turn: talk.turn,
        };
        self.writer.note(&Payload::DriftRecoveryAttempted(attempted), Map::new())?;
        talk.messages.push(Message::Assistant {
            text: answer.text,
            raw: answer.raw,
            calls: Vec::new(),
            call_ids: Vec::new(),
            provider_metadata: answer.provider_metadata,
        });
        talk.tell(reminder);
        Ok(Next::Turn)
    }

    /// Keeps the text of an answer as a file of the workspace (EXE-13); none if there is no text.
    fn capture(&mut self, turn: u32, text: &str) -> Result<Option<WorkspacePath>, EngineError> {
        if text.trim().is_empty() {
            return Ok(None);
        }
        let name = format!("{}/{DIRECT_OUTPUT}", WorkspaceRoot::Output.name());
        let Ok(path) = WorkspacePath::parse(&name) else { return Ok(None) };
        let text = self.writer.mask.text(text, View::Record).into_owned();
        let version = self.shared.files.put(path.clone(), Arc::from(text.into_bytes()));
        let file = self.writer.file(version.stored_path(), version.bytes.to_vec());
        let captured = DirectOutputCaptured { file, invocation: self.invocation.clone(), turn };
        self.writer.note(&Payload::DirectOutputCaptured(captured), Map::new())?;
        Ok(Some(path))
    }

    /// What the model is told: how its work ends, by the names that its tools have here (ALI-09, EXE-14).
    fn reminder(&self, kept: Option<&WorkspacePath>) -> String {
        let tools = self.tools.snapshot().exit.ending_tools();
        let bound = tools.iter().filter_map(|id| self.tools.by_id(id));
        let aliases: Vec<String> = bound.map(|tool| format!("`{}`", tool.binding().alias)).collect();
        let kept = match kept {
            Some(path) => format!(" Your text was kept as `{path}` and was not sent."),
            None => String::new(),
        };
        let next = match aliases.as_slice() {
            [] => "Go on with your tools.".to_owned(),
            [one] => format!("Call {one} with your result when you are done."),
            [first, rest @ ..] => format!(
                "Put what the person shall read into a file, call {first}, and when all is done call {}.",
                rest.join(" or ")
            ),
        };
        format!(
            "(Note from the host, not from the person: your answer held no tool call, and text alone does not end this work.{kept} {next})"
        )
    }
}

/// The end of work that a tool should have ended (EXE-16).
pub(crate) fn call_required(text: String) -> End {
    End {
        status: RunStatus::Failed,
        code: Some(ErrorCode::TOOL_CALL_REQUIRED.to_string()),
        message: Some(
            "The model answered with text instead of ending its work with a tool, and no turn is left to tell it so. Ask again, or name a model that calls tools.".to_owned(),
        ),
        text,
    }
}
