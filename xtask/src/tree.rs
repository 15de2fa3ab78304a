//! Reading the tree: files, folders and helper programs. The one room of xtask that touches the disk.
#![expect(clippy::disallowed_methods, reason = "the chores read the tree and call git and cargo")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::report::XtaskError;

/// Reads a text file.
pub(crate) fn read(path: &Path) -> Result<String, XtaskError> {
    fs::read_to_string(path).map_err(|source| XtaskError::File { path: path.to_path_buf(), source })
}

/// Reads a file as text; `None` when it is not there or is not UTF-8.
pub(crate) fn read_text_if_any(path: &Path) -> Result<Option<String>, XtaskError> {
    match fs::read(path) {
        Ok(bytes) => Ok(String::from_utf8(bytes).ok()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(XtaskError::File { path: path.to_path_buf(), source }),
    }
}

/// Writes a text file.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), XtaskError> {
    fs::write(path, text).map_err(|source| XtaskError::File { path: path.to_path_buf(), source })
}

/// All `.rs` files under `folder` relative to `root`, sorted; folders named `target` are left out.
pub(crate) fn rust_files(root: &Path, folder: &str) -> Result<Vec<PathBuf>, XtaskError> {
    let mut found = Vec::new();
    let mut open = vec![root.join(folder)];
    while let Some(folder) = open.pop() {
        let failed = |source| XtaskError::File { path: folder.clone(), source };
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let kind = entry.file_type().map_err(failed)?;
            let path = entry.path();
            if kind.is_dir() && entry.file_name() != "target" {
                open.push(path);
            } else if kind.is_file() && path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path.strip_prefix(root).unwrap_or(&path).to_path_buf());
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The files that git knows or would add, relative to `root`.
pub(crate) fn tracked_files(root: &Path) -> Result<Vec<PathBuf>, XtaskError> {
    let listed = run(root, "git", &["ls-files", "-z", "--cached", "--others", "--exclude-standard"])?;
    Ok(listed.split('\0').filter(|path| !path.is_empty()).map(PathBuf::from).collect())
}

/// Runs a program in `root` and returns its standard output.
pub(crate) fn run(root: &Path, program: &str, arguments: &[&str]) -> Result<String, XtaskError> {
    let failed = |reason: String| XtaskError::Command {
        command: format!("{program} {}", arguments.join(" ")),
        reason,
    };
    let output = Command::new(program)
        .args(arguments)
        .current_dir(root)
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    String::from_utf8(output.stdout).map_err(|error| failed(error.to_string()))
}
