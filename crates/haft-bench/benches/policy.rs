//! What 500 rules cost a call: policy alone, for arguments that are prepared already, against the same tool without rules.
//!
//! Rules spread over 50 tools, as a person would have them; all of them about the one tool, by path, by host and by command; and the
//! worst case, in which each of them is about the very call. Reading a command line is measured apart from judging one.
#![allow(clippy::needless_pass_by_value, reason = "values written at the place of the call")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a bench that cannot set up has nothing to measure")]

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;

use haft_bench::{Comparison, Goals};
use haft_core::consent::ConsentEnvironment;
use haft_core::facts::Permission;
use haft_core::gate::Admission;
use haft_core::path::{InjectedValues, PreparedCall, StartedCall};
use haft_core::policy::{CallCommands, Place, Rule};
use haft_core::ports::{BoxFuture, Tool, ToolContext};
use haft_core::snapshot::{BoundTool, compile};
use haft_core::turn::TurnAliases;
use haft_core::{
    Effect, Gate, InvocationId, Profile, RequestedCall, ToolDeclaration, ToolError, ToolOutput, ToolRegistry,
    ToolTurnContract, policy,
};
use serde_json::{Value, json};

const RULES: usize = 500;
/// Decisions in one sample.
const CALLS: usize = 200;

struct Nothing(ToolDeclaration);

impl Tool for Nothing {
    fn declaration(&self) -> &ToolDeclaration {
        &self.0
    }

    fn call<'a>(
        &'a self,
        _: &'a StartedCall,
        _: &'a dyn ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async { Ok(ToolOutput::of_value(Value::Null)) })
    }
}

/// A prepared call of the first of 50 tools, under rules.
struct World {
    tool: Arc<BoundTool>,
    call: PreparedCall,
    environment: ConsentEnvironment,
    /// Its command line, read.
    commands: Option<CallCommands>,
}

const COMMAND: &str = "cargo test --workspace --no-fail-fast parser::tokens";

impl World {
    /// A call that holds a command line.
    fn of_command(rules: Vec<Rule>) -> Self {
        Self::new(rules, json!({"command": COMMAND}), Some("command"))
    }

    fn under(rules: Vec<Rule>) -> Self {
        let arguments =
            json!({"path": "src/parser/tokens/number.rs", "url": "https://docs.example.org/a/page?q=1"});
        Self::new(rules, arguments, None)
    }

    fn new(rules: Vec<Rule>, arguments: Value, command: Option<&str>) -> Self {
        let mut registry = ToolRegistry::default();
        for number in 0..50 {
            let schema = json!({"type": "object", "properties": {
                "path": {"type": "string"}, "url": {"type": "string"}, "command": {"type": "string"}
            }});
            let id = format!("builtin:t.n{number:02}").parse().unwrap();
            let declaration = ToolDeclaration::new(id, "Does nothing.", schema, Effect::Read).unwrap();
            let declaration = declaration.with_facts(|facts| facts.command = command.map(str::to_owned));
            registry.register(Arc::new(Nothing(declaration))).unwrap();
        }
        let mut profile = Profile::new("bench");
        profile.tools.allow = registry.iter().map(|tool| tool.declaration().id().clone()).collect();
        profile.policy.user = rules;
        let tools = compile(InvocationId::new("i_1"), &profile, &registry).unwrap();
        let contract = ToolTurnContract::all(&tools);
        let requested = RequestedCall::call("t_n00", arguments.as_object().cloned().unwrap());
        let attempts =
            TurnAliases::new(&tools, &contract, &InvocationId::new("i_1"), 1).decode(vec![requested]);
        let tool = tools.by_alias("t_n00").unwrap().clone();
        let Admission::Admitted(call) = Gate::new(tools).admit(&contract, attempts).remove(0) else {
            panic!("the gate refused")
        };
        let environment = ConsentEnvironment {
            project_folder: Some("/home/you/projects/demo".to_owned()),
            ..ConsentEnvironment::default()
        };
        let commands = command.map(|name| CallCommands::read(&arguments, name));
        Self { tool, call: call.prepare(&InjectedValues::default()).unwrap(), environment, commands }
    }

    fn decide(&self) {
        for _ in 0..CALLS {
            let (tool, arguments) = (black_box(&self.tool), self.call.arguments());
            black_box(policy::decide_read(tool, arguments, &self.environment, self.commands.as_ref()));
        }
    }
}

fn rules(of: impl Fn(usize, Rule) -> Rule) -> Vec<Rule> {
    let blank = |line: usize| {
        let decision = [Permission::Allow, Permission::Ask, Permission::Deny][line % 3];
        Rule::new("t_n00", decision, Place { file: "haft.toml".to_owned(), line, column: 1 })
    };
    (0..RULES).map(|line| of(line, blank(line))).collect()
}

fn main() -> ExitCode {
    let none = World::under(Vec::new());
    let spread = World::under(rules(|line, rule| Rule {
        tool: policy::Glob::new(format!("t_n{:02}", line % 50)),
        path: Some(format!("folder{line}/below")),
        ..rule
    }));
    let paths =
        World::under(rules(|line, rule| Rule { path: Some(format!("src/parser/folder{line}")), ..rule }));
    let hosts =
        World::under(rules(|line, rule| Rule { host: Some(format!("*.host{line}.example.org")), ..rule }));
    let all = World::under(rules(|_, rule| Rule { path: Some("src".to_owned()), ..rule }));
    let commands = World::of_command(rules(|line, rule| Rule {
        command: Some(format!("cargo run --bin tool{line}")),
        ..rule
    }));
    let others = World::of_command(rules(|line, rule| Rule {
        command: Some(format!("program{line} push --force")),
        ..rule
    }));
    let measured = Comparison::new()
        .case("no rules", || none.decide())
        .case("spread", || spread.decide())
        .case("paths", || paths.decide())
        .case("hosts", || hosts.decide())
        .case("all about the call", || all.decide())
        .case("commands", || commands.decide())
        .case("other commands", || others.decide())
        .case("reading", || {
            let arguments = json!({"command": COMMAND});
            for _ in 0..CALLS {
                black_box(CallCommands::read(black_box(&arguments), "command"));
            }
        })
        .run();
    let mut goals = Goals::new("policy");
    let each = |case| measured.micros(case) / CALLS as f64;
    goals.at_most("500 rules over 50 tools", each("spread"), 5.0, "µs");
    goals.at_most("500 rules for the tool, by path", each("paths"), 5.0, "µs");
    goals.at_most("500 rules for the tool, by host", each("hosts"), 5.0, "µs");
    goals.at_most("500 rules for the tool, by command", each("commands"), 5.0, "µs");
    goals.at_most("500 rules for the tool, by other commands", each("other commands"), 5.0, "µs");
    goals.note("reading a command line", each("reading"), "µs");
    goals.note("no rules", each("no rules"), "µs");
    goals.note("500 rules, each about the call", each("all about the call"), "µs");
    goals.finish()
}
