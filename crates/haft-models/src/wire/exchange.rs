//! One request over HTTP with its tries: sends the body, reads the answer whatever its form, names what went wrong.
//!
//! What the answer says is the [`Answer`]'s to know.

use std::error::Error;
use std::time::Duration;

use haft_core::ports::{Cancel, ModelError, TurnSink};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use reqwest::{Response, Url};
use tokio::time::timeout;

use super::address::{address, client, headers};
use super::retry::{Again, Failure, passes, wait};
use super::retry_after::wish;
use super::sse::{Event, SseReader};
use super::words::{error_object, error_words, page, shortened};
use super::{Answer, Broken, Wire};
use crate::build::BuildError;
use crate::entry::{ModelEntry, Secret};

/// Most bytes of one answer.
const ANSWER_BYTES: usize = 64 << 20;
/// Most bytes of an error's body that are read.
const ERROR_BYTES: usize = 64 << 10;
/// Most characters of an error's body that are shown.
const ERROR_CHARS: usize = 500;
/// How long to wait for token counts once the answer itself has ended.
const AFTER_END: Duration = Duration::from_secs(5);

/// Where requests go, and how.
#[derive(Debug, Clone)]
pub(crate) struct Exchange {
    /// The model's name, for messages.
    name: String,
    wire: &'static Wire,
    /// The address of the server, which also marks its metadata.
    pub(crate) server: String,
    endpoint: Url,
    client: reqwest::Client,
    headers: HeaderMap,
    key: Option<Secret>,
    idle_timeout: Duration,
    retry_wait: Duration,
}

/// The form of an answer, once its first byte has shown it.
enum Form {
    Unknown,
    Events(SseReader),
    Whole,
}

impl Exchange {
    /// Prepares exchanges with the server of `entry` at `path` below its address. Nothing is sent.
    ///
    /// # Errors
    /// The address, the key or the proxy cannot be used, or the machine has no certificates.
    pub(crate) fn new(entry: &ModelEntry, wire: &'static Wire, path: &str) -> Result<Self, BuildError> {
        let (server, endpoint) = address(entry, path)?;
        let headers = headers(entry, wire)?;
        let client = client(entry, endpoint.scheme() == "https")?;
        Ok(Self {
            name: entry.name.clone(),
            wire,
            server,
            endpoint,
            client,
            headers,
            key: entry.key.clone(),
            idle_timeout: entry.idle_timeout,
            retry_wait: entry.retry_wait,
        })
    }

    /// Asks with `body` until an answer is whole or further tries make no sense.
    pub(crate) async fn ask<A: Answer>(
        &self,
        body: &[u8],
        sink: &mut dyn TurnSink,
        cancel: &dyn Cancel,
    ) -> Result<A, ModelError> {
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(ModelError::Cancelled),
            answer = self.tries(body, sink) => answer,
        }
    }

    async fn tries<A: Answer>(&self, body: &[u8], sink: &mut dyn TurnSink) -> Result<A, ModelError> {
        let mut tries = 1;
        loop {
            let failure = match self.once(body, sink).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            let Some(pause) = wait(tries, failure.again, self.retry_wait, body) else {
                return Err(failure.error);
            };
            sink.restarted(&failure.error.to_string());
            tokio::time::sleep(pause).await;
            tries += 1;
        }
    }

    /// One try.
    async fn once<A: Answer>(&self, body: &[u8], sink: &mut dyn TurnSink) -> Result<A, Failure> {
        let request = self
            .client
            .post(self.endpoint.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream, application/json")
            .headers(self.headers.clone());
        let sent = timeout(self.idle_timeout, request.body(body.to_vec()).send()).await;
        let response = match sent {
            Err(_) => return Err(Failure::last(self.silent())),
            Ok(Err(error)) => return Err(self.not_sent(&error)),
            Ok(Ok(response)) => response,
        };
        if response.status().is_success() {
            self.read(response, sink).await
        } else {
            Err(self.refused(response).await)
        }
    }

    async fn read<A: Answer>(&self, mut response: Response, sink: &mut dyn TurnSink) -> Result<A, Failure> {
        let mut answer = A::default();
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
                // A connection may break inside of the last mark.
                let rest = reader.finish().filter(|last| !is_half_done(last.data.trim()));
                self.take(&mut answer, rest.as_slice(), sink)?;
            }
            Form::Unknown | Form::Whole => self.take_whole(&mut answer, &kept, sink)?,
        }
        self.check(&answer, &kept)?;
        Ok(answer)
    }

    fn take(
        &self,
        answer: &mut impl Answer,
        events: &[Event],
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

    fn take_whole(
        &self,
        answer: &mut impl Answer,
        kept: &[u8],
        sink: &mut dyn TurnSink,
    ) -> Result<(), Failure> {
        let text = String::from_utf8_lossy(kept);
        if text.trim().is_empty() {
            return Ok(());
        }
        if let Some(page) = page(&text) {
            return Err(Failure::last(self.nonsense(&format!(
                "{page} instead of an answer; the address of {} usually ends with {}",
                self.wire.server, self.wire.ending
            ))));
        }
        answer.take_whole(&text, sink).map_err(|broken| self.broken(broken))
    }

    /// Whether what came is an answer with an end.
    fn check(&self, answer: &impl Answer, kept: &[u8]) -> Result<(), Failure> {
        if answer.is_ended() {
            return Ok(());
        }
        if !answer.is_empty() {
            return Err(self.cut("the stream ended in the middle".to_owned()));
        }
        let beginning = String::from_utf8_lossy(kept);
        let begun = beginning.trim_start();
        let framed = ["data:", "event:", ":", "id:", "retry:"]
            .iter()
            .any(|mark| beginning.contains(mark) || mark.starts_with(begun));
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
        let headers = response.headers().clone();
        let mut body = Vec::new();
        while let Ok(Ok(Some(bytes))) = timeout(AFTER_END.min(self.idle_timeout), response.chunk()).await {
            body.extend_from_slice(&bytes);
            if body.len() > ERROR_BYTES {
                break;
            }
        }
        let text = self.hide_key(&String::from_utf8_lossy(&body));
        let error = self.refusal(status, error_words(&text, ERROR_CHARS));
        let again = match wish(&headers, error_object(&text).as_ref()) {
            _ if !passes(status) => Again::No,
            Some(pause) => Again::After(pause),
            None => Again::Yes,
        };
        Failure { error, again }
    }

    fn refusal(&self, status: u16, mut body: String) -> ModelError {
        let ending = format!("Check the model's name, and that `url` ends with {}", self.wire.ending);
        let hint = match status {
            300..=399 => Some("The server points elsewhere: mend `url`"),
            401 | 403 => Some("Check the key that `key_env` names"),
            404 => Some(ending.as_str()),
            413 => Some("The conversation is too long for this server"),
            429 | 529 => Some("Wait, or choose another model"),
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
        match &self.key {
            Some(key) if !key.reveal().is_empty() => text.replace(key.reveal(), "[key]"),
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

/// The innermost cause of a network error: the only part that tells something.
fn cause(error: &reqwest::Error) -> String {
    let mut innermost: &dyn Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    shortened(&innermost.to_string(), 200)
}

/// Whether a text is the beginning of `[DONE]`, the mark behind the last event, and not all of it.
fn is_half_done(text: &str) -> bool {
    const DONE: &str = "[DONE]";
    text.len() < DONE.len() && DONE.starts_with(text)
}
