//! What all providers share on the wire: one exchange over HTTP, framing, waits between tries, opaque data, words of errors.
//!
//! Start with [`Exchange`], which sends a body and reads an [`Answer`]. It knows no provider's JSON.

mod address;
mod arguments;
mod exchange;
mod ids;
mod images;
pub(crate) mod layout;
pub(crate) mod metadata;
mod names;
mod retry;
mod retry_after;
mod sse;
mod words;

use haft_core::ports::{FinishReason, ModelError, ModelTurn, TurnSink};
use serde_json::{Map, Value};

pub(crate) use arguments::Written;
pub(crate) use exchange::Exchange;
pub(crate) use ids::{WireIds, aliases};
pub(crate) use images::{Gallery, Images};
pub(crate) use names::Names;
pub(crate) use sse::Event;
pub(crate) use words::{reported, shortened};

/// How a kind of service is spoken to.
#[derive(Debug)]
pub(crate) struct Wire {
    /// What such a server is called, for messages: `an OpenAI-compatible server`.
    pub(crate) server: &'static str,
    /// How its addresses usually end.
    pub(crate) ending: &'static str,
    /// The header that carries the key.
    pub(crate) key_header: &'static str,
    /// What stands before the key in it.
    pub(crate) key_prefix: &'static str,
    /// Headers that go with every request.
    pub(crate) headers: &'static [(&'static str, &'static str)],
}

/// Why an answer cannot go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Broken {
    /// It is not what such a server answers.
    Nonsense(String),
    /// Its JSON ends too early.
    Cut,
    /// The server reports an error inside its answer.
    Reported {
        /// An HTTP status, where one is given.
        status: Option<u16>,
        /// The server's words.
        message: String,
    },
}

/// An answer in the making.
pub(crate) trait Answer: Default + Send {
    /// Takes one event of a stream.
    fn take_event(&mut self, event: &Event, sink: &mut dyn TurnSink) -> Result<(), Broken>;
    /// Takes a whole answer that came without a stream.
    fn take_whole(&mut self, body: &str, sink: &mut dyn TurnSink) -> Result<(), Broken>;
    /// Whether the answer has its end.
    fn is_ended(&self) -> bool;
    /// Whether the server said that nothing follows.
    fn is_done(&self) -> bool;
    /// Whether nothing at all came.
    fn is_empty(&self) -> bool;
}

/// `turn`, unless a filter of the provider left nothing of it: that is a refusal, whose words are `why`.
pub(crate) fn unless_filtered(model: &str, turn: ModelTurn, why: &str) -> Result<ModelTurn, ModelError> {
    if turn.finish_reason != FinishReason::ContentFilter
        || !turn.text.trim().is_empty()
        || !turn.calls.is_empty()
    {
        return Ok(turn);
    }
    Err(refused_by_filter(model, why))
}

/// A request that a filter of the provider refused, in the provider's words.
pub(crate) fn refused_by_filter(model: &str, why: &str) -> ModelError {
    let why = shortened(why.trim_end_matches('.'), 300);
    let body =
        format!("its filter let no answer through: {why}. Say it in other words, or choose another model");
    ModelError::Refused { model: model.to_owned(), status: 200, body }
}

/// Adds what a model entry wants in every request: it beats what stands there, objects are merged.
pub(crate) fn add_extra(body: &mut Map<String, Value>, extra: &Map<String, Value>) {
    for (key, value) in extra {
        match (body.get_mut(key), value) {
            (Some(Value::Object(own)), Value::Object(more)) => add_extra(own, more),
            _ => drop(body.insert(key.clone(), value.clone())),
        }
    }
}
