//! File work inside an opened folder. All of it may block; all of it stays inside the folder, whatever links do meanwhile.
//!
//! Reading follows links that stay inside. Changing follows none: each folder on the way is opened without following, so
//! that what a person agreed to by its path is what is changed.

use std::io::{self, Read};
use std::path::Path;

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::fs::{Dir, Metadata, OpenOptions};
use haft_core::{Digest, ErrorCode, ToolError};

use super::path::{ProjectPath, outside};
use super::swap::{self, Seen};
use crate::secrets;

/// Largest file that is changed, in bytes: its before-image must be kept.
const MAX_CHANGED: u64 = 64 << 20;

const FILE_NOT_FOUND: ErrorCode = ErrorCode::new("project.file_not_found");

/// Says what went wrong at `path`, in words for the model.
pub(super) fn fault(error: &io::Error, path: &ProjectPath) -> ToolError {
    // The folder handle names an escape so, without a code of the system.
    if error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none() {
        return outside();
    }
    let (code, message) = match error.kind() {
        io::ErrorKind::NotFound => return missing(path).with_detail(error.to_string()),
        io::ErrorKind::PermissionDenied => (
            "project.no_access",
            format!("The system gives no access to `{path}`. Leave it, or ask the user."),
        ),
        io::ErrorKind::NotADirectory => {
            ("project.not_a_directory", format!("A part of `{path}` is a file, not a folder."))
        }
        io::ErrorKind::InvalidFilename => {
            ("project.path_invalid", format!("`{path}` is too long for the file system."))
        }
        io::ErrorKind::StorageFull => {
            ("project.disk_full", format!("`{path}` was not written: the disk is full. Tell the user."))
        }
        _ => ("project.failed", format!("`{path}` cannot be used: {error}.")),
    };
    ToolError::new(ErrorCode::new(code), message).with_detail(error.to_string())
}

fn is_directory(path: &ProjectPath) -> ToolError {
    let message = format!("`{path}` is a folder, not a file.");
    ToolError::new(ErrorCode::new("project.path_is_directory"), message)
}

fn not_a_file(path: &ProjectPath) -> ToolError {
    let message =
        format!("`{path}` is neither a file nor a folder, but a device, pipe or socket. It is left alone.");
    ToolError::new(ErrorCode::new("project.not_a_file"), message)
}

/// Fails unless `metadata` is that of a plain file.
fn plain_file(metadata: &Metadata, path: &ProjectPath) -> Result<(), ToolError> {
    if metadata.is_dir() {
        Err(is_directory(path))
    } else if metadata.is_file() {
        Ok(())
    } else {
        Err(not_a_file(path))
    }
}

/// Opening a pipe must not wait for its other end.
fn reading() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true);
    if cfg!(unix) {
        options.nonblock(true);
    }
    options
}

/// The beginning of a file, at most `most` bytes, and its whole length. Links are followed inside the project, but not to a
/// secret: that must have been asked for by its own path.
pub(super) fn read(dir: &Dir, path: &ProjectPath, most: u64) -> Result<(Vec<u8>, u64), ToolError> {
    let fault = |error: io::Error| fault(&error, path);
    let real = dir.canonicalize(path.to_string()).map_err(fault)?;
    let is_secret = real.iter().any(|name| secrets::is_folder(&name.to_string_lossy()));
    if real != Path::new(&path.to_string()) && (is_secret || path.is_secret()) {
        let real = real.display();
        return Err(ToolError::new(
            ErrorCode::new("project.path_is_link"),
            format!("`{path}` leads over a link to `{real}`. Nothing was read; name that path instead."),
        ));
    }
    // The real path is what was judged, so it is what is opened.
    plain_file(&dir.metadata(&real).map_err(fault)?, path)?;
    let file = dir.open_with(&real, &reading()).map_err(fault)?;
    let metadata = file.metadata().map_err(fault)?;
    plain_file(&metadata, path)?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).map_err(fault)?;
    let length = metadata.len().max(bytes.len() as u64);
    Ok((bytes, length))
}

/// The folder that `path` is in, opened without following links, and the last name. With `create`, missing folders are made.
fn parent<'a>(dir: &Dir, path: &'a ProjectPath, create: bool) -> Result<(Dir, &'a str), ToolError> {
    let Some((folders, name)) = path.split() else { return Err(is_directory(path)) };
    let mut here = dir.try_clone().map_err(|error| fault(&error, path))?;
    for folder in folders {
        here = enter(dir, &here, folder, path, create)?;
    }
    Ok((here, name))
}

/// Makes the folder `path` and those on the way; false if it was there.
pub(super) fn make(dir: &Dir, path: &ProjectPath) -> Result<bool, ToolError> {
    let mut here = dir.try_clone().map_err(|error| fault(&error, path))?;
    let mut made = false;
    for folder in path.names() {
        made = here.symlink_metadata(folder).is_err();
        here = enter(dir, &here, folder, path, true)?;
    }
    Ok(made)
}

fn enter(root: &Dir, here: &Dir, folder: &str, path: &ProjectPath, create: bool) -> Result<Dir, ToolError> {
    let mut opened = here.open_dir_nofollow(folder);
    if create && opened.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        match here.create_dir(folder) {
            Ok(()) => {}
            // Somebody was faster; opening tells what it is.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(fault(&error, path)),
        }
        opened = here.open_dir_nofollow(folder);
    }
    opened.map_err(|error| {
        if here.symlink_metadata(folder).is_ok_and(|metadata| metadata.is_symlink()) {
            link(root, path)
        } else {
            fault(&error, path)
        }
    })
}

/// What a change says of a link on its way.
fn link(root: &Dir, path: &ProjectPath) -> ToolError {
    match root.canonicalize(path.to_string()) {
        Ok(real) => ToolError::new(
            ErrorCode::new("project.path_is_link"),
            format!(
                "`{path}` leads over a link to `{}`. Nothing was changed; name that path instead.",
                real.display()
            ),
        ),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // The way may be good and only the last name new.
            match path
                .parent()
                .filter(|parent| !parent.is_root())
                .map(|parent| root.canonicalize(parent.to_string()))
            {
                Some(Err(error)) if error.kind() != io::ErrorKind::NotFound => fault(&error, path),
                Some(Ok(_) | Err(_)) | None => ToolError::new(
                    ErrorCode::new("project.path_is_link"),
                    format!("`{path}` leads over a link. Nothing was changed; name the real path instead."),
                ),
            }
        }
        Err(error) => fault(&error, path),
    }
}

/// The file `path` before it is changed, whole; none if there is none. Nothing is made on the way.
pub(super) fn before(dir: &Dir, path: &ProjectPath) -> Result<Option<Seen>, ToolError> {
    match parent(dir, path, false) {
        Ok((folder, name)) => look(dir, &folder, name, path),
        Err(error) if *error.code() == FILE_NOT_FOUND => Ok(None),
        Err(error) => Err(error),
    }
}

/// The complaint about a file that is not there and must be.
pub(super) fn missing(path: &ProjectPath) -> ToolError {
    ToolError::new(FILE_NOT_FOUND, format!("There is no `{path}` in the project. List its folder first."))
}

fn look(root: &Dir, folder: &Dir, name: &str, path: &ProjectPath) -> Result<Option<Seen>, ToolError> {
    let metadata = match folder.symlink_metadata(name) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(fault(&error, path)),
    };
    if metadata.is_symlink() {
        return Err(link(root, path));
    }
    plain_file(&metadata, path)?;
    let mut options = reading();
    options.follow(FollowSymlinks::No);
    let file = folder.open_with(name, &options).map_err(|error| fault(&error, path))?;
    let metadata = file.metadata().map_err(|error| fault(&error, path))?;
    plain_file(&metadata, path)?;
    let mut bytes = Vec::new();
    file.take(MAX_CHANGED + 1).read_to_end(&mut bytes).map_err(|error| fault(&error, path))?;
    if bytes.len() as u64 > MAX_CHANGED {
        return Err(ToolError::new(
            ErrorCode::new("project.too_large"),
            format!("`{path}` is larger than {} MiB and is not changed by this tool.", MAX_CHANGED >> 20),
        ));
    }
    Ok(Some(Seen { bytes, permissions: metadata.permissions() }))
}

/// Fails if the file is no longer what was seen.
fn unchanged(
    root: &Dir,
    folder: &Dir,
    name: &str,
    path: &ProjectPath,
    before: Option<&Seen>,
) -> Result<(), ToolError> {
    let now = look(root, folder, name, path)?;
    if swap::is_same(now.as_ref(), before) {
        return Ok(());
    }
    Err(ToolError::new(
        ErrorCode::new("project.stale_file"),
        format!("`{path}` was changed by somebody else just now. Nothing was written; read it again first."),
    ))
}

/// Puts a file with `bytes` in the place of what was seen, whole or not at all; permission bits stay. `fresh` makes the name
/// of the file that is written first.
pub(super) fn replace(
    root: &Dir,
    path: &ProjectPath,
    before: Option<&Seen>,
    bytes: &[u8],
    fresh: &str,
) -> Result<Digest, ToolError> {
    let (folder, name) = parent(root, path, true)?;
    let check = || unchanged(root, &folder, name, path, before);
    swap::put(&folder, name, before, bytes, fresh, check, |error| fault(error, path))
}

/// Deletes the file that was seen.
pub(super) fn delete(root: &Dir, path: &ProjectPath, before: &Seen) -> Result<(), ToolError> {
    let (folder, name) = parent(root, path, false)?;
    unchanged(root, &folder, name, path, Some(before))?;
    folder.remove_file(name).map_err(|error| fault(&error, path))
}
