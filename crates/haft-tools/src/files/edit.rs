//! `file_edit`: one passage of a file replaced, quoted exactly (ours; in the profile `default`). It shares no matching with
//! the artifact tools (CONFLICT-20).

use haft_core::consent::{Ask, ConsentEnvironment};
use haft_core::path::PreparedArguments;
use haft_core::ports::Touches;
use haft_core::{
    BoxFuture, Effect, ErrorCode, StartedCall, Tool, ToolContext, ToolDeclaration, ToolError, ToolId,
    ToolOutput,
};
use haft_schema::SchemaError;
use memchr::memmem;
use serde::Deserialize;
use serde_json::json;

use super::folder::{missing, replace};
use super::path::ProjectPath;
use super::{Place, Remembered, blocking, encoding, family, scopes, writes};
use crate::arguments::arguments;

/// Lines named in a receipt or a complaint, at most.
const MAX_LINES: usize = 20;

#[derive(Deserialize)]
struct Arguments<'a> {
    path: &'a str,
    old_string: &'a str,
    new_string: &'a str,
    replace_all: bool,
}

pub(super) struct FileEdit {
    declaration: ToolDeclaration,
}

impl FileEdit {
    pub(super) fn new() -> Result<Self, SchemaError> {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "Path of an existing UTF-8 file inside the project"},
                "old_string": {
                    "type": "string",
                    "description": "The passage to replace, exactly as it stands in the file, indentation included",
                },
                "new_string": {"type": "string", "description": "What stands there afterwards; empty deletes the passage"},
                "replace_all": {
                    "type": "boolean",
                    "description": "Replace every occurrence, not one alone",
                    "default": false,
                },
            },
            "required": ["path", "old_string", "new_string"],
            "additionalProperties": false,
        });
        let description = "Replace a passage of a project file and leave the rest as it is. Read the file first and quote \
            exactly. The passage must stand there once, or replace_all be true; quote more of the surroundings to make it \
            unique. The result names the lines that changed.";
        let declaration =
            ToolDeclaration::new(ToolId::builtin("project.file_edit"), description, schema, Effect::Write)?;
        let declaration = declaration.with_facts(|facts| {
            family(facts, "file_edit");
            facts.example =
                json!({"path": "src/main.py", "old_string": "retries = 3", "new_string": "retries = 5"})
                    .as_object()
                    .cloned();
        });
        Ok(Self { declaration })
    }
}

impl Tool for FileEdit {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn ask(&self, arguments: &PreparedArguments, environment: &ConsentEnvironment) -> Result<Ask, ToolError> {
        let meaning =
            format!("Replace a passage of the file `{}`?", arguments.text("path").unwrap_or_default());
        Ok(Ask { meaning: Some(meaning), ..scopes(arguments, environment, Remembered::Folder) })
    }

    fn touches(&self, arguments: &PreparedArguments) -> Touches {
        writes(arguments)
    }

    fn call<'a>(
        &'a self,
        call: &'a StartedCall,
        context: &'a dyn ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(edit(call, context))
    }
}

async fn edit(call: &StartedCall, context: &dyn ToolContext) -> Result<ToolOutput, ToolError> {
    let wanted: Arguments<'_> = arguments(call)?;
    let place = Place::open(call, context, wanted.path).await?;
    let (place, before) = place.before().await?;
    let seen = before.ok_or_else(|| missing(&place.path))?;
    // Only for the checks: the bytes themselves are edited, so that a byte order mark stays.
    encoding::decode(&seen.bytes, encoding_rs::UTF_8, &place.path)?;
    let Edited { bytes, lines, count } = edited(&seen.bytes, &wanted, &place.path)?;
    let image = place.keep(context, Some(&seen)).await?;
    let fresh = context.ids().fresh();
    let (place, after) = blocking(move || {
        let after = replace(&place.dir, &place.path, Some(&seen), &bytes, &fresh)?;
        Ok((place, after))
    })
    .await?;
    let path = &place.path;
    let what = if count == 1 { "1 replacement".to_owned() } else { format!("{count} replacements") };
    let message = format!("Edited `{path}`: {what}, {}.", named(&lines, count));
    let structured = json!({"path": path.to_string(), "replacements": count, "lines": lines});
    Ok(ToolOutput::of_text(message).with_structured(structured).with_change(place.change(image, Some(after))))
}

struct Edited {
    bytes: Vec<u8>,
    /// Where the first replacements stand, in the new file, from 1.
    lines: Vec<usize>,
    count: usize,
}

fn edited(text: &[u8], wanted: &Arguments<'_>, path: &ProjectPath) -> Result<Edited, ToolError> {
    let refuse = |code, message: String| Err(ToolError::new(ErrorCode::new(code), message));
    let (mut old, mut new) = (wanted.old_string.to_owned(), wanted.new_string.to_owned());
    if old.is_empty() {
        let message = "`old_string` is empty. Quote the passage that is to be replaced.";
        return refuse("project.edit_empty_old_string", message.to_owned());
    }
    if old == new {
        return refuse("project.edit_no_change", "`old_string` and `new_string` are the same.".to_owned());
    }
    // Models write line feeds, whatever the file has.
    if memmem::find(text, old.as_bytes()).is_none() && memmem::find(text, b"\r\n").is_some() {
        let windows = |text: &str| text.replace("\r\n", "\n").replace('\n', "\r\n");
        (old, new) = (windows(&old), windows(&new));
    }
    let places: Vec<usize> = memmem::find_iter(text, old.as_bytes()).collect();
    if places.is_empty() {
        return refuse(
            "project.edit_not_found",
            format!(
                "Nothing was changed: `old_string` does not stand in `{path}`. Read it again and quote exactly."
            ),
        );
    }
    if places.len() > 1 && !wanted.replace_all {
        let lines: Vec<usize> = places.iter().take(MAX_LINES).map(|at| line(text, *at)).collect();
        return refuse(
            "project.edit_not_unique",
            format!(
                "Nothing was changed: `old_string` stands {} times in `{path}`, {}. Quote more of the surroundings, or set \
                 replace_all.",
                places.len(),
                named(&lines, places.len())
            ),
        );
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut lines = Vec::new();
    let mut number = 1;
    let mut from = 0;
    for at in &places {
        let kept = text.get(from..*at).unwrap_or_default();
        number += breaks(kept);
        if lines.len() < MAX_LINES {
            lines.push(number);
        }
        number += breaks(new.as_bytes());
        bytes.extend_from_slice(kept);
        bytes.extend_from_slice(new.as_bytes());
        from = at + old.len();
    }
    bytes.extend_from_slice(text.get(from..).unwrap_or_default());
    Ok(Edited { bytes, lines, count: places.len() })
}

fn breaks(text: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', text).count()
}

fn line(text: &[u8], at: usize) -> usize {
    1 + breaks(text.get(..at).unwrap_or_default())
}

fn named(lines: &[usize], count: usize) -> String {
    let list = lines.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let word = if count == 1 { "line" } else { "lines" };
    let more = if count > lines.len() { " …" } else { "" };
    format!("{word} {list}{more}")
}
