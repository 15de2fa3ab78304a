//! What would be asked if a tool were called: a sample call of each tool walks the path up to its decision, and no further.
//!
//! It shows a person which questions work would meet before it is started; the real calls are decided by themselves.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::call::ToolCall;
use crate::consent::ConsentEnvironment;
use crate::ids::{CallId, ToolId};
use crate::path::{AdmittedCall, InjectedValues};
use crate::policy::Decision;
use crate::snapshot::{BoundTool, CompiledTools};

/// One tool and what is decided of a sample call of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Prospect {
    /// The tool.
    pub tool: ToolId,
    /// Its alias.
    pub alias: String,
    /// The arguments of the sample call: the tool's own example, else made from its required parameters.
    pub arguments: Value,
    /// What is decided of it; none if no sample call fits the tool's schema.
    pub decision: Option<Decision>,
}

/// The prospects of all tools, in order.
pub fn prospects(tools: &CompiledTools, environment: &ConsentEnvironment) -> Vec<Prospect> {
    tools.tools().iter().map(|tool| prospect(tool, environment)).collect()
}

/// The prospect of one tool.
pub fn prospect(tool: &Arc<BoundTool>, environment: &ConsentEnvironment) -> Prospect {
    let alias = tool.binding().alias.clone();
    let own = tool.declaration().facts.example.clone();
    let arguments = own.unwrap_or_else(|| sample(tool.binding().descriptor.input_schema.as_value(), 0));
    let call = ToolCall {
        call_id: CallId::new("c_sample"),
        tool_id: tool.id().clone(),
        alias: alias.clone(),
        arguments: arguments.clone(),
        wire_id: None,
        provider_metadata: None,
        repairs: Vec::new(),
    };
    let injected =
        InjectedValues { project_id: environment.project.as_ref().map(ToString::to_string), model: None };
    let prepared = AdmittedCall::new(call, Arc::clone(tool), None).prepare(&injected);
    let decision = prepared.ok().map(|prepared| prepared.decide(environment).decision().clone());
    Prospect { tool: tool.id().clone(), alias, arguments: Value::Object(arguments), decision }
}

/// Values for the required parameters of `schema`. Whether they fit is for the path to say.
fn sample(schema: &Value, depth: u8) -> Map<String, Value> {
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let properties = schema.get("properties").and_then(Value::as_object);
    let one = |name: &str| {
        let property = properties.and_then(|all| all.get(name)).unwrap_or(&Value::Null);
        (name.to_owned(), value(name, property, depth))
    };
    required.filter_map(Value::as_str).map(one).collect()
}

/// How deep a sample goes into arrays and objects.
const DEEPEST: u8 = 4;

fn value(name: &str, schema: &Value, depth: u8) -> Value {
    let first = |key: &str| schema.get(key).and_then(Value::as_array).and_then(|all| all.first()).cloned();
    if let Some(given) = schema.get("const").or_else(|| schema.get("default")) {
        return given.clone();
    }
    if let Some(given) = first("enum").or_else(|| first("examples")) {
        return given;
    }
    let kind = match schema.get("type") {
        Some(Value::String(kind)) => kind.as_str(),
        Some(Value::Array(kinds)) => kinds.first().and_then(Value::as_str).unwrap_or("string"),
        _ => "string",
    };
    match kind {
        "integer" | "number" => schema.get("minimum").cloned().unwrap_or_else(|| 1.into()),
        "boolean" => Value::Bool(false),
        "array" => match schema.get("items").filter(|_| depth < DEEPEST) {
            Some(items) => Value::Array(vec![value(name, items, depth + 1)]),
            None => Value::Array(Vec::new()),
        },
        "object" if depth < DEEPEST => Value::Object(sample(schema, depth + 1)),
        "object" => Value::Object(Map::new()),
        "null" => Value::Null,
        _ if name.contains("url") => "https://example.com/".into(),
        _ => "example".into(),
    }
}
