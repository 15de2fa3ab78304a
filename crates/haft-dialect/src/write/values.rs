//! Values as text: JSON with blanks as models write it, Python literals, and literals of Gemma.
//! It must not choose among them.

use haft_schema::canonical;
use serde_json::{Map, Value};

/// A value as JSON, one line, blanks behind `,` and `:`; the order of keys stays, numbers are canonical.
pub(crate) fn push_json(value: &Value, into: &mut String) {
    match value {
        Value::Array(items) => {
            into.push('[');
            for (index, item) in items.iter().enumerate() {
                push_separator(index, ", ", into);
                push_json(item, into);
            }
            into.push(']');
        }
        Value::Object(map) => push_json_object(map, into),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            into.push_str(&canonical::to_string(value));
        }
    }
}

/// [`push_json`] of an object.
pub(crate) fn push_json_object(map: &Map<String, Value>, into: &mut String) {
    into.push('{');
    for (index, (key, value)) in map.iter().enumerate() {
        push_separator(index, ", ", into);
        push_json_string(key, into);
        into.push_str(": ");
        push_json(value, into);
    }
    into.push('}');
}

/// A text as a JSON string.
pub(crate) fn push_json_string(text: &str, into: &mut String) {
    let mut bytes = Vec::with_capacity(text.len() + 2);
    canonical::write_string(text, &mut bytes);
    // Whole characters of a text and ASCII escapes are UTF-8.
    into.push_str(&String::from_utf8(bytes).unwrap_or_default());
}

/// Texts as they are, everything else as JSON.
pub(crate) fn push_plain(value: &Value, into: &mut String) {
    match value {
        Value::String(text) => into.push_str(text),
        other => push_json(other, into),
    }
}

/// A value as a Python literal.
pub(crate) fn push_python(value: &Value, into: &mut String) {
    match value {
        Value::Null => into.push_str("None"),
        Value::Bool(true) => into.push_str("True"),
        Value::Bool(false) => into.push_str("False"),
        Value::Number(_) => into.push_str(&canonical::to_string(value)),
        Value::String(text) => push_python_string(text, into),
        Value::Array(items) => {
            into.push('[');
            for (index, item) in items.iter().enumerate() {
                push_separator(index, ", ", into);
                push_python(item, into);
            }
            into.push(']');
        }
        Value::Object(map) => {
            into.push('{');
            for (index, (key, value)) in map.iter().enumerate() {
                push_separator(index, ", ", into);
                push_python_string(key, into);
                into.push_str(": ");
                push_python(value, into);
            }
            into.push('}');
        }
    }
}

/// In double quotes, as the templates of these models show calls.
fn push_python_string(text: &str, into: &mut String) {
    into.push('"');
    for character in text.chars() {
        match character {
            '"' => into.push_str("\\\""),
            '\\' => into.push_str("\\\\"),
            '\n' => into.push_str("\\n"),
            '\r' => into.push_str("\\r"),
            '\t' => into.push_str("\\t"),
            control if control < ' ' => into.push_str(&format!("\\x{:02x}", u32::from(control))),
            other => into.push(other),
        }
    }
    into.push('"');
}

/// A value as a literal of Gemma, strings between `quote`; the first string that holds the quote stops it.
pub(crate) fn push_gemma(value: &Value, quote: &'static str, into: &mut String) -> Result<(), ()> {
    match value {
        Value::String(text) => push_gemma_string(text, quote, into),
        Value::Array(items) => {
            into.push('[');
            for (index, item) in items.iter().enumerate() {
                push_separator(index, ",", into);
                push_gemma(item, quote, into)?;
            }
            into.push(']');
            Ok(())
        }
        Value::Object(map) => push_gemma_object(map, quote, into),
        Value::Null | Value::Bool(_) | Value::Number(_) => {
            into.push_str(&canonical::to_string(value));
            Ok(())
        }
    }
}

/// [`push_gemma`] of an object; names that are no plain words stand between quotes.
pub(crate) fn push_gemma_object(
    map: &Map<String, Value>,
    quote: &'static str,
    into: &mut String,
) -> Result<(), ()> {
    into.push('{');
    for (index, (key, value)) in map.iter().enumerate() {
        push_separator(index, ",", into);
        if is_word(key) {
            into.push_str(key);
        } else {
            push_gemma_string(key, quote, into)?;
        }
        into.push(':');
        push_gemma(value, quote, into)?;
    }
    into.push('}');
    Ok(())
}

fn push_gemma_string(text: &str, quote: &'static str, into: &mut String) -> Result<(), ()> {
    // A quote could also come about where the text meets the mark.
    let first = quote.chars().next().unwrap_or('<');
    if text.contains(quote) || text.ends_with(first) {
        return Err(());
    }
    into.push_str(quote);
    into.push_str(text);
    into.push_str(quote);
    Ok(())
}

/// A name of letters, digits, `_` and `-` that begins with no digit.
pub(crate) fn is_word(name: &str) -> bool {
    name.starts_with(|first: char| first.is_alphabetic() || first == '_')
        && name.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '-'))
}

fn push_separator(index: usize, separator: &str, into: &mut String) {
    if index > 0 {
        into.push_str(separator);
    }
}

#[cfg(test)]
mod tests {
    use haft_schema::json::{Syntax, parse};
    use serde_json::json;

    use super::*;

    #[test]
    fn writes_each_kind_of_value() {
        let value = json!({"b": [1.0, -2, "é\n\"'\\\u{1}"], "a b": null, "c": {"on": true, "off": false}});
        let mut json = String::new();
        push_json(&value, &mut json);
        assert_eq!(json, r#"{"b": [1, -2, "é\n\"'\\\u0001"], "a b": null, "c": {"on": true, "off": false}}"#);
        let mut python = String::new();
        push_python(&value, &mut python);
        assert_eq!(python, r#"{"b": [1, -2, "é\n\"'\\\x01"], "a b": None, "c": {"on": True, "off": False}}"#);
        for (text, syntax) in [(json, Syntax::Json), (python, Syntax::Literal)] {
            assert!(canonical::same(&parse(&text, syntax).unwrap().into_value(None), &value));
        }
        let mut gemma = String::new();
        push_gemma(&json!({"b": [1.0, "x\"y"], "a b": null}), "<|\"|>", &mut gemma).unwrap();
        assert_eq!(gemma, r#"{b:[1,<|"|>x"y<|"|>],<|"|>a b<|"|>:null}"#);
        assert_eq!(push_gemma(&json!(["a<|\"|>b"]), "<|\"|>", &mut String::new()), Err(()));
    }
}
