//! Which arguments name a path or a host: by the last word of their key, in arguments and in schemas alike.

use serde_json::Value;

/// Deepest nesting that is searched.
const DEPTH: usize = 64;

/// What a key names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Named {
    /// A path: the key's last word is `path`, `file`, `folder`, `dir` …
    Path,
    /// A host or an address: `url`, `host`, `domain` …
    Host,
}

impl Named {
    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Path => &[
                "path",
                "paths",
                "file",
                "files",
                "filename",
                "filenames",
                "folder",
                "folders",
                "dir",
                "dirs",
                "directory",
                "directories",
                "cwd",
            ],
            Self::Host => &[
                "url",
                "urls",
                "uri",
                "uris",
                "host",
                "hosts",
                "hostname",
                "hostnames",
                "domain",
                "domains",
                "endpoint",
                "endpoints",
            ],
        }
    }

    /// True if `key` names one.
    fn is_key(self, key: &str) -> bool {
        let last = key.rsplit(['_', '-', '.']).next().unwrap_or(key);
        let word = last.get(last_hump(last)..).unwrap_or(last);
        self.words().iter().any(|known| known.eq_ignore_ascii_case(word))
    }

    /// Hands every text under such a key to `take`, at any depth.
    pub(crate) fn collect<'a>(self, arguments: &'a Value, take: &mut impl FnMut(&'a str)) {
        self.walk(arguments, false, DEPTH, take);
    }

    fn walk<'a>(self, value: &'a Value, named: bool, depth: usize, take: &mut impl FnMut(&'a str)) {
        match value {
            Value::String(text) if named => take(text),
            Value::Array(items) if depth > 0 => {
                for item in items {
                    self.walk(item, named, depth - 1, take);
                }
            }
            Value::Object(map) if depth > 0 => {
                for (key, value) in map {
                    self.walk(value, self.is_key(key), depth - 1, take);
                }
            }
            // Too deep to be judged: an empty text is one that cannot be read.
            Value::Array(_) | Value::Object(_) => take(""),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// True if arguments of this schema may name one.
    pub(crate) fn is_in(self, schema: &Value) -> bool {
        is_open(schema) || self.is_declared(schema, DEPTH)
    }

    fn is_declared(self, schema: &Value, depth: usize) -> bool {
        match schema {
            Value::Object(map) if depth > 0 => map.iter().any(|(keyword, inner)| {
                let here = keyword == "properties"
                    && inner.as_object().is_some_and(|keys| keys.keys().any(|key| self.is_key(key)));
                here || self.is_declared(inner, depth - 1)
            }),
            Value::Array(items) if depth > 0 => items.iter().any(|item| self.is_declared(item, depth - 1)),
            Value::Object(_)
            | Value::Array(_)
            | Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_) => false,
        }
    }
}

/// Where the last word of a name in camelCase begins.
fn last_hump(name: &str) -> usize {
    let letters: Vec<(usize, char)> = name.char_indices().collect();
    let is_lower = |letter: Option<&(usize, char)>| letter.is_some_and(|(_, letter)| letter.is_lowercase());
    let begins = |index: usize| is_lower(letters.get(index - 1)) || is_lower(letters.get(index + 1));
    let mut humps =
        letters.iter().enumerate().skip(1).filter(|(index, (_, c))| c.is_uppercase() && begins(*index));
    humps.next_back().map_or(0, |(_, (at, _))| *at)
}

/// True if the schema names no properties, so that arguments may hold anything.
pub(crate) fn is_open(schema: &Value) -> bool {
    schema.get("properties").is_none() && schema.get("additionalProperties") != Some(&Value::Bool(false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_of_a_key_says_what_it_names() {
        for key in ["path", "file_path", "filePath", "HTMLFile", "PATH", "working-dir", "src.files"] {
            assert!(Named::Path.is_key(key), "{key}");
        }
        for key in ["profile", "xpath", "paths_seen", "text", ""] {
            assert!(!Named::Path.is_key(key), "{key}");
        }
        assert!(Named::Host.is_key("baseURL") && Named::Host.is_key("base_url"));
    }

    #[test]
    fn texts_are_found_at_any_depth() {
        let arguments = serde_json::json!({"a": [{"path": "x"}], "files": ["y", ["z"]], "text": "no"});
        let mut found = Vec::new();
        Named::Path.collect(&arguments, &mut |text| found.push(text));
        assert_eq!(found, ["x", "y", "z"]);
    }
}
