//! From a name and its settings to a model.
//!
//! Files and keys are read by the caller: a script's text goes to [`Scripted`](crate::Scripted), a key comes as a [`Secret`].

use std::sync::Arc;

use haft_core::Model;
use haft_core::ports::BlobRows;

use crate::anthropic::Anthropic;
use crate::entry::{Api, Grammar, ModelEntry, NATIVE, Secret};
use crate::gemini::Gemini;
use crate::name::ModelName;
use crate::openai::OpenAi;
use crate::text_dialect::TextDialect;

/// Why a model cannot be made from its settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// The service wants a key and none was given.
    #[error("`{model}` needs a key: set {variable}, or name another variable by `key_env` in a model entry")]
    NoKey {
        /// The model's name.
        model: String,
        /// The environment variable that usually holds it.
        variable: &'static str,
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
        "the model `{model}` cannot be spoken to in the dialect `{dialect}`; `haft parse --dialects` lists those that can be named, beside native"
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
    /// Its answers cannot be held to the calls of each turn.
    #[error("the model `{model}` cannot be held to its calls by a grammar: {why}. Take `grammar` out")]
    Grammar {
        /// The model's name.
        model: String,
        /// What stands against it.
        why: &'static str,
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

impl ModelName {
    /// The environment variable that usually holds the key of the service that the name means; none where no key is needed.
    pub fn key_variable(&self) -> Option<&'static str> {
        match self {
            Self::OpenAi(_) => Some("OPENAI_API_KEY"),
            Self::Anthropic(_) => Some("ANTHROPIC_API_KEY"),
            Self::Gemini(_) => Some("GEMINI_API_KEY"),
            Self::Address { .. } | Self::Scripted(_) | Self::Demo | Self::Entry(_) => None,
        }
    }
}

impl ModelEntry {
    /// The entry of a name that holds its address itself; none for scripts, `demo` and entries of the configuration.
    ///
    /// # Errors
    /// The service needs a key and `key` is none.
    pub fn of_name(name: &ModelName, key: Option<Secret>) -> Result<Option<Self>, BuildError> {
        let needed = |key: Option<Secret>| {
            let variable = name.key_variable().unwrap_or_default();
            key.ok_or_else(|| BuildError::NoKey { model: name.to_string(), variable })
        };
        Ok(match name {
            ModelName::OpenAi(model) => Some(Self::openai(model, needed(key)?)),
            ModelName::Anthropic(model) => Some(Self::anthropic(model, needed(key)?)),
            ModelName::Gemini(model) => Some(Self::gemini(model, needed(key)?)),
            ModelName::Address { url, model } => {
                let mut entry = Self::new(name.to_string(), url, model);
                entry.key = key;
                Some(entry)
            }
            ModelName::Scripted(_) | ModelName::Demo | ModelName::Entry(_) => None,
        })
    }
}

/// Makes the model of `entry`, in its api and dialect. Nothing is sent. Images among results are told in words.
///
/// # Errors
/// The address, key, proxy or dialect cannot be used.
pub fn connect(entry: ModelEntry) -> Result<Arc<dyn Model>, BuildError> {
    make(entry, None)
}

/// [`connect`], for a model that may read images out of `blobs`: they are sent where its entry says that it takes images.
///
/// # Errors
/// The address, key, proxy or dialect cannot be used.
pub fn connect_with_images(
    entry: ModelEntry,
    blobs: Arc<dyn BlobRows>,
) -> Result<Arc<dyn Model>, BuildError> {
    make(entry, Some(blobs))
}

fn make(entry: ModelEntry, blobs: Option<Arc<dyn BlobRows>>) -> Result<Arc<dyn Model>, BuildError> {
    let (dialect, tag) = (entry.dialect.clone(), entry.tag.clone());
    let held = match &entry.grammar {
        Some(kind @ (Grammar::Gbnf | Grammar::JsonSchema)) => Some(kind.clone()),
        // The adapter itself sends it with every request.
        Some(Grammar::Text(_)) | None => None,
    };
    let cannot = |why| BuildError::Grammar { model: entry.name.clone(), why };
    match (entry.api, held) {
        (Api::OpenAi, Some(_)) if dialect == NATIVE => Err(cannot(
            "native calls are the server's own; set `dialect` to a text dialect, or name a file with a grammar of your own",
        )),
        (Api::OpenAi, Some(kind)) => {
            let model = OpenAi::new(entry)?.with_images(blobs);
            let model = TextDialect::new(model, &dialect, tag.as_deref())?.held(kind, OpenAi::held_to);
            Ok(Arc::new(model))
        }
        (Api::Anthropic | Api::Gemini, _) if entry.grammar.is_some() => {
            Err(cannot("only servers with OpenAI's chat completions take one"))
        }
        (Api::OpenAi, None) => in_dialect(OpenAi::new(entry)?.with_images(blobs), &dialect, tag.as_deref()),
        (Api::Anthropic, _) => {
            in_dialect(Anthropic::new(entry)?.with_images(blobs), &dialect, tag.as_deref())
        }
        (Api::Gemini, _) => in_dialect(Gemini::new(entry)?.with_images(blobs), &dialect, tag.as_deref()),
    }
}

fn in_dialect(
    model: impl Model + 'static,
    dialect: &str,
    tag: Option<&str>,
) -> Result<Arc<dyn Model>, BuildError> {
    if dialect == NATIVE {
        return Ok(Arc::new(model));
    }
    Ok(Arc::new(TextDialect::new(model, dialect, tag)?))
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
    fn services_are_known_by_name_and_want_their_keys() {
        let of = |text: &str, key| ModelEntry::of_name(&ModelName::parse(text).unwrap(), key);
        for (name, api, url, variable) in [
            ("openai:x", Api::OpenAi, crate::OPENAI_URL, "OPENAI_API_KEY"),
            ("anthropic:x", Api::Anthropic, crate::ANTHROPIC_URL, "ANTHROPIC_API_KEY"),
            ("gemini:x", Api::Gemini, crate::GEMINI_URL, "GEMINI_API_KEY"),
        ] {
            let entry = of(name, Some(Secret::new("k"))).unwrap().unwrap();
            let found = (entry.name.as_str(), entry.model.as_str(), entry.api, entry.url.as_str());
            assert_eq!(found, (name, "x", api, url));
            let said = of(name, None).unwrap_err().to_string();
            assert!(said.starts_with(&format!("`{name}` needs a key: set {variable}")), "{said}");
        }
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
        assert!(said.contains("the dialect `auto`; `haft parse --dialects` lists"), "{said}");
        let said = message(|entry| {
            entry.dialect = "artifact-xml".to_owned();
            entry.tag = Some("tool call".to_owned());
        });
        assert!(said.starts_with("the tag `tool call` of the model `m` is no name"), "{said}");
        for api in [Api::Anthropic, Api::Gemini] {
            let said = message(|entry| {
                entry.api = api;
                entry.grammar = Some(Grammar::Text("root ::= \"x\"".to_owned()));
            });
            assert!(
                said.ends_with("only servers with OpenAI's chat completions take one. Take `grammar` out"),
                "{said}"
            );
        }
        let said = message(|entry| entry.key = Some(Secret::new("a\nb")));
        assert!(said.contains("holds characters that no key has"), "{said}");
        let said = message(|entry| entry.proxy = Some("::".to_owned()));
        assert!(said.starts_with("the proxy of the model `m` cannot be used: "), "{said}");
    }
}
