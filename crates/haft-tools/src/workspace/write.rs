//! `workspace.write_file`: a file with a new content, or with more at its end (WSP-07, WSP-08, WSP-09).

use std::sync::Arc;

use haft_core::path::PreparedArguments;
use haft_core::ports::Touches;
use haft_core::workspace::WorkspacePath;
use haft_core::{
    BoxFuture, Effect, ErrorCode, StartedCall, Tool, ToolContext, ToolDeclaration, ToolError, ToolOutput,
};
use haft_schema::SchemaError;
use serde::Deserialize;
use serde_json::json;

use super::{alias, id, key, place, staged, text, workspace_of, writable, writes};
use crate::arguments::arguments;
use crate::edit::{FileReads, KnownFile, WriteRefusal, line_count, lines};

#[derive(Deserialize)]
struct Arguments<'a> {
    path: &'a str,
    content: &'a str,
    mode: Mode,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Mode {
    Replace,
    Append,
}

pub(super) struct WriteFile {
    declaration: ToolDeclaration,
    reads: Arc<FileReads>,
}

impl WriteFile {
    pub(super) fn new(reads: Arc<FileReads>) -> Result<Self, SchemaError> {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "Path of the file, such as `output/main.md`; folders need not be made"},
                "content": {"type": "string", "description": "The text to write"},
                "mode": {
                    "type": "string",
                    "enum": ["replace", "append"],
                    "description": "replace: the content is the whole file; append: it is added at the end as it is, so begin \
                        it with a line break if it shall stand on a line of its own",
                    "default": "replace",
                },
            },
            "required": ["path", "content"],
            "additionalProperties": false,
        });
        let description = "Write a text file of your workspace, under output/, scratch/, plan/, summaries/ or persist/. A file \
            that is there is replaced only if you have read or written all of it and nobody changed it since; appending \
            needs no reading. The answer is short: read the file if you need to see it.";
        let declaration = ToolDeclaration::new(id("write_file"), description, schema, Effect::Write)?;
        let declaration = declaration.with_facts(|facts| {
            facts.category = "workspace".to_owned();
            // The files are those of the run at hand, whatever another run read.
            facts.never_repeats = true;
            facts.example =
                json!({"path": "output/main.md", "content": "# The lighthouse\n"}).as_object().cloned();
        });
        Ok(Self { declaration, reads })
    }
}

impl Tool for WriteFile {
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
        Box::pin(async move { write(call, context, &self.reads) })
    }
}

fn write(call: &StartedCall, context: &dyn ToolContext, reads: &FileReads) -> Result<ToolOutput, ToolError> {
    let Arguments { path, content, mode } = arguments(call)?;
    let workspace = workspace_of(context)?.as_ref();
    let path = writable(workspace, path)?;
    let before = place(workspace, &path, context)?;
    let key = key(workspace, &path);
    let known = reads.get(&key);
    let old = match (&before, mode) {
        (None, _) => None,
        (Some(file), Mode::Append) => Some(text(file)?),
        (Some(file), Mode::Replace) => {
            // What is no text was read by nobody, and is not replaced by accident.
            let old = text(file)?;
            let reader = alias(context, "read_file", "workspace_read_file");
            KnownFile::check_replace(known.as_deref(), old)
                .map_err(|refusal| refused(&refusal, &path, reader))?;
            Some(old)
        }
    };
    let (new, known) = match (old, mode) {
        (Some(old), Mode::Append) => {
            ([old, content].concat(), KnownFile::appended(known.as_deref(), old, content))
        }
        (None, Mode::Append) | (_, Mode::Replace) => (content.to_owned(), Some(KnownFile::whole(content))),
    };
    if old == Some(new.as_str()) {
        let text = format!("Nothing was written: `{path}` already holds exactly that.");
        return Err(ToolError::new(ErrorCode::new("workspace.write_no_change"), text));
    }
    let size = lines(line_count(&new));
    let summary = match (old.is_some(), mode) {
        (false, _) => format!("Wrote the new file `{path}`, {size}."),
        (true, Mode::Replace) => format!("Replaced `{path}`, now {size}."),
        (true, Mode::Append) => format!("Added to the end of `{path}`, now {size}."),
    };
    let written = match mode {
        Mode::Replace => "replace",
        Mode::Append => "append",
    };
    let structured = json!({"mode": written, "created": old.is_none(), "lines": line_count(&new)});
    let output = staged(workspace, path, before.as_ref(), &new, summary, structured)?;
    if let Some(known) = known {
        reads.set(&key, known);
    }
    Ok(output)
}

fn refused(refusal: &WriteRefusal, path: &WorkspacePath, reader: &str) -> ToolError {
    let (code, why) = match refusal {
        WriteRefusal::NotRead => {
            ("workspace.write_requires_read", "is there already, and you have not read it".to_owned())
        }
        WriteRefusal::PartlyRead(read) => {
            ("workspace.write_requires_read", format!("is there already, and you have read {read} of it"))
        }
        WriteRefusal::Stale(changes) => {
            ("workspace.write_stale_file", format!("was changed by others since you read it: {changes}"))
        }
    };
    let text = format!("Nothing was written: `{path}` {why}. Read the whole file with {reader}, then write.");
    ToolError::new(ErrorCode::new(code), text)
}
