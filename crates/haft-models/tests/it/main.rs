//! Tests against loopback servers, scripts and the demo, in one binary.
#![expect(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "helpers of tests fail loudly and take values that are built in place"
)]

mod anthropic;
mod demo;
mod gemini;
mod local;
mod openai_failures;
mod openai_turns;
mod providers;
mod real_model;
mod recording;
mod scripted;
mod support;
mod text_dialect;
mod text_forms;
