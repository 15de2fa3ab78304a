//! Example lines for the demo that work without a network, made from the tools at hand.

use haft_core::ModelTool;
use haft_core::ids::Provider;
use haft_schema::View;
use serde_json::{Map, Value, json};

use super::line;

/// How many lines are shown.
const LINES: usize = 3;

/// Tools that make the best first impression, in this order.
const FIRST: [&str; 5] =
    ["data.calculator", "artifact.create", "data.text_process", "data.weather", "data.json_process"];

/// Families whose tools need a network, another program, a project or something that exists already.
const UNFIT: [&str; 20] = [
    "web.",
    "agent.",
    "task.",
    "shell.",
    "python.",
    "browser.",
    "desktop.",
    "lark.",
    "schedule.",
    "knowledge.",
    "search.",
    "project.",
    "host.",
    "workspace.",
    "chat.",
    "skill.",
    "secret.",
    "worldinfo.",
    "artifact.",
    "tools.",
];

/// At most three lines.
pub(super) fn lines(tools: &[ModelTool]) -> Vec<String> {
    let mut fitting: Vec<(usize, &ModelTool)> =
        tools.iter().filter_map(|tool| rank(tool).map(|rank| (rank, tool))).collect();
    fitting.sort_by_key(|(rank, _)| *rank);
    let mut lines: Vec<String> = fitting.iter().filter_map(|(_, tool)| example(tool)).take(LINES).collect();
    let calculator = tools.iter().find(|tool| is_builtin(tool, FIRST[0]));
    for expression in ["2^64", "(1 + 2) / 4"] {
        if let Some(tool) = calculator.filter(|tool| lines.len() < LINES && requires_only(tool, "expression"))
        {
            let arguments = Map::from_iter([("expression".to_owned(), json!(expression))]);
            lines.push(line::write(&tool.alias, &arguments));
        }
    }
    lines
}

fn is_builtin(tool: &ModelTool, native_name: &str) -> bool {
    tool.tool_id.provider() == Provider::Builtin && tool.tool_id.native_name() == native_name
}

/// The place of a tool among the examples; none if it cannot be one.
fn rank(tool: &ModelTool) -> Option<usize> {
    let name = tool.tool_id.native_name();
    match tool.tool_id.provider() {
        Provider::Builtin => FIRST.iter().position(|first| *first == name).or_else(|| {
            let fits = !UNFIT.iter().any(|family| name.starts_with(family));
            fits.then_some(FIRST.len() + 1)
        }),
        Provider::Extension(_) => Some(FIRST.len()),
        // Servers may need the network, and what their tools do is not known here.
        Provider::Mcp(_) => None,
    }
}

/// A line with the tool's own example, or with sample values for what it requires.
fn example(tool: &ModelTool) -> Option<String> {
    if let Some(example) = &tool.example {
        return Some(line::write(&tool.alias, example));
    }
    let mut arguments = Map::new();
    for name in tool.input_schema.required() {
        arguments.insert(name.to_owned(), sample(name, tool.input_schema.view().property(name)?)?);
    }
    Some(line::write(&tool.alias, &arguments))
}

fn requires_only(tool: &ModelTool, name: &str) -> bool {
    tool.input_schema.property(name).is_some()
        && tool.input_schema.required().all(|required| required == name)
}

/// A value that the schema most likely takes; none where only its author can know one.
fn sample(name: &str, schema: View<'_>) -> Option<Value> {
    if let Some(value) = schema.enum_values().first() {
        return Some((*value).clone());
    }
    if let Some(value) = schema.default() {
        return Some(value.clone());
    }
    if schema.as_value().get("pattern").is_some() || schema.as_value().get("format").is_some() {
        return None;
    }
    let text = match name {
        "expression" => "6*7",
        "city" => "Berlin",
        "json_string" => "{\"a\": 1}",
        _ => "hello",
    };
    let least = schema.as_value().get("minimum").and_then(Value::as_i64).unwrap_or(1).max(1);
    let types = schema.types();
    [json!(text), json!(least), json!(true)].into_iter().find(|value| types.accepts(value))
}
