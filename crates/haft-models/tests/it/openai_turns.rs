//! Answers of real shapes, and what goes back to the server with the next request.

use std::sync::Arc;

use crate::support::{Heard, Reply, STREAM, Server, chunk, last, request, weather};
use haft_core::message::{Message, ResultMessage};
use haft_core::ports::{FinishReason, ModelError, ModelRequest, ModelTurn, NeverCancelled, Usage};
use haft_core::{CallId, Model, RequestedCall, ToolChoice, ToolId, WireId};
use haft_models::{CallIds, Grammar, ModelEntry, OpenAi};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

async fn ask(entry: ModelEntry, request: &ModelRequest) -> (Result<ModelTurn, ModelError>, Heard) {
    let mut heard = Heard::default();
    let turn = OpenAi::new(entry).unwrap().turn(request, &mut heard, &NeverCancelled).await;
    (turn, heard)
}

async fn answer(reply: Reply) -> (ModelTurn, Heard) {
    let server = Server::start(vec![reply]).await;
    let (turn, heard) = ask(server.entry(), &request("Weather?")).await;
    (turn.unwrap(), heard)
}

/// The body that is sent for a request.
async fn sent(change: impl FnOnce(&mut ModelEntry), request: &ModelRequest) -> Value {
    let server = Server::start(vec![Reply::events(&[chunk(json!({"content": "ok"})), last("stop")])]).await;
    let mut entry = server.entry();
    change(&mut entry);
    ask(entry, request).await.0.unwrap();
    server.body()
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn result(call_id: &str, wire_id: Option<&str>, body: &str) -> ResultMessage {
    ResultMessage {
        call_id: CallId::new(call_id),
        wire_id: wire_id.map(WireId::new),
        tool_id: Some(ToolId::own("get_weather")),
        alias: "get_weather".into(),
        is_error: false,
        content: "content".into(),
        body: body.into(),
        images: Vec::new(),
    }
}

fn call(wire_id: Option<&str>, city: &str) -> RequestedCall {
    let mut call = RequestedCall::call("get_weather", object(json!({"city": city})));
    if let RequestedCall::Call { wire_id: id, .. } = &mut call {
        *id = wire_id.map(WireId::new);
    }
    call
}

// PRV-01, PRV-05
#[tokio::test]
async fn a_streamed_answer_with_text_reasoning_and_a_call() {
    let (turn, heard) = answer(Reply::events(&[
        chunk(json!({"role": "assistant", "content": null, "reasoning_content": "Let me "})),
        chunk(json!({"reasoning_content": "look."})),
        chunk(json!({"content": "I look "})),
        chunk(json!({"content": "it up."})),
        chunk(json!({"tool_calls": [{"index": 0, "id": "w1", "type": "function", "function": {"name": "get_weather", "arguments": ""}}]})),
        chunk(json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"city\":"}}]})),
        chunk(json!({"tool_calls": [{"index": 0, "function": {"arguments": " \"Köln\"}"}}]})),
        last("tool_calls"),
        json!({"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}}),
    ]))
    .await;
    let server = turn.provider_metadata.clone().unwrap()["server"].clone();
    assert_eq!(
        turn,
        ModelTurn {
            text: "I look it up.".into(),
            reasoning: "Let me look.".into(),
            calls: vec![call(Some("w1"), "Köln")],
            raw: None,
            finish_reason: FinishReason::ToolCalls,
            usage: Some(Usage { input_tokens: 11, output_tokens: 7 }),
            provider_metadata: Some(
                json!({"server": server, "fields": {"reasoning_content": "Let me look."}})
            ),
        }
    );
    assert_eq!(heard, Heard { text: turn.text, reasoning: turn.reasoning, restarts: vec![] });
}

#[tokio::test]
async fn an_answer_without_a_stream_is_taken_too() {
    let body = json!({"id": "x", "object": "chat.completion", "choices": [{"index": 0, "finish_reason": "stop", "message": {
        "role": "assistant", "content": [{"type": "text", "text": "Hi"}],
        "tool_calls": [{"id": "w1", "type": "function", "function": {"name": "get_weather", "arguments": "{\"city\": \"Bonn\"}"}}],
    }}], "usage": {"prompt_tokens": 1, "completion_tokens": 2}});
    for text in [body.to_string(), format!("\n  {body:#}\n"), format!("\u{feff}{body}")] {
        let (turn, heard) =
            answer(Reply::status("200 OK", "content-type: application/json\r\n", &text)).await;
        assert_eq!((turn.text.as_str(), &turn.calls), ("Hi", &vec![call(Some("w1"), "Bonn")]));
        // `stop` beside calls means calls
        assert_eq!(turn.finish_reason, FinishReason::ToolCalls);
        assert_eq!(turn.usage, Some(Usage { input_tokens: 1, output_tokens: 2 }));
        assert_eq!(heard.text, "Hi");
    }
}

#[tokio::test]
async fn a_whole_answer_that_is_cut_is_asked_for_again() {
    let body = json!({"choices": [{"finish_reason": "stop", "message": {"content": "Hi"}}]}).to_string();
    let half = Reply::status("200 OK", "", &body[..body.len() / 2]);
    let server = Server::start(vec![half, Reply::status("200 OK", "", &body)]).await;
    let (turn, heard) = ask(server.entry(), &request("Hi")).await;
    assert_eq!(turn.unwrap().text, "Hi");
    assert_eq!(heard.restarts.len(), 1);
}

#[tokio::test]
async fn reasons_to_stop_are_told_apart() {
    for (word, reason) in [
        ("stop", FinishReason::Stop),
        ("length", FinishReason::Length),
        ("content_filter", FinishReason::ContentFilter),
        ("tool_calls", FinishReason::Stop), // there are none
        ("insufficient_system_resource", FinishReason::Other),
    ] {
        let (turn, _) = answer(Reply::events(&[chunk(json!({"content": "x"})), last(word)])).await;
        assert_eq!(turn.finish_reason, reason, "{word}");
    }
    // `[DONE]` alone ends an answer too
    let (turn, _) = answer(Reply::events(&[chunk(json!({"content": "x"}))])).await;
    assert_eq!((turn.text.as_str(), turn.finish_reason), ("x", FinishReason::Other));
    // and so does a reason without `[DONE]`
    let text = format!("data: {}\n\ndata: {}", chunk(json!({"refusal": "no"})), last("stop"));
    let (turn, _) = answer(Reply::stream(&text)).await;
    assert_eq!((turn.text.as_str(), turn.finish_reason), ("no", FinishReason::Stop));
}

// CONFLICT-03
#[tokio::test]
async fn a_call_cut_by_the_token_limit_never_runs() {
    let (turn, _) = answer(Reply::events(&[
        chunk(json!({"tool_calls": [{"index": 0, "id": "w1", "function": {"name": "get_weather", "arguments": "{\"city\": \"Kö"}}]})),
        last("length"),
    ]))
    .await;
    assert_eq!(turn.finish_reason, FinishReason::Length);
    let [RequestedCall::Malformed { name, reason, raw, wire_id }] = turn.calls.as_slice() else {
        panic!("{turn:?}")
    };
    assert_eq!(name.as_deref(), Some("get_weather"));
    assert_eq!(
        reason,
        "The answer ran out of tokens inside this call, so nothing was run. Ask for less at once."
    );
    assert_eq!((raw.as_str(), wire_id), ("{\"city\": \"Kö", &Some(WireId::new("w1"))));
}

#[tokio::test]
async fn the_request_as_sent() {
    insta::assert_json_snapshot!("simple", sent(|_| {}, &request("Weather?")).await);
    let mut all = request("Weather?");
    all.system.clear();
    all.max_tokens = Some(100);
    all.temperature = Some(0.0);
    all.choice = ToolChoice::Tool(weather().tool_id);
    all.tools.push(crate::support::tool("now", json!({})));
    let body = sent(
        |entry| {
            entry.temperature = Some(0.7);
            entry.seed = Some(42);
            entry.grammar = Some(Grammar::Text("root ::= \"x\"".into()));
        },
        &all,
    )
    .await;
    insta::assert_json_snapshot!("settings", body);
}

// EXE-19
#[tokio::test]
async fn choices_are_said_in_the_servers_words() {
    let mut one = request("Hi");
    for (choice, said) in [
        (ToolChoice::Auto, Value::Null),
        (ToolChoice::None, json!("none")),
        (ToolChoice::Required, json!("required")),
        (ToolChoice::Tool(ToolId::own("gone")), json!("required")),
    ] {
        one.choice = choice;
        assert_eq!(sent(|_| {}, &one).await["tool_choice"], said);
    }
    one.tools.clear();
    let body = sent(|_| {}, &one).await;
    assert!(body.get("tools").is_none() && body.get("tool_choice").is_none(), "{body}");
}

// CONFLICT-31
#[tokio::test]
async fn earlier_calls_and_their_results_go_back_paired_inside_their_turn() {
    let ids =
        |turn: u32, count: u32| (1..=count).map(|one| CallId::new(format!("c_i_{turn}_{one}"))).collect();
    let mut renamed = call(Some("call_0"), "Bonn");
    if let RequestedCall::Call { name, .. } = &mut renamed {
        *name = "weather".into();
    }
    let malformed = RequestedCall::Malformed {
        name: Some("get weather!".into()),
        reason: "The arguments are not JSON.".into(),
        raw: "city=Köln".into(),
        wire_id: None,
    };
    let nameless = RequestedCall::Malformed {
        name: None,
        reason: "No name.".into(),
        raw: "{}".into(),
        wire_id: Some(WireId::new("x")),
    };
    let assistant = |text: &str, calls: Vec<RequestedCall>, call_ids| Message::Assistant {
        text: text.into(),
        raw: Some("<raw>".into()),
        calls,
        call_ids,
        provider_metadata: None,
    };
    let mut history = request("Weather?");
    // one id for two calls, no id, then ids that start again
    history.messages.extend([
        assistant(
            "",
            vec![call(Some("call_0"), "Köln"), call(Some("call_0"), "Jena"), call(None, "Ulm")],
            ids(1, 3),
        ),
        Message::Results(vec![
            result("c_i_1_1", Some("call_0"), "one"),
            result("c_i_1_2", Some("call_0"), "two"),
            result("c_i_1_3", None, "three"),
        ]),
        assistant("Once more.", vec![renamed, malformed, nameless], ids(2, 3)),
        Message::Results(vec![
            result("c_i_2_1", Some("call_0"), "four"),
            ResultMessage {
                tool_id: None,
                alias: "get weather!".into(),
                ..result("c_i_2_2", None, "## Tool error")
            },
            ResultMessage {
                tool_id: None,
                alias: String::new(),
                ..result("c_i_2_3", Some("x"), "## Tool error")
            },
        ]),
        assistant("Done.", vec![], vec![]),
        Message::User("Thanks".into()),
    ]);
    insta::assert_json_snapshot!("history", sent(|_| {}, &history).await["messages"]);
}

// PRV-02
#[tokio::test]
async fn what_the_server_sent_along_comes_back_to_it_and_to_no_other() {
    let reply = Reply::events(&[
        chunk(
            json!({"role": "assistant", "content": "", "reasoning_content": "Hm", "reasoning_details": [{"type": "text", "text": "H"}]}),
        ),
        chunk(
            json!({"reasoning_content": "m.", "reasoning_details": [{"type": "text", "text": "m"}], "audio": null}),
        ),
        chunk(
            json!({"tool_calls": [{"index": 0, "id": "w1", "type": "function", "extra_content": {"google": {"thought_signature": "s1"}},
            "function": {"name": "get_weather", "arguments": "{\"city\": \"Köln\"}"}}]}),
        ),
        last("tool_calls"),
    ]);
    let server = Server::start(vec![reply.clone()]).await;
    let (turn, _) = ask(server.entry(), &request("Weather?")).await;
    let turn = turn.unwrap();
    let mut next = request("Weather?");
    next.messages.push(Message::Assistant {
        text: turn.text,
        raw: turn.raw,
        calls: turn.calls,
        call_ids: vec![CallId::new("c_i_1_1")],
        provider_metadata: turn.provider_metadata,
    });
    next.messages.push(Message::Results(vec![result("c_i_1_1", Some("w1"), "sunny")]));
    ask(server.entry(), &next).await.0.unwrap();
    let own = server.requests()[1].1["messages"][2].clone();
    insta::assert_json_snapshot!("metadata", own);

    let other = sent(|_| {}, &next).await;
    let plain = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "w1", "type": "function", "function": {"name": "get_weather", "arguments": "{\"city\":\"Köln\"}"}}
    ]});
    assert_eq!(other["messages"][2], plain);
}

#[tokio::test]
async fn reasoning_goes_back_beside_calls_alone() {
    let (turn, _) =
        answer(Reply::events(&[chunk(json!({"reasoning": "Hm.", "content": "Hi"})), last("stop")])).await;
    assert_eq!((turn.reasoning.as_str(), turn.provider_metadata), ("Hm.", None));
}

// PRV-02, CONFLICT-31
#[tokio::test]
async fn with_ids_of_the_provider_a_missing_or_repeated_one_fails_the_request() {
    let with_ids = |ids: &[Option<&str>]| {
        let calls = ids.iter().enumerate().map(|(index, id)| {
            json!({"index": index, "id": id, "function": {"name": "get_weather", "arguments": "{\"city\": \"Köln\"}"}})
        });
        Reply::events(&[chunk(json!({"tool_calls": calls.collect::<Vec<_>>()})), last("tool_calls")])
    };
    let mut history = request("Weather?");
    history.messages.push(Message::Assistant {
        text: String::new(),
        raw: None,
        calls: vec![call(Some("old"), "Ulm")],
        call_ids: vec![CallId::new("c_i_1_1")],
        provider_metadata: None,
    });
    history.messages.push(Message::Results(vec![result("c_i_1_1", Some("old"), "rain")]));
    for (ids, fault) in [
        (vec![Some("a"), Some("b")], None),
        (vec![Some("a"), None], Some("a call has no id")),
        (vec![Some("")], Some("a call has no id")),
        (vec![Some("a"), Some("a")], Some("the call id `a` was given before")),
        (vec![Some("old")], Some("the call id `old` was given before")),
    ] {
        let server = Server::start(vec![with_ids(&ids)]).await;
        let mut entry = server.entry();
        assert_eq!(ask(entry.clone(), &history).await.0.unwrap().calls.len(), ids.len());
        entry.call_ids = CallIds::Provider;
        assert!(OpenAi::new(entry.clone()).unwrap().traits().provider_call_ids);
        let (turn, _) = ask(entry, &history).await;
        match fault {
            None => assert_eq!(turn.unwrap().calls.len(), 2),
            Some(fault) => {
                let error = turn.unwrap_err();
                assert_eq!(error.code(), "model.malformed_answer");
                assert!(error.to_string().contains(fault), "{error}");
                assert_eq!(server.requests().len(), 2, "not tried again");
            }
        }
    }
}

/// A stream as recorded, with CRLF, a comment and text beyond ASCII.
fn recorded() -> Vec<u8> {
    let mut text = ": hello\r\n\r\n".to_owned();
    for data in [
        chunk(json!({"role": "assistant", "reasoning_content": "Überlegung 🤔"})),
        chunk(json!({"content": "Grüße 👋\n"})),
        chunk(
            json!({"tool_calls": [{"index": 0, "id": "w1", "function": {"name": "get_weather", "arguments": "{\"city\": \"Kö"}}]}),
        ),
        chunk(json!({"tool_calls": [{"index": 0, "function": {"arguments": "ln\"}"}}]})),
        last("tool_calls"),
        json!({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}}),
    ] {
        text.push_str(&format!("data: {data}\r\n\r\n"));
    }
    text.push_str("data: [DONE]\r\n\r\n");
    text.into_bytes()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_chunking_of_a_stream_gives_the_same_turn(cuts in proptest::collection::vec(1_usize..90, 1..40)) {
        let bytes = recorded();
        let mut pieces = vec![STREAM.to_vec()];
        let mut rest = bytes.as_slice();
        for cut in &cuts {
            let (now, later) = rest.split_at((*cut).min(rest.len()));
            pieces.push(now.to_vec());
            rest = later;
        }
        pieces.push(rest.to_vec());
        let (turn, heard) = runtime().block_on(answer(Reply::Send(pieces)));
        prop_assert_eq!(&turn.text, "Grüße 👋\n");
        prop_assert_eq!(&turn.reasoning, "Überlegung 🤔");
        prop_assert_eq!(&turn.calls, &vec![call(Some("w1"), "Köln")]);
        prop_assert_eq!(turn.usage, Some(Usage { input_tokens: 3, output_tokens: 4 }));
        prop_assert_eq!((&heard.text, &heard.reasoning), (&turn.text, &turn.reasoning));
    }

    #[test]
    fn foreign_bytes_end_in_a_turn_or_a_clear_error(
        parts in proptest::collection::vec(
            prop_oneof![
                Just("data: ".to_owned()), Just("\n\n".to_owned()), Just("event: error\n".to_owned()),
                Just(r#"{"choices": [{"delta": {"content": "x", "tool_calls": [{"index": 0}, 1]}}]}"#.to_owned()),
                Just(r#"{"choices": [{"finish_reason": "stop"}, 7]}"#.to_owned()), Just(r#"{"choices": 3}"#.to_owned()),
                Just(r#"{"error": null, "usage": {}}"#.to_owned()), Just("[DONE]".to_owned()), "\\PC{0,8}",
            ],
            0..10,
        )
    ) {
        let turn = runtime().block_on(async {
            let server = Server::start(vec![Reply::stream(&parts.concat())]).await;
            ask(server.entry(), &request("Hi")).await.0
        });
        if let Err(error) = turn {
            prop_assert!(
                ["model.cut_off", "model.malformed_answer", "model.refused"].contains(&error.code()),
                "{}", error
            );
        }
    }
}

#[test]
fn a_model_can_be_shared() {
    fn shared<T: Send + Sync>(_: &Arc<T>) {}
    shared(&Arc::new(OpenAi::new(ModelEntry::new("m", "http://127.0.0.1:1/v1", "x")).unwrap()));
}
