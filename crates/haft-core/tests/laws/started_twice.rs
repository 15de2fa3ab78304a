// An authorized call starts once.
use haft_core::{AuthorizedCall, Committed};

fn twice(call: AuthorizedCall, committed: &mut Committed) {
    let _ = call.start(committed);
    let _ = call.start(committed);
}

fn main() {}
