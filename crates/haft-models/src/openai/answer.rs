//! An answer put together from the chunks of a stream, or from one whole completion.
//!
//! It knows the JSON of chat completions and nothing of HTTP. What it does not know is kept and goes back with the message.

use haft_core::RequestedCall;
use haft_core::ports::{FinishReason, ModelTurn, TurnSink, Usage};
use haft_schema::json;
use serde_json::{Map, Value};

use super::calls::{Calls, merge};
use crate::wire::{self, Broken, Event, Names, metadata, reported, shortened};

/// Names under which servers show reasoning; the first that a piece carries is shown.
const REASONING_FIELDS: [&str; 3] = ["reasoning_content", "reasoning", "thinking"];

/// An answer in the making.
#[derive(Debug, Default)]
pub(super) struct Answer {
    text: String,
    reasoning: String,
    calls: Calls,
    extra: Map<String, Value>,
    finish_reason: Option<FinishReason>,
    usage: Option<Usage>,
    chunks: usize,
    done: bool,
}

impl wire::Answer for Answer {
    fn take_event(&mut self, event: &Event, sink: &mut dyn TurnSink) -> Result<(), Broken> {
        if event.data.trim() == "[DONE]" {
            self.done = true;
            return Ok(());
        }
        if event.name == "error" {
            let error = json::read(&event.data, None).unwrap_or_else(|_| Value::String(event.data.clone()));
            return Err(reported(error.get("error").unwrap_or(&error)));
        }
        self.take_json(&event.data, sink)
    }

    fn take_whole(&mut self, body: &str, sink: &mut dyn TurnSink) -> Result<(), Broken> {
        self.done = true;
        self.take_json(body, sink)
    }

    /// `[DONE]`, or a reason why it stopped.
    fn is_ended(&self) -> bool {
        self.chunks > 0 && (self.done || self.finish_reason.is_some())
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn is_empty(&self) -> bool {
        self.chunks == 0
    }
}

impl Answer {
    fn take_json(&mut self, text: &str, sink: &mut dyn TurnSink) -> Result<(), Broken> {
        if text.trim().is_empty() {
            return Ok(());
        }
        let value = json::read(text, None).map_err(|error| {
            if error.is_cut() {
                return Broken::Cut;
            }
            Broken::Nonsense(format!("a part of its answer is not JSON ({error}): {}", shortened(text, 200)))
        })?;
        let Value::Object(mut chunk) = value else {
            return Err(Broken::Nonsense(format!(
                "a part of its answer is no object: {}",
                shortened(text, 200)
            )));
        };
        if let Some(error) = chunk.shift_remove("error").filter(|error| !error.is_null()) {
            return Err(reported(&error));
        }
        if chunk.get("object").is_some_and(|object| object == "error") {
            return Err(reported(&Value::Object(chunk)));
        }
        let known = chunk.contains_key("choices") || chunk.contains_key("usage");
        if let Some(usage) = chunk.get("usage").and_then(usage_of) {
            self.usage = Some(usage);
        }
        let choice = match chunk.shift_remove("choices") {
            Some(Value::Array(choices)) => choices.into_iter().next(),
            _ if known || self.chunks > 0 => None,
            _ => {
                return Err(Broken::Nonsense(format!(
                    "its answer has no `choices`: {}. Is this an OpenAI-compatible address?",
                    shortened(text, 200)
                )));
            }
        };
        if let Some(Value::Object(mut choice)) = choice {
            self.chunks += 1;
            if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) {
                self.finish_reason = Some(finish_reason_of(reason));
            }
            let part = choice.shift_remove("delta").filter(Value::is_object);
            if let Some(Value::Object(part)) = part.or_else(|| choice.shift_remove("message")) {
                self.take_message(part, sink);
            }
        }
        Ok(())
    }

    fn take_message(&mut self, mut part: Map<String, Value>, sink: &mut dyn TurnSink) {
        part.shift_remove("role");
        let mut shown = false;
        for field in REASONING_FIELDS {
            let Some(Value::String(piece)) = part.get_mut(field).map(std::mem::take) else { continue };
            if piece.is_empty() {
                continue;
            }
            if !shown {
                shown = true;
                self.reasoning.push_str(&piece);
                sink.reasoning(&piece);
            }
            // Pieces of one text: they are joined, not replaced.
            match self.extra.get_mut(field) {
                Some(Value::String(whole)) => whole.push_str(&piece),
                _ => drop(self.extra.insert(field.to_owned(), Value::String(piece))),
            }
        }
        if let Some(content) = part.shift_remove("content") {
            let piece = content_text(&content);
            if !piece.is_empty() {
                self.text.push_str(&piece);
                sink.text(&piece);
            }
        }
        if let Some(Value::String(refusal)) = part.shift_remove("refusal") {
            self.text.push_str(&refusal);
            sink.text(&refusal);
        }
        match part.shift_remove("tool_calls") {
            Some(Value::Array(pieces)) => {
                for piece in pieces {
                    if let Value::Object(piece) = piece {
                        self.calls.take(piece);
                    }
                }
            }
            Some(Value::Object(piece)) => self.calls.take(piece),
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) | None => {}
        }
        part.retain(|_, value| !is_empty(value));
        merge(&mut self.extra, part);
    }

    /// The finished turn. `server` marks whose metadata it is.
    pub(super) fn finish(mut self, names: &Names<'_>, server: &str) -> ModelTurn {
        let said = self.finish_reason.unwrap_or(FinishReason::Other);
        let with_calls = !self.calls.is_empty();
        // Servers say `stop` beside calls, and `tool_calls` without any.
        let finish_reason = match (said, with_calls) {
            (FinishReason::Stop | FinishReason::Other, true) => FinishReason::ToolCalls,
            (FinishReason::ToolCalls, false) => FinishReason::Stop,
            (said, _) => said,
        };
        let calls: Vec<RequestedCall> = self.calls.finish(names, said == FinishReason::Length, server);
        if !with_calls {
            // Reasoning goes back inside a chain of calls, where servers insist on it, and nowhere else, where some refuse it.
            for field in REASONING_FIELDS {
                self.extra.shift_remove(field);
            }
        }
        let provider_metadata = (!self.extra.is_empty()).then(|| metadata::wrap(server, self.extra));
        ModelTurn {
            text: self.text,
            reasoning: self.reasoning,
            calls,
            raw: None,
            finish_reason,
            usage: self.usage,
            provider_metadata,
        }
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}

/// Text, or the text of a list of parts.
fn content_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part.get("text")?.as_str()).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

fn finish_reason_of(text: &str) -> FinishReason {
    match text {
        "stop" | "eos" | "end_turn" | "stop_sequence" => FinishReason::Stop,
        "tool_calls" | "function_call" | "tool_use" => FinishReason::ToolCalls,
        "length" | "max_tokens" | "model_length" => FinishReason::Length,
        "content_filter" | "safety" | "refusal" => FinishReason::ContentFilter,
        _ => FinishReason::Other,
    }
}

fn usage_of(usage: &Value) -> Option<Usage> {
    let count = |name: &str| usage.get(name).and_then(Value::as_u64);
    Some(Usage {
        input_tokens: count("prompt_tokens")?,
        output_tokens: count("completion_tokens").unwrap_or_default(),
    })
}
