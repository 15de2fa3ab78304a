//! What a live model answered, written down and said again.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use haft_core::ports::{
    Cancel, FinishReason, Model, ModelError, ModelRequest, ModelTraits, ModelTurn, NeverCancelled, TurnSink,
    Usage,
};
use haft_core::{BoxFuture, RequestedCall, WireId};
use haft_models::{Recording, Scripted, connect};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{Heard, Reply, Server, chunk, last, request};

/// A script in memory.
#[derive(Clone, Default)]
struct Page(Arc<Mutex<Vec<u8>>>);

impl Page {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Answers with what it was made with, again and again.
struct Fixed(ModelTraits, Result<ModelTurn, ModelError>);

impl Fixed {
    fn new(answer: Result<ModelTurn, ModelError>) -> Self {
        let traits = Scripted::from_jsonl("x", "").unwrap().traits().clone();
        Self(traits, answer)
    }
}

impl Model for Fixed {
    fn traits(&self) -> &ModelTraits {
        &self.0
    }

    fn turn<'a>(
        &'a self,
        _: &'a ModelRequest,
        _: &'a mut dyn TurnSink,
        _: &'a dyn Cancel,
    ) -> BoxFuture<'a, Result<ModelTurn, ModelError>> {
        Box::pin(async { self.1.clone() })
    }
}

/// The script of one answer, and what it says again.
async fn said_again(answer: Result<ModelTurn, ModelError>) -> (String, Result<ModelTurn, ModelError>) {
    let page = Page::default();
    let recording = Recording::new(Arc::new(Fixed::new(answer.clone())), page.clone());
    let first = recording.turn(&request("Hi"), &mut Heard::default(), &NeverCancelled).await;
    assert_eq!(first, answer, "a recording changes nothing");
    recording.finish().unwrap();
    let script = Scripted::from_jsonl("x", &page.text()).unwrap();
    (page.text(), script.turn(&request("Hi"), &mut Heard::default(), &NeverCancelled).await)
}

#[tokio::test]
async fn a_live_run_becomes_a_script() {
    let server = Server::start(vec![
        Reply::events(&[
            chunk(json!({"reasoning_content": "Hm.", "content": "I look "})),
            chunk(json!({"content": "it up."})),
            chunk(json!({"tool_calls": [{"index": 0, "id": "w1", "function": {"name": "get_weather", "arguments": "{\"city\": \"Köln\"}"}}]})),
            chunk(json!({"tool_calls": [{"index": 1, "id": "w2", "function": {"name": "get_weather", "arguments": "city=Ulm"}}]})),
            last("tool_calls"),
            json!({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}}),
        ]),
        Reply::status("404 Not Found", "", "{\"error\": \"gone\"}"),
    ])
    .await;
    let page = Page::default();
    let recording = Recording::new(connect(server.entry()).unwrap(), page.clone());
    let turn = recording.turn(&request("Hi"), &mut Heard::default(), &NeverCancelled).await.unwrap();
    recording.turn(&request("Hi"), &mut Heard::default(), &NeverCancelled).await.unwrap_err();
    recording.finish().unwrap();
    let address = turn.provider_metadata.clone().unwrap()["server"].as_str().unwrap().to_owned();
    insta::assert_snapshot!("script", page.text().replace(&address, "[SERVER]"));

    let script = Scripted::from_jsonl("x", &page.text()).unwrap();
    let mut heard = Heard::default();
    assert_eq!(script.turn(&request("Hi"), &mut heard, &NeverCancelled).await, Ok(turn));
    assert_eq!((heard.text.as_str(), heard.reasoning.as_str()), ("I look it up.", "Hm."));
    let refused = script.turn(&request("Hi"), &mut heard, &NeverCancelled).await.unwrap_err();
    assert!(refused.to_string().contains("(HTTP 404): gone. Check the model's name"), "{refused}");
    let ended = script.turn(&request("Hi"), &mut heard, &NeverCancelled).await.unwrap_err();
    assert_eq!(ended.code(), "model.script_exhausted");
}

#[tokio::test]
async fn what_gave_no_answer_leaves_no_line() {
    for error in [ModelError::Cancelled, ModelError::CutOff { model: "m".into(), reason: "x".into() }] {
        let (script, again) = said_again(Err(error)).await;
        assert_eq!((script.as_str(), again.unwrap_err().code()), ("", "model.script_exhausted"));
    }
}

#[tokio::test]
async fn a_script_that_cannot_be_written_is_told_and_the_run_goes_on() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is full"))
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let script = Scripted::from_jsonl("x", "{\"text\": \"a\"}\n{\"text\": \"b\"}").unwrap();
    let recording = Recording::new(Arc::new(script), Full);
    for text in ["a", "b"] {
        let turn = recording.turn(&request("Hi"), &mut Heard::default(), &NeverCancelled).await;
        assert_eq!(turn.unwrap().text, text);
    }
    assert_eq!(recording.finish().unwrap_err().to_string(), "the disk is full");
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|flag| json!(flag)),
        any::<i64>().prop_map(|number| json!(number)),
        any::<u64>().prop_map(|number| json!(number)),
        (-1e9_f64..1e9).prop_map(|number| json!(number)),
        "\\PC{0,6}|\n|\u{2028}".prop_map(|text| json!(text)),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            proptest::collection::btree_map("\\PC{0,4}", inner.clone(), 0..3).prop_map(|map| json!(map)),
            proptest::collection::vec(inner, 0..3).prop_map(|list| json!(list)),
        ]
    })
}

fn metadata() -> impl Strategy<Value = Option<Value>> {
    proptest::option::of(value().prop_filter("null is nothing", |value| !value.is_null()))
}

fn call() -> impl Strategy<Value = RequestedCall> {
    let wire_id = || proptest::option::of("[a-z]{1,4}").prop_map(|id| id.map(WireId::new));
    let arguments = proptest::collection::btree_map("\\PC{0,4}", value(), 0..3)
        .prop_map(|map| json!(map).as_object().unwrap().clone());
    prop_oneof![
        ("\\PC{0,8}", arguments, wire_id(), metadata(), proptest::collection::vec("[a-z_]{1,5}", 0..3))
            .prop_map(|(name, arguments, wire_id, provider_metadata, repairs)| RequestedCall::Call {
                name,
                arguments,
                wire_id,
                provider_metadata,
                repairs
            }),
        (proptest::option::of("\\PC{0,8}"), "\\PC{0,8}", "\\PC{0,8}|\\{\"a\": 1\\}", wire_id())
            .prop_map(|(name, reason, raw, wire_id)| RequestedCall::Malformed { name, reason, raw, wire_id }),
    ]
}

fn turn() -> impl Strategy<Value = ModelTurn> {
    let reason = prop_oneof![
        Just(FinishReason::Stop),
        Just(FinishReason::ToolCalls),
        Just(FinishReason::Length),
        Just(FinishReason::ContentFilter),
        Just(FinishReason::Other),
    ];
    let usage = proptest::option::of((any::<u64>(), any::<u64>()))
        .prop_map(|usage| usage.map(|(input_tokens, output_tokens)| Usage { input_tokens, output_tokens }));
    let text = || "(\\PC|\n){0,20}";
    (
        text(),
        text(),
        proptest::collection::vec(call(), 0..4),
        proptest::option::of(text()),
        reason,
        usage,
        metadata(),
    )
        .prop_map(|(text, reasoning, calls, raw, finish_reason, usage, provider_metadata)| ModelTurn {
            text,
            reasoning,
            calls,
            raw,
            finish_reason,
            usage,
            provider_metadata,
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_turn_is_said_again_as_it_was(turn in turn()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (script, again) = runtime.block_on(said_again(Ok(turn.clone())));
        prop_assert_eq!(again, Ok(turn));
        prop_assert_eq!(script.lines().count(), 1);
    }
}
