//! The tools of a replay: each says of a call what the tool itself says, and gives what the record holds.

use std::sync::Arc;

use haft_core::agents::Delegation;
use haft_core::consent::{Ask, ConsentEnvironment};
use haft_core::path::PreparedArguments;
use haft_core::ports::Touches;
use haft_core::result::Change;
use haft_core::workspace::Workspace;
use haft_core::{
    BoxFuture, ErrorCode, StartedCall, Tool, ToolContext, ToolDeclaration, ToolError, ToolId, ToolOutput,
    ToolRegistry,
};

use super::ReplayError;
use super::recorded::RecordedEnd;
use super::rerun::Rerun;
use crate::error::EngineError;

/// The longest that is waited for the tasks of an agent that hands over, in seconds; they come to their recorded ends at once.
const LONGEST_WAIT: u64 = 300;

/// Every tool of `registry`, with its results out of the record.
pub(super) fn recorded(registry: &ToolRegistry, rerun: &Arc<Rerun>) -> Result<ToolRegistry, ReplayError> {
    let mut recorded = ToolRegistry::with_override();
    for tool in registry.iter() {
        let works = works_again(tool.declaration().id());
        let tool = Arc::new(FromRecord { tool: tool.clone(), rerun: rerun.clone(), works });
        recorded.register(tool).map_err(|error| EngineError::System {
            code: "agent.replay".to_owned(),
            message: error.to_string(),
        })?;
    }
    Ok(recorded)
}

/// True for the tools that work again: they reach nothing but the replayed run. What an agent was told of the tasks of others hangs
/// on the moment, so that it comes out of the record.
fn works_again(tool: &ToolId) -> bool {
    let names = [
        "workspace.commit",
        "workspace.finish",
        "agent.call",
        "agent.multi",
        "agent.delegate",
        "agent.handoff",
        "task.return",
    ];
    names.iter().any(|name| ToolId::builtin(name) == *tool)
}

struct FromRecord {
    tool: Arc<dyn Tool>,
    rerun: Arc<Rerun>,
    works: bool,
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
            let recorded = self.rerun.call(call.call_id());
            let end = recorded.and_then(|call| call.end.as_ref());
            if recorded.is_some_and(|call| call.stops) {
                self.others_end(call, context).await;
                self.rerun.stop(call.call_id());
            } else if self.works && !end.is_some_and(gave_up) {
                if *call.tool_id() == ToolId::builtin("agent.handoff") {
                    self.others_end(call, context).await;
                }
                return self.tool.call(call, context).await;
            }
            match end {
                Some(end) => as_recorded(end, context),
                None => Err(ToolError::failed("The record holds no result of this call.")),
            }
        })
    }
}

impl FromRecord {
    /// Waits for the tasks that the caller gave.
    async fn others_end(&self, call: &StartedCall, context: &dyn ToolContext) {
        if let Some(agents) = context.services().get::<dyn Delegation>() {
            self.rerun.waits(call.call_id());
            // What they gave comes out of the record.
            let _told = agents.wait(call, &[], LONGEST_WAIT, context.cancel()).await;
        }
    }
}

/// True for an end that hung on the moment: the call was stopped, or came before tasks were done.
fn gave_up(end: &RecordedEnd) -> bool {
    let of_moment = [ErrorCode::HANDOFF_PENDING_TASKS, ErrorCode::CALL_CANCELLED, ErrorCode::TIMED_OUT];
    end.result.error_code.as_ref().is_some_and(|code| of_moment.contains(code))
}

/// What the record says that a call gave, with the versions of files that it wrote.
fn as_recorded(end: &RecordedEnd, context: &dyn ToolContext) -> Result<ToolOutput, ToolError> {
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
}
