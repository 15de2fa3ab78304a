//! One model call: which tools it may request, what the model sees of them, and how what it wrote is decoded.
//!
//! No provider's JSON stands here (TRN-01), and a name is looked up in this turn alone (ALI-06).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::{Attempt, MalformedCall, RequestedCall, ToolCall};
use crate::error::ErrorCode;
use crate::ids::{CallId, InvocationId, ToolId};
use crate::nearest::nearest;
use crate::snapshot::CompiledTools;

/// Which tools a turn may or must call.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "tool")]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// No call in this answer (EXE-19).
    None,
    /// At least one call.
    Required,
    /// This tool.
    Tool(ToolId),
}

/// The contract of one turn (TRN-01).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolTurnContract {
    /// Tools that may be requested, in order.
    pub tools: Vec<ToolId>,
    /// The typed choice.
    pub choice: ToolChoice,
}

impl ToolTurnContract {
    /// All tools of the snapshot, the model's choice (TRN-02).
    pub fn all(tools: &CompiledTools) -> Self {
        Self { tools: tools.tools().iter().map(|tool| tool.id().clone()).collect(), choice: ToolChoice::Auto }
    }
}

/// What the model sees of a tool in this request (TRN-03).
#[derive(Debug, Clone, PartialEq)]
pub struct ModelTool {
    /// The tool.
    pub tool_id: ToolId,
    /// Its name in this request.
    pub alias: String,
    /// What it does.
    pub description: String,
    /// Schema of its arguments.
    pub input_schema: haft_schema::Schema,
    /// Arguments of an example call, where the tool declares one.
    pub example: Option<serde_json::Map<String, Value>>,
}

/// The tools of `contract` as the model sees them, in its order.
pub fn model_tools(tools: &CompiledTools, contract: &ToolTurnContract) -> Vec<ModelTool> {
    let bound = contract.tools.iter().filter_map(|id| tools.by_id(id));
    bound
        .map(|bound| ModelTool {
            tool_id: bound.id().clone(),
            alias: bound.binding().alias.clone(),
            description: bound.binding().descriptor.description.clone(),
            input_schema: bound.binding().descriptor.input_schema.clone(),
            example: bound.declaration().facts.example.clone(),
        })
        .collect()
}

/// Decoding of one turn: names to tools, and a host id for every attempt.
#[derive(Debug)]
pub struct TurnAliases<'a> {
    tools: &'a CompiledTools,
    contract: &'a ToolTurnContract,
    invocation: &'a InvocationId,
    turn: u32,
}

impl<'a> TurnAliases<'a> {
    /// Decodes the `turn`th turn (from 1) of `invocation`.
    pub fn new(
        tools: &'a CompiledTools,
        contract: &'a ToolTurnContract,
        invocation: &'a InvocationId,
        turn: u32,
    ) -> Self {
        Self { tools, contract, invocation, turn }
    }

    /// One attempt for each thing that was asked for, in order. An unknown name becomes a malformed attempt with the
    /// code `agent.unknown_tool`; whether that fails the run is the profile's choice (CONFLICT-04).
    pub fn decode(&self, requested: Vec<RequestedCall>) -> Vec<Attempt> {
        (1u32..).zip(requested).map(|(number, one)| self.decode_one(number, one)).collect()
    }

    fn decode_one(&self, number: u32, requested: RequestedCall) -> Attempt {
        let call_id = CallId::of(self.invocation, self.turn, number);
        match requested {
            RequestedCall::Malformed { name, reason, raw, wire_id } => Attempt::Malformed(MalformedCall {
                call_id,
                name,
                reason,
                written: Value::String(raw),
                wire_id,
                code: ErrorCode::MALFORMED_CALL,
            }),
            RequestedCall::Call { name, arguments, wire_id, provider_metadata, repairs } => {
                let found = self.tools.by_alias(&name).filter(|tool| self.contract.tools.contains(tool.id()));
                match found {
                    Some(tool) => Attempt::Call(ToolCall {
                        call_id,
                        tool_id: tool.id().clone(),
                        alias: name,
                        arguments,
                        wire_id,
                        provider_metadata,
                        repairs,
                    }),
                    None => {
                        let reason = self.unknown(&name);
                        let written = Value::Object(arguments);
                        let code = ErrorCode::UNKNOWN_TOOL;
                        Attempt::Malformed(MalformedCall {
                            call_id,
                            name: Some(name),
                            reason,
                            written,
                            wire_id,
                            code,
                        })
                    }
                }
            }
        }
    }

    fn unknown(&self, name: &str) -> String {
        let known: Vec<&str> = self
            .contract
            .tools
            .iter()
            .filter_map(|id| self.tools.by_id(id))
            .map(|tool| tool.binding().alias.as_str())
            .collect();
        let near = nearest(name, known.iter().copied(), 3);
        match (near.is_empty(), known.is_empty()) {
            (false, _) => format!("There is no tool `{name}`. Did you mean {}?", near.join(", ")),
            (true, false) => format!("There is no tool `{name}`. The tools are: {}.", known.join(", ")),
            (true, true) => format!("There is no tool `{name}`, and no tool can be called now."),
        }
    }
}
