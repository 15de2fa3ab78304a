//! `grep_artifact`: lines that match, in one artifact or in all, as ripgrep finds them (ART-06).

use std::io;

use grep_regex::RegexMatcherBuilder;
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkMatch,
};
use haft_core::path::PreparedArguments;
use haft_core::ports::Touches;
use haft_core::slice::first_characters;
use haft_core::{
    BoxFuture, Effect, ErrorCode, StartedCall, Tool, ToolContext, ToolDeclaration, ToolError, ToolId,
    ToolOutput,
};
use haft_schema::SchemaError;
use serde::Deserialize;
use serde_json::json;

use super::{artifacts_of, newest, resource};
use crate::arguments::arguments;

/// Most lines of context on each side.
const MAX_CONTEXT: u64 = 100;
/// Largest compiled pattern, in bytes, and deepest nesting of its groups.
const MAX_PROGRAM: usize = 2 << 20;
const MAX_NESTING: u32 = 100;
/// Characters of a line that are shown.
const MAX_LINE: u64 = 2_000;

#[derive(Deserialize)]
struct Arguments<'a> {
    pattern: &'a str,
    id: Option<&'a str>,
    fixed_strings: bool,
    ignore_case: bool,
    context: u64,
    max_count: u64,
}

pub(super) struct GrepArtifact {
    declaration: ToolDeclaration,
}

impl GrepArtifact {
    pub(super) fn new() -> Result<Self, SchemaError> {
        let schema = json!({
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "description": "Regular expression in ripgrep's syntax, matched line by line"},
                "id": {"type": "string", "description": "Search this artifact alone; left out, all of the conversation"},
                "fixed_strings": {
                    "type": "boolean",
                    "description": "Take the pattern as plain text, not as a regular expression",
                    "default": false,
                },
                "ignore_case": {"type": "boolean", "description": "Do not tell capitals from small letters", "default": false},
                "context": {
                    "type": "integer",
                    "minimum": 0,
                    "maximum": MAX_CONTEXT,
                    "description": "Lines shown before and after each match",
                    "default": 0,
                },
                "max_count": {
                    "type": "integer",
                    "minimum": 1,
                    "description": "Most matching lines of each artifact",
                    "default": 20,
                },
            },
            "required": ["pattern"],
            "additionalProperties": false,
        });
        let description = "Search the newest versions of the conversation's artifacts. The result has one block an artifact: \
            its id, then `line:text` for a match and `line-text` for context. Use it to find the line to read or to \
            change.";
        let declaration =
            ToolDeclaration::new(ToolId::builtin("artifact.grep"), description, schema, Effect::Read)?;
        let declaration = declaration.with_facts(|facts| {
            facts.alias = Some("grep_artifact".to_owned());
            facts.category = "artifact".to_owned();
            facts.idempotent = true;
            facts.example = json!({"pattern": "TODO|FIXME", "context": 1}).as_object().cloned();
        });
        Ok(Self { declaration })
    }
}

impl Tool for GrepArtifact {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn touches(&self, arguments: &PreparedArguments) -> Touches {
        match arguments.text("id") {
            Some(id) => Touches::Resources { reads: resource(Some(id)), writes: Vec::new() },
            None => Touches::Everything,
        }
    }

    fn call<'a>(
        &'a self,
        call: &'a StartedCall,
        context: &'a dyn ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move { grep(call, context) })
    }
}

fn grep(call: &StartedCall, context: &dyn ToolContext) -> Result<ToolOutput, ToolError> {
    let wanted: Arguments<'_> = arguments(call)?;
    let artifacts = artifacts_of(context)?;
    let matcher = RegexMatcherBuilder::new()
        .case_insensitive(wanted.ignore_case)
        .fixed_strings(wanted.fixed_strings)
        .line_terminator(Some(b'\n'))
        .size_limit(MAX_PROGRAM)
        .nest_limit(MAX_NESTING)
        .build(wanted.pattern)
        .map_err(|error| bad_pattern(&wanted, &error))?;
    let lines = usize::try_from(wanted.context.min(MAX_CONTEXT)).unwrap_or(0);
    let mut searcher = SearcherBuilder::new()
        .line_number(true)
        .binary_detection(BinaryDetection::none())
        .bom_sniffing(false)
        .before_context(lines)
        .after_context(lines)
        .build();
    let searched = match wanted.id {
        Some(id) => vec![newest(artifacts.as_ref(), id)?],
        None => artifacts.list(),
    };
    let mut blocks: Vec<String> = Vec::new();
    for version in &searched {
        if context.cancel().is_cancelled() {
            return Err(ToolError::new(ErrorCode::CALL_CANCELLED, "The search was stopped."));
        }
        let mut block = Block::new(wanted.max_count);
        searcher.search_slice(&matcher, version.content.as_bytes(), &mut block).map_err(|error| {
            ToolError::failed(format!("`{}` could not be searched.", version.id))
                .with_detail(error.to_string())
        })?;
        if block.matches > 0 {
            blocks.push(block.finish(&version.id));
        }
    }
    if blocks.is_empty() {
        let place = match wanted.id {
            Some(id) => format!("`{id}`"),
            None => format!("{} artifacts", searched.len()),
        };
        return Ok(ToolOutput::of_text(format!("No line of {place} matches `{}`.", wanted.pattern)));
    }
    Ok(ToolOutput::of_text(blocks.join("\n\n")))
}

fn bad_pattern(wanted: &Arguments<'_>, error: &grep_regex::Error) -> ToolError {
    let next = if wanted.pattern.contains('\n') || wanted.pattern.contains("\\n") {
        "A pattern is matched line by line and cannot hold a line break."
    } else {
        "Mend it, or set fixed_strings to search for it as plain text."
    };
    ToolError::new(
        ErrorCode::new("artifact.bad_pattern"),
        format!("`{}` is no pattern that can be searched: {error}. {next}", wanted.pattern),
    )
}

/// Collects the lines of one artifact.
struct Block {
    most: u64,
    matches: u64,
    more: bool,
    text: String,
    /// Context before a match, not shown until that match is.
    pending: String,
}

impl Block {
    fn new(most: u64) -> Self {
        Self { most, matches: 0, more: false, text: String::new(), pending: String::new() }
    }

    fn finish(self, id: &str) -> String {
        let text = self.text.trim_end_matches('\n');
        let more = if self.more {
            format!(
                "\n(the first {} matching lines; there are more: raise max_count or narrow the pattern)",
                self.most
            )
        } else {
            String::new()
        };
        format!("{id}\n{text}{more}")
    }
}

fn line(number: Option<u64>, mark: char, bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_end_matches(['\n', '\r']);
    let shown = first_characters(text, MAX_LINE);
    let cut = if shown.len() < text.len() { " […]" } else { "" };
    format!("{}{mark}{shown}{cut}\n", number.unwrap_or(0))
}

impl Sink for Block {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        if self.matches >= self.most {
            self.more = true;
            return Ok(false);
        }
        self.matches += 1;
        let pending = std::mem::take(&mut self.pending);
        self.text.push_str(&pending);
        self.text.push_str(&line(found.line_number(), ':', found.bytes()));
        Ok(true)
    }

    fn context(&mut self, _searcher: &Searcher, found: &SinkContext<'_>) -> Result<bool, io::Error> {
        let shown = line(found.line_number(), '-', found.bytes());
        match found.kind() {
            SinkContextKind::Before => self.pending.push_str(&shown),
            SinkContextKind::After | SinkContextKind::Other => self.text.push_str(&shown),
        }
        Ok(true)
    }

    fn context_break(&mut self, _searcher: &Searcher) -> Result<bool, io::Error> {
        self.pending.push_str("--\n");
        Ok(true)
    }
}
