//! Paths of the workspace, judged by their text alone (COE-09, CONFLICT-18).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{ErrorCode, ToolError};

/// Longest path, in bytes.
const MAX_PATH: usize = 512;

/// The top folders of a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkspaceRoot {
    /// What is made for the person.
    Output,
    /// Notes on the way.
    Scratch,
    /// Plans.
    Plan,
    /// Summaries, also those that other agents handed back.
    Summaries,
    /// What the conversation keeps after the run (WSP-02).
    Persist,
    /// Results of calls; written by the host alone (JRN-08).
    ToolResults,
}

impl WorkspaceRoot {
    /// The roots that a profile can give.
    pub const OF_PROFILES: [Self; 5] =
        [Self::Output, Self::Scratch, Self::Plan, Self::Summaries, Self::Persist];

    /// Its name, without a slash.
    pub fn name(self) -> &'static str {
        match self {
            Self::Output => "output",
            Self::Scratch => "scratch",
            Self::Plan => "plan",
            Self::Summaries => "summaries",
            Self::Persist => "persist",
            Self::ToolResults => "tool-results",
        }
    }

    /// The root of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::OF_PROFILES.into_iter().chain([Self::ToolResults]).find(|root| root.name() == name)
    }
}

/// A path under a root, in its one normal form: no empty part, no `.`, no `..`.
///
/// ```
/// use haft_core::workspace::WorkspacePath;
/// let path = WorkspacePath::parse("./output//notes/a.md").unwrap();
/// assert_eq!((path.to_string().as_str(), path.name()), ("output/notes/a.md", Some("a.md")));
/// assert!(WorkspacePath::parse("output/../input/x").is_err());
/// assert!(WorkspacePath::parse("input/x").is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkspacePath {
    root: WorkspaceRoot,
    /// The whole path, root included.
    text: String,
}

impl WorkspacePath {
    /// Reads a path that a model wrote.
    ///
    /// # Errors
    /// A recoverable error: `workspace.path_invalid`, or `workspace.path_not_visible` for a root that there is not.
    pub fn parse(path: &str) -> Result<Self, ToolError> {
        let invalid = |why: String| Err(ToolError::new(ErrorCode::new("workspace.path_invalid"), why));
        if path.trim().is_empty() {
            return invalid("The path is empty. Name a file, such as `output/main.md`.".to_owned());
        }
        if path.len() > MAX_PATH {
            return invalid(format!("The path is longer than {MAX_PATH} bytes. Use a shorter one."));
        }
        if path.chars().any(char::is_control) {
            return invalid("The path holds a control character. Write it without.".to_owned());
        }
        if path.starts_with('/') || path.contains('\\') {
            let why = format!(
                "`{path}` is no path of the workspace. Write one such as `output/main.md`, with `/` between names."
            );
            return invalid(why);
        }
        let mut parts: Vec<&str> = Vec::new();
        for part in path.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    return invalid(format!("`{path}` goes up with `..`. Name the file by its whole path."));
                }
                blank if blank.trim() != blank => {
                    return invalid(format!(
                        "A name in `{path}` begins or ends with a blank. Write it without."
                    ));
                }
                name => parts.push(name),
            }
        }
        let Some(root) = parts.first().copied().and_then(WorkspaceRoot::named) else {
            return Err(not_visible(path));
        };
        Ok(Self { root, text: parts.join("/") })
    }

    /// The root itself.
    pub fn of_root(root: WorkspaceRoot) -> Self {
        Self { root, text: root.name().to_owned() }
    }

    /// Its root.
    pub fn root(&self) -> WorkspaceRoot {
        self.root
    }

    /// The whole path.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Its last name; none for a root.
    pub fn name(&self) -> Option<&str> {
        self.text.rsplit_once('/').map(|(_, name)| name)
    }

    /// True if `self` is `folder` or lies somewhere inside it.
    pub fn is_inside(&self, folder: &Self) -> bool {
        self.text.strip_prefix(&folder.text).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// The names below `folder`; none if it does not lie inside.
    pub fn below<'a>(&'a self, folder: &Self) -> Option<&'a str> {
        self.text.strip_prefix(&folder.text)?.strip_prefix('/')
    }
}

impl fmt::Display for WorkspacePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The complaint about a path that the invocation does not see.
pub(super) fn not_visible(path: &str) -> ToolError {
    ToolError::new(
        ErrorCode::new("workspace.path_not_visible"),
        format!("`{path}` is not in the workspace. List the files to see what there is."),
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::error::ErrorClass;

    // COE-09, CONFLICT-18, WSP-20
    #[test]
    fn a_path_is_normal_or_a_recoverable_error() {
        let cases = [
            ("output/main.md", "output/main.md"),
            ("./plan//a/./b/", "plan/a/b"),
            ("persist", "persist"),
            ("tool-results/call_1.json", "tool-results/call_1.json"),
            ("output/a b.md", "output/a b.md"),
            ("output/...", "output/..."),
            ("", "workspace.path_invalid"),
            (" ", "workspace.path_invalid"),
            ("/output/main.md", "workspace.path_invalid"),
            ("C:/output", "workspace.path_not_visible"),
            ("output\\main.md", "workspace.path_invalid"),
            ("output/../input/x", "workspace.path_invalid"),
            ("../etc/passwd", "workspace.path_invalid"),
            ("output/a\0", "workspace.path_invalid"),
            ("output/ /x", "workspace.path_invalid"),
            ("input/prompt.json", "workspace.path_not_visible"),
            ("model-responses/1.json", "workspace.path_not_visible"),
            ("events.jsonl", "workspace.path_not_visible"),
            ("Output/main.md", "workspace.path_not_visible"),
            (".", "workspace.path_not_visible"),
        ];
        for (path, expected) in cases {
            let found = match WorkspacePath::parse(path) {
                Ok(path) => path.to_string(),
                Err(error) => {
                    assert_eq!(error.class(), ErrorClass::Recoverable);
                    error.code().to_string()
                }
            };
            assert_eq!(found, expected, "{path:?}");
        }
        assert!(WorkspacePath::parse(&format!("output/{}", "x".repeat(600))).is_err());
    }

    #[test]
    fn a_folder_holds_what_lies_below_it_alone() {
        let path = |text| WorkspacePath::parse(text).unwrap();
        assert!(path("output/a/b").is_inside(&path("output/a")));
        assert!(path("output/a").is_inside(&path("output/a")));
        assert!(!path("output/ab").is_inside(&path("output/a")));
        assert_eq!(path("output/a/b/c").below(&path("output/a")), Some("b/c"));
        assert_eq!(path("output/a").below(&path("output/a")), None);
    }

    proptest! {
        // CONFLICT-18
        #[test]
        fn a_normal_path_stays_as_it_is_and_never_goes_up(path in "(output|plan|x)?[a./\\\\: ]{0,14}") {
            if let Ok(normal) = WorkspacePath::parse(&path) {
                prop_assert!(normal.as_str().split('/').all(|part| !part.is_empty() && part != "." && part != ".."));
                prop_assert_eq!(WorkspacePath::parse(normal.as_str()).unwrap(), normal);
            }
        }
    }
}
