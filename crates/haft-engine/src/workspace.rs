//! The workspace of a run: its files in memory, each version stored with the record of the call that wrote it (WSP-15).
//!
//! A version is a create-only file of its run, `workspace/output/main.md@3`, so that the chain covers it.

use std::sync::Arc;

use haft_core::journal::FileRef;
use haft_core::workspace::{RunFiles, Workspace, WorkspaceRoots, WorkspaceVersion};
use haft_core::{InvocationId, Services};

use crate::run::Driver;

/// Begins the workspace of a run and gives its root invocation a view of it.
pub(crate) fn begin(services: &mut Services, invocation: &InvocationId) -> Arc<RunFiles> {
    let files = Arc::new(RunFiles::default());
    let view = files.view(invocation.clone(), WorkspaceRoots::default());
    services.insert::<dyn Workspace>(Arc::new(view));
    files
}

impl Driver {
    /// Stores what a call wrote with its record, and gives what the record says of it.
    pub(crate) fn workspace_files(&mut self, versions: &[WorkspaceVersion]) -> Vec<FileRef> {
        self.bench.files.keep(versions);
        versions
            .iter()
            .map(|version| self.writer.file(version.stored_path(), version.bytes.to_vec()))
            .collect()
    }
}
