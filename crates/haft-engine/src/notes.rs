//! What earlier calls of a session noted in the metadata of their results, read back from its journal.

use std::sync::Arc;

use haft_core::journal::Payload;
use haft_core::notes::SessionNotes;
use haft_core::{BoxFuture, ErrorCode, ToolError, ToolId, ToolResult};
use serde_json::Value;

use crate::error::EngineError;
use crate::session::SessionInner;

/// The notes in the journal of one session.
pub(crate) struct StoredNotes(pub(crate) Arc<SessionInner>);

impl SessionNotes for StoredNotes {
    fn notes<'a>(
        &'a self,
        tools: &'a [ToolId],
        key: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Value>, ToolError>> {
        Box::pin(async move {
            self.read(tools, key).await.map_err(|error| {
                let code = ErrorCode::new("agent.journal_unreadable");
                ToolError::new(code, "What this conversation read before cannot be looked up. Read it again.")
                    .with_detail(error.to_string())
            })
        })
    }
}

impl StoredNotes {
    async fn read(&self, tools: &[ToolId], key: &str) -> Result<Vec<Value>, EngineError> {
        let (store, session) = (self.0.store(), &self.0.lease.session);
        let mut notes = Vec::new();
        for run in store.runs(Some(session)).await? {
            for record in store.records(&run.id).await? {
                let Some(bytes) = record.payload.as_deref() else { continue };
                let Payload::ToolCallCompleted(body) = Payload::read(&record.kind, bytes)? else { continue };
                if !tools.contains(&body.tool_id) {
                    continue;
                }
                let file = store.file(&run.id, &body.result_file.path).await?.and_then(|file| file.bytes);
                let Some(file) = file else { continue };
                let result: Option<ToolResult> = serde_json::from_slice(&file).ok();
                notes.extend(result.and_then(|mut result| result.metadata.shift_remove(key)));
            }
        }
        Ok(notes)
    }
}
