// An answer is consumed with the call that it is for.
use haft_core::consent::{Closing, Question};
use haft_core::path::AskingCall;

fn twice(call: AskingCall, question: &Question, yes: &Closing) {
    let _ = call.close(question, yes);
    let _ = call.close(question, yes);
}

fn main() {}
