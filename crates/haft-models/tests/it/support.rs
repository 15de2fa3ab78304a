//! A server of one test: it says what it is told to, byte for byte, and keeps what it was asked.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft_core::message::{Message, ResultMessage};
use haft_core::ports::{
    BoxFuture, Cancel, FinishReason, ModelError, ModelRequest, ModelTurn, NeverCancelled, TurnSink,
};
use haft_core::{CallId, ModelTool, RequestedCall, ToolChoice, ToolId, WireId};
use haft_models::{Api, ModelEntry, connect};
use haft_schema::Schema;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// What the server does with one connection.
#[derive(Clone)]
pub(crate) enum Reply {
    /// Sends these pieces, then closes.
    Send(Vec<Vec<u8>>),
    /// Sends these pieces, then stays silent until the other side closes.
    Hang(Vec<Vec<u8>>),
}

impl Reply {
    /// A whole response with a length.
    pub(crate) fn status(status: &str, headers: &str, body: &str) -> Self {
        let head = format!(
            "HTTP/1.1 {status}\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n",
            body.len()
        );
        Self::Send(vec![head.into_bytes(), body.as_bytes().to_vec()])
    }

    /// A stream of events that ends with the connection.
    pub(crate) fn events(data: &[Value]) -> Self {
        let mut text = String::new();
        for one in data {
            text.push_str(&format!("data: {one}\n\n"));
        }
        text.push_str("data: [DONE]\n\n");
        Self::stream(&text)
    }

    /// A stream of Anthropic's events, each named by its type.
    pub(crate) fn messages(data: &[Value]) -> Self {
        Self::stream(&messages(data))
    }

    /// A stream of Gemini's chunks; it ends with the connection.
    pub(crate) fn chunks(data: &[Value]) -> Self {
        Self::stream(&chunks(data))
    }

    /// A body without a length, as streams are.
    pub(crate) fn stream(body: &str) -> Self {
        Self::Send(vec![STREAM.to_vec(), body.as_bytes().to_vec()])
    }
}

/// The text of a stream of Anthropic's events.
pub(crate) fn messages(data: &[Value]) -> String {
    let events = data.iter().map(|one| {
        let name = one["type"].as_str().unwrap_or_default();
        format!("event: {name}\ndata: {one}\n\n")
    });
    events.collect()
}

/// The text of a stream of Gemini's chunks.
pub(crate) fn chunks(data: &[Value]) -> String {
    data.iter().map(|one| format!("data: {one}\r\n\r\n")).collect()
}

/// The head of a stream that ends with the connection.
pub(crate) const STREAM: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

/// The server.
pub(crate) struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<(String, Value)>>>,
    /// Told each time the other side closed a hanging connection.
    pub(crate) left: Arc<Notify>,
    /// Told each time a hanging reply has sent all it has.
    pub(crate) sent: Arc<Notify>,
}

impl Server {
    /// Answers one connection after another; the last reply is given again and again.
    pub(crate) async fn start(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (left, sent) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let kept = Arc::clone(&requests);
        let (tell_left, tell_sent) = (Arc::clone(&left), Arc::clone(&sent));
        tokio::spawn(async move {
            for turn in 0.. {
                let Ok((mut connection, _)) = listener.accept().await else { return };
                let Some(request) = read_request(&mut connection).await else { continue };
                kept.lock().unwrap().push(request);
                let reply = replies[turn.min(replies.len() - 1)].clone();
                let (pieces, hang) = match reply {
                    Reply::Send(pieces) => (pieces, false),
                    Reply::Hang(pieces) => (pieces, true),
                };
                for piece in pieces {
                    if connection.write_all(&piece).await.is_err() || connection.flush().await.is_err() {
                        break;
                    }
                }
                if hang {
                    tell_sent.notify_one();
                    let mut rest = Vec::new();
                    drop(connection.read_to_end(&mut rest).await);
                    tell_left.notify_one();
                }
            }
        });
        Self { address, requests, left, sent }
    }

    /// An entry for this server.
    pub(crate) fn entry(&self) -> ModelEntry {
        let mut entry = ModelEntry::new("m", format!("http://{}/v1", self.address), "small");
        entry.retry_wait = Duration::from_millis(1);
        entry
    }

    /// An entry for this server, spoken to in `api`.
    pub(crate) fn entry_for(&self, api: Api) -> ModelEntry {
        let mut entry = self.entry();
        entry.api = api;
        entry
    }

    /// Heads and bodies of all requests so far.
    pub(crate) fn requests(&self) -> Vec<(String, Value)> {
        self.requests.lock().unwrap().clone()
    }

    /// The body of the only request.
    pub(crate) fn body(&self) -> Value {
        let requests = self.requests();
        assert_eq!(requests.len(), 1);
        requests[0].1.clone()
    }
}

async fn read_request(connection: &mut TcpStream) -> Option<(String, Value)> {
    let mut bytes = Vec::new();
    loop {
        let mut piece = [0_u8; 4096];
        let count = connection.read(&mut piece).await.ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&piece[..count]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().unwrap())
        });
        if body.len() >= length.unwrap_or(0) {
            return Some((head.to_owned(), serde_json::from_str(body).unwrap()));
        }
    }
}

/// Keeps what was streamed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Heard {
    pub(crate) text: String,
    pub(crate) reasoning: String,
    pub(crate) restarts: Vec<String>,
}

impl TurnSink for Heard {
    fn text(&mut self, delta: &str) {
        self.text.push_str(delta);
    }

    fn reasoning(&mut self, delta: &str) {
        self.reasoning.push_str(delta);
    }

    fn restarted(&mut self, reason: &str) {
        self.text.clear();
        self.reasoning.clear();
        self.restarts.push(reason.to_owned());
    }
}

/// Cancelled when told.
pub(crate) struct Switch(pub(crate) Arc<Notify>);

impl Cancel for Switch {
    fn is_cancelled(&self) -> bool {
        false
    }

    fn cancelled(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.0.notified())
    }
}

/// Asks the model of `entry`.
pub(crate) async fn ask(entry: ModelEntry, request: &ModelRequest) -> (Result<ModelTurn, ModelError>, Heard) {
    let model = connect(entry).unwrap();
    let mut heard = Heard::default();
    let turn = model.turn(request, &mut heard, &NeverCancelled).await;
    (turn, heard)
}

/// A call of the weather tool.
pub(crate) fn call(wire_id: Option<&str>, city: &str) -> RequestedCall {
    let mut call = RequestedCall::call("get_weather", json!({"city": city}).as_object().unwrap().clone());
    if let RequestedCall::Call { wire_id: id, .. } = &mut call {
        *id = wire_id.map(WireId::new);
    }
    call
}

/// An answer as it stands in the history, its calls with the host's ids `c_i_<turn>_<n>`.
pub(crate) fn assistant(number: u32, turn: ModelTurn) -> Message {
    let call_ids = (1..=turn.calls.len()).map(|one| CallId::new(format!("c_i_{number}_{one}"))).collect();
    Message::Assistant {
        text: turn.text,
        raw: turn.raw,
        calls: turn.calls,
        call_ids,
        provider_metadata: turn.provider_metadata,
    }
}

/// An answer of another model: `text` and `calls`.
pub(crate) fn answered(text: &str, calls: Vec<RequestedCall>) -> ModelTurn {
    ModelTurn {
        text: text.into(),
        reasoning: String::new(),
        calls,
        raw: None,
        finish_reason: FinishReason::ToolCalls,
        usage: None,
        provider_metadata: None,
    }
}

/// The result of the weather tool for the call `call_id`.
pub(crate) fn weather_result(call_id: &str, body: &str) -> ResultMessage {
    ResultMessage {
        call_id: CallId::new(call_id),
        wire_id: None,
        tool_id: Some(ToolId::own("get_weather")),
        alias: "get_weather".into(),
        is_error: false,
        content: "content".into(),
        body: body.into(),
        images: Vec::new(),
    }
}

/// A tool that only a model sees.
pub(crate) fn tool(alias: &str, schema: Value) -> ModelTool {
    ModelTool {
        tool_id: ToolId::own(alias),
        alias: alias.to_owned(),
        description: format!("What {alias} does."),
        input_schema: Schema::new(schema).unwrap(),
        example: None,
    }
}

/// The tool of most tests.
pub(crate) fn weather() -> ModelTool {
    tool(
        "get_weather",
        json!({"type": "object", "properties": {"city": {"type": "string", "description": "Which city"}}, "required": ["city"]}),
    )
}

/// A request that asks `text`, with the weather tool.
pub(crate) fn request(text: &str) -> ModelRequest {
    ModelRequest {
        agent: "test".into(),
        system: "You are brief.".into(),
        messages: vec![Message::User(text.into())],
        tools: vec![weather()],
        choice: ToolChoice::Auto,
        serial: true,
        max_tokens: None,
        temperature: None,
        seed: None,
    }
}

/// A chunk of a stream.
pub(crate) fn chunk(delta: Value) -> Value {
    json!({"id": "x", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

/// The last chunk of a stream.
pub(crate) fn last(reason: &str) -> Value {
    json!({"id": "x", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}
