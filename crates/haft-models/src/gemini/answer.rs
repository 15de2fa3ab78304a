//! An answer put together from the chunks of a stream, or from whole responses.
//!
//! It knows the JSON of `generateContent` and nothing of HTTP. Parts that it does not know are kept and go back with the
//! message; fields that it does not know are passed over.

use haft_core::RequestedCall;
use haft_core::ports::{FinishReason, ModelTurn, TurnSink, Usage};
use haft_schema::json;
use serde_json::{Map, Value, json};

use crate::wire::layout::Layout;
use crate::wire::{self, Broken, Event, Names, Written, metadata, reported, shortened};

/// The field of a message's opaque data that lists which of its calls carry something back.
pub(super) const SIGNED: &str = "signed";

/// An answer in the making.
#[derive(Debug, Default)]
pub(super) struct Answer {
    text: String,
    reasoning: String,
    calls: Vec<(Written, Map<String, Value>)>,
    layout: Layout,
    stop: Option<String>,
    stop_message: Option<String>,
    usage: Option<Usage>,
    chunks: usize,
    done: bool,
}

impl wire::Answer for Answer {
    fn take_event(&mut self, event: &Event, sink: &mut dyn TurnSink) -> Result<(), Broken> {
        if event.data.trim().is_empty() {
            return Ok(());
        }
        if event.data.trim() == "[DONE]" {
            self.done = true;
            return Ok(());
        }
        let chunk = read(&event.data)?;
        self.take_chunk(chunk, sink)
    }

    /// One response, or the list of chunks that comes where no events were asked for.
    fn take_whole(&mut self, body: &str, sink: &mut dyn TurnSink) -> Result<(), Broken> {
        match read(body)? {
            Value::Array(chunks) => chunks.into_iter().try_for_each(|chunk| self.take_chunk(chunk, sink))?,
            chunk => self.take_chunk(chunk, sink)?,
        }
        self.done = true;
        Ok(())
    }

    fn is_ended(&self) -> bool {
        self.chunks > 0 && (self.done || self.stop.is_some())
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn is_empty(&self) -> bool {
        self.chunks == 0
    }
}

impl Answer {
    fn take_chunk(&mut self, chunk: Value, sink: &mut dyn TurnSink) -> Result<(), Broken> {
        let Value::Object(mut chunk) = chunk else {
            let shown = shortened(&chunk.to_string(), 200);
            return Err(Broken::Nonsense(format!("a part of its answer is no object: {shown}")));
        };
        if let Some(error) = chunk.get("error").filter(|error| !error.is_null()) {
            return Err(reported(error));
        }
        if let Some(usage) = chunk.get("usageMetadata") {
            self.take_usage(usage);
        }
        if let Some(blocked) = chunk.get("promptFeedback").and_then(blocked) {
            return Err(blocked);
        }
        let known = ["candidates", "usageMetadata", "promptFeedback", "modelVersion", "responseId"];
        if !chunk.keys().any(|key| known.contains(&key.as_str())) {
            let shown = shortened(&Value::Object(chunk).to_string(), 200);
            return Err(Broken::Nonsense(format!(
                "its answer has no `candidates`: {shown}. Is this an address that speaks Gemini's API?"
            )));
        }
        self.chunks += 1;
        let candidate = match chunk.shift_remove("candidates") {
            Some(Value::Array(candidates)) => candidates.into_iter().next(),
            _ => None,
        };
        let Some(Value::Object(mut candidate)) = candidate else { return Ok(()) };
        if let Some(Value::Object(mut content)) = candidate.shift_remove("content")
            && let Some(Value::Array(parts)) = content.shift_remove("parts")
        {
            for part in parts {
                if let Value::Object(part) = part {
                    self.take_part(part, sink);
                }
            }
        }
        for (field, into) in [("finishReason", &mut self.stop), ("finishMessage", &mut self.stop_message)] {
            if let Some(Value::String(words)) = candidate.shift_remove(field) {
                *into = Some(words);
            }
        }
        Ok(())
    }

    fn take_part(&mut self, mut part: Map<String, Value>, sink: &mut dyn TurnSink) {
        let is_thought = part.get("thought").is_some_and(|thought| thought == true);
        if let Some(Value::Object(call)) = part.shift_remove("functionCall") {
            self.take_call(call, part);
            return;
        }
        let text = match part.get("text") {
            Some(Value::String(text)) => text.clone(),
            _ => return self.layout.own(Value::Object(part)),
        };
        if is_thought {
            self.reasoning.push_str(&text);
            sink.reasoning(&text);
            // Without a signature a thought is a summary for people; it is not wanted back.
            if part.contains_key("thoughtSignature") {
                self.layout.own(Value::Object(part));
            }
            return;
        }
        part.shift_remove("text");
        self.layout.text(text.len(), part);
        if !text.is_empty() {
            self.text.push_str(&text);
            sink.text(&text);
        }
    }

    /// `beside` is what stood beside the call: its signature.
    fn take_call(&mut self, mut call: Map<String, Value>, mut beside: Map<String, Value>) {
        let id = call.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        let name = match call.shift_remove("name") {
            Some(Value::String(name)) => name,
            _ => String::new(),
        };
        let arguments = match call.shift_remove("args") {
            None | Some(Value::Null) => String::new(),
            Some(arguments) => arguments.to_string(),
        };
        if id.is_empty() {
            call.shift_remove("id");
        }
        if !call.is_empty() {
            beside.insert("functionCall".into(), Value::Object(call));
        }
        self.layout.call();
        self.calls.push((Written { id, name, arguments, metadata: None }, beside));
    }

    fn take_usage(&mut self, usage: &Value) {
        let count = |name: &str| usage.get(name).and_then(Value::as_u64);
        let sum = |names: [&str; 2]| names.iter().filter_map(|name| count(name)).fold(0, u64::saturating_add);
        if count("promptTokenCount").is_some() {
            self.usage = Some(Usage {
                input_tokens: sum(["promptTokenCount", "toolUsePromptTokenCount"]),
                output_tokens: sum(["candidatesTokenCount", "thoughtsTokenCount"]),
            });
        }
    }

    /// The finished turn, and the service's words about its end. `server` marks whose metadata it is.
    pub(super) fn finish(self, names: &Names<'_>, server: &str) -> (ModelTurn, String) {
        let said = finish_reason_of(self.stop.as_deref());
        let mut signed = Vec::new();
        let mut calls: Vec<RequestedCall> = Vec::with_capacity(self.calls.len());
        let mut layout = self.layout;
        for (place, (mut written, beside)) in self.calls.into_iter().enumerate() {
            if !beside.is_empty() {
                signed.push(json!(place));
                written.metadata = Some(metadata::wrap(server, beside));
            }
            calls.push(written.read(names, said == FinishReason::Length));
        }
        let stop = self.stop.unwrap_or_default();
        if matches!(stop.as_str(), "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL") {
            layout.call();
            calls.push(unreadable(&stop, self.stop_message.as_deref()));
        }
        let finish_reason = match (said, calls.is_empty()) {
            (FinishReason::Stop | FinishReason::Other, false) => FinishReason::ToolCalls,
            (said, _) => said,
        };
        let mut fields = Map::new();
        if !calls.is_empty() {
            // Also where it is empty: it says that the calls are this service's own.
            fields.insert(SIGNED.to_owned(), Value::Array(signed));
        }
        fields.extend(layout.into_value().map(|layout| ("layout".to_owned(), layout)));
        let why = match &self.stop_message {
            Some(message) => format!("{stop}: {message}"),
            None => stop,
        };
        let turn = ModelTurn {
            text: self.text,
            reasoning: self.reasoning,
            calls,
            raw: None,
            finish_reason,
            usage: self.usage,
            provider_metadata: (!fields.is_empty()).then(|| metadata::wrap(server, fields)),
        };
        (turn, why)
    }
}

/// A call that the service itself could not read; it shows at most what it says about it.
fn unreadable(stop: &str, message: Option<&str>) -> RequestedCall {
    let reason = if stop == "UNEXPECTED_TOOL_CALL" {
        "A tool was called that cannot be called now."
    } else {
        "The call could not be read. Call a tool by its name, with its arguments as one JSON object."
    };
    RequestedCall::Malformed {
        name: None,
        reason: reason.to_owned(),
        raw: shortened(message.unwrap_or_default(), 4_000),
        wire_id: None,
    }
}

fn read(text: &str) -> Result<Value, Broken> {
    json::read(text, None).map_err(|error| {
        if error.is_cut() {
            return Broken::Cut;
        }
        Broken::Nonsense(format!("a part of its answer is not JSON ({error}): {}", shortened(text, 200)))
    })
}

/// The refusal of a whole prompt.
fn blocked(feedback: &Value) -> Option<Broken> {
    let reason = feedback.get("blockReason")?.as_str()?;
    let mut message = format!("the prompt was blocked ({reason})");
    if let Some(words) = feedback.get("blockReasonMessage").and_then(Value::as_str) {
        message = format!("{message}: {words}");
    }
    Some(Broken::Reported { status: Some(200), message })
}

fn finish_reason_of(stop: Option<&str>) -> FinishReason {
    match stop {
        Some("STOP") => FinishReason::Stop,
        Some("MAX_TOKENS") => FinishReason::Length,
        Some(
            "SAFETY"
            | "RECITATION"
            | "LANGUAGE"
            | "BLOCKLIST"
            | "PROHIBITED_CONTENT"
            | "SPII"
            | "IMAGE_SAFETY"
            | "IMAGE_PROHIBITED_CONTENT"
            | "IMAGE_RECITATION"
            | "MODEL_ARMOR",
        ) => FinishReason::ContentFilter,
        _ => FinishReason::Other,
    }
}
