//! The call that runs.

use std::sync::Arc;

use super::prepared::PreparedArguments;
use crate::call::ToolCall;
use crate::error::ToolError;
use crate::ids::{CallId, ToolId};
use crate::ports::{BoxFuture, ToolContext, Touches};
use crate::result::ToolOutput;
use crate::snapshot::BoundTool;

/// A call whose intent is durable. Only this reaches a tool.
#[derive(Debug)]
pub struct StartedCall {
    call: Box<ToolCall>,
    tool: Arc<BoundTool>,
    arguments: PreparedArguments,
    secret: bool,
    secret_arguments: Vec<String>,
}

/// The commit at hand does not hold the intent of the call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the intent of call {call_id} was not committed, so it cannot run")]
pub struct NotCommitted {
    /// The call.
    pub call_id: CallId,
}

impl StartedCall {
    pub(super) fn new(
        call: Box<ToolCall>,
        tool: Arc<BoundTool>,
        arguments: PreparedArguments,
        secret: bool,
        secret_arguments: Vec<String>,
    ) -> Self {
        Self { call, tool, arguments, secret, secret_arguments }
    }

    /// The host's id.
    pub fn call_id(&self) -> &CallId {
        &self.call.call_id
    }

    /// Which tool.
    pub fn tool_id(&self) -> &ToolId {
        &self.call.tool_id
    }

    /// What had to be repaired to read the call.
    pub fn repairs(&self) -> &[String] {
        &self.call.repairs
    }

    /// The name that the model used.
    pub fn alias(&self) -> &str {
        &self.call.alias
    }

    /// The prepared arguments.
    pub fn arguments(&self) -> &PreparedArguments {
        &self.arguments
    }

    /// True if what the call gives is a secret: it goes to the model and nowhere else (CONFLICT-29).
    pub fn is_secret(&self) -> bool {
        self.secret
    }

    /// Names of the arguments whose values are secrets.
    pub fn secret_arguments(&self) -> &[String] {
        &self.secret_arguments
    }

    /// The tool as the snapshot bound it.
    pub fn tool(&self) -> &BoundTool {
        &self.tool
    }

    /// What is left of the call when it is over: as the model wrote it, and its prepared arguments.
    pub fn into_parts(self) -> (ToolCall, PreparedArguments) {
        (*self.call, self.arguments)
    }

    /// What the call touches; everything if the tool cannot say.
    pub fn touches(&self) -> Touches {
        super::repeated::touches(self.tool.tool(), &self.arguments)
    }

    /// Runs the tool. The caller catches panics, watches the deadline and owns the outcome.
    pub fn run<'a>(&'a self, context: &'a dyn ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        self.tool.tool().call(self, context)
    }
}
