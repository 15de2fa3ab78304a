//! `file_read`: the text of a file, whole or by lines (FIL-07).

use std::sync::Arc;

use encoding_rs::UTF_8;
use haft_core::consent::{Ask, ConsentEnvironment};
use haft_core::path::PreparedArguments;
use haft_core::ports::Touches;
use haft_core::slice::slice_lines;
use haft_core::{
    BoxFuture, Effect, ErrorCode, StartedCall, Tool, ToolContext, ToolDeclaration, ToolError, ToolId,
    ToolOutput,
};
use haft_schema::SchemaError;
use serde::Deserialize;
use serde_json::json;

use super::path::ProjectPath;
use super::reads::ProjectReads;
use super::{Place, blocking, encoding, family, folder, look, reads};
use crate::arguments::arguments;
use crate::edit::{KnownFile, line_count};

/// As far as a file is read, in bytes.
const MAX_READ: u64 = 16 << 20;

#[derive(Deserialize)]
struct Arguments<'a> {
    path: &'a str,
    encoding: &'a str,
    start_line: Option<u64>,
    line_count: Option<u64>,
}

pub(super) struct FileRead {
    declaration: ToolDeclaration,
    reads: Arc<ProjectReads>,
}

impl FileRead {
    pub(super) fn new(reads: Arc<ProjectReads>) -> Result<Self, SchemaError> {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "Path of the file inside the project, such as `src/main.py`"},
                "encoding": {"type": "string", "description": "Encoding of the text", "default": "utf-8"},
                "start_line": {"type": "integer", "minimum": 1, "description": "First line to read, from 1"},
                "line_count": {"type": "integer", "minimum": 1, "description": "Most lines to read"},
            },
            "required": ["path"],
        });
        let description = "Read a text file of the project, whole or by lines. Read long files by lines, and read before you \
            change a passage. Binary files are refused.";
        let declaration =
            ToolDeclaration::new(ToolId::builtin("project.file_read"), description, schema, Effect::Read)?;
        let declaration = declaration.with_facts(|facts| {
            family(facts, "file_read");
            facts.idempotent = true;
            facts.no_compress = true;
            facts.example = json!({"path": "src/main.py"}).as_object().cloned();
        });
        Ok(Self { declaration, reads })
    }
}

impl Tool for FileRead {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn ask(&self, arguments: &PreparedArguments, environment: &ConsentEnvironment) -> Result<Ask, ToolError> {
        Ok(look(arguments, environment))
    }

    fn touches(&self, arguments: &PreparedArguments) -> Touches {
        reads(arguments)
    }

    fn call<'a>(
        &'a self,
        call: &'a StartedCall,
        context: &'a dyn ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(read(call, context, &self.reads))
    }
}

async fn read(
    call: &StartedCall,
    context: &dyn ToolContext,
    reads: &ProjectReads,
) -> Result<ToolOutput, ToolError> {
    let wanted: Arguments<'_> = arguments(call)?;
    let place = Place::open(call, context, wanted.path).await?;
    let encoding = encoding::named(wanted.encoding)?;
    let (place, raw, text, cut) = blocking(move || {
        let (mut bytes, length) = folder::read(&place.dir, &place.path, MAX_READ)?;
        let cut = length > bytes.len() as u64;
        if cut {
            // The last line is not whole, nor perhaps its last character.
            let end = memchr::memrchr(b'\n', &bytes).map_or(0, |at| at + 1);
            bytes.truncate(end);
        }
        let text = encoding::decode(&bytes, encoding, &place.path)?;
        Ok((place, bytes, text, cut))
    })
    .await?;
    let (output, first, last) = part(call.alias(), &wanted, &place.path, text, cut)?;
    // What is changed later are the bytes, so what is known are the bytes; of a part of a file no version is known.
    match std::str::from_utf8(&raw) {
        Ok(raw) if !cut && encoding == UTF_8 => {
            let before = reads.known(context, &place, raw).await?;
            let known = KnownFile::read(before.as_deref(), raw, first, last);
            Ok(reads.keep(context, &place, known, output))
        }
        Ok(_) | Err(_) => Ok(output),
    }
}

/// The lines that are shown, and the numbers of the first and the last.
fn part(
    alias: &str,
    wanted: &Arguments<'_>,
    path: &ProjectPath,
    text: String,
    cut: bool,
) -> Result<(ToolOutput, usize, usize), ToolError> {
    let limit = format!("only the first {} MiB of `{path}` are read", MAX_READ >> 20);
    if wanted.start_line.is_none() && wanted.line_count.is_none() {
        let text = if cut { format!("{text}\n[{limit}; the file goes on]") } else { text };
        let total = line_count(&text);
        return Ok((ToolOutput::of_text(text), 1, total));
    }
    let lines = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    let first = lines(wanted.start_line.unwrap_or(1));
    let slice = slice_lines(&text, first, wanted.line_count.map(lines), u64::MAX);
    if first > slice.total_lines.max(1) {
        let more = if cut { format!("; {limit}") } else { String::new() };
        return Err(ToolError::new(
            ErrorCode::new("project.past_end"),
            format!("`{path}` has {} lines; line {first} is past its end{more}.", slice.total_lines),
        ));
    }
    let mut shown = slice.text.to_owned();
    if !shown.is_empty() && !shown.ends_with('\n') {
        shown.push('\n');
    }
    shown.push_str(&format!(
        "[lines {}-{} of {} of `{path}`",
        slice.first_line, slice.last_line, slice.total_lines
    ));
    if slice.has_more() {
        let count = wanted.line_count.map(|count| format!(", line_count={count}")).unwrap_or_default();
        shown.push_str(&format!(
            "; read on with {alias}(path='{path}', start_line={}{count})",
            slice.next_line()
        ));
    } else if cut {
        shown.push_str(&format!("; {limit}"));
    }
    shown.push(']');
    Ok((ToolOutput::of_text(shown), slice.first_line, slice.last_line))
}
