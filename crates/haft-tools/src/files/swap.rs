//! Putting a file in the place of another, whole or not at all, and seeing what was there before. For the files of a project
//! and of the machine alike.
//!
//! It works in one opened folder and must not decide which folder that is, nor what a fault means: the caller's words do.

use std::io::{self, Write};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt};
use cap_std::fs::{Dir, File, OpenOptions, Permissions};
use haft_core::{Digest, ToolError};

/// A file as it was seen before a change.
pub(crate) struct Seen {
    pub(crate) bytes: Vec<u8>,
    pub(crate) permissions: Permissions,
}

/// True if the file still holds what was seen, or is still not there.
pub(crate) fn is_same(now: Option<&Seen>, before: Option<&Seen>) -> bool {
    now.map(|seen| &seen.bytes) == before.map(|seen| &seen.bytes)
}

/// Puts `name` with `bytes` into `folder`, in the place of what was seen; permission bits stay. The bytes are synced under a
/// name made from `fresh`, `check` is asked last of all, and only then the names are swapped.
pub(crate) fn put(
    folder: &Dir,
    name: &str,
    before: Option<&Seen>,
    bytes: &[u8],
    fresh: &str,
    check: impl FnOnce() -> Result<(), ToolError>,
    fault: impl Fn(&io::Error) -> ToolError,
) -> Result<Digest, ToolError> {
    let temporary = format!(".haft-{fresh}.tmp");
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).follow(FollowSymlinks::No);
    let file = folder.open_with(&temporary, &options).map_err(|error| fault(&error))?;
    let written = fill(file, before, bytes)
        .map_err(|error| fault(&error))
        .and_then(|()| check())
        .and_then(|()| folder.rename(&temporary, folder, name).map_err(|error| fault(&error)));
    if let Err(error) = written {
        // Best effort: the fault that counts is the first one.
        folder.remove_file(&temporary).unwrap_or_default();
        return Err(error);
    }
    Ok(Digest::of(bytes))
}

fn fill(mut file: File, before: Option<&Seen>, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)?;
    if let Some(seen) = before {
        file.set_permissions(seen.permissions.clone())?;
    }
    file.sync_all()
}
