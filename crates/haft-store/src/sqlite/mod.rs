//! The store in one SQLite database and a folder of blobs: what `haft` keeps in its home.
//!
//! Everything that is written goes through one queue with group commit (`commit.rs`); everything is read through one other
//! connection, which never waits for a sync. Tables stand in `format-1.sql` and `format-2.sql`. No clock is read here: times are handed in.
//! Files and artifact texts of any size are rows of the database for now; only before-images are blobs.

mod audit;
mod commit;
#[cfg(test)]
mod crash_tests;
mod grants;
mod journal;
mod projects;
mod removal;
mod schema;
mod sessions;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use haft_core::Digest;
use haft_core::ports::{BlobRows, BoxFuture, StoreError, Timestamp};
use rusqlite::Connection;

use self::commit::Committer;
use self::schema::{failed, open_reader, unusable};
use crate::blobs::BlobFolder;

/// A store in a folder: `haft.db` and `blobs/`.
///
/// ```
/// use haft_core::ports::{NewSession, SessionRows};
/// use haft_core::{SessionId, Timestamp};
/// use haft_store::SqliteStore;
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let home = tempfile::tempdir()?;
/// let store = SqliteStore::open(home.path(), Timestamp(1))?;
/// assert!(store.sessions().await?.is_empty());
/// assert_eq!(std::fs::read_dir(home.path())?.count(), 0, "nothing is made before the first write");
///
/// let id = SessionId::new("s_1");
/// let session = NewSession { id: id.clone(), created: Timestamp(1), profile: "default".into(), project: None };
/// store.create_session(&session).await?;
/// let lease = store.lease(&id, "haft chat", Timestamp(1)).await?;
/// assert_eq!(lease.epoch, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SqliteStore {
    home: PathBuf,
    committer: Committer,
    reader: Mutex<Option<Connection>>,
    blobs: BlobFolder,
}

impl SqliteStore {
    /// Opens the store in `home`. Nothing is made before the first write; an existing database that this Haft cannot use is
    /// refused at once and left as it is. `now` is noted as the time of creation if the database is made.
    ///
    /// # Errors
    /// [`StoreError::TooNew`] for a newer format, [`StoreError::Unusable`] for a file that is no database of Haft's or a place
    /// that cannot be read.
    pub fn open(home: &Path, now: Timestamp) -> Result<Self, StoreError> {
        if std::fs::metadata(home).is_ok_and(|found| !found.is_dir()) {
            return Err(unusable(home, &"it is no folder", "Choose another home with --home"));
        }
        let reader = open_reader(home)?;
        Ok(Self {
            home: home.to_owned(),
            committer: Committer::new(home.to_owned(), now),
            reader: Mutex::new(reader),
            blobs: BlobFolder::new(home.join("blobs")),
        })
    }

    /// The folder.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Durable transactions since it was opened, each with one sync: what a bench counts.
    pub fn commits(&self) -> u64 {
        self.committer.commits()
    }

    /// Reads; gives `empty` while there is no database.
    fn read<T>(
        &self,
        empty: impl FnOnce() -> T,
        work: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        blocking(|| {
            let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
            if reader.is_none() {
                *reader = open_reader(&self.home)?;
            }
            reader.as_ref().map_or_else(|| Ok(empty()), work)
        })
    }

    fn database(&self) -> PathBuf {
        self.home.join("haft.db")
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore")
            .field("home", &self.home)
            .field("commits", &self.commits())
            .finish_non_exhaustive()
    }
}

impl BlobRows for SqliteStore {
    fn put_blob<'a>(&'a self, bytes: &'a [u8]) -> BoxFuture<'a, Result<Digest, StoreError>> {
        Box::pin(async move { blocking(|| self.blobs.put(bytes)) })
    }

    fn blob<'a>(&'a self, digest: &'a Digest) -> BoxFuture<'a, Result<Option<Vec<u8>>, StoreError>> {
        Box::pin(async move { blocking(|| self.blobs.get(digest)) })
    }
}

/// Runs work that waits for a disk. Workers of a runtime with several threads let others go on meanwhile; tokio allows that nowhere
/// inside a `LocalSet`, so a store is not used there.
fn blocking<T>(work: impl FnOnce() -> T) -> T {
    use tokio::runtime::{Handle, RuntimeFlavor};
    match Handle::try_current() {
        Ok(handle) if handle.runtime_flavor() == RuntimeFlavor::MultiThread => {
            tokio::task::block_in_place(work)
        }
        Ok(_) | Err(_) => work(),
    }
}

/// An error of SQLite inside a transaction or a read.
fn on(database: &Path) -> impl Fn(rusqlite::Error) -> StoreError + '_ {
    move |error| match error {
        rusqlite::Error::FromSqlConversionFailure(..)
        | rusqlite::Error::InvalidColumnType(..)
        | rusqlite::Error::IntegralValueOutOfRange(..) => StoreError::Damaged { what: error.to_string() },
        error => failed(database, &error),
    }
}

/// A time as the database keeps it.
fn stored_time(time: Timestamp) -> i64 {
    i64::try_from(time.0).unwrap_or(i64::MAX)
}

/// A time as the database gives it.
fn read_time(stored: i64) -> Timestamp {
    Timestamp(u64::try_from(stored).unwrap_or(0))
}
