//! What goes wrong between Haft and a model server, and what a person reads then.

use std::sync::Arc;
use std::time::Duration;

use crate::support::{Heard, Reply, STREAM, Server, Switch, chunk, last, request};
use haft_core::Model;
use haft_core::ports::{FinishReason, ModelError, ModelTurn, NeverCancelled};
use haft_models::{ModelEntry, OpenAi, Secret};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::Notify;

async fn ask(entry: ModelEntry) -> (Result<ModelTurn, ModelError>, Heard) {
    let model = OpenAi::new(entry).unwrap();
    let mut heard = Heard::default();
    let turn = model.turn(&request("Hi"), &mut heard, &NeverCancelled).await;
    (turn, heard)
}

/// The message and code of the failure, and how often the server was asked.
async fn failure(replies: Vec<Reply>) -> (String, &'static str, usize) {
    let server = Server::start(replies).await;
    let (turn, heard) = ask(server.entry()).await;
    let error = turn.unwrap_err();
    let asked = server.requests().len();
    assert_eq!(heard.restarts.len(), asked - 1, "every further try is told");
    (error.to_string(), error.code(), asked)
}

fn good() -> Reply {
    Reply::events(&[chunk(json!({"role": "assistant", "content": "Hello"})), last("stop")])
}

#[tokio::test]
async fn a_server_that_is_down_is_named_with_the_next_step() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let mut entry = ModelEntry::new("m", format!("http://{address}/v1/"), "small");
    entry.retry_wait = Duration::from_millis(1);
    let (turn, heard) = ask(entry).await;
    assert_eq!(
        turn,
        Err(ModelError::Unreachable {
            model: "m".into(),
            url: format!("http://{address}/v1"),
            reason: "Connection refused (os error 111)".into(),
        })
    );
    assert_eq!(heard.restarts.len(), 2);
}

#[tokio::test]
async fn a_server_that_says_nothing_is_given_up_once() {
    for pieces in [vec![], vec![STREAM.to_vec()], vec![STREAM.to_vec(), b": ping\n\n".to_vec()]] {
        let server = Server::start(vec![Reply::Hang(pieces)]).await;
        let mut entry = server.entry();
        entry.idle_timeout = Duration::from_millis(400);
        let (turn, heard) = ask(entry).await;
        assert_eq!(
            turn.unwrap_err().to_string(),
            "the answer of the model `m` was cut off: nothing came for 0.4 s. Nothing of it was run; try again"
        );
        assert_eq!((server.requests().len(), heard.restarts.len()), (1, 0));
    }
}

#[tokio::test]
async fn an_answer_cut_in_the_middle_is_asked_for_again_and_what_was_streamed_does_not_count() {
    let half = format!("data: {}\n\ndata: {{\"choi", chunk(json!({"content": "Hel"})));
    let server = Server::start(vec![Reply::stream(&half), good()]).await;
    let (turn, heard) = ask(server.entry()).await;
    assert_eq!(turn.unwrap().text, "Hello");
    assert_eq!(heard.text, "Hello");
    assert_eq!(heard.restarts.len(), 1);
}

#[tokio::test]
async fn an_answer_that_is_always_cut_is_a_failure_after_three_tries() {
    let whole = format!("data: {}\n\n", chunk(json!({"content": "Hel"})));
    let (message, code, asked) = failure(vec![Reply::stream(&whole)]).await;
    assert_eq!(
        message,
        "the answer of the model `m` was cut off: the stream ended in the middle. Nothing of it was run; try again"
    );
    assert_eq!((code, asked), ("model.cut_off", 3));
}

#[tokio::test]
async fn a_connection_that_breaks_inside_a_chunk_is_cut_off() {
    let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n20\r\ndata: {\"choices\"".to_vec();
    let server = Server::start(vec![Reply::Send(vec![head]), good()]).await;
    let (turn, heard) = ask(server.entry()).await;
    assert_eq!(turn.unwrap().text, "Hello");
    assert!(heard.restarts[0].contains("cut off: the connection broke"), "{heard:?}");
}

#[tokio::test]
async fn an_empty_stream_is_cut_off() {
    for body in ["", "data: [DONE]\n\n", ": hello\n\n"] {
        let (message, code, asked) = failure(vec![Reply::stream(body)]).await;
        assert!(message.contains("the server answered, but sent nothing"), "{message}");
        assert_eq!((code, asked), ("model.cut_off", 3));
    }
}

// EXE-17
#[tokio::test]
async fn nonsense_fails_at_once_and_is_shown() {
    for (body, reason) in [
        ("data: {nonsense\n\n", "a part of its answer is not JSON"),
        ("data: [1]\n\n", "a part of its answer is no object: [1]"),
        (
            "data: {\"hello\": 1}\n\n",
            "has no `choices`: {\"hello\": 1}. Is this an OpenAI-compatible address?",
        ),
        ("Hello, I am a server.", "it is neither a stream of events nor JSON: Hello, I am a server."),
        ("[1, 2]", "a part of its answer is no object"),
        (
            "<!DOCTYPE html><html><head><title>My \n router</title>",
            "a web page (“My router”) instead of an answer",
        ),
    ] {
        let (message, code, asked) = failure(vec![Reply::stream(body)]).await;
        assert!(
            message.starts_with("the model `m` answered nonsense: ") && message.contains(reason),
            "{message}"
        );
        assert_eq!((code, asked), ("model.malformed_answer", 1), "{body}");
    }
}

// EXE-06
#[tokio::test]
async fn too_many_requests_are_waited_out() {
    let busy = Reply::status(
        "429 Too Many Requests",
        "retry-after: 1\r\n",
        r#"{"error": {"message": "slow down"}}"#,
    );
    let server = Server::start(vec![busy, good()]).await;
    let begin = tokio::time::Instant::now();
    let (turn, heard) = ask(server.entry()).await;
    assert_eq!(turn.unwrap().text, "Hello");
    assert_eq!(
        heard.restarts,
        ["the model `m` refused the request (HTTP 429): slow down. Wait, or choose another model"]
    );
    let waited = begin.elapsed();
    assert!(waited >= Duration::from_secs(1), "{waited:?}");
}

// EXE-06
#[tokio::test]
async fn a_date_after_which_to_ask_again_is_compared_with_that_of_the_answer() {
    let date = |minutes| format!("Sun, 06 Nov 1994 08:{minutes}:00 GMT");
    let busy = |until| {
        let headers = format!("Date: {}\r\nRetry-After: {}\r\n", date(49), date(until));
        Reply::status("503 Service Unavailable", &headers, "later")
    };
    // At once, although the date lies decades back for any clock.
    let server = Server::start(vec![busy(49), good()]).await;
    assert_eq!(ask(server.entry()).await.0.unwrap().text, "Hello");
    // Ten minutes are not waited for.
    let (message, _, asked) = failure(vec![busy(59)]).await;
    assert_eq!((message.as_str(), asked), ("the model `m` refused the request (HTTP 503): later", 1));
}

#[tokio::test]
async fn a_server_that_wants_an_hour_is_not_waited_for() {
    let busy = Reply::status("429 Too Many Requests", "Retry-After: 3600\r\n", "later");
    let (message, code, asked) = failure(vec![busy]).await;
    assert_eq!(message, "the model `m` refused the request (HTTP 429): later. Wait, or choose another model");
    assert_eq!((code, asked), ("model.refused", 1));
}

#[tokio::test]
async fn a_fault_of_the_server_is_tried_three_times() {
    let fault =
        Reply::status("503 Service Unavailable", "", r#"{"error":{"code":503,"message":"Loading model"}}"#);
    let (message, code, asked) = failure(vec![fault]).await;
    assert_eq!(message, "the model `m` refused the request (HTTP 503): Loading model");
    assert_eq!((code, asked), ("model.refused", 3));
}

#[tokio::test]
async fn what_the_server_refuses_is_not_tried_again() {
    for (status, body, shown) in [
        ("400 Bad Request", r#"{"error": "bad grammar"}"#, "(HTTP 400): bad grammar"),
        (
            "404 Not Found",
            r#"{"detail": "no such model"}"#,
            "(HTTP 404): no such model. Check the model's name, and that `url` ends with /v1",
        ),
        (
            "403 Forbidden",
            "<html><title>Blocked</title></html>",
            "(HTTP 403): a web page (“Blocked”). Check the key that `key_env` names",
        ),
        (
            "307 Temporary Redirect",
            "",
            "(HTTP 307): it says no more. The server points elsewhere: mend `url`",
        ),
        ("501 Not Implemented", "\n", "(HTTP 501): it says no more"),
    ] {
        let (message, code, asked) =
            failure(vec![Reply::status(status, "location: http://127.0.0.1:9/\r\n", body)]).await;
        assert_eq!(message, format!("the model `m` refused the request {shown}"));
        assert_eq!((code, asked), ("model.refused", 1));
    }
}

#[tokio::test]
async fn long_complaints_are_shortened() {
    let (message, ..) = failure(vec![Reply::status("400 Bad Request", "", &"no ".repeat(40_000))]).await;
    assert!(message.ends_with("no…") && message.chars().count() < 600, "{message}");
}

#[tokio::test]
async fn keys_are_sent_and_never_shown() {
    let body = r#"{"error": {"message": "Incorrect API key provided: sk-secret."}}"#;
    let server = Server::start(vec![Reply::status("401 Unauthorized", "", body)]).await;
    let mut entry = server.entry();
    entry.key = Some(Secret::new(" sk-secret\n"));
    let model = OpenAi::new(entry.clone()).unwrap();
    assert!(!format!("{model:?}{entry:?}").contains("sk-secret"));
    let (turn, _) = ask(entry).await;
    let message = turn.unwrap_err().to_string();
    assert_eq!(
        message,
        "the model `m` refused the request (HTTP 401): Incorrect API key provided: [key]. Check the key that `key_env` names"
    );
    let requests = server.requests();
    assert_eq!(requests.len(), 1);
    assert!(requests[0].0.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{}", requests[0].0);
    assert!(requests[0].0.contains("authorization: Bearer sk-secret"), "{}", requests[0].0);
}

#[tokio::test]
async fn an_error_inside_the_stream_is_the_servers_word() {
    let begin = format!("data: {}\n\n", chunk(json!({"content": "Hel"})));
    for (event, shown, expected) in [
        ("data: {\"error\": {\"code\": 400, \"message\": \"too long\"}}\n\n", "(HTTP 400): too long", 1),
        ("event: error\ndata: {\"message\": \"lost\"}\n\n", "(HTTP 500): lost", 3),
        ("data: {\"object\": \"error\", \"message\": \"boom\", \"code\": 500}\n\n", "(HTTP 500): boom", 3),
    ] {
        let (message, code, asked) = failure(vec![Reply::stream(&format!("{begin}{event}"))]).await;
        assert_eq!(message, format!("the model `m` refused the request {shown}"));
        assert_eq!((code, asked), ("model.refused", expected));
    }
}

#[tokio::test]
async fn what_breaks_after_the_end_does_no_harm() {
    let text = format!("data: {}\n\ndata: {}\n\n", chunk(json!({"content": "Hello"})), last("stop"));
    let cut = Reply::Send(vec![
        b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n".to_vec(),
        text.as_bytes().to_vec(),
    ]);
    let hang = Reply::Hang(vec![STREAM.to_vec(), text.into_bytes()]);
    for reply in [cut, hang] {
        let server = Server::start(vec![reply]).await;
        let mut entry = server.entry();
        entry.idle_timeout = Duration::from_millis(400);
        let (turn, heard) = ask(entry).await;
        let turn = turn.unwrap();
        assert_eq!((turn.text.as_str(), turn.finish_reason), ("Hello", FinishReason::Stop));
        assert_eq!(heard.restarts.len(), 0);
    }
}

#[tokio::test]
async fn the_connection_is_closed_when_the_run_is_stopped() {
    let begin = format!("data: {}\n\n", chunk(json!({"content": "Hel"})));
    for pieces in [vec![], vec![STREAM.to_vec(), begin.into_bytes()]] {
        let server = Server::start(vec![Reply::Hang(pieces)]).await;
        let model = OpenAi::new(server.entry()).unwrap();
        let stop = Switch(Arc::clone(&server.sent));
        let mut heard = Heard::default();
        let turn = model.turn(&request("Hi"), &mut heard, &stop).await;
        assert_eq!(turn, Err(ModelError::Cancelled));
        server.left.notified().await;
    }
}

#[tokio::test]
async fn the_wait_before_another_try_can_be_stopped() {
    let busy = Reply::status("429 Too Many Requests", "retry-after: 60\r\n", "later");
    let server = Server::start(vec![busy]).await;
    let model = OpenAi::new(server.entry()).unwrap();
    let switch = Arc::new(Notify::new());
    struct StopAtRestart(Arc<Notify>);
    impl haft_core::ports::TurnSink for StopAtRestart {
        fn text(&mut self, _: &str) {}
        fn reasoning(&mut self, _: &str) {}
        fn restarted(&mut self, _: &str) {
            self.0.notify_one();
        }
    }
    let begin = tokio::time::Instant::now();
    let turn = model.turn(&request("Hi"), &mut StopAtRestart(Arc::clone(&switch)), &Switch(switch)).await;
    assert_eq!(turn, Err(ModelError::Cancelled));
    assert!(begin.elapsed() < Duration::from_secs(60));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn an_answer_without_an_end_is_given_up() {
    let mut pieces = vec![STREAM.to_vec(), b"{".to_vec()];
    pieces.extend(vec![vec![b' '; 1 << 20]; 65]);
    let (message, code, asked) = failure(vec![Reply::Send(pieces)]).await;
    assert_eq!(message, "the model `m` answered nonsense: it is longer than 64 MiB");
    assert_eq!((code, asked), ("model.malformed_answer", 1));
}

#[tokio::test]
async fn a_proxy_is_used_where_one_is_named() {
    let server = Server::start(vec![good()]).await;
    let mut entry = server.entry();
    entry.proxy = Some(entry.url.trim_end_matches("/v1").to_owned());
    entry.url = "http://model.invalid/v1".to_owned();
    let (turn, _) = ask(entry).await;
    assert_eq!(turn.unwrap().text, "Hello");
    let head = &server.requests()[0].0;
    assert!(head.starts_with("POST http://model.invalid/v1/chat/completions HTTP/1.1\r\n"), "{head}");
}
