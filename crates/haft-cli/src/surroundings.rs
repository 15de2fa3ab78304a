//! The one room that touches the process's surroundings: environment, files that the user names, standard input.
//!
//! Everything here is called because a person named the thing: nothing is read from the working folder unless named.
#![expect(
    clippy::disallowed_methods,
    reason = "haft-cli owns the environment and the files that the user names; this is its room for both"
)]

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

use crate::exit::Failure;

/// Longest text that is read from a file or from standard input, in bytes (16 MiB is 16 MB and a little).
pub(crate) const LONGEST_TEXT: u64 = 16 * 1024 * 1024;

/// The environment variable `name`, if it is set, readable and not empty.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Who sits at this machine, as it says.
pub(crate) fn login_name() -> Option<String> {
    variable("USER").or_else(|| variable("USERNAME"))
}

/// A new file at `path`, to be written.
pub(crate) fn new_file(path: &Path) -> Result<File, Failure> {
    OpenOptions::new().write(true).create_new(true).open(path).map_err(|error| {
        let failure = Failure::usage(format!("`{}` cannot be made: {error}", path.display()));
        failure.hint("Name a file that is not there yet, in a folder that is.")
    })
}

/// Adds `text` to the end of the file `path`, which is made where it is not there, for this user alone.
pub(crate) fn append_private(path: &Path, text: &str) -> io::Result<()> {
    private(path, OpenOptions::new().append(true))?.write_all(text.as_bytes())
}

/// Writes the file `path` anew, for this user alone.
pub(crate) fn write_private(path: &Path, text: &str) -> io::Result<()> {
    private(path, OpenOptions::new().write(true).truncate(true))?.write_all(text.as_bytes())
}

fn private(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options.create(true).open(path)
}

/// `path` as an absolute path, by the working folder.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path)
        .map_err(|error| Failure::usage(format!("`{}` is no usable path: {error}", path.display())))
}

/// `path` with links resolved; it must be a folder.
pub(crate) fn folder(path: &Path) -> Result<PathBuf, Failure> {
    let fail = |what: String| {
        Failure::usage(format!("`{}` cannot be used as a folder: {what}", path.display()))
            .hint("Create the folder first, or name another one.")
    };
    let real = path.canonicalize().map_err(|error| fail(error.to_string()))?;
    if real.is_dir() { Ok(real) } else { Err(fail("it is a file".to_owned())) }
}

/// `path` with the links of its existing part resolved; what is not there yet stays as it is.
pub(crate) fn resolved(path: &Path) -> PathBuf {
    let mut rest = Vec::new();
    let mut existing = path;
    loop {
        if let Ok(real) = existing.canonicalize() {
            return rest.iter().rev().fold(real, |path, part| path.join(part));
        }
        match (existing.parent(), existing.file_name()) {
            (Some(parent), Some(name)) => {
                rest.push(name.to_owned());
                existing = parent;
            }
            _ => return path.to_owned(),
        }
    }
}

/// The text of the file `path`, if it is there.
pub(crate) fn text_if_there(path: &Path) -> Result<Option<String>, String> {
    match bytes(path) {
        Ok(bytes) => utf8(bytes).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

/// The text of the file `path`.
pub(crate) fn text(path: &Path) -> Result<String, String> {
    bytes(path).map_err(|error| error.to_string()).and_then(utf8)
}

/// All of standard input as text.
pub(crate) fn standard_input() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    io::stdin()
        .lock()
        .take(LONGEST_TEXT + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::usage(format!("cannot read standard input: {error}")))?;
    if bytes.len() as u64 > LONGEST_TEXT {
        return Err(Failure::usage("standard input is longer than 16 MB, and no more than that is taken"));
    }
    utf8(bytes).map_err(|reason| Failure::usage(format!("standard input cannot be used: {reason}")))
}

/// Names of the files in `folder` that end in `.extension`, without it, sorted; empty if there is no such folder.
pub(crate) fn stems(folder: &Path, extension: &str) -> Result<Vec<String>, String> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error.to_string()),
    };
    let mut names = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| error.to_string())?.path();
        if path.extension().is_some_and(|found| found == extension)
            && let Some(stem) = path.file_stem().and_then(|stem| stem.to_str())
        {
            names.push(stem.to_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// Names and bytes of the files in `folder` and in the folders below it, by name; empty if there is no such folder. Files that the
/// system does not let this process read are left out, and of a long one there is only the beginning.
pub(crate) fn files(folder: &Path, longest: u64) -> io::Result<Vec<(String, Vec<u8>)>> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if entry.file_type()?.is_dir() {
            files.extend(self::files(&path, longest)?);
            continue;
        }
        if !path.metadata().is_ok_and(|metadata| metadata.is_file()) {
            continue;
        }
        let mut bytes = Vec::new();
        match std::fs::File::open(&path).and_then(|file| file.take(longest).read_to_end(&mut bytes)) {
            Ok(_) => files.push((name, bytes)),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
            Err(error) => return Err(error),
        }
    }
    files.sort();
    Ok(files)
}

/// True if a person can be asked: standard input and standard error are a terminal.
pub(crate) fn has_terminal() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// True if standard input is a terminal, so that nothing is piped in.
pub(crate) fn stdin_is_terminal() -> bool {
    io::stdin().is_terminal()
}

fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    let file = std::fs::File::open(path)?;
    let mut bytes = Vec::new();
    file.take(LONGEST_TEXT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LONGEST_TEXT {
        return Err(io::Error::other("it is longer than 16 MB, and no more than that is taken"));
    }
    Ok(bytes)
}

fn utf8(bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|error| {
        format!("it is not UTF-8 text: byte {} does not fit", error.utf8_error().valid_up_to())
    })
}
