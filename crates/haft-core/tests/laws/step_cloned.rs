// No step value can be cloned.
use haft_core::{AuthorizedCall, StartedCall};

fn copy(call: &AuthorizedCall) -> AuthorizedCall {
    call.clone()
}

fn copy_started(call: &StartedCall) -> StartedCall {
    Clone::clone(call)
}

fn main() {}
