//! What is told of rules before any call.

use haft_core::facts::Permission::{Allow, Ask, Deny};
use haft_core::policy::{EffectMatch, Glob, Policy, Rule, ValueMatch, ValueTest, check, lint};
use indexmap::IndexMap;
use serde_json::json;

use crate::world::{registry, rule};

fn told(rules: &[Rule]) -> Vec<String> {
    let problems = check(rules, &registry(), &IndexMap::new());
    let line = |hint: Option<String>| hint.map(|hint| format!("; {hint}")).unwrap_or_default();
    problems.into_iter().map(|one| format!("{}: {}{}", one.place, one.text, line(one.hint))).collect()
}

// harness-pains §5 item 11: a rule that is accepted and ignored.
#[test]
fn a_rule_that_can_never_match_is_an_error() {
    let never = [
        (rule(1, "f_raed", Deny), "no tool fits `f_raed`; did you mean `f_read`?"),
        (
            Rule { effect: Some(EffectMatch::Control), ..rule(1, "f_*", Deny) },
            "no tool that fits `f_*` has the effect `control`",
        ),
        (
            Rule { path: Some("a".into()), ..rule(1, "w_get", Deny) },
            "no tool that fits `w_get` has an argument that names a path",
        ),
        (
            Rule { path: Some("a".into()), host: Some("a.example".into()), ..rule(1, "*", Deny) },
            "no tool that fits `*` has an argument that names a host",
        ),
        (
            Rule {
                value: Some(ValueMatch { pointer: "/moed".into(), test: ValueTest::Equals(json!(1)) }),
                ..rule(1, "f_read", Deny)
            },
            "no tool that fits `f_read` has an argument at `/moed`",
        ),
        (
            Rule { mcp: Some(Glob::new("x")), ..rule(1, "builtin:f.read", Deny) },
            "`builtin:f.read` is no tool of an MCP server; leave `mcp` out, or name tools of the server",
        ),
    ];
    for (rule, text) in never {
        assert_eq!(told(&[rule]), [format!("haft.toml:1: this rule can never match: {text}")]);
    }
    // Servers come and go; their tools need not be there.
    assert_eq!(
        told(&[rule(1, "mcp/gone:*", Deny), Rule { mcp: Some(Glob::new("x")), ..rule(2, "y", Deny) }]),
        [""; 0]
    );
}

#[test]
fn a_condition_that_cannot_be_read_is_an_error() {
    let path = |path: &str| Rule { path: Some(path.into()), ..rule(1, "f_read", Deny) };
    let host = |host: &str| Rule { host: Some(host.into()), ..rule(1, "w_get", Deny) };
    for bad in [
        path(""),
        path("~/x"),
        path("a/../b"),
        path("a\nb"),
        host("a.example/x"),
        host("a.example:80"),
        host("*.*"),
    ] {
        let told = told(std::slice::from_ref(&bad));
        assert!(told.len() == 1 && told[0].contains("of this rule cannot be used: "), "{bad} {told:?}");
    }
    assert_eq!(told(&[host("[::1]"), path("a b/c")]), [""; 0]);
}

#[test]
fn a_pair_that_contradicts_itself_is_an_error() {
    let of = |line, decision| Rule { path: Some("a".into()), ..rule(line, "f_read", decision) };
    assert_eq!(
        told(&[of(1, Allow), of(5, Deny)]),
        [
            "haft.toml:5: this rule contradicts the one at haft.toml:1, which says `allow` for the same calls; keep one of them"
        ]
    );
    assert_eq!(told(&[of(1, Allow), rule(5, "f_read", Ask)]), [""; 0]);
}

// harness-pains §3: policy text that carries its own tests.
#[test]
fn a_rule_that_fails_its_own_examples_is_an_error() {
    let mut rule = Rule { path: Some("secrets".into()), ..rule(3, "f_read", Deny) };
    rule.matches = vec![json!({"path": "secrets/key"}), json!({"path": "secretsx"})];
    rule.not_matches = vec![json!({"path": "notes"}), json!({"path": "a/../secrets"}), json!(1)];
    assert_eq!(
        told(&[rule]),
        [
            "haft.toml:3: this rule does not match its own example of `match`: {\"path\":\"secretsx\"}; mend the rule or the example",
            "haft.toml:3: this rule matches its own example of `not_match`: {\"path\":\"a/../secrets\"}; mend the rule or the example",
            "haft.toml:3: an example of `not_match` must be an object of arguments, not 1; mend the rule or the example",
        ]
    );
}

#[test]
fn lint_names_rules_that_never_decide() {
    let path =
        |line, path: &str, decision| Rule { path: Some(path.into()), ..rule(line, "f_read", decision) };
    let silent = |user: Vec<Rule>, own: Vec<Rule>| -> Vec<usize> {
        lint(&Policy { user, profile: own, ..Policy::default() })
            .into_iter()
            .map(|one| one.place.line)
            .collect()
    };
    assert_eq!(silent(vec![rule(1, "*", Ask), rule(2, "f_read", Allow)], vec![]), [2]);
    assert_eq!(silent(vec![path(1, "a/b", Allow), path(2, "a", Deny)], vec![]), [1]);
    assert_eq!(silent(vec![rule(1, "f_*", Ask)], vec![path(2, "a", Allow), rule(3, "f_read", Deny)]), [2]);
    assert_eq!(silent(vec![path(1, "a", Allow), path(2, "a/b", Allow)], vec![]), [2]);
    // An allow that wants to be sure leaves the doubtful calls to the ask behind it.
    assert_eq!(silent(vec![path(1, "a", Allow), path(2, "a/b", Ask)], vec![]), [0; 0]);
    assert_eq!(
        silent(vec![path(1, "a/b", Allow), path(2, "a", Ask), rule(3, "f_read", Allow)], vec![]),
        [0; 0]
    );
}
