// Complaint 21: work that nobody attends has no path of its own. A yes in advance is no right to run, and neither is a grant.
use haft_core::capability::Capability;
use haft_core::{AuthorizedCall, Committed, Grant, StartedCall};

fn by_capability(yes: Capability) -> AuthorizedCall {
    yes.into()
}

fn by_grant(grant: Grant, committed: &mut Committed) -> StartedCall {
    grant.start(committed)
}

fn main() {}
