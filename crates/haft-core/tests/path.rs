//! The steps of the path, one after another.
#![allow(clippy::unwrap_used, clippy::panic, clippy::needless_pass_by_value, reason = "helpers of tests")]

mod support;

use haft_core::consent::{Answer, Ask, Circumstances, Closing, ConsentEnvironment, Opening, Question};
use haft_core::facts::{Injection, InjectionSource, Permission};
use haft_core::path::{AskingCall, AuthorizedCall, InjectedValues, Refused, Resolution, Standing};
use haft_core::policy::Outcome;
use haft_core::profile::ApprovalMode;
use haft_core::snapshot::{CompileError, compile};
use haft_core::turn::model_tools;
use haft_core::{
    Attempt, Batch, ConsentId, Digest, Effect, ErrorCode, Gate, Grant, GrantId, InvocationId, Lifetime,
    Profile, RequestedCall, RunId, Scope, SessionId, Timestamp, ToolChoice, ToolDeclaration, ToolId,
    ToolRegistry, ToolTurnContract, gate::Admission,
};
use serde_json::{Value, json};
use support::{admit, asking, compiled, decode, prepare, profile, registry, requested, tool};

fn resolve(profile: &Profile, name: &str, grants: &[Grant], yes: bool) -> Resolution {
    let decided =
        prepare(profile, name, json!({"text": "x"})).unwrap().decide(&ConsentEnvironment::default());
    let (run, session) = (RunId::new("r"), SessionId::new("s"));
    let approval = ApprovalMode::Ask;
    decided.resolve(Standing { grants, yes, approval, run: &run, session: &session, now: Timestamp(5) })
}

/// The question about a call, as a host puts it.
fn question_of(asking: &AskingCall) -> Question {
    asking.question(Opening {
        id: ConsentId::new("q"),
        session: SessionId::new("s"),
        run: RunId::new("r"),
        invocation: InvocationId::new("i_child"),
        folder: Some("/p".into()),
        deadline: None,
    })
}

/// A yes to what `question` showed.
fn said(question: &Question, answer: Answer) -> Closing {
    Closing::Answered {
        answer,
        surface: "terminal".into(),
        by: Some("anna".into()),
        shown: Some(question.digest),
    }
}

/// Nothing has changed since `question` was put.
fn unchanged(question: &Question) -> Circumstances {
    Circumstances { folder: question.folder.clone(), policy: question.policy.unwrap() }
}

fn close(
    asking: AskingCall,
    question: &Question,
    closing: &Closing,
) -> Result<(AuthorizedCall, Grant), Box<Refused>> {
    asking.close(question, closing, &unchanged(question), (GrantId::new("g"), Timestamp(9)))
}

fn asking_call(profile: &Profile, name: &str) -> AskingCall {
    match resolve(profile, name, &[], false) {
        Resolution::Asking(asking) => asking,
        other => panic!("{other:?}"),
    }
}

// SNP-03, SNP-04, ALI-01
#[test]
fn a_snapshot_keeps_the_order_of_the_profile_and_deny_beats_allow() {
    let mut profile = profile();
    profile.tools.allow = ["t.last", "t.plain", "t.asks"].map(ToolId::builtin).to_vec();
    profile.tools.deny = vec![ToolId::builtin("t.plain")];
    profile.tools.alias.insert(ToolId::builtin("t.asks"), "question".into());
    profile.budgets.calls_of.insert(ToolId::builtin("t.last"), 2);
    let tools = compiled(&profile);
    let bindings: Vec<_> =
        tools.snapshot().bindings.iter().map(|b| (b.alias.as_str(), b.max_calls_per_invocation)).collect();
    assert_eq!(bindings, [("t_last", Some(2)), ("question", None)]);
    assert_eq!(tools.snapshot().max_calls_per_invocation, 80);
    assert!(tools.by_alias("t_plain").is_none() && tools.by_id(&ToolId::builtin("t.plain")).is_none());
}

// SNP-01, SNP-02, SNP-08, SNP-09, SNP-12, JRN-02
#[test]
fn a_snapshot_is_pure_stored_whole_and_named_by_its_invocation() {
    let (one, two) = (compiled(&profile()), compiled(&profile()));
    assert_eq!(one.snapshot(), two.snapshot());
    assert_eq!(one.snapshot().path(), "input/invocations/i_1/tool_snapshot.json");
    let stored = serde_json::to_value(one.snapshot()).unwrap();
    assert_eq!(stored["version"], 1);
    assert_eq!(stored["invocation"], "i_1");
    assert_eq!(stored["bindings"][0]["descriptor"]["input_schema"], support::schema());
    let read: haft_core::InvocationToolSnapshot = serde_json::from_value(stored).unwrap();
    assert_eq!(&read, one.snapshot());
}

#[test]
fn a_profile_that_names_nobody_is_an_error_with_suggestions() {
    let mut profile = profile();
    profile.tools.allow.push(ToolId::builtin("t.plian"));
    let error = compile(InvocationId::new("i"), &profile, &registry()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "profile `test`, tools.allow: there is no tool `builtin:t.plian`; did you mean builtin:t.plain?"
    );
}

#[test]
fn two_own_tools_with_one_alias_are_a_compile_error() {
    let mut profile = profile();
    profile.tools.alias.insert(ToolId::builtin("t.asks"), "t_plain".into());
    let error = compile(InvocationId::new("i"), &profile, &registry()).unwrap_err();
    assert!(matches!(error, CompileError::AliasClash { alias, .. } if alias == "t_plain"));
    profile.tools.alias.insert(ToolId::builtin("t.asks"), "no blanks here".into());
    assert!(matches!(
        compile(InvocationId::new("i"), &profile, &registry()),
        Err(CompileError::BadAlias { .. })
    ));
}

// TRN-01, TRN-03, CTX-05, DES-01
#[test]
fn the_model_sees_alias_description_and_schema_and_no_injected_parameter() {
    let mut registry = ToolRegistry::default();
    let id = ToolId::builtin("t.file");
    registry
        .register(tool(id.clone(), |facts| {
            facts.injections =
                vec![Injection { parameter: "project_id".into(), source: InjectionSource::ProjectId }];
        }))
        .unwrap();
    let mut profile = Profile::new("p");
    profile.tools.allow = vec![id.clone()];
    let tools = compile(InvocationId::new("i"), &profile, &registry).unwrap();
    let contract = ToolTurnContract::all(&tools);
    assert_eq!(
        serde_json::to_value(&contract).unwrap(),
        json!({"tools": ["builtin:t.file"], "choice": {"kind": "auto"}})
    );
    let seen = model_tools(&tools, &contract);
    assert_eq!((seen[0].alias.as_str(), seen[0].description.as_str()), ("t_file", "Says the same again."));
    assert!(seen[0].input_schema.property("project_id").is_none());
    assert!(tools.tools()[0].schema().property("project_id").is_some());
}

// ALI-06, ALI-07, EXE-09, CONFLICT-03
#[test]
fn names_are_looked_up_in_this_turn_alone() {
    let tools = compiled(&profile());
    let contract = ToolTurnContract { tools: vec![ToolId::builtin("t.plain")], choice: ToolChoice::Auto };
    let names = ["t_plain", "t_asks", "builtin:t.plain", "t.plain", "t_plian"];
    let attempts =
        decode(&tools, &contract, 3, names.iter().map(|name| requested(name, json!({}))).collect());
    let texts: Vec<_> = attempts
        .iter()
        .map(|attempt| match attempt {
            Attempt::Call(call) => format!("call {} {}", call.call_id, call.tool_id),
            Attempt::Foreseen(call) => panic!("{call:?}"),
            Attempt::Malformed(call) => format!("{} {}", call.code, call.reason),
        })
        .collect();
    assert_eq!(texts[0], "call c_i_1_3_1 builtin:t.plain");
    assert_eq!(texts[4], "agent.unknown_tool There is no tool `t_plian`. Did you mean t_plain?");
    assert!(texts[1..].iter().all(|text| text.starts_with("agent.unknown_tool")), "{texts:?}");
}

// CONFLICT-31, JRN-04
#[test]
fn the_host_names_each_call_and_keeps_the_wire_id_apart() {
    let tools = compiled(&profile());
    let contract = ToolTurnContract::all(&tools);
    let same = |id: &str| RequestedCall::Call {
        name: "t_plain".into(),
        arguments: Default::default(),
        wire_id: Some(id.into()),
        provider_metadata: Some(json!({"signature": "xyz"})),
        repairs: Vec::new(),
    };
    let attempts = decode(&tools, &contract, 1, vec![same("../../x"), same("../../x")]);
    let ids: Vec<_> = attempts.iter().map(|attempt| attempt.call_id().as_str()).collect();
    assert_eq!(ids, ["c_i_1_1_1", "c_i_1_1_2"]);
    let Attempt::Call(call) = &attempts[0] else { panic!() };
    assert_eq!(call.wire_id.as_ref().map(haft_core::WireId::as_str), Some("../../x"));
    assert_eq!(call.provider_metadata, Some(json!({"signature": "xyz"})));
}

// COE-01, COE-04, CTX-05
#[test]
fn preparing_coerces_fills_defaults_and_gives_canonical_bytes() {
    let one = prepare(&profile(), "t_plain", json!({"text": "x", "count": " 7 "})).unwrap();
    assert_eq!(one.arguments().canonical(), br#"{"count":7,"text":"x"}"#);
    let two = prepare(&profile(), "t_plain", json!({"count": 7.0, "text": "x"})).unwrap();
    assert_eq!(one.arguments().digest(), two.arguments().digest());
    let three = prepare(&profile(), "t_plain", json!({"text": "x"})).unwrap();
    assert_eq!(three.arguments().get("count"), Some(&json!(10)));
}

// COE-03, COE-05, COE-06, ERR-02
#[test]
fn arguments_that_do_not_fit_become_a_result_that_says_what_to_mend() {
    for (arguments, wanted) in [
        (json!({}), "text"),
        (json!({"text": "x", "nope": 1}), "nope"),
        (
            json!({"txet": "x"}),
            "missing required parameter \"text\" (string); unknown parameter \"txet\" (did you mean \"text\"?)",
        ),
        (json!({"text": "x", "mode": "c"}), "mode"),
        (json!({"text": "x", "count": "many"}), "count"),
    ] {
        let refused = prepare(&profile(), "t_plain", arguments).unwrap_err();
        assert_eq!(refused.code, ErrorCode::INVALID_ARGUMENTS);
        assert!(refused.message.contains(wanted), "{}", refused.message);
        assert!(refused.to_result().is_error);
    }
}

// CTX-01, CTX-02
#[test]
fn injected_values_overwrite_the_models_and_without_context_none_is_injected() {
    let mut registry = ToolRegistry::default();
    let id = ToolId::builtin("t.file");
    let inject = |facts: &mut haft_core::ToolFacts| {
        facts.injections =
            vec![Injection { parameter: "project_id".into(), source: InjectionSource::ProjectId }];
    };
    registry.register(tool(id.clone(), inject)).unwrap();
    let mut profile = Profile::new("p");
    profile.tools.allow = vec![id];
    let run = |values: &InjectedValues| {
        let tools = compile(InvocationId::new("i_1"), &profile, &registry).unwrap();
        let contract = ToolTurnContract::all(&tools);
        let attempts = decode(
            &tools,
            &contract,
            1,
            vec![requested("t_file", json!({"text": "x", "project_id": "theirs"}))],
        );
        let Admission::Admitted(call) = Gate::new(tools).admit(&contract, attempts).remove(0) else {
            panic!()
        };
        call.prepare(values).unwrap().arguments().get("project_id").cloned()
    };
    let values = InjectedValues { project_id: Some("ours".into()), model: None };
    assert_eq!(run(&values), Some(json!("ours")));
    assert_eq!(run(&InjectedValues::default()), None);
}

// POL-08, POL-09
#[test]
fn a_tool_outside_the_profile_is_invisible_and_refused() {
    let mut narrow = profile();
    narrow.tools.allow.truncate(1);
    let tools = compiled(&narrow);
    let contract = ToolTurnContract::all(&tools);
    assert_eq!(model_tools(&tools, &contract).len(), 1);
    let attempts = decode(
        &compiled(&profile()),
        &ToolTurnContract::all(&compiled(&profile())),
        1,
        vec![requested("t_asks", json!({}))],
    );
    let Admission::Refused(refused) = Gate::new(tools).admit(&contract, attempts).remove(0) else { panic!() };
    assert_eq!(refused.code, ErrorCode::UNKNOWN_TOOL);
}

// POL-10, APR-01, APR-02
#[test]
fn the_profiles_permission_replaces_the_tools_default() {
    assert!(matches!(resolve(&profile(), "t_plain", &[], false), Resolution::Authorized(_)));
    assert!(matches!(resolve(&profile(), "t_asks", &[], false), Resolution::Asking(_)));
    let mut turned = profile();
    turned.tools.permission.insert(ToolId::builtin("t.plain"), Permission::Ask);
    turned.tools.permission.insert(ToolId::builtin("t.asks"), Permission::Allow);
    turned.tools.permission.insert(ToolId::builtin("t.last"), Permission::Deny);
    assert!(matches!(resolve(&turned, "t_plain", &[], false), Resolution::Asking(_)));
    assert!(matches!(resolve(&turned, "t_asks", &[], false), Resolution::Authorized(_)));
    let Resolution::Refused(refused) = resolve(&turned, "t_last", &[], true) else { panic!() };
    assert_eq!(refused.code, ErrorCode::TOOL_DENIED);
    assert_eq!(refused.decision.map(|decision| decision.outcome), Some(Outcome::Deny));
}

// APR-02
#[test]
fn a_grant_or_yes_stands_in_for_an_answer_but_never_for_one_asked_every_time() {
    let grant = |scope: Scope, tool: &str| {
        let lifetime = Lifetime::Session(SessionId::new("s"));
        Grant::new(GrantId::new("g"), ToolId::builtin(tool), scope, lifetime, "--allow", Timestamp(1))
    };
    let by = |resolution: Resolution| match resolution {
        Resolution::Authorized(call) => call.granted_by().map(str::to_owned),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        by(resolve(&profile(), "t_asks", &[grant(Scope::Tool, "t.asks")], true)).as_deref(),
        Some("--allow")
    );
    assert_eq!(by(resolve(&profile(), "t_asks", &[], true)).as_deref(), Some("--yes"));
    assert!(matches!(
        resolve(&profile(), "t_asks", &[grant(Scope::Tool, "t.plain")], false),
        Resolution::Asking(_)
    ));
    assert!(matches!(
        resolve(&profile(), "t_every", &[grant(Scope::Tool, "t.every")], true),
        Resolution::Asking(_)
    ));
    let elsewhere =
        Grant { lifetime: Lifetime::Session(SessionId::new("other")), ..grant(Scope::Tool, "t.asks") };
    assert!(matches!(resolve(&profile(), "t_asks", &[elsewhere], false), Resolution::Asking(_)));
    let over = Grant { lifetime: Lifetime::Until(Timestamp(5)), ..grant(Scope::Tool, "t.asks") };
    assert!(matches!(resolve(&profile(), "t_asks", &[over], false), Resolution::Asking(_)));
}

// APR-06
#[test]
fn a_no_silence_and_a_missing_surface_are_results() {
    let no = Answer::Deny { reason: Some("use the copy".into()) };
    let closings = [
        (
            Closing::Answered { answer: no, surface: "terminal".into(), by: None, shown: None },
            "The person refused `t_asks` and says: use the copy",
        ),
        (
            Closing::Expired,
            "`t_asks` was refused: nobody answered in time. Ask the person before you try again.",
        ),
        (Closing::NoSurface, "`t_asks` was refused: it needs a person's yes, and nobody is there to ask."),
    ];
    for (closing, text) in closings {
        let asking = asking_call(&profile(), "t_asks");
        let question = question_of(&asking);
        let refused = close(asking, &question, &closing).unwrap_err();
        assert_eq!((refused.code.clone(), refused.message.as_str()), (ErrorCode::TOOL_DENIED, text));
        assert!(refused.to_result().is_error);
    }
    let asking = asking_call(&profile(), "t_asks");
    let question = question_of(&asking);
    assert_eq!(close(asking, &question, &Closing::Cancelled).unwrap_err().code, ErrorCode::CALL_CANCELLED);
}

// APR-25
#[test]
fn a_question_says_all_that_a_person_must_know() {
    let asking = asking_call(&profile(), "t_asks");
    let question = question_of(&asking);
    assert_eq!(
        (question.title.as_str(), question.source.as_str(), question.effect.as_str()),
        ("Asks", "builtin", "only looks")
    );
    assert_eq!(question.run, RunId::new("r"), "the root run, whichever agent asks");
    assert_eq!(question.invocation, Some(InvocationId::new("i_child")));
    assert_eq!(
        (question.arguments.clone(), question.digest),
        (json!({"text": "x", "count": 10}), asking.arguments().digest())
    );
    assert_eq!(
        (question.folder.as_deref(), question.policy),
        (Some("/p"), Some(compiled(&profile()).policy_version()))
    );
    assert_eq!(question.rule, "permission of `t_asks`: ask");
    assert_eq!(question.scopes.len(), question.examples.len());
    assert!(!question.scopes.is_empty());
    // Stored and read again it is the same; an older journal's question can still be read.
    let mut stored = serde_json::to_value(&question).unwrap();
    assert_eq!(serde_json::from_value::<Question>(stored.clone()).unwrap(), question);
    for added in ["invocation", "source", "effect", "folder", "policy", "examples", "reason"] {
        stored.as_object_mut().unwrap().remove(added);
    }
    let old: Question = serde_json::from_value(stored).unwrap();
    assert_eq!((old.policy, old.examples.len(), old.source.as_str()), (None, 0, ""));
}

// Pains 3, 22: one set of bytes is decided, shown and run.
#[test]
fn an_answer_is_bound_to_the_bytes_it_was_given_for() {
    let question = question_of(&asking_call(&profile(), "t_asks"));
    let decided = prepare(&profile(), "t_asks", json!({"text": "other"}))
        .unwrap()
        .decide(&ConsentEnvironment::default());
    let (run, session) = (RunId::new("r"), SessionId::new("s"));
    let approval = ApprovalMode::Ask;
    let standing =
        Standing { grants: &[], yes: false, approval, run: &run, session: &session, now: Timestamp(0) };
    let Resolution::Asking(other) = decided.resolve(standing) else { panic!() };
    assert_eq!(
        close(other, &question, &said(&question, Answer::Once)).unwrap_err().message,
        "`t_asks` was refused: the answer belongs to another call. Nothing was run; call it again, and the person is asked again."
    );
    let refusal = |change: &dyn Fn(&mut Option<Digest>, &mut Circumstances)| {
        let asking = asking_call(&profile(), "t_asks");
        let question = question_of(&asking);
        let (mut shown, mut now) = (Some(question.digest), unchanged(&question));
        change(&mut shown, &mut now);
        let yes = Closing::Answered { answer: Answer::Once, surface: "web".into(), by: None, shown };
        match asking.close(&question, &yes, &now, (GrantId::new("g"), Timestamp(1))) {
            Ok(_) => None,
            Err(refused) => {
                assert_eq!(refused.code, ErrorCode::TOOL_DENIED);
                assert!(refused.message.ends_with("call it again, and the person is asked again."));
                refused.message.split(". Nothing").next().map(str::to_owned)
            }
        }
    };
    assert_eq!(refusal(&|_, _| {}), None);
    let other_bytes = Some("`t_asks` was refused: the answer was given for other arguments".to_owned());
    assert_eq!(refusal(&|shown, _| *shown = Some(Digest::of(b"other"))), other_bytes);
    assert_eq!(refusal(&|shown, _| *shown = None), other_bytes);
    let moved = Some("`t_asks` was refused: the working folder changed while the question stood".to_owned());
    assert_eq!(refusal(&|_, now| now.folder = Some("/q".into())), moved);
    assert_eq!(refusal(&|_, now| now.folder = None), moved);
    let rules = Some("`t_asks` was refused: the rules changed while the question stood".to_owned());
    assert_eq!(refusal(&|_, now| now.policy = Digest::of(b"other")), rules);
}

#[test]
fn only_what_was_offered_can_be_granted_and_every_time_is_never_remembered() {
    let answered = |name: &str, answer: &dyn Fn() -> Answer| {
        let asking = asking_call(&profile(), name);
        let question = question_of(&asking);
        close(asking, &question, &said(&question, answer())).map(|(call, grant)| {
            assert_eq!(call.grant(), Some(&grant.id));
            assert_eq!((grant.by.as_deref(), grant.given), (Some("anna"), Timestamp(9)));
            (grant.scope, grant.lifetime)
        })
    };
    let session = |scope: Scope| move || Answer::Session { scope: scope.clone() };
    let tool = answered("t_asks", &session(Scope::Tool)).unwrap();
    assert_eq!(tool, (Scope::Tool, Lifetime::Session(SessionId::new("s"))));
    let run = answered("t_asks", &|| Answer::Run { scope: Scope::Tool }).unwrap();
    assert_eq!(run.1, Lifetime::Run(RunId::new("r")));
    let until = answered("t_asks", &|| Answer::Until { scope: Scope::Tool, time: Timestamp(99) }).unwrap();
    assert_eq!(until.1, Lifetime::Until(Timestamp(99)));
    assert_eq!(answered("t_asks", &|| Answer::Once).unwrap().1, Lifetime::Once);
    let refused = answered("t_asks", &session(Scope::Path("/".into()))).unwrap_err();
    assert!(refused.message.contains("the answer grants what was not offered"), "{}", refused.message);
    assert!(answered("t_every", &session(Scope::File("/a/b".into()))).is_err());
    assert_eq!(answered("t_every", &|| Answer::Once).unwrap().1, Lifetime::Once);
}

#[test]
fn a_guard_that_fails_refuses() {
    let mut registry = ToolRegistry::default();
    let id = ToolId::builtin("t.broken");
    registry.register(asking(id.clone(), |_| {}, Err(haft_core::ToolError::failed("no idea")))).unwrap();
    let mut profile = Profile::new("p");
    profile.tools.allow = vec![id];
    let tools = compile(InvocationId::new("i_1"), &profile, &registry).unwrap();
    let contract = ToolTurnContract::all(&tools);
    let attempts = decode(&tools, &contract, 1, vec![requested("t_broken", json!({"text": "x"}))]);
    let Admission::Admitted(call) = Gate::new(tools).admit(&contract, attempts).remove(0) else { panic!() };
    let decided = call.prepare(&InjectedValues::default()).unwrap().decide(&ConsentEnvironment::default());
    assert_eq!(decided.decision().outcome, Outcome::Deny);
}

#[test]
fn no_call_starts_without_its_own_committed_intent() {
    let authorized = |name: &str| match resolve(&profile(), name, &[], true) {
        Resolution::Authorized(call) => call,
        other => panic!("{other:?}"),
    };
    let run = RunId::new("r");
    let empty = Batch::new(run.clone()).committed(Vec::new(), haft_core::journal::Head::empty());
    let mut empty = empty;
    assert!(authorized("t_plain").start(&mut empty).is_err());

    let call = authorized("t_plain");
    let mut batch = Batch::new(run);
    batch.start(Timestamp(1), &call).unwrap();
    let (records, head) = batch.seal(haft_core::journal::Head::empty());
    assert_eq!(records[0].kind, "tool_call_started");
    let mut committed = batch.committed(records, head);
    assert!(call.start(&mut committed).is_ok());
    // The same intent starts no second call with the same id.
    assert!(authorized("t_plain").start(&mut committed).is_err());
}

#[test]
fn a_started_record_cannot_be_written_by_hand() {
    let payload = haft_core::Payload::ToolCallStarted(haft_core::journal::ToolCallStarted {
        call_id: haft_core::CallId::new("c"),
        tool_id: ToolId::builtin("t.plain"),
    });
    assert!(Batch::new(RunId::new("r")).record(Timestamp(0), &payload).is_err());
}

// CAT-01, CAT-02, CAT-05, CAT-06, CAT-07, CAT-08
#[test]
fn the_catalog_is_made_of_declarations_and_lists_no_alias_and_no_right() {
    let catalog = registry().catalog();
    assert_eq!(catalog.iter().count(), 4);
    let listed = serde_json::to_value(catalog.list()).unwrap();
    let keys: Vec<&String> = listed[0].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["tool_id", "provider", "title", "description", "input_schema", "annotations"]);
    let twice = [ToolId::own("x"), ToolId::own("x")]
        .map(|id| ToolDeclaration::new(id, "", json!({"type": "object"}), Effect::Read).unwrap().descriptor);
    assert_eq!(haft_core::ToolCatalog::new(twice).unwrap_err().0, ToolId::own("x"));
}

// DES-02, DES-03
#[test]
fn a_schema_reaches_the_provider_unchanged() {
    let formats = registry().list_all();
    assert_eq!(formats[0]["function"]["name"], "t_plain");
    assert_eq!(formats[0]["function"]["parameters"], support::schema());
    assert_eq!(formats[0]["type"], Value::String("function".into()));
}

// DES-06
#[test]
fn effects_say_what_changes_and_what_steers() {
    let table = [Effect::Read, Effect::Write, Effect::Control, Effect::WriteControl]
        .map(|e| (e.writes(), e.controls()));
    assert_eq!(table, [(false, false), (true, false), (false, true), (true, true)]);
}

// GAT-05
#[test]
fn an_admitted_call_knows_its_tool() {
    let call = admit(&profile(), "t_plain", json!({"text": "x"}));
    assert_eq!(call.tool().id(), &ToolId::builtin("t.plain"));
}

// DES-09
#[test]
fn the_profiles_description_is_frozen_in_the_snapshot() {
    let mut described = profile();
    described.tools.description.insert(ToolId::builtin("t.plain"), "Use this first.".into());
    let tools = compiled(&described);
    assert_eq!(tools.snapshot().bindings[0].descriptor.description, "Use this first.");
    assert_eq!(model_tools(&tools, &ToolTurnContract::all(&tools))[0].description, "Use this first.");
    assert_eq!(compiled(&profile()).snapshot().bindings[0].descriptor.description, "Says the same again.");
}

// RES-07
#[test]
fn a_result_belongs_to_its_call_and_its_tool_alone() {
    let result = admit(&profile(), "t_plain", json!({"text": "x"}))
        .refuse(ErrorCode::TOOL_DENIED, "no".into())
        .to_result();
    let (call, tool) = (haft_core::CallId::new("c_i_1_1_1"), ToolId::builtin("t.plain"));
    assert!(result.belongs_to(&call, &tool));
    assert!(!result.belongs_to(&haft_core::CallId::new("c_i_1_1_2"), &tool));
    assert!(!result.belongs_to(&call, &ToolId::builtin("t.asks")));
}

// RES-06, RES-12
#[test]
fn a_stored_result_has_these_fields_and_none_in_advance() {
    let result = admit(&profile(), "t_plain", json!({"text": "x"}))
        .refuse(ErrorCode::TOOL_DENIED, "no".into())
        .to_result();
    let stored = serde_json::to_value(result).unwrap();
    let keys: Vec<&String> = stored.as_object().unwrap().keys().collect();
    let wanted = [
        "call_id",
        "tool_id",
        "alias",
        "content",
        "structured",
        "is_error",
        "error_code",
        "resource_refs",
        "ui",
        "metadata",
        "duration_ms",
        "skipped",
    ];
    assert_eq!(keys, wanted);
}

// APR-22, CONFLICT-12: off is for tools of MCP servers whose permission asks, and for nothing else.
#[test]
fn approval_mode_off_lets_asking_tools_of_mcp_servers_run() {
    let (mut registry, mut profile) = (ToolRegistry::default(), Profile::new("t"));
    let ids: Vec<ToolId> = ["mcp/5f0c:issue.create", "mcp/5f0c:every", "ext/own:write"]
        .iter()
        .map(|id| id.parse().unwrap())
        .collect();
    for id in &ids {
        let ask = Ask { every_time: id.native_name() == "every", ..Ask::default() };
        registry.register(asking(id.clone(), |facts| facts.permission = Permission::Ask, Ok(ask))).unwrap();
        profile.tools.allow.push(id.clone());
    }
    let tools = compile(InvocationId::new("i_1"), &profile, &registry).unwrap();
    let by = |id: &ToolId, approval: ApprovalMode| {
        let alias = tools.by_id(id).unwrap().binding().alias.clone();
        let contract = ToolTurnContract::all(&tools);
        let attempts = decode(&tools, &contract, 1, vec![requested(&alias, json!({"text": "x"}))]);
        let Admission::Admitted(call) = Gate::new(tools.clone()).admit(&contract, attempts).remove(0) else {
            panic!()
        };
        let decided =
            call.prepare(&InjectedValues::default()).unwrap().decide(&ConsentEnvironment::default());
        let (run, session) = (RunId::new("r"), SessionId::new("s"));
        let standing =
            Standing { grants: &[], yes: false, approval, run: &run, session: &session, now: Timestamp(5) };
        match decided.resolve(standing) {
            Resolution::Authorized(call) => Some(call.granted_by().unwrap().to_owned()),
            Resolution::Asking(_) => None,
            Resolution::Refused(refused) => panic!("{refused:?}"),
        }
    };
    assert_eq!(by(&ids[0], ApprovalMode::Off).as_deref(), Some("approval.mode: off"));
    assert_eq!(by(&ids[0], ApprovalMode::Ask), None);
    assert_eq!((by(&ids[1], ApprovalMode::Off), by(&ids[2], ApprovalMode::Off)), (None, None));
    assert!(
        ApprovalMode::Off.notice().unwrap().contains("without asking")
            && ApprovalMode::Ask.notice().is_none()
    );
}
