//! Every text dialect over a model: history in its form, answers read in it, and servers held to it.

use haft_core::message::{Message, ResultMessage};
use haft_core::ports::{FinishReason, ModelRequest, ModelTurn, NeverCancelled};
use haft_core::{CallId, Model, RequestedCall, ToolChoice, ToolId, WireId};
use haft_models::{Api, Demo, Grammar, Scripted, TextDialect, connect, with_text_fallback};
use serde_json::{Value, json};
use std::sync::Arc;

use crate::support::{Heard, Reply, Server, chunk, last, request, weather};

fn call(city: &str) -> RequestedCall {
    RequestedCall::call("get_weather", json!({"city": city}).as_object().unwrap().clone())
}

/// A conversation with two calls, one of which failed.
fn history() -> ModelRequest {
    let result = |id: &str, is_error, content: &str| ResultMessage {
        call_id: CallId::new(id),
        wire_id: Some(WireId::from(id)),
        tool_id: Some(ToolId::own("get_weather")),
        alias: "get_weather".into(),
        is_error,
        content: content.into(),
        body: format!("rendered {content}"),
        images: Vec::new(),
    };
    let mut history = request("Weather?");
    history.messages.extend([
        Message::Assistant {
            text: "I look.".into(),
            raw: None,
            calls: vec![call("Köln"), call("Ulm")],
            call_ids: Vec::new(),
            provider_metadata: None,
        },
        Message::Results(vec![result("c1", false, "sunny"), result("c2", true, "no such city")]),
    ]);
    history
}

/// The body that a server is sent, and the turn that comes of its answer.
async fn asked(
    dialect: &str,
    grammar: Option<Grammar>,
    request: &ModelRequest,
    answer: &str,
) -> (Value, ModelTurn, Heard) {
    let pieces: Vec<char> = answer.chars().collect();
    let mut events: Vec<Value> =
        pieces.chunks(7).map(|piece| chunk(json!({"content": piece.iter().collect::<String>()}))).collect();
    events.push(last("stop"));
    let server = Server::start(vec![Reply::events(&events)]).await;
    let mut entry = server.entry();
    entry.dialect = dialect.into();
    entry.grammar = grammar;
    let mut heard = Heard::default();
    let turn = connect(entry).unwrap().turn(request, &mut heard, &NeverCancelled).await.unwrap();
    (server.body(), turn, heard)
}

// CONFLICT-02, CONFLICT-06, RES-02
#[tokio::test]
async fn history_stands_in_the_form_of_the_dialect() {
    let mut seen = Vec::new();
    for dialect in ["hermes", "qwen3-coder", "mistral", "pythonic", "kimi-k2", "react"] {
        let (body, _, _) = asked(dialect, None, &history(), "ok").await;
        assert!(
            body["messages"][0]["content"].as_str().unwrap().contains("<tool name=\"get_weather\">"),
            "{body}"
        );
        seen.push(json!({"dialect": dialect, "history": &body["messages"].as_array().unwrap()[2..]}));
    }
    insta::assert_json_snapshot!("dialect_histories", seen);
}

#[tokio::test]
async fn what_a_dialect_cannot_carry_stands_in_a_fence() {
    let mut request = request("Hi");
    request.messages.push(Message::Assistant {
        text: "I look.".into(),
        raw: None,
        calls: vec![call(" blanks "), call("Ulm")],
        call_ids: Vec::new(),
        provider_metadata: None,
    });
    let (body, _, _) = asked("glm47", None, &request, "ok").await;
    assert_eq!(
        body["messages"][2]["content"],
        "I look.\n```json\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \" blanks \"}}\n```\n\
         <tool_call>get_weather<arg_key>city</arg_key><arg_value>Ulm</arg_value></tool_call>"
    );
}

#[tokio::test]
async fn a_server_is_held_to_the_calls_of_the_turn() {
    let mut demanded = request("Weather?");
    demanded.choice = ToolChoice::Tool(weather().tool_id);
    let written = "<tool_call>\n  <name>get_weather</name>\n  <params>\n    <city><![CDATA[Ulm]]></city>\n  </params>\n</tool_call>";
    let (body, turn, _) = asked("artifact-xml", Some(Grammar::Gbnf), &demanded, written).await;
    let grammar = body["grammar"].as_str().unwrap();
    assert!(grammar.starts_with("root ::= ") && grammar.contains("\"get_weather\""), "{grammar}");
    assert!(body.get("response_format").is_none());
    assert_eq!(turn.calls, [call("Ulm")]);
    // Where nothing can be called, nothing is forced.
    demanded.choice = ToolChoice::None;
    assert!(asked("artifact-xml", Some(Grammar::Gbnf), &demanded, "Hi.").await.0.get("grammar").is_none());
    let own = Grammar::Text("root ::= \"x\"".into());
    assert_eq!(asked("artifact-xml", Some(own), &demanded, "x").await.0["grammar"], "root ::= \"x\"");
}

#[tokio::test]
async fn answers_held_to_a_schema_are_one_object_each() {
    let answer =
        r#"{"text": "I look.", "tool_calls": [{"name": "get_weather", "arguments": {"city": "Ulm"}}]}"#;
    let (body, turn, heard) = asked("hermes", Some(Grammar::JsonSchema), &history(), answer).await;
    let format = &body["response_format"];
    assert_eq!((&format["type"], &format["json_schema"]["strict"]), (&json!("json_schema"), &json!(true)));
    let kinds = &format["json_schema"]["schema"]["properties"]["tool_calls"]["items"]["anyOf"];
    assert_eq!(kinds[0]["properties"]["name"]["const"], "get_weather");
    assert_eq!(
        body["messages"][2]["content"],
        "{\"text\": \"I look.\", \"tool_calls\": [{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Köln\"}}, \
         {\"name\": \"get_weather\", \"arguments\": {\"city\": \"Ulm\"}}]}"
    );
    assert!(body["messages"][0]["content"].as_str().unwrap().contains("Answer with one JSON object"));
    assert_eq!(
        (turn.text.as_str(), turn.calls, turn.finish_reason),
        ("I look.", vec![call("Ulm")], FinishReason::ToolCalls)
    );
    assert_eq!((heard.text.as_str(), turn.raw.as_deref()), ("I look.", Some(answer)));
    let text = r#"{"text": "It is sunny.", "tool_calls": []}"#;
    let (_, turn, heard) = asked("hermes", Some(Grammar::JsonSchema), &request("Hi"), text).await;
    assert_eq!(
        (turn.text.as_str(), turn.calls.len(), heard.text.as_str()),
        ("It is sunny.", 0, "It is sunny.")
    );
    // A server that holds nobody to anything.
    let (_, turn, heard) =
        asked("artifact-xml", Some(Grammar::JsonSchema), &request("Hi"), "  Just text.").await;
    assert_eq!((turn.text.as_str(), heard.text.trim()), ("Just text.", "Just text."));
}

#[tokio::test]
async fn a_grammar_needs_a_text_dialect_and_a_server_that_takes_it() {
    let refused = |dialect: &str, api| {
        let mut entry = haft_models::ModelEntry::new("m", "http://127.0.0.1:9/v1", "x");
        entry.dialect = dialect.into();
        entry.api = api;
        entry.grammar = Some(Grammar::Gbnf);
        connect(entry).map(|_| ()).unwrap_err().to_string()
    };
    assert!(refused("native", Api::OpenAi).contains("set `dialect` to a text dialect"));
    assert!(
        refused("hermes", Api::Anthropic).contains("only servers with OpenAI's chat completions take one")
    );
}

async fn fallen_back(script: Value) -> (ModelTurn, Heard) {
    let scripted = Scripted::from_jsonl("s", &script.to_string()).unwrap();
    let mut heard = Heard::default();
    let model = with_text_fallback(Arc::new(scripted));
    let turn = model.turn(&request("Weather?"), &mut heard, &NeverCancelled).await.unwrap();
    (turn, heard)
}

// CONFLICT-02
#[tokio::test]
async fn calls_in_the_content_of_a_native_model_are_calls() {
    let written =
        "<tool_call><name>get_weather</name><params><city><![CDATA[Ulm]]></city></params></tool_call>";
    let (turn, heard) = fallen_back(json!({"text": format!("I look.\n{written}")})).await;
    assert_eq!(
        (turn.text.as_str(), turn.calls, turn.finish_reason),
        ("I look.", vec![call("Ulm")], FinishReason::ToolCalls)
    );
    assert_eq!(heard.text.trim_end(), "I look.");
    // Beside native calls, text is text.
    let (turn, _) = fallen_back(
        json!({"text": written, "tool_calls": [{"name": "get_weather", "arguments": {"city": "Köln"}}]}),
    )
    .await;
    assert_eq!((turn.text.as_str(), turn.calls), (written, vec![call("Köln")]));
    let (turn, heard) = fallen_back(json!({"text": "Just text: 1 < 2."})).await;
    assert_eq!(
        (turn.text.as_str(), turn.calls.len(), heard.text.as_str()),
        ("Just text: 1 < 2.", 0, "Just text: 1 < 2.")
    );
}

#[tokio::test]
async fn every_dialect_can_be_spoken() {
    for dialect in haft_dialect::dialects().iter().skip(1) {
        let model = TextDialect::new(Demo::new(), dialect.name(), None).unwrap();
        assert_eq!(model.traits().dialect, dialect.name());
        let only_content = *dialect == haft_dialect::Dialect::ArtifactXml;
        assert_eq!(model.traits().wraps_results, only_content, "{dialect}");
    }
}
