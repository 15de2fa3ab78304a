//! What becomes of an attempt that goes no further: a result that says why, and what to do.

use haft_schema::Digest;
use serde_json::{Map, Value};

use crate::call::{MalformedCall, ToolCall};
use crate::error::ErrorCode;
use crate::ids::{CallId, ToolId, WireId};
use crate::path::foreseen::Foreseen;
use crate::policy::Decision;
use crate::result::{ContentPart, ToolResult};

/// An attempt that ended before it ran.
#[derive(Debug, Clone, PartialEq)]
pub struct Refused {
    /// The host's id.
    pub call_id: CallId,
    /// Which tool; none where no tool was known.
    pub tool_id: Option<ToolId>,
    /// The name that the model wrote; empty where it wrote none.
    pub alias: String,
    /// The provider's id.
    pub wire_id: Option<WireId>,
    /// Arguments as far as they were read and prepared; the raw text of a malformed call.
    pub arguments: Value,
    /// Digest of the prepared arguments, if it came so far.
    pub digest: Option<Digest>,
    /// Names of the arguments whose values are secrets, as far as the tool was asked: of them only the length is stored.
    pub secret_arguments: Vec<String>,
    /// Repairs that reading needed.
    pub repairs: Vec<String>,
    /// What policy said, if it was asked.
    pub decision: Option<Decision>,
    /// The stable code.
    pub code: ErrorCode,
    /// What the model reads.
    pub message: String,
}

impl Refused {
    pub(crate) fn of_call(call: ToolCall, code: ErrorCode, message: String) -> Self {
        Self {
            call_id: call.call_id,
            tool_id: Some(call.tool_id),
            alias: call.alias,
            wire_id: call.wire_id,
            arguments: Value::Object(call.arguments),
            digest: None,
            secret_arguments: Vec::new(),
            repairs: call.repairs,
            decision: None,
            code,
            message,
        }
    }

    /// Says which arguments are secrets, where the call was looked at before the gate.
    pub(crate) fn hiding(mut self, foreseen: Option<&Foreseen>) -> Self {
        self.secret_arguments =
            foreseen.map(|foreseen| foreseen.secret_arguments().to_vec()).unwrap_or_default();
        self
    }

    pub(crate) fn of_malformed(
        call: MalformedCall,
        code: Option<ErrorCode>,
        message: Option<String>,
    ) -> Self {
        Self {
            call_id: call.call_id,
            tool_id: None,
            alias: call.name.unwrap_or_default(),
            wire_id: call.wire_id,
            arguments: call.written,
            digest: None,
            secret_arguments: Vec::new(),
            repairs: Vec::new(),
            decision: None,
            code: code.unwrap_or(call.code),
            message: message.unwrap_or(call.reason),
        }
    }

    /// The result that stands for the attempt.
    pub fn to_result(&self) -> ToolResult {
        ToolResult {
            call_id: self.call_id.clone(),
            tool_id: self.tool_id.clone(),
            alias: self.alias.clone(),
            content: vec![ContentPart::Text { text: self.message.clone() }],
            structured: None,
            is_error: true,
            error_code: Some(self.code.clone()),
            resource_refs: Vec::new(),
            ui: None,
            metadata: Map::new(),
            duration_ms: 0,
            skipped: false,
        }
    }
}
