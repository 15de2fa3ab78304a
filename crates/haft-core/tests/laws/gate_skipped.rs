// Only the gate admits a call.
use haft_core::{AdmittedCall, ToolCall};

fn skip(call: ToolCall) -> AdmittedCall {
    AdmittedCall::new(call, panic!(), None)
}

fn main() {}
