//! From a name and its settings to a model.
//!
//! Files and keys are read by the caller: a script's text goes to [`Scripted`](crate::Scripted), a key comes as a [`Secret`].

use std::sync::Arc;

use haft_core::Model;

use crate::entry::{ModelEntry, NATIVE, Secret};
use crate::name::ModelName;
use crate::openai::OpenAi;
use crate::text_dialect::TextDialect;

/// Why a model cannot be made from its settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// The provider has no adapter yet.
    #[error(
        "`{model}`: Haft cannot speak to {provider} yet. Use openai:NAME or an OpenAI-compatible address, http://host:port/v1#NAME"
    )]
    NotBuilt {
        /// The model's name.
        model: String,
        /// Whose service it is.
        provider: &'static str,
    },
    /// The service wants a key and none was given.
    #[error(
        "`{model}` needs a key: set OPENAI_API_KEY, or name another variable by `key_env` in a model entry"
    )]
    NoKey {
        /// The model's name.
        model: String,
    },
    /// The key cannot be sent.
    #[error(
        "the key of the model `{model}` holds characters that no key has; look at the variable that `key_env` names"
    )]
    Key {
        /// The model's name.
        model: String,
    },
    /// The address cannot be used.
    #[error(
        "the address of the model `{model}` cannot be used: {why}. It should look like http://127.0.0.1:8080/v1"
    )]
    Address {
        /// The model's name.
        model: String,
        /// What is wrong.
        why: String,
    },
    /// Nobody speaks the dialect.
    #[error(
        "the model `{model}` cannot be spoken to in the dialect `{dialect}`; known are native, artifact-xml"
    )]
    Dialect {
        /// The model's name.
        model: String,
        /// The dialect that was asked for.
        dialect: String,
    },
    /// The tag is no name.
    #[error(
        "the tag `{tag}` of the model `{model}` is no name; write letters, digits, `_` or `-`, such as function_call"
    )]
    Tag {
        /// The model's name.
        model: String,
        /// The tag as given.
        tag: String,
    },
    /// The proxy cannot be used.
    #[error("the proxy of the model `{model}` cannot be used: {why}")]
    Proxy {
        /// The model's name.
        model: String,
        /// What is wrong.
        why: String,
    },
    /// Encrypted connections cannot be checked on this machine.
    #[error(
        "the model `{model}` cannot be reached safely: {why}. Install the system's certificates (ca-certificates)"
    )]
    Certificates {
        /// The model's name.
        model: String,
        /// What is wrong.
        why: String,
    },
    /// The connection to the model cannot be prepared.
    #[error("the connection to the model `{model}` cannot be prepared: {why}")]
    Client {
        /// The model's name.
        model: String,
        /// What is wrong.
        why: String,
    },
}

impl ModelEntry {
    /// The entry of a name that holds its address itself; none for scripts, `demo` and entries of the configuration.
    ///
    /// # Errors
    /// The provider is not built yet, or the service needs a key and `key` is none.
    pub fn of_name(name: &ModelName, key: Option<Secret>) -> Result<Option<Self>, BuildError> {
        let not_built = |provider| BuildError::NotBuilt { model: name.to_string(), provider };
        match name {
            ModelName::OpenAi(model) => match key {
                Some(key) => Ok(Some(Self::openai(model, key))),
                None => Err(BuildError::NoKey { model: name.to_string() }),
            },
            ModelName::Address { url, model } => {
                let mut entry = Self::new(name.to_string(), url, model);
                entry.key = key;
                Ok(Some(entry))
            }
            ModelName::Anthropic(_) => Err(not_built("Anthropic")),
            ModelName::Gemini(_) => Err(not_built("Gemini")),
            ModelName::Scripted(_) | ModelName::Demo | ModelName::Entry(_) => Ok(None),
        }
    }
}

/// Makes the model of `entry`, in its dialect. Nothing is sent.
///
/// # Errors
/// The address, key, proxy or dialect cannot be used.
pub fn connect(entry: ModelEntry) -> Result<Arc<dyn Model>, BuildError> {
    if entry.dialect == NATIVE {
        return Ok(Arc::new(OpenAi::new(entry)?));
    }
    let (dialect, tag) = (entry.dialect.clone(), entry.tag.clone());
    Ok(Arc::new(TextDialect::new(OpenAi::new(entry)?, &dialect, tag.as_deref())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(change: impl FnOnce(&mut ModelEntry)) -> String {
        let mut entry = ModelEntry::new("m", "http://127.0.0.1:8080/v1", "x");
        change(&mut entry);
        connect(entry).map(|_| ()).unwrap_err().to_string()
    }

    #[test]
    fn names_with_an_address_make_entries() {
        let key = || Some(Secret::new("k"));
        let of = |text: &str, key| ModelEntry::of_name(&ModelName::parse(text).unwrap(), key);
        let openai = of("openai:gpt-5", key()).unwrap().unwrap();
        assert_eq!((openai.name.as_str(), openai.url.as_str()), ("openai:gpt-5", crate::OPENAI_URL));
        let local = of("http://h:1/v1#a/b", None).unwrap().unwrap();
        assert_eq!((local.name.as_str(), local.url.as_str()), ("http://h:1/v1#a/b", "http://h:1/v1"));
        assert_eq!((local.model.as_str(), local.key), ("a/b", None));
        for text in ["demo", "scripted:x", "mine"] {
            assert_eq!(of(text, None), Ok(None));
        }
    }

    #[test]
    fn what_is_not_built_or_lacks_a_key_says_so() {
        let of =
            |text: &str| ModelEntry::of_name(&ModelName::parse(text).unwrap(), None).unwrap_err().to_string();
        assert!(of("anthropic:x").starts_with("`anthropic:x`: Haft cannot speak to Anthropic yet. Use"));
        assert!(of("gemini:x").starts_with("`gemini:x`: Haft cannot speak to Gemini yet. Use"));
        assert!(of("openai:x").starts_with("`openai:x` needs a key: set OPENAI_API_KEY"));
    }

    #[test]
    fn settings_that_cannot_work_are_refused_before_anything_is_sent() {
        for (url, why) in [
            ("127.0.0.1:8080", "relative URL without a base"),
            ("ftp://host/v1", "it must begin with http:// or https://"),
            ("http://", "empty host"),
            ("http://user:pass@host/v1", "it must hold no name and no password"),
            ("http://host/v1?key=abc", "it must hold nothing behind `?` or `#`"),
        ] {
            let said = message(|entry| entry.url = url.to_owned());
            assert!(said.contains(why) && said.contains("http://127.0.0.1:8080/v1"), "{said}");
            assert!(!said.contains("pass@") && !said.contains("abc"), "{said}");
        }
        let said = message(|entry| entry.dialect = "auto".to_owned());
        assert!(said.contains("the dialect `auto`; known are native, artifact-xml"), "{said}");
        let said = message(|entry| {
            entry.dialect = "artifact-xml".to_owned();
            entry.tag = Some("tool call".to_owned());
        });
        assert!(said.starts_with("the tag `tool call` of the model `m` is no name"), "{said}");
        let said = message(|entry| entry.key = Some(Secret::new("a\nb")));
        assert!(said.contains("holds characters that no key has"), "{said}");
        let said = message(|entry| entry.proxy = Some("::".to_owned()));
        assert!(said.starts_with("the proxy of the model `m` cannot be used: "), "{said}");
    }
}
