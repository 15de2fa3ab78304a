//! `file_write`: a file of the machine with a new content, or with more at its end (FIL-05, APR-13).

use haft_core::consent::{Ask, ConsentEnvironment};
use haft_core::path::PreparedArguments;
use haft_core::result::{Change, FileChange};
use haft_core::{
    BoxFuture, Digest, Effect, ErrorCode, Scope, StartedCall, Tool, ToolContext, ToolDeclaration, ToolError,
    ToolId, ToolOutput,
};
use haft_schema::SchemaError;
use serde::Deserialize;
use serde_json::json;

use super::folder;
use super::path::HostPath;
use super::{asked, blocking, counted, family, host};
use crate::arguments::arguments;
use crate::files::BeforeImages;
use crate::files::swap::Seen;

#[derive(Deserialize)]
struct Arguments<'a> {
    path: &'a str,
    content: &'a str,
    append: bool,
}

pub(super) struct FileWrite {
    declaration: ToolDeclaration,
}

impl FileWrite {
    pub(super) fn new() -> Result<Self, SchemaError> {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": {
                    "type": "string",
                    "description": "Absolute path of the file, or one that starts with `~/`; missing folders are made",
                },
                "content": {"type": "string", "description": "The text to write"},
                "append": {
                    "type": "boolean",
                    "description": "Add the content at the end, not in the place of what is there",
                    "default": false,
                },
            },
            "required": ["path", "content"],
        });
        let description = "Write a text file of this machine. The user is asked first, except in temporary folders. Without \
            append the content is the whole new file, so give all of it.";
        let declaration =
            ToolDeclaration::new(ToolId::builtin("host.file_write"), description, schema, Effect::Write)?;
        let declaration = declaration.with_facts(|facts| {
            family(facts, "file_write");
            facts.example = json!({"path": "/tmp/output.txt", "content": "done\n"}).as_object().cloned();
        });
        Ok(Self { declaration })
    }
}

// The file may be one of a project too, under another name: the default of `touches` holds.
impl Tool for FileWrite {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn ask(&self, arguments: &PreparedArguments, environment: &ConsentEnvironment) -> Result<Ask, ToolError> {
        let (places, path) = asked(arguments, environment)?;
        let Some(path) = path else { return Ok(Ask::default()) };
        let characters = counted(arguments.text("content").unwrap_or_default().chars().count(), "character");
        let append = arguments.value().get("append").and_then(serde_json::Value::as_bool).unwrap_or_default();
        let text = if append {
            format!("Append {characters} to the file `{path}` of this machine?")
        } else {
            format!("Write {characters} to the file `{path}` of this machine, in place of whatever it holds?")
        };
        let file = Scope::File(path.to_string());
        // The folder comes first: a yes for longer covers it and all below (APR-13, APR-18). The root is no folder to grant.
        let folder = path.folder().map(|folder| Scope::Path(folder.to_string()));
        let scopes = folder.into_iter().chain([file]).collect();
        // Haft's own configuration, grants and secrets: no grant of a folder around it, temporary or not, reaches in there.
        let secret = path.is_secret(places);
        let own = path.is_below(&places.haft_home) || secret;
        let temporary = !own && places.temp_folders.iter().any(|folder| path.is_below(folder));
        Ok(if temporary {
            Ask { meaning: Some(text), scopes, ..Ask::default() }
        } else {
            // What is written into the secrets folder is a secret from now on.
            let secret_arguments = if secret { vec!["content".to_owned()] } else { Vec::new() };
            Ask { question: Some(text), scopes, every_time: own, secret, secret_arguments, ..Ask::default() }
        })
    }

    fn call<'a>(
        &'a self,
        call: &'a StartedCall,
        context: &'a dyn ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(write(call, context))
    }
}

async fn write(call: &StartedCall, context: &dyn ToolContext) -> Result<ToolOutput, ToolError> {
    let wanted: Arguments<'_> = arguments(call)?;
    let host = host(context)?;
    let path = HostPath::parse(wanted.path, host.places()).map_err(|error| error.to_tool_error())?;
    let (before, path) = {
        let host = host.clone();
        blocking(move || Ok((folder::before(host.as_ref(), &path)?, path))).await?
    };
    let secret = call.is_secret() || path.is_secret(host.places());
    // The before-image of a secret would be that secret in the clear.
    let image = if secret { None } else { keep(context, &path, before.as_ref()).await? };
    let (content, append, created) = (wanted.content.to_owned(), wanted.append, before.is_none());
    let (added, fresh) = (content.len(), context.ids().fresh());
    let (path, after) = blocking(move || {
        let bytes = match &before {
            Some(seen) if append => [seen.bytes.as_slice(), content.as_bytes()].concat(),
            Some(_) | None => content.into_bytes(),
        };
        let after = folder::replace(host.as_ref(), &path, before.as_ref(), &bytes, &fresh)?;
        Ok((path, after))
    })
    .await?;
    let size = counted(added, "byte");
    let message = match (created, append) {
        (true, _) => format!("Wrote the new file `{path}`, {size}."),
        (false, true) => format!("Added {size} at the end of `{path}`."),
        (false, false) => format!("Wrote `{path}`, {size}, in the place of what it held."),
    };
    let path = path.to_string();
    let structured = json!({"path": path, "bytes": added, "created": created});
    let output = ToolOutput::of_text(message).with_structured(structured);
    if secret {
        // A digest would let anybody try out what it might be.
        return Ok(output);
    }
    let change = FileChange { root: "host".to_owned(), path, before: image, after: Some(after) };
    Ok(output.with_change(Change::File(change)))
}

/// Keeps what a file held before it is changed. Without a place to keep it, nothing is changed.
async fn keep(
    context: &dyn ToolContext,
    path: &HostPath,
    before: Option<&Seen>,
) -> Result<Option<Digest>, ToolError> {
    let Some(seen) = before else { return Ok(None) };
    let images = context.services().get::<dyn BeforeImages>().ok_or_else(|| {
        let message = format!("`{path}` was not changed: this host cannot keep what it held before.");
        ToolError::new(ErrorCode::new("host.unavailable"), message)
    })?;
    images.keep(&seen.bytes).await.map(Some)
}
