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
/// let view = files.view(InvocationId::new("i_1"), WorkspaceRoots::default());
/// let path = WorkspacePath::parse("output/main.md")?;
/// let version = WorkspaceVersion { path: path.clone(), version: 1, bytes: Arc::from(*b"Hello") };
/// view.stage(version.clone())?;
/// assert_eq!(view.read(&path)?, Some(version));
/// // The call ended without telling of it: nothing was written.
/// files.take_back();
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
    /// Versions that no record tells of yet, each with the one before it.
    staged: Vec<(WorkspaceVersion, Option<WorkspaceVersion>)>,
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

    /// Puts in what the host itself wrote, such as a readable view of a result under `tool-results/`.
    pub fn put(&self, path: WorkspacePath, bytes: Arc<[u8]>) {
        let mut state = self.lock();
        let version = state.files.get(&path).map_or(1, |old| old.version.saturating_add(1));
        state.files.insert(path.clone(), WorkspaceVersion { path, version, bytes });
    }

    /// Notes that records tell of these versions, so that they stay.
    pub fn keep(&self, told: &[WorkspaceVersion]) {
        let is_told = |version: &WorkspaceVersion| {
            told.iter().any(|one| one.path == version.path && one.version == version.version)
        };
        self.lock().staged.retain(|(version, _)| !is_told(version));
    }

    /// Takes back what was staged and is told by no record. Not while calls run.
    pub fn take_back(&self) {
        let mut state = self.lock();
        // The newest first, so that each version gives way to the one before it.
        for (version, before) in std::mem::take(&mut state.staged).into_iter().rev() {
            match before {
                Some(before) => state.files.insert(version.path, before),
                None => state.files.remove(&version.path),
            };
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
        state.staged.push((version, before));
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
        let view = files.view(InvocationId::new("i_1"), WorkspaceRoots::default());
        view.stage(version("persist/a", 1, "one")).unwrap();
        let again = view.stage(version("persist/a", 1, "other")).unwrap_err();
        assert_eq!(
            (again.code().as_str(), again.class()),
            ("workspace.inconsistent", ErrorClass::SystemFailure)
        );
        view.stage(version("persist/a", 2, "two")).unwrap();
        view.stage(version("output/b", 1, "b")).unwrap();
        files.keep(&[version("persist/a", 1, "one")]);
        files.take_back();
        assert_eq!(view.list().unwrap(), [version("persist/a", 1, "one")]);
        files.take_back();
        assert_eq!(view.list().unwrap(), [version("persist/a", 1, "one")]);
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
