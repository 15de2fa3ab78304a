//! A few tools, a profile with rules, and the decision of one call.

#![allow(clippy::needless_pass_by_value, reason = "values written at the place of the call")]

use std::sync::Arc;

use haft_core::consent::{Ask, ConsentEnvironment};
use haft_core::facts::Permission;
use haft_core::gate::Admission;
use haft_core::path::{DecidedCall, InjectedValues, PreparedArguments, StartedCall};
use haft_core::policy::{Decision, Place, Policy, Rule};
use haft_core::ports::{BoxFuture, Tool, ToolContext};
use haft_core::snapshot::compile;
use haft_core::turn::TurnAliases;
use haft_core::{
    CompiledTools, Effect, Gate, InvocationId, Profile, RequestedCall, ToolDeclaration, ToolError, ToolFacts,
    ToolId, ToolOutput, ToolRegistry, ToolTurnContract,
};
use serde_json::{Value, json};

struct Silent {
    declaration: ToolDeclaration,
    ask: Ask,
}

impl Tool for Silent {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn ask(&self, _: &PreparedArguments, _: &ConsentEnvironment) -> Result<Ask, ToolError> {
        match self.declaration.id().native_name() {
            "t.fails" => Err(ToolError::failed("it does not know")),
            "t.panics" => panic!("it dies over it"),
            _ => Ok(self.ask.clone()),
        }
    }

    fn call<'a>(
        &'a self,
        _: &'a StartedCall,
        _: &'a dyn ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async { Ok(ToolOutput::of_value(Value::Null)) })
    }
}

fn tool(id: &str, key: &str, effect: Effect, ask: Ask, change: impl FnOnce(&mut ToolFacts)) -> Arc<dyn Tool> {
    let schema = json!({
        "type": "object", "additionalProperties": false,
        "properties": {key: {"type": "string"}, "mode": {"type": "string"}, "count": {"type": "number"}}
    });
    let declaration = ToolDeclaration::new(id.parse().unwrap(), "Does little.", schema, effect).unwrap();
    Arc::new(Silent { declaration: declaration.with_facts(change), ask })
}

pub(crate) fn registry() -> ToolRegistry {
    let question = Ask { question: Some("Really?".into()), ..Ask::default() };
    let mut registry = ToolRegistry::default();
    registry
        .register_all([
            tool("builtin:f.read", "path", Effect::Read, Ask::default(), |_| {}),
            tool("builtin:f.write", "file_path", Effect::Write, Ask::default(), |facts| {
                facts.permission = Permission::Ask;
            }),
            tool("builtin:w.get", "url", Effect::Read, Ask::default(), |facts| facts.open_world = true),
            tool("builtin:t.asks", "text", Effect::Read, question, |_| {}),
            tool("builtin:t.ends", "text", Effect::Read, Ask::default(), |facts| {
                facts.effect = Effect::Control;
            }),
            tool("builtin:t.fails", "text", Effect::Read, Ask::default(), |_| {}),
            tool("builtin:t.panics", "text", Effect::Read, Ask::default(), |_| {}),
            tool("builtin:sh.run", "command", Effect::Write, Ask::default(), |facts| {
                facts.permission = Permission::Ask;
                facts.open_world = true;
                facts.command = Some("command".into());
            }),
            tool("ext/own:x.run", "cmd", Effect::Write, Ask::default(), |_| {}),
            tool("mcp/5f0c:f.read", "path", Effect::Read, Ask::default(), |facts| {
                facts.alias = Some("foreign_read".into());
            }),
        ])
        .unwrap();
    registry
}

pub(crate) fn rule(line: usize, tool: &str, decision: Permission) -> Rule {
    Rule::new(tool, decision, Place { file: "haft.toml".into(), line, column: 1 })
}

pub(crate) fn profile(user: Vec<Rule>, own: Vec<Rule>) -> Profile {
    let mut profile = Profile::new("test");
    profile.tools.allow = registry().iter().map(|tool| tool.declaration().id().clone()).collect();
    profile.policy = Policy { user, profile: own, ..Policy::default() };
    profile
}

pub(crate) fn tools(profile: &Profile) -> CompiledTools {
    compile(InvocationId::new("i_1"), profile, &registry()).unwrap()
}

pub(crate) fn in_project() -> ConsentEnvironment {
    ConsentEnvironment { project_folder: Some("/home/you/demo".into()), ..ConsentEnvironment::default() }
}

pub(crate) fn decided(
    profile: &Profile,
    alias: &str,
    arguments: Value,
    place: &ConsentEnvironment,
) -> DecidedCall {
    let tools = tools(profile);
    let contract = ToolTurnContract::all(&tools);
    let call = RequestedCall::call(alias, arguments.as_object().cloned().unwrap());
    let attempts = TurnAliases::new(&tools, &contract, &InvocationId::new("i_1"), 1).decode(vec![call]);
    match Gate::new(tools).admit(&contract, attempts).remove(0) {
        Admission::Admitted(call) => call.prepare(&InjectedValues::default()).unwrap().decide(place),
        Admission::Refused(refused) => panic!("{refused:?}"),
    }
}

pub(crate) fn decide(profile: &Profile, alias: &str, arguments: Value) -> Decision {
    decided(profile, alias, arguments, &in_project()).decision().clone()
}

pub(crate) fn id(text: &str) -> ToolId {
    text.parse().unwrap()
}
