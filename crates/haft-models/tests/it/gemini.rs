//! Gemini's `generateContent`: answers of real shapes, and what goes back to the service with the next request.

use haft_core::message::{Message, ResultMessage};
use haft_core::ports::{FinishReason, ModelRequest, ModelTurn, Usage};
use haft_core::{RequestedCall, ToolChoice};
use haft_models::{Api, ModelEntry, Secret};
use serde_json::{Value, json};

use crate::support::{
    Heard, Reply, Server, answered, ask, assistant, call, request, tool, weather, weather_result,
};

fn part(part: Value) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0}], "modelVersion": "g"})
}

fn last(reason: &str) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": reason, "index": 0}],
        "usageMetadata": {"promptTokenCount": 11, "candidatesTokenCount": 5, "thoughtsTokenCount": 2, "totalTokenCount": 18}})
}

/// Thoughts, text and two calls between texts; the first call carries the signature, as the service sends it.
fn everything() -> Vec<Value> {
    vec![
        part(json!({"text": "Two ", "thought": true})),
        part(json!({"text": "cities.", "thought": true})),
        part(json!({"text": "I look "})),
        part(json!({"text": "it up."})),
        part(
            json!({"functionCall": {"id": "f1", "name": "get_weather", "args": {"city": "Köln"}}, "thoughtSignature": "c2ln"}),
        ),
        json!({"usageMetadata": {"promptTokenCount": 11}, "newField": 1}),
        part(json!({"text": " And "})),
        part(json!({"functionCall": {"name": "get_weather", "args": {"city": "Ulm"}}})),
        part(json!({"text": "", "thoughtSignature": "ZW5k"})),
        last("STOP"),
    ]
}

async fn try_answer(chunks: &[Value]) -> Result<ModelTurn, String> {
    let server = Server::start(vec![Reply::chunks(chunks)]).await;
    let (turn, heard) = ask(server.entry_for(Api::Gemini), &request("Weather?")).await;
    assert_eq!((server.requests().len(), heard.restarts.len()), (1, 0));
    turn.map_err(|error| error.to_string())
}

/// The body that is sent for a request.
async fn sent(change: impl FnOnce(&mut ModelEntry), request: &ModelRequest) -> Value {
    let server = Server::start(vec![Reply::chunks(&[part(json!({"text": "ok"})), last("STOP")])]).await;
    let mut entry = server.entry_for(Api::Gemini);
    change(&mut entry);
    ask(entry, request).await.0.unwrap();
    server.body()
}

fn signed(mut call: RequestedCall, server: &Value, fields: Value) -> RequestedCall {
    if let RequestedCall::Call { provider_metadata, .. } = &mut call {
        *provider_metadata = Some(json!({"server": server, "fields": fields}));
    }
    call
}

// PRV-01, PRV-03, PRV-06
#[tokio::test]
async fn a_stream_becomes_a_neutral_turn() {
    let server = Server::start(vec![Reply::chunks(&everything())]).await;
    let mut entry = server.entry_for(Api::Gemini);
    entry.key = Some(Secret::new("k-1"));
    let (turn, heard) = ask(entry, &request("Weather?")).await;
    let turn = turn.unwrap();
    let whose = turn.provider_metadata.clone().unwrap()["server"].clone();
    let fields = json!({"signed": [0], "layout": [
        {"text": 13}, {"call": true}, {"text": 5}, {"call": true},
        {"text": 0, "beside": {"thoughtSignature": "ZW5k"}},
    ]});
    let first = json!({"thoughtSignature": "c2ln", "functionCall": {"id": "f1"}});
    assert_eq!(
        turn,
        ModelTurn {
            text: "I look it up. And ".into(),
            reasoning: "Two cities.".into(),
            calls: vec![signed(call(Some("f1"), "Köln"), &whose, first), call(None, "Ulm")],
            raw: None,
            finish_reason: FinishReason::ToolCalls,
            usage: Some(Usage { input_tokens: 11, output_tokens: 7 }),
            provider_metadata: Some(json!({"server": whose, "fields": fields})),
        }
    );
    assert_eq!(heard, Heard { text: turn.text, reasoning: turn.reasoning, restarts: vec![] });
    let head = &server.requests()[0].0;
    assert!(head.starts_with("POST /v1/models/small:streamGenerateContent?alt=sse HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("x-goog-api-key: k-1"), "{head}");
}

#[tokio::test]
async fn an_answer_without_a_stream_is_taken_too() {
    let one = json!({"candidates": [{"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}]});
    let list = json!([part(json!({"text": "H"})), part(json!({"text": "i"})), last("STOP")]);
    for body in [one, list] {
        let server = Server::start(vec![Reply::status("200 OK", "", &body.to_string())]).await;
        let turn = ask(server.entry_for(Api::Gemini), &request("Hi")).await.0.unwrap();
        assert_eq!((turn.text.as_str(), turn.finish_reason), ("Hi", FinishReason::Stop));
    }
}

#[tokio::test]
async fn reasons_to_stop_are_told_apart() {
    for (word, reason) in [
        ("STOP", FinishReason::Stop),
        ("MAX_TOKENS", FinishReason::Length),
        ("SAFETY", FinishReason::ContentFilter),
        ("RECITATION", FinishReason::ContentFilter),
        ("SOMETHING_NEW", FinishReason::Other),
    ] {
        let turn = try_answer(&[part(json!({"text": "x"})), last(word)]).await.unwrap();
        assert_eq!((turn.text.as_str(), turn.finish_reason), ("x", reason), "{word}");
    }
}

#[tokio::test]
async fn what_was_blocked_is_a_clear_error_and_not_tried_again() {
    let mut explained = last("PROHIBITED_CONTENT");
    explained["candidates"][0]["finishMessage"] = json!("Not this.");
    for (chunks, shown) in [
        (
            vec![json!({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {}})],
            "the model `m` refused the request (HTTP 200): the prompt was blocked (SAFETY)",
        ),
        (
            vec![json!({"promptFeedback": {"blockReason": "OTHER", "blockReasonMessage": "Why not."}})],
            "the model `m` refused the request (HTTP 200): the prompt was blocked (OTHER): Why not.",
        ),
        (
            vec![last("SAFETY")],
            "the model `m` refused the request (HTTP 200): its filter let no answer through: SAFETY. Say it in other words, or choose another model",
        ),
        (
            vec![explained],
            "the model `m` refused the request (HTTP 200): its filter let no answer through: PROHIBITED_CONTENT: Not this. Say it in other words, or choose another model",
        ),
        (vec![last("OTHER")], "the model `m` answered nonsense: it stopped without an answer: OTHER"),
    ] {
        assert_eq!(try_answer(&chunks).await, Err(shown.to_owned()));
    }
}

// CONFLICT-03
#[tokio::test]
async fn a_call_that_the_service_could_not_read_tells_the_model_what_to_mend() {
    let mut broken = last("MALFORMED_FUNCTION_CALL");
    broken["candidates"][0]["finishMessage"] = json!("Malformed function call: get_weather(city=");
    let turn = try_answer(&[broken]).await.unwrap();
    assert_eq!(turn.finish_reason, FinishReason::ToolCalls);
    let reason =
        "The call could not be read. Call a tool by its name, with its arguments as one JSON object.";
    assert_eq!(
        turn.calls,
        [RequestedCall::Malformed {
            name: None,
            reason: reason.into(),
            raw: "Malformed function call: get_weather(city=".into(),
            wire_id: None
        }]
    );
    let mut next = request("Weather?");
    next.messages.push(assistant(1, turn));
    next.messages.push(Message::Results(vec![ResultMessage {
        tool_id: None,
        is_error: true,
        ..weather_result("c_i_1_1", reason)
    }]));
    let body = sent(|_| {}, &next).await;
    let name = json!("unreadable_call");
    assert_eq!(body["contents"][1]["parts"][0]["functionCall"]["name"], name);
    assert_eq!(
        body["contents"][2]["parts"][0]["functionResponse"],
        json!({"name": name, "response": {"error": reason}})
    );
}

#[tokio::test]
async fn the_request_as_sent() {
    insta::assert_json_snapshot!("gemini_simple", sent(|_| {}, &request("Weather?")).await);
    let mut all = request("Weather?");
    all.system.clear();
    all.max_tokens = Some(100);
    all.temperature = Some(0.0);
    all.choice = ToolChoice::Tool(weather().tool_id);
    all.tools.push(tool("now", json!({})));
    let body = sent(
        |entry| {
            (entry.temperature, entry.seed) = (Some(0.7), Some(42));
            entry.extra = json!({"generationConfig": {"thinkingConfig": {"includeThoughts": true}}})
                .as_object()
                .unwrap()
                .clone();
        },
        &all,
    )
    .await;
    insta::assert_json_snapshot!("gemini_settings", body);
}

// PRV-02
#[tokio::test]
async fn signatures_go_back_where_they_stood_and_to_no_other_server() {
    let server = Server::start(vec![
        Reply::chunks(&everything()),
        Reply::chunks(&[part(json!({"text": "ok"})), last("STOP")]),
    ])
    .await;
    let (turn, _) = ask(server.entry_for(Api::Gemini), &request("Weather?")).await;
    let mut next = request("Weather?");
    next.messages.push(assistant(1, turn.unwrap()));
    next.messages
        .push(Message::Results(vec![weather_result("c_i_1_1", "sunny"), weather_result("c_i_1_2", "rain")]));
    ask(server.entry_for(Api::Gemini), &next).await.0.unwrap();
    let own = server.requests()[1].1["contents"].clone();
    let ulm = json!({"functionCall": {"name": "get_weather", "args": {"city": "Ulm"}}});
    assert_eq!(
        own[1],
        json!({"role": "model", "parts": [
            {"text": "I look it up."},
            {"functionCall": {"name": "get_weather", "args": {"city": "Köln"}, "id": "f1"}, "thoughtSignature": "c2ln"},
            {"text": " And "},
            ulm,
            {"text": "", "thoughtSignature": "ZW5k"},
        ]})
    );
    assert_eq!(
        own[2],
        json!({"role": "user", "parts": [
            {"functionResponse": {"name": "get_weather", "response": {"output": "sunny"}, "id": "f1"}},
            {"functionResponse": {"name": "get_weather", "response": {"output": "rain"}}},
        ]})
    );

    // Another server gets the sign that there is no signature, once.
    let other = sent(|_| {}, &next).await["contents"][1].clone();
    let koeln = json!({"functionCall": {"name": "get_weather", "args": {"city": "Köln"}}, "thoughtSignature": "skip_thought_signature_validator"});
    assert_eq!(other, json!({"role": "model", "parts": [{"text": "I look it up. And "}, koeln, ulm]}));
}

// PRV-02
#[tokio::test]
async fn a_lost_signature_fails_the_request_before_it_is_sent() {
    let server = Server::start(vec![Reply::chunks(&everything())]).await;
    let mut turn = ask(server.entry_for(Api::Gemini), &request("Weather?")).await.0.unwrap();
    if let RequestedCall::Call { provider_metadata, .. } = &mut turn.calls[0] {
        *provider_metadata = None;
    }
    let mut next = request("Weather?");
    next.messages.push(assistant(1, turn));
    let error = ask(server.entry_for(Api::Gemini), &next).await.0.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the model `m` answered nonsense: what it wants back with its earlier call of `get_weather` is lost, so it cannot be asked again in this conversation; start a new session"
    );
    assert_eq!(server.requests().len(), 1);
}

// CONFLICT-31
#[tokio::test]
async fn an_id_that_was_given_twice_goes_back_once() {
    let twice = json!({"functionCall": {"id": "f", "name": "get_weather", "args": {"city": "Ulm"}}});
    let server = Server::start(vec![Reply::chunks(&[part(twice.clone()), part(twice), last("STOP")])]).await;
    let turn = ask(server.entry_for(Api::Gemini), &request("Weather?")).await.0.unwrap();
    assert_eq!(turn.calls.len(), 2);
    let mut next = request("Weather?");
    next.messages.push(assistant(1, turn));
    next.messages.push(Message::Results(vec![weather_result("c_i_1_1", ""), weather_result("c_i_1_2", "b")]));
    ask(server.entry_for(Api::Gemini), &next).await.0.unwrap();
    let contents = &server.requests()[1].1["contents"];
    let ids = |content: usize, kind: &str| {
        let parts = contents[content]["parts"].as_array().unwrap();
        parts.iter().map(|part| part[kind]["id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(ids(1, "functionCall"), [json!("f"), json!(null)]);
    assert_eq!(ids(2, "functionResponse"), [json!("f"), json!(null)]);
}

// EXE-06
#[tokio::test]
async fn the_delay_in_an_error_is_obeyed_within_reason() {
    let busy = |delay: &str| {
        let body = json!([{"error": {"code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED",
            "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}]}}]);
        Reply::status("429 Too Many Requests", "content-type: application/json\r\n", &body.to_string())
    };
    let server =
        Server::start(vec![busy("0.01s"), Reply::chunks(&[part(json!({"text": "ok"})), last("STOP")])]).await;
    let mut entry = server.entry_for(Api::Gemini);
    entry.retry_wait = std::time::Duration::from_secs(3600);
    assert_eq!(ask(entry, &request("Hi")).await.0.unwrap().text, "ok");
    let server = Server::start(vec![busy("3600s")]).await;
    let error = ask(server.entry_for(Api::Gemini), &request("Hi")).await.0.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the model `m` refused the request (HTTP 429): quota. Wait, or choose another model"
    );
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn an_answer_of_another_model_is_continued() {
    let mut history = request("Weather?");
    history
        .messages
        .push(assistant(1, answered("", vec![call(Some("toolu_1"), "Köln"), call(Some("toolu_2"), "Ulm")])));
    history
        .messages
        .push(Message::Results(vec![weather_result("c_i_1_1", "sunny"), weather_result("c_i_1_2", "rain")]));
    let contents = sent(|_| {}, &history).await["contents"].clone();
    let parts = contents[1]["parts"].as_array().unwrap();
    assert_eq!(parts[0]["thoughtSignature"], "skip_thought_signature_validator");
    assert!(
        parts[1].get("thoughtSignature").is_none() && parts[0]["functionCall"].get("id").is_none(),
        "{contents}"
    );
    assert!(contents[2]["parts"][0]["functionResponse"].get("id").is_none(), "{contents}");
}
