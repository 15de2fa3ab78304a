//! Model providers: OpenAI-compatible servers, Anthropic, Gemini, text dialects over any model, scripts, and the demo.
//!
//! Everything here ends in the port [`Model`](haft_core::Model): one request in, one neutral turn out. Start with
//! [`ModelName`], what `--model` takes, and [`connect`], which makes a model of a [`ModelEntry`].
//!
//! It must not read files or the environment, must not run tools, and no wire format leaves it (PRV-03). It owns the
//! sockets to model servers.

mod anthropic;
mod build;
mod call_ids;
mod demo;
mod entry;
mod gemini;
mod local;
mod name;
mod openai;
mod recording;
mod scripted;
mod text_dialect;
mod text_fallback;
mod text_form;
mod wire;

pub use anthropic::Anthropic;
pub use build::{BuildError, connect, connect_with_images};
pub use demo::Demo;
pub use entry::{ANTHROPIC_URL, Api, CallIds, GEMINI_URL, Grammar, ModelEntry, NATIVE, OPENAI_URL, Secret};
pub use gemini::Gemini;
pub use local::{LOCAL_PORTS, local_models};
pub use name::{ModelName, ModelNameError};
pub use openai::OpenAi;
pub use recording::Recording;
pub use scripted::{ScriptError, Scripted};
pub use text_dialect::TextDialect;
pub use text_fallback::with_text_fallback;
