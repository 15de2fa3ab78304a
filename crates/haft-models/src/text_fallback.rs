//! Calls in the content of a model that is spoken to natively: some models write them as text although their server takes
//! tools (CONFLICT-02). They are read in whatever dialect they stand in, and count where the answer has no native call.
//!
//! It must not stand over models whose drift has to be seen: the caller decides.

use std::sync::Arc;

use haft_core::ports::{Cancel, Model, ModelError, ModelRequest, ModelTraits, ModelTurn, TurnSink};
use haft_core::{BoxFuture, ToolChoice};

use crate::text_dialect::Reading;
use crate::text_form::TextForm;

/// `model`, and calls read out of its text where it makes none natively.
///
/// ```
/// use std::sync::Arc;
///
/// use haft_models::{Scripted, with_text_fallback};
///
/// let script = r#"{"text": "<tool_call>{\"name\": \"now\", \"arguments\": {}}</tool_call>"}"#;
/// let model = with_text_fallback(Arc::new(Scripted::from_jsonl("s", script)?));
/// assert_eq!(model.traits().dialect, "native");
/// # Ok::<(), haft_models::ScriptError>(())
/// ```
pub fn with_text_fallback(model: Arc<dyn Model>) -> Arc<dyn Model> {
    Arc::new(TextFallback { model, form: TextForm::of_any() })
}

struct TextFallback {
    model: Arc<dyn Model>,
    form: TextForm,
}

impl Model for TextFallback {
    fn traits(&self) -> &ModelTraits {
        self.model.traits()
    }

    fn turn<'a>(
        &'a self,
        request: &'a ModelRequest,
        sink: &'a mut dyn TurnSink,
        cancel: &'a dyn Cancel,
    ) -> BoxFuture<'a, Result<ModelTurn, ModelError>> {
        Box::pin(async move {
            if request.tools.is_empty() || request.choice == ToolChoice::None {
                return self.model.turn(request, sink, cancel).await;
            }
            let mut reading = Reading { reader: self.form.reader(&request.tools), sink };
            let turn = self.model.turn(request, &mut reading, cancel).await?;
            if !turn.calls.is_empty() {
                // It knows how to call: its text is text.
                return Ok(turn);
            }
            let Reading { reader, sink } = reading;
            let plain = turn.clone();
            let read = reader.finish(turn, sink);
            Ok(if read.calls.is_empty() { plain } else { read })
        })
    }
}
