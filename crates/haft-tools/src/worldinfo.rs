//! `worldinfo.read_activated`: the world info that is active in the run, as an index or by entry (WLD-01, WLD-02).
//!
//! What is active was found out before the run began and stands in the services as a [`WorldInfoActivation`].

use std::sync::Arc;

use haft_core::lines::{LineRange, ReadLimits, read_lines};
use haft_core::lorebook::{ActivatedEntry, WorldInfoActivation};
use haft_core::nearest::nearest;
use haft_core::path::PreparedArguments;
use haft_core::ports::Touches;
use haft_core::{
    BoxFuture, Effect, ErrorCode, ResultCap, StartedCall, Tool, ToolContext, ToolDeclaration, ToolError,
    ToolId, ToolOutput,
};
use haft_schema::SchemaError;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::arguments::arguments;

const MAX_ENTRIES: usize = 20;
/// Characters of one entry, and of all entries of a call together.
const MAX_ENTRY_CHARS: u64 = 8_000;
const MAX_CHARS: u64 = 20_000;

/// The family: one tool.
///
/// # Errors
/// [`SchemaError`] if its declaration carries a schema that is none.
pub fn tools() -> Result<Vec<Arc<dyn Tool>>, SchemaError> {
    Ok(vec![Arc::new(ReadActivated::new()?)])
}

#[derive(Deserialize)]
struct Arguments<'a> {
    #[serde(borrow)]
    entries: Option<Vec<Wanted<'a>>>,
}

#[derive(Deserialize)]
struct Wanted<'a> {
    #[serde(rename = "ref")]
    reference: &'a str,
    start_line: Option<u64>,
    line_count: Option<u64>,
}

struct ReadActivated {
    declaration: ToolDeclaration,
}

impl ReadActivated {
    fn new() -> Result<Self, SchemaError> {
        let schema = json!({
            "type": "object",
            "properties": {
                "entries": {
                    "type": "array",
                    "minItems": 1,
                    "maxItems": MAX_ENTRIES,
                    "description": "Which entries to read; left out, you get the list of all that are active",
                    "items": {
                        "type": "object",
                        "properties": {
                            "ref": {"type": "string", "description": "Name of the entry in the list, such as w1"},
                            "start_line": {"type": "integer", "minimum": 1, "description": "First line to read, from 1; left out, from the beginning"},
                            "line_count": {"type": "integer", "minimum": 1, "description": "Most lines to read; left out, as many as fit"},
                        },
                        "required": ["ref"],
                        "additionalProperties": false,
                    },
                },
            },
            "additionalProperties": false,
        });
        let description = "Read the world info that is active in this run: facts of the world that the conversation speaks of. \
            Without entries you get their list; ask for those that you need by their names in it.";
        let id = ToolId::builtin("worldinfo.read_activated");
        let declaration = ToolDeclaration::new(id, description, schema, Effect::Read)?;
        let declaration = declaration.with_facts(|facts| {
            facts.category = "worldinfo".to_owned();
            // What is active differs from run to run.
            facts.never_repeats = true;
            facts.idempotent = true;
            facts.no_compress = true;
            // It has a budget of its own and pages by lines.
            facts.result_cap = ResultCap::Unlimited;
            facts.example = json!({"entries": [{"ref": "w1"}]}).as_object().cloned();
        });
        Ok(Self { declaration })
    }
}

impl Tool for ReadActivated {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn touches(&self, _arguments: &PreparedArguments) -> Touches {
        Touches::Nothing
    }

    fn call<'a>(
        &'a self,
        call: &'a StartedCall,
        context: &'a dyn ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move { read(call, context) })
    }
}

fn read(call: &StartedCall, context: &dyn ToolContext) -> Result<ToolOutput, ToolError> {
    let Arguments { entries: wanted } = arguments(call)?;
    let activation = context.services().get::<WorldInfoActivation>();
    let active: &[ActivatedEntry] = activation.map_or(&[], |activation| &activation.entries);
    let Some(wanted) = wanted else { return Ok(index(active)) };
    let mut blocks = Vec::new();
    let mut rows = Vec::new();
    let mut left = MAX_CHARS;
    for one in &wanted {
        let entry = find(active, one.reference)?;
        let (block, row, used) = part(call.alias(), entry, one, left)?;
        left = left.saturating_sub(used);
        blocks.push(block);
        rows.push(row);
    }
    let mut output = ToolOutput::of_text(blocks.join("\n\n")).with_structured(json!({"entries": rows}));
    output.resource_refs = wanted.iter().map(|one| format!("worldinfo:{}", one.reference)).collect();
    Ok(output)
}

/// The list, without bodies.
fn index(active: &[ActivatedEntry]) -> ToolOutput {
    let head = match active.len() {
        0 => "No world info is active in this run.".to_owned(),
        1 => "1 entry of world info is active:".to_owned(),
        count => format!("{count} entries of world info are active:"),
    };
    let line = |entry: &ActivatedEntry| {
        let (lines, characters) = (line_count(&entry.content), entry.content.chars().count());
        let unit = if lines == 1 { "line" } else { "lines" };
        format!(
            "- {}: {} ({}, {}, {lines} {unit}, {characters} characters)",
            entry.reference,
            entry.name,
            entry.book,
            entry.position.as_str()
        )
    };
    let text: Vec<String> = std::iter::once(head).chain(active.iter().map(line)).collect();
    let rows: Vec<Value> = active.iter().map(row).collect();
    ToolOutput::of_text(text.join("\n")).with_structured(json!({"entries": rows}))
}

fn line_count(text: &str) -> usize {
    text.split_inclusive('\n').count()
}

/// What programs see of an entry, without its body.
fn row(entry: &ActivatedEntry) -> Value {
    json!({
        "ref": entry.reference, "uid": entry.uid, "name": entry.name, "book": entry.book, "position": entry.position,
        "depth": entry.depth, "order": entry.order, "totalLines": line_count(&entry.content),
        "characters": entry.content.chars().count(),
    })
}

fn find<'a>(active: &'a [ActivatedEntry], reference: &str) -> Result<&'a ActivatedEntry, ToolError> {
    active.iter().find(|entry| entry.reference == reference).ok_or_else(|| {
        let near = nearest(reference, active.iter().map(|entry| entry.reference.as_str()), 3);
        let next = match (active.first(), active.last()) {
            _ if !near.is_empty() => format!("Did you mean {}?", near.join(", ")),
            (Some(first), Some(last)) => format!("There are {} to {}.", first.reference, last.reference),
            _ => "None is active in this run.".to_owned(),
        };
        ToolError::new(
            ErrorCode::new("worldinfo.entry_not_found"),
            format!("There is no active entry `{reference}`. {next}"),
        )
    })
}

/// What is shown of an entry, the same for programs, and how many characters of the budget it took.
fn part(
    alias: &str,
    entry: &ActivatedEntry,
    wanted: &Wanted<'_>,
    left: u64,
) -> Result<(String, Value, u64), ToolError> {
    let reference = wanted.reference;
    let head = format!("## {}", entry.name);
    let read_on = |line: usize| {
        let count = wanted.line_count.map(|count| format!(", 'line_count': {count}")).unwrap_or_default();
        format!("{alias}(entries=[{{'ref': '{reference}', 'start_line': {line}{count}}}])")
    };
    if left == 0 && !entry.content.is_empty() {
        let line = usize::try_from(wanted.start_line.unwrap_or(1)).unwrap_or(usize::MAX);
        let note =
            format!("[not shown: the entries before it fill this answer; read it with {}]", read_on(line));
        return Ok((format!("{head}\n{note}"), row(entry), 0));
    }
    let range = LineRange { start_line: wanted.start_line, line_count: wanted.line_count };
    let limits = ReadLimits::of_chars(MAX_ENTRY_CHARS.min(left));
    let view = read_lines(&entry.content, range, limits).map_err(|error| {
        let text = format!("Nothing of the entry `{reference}` was read: {error}.");
        ToolError::new(ErrorCode::new("worldinfo.invalid_range"), text)
    })?;
    let mut row = row(entry);
    if let Value::Object(fields) = &mut row {
        fields.extend(view.numbers());
    }
    let used = view.text().chars().count() as u64;
    Ok((format!("{head}\n{}", view.shown(read_on)), row, used))
}
