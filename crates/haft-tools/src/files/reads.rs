//! What the session has read of its project's files: the read-state of `file_edit`.
//!
//! It lives with the tools, by session, and is noted in the metadata of results, so that a later process finds it again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use haft_core::notes::{READ_STATE, SessionNotes};
use haft_core::{ToolContext, ToolError, ToolId, ToolOutput};
use serde_json::Value;

use super::Place;
use crate::edit::{FileReads, KnownFile};

/// Sessions whose journals were looked through and are kept in mind; beyond that all are forgotten and read again when needed.
const MAX_SESSIONS: usize = 64;

/// Known files of all sessions of this process.
#[derive(Debug, Default)]
pub(super) struct ProjectReads {
    reads: FileReads,
    /// Notes of earlier processes, newest last, by session.
    earlier: Mutex<HashMap<String, Arc<Vec<Value>>>>,
}

impl ProjectReads {
    /// What the session knows of the file, which now holds `text`.
    pub(super) async fn known(
        &self,
        context: &dyn ToolContext,
        place: &Place,
        text: &str,
    ) -> Result<Option<Arc<KnownFile>>, ToolError> {
        let name = place.name();
        if let Some(known) = self.reads.get(&key(context, &name)) {
            return Ok(Some(known));
        }
        let notes = self.notes(context).await?;
        Ok(notes.iter().rev().find_map(|note| KnownFile::from_note(note, &name, text)).map(Arc::new))
    }

    /// Keeps what the session knows now, and notes it in the result.
    pub(super) fn keep(
        &self,
        context: &dyn ToolContext,
        place: &Place,
        known: KnownFile,
        output: ToolOutput,
    ) -> ToolOutput {
        let name = place.name();
        let output = output.with_metadata(READ_STATE, known.to_note(&name));
        self.reads.set(&key(context, &name), known);
        output
    }

    async fn notes(&self, context: &dyn ToolContext) -> Result<Arc<Vec<Value>>, ToolError> {
        let session = context.session().as_str();
        if let Some(notes) = self.lock().get(session) {
            return Ok(notes.clone());
        }
        let notes = match context.services().get::<dyn SessionNotes>() {
            Some(journal) => {
                let tools =
                    ["project.file_read", "project.file_write", "project.file_edit"].map(ToolId::builtin);
                Arc::new(journal.notes(&tools, READ_STATE).await?)
            }
            None => return Ok(Arc::default()),
        };
        let mut earlier = self.lock();
        if earlier.len() >= MAX_SESSIONS {
            earlier.clear();
        }
        earlier.insert(session.to_owned(), notes.clone());
        Ok(notes)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<Vec<Value>>>> {
        self.earlier.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(context: &dyn ToolContext, name: &str) -> String {
    format!("{} {name}", context.session())
}
