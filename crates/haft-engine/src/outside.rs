//! Whether content from outside has entered a conversation, and which call brought it (design.md §5): from then on calls that can
//! carry data to a place that the model chose are asked again.
//!
//! The mark stands in the end records of calls, so that a session that is opened again knows it too. Where the payload of such a
//! record was taken away, nobody knows any more what came in, and the careful answer holds.

use std::sync::{Mutex, MutexGuard, PoisonError};

use haft_core::journal::Payload;
use haft_core::ports::Store;
use haft_core::{SessionId, ToolId};
use serde_json::Value;

use crate::error::EngineError;

/// Longest part of an argument that a mark tells, in characters.
const LONGEST_PLACE: usize = 120;

/// What is known of a session.
#[derive(Debug, Default)]
pub(crate) struct Outside(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The first call that brought something, and from where.
    source: Option<String>,
    journal_is_read: bool,
}

impl Outside {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Which call brought content from outside, and from where.
    pub(crate) fn source(&self) -> Option<String> {
        self.state().source.clone()
    }

    /// A call brought content from outside.
    pub(crate) fn mark(&self, source: &str) {
        self.state().source.get_or_insert_with(|| source.to_owned());
    }

    /// Learns from the journal what earlier openings of the session saw; it is read once.
    pub(crate) async fn read(&self, store: &dyn Store, session: &SessionId) -> Result<(), EngineError> {
        if self.state().journal_is_read {
            return Ok(());
        }
        for run in store.runs(Some(session)).await? {
            for record in store.records(&run.id).await? {
                if let Some(source) = source_in(&record.kind, record.payload.as_deref())? {
                    self.mark(&source);
                    break;
                }
            }
        }
        self.state().journal_is_read = true;
        Ok(())
    }
}

/// Which call brought content from outside into a stored conversation, and from where; none if none did.
///
/// # Errors
/// If the store fails, or holds what cannot be read.
pub async fn outside_of(store: &dyn Store, session: &SessionId) -> Result<Option<String>, EngineError> {
    let outside = Outside::default();
    outside.read(store, session).await?;
    Ok(outside.source())
}

/// What a record says that its call brought in from outside.
pub(crate) fn source_in(kind: &str, payload: Option<&[u8]>) -> Result<Option<String>, EngineError> {
    if kind != "tool_call_completed" && kind != "tool_call_failed" {
        return Ok(None);
    }
    let Some(bytes) = payload else {
        return Ok(Some("a call whose record was taken away".to_owned()));
    };
    Ok(match Payload::read(kind, bytes)? {
        Payload::ToolCallCompleted(body) => body.outside,
        Payload::ToolCallFailed(body) => body.outside,
        _ => None,
    })
}

/// What the mark of a call says: the tool, and the place that its arguments name.
pub(crate) fn source_of(tool: &ToolId, arguments: &Value) -> String {
    let named = ["url", "uri", "host", "path", "query"].iter().find_map(|key| arguments.get(key)?.as_str());
    let first = || arguments.as_object()?.values().find_map(Value::as_str);
    match named.or_else(first) {
        Some(place) => {
            let place: String = place.chars().filter(|c| !c.is_control()).take(LONGEST_PLACE).collect();
            format!("{tool} of {place}")
        }
        None => tool.to_string(),
    }
}
