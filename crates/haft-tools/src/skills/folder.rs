//! Skills on disk: which there are, and their files, read without following a link out of them (SKL-03).

use std::io::{self, Read};

use cap_fs_ext::OpenOptionsSyncExt;
use cap_std::fs::{Dir, OpenOptions};
use haft_core::{ErrorCode, ToolError};

/// Largest file that is read, in bytes.
const MAX_FILE: u64 = 4 << 20;
/// Files of a skill that are looked at, and levels gone down.
const MAX_FILES: usize = 2_000;
const MAX_DEPTH: usize = 12;
/// Longest name of a skill.
const MAX_NAME: usize = 64;

/// Where skills lie.
///
/// ```
/// use std::sync::Arc;
/// use cap_std::fs::Dir;
/// use haft_tools::skills::SkillFolders;
///
/// /// A program without skills.
/// struct NoSkills;
///
/// impl SkillFolders for NoSkills {
///     fn open(&self) -> std::io::Result<Option<Dir>> {
///         Ok(None)
///     }
/// }
///
/// let mut services = haft_core::Services::default();
/// services.insert::<dyn SkillFolders>(Arc::new(NoSkills));
/// ```
pub trait SkillFolders: Send + Sync {
    /// Opens the folder that holds one folder for each skill; none if there is no such folder. May touch the disk; called where
    /// blocking is allowed.
    ///
    /// # Errors
    /// What the system says, if the folder is there and cannot be opened.
    fn open(&self) -> io::Result<Option<Dir>>;
}

/// Runs file work where it may block.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => runtime.spawn_blocking(work).await.unwrap_or_else(|error| {
            Err(ToolError::failed("Reading the skill broke off.").with_detail(error.to_string()))
        }),
        Err(_) => work(),
    }
}

/// A fault of the host's own folder: the run fails (SKL-03).
pub(super) fn broken(what: &str, error: &io::Error) -> ToolError {
    ToolError::system(ErrorCode::new("skill.storage_failed"), format!("{what} cannot be read: {error}."))
}

/// The names of all skills, sorted: folders with a name that a skill can have.
pub(super) fn names(root: &Dir) -> Result<Vec<String>, ToolError> {
    let fault = |error: io::Error| broken("the folder of skills", &error);
    let mut names = Vec::new();
    for entry in root.entries().map_err(fault)? {
        let entry = entry.map_err(fault)?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        // A link counts if it leads to a folder inside the folder of skills.
        if is_name(&name) && root.metadata(&name).is_ok_and(|metadata| metadata.is_dir()) {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= MAX_NAME
        && !name.starts_with('.')
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

/// The folder of the skill `name`, which is one of [`names`].
pub(super) fn enter(root: &Dir, name: &str) -> Result<Dir, ToolError> {
    root.open_dir(name).map_err(|error| broken(&format!("the skill `{name}`"), &error))
}

/// A relative path inside a skill, by its text alone.
pub(super) fn path(path: &str) -> Result<String, ToolError> {
    let invalid = |why: &str| {
        Err(ToolError::new(
            ErrorCode::new("skill.path_invalid"),
            format!(
                "`{path}` {why}. Write a path inside the skill, such as SKILL.md or references/forms.md."
            ),
        ))
    };
    if path.len() > 512 || path.chars().any(char::is_control) {
        return invalid("is no path of a skill");
    }
    if path.starts_with('/') || path.contains('\\') || path.contains(':') {
        return invalid("is not relative");
    }
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => return invalid("goes up with `..`"),
            name => parts.push(name),
        }
    }
    if parts.is_empty() { Ok(".".to_owned()) } else { Ok(parts.join("/")) }
}

/// What a path of a skill holds.
pub(super) enum Found {
    /// Text.
    Text(String),
    /// Other data, of so many bytes.
    Binary(usize),
}

/// Reads the file `path` of a skill.
pub(super) fn read(skill: &Dir, name: &str, path: &str) -> Result<Found, ToolError> {
    let fault = |error: &io::Error| fault(name, path, error);
    let metadata = skill.metadata(path).map_err(|error| fault(&error))?;
    if metadata.is_dir() {
        let text = format!("`{path}` is a folder of the skill `{name}`. Name a file in it.");
        return Err(ToolError::new(ErrorCode::new("skill.path_is_directory"), text));
    }
    if !metadata.is_file() {
        let text = format!("`{path}` of the skill `{name}` is neither a file nor a folder. Leave it.");
        return Err(ToolError::new(ErrorCode::new("skill.file_not_text"), text));
    }
    if metadata.len() > MAX_FILE {
        let text =
            format!("`{path}` of the skill `{name}` is larger than {} MiB and is not read.", MAX_FILE >> 20);
        return Err(ToolError::new(ErrorCode::new("skill.file_too_large"), text));
    }
    let mut options = OpenOptions::new();
    options.read(true);
    if cfg!(unix) {
        // What became a pipe meanwhile must not hold the call up.
        options.nonblock(true);
    }
    let file = skill.open_with(path, &options).map_err(|error| fault(&error))?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE).read_to_end(&mut bytes).map_err(|error| fault(&error))?;
    if bytes.contains(&0) {
        return Ok(Found::Binary(bytes.len()));
    }
    let length = bytes.len();
    Ok(String::from_utf8(bytes).map_or(Found::Binary(length), Found::Text))
}

fn fault(name: &str, path: &str, error: &io::Error) -> ToolError {
    // The folder handle names an escape so, without a code of the system.
    let escape = error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none();
    let (code, text) = match error.kind() {
        _ if escape => (
            "skill.path_outside",
            format!("`{path}` leads out of the skill `{name}` over a link and is not read."),
        ),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => (
            "skill.file_not_found",
            format!("The skill `{name}` has no file `{path}`. Read its SKILL.md to see what it has."),
        ),
        io::ErrorKind::PermissionDenied => (
            "skill.no_access",
            format!("The system gives no access to `{path}` of the skill `{name}`. Leave it."),
        ),
        // Links that lead round in a circle, on Linux and on macOS.
        _ if matches!(error.raw_os_error(), Some(40 | 62)) => (
            "skill.path_outside",
            format!("`{path}` of the skill `{name}` is a link that leads back to itself."),
        ),
        _ => return broken(&format!("`{path}` of the skill `{name}`"), error),
    };
    ToolError::new(ErrorCode::new(code), text).with_detail(error.to_string())
}

/// The beginning of `SKILL.md`, for the index; none if there is no such text.
pub(super) fn beginning(skill: &Dir, most: u64) -> Option<String> {
    let file = skill.open(super::MAIN_FILE).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).ok()?;
    // The last character may be cut.
    match std::str::from_utf8(&bytes) {
        Ok(_) => String::from_utf8(bytes).ok(),
        Err(error) => {
            bytes.truncate(error.valid_up_to());
            String::from_utf8(bytes).ok()
        }
    }
}

/// All files below `path`, sorted, and how many entries were left out: links, and what is past the bounds.
pub(super) fn files(skill: &Dir, name: &str, path: &str) -> Result<(Vec<String>, usize), ToolError> {
    let metadata = skill.metadata(path).map_err(|error| fault(name, path, &error))?;
    if !metadata.is_dir() {
        return Ok((vec![path.to_owned()], 0));
    }
    let (mut files, mut skipped) = (Vec::new(), 0);
    let mut open: Vec<(String, usize)> = vec![(path.to_owned(), 0)];
    while let Some((folder, depth)) = open.pop() {
        let entries = skill.read_dir(&folder).map_err(|error| fault(name, &folder, &error))?;
        for entry in entries {
            let entry = entry.map_err(|error| fault(name, &folder, &error))?;
            let kind = entry.file_type().map_err(|error| fault(name, &folder, &error))?;
            let Ok(entry_name) = entry.file_name().into_string() else {
                skipped += 1;
                continue;
            };
            let path = if folder == "." { entry_name } else { format!("{folder}/{entry_name}") };
            if kind.is_dir() && depth < MAX_DEPTH {
                open.push((path, depth + 1));
            } else if kind.is_file() && files.len() < MAX_FILES {
                files.push(path);
            } else {
                skipped += 1;
            }
        }
    }
    files.sort();
    Ok((files, skipped))
}
