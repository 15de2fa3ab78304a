//! What surfaces look up of a stored session beside its messages: the results of its calls, and how it begins.

use std::collections::HashMap;

use haft_core::journal::Payload;
use haft_core::ports::Store;
use haft_core::{CallId, SessionId, ToolResult};

use crate::error::EngineError;
use crate::history::stored_result;
use crate::imported;

/// The results of all calls of a session that are still there, whole, as they are stored (RES-04, RES-06).
///
/// # Errors
/// The journal cannot be read.
pub async fn results_of(
    store: &dyn Store,
    session: &SessionId,
) -> Result<HashMap<CallId, ToolResult>, EngineError> {
    let mut results = HashMap::new();
    for run in store.runs(Some(session)).await? {
        for record in store.records(&run.id).await? {
            let Some(bytes) = record.payload.as_deref() else { continue };
            let file = match Payload::read(&record.kind, bytes)? {
                Payload::ToolCallCompleted(body) => body.result_file,
                Payload::ToolCallFailed(body) => body.result_file,
                _ => continue,
            };
            if let Some(result) = stored_result(store, &run.id, &file.path).await? {
                results.insert(result.call_id.clone(), result);
            }
        }
    }
    Ok(results)
}

/// How many records of a run tell what it begins with: its start, and the chat that it may hold.
const FIRST: u32 = 2;

/// What a session's conversation begins with: the first prompt, or the first message of a chat that was brought along. None where
/// there is no conversation, or its beginning was taken away.
///
/// # Errors
/// The journal cannot be read.
pub async fn opening_of(store: &dyn Store, session: &SessionId) -> Result<Option<String>, EngineError> {
    for run in store.runs(Some(session)).await? {
        let first = store.first_records(&run.id, FIRST).await?;
        if first.iter().any(|record| record.kind == "chat_imported") {
            // Such a run holds the chat and little else.
            let records = store.records(&run.id).await?;
            if let Some(chat) = imported::chat(store, &run.id, &records).await? {
                let mut texts = chat.messages.into_iter().map(|message| message.text);
                return Ok(texts.find(|text| !text.trim().is_empty()));
            }
        }
        let Some((kind, bytes)) =
            first.first().and_then(|first| Some((&first.kind, first.payload.as_deref()?)))
        else {
            continue;
        };
        if let Payload::RunStarted(body) = Payload::read(kind, bytes)?
            && body.prompt.is_some()
        {
            return Ok(body.prompt);
        }
    }
    Ok(None)
}
