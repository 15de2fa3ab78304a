//! Scripts: what they say, what they expect, and what is wrong with them.

use std::sync::Arc;

use crate::support::{Heard, Switch, request};
use haft_core::message::{Message, ResultMessage};
use haft_core::ports::{FinishReason, ModelError, ModelTurn, NeverCancelled, Usage};
use haft_core::{CallId, Model, RequestedCall, ToolId, WireId};
use haft_models::{CallIds, Scripted};
use serde_json::json;
use tokio::sync::Notify;

async fn next(model: &Scripted) -> (Result<ModelTurn, ModelError>, Heard) {
    let mut heard = Heard::default();
    let turn = model.turn(&request("Weather?"), &mut heard, &NeverCancelled).await;
    (turn, heard)
}

fn fault(script: &str) -> String {
    Scripted::from_jsonl("s", script).unwrap_err().to_string()
}

#[tokio::test]
async fn every_field_of_a_turn_arrives() {
    let script = r#"
{"agent": "root", "chunks": ["Let me ", "look."], "reasoning": "Hm.", "tool_calls": [{"id": "w1", "name": "get_weather", "arguments": {"city": "Köln"}}, {"name": "now"}],
"#.trim_end().to_owned()
        + r#" "finish_reason": "length", "usage": {"input_tokens": 3, "output_tokens": 4}, "provider_metadata": {"signature": [1]}, "delay_ms": 1}"#;
    let model = Scripted::from_jsonl("s", &script).unwrap();
    let (turn, heard) = next(&model).await;
    let city = json!({"city": "Köln"}).as_object().unwrap().clone();
    let mut first = RequestedCall::call("get_weather", city);
    if let RequestedCall::Call { wire_id, .. } = &mut first {
        *wire_id = Some(WireId::new("w1"));
    }
    assert_eq!(
        turn,
        Ok(ModelTurn {
            text: "Let me look.".into(),
            reasoning: "Hm.".into(),
            calls: vec![first, RequestedCall::call("now", serde_json::Map::new())],
            raw: None,
            finish_reason: FinishReason::Length,
            usage: Some(Usage { input_tokens: 3, output_tokens: 4 }),
            provider_metadata: Some(json!({"signature": [1]})),
        })
    );
    assert_eq!(heard, Heard { text: "Let me look.".into(), reasoning: "Hm.".into(), restarts: vec![] });
}

#[tokio::test]
async fn one_turn_a_request_and_an_error_at_the_end() {
    let model = Scripted::from_jsonl("two.jsonl", "{\"text\": \"one\"}\n\n{\"text\": \"two\"}\r\n").unwrap();
    assert_eq!(next(&model).await.0.unwrap().text, "one");
    assert_eq!(next(&model).await.0.unwrap().finish_reason, FinishReason::Stop);
    for _ in 0..2 {
        let error = next(&model).await.0.unwrap_err();
        assert_eq!(error.code(), "model.script_exhausted");
        assert!(error.to_string().starts_with("the script two.jsonl has no turn left"), "{error}");
    }
}

// CONFLICT-03
#[tokio::test]
async fn arguments_as_text_are_read_as_a_provider_would_send_them() {
    let script = r#"{"tool_calls": [{"name": "a", "arguments": "{\"x\": 1}"}, {"name": "b", "arguments": "x=1"}, {"name": "c", "arguments": "[]"}]}"#;
    let calls = next(&Scripted::from_jsonl("s", script).unwrap()).await.0.unwrap().calls;
    assert_eq!(calls[0], RequestedCall::call("a", json!({"x": 1}).as_object().unwrap().clone()));
    let reasons: Vec<&str> = calls[1..]
        .iter()
        .map(|call| match call {
            RequestedCall::Malformed { reason, .. } => reason.as_str(),
            RequestedCall::Call { .. } => panic!("{call:?}"),
        })
        .collect();
    assert_eq!(
        reasons,
        [
            "The arguments are not JSON: expected a value, found 'x' at byte 0. Write them as one object.",
            "The arguments are not a JSON object. Write them as one object.",
        ]
    );
}

#[tokio::test]
async fn a_script_can_refuse_and_go_on() {
    let script = "{\"error\": {\"status\": 503, \"body\": {\"message\": \"busy\"}}}\n{\"text\": \"ok\"}";
    let model = Scripted::from_jsonl("s", script).unwrap();
    let refused = ModelError::Refused {
        model: "scripted:s".into(),
        status: 503,
        body: "{\"message\":\"busy\"}".into(),
    };
    assert_eq!(next(&model).await.0, Err(refused));
    assert_eq!(next(&model).await.0.unwrap().text, "ok");
}

#[tokio::test]
async fn the_last_message_is_held_against_what_the_script_expects() {
    let script = "{\"expect\": {\"last_contains\": \"Weather\"}, \"text\": \"yes\"}\n\n{\"expect\": {\"last_contains\": \"sunny\"}}\n{\"expect\": {\"last_contains\": \"sunny\"}, \"text\": \"fine\"}";
    let model = Scripted::from_jsonl("s", script).unwrap();
    assert_eq!(next(&model).await.0.unwrap().text, "yes");
    assert_eq!(
        next(&model).await.0.unwrap_err(),
        ModelError::ScriptExpectation {
            script: "s".into(),
            line: 3,
            expected: "sunny".into(),
            got: "Weather?".into(),
        }
    );
    let mut after = request("Weather?");
    after.messages.push(Message::Results(vec![ResultMessage {
        call_id: CallId::new("c_i_1_1"),
        wire_id: None,
        tool_id: Some(ToolId::own("get_weather")),
        alias: "get_weather".into(),
        is_error: false,
        content: "content".into(),
        body: "It is sunny.".into(),
        images: Vec::new(),
    }]));
    let turn = model.turn(&after, &mut Heard::default(), &NeverCancelled).await;
    assert_eq!(turn.unwrap().text, "fine");
}

#[tokio::test(start_paused = true)]
async fn a_delay_is_waited_and_can_be_stopped() {
    let script = "{\"delay_ms\": 60000, \"text\": \"late\"}\n{\"delay_ms\": 60000}";
    let model = Scripted::from_jsonl("s", script).unwrap();
    let begin = tokio::time::Instant::now();
    assert_eq!(next(&model).await.0.unwrap().text, "late");
    assert_eq!(begin.elapsed().as_secs(), 60);
    let stop = Arc::new(Notify::new());
    stop.notify_one();
    let turn = model.turn(&request("Hi"), &mut Heard::default(), &Switch(stop)).await;
    assert_eq!(turn, Err(ModelError::Cancelled));
    assert_eq!(begin.elapsed().as_secs(), 60);
}

// PRV-02, CONFLICT-31
#[tokio::test]
async fn a_script_can_be_held_to_the_ids_of_a_provider() {
    let script = r#"{"tool_calls": [{"name": "now"}]}"#;
    let model = Scripted::from_jsonl("s", script).unwrap().with_call_ids(CallIds::Provider);
    assert!(model.traits().provider_call_ids);
    assert_eq!(next(&model).await.0.unwrap_err().code(), "model.malformed_answer");
}

#[test]
fn faults_of_a_script_have_their_line_and_the_next_step() {
    for (script, said) in [
        ("{}\n{\"txt\": 1}", "the script s, line 2: unknown key `txt` in a turn; did you mean `text`?"),
        (
            "\n\n{\"zzzzz\": 1}",
            "line 3: unknown key `zzzzz` in a turn; known are agent, text, chunks, reasoning",
        ),
        ("hello", "line 1: it is not JSON: expected a value, found 'h' at byte 0"),
        ("[]", "the line must be a JSON object"),
        ("{\"text\": \"a\", \"chunks\": []}", "`text` and `chunks` exclude each other"),
        ("{\"text\": 1}", "`text` must be text"),
        ("{\"chunks\": [1]}", "`chunks` must be text"),
        ("{\"tool_calls\": {}}", "`tool_calls` must be a list"),
        ("{\"tool_calls\": [{\"id\": \"a\"}]}", "a call in `tool_calls` has no `name`"),
        (
            "{\"tool_calls\": [{\"name\": \"a\", \"args\": {}}]}",
            "unknown key `args` in a call; known are id, name, arguments",
        ),
        ("{\"tool_calls\": [{\"name\": \"a\", \"arguments\": 1}]}", "`arguments` must be an object or text"),
        (
            "{\"finish_reason\": \"done\"}",
            "unknown `finish_reason` `done`; known are stop, tool_calls, length",
        ),
        ("{\"usage\": {\"input_tokens\": -1}}", "tokens in `usage` must be whole numbers"),
        ("{\"delay_ms\": 1.5}", "`delay_ms` must be a whole number"),
        ("{\"error\": {\"body\": \"x\"}}", "`error` needs a `status` from 100 to 999"),
        (
            "{\"expect\": {\"last_contain\": \"x\"}}",
            "unknown key `last_contain` in `expect`; did you mean `last_contains`?",
        ),
    ] {
        let message = fault(script);
        assert!(message.contains(said), "{message}");
    }
}
