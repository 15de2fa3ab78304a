//! A path inside a project, judged by its text alone (FIL-03). Nothing here touches a file system.
//!
//! The normal form has neither `.` nor `..`, so that a grant for a folder and the execution of a call mean the same place.

use std::fmt;

use haft_core::{ErrorCode, ToolError};

use crate::secrets;

/// Longest name, and longest path, in bytes: what common file systems take.
const MAX_NAME: usize = 255;
const MAX_PATH: usize = 4_096;

/// A relative path without `.` and `..`; empty for the project's folder itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProjectPath(Vec<String>);

impl ProjectPath {
    pub(super) fn parse(path: &str) -> Result<Self, ToolError> {
        let invalid = |why: &str| Err(ToolError::new(ErrorCode::new("project.path_invalid"), why.to_owned()));
        if path.trim().is_empty() {
            return invalid(
                "The path is empty. Name a file or folder inside the project, such as `src/main.py`.",
            );
        }
        if path.chars().any(char::is_control) {
            return invalid("The path holds a control character. Write it without.");
        }
        // Windows' separators and drives count everywhere, so that no platform reads a path more widely than another.
        let slashes = path.replace('\\', "/");
        if slashes.starts_with('/') {
            return Err(outside());
        }
        let mut parts: Vec<String> = Vec::new();
        for part in slashes.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    parts.pop().ok_or_else(outside)?;
                }
                name if parts.is_empty() && begins_with_drive(name) => return Err(outside()),
                name if name.trim().is_empty() => {
                    return invalid("A name in the path is made of blanks alone. Name the file or folder.");
                }
                name if name.len() > MAX_NAME => {
                    return invalid("A name in the path is longer than 255 bytes. Use a shorter one.");
                }
                name => parts.push(name.to_owned()),
            }
        }
        if path.len() > MAX_PATH {
            return invalid("The path is longer than 4096 bytes. Use a shorter one.");
        }
        if path.contains('\\') {
            return invalid("Write the path with `/`, not with `\\`.");
        }
        if cfg!(windows) && path.contains(':') {
            return invalid("A name in the path holds a `:`. Write it without.");
        }
        Ok(Self(parts))
    }

    /// True if it is a folder of secrets or lies in one.
    pub(super) fn is_secret(&self) -> bool {
        self.0.iter().any(|name| secrets::is_folder(name))
    }

    /// The project's folder.
    pub(super) fn root() -> Self {
        Self(Vec::new())
    }

    pub(super) fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The folder that it is in; none for the project's folder.
    pub(super) fn parent(&self) -> Option<Self> {
        let (_, folders) = self.0.split_last()?;
        Some(Self(folders.to_vec()))
    }

    /// The names of the folders on the way, and the last name; none for the project's folder.
    pub(super) fn split(&self) -> Option<(&[String], &str)> {
        let (name, folders) = self.0.split_last()?;
        Some((folders, name))
    }

    /// All names.
    pub(super) fn names(&self) -> &[String] {
        &self.0
    }
}

impl fmt::Display for ProjectPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_root() { f.write_str(".") } else { f.write_str(&self.0.join("/")) }
    }
}

/// `C:` or `c:name`.
fn begins_with_drive(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.as_bytes().get(1) == Some(&b':')
}

/// The source's own words (FIL-03).
pub(super) fn outside() -> ToolError {
    ToolError::new(ErrorCode::new("project.path_outside"), "Path is outside project directory")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn code(path: &str) -> String {
        ProjectPath::parse(path).map_or_else(|error| error.code().to_string(), |path| path.to_string())
    }

    // FIL-03
    #[test]
    fn a_path_is_normal_and_inside_or_refused() {
        let long = "x".repeat(256);
        let deep = "d/".repeat(3_000);
        let cases = [
            ("src/main.py", "src/main.py"),
            ("./src//main.py/", "src/main.py"),
            ("a/../b", "b"),
            ("a/b/../../c/.", "c"),
            (".", "."),
            ("a/..", "."),
            ("...", "..."),
            ("~/x", "~/x"),
            ("a:b", "project.path_outside"),
            ("../../../etc/passwd", "project.path_outside"),
            ("a/../../etc/passwd", "project.path_outside"),
            ("/etc/passwd", "project.path_outside"),
            ("/ETC/PASSWD", "project.path_outside"),
            ("//server/share", "project.path_outside"),
            ("..\\..\\etc\\passwd", "project.path_outside"),
            ("a/..\\../x", "project.path_outside"),
            ("\\\\server\\share", "project.path_outside"),
            ("C:\\Windows", "project.path_outside"),
            ("c:x", "project.path_outside"),
            ("./C:", "project.path_outside"),
            ("a/../C:/x", "project.path_outside"),
            ("src\\main.py", "project.path_invalid"),
            ("", "project.path_invalid"),
            (" ", "project.path_invalid"),
            ("a\0b", "project.path_invalid"),
            ("a\nb", "project.path_invalid"),
            (long.as_str(), "project.path_invalid"),
            (deep.as_str(), "project.path_invalid"),
        ];
        for (path, expected) in cases {
            assert_eq!(code(path), expected, "{path:?}");
        }
        assert_eq!(outside().message(), "Path is outside project directory");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        // FIL-03
        #[test]
        fn a_normal_path_has_no_way_up_and_stays_as_it_is(path in "[a./\\\\: \\x00C]{0,16}") {
            if let Ok(normal) = ProjectPath::parse(&path) {
                prop_assert!(normal.names().iter().all(|name| !name.is_empty() && name != "." && name != ".."));
                prop_assert_eq!(ProjectPath::parse(&normal.to_string()).unwrap(), normal);
            }
        }
    }
}
