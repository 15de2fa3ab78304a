//! The artifacts of an open session, in memory: what earlier calls of the run changed is visible at once, and each version
//! is stored with the end record of the call that made it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_core::artifact::Artifacts;
use haft_core::{ArtifactVersion, ErrorCode, InvocationId, ToolError};

/// All versions of all artifacts of a session.
#[derive(Debug, Default)]
pub(crate) struct SessionArtifacts {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Versions by artifact id, oldest first.
    versions: BTreeMap<String, Vec<ArtifactVersion>>,
    /// Versions that no record tells of yet.
    staged: Vec<Staged>,
}

/// A version and who made it.
#[derive(Debug)]
struct Staged {
    by: InvocationId,
    id: String,
    version: u32,
}

impl SessionArtifacts {
    pub(crate) fn new(stored: Vec<ArtifactVersion>) -> Self {
        let mut versions: BTreeMap<String, Vec<ArtifactVersion>> = BTreeMap::new();
        for version in stored {
            versions.entry(version.id.clone()).or_default().push(version);
        }
        Self { state: Mutex::new(State { versions, staged: Vec::new() }) }
    }

    /// Keeps what the ended call of `by` told of and forgets what else that agent staged.
    pub(crate) fn settle(&self, by: &InvocationId, told: &[&ArtifactVersion]) {
        let mut state = self.lock();
        let (own, others) = std::mem::take(&mut state.staged).into_iter().partition(|one| one.by == *by);
        state.staged = others;
        let own: Vec<Staged> = own;
        for Staged { id, version, .. } in own {
            if told.iter().any(|one| one.id == id && one.version == version) {
                continue;
            }
            if let Some(versions) = state.versions.get_mut(&id) {
                versions.retain(|one| one.version != version);
                if versions.is_empty() {
                    state.versions.remove(&id);
                }
            }
        }
    }

    /// The newest versions by id.
    pub(crate) fn newest(&self) -> Vec<ArtifactVersion> {
        self.lock().versions.values().filter_map(|versions| versions.last().cloned()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The artifacts as the tools of one run see them (REG-09).
#[derive(Debug, Clone)]
pub(crate) struct RunArtifacts {
    pub(crate) session: Arc<SessionArtifacts>,
    /// Whose calls see them.
    pub(crate) invocation: InvocationId,
    pub(crate) read_cap: u64,
}

impl Artifacts for RunArtifacts {
    fn read(&self, id: &str, version: Option<u32>) -> Option<ArtifactVersion> {
        let state = self.session.lock();
        let versions = state.versions.get(id)?;
        match version {
            None => versions.last().cloned(),
            Some(number) => versions.iter().find(|one| one.version == number).cloned(),
        }
    }

    fn list(&self) -> Vec<ArtifactVersion> {
        self.session.newest()
    }

    fn stage(&self, version: ArtifactVersion) -> Result<(), ToolError> {
        let mut state = self.session.lock();
        let newest =
            state.versions.get(&version.id).and_then(|all| all.last()).map_or(0, |last| last.version);
        if newest.checked_add(1) != Some(version.version) {
            let text = format!(
                "`{}` changed in the meantime: its newest version is {newest}. Read it again.",
                version.id
            );
            return Err(ToolError::new(ErrorCode::new("artifact.version_conflict"), text));
        }
        let by = self.invocation.clone();
        state.staged.push(Staged { by, id: version.id.clone(), version: version.version });
        state.versions.entry(version.id.clone()).or_default().push(version);
        Ok(())
    }

    fn read_cap(&self) -> u64 {
        self.read_cap
    }
}
