//! File work from the root of the machine. All of it may block; none of it follows a link.
//!
//! Looking at a file resolves its links first and then walks the real path; changing a file walks the path as it was named.
//! In both each folder on the way is opened without following, so that a link that is put there meanwhile leads nowhere.

use std::io::{self, Read};

use cap_fs_ext::{DirExt, FollowSymlinks, MetadataExt, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::fs::{Dir, Metadata, OpenOptions};
use haft_core::{Digest, ErrorCode, ToolError};

use super::HostFiles;
use super::path::HostPath;
use crate::files::swap::{self, Seen};

/// Largest file that is changed, in bytes: its before-image must be kept.
const MAX_CHANGED: u64 = 64 << 20;

const NOT_FOUND: ErrorCode = ErrorCode::new("host.not_found");

/// Says what went wrong at `path`, in words for the model.
pub(super) fn fault(error: &io::Error, path: &HostPath) -> ToolError {
    let (code, message) = match error.kind() {
        io::ErrorKind::NotFound => (NOT_FOUND, format!("There is no `{path}`. List its folder first.")),
        io::ErrorKind::PermissionDenied => (
            ErrorCode::new("host.no_access"),
            format!("The system gives no access to `{path}`. Leave it, or ask the user."),
        ),
        io::ErrorKind::NotADirectory => (
            ErrorCode::new("host.not_a_directory"),
            format!("`{path}`, or a part of it, is a file and no folder."),
        ),
        io::ErrorKind::InvalidFilename => {
            (ErrorCode::new("host.path_invalid"), format!("`{path}` is too long for the file system."))
        }
        io::ErrorKind::StorageFull => (
            ErrorCode::new("host.disk_full"),
            format!("`{path}` was not written: the disk is full. Tell the user."),
        ),
        io::ErrorKind::ReadOnlyFilesystem => (
            ErrorCode::new("host.no_access"),
            format!("`{path}` is on a file system that cannot be written."),
        ),
        _ => (ErrorCode::new("host.failed"), format!("`{path}` cannot be used: {error}.")),
    };
    ToolError::new(code, message).with_detail(error.to_string())
}

/// Fails unless `metadata` is that of a plain file.
fn plain_file(metadata: &Metadata, path: &HostPath) -> Result<(), ToolError> {
    if metadata.is_dir() {
        return Err(is_directory(path));
    }
    if metadata.is_file() {
        return Ok(());
    }
    let message =
        format!("`{path}` is neither a file nor a folder, but a device, pipe or socket. It is left alone.");
    Err(ToolError::new(ErrorCode::new("host.not_a_file"), message))
}

fn is_directory(path: &HostPath) -> ToolError {
    ToolError::new(ErrorCode::new("host.path_is_directory"), format!("`{path}` is a folder, not a file."))
}

/// Opening a pipe must not wait for its other end; a link in the last place is not followed.
fn reading() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No);
    if cfg!(unix) {
        options.nonblock(true);
    }
    options
}

fn root(host: &dyn HostFiles, path: &HostPath) -> Result<Dir, ToolError> {
    host.root().map_err(|error| fault(&error, path))
}

/// What a folder is, whatever it is called.
type Identity = (u64, u64);

fn identity(dir: &Dir) -> io::Result<Identity> {
    let metadata = dir.dir_metadata()?;
    Ok((metadata.dev(), metadata.ino()))
}

/// A folder that is known by what it is, so that no other spelling of its path (letter case, mounts) leads into it.
struct Guarded<'a> {
    folder: &'a str,
    identity: Option<Identity>,
}

impl<'a> Guarded<'a> {
    /// The folder as it is on the disk now, perhaps not there.
    fn find(root: &Dir, folder: &'a str) -> Result<Self, ToolError> {
        let closed = |error: &dyn std::fmt::Display| {
            let message = format!("`{folder}` cannot be guarded, so nothing is done. Tell the user.");
            ToolError::new(ErrorCode::new("host.unavailable"), message).with_detail(error.to_string())
        };
        let path = HostPath::absolute(folder).map_err(|error| closed(&error))?;
        let mut here = root.try_clone().map_err(|error| closed(&error))?;
        for name in path.names() {
            here = match here.open_dir_nofollow(name) {
                Ok(next) => next,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Ok(Self { folder, identity: None });
                }
                Err(error) => return Err(closed(&error)),
            };
        }
        let identity = identity(&here).map_err(|error| closed(&error))?;
        Ok(Self { folder, identity: Some(identity) })
    }

    fn is(&self, dir: &Dir, path: &HostPath) -> Result<bool, ToolError> {
        Ok(self.identity.is_some()
            && self.identity == Some(identity(dir).map_err(|error| fault(&error, path))?))
    }

    /// Fails unless `path`, which leads into the folder, says so: only then was it asked for as what it is.
    fn named_by(&self, path: &HostPath) -> Result<(), ToolError> {
        if path.is_below(self.folder) {
            return Ok(());
        }
        let message =
            format!("`{path}` lies in the folder `{}`. Nothing was done; name it by that.", self.folder);
        Err(ToolError::new(ErrorCode::new("host.path_is_link"), message))
    }
}

/// Where a look leads: the real path, and the open folder of its last name (the root for the root itself).
pub(super) struct Looked {
    dir: Dir,
    real: HostPath,
}

/// Follows all links of `path` and opens the folder that it leads into. What is in a folder of secrets must have been asked for
/// by its own path (APR-14); what is inside of a process stays closed.
pub(super) fn look(host: &dyn HostFiles, path: &HostPath) -> Result<Looked, ToolError> {
    let resolved = host.resolved(&path.to_string()).map_err(|error| fault(&error, path))?;
    let real = HostPath::absolute(&resolved).map_err(|error| error.to_tool_error())?;
    if real.is_of_a_process() {
        let message = format!("`{path}` shows the inside of a running process and stays closed.");
        return Err(ToolError::new(ErrorCode::new("host.process_file"), message));
    }
    let root = root(host, path)?;
    let secrets = Guarded::find(&root, &host.places().secrets_folder)?;
    let mut guarded = real.is_below(secrets.folder);
    let mut dir = root;
    for folder in real.split().map_or(&[][..], |(folders, _)| folders) {
        dir = dir.open_dir_nofollow(folder).map_err(|error| swapped(&dir, folder, path, &error))?;
        guarded |= secrets.is(&dir, path)?;
    }
    let places = host.places();
    if *path != real && (guarded || real.is_secret(places) || path.is_secret(places)) {
        return Err(link(path, Some(&resolved)));
    }
    if guarded {
        secrets.named_by(path)?;
    }
    Ok(Looked { dir, real })
}

/// The complaint about a part of a real path that is not what it was a moment ago.
fn swapped(here: &Dir, name: &str, path: &HostPath, error: &io::Error) -> ToolError {
    if here.symlink_metadata(name).is_ok_and(|metadata| metadata.is_symlink()) {
        let message = format!("`{path}` was changed by somebody else just now. Try again.");
        return ToolError::new(ErrorCode::new("host.stale_path"), message);
    }
    fault(error, path)
}

/// Fails if the file is one of the secrets under another name: then it was not asked for as what it is. The secrets folder is
/// looked through with the folders in it, so that a hard link or a mount hides none (APR-14).
fn no_secret(host: &dyn HostFiles, metadata: &Metadata, path: &HostPath) -> Result<(), ToolError> {
    let folder = &host.places().secrets_folder;
    if path.is_below(folder) {
        return Ok(());
    }
    let unknown = |error: &dyn std::fmt::Display| {
        let message =
            format!("`{path}` was left alone: it cannot be told whether it is a secret. Tell the user.");
        ToolError::new(ErrorCode::new("host.unavailable"), message).with_detail(error.to_string())
    };
    let mut here = root(host, path)?;
    for name in HostPath::absolute(folder).map_err(|error| unknown(&error))?.names() {
        here = match here.open_dir_nofollow(name) {
            Ok(next) => next,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(unknown(&error)),
        };
    }
    let wanted = (metadata.dev(), metadata.ino());
    match holds(&here, wanted, 0).map_err(|error| unknown(&error))? {
        false => Ok(()),
        true => {
            let message = format!(
                "`{path}` is a secret of the folder `{folder}` under another name. Nothing was done; name it by that."
            );
            Err(ToolError::new(ErrorCode::new("host.path_is_link"), message))
        }
    }
}

/// How deep the secrets folder is looked through.
const DEEPEST_SECRET: u8 = 8;

/// True if `folder` or one in it holds the file.
fn holds(folder: &Dir, file: Identity, depth: u8) -> io::Result<bool> {
    for entry in folder.entries()? {
        let entry = entry?;
        let metadata = folder.symlink_metadata(entry.file_name())?;
        if (metadata.dev(), metadata.ino()) == file {
            return Ok(true);
        }
        if metadata.is_dir() && depth < DEEPEST_SECRET {
            let inner = folder.open_dir_nofollow(entry.file_name())?;
            if holds(&inner, file, depth + 1)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

impl Looked {
    /// The beginning of the file, at most `most` bytes, and how long the file is or more.
    pub(super) fn read(
        &self,
        host: &dyn HostFiles,
        path: &HostPath,
        most: u64,
    ) -> Result<(Vec<u8>, u64), ToolError> {
        let (_, name) = self.real.split().ok_or_else(|| is_directory(path))?;
        let fault = |error: io::Error| swapped(&self.dir, name, path, &error);
        plain_file(&self.dir.symlink_metadata(name).map_err(fault)?, path)?;
        let file = self.dir.open_with(name, &reading()).map_err(fault)?;
        let metadata = file.metadata().map_err(fault)?;
        plain_file(&metadata, path)?;
        no_secret(host, &metadata, path)?;
        let mut bytes = Vec::new();
        file.take(most).read_to_end(&mut bytes).map_err(fault)?;
        let length = metadata.len().max(bytes.len() as u64);
        Ok((bytes, length))
    }

    /// The folder itself.
    pub(super) fn folder(self, path: &HostPath) -> Result<Dir, ToolError> {
        match self.real.split() {
            None => Ok(self.dir),
            Some((_, name)) => {
                self.dir.open_dir_nofollow(name).map_err(|error| swapped(&self.dir, name, path, &error))
            }
        }
    }
}

/// What is said of a link on the way, with the place it leads to if that is known.
fn link(path: &HostPath, real: Option<&str>) -> ToolError {
    let advice = match real {
        Some(real) => {
            format!("`{path}` leads over a link to `{real}`. Nothing was done; name that path instead.")
        }
        None => format!("`{path}` leads over a link. Nothing was done; name the real path instead."),
    };
    ToolError::new(ErrorCode::new("host.path_is_link"), advice)
}

/// The folder that `path` is in, opened without following links, and the last name. With `create`, missing folders are made.
fn parent<'a>(host: &dyn HostFiles, path: &'a HostPath, create: bool) -> Result<(Dir, &'a str), ToolError> {
    let (folders, name) = path.split().ok_or_else(|| is_directory(path))?;
    let mut here = root(host, path)?;
    let places = host.places();
    let own = [Guarded::find(&here, &places.haft_home)?, Guarded::find(&here, &places.secrets_folder)?];
    for folder in folders {
        here = enter(host, &here, folder, path, create)?;
        for guarded in &own {
            if guarded.is(&here, path)? {
                guarded.named_by(path)?;
            }
        }
    }
    Ok((here, name))
}

fn enter(
    host: &dyn HostFiles,
    here: &Dir,
    folder: &str,
    path: &HostPath,
    create: bool,
) -> Result<Dir, ToolError> {
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
            link(path, real(host, path).as_deref())
        } else {
            fault(&error, path)
        }
    })
}

/// Where `path` leads to, if that can be said: over its folder, where the last name is new.
fn real(host: &dyn HostFiles, path: &HostPath) -> Option<String> {
    host.resolved(&path.to_string()).ok().or_else(|| {
        let (_, name) = path.split()?;
        let folder = host.resolved(&path.folder()?.to_string()).ok()?;
        Some(format!("{}/{name}", folder.trim_end_matches('/')))
    })
}

/// The file `path` before it is changed, whole; none if there is none. Nothing is made on the way.
pub(super) fn before(host: &dyn HostFiles, path: &HostPath) -> Result<Option<Seen>, ToolError> {
    match parent(host, path, false) {
        Ok((folder, name)) => see(host, &folder, name, path),
        Err(error) if *error.code() == NOT_FOUND => Ok(None),
        Err(error) => Err(error),
    }
}

fn see(host: &dyn HostFiles, folder: &Dir, name: &str, path: &HostPath) -> Result<Option<Seen>, ToolError> {
    let metadata = match folder.symlink_metadata(name) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(fault(&error, path)),
    };
    if metadata.is_symlink() {
        return Err(link(path, real(host, path).as_deref()));
    }
    plain_file(&metadata, path)?;
    let file = folder.open_with(name, &reading()).map_err(|error| fault(&error, path))?;
    let metadata = file.metadata().map_err(|error| fault(&error, path))?;
    plain_file(&metadata, path)?;
    no_secret(host, &metadata, path)?;
    let mut bytes = Vec::new();
    file.take(MAX_CHANGED + 1).read_to_end(&mut bytes).map_err(|error| fault(&error, path))?;
    if bytes.len() as u64 > MAX_CHANGED {
        return Err(ToolError::new(
            ErrorCode::new("host.too_large"),
            format!("`{path}` is larger than {} MiB and is not changed by this tool.", MAX_CHANGED >> 20),
        ));
    }
    Ok(Some(Seen { bytes, permissions: metadata.permissions() }))
}

/// Puts a file with `bytes` in the place of what was seen, whole or not at all; permission bits stay. `fresh` makes the name
/// of the file that is written first.
pub(super) fn replace(
    host: &dyn HostFiles,
    path: &HostPath,
    before: Option<&Seen>,
    bytes: &[u8],
    fresh: &str,
) -> Result<Digest, ToolError> {
    let (folder, name) = parent(host, path, true)?;
    let check = || unchanged(host, &folder, name, path, before);
    swap::put(&folder, name, before, bytes, fresh, check, |error| fault(error, path))
}

/// Fails if the file is no longer what was seen.
fn unchanged(
    host: &dyn HostFiles,
    folder: &Dir,
    name: &str,
    path: &HostPath,
    before: Option<&Seen>,
) -> Result<(), ToolError> {
    let now = see(host, folder, name, path)?;
    if swap::is_same(now.as_ref(), before) {
        return Ok(());
    }
    Err(ToolError::new(
        ErrorCode::new("host.stale_file"),
        format!("`{path}` was changed by somebody else just now. Nothing was written; read it again first."),
    ))
}
