//! What `--model` takes, as a plain value (design.md §8).
//!
//! Nothing is opened or looked up here: files, entries and keys are the caller's.

use std::fmt;

/// A model's name, sorted by kind.
///
/// ```
/// use haft_models::ModelName;
///
/// assert_eq!(ModelName::parse("demo")?, ModelName::Demo);
/// assert_eq!(
///     ModelName::parse("http://127.0.0.1:8080/v1#qwen")?,
///     ModelName::Address { url: "http://127.0.0.1:8080/v1".into(), model: "qwen".into() }
/// );
/// assert_eq!(ModelName::parse("fast")?, ModelName::Entry("fast".into()));
/// # Ok::<(), haft_models::ModelNameError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ModelName {
    /// `openai:NAME`: OpenAI's own service.
    OpenAi(String),
    /// `anthropic:NAME`: Anthropic's own service.
    Anthropic(String),
    /// `gemini:NAME`: Gemini's own service.
    Gemini(String),
    /// `http://host:port/v1#NAME`: any OpenAI-compatible server.
    Address {
        /// The address, without the part after `#`.
        url: String,
        /// The model that the server is asked for.
        model: String,
    },
    /// `scripted:FILE`: turns from a file.
    Scripted(String),
    /// `demo`: no language model.
    Demo,
    /// The name of a model entry of the configuration.
    Entry(String),
}

/// Why a text names no model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` names no model: {why}. Write openai:NAME, anthropic:NAME, gemini:NAME, http://host:port/v1#NAME, scripted:FILE, demo, or the name of a \
     model entry"
)]
pub struct ModelNameError {
    text: String,
    why: &'static str,
}

impl ModelName {
    /// Sorts `text` by kind.
    ///
    /// # Errors
    /// The text is empty, its kind is unknown, or what belongs behind the kind is missing.
    pub fn parse(text: &str) -> Result<Self, ModelNameError> {
        let text = text.trim();
        let fail = |why| Err(ModelNameError { text: text.to_owned(), why });
        if text.starts_with("http://") || text.starts_with("https://") {
            let (url, model) = text.split_once('#').unwrap_or((text, ""));
            if model.is_empty() {
                return fail("the model's name is missing behind `#`");
            }
            return Ok(Self::Address { url: url.to_owned(), model: model.to_owned() });
        }
        let Some((kind, rest)) = text.split_once(':') else {
            return match text {
                "" => fail("it is empty"),
                "demo" => Ok(Self::Demo),
                _ => Ok(Self::Entry(text.to_owned())),
            };
        };
        if !matches!(kind, "openai" | "anthropic" | "gemini" | "scripted") {
            return fail("the word before `:` is unknown");
        }
        if rest.is_empty() {
            return fail("nothing follows the `:`");
        }
        let rest = rest.to_owned();
        Ok(match kind {
            "openai" => Self::OpenAi(rest),
            "anthropic" => Self::Anthropic(rest),
            "gemini" => Self::Gemini(rest),
            _ => Self::Scripted(rest),
        })
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OpenAi(name) => write!(f, "openai:{name}"),
            Self::Anthropic(name) => write!(f, "anthropic:{name}"),
            Self::Gemini(name) => write!(f, "gemini:{name}"),
            Self::Address { url, model } => write!(f, "{url}#{model}"),
            Self::Scripted(file) => write!(f, "scripted:{file}"),
            Self::Demo => f.write_str("demo"),
            Self::Entry(name) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_read_and_shown_as_it_was_written() {
        let names = [
            ("openai:gpt-5", ModelName::OpenAi("gpt-5".into())),
            ("anthropic:claude", ModelName::Anthropic("claude".into())),
            ("gemini:flash", ModelName::Gemini("flash".into())),
            (
                "https://host/v1#a/b#c",
                ModelName::Address { url: "https://host/v1".into(), model: "a/b#c".into() },
            ),
            ("scripted:a:b.jsonl", ModelName::Scripted("a:b.jsonl".into())),
            ("demo", ModelName::Demo),
            ("my-model", ModelName::Entry("my-model".into())),
        ];
        for (text, name) in names {
            assert_eq!(ModelName::parse(text), Ok(name.clone()), "{text}");
            assert_eq!(name.to_string(), text);
        }
    }

    #[test]
    fn what_names_no_model_is_refused_with_the_forms_that_do() {
        for (text, why) in [
            ("", "it is empty"),
            ("opnai:gpt", "the word before `:` is unknown"),
            ("openai:", "nothing follows the `:`"),
            ("http://host/v1", "the model's name is missing behind `#`"),
            ("http://host/v1#", "the model's name is missing behind `#`"),
        ] {
            let message = ModelName::parse(text).unwrap_err().to_string();
            assert!(message.contains(why) && message.contains("http://host:port/v1#NAME"), "{message}");
        }
    }
}
