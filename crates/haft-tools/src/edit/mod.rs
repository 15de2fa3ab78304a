//! The edit engine: what a model has read of a file, and exact replacement of one passage in it (WSP-08 to WSP-11).
//!
//! Pure: it is given the text of a file as it is now and what is known of it, and gives the new text with a receipt, or an
//! error that says what to do. It opens nothing, stores nothing, and shares no matching with the artifact tools
//! (CONFLICT-20). Start reading at [`patch`](patch::patch).
//!
//! A version is known by the SHA-256 of its content, never by a clock. Of what was read it keeps one number a line, not the
//! text: enough to say which lines others changed, and to see that a passage is still the one that was read.

#![cfg_attr(
    not(all(feature = "files", feature = "workspace")),
    allow(dead_code, unused_imports, reason = "each family uses its part of the engine")
)]

mod changes;
mod known;
mod nearest;
mod patch;
#[cfg(test)]
mod properties;
mod reads;

pub(crate) use known::{KnownFile, WriteRefusal};
pub(crate) use patch::{Manner, NextRead, Patch, PatchError, Patched, patch};
pub(crate) use reads::FileReads;

/// `line 3`, `lines 3-5`.
pub(crate) fn span(first: usize, last: usize) -> String {
    if last <= first { format!("line {first}") } else { format!("lines {first}-{last}") }
}

/// `1 line`, `2 lines`.
pub(crate) fn lines(count: usize) -> String {
    if count == 1 { "1 line".to_owned() } else { format!("{count} lines") }
}

/// How many lines a text has, as readers count them.
pub(crate) fn line_count(text: &str) -> usize {
    text.split_inclusive('\n').count()
}
