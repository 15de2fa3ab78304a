//! `skill.search`: places in the texts of one skill; what is shown counts as read (SKL-02).

use haft_core::path::PreparedArguments;
use haft_core::ports::Touches;
use haft_core::query::{LineHit, Query, rank};
use haft_core::{
    BoxFuture, Effect, ErrorClass, ErrorCode, StartedCall, Tool, ToolContext, ToolDeclaration, ToolError,
    ToolOutput,
};
use haft_schema::SchemaError;
use serde::Deserialize;
use serde_json::{Value, json};

use super::folder::{self, Found};
use super::{access, exhausted, id, open};
use crate::arguments::arguments;

const DEFAULT_HITS: u64 = 20;
const MAX_HITS: u64 = 50;
const DEFAULT_CONTEXT: u64 = 2;
const MAX_CONTEXT: u64 = 5;

#[derive(Deserialize)]
struct Arguments<'a> {
    name: &'a str,
    query: &'a str,
    path: Option<&'a str>,
    limit: u64,
    context_lines: u64,
}

pub(super) struct SearchSkill {
    declaration: ToolDeclaration,
}

impl SearchSkill {
    pub(super) fn new() -> Result<Self, SchemaError> {
        let schema = json!({
            "type": "object",
            "properties": {
                "name": {"type": "string", "description": "Name of the skill"},
                "query": {
                    "type": "string",
                    "description": "Words to look for, capitals do not matter; a query of signs alone is taken as it stands",
                },
                "path": {"type": "string", "description": "A folder or file of the skill; left out, all of it"},
                "limit": {
                    "type": "integer", "minimum": 1, "maximum": MAX_HITS,
                    "description": "Most places shown", "default": DEFAULT_HITS,
                },
                "context_lines": {
                    "type": "integer", "minimum": 0, "maximum": MAX_CONTEXT,
                    "description": "Lines shown before and after a place", "default": DEFAULT_CONTEXT,
                },
            },
            "required": ["name", "query"],
            "additionalProperties": false,
        });
        let description = "Search the text files of one skill. You get the places that fit best, each with its file and lines; \
            read the file by those lines to see more.";
        let declaration = ToolDeclaration::new(id("search"), description, schema, Effect::Read)?;
        let declaration = declaration.with_facts(|facts| {
            facts.category = "skill".to_owned();
            facts.idempotent = true;
            facts.example = json!({"name": "ui-card", "query": "timeline"}).as_object().cloned();
        });
        Ok(Self { declaration })
    }
}

impl Tool for SearchSkill {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn touches(&self, arguments: &PreparedArguments) -> Touches {
        let name = arguments.text("name").unwrap_or_default();
        Touches::Resources { reads: vec![format!("skill/{name}")], writes: Vec::new() }
    }

    fn call<'a>(
        &'a self,
        call: &'a StartedCall,
        context: &'a dyn ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(search(call, context))
    }
}

struct Hit {
    path: String,
    lines: LineHit,
}

impl Hit {
    fn reference(&self, skill: &str) -> String {
        format!("skill:{skill}/{}#L{}-L{}", self.path, self.lines.start_line, self.lines.end_line)
    }
}

async fn search(call: &StartedCall, context: &dyn ToolContext) -> Result<ToolOutput, ToolError> {
    let wanted: Arguments<'_> = arguments(call)?;
    let access = access(context);
    let query = Query::parse(wanted.query).ok_or_else(|| {
        ToolError::new(ErrorCode::new("skill.empty_query"), "`query` is empty. Name what to look for.")
    })?;
    let skill = open(context, &access, wanted.name).await?;
    let (name, path) = (wanted.name.to_owned(), folder::path(wanted.path.unwrap_or("."))?);
    let around = usize::try_from(wanted.context_lines.min(MAX_CONTEXT)).unwrap_or(0);
    let (mut hits, skipped) = folder::blocking(move || {
        let (files, mut skipped) = folder::files(&skill, &name, &path)?;
        let mut hits: Vec<Hit> = Vec::new();
        for path in files {
            match folder::read(&skill, &name, &path) {
                Ok(Found::Text(text)) => {
                    hits.extend(
                        query.lines(&text, around).into_iter().map(|lines| Hit { path: path.clone(), lines }),
                    );
                }
                Err(error) if error.class() == ErrorClass::SystemFailure => return Err(error),
                Ok(Found::Binary(_)) | Err(_) => skipped += 1,
            }
        }
        Ok((hits, skipped))
    })
    .await?;
    let found = hits.len();
    let most = usize::try_from(wanted.limit.clamp(1, MAX_HITS)).unwrap_or(1);
    rank(&mut hits, most, |hit| hit.lines.score, |hit| (hit.path.clone(), hit.lines.start_line));
    let granted = access.reserve();
    if granted == 0 && found > 0 {
        return Err(exhausted(&access));
    }
    let mut used = 0;
    hits.retain(|hit| {
        let characters = hit.lines.snippet.chars().count() as u64;
        let fits = used + characters <= granted;
        used += if fits { characters } else { 0 };
        fits
    });
    access.give_back(granted - used);
    Ok(output(&wanted, &hits, found, skipped))
}

fn output(wanted: &Arguments<'_>, hits: &[Hit], found: usize, skipped: usize) -> ToolOutput {
    let (name, query) = (wanted.name, wanted.query);
    let places = if found == 1 { "1 place".to_owned() } else { format!("{found} places") };
    let fit = if found == 1 { "fits" } else { "fit" };
    let head = match (found, hits.len()) {
        (0, _) => format!("Nothing in the skill `{name}` fits `{query}`."),
        (found, shown) if shown < found => {
            format!(
                "{places} in the skill `{name}` {fit} `{query}`; {shown} are shown, as your limit and budget allow:"
            )
        }
        _ => format!("{places} in the skill `{name}` {fit} `{query}`."),
    };
    let mut blocks = vec![head];
    blocks.extend(hits.iter().map(|hit| {
        let LineHit { score, start_line, end_line, snippet } = &hit.lines;
        let span = if start_line == end_line {
            format!("line {start_line}")
        } else {
            format!("lines {start_line}-{end_line}")
        };
        format!("{}, {span}, score {score}\n{snippet}", hit.path)
    }));
    if skipped > 0 {
        let what = if skipped == 1 { "1 file was".to_owned() } else { format!("{skipped} files were") };
        blocks.push(format!("[{what} not searched: links, or no text]"));
    }
    let rows: Vec<Value> = hits
        .iter()
        .map(|hit| {
            json!({
                "path": hit.path, "score": hit.lines.score, "startLine": hit.lines.start_line,
                "endLine": hit.lines.end_line, "snippet": hit.lines.snippet, "ref": hit.reference(name),
            })
        })
        .collect();
    let mut output = ToolOutput::of_text(blocks.join("\n\n"))
        .with_structured(json!({"hits": rows, "found": found, "skippedFiles": skipped}));
    output.resource_refs = hits.iter().map(|hit| hit.reference(name)).collect();
    output
}
