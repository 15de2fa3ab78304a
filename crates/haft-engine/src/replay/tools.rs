//! The tools of a replay: each says of a call what the tool itself says, and gives what the record holds.

use std::collections::HashMap;
use std::sync::Arc;

use haft_core::consent::{Ask, ConsentEnvironment};
use haft_core::path::PreparedArguments;
use haft_core::ports::Touches;
use haft_core::result::Change;
use haft_core::workspace::Workspace;
use haft_core::{
    BoxFuture, StartedCall, Tool, ToolContext, ToolDeclaration, ToolError, ToolId, ToolOutput, ToolRegistry,
};

use super::ReplayError;
use super::recorded::{RecordedEnd, key_of};
use crate::error::EngineError;

/// Every tool of `registry`, with its results out of the record.
pub(super) fn recorded(
    registry: &ToolRegistry,
    ends: &Arc<HashMap<String, RecordedEnd>>,
) -> Result<ToolRegistry, ReplayError> {
    let mut recorded = ToolRegistry::with_override();
    for tool in registry.iter() {
        let tool: Arc<dyn Tool> = if steers(tool.declaration().id()) {
            tool.clone()
        } else {
            Arc::new(FromRecord { tool: tool.clone(), ends: ends.clone() })
        };
        recorded.register(tool).map_err(|error| EngineError::System {
            code: "agent.replay".to_owned(),
            message: error.to_string(),
        })?;
    }
    Ok(recorded)
}

/// True for the tools that work again: they reach nothing but the replayed run.
fn steers(tool: &ToolId) -> bool {
    ["workspace.commit", "workspace.finish"].iter().any(|name| ToolId::builtin(name) == *tool)
}

struct FromRecord {
    tool: Arc<dyn Tool>,
    ends: Arc<HashMap<String, RecordedEnd>>,
}

impl Tool for FromRecord {
    fn declaration(&self) -> &ToolDeclaration {
        self.tool.declaration()
    }

    fn ask(&self, arguments: &PreparedArguments, environment: &ConsentEnvironment) -> Result<Ask, ToolError> {
        self.tool.ask(arguments, environment)
    }

    fn touches(&self, arguments: &PreparedArguments) -> Touches {
        self.tool.touches(arguments)
    }

    fn call<'a>(
        &'a self,
        call: &'a StartedCall,
        context: &'a dyn ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let Some(end) = self.ends.get(&key_of(call.call_id())) else {
                return Err(ToolError::failed("The record holds no result of this call."));
            };
            let result = end.result.clone();
            if let Some(code) = result.error_code.clone() {
                let error = ToolError::new(code, result.text());
                return Err(match result.structured {
                    Some(data) => error.with_data(data),
                    None => error,
                });
            }
            let mut changes = Vec::new();
            if let Some(workspace) = context.services().get::<dyn Workspace>() {
                for version in &end.workspace {
                    workspace.stage(version.clone())?;
                    changes.push(Change::Workspace(version.clone()));
                }
            }
            Ok(ToolOutput {
                content: result.content,
                structured: result.structured,
                resource_refs: result.resource_refs,
                ui: result.ui,
                metadata: result.metadata,
                changes,
            })
        })
    }
}
