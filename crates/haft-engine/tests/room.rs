//! Requests that would be longer than the model takes (PRV-04).
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod support;

use haft_core::Payload;
use haft_core::message::Message;
use serde_json::json;
use support::{FakeModel, World, call, says};

// PRV-04: the record says how many results gave way; call and tool of each are still told.
#[tokio::test]
async fn old_results_give_way_to_new_ones() {
    let world = World::new();
    let long = || says("", vec![call("long", json!({"size": 2_000}))]);
    let mut model = FakeModel::new(vec![long(), long(), long(), says("Done.", vec![])]);
    std::sync::Arc::get_mut(&mut model).unwrap().takes(6_000);
    let session = world.session().await;
    let outcome = session.prompt("Go".into(), model.clone(), world.options()).wait().await.unwrap();
    session.close().await.unwrap();
    assert_eq!(outcome.text, "Done.");
    let payloads = world.payloads(&outcome.run).await;
    let shortened: Vec<u64> = payloads
        .iter()
        .filter_map(|payload| match payload {
            Payload::ModelRequestCreated(body) => Some(body.shortened),
            _ => None,
        })
        .collect();
    assert_eq!(shortened.len(), 4);
    assert_eq!((shortened[0], shortened[1]), (0, 0));
    assert!(shortened[3] >= 1, "{shortened:?}");
    let requests = model.requests.lock().unwrap();
    let results: Vec<_> = requests[3]
        .messages
        .iter()
        .filter_map(|message| match message {
            Message::Results(results) => Some(&results[0]),
            Message::User(_) | Message::Assistant { .. } => None,
        })
        .collect();
    let whole = "é".repeat(2_000);
    assert!(results[0].content.contains("left out here to save room"), "{}", results[0].content);
    assert_eq!(results[2].content, whole);
    let calls: Vec<&str> = results.iter().map(|one| one.call_id.as_str()).collect();
    assert_eq!(calls, ["c_i_0002_1_1", "c_i_0002_2_1", "c_i_0002_3_1"]);
    assert!(results.iter().all(|one| one.tool_id == Some(haft_core::ToolId::builtin("long"))));
}
