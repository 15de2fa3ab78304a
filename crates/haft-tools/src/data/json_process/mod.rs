//! `json_process`: reading, writing and asking JSON (DAT-04). Numbers keep their digits; nothing is repaired.

mod path;
mod print;

use haft_core::path::PreparedArguments;
use haft_core::ports::Touches;
use haft_core::{
    BoxFuture, Effect, ErrorCode, StartedCall, Tool, ToolContext, ToolDeclaration, ToolError, ToolId,
    ToolOutput,
};
use haft_schema::SchemaError;
use haft_schema::json::{self, Literal, ReadError, Syntax};
use serde::Deserialize;
use serde_json::json;

use crate::arguments::arguments;

#[derive(Deserialize)]
struct Arguments<'a> {
    json_string: &'a str,
    operation: Operation,
    path: Option<&'a str>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum Operation {
    Parse,
    Format,
    Keys,
    Validate,
    Query,
}

pub(super) struct JsonProcess {
    declaration: ToolDeclaration,
}

impl JsonProcess {
    pub(super) fn new() -> Result<Self, SchemaError> {
        let schema = json!({
            "type": "object",
            "properties": {
                "json_string": {"type": "string", "description": "The JSON text"},
                "operation": {
                    "type": "string",
                    "enum": ["parse", "format", "keys", "validate", "query"],
                    "description": "parse: read it and write it compactly; format: write it with indentation; keys: the \
                        names in an object; validate: whether it is JSON and where it is not; query: the value at `path`",
                },
                "path": {
                    "type": "string",
                    "description": "For query: a path such as `users[0].name`, or a JSON Pointer such as `/users/0/name`",
                },
            },
            "required": ["json_string", "operation"],
        });
        let description = "Read, check, format or query a JSON text. Numbers keep all their digits, and an error names line and \
            column.";
        let declaration =
            ToolDeclaration::new(ToolId::builtin("data.json_process"), description, schema, Effect::Read)?;
        let declaration = declaration.with_facts(|facts| {
            facts.alias = Some("json_process".to_owned());
            facts.category = "data".to_owned();
            facts.idempotent = true;
            facts.example =
                json!({"json_string": "{\"users\": [{\"name\": \"Ada\"}]}", "operation": "query", "path": "users[0].name"})
                    .as_object()
                    .cloned();
        });
        Ok(Self { declaration })
    }
}

impl Tool for JsonProcess {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn touches(&self, _arguments: &PreparedArguments) -> Touches {
        Touches::Nothing
    }

    fn call<'a>(
        &'a self,
        call: &'a StartedCall,
        _context: &'a dyn ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move { process(call) })
    }
}

fn process(call: &StartedCall) -> Result<ToolOutput, ToolError> {
    let Arguments { json_string: text, operation, path } = arguments(call)?;
    let read = json::parse(text, Syntax::Json);
    if let Operation::Validate = operation {
        return Ok(validate(text, read));
    }
    let value = read.map_err(|error| {
        let place = place(text, &error);
        ToolError::new(
            ErrorCode::new("data.invalid_json"),
            format!("This is not JSON: {place}. Mend it there."),
        )
    })?;
    match operation {
        Operation::Parse => Ok(result(print::compact(&value), value)),
        Operation::Format => {
            let pretty = print::pretty(&value);
            Ok(ToolOutput::of_text(pretty.clone()).with_structured(json!({"result": pretty})))
        }
        Operation::Keys => keys(&value),
        Operation::Validate => Ok(validate(text, Ok(value))),
        Operation::Query => {
            let path = path.ok_or_else(|| {
                ToolError::new(ErrorCode::INVALID_ARGUMENTS, "A query needs `path`, such as `users[0].name`.")
            })?;
            let found = path::find(&value, path)
                .map_err(|message| ToolError::new(ErrorCode::new("data.nothing_at_path"), message))?;
            let shown = match found {
                Literal::String(text) => text.to_string(),
                other => print::compact(other),
            };
            Ok(result(shown, found.clone()))
        }
    }
}

fn result(shown: String, value: Literal<'_>) -> ToolOutput {
    ToolOutput::of_text(shown).with_structured(json!({"result": value.into_value(None)}))
}

fn keys(value: &Literal<'_>) -> Result<ToolOutput, ToolError> {
    let Literal::Object(entries) = value else {
        let message = format!("Only an object has keys; this is {}.", kind(value));
        return Err(ToolError::new(ErrorCode::new("data.not_an_object"), message));
    };
    let names = json!(entries.iter().map(|(name, _)| name.as_ref()).collect::<Vec<_>>());
    Ok(ToolOutput::of_text(names.to_string()).with_structured(json!({"result": names})))
}

fn validate(text: &str, read: Result<Literal<'_>, ReadError>) -> ToolOutput {
    match read {
        Ok(value) => ToolOutput::of_text(format!("Valid JSON: {}.", kind(&value)))
            .with_structured(json!({"result": true, "kind": kind(&value)})),
        Err(error) => {
            let place = place(text, &error);
            ToolOutput::of_text(format!("Not valid JSON: {place}."))
                .with_structured(json!({"result": false, "reason": place}))
        }
    }
}

/// What a value is, in words.
fn kind(value: &Literal<'_>) -> String {
    match value {
        Literal::Null => "null".to_owned(),
        Literal::Bool(_) => "a boolean".to_owned(),
        Literal::Number(_) => "a number".to_owned(),
        Literal::String(_) => "a string".to_owned(),
        Literal::Array(items) => format!("an array of {} items", items.len()),
        Literal::Object(entries) => format!("an object of {} keys", entries.len()),
    }
}

fn place(text: &str, error: &ReadError) -> String {
    let before = text.get(..error.position).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    format!("{} at line {line}, column {column}", error.problem)
}
