//! Section 4: what a result is, and how little of it the model reads.

use haft_core::journal::RunStatus;
use serde_json::{Value, json};

use crate::crew::{calls, text};
use crate::tavern::{
    FILES, bodies, failures, one, patch, read, records, results, scripted, stored, stored_results, tavern,
};
use crate::writing::{commit, finish, write};

// RES-06, RES-07, JRN-04: the fields of the source, and the identity of the call in journal, audit and transcript alike.
#[tokio::test]
async fn a_result_has_the_fields_of_the_source_and_is_its_calls_own() {
    let team = tavern(&FILES);
    let model = scripted(vec![
        calls(vec![write("output/main.md", "One.\n"), read("output/main.md"), read("output/nothing.md")]),
        calls(vec![commit(), finish()]),
    ]);
    let outcome = team.run(&model).await;
    assert_eq!(outcome.status, RunStatus::Completed);
    let requested: Vec<Value> = records(&team, &outcome.run)
        .await
        .iter()
        .filter(|record| record.kind == "tool_call_requested")
        .map(|record| record.payload_value().unwrap())
        .collect();
    assert_eq!(requested.len(), 5);
    for body in &requested {
        let path = body["arguments_file"]["path"].as_str().unwrap().replace("tool-args/", "tool-results/");
        let result: Value = serde_json::from_str(&stored(&team, &outcome.run, &path).await.unwrap()).unwrap();
        for field in
            ["call_id", "tool_id", "content", "structured", "is_error", "error_code", "resource_refs"]
        {
            assert!(result.get(field).is_some(), "{field} of {result}");
        }
        assert_eq!((&result["call_id"], &result["tool_id"]), (&body["call_id"], &body["tool_id"]));
    }
    // The transcript of the next request pairs them by the same identity.
    let shown: Vec<(Value, Value)> = results(&model, "root")[0]
        .iter()
        .map(|result| (json!(result.call_id), json!(result.tool_id)))
        .collect();
    let expected: Vec<(Value, Value)> =
        requested[..3].iter().map(|body| (body["call_id"].clone(), body["tool_id"].clone())).collect();
    assert_eq!(shown, expected);
}

// RES-08, RES-09, RES-27, CAT-01: content alone, an error with its heading; hashes, counters and codes stay outside.
#[tokio::test]
async fn the_model_reads_content_and_nothing_of_the_envelope() {
    let team = tavern(&FILES);
    let text_of_file = "The lamp is dark.\nThe sea is calm.\n";
    let model = scripted(vec![
        one(write("output/main.md", text_of_file)),
        calls(vec![
            read("output/main.md"),
            ("workspace_search_files", json!({"query": "lamp"})),
            ("workspace_list_files", json!({"path": "output"})),
            patch("output/main.md", "dark", "bright"),
            patch("output/main.md", "storm", "x"),
        ]),
        calls(vec![commit(), finish()]),
    ]);
    let outcome = team.run(&model).await;
    let bodies = bodies(&model, "root");
    insta::assert_snapshot!(bodies.join("\n---\n"));
    let results = stored_results(&team, &outcome.run).await;
    for (result, body) in results.iter().zip(&bodies) {
        for word in ["sha256", "structured", "resource_refs", "error_code", "call_id", "is_error"] {
            assert!(!body.contains(word), "{word} in {body}");
        }
        if let Some(digest) = result.structured.as_ref().and_then(|value| value["sha256"].as_str()) {
            assert!(!body.contains(digest), "{body}");
        }
        if let Some(code) = &result.error_code {
            assert!(body.starts_with("## Tool error\n\n") && !body.contains(code.as_str()), "{body}");
        }
        // No envelope for the sake of uniformity.
        assert!(serde_json::from_str::<Value>(body).is_err(), "{body}");
    }
    // What the model does not read is there for audit: the write and the read know their versions.
    for at in [0, 1, 4] {
        let structured = results[at].structured.as_ref().unwrap();
        assert_eq!(structured["sha256"].as_str().unwrap().len(), 64, "{structured}");
    }
    // A mutation tells where, not what.
    assert!(!bodies[0].contains("lamp") && bodies[0].contains("output/main.md"), "{}", bodies[0]);
}

// RES-10: a large result stands in its file; no record repeats it.
#[tokio::test]
async fn a_large_result_is_a_reference_in_the_journal() {
    let team = tavern(&FILES);
    let long = "A needle and much hay. ".repeat(2_500) + "\n";
    let model = scripted(vec![
        one(write("output/main.md", &long)),
        one(read("output/main.md")),
        calls(vec![commit(), finish()]),
    ]);
    let outcome = team.run(&model).await;
    assert!(bodies(&model, "root")[1].contains(&long), "the model reads it whole");
    let with_needle: Vec<String> = records(&team, &outcome.run)
        .await
        .iter()
        .filter(|record| String::from_utf8_lossy(record.payload.as_deref().unwrap()).contains("needle"))
        .map(|record| record.kind.clone())
        .collect();
    // The model's own words in the turn that wrote it, and the text that the run ended with.
    assert_eq!(with_needle, ["model_turn_completed", "run_ended"]);
    let results = stored_results(&team, &outcome.run).await;
    assert_eq!(results[1].resource_refs, ["workspace:output/main.md"]);
    assert!(results[1].text().contains(&long));
}

// ERR-01, JRN-06: an error of a tool is the model's to mend; what breaks the host fails the run, whatever was committed.
#[tokio::test]
async fn errors_are_mended_and_system_failures_are_not() {
    let tools: Vec<&str> = FILES.into_iter().chain(["fails", "system"]).collect();
    let mut team = tavern(&tools);
    team.world.profile.budgets.rounds = 4;
    let model = scripted(vec![
        calls(vec![("fails", json!({})), read("output/none.md")]),
        calls(vec![write("output/main.md", "Kept."), commit(), finish()]),
    ]);
    let outcome = team.run(&model).await;
    assert_eq!((outcome.status, outcome.text.as_str()), (RunStatus::Completed, "Kept."));
    assert_eq!(
        failures(&team, &outcome.run).await,
        ["fails test.failed", "workspace_read_file workspace.file_not_found"]
    );

    let model = scripted(vec![
        calls(vec![write("output/main.md", "Kept."), commit(), ("system", json!({}))]),
        text("never asked"),
    ]);
    let session = team.world.session().await;
    let handle = session.prompt("Do it".into(), model.clone(), team.options());
    let run = handle.run().clone();
    assert!(handle.wait().await.is_err());
    session.close().await.unwrap();
    assert_eq!(model.asked("root").len(), 1);
    let all = records(&team, &run).await;
    let kinds: Vec<&str> = all.iter().map(|record| record.kind.as_str()).collect();
    assert_eq!(kinds[kinds.len() - 3..], ["tool_call_failed", "run_failed", "run_ended"]);
    let failed = all[all.len() - 2].payload_value().unwrap();
    assert_eq!((&failed["error_code"], &failed["user_retryable"]), (&json!("test.broken"), &json!(false)));
    assert_eq!(all.last().unwrap().payload_value().unwrap()["status"], json!("failed"));
}
