//! The builtin tools, each called along the real path: registry, profile, snapshot, gate, prepare, decide, commit, start.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod artifacts;
mod catalog;
mod data;
mod escapes;
mod files;
mod support;
