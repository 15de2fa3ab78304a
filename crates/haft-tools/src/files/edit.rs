//! `file_edit`: one passage of a file replaced, quoted exactly (ours; in the profile `default`).
//!
//! The passage must have been read in the session. If others changed the file elsewhere, the edit goes on and says so.

use std::sync::Arc;

use haft_core::consent::{Ask, ConsentEnvironment};
use haft_core::path::PreparedArguments;
use haft_core::ports::Touches;
use haft_core::{
    BoxFuture, Effect, ErrorCode, StartedCall, Tool, ToolContext, ToolDeclaration, ToolError, ToolId,
    ToolOutput,
};
use haft_schema::SchemaError;
use serde::Deserialize;
use serde_json::json;

use super::folder::{missing, replace};
use super::reads::ProjectReads;
use super::{Place, Remembered, blocking, change, encoding, family, writes};
use crate::arguments::arguments;
use crate::edit::{Manner, NextRead, Patch, PatchError, Patched, patch};

#[derive(Deserialize)]
struct Arguments<'a> {
    path: &'a str,
    old_string: &'a str,
    new_string: &'a str,
    replace_all: bool,
}

impl<'a> Arguments<'a> {
    fn patch(&self) -> Patch<'a> {
        Patch { old: self.old_string, new: self.new_string, all: self.replace_all }
    }
}

pub(super) struct FileEdit {
    declaration: ToolDeclaration,
    reads: Arc<ProjectReads>,
}

impl FileEdit {
    pub(super) fn new(reads: Arc<ProjectReads>) -> Result<Self, SchemaError> {
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
        let description = "Replace a passage of a project file and leave the rest as it is. Read the passage first and quote \
            it exactly, without line numbers. It must stand there once, or replace_all be true, for which you must have read \
            the whole file; quote more of the surroundings to make it unique. The result names the lines that changed.";
        let declaration =
            ToolDeclaration::new(ToolId::builtin("project.file_edit"), description, schema, Effect::Write)?;
        let declaration = declaration.with_facts(|facts| {
            family(facts, "file_edit");
            facts.example =
                json!({"path": "src/main.py", "old_string": "retries = 3", "new_string": "retries = 5"})
                    .as_object()
                    .cloned();
        });
        Ok(Self { declaration, reads })
    }
}

impl Tool for FileEdit {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn ask(&self, arguments: &PreparedArguments, environment: &ConsentEnvironment) -> Result<Ask, ToolError> {
        let meaning =
            format!("Replace a passage of the file `{}`?", arguments.text("path").unwrap_or_default());
        let secret = ["old_string", "new_string"];
        Ok(change(meaning, arguments, environment, Remembered::Folder, &secret))
    }

    fn touches(&self, arguments: &PreparedArguments) -> Touches {
        writes(arguments)
    }

    fn call<'a>(
        &'a self,
        call: &'a StartedCall,
        context: &'a dyn ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(edit(call, context, &self.reads))
    }
}

async fn edit(
    call: &StartedCall,
    context: &dyn ToolContext,
    reads: &ProjectReads,
) -> Result<ToolOutput, ToolError> {
    let wanted: Arguments<'_> = arguments(call)?;
    let place = Place::open(call, context, wanted.path).await?;
    let (place, before) = place.before().await?;
    let seen = before.ok_or_else(|| missing(&place.path))?;
    // Only for the checks: the bytes themselves are edited, so that a byte order mark stays.
    encoding::decode(&seen.bytes, encoding_rs::UTF_8, &place.path)?;
    let text = std::str::from_utf8(&seen.bytes).map_err(|error| {
        ToolError::failed(format!("`{}` is not text in UTF-8.", place.path)).with_detail(error.to_string())
    })?;
    let known = reads.known(context, &place, text).await?;
    let patched = patch(text, known.as_deref(), wanted.patch(), Manner::Anchored)
        .map_err(|error| refused(&error, &place, context))?;
    let Patched { text, receipt, known } = patched;
    let image = place.keep(context, Some(&seen)).await?;
    let fresh = context.ids().fresh();
    let (place, after) = blocking(move || {
        let after = replace(&place.dir, &place.path, Some(&seen), text.as_bytes(), &fresh)?;
        Ok((place, after))
    })
    .await?;
    let path = &place.path;
    let mut structured = receipt.structured();
    structured["path"] = json!(path.to_string());
    let output = ToolOutput::of_text(format!("Edited `{path}`: {receipt}")).with_structured(structured);
    let output = place.changed(output, image, Some(after));
    Ok(reads.keep(context, &place, known, output))
}

fn refused(error: &PatchError, place: &Place, context: &dyn ToolContext) -> ToolError {
    let code = match error {
        PatchError::EmptyOld => "project.edit_empty_old_string",
        PatchError::NoChange => "project.edit_no_change",
        PatchError::NotRead | PatchError::NotReadHere { .. } => "project.edit_requires_read",
        PatchError::AfterFailure | PatchError::AllUnread { .. } => "project.edit_requires_full_read",
        PatchError::Stale { .. } => "project.stale_file",
        PatchError::NotFound(_) => "project.edit_not_found",
        PatchError::NotUnique { .. } => "project.edit_not_unique",
    };
    let reader = context.alias_of(&ToolId::builtin("project.file_read")).unwrap_or("file_read");
    let next = match error {
        PatchError::AllUnread { .. } => NextRead::Whole,
        _ => NextRead::Passage,
    };
    ToolError::new(ErrorCode::new(code), error.message(&place.path.to_string(), reader, next))
}
