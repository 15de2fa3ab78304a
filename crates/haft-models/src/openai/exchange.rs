//! One try of one request over HTTP: sends the body, reads the answer whatever its form, names what went wrong.
//!
//! It decides nothing about trying again beyond saying whether that may help.

use std::error::Error;
use std::time::Duration;

use haft_core::ModelTool;
use haft_core::ports::{ModelError, ModelTurn, TurnSink};
use haft_schema::json;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use reqwest::{Response, Url};
use tokio::time::timeout;

use super::answer::{Answer, Broken, error_message, shortened};
use super::retry::{Again, Failure, passes};
use super::sse::SseReader;

/// Most bytes of one answer.
const ANSWER_BYTES: usize = 64 << 20;
/// Most bytes of an error's body that are read.
const ERROR_BYTES: usize = 64 << 10;
/// Most characters of an error's body that are shown.
const ERROR_CHARS: usize = 500;
/// How long to wait for token counts once the answer itself has ended.
const AFTER_END: Duration = Duration::from_secs(5);

/// Where requests go.
#[derive(Debug)]
pub(super) struct Exchange {
    /// The model's name, for messages.
    pub(super) name: String,
    /// The address of the server, which also marks its metadata.
    pub(super) server: String,
    /// The address of chat completions.
    pub(super) endpoint: Url,
    pub(super) client: reqwest::Client,
    pub(super) authorization: Option<HeaderValue>,
    pub(super) idle_timeout: Duration,
}

/// The form of an answer, once its first byte has shown it.
enum Form {
    Unknown,
    Events(SseReader),
    Whole,
}

impl Exchange {
    /// One try.
    pub(super) async fn once(
        &self,
        body: &[u8],
        tools: &[ModelTool],
        sink: &mut dyn TurnSink,
    ) -> Result<ModelTurn, Failure> {
        let mut request = self
            .client
            .post(self.endpoint.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(reqwest::header::ACCEPT, "text/event-stream, application/json");
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization.clone());
        }
        let sent = timeout(self.idle_timeout, request.body(body.to_vec()).send()).await;
        let response = match sent {
            Err(_) => return Err(Failure::last(self.silent())),
            Ok(Err(error)) => return Err(self.not_sent(&error)),
            Ok(Ok(response)) => response,
        };
        if response.status().is_success() {
            self.read(response, tools, sink).await
        } else {
            Err(self.refused(response).await)
        }
    }

    async fn read(
        &self,
        mut response: Response,
        tools: &[ModelTool],
        sink: &mut dyn TurnSink,
    ) -> Result<ModelTurn, Failure> {
        let mut answer = Answer::default();
        let mut form = Form::Unknown;
        // The whole answer where it is no stream; else its beginning, for messages.
        let mut kept: Vec<u8> = Vec::new();
        let mut total = 0_usize;
        while !answer.is_done() {
            let patience =
                if answer.is_ended() { AFTER_END.min(self.idle_timeout) } else { self.idle_timeout };
            let bytes = match timeout(patience, response.chunk()).await {
                Ok(Ok(Some(bytes))) => bytes,
                Ok(Ok(None)) => break,
                // What ended before the connection broke is whole; only token counts may be missing.
                Err(_) | Ok(Err(_)) if answer.is_ended() => break,
                Err(_) => return Err(Failure::last(self.silent())),
                Ok(Err(error)) => return Err(self.cut(format!("the connection broke: {}", cause(&error)))),
            };
            total += bytes.len();
            if total > ANSWER_BYTES {
                return Err(Failure::last(
                    self.nonsense(&format!("it is longer than {} MiB", ANSWER_BYTES >> 20)),
                ));
            }
            if matches!(form, Form::Unknown) {
                kept.extend_from_slice(&bytes);
                if kept.iter().all(u8::is_ascii_whitespace) {
                    kept.clear();
                }
                form = form_of(&kept);
                if let Form::Events(reader) = &mut form {
                    let events = reader.feed(&kept);
                    kept.truncate(ERROR_BYTES);
                    self.take(&mut answer, &events, sink)?;
                }
                continue;
            }
            match &mut form {
                Form::Events(reader) => self.take(&mut answer, &reader.feed(&bytes), sink)?,
                Form::Unknown | Form::Whole => kept.extend_from_slice(&bytes),
            }
        }
        match &mut form {
            Form::Events(reader) => {
                let rest = reader.finish();
                self.take(&mut answer, rest.as_slice(), sink)?;
            }
            Form::Unknown | Form::Whole => self.take_whole(&mut answer, &kept, sink)?,
        }
        self.check(&answer, &kept)?;
        Ok(answer.finish(tools, &self.server))
    }

    fn take(
        &self,
        answer: &mut Answer,
        events: &[super::sse::Event],
        sink: &mut dyn TurnSink,
    ) -> Result<(), Failure> {
        for event in events {
            answer.take_event(event, sink).map_err(|broken| self.broken(broken))?;
            if answer.is_done() {
                break;
            }
        }
        Ok(())
    }

    fn take_whole(&self, answer: &mut Answer, kept: &[u8], sink: &mut dyn TurnSink) -> Result<(), Failure> {
        let text = String::from_utf8_lossy(kept);
        if text.trim().is_empty() {
            return Ok(());
        }
        if let Some(page) = page(&text) {
            return Err(Failure::last(self.nonsense(&format!(
                "{page} instead of an answer; the address of an OpenAI-compatible server usually ends with /v1"
            ))));
        }
        answer.take_completion(&text, sink).map_err(|broken| self.broken(broken))
    }

    /// Whether what came is an answer with an end.
    fn check(&self, answer: &Answer, kept: &[u8]) -> Result<(), Failure> {
        if answer.is_ended() {
            return Ok(());
        }
        if !answer.is_empty() {
            return Err(self.cut("the stream ended in the middle".to_owned()));
        }
        let beginning = String::from_utf8_lossy(kept);
        let framed = ["data:", "event:", ":", "id:", "retry:"].iter().any(|mark| beginning.contains(mark));
        if beginning.trim().is_empty() || framed {
            return Err(self.cut("the server answered, but sent nothing".to_owned()));
        }
        Err(Failure::last(
            self.nonsense(&format!(
                "it is neither a stream of events nor JSON: {}",
                shortened(&beginning, 200)
            )),
        ))
    }

    fn broken(&self, broken: Broken) -> Failure {
        match broken {
            Broken::Nonsense(reason) => Failure::last(self.nonsense(&reason)),
            Broken::Cut => self.cut("its JSON ended in the middle".to_owned()),
            Broken::Reported { status, message } => {
                let status = status.unwrap_or(500);
                let error = self.refusal(status, shortened(&self.hide_key(&message), ERROR_CHARS));
                if passes(status) { Failure::passing(error) } else { Failure::last(error) }
            }
        }
    }

    async fn refused(&self, mut response: Response) -> Failure {
        let status = response.status().as_u16();
        let after =
            response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
        let mut body = Vec::new();
        while let Ok(Ok(Some(bytes))) = timeout(AFTER_END.min(self.idle_timeout), response.chunk()).await {
            body.extend_from_slice(&bytes);
            if body.len() > ERROR_BYTES {
                break;
            }
        }
        let text = self.hide_key(&String::from_utf8_lossy(&body));
        let error = self.refusal(status, error_words(&text));
        let again = match after {
            _ if !passes(status) => Again::No,
            Some(seconds) => Again::After(Duration::from_secs(seconds)),
            None => Again::Yes,
        };
        Failure { error, again }
    }

    fn refusal(&self, status: u16, mut body: String) -> ModelError {
        let hint = match status {
            300..=399 => Some("The server points elsewhere: mend `url`"),
            401 | 403 => Some("Check the key that `key_env` names"),
            404 => Some("Check the model's name, and that `url` ends with /v1"),
            413 => Some("The conversation is too long for this server"),
            429 => Some("Wait, or choose another model"),
            _ => None,
        };
        if body.is_empty() {
            "it says no more".clone_into(&mut body);
        }
        if let Some(hint) = hint {
            body = format!("{}. {hint}", body.trim_end_matches('.'));
        }
        ModelError::Refused { model: self.name.clone(), status, body }
    }

    fn not_sent(&self, error: &reqwest::Error) -> Failure {
        if error.is_connect() {
            let reason =
                if error.is_timeout() { "it did not answer in time".to_owned() } else { cause(error) };
            return Failure::passing(ModelError::Unreachable {
                model: self.name.clone(),
                url: self.server.clone(),
                reason,
            });
        }
        self.cut(format!("the connection broke before an answer came: {}", cause(error)))
    }

    fn cut(&self, reason: String) -> Failure {
        Failure::passing(ModelError::CutOff { model: self.name.clone(), reason })
    }

    fn silent(&self) -> ModelError {
        let reason = format!("nothing came for {} s", self.idle_timeout.as_secs_f64());
        ModelError::CutOff { model: self.name.clone(), reason }
    }

    fn nonsense(&self, reason: &str) -> ModelError {
        ModelError::Malformed { model: self.name.clone(), reason: self.hide_key(reason) }
    }

    /// Servers repeat keys in their complaints.
    fn hide_key(&self, text: &str) -> String {
        let key = self.authorization.as_ref().and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        match key {
            Some(key) if !key.is_empty() => text.replace(key, "[key]"),
            _ => text.to_owned(),
        }
    }
}

/// The form of an answer that begins with `bytes`.
fn form_of(bytes: &[u8]) -> Form {
    const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
    if BYTE_ORDER_MARK.starts_with(bytes) {
        return Form::Unknown;
    }
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
        None => Form::Unknown,
        Some(b'{' | b'[' | b'<') => Form::Whole,
        Some(_) => Form::Events(SseReader::default()),
    }
}

/// What an error's body says: the message in its JSON, the title of a page, or its beginning.
fn error_words(text: &str) -> String {
    if let Some(page) = page(text) {
        return page;
    }
    let words = json::read(text, None).ok().and_then(|value| match value.get("error") {
        Some(error) => error_message(error),
        None => error_message(&value),
    });
    shortened(words.as_deref().unwrap_or(text), ERROR_CHARS)
}

/// Names an HTML page by its title; none if the text is no page.
fn page(text: &str) -> Option<String> {
    let lower = text.trim_start().get(..15).unwrap_or(text.trim_start()).to_ascii_lowercase();
    if !["<!doctype html", "<html", "<head", "<body", "<?xml"].iter().any(|mark| lower.starts_with(mark)) {
        return None;
    }
    let lower = text.to_ascii_lowercase();
    let title = lower.find("<title>").and_then(|start| {
        let start = start + "<title>".len();
        let length = lower.get(start..)?.find("</title>")?;
        text.get(start..start + length)
    });
    Some(match title.map(|title| shortened(title, 100)).filter(|title| !title.is_empty()) {
        Some(title) => format!("a web page (“{title}”)"),
        None => "a web page".to_owned(),
    })
}

/// The innermost cause of a network error: the only part that tells something.
fn cause(error: &reqwest::Error) -> String {
    let mut innermost: &dyn Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    shortened(&innermost.to_string(), 200)
}
