//! Content-addressed blobs in a folder: `blobs/ab/cdef…`.
//!
//! A blob is durable under its name before its digest is given out, so that no record can name one that is not there. Bytes are
//! written beside their place and renamed, so that a name never shows half of them. Nothing else may be put into the folder.
#![expect(clippy::disallowed_methods, reason = "this crate owns the home")]

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use haft_core::Digest;
use haft_core::ports::StoreError;

use crate::fault;
use crate::verify::{Row, UnreadableRow};

/// Beginning of the names of files that are not yet blobs.
const UNFINISHED: &str = "unfinished-";

/// The folder of blobs.
#[derive(Debug)]
pub(crate) struct BlobFolder {
    folder: PathBuf,
    next: AtomicU64,
}

impl BlobFolder {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder, next: AtomicU64::new(0) }
    }

    /// Stores `bytes` durably and gives their digest. A blob whose bytes were damaged is written anew.
    pub(crate) fn put(&self, bytes: &[u8]) -> Result<Digest, StoreError> {
        let digest = Digest::of(bytes);
        let path = self.path(&digest);
        self.write(&path, bytes).map_err(|error| unusable(&path, &error))?;
        Ok(digest)
    }

    /// The bytes of a blob, whatever they are now.
    pub(crate) fn get(&self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.path(digest);
        match fs::read(&path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(unusable(&path, &error)),
        }
    }

    /// Removes a blob, if it is there.
    pub(crate) fn remove(&self, digest: &Digest) -> Result<(), StoreError> {
        let path = self.path(digest);
        match fs::remove_file(&path) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(unusable(&path, &error)),
        }
    }

    /// The digests of all blobs in order; a name that is none is an unreadable row.
    pub(crate) fn names(&self) -> Result<Vec<Row<Digest>>, StoreError> {
        let mut names = Vec::new();
        for folder in entries(&self.folder)? {
            if folder.starts_with(UNFINISHED) {
                continue;
            }
            let path = self.folder.join(&folder);
            if !path.is_dir() {
                names.push(Err(foreign(&folder)));
                continue;
            }
            for file in entries(&path)? {
                let name = format!("{folder}{file}");
                names.push(name.parse().map_err(|_| foreign(&format!("{folder}/{file}"))));
            }
        }
        Ok(names)
    }

    fn path(&self, digest: &Digest) -> PathBuf {
        let name = digest.to_string();
        let (folder, file) = name.split_at(2);
        self.folder.join(folder).join(file)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let folder = path.parent().unwrap_or(&self.folder);
        if fs::read(path).is_ok_and(|there| there == bytes) {
            // Somebody may have renamed it just now and not have synced the folder yet.
            return sync_folder(folder);
        }
        let is_new = !folder.is_dir();
        fs::create_dir_all(folder)?;
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let unfinished = self.folder.join(format!("{UNFINISHED}{}-{number}", std::process::id()));
        let written = File::create(&unfinished).and_then(|mut file| {
            fault::point();
            file.write_all(bytes)?;
            fault::point();
            file.sync_all()
        });
        if let Err(error) = written.and_then(|()| fs::rename(&unfinished, path)) {
            // What was half written is of no use to anybody; the first error is the one to tell.
            drop(fs::remove_file(&unfinished));
            return Err(error);
        }
        fault::point();
        sync_folder(folder)?;
        if is_new {
            sync_folder(&self.folder)?;
            self.folder.parent().map_or(Ok(()), sync_folder)?;
        }
        Ok(())
    }
}

/// Makes the names in a folder durable; where folders cannot be opened (Windows) the rename itself must do.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

fn entries(folder: &Path) -> Result<Vec<String>, StoreError> {
    let read = match fs::read_dir(folder) {
        Ok(read) => read,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unusable(folder, &error)),
    };
    let mut names: Vec<String> =
        read.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    Ok(names)
}

fn foreign(name: &str) -> UnreadableRow {
    UnreadableRow { place: format!("blobs/{name}"), reason: "its name is no digest".to_owned() }
}

fn unusable(place: &Path, error: &io::Error) -> StoreError {
    StoreError::Unusable {
        place: place.display().to_string(),
        reason: error.to_string(),
        next_step: "Check that the folder may be written and has room, or choose another home with --home"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blobs_are_kept_once_and_healed() {
        let home = tempfile::tempdir().unwrap();
        let blobs = BlobFolder::new(home.path().join("blobs"));
        assert_eq!(blobs.names(), Ok(Vec::new()));
        let digest = blobs.put(b"before").unwrap();
        assert_eq!(blobs.put(b"before"), Ok(digest));
        assert_eq!(blobs.get(&digest), Ok(Some(b"before".to_vec())));
        assert_eq!(blobs.get(&Digest::of(b"other")), Ok(None));
        fs::write(blobs.path(&digest), b"changed").unwrap();
        assert_eq!(blobs.put(b"before"), Ok(digest));
        assert_eq!(blobs.get(&digest), Ok(Some(b"before".to_vec())));
        fs::write(home.path().join("blobs/note.txt"), b"x").unwrap();
        assert_eq!(blobs.names(), Ok(vec![Ok(digest), Err(foreign("note.txt"))]));
        blobs.remove(&digest).unwrap();
        blobs.remove(&digest).unwrap();
        assert_eq!(blobs.get(&digest), Ok(None));
    }

    #[test]
    fn a_file_in_the_place_of_the_folder_is_an_error() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("blobs"), b"").unwrap();
        let blobs = BlobFolder::new(home.path().join("blobs"));
        assert!(matches!(blobs.put(b"x"), Err(StoreError::Unusable { .. })));
        assert!(matches!(blobs.get(&Digest::of(b"x")), Err(StoreError::Unusable { .. })));
    }
}
