//! What a yes may cover: a tool, a folder, a file, a host, the shape of a command.
//!
//! Matching is lexical and careful: paths are compared by components, never by prefix of text. Whoever builds a
//! scope from a path resolves links first; this module never touches a file system.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One scope, as a tool offers it and as `--allow TOOL=SCOPE` writes it.
///
/// ```
/// use haft_core::Scope;
/// let granted: Scope = "path:/a/b".parse()?;
/// assert!(granted.covers(&Scope::File("/a/b/c.txt".into())));
/// assert!(!granted.covers(&Scope::File("/a/bc.txt".into())));
/// assert!(!granted.covers(&Scope::File("/a/b/../c.txt".into())));
/// # Ok::<(), haft_core::scope::ScopeError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "value")]
pub enum Scope {
    /// Every call of the tool.
    Tool,
    /// A folder and all below it.
    Path(String),
    /// One file.
    File(String),
    /// One host, by name.
    Host(String),
    /// Commands of one shape.
    Command(String),
}

/// Why a text is no scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no scope; write `path:DIR`, `file:F`, `host:H` or `cmd:SHAPE`, or leave it out for the whole tool"
)]
pub struct ScopeError(String);

/// Programs that reach the network or run what they are given: a yes for the bare name would be one for everything.
const FREEING: [&str; 34] = [
    "ash", "awk", "bash", "busybox", "bun", "cmd", "csh", "curl", "dash", "deno", "docker", "env", "eval",
    "exec", "fish", "ftp", "ksh", "lua", "nc", "ncat", "node", "perl", "php", "pwsh", "python", "ruby",
    "scp", "sh", "socat", "ssh", "sudo", "wget", "xargs", "zsh",
];

impl Scope {
    /// True if a yes for it would free whatever a network or interpreter program is told to do: a shape that is the bare name of one.
    /// Such a scope is never offered.
    ///
    /// ```
    /// use haft_core::Scope;
    /// assert!(Scope::Command("curl".into()).frees_a_program());
    /// assert!(Scope::Command("/usr/bin/python3.12".into()).frees_a_program());
    /// assert!(!Scope::Command("git status".into()).frees_a_program());
    /// assert!(!Scope::Command("ls".into()).frees_a_program());
    /// ```
    pub fn frees_a_program(&self) -> bool {
        let Self::Command(shape) = self else { return false };
        let mut words = shape.split_whitespace();
        let (Some(program), None) = (words.next(), words.next()) else { return false };
        let name = program.rsplit('/').next().unwrap_or(program).to_ascii_lowercase();
        // `python3.12` is python.
        let name = name.trim_end_matches(|one: char| one.is_ascii_digit() || one == '.');
        FREEING.contains(&name)
    }

    /// True if both mean exactly the same, however their paths are written.
    ///
    /// ```
    /// use haft_core::Scope;
    /// assert!(Scope::File("/a//b".into()).is_same(&Scope::File("/a/b".into())));
    /// assert!(!Scope::Path("/a/b".into()).is_same(&Scope::File("/a/b".into())));
    /// ```
    pub fn is_same(&self, other: &Self) -> bool {
        self.covers(other) && other.covers(self)
    }

    /// True if a grant of `self` covers a call that would need `wanted`.
    pub fn covers(&self, wanted: &Self) -> bool {
        match (self, wanted) {
            (Self::Tool, _) => true,
            (Self::Path(folder), Self::Path(path) | Self::File(path)) => is_below(folder, path),
            (Self::File(one), Self::File(other)) => {
                components(one).is_some_and(|c| Some(c) == components(other))
            }
            (Self::Host(one), Self::Host(other)) => one.eq_ignore_ascii_case(other),
            (Self::Command(one), Self::Command(other)) => one == other,
            (Self::Path(_) | Self::File(_) | Self::Host(_) | Self::Command(_), _) => false,
        }
    }
}

/// Scopes with each before the first that reaches further; else in the order given, each once.
///
/// ```
/// use haft_core::{Scope, scope::narrowest_first};
/// let [file, folder] = [Scope::File("/p/a".into()), Scope::Path("/p".into())];
/// let given = [Scope::Tool, folder.clone(), file.clone(), folder.clone()];
/// assert_eq!(narrowest_first(given), [file, folder, Scope::Tool]);
/// ```
pub fn narrowest_first(scopes: impl IntoIterator<Item = Scope>) -> Vec<Scope> {
    let mut sorted: Vec<Scope> = Vec::new();
    for scope in scopes {
        if !sorted.contains(&scope) {
            let at = sorted.iter().position(|other| other.covers(&scope)).unwrap_or(sorted.len());
            sorted.insert(at, scope);
        }
    }
    sorted
}

/// True if `path` is `folder` or lies below it. A path with `..` is below nothing.
fn is_below(folder: &str, path: &str) -> bool {
    let (Some(folder), Some(path)) = (components(folder), components(path)) else { return false };
    path.starts_with(&folder)
}

/// The components of a path, with `.` and empty ones dropped; none if one is `..` or the text holds a NUL.
/// The first says whether the path is absolute.
fn components(path: &str) -> Option<Vec<&str>> {
    let root = if path.starts_with('/') { "/" } else { "" };
    let mut parts = vec![root];
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => return None,
            name if name.contains('\0') => return None,
            name => parts.push(name),
        }
    }
    Some(parts)
}

impl std::str::FromStr for Scope {
    type Err = ScopeError;

    fn from_str(text: &str) -> Result<Self, ScopeError> {
        match text.split_once(':') {
            _ if text.is_empty() => Ok(Self::Tool),
            Some((_, "")) => Err(ScopeError(text.to_owned())),
            Some(("path", value)) => Ok(Self::Path(value.to_owned())),
            Some(("file", value)) => Ok(Self::File(value.to_owned())),
            Some(("host", value)) => Ok(Self::Host(value.to_owned())),
            Some(("cmd", value)) => Ok(Self::Command(value.to_owned())),
            _ => Err(ScopeError(text.to_owned())),
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tool => f.write_str("the whole tool"),
            Self::Path(path) => write!(f, "path:{path}"),
            Self::File(path) => write!(f, "file:{path}"),
            Self::Host(host) => write!(f, "host:{host}"),
            Self::Command(shape) => write!(f, "cmd:{shape}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_covers_its_subtree_and_nothing_beside_it() {
        let folder = Scope::Path("/a/b/".into());
        for inside in ["/a/b", "/a/b/", "/a//b/./c", "/a/b/c/d"] {
            assert!(folder.covers(&Scope::File(inside.into())), "{inside}");
        }
        for outside in ["/a", "/a/bc", "/a/b/../c", "a/b/c", "/A/b/c", "/a/b\0/c", ""] {
            assert!(!folder.covers(&Scope::File(outside.into())), "{outside}");
        }
        assert!(!Scope::Path("src/..".into()).covers(&Scope::File("src/x".into())));
    }

    #[test]
    fn a_narrow_scope_never_covers_a_wider_one() {
        assert!(!Scope::File("/a".into()).covers(&Scope::Path("/a".into())));
        assert!(!Scope::Path("/a".into()).covers(&Scope::Tool));
        assert!(!Scope::Host("a.example".into()).covers(&Scope::Host("b.a.example".into())));
    }
}
