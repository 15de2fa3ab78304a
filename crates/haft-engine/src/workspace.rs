//! The workspace of a run: its files in memory, each version stored with the record of the call that wrote it (WSP-15).
//!
//! A version is a create-only file of its run, `workspace/output/main.md@3`, so that the chain covers it.

use std::sync::Arc;

use haft_core::journal::FileRef;
use haft_core::workspace::{RunFiles, Workspace, WorkspaceRoots, WorkspaceVersion};
use haft_core::{InvocationId, Services};

use crate::run::Driver;

/// Gives an invocation its view of the run's files.
pub(crate) fn view(
    services: &mut Services,
    files: &Arc<RunFiles>,
    invocation: &InvocationId,
    roots: &WorkspaceRoots,
) {
    let view = files.view(invocation.clone(), roots.clone());
    services.insert::<dyn Workspace>(Arc::new(view));
}

impl Driver {
    /// Stores what a call wrote with its record, and gives what the record says of it.
    pub(crate) fn workspace_files(&mut self, versions: &[WorkspaceVersion]) -> Vec<FileRef> {
        self.shared.files.keep(versions);
        versions
            .iter()
            .map(|version| self.writer.file(version.stored_path(), version.bytes.to_vec()))
            .collect()
    }
}
