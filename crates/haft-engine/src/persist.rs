//! What a session keeps under `persist/` between runs (WSP-02): each run begins with it, and gives it back after a good end alone.
//!
//! The bytes stay where they were written, among the files of their run; the record of the last good end says where.

use std::sync::Arc;

use haft_core::journal::{KeptFile, Payload, PersistPromoted, RunStatus};
use haft_core::profile::RunKind;
use haft_core::workspace::{BROKEN, RunFiles, WorkspacePath, WorkspaceRoot, WorkspaceVersion};
use haft_core::{Digest, RunId};
use serde_json::Map;

use crate::error::EngineError;
use crate::run::Driver;
use crate::session::SessionInner;

/// What the session keeps, once a run has looked.
pub(crate) type Kept = Option<Arc<[KeptFile]>>;

/// The files with which a run of the session begins.
pub(crate) async fn begin(session: &SessionInner) -> Result<RunFiles, EngineError> {
    let mut files: Vec<(WorkspacePath, Arc<[u8]>)> = Vec::new();
    for kept in kept_by(session).await?.iter() {
        let stored = session.store().file(&kept.run, &kept.stored).await?;
        // What was redacted since is gone from here too.
        let Some(bytes) = stored.and_then(|file| file.bytes) else { continue };
        let Ok(path) = WorkspacePath::parse(&kept.path) else { continue };
        if Digest::of(&bytes) != kept.sha256 {
            let message = format!(
                "`{}` of run {} is not what the session keeps; `haft audit verify` names what was changed",
                kept.stored, kept.run
            );
            return Err(EngineError::System { code: BROKEN.to_string(), message });
        }
        files.push((path, Arc::from(bytes)));
    }
    Ok(RunFiles::begin(files))
}

/// What the session keeps: the newest record that says so.
async fn kept_by(session: &SessionInner) -> Result<Arc<[KeptFile]>, EngineError> {
    let mut kept = session.kept.lock().await;
    if let Some(known) = kept.as_ref() {
        return Ok(known.clone());
    }
    let mut found: Arc<[KeptFile]> = Arc::from([]);
    for run in session.store().runs(Some(&session.lease.session)).await?.iter().rev() {
        if let Some(files) = promoted_by(session, &run.id).await? {
            found = files.into();
            break;
        }
    }
    *kept = Some(found.clone());
    Ok(found)
}

async fn promoted_by(session: &SessionInner, run: &RunId) -> Result<Option<Vec<KeptFile>>, EngineError> {
    let records = session.store().records(run).await?;
    let promotion = records.iter().rev().find(|record| record.kind == "persist_promoted");
    let Some(record) = promotion else { return Ok(None) };
    // A record that was redacted says nothing.
    let Some(bytes) = record.payload.as_deref() else { return Ok(None) };
    match Payload::read(&record.kind, bytes)? {
        Payload::PersistPromoted(body) => Ok(Some(body.files)),
        _ => Ok(None),
    }
}

impl Driver {
    /// Notes that what lies under `persist/` is the session's own, where the run had a good end. It is written with the end of the run,
    /// and holds from then on: gives what the session keeps then.
    pub(crate) async fn promote(&mut self, status: RunStatus) -> Result<Kept, EngineError> {
        match (self.shared.options.profile.run_kind, status) {
            (RunKind::Agent, RunStatus::Completed) => {}
            (RunKind::Chat, _)
            | (RunKind::Agent, RunStatus::PartialSuccess | RunStatus::Failed | RunStatus::Cancelled) => {
                return Ok(None);
            }
        }
        let before = kept_by(&self.session).await?;
        let versions = self.shared.files.under(WorkspaceRoot::Persist);
        if versions.is_empty() && before.is_empty() {
            return Ok(None);
        }
        let files: Vec<KeptFile> =
            versions.iter().filter_map(|version| self.kept_file(version, &before)).collect();
        self.writer.note(&Payload::PersistPromoted(PersistPromoted { files: files.clone() }), Map::new())?;
        Ok(Some(files.into()))
    }

    /// A version as the session keeps it: version 0 is what it kept before.
    fn kept_file(&self, version: &WorkspaceVersion, before: &[KeptFile]) -> Option<KeptFile> {
        if version.version == 0 {
            return before.iter().find(|kept| kept.path == version.path.as_str()).cloned();
        }
        Some(KeptFile {
            bytes: version.bytes.len() as u64,
            path: version.path.as_str().to_owned(),
            run: self.shared.run.clone(),
            sha256: version.digest(),
            stored: version.stored_path(),
        })
    }
}
