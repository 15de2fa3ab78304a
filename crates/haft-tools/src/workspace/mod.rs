//! The workspace tools of a run: listing, searching, reading, writing and patching its files (WSP-04 to WSP-12), putting one
//! into the conversation and ending the run (WSP-13, WSP-14).
//!
//! They reach the files through the port [`Workspace`] alone. What was read counts for one invocation: another agent of the
//! run must read for itself. A path that a model gets wrong is a recoverable error (COE-09); a workspace that contradicts
//! itself fails the run (WSP-15).

mod control;
mod list;
mod patch;
mod read;
mod search;
mod write;

use std::sync::Arc;

use haft_core::path::PreparedArguments;
use haft_core::ports::Touches;
use haft_core::result::Change;
use haft_core::workspace::{Workspace, WorkspacePath, WorkspaceVersion};
use haft_core::{ErrorCode, Tool, ToolContext, ToolError, ToolId, ToolOutput};
use haft_schema::SchemaError;

use crate::edit::FileReads;

/// Largest file that is written, in bytes.
const MAX_FILE: usize = 4 << 20;

/// The tools that work on files: list, search, read, write, patch.
///
/// # Errors
/// [`SchemaError`] if a declaration carries a schema that is none.
pub fn tools() -> Result<Vec<Arc<dyn Tool>>, SchemaError> {
    let reads = Arc::new(FileReads::default());
    Ok(vec![
        Arc::new(list::ListFiles::new()?),
        Arc::new(search::SearchFiles::new()?),
        Arc::new(read::ReadFile::new(reads.clone())?),
        Arc::new(write::WriteFile::new(reads.clone())?),
        Arc::new(patch::ApplyPatch::new(reads)?),
    ])
}

/// The tools that steer the run: commit, finish. They need a [`RunControl`](haft_core::run_control::RunControl).
///
/// # Errors
/// [`SchemaError`] if a declaration carries a schema that is none.
pub fn control_tools() -> Result<Vec<Arc<dyn Tool>>, SchemaError> {
    Ok(vec![Arc::new(control::Commit::new()?), Arc::new(control::Finish::new()?)])
}

fn id(name: &str) -> ToolId {
    ToolId::builtin(&format!("workspace.{name}"))
}

/// How a model calls another tool of the family, for hints (ALI-09).
fn alias<'a>(context: &'a dyn ToolContext, name: &str, fallback: &'a str) -> &'a str {
    context.alias_of(&id(name)).unwrap_or(fallback)
}

/// The workspace of the call's run.
fn workspace_of(context: &dyn ToolContext) -> Result<&Arc<dyn Workspace>, ToolError> {
    context.services().get::<dyn Workspace>().ok_or_else(|| {
        ToolError::new(
            ErrorCode::new("workspace.unavailable"),
            "This run has no workspace. Give the text in your answer instead.",
        )
    })
}

/// A path under a root that the invocation sees.
fn visible(workspace: &dyn Workspace, path: &str) -> Result<WorkspacePath, ToolError> {
    let path = WorkspacePath::parse(path)?;
    if workspace.roots().sees(path.root()) {
        return Ok(path);
    }
    let roots = named(workspace.roots().visible().map(haft_core::workspace::WorkspaceRoot::name));
    Err(ToolError::new(
        ErrorCode::new("workspace.path_not_visible"),
        format!("`{path}` is not open to you. You see {roots}."),
    ))
}

/// A path under a root that the invocation may write, and not a root itself.
fn writable(workspace: &dyn Workspace, path: &str) -> Result<WorkspacePath, ToolError> {
    let path = visible(workspace, path)?;
    if !workspace.roots().writes(path.root()) {
        let roots = named(workspace.roots().writable().map(haft_core::workspace::WorkspaceRoot::name));
        return Err(ToolError::new(
            ErrorCode::new("workspace.path_not_writable"),
            format!("`{path}` can be read and not written. You may write {roots}."),
        ));
    }
    Ok(path)
}

/// `output/, scratch/`.
fn named<'a>(roots: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = roots.map(|name| format!("{name}/")).collect();
    if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
}

/// A file that is there, or an error that says what is.
fn existing(
    workspace: &dyn Workspace,
    path: &WorkspacePath,
    context: &dyn ToolContext,
) -> Result<WorkspaceVersion, ToolError> {
    if let Some(file) = workspace.read(path)? {
        return Ok(file);
    }
    let list = alias(context, "list_files", "workspace_list_files");
    if is_folder(workspace, path)? {
        return Err(folder(path, list));
    }
    let files = workspace.list()?;
    let near = haft_core::nearest::nearest(path.as_str(), files.iter().map(|file| file.path.as_str()), 3);
    let next = if near.is_empty() {
        format!("See what there is with {list}.")
    } else {
        format!("Did you mean {}?", near.join(", "))
    };
    Err(ToolError::new(
        ErrorCode::new("workspace.file_not_found"),
        format!("There is no file `{path}`. {next}"),
    ))
}

/// A place where a file may be written: no folder, and no file on the way to it.
fn place(
    workspace: &dyn Workspace,
    path: &WorkspacePath,
    context: &dyn ToolContext,
) -> Result<Option<WorkspaceVersion>, ToolError> {
    if let Some(file) = workspace.read(path)? {
        return Ok(Some(file));
    }
    if is_folder(workspace, path)? {
        return Err(folder(path, alias(context, "list_files", "workspace_list_files")));
    }
    let files = workspace.list()?;
    if let Some(file) = files.iter().find(|file| path.is_inside(&file.path)) {
        return Err(ToolError::new(
            ErrorCode::new("workspace.path_invalid"),
            format!("`{}` is a file, so there can be no `{path}`. Choose another path.", file.path),
        ));
    }
    Ok(None)
}

fn is_folder(workspace: &dyn Workspace, path: &WorkspacePath) -> Result<bool, ToolError> {
    Ok(path.name().is_none() || workspace.list()?.iter().any(|file| file.path.is_inside(path)))
}

fn folder(path: &WorkspacePath, list: &str) -> ToolError {
    ToolError::new(
        ErrorCode::new("workspace.path_is_directory"),
        format!("`{path}` is a folder, not a file. See what is in it with {list}(path='{path}')."),
    )
}

/// The text of a file, or none if it is none.
fn text_of(file: &WorkspaceVersion) -> Option<&str> {
    std::str::from_utf8(&file.bytes).ok().filter(|text| !text.contains('\0'))
}

/// The text of a file, or an error.
fn text(file: &WorkspaceVersion) -> Result<&str, ToolError> {
    text_of(file).ok_or_else(|| {
        ToolError::new(
            ErrorCode::new("workspace.file_not_text"),
            format!(
                "`{}` is no text in UTF-8 ({} bytes). Work with another file.",
                file.path,
                file.bytes.len()
            ),
        )
    })
}

/// Stages a new version and makes the result of a mutation: a short summary with the path (RES-27), the rest for audit.
fn staged(
    workspace: &dyn Workspace,
    path: WorkspacePath,
    before: Option<&WorkspaceVersion>,
    text: &str,
    summary: String,
    mut structured: serde_json::Value,
) -> Result<ToolOutput, ToolError> {
    if text.len() > MAX_FILE {
        return Err(ToolError::new(
            ErrorCode::new("workspace.file_too_large"),
            format!("`{path}` would be larger than {} MiB. Nothing was written; split it.", MAX_FILE >> 20),
        ));
    }
    let number = before.map_or(0, |before| before.version).checked_add(1).ok_or_else(|| {
        ToolError::system(haft_core::workspace::BROKEN, format!("`{path}` has no version number left."))
    })?;
    let version = WorkspaceVersion { path, version: number, bytes: Arc::from(text.as_bytes()) };
    workspace.stage(version.clone())?;
    structured["path"] = version.path.as_str().into();
    structured["version"] = number.into();
    structured["sha256"] = version.digest().to_string().into();
    let mut output = ToolOutput::of_text(summary).with_structured(structured);
    output.resource_refs.push(format!("workspace:{}", version.path));
    Ok(output.with_change(Change::Workspace(version)))
}

/// The name of a file among all that are known: each invocation reads for itself.
fn key(workspace: &dyn Workspace, path: &WorkspacePath) -> String {
    format!("{} {path}", workspace.invocation())
}

/// What a call that looks at `path` touches; the whole workspace, if it names none.
fn reads(arguments: &PreparedArguments) -> Touches {
    Touches::Resources { reads: vec![resource(arguments)], writes: Vec::new() }
}

/// What a call that changes `path` touches.
fn writes(arguments: &PreparedArguments) -> Touches {
    let file = resource(arguments);
    Touches::Resources { reads: vec![file.clone()], writes: vec![file] }
}

fn resource(arguments: &PreparedArguments) -> String {
    match arguments.text("path").and_then(|path| WorkspacePath::parse(path).ok()) {
        Some(path) => format!("workspace/{path}"),
        None => "workspace".to_owned(),
    }
}
