//! `rewrite_artifact`: a new version with an entirely new text (ART-03).

use haft_core::path::PreparedArguments;
use haft_core::ports::Touches;
use haft_core::{
    ArtifactVersion, BoxFuture, Effect, StartedCall, Tool, ToolContext, ToolDeclaration, ToolError, ToolId,
    ToolOutput,
};
use haft_schema::SchemaError;
use serde::Deserialize;
use serde_json::json;

use super::{artifacts_of, lines_of, newest, resource, staged};
use crate::arguments::arguments;

#[derive(Deserialize)]
struct Arguments<'a> {
    id: &'a str,
    content: &'a str,
}

pub(super) struct RewriteArtifact {
    declaration: ToolDeclaration,
}

impl RewriteArtifact {
    pub(super) fn new() -> Result<Self, SchemaError> {
        let schema = json!({
            "type": "object",
            "properties": {
                "id": {"type": "string", "description": "Id of an existing artifact"},
                "content": {"type": "string", "description": "The whole new text; nothing of the old one is kept"},
            },
            "required": ["id", "content"],
            "additionalProperties": false,
        });
        let description = "Replace the whole text of an artifact. For a change of a few passages update the artifact instead: \
            that is shorter and leaves the rest untouched. Older versions stay readable.";
        let declaration =
            ToolDeclaration::new(ToolId::builtin("artifact.rewrite"), description, schema, Effect::Write)?;
        let declaration = declaration.with_facts(|facts| {
            facts.alias = Some("rewrite_artifact".to_owned());
            facts.category = "artifact".to_owned();
        });
        Ok(Self { declaration })
    }
}

impl Tool for RewriteArtifact {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn touches(&self, arguments: &PreparedArguments) -> Touches {
        Touches::Resources { reads: Vec::new(), writes: resource(arguments.text("id")) }
    }

    fn call<'a>(
        &'a self,
        call: &'a StartedCall,
        context: &'a dyn ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move { rewrite(call, context) })
    }
}

fn rewrite(call: &StartedCall, context: &dyn ToolContext) -> Result<ToolOutput, ToolError> {
    let Arguments { id, content } = arguments(call)?;
    let artifacts = artifacts_of(context)?;
    let old = newest(artifacts.as_ref(), id)?;
    let number = old.version.saturating_add(1);
    let version =
        ArtifactVersion { version: number, source: "model".to_owned(), content: content.to_owned(), ..old };
    let message = format!("Rewrote artifact `{id}`: version {number}, {}.", lines_of(content));
    staged(artifacts.as_ref(), version, message)
}
