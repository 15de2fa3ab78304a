//! What a person or a program sees while a run works: streamed text, one line for each call and each result, or JSON Lines.
//!
//! Events arrive as they become durable; a closed stdout is noted and stops the run.

use std::sync::{Mutex, PoisonError};

use haft_core::event::RunEvent;
use haft_engine::EventSink;
use serde_json::Value;
use tokio::sync::Notify;

use crate::exit::Failure;
use crate::output::{Output, Tone};
use crate::untrusted::visible_short;

/// Longest line about a call.
const WIDTH: usize = 120;

/// What is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Every event as one line of JSON on stdout.
    Json,
    /// Calls and results on stderr; the text comes at the end.
    Calls,
    /// Streamed text on stdout, calls and results on stderr.
    Conversation,
}

/// An [`EventSink`] that writes.
#[derive(Debug)]
pub(crate) struct Screen {
    output: Output,
    mode: Mode,
    state: Mutex<State>,
    stopped: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// Text of this model turn was streamed.
    streamed: bool,
    /// The line on stdout is not ended.
    open_line: bool,
    /// What went wrong with stdout.
    failure: Option<Failure>,
}

impl Screen {
    /// A screen.
    pub(crate) fn new(output: Output, mode: Mode) -> Self {
        Self { output, mode, state: Mutex::default(), stopped: Notify::new() }
    }

    /// Ends when nobody reads any more.
    pub(crate) async fn stopped(&self) {
        self.stopped.notified().await;
    }

    /// What went wrong with stdout, if anything did.
    pub(crate) fn take_failure(&self) -> Option<Failure> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).failure.take()
    }

    fn show(&self, state: &mut State, event: &RunEvent) -> Result<(), Failure> {
        match self.mode {
            Mode::Json => self.output.json(event),
            Mode::Calls => self.show_call(state, event),
            Mode::Conversation => match event.kind.as_str() {
                "text_delta" => self.stream(state, text_of(&event.payload, "text")),
                "model_turn_completed" => {
                    if !std::mem::take(&mut state.streamed) {
                        self.stream(state, text_of(&event.payload, "text"))?;
                        state.streamed = false;
                    }
                    self.end_line(state)
                }
                "stream_restarted" => {
                    self.end_line(state)?;
                    state.streamed = false;
                    let reason = visible_short(text_of(&event.payload, "reason"), WIDTH);
                    self.output.note(&format!("({reason}; the request is tried again)"));
                    Ok(())
                }
                _ => self.show_call(state, event),
            },
        }
    }

    fn stream(&self, state: &mut State, text: &str) -> Result<(), Failure> {
        if text.is_empty() {
            return Ok(());
        }
        state.streamed = true;
        state.open_line = !text.ends_with('\n');
        self.output.foreign(text)
    }

    fn end_line(&self, state: &mut State) -> Result<(), Failure> {
        if std::mem::take(&mut state.open_line) { self.output.data("\n") } else { Ok(()) }
    }

    fn show_call(&self, state: &mut State, event: &RunEvent) -> Result<(), Failure> {
        let payload = &event.payload;
        let alias = text_of(payload, "alias");
        let line = match event.kind.as_str() {
            "tool_call_requested" => call_line(alias, payload.get("arguments")),
            "tool_call_completed" => {
                let content = payload.get("view").map_or("", |view| text_of(view, "content"));
                let milliseconds = payload.get("duration_ms").and_then(Value::as_u64).unwrap_or(0);
                format!("← {alias}: {} ({milliseconds} ms)", visible_short(content.trim_end(), WIDTH))
            }
            "tool_call_failed" => {
                let content = payload.get("view").map_or("", |view| text_of(view, "content"));
                format!("✗ {alias}: {}", visible_short(content.trim_end(), WIDTH * 2))
            }
            "progress" => format!("  {}", visible_short(text_of(payload, "line"), WIDTH)),
            _ => return Ok(()),
        };
        let tone = if event.kind == "tool_call_failed" { Tone::Bad } else { Tone::Faint };
        self.end_line(state)?;
        self.output.note_in(tone, &line);
        Ok(())
    }
}

impl EventSink for Screen {
    fn event(&self, event: &RunEvent) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.failure.is_some() {
            return;
        }
        if let Err(failure) = self.show(&mut state, event) {
            state.failure = Some(failure);
            self.stopped.notify_one();
        }
    }
}

/// One call in one line: `→ file_write path=a.txt content=…`.
pub(crate) fn call_line(alias: &str, arguments: Option<&Value>) -> String {
    let mut line = format!("→ {alias}");
    match arguments {
        Some(Value::Object(map)) => {
            for (key, value) in map {
                let text = match value {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                line.push_str(&format!(" {key}={}", visible_short(&text, 60)));
            }
        }
        Some(Value::Null) | None => {}
        Some(other) => line.push_str(&format!(" {}", visible_short(&other.to_string(), 60))),
    }
    visible_short(&line, WIDTH)
}

fn text_of<'a>(payload: &'a Value, key: &str) -> &'a str {
    payload.get(key).and_then(Value::as_str).unwrap_or("")
}
