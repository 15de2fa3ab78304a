//! From prepared arguments to a tool's own struct. The path has validated them, so a misfit is a fault of the tool's schema.

use haft_core::{ErrorCode, StartedCall, ToolError};
use serde::Deserialize;

/// The arguments of `call` as `T`, borrowing its texts.
pub(crate) fn arguments<'a, T: Deserialize<'a>>(call: &'a StartedCall) -> Result<T, ToolError> {
    T::deserialize(call.arguments().value()).map_err(|error| {
        ToolError::new(
            ErrorCode::INVALID_ARGUMENTS,
            format!("The call of `{}` cannot run: {error}", call.alias()),
        )
    })
}
