//! A call for which an earlier result stands in (CCH-01 to CCH-04, CONFLICT-16). It had the right to run, and never starts.
//!
//! Which earlier result is still good is the engine's to know; that the result is of the same call, and that the call may be
//! answered by one at all, is checked here.

use std::panic::AssertUnwindSafe;

use haft_schema::Digest;

use super::decided::{AuthorizedCall, DecidedCall};
use super::prepared::PreparedArguments;
use crate::call::ToolCall;
use crate::declaration::ToolDeclaration;
use crate::facts::Effect;
use crate::ids::{CallId, GrantId};
use crate::policy::Decision;
use crate::ports::{Tool, Touches};
use crate::result::ToolResult;

/// What an earlier call gave, whole, as its audit file holds it.
#[derive(Debug, Clone, PartialEq)]
pub struct EarlierResult {
    /// Digest of the arguments of that call.
    pub digest: Digest,
    /// Its result.
    pub result: ToolResult,
}

impl AuthorizedCall {
    /// True if an earlier result may stand in for this call: it was allowed or a live grant covers it, nobody had to answer for
    /// it, it does not steer the run, and its tool does not say that it never repeats. A call that writes counts only with
    /// `include_side_effects` (CONFLICT-16).
    pub fn may_repeat(&self, include_side_effects: bool) -> bool {
        let facts = &self.declaration().facts;
        let effect = match facts.effect {
            Effect::Read => true,
            Effect::Write => include_side_effects,
            Effect::Control | Effect::WriteControl => false,
        };
        effect
            && !facts.never_repeats
            && !self.answered
            && !self.decision().every_time
            && !self.decision().secret
    }

    /// Lets `earlier` stand in for the call. Gives the call back where it may not: it must run.
    pub fn repeat(
        self,
        earlier: EarlierResult,
        include_side_effects: bool,
    ) -> Result<RepeatedCall, Box<Self>> {
        let same = earlier.result.tool_id.as_ref() == Some(self.tool_id())
            && earlier.digest == self.arguments().digest();
        if !same || !self.may_repeat(include_side_effects) {
            return Err(Box::new(self));
        }
        let mut result = earlier.result;
        let from = std::mem::replace(&mut result.call_id, self.call_id().clone());
        result.alias.clone_from(&self.call().alias);
        result.duration_ms = 0;
        result.skipped = true;
        Ok(RepeatedCall {
            decided: self.decided,
            granted_by: self.granted_by,
            grant: self.grant,
            from,
            result,
        })
    }

    /// What the call touches; everything if the tool cannot say.
    pub fn touches(&self) -> Touches {
        touches(self.decided.prepared.tool.tool(), self.arguments())
    }
}

/// What a stored call of `tool` touched, from the canonical bytes of its arguments; everything if they cannot be read.
pub fn touches_of_stored(tool: &dyn Tool, canonical: Vec<u8>) -> Touches {
    match PreparedArguments::of_stored(canonical) {
        Some(arguments) => touches(tool, &arguments),
        None => Touches::Everything,
    }
}

pub(super) fn touches(tool: &dyn Tool, arguments: &PreparedArguments) -> Touches {
    std::panic::catch_unwind(AssertUnwindSafe(|| tool.touches(arguments))).unwrap_or(Touches::Everything)
}

/// A call that ended without a start: an earlier result stands in for it.
///
/// ```compile_fail
/// // What nobody allowed is not answered by an earlier result either.
/// fn skip(call: haft_core::path::AskingCall, earlier: haft_core::path::EarlierResult) {
///     let _ = call.repeat(earlier, true);
/// }
/// ```
#[derive(Debug)]
pub struct RepeatedCall {
    decided: Box<DecidedCall>,
    granted_by: Option<String>,
    grant: Option<GrantId>,
    from: CallId,
    result: ToolResult,
}

impl RepeatedCall {
    /// The call as the model wrote it.
    pub fn call(&self) -> &ToolCall {
        self.decided.call()
    }

    /// The prepared arguments.
    pub fn arguments(&self) -> &PreparedArguments {
        self.decided.arguments()
    }

    /// What policy decided.
    pub fn decision(&self) -> &Decision {
        self.decided.decision()
    }

    /// Who answered the ask; none if policy allowed it.
    pub fn granted_by(&self) -> Option<&str> {
        self.granted_by.as_deref()
    }

    /// The standing yes that let it through; none where policy or a flag did.
    pub fn grant(&self) -> Option<&GrantId> {
        self.grant.as_ref()
    }

    /// Descriptor and facts of the tool.
    pub fn declaration(&self) -> &ToolDeclaration {
        self.decided.prepared.tool.declaration()
    }

    /// The call that gave the result.
    pub fn repeats(&self) -> &CallId {
        &self.from
    }

    /// The result: the earlier one under this call's own id, marked as skipped.
    pub fn result(&self) -> &ToolResult {
        &self.result
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::error::ToolError;
    use crate::ids::ToolId;
    use crate::path::StartedCall;
    use crate::ports::{BoxFuture, ToolContext};
    use crate::result::ToolOutput;

    /// It dies over the question what it touches.
    struct Dies(ToolDeclaration);

    impl Tool for Dies {
        fn declaration(&self) -> &ToolDeclaration {
            &self.0
        }

        fn touches(&self, _: &PreparedArguments) -> Touches {
            panic!("it does not know")
        }

        fn call<'a>(
            &'a self,
            _: &'a StartedCall,
            _: &'a dyn ToolContext,
        ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
            Box::pin(async { Err(ToolError::failed("It does nothing.")) })
        }
    }

    // CONFLICT-01: a guard that fails, refuses: what cannot be known may be anything.
    #[test]
    fn a_tool_that_cannot_say_what_it_touches_touches_everything() {
        let schema = json!({"type": "object"});
        let declaration = ToolDeclaration::new(ToolId::builtin("x"), "Does.", schema, Effect::Read).unwrap();
        let tool = Dies(declaration);
        for stored in ["{}", "[]", "no JSON"] {
            assert_eq!(touches_of_stored(&tool, stored.into()), Touches::Everything, "{stored}");
        }
    }
}
