//! `demo`: what answers where no language model is set up. It makes the calls that it is told to make, line by line.
//!
//! It must never pretend to understand: it says what it is.

mod examples;
mod line;

use std::fmt::Write as _;

use haft_core::message::{Message, ResultMessage};
use haft_core::ports::{
    Cancel, FinishReason, Model, ModelError, ModelRequest, ModelTraits, ModelTurn, TurnSink,
};
use haft_core::{BoxFuture, ModelTool, RequestedCall, ToolChoice};

use crate::build::BuildError;
use crate::entry::NATIVE;
use crate::text_form::TextForm;
use line::Line;

const NAME: &str = "demo";

/// The demo.
///
/// ```
/// use haft_core::Model;
/// use haft_models::Demo;
///
/// assert_eq!(Demo::new().traits().name, "demo");
/// ```
#[derive(Debug, Clone)]
pub struct Demo {
    traits: ModelTraits,
    /// The text dialect in which it writes its calls; none for `native`.
    form: Option<TextForm>,
}

impl Default for Demo {
    fn default() -> Self {
        Self::new()
    }
}

impl Demo {
    /// The demo, speaking `native`.
    pub fn new() -> Self {
        let traits = ModelTraits {
            name: NAME.to_owned(),
            dialect: NATIVE.to_owned(),
            images: false,
            wraps_results: false,
            provider_call_ids: false,
            context_tokens: None,
        };
        Self { traits, form: None }
    }

    /// The demo in `dialect`: `native`, or a text dialect with `tag` instead of the usual one.
    ///
    /// # Errors
    /// Nobody speaks the dialect, or the tag is no name.
    pub fn in_dialect(dialect: &str, tag: Option<&str>) -> Result<Self, BuildError> {
        let mut demo = Self::new();
        if dialect != NATIVE {
            let form = TextForm::new(NAME, dialect, tag)?;
            form.name().clone_into(&mut demo.traits.dialect);
            demo.traits.wraps_results = form.wraps_results();
            demo.form = Some(form);
        }
        Ok(demo)
    }

    fn answer(request: &ModelRequest) -> (String, Vec<RequestedCall>) {
        match request.messages.last() {
            Some(Message::Results(results)) => (repeated(results), Vec::new()),
            Some(Message::User(text)) => {
                let callable: &[ModelTool] =
                    if request.choice == ToolChoice::None { &[] } else { &request.tools };
                told(text, callable)
            }
            Some(Message::Assistant { .. }) | None => (greeting(&request.tools), Vec::new()),
        }
    }
}

impl Model for Demo {
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
            if cancel.is_cancelled() {
                return Err(ModelError::Cancelled);
            }
            let (text, calls) = Self::answer(request);
            let finish_reason = if calls.is_empty() { FinishReason::Stop } else { FinishReason::ToolCalls };
            let turn = ModelTurn {
                text,
                reasoning: String::new(),
                calls,
                raw: None,
                finish_reason,
                usage: None,
                provider_metadata: None,
            };
            let Some(form) = self.form.as_ref().filter(|_| !turn.calls.is_empty()) else {
                sink.text(&turn.text);
                return Ok(turn);
            };
            // It writes as a model of the dialect does, and is read like one.
            let text = if form.text_beside_calls() { turn.text.as_str() } else { "" };
            let written = form.with_calls(text, &turn.calls);
            let mut reader = form.reader(&request.tools);
            reader.feed(&written, sink);
            Ok(reader.finish(ModelTurn { text: written, calls: Vec::new(), ..turn }, sink))
        })
    }
}

/// What came back, in its own words.
fn repeated(results: &[ResultMessage]) -> String {
    let mut text = String::new();
    for result in results {
        let name = if result.alias.is_empty() { "a call" } else { result.alias.as_str() };
        let verb = if result.is_error { "failed" } else { "answered" };
        let between = if text.is_empty() { "" } else { "\n\n" };
        // Writing to a String cannot fail.
        let _ = write!(text, "{between}{name} {verb}:\n{}", result.content);
    }
    text
}

/// The calls that a message asks for, and words beside them.
fn told(text: &str, tools: &[ModelTool]) -> (String, Vec<RequestedCall>) {
    let (mut calls, mut problems) = (Vec::new(), Vec::new());
    for one in text.lines() {
        match line::read(one, |word| tools.iter().any(|tool| tool.alias == word)) {
            Line::Call { name, arguments } => calls.push(RequestedCall::call(name, arguments)),
            Line::Unreadable(why) => problems.push(why),
            Line::Prose => {}
        }
    }
    if tools.is_empty() || (calls.is_empty() && problems.is_empty()) {
        return (greeting(tools), Vec::new());
    }
    let mut words = match calls.len() {
        0 => String::new(),
        1 => "I am the demo, no language model. I make this call:".to_owned(),
        count => format!("I am the demo, no language model. I make these {count} calls:"),
    };
    if !problems.is_empty() {
        words.push_str(if words.is_empty() { "I cannot read this:" } else { "\nI cannot read the rest:" });
        for problem in problems {
            words.push_str("\n- ");
            words.push_str(&problem);
        }
    }
    (words, calls)
}

fn greeting(tools: &[ModelTool]) -> String {
    let mut text = "I am the demo, no language model: I cannot answer, but I can make calls.".to_owned();
    let lines = examples::lines(tools);
    if tools.is_empty() {
        text.push_str(" No tool can be called now.");
    } else if lines.is_empty() {
        text.push_str(" Write one call a line: ALIAS key=value …, or ALIAS {json}.");
    } else {
        text.push_str(" Write one call a line, for example:\n\n");
        text.push_str(&lines.join("\n"));
    }
    text.push_str(
        "\n\nA language model is set by --model, for example --model http://127.0.0.1:8080/v1#NAME.",
    );
    text
}
