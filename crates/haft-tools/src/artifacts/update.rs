//! `update_artifact`: a new version in which one passage is replaced (ART-02).

use haft_core::path::PreparedArguments;
use haft_core::ports::Touches;
use haft_core::slice::first_characters;
use haft_core::{
    ArtifactVersion, BoxFuture, Effect, ErrorCode, StartedCall, Tool, ToolContext, ToolDeclaration,
    ToolError, ToolId, ToolOutput,
};
use haft_schema::SchemaError;
use serde::Deserialize;
use serde_json::{Value, json};

use super::matching::{Found, How, Miss, find, line_of};
use super::{artifacts_of, newest, read_tool, resource, staged};
use crate::arguments::arguments;

#[derive(Deserialize)]
struct Arguments<'a> {
    id: &'a str,
    old_str: &'a str,
    new_str: &'a str,
}

pub(super) struct UpdateArtifact {
    declaration: ToolDeclaration,
}

impl UpdateArtifact {
    pub(super) fn new() -> Result<Self, SchemaError> {
        let schema = json!({
            "type": "object",
            "properties": {
                "id": {"type": "string", "description": "Id of an existing artifact"},
                "old_str": {
                    "type": "string",
                    "description": "The passage to replace, quoted from the newest version, long enough to stand there once",
                },
                "new_str": {"type": "string", "description": "What stands there afterwards; empty deletes the passage"},
            },
            "required": ["id", "old_str", "new_str"],
            "additionalProperties": false,
        });
        let description = "Replace one passage of an artifact and leave the rest as it is. A quotation with small slips is \
            still found, if only one place comes near; if several do, nothing is changed and you are told the lines: \
            quote more of the surroundings then.";
        let declaration =
            ToolDeclaration::new(ToolId::builtin("artifact.update"), description, schema, Effect::Write)?;
        let declaration = declaration.with_facts(|facts| {
            facts.alias = Some("update_artifact".to_owned());
            facts.category = "artifact".to_owned();
            facts.example = json!({
                "id": "travel-plan", "old_str": "1. Book the train", "new_str": "1. Book the night train",
            })
            .as_object()
            .cloned();
        });
        Ok(Self { declaration })
    }
}

impl Tool for UpdateArtifact {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn touches(&self, arguments: &PreparedArguments) -> Touches {
        let artifact = resource(arguments.text("id"));
        Touches::Resources { reads: artifact.clone(), writes: artifact }
    }

    fn call<'a>(
        &'a self,
        call: &'a StartedCall,
        context: &'a dyn ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move { update(call, context) })
    }
}

fn update(call: &StartedCall, context: &dyn ToolContext) -> Result<ToolOutput, ToolError> {
    let Arguments { id, old_str, new_str } = arguments(call)?;
    let artifacts = artifacts_of(context)?;
    let old = newest(artifacts.as_ref(), id)?;
    if old_str.is_empty() {
        return Err(ToolError::new(
            ErrorCode::new("artifact.empty_old_str"),
            "`old_str` is empty. Quote the passage that is to be replaced, or rewrite the artifact.",
        ));
    }
    let Found { range, how } = find(&old.content, old_str).map_err(|miss| missed(context, id, &miss))?;
    let replaced = &old.content[range.clone()];
    if replaced == new_str {
        return Err(ToolError::new(
            ErrorCode::new("artifact.no_change"),
            format!(
                "Nothing was changed: line {} of `{id}` says that already.",
                line_of(&old.content, range.start)
            ),
        ));
    }
    let first = line_of(&old.content, range.start);
    let last = line_of(&old.content, range.start + replaced.trim_end_matches('\n').len());
    let lines = if first == last { format!("line {first}") } else { format!("lines {first}-{last}") };
    let number = old.version.saturating_add(1);
    let mut message = format!("Updated artifact `{id}`: version {number}, {lines}");
    match how {
        How::Exact => message.push('.'),
        How::Alike => message.push_str(", found with quotes, dashes or blanks written differently."),
        How::Approximate(edits) => message.push_str(&format!(
            ", found by likeness: `old_str` differs from the text by {edits} characters. Replaced was:\n{}",
            shortened(replaced)
        )),
    }
    let content = [&old.content[..range.start], new_str, &old.content[range.end..]].concat();
    let version = ArtifactVersion { version: number, source: "model".to_owned(), content, ..old };
    let mut output = staged(artifacts.as_ref(), version, message)?;
    if let Some(Value::Object(structured)) = &mut output.structured {
        structured.insert("lines".to_owned(), json!([first, last]));
        structured.insert("found".to_owned(), json!(word(how)));
        structured
            .insert("edits".to_owned(), json!(if let How::Approximate(edits) = how { edits } else { 0 }));
    }
    Ok(output)
}

fn word(how: How) -> &'static str {
    match how {
        How::Exact => "exact",
        How::Alike => "normalised",
        How::Approximate(_) => "approximate",
    }
}

fn shortened(text: &str) -> String {
    let head = first_characters(text, 400);
    if head.len() == text.len() { text.to_owned() } else { format!("{head} […]") }
}

fn missed(context: &dyn ToolContext, id: &str, miss: &Miss) -> ToolError {
    let next = match context.alias_of(&read_tool()) {
        Some(alias) => format!("Use {alias}(id='{id}') and quote the passage exactly."),
        None => "Quote the passage exactly as it stands there.".to_owned(),
    };
    match miss {
        Miss::Absent => ToolError::new(
            ErrorCode::new("artifact.old_str_not_found"),
            format!("Nothing was changed: `old_str` does not stand in `{id}`, and nothing like it. {next}"),
        ),
        Miss::TooLong => ToolError::new(
            ErrorCode::new("artifact.old_str_not_found"),
            format!(
                "Nothing was changed: `old_str` does not stand in `{id}` exactly, and the text is too long to look for \
                 something like it. {next}"
            ),
        ),
        Miss::Ambiguous(lines) => {
            let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
            ToolError::new(
                ErrorCode::new("artifact.old_str_ambiguous"),
                format!(
                    "Nothing was changed: `old_str` could be meant in several places of `{id}`, near lines {}. Quote more \
                     of the surroundings, so that one place is left.",
                    lines.join(", ")
                ),
            )
        }
    }
}
