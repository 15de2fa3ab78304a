//! What holds for all three providers alike.

use std::collections::HashMap;
use std::sync::Arc;

use haft_core::message::{Message, ResultMessage};
use haft_core::ports::{
    BlobRows, BoxFuture, FinishReason, ModelError, ModelTurn, NeverCancelled, StoreError, Usage,
};
use haft_core::{ContentPart, RequestedCall, ToolChoice, ToolId};
use haft_models::{Api, connect, connect_with_images};
use haft_schema::Digest;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{
    Heard, Reply, STREAM, Server, Switch, answered, ask, assistant, call, chunk, chunks, last, messages,
    request, tool, weather, weather_result,
};

const ALL: [Api; 3] = [Api::OpenAi, Api::Anthropic, Api::Gemini];

/// A recorded stream: a thought, text beyond ASCII, two calls whose pieces are interleaved where the provider can do that,
/// events of a kind that nobody knows, and token counts.
fn recorded(api: Api) -> String {
    match api {
        Api::OpenAi => {
            let call = |index: u32, id: Option<&str>, name: Option<&str>, arguments: &str| {
                chunk(
                    json!({"tool_calls": [{"index": index, "id": id, "function": {"name": name, "arguments": arguments}}]}),
                )
            };
            let mut text = ": hello\r\n\r\nevent: news\r\nid: 3\r\n\r\n".to_owned();
            for data in [
                chunk(json!({"role": "assistant", "reasoning_content": "Überlegung 🤔", "news": null})),
                chunk(json!({"content": "Grüße 👋\n"})),
                call(0, Some("w1"), Some("get_weather"), "{\"city\": \"Kö"),
                call(1, Some("w2"), Some("get_weather"), "{\"city\":"),
                call(0, None, None, "ln\"}"),
                call(1, None, None, " \"Ulm\"}"),
                last("tool_calls"),
                json!({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}}),
            ] {
                text.push_str(&format!("data: {data}\r\n\r\n"));
            }
            text.push_str("data: [DONE]\r\n\r\n");
            text
        }
        Api::Anthropic => {
            let begin = |index: u32, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
            let delta = |index: u32, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
            let input = |index: u32, piece: &str| {
                delta(index, json!({"type": "input_json_delta", "partial_json": piece}))
            };
            let tool = |id: &str| json!({"type": "tool_use", "id": id, "name": "get_weather", "input": {}});
            messages(&[
                json!({"type": "message_start", "message": {"content": [], "usage": {"input_tokens": 3, "output_tokens": 1}}}),
                begin(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
                delta(0, json!({"type": "thinking_delta", "thinking": "Überlegung 🤔"})),
                delta(0, json!({"type": "signature_delta", "signature": "s"})),
                json!({"type": "ping"}),
                json!({"type": "news", "index": 0}),
                begin(1, json!({"type": "text", "text": ""})),
                delta(1, json!({"type": "text_delta", "text": "Grüße 👋\n"})),
                begin(2, tool("w1")),
                input(2, "{\"city\": \"Kö"),
                begin(3, tool("w2")),
                input(3, "{\"city\":"),
                input(2, "ln\"}"),
                input(3, " \"Ulm\"}"),
                json!({"type": "content_block_stop", "index": 2}),
                json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 4}}),
                json!({"type": "message_stop"}),
            ])
        }
        Api::Gemini => {
            let part = |part: Value| json!({"candidates": [{"content": {"parts": [part]}}]});
            let call = |id: &str, city: &str| json!({"functionCall": {"id": id, "name": "get_weather", "args": {"city": city}}});
            chunks(&[
                part(json!({"text": "Überlegung 🤔", "thought": true})),
                part(json!({"text": "Grüße 👋\n"})),
                part(call("w1", "Köln")),
                json!({"responseId": "r", "news": 1}),
                part(call("w2", "Ulm")),
                json!({"candidates": [{"finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 4}}),
            ])
        }
    }
}

/// A short answer.
fn hello(api: Api) -> Reply {
    match api {
        Api::OpenAi => Reply::events(&[chunk(json!({"content": "Hello"})), last("stop")]),
        Api::Anthropic => Reply::messages(&[
            json!({"type": "message_start", "message": {"content": [{"type": "text", "text": "Hello"}]}}),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
            json!({"type": "message_stop"}),
        ]),
        Api::Gemini => Reply::chunks(&[
            json!({"candidates": [{"content": {"parts": [{"text": "Hello"}]}, "finishReason": "STOP"}]}),
        ]),
    }
}

/// The turn without what only its provider understands.
fn neutral(mut turn: ModelTurn) -> ModelTurn {
    turn.provider_metadata = None;
    for call in &mut turn.calls {
        if let RequestedCall::Call { provider_metadata, .. } = call {
            *provider_metadata = None;
        }
    }
    turn
}

fn expected() -> ModelTurn {
    ModelTurn {
        reasoning: "Überlegung 🤔".into(),
        usage: Some(Usage { input_tokens: 3, output_tokens: 4 }),
        ..answered("Grüße 👋\n", vec![call(Some("w1"), "Köln"), call(Some("w2"), "Ulm")])
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

fn apis() -> impl Strategy<Value = Api> {
    prop_oneof![Just(Api::OpenAi), Just(Api::Anthropic), Just(Api::Gemini)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(36))]

    // PRV-01, PRV-03
    #[test]
    fn any_chunking_of_a_stream_gives_the_same_turn(
        api in apis(), cuts in proptest::collection::vec(1_usize..90, 1..40),
    ) {
        let bytes = recorded(api).into_bytes();
        let mut pieces = vec![STREAM.to_vec()];
        let mut rest = bytes.as_slice();
        for cut in &cuts {
            let (now, later) = rest.split_at((*cut).min(rest.len()));
            pieces.push(now.to_vec());
            rest = later;
        }
        pieces.push(rest.to_vec());
        let (turn, heard) = runtime().block_on(async {
            let server = Server::start(vec![Reply::Send(pieces)]).await;
            ask(server.entry_for(api), &request("Weather?")).await
        });
        prop_assert_eq!(neutral(turn.unwrap()), expected());
        let whole = Heard { text: "Grüße 👋\n".into(), reasoning: "Überlegung 🤔".into(), restarts: vec![] };
        prop_assert_eq!(heard, whole);
    }

    // EXE-06
    #[test]
    fn a_stream_that_breaks_anywhere_is_asked_for_again(api in apis(), share in 0.0_f64..1.0) {
        let bytes = recorded(api).into_bytes();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a short length")]
        let half = bytes[..(bytes.len() as f64 * share) as usize].to_vec();
        let broken = Reply::Send(vec![STREAM.to_vec(), half]);
        let (turn, heard) = runtime().block_on(async {
            let server = Server::start(vec![broken, Reply::stream(&recorded(api))]).await;
            ask(server.entry_for(api), &request("Weather?")).await
        });
        // Where the break came behind the end, token counts may be missing.
        let turn = ModelTurn { usage: expected().usage, ..neutral(turn.unwrap()) };
        prop_assert_eq!(turn, expected());
        prop_assert!(heard.restarts.len() <= 1);
        prop_assert_eq!(heard.text, "Grüße 👋\n");
    }

    #[test]
    fn foreign_bytes_end_in_a_turn_or_a_clear_error(
        api in apis(),
        parts in proptest::collection::vec(
            prop_oneof![
                Just("data: ".to_owned()), Just("\n\n".to_owned()), Just("event: content_block_delta\n".to_owned()),
                Just(r#"{"type": "content_block_start", "index": 1, "content_block": {"type": 3}}"#.to_owned()),
                Just(r#"{"type": "content_block_delta", "index": 1, "delta": {"text": 3, "partial_json": "{"}}"#.to_owned()),
                Just(r#"{"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": -1}}"#.to_owned()),
                Just(r#"{"type": "error"}"#.to_owned()), Just(r#"{"type": "message_start", "message": {"content": [1]}}"#.to_owned()),
                Just(r#"{"candidates": [{"content": {"parts": [1, {}, {"functionCall": {"name": 3, "args": 7}}]}}]}"#.to_owned()),
                Just(r#"{"candidates": [{"finishReason": "STOP"}], "usageMetadata": []}"#.to_owned()),
                Just(r#"{"promptFeedback": {"blockReason": 7}}"#.to_owned()), Just("[]".to_owned()), "\\PC{0,8}",
            ],
            0..10,
        )
    ) {
        let turn = runtime().block_on(async {
            let server = Server::start(vec![Reply::stream(&parts.concat())]).await;
            ask(server.entry_for(api), &request("Hi")).await.0
        });
        if let Err(error) = turn {
            prop_assert!(
                ["model.cut_off", "model.malformed_answer", "model.refused"].contains(&error.code()),
                "{}", error
            );
        }
    }
}

/// The end of a stream is its mark; half of the mark is no answer of its own.
#[tokio::test]
async fn a_stream_that_breaks_in_its_last_mark_is_whole() {
    let recorded = recorded(Api::OpenAi);
    let end = recorded.rfind("[DONE]").unwrap();
    for cut in end..end + "[DONE]".len() {
        let server = Server::start(vec![Reply::stream(&recorded[..cut])]).await;
        let (turn, heard) = ask(server.entry_for(Api::OpenAi), &request("Weather?")).await;
        assert_eq!(neutral(turn.unwrap()), expected(), "cut at {cut}");
        assert!(heard.restarts.is_empty(), "cut at {cut}");
    }
}

/// What llama.cpp's server really sent, by both forms that it speaks.
#[tokio::test]
async fn streams_of_a_real_server_are_read() {
    for (api, recorded) in [
        (Api::OpenAi, include_str!("recorded/llama-chat.sse")),
        (Api::Anthropic, include_str!("recorded/llama-messages.sse")),
    ] {
        let server = Server::start(vec![Reply::stream(recorded)]).await;
        let (turn, heard) = ask(server.entry_for(api), &request("Write exactly: Grüße aus Köln 👋")).await;
        let expected = ModelTurn {
            finish_reason: FinishReason::Stop,
            usage: Some(Usage { input_tokens: 38, output_tokens: 4 }),
            ..answered("Hallo 👋", vec![])
        };
        assert_eq!((turn, heard.text.as_str()), (Ok(expected), "Hallo 👋"), "{api:?}");
    }
}

// PRV-01, ALI-06, ALI-08
#[tokio::test]
async fn names_that_no_provider_permits_lead_there_and_back() {
    for api in ALL {
        let mut asked = request("Weather?");
        asked.tools.push(tool("wetter.lesen", json!({"properties": {"city": {"type": "string"}}})));
        let server = Server::start(vec![hello(api)]).await;
        ask(server.entry_for(api), &asked).await.0.unwrap();
        let body = server.body();
        let name = match api {
            Api::OpenAi => &body["tools"][1]["function"]["name"],
            Api::Anthropic => &body["tools"][1]["name"],
            Api::Gemini => &body["tools"][0]["functionDeclarations"][1]["name"],
        };
        let name = name.as_str().unwrap();
        let permitted = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
        assert!(name.len() <= 64 && name.chars().all(permitted), "{name}");

        // The model writes that name; the alias comes back, which the gate knows.
        let server =
            Server::start(vec![Reply::stream(&recorded(api).replace("get_weather", name)), hello(api)]).await;
        let turn = ask(server.entry_for(api), &asked).await.0.unwrap();
        let names = turn.calls.iter().map(|call| match call {
            RequestedCall::Call { name, .. } => name.as_str(),
            RequestedCall::Malformed { .. } => panic!("{call:?}"),
        });
        assert_eq!(names.collect::<Vec<_>>(), ["wetter.lesen"; 2]);

        // And the history speaks of it under the name again.
        let result = |id: &str| ResultMessage { alias: "wetter.lesen".into(), ..weather_result(id, "sunny") };
        asked.messages.push(assistant(1, turn));
        asked.messages.push(Message::Results(vec![result("c_i_1_1"), result("c_i_1_2")]));
        ask(server.entry_for(api), &asked).await.0.unwrap();
        let history = server.requests()[1].1.to_string();
        assert!(history.matches(name).count() >= 3 && !history.contains("\"wetter.lesen\""), "{history}");
    }
}

// ALI-07
#[tokio::test]
async fn a_name_that_no_tool_of_the_request_has_is_handed_on_as_it_is() {
    for api in ALL {
        let server =
            Server::start(vec![Reply::stream(&recorded(api).replace("get_weather", "delete_all"))]).await;
        let turn = ask(server.entry_for(api), &request("Hi")).await.0.unwrap();
        assert!(
            matches!(&turn.calls[0], RequestedCall::Call { name, .. } if name == "delete_all"),
            "{turn:?}"
        );
    }
}

// EXE-19, TRN-01
#[tokio::test]
async fn a_typed_choice_is_said_in_each_providers_words() {
    for (choice, openai, anthropic, gemini) in [
        (ToolChoice::Auto, json!(null), json!(null), json!(null)),
        (ToolChoice::None, json!("none"), json!({"type": "none"}), json!({"mode": "NONE"})),
        (ToolChoice::Required, json!("required"), json!({"type": "any"}), json!({"mode": "ANY"})),
        (
            ToolChoice::Tool(ToolId::own("gone")),
            json!("required"),
            json!({"type": "any"}),
            json!({"mode": "ANY"}),
        ),
        (
            ToolChoice::Tool(weather().tool_id),
            json!({"type": "function", "function": {"name": "get_weather"}}),
            json!({"type": "tool", "name": "get_weather"}),
            json!({"mode": "ANY", "allowedFunctionNames": ["get_weather"]}),
        ),
    ] {
        for (api, said) in [(Api::OpenAi, &openai), (Api::Anthropic, &anthropic), (Api::Gemini, &gemini)] {
            let server = Server::start(vec![hello(api)]).await;
            let mut one = request("Hi");
            one.choice = choice.clone();
            ask(server.entry_for(api), &one).await.0.unwrap();
            let body = server.body();
            let found = if api == Api::Gemini {
                &body["toolConfig"]["functionCallingConfig"]
            } else {
                &body["tool_choice"]
            };
            assert_eq!(found, said, "{api:?}");
        }
    }
}

/// Blobs in memory.
#[derive(Default)]
struct Blobs(HashMap<Digest, Vec<u8>>);

impl BlobRows for Blobs {
    fn put_blob<'a>(&'a self, bytes: &'a [u8]) -> BoxFuture<'a, Result<Digest, StoreError>> {
        Box::pin(async { Ok(Digest::of(bytes)) })
    }

    fn blob<'a>(&'a self, digest: &'a Digest) -> BoxFuture<'a, Result<Option<Vec<u8>>, StoreError>> {
        Box::pin(async { Ok(self.0.get(digest).cloned()) })
    }
}

fn image(bytes: &[u8], media_type: &str, description: &str) -> ContentPart {
    ContentPart::Image {
        blob: Digest::of(bytes),
        media_type: media_type.into(),
        description: description.into(),
    }
}

// CONFLICT-33
#[tokio::test]
async fn images_are_sent_where_the_entry_says_so_and_told_in_words_elsewhere() {
    let big = vec![0; 5 << 20];
    let blobs = Blobs(
        [b"cat".to_vec(), b"bitmap".to_vec(), big.clone()].map(|bytes| (Digest::of(&bytes), bytes)).into(),
    );
    let blobs: Arc<dyn BlobRows> = Arc::new(blobs);
    let mut seen = request("Look.");
    seen.messages.push(assistant(1, answered("", vec![call(Some("w1"), "Köln")])));
    seen.messages.push(Message::Results(vec![ResultMessage {
        images: vec![
            image(b"cat", "image/png", "a cat"),
            image(b"bitmap", "image/bmp", "a bitmap"),
            image(&big, "image/png", "a wall"),
            image(b"gone", "image/png", "a ghost"),
        ],
        ..weather_result("c_i_1_1", "Four.\n[image, image/png: a cat]")
    }]));
    let notes = "\n[image, image/bmp: a bitmap]\n[image, image/png: a wall]\n[image, image/png: a ghost]";
    let with_notes = format!("Four.\n[image, image/png: a cat]{notes}");
    let text = "The images of the result of get_weather:";
    for api in ALL {
        for images in [true, false] {
            let server = Server::start(vec![hello(api)]).await;
            let mut entry = server.entry_for(api);
            entry.images = images;
            let model = connect_with_images(entry, Arc::clone(&blobs)).unwrap();
            assert_eq!(model.traits().images, images);
            model.turn(&seen, &mut Heard::default(), &NeverCancelled).await.unwrap();
            let body = server.body();
            let (result, sent, expected) = match api {
                Api::OpenAi => (
                    body["messages"][3]["content"].clone(),
                    body["messages"].get(4).map(|message| message["content"].clone()),
                    json!([{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,Y2F0"}}]),
                ),
                Api::Anthropic => {
                    let content = body["messages"][2]["content"][0]["content"].clone();
                    match images {
                        true => (
                            content[0]["text"].clone(),
                            Some(json!([content[1]])),
                            json!([
                                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "Y2F0"}}
                            ]),
                        ),
                        false => (content, None, json!(null)),
                    }
                }
                Api::Gemini => (
                    body["contents"][2]["parts"][0]["functionResponse"]["response"]["output"].clone(),
                    body["contents"].get(3).map(|content| content["parts"].clone()),
                    json!([{"text": text}, {"inlineData": {"mimeType": "image/png", "data": "Y2F0"}}]),
                ),
            };
            assert_eq!(result, with_notes, "{api:?} {images}");
            assert_eq!(sent, images.then_some(expected), "{api:?}");
        }
    }
}

// PRV-04
#[tokio::test]
async fn a_call_keeps_its_identity_when_its_result_was_trimmed_away() {
    for api in ALL {
        let server = Server::start(vec![Reply::stream(&recorded(api)), hello(api)]).await;
        let turn = ask(server.entry_for(api), &request("Weather?")).await.0.unwrap();
        let mut next = request("Weather?");
        next.messages.push(assistant(1, turn));
        next.messages
            .push(Message::Results(vec![weather_result("c_i_1_1", ""), weather_result("c_i_1_2", "rain")]));
        ask(server.entry_for(api), &next).await.0.unwrap();
        let body = server.requests()[1].1.clone();
        let pairs: Vec<Value> = match api {
            Api::OpenAi => (3..5).map(|at| body["messages"][at]["tool_call_id"].clone()).collect(),
            Api::Anthropic => {
                (0..2).map(|at| body["messages"][2]["content"][at]["tool_use_id"].clone()).collect()
            }
            Api::Gemini => (0..2)
                .map(|at| {
                    let response = &body["contents"][2]["parts"][at]["functionResponse"];
                    assert_eq!(response["name"], "get_weather");
                    response["id"].clone()
                })
                .collect(),
        };
        assert_eq!(pairs, [json!("w1"), json!("w2")], "{api:?}");
    }
}

#[tokio::test]
async fn the_connection_is_closed_when_the_run_is_stopped() {
    for api in ALL {
        let half = recorded(api).as_bytes()[..200].to_vec();
        let server = Server::start(vec![Reply::Hang(vec![STREAM.to_vec(), half])]).await;
        let stop = Switch(Arc::clone(&server.sent));
        let model = connect(server.entry_for(api)).unwrap();
        let turn = model.turn(&request("Hi"), &mut Heard::default(), &stop).await;
        assert_eq!(turn, Err(ModelError::Cancelled));
        server.left.notified().await;
    }
}

// EXE-06
#[tokio::test]
async fn retry_after_is_obeyed_by_all() {
    let date = |second: u32| format!("Sun, 06 Nov 1994 08:49:{second:02} GMT");
    for api in ALL {
        for (wish, asked) in [("0".to_owned(), 2), ("3600".to_owned(), 1), (date(7), 2)] {
            let headers = format!("date: {}\r\nretry-after: {wish}\r\n", date(7));
            let busy =
                Reply::status("503 Service Unavailable", &headers, "{\"error\": {\"message\": \"busy\"}}");
            let server = Server::start(vec![busy, hello(api)]).await;
            let mut entry = server.entry_for(api);
            entry.retry_wait = std::time::Duration::from_secs(3600);
            let (turn, _) = ask(entry, &request("Hi")).await;
            assert_eq!((turn.is_ok(), server.requests().len()), (asked == 2, asked), "{api:?} {wish}");
        }
    }
}

#[tokio::test]
async fn every_api_is_spoken_to_in_text_dialects_too() {
    for api in ALL {
        let server = Server::start(vec![hello(api)]).await;
        let mut entry = server.entry_for(api);
        entry.dialect = "artifact-xml".into();
        let turn = ask(entry, &request("Weather?")).await.0.unwrap();
        assert_eq!((turn.text.as_str(), turn.finish_reason), ("Hello", FinishReason::Stop));
        let body = server.body();
        assert!(body.get("tools").is_none() && body.to_string().contains("tool_instructions"), "{body}");
    }
}
