//! `workspace.commit` and `workspace.finish`: a file into the conversation, and the end of the run (WSP-12 to WSP-14, WSP-21
//! to WSP-24). What they mean for the run is its owner's: the port [`RunControl`].

use std::sync::Arc;

use haft_core::facts::Placement;
use haft_core::path::PreparedArguments;
use haft_core::ports::Touches;
use haft_core::run_control::{ChatCommit, CommitMode, RunControl};
use haft_core::workspace::WorkspaceRoot;
use haft_core::{
    BoxFuture, Effect, ErrorCode, StartedCall, Tool, ToolContext, ToolDeclaration, ToolError, ToolOutput,
};
use haft_schema::SchemaError;
use serde::Deserialize;
use serde_json::json;

use super::{alias, existing, id, text, visible, workspace_of};
use crate::arguments::arguments;

/// What is committed unless the model says otherwise (WSP-13).
const DEFAULT_PATH: &str = "output/main.md";

#[derive(Deserialize)]
struct Arguments<'a> {
    path: &'a str,
    mode: Mode,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Mode {
    Replace,
    Append,
}

fn run_of(context: &dyn ToolContext) -> Result<&Arc<dyn RunControl>, ToolError> {
    context.services().get::<dyn RunControl>().ok_or_else(|| {
        ToolError::new(
            ErrorCode::NOT_IN_LOOP,
            "There is no run to commit to or to finish: this is a single call.",
        )
    })
}

pub(super) struct Commit {
    declaration: ToolDeclaration,
}

impl Commit {
    pub(super) fn new() -> Result<Self, SchemaError> {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "The file whose text is committed", "default": DEFAULT_PATH},
                "mode": {
                    "type": "string",
                    "enum": ["replace", "append"],
                    "description": "replace: the text becomes the whole message; append: it is added to your message of this run",
                    "default": "replace",
                },
            },
            "additionalProperties": false,
        });
        let description = "Put the text of a workspace file into the conversation, as your message to the person. You may go on \
            revising and commit again; what you committed last is what the person reads. Finish when all is committed.";
        let declaration = ToolDeclaration::new(id("commit"), description, schema, Effect::WriteControl)?;
        let declaration = declaration.with_facts(|facts| {
            facts.category = "workspace".to_owned();
            facts.example = json!({"path": DEFAULT_PATH}).as_object().cloned();
        });
        Ok(Self { declaration })
    }
}

impl Tool for Commit {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn touches(&self, arguments: &PreparedArguments) -> Touches {
        let file = super::resource(arguments);
        Touches::Resources { reads: vec![file], writes: vec!["chat".to_owned()] }
    }

    fn call<'a>(
        &'a self,
        call: &'a StartedCall,
        context: &'a dyn ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(commit(call, context))
    }
}

async fn commit(call: &StartedCall, context: &dyn ToolContext) -> Result<ToolOutput, ToolError> {
    let wanted: Arguments<'_> = arguments(call)?;
    let run = run_of(context)?;
    let workspace = workspace_of(context)?.as_ref();
    let path = visible(workspace, wanted.path)?;
    if path.root() == WorkspaceRoot::ToolResults {
        let message = format!(
            "`{path}` holds the result of a call and is never committed. Write what the person shall read into a file of your \
             own, such as `{DEFAULT_PATH}`, and commit that."
        );
        return Err(ToolError::new(ErrorCode::new("workspace.path_not_committable"), message));
    }
    let file = existing(workspace, &path, context)?;
    let text = text(&file)?.to_owned();
    if text.trim().is_empty() {
        let message = format!("`{path}` is empty, so nothing was committed. Write the text first.");
        return Err(ToolError::new(ErrorCode::new("workspace.commit_empty"), message));
    }
    let mode = match wanted.mode {
        Mode::Replace => CommitMode::Replace,
        Mode::Append => CommitMode::Append,
    };
    let receipt = run.commit(ChatCommit { file: file.clone(), text, mode }).await?;
    let finish = alias(context, "finish", "workspace_finish");
    let added = match mode {
        CommitMode::Replace => "is now your message",
        CommitMode::Append => "was added to your message",
    };
    let message = format!(
        "Committed: the text of `{path}` {added}. You may revise it and commit again; do not forget {finish} when you are done."
    );
    let structured = json!({
        "path": path.as_str(), "sha256": file.digest().to_string(), "message": receipt.message,
        "characters": receipt.characters, "commits": receipt.commits,
    });
    let mut output = ToolOutput::of_text(message).with_structured(structured);
    output.resource_refs.push(format!("chat:current#{}", receipt.message));
    Ok(output)
}

pub(super) struct Finish {
    declaration: ToolDeclaration,
}

impl Finish {
    pub(super) fn new() -> Result<Self, SchemaError> {
        let schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
        let description = "End your work on this request. Call it alone or as the last call of an answer, after you have \
            committed what the person shall read. What lies under persist/ is kept for later runs.";
        let declaration = ToolDeclaration::new(id("finish"), description, schema, Effect::Control)?;
        let declaration = declaration.with_facts(|facts| {
            facts.category = "workspace".to_owned();
            facts.placement = Placement::MustBeLast;
        });
        Ok(Self { declaration })
    }
}

impl Tool for Finish {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    /// Nothing: it does not wait for what agents still do, which is stopped by it (DEL-15).
    fn touches(&self, _arguments: &PreparedArguments) -> Touches {
        Touches::Nothing
    }

    fn call<'a>(
        &'a self,
        _call: &'a StartedCall,
        context: &'a dyn ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            run_of(context)?.finish().await?;
            Ok(ToolOutput::of_text("Finished. The run ends now."))
        })
    }
}
