//! `file_delete`: one file gone, its content kept as a before-image (FIL-09).

use haft_core::consent::{Ask, ConsentEnvironment};
use haft_core::path::PreparedArguments;
use haft_core::ports::Touches;
use haft_core::{
    BoxFuture, Effect, StartedCall, Tool, ToolContext, ToolDeclaration, ToolError, ToolId, ToolOutput,
};
use haft_schema::SchemaError;
use serde::Deserialize;
use serde_json::json;

use super::folder::{delete, missing};
use super::{Place, Remembered, blocking, change, family, writes};
use crate::arguments::arguments;

#[derive(Deserialize)]
struct Arguments<'a> {
    path: &'a str,
}

pub(super) struct FileDelete {
    declaration: ToolDeclaration,
}

impl FileDelete {
    pub(super) fn new() -> Result<Self, SchemaError> {
        let schema = json!({
            "type": "object",
            "properties": {"path": {"type": "string", "description": "Path of the file inside the project"}},
            "required": ["path"],
        });
        let description = "Delete one file of the project. Folders and links are refused.";
        let declaration =
            ToolDeclaration::new(ToolId::builtin("project.file_delete"), description, schema, Effect::Write)?;
        let declaration = declaration.with_facts(|facts| {
            family(facts, "file_delete");
            facts.example = json!({"path": "notes/old.md"}).as_object().cloned();
        });
        Ok(Self { declaration })
    }
}

impl Tool for FileDelete {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn ask(&self, arguments: &PreparedArguments, environment: &ConsentEnvironment) -> Result<Ask, ToolError> {
        let meaning = format!("Delete the file `{}`?", arguments.text("path").unwrap_or_default());
        Ok(change(meaning, arguments, environment, Remembered::File, &[]))
    }

    fn touches(&self, arguments: &PreparedArguments) -> Touches {
        writes(arguments)
    }

    fn call<'a>(
        &'a self,
        call: &'a StartedCall,
        context: &'a dyn ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(run(call, context))
    }
}

async fn run(call: &StartedCall, context: &dyn ToolContext) -> Result<ToolOutput, ToolError> {
    let Arguments { path } = arguments(call)?;
    let place = Place::open(call, context, path).await?;
    let (place, before) = place.before().await?;
    let seen = before.ok_or_else(|| missing(&place.path))?;
    let image = place.keep(context, Some(&seen)).await?;
    let place = blocking(move || delete(&place.dir, &place.path, &seen).map(|()| place)).await?;
    let path = place.path.to_string();
    let output = ToolOutput::of_text(format!("Deleted `{path}`.")).with_structured(json!({"path": path}));
    Ok(place.changed(output, image, None))
}
