//! From `--model`, a profile or the configuration to a model: which one, and what it needs from files and environment.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use haft_core::Profile;
use haft_core::nearest::nearest;
use haft_core::ports::{BlobRows, Model};
use haft_core::profile::{BreachPolicy, RunKind};
use haft_dialect::Tags;
use haft_models::{Demo, Grammar, ModelName, NATIVE, Scripted, Secret, TextDialect, with_text_fallback};

use crate::config::{CallIds, Config, ModelEntry};
use crate::exit::Failure;
use crate::setup::Setup;
use crate::surroundings;

impl Setup {
    /// The name of the model: `--model`, else the profile's, else `default_model`.
    pub(crate) fn model_name(&self, profile: &Profile) -> Option<String> {
        let flag = self.globals.model.clone();
        flag.or_else(|| profile.model.clone()).or_else(|| self.loaded.config.default_model.clone())
    }

    /// The entry of the configuration that the model's name means, if it means one.
    pub(crate) fn model_entry(&self, profile: &Profile) -> Option<&ModelEntry> {
        self.loaded.config.models.get(&self.model_name(profile)?)
    }

    /// The tags in which calls of a text dialect are written for the model that holds.
    pub(crate) fn tags(&self, profile: &Profile) -> Tags {
        let tag = self.model_entry(profile).and_then(|entry| entry.tag.clone());
        tag.map_or_else(Tags::default, |call| Tags { call })
    }
}

/// Makes the model called `name`, which may read images out of `blobs`. Nothing is sent yet.
///
/// Calls in the content of a native model are calls, but where the profile fails a run over such a breach (CONFLICT-02, CONFLICT-03).
pub(crate) fn build(
    name: &str,
    setup: &Setup,
    profile: &Profile,
    blobs: Arc<dyn BlobRows>,
) -> Result<Arc<dyn Model>, Failure> {
    let model = make(name, setup, profile, blobs)?;
    let strict = profile.run_kind == RunKind::Agent
        || profile.unknown_alias == BreachPolicy::FailFast
        || profile.malformed_arguments == BreachPolicy::FailFast
        || model.traits().provider_call_ids;
    let falls_back = model.traits().dialect == NATIVE && !strict;
    Ok(if falls_back { with_text_fallback(model) } else { model })
}

fn make(
    name: &str,
    setup: &Setup,
    profile: &Profile,
    blobs: Arc<dyn BlobRows>,
) -> Result<Arc<dyn Model>, Failure> {
    let config = &setup.loaded.config;
    let name = ModelName::parse(name).map_err(Failure::usage)?;
    let dialect = profile.dialect.as_deref();
    match &name {
        ModelName::Demo => {
            Ok(Arc::new(Demo::in_dialect(dialect.unwrap_or(NATIVE), None).map_err(Failure::usage)?))
        }
        ModelName::Scripted(file) => {
            let text = surroundings::text(Path::new(file))
                .map_err(|reason| Failure::usage(format!("the script `{file}` cannot be read: {reason}")))?;
            let mut script = Scripted::from_jsonl(file, &text).map_err(Failure::usage)?;
            if let Some(call_ids) = profile.call_ids {
                script = script.with_call_ids(held_to(call_ids));
            }
            match dialect {
                None | Some(NATIVE) => Ok(Arc::new(script)),
                Some(dialect) => {
                    Ok(Arc::new(TextDialect::new(script, dialect, None).map_err(Failure::usage)?))
                }
            }
        }
        ModelName::Entry(entry_name) => {
            let entry = entry(entry_name, config)?;
            let grammar = grammar_of(entry_name, entry, setup)?;
            let mut made = of_entry(entry_name, entry, key_of(entry_name, entry)?)?;
            made.grammar = grammar;
            connect(under(made, profile), Some(blobs))
        }
        ModelName::OpenAi(_) | ModelName::Address { .. } | ModelName::Anthropic(_) | ModelName::Gemini(_) => {
            connect(under(of_name(&name, None)?, profile), Some(blobs))
        }
    }
}

/// Checks that `name` means a model that can be made, without making it.
pub(crate) fn check_name(name: &str, config: &Config) -> Result<(), Failure> {
    match ModelName::parse(name).map_err(Failure::usage)? {
        ModelName::Entry(name) => entry(&name, config).map(|_| ()),
        ModelName::OpenAi(_)
        | ModelName::Anthropic(_)
        | ModelName::Gemini(_)
        | ModelName::Address { .. }
        | ModelName::Scripted(_)
        | ModelName::Demo => Ok(()),
    }
}

/// Checks that the address and the dialect of an entry can be used; its key is not looked at.
pub(crate) fn check_entry(name: &str, entry: &ModelEntry) -> Result<(), Failure> {
    let parsed = ModelName::parse(&entry.url).map_err(Failure::usage)?;
    match parsed {
        ModelName::OpenAi(_) | ModelName::Address { .. } | ModelName::Anthropic(_) | ModelName::Gemini(_) => {
            connect(of_entry(name, entry, Some(Secret::new("none")))?, None).map(|_| ())
        }
        ModelName::Scripted(_) | ModelName::Demo | ModelName::Entry(_) => Err(no_address(&entry.url)),
    }
}

fn entry<'a>(name: &str, config: &'a Config) -> Result<&'a ModelEntry, Failure> {
    config.models.get(name).ok_or_else(|| {
        let names = || config.models.keys().map(String::as_str).chain(["demo"]);
        let near = nearest(name, names(), 5);
        let failure = Failure::usage(format!("there is no model `{name}`"));
        if near.is_empty() {
            failure.hint(
                "Write openai:NAME, anthropic:NAME, gemini:NAME, http://host:port/v1#NAME, scripted:FILE, demo, or add [models.NAME] to haft.toml.",
            )
        } else {
            failure.hint(format!("Did you mean {}?", near.join(", ")))
        }
    })
}

fn of_name(name: &ModelName, key: Option<Secret>) -> Result<haft_models::ModelEntry, Failure> {
    let key = key.or_else(|| surroundings::variable(name.key_variable()?).map(Secret::new));
    let entry = haft_models::ModelEntry::of_name(name, key).map_err(Failure::usage)?;
    entry.ok_or_else(|| no_address(&name.to_string()))
}

fn no_address(text: &str) -> Failure {
    Failure::usage(format!("`{text}` is no address of a model")).hint(
        "Write `url = \"http://host:port/v1#NAME\"`, or one of openai:NAME, anthropic:NAME, gemini:NAME.",
    )
}

/// The key of an entry, where it names a variable that holds one.
fn key_of(name: &str, entry: &ModelEntry) -> Result<Option<Secret>, Failure> {
    let Some(variable) = &entry.key_env else { return Ok(None) };
    let value = surroundings::variable(variable).ok_or_else(|| {
        Failure::usage(format!(
            "haft.toml, `models.{name}`: the environment variable {variable} of `key_env` is not set"
        ))
        .hint(format!("Set {variable} to the key of the model, or take `key_env` out."))
    })?;
    Ok(Some(Secret::new(value)))
}

/// What an entry's `grammar` names: a kind, or a file with a grammar of one's own; a relative path starts from the home.
fn grammar_of(name: &str, entry: &ModelEntry, setup: &Setup) -> Result<Option<Grammar>, Failure> {
    let Some(file) = &entry.grammar else { return Ok(None) };
    match file.as_str() {
        "gbnf" => return Ok(Some(Grammar::Gbnf)),
        "json_schema" => return Ok(Some(Grammar::JsonSchema)),
        _ => {}
    }
    let path = setup.home.root().join(file);
    surroundings::text(&path).map(|text| Some(Grammar::Text(text))).map_err(|reason| {
        let path = path.display();
        Failure::usage(format!("haft.toml, `models.{name}`: the grammar {path} cannot be read: {reason}"))
            .hint("Write gbnf or json_schema, name a file with a GBNF grammar, or take `grammar` out.")
    })
}

fn of_entry(name: &str, entry: &ModelEntry, key: Option<Secret>) -> Result<haft_models::ModelEntry, Failure> {
    let place = |failure: Failure| failure.at(format!("haft.toml, `models.{name}`"));
    let address = ModelName::parse(&entry.url).map_err(|error| place(Failure::usage(error)))?;
    let is_service = !matches!(address, ModelName::Address { .. });
    if entry.api.is_some() && is_service {
        let failure = Failure::usage(format!("`api` cannot stand beside the service `{address}`"));
        let hint = "Take `api` out, or write the address: `url = \"http://host:port/v1#NAME\"`.";
        return Err(place(failure.hint(hint)));
    }
    let mut made = of_name(&address, key).map_err(place)?;
    made.api = entry.api.unwrap_or(made.api);
    made.extra = entry.extra.clone();
    made.name = name.to_owned();
    made.tag = entry.tag.clone();
    made.images = entry.images;
    made.temperature = entry.temperature;
    made.seed = entry.seed;
    made.max_tokens = entry.max_tokens;
    made.context_tokens = entry.context_tokens;
    made.idle_timeout = entry.idle_timeout_s.map_or(made.idle_timeout, Duration::from_secs);
    made.call_ids = match entry.call_ids {
        CallIds::Host => haft_models::CallIds::Host,
        CallIds::Provider => haft_models::CallIds::Provider,
    };
    if let Some(dialect) = &entry.dialect {
        made.dialect = dialect.clone();
    }
    Ok(made)
}

/// The entry as the profile wants it: its dialect and its contract about ids beat the entry's.
fn under(mut entry: haft_models::ModelEntry, profile: &Profile) -> haft_models::ModelEntry {
    if let Some(dialect) = &profile.dialect {
        entry.dialect.clone_from(dialect);
    }
    if let Some(call_ids) = profile.call_ids {
        entry.call_ids = held_to(call_ids);
    }
    entry
}

fn held_to(call_ids: haft_core::profile::CallIds) -> haft_models::CallIds {
    match call_ids {
        haft_core::profile::CallIds::Host => haft_models::CallIds::Host,
        haft_core::profile::CallIds::Provider => haft_models::CallIds::Provider,
    }
}

fn connect(
    entry: haft_models::ModelEntry,
    blobs: Option<Arc<dyn BlobRows>>,
) -> Result<Arc<dyn Model>, Failure> {
    let made = match blobs {
        Some(blobs) => haft_models::connect_with_images(entry, blobs),
        None => haft_models::connect(entry),
    };
    made.map_err(Failure::usage)
}
