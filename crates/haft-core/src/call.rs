//! Calls before the gate: what a model asked for, in the neutral form that every dialect and provider ends in.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ids::{CallId, ToolId, WireId};
use crate::path::ForeseenCall;

/// One thing that a model asked for in a turn, as the model port hands it over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestedCall {
    /// A readable call.
    Call {
        /// The alias that the model wrote.
        name: String,
        /// Its arguments, as written; typed by the schema later.
        arguments: Map<String, Value>,
        /// The provider's id of the call, where there is one.
        wire_id: Option<WireId>,
        /// What the provider wants back unchanged with the call (thought signatures …). Opaque.
        provider_metadata: Option<Value>,
        /// Names of the repairs that were needed to read it.
        repairs: Vec<String>,
    },
    /// A call that could not be read.
    Malformed {
        /// The tool's name where it was readable.
        name: Option<String>,
        /// What is wrong, and what to mend, for the model.
        reason: String,
        /// The text as the model wrote it, or the part that tells enough.
        raw: String,
        /// The provider's id of the call, where there is one.
        wire_id: Option<WireId>,
    },
}

impl RequestedCall {
    /// A readable call without provider data.
    pub fn call(name: impl Into<String>, arguments: Map<String, Value>) -> Self {
        Self::Call {
            name: name.into(),
            arguments,
            wire_id: None,
            provider_metadata: None,
            repairs: Vec::new(),
        }
    }

    /// The provider's id of the call.
    pub fn wire_id(&self) -> Option<&WireId> {
        match self {
            Self::Call { wire_id, .. } | Self::Malformed { wire_id, .. } => wire_id.as_ref(),
        }
    }
}

/// A decoded call: its tool is known in this turn.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The host's own id.
    pub call_id: CallId,
    /// Which tool.
    pub tool_id: ToolId,
    /// The alias that the model used.
    pub alias: String,
    /// Arguments as written.
    pub arguments: Map<String, Value>,
    /// The provider's id of the call (JRN-04).
    pub wire_id: Option<WireId>,
    /// Opaque data of the provider, given back unchanged.
    pub provider_metadata: Option<Value>,
    /// Repairs that decoding needed.
    pub repairs: Vec<String>,
}

/// A call that nobody can run; it becomes a result that tells the model what to mend (DIA-10).
#[derive(Debug, Clone, PartialEq)]
pub struct MalformedCall {
    /// The host's own id.
    pub call_id: CallId,
    /// The name that was written, where there was one.
    pub name: Option<String>,
    /// What is wrong and what to do, for the model.
    pub reason: String,
    /// Arguments as written, where they could be read; else the text of the call.
    pub written: Value,
    /// The provider's id of the call.
    pub wire_id: Option<WireId>,
    /// `agent.malformed_call` or `agent.unknown_tool`.
    pub code: crate::error::ErrorCode,
}

/// One slot of a batch: every attempt gets exactly one result, in call order.
#[derive(Debug)]
pub enum Attempt {
    /// A call of a known tool.
    Call(ToolCall),
    /// A call that was looked at before its turn is recorded.
    Foreseen(ForeseenCall),
    /// Something that cannot run.
    Malformed(MalformedCall),
}

impl Attempt {
    /// The host's own id of the attempt.
    pub fn call_id(&self) -> &CallId {
        match self {
            Self::Call(call) => &call.call_id,
            Self::Foreseen(call) => &call.call().call_id,
            Self::Malformed(call) => &call.call_id,
        }
    }

    /// The tool; none where no tool is known.
    pub fn tool_id(&self) -> Option<&ToolId> {
        match self {
            Self::Call(call) => Some(&call.tool_id),
            Self::Foreseen(call) => Some(&call.call().tool_id),
            Self::Malformed(_) => None,
        }
    }
}
