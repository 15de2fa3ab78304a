//! The gate: the first check of every call, before any executor runs (GAT-01 to GAT-05).
//!
//! It takes a whole batch under one `&mut`: snapshot, turn, choice and budget are checked and the budget reserved in one
//! step that nothing can interleave. It holds budgets and no other state (GAT-03).

use std::collections::HashSet;

use crate::call::{Attempt, MalformedCall, ToolCall};
use crate::error::ErrorCode;
use crate::facts::Placement;
use crate::ids::{CallId, ToolId};
use crate::path::{AdmittedCall, Refused};
use crate::snapshot::CompiledTools;
use crate::turn::{ToolChoice, ToolTurnContract};

/// What the gate says of one attempt.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "the good path is not boxed")]
pub enum Admission {
    /// The call may go on.
    Admitted(AdmittedCall),
    /// It may not; this becomes its result.
    Refused(Box<Refused>),
}

/// The gate of one invocation.
#[derive(Debug)]
pub struct Gate {
    tools: CompiledTools,
    left: u32,
    left_of: Vec<Option<u32>>,
    seen: HashSet<CallId>,
}

impl Gate {
    /// A gate with the budgets that the snapshot froze.
    pub fn new(tools: CompiledTools) -> Self {
        let left_of = tools.tools().iter().map(|tool| tool.binding().max_calls_per_invocation).collect();
        let left = tools.snapshot().max_calls_per_invocation;
        Self { tools, left, left_of, seen: HashSet::new() }
    }

    /// Calls left of all tools together.
    pub fn calls_left(&self) -> u32 {
        self.left
    }

    /// Checks a batch and reserves its budget, in call order. Malformed attempts count against the total; there are no refunds.
    pub fn admit(&mut self, contract: &ToolTurnContract, batch: Vec<Attempt>) -> Vec<Admission> {
        let last = batch.len().saturating_sub(1);
        batch
            .into_iter()
            .enumerate()
            .map(|(at, attempt)| match attempt {
                Attempt::Malformed(call) => Admission::Refused(Box::new(self.refuse_malformed(call))),
                Attempt::Call(call) => match self.admit_one(contract, &call, at == last) {
                    Ok(tool) => Admission::Admitted(AdmittedCall::new(call, tool)),
                    Err((code, message)) => {
                        Admission::Refused(Box::new(Refused::of_call(call, code, message)))
                    }
                },
            })
            .collect()
    }

    fn refuse_malformed(&mut self, call: MalformedCall) -> Refused {
        if self.left == 0 {
            return Refused::of_malformed(
                call,
                Some(ErrorCode::BUDGET_EXHAUSTED),
                Some(TOTAL_EXHAUSTED.to_owned()),
            );
        }
        self.left -= 1;
        Refused::of_malformed(call, None, None)
    }

    fn admit_one(
        &mut self,
        contract: &ToolTurnContract,
        call: &ToolCall,
        is_last: bool,
    ) -> Result<std::sync::Arc<crate::snapshot::BoundTool>, (ErrorCode, String)> {
        let alias = &call.alias;
        let Some(index) = self.tools.index_of(&call.tool_id) else {
            return Err((
                ErrorCode::UNKNOWN_TOOL,
                format!("`{alias}` is not among the tools of this conversation."),
            ));
        };
        if !contract.tools.contains(&call.tool_id) {
            return Err((ErrorCode::UNKNOWN_TOOL, format!("`{alias}` cannot be called in this turn.")));
        }
        check_choice(&contract.choice, &call.tool_id, alias)?;
        if !self.seen.insert(call.call_id.clone()) {
            let text = format!("There was a call `{}` already; a call id is used once.", call.call_id);
            return Err((ErrorCode::REPEATED_CALL, text));
        }
        self.reserve(index, alias)?;
        let Some(tool) = self.tools.tools().get(index).cloned() else {
            return Err((
                ErrorCode::UNKNOWN_TOOL,
                format!("`{alias}` is not among the tools of this conversation."),
            ));
        };
        match tool.declaration().facts.placement {
            Placement::MustBeLast if !is_last => {
                let text =
                    format!("`{alias}` must be the last call of an answer. Call it again, alone or last.");
                Err((ErrorCode::TOOL_AFTER_FINISH, text))
            }
            Placement::MustBeLast | Placement::Anywhere | Placement::DeferLast => Ok(tool),
        }
    }

    /// Takes one from the total and one from the tool's own budget, both or neither (GAT-02).
    fn reserve(&mut self, index: usize, alias: &str) -> Result<(), (ErrorCode, String)> {
        let Some(left) = self.left.checked_sub(1) else {
            return Err((ErrorCode::BUDGET_EXHAUSTED, TOTAL_EXHAUSTED.to_owned()));
        };
        if let Some(own) = self.left_of.get_mut(index).and_then(Option::as_mut) {
            let Some(own_left) = own.checked_sub(1) else {
                let text = format!("`{alias}` has no calls left in this conversation. Go on without it.");
                return Err((ErrorCode::BUDGET_EXHAUSTED, text));
            };
            *own = own_left;
        }
        self.left = left;
        Ok(())
    }
}

const TOTAL_EXHAUSTED: &str = "No tool calls are left. Answer with what you have.";

fn check_choice(choice: &ToolChoice, tool: &ToolId, alias: &str) -> Result<(), (ErrorCode, String)> {
    match choice {
        ToolChoice::Auto | ToolChoice::Required => Ok(()),
        ToolChoice::None => {
            Err((ErrorCode::TOOL_DENIED, "Tools are switched off for this answer.".to_owned()))
        }
        ToolChoice::Tool(wanted) if wanted == tool => Ok(()),
        ToolChoice::Tool(_) => {
            Err((ErrorCode::TOOL_DENIED, format!("`{alias}` is not the tool that this turn is for.")))
        }
    }
}
