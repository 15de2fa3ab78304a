//! The roots of a run's workspace: `workspace` of a profile's file (WSP-01). It narrows what there is and adds nothing.

use std::fmt::Write;

use haft_core::Profile;
use haft_core::workspace::{WorkspaceRoot, WorkspaceRoots};

use crate::document::reader::TableReader;

/// What one file says of the workspace; what it leaves out is none.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Roots {
    visible: Option<Vec<WorkspaceRoot>>,
    writable: Option<Vec<WorkspaceRoot>>,
}

/// Reads the table of a profile.
pub(super) fn read(root: &TableReader<'_>) -> Roots {
    let Some(workspace) = root.table("workspace") else { return Roots::default() };
    let roots = |key| {
        let names = workspace.texts(key)?;
        let known = names.iter().filter_map(|(name, at)| {
            let found = of_profiles(name);
            if found.is_none() {
                let hint = Some(format!("it takes {}", listed(&WorkspaceRoot::OF_PROFILES)));
                workspace.problems().add(*at, format!("`{name}` is no root of `workspace.{key}`"), hint);
            }
            found
        });
        Some(known.collect::<Vec<_>>())
    };
    let read = Roots { visible: roots("visible"), writable: roots("writable") };
    workspace.finish();
    read
}

/// The root that a file names, with or without a slash at its end.
fn of_profiles(name: &str) -> Option<WorkspaceRoot> {
    let root = WorkspaceRoot::named(name.trim_end_matches('/'))?;
    WorkspaceRoot::OF_PROFILES.contains(&root).then_some(root)
}

impl Roots {
    /// What this file says over the one below.
    pub(super) fn over(self, below: Self) -> Self {
        Self { visible: self.visible.or(below.visible), writable: self.writable.or(below.writable) }
    }

    /// The roots. Where only those that are seen are named, no other can be written.
    pub(super) fn roots(self) -> WorkspaceRoots {
        let all = WorkspaceRoot::OF_PROFILES;
        match (self.visible, self.writable) {
            (None, None) => WorkspaceRoots::default(),
            (Some(visible), None) => WorkspaceRoots::new(&visible, &visible),
            (None, Some(writable)) => WorkspaceRoots::new(&all, &writable),
            (Some(visible), Some(writable)) => WorkspaceRoots::new(&visible, &writable),
        }
    }
}

/// Writes the table of a resolved profile, if it says anything.
pub(super) fn write(out: &mut String, profile: &Profile) -> std::fmt::Result {
    let roots = &profile.workspace;
    if roots.is_default() {
        return Ok(());
    }
    let visible: Vec<_> = roots.visible().filter(|root| *root != WorkspaceRoot::ToolResults).collect();
    let writable: Vec<_> = roots.writable().collect();
    writeln!(out, "workspace:\n  visible: [{}]\n  writable: [{}]", listed(&visible), listed(&writable))
}

fn listed(roots: &[WorkspaceRoot]) -> String {
    roots.iter().map(|root| root.name()).collect::<Vec<_>>().join(", ")
}
