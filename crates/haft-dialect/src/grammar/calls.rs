//! The grammar of a turn in a dialect: the layouts that writers follow, as rules.

use std::borrow::Cow;

use haft_schema::{Type, View};

use super::marks::marks;
use super::rules::{any_of, literal};
use super::text::Text;
use super::values::{Syntax, Values, separator};
use super::{Contract, GrammarError};
use crate::write::call::is_plain_name;
use crate::write::escape::escaped;
use crate::write::layout::{KeyForm, Layout, Parameter, Part, Piece, TextPlace, ValueForm};
use crate::write::layouts::layout;
use crate::write::parameters::CDATA;
use crate::write::values::{is_word, push_json_string};
use crate::{CannotCarry, DeclaredTool, Dialect, Tags, Uncarried};

/// The grammar, in llama.cpp's GBNF, of an answer in `dialect`: visible text, and calls of the turn's tools alone, each with
/// its declared parameters in their order. Where a call is demanded, nothing but reasoning stands before it.
///
/// ```
/// use haft_dialect::{Contract, DeclaredTool, Dialect, Tags, gbnf};
/// use haft_schema::Schema;
///
/// let schema = Schema::new(serde_json::json!({"properties": {"days": {"type": "integer"}}, "required": ["days"]}))?;
/// let tools = [DeclaredTool { name: "tides".to_owned(), schema }];
/// let grammar = gbnf(Dialect::Hermes, &Tags::default(), &Contract { tools: &tools, required: true, most_calls: 1 })?;
/// assert!(grammar.contains(r#""<tool_call>\n{\"name\": " "\"tides\"""#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// A call is demanded and there is no tool, or the dialect has no form for a tool's name or required parameter.
pub fn gbnf(dialect: Dialect, tags: &Tags, contract: &Contract<'_>) -> Result<String, GrammarError> {
    let mut values = Values::default();
    let marks = marks(contract.tools, tags);
    let plain = values.texts.without(&marks, &mut values.rules);
    let answer = values.rules.rule("answer", format!("({} (\"`\" {})*)?", plain.begun, plain.any));
    if contract.tools.is_empty() || contract.most_calls == 0 {
        if contract.required {
            return Err(GrammarError::NoTool);
        }
        let think = think(&mut values);
        return Ok(values.rules.into_text(&format!("{think} {answer}")));
    }
    let layout = layout(dialect);
    let mut calls = Vec::new();
    for tool in contract.tools {
        let body = pieces(layout.call, tool, tags, &mut values).map_err(|what| CannotCarry {
            dialect,
            tool: tool.name.clone(),
            what,
        })?;
        calls.push(values.rules.rule("call", body));
    }
    let batch = batch(layout, contract, &calls, &mut values);
    // Where a call is demanded it comes at once: a small model that may write prose first goes on with it to the token limit.
    let lead = if contract.required { String::new() } else { lead(layout, &plain, &mut values) };
    let with_calls = match layout.place {
        TextPlace::Around => format!("{lead} {batch} (\"\\n\" {answer})?"),
        TextPlace::Before => format!("{lead} {batch}"),
        TextPlace::Nowhere => batch,
    };
    let think = think(&mut values);
    let root = if contract.required {
        format!("{think} {with_calls}")
    } else {
        format!("{think} ({with_calls} | {answer})")
    };
    Ok(values.rules.into_text(&root))
}

/// Reasoning before the answer, if the model reasons.
fn think(values: &mut Values) -> String {
    let inner = values.texts.without(&["<think".to_owned(), "</think".to_owned()], &mut values.rules).any;
    let think = values.rules.rule("think", format!("\"<think>\" {inner} \"</think>\" \"\\n\"+"));
    format!("{think}?")
}

/// Visible text before calls. No code is open where they begin: a call in code is none.
fn lead(layout: &Layout, plain: &Text, values: &mut Values) -> String {
    let lead =
        values.rules.rule("lead", format!("{} (\"`\" [^\\x60\\x0A]+ \"`\" {})*", plain.begun, plain.any));
    let (before, behind) = layout.text;
    format!("({} {lead} {})?", literal(before), literal(behind))
}

fn batch(layout: &Layout, contract: &Contract<'_>, calls: &[String], values: &mut Values) -> String {
    let call = values.rules.rule("any-call", calls.join(" | "));
    let open: Vec<String> = layout
        .open
        .iter()
        .map(|piece| match piece {
            Piece::Text(text) => literal(text),
            // The name of the first call; which one it is, the call itself says.
            _ => any_of(&contract.tools.iter().map(|tool| literal(&tool.name)).collect::<Vec<_>>()),
        })
        .collect();
    let more = match contract.most_calls {
        0 | 1 => String::new(),
        most => format!(" ({} {call}){{0,{}}}", literal(layout.between), most - 1),
    };
    let body = format!("{} {call}{more} {}", open.join(" "), literal(layout.close));
    values.rules.rule("calls", body)
}

fn pieces(
    pieces: &[Piece],
    tool: &DeclaredTool,
    tags: &Tags,
    values: &mut Values,
) -> Result<String, Uncarried> {
    let schema = tool.schema.view();
    let mut body = Vec::new();
    for piece in pieces {
        body.push(match piece {
            Piece::Text(text) => literal(text),
            Piece::Tag => literal(&tags.call),
            Piece::Name if is_plain_name(&tool.name) => literal(&tool.name),
            Piece::Name => return Err(Uncarried::Name),
            Piece::NameXml => literal(&escaped(&tool.name)),
            Piece::NameJson => {
                let mut name = String::new();
                push_json_string(&tool.name, &mut name);
                literal(&name)
            }
            Piece::Index(_) => "[0-9]{1,3}".to_owned(),
            Piece::ShortId => "[a-zA-Z0-9]{9}".to_owned(),
            Piece::Arguments => values.object(schema, Syntax::Json),
            Piece::Literals(quote) => values.object(schema, Syntax::Gemma(quote)),
            Piece::Keywords => keywords(schema, values)?,
            Piece::Parameters(parameter) => parameters(schema, parameter, values)?,
        });
    }
    Ok(body.join(" "))
}

fn keywords(schema: View<'_>, values: &mut Values) -> Result<String, Uncarried> {
    let mut members = Vec::new();
    for property in schema.properties() {
        if is_word(property.name) && !property.name.contains('-') {
            let value = values.value(property.schema, Syntax::Python);
            let name = literal(&format!("{}=", property.name));
            members.push((format!("{name} {value}"), property.required));
        } else if property.required {
            return Err(Uncarried::ParameterName(property.name.to_owned()));
        }
    }
    Ok(values.members(&members, separator(Syntax::Python)))
}

fn parameters(schema: View<'_>, form: &Parameter, values: &mut Values) -> Result<String, Uncarried> {
    let mut body = Vec::new();
    for property in schema.properties() {
        let forms = [Some(form), form.otherwise];
        match forms.into_iter().flatten().find(|form| form.key.fits(property.name)) {
            Some(form) => {
                let one = parameter(property.name, property.schema, form, values);
                let one = values.rules.rule("parameter", one);
                body.push(if property.required { one } else { format!("{one}?") });
            }
            None if property.required => return Err(Uncarried::ParameterName(property.name.to_owned())),
            None => {}
        }
    }
    Ok(body.join(" "))
}

fn parameter(name: &str, schema: View<'_>, form: &Parameter, values: &mut Values) -> String {
    let key = match form.key {
        KeyForm::Quoted | KeyForm::Tag => Cow::Borrowed(name),
        KeyForm::Escaped => escaped(name),
    };
    let types = schema.types();
    let says_type = form.open.iter().any(|part| matches!(part, Part::IsText | Part::TypeName));
    let takes_text = types.has(Type::String) || types.is_none();
    let mut ways = Vec::new();
    if takes_text {
        let text = text(schema, form, values);
        ways.push(parts(form.open, &key, Type::String) + &text);
    }
    if says_type {
        // A number is an integer too.
        let is_other =
            |kind: &Type| *kind != Type::String && !(*kind == Type::Integer && types.has(Type::Number));
        for kind in types.iter().filter(is_other) {
            let value = values.of_type(kind, schema, Syntax::JsonInTags);
            ways.push(parts(form.open, &key, kind) + &value);
        }
    } else if !takes_text {
        let value = values.value(schema, Syntax::JsonInTags);
        ways.push(parts(form.open, &key, Type::Object) + &around(&value, form));
    }
    format!("{} {}", any_of(&ways), parts(form.close, &key, Type::String))
}

/// Text between the marks of a parameter.
fn text(schema: View<'_>, form: &Parameter, values: &mut Values) -> String {
    let marks: Vec<String> = match form.value {
        ValueForm::Cdata => vec!["]]>".to_owned(), CDATA.to_owned()],
        ValueForm::Nested(mark) => vec![mark.to_owned()],
        ValueForm::Lines | ValueForm::Inline | ValueForm::Exact => {
            form.marks.iter().copied().chain([CDATA]).map(str::to_owned).collect()
        }
    };
    let text = values.raw_text(schema, &marks);
    around(&text, form)
}

/// What the form of a value puts round it.
fn around(value: &str, form: &Parameter) -> String {
    match form.value {
        ValueForm::Lines => format!("\"\\n\" {value} \"\\n\""),
        ValueForm::Cdata => format!("\"<![CDATA[\" {value} \"]]>\""),
        ValueForm::Inline | ValueForm::Exact | ValueForm::Nested(_) => value.to_owned(),
    }
}

fn parts(parts: &[Part], key: &str, kind: Type) -> String {
    let mut text = String::new();
    for part in parts {
        match part {
            Part::Text(written) => text.push_str(written),
            Part::Key => text.push_str(key),
            Part::IsText => text.push_str(if kind == Type::String { "true" } else { "false" }),
            Part::TypeName if kind == Type::Integer => text.push_str(Type::Number.name()),
            Part::TypeName => text.push_str(kind.name()),
        }
    }
    format!("{} ", literal(&text))
}
