//! A run as files that anyone can check: the form is `docs/spec/journal.md`, the second reader `tools/verify_journal.py`.
//!
//! The export holds stored bytes and nothing that is derived from them but the manifest. It never overwrites a file.
#![expect(clippy::disallowed_methods, reason = "an export is written into a folder that the user names")]

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use haft_core::artifact::check_id;
use haft_core::journal::Head;
use haft_core::ports::{AuditFile, Store, StoreError};
use haft_core::{ArtifactVersion, Digest, Payload, RunId, SessionId};
use haft_schema::canonical;
use serde_json::json;

/// Version of the export's layout.
pub const EXPORT_FORMAT: u32 = 1;

/// A run with all that its records speak of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// The run.
    pub run: RunId,
    /// Its session.
    pub session: SessionId,
    /// The end of its chain.
    pub head: Head,
    /// Lines of `journal.jsonl`, without their ends.
    pub lines: Vec<String>,
    /// Files of the run workspace that were not taken away.
    pub files: Vec<AuditFile>,
    /// Artifact versions that its records speak of and that were not taken away.
    pub artifacts: Vec<ArtifactVersion>,
    /// Blobs that its records speak of.
    pub blobs: Vec<(Digest, Vec<u8>)>,
}

/// Collects a run for export.
///
/// # Errors
/// [`StoreError::Missing`] if there is no such run, [`StoreError::Damaged`] if a record cannot be read at all.
pub async fn export_run(store: &dyn Store, run: &RunId) -> Result<Export, StoreError> {
    let row = store.runs(None).await?.into_iter().find(|row| row.id == *run);
    let row = row.ok_or_else(|| StoreError::Missing { what: format!("run {run}") })?;
    let records = store.records(run).await?;
    let mut named_artifacts = BTreeSet::new();
    let mut named_blobs = BTreeSet::new();
    for record in &records {
        let payload = record.payload.as_deref().map(|bytes| Payload::read(&record.kind, bytes));
        let Some(Ok(payload)) = payload else { continue };
        named_blobs.extend(payload.blobs());
        if let Payload::ToolCallCompleted(body) = &payload {
            named_artifacts.extend(body.artifacts.iter().map(|made| (made.id.clone(), made.version)));
        }
    }
    // What was taken away is named no more: the payload that made it went with it.
    let mut artifacts = store.artifacts(&row.session).await?;
    artifacts.retain(|artifact| named_artifacts.contains(&(artifact.id.clone(), artifact.version)));
    let mut blobs = Vec::new();
    for digest in named_blobs {
        blobs.extend(store.blob(&digest).await?.map(|bytes| (digest, bytes)));
    }
    Ok(Export {
        run: run.clone(),
        session: row.session,
        head: row.head,
        lines: records.iter().map(|record| canonical::to_string(&record.export_line())).collect(),
        files: store.files(run).await?.into_iter().filter(|file| file.bytes.is_some()).collect(),
        artifacts,
        blobs,
    })
}

impl Export {
    /// The manifest.
    pub fn manifest(&self) -> serde_json::Value {
        json!({
            "format": EXPORT_FORMAT, "haft": env!("CARGO_PKG_VERSION"), "session": self.session, "run": self.run,
            "head": self.head,
        })
    }

    /// Writes the export into `folder`, which must be empty or not there yet.
    ///
    /// # Errors
    /// [`StoreError::Exists`] if something is there, [`StoreError::Damaged`] if a stored name would lead out of the folder.
    pub fn write(&self, folder: &Path) -> Result<(), StoreError> {
        if fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(StoreError::Exists { what: format!("something in the folder {}", folder.display()) });
        }
        let mut journal = self.lines.join("\n");
        journal.push('\n');
        put(folder, Path::new("journal.jsonl"), journal.as_bytes())?;
        for file in &self.files {
            let path = Path::new("files").join(inner_path(&file.path)?);
            put(folder, &path, file.bytes.as_deref().unwrap_or_default())?;
        }
        for artifact in &self.artifacts {
            check_id(&artifact.id).map_err(|_| strange_name(&artifact.id))?;
            let name = format!("{}@{}", artifact.id, artifact.version);
            let bytes = artifact
                .to_bytes()
                .map_err(|error| StoreError::Damaged { what: format!("artifact {name}: {error}") })?;
            put(folder, &Path::new("artifacts").join(format!("{name}.json")), &bytes)?;
        }
        for (digest, bytes) in &self.blobs {
            put(folder, &Path::new("blobs").join(digest.to_string()), bytes)?;
        }
        put(folder, Path::new("manifest.json"), format!("{:#}\n", self.manifest()).as_bytes())
    }
}

/// A path of the run workspace, if it stays inside.
fn inner_path(path: &str) -> Result<PathBuf, StoreError> {
    let is_good = |part: &str| !matches!(part, "" | "." | "..") && !part.contains(['\0', '\\', ':']);
    if path.split('/').all(is_good) { Ok(PathBuf::from(path)) } else { Err(strange_name(path)) }
}

fn strange_name(name: &str) -> StoreError {
    StoreError::Damaged { what: format!("the name {name:?} cannot be a file of an export") }
}

fn put(folder: &Path, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let path = folder.join(path);
    let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, bytes));
    written.map_err(|error: io::Error| StoreError::Unusable {
        place: path.display().to_string(),
        reason: error.to_string(),
        next_step: "Name an empty folder that may be written".to_owned(),
    })
}
