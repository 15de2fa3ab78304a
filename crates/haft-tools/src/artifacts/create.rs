//! `create_artifact`: version 1 of a new artifact (ART-01).

use haft_core::artifact::check_id;
use haft_core::path::PreparedArguments;
use haft_core::ports::Touches;
use haft_core::{
    ArtifactVersion, BoxFuture, Effect, ErrorCode, StartedCall, Tool, ToolContext, ToolDeclaration,
    ToolError, ToolId, ToolOutput,
};
use haft_schema::SchemaError;
use serde::Deserialize;
use serde_json::json;

use super::{artifacts_of, lines_of, resource, staged};
use crate::arguments::arguments;

/// Content types that an artifact may have.
const CONTENT_TYPES: [&str; 7] = [
    "text/markdown",
    "text/plain",
    "text/html",
    "text/javascript",
    "text/x-python",
    "application/json",
    "text/yaml",
];

#[derive(Deserialize)]
struct Arguments<'a> {
    id: &'a str,
    content_type: &'a str,
    title: &'a str,
    content: &'a str,
}

pub(super) struct CreateArtifact {
    declaration: ToolDeclaration,
}

impl CreateArtifact {
    pub(super) fn new() -> Result<Self, SchemaError> {
        let schema = json!({
            "type": "object",
            "properties": {
                "id": {
                    "type": "string",
                    "description": "Name of the artifact in this conversation: 1 to 64 letters, digits, `_`, `-` or `.`, such as `travel-plan`",
                },
                "content_type": {
                    "type": "string",
                    "description": "What kind of text it is",
                    "enum": CONTENT_TYPES,
                    "default": "text/markdown",
                },
                "title": {"type": "string", "description": "Short title for the user"},
                "content": {"type": "string", "description": "The whole text"},
            },
            "required": ["id", "title", "content"],
            "additionalProperties": false,
        });
        let description = "Create a named text of this conversation that the user sees beside the chat and that you can read \
            and change later: a document, report, plan or program. Short answers belong in the chat. An id can be created \
            once; after that, update the artifact or rewrite it.";
        let declaration =
            ToolDeclaration::new(ToolId::builtin("artifact.create"), description, schema, Effect::Write)?;
        let declaration = declaration.with_facts(|facts| {
            facts.alias = Some("create_artifact".to_owned());
            facts.category = "artifact".to_owned();
            facts.example = json!({
                "id": "travel-plan", "content_type": "text/markdown", "title": "Travel plan",
                "content": "# Travel plan\n\n1. Book the train\n",
            })
            .as_object()
            .cloned();
        });
        Ok(Self { declaration })
    }
}

impl Tool for CreateArtifact {
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
        Box::pin(async move { create(call, context) })
    }
}

fn create(call: &StartedCall, context: &dyn ToolContext) -> Result<ToolOutput, ToolError> {
    let Arguments { id, content_type, title, content } = arguments(call)?;
    let artifacts = artifacts_of(context)?;
    check_id(id)?;
    if let Some(there) = artifacts.read(id, None) {
        return Err(ToolError::new(
            ErrorCode::new("artifact.exists"),
            format!(
                "There is an artifact `{id}` already, at version {}. Update or rewrite it, or choose another id.",
                there.version
            ),
        ));
    }
    let version = ArtifactVersion {
        id: id.to_owned(),
        version: 1,
        content_type: content_type.to_owned(),
        title: title.to_owned(),
        source: "model".to_owned(),
        content: content.to_owned(),
    };
    let message = format!("Created artifact `{id}`, version 1, {}.", lines_of(content));
    staged(artifacts.as_ref(), version, message)
}
