//! The part of a system prompt that tells a model how to call its tools (DIA-13).
//! It must not choose the tools: an agent sees those it is given (DIA-14).

use haft_schema::{Schema, View};
use serde_json::{Map, Value};

use super::layout::{Layout, Piece, ValueForm};
use super::{Writer, WrittenCall};

/// How the calls of one turn are executed; the instructions say so (CONFLICT-27).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExecutionMode {
    /// One after the other.
    Serial,
    /// At the same time where they do not touch the same things.
    Parallel,
}

/// A tool as the instructions show it.
#[derive(Debug, Clone)]
pub struct ToolInfo<'a> {
    /// The alias in this turn.
    pub name: &'a str,
    /// The description, printed as it is.
    pub description: &'a str,
    /// The schema of the arguments.
    pub schema: &'a Schema,
    /// The arguments of the example call; without one it shows the required parameters.
    pub example: Option<&'a Map<String, Value>>,
}

/// The instructions for these tools.
pub(super) fn instructions(writer: &Writer, tools: &[ToolInfo<'_>], mode: ExecutionMode) -> String {
    let order = match mode {
        ExecutionMode::Serial => "They execute sequentially.",
        ExecutionMode::Parallel => "They may execute in parallel; do not rely on their order.",
    };
    let mut text = format!(
        "<tool_instructions>\n<format>\nYou may make one or more tool calls per turn. {order}\n{}\n</format>\n\n",
        rules(writer.layout)
    );
    for tool in tools {
        push_tool(tool, writer, &mut text);
    }
    text.push_str("</tool_instructions>");
    text
}

/// What must be said about the form beside an example.
fn rules(layout: &Layout) -> String {
    if let Some(rule) = layout.rule {
        return rule.to_owned();
    }
    let mut text = "Write a call exactly as the examples below show it, marks included. ".to_owned();
    text.push_str(layout.call.iter().find_map(values).unwrap_or("The arguments are one JSON object."));
    if let Some(rule) = several(layout) {
        text.push('\n');
        text.push_str(&rule);
    }
    text
}

fn values(piece: &Piece) -> Option<&'static str> {
    match piece {
        Piece::Arguments => Some("The arguments are one JSON object."),
        Piece::Keywords => Some("The arguments are Python literals, each with its name."),
        Piece::Literals(_) => Some("Strings stand between the marks shown, other values as in JSON."),
        Piece::Parameters(parameter) => Some(match parameter.value {
            ValueForm::Lines => {
                "Text stands as it is, on lines of its own, without quotes or escapes; other values are JSON."
            }
            ValueForm::Inline | ValueForm::Exact => {
                "Text stands as it is, without quotes or escapes; other values are JSON."
            }
            ValueForm::Cdata => "Wrap ALL parameter values in <![CDATA[...]]>.",
            ValueForm::Nested(_) => {
                "Text stands as it is, without quotes or escapes; the items of lists are `item` elements."
            }
        }),
        Piece::Text(_)
        | Piece::Tag
        | Piece::Name
        | Piece::NameXml
        | Piece::NameJson
        | Piece::Index(_)
        | Piece::ShortId => None,
    }
}

/// How several calls of one turn stand together, where they share marks.
fn several(layout: &Layout) -> Option<String> {
    let opener = layout.open.iter().find_map(|piece| match piece {
        Piece::Text(text) => Some(text.trim()).filter(|text| !text.is_empty()),
        _ => None,
    })?;
    let opener = opener.lines().last().unwrap_or(opener);
    let closer = layout.close.trim().lines().next().unwrap_or_default();
    if closer.is_empty() {
        return None;
    }
    let between = layout.between.trim();
    Some(if between.is_empty() {
        format!("Several calls of one turn stand between one {opener} and one {closer}.")
    } else if between.contains(opener) || between.contains(closer) {
        format!("Each call of a turn has its own {opener} and {closer}.")
    } else {
        format!(
            "Several calls of one turn stand between one {opener} and one {closer}, with `{between}` between them."
        )
    })
}

fn push_tool(tool: &ToolInfo<'_>, writer: &Writer, into: &mut String) {
    into.push_str(&format!("<tool name=\"{}\">\n{}\n", tool.name, tool.description.trim_end()));
    let mut lines = tool.schema.properties().map(|property| {
        let need = if property.required { "required" } else { "optional" };
        format!(
            "  - {}: {} ({need}){}\n",
            property.name,
            type_name(property.schema, property.required),
            notes(property.schema)
        )
    });
    match lines.next() {
        Some(first) => {
            into.push_str("Parameters:\n");
            into.push_str(&first);
            into.extend(lines);
        }
        None => into.push_str("Parameters: none\n"),
    }
    if let Some(example) = example(tool, writer) {
        into.push_str(&format!("Example:\n{}\n", example.trim_matches('\n')));
    }
    into.push_str("</tool>\n\n");
}

/// The example call; where the dialect cannot carry the tool's own example, one of placeholders; none where it cannot even
/// carry the names.
fn example(tool: &ToolInfo<'_>, writer: &Writer) -> Option<String> {
    let written =
        |arguments: &Map<String, Value>| writer.calls(&[WrittenCall { name: tool.name, arguments }]).ok();
    tool.example.and_then(written).or_else(|| written(&placeholders(tool.schema)))
}

fn type_name(schema: View<'_>, required: bool) -> String {
    if required { schema.type_name() } else { schema.type_name_without_null() }
}

/// ` - description. Values: a, b. Default: x`, as far as there is any of it.
fn notes(schema: View<'_>) -> String {
    let mut parts: Vec<String> = Vec::new();
    if let Some(description) = schema.description().map(str::trim).filter(|text| !text.is_empty()) {
        parts.push(description.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    let values: Vec<String> = schema.enum_values().into_iter().map(plain).collect();
    if !values.is_empty() {
        parts.push(format!("Values: {}", values.join(", ")));
    }
    if let Some(default) = schema.default().filter(|default| !default.is_null()) {
        parts.push(format!("Default: {}", plain(default)));
    }
    let mut text = String::new();
    for (index, part) in parts.iter().enumerate() {
        let separator = match parts.get(index.wrapping_sub(1)) {
            None => " - ",
            Some(before) if before.ends_with(['.', '!', '?', '。']) => " ",
            Some(_) => ". ",
        };
        text.push_str(separator);
        text.push_str(part);
    }
    text
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| haft_schema::canonical::to_string(value), str::to_owned)
}

/// The required parameters with values that show their type.
fn placeholders(schema: &Schema) -> Map<String, Value> {
    schema
        .properties()
        .filter(|property| property.required)
        .map(|property| (property.name.to_owned(), placeholder(property.name, property.schema)))
        .collect()
}

fn placeholder(name: &str, schema: View<'_>) -> Value {
    if let Some(value) =
        schema.default().filter(|value| !value.is_null()).or_else(|| schema.enum_values().first().copied())
    {
        return value.clone();
    }
    let types = schema.types();
    match types.iter().next() {
        Some(haft_schema::Type::Integer | haft_schema::Type::Number) => Value::from(1),
        Some(haft_schema::Type::Boolean) => Value::Bool(true),
        Some(haft_schema::Type::Array) => {
            Value::Array(schema.items().map(|items| placeholder(name, items)).into_iter().collect())
        }
        Some(haft_schema::Type::Object) => Value::Object(Map::new()),
        Some(haft_schema::Type::String | haft_schema::Type::Null) | None => {
            Value::String(format!("your_{name}_here"))
        }
    }
}
