//! `file_list`: what is in a folder, or below it (FIL-10).

use std::io;

use cap_std::fs::Dir;
use globset::{GlobBuilder, GlobMatcher};
use haft_core::{
    BoxFuture, Effect, ErrorCode, StartedCall, Tool, ToolContext, ToolDeclaration, ToolError, ToolId,
    ToolOutput,
};
use haft_schema::SchemaError;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::path::ProjectPath;
use super::{Place, blocking, family, folder};
use crate::arguments::arguments;

/// Entries shown, at most.
const MAX_SHOWN: usize = 1_000;
/// Entries looked at, and levels gone down, at most.
const MAX_SEEN: usize = 100_000;
const MAX_DEPTH: usize = 40;

#[derive(Deserialize)]
struct Arguments<'a> {
    path: &'a str,
    pattern: &'a str,
}

/// One entry of a listing.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Entry {
    name: String,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    File,
    Folder,
    Link,
    Other,
}

pub(super) struct FileList {
    declaration: ToolDeclaration,
}

impl FileList {
    pub(super) fn new() -> Result<Self, SchemaError> {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "Folder inside the project", "default": "."},
                "pattern": {
                    "type": "string",
                    "description": "Which names: `*.py` in the folder, `**/*.py` also below it",
                    "default": "*",
                },
            },
        });
        let description = "List a folder of the project, sorted, one entry a line; folders end with `/`. At most 1000 entries \
            are shown: narrow the pattern if the result says that it is cut.";
        let declaration =
            ToolDeclaration::new(ToolId::builtin("project.file_list"), description, schema, Effect::Read)?;
        let declaration = declaration.with_facts(|facts| {
            family(facts, "file_list");
            facts.idempotent = true;
            facts.example = json!({"path": "src", "pattern": "*.py"}).as_object().cloned();
        });
        Ok(Self { declaration })
    }
}

// What a listing touches is everything below a folder, which no name says: the default of `touches` holds.
impl Tool for FileList {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn call<'a>(
        &'a self,
        call: &'a StartedCall,
        context: &'a dyn ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(list(call, context))
    }
}

async fn list(call: &StartedCall, context: &dyn ToolContext) -> Result<ToolOutput, ToolError> {
    let Arguments { path, pattern } = arguments(call)?;
    let place = Place::open(call, context, path).await?;
    let matcher = matcher(pattern)?;
    let below = pattern.contains("**") || pattern.contains('/');
    let pattern = pattern.to_owned();
    blocking(move || {
        let dir = open(&place.dir, &place.path)?;
        let mut walk = Walk { matcher, below, seen: 0, cut: false, found: Vec::new() };
        walk.folder(&dir, "", 0).map_err(|error| folder::fault(&error, &place.path))?;
        Ok(walk.output(&place.path, &pattern))
    })
    .await
}

fn matcher(pattern: &str) -> Result<GlobMatcher, ToolError> {
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    let glob = GlobBuilder::new(pattern).literal_separator(true).build().map_err(|error| {
        let message =
            format!("`{pattern}` is no pattern: {}. Write one such as `*.py` or `**/*.md`.", error.kind());
        ToolError::new(ErrorCode::new("project.bad_pattern"), message)
    })?;
    Ok(glob.compile_matcher())
}

fn open(dir: &Dir, path: &ProjectPath) -> Result<Dir, ToolError> {
    dir.open_dir(path.to_string()).map_err(|error| match error.kind() {
        io::ErrorKind::NotADirectory => ToolError::new(
            ErrorCode::new("project.not_a_directory"),
            format!("`{path}` is a file, no folder. Read it, or list the folder that it is in."),
        ),
        _ => folder::fault(&error, path),
    })
}

/// A name on one line, whatever it holds.
fn shown(name: &str) -> String {
    if name.chars().any(char::is_control) { name.escape_debug().to_string() } else { name.to_owned() }
}

struct Walk {
    matcher: GlobMatcher,
    below: bool,
    seen: usize,
    cut: bool,
    found: Vec<Entry>,
}

impl Walk {
    /// Collects the entries of one folder, and of those below it if the pattern reaches there. Links are not followed.
    fn folder(&mut self, dir: &Dir, prefix: &str, depth: usize) -> io::Result<()> {
        for entry in dir.entries()? {
            let entry = entry?;
            self.seen += 1;
            if self.seen > MAX_SEEN {
                self.cut = true;
                return Ok(());
            }
            let name = format!("{prefix}{}", shown(&entry.file_name().to_string_lossy()));
            let kind = match entry.file_type()? {
                kind if kind.is_symlink() => Kind::Link,
                kind if kind.is_dir() => Kind::Folder,
                kind if kind.is_file() => Kind::File,
                _ => Kind::Other,
            };
            if kind == Kind::Folder && self.below {
                if depth >= MAX_DEPTH {
                    self.cut = true;
                } else if let Ok(inner) = entry.open_dir() {
                    // A folder that cannot be opened is listed and not entered.
                    self.folder(&inner, &format!("{name}/"), depth + 1).unwrap_or_default();
                }
            }
            if self.matcher.is_match(&name) {
                self.found.push(Entry { name, kind });
            }
        }
        Ok(())
    }

    fn output(mut self, path: &ProjectPath, pattern: &str) -> ToolOutput {
        self.found.sort();
        let total = self.found.len();
        let shown = &self.found[..total.min(MAX_SHOWN)];
        let truncated = self.cut || shown.len() < total;
        let mut text: String = shown
            .iter()
            .map(|entry| {
                let mark = match entry.kind {
                    Kind::Folder => "/",
                    Kind::Link => "@",
                    Kind::File | Kind::Other => "",
                };
                format!("{}{mark}\n", entry.name)
            })
            .collect();
        if shown.is_empty() {
            text = format!("Nothing in `{path}` matches `{pattern}`.\n");
        }
        if truncated {
            let of = if self.cut { "more than " } else { "" };
            text.push_str(&format!(
                "[cut: {} of {of}{total} entries are shown; narrow the pattern]\n",
                shown.len()
            ));
        }
        ToolOutput::of_text(text.trim_end_matches('\n')).with_structured(json!({
            "path": path.to_string(), "entries": shown, "total": total, "truncated": truncated,
        }))
    }
}
