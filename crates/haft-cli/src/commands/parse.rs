//! `haft parse`: only decode. It reads no home, runs nothing and stores nothing.

mod lines;

use std::path::Path;
use std::sync::Arc;

use haft_dialect::{DeclaredTool, Dialect, FinishReason, Parsed, Parser, ParserOptions, ToolSet};
use haft_schema::Schema;
use serde_json::{Map, Value, json};

use crate::args::ParseArgs;
use crate::dialects;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::surroundings;

/// Words for why a model stopped; after the first two no unclosed call counts.
const REASONS: [&str; 8] =
    ["length", "max_tokens", "stop", "tool_calls", "tool_use", "end_turn", "content_filter", "other"];

/// How a text is to be read.
struct Reading {
    dialect: Dialect,
    tools: Arc<ToolSet>,
    reason: FinishReason,
    chunk: Option<usize>,
}

/// Runs the command.
pub(crate) fn run(output: Output, arguments: &ParseArgs) -> Result<Exit, Failure> {
    if arguments.dialects {
        let names = haft_dialect::dialects().iter().map(|dialect| dialect.name());
        return list(output, names);
    }
    if arguments.repairs {
        return list(output, haft_dialect::repairs().iter().map(|repair| repair.name()));
    }
    let tools = match &arguments.tools {
        Some(path) => tools_of_file(path)?,
        None => ToolSet::default(),
    };
    if arguments.dialect == dialects::NATIVE {
        return Err(Failure::usage(
            "`native` is a provider's own JSON and no text: there is nothing to find in it",
        )
        .hint("`haft parse --dialects` lists the dialects; `haft exec --dialect native` runs such calls."));
    }
    let reading = Reading {
        dialect: dialects::text_dialect(&arguments.dialect)?,
        tools: Arc::new(tools),
        reason: reason(&arguments.finish_reason)
            .map_err(|text| Failure::usage(format!("--finish-reason: {text}")))?,
        chunk: arguments.chunk.map(|characters| usize::try_from(characters).unwrap_or(usize::MAX)),
    };
    if arguments.jsonl {
        return lines::run(output, &reading);
    }
    if surroundings::stdin_is_terminal() {
        output.note("reading a model's text; end it with Ctrl-D");
    }
    let text = surroundings::standard_input()?;
    output.json(&as_json(&reading.read(&text)))?;
    Ok(Exit::Done)
}

impl Reading {
    fn read(&self, text: &str) -> Parsed {
        let mut parser = Parser::new(self.dialect, self.tools.clone(), &ParserOptions::default());
        match self.chunk {
            None => parser.feed(text, &mut |_| {}),
            Some(characters) => {
                let mut rest = text;
                while !rest.is_empty() {
                    let end = rest.char_indices().nth(characters).map_or(rest.len(), |(at, _)| at);
                    let (piece, after) = rest.split_at(end);
                    parser.feed(piece, &mut |_| {});
                    rest = after;
                }
            }
        }
        parser.finish(self.reason)
    }
}

fn list(output: Output, mut names: impl Iterator<Item = &'static str>) -> Result<Exit, Failure> {
    names.try_for_each(|name| output.line(name))?;
    Ok(Exit::Done)
}

/// The object of the contract.
fn as_json(parsed: &Parsed) -> Value {
    let calls: Vec<Value> = parsed
        .calls
        .iter()
        .map(|call| {
            let repairs: Vec<&str> = call.repairs.iter().map(|repair| repair.name()).collect();
            json!({
                "id": call.id, "name": call.name, "arguments": call.arguments, "repairs": repairs,
                "span": [call.span.start, call.span.end],
            })
        })
        .collect();
    let malformed: Vec<Value> = parsed
        .malformed
        .iter()
        .map(|bad| json!({"name": bad.name, "reason": bad.reason, "span": [bad.span.start, bad.span.end]}))
        .collect();
    json!({
        "dialect": parsed.dialect, "calls": calls, "malformed": malformed,
        "text": parsed.text, "reasoning": parsed.reasoning,
    })
}

fn reason(text: &str) -> Result<FinishReason, String> {
    match REASONS.iter().position(|reason| *reason == text) {
        Some(0 | 1) => Ok(FinishReason::Length),
        Some(_) => Ok(FinishReason::Stop),
        None => Err(format!("`{text}` is no reason to stop; write one of {}", REASONS.join(", "))),
    }
}

fn tools_of_file(path: &Path) -> Result<ToolSet, Failure> {
    let fail = |what: String| {
        Failure::usage(format!("--tools {}: {what}", path.display()))
            .hint("The file holds a JSON array of {\"name\": …, \"parameters\": SCHEMA}.")
    };
    let text =
        surroundings::text(path).map_err(|reason| fail(format!("the file cannot be read: {reason}")))?;
    let value: Value =
        serde_json::from_str(&text).map_err(|error| fail(format!("it is no JSON: {error}")))?;
    tools_of(&value).map_err(fail)
}

/// The declared tools of a JSON array of `{name, parameters}`.
fn tools_of(value: &Value) -> Result<ToolSet, String> {
    let Value::Array(entries) = value else { return Err("the tools must be a JSON array".to_owned()) };
    let tools = (1..).zip(entries).map(|(number, entry)| {
        let name = entry.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| format!("tool {number} has no `name`"))?.to_owned();
        let schema = match entry.get("parameters") {
            None | Some(Value::Null) => Value::Object(Map::new()),
            Some(schema) => schema.clone(),
        };
        let schema = Schema::new(schema).map_err(|error| format!("the parameters of `{name}`: {error}"))?;
        Ok(DeclaredTool { name, schema })
    });
    Ok(ToolSet::new(tools.collect::<Result<Vec<_>, String>>()?))
}
