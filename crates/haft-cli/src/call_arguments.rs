//! Arguments of `haft call` as people type them: `key=text`, `key:=json`, `key@=file`, or one JSON object by `--args`.
//!
//! Nothing is typed or checked by a schema here: text stays text, and the path of the call coerces it.

use std::path::Path;

use haft_schema::{View, json};
use serde_json::{Map, Value};

use crate::surroundings;

/// Why the arguments cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ArgumentError {
    /// None of the three forms.
    #[error("`{0}` is no argument; write key=text, key:=json or key@=file")]
    Form(String),
    /// A key stands twice.
    #[error("the argument `{0}` is given twice; give it once")]
    Twice(String),
    /// The JSON behind `:=` cannot be read.
    #[error("the argument `{key}` is no JSON: {reason}; for plain text write `{key}=…`")]
    Json {
        /// The key.
        key: String,
        /// What is wrong.
        reason: String,
    },
    /// The file behind `@=` cannot be read.
    #[error("the file `{file}` of the argument `{key}` cannot be read: {reason}")]
    File {
        /// The key.
        key: String,
        /// The file.
        file: String,
        /// What is wrong.
        reason: String,
    },
    /// `--args` is no JSON object.
    #[error("--args must be one JSON object: {0}")]
    Args(String),
}

/// Reads `pairs`, with those of the object `args` (a JSON text) before them. `schema` is that of the arguments: a JSON
/// number keeps its own text where only text is allowed.
pub(crate) fn read(
    pairs: &[String],
    args: Option<&str>,
    schema: View<'_>,
) -> Result<Map<String, Value>, ArgumentError> {
    let mut arguments = match args {
        None => Map::new(),
        Some(text) => match json::read(text, Some(schema)) {
            Ok(Value::Object(map)) => map,
            Ok(_) => return Err(ArgumentError::Args("this is another JSON value".to_owned())),
            Err(reason) => return Err(ArgumentError::Args(reason.to_string())),
        },
    };
    for pair in pairs {
        let (key, value) = pair_of(pair, schema)?;
        if arguments.contains_key(&key) {
            return Err(ArgumentError::Twice(key));
        }
        arguments.insert(key, value);
    }
    Ok(arguments)
}

fn pair_of(pair: &str, schema: View<'_>) -> Result<(String, Value), ArgumentError> {
    let form = || ArgumentError::Form(pair.to_owned());
    let (left, right) = pair.split_once('=').ok_or_else(form)?;
    let (key, value) = if let Some(key) = left.strip_suffix(':') {
        let value = json::read(right, schema.property(key))
            .map_err(|reason| ArgumentError::Json { key: key.to_owned(), reason: reason.to_string() })?;
        (key, value)
    } else if let Some(key) = left.strip_suffix('@') {
        let text = surroundings::text(Path::new(right)).map_err(|reason| ArgumentError::File {
            key: key.to_owned(),
            file: right.to_owned(),
            reason,
        })?;
        (key, Value::String(text))
    } else {
        (left, Value::String(right.to_owned()))
    };
    if key.is_empty() { Err(form()) } else { Ok((key.to_owned(), value)) }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the test writes the file that it reads")]
mod tests {
    use haft_schema::Schema;
    use serde_json::json;

    use super::*;

    fn read_all(pairs: &[&str], args: Option<&str>) -> Result<Value, ArgumentError> {
        let schema = Schema::new(json!({"properties": {"label": {"type": "string"}}})).unwrap();
        let pairs: Vec<String> = pairs.iter().map(|pair| (*pair).to_owned()).collect();
        read(&pairs, args, schema.view()).map(Value::Object)
    }

    #[test]
    fn three_forms_and_an_object() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a=b.txt");
        std::fs::write(&file, "whole\n").unwrap();
        let from_file = format!("text@={}", file.display());
        assert_eq!(
            read_all(&["a=x=y", "b:=[1, 2.50]", &from_file, "empty="], Some(r#"{"c": {"d": null}}"#)),
            Ok(json!({"c": {"d": null}, "a": "x=y", "b": [1, 2.5], "text": "whole\n", "empty": ""}))
        );
        assert_eq!(read_all(&["label:=1.0"], None), Ok(json!({"label": "1.0"})));
    }

    #[test]
    fn what_cannot_be_read_is_wrong_usage() {
        let form = |text: &str| ArgumentError::Form(text.into());
        assert_eq!(read_all(&["novalue"], None), Err(form("novalue")));
        assert_eq!(read_all(&["=x"], None), Err(form("=x")));
        assert_eq!(read_all(&[":=1"], None), Err(form(":=1")));
        assert_eq!(read_all(&["a=1", "a:=2"], None), Err(ArgumentError::Twice("a".into())));
        assert_eq!(read_all(&["a=1"], Some(r#"{"a": 1}"#)), Err(ArgumentError::Twice("a".into())));
        assert!(matches!(read_all(&["a:={"], None), Err(ArgumentError::Json { .. })));
        assert!(matches!(read_all(&["a@=no/such/file"], None), Err(ArgumentError::File { .. })));
        for args in ["", "[1]", "{\"a\": 1", "{\"a\": 1, \"a\": 2}", "{} x"] {
            assert!(matches!(read_all(&[], Some(args)), Err(ArgumentError::Args(_))), "{args}");
        }
    }
}
