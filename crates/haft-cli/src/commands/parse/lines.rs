//! `haft parse --jsonl`: many texts, one JSON object a line; a bad line is answered and does not stop the others.

use std::io::{self, BufRead, Read};
use std::sync::Arc;

use serde_json::{Value, json};

use super::{Reading, as_json, reason, tools_of};
use crate::exit::{Exit, Failure};
use crate::output::Output;

/// Longest line, in bytes: a text of 16 MB with every character escaped, and some room for schemas.
const LONGEST_LINE: u64 = 128 * 1024 * 1024;

/// Answers every line of standard input.
pub(super) fn run(output: Output, defaults: &Reading) -> Result<Exit, Failure> {
    let mut stdin = io::stdin().lock();
    let mut exit = Exit::Done;
    let mut line = Vec::new();
    loop {
        line.clear();
        let length = stdin
            .by_ref()
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut line)
            .map_err(|error| Failure::usage(format!("cannot read standard input: {error}")))?;
        if length == 0 {
            return Ok(exit);
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match answer(&line, defaults) {
            Ok(answer) => output.json(&answer)?,
            Err(error) => {
                exit = Exit::Failed;
                output.json(&json!({"id": null, "error": error}))?;
            }
        }
    }
}

fn answer(line: &[u8], defaults: &Reading) -> Result<Value, String> {
    let value: Value =
        serde_json::from_slice(line).map_err(|error| format!("the line is no JSON: {error}"))?;
    let Value::Object(request) = value else { return Err("the line is no JSON object".to_owned()) };
    let text = match request.get("text") {
        Some(Value::String(text)) => text,
        Some(_) => return Err("`text` must be a string".to_owned()),
        None => return Err("`text` is missing".to_owned()),
    };
    let word = |key: &str| match request.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(_) => Err(format!("`{key}` must be a string")),
    };
    let reading = Reading {
        dialect: match word("dialect")? {
            Some(name) => name
                .parse()
                .map_err(|_| format!("there is no dialect `{name}`; `haft parse --dialects` lists them"))?,
            None => defaults.dialect,
        },
        tools: match request.get("tools") {
            None | Some(Value::Null) => defaults.tools.clone(),
            Some(tools) => Arc::new(tools_of(tools)?),
        },
        reason: word("finish_reason")?.map_or(Ok(defaults.reason), reason)?,
        chunk: defaults.chunk,
    };
    let mut answer = json!({"id": request.get("id")});
    if let (Value::Object(answer), Value::Object(parsed)) = (&mut answer, as_json(&reading.read(text))) {
        answer.extend(parsed);
    }
    Ok(answer)
}
