//! The artifact tools (ART-01 to ART-06): named, versioned texts of a session, created, changed, read and searched.
//!
//! They see the session through the port [`Artifacts`] and never store anything themselves: a mutation is staged and
//! handed back as a [`Change`], which the engine commits together with the record of the call.

mod create;
mod grep;
mod matching;
mod myers;
mod read;
mod rewrite;
mod update;

use std::sync::Arc;

use haft_core::artifact::Artifacts;
use haft_core::nearest::nearest;
use haft_core::result::Change;
use haft_core::{ArtifactVersion, ErrorCode, Tool, ToolContext, ToolError, ToolId, ToolOutput};
use haft_schema::SchemaError;
use serde_json::json;

/// The family, in the order of the source: create, update, rewrite, read, grep.
///
/// # Errors
/// [`SchemaError`] if a declaration carries a schema that is none.
pub fn tools() -> Result<Vec<Arc<dyn Tool>>, SchemaError> {
    Ok(vec![
        Arc::new(create::CreateArtifact::new()?),
        Arc::new(update::UpdateArtifact::new()?),
        Arc::new(rewrite::RewriteArtifact::new()?),
        Arc::new(read::ReadArtifact::new()?),
        Arc::new(grep::GrepArtifact::new()?),
    ])
}

/// The id of the reading tool, for hints (ALI-09).
fn read_tool() -> ToolId {
    ToolId::builtin("artifact.read")
}

/// The artifacts of the call's session.
fn artifacts_of(context: &dyn ToolContext) -> Result<&Arc<dyn Artifacts>, ToolError> {
    context.services().get::<dyn Artifacts>().ok_or_else(|| {
        ToolError::new(
            ErrorCode::new("artifact.unavailable"),
            "This conversation has no artifacts. Give the text in your answer instead.",
        )
    })
}

/// The newest version of `id`, or an error that names what there is.
fn newest(artifacts: &dyn Artifacts, id: &str) -> Result<ArtifactVersion, ToolError> {
    artifacts.read(id, None).ok_or_else(|| unknown(artifacts, id))
}

fn unknown(artifacts: &dyn Artifacts, id: &str) -> ToolError {
    let all = artifacts.list();
    let ids: Vec<&str> = all.iter().map(|version| version.id.as_str()).collect();
    let near = nearest(id, ids.iter().copied(), 3);
    let next = match (near.is_empty(), ids.is_empty()) {
        (false, _) => format!("Did you mean {}?", near.join(", ")),
        (true, false) => {
            format!("There are: {}.", ids.iter().take(20).copied().collect::<Vec<_>>().join(", "))
        }
        (true, true) => "There are no artifacts yet; create one first.".to_owned(),
    };
    ToolError::new(ErrorCode::new("artifact.not_found"), format!("There is no artifact `{id}`. {next}"))
}

/// Stages `version` and makes the result of a mutation: what the model reads, the snapshot for the user interface (RES-21),
/// and the change that is stored with the record (ART-01).
fn staged(
    artifacts: &dyn Artifacts,
    version: ArtifactVersion,
    message: String,
) -> Result<ToolOutput, ToolError> {
    artifacts.stage(version.clone())?;
    let mut output = ToolOutput::of_text(message)
        .with_structured(json!({"id": version.id, "version": version.version}))
        .with_metadata("artifact_snapshot", version.snapshot());
    output.resource_refs.push(format!("artifact:{}@{}", version.id, version.version));
    Ok(output.with_change(Change::Artifact(version)))
}

/// The name by which other calls know an artifact, for `touches`.
fn resource(id: Option<&str>) -> Vec<String> {
    id.map(|id| format!("artifact:{id}")).into_iter().collect()
}

/// How many lines a text has, as the reading tool counts them, in words.
fn lines_of(text: &str) -> String {
    match text.split_inclusive('\n').count() {
        1 => "1 line".to_owned(),
        several => format!("{several} lines"),
    }
}
