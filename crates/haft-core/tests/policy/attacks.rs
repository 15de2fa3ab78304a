//! Texts that try to reach past a rule: a deny must hold where anything is in doubt, an allow only where nothing is.

use haft_core::facts::Permission::{self, Allow, Ask, Deny};
use haft_core::policy::{Outcome, Rule};
use serde_json::json;

use crate::world::{decide, decided, id, profile, rule};

fn of_path(path: &str, decision: Permission) -> Rule {
    Rule { path: Some(path.into()), ..rule(1, "f_*", decision) }
}

/// Whether the path is refused by a deny of `folder`, and whether an allow of it lets it pass unasked.
fn judged(folder: &str, path: &str) -> (bool, bool) {
    let denied = decide(&profile(vec![of_path(folder, Deny)], vec![]), "f_write", json!({"file_path": path}));
    let allowed =
        decide(&profile(vec![of_path(folder, Allow)], vec![]), "f_write", json!({"file_path": path}));
    (denied.outcome == Outcome::Deny, allowed.outcome == Outcome::Allow)
}

// Design §5, harness-pains §5 items 5 to 8 for paths.
#[test]
fn paths_that_try_to_reach_past_a_rule() {
    let (inside, outside, doubtful) = ((true, true), (false, false), (true, false));
    let table = [
        // folder, path, expected
        ("secrets", "secrets", inside),
        ("secrets", "secrets/", inside),
        ("secrets/", "secrets/key", inside),
        ("./secrets", "./secrets/./key", inside),
        ("secrets", "secrets//key", inside),
        ("secrets", "secretsx/key", outside),
        ("secrets", "secret", outside),
        ("a/b", "a/bc", outside),
        ("/a/b", "/a/bc", outside),
        ("/a/b", "/a/b/c", inside),
        ("/a/b", "/a", outside),
        // Case: file systems differ.
        ("secrets", "SECRETS/key", doubtful),
        ("Secrets", "secrets/key", doubtful),
        // `..`, wherever it points.
        ("secrets", "notes/../secrets/key", doubtful),
        ("secrets", "secrets/../notes", doubtful),
        ("secrets", "../demo/secrets/key", doubtful),
        // Separators and drives of another platform.
        ("secrets", "secrets\\key", doubtful),
        ("secrets", "notes\\..\\secrets\\key", doubtful),
        ("/a", "~/key", doubtful),
        ("/a", "file:///a/key", doubtful),
        ("secrets", "secrets\0/key", doubtful),
        ("secrets", "secrets./key", doubtful),
        ("secrets", "secrets /key", doubtful),
        ("secrets", "", doubtful),
        // A rule of the project, a path from the root, and the other way round.
        ("secrets", "/home/you/demo/secrets/key", inside),
        ("/home/you/demo/secrets", "secrets/key", inside),
        ("secrets", "/etc/secrets/key", outside),
        ("/etc", "etc/passwd", outside),
        (".", "anything", inside),
        ("/", "anything", inside),
    ];
    for (folder, path, expected) in table {
        assert_eq!(judged(folder, path), expected, "{folder:?} {path:?}");
    }
}

#[test]
fn a_relative_path_that_starts_nowhere_may_be_anywhere() {
    let nowhere = haft_core::consent::ConsentEnvironment::default();
    let outcome = |decision| {
        let profile = profile(vec![of_path("/etc", decision)], vec![]);
        decided(&profile, "f_write", json!({"file_path": "passwd"}), &nowhere).decision().outcome
    };
    assert_eq!((outcome(Deny), outcome(Allow)), (Outcome::Deny, Outcome::Ask));
}

#[test]
fn hosts_that_try_to_reach_past_a_rule() {
    let judged = |host: &str, url: &str| {
        let of = |decision| Rule { host: Some(host.into()), ..rule(1, "w_get", decision) };
        let denied = decide(&profile(vec![of(Deny)], vec![]), "w_get", json!({"url": url}));
        let mut asking = profile(vec![of(Allow)], vec![]);
        asking.tools.permission.insert(id("builtin:w.get"), Ask);
        let allowed = decide(&asking, "w_get", json!({"url": url}));
        (denied.outcome == Outcome::Deny, allowed.outcome == Outcome::Allow)
    };
    let (inside, outside, doubtful) = ((true, true), (false, false), (true, false));
    let table = [
        ("good.example", "https://good.example/x", inside),
        ("good.example", "https://GOOD.example:8443/x", inside),
        ("good.example", "https://good.example./x", inside),
        ("good.example", "good.example/x", inside),
        ("good.example", "https://good.example@evil.example/", outside),
        ("evil.example", "https://good.example@evil.example/", inside),
        ("evil.example", "https://evil.example\\@good.example/", inside),
        ("good.example", "https://good.example.evil.example/", outside),
        ("good.example", "https://evilgood.example/", outside),
        ("good.example", "https://evil.example/?u=good.example", outside),
        ("good.example", "https://evil.example#good.example", outside),
        ("*.good.example", "https://docs.good.example/", inside),
        ("*.good.example", "https://good.example/", outside),
        ("*.good.example", "https://evilgood.example/", outside),
        ("127.0.0.1", "http://0x7f.1/", inside),
        ("127.0.0.1", "http://2130706433/", inside),
        ("bücher.example", "https://xn--bcher-kva.example/", inside),
        ("evil.example", "https://ev%69l.example/", inside),
        ("evil.example", "https:evil.example", inside),
        ("evil.example", "//evil.example/x", inside),
        ("evil.example", "ht\ttps://evil.example/", inside),
        ("evil.example", "https://", doubtful),
        ("evil.example", "", doubtful),
    ];
    for (host, url, expected) in table {
        assert_eq!(judged(host, url), expected, "{host:?} {url:?}");
    }
}

// A server chooses the names of its tools: an allow of one's own tool must not fit them, a deny may.
#[test]
fn a_foreign_tool_does_not_borrow_the_allow_of_ones_own() {
    let mut asking = profile(vec![rule(1, "f.read", Allow), rule(2, "foreign_read", Allow)], vec![]);
    asking.tools.permission.insert(id("mcp/5f0c:f.read"), Ask);
    assert_eq!(decide(&asking, "foreign_read", json!({"path": "a"})).outcome, Outcome::Ask);
    asking.policy.user = vec![rule(1, "mcp/5f0c:*", Allow)];
    assert_eq!(decide(&asking, "foreign_read", json!({"path": "a"})).outcome, Outcome::Allow);
    let denying = profile(vec![Rule { path: Some("a".into()), ..rule(1, "f.read", Deny) }], vec![]);
    assert_eq!(decide(&denying, "foreign_read", json!({"path": "a"})).outcome, Outcome::Deny);
}

// A profile's new name for a tool lifts no deny and borrows no allow of the user.
#[test]
fn a_new_alias_neither_escapes_a_deny_nor_borrows_an_allow() {
    let mut renamed = profile(vec![Rule { path: Some("a".into()), ..rule(1, "f_write", Deny) }], vec![]);
    renamed.tools.alias.insert(id("builtin:f.write"), "harmless".into());
    assert_eq!(decide(&renamed, "harmless", json!({"file_path": "a"})).outcome, Outcome::Deny);
    renamed.policy.user = vec![rule(1, "harmless", Allow)];
    assert_eq!(decide(&renamed, "harmless", json!({"file_path": "a"})).outcome, Outcome::Ask);
}
