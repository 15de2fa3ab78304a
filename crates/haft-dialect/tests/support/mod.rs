//! Reading case files, and comparing as `cases/README.md` says.

#![allow(dead_code, reason = "each test binary uses its own part")]
#![allow(clippy::expect_used, clippy::panic, reason = "a broken case file fails the test")]

use std::sync::Arc;

use haft_dialect::{DeclaredTool, Dialect, FinishReason, Parsed, Parser, ParserOptions, Tags, ToolSet};
use haft_schema::{Schema, canonical};
use serde_json::{Value, json};

/// One line of a case file.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) dialect: Dialect,
    pub(crate) tools: Arc<ToolSet>,
    pub(crate) text: String,
    pub(crate) expect: Value,
    pub(crate) finish: FinishReason,
    pub(crate) options: ParserOptions,
}

pub(crate) fn cases(file: &str) -> Vec<Case> {
    file.lines().filter(|line| !line.trim().is_empty()).map(case).collect()
}

fn case(line: &str) -> Case {
    let value: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    let default = json!([]);
    let declared = match value.get("tools") {
        None => note_tools(),
        Some(Value::String(_)) => form_tools(),
        Some(tools) => tools_of(tools),
    };
    let finish = match value.get("finish_reason").and_then(Value::as_str) {
        Some("length") => FinishReason::Length,
        Some(_) | None => FinishReason::Stop,
    };
    let tag = value
        .get("tag")
        .and_then(Value::as_str)
        .map_or_else(Tags::default, |tag| Tags { call: tag.to_owned() });
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let dialect = value.get("dialect").and_then(Value::as_str).unwrap_or("artifact-xml");
    Case {
        id: text("id"),
        dialect: dialect.parse().unwrap_or_else(|error| panic!("{error}")),
        tools: declared,
        text: text("text"),
        expect: value.get("expect").unwrap_or(&default).clone(),
        finish,
        options: ParserOptions { tags: tag },
    }
}

/// The tools of our own cases of all forms.
fn form_tools() -> Arc<ToolSet> {
    tools_of(&serde_json::from_str(include_str!("../cases/forms.tools.json")).expect("tools are JSON"))
}

pub(crate) fn tools_of(tools: &Value) -> Arc<ToolSet> {
    let tools = tools.as_array().expect("tools are a list");
    Arc::new(ToolSet::new(tools.iter().map(|tool| DeclaredTool {
        name: tool["name"].as_str().expect("a tool has a name").to_owned(),
        schema: Schema::new(tool["parameters"].clone()).expect("parameters are a schema"),
    })))
}

/// The tools of the public artifact-xml cases.
pub(crate) fn note_tools() -> Arc<ToolSet> {
    let text = json!({"type": "string"});
    tools_of(&json!([
        {"name": "note_find", "parameters": {"type": "object", "properties": {
            "query": text, "limit": {"type": "integer"}, "exact": {"type": "boolean"}}, "required": ["query"]}},
        {"name": "note_write", "parameters": {"type": "object", "properties": {
            "id": text, "body": text, "title": text}, "required": ["id", "body"]}},
        {"name": "note_patch", "parameters": {"type": "object", "properties": {
            "id": text, "old_str": text, "new_str": text}, "required": ["id", "old_str", "new_str"]}},
        {"name": "ping", "parameters": {"type": "object", "properties": {}, "required": []}},
        {"name": "dial_set", "parameters": {"type": "object", "properties": {
            "level": {"type": "number"}, "label": text}, "required": ["level"]}},
        {"name": "tag_many", "parameters": {"type": "object", "properties": {
            "id": text, "tags": {"type": "array", "items": text}}, "required": ["id", "tags"]}},
    ]))
}

impl Case {
    pub(crate) fn parser(&self) -> Parser {
        Parser::new(self.dialect, self.tools.clone(), &self.options)
    }

    /// Parses the text in the given pieces.
    pub(crate) fn parse<'a>(&self, pieces: impl IntoIterator<Item = &'a str>) -> Parsed {
        let mut parser = self.parser();
        for piece in pieces {
            parser.feed(piece, &mut |_| {});
        }
        parser.finish(self.finish)
    }

    /// Says what in the result is not as the case expects.
    pub(crate) fn check(&self, parsed: &Parsed) -> Result<(), String> {
        let list: Vec<Value> =
            parsed.calls.iter().map(|call| json!({"name": call.name, "arguments": call.arguments})).collect();
        let repairs: Vec<Vec<&str>> = parsed
            .calls
            .iter()
            .map(|call| call.repairs.iter().map(|repair| repair.name()).collect())
            .collect();
        let malformed = self.expect.get("malformed").and_then(Value::as_u64).unwrap_or(0);
        let spans =
            parsed.calls.iter().map(|call| call.span).chain(parsed.malformed.iter().map(|call| call.span));
        let as_expected = |key: &str, found: &str| {
            self.expect
                .get(key)
                .and_then(Value::as_str)
                .is_none_or(|expected| plain(found) == plain(expected))
        };
        let right = canonical::same(&json!(list), &self.expect["calls"])
            && parsed.malformed.len() as u64 == malformed
            && as_expected("text", &parsed.text)
            && as_expected("reasoning", &parsed.reasoning)
            && self.expect.get("repairs").is_none_or(|expected| *expected == json!(repairs))
            && parsed.order.len() == parsed.calls.len() + parsed.malformed.len()
            && spans.into_iter().all(|span| self.text.get(span.start..span.end).is_some());
        if right {
            Ok(())
        } else {
            Err(format!(
                "{}: {:?}\n{parsed:#?}\nexpected {}\nrepairs {repairs:?}",
                self.id, self.text, self.expect
            ))
        }
    }
}

fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The text one character at a time.
pub(crate) fn characters(text: &str) -> impl Iterator<Item = &str> {
    text.char_indices().map(|(at, character)| &text[at..at + character.len_utf8()])
}
