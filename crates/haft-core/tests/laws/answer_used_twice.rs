// An answer is consumed with the call that it is for.
use haft_core::consent::{Circumstances, Closing, Question};
use haft_core::path::AskingCall;

fn twice(call: AskingCall, question: &Question, yes: &Closing, now: &Circumstances) {
    let _ = call.close(question, yes, now, ("g_1".into(), Default::default()));
    let _ = call.close(question, yes, now, ("g_2".into(), Default::default()));
}

fn main() {}
