//! `generateContent` as Gemini speaks it: streaming, function calls with thought signatures, retries of requests.
//!
//! Start with [`Gemini`]; `request` writes, `answer` puts an answer together out of its parts; `wire` sends and reads.
//! Nothing outside this module sees the wire format (PRV-03).

mod answer;
mod request;

use std::sync::Arc;

use haft_core::BoxFuture;
use haft_core::ports::{
    BlobRows, Cancel, FinishReason, Model, ModelError, ModelRequest, ModelTraits, ModelTurn, TurnSink,
};

use crate::build::BuildError;
use crate::call_ids;
use crate::entry::{CallIds, ModelEntry, NATIVE};
use crate::wire::{Exchange, Gallery, Names, Wire, unless_filtered};
use answer::Answer;

static WIRE: Wire = Wire {
    server: "a server that speaks Gemini's API",
    ending: "/v1beta",
    key_header: "x-goog-api-key",
    key_prefix: "",
    headers: &[],
};

/// A model behind an address that speaks Gemini's API.
///
/// ```
/// use haft_core::Model;
/// use haft_models::{Gemini, ModelEntry, Secret};
///
/// let model = Gemini::new(ModelEntry::gemini("gemini-2.5-flash", Secret::new("AIza123")))?;
/// assert_eq!(model.traits().name, "gemini:gemini-2.5-flash");
/// assert_eq!(model.traits().dialect, "native");
/// # Ok::<(), haft_models::BuildError>(())
/// ```
#[derive(Debug)]
pub struct Gemini {
    entry: ModelEntry,
    exchange: Exchange,
    traits: ModelTraits,
    gallery: Gallery,
}

impl Gemini {
    /// Makes the model of `entry`, whose dialect and api are not looked at. Nothing is sent.
    ///
    /// # Errors
    /// The address, the key or the proxy cannot be used, or the machine has no certificates.
    pub fn new(entry: ModelEntry) -> Result<Self, BuildError> {
        let exchange = Exchange::new(&entry, &WIRE, &path(&entry.model))?;
        let traits = ModelTraits {
            name: entry.name.clone(),
            dialect: NATIVE.to_owned(),
            images: entry.images,
            wraps_results: false,
            provider_call_ids: entry.call_ids == CallIds::Provider,
            context_tokens: entry.context_tokens,
        };
        Ok(Self { entry, exchange, traits, gallery: Gallery::default() })
    }

    /// Lets it read images out of `blobs`; they are sent only where the entry says that the model takes images (CONFLICT-33).
    #[must_use]
    pub fn with_images(mut self, blobs: Option<Arc<dyn BlobRows>>) -> Self {
        self.gallery = Gallery::new(self.entry.images, blobs);
        self
    }
}

/// Where the model is asked: its name is a part of the path.
fn path(model: &str) -> String {
    let mut path = if model.starts_with("models/") || model.starts_with("tunedModels/") {
        "/".to_owned()
    } else {
        "/models/".to_owned()
    };
    for byte in model.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'/') {
            path.push(char::from(byte));
        } else {
            path.push_str(&format!("%{byte:02X}"));
        }
    }
    path + ":streamGenerateContent?alt=sse"
}

impl Model for Gemini {
    fn traits(&self) -> &ModelTraits {
        &self.traits
    }

    fn turn<'a>(
        &'a self,
        request: &'a ModelRequest,
        sink: &'a mut dyn TurnSink,
        cancel: &'a dyn Cancel,
    ) -> BoxFuture<'a, Result<ModelTurn, ModelError>> {
        Box::pin(async move {
            let malformed = |reason| ModelError::Malformed { model: self.traits.name.clone(), reason };
            let (server, names) = (&self.exchange.server, Names::new(&request.tools));
            let images = self.gallery.of(request).await;
            let body =
                request::body(&self.entry, server, request, &names, &images).map_err(malformed)?.to_string();
            let answer: Answer = self.exchange.ask(body.as_bytes(), sink, cancel).await?;
            let (turn, why) = answer.finish(&names, server);
            let turn = unless_filtered(&self.traits.name, turn, &why)?;
            if turn.finish_reason == FinishReason::Other && turn.text.is_empty() && turn.calls.is_empty() {
                return Err(malformed(format!("it stopped without an answer: {why}")));
            }
            if self.traits.provider_call_ids {
                call_ids::check(&self.traits.name, &turn.calls, request)?;
            }
            Ok(turn)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::path;

    #[test]
    fn the_name_of_a_model_is_a_part_of_the_path() {
        assert_eq!(path("gemini-2.5-flash"), "/models/gemini-2.5-flash:streamGenerateContent?alt=sse");
        assert_eq!(path("tunedModels/x"), "/tunedModels/x:streamGenerateContent?alt=sse");
        assert_eq!(path("a?b#ü"), "/models/a%3Fb%23%C3%BC:streamGenerateContent?alt=sse");
    }
}
