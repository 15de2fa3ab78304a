//! The chat tools: searching and reading the conversation that the run is bound to, and no other (CHT-01 to CHT-03).
//!
//! They reach it through the port [`ChatHistory`] and change nothing.

mod read;
mod search;

use std::sync::Arc;

use haft_core::chat::{ChatHistory, ChatMessage};
use haft_core::ports::Touches;
use haft_core::{ErrorCode, Tool, ToolContext, ToolError, ToolId};
use haft_schema::SchemaError;

/// The family: search, read.
///
/// # Errors
/// [`SchemaError`] if a declaration carries a schema that is none.
pub fn tools() -> Result<Vec<Arc<dyn Tool>>, SchemaError> {
    Ok(vec![Arc::new(search::SearchChat::new()?), Arc::new(read::ReadMessages::new()?)])
}

fn id(name: &str) -> ToolId {
    ToolId::builtin(&format!("chat.{name}"))
}

/// The messages of the run's conversation.
async fn messages(context: &dyn ToolContext) -> Result<Arc<[ChatMessage]>, ToolError> {
    match context.services().get::<dyn ChatHistory>() {
        Some(history) => history.messages().await,
        None => Err(ToolError::new(
            ErrorCode::new("chat.unavailable"),
            "This run is bound to no conversation. Work with what you were given.",
        )),
    }
}

fn touches() -> Touches {
    Touches::Resources { reads: vec!["chat".to_owned()], writes: Vec::new() }
}

/// The name of a message for audit.
fn reference(index: usize) -> String {
    format!("chat:current#{index}")
}
