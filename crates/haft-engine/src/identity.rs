//! Whose a result is (RES-07): it belongs to one call of one tool, and that is looked at where something rests on it: before what it
//! changed is taken for done, before it is stored for audit, and before it goes into the transcript that the model reads.

use haft_core::{Attempt, CallId, ToolId, ToolResult};

use crate::error::EngineError;
use crate::run::CallOutcome;

/// Whose result is expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    call: CallId,
    /// None where no tool is known.
    tool: Option<ToolId>,
}

impl Identity {
    /// The identity of the call `call` of `tool`.
    pub(crate) fn new(call: &CallId, tool: Option<&ToolId>) -> Self {
        Self { call: call.clone(), tool: tool.cloned() }
    }

    /// Those of the attempts of a batch, in their order.
    pub(crate) fn of_batch(attempts: &[Attempt]) -> Vec<Self> {
        attempts.iter().map(|attempt| Self::new(attempt.call_id(), attempt.tool_id())).collect()
    }

    /// Fails if `result` is another call's, or another tool's.
    pub(crate) fn check(&self, result: &ToolResult) -> Result<(), EngineError> {
        let is_own = match &self.tool {
            Some(tool) => result.belongs_to(&self.call, tool),
            None => result.call_id == self.call && result.tool_id.is_none(),
        };
        if is_own { Ok(()) } else { Err(EngineError::Identity(self.call.clone())) }
    }

    /// Fails unless `outcomes` are those of the batch `expected`: one for each, in the same order.
    pub(crate) fn check_batch(expected: &[Self], outcomes: &[CallOutcome]) -> Result<(), EngineError> {
        for (at, identity) in expected.iter().enumerate() {
            let outcome = outcomes.get(at).ok_or_else(|| EngineError::Identity(identity.call.clone()))?;
            identity.check(&outcome.result)?;
        }
        match outcomes.get(expected.len()) {
            None => Ok(()),
            Some(foreign) => Err(EngineError::Identity(foreign.result.call_id.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::slice;

    use haft_core::{ContentPart, RunId};
    use serde_json::{Map, Value};

    use super::*;

    fn outcome(call: &str, tool: Option<&str>) -> CallOutcome {
        let result = ToolResult {
            call_id: CallId::new(call),
            tool_id: tool.map(ToolId::builtin),
            alias: "look".into(),
            content: vec![ContentPart::Text { text: "1".into() }],
            structured: None,
            is_error: false,
            error_code: None,
            resource_refs: Vec::new(),
            ui: None,
            metadata: Map::new(),
            duration_ms: 0,
            skipped: false,
        };
        CallOutcome {
            run: RunId::new("r_1"),
            result,
            wire_id: None,
            arguments: Value::Null,
            repairs: Vec::new(),
            decision: None,
            granted_by: None,
        }
    }

    fn identity(call: &str, tool: Option<&str>) -> Identity {
        Identity::new(&CallId::new(call), tool.map(ToolId::builtin).as_ref())
    }

    // RES-07: both parts count, and a tool that is not known is not any tool.
    #[test]
    fn a_result_of_another_call_or_tool_is_refused() {
        let expected = identity("c_1", Some("look"));
        assert_eq!(expected.check(&outcome("c_1", Some("look")).result), Ok(()));
        for (call, tool) in [("c_2", Some("look")), ("c_1", Some("put")), ("c_1", None)] {
            let broken = Err(EngineError::Identity(CallId::new("c_1")));
            assert_eq!(expected.check(&outcome(call, tool).result), broken, "{call} {tool:?}");
        }
        assert_eq!(identity("c_1", None).check(&outcome("c_1", None).result), Ok(()));
    }

    // RES-07: results pair with calls by who they are, never by where they stand.
    #[test]
    fn a_batch_with_a_missing_foreign_or_moved_result_is_refused() {
        let expected = [identity("c_1", Some("look")), identity("c_2", Some("put"))];
        let (one, two) = (outcome("c_1", Some("look")), outcome("c_2", Some("put")));
        let broken = |call: &str| Err(EngineError::Identity(CallId::new(call)));
        assert_eq!(Identity::check_batch(&expected, &[one.clone(), two.clone()]), Ok(()));
        assert_eq!(Identity::check_batch(&expected, &[two.clone(), one.clone()]), broken("c_1"));
        assert_eq!(Identity::check_batch(&expected, slice::from_ref(&two)), broken("c_1"));
        assert_eq!(Identity::check_batch(&expected, slice::from_ref(&one)), broken("c_2"));
        let third = outcome("c_3", Some("look"));
        assert_eq!(Identity::check_batch(&expected, &[one, two, third]), broken("c_3"));
    }
}
