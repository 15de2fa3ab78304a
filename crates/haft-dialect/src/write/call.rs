//! Calls as text in any dialect: one template is followed, and what it cannot say is named.

use serde_json::{Map, Value};

use super::escape::escaped;
use super::layout::{Layout, Piece};
use super::parameters::push_parameters;
use super::values::{is_word, push_gemma_object, push_json_object, push_json_string, push_python};
use crate::Dialect;

/// A call to write.
#[derive(Debug, Clone, Copy)]
pub struct WrittenCall<'a> {
    /// The tool's name.
    pub name: &'a str,
    /// The arguments, typed.
    pub arguments: &'a Map<String, Value>,
}

/// A call that a dialect has no form for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a call of {tool:?} cannot be written in {dialect}: {what}; json-fence carries every call")]
pub struct CannotCarry {
    /// The dialect.
    pub dialect: Dialect,
    /// The tool of the call.
    pub tool: String,
    /// What stands against it.
    pub what: Uncarried,
}

/// What a dialect cannot carry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Uncarried {
    /// The tool's name would not be read as a name.
    #[error("its name holds characters that are marks there")]
    Name,
    /// The name of a parameter would not be read as a name.
    #[error("the parameter {0:?} has a name that cannot stand there")]
    ParameterName(String),
    /// A value would end too early or lose something.
    #[error("the value of {parameter:?} holds {what}, which would not be read back")]
    Value {
        /// The parameter.
        parameter: String,
        /// What it holds.
        what: String,
    },
}

/// Appends a batch of calls.
pub(super) fn push_calls(
    layout: &Layout,
    calls: &[WrittenCall<'_>],
    tag: &str,
    into: &mut String,
) -> Result<(), (usize, Uncarried)> {
    let Some(first) = calls.first() else { return Ok(()) };
    push_pieces(layout.open, *first, 0, tag, into).map_err(|what| (0, what))?;
    for (index, call) in calls.iter().enumerate() {
        if index > 0 {
            into.push_str(layout.between);
        }
        push_pieces(layout.call, *call, index, tag, into).map_err(|what| (index, what))?;
    }
    into.push_str(layout.close);
    Ok(())
}

fn push_pieces(
    pieces: &[Piece],
    call: WrittenCall<'_>,
    index: usize,
    tag: &str,
    into: &mut String,
) -> Result<(), Uncarried> {
    for piece in pieces {
        match piece {
            Piece::Text(text) => into.push_str(text),
            Piece::Tag => into.push_str(tag),
            Piece::Name if is_plain_name(call.name) => into.push_str(call.name),
            Piece::Name => return Err(Uncarried::Name),
            Piece::NameXml => into.push_str(&escaped(call.name)),
            Piece::NameJson => push_json_string(call.name, into),
            Piece::Index(from) => into.push_str(&(index + from).to_string()),
            Piece::ShortId => into.push_str(&format!("call{index:05}")),
            Piece::Arguments => push_json_object(call.arguments, into),
            Piece::Keywords => push_keywords(call.arguments, into)?,
            Piece::Literals(quote) => {
                push_gemma_object(call.arguments, quote, into)
                    .map_err(|()| literal(call.arguments, quote))?;
            }
            Piece::Parameters(parameter) => push_parameters(call.arguments, parameter, into)?,
        }
    }
    Ok(())
}

fn push_keywords(arguments: &Map<String, Value>, into: &mut String) -> Result<(), Uncarried> {
    for (index, (key, value)) in arguments.iter().enumerate() {
        if !is_word(key) || key.contains('-') {
            return Err(Uncarried::ParameterName(key.clone()));
        }
        if index > 0 {
            into.push_str(", ");
        }
        into.push_str(key);
        into.push('=');
        push_python(value, into);
    }
    Ok(())
}

/// The first argument that cannot be a literal of Gemma.
fn literal(arguments: &Map<String, Value>, quote: &'static str) -> Uncarried {
    let fails = |value: &Value| super::values::push_gemma(value, quote, &mut String::new()).is_err();
    let parameter = arguments.iter().find(|(_, value)| fails(value)).map(|(key, _)| key.clone());
    Uncarried::Value { parameter: parameter.unwrap_or_default(), what: format!("`{quote}`") }
}

/// A name that is no mark in any dialect.
pub(crate) fn is_plain_name(name: &str) -> bool {
    !name.is_empty()
        && name.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::write::layout::{KeyForm, Parameter, Part, TextPlace, ValueForm};

    /// A dialect that nobody speaks: data is all that it takes.
    #[test]
    fn a_new_dialect_is_a_layout() {
        const NEW: Layout = Layout {
            open: &[Piece::Text("BEGIN\n")],
            call: &[
                Piece::Text("call "),
                Piece::Name,
                Piece::Text("\n"),
                Piece::Parameters(&Parameter {
                    open: &[Part::Text("  "), Part::Key, Part::Text(" := ")],
                    close: &[Part::Text(";\n")],
                    value: ValueForm::Exact,
                    key: KeyForm::Tag,
                    marks: &[";"],
                    otherwise: None,
                }),
            ],
            between: "",
            close: "END",
            text: ("", "\n"),
            place: TextPlace::Before,
            rule: None,
        };
        let arguments = json!({"port": "Saint-Malo", "days": 2});
        let call = WrittenCall { name: "tides", arguments: arguments.as_object().unwrap() };
        let mut text = String::new();
        push_calls(&NEW, &[call, call], "", &mut text).unwrap();
        let one = "call tides\n  port := Saint-Malo;\n  days := 2;\n";
        assert_eq!(text, format!("BEGIN\n{one}{one}END"));
        let arguments = json!({"port": "a; b"});
        let call = WrittenCall { name: "tides", arguments: arguments.as_object().unwrap() };
        let what = Uncarried::Value { parameter: "port".to_owned(), what: "`;`".to_owned() };
        assert_eq!(push_calls(&NEW, &[call], "", &mut String::new()), Err((0, what)));
    }
}
