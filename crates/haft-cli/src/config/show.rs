//! What `haft config show` prints: every setting that holds, and where it comes from.

use serde::Serialize;

use super::LoadedConfig;
use crate::document::{Node, Value};
use crate::home::Home;
use crate::platform::PLACE;

/// One setting.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Setting {
    /// Its key, dotted.
    pub(crate) key: String,
    /// Its value, as JSON.
    pub(crate) value: serde_json::Value,
    /// Where it comes from: `haft.toml:3`, `built in` …
    pub(crate) origin: String,
}

/// All settings: the home first, then what the file sets, then the defaults of what it leaves out.
pub(crate) fn settings(home: &Home, loaded: &LoadedConfig) -> Vec<Setting> {
    let root = home.root().display().to_string();
    let mut settings = vec![Setting {
        key: "home".to_owned(),
        value: root.into(),
        origin: home.origin().as_str().to_owned(),
    }];
    if let Some(place) = PLACE.filter(|_| loaded.config.platform.is_there) {
        let (key, origin) = ("policy.platform".to_owned(), place.to_owned());
        settings.push(Setting { key, value: loaded.config.platform.rules.len().into(), origin });
    }
    if let Some(tree) = &loaded.tree {
        flatten("", tree, &mut settings);
    }
    let defaults: [(&str, serde_json::Value); 7] = [
        ("default_profile", "default".into()),
        ("default_model", serde_json::Value::Null),
        ("registry.allow_override", false.into()),
        ("consent.timeout_s", 300.into()),
        ("consent.grace_s", 30.into()),
        ("spill.preview", serde_json::Value::Null),
        ("read_artifact_max_chars", 50_000.into()),
    ];
    for (key, value) in defaults {
        if !settings.iter().any(|setting| setting.key == key) {
            settings.push(Setting { key: key.to_owned(), value, origin: "built in".to_owned() });
        }
    }
    settings
}

fn flatten(path: &str, node: &Node, settings: &mut Vec<Setting>) {
    let value = match &node.value {
        Value::Table(entries) => {
            for entry in entries {
                let key = if path.is_empty() { entry.key.clone() } else { format!("{path}.{}", entry.key) };
                flatten(&key, &entry.node, settings);
            }
            return;
        }
        Value::Text(text) if path.ends_with(".url") => without_password(text).into(),
        Value::Text(text) => text.as_str().into(),
        Value::Boolean(flag) => (*flag).into(),
        Value::Integer(number) => (*number).into(),
        Value::Float(number) => (*number).into(),
        Value::List(items) => items.len().into(),
        Value::Null | Value::Other(_) => serde_json::Value::Null,
    };
    settings.push(Setting { key: path.to_owned(), value, origin: format!("haft.toml:{}", node.at.line) });
}

/// An address without what stands before `@` in it.
fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let host_end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (host, path) = rest.split_at(host_end);
    match host.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://***@{host}{path}"),
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_in_addresses_are_not_shown() {
        assert_eq!(without_password("http://me:secret@host:1/v1#m@n"), "http://***@host:1/v1#m@n");
        assert_eq!(without_password("http://host/v1#a@b"), "http://host/v1#a@b");
        assert_eq!(without_password("openai:gpt"), "openai:gpt");
    }
}
