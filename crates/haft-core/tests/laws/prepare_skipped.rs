// A decision needs a prepared call: an admitted one cannot be decided.
use haft_core::AdmittedCall;
use haft_core::consent::ConsentEnvironment;

fn skip(call: AdmittedCall) {
    call.decide(&ConsentEnvironment::default());
}

fn main() {}
