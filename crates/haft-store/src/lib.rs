//! What lasts: sessions, journals, run workspaces, artifacts, projects and blobs, in SQLite or in memory.
//!
//! [`SqliteStore`] is the home on disk and [`MemoryStore`] its twin for a process's lifetime; both implement
//! [`Store`](haft_core::ports::Store) with the same laws. [`verify`] tells whether all that is stored fits, [`export`] writes a run
//! in the form of `docs/spec/journal.md`.
//!
//! This crate must not know models, tools or policy, reads no clock and makes no ids.

#[cfg(feature = "sqlite")]
mod blobs;
pub mod export;
#[cfg(feature = "sqlite")]
mod fault;
mod lease;
mod memory;
mod process;
mod removal;
mod rows;
#[cfg(feature = "sqlite")]
mod sqlite;
pub mod verify;

pub use export::{Export, export_run};
pub use memory::MemoryStore;
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteStore;
