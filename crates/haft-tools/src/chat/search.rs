//! `chat.search`: messages that fit a query, best first (CHT-01, CHT-03).

use haft_core::chat::{ChatMessage, ChatRole};
use haft_core::path::PreparedArguments;
use haft_core::ports::Touches;
use haft_core::query::{Query, rank};
use haft_core::{
    BoxFuture, Effect, ErrorCode, StartedCall, Tool, ToolContext, ToolDeclaration, ToolError, ToolOutput,
};
use haft_schema::SchemaError;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{id, messages, reference, touches};
use crate::arguments::arguments;

const DEFAULT_HITS: u64 = 20;
const MAX_HITS: u64 = 50;
/// Messages looked at unless the model says otherwise, and at most.
const DEFAULT_SCAN: u64 = 2_000;
const MAX_SCAN: u64 = 100_000;
/// Length of a snippet, in characters.
const SNIPPET: usize = 240;

#[derive(Deserialize)]
struct Arguments<'a> {
    query: &'a str,
    limit: u64,
    role: Option<ChatRole>,
    start_message: Option<u64>,
    end_message: Option<u64>,
    scan_limit: u64,
}

pub(super) struct SearchChat {
    declaration: ToolDeclaration,
}

impl SearchChat {
    pub(super) fn new() -> Result<Self, SchemaError> {
        let schema = json!({
            "type": "object",
            "properties": {
                "query": {
                    "type": "string",
                    "description": "Words to look for, capitals do not matter; a query of signs alone is taken as it stands",
                },
                "limit": {
                    "type": "integer", "minimum": 1, "maximum": MAX_HITS,
                    "description": "Most messages shown", "default": DEFAULT_HITS,
                },
                "role": {
                    "type": "string", "enum": ["user", "assistant", "system"],
                    "description": "Only messages of this speaker",
                },
                "start_message": {"type": "integer", "minimum": 0, "description": "First message to search, from 0"},
                "end_message": {"type": "integer", "minimum": 0, "description": "Last message to search"},
                "scan_limit": {
                    "type": "integer", "minimum": 1, "maximum": MAX_SCAN,
                    "description": "How many messages are looked at, the newest of the range", "default": DEFAULT_SCAN,
                },
            },
            "required": ["query"],
            "additionalProperties": false,
        });
        let description = "Search the messages of this conversation, also those that are too old to stand before you. You get \
            the messages that fit best, each with its number and a passage of it; read it by its number to see the whole.";
        let declaration = ToolDeclaration::new(id("search"), description, schema, Effect::Read)?;
        let declaration = declaration.with_facts(|facts| {
            facts.category = "chat".to_owned();
            // The conversation has grown since.
            facts.never_repeats = true;
            facts.idempotent = true;
            facts.example = json!({"query": "the name of the ship"}).as_object().cloned();
        });
        Ok(Self { declaration })
    }
}

impl Tool for SearchChat {
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
        Box::pin(search(call, context))
    }
}

async fn search(call: &StartedCall, context: &dyn ToolContext) -> Result<ToolOutput, ToolError> {
    let wanted: Arguments<'_> = arguments(call)?;
    let query = Query::parse(wanted.query).ok_or_else(|| {
        ToolError::new(ErrorCode::new("chat.empty_query"), "`query` is empty. Name what to look for.")
    })?;
    let all = messages(context).await?;
    let number = |index: u64| usize::try_from(index).unwrap_or(usize::MAX);
    let first = number(wanted.start_message.unwrap_or(0));
    let end = number(wanted.end_message.unwrap_or(u64::MAX)).saturating_add(1).min(all.len());
    if wanted.end_message.is_some_and(|last| number(last) < first) {
        let text =
            "`end_message` comes before `start_message`. Messages are counted from 0, the oldest first.";
        return Err(ToolError::new(ErrorCode::new("chat.invalid_range"), text));
    }
    let range = first.max(end.saturating_sub(number(wanted.scan_limit)))..end;
    let speaks = |message: &ChatMessage| wanted.role.is_none_or(|role| message.role == role);
    let mut hits: Vec<(usize, u32)> = range
        .clone()
        .filter(|index| all.get(*index).is_some_and(speaks))
        .map(|index| (index, query.score(&all[index].text)))
        .filter(|(_, score)| *score > 0)
        .collect();
    let found = hits.len();
    rank(&mut hits, number(wanted.limit), |hit| hit.1, |hit| hit.0);
    let unseen = range.start.saturating_sub(first);
    Ok(output(&wanted, &query, &all, &hits, (found, unseen)))
}

fn output(
    wanted: &Arguments<'_>,
    query: &Query,
    all: &[ChatMessage],
    hits: &[(usize, u32)],
    (found, unseen): (usize, usize),
) -> ToolOutput {
    let head = match (found, hits.len()) {
        (0, _) => format!("No message fits `{}`.", wanted.query),
        (1, _) => format!("1 message fits `{}`.", wanted.query),
        (found, shown) if shown < found => {
            format!("{found} messages fit `{}`; the best {shown}:", wanted.query)
        }
        (found, _) => format!("{found} messages fit `{}`.", wanted.query),
    };
    let mut blocks = vec![head];
    let snippets: Vec<String> =
        hits.iter().map(|(index, _)| query.excerpt(&all[*index].text, SNIPPET)).collect();
    for ((index, score), snippet) in hits.iter().zip(&snippets) {
        blocks.push(format!("message {index} ({}), score {score}\n{snippet}", all[*index].speaker()));
    }
    if unseen > 0 {
        let what = if unseen == 1 {
            "1 older message was".to_owned()
        } else {
            format!("{unseen} older messages were")
        };
        blocks.push(format!("[{what} not looked at; set end_message or scan_limit to reach them]"));
    }
    let rows: Vec<Value> = hits
        .iter()
        .zip(&snippets)
        .map(|((index, score), snippet)| {
            json!({
                "index": index, "role": all[*index].role.as_str(), "name": all[*index].name, "score": score,
                "snippet": snippet, "ref": reference(*index),
            })
        })
        .collect();
    let mut output =
        ToolOutput::of_text(blocks.join("\n\n")).with_structured(json!({"hits": rows, "found": found}));
    output.resource_refs = hits.iter().map(|(index, _)| reference(*index)).collect();
    output
}
