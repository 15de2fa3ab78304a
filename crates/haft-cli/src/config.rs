//! `haft.toml`: what the user set for this home. Unknown keys are errors that name the nearest one.
//!
//! Keys themselves (passwords, tokens) never stand here: `key_env` names an environment variable.

mod show;

use haft_core::budget::{Money, Price};
use haft_core::facts::Permission;
use haft_core::policy::Rule;
use haft_models::Api;
use indexmap::IndexMap;
use serde_json::Map;

use crate::document::reader::{Problems, TableReader};
use crate::document::{Entry, FileError, Node, Value, toml};
use crate::home::Home;
use crate::platform::PlatformRules;
use crate::rules;
use crate::surroundings;

pub(crate) use show::settings;

/// Longest consent timeout that is taken: a year.
const LONGEST_WAIT_S: u64 = 366 * 24 * 3600;

/// Who names the calls of a model (CONFLICT-31).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum CallIds {
    /// Haft gives each call its own id.
    #[default]
    Host,
    /// The provider's ids are a contract.
    Provider,
}

/// `[models.NAME]`.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct ModelEntry {
    /// The server: `http://host:port/v1#MODEL`, or `openai:MODEL` and its like.
    pub(crate) url: String,
    /// How the server at an address is spoken to; OpenAI's way where it is left out.
    pub(crate) api: Option<Api>,
    /// Name of the environment variable that holds the key.
    pub(crate) key_env: Option<String>,
    /// The dialect; `native` where it is left out.
    pub(crate) dialect: Option<String>,
    /// The tag that wraps a call in the dialect artifact-xml.
    pub(crate) tag: Option<String>,
    /// Who names the calls.
    pub(crate) call_ids: CallIds,
    /// It takes images.
    pub(crate) images: bool,
    /// A file with a grammar (GBNF) that the server holds answers to; a relative path starts from the home.
    pub(crate) grammar: Option<String>,
    /// Sampling temperature.
    pub(crate) temperature: Option<f64>,
    /// Sampling seed.
    pub(crate) seed: Option<u64>,
    /// Most tokens of one answer.
    pub(crate) max_tokens: Option<u32>,
    /// Tokens of a request and its answer together that the model takes.
    pub(crate) context_tokens: Option<u64>,
    /// Longest wait for the next bytes of an answer, in seconds.
    pub(crate) idle_timeout_s: Option<u64>,
    /// What a million tokens cost.
    pub(crate) price: Option<Price>,
    /// Fields that every request carries besides Haft's own.
    pub(crate) extra: Map<String, serde_json::Value>,
}

/// The whole file.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Config {
    /// The profile where nothing else names one.
    pub(crate) default_profile: Option<String>,
    /// The model where nothing else names one.
    pub(crate) default_model: Option<String>,
    /// Model entries by name.
    pub(crate) models: IndexMap<String, ModelEntry>,
    /// A later tool may take the name of an earlier one (CONFLICT-21).
    pub(crate) allow_override: bool,
    /// Seconds until a question without an answer is a no, where the profile says nothing (CFG-02 `PERMISSION_TIMEOUT`).
    pub(crate) consent_timeout_s: Option<u64>,
    /// Seconds without any surface until a question is a no, where the profile says nothing.
    pub(crate) consent_grace_s: Option<u64>,
    /// Characters of the preview of a spilled result, where the profile says nothing (CFG-02 `TOOL_PERSIST_PREVIEW_LENGTH`).
    pub(crate) spill_preview: Option<u64>,
    /// Hidden cap of `read_artifact`, where the profile says nothing (CFG-02 `READ_ARTIFACT_MAX_CHARS`).
    pub(crate) read_artifact_max_chars: Option<u64>,
    /// `policy.rules`: the user's.
    pub(crate) rules: Vec<Rule>,
    /// `policy.source`: rules for the tools of one provider.
    pub(crate) source_rules: IndexMap<String, Vec<Rule>>,
    /// `policy.default`: what holds where nobody speaks.
    pub(crate) policy_default: Option<Permission>,
    /// The administrator's rules; they stand in another file.
    pub(crate) platform: PlatformRules,
}

/// The file as read, beside its meaning.
#[derive(Debug, Clone)]
pub(crate) struct LoadedConfig {
    /// What it means.
    pub(crate) config: Config,
    /// Its tree; none if there is no file.
    pub(crate) tree: Option<Node>,
}

/// Reads `haft.toml` of `home`; a home without one has the defaults.
pub(crate) fn load(home: &Home) -> Result<LoadedConfig, FileError> {
    let path = home.configuration();
    let name = path.display().to_string();
    let text = surroundings::text_if_there(&path).map_err(|reason| {
        let hint = "make the file readable, or move it away to use the defaults".to_owned();
        FileError::whole(&name, format!("the file cannot be read: {reason}"), Some(hint))
    })?;
    let Some(text) = text else { return Ok(LoadedConfig { config: Config::default(), tree: None }) };
    let tree = toml::parse(&name, &text)?;
    let config = read(&name, &tree)?;
    Ok(LoadedConfig { config, tree: Some(tree) })
}

/// Reads the meaning out of the tree.
fn read(file: &str, tree: &Node) -> Result<Config, FileError> {
    let problems = Problems::default();
    let root = TableReader::new(tree, "", &problems);
    let mut config = Config {
        default_profile: root.text("default_profile"),
        default_model: root.text("default_model"),
        read_artifact_max_chars: root.whole("read_artifact_max_chars", 1, u64::MAX),
        ..Config::default()
    };
    for entry in root.free_table("models") {
        let path = format!("models.{}", entry.key);
        if let Some(reason) = bad_model_name(&entry.key) {
            problems.add(entry.at, format!("`{}` is no name for a model entry: {reason}", entry.key), None);
        }
        let table = TableReader::new(&entry.node, path, &problems);
        config.models.insert(entry.key.clone(), model_entry(table, entry));
    }
    if let Some(registry) = root.table("registry") {
        config.allow_override = registry.boolean("allow_override").unwrap_or(false);
        registry.finish();
    }
    if let Some(consent) = root.table("consent") {
        config.consent_timeout_s = consent.whole("timeout_s", 0, LONGEST_WAIT_S);
        config.consent_grace_s = consent.whole("grace_s", 0, LONGEST_WAIT_S);
        consent.finish();
    }
    if let Some(spill) = root.table("spill") {
        config.spill_preview = spill.whole("preview", 1, u64::MAX);
        spill.finish();
    }
    if let Some(policy) = root.table("policy") {
        rules::read_version(&policy);
        config.rules = rules::read(&policy, "haft.toml");
        config.source_rules = rules::read_sources(&policy, "haft.toml");
        config.policy_default = rules::read_default(&policy);
        policy.finish();
    }
    root.finish();
    problems.into_result(file)?;
    Ok(config)
}

fn model_entry(table: TableReader<'_>, found: &Entry) -> ModelEntry {
    let url = table.text("url");
    if url.is_none() && table.entry("url").is_none() && matches!(found.node.value, Value::Table(_)) {
        let hint = "for example `url = \"http://127.0.0.1:11434/v1#qwen2.5-coder\"`".to_owned();
        table.problems().add(found.at, format!("the model entry `{}` needs `url`", found.key), Some(hint));
    }
    let entry = ModelEntry {
        url: url.unwrap_or_default(),
        api: table.word("api", &["openai", "anthropic", "gemini"]).map(|word| match word {
            1 => Api::Anthropic,
            2 => Api::Gemini,
            _ => Api::OpenAi,
        }),
        key_env: table.text("key_env"),
        dialect: table.text("dialect"),
        tag: table.text("tag"),
        call_ids: match table.word("call_ids", &["host", "provider"]) {
            Some(1) => CallIds::Provider,
            _ => CallIds::Host,
        },
        images: table.boolean("images").unwrap_or(false),
        grammar: table.text("grammar"),
        temperature: table.number("temperature", 0.0, 10.0),
        seed: table.whole("seed", 0, u64::MAX),
        max_tokens: table
            .whole("max_tokens", 1, u64::from(u32::MAX))
            .and_then(|tokens| u32::try_from(tokens).ok()),
        context_tokens: table.whole("context_tokens", 256, u64::MAX),
        idle_timeout_s: table.whole("idle_timeout_s", 1, 24 * 3600),
        price: price(&table),
        extra: table
            .free_table("extra")
            .iter()
            .filter_map(|field| Some((field.key.clone(), rules::as_json(&field.node, table.problems())?)))
            .collect(),
    };
    table.finish();
    entry
}

/// `price`: `input` and `output`, for a million tokens each.
fn price(entry: &TableReader<'_>) -> Option<Price> {
    let node = &entry.entry("price")?.node;
    let table = entry.table("price")?;
    let of = |key: &'static str| table.number(key, 0.0, 1e6).and_then(Money::of_units);
    let (input, output) = (of("input"), of("output"));
    for key in ["input", "output"] {
        if table.entry(key).is_none() {
            let hint = Some(
                "for example `price = { input = 3.0, output = 15.0 }`, for a million tokens each".to_owned(),
            );
            table.problems().add(node.at, format!("a price needs `{key}`"), hint);
        }
    }
    table.finish();
    Some(Price { input: input?, output: output? })
}

fn bad_model_name(name: &str) -> Option<&'static str> {
    if name == "demo" {
        Some("`demo` is the builtin demo model")
    } else if name.is_empty() || name.contains([':', '/', '#']) || name.contains(char::is_whitespace) {
        Some("it must not be empty nor hold blanks, `:`, `/` or `#`")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Result<Config, String> {
        toml::parse("haft.toml", text).and_then(|tree| read("haft.toml", &tree)).map_err(|e| e.to_string())
    }

    // CFG-02
    #[test]
    fn every_key_is_read() {
        let text = r#"
            default_profile = "nanoclaw"
            default_model = "local"
            read_artifact_max_chars = 9000
            [models.local]
            url = "http://127.0.0.1:8080/v1#qwen"
            api = "anthropic"
            key_env = "QWEN_KEY"
            dialect = "artifact-xml"
            tag = "invoke"
            call_ids = "provider"
            images = true
            grammar = "calls.gbnf"
            temperature = 0
            seed = 7
            max_tokens = 512
            context_tokens = 8192
            idle_timeout_s = 30
            price = { input = 3, output = 0.25 }
            extra = { thinking = { type = "adaptive" } }
            [registry]
            allow_override = true
            [consent]
            timeout_s = 60
            grace_s = 0
            [spill]
            preview = 500
        "#;
        let expected = Config {
            default_profile: Some("nanoclaw".into()),
            default_model: Some("local".into()),
            models: IndexMap::from([(
                "local".into(),
                ModelEntry {
                    url: "http://127.0.0.1:8080/v1#qwen".into(),
                    api: Some(Api::Anthropic),
                    key_env: Some("QWEN_KEY".into()),
                    dialect: Some("artifact-xml".into()),
                    tag: Some("invoke".into()),
                    call_ids: CallIds::Provider,
                    images: true,
                    grammar: Some("calls.gbnf".into()),
                    temperature: Some(0.0),
                    seed: Some(7),
                    max_tokens: Some(512),
                    context_tokens: Some(8_192),
                    idle_timeout_s: Some(30),
                    price: Some(Price { input: Money(3_000_000), output: Money(250_000) }),
                    extra: serde_json::json!({"thinking": {"type": "adaptive"}}).as_object().unwrap().clone(),
                },
            )]),
            allow_override: true,
            consent_timeout_s: Some(60),
            consent_grace_s: Some(0),
            spill_preview: Some(500),
            read_artifact_max_chars: Some(9000),
            ..Config::default()
        };
        assert_eq!(config(text), Ok(expected));
        assert_eq!(config(""), Ok(Config::default()));
    }

    #[test]
    fn all_that_is_wrong_is_told_with_line_and_next_step() {
        let text = "defult_model = \"x\"\n[models.a]\nurll = \"x\"\n[models.\"b c\"]\nurl = 3\n[consent]\ntimeout_s = -1\n";
        assert_eq!(
            config(text).unwrap_err(),
            "haft.toml:1:1: unknown key `defult_model`; did you mean `default_model`?\n\
             haft.toml:2:9: the model entry `a` needs `url`; for example `url = \"http://127.0.0.1:11434/v1#qwen2.5-coder\"`\n\
             haft.toml:3:1: unknown key `urll` in `models.a`; did you mean `url`?\n\
             haft.toml:4:9: `b c` is no name for a model entry: it must not be empty nor hold blanks, `:`, `/` or `#`\n\
             haft.toml:5:7: `models.b c.url` must be text, not 3\n\
             haft.toml:7:13: `consent.timeout_s` must be a whole number from 0 to 31622400, not -1"
        );
    }
}
