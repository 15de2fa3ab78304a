//! Platform, plan and source: who is heard before whom, what a plan shows, and what an answer is bound to.

use haft_core::facts::Permission::{self, Allow, Ask, Deny};
use haft_core::policy::{Layer, Outcome, Plan, Policy, Rule, Ruling, WhyLost};
use haft_core::{Profile, ToolId};
use proptest::prelude::*;
use serde_json::json;

use crate::world::{decide, id, profile, rule, tools};

/// A profile in which each layer that has a decision says it of every `f.read`; the tool's default is allow.
fn says(layers: [Option<Permission>; 6]) -> Profile {
    let [user, platform, plan, own, permission, source] = layers;
    let rules = |decision: Option<Permission>| -> Vec<Rule> {
        // The path keeps a deny from hiding the tool.
        let rule = |decision| Rule { path: Some("a".into()), ..rule(1, "f.read", decision) };
        decision.into_iter().map(rule).collect()
    };
    let mut profile = profile(rules(user), rules(own));
    profile.policy.platform = rules(platform);
    profile.policy.plan = Some(Plan { name: "step 1".into(), allow: None, rules: rules(plan) });
    profile.policy.source.insert("builtin".into(), rules(source));
    profile.policy.source.insert("ext/other".into(), rules(Some(Deny)));
    if let Some(permission) = permission {
        profile.tools.permission.insert(id("builtin:f.read"), permission);
    }
    profile
}

fn word() -> impl Strategy<Value = Option<Permission>> {
    prop::sample::select(vec![None, Some(Allow), Some(Ask), Some(Deny)])
}

proptest! {
    // POL-01, POL-03, POL-04, POL-05, POL-06
    #[test]
    fn denies_first_then_the_first_layer_that_speaks(layers in prop::array::uniform6(word())) {
        let decision = decide(&says(layers), "f_read", json!({"path": "a"}));
        let expected = if layers.contains(&Some(Deny)) { Deny } else { layers.into_iter().flatten().next().unwrap_or(Allow) };
        prop_assert_eq!(decision.outcome, Outcome::from(expected));
        let names = [Layer::User, Layer::Platform, Layer::Plan, Layer::Profile, Layer::Profile, Layer::Source];
        let by = layers.into_iter().zip(names).find(|(said, _)| *said == Some(expected));
        prop_assert_eq!(decision.by.layer(), by.map_or(Layer::Tool, |(_, layer)| layer));
    }
}

// POL-04
#[test]
fn nothing_lifts_a_deny_of_the_platform() {
    let profile = says([Some(Allow), Some(Deny), Some(Allow), Some(Allow), Some(Allow), Some(Allow)]);
    let decision = decide(&profile, "f_read", json!({"path": "a"}));
    assert_eq!((decision.outcome, decision.by.layer()), (Outcome::Deny, Layer::Platform));
    assert!(decision.lost.iter().all(|lost| lost.why == WhyLost::DenyFirst));
    let hidden = Profile {
        policy: Policy { platform: vec![rule(1, "f_read", Deny)], ..Policy::default() },
        ..says([Some(Allow), None, None, None, None, None])
    };
    assert!(tools(&hidden).by_alias("f_read").is_none());
}

// POL-05: what the plan names is there, and nothing else; what the profile denies stays away.
#[test]
fn a_plans_tools_take_the_place_of_the_profiles() {
    let mut profile = profile(vec![], vec![]);
    profile.tools.allow = vec![id("builtin:f.read"), id("builtin:f.write")];
    profile.tools.deny = vec![id("builtin:w.get")];
    let under = |allow: &[&str]| {
        let allow: Vec<ToolId> = allow.iter().map(|name| id(name)).collect();
        tools(&profile.under(Plan { name: "look".into(), allow: Some(allow), rules: vec![] }))
    };
    let names = |tools: haft_core::CompiledTools| -> Vec<String> {
        tools.tools().iter().map(|tool| tool.binding().alias.clone()).collect()
    };
    assert_eq!(names(under(&["builtin:f.read", "builtin:w.get"])), ["f_read"]);
    assert_eq!(names(under(&["builtin:t.asks"])), ["t_asks"], "a plan outranks the profile's allow");
    assert_eq!(names(under(&[])), [""; 0]);
    let only_rules = profile.under(Plan { rules: vec![rule(1, "f_write", Allow)], ..Plan::default() });
    assert_eq!(decide(&only_rules, "f_write", json!({"file_path": "a"})).by.layer(), Layer::Plan);
}

#[test]
fn the_rules_of_a_source_are_about_its_tools_alone() {
    let mut profile = profile(vec![], vec![]);
    profile.policy.source.insert("mcp/5f0c".into(), vec![rule(1, "f.read", Ask)]);
    let outcome = |alias| decide(&profile, alias, json!({"path": "a"})).outcome;
    assert_eq!(outcome("foreign_read"), Outcome::Ask);
    assert_eq!(outcome("f_read"), Outcome::Allow);
    // An allow there may name the tool as its server does: it cannot be another's.
    profile.policy.source.insert("mcp/5f0c".into(), vec![rule(1, "f.read", Allow)]);
    profile.tools.permission.clear();
    let decision = decide(&profile, "foreign_read", json!({"path": "a"}));
    assert!(matches!(decision.by, Ruling::Rule { layer: Layer::Source, .. }), "{decision:?}");
}

// harness-pains §5 item 23: what an answer is bound to changes with all that decided that somebody was asked.
#[test]
fn the_version_of_a_policy_changes_with_every_layer_and_permission() {
    let none = [None; 6];
    let version = |profile: &Profile| tools(profile).policy_version();
    let base = version(&says(none));
    assert_eq!(base, version(&says(none)), "the same policy has the same version");
    let mut seen = vec![base];
    for at in 0..none.len() {
        let mut one = none;
        one[at] = Some(Ask);
        seen.push(version(&says(one)));
    }
    let changed = |change: fn(&mut Profile)| {
        let mut profile = says(none);
        change(&mut profile);
        version(&profile)
    };
    seen.push(changed(|profile| profile.name = "other".into()));
    seen.push(changed(|profile| drop(profile.tools.allow.pop())));
    seen.push(changed(|profile| profile.tools.deny.push(id("builtin:w.get"))));
    seen.push(changed(|profile| drop(profile.tools.alias.insert(id("builtin:w.get"), "get".into()))));
    seen.push(changed(|profile| profile.policy.default = Some(Deny)));
    seen.push(changed(|profile| profile.approval = haft_core::profile::ApprovalMode::Off));
    seen.push(changed(|profile| profile.taint.ask = false));
    for (at, version) in seen.iter().enumerate() {
        assert!(!seen[..at].contains(version), "{at}");
    }
    let tools = tools(&says(none));
    assert!(tools.tools().iter().all(|tool| tool.policy_version() == base));
}

// POL-11, POL-12, CONFLICT-17, APR-24: whatever changes, reaches outside, steers or is foreign can be asked by what it does, not by name.
#[test]
fn tools_can_be_asked_by_what_they_do() {
    use haft_core::policy::{EffectMatch, Glob};
    let by = |effect| Rule { effect: Some(effect), ..rule(1, "*", Ask) };
    let outcome = |rules: Vec<Rule>, alias| decide(&profile(rules, vec![]), alias, json!({})).outcome;
    assert_eq!(outcome(vec![by(EffectMatch::Write)], "x_run"), Outcome::Ask);
    assert_eq!(outcome(vec![by(EffectMatch::OpenWorld)], "w_get"), Outcome::Ask);
    assert_eq!(outcome(vec![by(EffectMatch::Control)], "t_ends"), Outcome::Ask);
    assert_eq!(outcome(vec![by(EffectMatch::Control)], "f_read"), Outcome::Allow);
    assert_eq!(
        outcome(vec![Rule { mcp: Some(Glob::new("*")), ..rule(1, "*", Ask) }], "foreign_read"),
        Outcome::Ask
    );
    // A tool that a profile does not name is not there, whatever provider brings it.
    let mut named = profile(vec![rule(1, "*", Allow)], vec![]);
    named.tools.allow = vec![id("builtin:f.read")];
    assert!(tools(&named).by_alias("sh_run").is_none() && tools(&named).by_alias("foreign_read").is_none());
}

// A guard that fails, refuses: a tool that cannot say what a call means, or dies over it.
#[test]
fn a_tool_that_cannot_say_what_a_call_means_is_refused() {
    for alias in ["t_fails", "t_panics"] {
        let decision = decide(&profile(vec![rule(1, "*", Allow)], vec![]), alias, json!({}));
        assert_eq!((decision.outcome, decision.by), (Outcome::Deny, Ruling::Broken), "{alias}");
    }
}
