//! A path of the machine, judged by its text alone. Nothing here touches a file system.
//!
//! The normal form is absolute and has neither `.` nor `..`, so that what a person agrees to, what a grant covers and what a
//! call opens are the same text.

use std::fmt;

use haft_core::consent::HostPlaces;
use haft_core::{ErrorCode, Scope, ToolError};

use crate::secrets;

/// Longest name, and longest path, in bytes: what common file systems take.
const MAX_NAME: usize = 255;
const MAX_PATH: usize = 4_096;

/// An absolute path without `.` and `..`; empty for the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HostPath(Vec<String>);

impl HostPath {
    /// The path that `text` means; `~` is the user's home (FIL-04).
    pub(super) fn parse(text: &str, places: &HostPlaces) -> Result<Self, PathError> {
        if text.trim().is_empty() {
            return Err(PathError::Empty);
        }
        if text.chars().any(char::is_control) {
            return Err(PathError::Control);
        }
        if text.len() > MAX_PATH {
            return Err(PathError::TooLong);
        }
        let (mut names, rest) = match text.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                let home = places.user_home.as_deref().ok_or(PathError::NoHome)?;
                (Self::absolute(home)?.0, rest)
            }
            Some(_) => return Err(PathError::OtherHome),
            None if text.starts_with('/') => (Vec::new(), text),
            None => return Err(PathError::Relative(text.to_owned())),
        };
        extend(&mut names, rest)?;
        Ok(Self(names))
    }

    /// The path that `text` means without a home.
    pub(super) fn absolute(text: &str) -> Result<Self, PathError> {
        if !text.starts_with('/') {
            return Err(PathError::Relative(text.to_owned()));
        }
        let mut names = Vec::new();
        extend(&mut names, text)?;
        Ok(Self(names))
    }

    /// All names, from the root.
    pub(super) fn names(&self) -> &[String] {
        &self.0
    }

    /// The names of the folders on the way, and the last name; none for the root.
    pub(super) fn split(&self) -> Option<(&[String], &str)> {
        let (name, folders) = self.0.split_last()?;
        Some((folders, name))
    }

    /// The folder that it is in; none for what is in the root itself, since that folder is the whole machine.
    pub(super) fn folder(&self) -> Option<Self> {
        let (_, folders) = self.0.split_last()?;
        (!folders.is_empty()).then(|| Self(folders.to_vec()))
    }

    /// True if it is `folder` or lies below it, by whole names (APR-18).
    pub(super) fn is_below(&self, folder: &str) -> bool {
        Scope::Path(folder.to_owned()).covers(&Scope::Path(self.to_string()))
    }

    /// True if it is a folder of secrets or lies in one: that of Haft's home, or any other of that name (APR-14).
    pub(super) fn is_secret(&self, places: &HostPlaces) -> bool {
        self.is_below(&places.secrets_folder) || self.0.iter().any(|name| secrets::is_folder(name))
    }

    /// True if it shows the inside of a running process: memory, environment, open files.
    pub(super) fn is_of_a_process(&self) -> bool {
        match self.0.as_slice() {
            [proc, of, ..] if proc == "proc" => {
                of == "self" || of == "thread-self" || of.bytes().all(|byte| byte.is_ascii_digit())
            }
            _ => false,
        }
    }
}

fn extend(names: &mut Vec<String>, text: &str) -> Result<(), PathError> {
    for part in text.split('/') {
        match part {
            "" | "." => {}
            // As everywhere, what is above the root is the root.
            ".." => drop(names.pop()),
            name if name.len() > MAX_NAME => return Err(PathError::TooLong),
            name => names.push(name.to_owned()),
        }
    }
    Ok(())
}

impl fmt::Display for HostPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("/");
        }
        self.0.iter().try_for_each(|name| write!(f, "/{name}"))
    }
}

/// Why a text is no path of the machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum PathError {
    #[error("The path is empty. Name a file or folder, such as `/etc/hosts` or `~/notes.md`.")]
    Empty,
    #[error("The path holds a control character. Write it without.")]
    Control,
    #[error("The path is longer than file systems take: 255 bytes a name, 4096 in all. Use a shorter one.")]
    TooLong,
    #[error(
        "`{0}` starts nowhere: a path of this machine must be absolute, such as `/etc/hosts`, or start at the user's home, \
         such as `~/notes.md`."
    )]
    Relative(String),
    #[error("Of the homes only the user's own has a short form, `~/`. Write the whole path of another one.")]
    OtherHome,
    #[error("The user has no home folder here, so `~` means nothing. Write the whole path.")]
    NoHome,
}

impl PathError {
    pub(super) fn to_tool_error(&self) -> ToolError {
        let code = match self {
            Self::Empty | Self::Control | Self::TooLong | Self::OtherHome => "host.path_invalid",
            Self::Relative(_) => "host.path_relative",
            Self::NoHome => "host.no_home",
        };
        ToolError::new(ErrorCode::new(code), self.to_string())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn places() -> HostPlaces {
        HostPlaces {
            user_home: Some("/home/ada".to_owned()),
            haft_home: "/home/ada/.haft".to_owned(),
            secrets_folder: "/home/ada/.haft/.secrets".to_owned(),
            temp_folders: vec!["/tmp".to_owned()],
        }
    }

    fn meant(path: &str) -> String {
        HostPath::parse(path, &places())
            .map_or_else(|error| error.to_tool_error().code().to_string(), |path| path.to_string())
    }

    // FIL-04
    #[test]
    fn a_path_is_absolute_and_normal_or_refused() {
        let long = format!("/{}", "x".repeat(256));
        let deep = "/d".repeat(3_000);
        let cases = [
            ("/etc/hosts", "/etc/hosts"),
            ("/etc//./hosts/", "/etc/hosts"),
            ("//etc/hosts", "/etc/hosts"),
            ("/a/../b", "/b"),
            ("/../../etc", "/etc"),
            ("/tmp/../etc/passwd", "/etc/passwd"),
            ("/", "/"),
            ("~", "/home/ada"),
            ("~/", "/home/ada"),
            ("~/config.yaml", "/home/ada/config.yaml"),
            ("~/../bob/x", "/home/bob/x"),
            ("/a/~/b", "/a/~/b"),
            ("/a\\b", "/a\\b"),
            ("~bob/x", "host.path_invalid"),
            ("a/b", "host.path_relative"),
            ("./a", "host.path_relative"),
            ("..", "host.path_relative"),
            ("C:\\Windows", "host.path_relative"),
            ("", "host.path_invalid"),
            ("  ", "host.path_invalid"),
            ("/a\0b", "host.path_invalid"),
            ("/a\nb", "host.path_invalid"),
            (long.as_str(), "host.path_invalid"),
            (deep.as_str(), "host.path_invalid"),
        ];
        for (path, expected) in cases {
            assert_eq!(meant(path), expected, "{path:?}");
        }
        let homeless = HostPlaces { user_home: None, ..places() };
        assert_eq!(HostPath::parse("~/x", &homeless), Err(PathError::NoHome));
    }

    // APR-18
    #[test]
    fn below_is_by_whole_names() {
        let below = |path: &str, folder: &str| HostPath::absolute(path).unwrap().is_below(folder);
        assert!(below("/a/b", "/a/b") && below("/a/b/c", "/a/b/") && below("/a", "/"));
        assert!(!below("/a/bc", "/a/b") && !below("/A/b/c", "/a/b") && !below("/a", "/a/b"));
        assert!(!below("/a/b/../c", "/a/b"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        // FIL-04
        #[test]
        fn a_normal_path_stays_as_it_is(path in "[~/]?[a./~\\\\ ]{0,16}") {
            if let Ok(normal) = HostPath::parse(&path, &places()) {
                prop_assert!(normal.names().iter().all(|name| !name.is_empty() && name != "." && name != ".."));
                prop_assert_eq!(HostPath::parse(&normal.to_string(), &places()).unwrap(), normal);
            }
        }
    }
}
