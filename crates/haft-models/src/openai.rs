//! Chat completions as OpenAI defined them and many servers speak them: streaming, native tools, retries of requests.
//!
//! Start with [`OpenAi`]; `request` writes, `answer` and `calls` put an answer together; `wire` sends and reads.
//! Nothing outside this module sees the wire format (PRV-03).

mod answer;
mod calls;
mod request;

use std::sync::Arc;

use haft_core::BoxFuture;
use haft_core::ports::{BlobRows, Cancel, Model, ModelError, ModelRequest, ModelTraits, ModelTurn, TurnSink};

use crate::build::BuildError;
use crate::call_ids;
use crate::entry::{CallIds, Grammar, Hold, ModelEntry, NATIVE};
use crate::wire::{Exchange, Gallery, Names, Wire, unless_filtered};
use answer::Answer;

static WIRE: Wire = Wire {
    server: "an OpenAI-compatible server",
    ending: "/v1",
    key_header: "authorization",
    key_prefix: "Bearer ",
    headers: &[],
};

/// A model behind an OpenAI-compatible address, spoken to in its own JSON.
///
/// ```
/// use haft_core::Model;
/// use haft_models::{ModelEntry, OpenAi, Secret};
///
/// let model = OpenAi::new(ModelEntry::openai("gpt-5", Secret::new("sk-123")))?;
/// assert_eq!(model.traits().name, "openai:gpt-5");
/// assert_eq!(model.traits().dialect, "native");
/// # Ok::<(), haft_models::BuildError>(())
/// ```
#[derive(Debug, Clone)]
pub struct OpenAi {
    entry: ModelEntry,
    hold: Option<Hold>,
    exchange: Exchange,
    traits: ModelTraits,
    gallery: Gallery,
}

impl OpenAi {
    /// Makes the model of `entry`, whose dialect is not looked at. Nothing is sent.
    ///
    /// # Errors
    /// The address, the key or the proxy cannot be used, or the machine has no certificates.
    pub fn new(entry: ModelEntry) -> Result<Self, BuildError> {
        let exchange = Exchange::new(&entry, &WIRE, "/chat/completions")?;
        let traits = ModelTraits {
            name: entry.name.clone(),
            dialect: NATIVE.to_owned(),
            images: entry.images,
            wraps_results: false,
            provider_call_ids: entry.call_ids == CallIds::Provider,
            context_tokens: entry.context_tokens,
        };
        let hold = match &entry.grammar {
            Some(Grammar::Text(text)) => Some(Hold::Gbnf(text.clone())),
            Some(Grammar::Gbnf | Grammar::JsonSchema) | None => None,
        };
        Ok(Self { entry, hold, exchange, traits, gallery: Gallery::default() })
    }

    /// The same model, its answers held to `hold` alone.
    pub(crate) fn held_to(&self, hold: Hold) -> Self {
        Self { hold: Some(hold), ..self.clone() }
    }

    /// Lets it read images out of `blobs`; they are sent only where the entry says that the model takes images (CONFLICT-33).
    #[must_use]
    pub fn with_images(mut self, blobs: Option<Arc<dyn BlobRows>>) -> Self {
        self.gallery = Gallery::new(self.entry.images, blobs);
        self
    }
}

impl Model for OpenAi {
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
            let body =
                request::body(&self.entry, self.hold.as_ref(), server, request, &names, &images).to_string();
            let answer: Answer = self.exchange.ask(body.as_bytes(), sink, cancel).await?;
            let turn = unless_filtered(&self.traits.name, answer.finish(&names, server), "content_filter")?;
            if self.traits.provider_call_ids {
                call_ids::check(&self.traits.name, &turn.calls, request)?;
            }
            Ok(turn)
        })
    }
}
