//! What all providers share on the wire: one exchange over HTTP, framing, waits between tries, opaque data, words of errors.
//!
//! Start with [`Exchange`], which sends a body and reads an [`Answer`]. It knows no provider's JSON.

mod address;
mod exchange;
pub(crate) mod metadata;
mod retry;
mod retry_after;
mod sse;
mod words;

use haft_core::ports::TurnSink;

pub(crate) use exchange::Exchange;
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
