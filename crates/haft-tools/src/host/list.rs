//! `file_list`: what is in a folder of the machine (FIL-06).

use std::io;

use cap_std::fs::Dir;
use haft_core::consent::{Ask, ConsentEnvironment};
use haft_core::path::PreparedArguments;
use haft_core::{
    BoxFuture, Effect, Scope, StartedCall, Tool, ToolContext, ToolDeclaration, ToolError, ToolId, ToolOutput,
};
use haft_schema::SchemaError;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::path::HostPath;
use super::{asked, blocking, family, folder, host, looks};
use crate::arguments::arguments;

/// Entries shown, and entries looked at, at most.
const MAX_SHOWN: usize = 1_000;
const MAX_SEEN: usize = 100_000;

#[derive(Deserialize)]
struct Arguments<'a> {
    path: &'a str,
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
                "path": {"type": "string", "description": "Absolute path of the folder, or one that starts with `~/`"},
            },
            "required": ["path"],
        });
        let description = "List a folder of this machine, sorted, one entry a line; folders end with `/`, links with `@`. At \
            most 1000 entries are shown.";
        let declaration =
            ToolDeclaration::new(ToolId::builtin("host.file_list"), description, schema, Effect::Read)?;
        let declaration = declaration.with_facts(|facts| {
            family(facts, "file_list");
            facts.idempotent = true;
            facts.example = json!({"path": "~/projects"}).as_object().cloned();
        });
        Ok(Self { declaration })
    }
}

// What a listing touches is every name in a folder, and the path may lead over links: the default of `touches` holds.
impl Tool for FileList {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn ask(&self, arguments: &PreparedArguments, environment: &ConsentEnvironment) -> Result<Ask, ToolError> {
        let (_, path) = asked(arguments, environment)?;
        let ask = path.map(|path| looks("List the folder", &path, Scope::Path(path.to_string())));
        Ok(ask.unwrap_or_default())
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
    let Arguments { path } = arguments(call)?;
    let host = host(context)?;
    let path = HostPath::parse(path, host.places()).map_err(|error| error.to_tool_error())?;
    blocking(move || {
        let dir = folder::look(host.as_ref(), &path)?.folder(&path)?;
        let (entries, cut) = entries(&dir).map_err(|error| folder::fault(&error, &path))?;
        Ok(output(&path, &entries, cut))
    })
    .await
}

/// The entries, sorted, and whether there are more than are looked at.
fn entries(dir: &Dir) -> io::Result<(Vec<Entry>, bool)> {
    let mut found = Vec::new();
    for entry in dir.entries()? {
        let entry = entry?;
        if found.len() == MAX_SEEN {
            found.sort();
            return Ok((found, true));
        }
        let kind = match entry.file_type()? {
            kind if kind.is_symlink() => Kind::Link,
            kind if kind.is_dir() => Kind::Folder,
            kind if kind.is_file() => Kind::File,
            _ => Kind::Other,
        };
        found.push(Entry { name: on_one_line(&entry.file_name().to_string_lossy()), kind });
    }
    found.sort();
    Ok((found, false))
}

/// A name on one line, whatever it holds.
fn on_one_line(name: &str) -> String {
    if name.chars().any(char::is_control) { name.escape_debug().to_string() } else { name.to_owned() }
}

fn output(path: &HostPath, entries: &[Entry], cut: bool) -> ToolOutput {
    let total = entries.len();
    let shown = entries.get(..MAX_SHOWN).unwrap_or(entries);
    let truncated = cut || shown.len() < total;
    let mut lines: Vec<String> = shown
        .iter()
        .map(|entry| match entry.kind {
            Kind::Folder => format!("{}/", entry.name),
            Kind::Link => format!("{}@", entry.name),
            Kind::File | Kind::Other => entry.name.clone(),
        })
        .collect();
    if shown.is_empty() {
        lines.push(format!("`{path}` is empty."));
    }
    if truncated {
        let of = if cut { "more than " } else { "" };
        lines.push(format!("[cut: {} of {of}{total} entries are shown]", shown.len()));
    }
    ToolOutput::of_text(lines.join("\n")).with_structured(json!({
        "path": path.to_string(), "entries": shown, "total": total, "truncated": truncated,
    }))
}
