//! `workspace.list_files`: the tree of the workspace, or a part of it (WSP-04).

use std::collections::BTreeMap;

use haft_core::path::PreparedArguments;
use haft_core::ports::Touches;
use haft_core::workspace::{WorkspacePath, WorkspaceVersion};
use haft_core::{
    BoxFuture, Effect, ErrorCode, StartedCall, Tool, ToolContext, ToolDeclaration, ToolError, ToolOutput,
};
use haft_schema::SchemaError;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{id, reads, text_of, visible, workspace_of};
use crate::arguments::arguments;
use crate::edit::{line_count, lines};

const DEFAULT_DEPTH: u64 = 2;
const MAX_DEPTH: u64 = 4;
/// Entries shown, at most.
const MAX_ENTRIES: usize = 200;

#[derive(Deserialize)]
struct Arguments<'a> {
    path: Option<&'a str>,
    depth: u64,
}

pub(super) struct ListFiles {
    declaration: ToolDeclaration,
}

impl ListFiles {
    pub(super) fn new() -> Result<Self, SchemaError> {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "Folder to list, such as `output/chapters`; left out, all of them"},
                "depth": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": MAX_DEPTH,
                    "description": "How many levels of folders are opened",
                    "default": DEFAULT_DEPTH,
                },
            },
            "additionalProperties": false,
        });
        let description = "List the files of your workspace as a tree. output/ holds what you make for the person, scratch/ \
            your notes, plan/ plans, summaries/ summaries, persist/ what stays for later runs of this conversation; \
            tool-results/ holds long results of your calls and can only be read.";
        let declaration = ToolDeclaration::new(id("list_files"), description, schema, Effect::Read)?;
        let declaration = declaration.with_facts(|facts| {
            facts.category = "workspace".to_owned();
            // The files are those of the run at hand, whatever another run read.
            facts.never_repeats = true;
            facts.idempotent = true;
            facts.example = json!({"path": "output"}).as_object().cloned();
        });
        Ok(Self { declaration })
    }
}

impl Tool for ListFiles {
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
        Box::pin(async move { list(call, context) })
    }
}

/// What a line of the listing stands for.
enum Entry<'a> {
    File(&'a WorkspaceVersion),
    /// A folder, with how many files are below it.
    Folder(usize),
}

fn list(call: &StartedCall, context: &dyn ToolContext) -> Result<ToolOutput, ToolError> {
    let wanted: Arguments<'_> = arguments(call)?;
    let workspace = workspace_of(context)?.as_ref();
    let folders: Vec<WorkspacePath> = match wanted.path {
        // The workspace itself, as models like to call it.
        None | Some("" | "." | "./" | "/") => {
            workspace.roots().visible().map(WorkspacePath::of_root).collect()
        }
        Some(path) => vec![visible(workspace, path)?],
    };
    let files = workspace.list()?;
    let depth = usize::try_from(wanted.depth.clamp(1, MAX_DEPTH)).unwrap_or(1);
    let mut entries: BTreeMap<String, Entry<'_>> = BTreeMap::new();
    for folder in &folders {
        let inside: Vec<&WorkspaceVersion> =
            files.iter().filter(|file| file.path.is_inside(folder)).collect();
        if inside.is_empty() && folder.name().is_some() {
            let text = format!("There is no `{folder}`. List the folder above it.");
            return Err(ToolError::new(ErrorCode::new("workspace.file_not_found"), text));
        }
        if inside.iter().all(|file| file.path != *folder) {
            entries.insert(format!("{folder}/"), Entry::Folder(inside.len()));
        }
        for file in inside {
            add(&mut entries, folder, file, depth);
        }
    }
    let shown: Vec<String> =
        entries.iter().take(MAX_ENTRIES).map(|(path, entry)| said(path, entry)).collect();
    let mut text = shown.join("\n");
    let cut = entries.len() > MAX_ENTRIES;
    if cut {
        text.push_str(&format!(
            "\n[{MAX_ENTRIES} of {} entries; list a folder by its path to see more]",
            entries.len()
        ));
    }
    let rows: Vec<Value> = entries.iter().take(MAX_ENTRIES).map(|(path, entry)| row(path, entry)).collect();
    Ok(ToolOutput::of_text(text).with_structured(json!({"entries": rows, "truncated": cut})))
}

/// Adds the file, or the folder that hides it, and the folders on the way.
fn add<'a>(
    entries: &mut BTreeMap<String, Entry<'a>>,
    folder: &WorkspacePath,
    file: &'a WorkspaceVersion,
    depth: usize,
) {
    let Some(below) = file.path.below(folder) else {
        entries.insert(file.path.to_string(), Entry::File(file));
        return;
    };
    let names: Vec<&str> = below.split('/').collect();
    let mut path = format!("{folder}/");
    for name in names.iter().take(depth.min(names.len() - 1)) {
        path.push_str(name);
        path.push('/');
        match entries.entry(path.clone()).or_insert(Entry::Folder(0)) {
            Entry::Folder(count) => *count += 1,
            Entry::File(_) => {}
        }
    }
    if names.len() <= depth {
        entries.insert(file.path.to_string(), Entry::File(file));
    }
}

fn said(path: &str, entry: &Entry<'_>) -> String {
    match entry {
        Entry::Folder(0) => format!("{path} (empty)"),
        Entry::Folder(1) => format!("{path} (1 file)"),
        Entry::Folder(count) => format!("{path} ({count} files)"),
        Entry::File(file) => match text_of(file) {
            Some(text) => format!("{path} ({})", lines(line_count(text))),
            None => format!("{path} ({} bytes, not text)", file.bytes.len()),
        },
    }
}

fn row(path: &str, entry: &Entry<'_>) -> Value {
    match entry {
        Entry::Folder(count) => json!({"path": path, "kind": "folder", "files": count}),
        Entry::File(file) => {
            json!({"path": path, "kind": "file", "bytes": file.bytes.len(), "lines": text_of(file).map(line_count)})
        }
    }
}
