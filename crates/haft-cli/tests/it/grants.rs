//! `haft grants` over the journal, and what another process takes back.

use crate::support::Home;

fn asking() -> Home {
    let home = Home::new();
    let profile = "---\ntools: {allow: [calculator], permission: {calculator: ask}}\n---\n";
    home.write("home/profiles/asks.md", profile);
    home
}

// APR-17, APR-26, pains §4.1
#[test]
fn what_was_allowed_is_listed_with_its_uses_and_taken_back_once() {
    let home = asking();
    assert_eq!(home.haft(&["grants", "list"]).exit, Some(2), "there is no session yet");
    let call = ["call", "calculator", "expression=6*7", "--profile", "asks", "--allow", "calculator"];
    assert_eq!(home.haft(&call).exit, Some(0));
    let listed = home.json(&["grants"]);
    let grant = &listed[0];
    assert_eq!(listed.as_array().unwrap().len(), 1);
    let keys: Vec<&str> = grant.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        [
            "id", "session", "tool_id", "scope", "lifetime", "run", "until", "given", "by", "surface",
            "question", "uses", "last_use", "revoked", "state"
        ]
    );
    assert_eq!(grant["tool_id"], "builtin:data.calculator");
    assert_eq!((&grant["scope"], &grant["lifetime"]), (&"tool".into(), &"session".into()));
    assert_eq!((&grant["surface"], &grant["uses"]), (&"--allow".into(), &1.into()));
    // The process that was told is gone, and so is what it was told.
    assert_eq!(grant["state"], "ended");
    let id = grant["id"].as_str().unwrap();
    let line = home.haft(&["grants", "list", "--session", "last"]).stdout;
    assert!(
        line.starts_with(&format!("{id}  builtin:data.calculator every call for the session, given ")),
        "{line}"
    );
    assert!(line.contains("from --allow; used 1 time, last at ") && line.ends_with("; ended\n"), "{line}");

    let told = home.haft(&["grants", "revoke", id]);
    assert_eq!(told.exit, Some(0));
    assert!(told.stderr.contains("is taken back; it had ended already"), "{}", told.stderr);
    assert!(home.haft(&["grants", "revoke", id]).stderr.contains("was taken back before"));
    assert_eq!(home.json(&["grants"])[0]["state"], "revoked");
    let missing = home.haft(&["grants", "revoke", "g_nothing"]);
    assert_eq!(missing.exit, Some(2));
    assert!(missing.stderr.contains("there is no grant `g_nothing`"), "{}", missing.stderr);
    assert_eq!(home.haft(&["audit", "verify"]).exit, Some(0));
}
