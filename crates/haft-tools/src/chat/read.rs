//! `chat.read_messages`: messages by their numbers, whole or by lines (CHT-02).

use haft_core::chat::ChatMessage;
use haft_core::lines::{LineRange, ReadLimits, read_lines};
use haft_core::path::PreparedArguments;
use haft_core::ports::Touches;
use haft_core::{
    BoxFuture, Effect, ErrorCode, ResultCap, StartedCall, Tool, ToolContext, ToolDeclaration, ToolError,
    ToolOutput,
};
use haft_schema::SchemaError;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{id, messages, reference, touches};
use crate::arguments::arguments;

const MAX_MESSAGES: usize = 20;
/// Characters of all messages of a call together.
const MAX_CHARS: u64 = 20_000;

#[derive(Deserialize)]
struct Arguments {
    messages: Vec<Wanted>,
}

#[derive(Deserialize)]
struct Wanted {
    index: u64,
    start_line: Option<u64>,
    line_count: Option<u64>,
}

pub(super) struct ReadMessages {
    declaration: ToolDeclaration,
}

impl ReadMessages {
    pub(super) fn new() -> Result<Self, SchemaError> {
        let schema = json!({
            "type": "object",
            "properties": {
                "messages": {
                    "type": "array",
                    "minItems": 1,
                    "maxItems": MAX_MESSAGES,
                    "description": "Which messages to read, in this order",
                    "items": {
                        "type": "object",
                        "properties": {
                            "index": {"type": "integer", "minimum": 0, "description": "Number of the message, from 0"},
                            "start_line": {"type": "integer", "minimum": 1, "description": "First line to read, from 1; left out, from the beginning"},
                            "line_count": {"type": "integer", "minimum": 1, "description": "Most lines to read; left out, as many as fit"},
                        },
                        "required": ["index"],
                        "additionalProperties": false,
                    },
                },
            },
            "required": ["messages"],
            "additionalProperties": false,
        });
        let description = "Read messages of this conversation word for word, by their numbers; the oldest is 0. Of long messages \
            you see the first lines and are told where to read on.";
        let declaration = ToolDeclaration::new(id("read_messages"), description, schema, Effect::Read)?;
        let declaration = declaration.with_facts(|facts| {
            facts.category = "chat".to_owned();
            // The conversation has grown since.
            facts.never_repeats = true;
            facts.idempotent = true;
            facts.no_compress = true;
            // It has a budget of its own and pages by lines.
            facts.result_cap = ResultCap::Unlimited;
            facts.example = json!({"messages": [{"index": 3}]}).as_object().cloned();
        });
        Ok(Self { declaration })
    }
}

impl Tool for ReadMessages {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn touches(&self, _arguments: &PreparedArguments) -> Touches {
        touches()
    }

    fn call<'a>(
        &'a self,
        call: &'a StartedCall,
        context: &'a dyn ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(read(call, context))
    }
}

async fn read(call: &StartedCall, context: &dyn ToolContext) -> Result<ToolOutput, ToolError> {
    let Arguments { messages: wanted } = arguments(call)?;
    let all = messages(context).await?;
    let mut blocks = Vec::new();
    let mut rows = Vec::new();
    let mut refs = Vec::new();
    let mut left = MAX_CHARS;
    for one in &wanted {
        let (index, message) = find(&all, one.index)?;
        let (block, row, used) = part(call.alias(), index, message, one, left)?;
        left = left.saturating_sub(used);
        blocks.push(block);
        rows.push(row);
        refs.push(reference(index));
    }
    let mut output = ToolOutput::of_text(blocks.join("\n\n")).with_structured(json!({"messages": rows}));
    output.resource_refs = refs;
    Ok(output)
}

fn find(all: &[ChatMessage], index: u64) -> Result<(usize, &ChatMessage), ToolError> {
    let found = usize::try_from(index).ok().and_then(|index| Some((index, all.get(index)?)));
    found.ok_or_else(|| {
        let there = match all.len() {
            0 => "This conversation has no messages yet.".to_owned(),
            1 => "There is message 0 alone.".to_owned(),
            count => format!("There are the messages 0 to {}.", count - 1),
        };
        ToolError::new(
            ErrorCode::new("chat.message_not_found"),
            format!("There is no message {index}. {there}"),
        )
    })
}

/// What is shown of a message, the same for programs, and how many characters of the budget it took.
fn part(
    alias: &str,
    index: usize,
    message: &ChatMessage,
    wanted: &Wanted,
    left: u64,
) -> Result<(String, Value, u64), ToolError> {
    let head = format!("message {index} ({}):", message.speaker());
    let read_on = |line: usize| {
        let count = wanted.line_count.map(|count| format!(", 'line_count': {count}")).unwrap_or_default();
        format!("{alias}(messages=[{{'index': {index}, 'start_line': {line}{count}}}])")
    };
    let mut row = json!({"index": index, "role": message.role.as_str(), "name": message.name});
    if left == 0 && !message.text.is_empty() {
        let line = usize::try_from(wanted.start_line.unwrap_or(1)).unwrap_or(usize::MAX);
        row["nextStartLine"] = json!(line);
        let note =
            format!("[not shown: the messages before it fill this answer; read it with {}]", read_on(line));
        return Ok((format!("{head}\n{note}"), row, 0));
    }
    let range = LineRange { start_line: wanted.start_line, line_count: wanted.line_count };
    let view = read_lines(&message.text, range, ReadLimits::of_chars(left)).map_err(|error| {
        ToolError::new(
            ErrorCode::new("chat.invalid_range"),
            format!("Nothing of message {index} was read: {error}."),
        )
    })?;
    if let Value::Object(fields) = &mut row {
        fields.extend(view.numbers());
    }
    let used = view.text().chars().count() as u64;
    Ok((format!("{head}\n{}", view.shown(read_on)), row, used))
}
