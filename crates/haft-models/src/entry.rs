//! What must be known to reach a model: its entry, its key, and the model made from them.
//!
//! Nothing is read from files or the environment here: the caller hands every value in.

use std::fmt;
use std::time::Duration;

use serde_json::{Map, Value};

/// A key. It is never printed.
///
/// ```
/// let key = haft_models::Secret::new("sk-123");
/// assert_eq!(format!("{key:?}"), "Secret(…)");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes the key itself, without the blanks and line breaks around it.
    pub fn new(key: impl AsRef<str>) -> Self {
        Self(key.as_ref().trim().to_owned())
    }

    /// The key. Only the code that sends it may ask.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Whose ids of calls count (CONFLICT-31).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum CallIds {
    /// The host's; what the server sends is kept as opaque data.
    #[default]
    Host,
    /// The server's: a missing or repeated one fails the request (PRV-02).
    Provider,
}

/// How a server is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Api {
    /// Chat completions, as OpenAI defined them and most servers speak them.
    #[default]
    OpenAi,
    /// Messages, as Anthropic defined them.
    Anthropic,
    /// `generateContent`, as Gemini speaks it.
    Gemini,
}

/// What a server holds a model's answers to, so that their form is always right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Grammar {
    /// This grammar in GBNF, for every answer; llama.cpp's `grammar`.
    Text(String),
    /// The calls of each turn in the text dialect of the entry, as GBNF; llama.cpp's `grammar`.
    Gbnf,
    /// Text and the calls of each turn in one JSON object, as a JSON Schema; `response_format`.
    JsonSchema,
}

/// What one request is held to.
#[derive(Debug, Clone)]
pub(crate) enum Hold {
    /// llama.cpp's `grammar`.
    Gbnf(String),
    /// `response_format`.
    JsonSchema(Value),
}

/// One model behind an address.
///
/// ```
/// use haft_core::Model;
/// use haft_models::{ModelEntry, connect};
///
/// let mut entry = ModelEntry::new("local", "http://127.0.0.1:8080/v1", "qwen2.5-coder");
/// entry.dialect = "artifact-xml".into();
/// entry.tag = Some("function_call".into());
/// let model = connect(entry)?;
/// assert_eq!(model.traits().name, "local");
/// assert_eq!(model.traits().dialect, "artifact-xml");
/// # Ok::<(), haft_models::BuildError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ModelEntry {
    /// The name under which it was chosen.
    pub name: String,
    /// How the server is spoken to.
    pub api: Api,
    /// The address up to and with `/v1` (`/v1beta` for Gemini).
    pub url: String,
    /// The model that the server is asked for.
    pub model: String,
    /// The key, where the server wants one.
    pub key: Option<Secret>,
    /// `native` or the name of a text dialect; the caller has put a profile's choice in already.
    pub dialect: String,
    /// The tag that encloses calls in a text dialect, for models that cannot write the usual one.
    pub tag: Option<String>,
    /// Whose ids of calls count.
    pub call_ids: CallIds,
    /// It takes images.
    pub images: bool,
    /// What the server holds the answers to, where it can.
    pub grammar: Option<Grammar>,
    /// Sampling temperature where the request sets none.
    pub temperature: Option<f64>,
    /// Sampling seed where the request sets none.
    pub seed: Option<u64>,
    /// Most tokens of an answer where the request sets no limit.
    pub max_tokens: Option<u32>,
    /// Tokens of a request and its answer together that it can take, where that is known: old results are shortened to fit.
    pub context_tokens: Option<u64>,
    /// Fields that every request carries besides Haft's own, which they beat: `thinking`, `reasoning_effort` … Objects are
    /// merged.
    pub extra: Map<String, Value>,
    /// A proxy. Without one none is used, whatever the environment says.
    pub proxy: Option<String>,
    /// Longest wait for the next bytes of an answer, its first ones included.
    pub idle_timeout: Duration,
    /// Wait before a failed request is tried a second time; it doubles before the third, which is the last.
    pub retry_wait: Duration,
}

impl ModelEntry {
    /// Longest wait for the next bytes where the entry sets none: a small machine reads a long prompt for minutes.
    pub const IDLE_TIMEOUT: Duration = Duration::from_secs(300);
    /// Wait before the second try where the entry sets none.
    pub const RETRY_WAIT: Duration = Duration::from_millis(500);

    /// An entry that speaks `native` and leaves everything else as it is.
    pub fn new(name: impl Into<String>, url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            api: Api::default(),
            url: url.into(),
            model: model.into(),
            key: None,
            dialect: NATIVE.to_owned(),
            tag: None,
            call_ids: CallIds::default(),
            images: false,
            grammar: None,
            temperature: None,
            seed: None,
            max_tokens: None,
            context_tokens: None,
            extra: Map::new(),
            proxy: None,
            idle_timeout: Self::IDLE_TIMEOUT,
            retry_wait: Self::RETRY_WAIT,
        }
    }

    /// `openai:NAME`: the model `name` of OpenAI's own service.
    pub fn openai(model: &str, key: Secret) -> Self {
        let mut entry = Self::new(format!("openai:{model}"), OPENAI_URL, model);
        entry.key = Some(key);
        entry
    }

    /// `anthropic:NAME`: the model `name` of Anthropic's own service.
    pub fn anthropic(model: &str, key: Secret) -> Self {
        let mut entry = Self::new(format!("anthropic:{model}"), ANTHROPIC_URL, model);
        (entry.api, entry.key) = (Api::Anthropic, Some(key));
        entry
    }

    /// `gemini:NAME`: the model `name` of Google's own service.
    pub fn gemini(model: &str, key: Secret) -> Self {
        let mut entry = Self::new(format!("gemini:{model}"), GEMINI_URL, model);
        (entry.api, entry.key) = (Api::Gemini, Some(key));
        entry
    }
}

/// The dialect of a provider's own JSON.
pub const NATIVE: &str = "native";

/// The address of OpenAI's own service.
pub const OPENAI_URL: &str = "https://api.openai.com/v1";

/// The address of Anthropic's own service.
pub const ANTHROPIC_URL: &str = "https://api.anthropic.com/v1";

/// The address of Gemini's own service.
pub const GEMINI_URL: &str = "https://generativelanguage.googleapis.com/v1beta";
