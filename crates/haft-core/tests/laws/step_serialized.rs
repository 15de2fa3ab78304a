// No step value can be stored and made again.
use haft_core::AuthorizedCall;

fn store(call: &AuthorizedCall) -> String {
    serde_json::to_string(call).unwrap()
}

fn main() {}
