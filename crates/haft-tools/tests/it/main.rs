//! The builtin tools, each called along the real path: registry, profile, snapshot, gate, prepare, decide, commit, start.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod artifacts;
mod catalog;
mod chat;
mod data;
mod dice;
mod escapes;
mod file_edit;
mod files;
#[cfg(unix)]
mod host;
#[cfg(unix)]
mod host_attacks;
#[cfg(unix)]
mod host_support;
#[cfg(unix)]
mod secrets;
mod skills;
mod support;
mod workspace;
mod workspace_model;
mod worldinfo;
