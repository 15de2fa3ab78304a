//! The order of layers against a small model that says the same in another way.

use haft_core::facts::Permission::{self, Allow, Ask, Deny};
use haft_core::policy::{Outcome, Rule};
use proptest::prelude::*;
use serde_json::json;

use crate::world::{decide, id, profile, rule};

fn permission() -> impl Strategy<Value = Permission> {
    prop::sample::select(vec![Allow, Ask, Deny])
}

/// A rule, and whether it is about a read of `a/b`.
fn any_rule() -> impl Strategy<Value = (Rule, bool)> {
    let tool = prop::sample::select(vec![("f_*", true), ("f.read", true), ("w_*", false)]);
    // The whole folder of a deny without a path would hide the tool.
    let path =
        prop::sample::select(vec![("a", true), ("a/b", true), ("a/bc", false), ("b", false), ("A", false)]);
    (tool, permission(), path).prop_map(|((tool, by_tool), decision, (path, by_path))| {
        // A deny or an ask does not trust the case of a name.
        let by_path = by_path || (path == "A" && decision != Allow);
        (Rule { path: Some(path.into()), ..rule(1, tool, decision) }, by_tool && by_path)
    })
}

/// Denies first; then the first that speaks.
fn expected(user: &[(Rule, bool)], own: &[(Rule, bool)], permission: Permission) -> Outcome {
    let speaking: Vec<Permission> =
        user.iter().chain(own).filter(|(_, about)| *about).map(|(rule, _)| rule.decision).collect();
    if permission == Deny || speaking.contains(&Deny) {
        return Outcome::Deny;
    }
    Outcome::from(speaking.first().copied().unwrap_or(permission))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    // POL-01, POL-03, POL-06
    #[test]
    fn decisions_follow_the_order_of_layers(
        user in prop::collection::vec(any_rule(), 0..5),
        own in prop::collection::vec(any_rule(), 0..5),
        permission in permission(),
    ) {
        let rules = |rules: &[(Rule, bool)]| rules.iter().map(|(rule, _)| rule.clone()).collect::<Vec<_>>();
        let mut profile = profile(rules(&user), rules(&own));
        profile.tools.permission.insert(id("builtin:f.read"), permission);
        let decision = decide(&profile, "f_read", json!({"path": "a/b"}));
        prop_assert_eq!(decision.outcome, expected(&user, &own, permission));
        // Everybody who speaks is named once: the decider and the losers, the permission among them.
        let speaking = user.iter().chain(&own).filter(|(_, about)| *about).count();
        prop_assert_eq!(decision.lost.len(), speaking);
    }
}
