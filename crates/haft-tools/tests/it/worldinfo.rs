//! `worldinfo_read_activated` over a frozen activation.

use std::sync::Arc;

use haft_core::lorebook::{WorldInfoActivation, activate, read_lorebook};
use haft_core::{Services, Timestamp};
use haft_tools::worldinfo;
use serde_json::{Value, json};

use crate::support::Invocation;

fn agent(activation: WorldInfoActivation) -> Invocation {
    let mut services = Services::default();
    services.insert::<WorldInfoActivation>(Arc::new(activation));
    Invocation::new(worldinfo::tools().unwrap(), services)
}

fn coast(contents: &[(&str, &str)]) -> WorldInfoActivation {
    let entries: Vec<Value> = contents
        .iter()
        .enumerate()
        .map(|(uid, (name, content))| json!({"uid": uid, "comment": name, "constant": true, "content": content}))
        .collect();
    let book = read_lorebook("Coast", &json!({"entries": entries}).to_string()).unwrap();
    activate(&[book], &[], Timestamp(7))
}

fn entries(wanted: &Value) -> Value {
    json!({"entries": wanted})
}

// WLD-01, WLD-02
#[tokio::test]
async fn the_index_has_no_bodies_and_bodies_come_by_their_names() {
    let mut agent = agent(coast(&[("The lamp", "It burns.\nAlways."), ("Gulls", "Loud.")]));
    let output = agent.call("worldinfo_read_activated", json!({})).await.unwrap();
    assert_eq!(
        output.text(),
        "2 entries of world info are active:\n- w1: The lamp (Coast, before the character, 2 lines, 17 characters)\n\
         - w2: Gulls (Coast, before the character, 1 line, 5 characters)"
    );
    let structured = output.structured.unwrap();
    assert_eq!(structured["entries"][1]["uid"], json!(1));
    assert!(!structured.to_string().contains("Loud"));
    let wanted = json!([{"ref": "w2"}, {"ref": "w1", "start_line": 2}]);
    let output = agent.call("worldinfo_read_activated", entries(&wanted)).await.unwrap();
    assert_eq!(output.text(), "## Gulls\nLoud.\n\n## The lamp\nAlways.\n[line 2 of 2]");
    assert_eq!(output.resource_refs, ["worldinfo:w2", "worldinfo:w1"]);
    for hidden in ["uid", "order", "timestamp"] {
        assert!(!output.text().contains(hidden));
    }
    for (wanted, code, message) in [
        (
            json!([{"ref": "x9"}]),
            "worldinfo.entry_not_found",
            "There is no active entry `x9`. There are w1 to w2.",
        ),
        (
            json!([{"ref": "w2", "start_line": 2}]),
            "worldinfo.invalid_range",
            "Nothing of the entry `w2` was read: line 2 is past the end: there is 1 line.",
        ),
    ] {
        let error = agent.error("worldinfo_read_activated", entries(&wanted)).await;
        assert_eq!(error, (code.to_owned(), message.to_owned()));
    }
    let mut bare = Invocation::new(worldinfo::tools().unwrap(), Services::default());
    assert_eq!(
        bare.text("worldinfo_read_activated", json!({})).await,
        "No world info is active in this run."
    );
    let error = bare.error("worldinfo_read_activated", entries(&json!([{"ref": "w1"}]))).await;
    assert_eq!(error.1, "There is no active entry `w1`. None is active in this run.");
}

// WLD-01, WSP-17
#[tokio::test]
async fn long_entries_are_previews_within_the_budgets() {
    let long = "0123456789\n".repeat(900);
    let mut agent = agent(coast(&[("a", &long), ("b", &long), ("c", &long), ("d", "short")]));
    let text = agent.text("worldinfo_read_activated", entries(&json!([{"ref": "w1"}]))).await;
    assert!(text.ends_with(
        "[lines 1-727 of 900; read on with worldinfo_read_activated(entries=[{'ref': 'w1', 'start_line': 728}])]"
    ));
    let all = json!([{"ref": "w1"}, {"ref": "w2"}, {"ref": "w3"}, {"ref": "w4"}]);
    let text = agent.text("worldinfo_read_activated", entries(&all)).await;
    assert!(text.chars().count() < 20_700, "{}", text.chars().count());
    let many: Vec<Value> = (0..21).map(|_| json!({"ref": "w4"})).collect();
    assert_eq!(
        agent.error("worldinfo_read_activated", entries(&json!(many))).await.0,
        "agent.invalid_arguments"
    );
}
