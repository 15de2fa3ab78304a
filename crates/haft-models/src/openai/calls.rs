//! Puts the calls of an answer together from pieces, as real servers send them.
//!
//! Servers count an index and split the arguments; others send whole calls under one index, repeat the id in every piece
//! or in every call, send no id, no index or an object for the arguments. All of that ends in the same calls.

use haft_core::RequestedCall;
use haft_schema::json::{self, Syntax};
use serde_json::{Map, Value};

use crate::wire::{Names, Written, metadata};

/// Calls that are being put together.
#[derive(Debug, Default)]
pub(super) struct Calls {
    slots: Vec<Slot>,
}

#[derive(Debug, Default)]
struct Slot {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    /// Fields that the contract does not name: thought signatures …
    extra: Map<String, Value>,
}

impl Calls {
    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Takes one piece: an element of `tool_calls`.
    pub(super) fn take(&mut self, piece: Map<String, Value>) {
        let piece = Piece::read(piece);
        let slot = match self.place(&piece) {
            Some(place) => &mut self.slots[place],
            None => {
                self.slots.push(Slot { index: piece.index, ..Slot::default() });
                let last = self.slots.len() - 1;
                &mut self.slots[last]
            }
        };
        slot.add(piece);
    }

    /// Which call the piece goes on with; none for a new one.
    fn place(&self, piece: &Piece) -> Option<usize> {
        let candidate = match (piece.index, piece.id.is_empty()) {
            (Some(index), _) => self.slots.iter().rposition(|slot| slot.index == Some(index))?,
            (None, false) => match self.slots.iter().rposition(|slot| slot.id == piece.id) {
                Some(known) => known,
                // The id may come after the first piece of a call.
                None => self.slots.len().checked_sub(1).filter(|_| piece.name.is_empty())?,
            },
            (None, true) => self.slots.len().checked_sub(1)?,
        };
        (!self.slots[candidate].is_over(piece)).then_some(candidate)
    }

    /// The finished calls, in the order in which they began. `cut`: the answer ran out of tokens;
    /// `server` marks whose the opaque data are.
    pub(super) fn finish(self, names: &Names<'_>, cut: bool, server: &str) -> Vec<RequestedCall> {
        self.slots.into_iter().map(|slot| slot.written(server).read(names, cut)).collect()
    }
}

/// An element of `tool_calls`, sorted.
struct Piece {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    extra: Map<String, Value>,
}

impl Piece {
    fn read(mut piece: Map<String, Value>) -> Self {
        let index = piece.shift_remove("index").and_then(|value| value.as_u64());
        let id = piece.shift_remove("id").map(text_of).unwrap_or_default();
        piece.shift_remove("type");
        let (mut name, mut arguments) = (String::new(), String::new());
        if let Some(Value::Object(mut function)) = piece.shift_remove("function") {
            name = function.shift_remove("name").map(text_of).unwrap_or_default();
            arguments = function.shift_remove("arguments").map(text_of).unwrap_or_default();
            function.retain(|_, value| !value.is_null());
            if !function.is_empty() {
                piece.insert("function".into(), Value::Object(function));
            }
        }
        piece.retain(|_, value| !value.is_null());
        Self { index, id, name, arguments, extra: piece }
    }
}

/// Text as it is, nothing for null, any other value as JSON.
fn text_of(value: Value) -> String {
    match value {
        Value::String(text) => text,
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

impl Slot {
    /// Whether `piece` cannot belong to this call any more.
    fn is_over(&self, piece: &Piece) -> bool {
        if !piece.id.is_empty() && !self.id.is_empty() && piece.id != self.id {
            return true;
        }
        if piece.name.is_empty() || self.arguments.is_empty() {
            return false;
        }
        // A name after arguments: another call, or one that repeats its name in every piece.
        piece.name != self.name
            || (self.is_whole() && !piece.arguments.is_empty() && !self.is_repeated_by(piece))
    }

    /// Some servers send the whole call once more at the end.
    fn is_repeated_by(&self, piece: &Piece) -> bool {
        !self.id.is_empty()
            && piece.id == self.id
            && piece.index.is_some()
            && piece.arguments == self.arguments
    }

    fn is_whole(&self) -> bool {
        self.arguments.trim_end().ends_with('}') && json::parse(&self.arguments, Syntax::Json).is_ok()
    }

    fn add(&mut self, piece: Piece) {
        if piece.name == self.name && self.is_whole() && self.is_repeated_by(&piece) {
            return merge(&mut self.extra, piece.extra);
        }
        if self.id.is_empty() {
            self.id = piece.id;
        }
        if self.name.is_empty() || piece.name.starts_with(&self.name) {
            if !piece.name.is_empty() {
                self.name = piece.name;
            }
        } else if self.arguments.is_empty() {
            self.name.push_str(&piece.name);
        }
        self.arguments.push_str(&piece.arguments);
        merge(&mut self.extra, piece.extra);
    }

    fn written(self, server: &str) -> Written {
        let metadata = (!self.extra.is_empty()).then(|| metadata::wrap(server, self.extra));
        Written { id: self.id, name: self.name, arguments: self.arguments, metadata }
    }
}

/// Adds opaque fields: lists grow, objects merge, everything else is replaced.
pub(super) fn merge(into: &mut Map<String, Value>, from: Map<String, Value>) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (_, Value::Null) => {}
            (Some(Value::Array(old)), Value::Array(new)) => old.extend(new),
            (Some(Value::Object(old)), Value::Object(new)) => merge(old, new),
            (_, value) => {
                into.insert(key, value);
            }
        }
    }
}

#[cfg(test)]
#[path = "calls_tests.rs"]
mod tests;
