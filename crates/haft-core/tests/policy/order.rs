//! Who is heard first, and what a decision says of itself.

use haft_core::Grant;
use haft_core::facts::Permission::{Allow, Ask, Deny};
use haft_core::path::{Resolution, Standing};
use haft_core::policy::{EffectMatch, Glob, Layer, Outcome, Rule, Ruling, ValueMatch, ValueTest, WhyLost};
use haft_core::profile::ApprovalMode;
use haft_core::{GrantId, Lifetime, RunId, Scope, SessionId, Timestamp};
use serde_json::json;

use crate::world::{decide, decided, id, in_project, profile, rule, tools};

// POL-01: the inputs are the user's rules, the profile's, the profile's permission, the tool's default, and the budget.
#[test]
fn the_first_layer_that_speaks_decides_between_allow_and_ask() {
    let outcome = |profile: &_| decide(profile, "f_write", json!({"file_path": "a"})).outcome;
    assert_eq!(outcome(&profile(vec![], vec![])), Outcome::Ask, "the tool's default");
    let mut permitted = profile(vec![], vec![]);
    permitted.tools.permission.insert(id("builtin:f.write"), Allow);
    assert_eq!(outcome(&permitted), Outcome::Allow, "the profile's permission");
    permitted.policy.profile = vec![rule(1, "f_write", Ask)];
    assert_eq!(outcome(&permitted), Outcome::Ask, "the profile's rule");
    permitted.policy.user = vec![rule(1, "f_write", Allow)];
    assert_eq!(outcome(&permitted), Outcome::Allow, "the user's rule");
    permitted.policy.user.insert(0, rule(1, "f_*", Ask));
    assert_eq!(outcome(&permitted), Outcome::Ask, "the first of the user's rules");
}

// POL-02
#[test]
fn a_decision_names_its_rule_the_losers_and_what_would_change_it() {
    let user = vec![rule(4, "f_write", Allow)];
    let own = vec![Rule { reason: Some("ask the owner.".into()), ..rule(9, "f_*", Ask) }];
    let decision = decide(&profile(user, own), "f_write", json!({"file_path": "a"}));
    assert_eq!((decision.outcome, decision.rule.as_str()), (Outcome::Allow, "haft.toml:4: allow `f_write`"));
    let lost: Vec<_> = decision.lost.iter().map(|lost| (lost.ruling.text("f_write"), lost.why)).collect();
    assert_eq!(
        lost,
        [
            ("haft.toml:9: ask `f_*` (ask the owner.)".to_owned(), WhyLost::LayerBefore(Layer::User)),
            ("permission of `f_write`: ask".to_owned(), WhyLost::LayerBefore(Layer::User)),
        ]
    );
    assert_eq!(
        decision.would_change("f_write"),
        [
            "a deny rule for this call, in haft.toml or in the profile",
            "an ask rule before the one at haft.toml:4, or that rule taken away",
        ]
    );
    let asked = decide(&profile(vec![], vec![]), "f_write", json!({"file_path": "a"}));
    assert_eq!(
        asked.would_change("f_write"),
        [
            "a person's yes, or one in advance: `--allow f_write` or `--yes`",
            "an allow rule for this call, in haft.toml or in the profile",
            "a deny rule for this call",
        ]
    );
}

// POL-03, POL-06: a deny of any layer beats every allow, wherever both stand.
#[test]
fn a_deny_beats_an_allow_in_every_order_of_layers() {
    let deny = || Rule { path: Some("secrets".into()), ..rule(2, "f_*", Deny) };
    let allow = || rule(1, "f_*", Allow);
    let table = [
        (vec![allow(), deny()], vec![]),
        (vec![deny(), allow()], vec![]),
        (vec![], vec![allow(), deny()]),
        (vec![], vec![deny(), allow()]),
        (vec![allow()], vec![deny()]),
        (vec![deny()], vec![allow()]),
    ];
    for (user, own) in table {
        let profile = profile(user, own);
        let inside = decide(&profile, "f_read", json!({"path": "secrets/key"}));
        assert_eq!(inside.outcome, Outcome::Deny, "{:?}", profile.policy);
        assert_eq!(decide(&profile, "f_read", json!({"path": "notes"})).outcome, Outcome::Allow);
    }
    // The profile's own permission is a deny as well, and the user's allow does not lift it.
    let mut denied = profile(vec![allow()], vec![]);
    denied.tools.permission.insert(id("builtin:f.read"), Deny);
    let decision = decide(&denied, "f_read", json!({"path": "a"}));
    assert_eq!((decision.outcome, decision.rule.as_str()), (Outcome::Deny, "permission of `f_read`: deny"));
}

// POL-06
#[test]
fn neither_a_grant_nor_yes_lifts_a_deny() {
    let deny = Rule {
        reason: Some("people read secrets".into()),
        path: Some("secrets".into()),
        ..rule(2, "*", Deny)
    };
    let profile = profile(vec![deny], vec![]);
    let (run, session) = (RunId::new("r"), SessionId::new("s"));
    let lifetime = Lifetime::Session(session.clone());
    let grant =
        Grant::new(GrantId::new("g"), id("builtin:f.read"), Scope::Tool, lifetime, "terminal", Timestamp(0));
    let call = decided(&profile, "f_read", json!({"path": "secrets/key"}), &in_project());
    let approval = ApprovalMode::Off;
    let standing =
        Standing { grants: &[grant], yes: true, approval, run: &run, session: &session, now: Timestamp(0) };
    let Resolution::Refused(refused) = call.resolve(standing) else { panic!("it was not refused") };
    // The model reads the reason and never where the rule stands.
    assert_eq!(refused.message, "`f_read` was refused: a rule forbids it: people read secrets.");
}

// POL-07: to need a yes is not to be denied.
#[test]
fn approval_is_not_deny() {
    let asking = profile(vec![rule(1, "f_read", Ask)], vec![]);
    let decision = decide(&asking, "f_read", json!({"path": "a"}));
    assert_eq!((decision.outcome, decision.question.as_deref()), (Outcome::Ask, Some("Run f_read?")));
    assert!(tools(&asking).by_alias("f_read").is_some());
}

// APR-08: a tool's own question comes on top of every allow.
#[test]
fn no_rule_removes_a_tools_own_question() {
    let decision = decide(&profile(vec![rule(1, "*", Allow)], vec![]), "t_asks", json!({}));
    assert_eq!((decision.outcome, decision.by), (Outcome::Ask, Ruling::OwnQuestion));
    assert_eq!(decision.lost[0].why, WhyLost::OwnQuestion);
}

// POL-08
#[test]
fn a_deny_without_a_look_at_calls_hides_the_tool_and_one_with_it_does_not() {
    let hides = |rule: Rule| {
        let tools = tools(&profile(vec![rule], vec![]));
        (tools.by_alias("f_read").is_none(), tools.hidden_by(&id("builtin:f.read")).is_some())
    };
    assert_eq!(hides(rule(1, "f_read", Deny)), (true, true));
    assert_eq!(hides(Rule { effect: Some(EffectMatch::Read), ..rule(1, "*", Deny) }), (true, true));
    assert_eq!(hides(Rule { agent: Some(Glob::new("te*")), ..rule(1, "*", Deny) }), (true, true));
    let seen = (false, false);
    assert_eq!(hides(Rule { agent: Some(Glob::new("other")), ..rule(1, "*", Deny) }), seen);
    assert_eq!(hides(Rule { path: Some("a".into()), ..rule(1, "*", Deny) }), seen);
    assert_eq!(hides(Rule { attended: Some(false), ..rule(1, "*", Deny) }), seen);
    assert_eq!(hides(rule(1, "f_read", Ask)), seen);
    assert_eq!(hides(Rule { mcp: Some(Glob::new("5f*")), ..rule(1, "*", Deny) }), seen);
    let server = tools(&profile(vec![Rule { mcp: Some(Glob::new("5f*")), ..rule(1, "*", Deny) }], vec![]));
    assert!(server.by_alias("foreign_read").is_none());
}

#[test]
fn a_rule_may_look_at_a_value_and_at_whether_a_person_is_there() {
    let of = |test| Some(ValueMatch { pointer: "/mode".into(), test });
    let equals = Rule { value: of(ValueTest::Equals(json!("wipe"))), ..rule(1, "f_read", Deny) };
    let fits = Rule { value: of(ValueTest::Glob(Glob::new("w*"))), ..rule(1, "f_read", Deny) };
    for rule in [equals, fits] {
        let profile = profile(vec![rule], vec![]);
        assert_eq!(decide(&profile, "f_read", json!({"mode": "wipe"})).outcome, Outcome::Deny);
        assert_eq!(decide(&profile, "f_read", json!({"mode": "read"})).outcome, Outcome::Allow);
        assert_eq!(decide(&profile, "f_read", json!({})).outcome, Outcome::Allow);
    }
    let alone = profile(vec![Rule { attended: Some(false), ..rule(1, "f_read", Deny) }], vec![]);
    let mut place = in_project();
    assert_eq!(decided(&alone, "f_read", json!({}), &place).decision().outcome, Outcome::Deny);
    place.attended = true;
    assert_eq!(decided(&alone, "f_read", json!({}), &place).decision().outcome, Outcome::Allow);
}
