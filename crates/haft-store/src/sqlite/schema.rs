//! The database file: its tables, its version, and how a connection to it is opened.
//!
//! A newer format, a foreign database or a damaged file is refused and left as it is; nothing here ever deletes or replaces a file.
#![expect(
    clippy::disallowed_methods,
    reason = "this crate owns the home: it makes the folder of the database"
)]

use std::fs;
use std::path::Path;
use std::time::Duration;

use haft_core::ports::{StoreError, Timestamp};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

/// How long a writer waits for another process's transaction.
const BUSY: Duration = Duration::from_secs(5);
/// Marks the file as Haft's: the ASCII letters `Haft`.
const APPLICATION_ID: i32 = 0x4861_6674;
/// Pages in the write-ahead log before they are copied into the database: 16 MB, so that copying is rare.
const CHECKPOINT_PAGES: u32 = 4_000;

/// The smallest page of SQLite, in bytes.
const SHORTEST: u64 = 512;

/// The next step where another file stands in the place of the database.
const NOT_OURS: &str = "Move it away, or choose another home with --home; nothing was changed";

/// Steps from an empty database to the newest format; step `n` makes format `n + 1`. Never edit one that was released.
const MIGRATIONS: [&str; 2] = [include_str!("format-1.sql"), include_str!("format-2.sql")];

/// The newest format.
pub(crate) fn newest_format() -> u32 {
    MIGRATIONS.len() as u32
}

/// A connection that writes: makes folder, file and tables where they are missing.
pub(crate) fn open_writer(home: &Path, now: Timestamp) -> Result<Connection, StoreError> {
    let file = home.join("haft.db");
    fs::create_dir_all(home).map_err(|error| unusable(home, &error, "Choose another home with --home"))?;
    check_length(&file)?;
    let mut connection = Connection::open_with_flags(
        &file,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )
    .map_err(|error| failed(&file, &error))?;
    // Before anything is changed: a newer or foreign file stays as it is.
    format_of(&connection, &file)?;
    let mut tries_left = 100;
    while let Err(error) = prepare(&mut connection, now) {
        // Two processes that make the database at once: SQLite does not wait while the log mode is changed.
        if tries_left == 0 || !is_busy(&error) {
            return Err(failed(&file, &error));
        }
        tries_left -= 1;
        std::thread::sleep(Duration::from_millis(10));
    }
    format_of(&connection, &file)?;
    Ok(connection)
}

/// Plans that do not look at bound values. Else the partial indexes make SQLite prepare a statement anew at every use.
fn stable_plans(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_prepared_statement_cache_capacity(64);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(drop)
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// A connection that reads; none while there is no database yet.
pub(crate) fn open_reader(home: &Path) -> Result<Option<Connection>, StoreError> {
    let file = home.join("haft.db");
    match fs::metadata(&file) {
        Ok(found) if found.is_file() => {}
        Ok(_) => {
            return Err(unusable(
                &file,
                &"it is no file",
                "Move it away, or choose another home with --home",
            ));
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unusable(&file, &error, "Choose another home with --home")),
    }
    check_length(&file)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(&file, flags).map_err(|error| failed(&file, &error))?;
    let opened = connection
        .busy_timeout(BUSY)
        .and_then(|()| stable_plans(&connection))
        .and_then(|()| connection.pragma_update(None, "query_only", true));
    opened.map_err(|error| failed(&file, &error))?;
    if format_of(&connection, &file)? < newest_format() {
        // Made by a process that died at once, or in an older format: the first write brings it up to date.
        return if is_empty(&connection).map_err(|error| failed(&file, &error))? {
            Ok(None)
        } else {
            drop(connection);
            open_writer(home, Timestamp(0))?;
            open_reader(home)
        };
    }
    Ok(Some(connection))
}

/// Refuses a file that is too short for a database: SQLite takes it for an empty one and would write over it. The file itself must
/// not be opened here, since closing it would drop the locks that this process holds on it by other connections.
fn check_length(file: &Path) -> Result<(), StoreError> {
    match fs::metadata(file) {
        Ok(found) if (1..SHORTEST).contains(&found.len()) => {
            Err(unusable(file, &"file is not a database", NOT_OURS))
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

/// The format of the file; an error if it is newer than this Haft or no database of Haft's.
fn format_of(connection: &Connection, file: &Path) -> Result<u32, StoreError> {
    // In one transaction: another process may be making the tables at this moment.
    let read = || -> rusqlite::Result<(i64, i64, bool)> {
        let transaction = connection.unchecked_transaction()?;
        let number = |name: &str| transaction.pragma_query_value(None, name, |row| row.get(0));
        Ok((number("application_id")?, number("user_version")?, is_empty(&transaction)?))
    };
    let (application, format, is_empty) = read().map_err(|error| failed(file, &error))?;
    let is_ours = application == i64::from(APPLICATION_ID);
    let is_new = format == 0 && is_empty;
    if !is_ours && !is_new {
        return Err(unusable(file, &"it is a database of another program", NOT_OURS));
    }
    let found = u32::try_from(format).unwrap_or(u32::MAX);
    if found > newest_format() {
        let place = file.display().to_string();
        return Err(StoreError::TooNew { place, found, known: newest_format() });
    }
    Ok(found)
}

fn is_empty(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)", [], |row| row.get(0))
}

fn prepare(connection: &mut Connection, now: Timestamp) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY)?;
    connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "secure_delete", true)?;
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    stable_plans(connection)?;
    let format = |connection: &Connection| {
        connection.pragma_query_value(None, "user_version", |row| row.get::<_, u32>(0))
    };
    if format(connection)? >= newest_format() {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have done it meanwhile.
    let from = format(&transaction)?;
    for migration in MIGRATIONS.iter().skip(from as usize) {
        transaction.execute_batch(migration)?;
    }
    if from == 0 {
        transaction.execute("INSERT INTO meta VALUES ('created', ?1)", [now.to_string()])?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    }
    if from < newest_format() {
        transaction.pragma_update(None, "user_version", newest_format())?;
    }
    transaction.commit()
}

/// An error of SQLite as one of the store, with the next step.
pub(crate) fn failed(file: &Path, error: &rusqlite::Error) -> StoreError {
    let next_step = match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => NOT_OURS,
        Some(ErrorCode::DatabaseCorrupt) => {
            "Copy the folder away first, then see what is left with `haft audit verify`; nothing was changed"
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "Another process writes to it; try again when it is done"
        }
        Some(ErrorCode::DiskFull) => "Make room on the disk and try again; what was acknowledged is kept",
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            "Check that the folder exists and may be written, or choose another home with --home"
        }
        _ => "Try again; if it stays, copy the folder away and run `haft audit verify`",
    };
    unusable(file, error, next_step)
}

/// A place that cannot be used.
pub(crate) fn unusable(place: &Path, reason: &dyn std::fmt::Display, next_step: &str) -> StoreError {
    StoreError::Unusable {
        place: place.display().to_string(),
        reason: reason.to_string(),
        next_step: next_step.to_owned(),
    }
}
