//! Messages as Anthropic defined them: streaming, tool_use blocks, thoughts with signatures, retries of requests.
//!
//! Start with [`Anthropic`]; `request` writes, `answer` puts an answer together out of its blocks; `wire` sends and reads.
//! Nothing outside this module sees the wire format (PRV-03).

mod answer;
mod blocks;
mod request;

use std::sync::Arc;

use haft_core::BoxFuture;
use haft_core::ports::{BlobRows, Cancel, Model, ModelError, ModelRequest, ModelTraits, ModelTurn, TurnSink};

use crate::build::BuildError;
use crate::call_ids;
use crate::entry::{CallIds, ModelEntry, NATIVE};
use crate::wire::{Exchange, Gallery, Names, Wire, unless_filtered};
use answer::Answer;

static WIRE: Wire = Wire {
    server: "a server that speaks Anthropic's Messages",
    ending: "/v1",
    key_header: "x-api-key",
    key_prefix: "",
    headers: &[("anthropic-version", "2023-06-01")],
};

/// A model behind an address that speaks Anthropic's Messages.
///
/// ```
/// use haft_core::Model;
/// use haft_models::{Anthropic, ModelEntry, Secret};
///
/// let model = Anthropic::new(ModelEntry::anthropic("claude-sonnet-4-5", Secret::new("sk-ant-123")))?;
/// assert_eq!(model.traits().name, "anthropic:claude-sonnet-4-5");
/// assert_eq!(model.traits().dialect, "native");
/// # Ok::<(), haft_models::BuildError>(())
/// ```
#[derive(Debug)]
pub struct Anthropic {
    entry: ModelEntry,
    exchange: Exchange,
    traits: ModelTraits,
    gallery: Gallery,
}

impl Anthropic {
    /// Makes the model of `entry`, whose dialect and api are not looked at. Nothing is sent.
    ///
    /// # Errors
    /// The address, the key or the proxy cannot be used, or the machine has no certificates.
    pub fn new(entry: ModelEntry) -> Result<Self, BuildError> {
        let exchange = Exchange::new(&entry, &WIRE, "/messages")?;
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

impl Model for Anthropic {
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
            let (server, names) = (&self.exchange.server, Names::new(&request.tools));
            let images = self.gallery.of(request).await;
            let body = request::body(&self.entry, server, request, &names, &images).to_string();
            let answer: Answer = self.exchange.ask(body.as_bytes(), sink, cancel).await?;
            let (turn, why) = answer.finish(&names, server);
            let turn = unless_filtered(&self.traits.name, turn, &why)?;
            if self.traits.provider_call_ids {
                call_ids::check(&self.traits.name, &turn.calls, request)?;
            }
            Ok(turn)
        })
    }
}
