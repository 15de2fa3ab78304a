//! Arguments as marked parameters, and what such parameters cannot carry.
//! A raw value has no escapes: what a reader would take for its end must not stand in it.

use std::borrow::Cow;

use haft_schema::canonical;
use serde_json::{Map, Value};

use super::call::Uncarried;
use super::escape::{escaped, push_cdata};
use super::layout::{KeyForm, Parameter, Part, ValueForm};
use super::values::push_plain;
use crate::artifact_xml::value::stands_between_breaks;

/// Readers take a section as one in every dialect, since many models write them.
pub(crate) const CDATA: &str = "<![cdata[";

/// The arguments, each as `parameter`.
pub(super) fn push_parameters(
    arguments: &Map<String, Value>,
    parameter: &Parameter,
    into: &mut String,
) -> Result<(), Uncarried> {
    for (key, value) in arguments {
        let forms = [Some(parameter), parameter.otherwise];
        let Some(form) = forms.into_iter().flatten().find(|form| form.key.fits(key)) else {
            return Err(Uncarried::ParameterName(key.clone()));
        };
        push_parameter(key, value, form, into)?;
    }
    Ok(())
}

impl KeyForm {
    /// Whether a parameter of that name can stand in this form.
    pub(crate) fn fits(self, key: &str) -> bool {
        match self {
            Self::Quoted => is_quotable(key),
            Self::Tag => is_tag_name(key),
            Self::Escaped => true,
        }
    }
}

fn push_parameter(key: &str, value: &Value, form: &Parameter, into: &mut String) -> Result<(), Uncarried> {
    let written_key = match form.key {
        KeyForm::Quoted | KeyForm::Tag => Cow::Borrowed(key),
        KeyForm::Escaped => escaped(key),
    };
    push_parts(form.open, &written_key, value, into);
    let from = into.len();
    match form.value {
        ValueForm::Lines => {
            into.push('\n');
            push_plain(value, into);
            into.push('\n');
        }
        // Line breaks at both ends would be taken for layout where an attribute says that the value is text.
        ValueForm::Exact if says_is_text(form) && value.as_str().is_some_and(stands_between_breaks) => {
            into.push('\n');
            push_plain(value, into);
            into.push('\n');
        }
        ValueForm::Inline | ValueForm::Exact => push_plain(value, into),
        ValueForm::Cdata => match value {
            Value::String(text) => push_cdata(text, into),
            other => push_cdata(&canonical::to_string(other), into),
        },
        ValueForm::Nested(mark) => push_nested(value, mark, into),
    }
    check(into.get(from..).unwrap_or_default(), key, value, form)?;
    push_parts(form.close, &written_key, value, into);
    Ok(())
}

fn says_is_text(form: &Parameter) -> bool {
    form.open.iter().any(|part| matches!(part, Part::IsText))
}

/// Whether a value, as it was written, is read back as it was.
fn check(written: &str, key: &str, value: &Value, parameter: &Parameter) -> Result<(), Uncarried> {
    let uncarried = |what: &str| Err(Uncarried::Value { parameter: key.to_owned(), what: what.to_owned() });
    let trims = match parameter.value {
        ValueForm::Inline | ValueForm::Nested(_) => true,
        ValueForm::Lines | ValueForm::Exact | ValueForm::Cdata => false,
    };
    if trims
        && let Value::String(text) = value
        && text.trim_matches(is_lost) != text
    {
        return uncarried("blanks at its ends");
    }
    if parameter.value == ValueForm::Cdata {
        return Ok(());
    }
    let lower = written.to_ascii_lowercase();
    let held = match parameter.value {
        // The marks of the markup itself stand in what was written; those of a value must not.
        ValueForm::Nested(mark) => holds_text(value, mark).then_some(mark),
        _ => parameter.marks.iter().copied().chain([CDATA]).find(|mark| lower.contains(mark)),
    };
    held.map_or(Ok(()), |mark| uncarried(&format!("`{mark}`")))
}

/// What readers take off the ends of a value that stands beside its marks.
fn is_lost(character: char) -> bool {
    character.is_whitespace()
        || matches!(character, '\0' | '\u{feff}' | '\u{200b}' | '\u{200c}' | '\u{200d}' | '\u{2060}')
}

/// Whether any text or name inside of `value` holds `mark`.
fn holds_text(value: &Value, mark: &str) -> bool {
    match value {
        Value::String(text) => text.contains(mark),
        Value::Array(items) => items.iter().any(|item| holds_text(item, mark)),
        Value::Object(map) => map.iter().any(|(key, value)| key.contains(mark) || holds_text(value, mark)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Lists as `item` elements and objects as elements of their names, each tag behind `mark`; what cannot be markup, or would
/// lose its type there, is JSON.
fn push_nested(value: &Value, mark: &str, into: &mut String) {
    if !value.is_string() && !is_all_text(value) {
        push_plain(value, into);
        return;
    }
    let mut element = |name: &str, inner: &Value| {
        into.push_str(mark);
        into.push_str(&format!("<{name}>"));
        push_nested(inner, mark, into);
        into.push_str(mark);
        into.push_str(&format!("</{name}>"));
    };
    match value {
        Value::Array(items) if !items.is_empty() => items.iter().for_each(|item| element("item", item)),
        Value::Object(map) if !map.is_empty() && map.keys().all(|key| is_tag_name(key) && key != "item") => {
            map.iter().for_each(|(key, inner)| element(key, inner));
        }
        plain => push_plain(plain, into),
    }
}

/// Whether all values inside are texts that stand between tags as they are.
fn is_all_text(value: &Value) -> bool {
    match value {
        Value::String(text) => text.trim_matches(is_lost) == text,
        Value::Array(items) => items.iter().all(is_all_text),
        Value::Object(map) => map.values().all(is_all_text),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn push_parts(parts: &[Part], key: &str, value: &Value, into: &mut String) {
    for part in parts {
        match part {
            Part::Text(text) => into.push_str(text),
            Part::Key => into.push_str(key),
            Part::IsText => into.push_str(if value.is_string() { "true" } else { "false" }),
            Part::TypeName => into.push_str(match value {
                Value::Null => "null",
                Value::Bool(_) => "boolean",
                Value::Number(_) => "number",
                Value::String(_) => "string",
                Value::Array(_) => "array",
                Value::Object(_) => "object",
            }),
        }
    }
}

/// Whether a name can be a tag.
pub(crate) fn is_tag_name(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && characters.all(|character| character.is_alphanumeric() || matches!(character, '_' | '-' | '.'))
        && name.len() <= 128
}

/// Whether a name can stand in an attribute or between tags as it is.
pub(crate) fn is_quotable(name: &str) -> bool {
    !name.is_empty()
        && name.trim_matches(is_lost) == name
        && !name.contains(['<', '>', '"', '\'', '&', '|', '｜', '\n', '\r', '\0'])
}
