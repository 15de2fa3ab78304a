//! `file_mkdir`: a folder, with those on the way to it (FIL-10).

use haft_core::consent::{Ask, ConsentEnvironment};
use haft_core::path::PreparedArguments;
use haft_core::ports::Touches;
use haft_core::{
    BoxFuture, Effect, StartedCall, Tool, ToolContext, ToolDeclaration, ToolError, ToolId, ToolOutput,
};
use haft_schema::SchemaError;
use serde::Deserialize;
use serde_json::json;

use super::{Place, Remembered, blocking, change, family, folder, writes};
use crate::arguments::arguments;

#[derive(Deserialize)]
struct Arguments<'a> {
    path: &'a str,
}

pub(super) struct FileMkdir {
    declaration: ToolDeclaration,
}

impl FileMkdir {
    pub(super) fn new() -> Result<Self, SchemaError> {
        let schema = json!({
            "type": "object",
            "properties": {"path": {"type": "string", "description": "Path of the new folder inside the project"}},
            "required": ["path"],
        });
        let description = "Make a folder in the project, with those on the way to it. Writing a file makes its folders by \
            itself, so this is for empty ones.";
        let declaration =
            ToolDeclaration::new(ToolId::builtin("project.file_mkdir"), description, schema, Effect::Write)?;
        let declaration = declaration.with_facts(|facts| {
            family(facts, "file_mkdir");
            facts.idempotent = true;
            facts.example = json!({"path": "docs/images"}).as_object().cloned();
        });
        Ok(Self { declaration })
    }
}

impl Tool for FileMkdir {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn ask(&self, arguments: &PreparedArguments, environment: &ConsentEnvironment) -> Result<Ask, ToolError> {
        let meaning = format!("Create the folder `{}`?", arguments.text("path").unwrap_or_default());
        Ok(change(meaning, arguments, environment, Remembered::NewFolder, &[]))
    }

    fn touches(&self, arguments: &PreparedArguments) -> Touches {
        writes(arguments)
    }

    fn call<'a>(
        &'a self,
        call: &'a StartedCall,
        context: &'a dyn ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(mkdir(call, context))
    }
}

async fn mkdir(call: &StartedCall, context: &dyn ToolContext) -> Result<ToolOutput, ToolError> {
    let Arguments { path } = arguments(call)?;
    let place = Place::open(call, context, path).await?;
    blocking(move || {
        let created = folder::make(&place.dir, &place.path)?;
        let path = place.path.to_string();
        let shown = if created {
            format!("Made the folder `{path}`.")
        } else {
            format!("The folder `{path}` is there already.")
        };
        Ok(ToolOutput::of_text(shown).with_structured(json!({"path": path, "created": created})))
    })
    .await
}
