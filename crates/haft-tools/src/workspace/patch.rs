//! `workspace.apply_patch`: one passage of a file replaced, quoted exactly (WSP-10, WSP-11).

use std::sync::Arc;

use haft_core::path::PreparedArguments;
use haft_core::ports::Touches;
use haft_core::{
    BoxFuture, Effect, ErrorCode, StartedCall, Tool, ToolContext, ToolDeclaration, ToolError, ToolOutput,
};
use haft_schema::SchemaError;
use serde::Deserialize;
use serde_json::json;

use super::{alias, existing, id, key, staged, text, workspace_of, writable, writes};
use crate::arguments::arguments;
use crate::edit::{FileReads, Manner, Patch, PatchError, Patched, patch};

#[derive(Deserialize)]
struct Arguments<'a> {
    path: &'a str,
    old_string: &'a str,
    new_string: &'a str,
    replace_all: bool,
}

pub(super) struct ApplyPatch {
    declaration: ToolDeclaration,
    reads: Arc<FileReads>,
}

impl ApplyPatch {
    pub(super) fn new(reads: Arc<FileReads>) -> Result<Self, SchemaError> {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "Path of a file that is there"},
                "old_string": {
                    "type": "string",
                    "description": "The passage to replace, exactly as you read it, blanks and line breaks included",
                },
                "new_string": {"type": "string", "description": "What stands there afterwards; empty deletes the passage"},
                "replace_all": {
                    "type": "boolean",
                    "description": "Replace every occurrence; you must have read the whole file",
                    "default": false,
                },
            },
            "required": ["path", "old_string", "new_string"],
            "additionalProperties": false,
        });
        let description = "Replace one passage of a file of your workspace and leave the rest as it is. Quote a passage that you \
            have read or written yourself, long enough to stand in the file once. If a patch fails after you had read only a \
            part, read the whole file before the next one. The answer names the lines that changed.";
        let declaration = ToolDeclaration::new(id("apply_patch"), description, schema, Effect::Write)?;
        let declaration = declaration.with_facts(|facts| {
            facts.category = "workspace".to_owned();
            // The files are those of the run at hand, whatever another run read.
            facts.never_repeats = true;
            facts.example = json!({
                "path": "output/main.md", "old_string": "The lamp was dark.", "new_string": "The lamp burned low.",
            })
            .as_object()
            .cloned();
        });
        Ok(Self { declaration, reads })
    }
}

impl Tool for ApplyPatch {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn touches(&self, arguments: &PreparedArguments) -> Touches {
        writes(arguments)
    }

    fn call<'a>(
        &'a self,
        call: &'a StartedCall,
        context: &'a dyn ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move { apply(call, context, &self.reads) })
    }
}

fn apply(call: &StartedCall, context: &dyn ToolContext, reads: &FileReads) -> Result<ToolOutput, ToolError> {
    let wanted: Arguments<'_> = arguments(call)?;
    let workspace = workspace_of(context)?.as_ref();
    let path = writable(workspace, wanted.path)?;
    let file = existing(workspace, &path, context)?;
    let old = text(&file)?;
    let key = key(workspace, &path);
    let change = Patch { old: wanted.old_string, new: wanted.new_string, all: wanted.replace_all };
    let known = reads.get(&key);
    let Patched { text, receipt, known } =
        patch(old, known.as_deref(), change, Manner::Strict).map_err(|error| {
            let next = reads.failed(&key, &error, Manner::Strict);
            let reader = alias(context, "read_file", "workspace_read_file");
            ToolError::new(ErrorCode::new(code(&error)), error.message(path.as_str(), reader, next))
        })?;
    let summary = format!("Patched `{path}`: {receipt}");
    let output = staged(workspace, path, Some(&file), &text, summary, receipt.structured())?;
    reads.set(&key, known);
    Ok(output)
}

fn code(error: &PatchError) -> &'static str {
    match error {
        PatchError::EmptyOld => "workspace.patch_empty_old_string",
        PatchError::NoChange => "workspace.patch_no_change",
        PatchError::NotRead | PatchError::NotReadHere { .. } => "workspace.patch_requires_read",
        PatchError::AfterFailure | PatchError::AllUnread { .. } => "workspace.patch_requires_full_read",
        PatchError::Stale { .. } => "workspace.patch_stale_file",
        PatchError::NotFound(_) => "workspace.patch_old_string_not_found",
        PatchError::NotUnique { .. } => "workspace.patch_old_string_not_unique",
    }
}
