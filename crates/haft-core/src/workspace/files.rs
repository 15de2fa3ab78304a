//! All files of one run, in memory, and the views that its invocations have of them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{BROKEN, Workspace, WorkspacePath, WorkspaceRoot, WorkspaceRoots, WorkspaceVersion};
use crate::error::ToolError;
use crate::ids::InvocationId;

/// The files of a run. Whoever owns the run hands out [views](RunFiles::view), and says after each call what its record tells.
///
/// ```
/// use std::sync::Arc;
/// use haft_core::InvocationId;
/// use haft_core::workspace::{RunFiles, Workspace, WorkspacePath, WorkspaceRoots, WorkspaceVersion};
/// let files = Arc::new(RunFiles::default());
/// let invocation = InvocationId::new("i_1");
/// let view = files.view(invocation.clone(), WorkspaceRoots::default());
/// let path = WorkspacePath::parse("output/main.md")?;
/// let version = WorkspaceVersion { path: path.clone(), version: 1, bytes: Arc::from(*b"Hello") };
/// view.stage(version.clone())?;
/// assert_eq!(view.read(&path)?, Some(version));
/// // The call ended without telling of it: nothing was written.
/// files.take_back(&invocation);
/// assert_eq!(view.read(&path)?, None);
/// # Ok::<(), haft_core::ToolError>(())
/// ```
#[derive(Debug, Default)]
pub struct RunFiles {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    files: BTreeMap<WorkspacePath, WorkspaceVersion>,
    /// Versions that no record tells of yet.
    staged: Vec<Staged>,
}

/// A version, who wrote it, and the one before it.
#[derive(Debug)]
struct Staged {
    by: InvocationId,
    version: WorkspaceVersion,
    before: Option<WorkspaceVersion>,
}

impl RunFiles {
    /// Files that are there before the run begins: what the conversation keeps under `persist/`. They are version 0.
    pub fn begin(files: impl IntoIterator<Item = (WorkspacePath, Arc<[u8]>)>) -> Self {
        let files = files
            .into_iter()
            .map(|(path, bytes)| (path.clone(), WorkspaceVersion { path, version: 0, bytes }))
            .collect();
        Self { state: Mutex::new(State { files, staged: Vec::new() }) }
    }

    /// Puts in what the host itself wrote, such as a readable view of a result under `tool-results/`, and gives it back, to be
    /// stored.
    pub fn put(&self, path: WorkspacePath, bytes: Arc<[u8]>) -> WorkspaceVersion {
        let mut state = self.lock();
        let version = state.files.get(&path).map_or(1, |old| old.version.saturating_add(1));
        let version = WorkspaceVersion { path: path.clone(), version, bytes };
        state.files.insert(path, version.clone());
        version
    }

    /// Notes that records tell of these versions, so that they stay.
    pub fn keep(&self, told: &[WorkspaceVersion]) {
        let is_told = |version: &WorkspaceVersion| {
            told.iter().any(|one| one.path == version.path && one.version == version.version)
        };
        self.lock().staged.retain(|staged| !is_told(&staged.version));
    }

    /// Takes back what `invocation` staged and no record tells of. Not while calls of it run.
    pub fn take_back(&self, invocation: &InvocationId) {
        let mut state = self.lock();
        let (own, others) =
            std::mem::take(&mut state.staged).into_iter().partition(|one| one.by == *invocation);
        state.staged = others;
        let own: Vec<Staged> = own;
        // The newest first, so that each version gives way to the one before it.
        for Staged { version, before, .. } in own.into_iter().rev() {
            let newest = state.files.get(&version.path).map(|file| file.version);
            match before {
                // Another agent wrote after it: that stays.
                _ if newest != Some(version.version) => {}
                Some(before) => {
                    state.files.insert(version.path, before);
                }
                None => {
                    state.files.remove(&version.path);
                }
            }
        }
    }

    /// All files under `root`, in order of path.
    pub fn under(&self, root: WorkspaceRoot) -> Vec<WorkspaceVersion> {
        self.lock().files.values().filter(|file| file.path.root() == root).cloned().collect()
    }

    /// The files as `invocation` sees them.
    pub fn view(self: &Arc<Self>, invocation: InvocationId, roots: WorkspaceRoots) -> impl Workspace + use<> {
        View { files: self.clone(), invocation, roots }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct View {
    files: Arc<RunFiles>,
    invocation: InvocationId,
    roots: WorkspaceRoots,
}

impl Workspace for View {
    fn invocation(&self) -> &InvocationId {
        &self.invocation
    }

    fn roots(&self) -> &WorkspaceRoots {
        &self.roots
    }

    fn read(&self, path: &WorkspacePath) -> Result<Option<WorkspaceVersion>, ToolError> {
        Ok(self.files.lock().files.get(path).cloned())
    }

    fn list(&self) -> Result<Vec<WorkspaceVersion>, ToolError> {
        let state = self.files.lock();
        Ok(state.files.values().filter(|file| self.roots.sees(file.path.root())).cloned().collect())
    }

    fn stage(&self, version: WorkspaceVersion) -> Result<(), ToolError> {
        let mut state = self.files.lock();
        let before = state.files.get(&version.path).cloned();
        let newest = before.as_ref().map_or(0, |before| before.version);
        if newest.checked_add(1) != Some(version.version) || !self.roots.writes(version.path.root()) {
            let text = format!(
                "`{}` cannot become version {}: its newest is {newest}.",
                version.path, version.version
            );
            return Err(ToolError::system(BROKEN, text));
        }
        state.files.insert(version.path.clone(), version.clone());
        state.staged.push(Staged { by: self.invocation.clone(), version, before });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorClass;

    fn version(path: &str, version: u32, text: &str) -> WorkspaceVersion {
        WorkspaceVersion {
            path: WorkspacePath::parse(path).unwrap(),
            version,
            bytes: Arc::from(text.as_bytes()),
        }
    }

    // WSP-15
    #[test]
    fn versions_follow_each_other_and_only_what_is_told_stays() {
        let files =
            Arc::new(RunFiles::begin([(WorkspacePath::parse("persist/a").unwrap(), Arc::from(*b"old"))]));
        let (own, other) = (InvocationId::new("i_1"), InvocationId::new("i_2"));
        let view = files.view(own.clone(), WorkspaceRoots::default());
        view.stage(version("persist/a", 1, "one")).unwrap();
        let again = view.stage(version("persist/a", 1, "other")).unwrap_err();
        assert_eq!(
            (again.code().as_str(), again.class()),
            ("workspace.inconsistent", ErrorClass::SystemFailure)
        );
        view.stage(version("persist/a", 2, "two")).unwrap();
        view.stage(version("output/b", 1, "b")).unwrap();
        files.keep(&[version("persist/a", 1, "one")]);
        files.take_back(&other);
        assert_eq!(view.list().unwrap().len(), 2);
        files.take_back(&own);
        assert_eq!(view.list().unwrap(), [version("persist/a", 1, "one")]);
        files.take_back(&own);
        assert_eq!(view.list().unwrap(), [version("persist/a", 1, "one")]);
        // What another agent wrote over it stays.
        view.stage(version("persist/a", 2, "lost")).unwrap();
        let theirs = files.view(other, WorkspaceRoots::default());
        theirs.stage(version("persist/a", 3, "theirs")).unwrap();
        files.keep(&[version("persist/a", 3, "theirs")]);
        files.take_back(&own);
        assert_eq!(view.list().unwrap(), [version("persist/a", 3, "theirs")]);
    }

    // WSP-01, WSP-20, JRN-08
    #[test]
    fn a_view_lists_its_roots_and_the_results_and_writes_no_results() {
        let files = Arc::new(RunFiles::default());
        files.put(WorkspacePath::parse("tool-results/call_1.txt").unwrap(), Arc::from(*b"long"));
        let all = files.view(InvocationId::new("i_1"), WorkspaceRoots::default());
        all.stage(version("plan/p", 1, "p")).unwrap();
        all.stage(version("output/o", 1, "o")).unwrap();
        let roots = WorkspaceRoots::new(&[WorkspaceRoot::Output], &[]);
        let narrow = files.view(InvocationId::new("i_2"), roots);
        let paths: Vec<String> = narrow.list().unwrap().iter().map(|file| file.path.to_string()).collect();
        assert_eq!(paths, ["output/o", "tool-results/call_1.txt"]);
        assert!(narrow.stage(version("output/o", 2, "x")).is_err());
        assert!(all.stage(version("tool-results/call_1.txt", 2, "x")).is_err());
        assert_eq!(files.under(WorkspaceRoot::Plan), [version("plan/p", 1, "p")]);
    }
}
