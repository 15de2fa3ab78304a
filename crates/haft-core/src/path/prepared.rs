//! From the gate to canonical arguments: inject, coerce, fill defaults, validate (COE-01, COE-05).

use std::sync::Arc;

use haft_schema::{Digest, canonical, coerce};
use serde_json::{Map, Value};

use super::decided::DecidedCall;
use super::foreseen::{Asked, Foreseen};
use super::refused::Refused;
use crate::call::ToolCall;
use crate::consent::ConsentEnvironment;
use crate::error::ErrorCode;
use crate::facts::InjectionSource;
use crate::policy;
use crate::snapshot::BoundTool;

/// Values that the host puts into arguments (CTX-01, CTX-04). Where one is absent, nothing is injected.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InjectedValues {
    /// The session's project.
    pub project_id: Option<String>,
    /// The conversation's model.
    pub model: Option<String>,
}

impl InjectedValues {
    fn get(&self, source: InjectionSource) -> Option<&String> {
        match source {
            InjectionSource::ProjectId => self.project_id.as_ref(),
            InjectionSource::Model => self.model.as_ref(),
        }
    }
}

/// A call that the gate let in; its budget is reserved.
#[derive(Debug)]
pub struct AdmittedCall {
    /// Boxed, as it walks through every step.
    call: Box<ToolCall>,
    tool: Arc<BoundTool>,
    /// What was found out before the gate.
    foreseen: Option<Box<Foreseen>>,
}

impl AdmittedCall {
    pub(crate) fn new(call: ToolCall, tool: Arc<BoundTool>, foreseen: Option<Box<Foreseen>>) -> Self {
        Self { call: Box::new(call), tool, foreseen }
    }

    /// The call as the model wrote it.
    pub fn call(&self) -> &ToolCall {
        &self.call
    }

    /// The tool.
    pub fn tool(&self) -> &BoundTool {
        &self.tool
    }

    /// Injects, coerces, fills defaults and validates. Arguments that do not fit become a result that says what to mend:
    /// nobody is asked to approve a call that cannot run. A call that was looked at before the gate was prepared then.
    pub fn prepare(mut self, values: &InjectedValues) -> Result<PreparedCall, Box<Refused>> {
        let arguments = std::mem::take(&mut self.call.arguments);
        let found = self.foreseen.take().and_then(|foreseen| foreseen.found_for(&self.tool, values));
        let prepared = match found {
            Some(found) => found.map(|(arguments, asked)| (arguments, Some(Box::new(asked)))),
            None => prepare_arguments(&self.tool, &self.call.alias, arguments, values)
                .map(|arguments| (arguments, None)),
        };
        match prepared {
            Ok((arguments, asked)) => Ok(PreparedCall { call: self.call, tool: self.tool, arguments, asked }),
            Err(Unfit { arguments, message }) => {
                let mut refused = Refused::of_call(*self.call, ErrorCode::INVALID_ARGUMENTS, message);
                refused.arguments = arguments;
                Err(Box::new(refused))
            }
        }
    }

    /// Gives the call up before it is prepared, for a reason of the host's own.
    pub fn refuse(self, code: ErrorCode, message: String) -> Refused {
        Refused::of_call(*self.call, code, message).hiding(self.foreseen.as_deref())
    }
}

/// Arguments that do not fit the tool's schema, and what to mend.
#[derive(Debug)]
pub(super) struct Unfit {
    arguments: Value,
    message: String,
}

/// Injects, coerces, fills defaults and validates.
pub(super) fn prepare_arguments(
    tool: &BoundTool,
    alias: &str,
    mut arguments: Map<String, Value>,
    values: &InjectedValues,
) -> Result<PreparedArguments, Unfit> {
    for injection in &tool.declaration().facts.injections {
        match values.get(injection.source) {
            Some(value) => {
                arguments.insert(injection.parameter.clone(), Value::String(value.clone()));
            }
            None => {
                arguments.shift_remove(&injection.parameter);
            }
        }
    }
    let written = Value::Object(arguments);
    let ready = tool.validator().is_ready(&written);
    let coerced = if ready { written } else { coerce(tool.schema(), written) };
    let mut arguments = match coerced {
        Value::Object(arguments) => arguments,
        other => {
            let message = "The arguments must be an object of named parameters.".to_owned();
            return Err(Unfit { arguments: other, message });
        }
    };
    let given = arguments.len();
    tool.defaults().fill(&mut arguments);
    let unchanged = ready && arguments.len() == given;
    let value = Value::Object(arguments);
    if !unchanged && let Err(violations) = tool.validator().validate(&value) {
        let message = format!("The call of `{alias}` cannot run: {violations}");
        return Err(Unfit { arguments: value, message });
    }
    let canonical = canonical::to_bytes(&value);
    let digest = Digest::of(&canonical);
    Ok(PreparedArguments { value, canonical, digest })
}

/// Arguments that fit the tool's schema, in canonical form.
#[derive(Debug, PartialEq)]
pub struct PreparedArguments {
    value: Value,
    canonical: Vec<u8>,
    digest: Digest,
}

impl PreparedArguments {
    /// Arguments that were prepared before, from their stored canonical bytes; none if they are no JSON object.
    pub(super) fn of_stored(canonical: Vec<u8>) -> Option<Self> {
        let value = serde_json::from_slice(&canonical).ok().filter(Value::is_object)?;
        let digest = Digest::of(&canonical);
        Some(Self { value, canonical, digest })
    }

    /// The arguments as a JSON object.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The arguments, for keeping.
    pub fn into_value(self) -> Value {
        self.value
    }

    /// One argument.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.value.get(name)
    }

    /// A text argument.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_str()
    }

    /// The arguments as a map.
    pub fn map(&self) -> Option<&Map<String, Value>> {
        self.value.as_object()
    }

    /// Canonical bytes: keys by code point, no blanks, integers exact.
    pub fn canonical(&self) -> &[u8] {
        &self.canonical
    }

    /// SHA-256 of the canonical bytes: what a yes is bound to.
    pub fn digest(&self) -> Digest {
        self.digest
    }
}

/// A call whose arguments are ready to run.
#[derive(Debug)]
pub struct PreparedCall {
    pub(super) call: Box<ToolCall>,
    pub(super) tool: Arc<BoundTool>,
    pub(super) arguments: PreparedArguments,
    /// What the tool has said already.
    asked: Option<Box<Asked>>,
}

impl PreparedCall {
    /// The call as the model wrote it, without its arguments.
    pub fn call(&self) -> &ToolCall {
        &self.call
    }

    /// The prepared arguments.
    pub fn arguments(&self) -> &PreparedArguments {
        &self.arguments
    }

    /// Asks policy. Pure: nobody waits here.
    pub fn decide(mut self, environment: &ConsentEnvironment) -> DecidedCall {
        let said = self.asked.take().and_then(|asked| asked.said_in(environment));
        let said = said.unwrap_or_else(|| policy::said(&self.tool, &self.arguments, environment));
        let decision = policy::decide_said(&self.tool, &self.arguments, environment, said);
        DecidedCall::new(self, decision)
    }
}
