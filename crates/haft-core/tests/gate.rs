//! The gate against a small model of itself, over random batches.
#![allow(clippy::unwrap_used, clippy::panic, clippy::needless_pass_by_value, reason = "helpers of tests")]

mod support;

use haft_core::gate::Admission;
use haft_core::{ErrorCode, Gate, Profile, RequestedCall, ToolChoice, ToolId, ToolTurnContract};
use proptest::prelude::*;
use serde_json::json;
use support::{compiled, decode, profile, requested};

fn codes(admissions: Vec<Admission>) -> Vec<Option<ErrorCode>> {
    admissions
        .into_iter()
        .map(|admission| match admission {
            Admission::Admitted(_) => None,
            Admission::Refused(refused) => Some(refused.code),
        })
        .collect()
}

// EXE-12 (the gate's part), CONFLICT-14
#[test]
fn a_call_that_must_be_last_is_refused_elsewhere_and_the_others_run() {
    let tools = compiled(&profile());
    let contract = ToolTurnContract::all(&tools);
    let call = |name: &str| requested(name, json!({"text": "x"}));
    let mut gate = Gate::new(tools.clone());
    let batch = decode(&tools, &contract, 1, vec![call("t_last"), call("t_plain"), call("t_last")]);
    assert_eq!(codes(gate.admit(&contract, batch)), [Some(ErrorCode::TOOL_AFTER_FINISH), None, None]);
}

// GAT-01
#[test]
fn the_typed_choice_is_checked() {
    let tools = compiled(&profile());
    let call = |turn| {
        let contract = ToolTurnContract::all(&tools);
        decode(&tools, &contract, turn, vec![requested("t_plain", json!({})), requested("t_asks", json!({}))])
    };
    let with = |choice| ToolTurnContract { choice, ..ToolTurnContract::all(&tools) };
    let mut gate = Gate::new(tools.clone());
    let denied = Some(ErrorCode::TOOL_DENIED);
    assert_eq!(codes(gate.admit(&with(ToolChoice::None), call(1))), [denied.clone(), denied.clone()]);
    assert_eq!(
        codes(gate.admit(&with(ToolChoice::Tool(ToolId::builtin("t.asks"))), call(2))),
        [denied, None]
    );
    assert_eq!(codes(gate.admit(&with(ToolChoice::Required), call(3))), [None, None]);
}

// JRN-03
#[test]
fn a_host_id_is_used_once() {
    let tools = compiled(&profile());
    let contract = ToolTurnContract::all(&tools);
    let batch = || decode(&tools, &contract, 1, vec![requested("t_plain", json!({}))]);
    let mut gate = Gate::new(tools.clone());
    assert_eq!(codes(gate.admit(&contract, batch())), [None]);
    assert_eq!(codes(gate.admit(&contract, batch())), [Some(ErrorCode::REPEATED_CALL)]);
}

#[derive(Debug, Clone)]
enum Step {
    Call(usize),
    Unknown,
    Malformed,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![4 => (0usize..3).prop_map(Step::Call), 1 => Just(Step::Unknown), 1 => Just(Step::Malformed)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    // GAT-02, GAT-03, GAT-04
    #[test]
    fn budgets_are_reserved_as_the_model_says(
        total in 0u32..12,
        caps in proptest::array::uniform3(proptest::option::of(0u32..5)),
        batches in proptest::collection::vec(proptest::collection::vec(step(), 0..6), 0..6),
    ) {
        let names = ["t.plain", "t.asks", "t.every"];
        let mut profile: Profile = profile();
        profile.budgets.calls = total;
        for (name, cap) in names.iter().zip(caps) {
            if let Some(cap) = cap {
                profile.budgets.calls_of.insert(ToolId::builtin(name), cap);
            }
        }
        let tools = compiled(&profile);
        let contract = ToolTurnContract::all(&tools);
        let mut gate = Gate::new(tools.clone());
        let (mut left, mut own) = (total, caps);
        for (turn, batch) in (1u32..).zip(batches) {
            let calls = batch.iter().map(|step| match step {
                Step::Call(at) => requested(&names[*at].replace('.', "_"), json!({})),
                Step::Unknown => requested("nobody", json!({})),
                Step::Malformed => RequestedCall::Malformed { name: None, reason: "cut".into(), raw: String::new(), wire_id: None },
            }).collect();
            let got = codes(gate.admit(&contract, decode(&tools, &contract, turn, calls)));
            let wanted: Vec<_> = batch.iter().map(|step| {
                if left == 0 {
                    return Some(ErrorCode::BUDGET_EXHAUSTED);
                }
                match step {
                    Step::Malformed => { left -= 1; Some(ErrorCode::MALFORMED_CALL) }
                    Step::Unknown => { left -= 1; Some(ErrorCode::UNKNOWN_TOOL) }
                    Step::Call(at) if own[*at] == Some(0) => Some(ErrorCode::BUDGET_EXHAUSTED),
                    Step::Call(at) => {
                        own[*at] = own[*at].map(|cap| cap - 1);
                        left -= 1;
                        None
                    }
                }
            }).collect();
            prop_assert_eq!(got, wanted);
            prop_assert_eq!(gate.calls_left(), left);
        }
    }
}
