//! Calls that are looked at before the gate: what was found out is used once, and only where it holds.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use haft_core::consent::{Ask, ConsentEnvironment};
use haft_core::facts::{Injection, InjectionSource};
use haft_core::gate::Admission;
use haft_core::path::{InjectedValues, PreparedArguments, StartedCall, Surroundings};
use haft_core::policy::Outcome;
use haft_core::ports::{BoxFuture, Tool, ToolContext};
use haft_core::snapshot::compile;
use haft_core::{
    AdmittedCall, Attempt, CompiledTools, DecidedCall, Effect, ErrorCode, Gate, InvocationId, Profile,
    ToolDeclaration, ToolError, ToolId, ToolOutput, ToolRegistry, ToolTurnContract,
};
use serde_json::{Value, json};
use support::{decode, requested, schema};

/// It counts how often it is asked; its text is a secret, and `broken` is a question that it cannot answer.
struct Keeps {
    declaration: ToolDeclaration,
    asked: Arc<AtomicU32>,
}

impl Tool for Keeps {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn ask(&self, arguments: &PreparedArguments, environment: &ConsentEnvironment) -> Result<Ask, ToolError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        match arguments.text("text") {
            Some("broken") => Err(ToolError::failed("it is broken")),
            Some("dies") => panic!("it dies"),
            _ => Ok(Ask {
                question: environment.project_folder.as_ref().map(|folder| format!("Keep it in {folder}?")),
                secret_arguments: vec!["text".into()],
                ..Ask::default()
            }),
        }
    }

    fn call<'a>(
        &'a self,
        _: &'a StartedCall,
        _: &'a dyn ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async { Ok("kept".into()) })
    }
}

struct World {
    tools: CompiledTools,
    contract: ToolTurnContract,
    gate: Gate,
    surroundings: Arc<Surroundings>,
    asked: Arc<AtomicU32>,
    turn: u32,
}

impl World {
    fn new(effect: Effect, calls: u32) -> Self {
        let (id, asked) = (ToolId::builtin("t.keeps"), Arc::new(AtomicU32::new(0)));
        let declaration = ToolDeclaration::new(id.clone(), "Keeps it.", schema(), effect).unwrap();
        let declaration = declaration.with_facts(|facts| {
            let (parameter, source) = ("project_id".into(), InjectionSource::ProjectId);
            facts.injections = vec![Injection { parameter, source }];
        });
        let mut registry = ToolRegistry::default();
        registry.register(Arc::new(Keeps { declaration, asked: asked.clone() })).unwrap();
        let mut profile = Profile::new("p");
        profile.tools.allow = vec![id];
        profile.budgets.calls = calls;
        let tools = compile(InvocationId::new("i_1"), &profile, &registry).unwrap();
        let contract = ToolTurnContract::all(&tools);
        let gate = Gate::new(tools.clone());
        let environment = ConsentEnvironment { project_folder: Some("/p".into()), ..Default::default() };
        let surroundings = Arc::new(Surroundings { values: values("ours"), environment });
        Self { tools, contract, gate, surroundings, asked, turn: 0 }
    }

    fn decode(&mut self, arguments: Value) -> Attempt {
        self.turn += 1;
        decode(&self.tools, &self.contract, self.turn, vec![requested("t_keeps", arguments)]).remove(0)
    }

    fn foresee(&mut self, arguments: Value) -> Attempt {
        self.decode(arguments).foresee(&self.tools, &self.surroundings)
    }

    fn admit(&mut self, attempt: Attempt) -> AdmittedCall {
        match self.gate.admit(&self.contract, vec![attempt]).remove(0) {
            Admission::Admitted(call) => call,
            Admission::Refused(refused) => panic!("{refused:?}"),
        }
    }

    fn decide(&self, call: AdmittedCall) -> DecidedCall {
        call.prepare(&self.surroundings.values).unwrap().decide(&self.surroundings.environment)
    }

    fn times_asked(&self) -> u32 {
        self.asked.swap(0, Ordering::Relaxed)
    }
}

fn values(project: &str) -> InjectedValues {
    InjectedValues { project_id: Some(project.into()), model: None }
}

// COE-01, CONFLICT-29: what is found out before the gate is what the path would find out, and is found out once.
#[test]
fn a_call_that_was_looked_at_is_decided_as_any_other_and_asked_about_once() {
    let mut world = World::new(Effect::Write, 100);
    for text in ["x", "broken", "dies"] {
        let arguments = json!({"text": text, "count": " 7 ", "project_id": "theirs"});
        let plain = world.decode(arguments.clone());
        let plain = world.admit(plain);
        let plain = world.decide(plain);
        assert_eq!(world.times_asked(), 1);
        let foreseen = world.foresee(arguments);
        assert_eq!(world.times_asked(), 1);
        let foreseen = world.admit(foreseen);
        let foreseen = world.decide(foreseen);
        assert_eq!(world.times_asked(), 0, "{text}");
        assert_eq!((foreseen.arguments(), foreseen.decision()), (plain.arguments(), plain.decision()));
        assert_eq!(foreseen.arguments().get("project_id"), Some(&json!("ours")));
        let outcome = if text == "x" { Outcome::Ask } else { Outcome::Deny };
        assert_eq!(foreseen.decision().outcome, outcome);
    }
}

// COE-05: a call that does not fit says the same, whenever that was found out.
#[test]
fn arguments_that_do_not_fit_are_refused_alike() {
    let mut world = World::new(Effect::Write, 100);
    let arguments = json!({"text": "x", "mode": "c"});
    let (plain, foreseen) = (world.decode(arguments.clone()), world.foresee(arguments));
    assert_eq!(foreseen.written_secrets(), [""; 0]);
    let [plain, foreseen] = [plain, foreseen].map(|attempt| {
        let refused = world.admit(attempt).prepare(&values("ours")).unwrap_err();
        (refused.code, refused.message, refused.arguments, refused.secret_arguments)
    });
    assert_eq!(foreseen, plain);
    assert_eq!(world.times_asked(), 0);
}

#[test]
fn what_was_found_out_does_not_hold_of_a_call_that_was_changed_or_in_other_surroundings() {
    let mut world = World::new(Effect::Write, 100);
    let Attempt::Foreseen(foreseen) = world.foresee(json!({"text": "before"})) else { panic!() };
    let mut call = foreseen.into_call();
    call.arguments.insert("text".into(), json!("after"));
    let changed = world.admit(Attempt::Call(call));
    world.times_asked();
    assert_eq!(world.decide(changed).arguments().text("text"), Some("after"));
    assert_eq!(world.times_asked(), 1);

    let elsewhere = ConsentEnvironment { project_folder: Some("/q".into()), ..Default::default() };
    let moved = world.foresee(json!({"text": "x"}));
    let decided = world.admit(moved).prepare(&values("another")).unwrap().decide(&elsewhere);
    assert_eq!(decided.arguments().text("project_id"), Some("another"));
    assert_eq!(decided.decision().question.as_deref(), Some("Keep it in /q?"));

    // The same tool of another snapshot may have another schema.
    let mut other = World::new(Effect::Write, 100);
    let attempt = world.foresee(json!({"text": "x"}));
    world.times_asked();
    let call = other.admit(attempt);
    other.decide(call);
    assert_eq!((world.times_asked(), other.times_asked()), (0, 1));
}

// CONFLICT-29: a call that goes no further than the gate keeps its secrets as well.
#[test]
fn a_refusal_before_the_decision_names_the_secrets() {
    let mut world = World::new(Effect::Write, 1);
    let attempt = world.foresee(json!({"text": "s3cret"}));
    assert_eq!(attempt.written_secrets(), ["s3cret"]);
    let stopped = world.admit(attempt).refuse(ErrorCode::CALL_CANCELLED, "stopped".into());
    assert_eq!(stopped.secret_arguments, ["text"]);
    let attempt = world.foresee(json!({"text": "s3cret"}));
    let Admission::Refused(refused) = world.gate.admit(&world.contract, vec![attempt]).remove(0) else {
        panic!()
    };
    assert_eq!(
        (&refused.code, &refused.secret_arguments[..]),
        (&ErrorCode::BUDGET_EXHAUSTED, &["text".into()][..])
    );
    assert_eq!(refused.arguments, json!({"text": "s3cret"}));
}

#[test]
fn calls_that_only_look_are_asked_about_when_they_are_decided() {
    let mut world = World::new(Effect::Read, 100);
    let attempt = world.foresee(json!({"text": "x"}));
    assert!(matches!(attempt, Attempt::Call(_)));
    assert_eq!((attempt.written_secrets(), world.times_asked()), (Vec::new(), 0));
}
