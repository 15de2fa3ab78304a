//! `workspace.search_files`: places in the files that are seen, best first (WSP-05, WSP-19, WSP-20).

use haft_core::path::PreparedArguments;
use haft_core::ports::Touches;
use haft_core::query::{LineHit, Query, rank};
use haft_core::workspace::WorkspacePath;
use haft_core::{
    BoxFuture, Effect, ErrorCode, StartedCall, Tool, ToolContext, ToolDeclaration, ToolError, ToolOutput,
};
use haft_schema::SchemaError;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{id, reads, text_of, visible, workspace_of};
use crate::arguments::arguments;
use crate::edit::span;

const DEFAULT_HITS: u64 = 20;
const MAX_HITS: u64 = 50;
const DEFAULT_CONTEXT: u64 = 2;
const MAX_CONTEXT: u64 = 5;

#[derive(Deserialize)]
struct Arguments<'a> {
    query: &'a str,
    path: Option<&'a str>,
    limit: u64,
    context_lines: u64,
}

pub(super) struct SearchFiles {
    declaration: ToolDeclaration,
}

impl SearchFiles {
    pub(super) fn new() -> Result<Self, SchemaError> {
        let schema = json!({
            "type": "object",
            "properties": {
                "query": {
                    "type": "string",
                    "description": "Words to look for, capitals do not matter; a query of signs alone is taken as it stands",
                },
                "path": {"type": "string", "description": "A folder or file to search; left out, all that you see"},
                "limit": {
                    "type": "integer", "minimum": 1, "maximum": MAX_HITS,
                    "description": "Most places shown", "default": DEFAULT_HITS,
                },
                "context_lines": {
                    "type": "integer", "minimum": 0, "maximum": MAX_CONTEXT,
                    "description": "Lines shown before and after a place", "default": DEFAULT_CONTEXT,
                },
            },
            "required": ["query"],
            "additionalProperties": false,
        });
        let description = "Search the text files of your workspace. You get the places that fit best, each with its path, its \
            lines and a few lines around it; read the file by those lines to see more.";
        let declaration = ToolDeclaration::new(id("search_files"), description, schema, Effect::Read)?;
        let declaration = declaration.with_facts(|facts| {
            facts.category = "workspace".to_owned();
            // The files are those of the run at hand, whatever another run read.
            facts.never_repeats = true;
            facts.idempotent = true;
            facts.example = json!({"query": "lighthouse keeper", "path": "output"}).as_object().cloned();
        });
        Ok(Self { declaration })
    }
}

impl Tool for SearchFiles {
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
        Box::pin(async move { search(call, context) })
    }
}

fn search(call: &StartedCall, context: &dyn ToolContext) -> Result<ToolOutput, ToolError> {
    let wanted: Arguments<'_> = arguments(call)?;
    let workspace = workspace_of(context)?.as_ref();
    let query = Query::parse(wanted.query).ok_or_else(|| {
        ToolError::new(ErrorCode::new("workspace.empty_query"), "`query` is empty. Name what to look for.")
    })?;
    let place = wanted.path.map(|path| visible(workspace, path)).transpose()?;
    let files = workspace.list()?;
    let within: Vec<_> =
        files.iter().filter(|file| place.as_ref().is_none_or(|place| file.path.is_inside(place))).collect();
    if let (true, Some(place)) = (within.is_empty(), place.as_ref().filter(|place| place.name().is_some())) {
        let text = format!("There is no `{place}`. List the files to see what there is.");
        return Err(ToolError::new(ErrorCode::new("workspace.file_not_found"), text));
    }
    let around = usize::try_from(wanted.context_lines.min(MAX_CONTEXT)).unwrap_or(0);
    let mut hits: Vec<(&WorkspacePath, LineHit)> = Vec::new();
    let mut skipped = 0_usize;
    for file in &within {
        match text_of(file) {
            Some(text) => hits.extend(query.lines(text, around).into_iter().map(|hit| (&file.path, hit))),
            None => skipped += 1,
        }
    }
    let found = hits.len();
    let most = usize::try_from(wanted.limit.clamp(1, MAX_HITS)).unwrap_or(1);
    rank(&mut hits, most, |(_, hit)| hit.score, |(path, hit)| ((*path).clone(), hit.start_line));
    let mut blocks = vec![summary(wanted.query, found, hits.len(), within.len() - skipped)];
    for (path, hit) in &hits {
        blocks.push(format!(
            "{path}, {}, score {}\n{}",
            span(hit.start_line, hit.end_line),
            hit.score,
            hit.snippet
        ));
    }
    if skipped > 0 {
        blocks.push(format!(
            "[{} not searched: no text]",
            if skipped == 1 { "1 file was".to_owned() } else { format!("{skipped} files were") }
        ));
    }
    let rows: Vec<Value> = hits
        .iter()
        .map(|(path, hit)| {
            json!({
                "path": path.as_str(), "score": hit.score, "startLine": hit.start_line, "endLine": hit.end_line,
                "snippet": hit.snippet, "ref": reference(path, hit),
            })
        })
        .collect();
    let mut output = ToolOutput::of_text(blocks.join("\n\n"))
        .with_structured(json!({"hits": rows, "found": found, "skipped": skipped}));
    output.resource_refs = hits.iter().map(|(path, hit)| reference(path, hit)).collect();
    Ok(output)
}

fn reference(path: &WorkspacePath, hit: &LineHit) -> String {
    format!("workspace:{path}#L{}-L{}", hit.start_line, hit.end_line)
}

fn summary(query: &str, found: usize, shown: usize, searched: usize) -> String {
    let files = if searched == 1 { "1 file".to_owned() } else { format!("{searched} files") };
    match (found, shown) {
        (0, _) => format!("Nothing in {files} fits `{query}`."),
        (1, _) => format!("1 place in {files} fits `{query}`."),
        (found, shown) if shown < found => {
            format!("{found} places in {files} fit `{query}`; the best {shown}:")
        }
        (found, _) => format!("{found} places in {files} fit `{query}`."),
    }
}
