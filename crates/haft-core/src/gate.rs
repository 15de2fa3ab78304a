//! The gate: the first check of every call, before any executor runs (GAT-01 to GAT-05).
//!
//! It takes a whole batch under one `&mut`: snapshot, turn, choice and budget are checked and the budget reserved in one
//! step that nothing can interleave. It holds budgets and no other state (GAT-03).

use std::collections::HashSet;

use crate::budget::{Amounts, Exhausted, Ledger, Resource};
use crate::call::{Attempt, MalformedCall, ToolCall};
use crate::error::ErrorCode;
use crate::facts::Placement;
use crate::ids::{CallId, ToolId};
use crate::path::{AdmittedCall, Refused};
use crate::ports::Timestamp;
use crate::snapshot::CompiledTools;
use crate::turn::{ToolChoice, ToolTurnContract};

/// What the gate says of one attempt.
#[derive(Debug)]
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
    ledger: Ledger,
    left_of: Vec<Option<u32>>,
    seen: HashSet<CallId>,
}

impl Gate {
    /// A gate with the budgets that the snapshot froze, for an invocation whose time is not limited or not watched here.
    pub fn new(tools: CompiledTools) -> Self {
        let ledger = Ledger::root(tools.snapshot().ledger_limits(), Timestamp(0));
        Self::with_ledger(tools, ledger)
    }

    /// A gate that takes from `ledger`, which the invocation shares with its run.
    pub fn with_ledger(tools: CompiledTools, ledger: Ledger) -> Self {
        let left_of = tools.tools().iter().map(|tool| tool.binding().max_calls_per_invocation).collect();
        Self { tools, ledger, left_of, seen: HashSet::new() }
    }

    /// Calls left of all tools together.
    pub fn calls_left(&self) -> u32 {
        let left = self.ledger.left().calls.unwrap_or(u64::MAX);
        u32::try_from(left).unwrap_or(u32::MAX)
    }

    /// Checks a batch and reserves its budget, in call order. Malformed attempts count against the total; there are no refunds.
    pub fn admit(&mut self, contract: &ToolTurnContract, batch: Vec<Attempt>) -> Vec<Admission> {
        let last = batch.len().saturating_sub(1);
        self.seen.reserve(batch.len());
        batch
            .into_iter()
            .enumerate()
            .map(|(at, attempt)| {
                let (call, foreseen) = match attempt {
                    Attempt::Malformed(call) => {
                        return Admission::Refused(Box::new(self.refuse_malformed(call)));
                    }
                    Attempt::Call(call) => (call, None),
                    Attempt::Foreseen(call) => {
                        let (call, foreseen) = call.into_parts();
                        (call, Some(foreseen))
                    }
                };
                match self.admit_one(contract, &call, at == last) {
                    Ok(tool) => Admission::Admitted(AdmittedCall::new(call, tool, foreseen)),
                    Err((code, message)) => {
                        let refused = Refused::of_call(call, code, message).hiding(foreseen.as_deref());
                        Admission::Refused(Box::new(refused))
                    }
                }
            })
            .collect()
    }

    fn refuse_malformed(&mut self, call: MalformedCall) -> Refused {
        match self.ledger.charge(Amounts::ONE_CALL) {
            Ok(()) => Refused::of_malformed(call, None, None),
            Err(exhausted) => {
                Refused::of_malformed(call, Some(ErrorCode::BUDGET_EXHAUSTED), Some(used_up(exhausted)))
            }
        }
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

    /// Takes one from the total (the invocation's and the run's) and one from the tool's own budget, all or none (GAT-02).
    fn reserve(&mut self, index: usize, alias: &str) -> Result<(), (ErrorCode, String)> {
        let own = self.left_of.get_mut(index).and_then(Option::as_mut);
        let left = self.ledger.left();
        if left.calls != Some(0) && own.as_deref() == Some(&0) {
            let text = format!("`{alias}` has no calls left in this conversation. Go on without it.");
            return Err((ErrorCode::BUDGET_EXHAUSTED, text));
        }
        if left.output_bytes == Some(0) {
            return Err((ErrorCode::BUDGET_EXHAUSTED, used_up_text(Resource::OutputBytes)));
        }
        let charged = self.ledger.charge(Amounts::ONE_CALL);
        charged.map_err(|exhausted| (ErrorCode::BUDGET_EXHAUSTED, used_up(exhausted)))?;
        if let Some(own) = own {
            *own = own.saturating_sub(1);
        }
        Ok(())
    }
}

fn used_up(exhausted: Exhausted) -> String {
    used_up_text(exhausted.resource)
}

/// What the model reads of a call for which there is no budget left (GAT-04).
pub fn used_up_text(resource: Resource) -> String {
    match resource {
        Resource::Calls => "No tool calls are left. Answer with what you have.".to_owned(),
        Resource::WallTime | Resource::OutputBytes | Resource::ModelTokens | Resource::Money => {
            format!(
                "No tool can be called any more: {} is used up. Answer with what you have.",
                resource.noun()
            )
        }
    }
}

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
