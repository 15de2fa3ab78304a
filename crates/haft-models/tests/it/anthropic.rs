//! Anthropic's Messages: answers of real shapes, and what goes back to the service with the next request.

use haft_core::message::{Message, ResultMessage};
use haft_core::ports::{FinishReason, ModelError, ModelRequest, ModelTurn, Usage};
use haft_core::{RequestedCall, ToolChoice, WireId};
use haft_models::{Api, CallIds, ModelEntry, Secret};
use serde_json::{Value, json};

use crate::support::{
    Heard, Reply, Server, answered, ask, assistant, call, messages, request, tool, weather, weather_result,
};

fn start() -> Value {
    json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "content": [],
        "stop_reason": null, "usage": {"input_tokens": 5, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 6, "output_tokens": 1}}})
}

fn block(index: u64, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: u64, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn stop(index: u64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn end(reason: &str) -> [Value; 2] {
    [
        json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null}, "usage": {"output_tokens": 7}}),
        json!({"type": "message_stop"}),
    ]
}

/// Some text that ends for `reason`.
fn said(text: &str, reason: &str) -> Vec<Value> {
    let mut events = vec![start()];
    if !text.is_empty() {
        events.extend([
            block(0, json!({"type": "text", "text": ""})),
            delta(0, json!({"type": "text_delta", "text": text})),
            stop(0),
        ]);
    }
    events.extend(end(reason));
    events
}

/// A thought, text, and two calls whose pieces are interleaved, with a thought between them.
fn everything() -> Vec<Value> {
    let mut events = vec![
        start(),
        json!({"type": "ping"}),
        block(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, json!({"type": "thinking_delta", "thinking": "Two "})),
        delta(0, json!({"type": "thinking_delta", "thinking": "cities."})),
        delta(0, json!({"type": "signature_delta", "signature": "sig1=="})),
        stop(0),
        block(1, json!({"type": "redacted_thinking", "data": "opaque"})),
        stop(1),
        block(2, json!({"type": "text", "text": ""})),
        delta(2, json!({"type": "text_delta", "text": "I look "})),
        json!({"type": "news_of_tomorrow", "index": 2, "delta": {"text": "?"}}),
        delta(2, json!({"type": "text_delta", "text": "it up."})),
        stop(2),
        block(3, json!({"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {}})),
        delta(3, json!({"type": "input_json_delta", "partial_json": ""})),
        delta(3, json!({"type": "input_json_delta", "partial_json": "{\"city\":"})),
        block(4, json!({"type": "thinking", "thinking": "And Ulm.", "signature": "sig2=="})),
        stop(4),
        block(5, json!({"type": "tool_use", "id": "toolu_2", "name": "get_weather", "input": {}})),
        delta(5, json!({"type": "input_json_delta", "partial_json": "{\"city\": \"U"})),
        delta(3, json!({"type": "input_json_delta", "partial_json": " \"Köln\"}"})),
        delta(5, json!({"type": "input_json_delta", "partial_json": "lm\"}"})),
        delta(5, json!({"type": "unknown_delta", "what": 1})),
        stop(3),
        stop(5),
    ];
    events.extend(end("tool_use"));
    events
}

async fn answer(reply: Reply) -> (ModelTurn, Heard) {
    let server = Server::start(vec![reply]).await;
    let (turn, heard) = ask(server.entry_for(Api::Anthropic), &request("Weather?")).await;
    (turn.unwrap(), heard)
}

/// The body that is sent for a request.
async fn sent(change: impl FnOnce(&mut ModelEntry), request: &ModelRequest) -> Value {
    let server = Server::start(vec![Reply::messages(&said("ok", "end_turn"))]).await;
    let mut entry = server.entry_for(Api::Anthropic);
    change(&mut entry);
    ask(entry, request).await.0.unwrap();
    server.body()
}

// PRV-01, PRV-03, PRV-06
#[tokio::test]
async fn a_stream_becomes_a_neutral_turn() {
    let (turn, heard) = answer(Reply::messages(&everything())).await;
    let server = turn.provider_metadata.clone().unwrap()["server"].clone();
    let layout = json!([
        {"own": {"type": "thinking", "thinking": "Two cities.", "signature": "sig1=="}},
        {"own": {"type": "redacted_thinking", "data": "opaque"}},
        {"text": 13},
        {"call": true},
        {"own": {"type": "thinking", "thinking": "And Ulm.", "signature": "sig2=="}},
        {"call": true},
    ]);
    assert_eq!(
        turn,
        ModelTurn {
            text: "I look it up.".into(),
            reasoning: "Two cities.And Ulm.".into(),
            calls: vec![call(Some("toolu_1"), "Köln"), call(Some("toolu_2"), "Ulm")],
            raw: None,
            finish_reason: FinishReason::ToolCalls,
            usage: Some(Usage { input_tokens: 11, output_tokens: 7 }),
            provider_metadata: Some(json!({"server": server, "fields": {"layout": layout}})),
        }
    );
    assert_eq!(heard, Heard { text: turn.text, reasoning: turn.reasoning, restarts: vec![] });
}

#[tokio::test]
async fn an_answer_without_a_stream_is_taken_too() {
    let body = json!({"id": "msg_1", "type": "message", "role": "assistant", "stop_reason": "tool_use", "content": [
        {"type": "text", "text": "Hi"}, {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Bonn"}},
    ], "usage": {"input_tokens": 1, "output_tokens": 2}});
    let (turn, heard) =
        answer(Reply::status("200 OK", "content-type: application/json\r\n", &body.to_string())).await;
    let mut expected = answered("Hi", vec![call(Some("toolu_1"), "Bonn")]);
    expected.usage = Some(Usage { input_tokens: 1, output_tokens: 2 });
    assert_eq!((turn, heard.text.as_str()), (expected, "Hi"));
}

#[tokio::test]
async fn reasons_to_stop_are_told_apart() {
    for (word, reason) in [
        ("end_turn", FinishReason::Stop),
        ("stop_sequence", FinishReason::Stop),
        ("max_tokens", FinishReason::Length),
        ("model_context_window_exceeded", FinishReason::Length),
        ("refusal", FinishReason::ContentFilter),
        ("tool_use", FinishReason::Stop), // there are none
        ("pause_turn", FinishReason::Other),
    ] {
        let (turn, _) = answer(Reply::messages(&said("x", word))).await;
        assert_eq!((turn.text.as_str(), turn.finish_reason), ("x", reason), "{word}");
    }
}

#[tokio::test]
async fn an_answer_that_was_refused_whole_is_a_clear_error() {
    let mut events = said("", "refusal");
    events[1]["delta"]["stop_details"] =
        json!({"type": "refusal", "category": "cyber", "explanation": "Not this."});
    let server = Server::start(vec![Reply::messages(&events)]).await;
    let (turn, _) = ask(server.entry_for(Api::Anthropic), &request("Hi")).await;
    assert_eq!(
        turn.unwrap_err().to_string(),
        "the model `m` refused the request (HTTP 200): its filter let no answer through: Not this. Say it in other words, or choose another model"
    );
    assert_eq!(server.requests().len(), 1);
}

// CONFLICT-03
#[tokio::test]
async fn a_call_cut_by_the_token_limit_never_runs() {
    let mut events = vec![
        start(),
        block(0, json!({"type": "thinking", "thinking": "Hm", "signature": ""})),
        block(1, json!({"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {}})),
        delta(1, json!({"type": "input_json_delta", "partial_json": "{\"city\": \"Kö"})),
    ];
    events.extend(end("max_tokens"));
    let (turn, _) = answer(Reply::messages(&events)).await;
    assert_eq!(turn.finish_reason, FinishReason::Length);
    let [RequestedCall::Malformed { name, reason, raw, wire_id }] = turn.calls.as_slice() else {
        panic!("{turn:?}")
    };
    assert_eq!((name.as_deref(), raw.as_str()), (Some("get_weather"), "{\"city\": \"Kö"));
    assert!(reason.starts_with("The answer ran out of tokens inside this call"), "{reason}");
    assert_eq!(wire_id, &Some(WireId::new("toolu_1")));
    // A thought without a signature would be refused.
    assert_eq!((turn.reasoning.as_str(), turn.provider_metadata), ("Hm", None));
}

#[tokio::test]
async fn the_request_as_sent() {
    insta::assert_json_snapshot!("anthropic_simple", sent(|_| {}, &request("Weather?")).await);
    let mut all = request("Weather?");
    all.system.clear();
    all.max_tokens = Some(100);
    all.temperature = Some(0.0);
    all.choice = ToolChoice::Tool(weather().tool_id);
    all.tools.push(tool("now", json!({})));
    let body = sent(
        |entry| {
            entry.temperature = Some(0.7);
            entry.extra =
                json!({"thinking": {"type": "adaptive"}, "max_tokens": 200}).as_object().unwrap().clone();
        },
        &all,
    )
    .await;
    insta::assert_json_snapshot!("anthropic_settings", body);
}

// PRV-02
#[tokio::test]
async fn thoughts_go_back_where_they_stood_and_to_no_other_server() {
    let server =
        Server::start(vec![Reply::messages(&everything()), Reply::messages(&said("ok", "end_turn"))]).await;
    let (turn, _) = ask(server.entry_for(Api::Anthropic), &request("Weather?")).await;
    let mut next = request("Weather?");
    next.messages.push(assistant(1, turn.unwrap()));
    next.messages
        .push(Message::Results(vec![weather_result("c_i_1_1", "sunny"), weather_result("c_i_1_2", "rain")]));
    ask(server.entry_for(Api::Anthropic), &next).await.0.unwrap();
    let own = server.requests()[1].1["messages"].clone();
    assert_eq!(own.as_array().unwrap().len(), 3);
    let use_of = |id: &str, city: &str| json!({"type": "tool_use", "id": id, "name": "get_weather", "input": {"city": city}});
    let result = |id: &str, body: &str| json!({"type": "tool_result", "tool_use_id": id, "content": body});
    assert_eq!(
        own[1]["content"],
        json!([
            {"type": "thinking", "thinking": "Two cities.", "signature": "sig1=="},
            {"type": "redacted_thinking", "data": "opaque"},
            {"type": "text", "text": "I look it up."},
            use_of("toolu_1", "Köln"),
            {"type": "thinking", "thinking": "And Ulm.", "signature": "sig2=="},
            use_of("toolu_2", "Ulm"),
        ])
    );
    assert_eq!(own[2]["content"], json!([result("toolu_1", "sunny"), result("toolu_2", "rain")]));

    let other = sent(|_| {}, &next).await;
    let plain = json!([{"type": "text", "text": "I look it up."}, use_of("toolu_1", "Köln"), use_of("toolu_2", "Ulm")]);
    assert_eq!(other["messages"][1]["content"], plain);
}

// PRV-04, ALI-08, CONFLICT-31
#[tokio::test]
async fn earlier_calls_and_results_are_paired_and_every_id_stands_once() {
    let mut history = request("Weather?");
    let nameless =
        RequestedCall::Malformed { name: None, reason: "No name.".into(), raw: "{}".into(), wire_id: None };
    history.messages.extend([
        // An id of another service's shape, one given twice, none at all.
        assistant(
            1,
            answered("", vec![call(Some("a/b"), "Köln"), call(Some("x"), "Jena"), call(Some("x"), "Ulm")]),
        ),
        Message::Results(vec![
            weather_result("c_i_1_1", "one"),
            ResultMessage { is_error: true, ..weather_result("c_i_1_2", "two") },
            // Trimmed away: the call keeps its identity.
            weather_result("c_i_1_3", ""),
        ]),
        Message::User("Go on.".into()),
        assistant(2, answered(" ", vec![call(Some("x"), "Bonn"), nameless])),
        Message::Results(vec![
            weather_result("c_i_2_1", "three"),
            ResultMessage {
                tool_id: None,
                is_error: true,
                alias: String::new(),
                ..weather_result("c_i_2_2", "No name.")
            },
        ]),
        assistant(3, answered("", vec![])),
        Message::User("Thanks".into()),
    ]);
    insta::assert_json_snapshot!("anthropic_history", sent(|_| {}, &history).await["messages"]);
}

// EXE-06
#[tokio::test]
async fn errors_are_told_with_their_reasons_and_tried_again_where_that_helps() {
    let body = |kind: &str, message: &str| json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"});
    let half = messages(&said("Hel", "end_turn")[..3]);
    let event = |kind, message| Reply::stream(&format!("{half}{}", messages(&[body(kind, message)])));
    let status = |status: &str, kind, message| {
        Reply::status(status, "content-type: application/json\r\n", &body(kind, message).to_string())
    };
    for (reply, shown, asked) in [
        (
            status("529 ", "overloaded_error", "Overloaded"),
            "(HTTP 529): Overloaded. Wait, or choose another model",
            3,
        ),
        (status("400 Bad Request", "invalid_request_error", "too long"), "(HTTP 400): too long", 1),
        (
            status("401 Unauthorized", "authentication_error", "bad key k-1"),
            "(HTTP 401): bad key [key]. Check the key that `key_env` names",
            1,
        ),
        (event("overloaded_error", "Overloaded"), "(HTTP 529): Overloaded. Wait, or choose another model", 3),
        (event("invalid_request_error", "no"), "(HTTP 400): no", 1),
        (event("new_error", "what"), "(HTTP 500): what", 3),
    ] {
        let server = Server::start(vec![reply]).await;
        let mut entry = server.entry_for(Api::Anthropic);
        entry.key = Some(Secret::new("k-1"));
        let (turn, heard) = ask(entry, &request("Hi")).await;
        assert_eq!(turn.unwrap_err().to_string(), format!("the model `m` refused the request {shown}"));
        assert_eq!((server.requests().len(), heard.restarts.len()), (asked, asked - 1));
        let head = &server.requests()[0].0;
        assert!(head.starts_with("POST /v1/messages HTTP/1.1\r\n"), "{head}");
        assert!(head.contains("x-api-key: k-1") && head.contains("anthropic-version: 2023-06-01"), "{head}");
    }
}

#[tokio::test]
async fn another_services_answer_is_nonsense() {
    for body in ["data: {\"choices\": []}\n\n", "{\"choices\": []}"] {
        let server = Server::start(vec![Reply::stream(body)]).await;
        let (turn, _) = ask(server.entry_for(Api::Anthropic), &request("Hi")).await;
        let error = turn.unwrap_err();
        assert!(
            matches!(&error, ModelError::Malformed { reason, .. } if reason.contains("speaks Anthropic's Messages?")),
            "{error}"
        );
    }
}

// PRV-02, CONFLICT-31
#[tokio::test]
async fn with_ids_of_the_provider_a_missing_or_repeated_one_fails_the_request() {
    let with_ids = |ids: [Value; 2]| {
        let mut events = vec![start()];
        for (index, id) in (0..).zip(ids) {
            events.push(block(
                index,
                json!({"type": "tool_use", "id": id, "name": "get_weather", "input": {"city": "Ulm"}}),
            ));
        }
        events.extend(end("tool_use"));
        Reply::messages(&events)
    };
    for (ids, fault) in [
        ([json!("a"), json!("b")], None),
        ([json!("a"), json!(null)], Some("a call has no id")),
        ([json!("a"), json!("a")], Some("the call id `a` was given before")),
    ] {
        let server = Server::start(vec![with_ids(ids)]).await;
        let mut entry = server.entry_for(Api::Anthropic);
        assert_eq!(ask(entry.clone(), &request("Hi")).await.0.unwrap().calls.len(), 2);
        entry.call_ids = CallIds::Provider;
        match (ask(entry, &request("Hi")).await.0, fault) {
            (Ok(turn), None) => assert_eq!(turn.calls.len(), 2),
            (Err(error), Some(fault)) => assert!(error.to_string().contains(fault), "{error}"),
            (turn, fault) => panic!("{turn:?} {fault:?}"),
        }
    }
}
