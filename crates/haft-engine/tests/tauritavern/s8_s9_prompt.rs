//! Sections 8 and 9: what goes to a provider and comes from it, above any wire format.

use haft_core::journal::RunStatus;
use haft_core::message::Message;
use haft_core::ports::ModelError;
use haft_core::{RequestedCall, WireId};
use serde_json::{Value, json};

use crate::crew::{calls, text};
use crate::support::says;
use crate::tavern::{FILES, one, read, results, scripted, tavern};
use crate::writing::{chat, commit, finish, write};

// PRV-01, PRV-02, PRV-06, JRN-04: ids and metadata of the provider come back as they came, in the order of the calls, with the alias of this
// request.
#[tokio::test]
async fn what_the_provider_wants_back_comes_back() {
    let team = tavern(&FILES);
    let signed = |number: u32, name: &str, arguments: Value| RequestedCall::Call {
        name: name.to_owned(),
        arguments: arguments.as_object().unwrap().clone(),
        wire_id: Some(WireId::new(format!("call_{number}"))),
        provider_metadata: Some(json!({"thought_signature": format!("sig{number}")})),
        repairs: Vec::new(),
    };
    let asked_for = vec![
        signed(2, "workspace_write_file", json!({"path": "output/main.md", "content": "x"})),
        signed(1, "workspace_read_file", json!({"path": "output/main.md"})),
    ];
    let mut turn = says("Writing.", asked_for.clone()).unwrap();
    turn.provider_metadata = Some(json!({"thinking": ["opaque"]}));
    let model = scripted(vec![Ok(turn), calls(vec![commit(), finish()])]);
    let outcome = team.run(&model).await;
    assert_eq!(outcome.status, RunStatus::Completed);
    let asked = model.asked("root");
    let Message::Assistant { calls, provider_metadata, .. } = &asked[1].messages[1] else {
        panic!("{:?}", asked[1].messages)
    };
    assert_eq!((calls, provider_metadata), (&asked_for, &Some(json!({"thinking": ["opaque"]}))));
    let shown: Vec<(String, String)> = results(&model, "root")[0]
        .iter()
        .map(|result| (result.wire_id.as_ref().unwrap().to_string(), result.alias.clone()))
        .collect();
    assert_eq!(
        shown,
        [
            ("call_2".to_owned(), "workspace_write_file".to_owned()),
            ("call_1".to_owned(), "workspace_read_file".to_owned())
        ]
    );
}

// PRV-02, EXE-17: what breaks the contract of the provider ends the run at once; no id is invented and nothing is asked again.
#[tokio::test]
async fn an_answer_that_breaks_the_contract_ends_the_run() {
    let team = tavern(&FILES);
    for reason in ["a call has no id", "two calls have the id `call_1`"] {
        let broken = ModelError::Malformed { model: "crew".into(), reason: reason.into() };
        let model = scripted(vec![Err(broken), calls(vec![finish()])]);
        let outcome = team.run(&model).await;
        assert_eq!(
            (outcome.status, outcome.error_code.as_deref()),
            (RunStatus::Failed, Some("model.malformed_answer"))
        );
        assert_eq!(model.asked("root").len(), 1);
    }
}

// RES-11, PRV-04: results go into the next request with call and tool, and into no conversation; the next run reads what was committed.
#[tokio::test]
async fn results_go_into_requests_and_into_no_conversation() {
    let team = tavern(&FILES);
    let script = || {
        scripted(vec![
            one(write("output/main.md", "A needle.")),
            one(read("output/main.md")),
            text("I drift."),
            calls(vec![commit(), finish()]),
        ])
    };
    let session = team.world.session().await;
    let first = script();
    team.prompt(&session, &first).await;
    for turn in results(&first, "root") {
        for result in turn {
            assert!(result.tool_id.is_some() && result.call_id.as_str().starts_with("c_i_"), "{result:?}");
        }
    }
    assert_eq!(chat(&team.world, session.id()).await, ["user: Do it", "assistant: A needle."]);
    let second = script();
    team.prompt(&session, &second).await;
    let opening = second.asked("root")[0].messages.clone();
    assert_eq!(opening.len(), 3, "{opening:?}");
    assert!(opening.iter().all(|message| !matches!(message, Message::Results(_))), "{opening:?}");
    session.close().await.unwrap();
}
