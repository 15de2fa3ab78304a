//! Tools and shortcuts for the tests of the path.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::needless_pass_by_value, reason = "helpers of tests")]

use std::sync::Arc;

use haft_core::consent::{Ask, ConsentEnvironment};
use haft_core::facts::{Permission, Placement};
use haft_core::path::{InjectedValues, PreparedArguments, StartedCall};
use haft_core::ports::{BoxFuture, Tool, ToolContext};
use haft_core::snapshot::compile;
use haft_core::turn::TurnAliases;
use haft_core::{
    AdmittedCall, Attempt, CompiledTools, Effect, InvocationId, Profile, RequestedCall, Scope,
    ToolDeclaration, ToolError, ToolFacts, ToolId, ToolOutput, ToolRegistry, ToolTurnContract,
    gate::Admission,
};
use serde_json::{Value, json};

/// A tool that answers with its canonical arguments.
pub struct Echo {
    pub declaration: ToolDeclaration,
    pub ask: Result<Ask, ToolError>,
}

impl Tool for Echo {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn ask(&self, _: &PreparedArguments, _: &ConsentEnvironment) -> Result<Ask, ToolError> {
        self.ask.clone()
    }

    fn call<'a>(
        &'a self,
        call: &'a StartedCall,
        _: &'a dyn ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move { Ok(ToolOutput::of_value(call.arguments().value().clone())) })
    }
}

pub fn schema() -> Value {
    json!({
        "type": "object", "additionalProperties": false, "required": ["text"],
        "properties": {
            "text": {"type": "string"},
            "count": {"type": "integer", "default": 10},
            "mode": {"type": "string", "enum": ["a", "b"]}
        }
    })
}

pub fn tool(id: ToolId, change: impl FnOnce(&mut ToolFacts)) -> Arc<dyn Tool> {
    asking(id, change, Ok(Ask::default()))
}

pub fn asking(id: ToolId, change: impl FnOnce(&mut ToolFacts), ask: Result<Ask, ToolError>) -> Arc<dyn Tool> {
    let declaration = ToolDeclaration::new(id, "Says the same again.", schema(), Effect::Read).unwrap();
    Arc::new(Echo { declaration: declaration.with_facts(change), ask })
}

/// Four tools that differ in what the gate and policy look at.
pub fn registry() -> ToolRegistry {
    let mut registry = ToolRegistry::default();
    registry
        .register_all([
            tool(ToolId::builtin("t.plain"), |_| {}),
            tool(ToolId::builtin("t.asks"), |facts| facts.permission = Permission::Ask),
            tool(ToolId::builtin("t.last"), |facts| facts.placement = Placement::MustBeLast),
            asking(
                ToolId::builtin("t.every"),
                |_| {},
                Ok(Ask {
                    question: Some("Really?".into()),
                    scopes: vec![Scope::File("/a/b".into()), Scope::Path("/a".into())],
                    every_time: true,
                    ..Ask::default()
                }),
            ),
        ])
        .unwrap();
    registry
}

pub fn profile() -> Profile {
    let mut profile = Profile::new("test");
    profile.tools.allow = ["t.plain", "t.asks", "t.last", "t.every"].map(ToolId::builtin).to_vec();
    profile
}

pub fn compiled(profile: &Profile) -> CompiledTools {
    compile(InvocationId::new("i_1"), profile, &registry()).unwrap()
}

pub fn requested(name: &str, arguments: Value) -> RequestedCall {
    RequestedCall::call(name, arguments.as_object().cloned().unwrap_or_default())
}

pub fn decode(
    tools: &CompiledTools,
    contract: &ToolTurnContract,
    turn: u32,
    calls: Vec<RequestedCall>,
) -> Vec<Attempt> {
    TurnAliases::new(tools, contract, &InvocationId::new("i_1"), turn).decode(calls)
}

/// The one call, admitted by a fresh gate.
pub fn admit(profile: &Profile, name: &str, arguments: Value) -> AdmittedCall {
    let tools = compiled(profile);
    let contract = ToolTurnContract::all(&tools);
    let attempts = decode(&tools, &contract, 1, vec![requested(name, arguments)]);
    match haft_core::Gate::new(tools).admit(&contract, attempts).remove(0) {
        Admission::Admitted(call) => call,
        Admission::Refused(refused) => panic!("{refused:?}"),
    }
}

pub fn prepare(
    profile: &Profile,
    name: &str,
    arguments: Value,
) -> Result<haft_core::PreparedCall, Box<haft_core::path::Refused>> {
    admit(profile, name, arguments).prepare(&InjectedValues::default())
}
