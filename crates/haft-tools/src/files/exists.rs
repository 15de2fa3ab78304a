//! `file_exists`: whether there is a file or folder (FIL-10).

use std::io;

use haft_core::path::PreparedArguments;
use haft_core::ports::Touches;
use haft_core::{
    BoxFuture, Effect, StartedCall, Tool, ToolContext, ToolDeclaration, ToolError, ToolId, ToolOutput,
};
use haft_schema::SchemaError;
use serde::Deserialize;
use serde_json::json;

use super::{Place, blocking, counted, family, folder, reads};
use crate::arguments::arguments;

#[derive(Deserialize)]
struct Arguments<'a> {
    path: &'a str,
}

pub(super) struct FileExists {
    declaration: ToolDeclaration,
}

impl FileExists {
    pub(super) fn new() -> Result<Self, SchemaError> {
        let schema = json!({
            "type": "object",
            "properties": {"path": {"type": "string", "description": "Path of a file or folder inside the project"}},
            "required": ["path"],
        });
        let description = "Say whether a file or folder is in the project, and which of the two it is.";
        let declaration =
            ToolDeclaration::new(ToolId::builtin("project.file_exists"), description, schema, Effect::Read)?;
        let declaration = declaration.with_facts(|facts| {
            family(facts, "file_exists");
            facts.idempotent = true;
            facts.example = json!({"path": "src/main.py"}).as_object().cloned();
        });
        Ok(Self { declaration })
    }
}

impl Tool for FileExists {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn touches(&self, arguments: &PreparedArguments) -> Touches {
        reads(arguments)
    }

    fn call<'a>(
        &'a self,
        call: &'a StartedCall,
        context: &'a dyn ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(exists(call, context))
    }
}

async fn exists(call: &StartedCall, context: &dyn ToolContext) -> Result<ToolOutput, ToolError> {
    let Arguments { path } = arguments(call)?;
    let place = Place::open(call, context, path).await?;
    blocking(move || {
        let path = place.path.to_string();
        let metadata = match place.dir.metadata(&path) {
            Ok(metadata) => metadata,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(ToolOutput::of_text(format!("`{path}` does not exist."))
                    .with_structured(json!({"path": path, "exists": false})));
            }
            Err(error) => return Err(folder::fault(&error, &place.path)),
        };
        let kind = if metadata.is_dir() {
            "folder"
        } else if metadata.is_file() {
            "file"
        } else {
            "other"
        };
        let shown = match kind {
            "file" => {
                let size = usize::try_from(metadata.len()).unwrap_or(usize::MAX);
                format!("`{path}` exists: a file of {}.", counted(size, "byte"))
            }
            "folder" => format!("`{path}` exists: a folder."),
            _ => format!("`{path}` exists, but is neither a file nor a folder."),
        };
        Ok(ToolOutput::of_text(shown).with_structured(json!({"path": path, "exists": true, "kind": kind})))
    })
    .await
}
