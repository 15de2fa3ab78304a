//! A text dialect over any model: tools are explained in the prompt, calls are read out of the answer (CONFLICT-02).
//!
//! The model below sees plain text and no tools; whoever asks sees calls, as from any other model.

use haft_core::BoxFuture;
use haft_core::ports::{Cancel, Model, ModelError, ModelRequest, ModelTraits, ModelTurn, TurnSink};

use crate::build::BuildError;
use crate::entry::{Grammar, Hold};
use crate::text_form::{Reader, TextForm};

/// A model that is spoken to in a text dialect.
///
/// ```
/// use haft_core::Model;
/// use haft_models::{Scripted, TextDialect};
///
/// let script = r#"{"text": "<tool_call><name>now</name><params></params></tool_call>"}"#;
/// let model = TextDialect::new(Scripted::from_jsonl("s", script)?, "artifact-xml", None)?;
/// assert_eq!(model.traits().dialect, "artifact-xml");
/// assert!(model.traits().wraps_results);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct TextDialect<M> {
    model: M,
    form: TextForm,
    traits: ModelTraits,
    held: Option<Held<M>>,
}

/// How the calls of a request are forced into form.
#[derive(Debug)]
struct Held<M> {
    grammar: Grammar,
    /// The model below, its answers held to this.
    hold: fn(&M, Hold) -> M,
}

impl<M: Model> TextDialect<M> {
    /// Speaks to `model` in `dialect`, calls enclosed by `tag` where the usual tag cannot be written.
    ///
    /// # Errors
    /// Nobody speaks the dialect, or the tag is no name.
    pub fn new(model: M, dialect: &str, tag: Option<&str>) -> Result<Self, BuildError> {
        let form = TextForm::new(&model.traits().name, dialect, tag)?;
        let traits = ModelTraits {
            dialect: form.name().to_owned(),
            wraps_results: form.wraps_results(),
            // PRV-02 does not apply to text (CONFLICT-03).
            provider_call_ids: false,
            context_tokens: None,
            ..model.traits().clone()
        };
        Ok(Self { model, form, traits, held: None })
    }

    /// The same, the calls of each request being forced into form by a model below that `hold` makes.
    pub(crate) fn held(self, grammar: Grammar, hold: fn(&M, Hold) -> M) -> Self {
        let form = match grammar {
            Grammar::JsonSchema => self.form.with_answers(),
            Grammar::Gbnf | Grammar::Text(_) => self.form,
        };
        Self { form, held: Some(Held { grammar, hold }), ..self }
    }

    /// The model below for this request, where its calls are forced into form.
    fn holding(&self, request: &ModelRequest) -> Option<M> {
        let held = self.held.as_ref()?;
        let hold = self.form.hold(&held.grammar, request)?;
        Some((held.hold)(&self.model, hold))
    }
}

impl<M: Model> Model for TextDialect<M> {
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
            let as_text = self.form.as_text(request);
            if request.tools.is_empty() {
                // Nothing can be called: text is text.
                return self.model.turn(&as_text, sink, cancel).await;
            }
            let holding = self.holding(request);
            let model = holding.as_ref().unwrap_or(&self.model);
            let mut reading = Reading { reader: self.form.reader(&request.tools), sink };
            let turn = model.turn(&as_text, &mut reading, cancel).await?;
            let Reading { reader, sink } = reading;
            Ok(reader.finish(turn, sink))
        })
    }
}

/// Reads what the model below streams, and passes on what a person should see.
pub(crate) struct Reading<'a> {
    pub(crate) reader: Reader<'a>,
    pub(crate) sink: &'a mut dyn TurnSink,
}

impl TurnSink for Reading<'_> {
    fn text(&mut self, delta: &str) {
        self.reader.feed(delta, self.sink);
    }

    fn reasoning(&mut self, delta: &str) {
        self.sink.reasoning(delta);
    }

    fn restarted(&mut self, reason: &str) {
        self.reader.restart();
        self.sink.restarted(reason);
    }
}
