//! `workspace.read_file`: the text of a file, whole or by lines (WSP-03, WSP-06, WSP-17, WSP-18).

use std::sync::Arc;

use haft_core::lines::{LineRange, ReadLimits, read_lines};
use haft_core::path::PreparedArguments;
use haft_core::ports::Touches;
use haft_core::{
    BoxFuture, Effect, ErrorCode, ResultCap, StartedCall, Tool, ToolContext, ToolDeclaration, ToolError,
    ToolOutput,
};
use haft_schema::SchemaError;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{existing, id, key, reads, text, visible, workspace_of};
use crate::arguments::arguments;
use crate::edit::FileReads;

/// What one read shows.
const LIMITS: ReadLimits = ReadLimits { chars: 80_000, lines: 1_200, bytes: 256 << 10 };

#[derive(Deserialize)]
struct Arguments<'a> {
    path: &'a str,
    start_line: Option<u64>,
    line_count: Option<u64>,
}

pub(super) struct ReadFile {
    declaration: ToolDeclaration,
    reads: Arc<FileReads>,
}

impl ReadFile {
    pub(super) fn new(reads: Arc<FileReads>) -> Result<Self, SchemaError> {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "Path of the file, such as `output/main.md`"},
                "start_line": {"type": "integer", "minimum": 1, "description": "First line to read, from 1; left out, from the beginning"},
                "line_count": {"type": "integer", "minimum": 1, "description": "Most lines to read; left out, as many as fit"},
            },
            "required": ["path"],
            "additionalProperties": false,
        });
        let description = "Read a text file of your workspace, whole or by lines. Of a long file you see the first lines and are \
            told how to read on. Read a passage before you patch it, and a whole file before you replace it.";
        let declaration = ToolDeclaration::new(id("read_file"), description, schema, Effect::Read)?;
        let declaration = declaration.with_facts(|facts| {
            facts.category = "workspace".to_owned();
            // The files are those of the run at hand, whatever another run read.
            facts.never_repeats = true;
            facts.idempotent = true;
            facts.no_compress = true;
            // It pages by lines itself.
            facts.result_cap = ResultCap::Unlimited;
            facts.example = json!({"path": "output/main.md"}).as_object().cloned();
        });
        Ok(Self { declaration, reads })
    }
}

impl Tool for ReadFile {
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
        Box::pin(async move { read(call, context, &self.reads) })
    }
}

fn read(call: &StartedCall, context: &dyn ToolContext, reads: &FileReads) -> Result<ToolOutput, ToolError> {
    let wanted: Arguments<'_> = arguments(call)?;
    let workspace = workspace_of(context)?.as_ref();
    let path = visible(workspace, wanted.path)?;
    let file = existing(workspace, &path, context)?;
    let text = text(&file)?;
    let range = LineRange { start_line: wanted.start_line, line_count: wanted.line_count };
    let view = read_lines(text, range, LIMITS).map_err(|error| {
        ToolError::new(
            ErrorCode::new("workspace.invalid_range"),
            format!("Nothing of `{path}` was read: {error}."),
        )
    })?;
    // A line that is cut was not read.
    let last = view.last_whole_line().unwrap_or(0);
    reads.read(&key(workspace, &path), text, view.start_line(), last);
    let count = wanted.line_count.map(|count| format!(", line_count={count}")).unwrap_or_default();
    let shown = view.shown(|line| format!("{}(path='{path}', start_line={line}{count})", call.alias()));
    let shown = if text.is_empty() { format!("[`{path}` is empty]") } else { shown };
    let mut numbers = view.numbers();
    numbers.insert("path".to_owned(), json!(path.as_str()));
    numbers.insert("sha256".to_owned(), json!(file.digest().to_string()));
    let mut output = ToolOutput::of_text(shown).with_structured(Value::Object(numbers));
    output.resource_refs.push(format!("workspace:{path}"));
    Ok(output)
}
