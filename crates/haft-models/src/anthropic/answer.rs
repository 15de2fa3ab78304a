//! An answer put together from the events of a stream, or from one whole message.
//!
//! It knows the JSON of Messages and nothing of HTTP. Blocks that it does not know are kept and go back with the message;
//! events that it does not know are passed over, as the service asks of its clients.

use std::collections::HashMap;

use haft_core::ports::{FinishReason, ModelTurn, TurnSink, Usage};
use haft_schema::json;
use serde_json::{Map, Value};

use super::blocks::Block;
use crate::wire::layout::Layout;
use crate::wire::{self, Broken, Event, Names, metadata, shortened};

/// An answer in the making.
#[derive(Debug, Default)]
pub(super) struct Answer {
    blocks: Vec<Block>,
    /// The block that each index of the stream means now.
    places: HashMap<u64, usize>,
    stop: Option<String>,
    /// The service's words about why it stopped.
    explanation: Option<String>,
    usage: Option<Usage>,
    begun: bool,
    done: bool,
}

impl wire::Answer for Answer {
    fn take_event(&mut self, event: &Event, sink: &mut dyn TurnSink) -> Result<(), Broken> {
        if event.data.trim().is_empty() || event.name == "ping" {
            return Ok(());
        }
        if event.data.trim() == "[DONE]" {
            self.done = true;
            return Ok(());
        }
        let mut data = object(&event.data)?;
        let kind = match data.get("type") {
            Some(Value::String(kind)) => kind.clone(),
            _ => event.name.clone(),
        };
        match kind.as_str() {
            "message_start" => {
                if let Some(Value::Object(message)) = data.shift_remove("message") {
                    self.take_message(message, sink);
                }
                self.begun = true;
            }
            "content_block_start" => {
                self.begun = true;
                if let Some(Value::Object(block)) = data.shift_remove("content_block") {
                    if let Some(index) = data.get("index").and_then(Value::as_u64) {
                        self.places.insert(index, self.blocks.len());
                    }
                    self.blocks.push(Block::begin(block, sink));
                }
            }
            "content_block_delta" => {
                if let Some(Value::Object(delta)) = data.get("delta") {
                    self.take_delta(data.get("index").and_then(Value::as_u64), delta, sink);
                }
            }
            "message_delta" => {
                if let Some(Value::Object(delta)) = data.get("delta") {
                    self.take_stop(delta);
                }
                self.take_usage(data.get("usage"));
            }
            "message_stop" => self.done = true,
            "error" => return Err(reported(data.get("error").unwrap_or(&Value::Null))),
            _ if !self.begun && !data.contains_key("type") => return Err(foreign(&event.data)),
            _ => {}
        }
        Ok(())
    }

    fn take_whole(&mut self, body: &str, sink: &mut dyn TurnSink) -> Result<(), Broken> {
        let mut message = object(body)?;
        if message.get("type").is_some_and(|kind| kind == "error") || message.contains_key("error") {
            return Err(reported(message.get("error").unwrap_or(&Value::Null)));
        }
        if !message.get("content").is_some_and(Value::is_array) {
            return Err(foreign(body));
        }
        self.take_stop(&message);
        self.take_message(std::mem::take(&mut message), sink);
        (self.begun, self.done) = (true, true);
        Ok(())
    }

    fn is_ended(&self) -> bool {
        self.begun && (self.done || self.stop.is_some())
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn is_empty(&self) -> bool {
        !self.begun
    }
}

impl Answer {
    fn take_message(&mut self, mut message: Map<String, Value>, sink: &mut dyn TurnSink) {
        self.take_usage(message.get("usage"));
        let Some(Value::Array(content)) = message.shift_remove("content") else { return };
        for block in content {
            if let Value::Object(block) = block {
                self.blocks.push(Block::begin(block, sink));
            }
        }
    }

    fn take_delta(&mut self, index: Option<u64>, delta: &Map<String, Value>, sink: &mut dyn TurnSink) {
        let place = match index {
            Some(index) => self.places.get(&index).copied(),
            None => self.blocks.len().checked_sub(1),
        };
        if let Some(block) = place.and_then(|place| self.blocks.get_mut(place)) {
            block.add(delta, sink);
            return;
        }
        // Text without a beginning is still text.
        if let Some(text) = delta.get("text").and_then(Value::as_str) {
            if let Some(index) = index {
                self.places.insert(index, self.blocks.len());
            }
            self.begun = true;
            sink.text(text);
            self.blocks.push(Block::Text(text.to_owned()));
        }
    }

    fn take_stop(&mut self, delta: &Map<String, Value>) {
        if let Some(reason) = delta.get("stop_reason").and_then(Value::as_str) {
            self.stop = Some(reason.to_owned());
        }
        let details = delta.get("stop_details");
        if let Some(words) = details.and_then(|details| details.get("explanation")?.as_str()) {
            self.explanation = Some(words.to_owned());
        }
    }

    /// Counts grow; what comes out of a cache is read all the same.
    fn take_usage(&mut self, usage: Option<&Value>) {
        let Some(Value::Object(usage)) = usage else { return };
        let count = |name: &str| usage.get(name).and_then(Value::as_u64);
        let before = self.usage.unwrap_or_default();
        let input = count("input_tokens").map(|fresh| {
            let cached = ["cache_creation_input_tokens", "cache_read_input_tokens"];
            cached.iter().filter_map(|name| count(name)).fold(fresh, u64::saturating_add)
        });
        self.usage = Some(Usage {
            input_tokens: input.filter(|tokens| *tokens > 0).unwrap_or(before.input_tokens),
            output_tokens: count("output_tokens").unwrap_or(before.output_tokens),
        });
    }

    /// The finished turn, and the service's words about its end. `server` marks whose metadata it is.
    pub(super) fn finish(self, names: &Names<'_>, server: &str) -> (ModelTurn, String) {
        let said = finish_reason_of(self.stop.as_deref());
        let cut = said == FinishReason::Length;
        let (mut text, mut reasoning, mut calls) = (String::new(), String::new(), Vec::new());
        let mut layout = Layout::default();
        for block in self.blocks {
            match block {
                Block::Text(more) => {
                    layout.text(more.len(), Map::new());
                    text.push_str(&more);
                }
                Block::Call(written) => {
                    layout.call();
                    calls.push(written.read(names, cut));
                }
                Block::Own { fields, input } => {
                    if let Some(Value::String(thought)) = fields.get("thinking") {
                        reasoning.push_str(thought);
                    }
                    if is_whole(&fields) {
                        layout.own(Block::own(fields, &input));
                    }
                }
            }
        }
        let finish_reason = match (said, calls.is_empty()) {
            (FinishReason::Stop | FinishReason::Other, false) => FinishReason::ToolCalls,
            (FinishReason::ToolCalls, true) => FinishReason::Stop,
            (said, _) => said,
        };
        let provider_metadata = layout
            .into_value()
            .map(|layout| metadata::wrap(server, Map::from_iter([("layout".to_owned(), layout)])));
        let why = self.explanation.or(self.stop).unwrap_or_default();
        let turn = ModelTurn {
            text,
            reasoning,
            calls,
            raw: None,
            finish_reason,
            usage: self.usage,
            provider_metadata,
        };
        (turn, why)
    }
}

/// A thought without its signature was cut: the service would refuse it.
fn is_whole(fields: &Map<String, Value>) -> bool {
    fields.get("type").is_none_or(|kind| kind != "thinking")
        || fields.get("signature").and_then(Value::as_str).is_some_and(|signature| !signature.is_empty())
}

fn object(text: &str) -> Result<Map<String, Value>, Broken> {
    match json::read(text, None) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => {
            Err(Broken::Nonsense(format!("a part of its answer is no object: {}", shortened(text, 200))))
        }
        Err(error) if error.is_cut() => Err(Broken::Cut),
        Err(error) => Err(Broken::Nonsense(format!(
            "a part of its answer is not JSON ({error}): {}",
            shortened(text, 200)
        ))),
    }
}

fn foreign(text: &str) -> Broken {
    Broken::Nonsense(format!(
        "its answer is no message: {}. Is this an address that speaks Anthropic's Messages?",
        shortened(text, 200)
    ))
}

/// The service names kinds of errors where HTTP has numbers.
fn reported(error: &Value) -> Broken {
    let status = match error.get("type").and_then(Value::as_str) {
        Some("invalid_request_error") => Some(400),
        Some("authentication_error") => Some(401),
        Some("billing_error") => Some(402),
        Some("permission_error") => Some(403),
        Some("not_found_error") => Some(404),
        Some("request_too_large") => Some(413),
        Some("rate_limit_error") => Some(429),
        Some("timeout_error") => Some(504),
        Some("overloaded_error") => Some(529),
        _ => None,
    };
    match wire::reported(error) {
        Broken::Reported { status: given, message } => Broken::Reported { status: given.or(status), message },
        other => other,
    }
}

fn finish_reason_of(stop: Option<&str>) -> FinishReason {
    match stop {
        Some("end_turn" | "stop_sequence") => FinishReason::Stop,
        Some("tool_use") => FinishReason::ToolCalls,
        Some("max_tokens" | "model_context_window_exceeded") => FinishReason::Length,
        Some("refusal") => FinishReason::ContentFilter,
        _ => FinishReason::Other,
    }
}
