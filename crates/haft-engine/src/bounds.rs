//! What bounds one invocation: its hold on the run's budget, its streaks, and the yeses given in advance that it may use.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_core::budget::{Amounts, Ledger, Reservation, Resource};
use haft_core::capability::Pledges;
use haft_core::grant::Grant;
use haft_core::path::Refused;
use haft_core::ports::Timestamp;
use haft_core::streak::{CallEnd, NoProgress, Streaks};
use haft_core::{
    AuthorizedCall, CallId, CompiledTools, ContentPart, Digest, ErrorCode, GrantId, Profile, ResultCap,
    Scope, ToolResult,
};
use haft_schema::canonical;

use crate::allowance::Meter;
use crate::run::CallOutcome;

/// Most bytes of one character.
const BYTES_A_CHARACTER: u64 = 4;
/// Longest time that is kept for the last turn, in milliseconds.
const LAST_TURN_MS: u64 = 30_000;

/// The bounds of one invocation.
pub(crate) struct Bounds {
    pub(crate) ledger: Ledger,
    pub(crate) meter: Meter,
    pledges: Arc<Mutex<Pledges>>,
    streaks: Streaks,
    /// What refused calls of this batch were after.
    goals: HashMap<CallId, Scope>,
    /// What is reserved for the results of calls that run.
    held: HashMap<CallId, Reservation>,
}

impl Bounds {
    /// The bounds of an invocation that takes from `ledger`; the yeses in `pledges` are those of its run.
    pub(crate) fn new(profile: &Profile, ledger: Ledger, pledges: Arc<Mutex<Pledges>>) -> Self {
        Self {
            ledger,
            meter: Meter::default(),
            pledges,
            streaks: Streaks::new(profile.loops),
            goals: HashMap::new(),
            held: HashMap::new(),
        }
    }

    /// When calls and turns with tools must be over, so that time is left for the last turn.
    pub(crate) fn work_ends_at(&self, tools: &CompiledTools) -> Option<Timestamp> {
        let kept = tools.snapshot().limits.wall_ms.map_or(0, |wall| LAST_TURN_MS.min(wall / 10));
        self.ledger.ends_at().map(|end| Timestamp(end.0.saturating_sub(kept)))
    }

    /// True if a yes given in advance still stands in for an answer; other grants are not looked at here.
    pub(crate) fn allow(&self, grant: &Grant) -> bool {
        self.pledges().allow(grant)
    }

    /// Counts a use of a yes given in advance.
    pub(crate) fn used(&self, grant: &GrantId) {
        self.pledges().count(grant);
    }

    fn pledges(&self) -> MutexGuard<'_, Pledges> {
        self.pledges.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True if there is room for the result of one more call.
    pub(crate) fn has_output_room(&self) -> bool {
        self.ledger.left().output_bytes != Some(0)
    }

    /// Reserves room for the result of a call that starts now; false if there is none.
    pub(crate) fn hold_output(&mut self, call: &AuthorizedCall, profile: &Profile) -> bool {
        if self.ledger.left().output_bytes.is_none() {
            return true;
        }
        let threshold = profile.spill.threshold;
        let most = match call.declaration().facts.result_cap {
            ResultCap::Profile => threshold.saturating_mul(BYTES_A_CHARACTER),
            ResultCap::Chars(characters) => characters.min(threshold).saturating_mul(BYTES_A_CHARACTER),
            ResultCap::Unlimited => u64::MAX,
        };
        match self.ledger.reserve_output(most) {
            Ok(reservation) => {
                self.held.insert(call.call_id().clone(), reservation);
                true
            }
            Err(_) => false,
        }
    }

    /// Cuts what the model is given of a result to the room that is reserved for it, or to what is left where nothing was, and
    /// settles. The whole stands in the result file.
    pub(crate) fn settle_output(&mut self, result: &mut ToolResult) {
        if self.held.is_empty() && self.ledger.left().output_bytes.is_none() {
            return;
        }
        let held = match self.held.remove(&result.call_id) {
            Some(held) => Some(held),
            None => self.ledger.reserve_output(bytes_of(result)).ok(),
        };
        let room = held.as_ref().map_or(0, |held| held.amounts().output_bytes);
        if bytes_of(result) > room {
            cut(result, room);
        }
        if let Some(held) = held {
            let used = bytes_of(result).min(room);
            self.ledger.settle(held, Amounts::output(used));
        }
    }

    /// Keeps in mind what a refused call was after.
    pub(crate) fn note_refusal(&mut self, refused: &Refused) {
        if refused.code == ErrorCode::TOOL_DENIED {
            let goal = refused.decision.as_ref().map(|decision| decision.goal().clone());
            self.goals.insert(refused.call_id.clone(), goal.unwrap_or(Scope::Tool));
        }
    }

    /// Takes a batch that has ended, and says whether the run goes round in circles.
    pub(crate) fn end_batch(
        &mut self,
        outcomes: &[CallOutcome],
        tools: &CompiledTools,
    ) -> Option<NoProgress> {
        let goals = std::mem::take(&mut self.goals);
        let ends: Vec<(&str, CallEnd)> = outcomes
            .iter()
            .map(|outcome| (outcome.result.alias.as_str(), end_of(outcome, &goals, tools)))
            .collect();
        self.streaks.batch(ends)
    }

    /// The budget for want of which a call of the batch was refused, if it is used up for all calls.
    pub(crate) fn used_up_by(&self, outcomes: &[CallOutcome]) -> Option<Resource> {
        let refused = |outcome: &CallOutcome| outcome.result.error_code == Some(ErrorCode::BUDGET_EXHAUSTED);
        if !outcomes.iter().any(refused) {
            return None;
        }
        let left = self.ledger.left();
        match (left.calls, left.output_bytes) {
            (Some(0), _) => Some(Resource::Calls),
            (_, Some(0)) => Some(Resource::OutputBytes),
            _ => None,
        }
    }
}

fn end_of(outcome: &CallOutcome, goals: &HashMap<CallId, Scope>, tools: &CompiledTools) -> CallEnd {
    let result = &outcome.result;
    let Some(code) = result.error_code.as_ref().filter(|_| result.is_error) else {
        let tool = result.tool_id.as_ref().and_then(|id| tools.by_id(id));
        let writes = tool.is_some_and(|tool| tool.declaration().facts.effect.writes());
        return CallEnd::Done { writes: writes && !result.skipped };
    };
    if *code == ErrorCode::TOOL_DENIED {
        let goal = goals.get(&result.call_id).cloned().unwrap_or(Scope::Tool);
        CallEnd::Denied { goal }
    } else if *code == ErrorCode::BUDGET_EXHAUSTED || *code == ErrorCode::CALL_CANCELLED {
        CallEnd::Barred
    } else {
        CallEnd::Failed { arguments: Digest::of(&canonical::to_bytes(&outcome.arguments)) }
    }
}

/// Bytes that a model is given of a result, whatever renders it.
fn bytes_of(result: &ToolResult) -> u64 {
    let structured = result.structured.as_ref().map_or(0, |value| value.to_string().len());
    result.text().len().max(structured) as u64
}

/// Cuts a result to `room` bytes, the remark that says so included where it fits.
fn cut(result: &mut ToolResult, room: u64) {
    const REMARK: &str = "\n[cut: the room for tool results of this run is used up]";
    let room = usize::try_from(room).unwrap_or(usize::MAX);
    let mut text = result.text();
    let remark = if room > REMARK.len() { REMARK } else { "" };
    text.truncate(text.floor_char_boundary(room - remark.len()));
    text.push_str(remark);
    result.content = vec![ContentPart::Text { text }];
    result.structured = None;
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    #[test]
    fn a_cut_result_is_never_longer_than_its_room_and_splits_no_character() {
        for room in 0..200 {
            let mut result = ToolResult {
                call_id: CallId::new("c"),
                tool_id: None,
                alias: "a".into(),
                content: vec![ContentPart::Text { text: "é".repeat(150) }],
                structured: Some(json!({"a": 1})),
                is_error: false,
                error_code: None,
                resource_refs: Vec::new(),
                ui: None,
                metadata: Map::new(),
                duration_ms: 0,
                skipped: false,
            };
            cut(&mut result, room);
            assert!(bytes_of(&result) <= room, "{room}");
            assert_eq!(result.text().contains("[cut:"), room > 56, "{room}");
        }
    }
}
