//! Calls that are looked at before the record of their turn is written, since it must be known by then which of their arguments are
//! secrets. What was found out goes with the call, so that the path prepares no arguments and asks no tool a second time.
//!
//! It gives no right to anything: gate, policy and consent hear of such a call as of any other. What was found out for another
//! tool, or in other surroundings, does not count; a call that is changed on its way is an [`Attempt::Call`] again.

use std::sync::Arc;

use super::prepared::{InjectedValues, PreparedArguments, Unfit, prepare_arguments};
use crate::call::{Attempt, ToolCall};
use crate::consent::{Ask, ConsentEnvironment};
use crate::error::ToolError;
use crate::policy;
use crate::snapshot::{BoundTool, CompiledTools};

/// What stands around the calls of an invocation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Surroundings {
    /// What the host puts into arguments.
    pub values: InjectedValues,
    /// What a tool may know when it says what a call means.
    pub environment: ConsentEnvironment,
}

/// A call that was looked at ahead of the gate.
///
/// ```compile_fail
/// // It is no prepared call: nothing is decided of it before the gate let it in.
/// fn decide(call: haft_core::path::ForeseenCall) {
///     let _ = call.decide(&haft_core::consent::ConsentEnvironment::default());
/// }
/// ```
#[derive(Debug)]
pub struct ForeseenCall {
    call: ToolCall,
    foreseen: Box<Foreseen>,
}

/// What was found out about a call.
#[derive(Debug)]
pub(crate) struct Foreseen {
    tool: Arc<BoundTool>,
    surroundings: Arc<Surroundings>,
    /// The arguments, and what the tool says that the call means.
    found: Result<(PreparedArguments, Result<Ask, ToolError>), Unfit>,
}

/// What a tool has said already of a prepared call.
#[derive(Debug)]
pub(super) struct Asked {
    surroundings: Arc<Surroundings>,
    said: Result<Ask, ToolError>,
}

impl Attempt {
    /// Looks ahead at a call whose tool writes or leaves the machine: it alone is given secrets to keep. All else stays as it is.
    pub fn foresee(self, tools: &CompiledTools, surroundings: &Arc<Surroundings>) -> Self {
        let call = match self {
            Self::Call(call) => call,
            Self::Foreseen(_) | Self::Malformed(_) => return self,
        };
        let is_given_secrets = |tool: &&Arc<BoundTool>| {
            let facts = &tool.declaration().facts;
            facts.effect.writes() || facts.open_world
        };
        match tools.by_id(&call.tool_id).filter(is_given_secrets) {
            Some(tool) => Self::Foreseen(ForeseenCall::new(call, tool, surroundings)),
            None => Self::Call(call),
        }
    }

    /// The values of the arguments that the tool calls secret ([`Ask::secret_arguments`]), of a call that was looked at. Arguments that
    /// do not fit the tool tell nothing: their call never runs.
    pub fn written_secrets(&self) -> Vec<String> {
        match self {
            Self::Foreseen(call) => call.foreseen.secrets(),
            Self::Call(_) | Self::Malformed(_) => Vec::new(),
        }
    }
}

impl ForeseenCall {
    fn new(call: ToolCall, tool: &Arc<BoundTool>, surroundings: &Arc<Surroundings>) -> Self {
        let prepared = prepare_arguments(tool, &call.alias, call.arguments.clone(), &surroundings.values);
        let found = prepared.map(|arguments| {
            let said = policy::said(tool, &arguments, &surroundings.environment);
            (arguments, said)
        });
        let foreseen = Foreseen { tool: Arc::clone(tool), surroundings: Arc::clone(surroundings), found };
        Self { call, foreseen: Box::new(foreseen) }
    }

    /// The call as the model wrote it.
    pub fn call(&self) -> &ToolCall {
        &self.call
    }

    /// The call alone, for whoever changes it: what was found out no longer holds of it.
    pub fn into_call(self) -> ToolCall {
        self.call
    }

    pub(crate) fn into_parts(self) -> (ToolCall, Box<Foreseen>) {
        (self.call, self.foreseen)
    }
}

impl Foreseen {
    /// Names of the arguments whose values are secrets.
    pub(crate) fn secret_arguments(&self) -> &[String] {
        match &self.found {
            Ok((_, Ok(ask))) => &ask.secret_arguments,
            // One that fails is refused when the call is decided.
            Ok((_, Err(_))) | Err(_) => &[],
        }
    }

    fn secrets(&self) -> Vec<String> {
        let Ok((arguments, _)) = &self.found else { return Vec::new() };
        let texts = self.secret_arguments().iter().filter_map(|name| arguments.text(name));
        texts.filter(|text| !text.trim().is_empty()).map(str::to_owned).collect()
    }

    /// The prepared arguments and what was said of them, or why they do not fit; none if it was found out for another tool or other
    /// values.
    pub(super) fn found_for(
        self,
        tool: &Arc<BoundTool>,
        values: &InjectedValues,
    ) -> Option<Result<(PreparedArguments, Asked), Unfit>> {
        let Self { tool: own, surroundings, found } = self;
        (Arc::ptr_eq(&own, tool) && surroundings.values == *values)
            .then(|| found.map(|(arguments, said)| (arguments, Asked { surroundings, said })))
    }
}

impl Asked {
    /// What was said, if `environment` is the one in which it was.
    pub(super) fn said_in(self, environment: &ConsentEnvironment) -> Option<Result<Ask, ToolError>> {
        (self.surroundings.environment == *environment).then_some(self.said)
    }
}
