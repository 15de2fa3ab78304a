//! Secrets that a model writes itself: values of arguments that a tool calls secret. They are looked for before anything of the
//! model's turn is stored.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::Value;

use super::secret_argument;
use crate::call::{RequestedCall, ToolCall};
use crate::consent::ConsentEnvironment;
use crate::path::{AdmittedCall, InjectedValues};
use crate::snapshot::BoundTool;

/// The values of the arguments of `call` that its tool calls secret ([`Ask::secret_arguments`](crate::consent::Ask)). Tools that
/// only look and stay on the machine are not asked. A call that cannot be prepared tells nothing: it never runs.
pub fn written_secrets(
    call: &ToolCall,
    tool: &Arc<BoundTool>,
    injected: &InjectedValues,
    environment: &ConsentEnvironment,
) -> Vec<String> {
    let facts = &tool.declaration().facts;
    if !facts.effect.writes() && !facts.open_world {
        return Vec::new();
    }
    let Ok(prepared) = AdmittedCall::new(call.clone(), Arc::clone(tool)).prepare(injected) else {
        return Vec::new();
    };
    let arguments = prepared.arguments();
    // One that fails is refused when the call is decided.
    let asked = catch_unwind(AssertUnwindSafe(|| tool.tool().ask(arguments, environment)));
    let Ok(Ok(ask)) = asked else { return Vec::new() };
    let texts = ask.secret_arguments.iter().filter_map(|name| arguments.text(name));
    texts.filter(|text| !text.trim().is_empty()).map(str::to_owned).collect()
}

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
