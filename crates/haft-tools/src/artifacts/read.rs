//! `read_artifact`: a version by lines, with the way to read on (ART-04, ART-05).

use haft_core::artifact::{Artifacts, artifact_slice};
use haft_core::path::PreparedArguments;
use haft_core::ports::Touches;
use haft_core::slice::{Slice, slice_lines};
use haft_core::{
    ArtifactVersion, BoxFuture, Effect, ErrorCode, ResultCap, StartedCall, Tool, ToolContext,
    ToolDeclaration, ToolError, ToolOutput,
};
use haft_schema::SchemaError;
use serde::Deserialize;
use serde_json::json;

use super::{artifacts_of, newest, read_tool, resource, unknown};
use crate::arguments::arguments;

#[derive(Deserialize)]
struct Arguments<'a> {
    id: &'a str,
    version: Option<u32>,
    offset: i64,
    limit: Option<u64>,
}

pub(super) struct ReadArtifact {
    declaration: ToolDeclaration,
}

impl ReadArtifact {
    pub(super) fn new() -> Result<Self, SchemaError> {
        let schema = json!({
            "type": "object",
            "properties": {
                "id": {"type": "string", "description": "Id of the artifact"},
                "version": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": u32::MAX,
                    "description": "An older version; left out, the newest",
                },
                "offset": {"type": "integer", "description": "First line to read, from 1", "default": 1},
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "description": "Most lines to read; left out, as many as fit",
                },
            },
            "required": ["id"],
            "additionalProperties": false,
        });
        let description = "Read an artifact of this conversation, whole or by lines. The result says which lines are shown, \
            how many there are, and how to read on if there are more. Read before you change a passage, so that you can \
            quote it exactly.";
        let declaration = ToolDeclaration::new(read_tool(), description, schema, Effect::Read)?;
        let declaration = declaration.with_facts(|facts| {
            facts.alias = Some("read_artifact".to_owned());
            facts.category = "artifact".to_owned();
            facts.idempotent = true;
            facts.no_compress = true;
            // Spilled, it would make an artifact of an artifact, to be read again (RES-17).
            facts.result_cap = ResultCap::Unlimited;
        });
        Ok(Self { declaration })
    }
}

impl Tool for ReadArtifact {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn touches(&self, arguments: &PreparedArguments) -> Touches {
        Touches::Resources { reads: resource(arguments.text("id")), writes: Vec::new() }
    }

    fn call<'a>(
        &'a self,
        call: &'a StartedCall,
        context: &'a dyn ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move { read(call, context) })
    }
}

fn read(call: &StartedCall, context: &dyn ToolContext) -> Result<ToolOutput, ToolError> {
    let wanted: Arguments<'_> = arguments(call)?;
    let artifacts = artifacts_of(context)?;
    let version = find(artifacts.as_ref(), wanted.id, wanted.version)?;
    let first = usize::try_from(wanted.offset.max(1)).unwrap_or(usize::MAX);
    let count = wanted.limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
    // A limit is the model's own choice; without one the hidden cap holds (ART-05).
    let cap = if count.is_some() { u64::MAX } else { artifacts.read_cap().max(1) };
    let slice = slice_lines(&version.content, first, count, cap);
    if first > 1 && first > slice.total_lines {
        return Err(ToolError::new(
            ErrorCode::new("artifact.past_end"),
            format!("`{}` has {} lines; line {first} is past its end.", wanted.id, slice.total_lines),
        ));
    }
    let hint = read_on(call.alias(), &wanted, &slice);
    let mut output = ToolOutput::of_text(artifact_slice(&version, &slice, Some(&hint)));
    output.resource_refs.push(format!("artifact:{}@{}", version.id, version.version));
    Ok(output)
}

fn find(artifacts: &dyn Artifacts, id: &str, version: Option<u32>) -> Result<ArtifactVersion, ToolError> {
    if let Some(found) = artifacts.read(id, version) {
        return Ok(found);
    }
    let (Some(version), Ok(newest)) = (version, newest(artifacts, id)) else {
        return Err(unknown(artifacts, id));
    };
    Err(ToolError::new(
        ErrorCode::new("artifact.version_not_found"),
        format!("`{id}` has no version {version}; its newest is version {}.", newest.version),
    ))
}

/// How to read on after `slice`: from the next line, or the line that was cut, whole.
fn read_on(alias: &str, wanted: &Arguments<'_>, slice: &Slice<'_>) -> String {
    let id = wanted.id;
    let version = wanted.version.map(|version| format!(", version={version}")).unwrap_or_default();
    if slice.cut_line {
        let line = slice.last_line;
        let onwards = if line < slice.total_lines {
            format!(", then {alias}(id='{id}'{version}, offset={}) to read on", line + 1)
        } else {
            String::new()
        };
        return format!(
            "Line {line} is cut: it is too long. Use {alias}(id='{id}'{version}, offset={line}, limit=1) to read it whole{onwards}."
        );
    }
    let limit = wanted.limit.map(|limit| format!(", limit={limit}")).unwrap_or_default();
    format!("Use {alias}(id='{id}'{version}, offset={}{limit}) to read on.", slice.next_line())
}
