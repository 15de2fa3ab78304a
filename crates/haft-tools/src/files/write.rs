//! `file_write`: a file with a new content, or with more at its end (FIL-08).

use std::sync::Arc;

use haft_core::consent::{Ask, ConsentEnvironment};
use haft_core::path::PreparedArguments;
use haft_core::ports::Touches;
use haft_core::{
    BoxFuture, Effect, StartedCall, Tool, ToolContext, ToolDeclaration, ToolError, ToolId, ToolOutput,
};
use haft_schema::SchemaError;
use serde::Deserialize;
use serde_json::json;

use super::folder::replace;
use super::reads::ProjectReads;
use super::{Place, Remembered, blocking, change, counted, encoding, family, writes};
use crate::arguments::arguments;
use crate::edit::KnownFile;

#[derive(Deserialize)]
struct Arguments<'a> {
    path: &'a str,
    content: &'a str,
    encoding: &'a str,
    mode: Mode,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Mode {
    Write,
    Append,
}

pub(super) struct FileWrite {
    declaration: ToolDeclaration,
    reads: Arc<ProjectReads>,
}

impl FileWrite {
    pub(super) fn new(reads: Arc<ProjectReads>) -> Result<Self, SchemaError> {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "Path of the file inside the project; missing folders are made"},
                "content": {"type": "string", "description": "The text to write"},
                "encoding": {"type": "string", "description": "Encoding of the text", "default": "utf-8"},
                "mode": {
                    "type": "string",
                    "enum": ["write", "append"],
                    "description": "write puts the content in the place of what is there, append adds it at the end",
                    "default": "write",
                },
            },
            "required": ["path", "content"],
        });
        let description = "Write a text file of the project. With mode `write` the content is the whole new file, so give all \
            of it; nothing of an older file is kept. The result is a short receipt; read the file if you need to see it.";
        let declaration =
            ToolDeclaration::new(ToolId::builtin("project.file_write"), description, schema, Effect::Write)?;
        let declaration = declaration.with_facts(|facts| {
            family(facts, "file_write");
            facts.example = json!({"path": "notes/todo.md", "content": "- call Ada\n"}).as_object().cloned();
        });
        Ok(Self { declaration, reads })
    }
}

impl Tool for FileWrite {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn ask(&self, arguments: &PreparedArguments, environment: &ConsentEnvironment) -> Result<Ask, ToolError> {
        let (path, content) = (arguments.text("path"), arguments.text("content"));
        let characters = counted(content.unwrap_or_default().chars().count(), "character");
        let path = path.unwrap_or_default();
        let meaning = match arguments.text("mode") {
            Some("append") => format!("Append {characters} to the file `{path}`?"),
            _ => format!("Write {characters} to the file `{path}`, in place of whatever it holds?"),
        };
        Ok(change(meaning, arguments, environment, Remembered::Folder, &["content"]))
    }

    fn touches(&self, arguments: &PreparedArguments) -> Touches {
        writes(arguments)
    }

    fn call<'a>(
        &'a self,
        call: &'a StartedCall,
        context: &'a dyn ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(write(call, context, &self.reads))
    }
}

async fn write(
    call: &StartedCall,
    context: &dyn ToolContext,
    reads: &ProjectReads,
) -> Result<ToolOutput, ToolError> {
    let wanted: Arguments<'_> = arguments(call)?;
    let place = Place::open(call, context, wanted.path).await?;
    let added = encoding::encode(wanted.content, encoding::named(wanted.encoding)?)?;
    let (place, before) = place.before().await?;
    let image = place.keep(context, before.as_ref()).await?;
    let known = match (&before, wanted.mode) {
        (Some(seen), Mode::Append) => match (std::str::from_utf8(&seen.bytes), std::str::from_utf8(&added)) {
            (Ok(old), Ok(added)) => {
                KnownFile::appended(reads.known(context, &place, old).await?.as_deref(), old, added)
            }
            (Ok(_) | Err(_), _) => None,
        },
        (None, Mode::Append) | (_, Mode::Write) => std::str::from_utf8(&added).ok().map(KnownFile::whole),
    };
    let (created, bytes, fresh, mode) = (before.is_none(), added.len(), context.ids().fresh(), wanted.mode);
    let (place, after) = blocking(move || {
        let bytes = match (&before, mode) {
            (Some(seen), Mode::Append) => [seen.bytes.as_slice(), &added].concat(),
            (None, Mode::Append) | (_, Mode::Write) => added,
        };
        let after = replace(&place.dir, &place.path, before.as_ref(), &bytes, &fresh)?;
        Ok((place, after))
    })
    .await?;
    let (path, size) = (&place.path, counted(bytes, "byte"));
    let message = match (mode, created) {
        (Mode::Append, false) => format!("Added {size} at the end of `{path}`."),
        (Mode::Append | Mode::Write, true) => format!("Wrote the new file `{path}`, {size}."),
        (Mode::Write, false) => format!("Wrote `{path}`, {size}, in the place of what it held."),
    };
    let structured = json!({"path": path.to_string(), "bytes": bytes, "created": created});
    let output = ToolOutput::of_text(message).with_structured(structured);
    let output = place.changed(output, image, Some(after));
    Ok(match known {
        Some(known) => reads.keep(context, &place, known, output),
        None => output,
    })
}
