//! Secrets that a model writes itself: values of arguments that a tool calls secret. They are known before anything of the model's turn
//! is stored ([`Attempt::written_secrets`](crate::Attempt::written_secrets)).

use serde_json::Value;

use super::secret_argument;
use crate::call::RequestedCall;

/// Takes `secrets` out of the arguments of a call, also those that are too short to be looked for in other text.
pub fn without_written(requested: &mut RequestedCall, secrets: &[String]) {
    match requested {
        RequestedCall::Call { arguments, .. } => {
            for value in arguments.values_mut() {
                if let Value::String(text) = value
                    && secrets.contains(text)
                {
                    *text = secret_argument(text.chars().count());
                }
            }
        }
        RequestedCall::Malformed { .. } => {}
    }
}
