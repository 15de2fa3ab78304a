//! An earlier run of kind `agent` as its conversation holds it: what the person wrote, and the message that the run committed.
//!
//! How it got there (calls, results, text without a call) is the journal's, and no part of the conversation (WSP-22). Where the run
//! was cut off, calls of unknown outcome are told all the same: whoever goes on must know of them.

use haft_core::journal::{Payload, SealedRecord};
use haft_core::message::Message;
use haft_core::ports::Store;
use haft_core::profile::RunKind;
use haft_core::run_control::CommitMode;
use haft_core::{Digest, ErrorCode, RunId};

use crate::error::EngineError;
use crate::recover::INTERRUPTED;
use crate::taken::Taken;

/// True for the records of a run of kind `agent`. One whose beginning was redacted is known by what it committed.
pub(crate) fn is_agent_run(records: &[SealedRecord]) -> Result<bool, EngineError> {
    if records.iter().any(|record| record.kind == "chat_committed") {
        return Ok(true);
    }
    let Some((kind, bytes)) =
        records.first().and_then(|first| Some((first.kind.as_str(), first.payload.as_deref()?)))
    else {
        return Ok(false);
    };
    match Payload::read(kind, bytes)? {
        Payload::RunStarted(body) => Ok(body.run_kind == RunKind::Agent),
        _ => Ok(false),
    }
}

/// The messages of a run of kind `agent`.
pub(crate) async fn messages(
    store: &dyn Store,
    run: &RunId,
    records: &[SealedRecord],
) -> Result<Vec<Message>, EngineError> {
    let taken = Taken::of(records);
    let mut messages = Vec::new();
    let mut message: Option<String> = None;
    let (mut unknown, mut is_cut_off) = (Vec::new(), false);
    for record in records {
        let gone = |what| taken.text(what, record);
        match (record.kind.as_str(), record.payload.as_deref()) {
            ("run_started", None) => messages.push(Message::User(gone("This message"))),
            ("run_started", Some(bytes)) => {
                if let Payload::RunStarted(body) = Payload::read(&record.kind, bytes)? {
                    messages.extend(body.prompt.map(Message::User));
                }
            }
            ("chat_committed", None) => message = Some(gone("This message")),
            ("chat_committed", Some(bytes)) => {
                if let Payload::ChatCommitted(body) = Payload::read(&record.kind, bytes)? {
                    let text = text_of(store, run, &body.file.path, &body.file.sha256).await?;
                    let text = text.unwrap_or_else(|| gone("This message"));
                    message = Some(match (body.mode, message.take()) {
                        (CommitMode::Append, Some(before)) => before + &text,
                        (CommitMode::Append, None) | (CommitMode::Replace, _) => text,
                    });
                }
            }
            ("tool_call_failed", Some(bytes)) => {
                if let Payload::ToolCallFailed(body) = Payload::read(&record.kind, bytes)?
                    && body.error_code == ErrorCode::OUTCOME_UNKNOWN
                {
                    unknown.push(format!("`{}`", body.alias));
                }
            }
            ("run_ended", Some(bytes)) => {
                if let Payload::RunEnded(body) = Payload::read(&record.kind, bytes)? {
                    is_cut_off = body.error_code.as_deref() == Some(INTERRUPTED);
                }
            }
            _ => {}
        }
    }
    messages.extend(message.map(|text| Message::Assistant {
        text,
        raw: None,
        calls: Vec::new(),
        call_ids: Vec::new(),
        provider_metadata: None,
    }));
    if is_cut_off && !unknown.is_empty() {
        messages.push(Message::User(format!(
            "(Note from the host: the work on this was cut off. {} had started, and nobody knows how that went. Look at what it should have done before you call it again.)",
            unknown.join(", ")
        )));
    }
    Ok(messages)
}

/// The text of a commit; none if its file is gone.
pub(crate) async fn text_of(
    store: &dyn Store,
    run: &RunId,
    path: &str,
    sha256: &Digest,
) -> Result<Option<String>, EngineError> {
    let Some(bytes) = store.file(run, path).await?.and_then(|file| file.bytes) else { return Ok(None) };
    if Digest::of(&bytes) != *sha256 {
        let message = format!(
            "`{path}` of run {run} is not what was committed; `haft audit verify {run}` names what was changed"
        );
        return Err(EngineError::System { code: "agent.journal_damaged".to_owned(), message });
    }
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}
