//! One answer of a model that writes a text dialect, read while it comes: text goes on, calls are found.
//! It must not decide what becomes of calls; grammar and repairs are `haft-dialect`'s.

use std::sync::Arc;

use haft_core::ports::{FinishReason, ModelTurn, TurnSink};
use haft_core::{ModelTool, RequestedCall, WireId};
use haft_dialect::{
    Answer, Attempt, Event, FinishReason as End, MalformedCall, Parsed, Parser, ToolSet, read_answer,
};

use super::{TextForm, declared};

/// Reads one answer while it is written.
pub(crate) struct Reader<'a> {
    form: &'a TextForm,
    tools: Arc<ToolSet>,
    parser: Parser,
    written: String,
    /// What comes is read at once.
    streams: bool,
}

impl<'a> Reader<'a> {
    /// A reader of one answer to a request with these tools.
    pub(crate) fn new(form: &'a TextForm, tools: &[ModelTool]) -> Self {
        let tools = Arc::new(ToolSet::new(tools.iter().map(declared)));
        let parser = form.parser(&tools);
        Self { form, parser, tools, written: String::new(), streams: !form.answers }
    }

    /// Takes more text; what is neither call nor mark of one goes on to `sink`. An answer that may be one JSON object is read
    /// at its end.
    pub(crate) fn feed(&mut self, delta: &str, sink: &mut dyn TurnSink) {
        self.written.push_str(delta);
        if self.streams {
            self.parser.feed(delta, &mut |event| show(event, sink));
            return;
        }
        let begin = self.written.trim_start();
        self.streams = !(begin.is_empty() || begin.starts_with('{'));
        if self.streams {
            self.parser.feed(&self.written, &mut |event| show(event, sink));
        }
    }

    /// Forgets what was read: the request is tried again.
    pub(crate) fn restart(&mut self) {
        self.written.clear();
        self.streams = !self.form.answers;
        self.parser = self.form.parser(&self.tools);
    }

    /// The turn that `turn`, an answer in plain text, is. Calls that it has beside its text follow those in it.
    pub(crate) fn finish(mut self, turn: ModelTurn, sink: &mut dyn TurnSink) -> ModelTurn {
        let end = if turn.finish_reason == FinishReason::Length { End::Length } else { End::Stop };
        if self.form.answers
            && let Some(answer) = read_answer(&turn.text, end)
        {
            sink.text(&answer.text);
            return of_answer(answer, &turn.text).into_turn(self.form, turn);
        }
        // The finished turn counts, whatever was streamed.
        if self.written != turn.text || !self.streams {
            self.restart();
            self.written.clone_from(&turn.text);
            self.parser.feed(&turn.text, &mut |_| {});
        }
        let parsed = self.parser.finish_with(end, &mut |event| show(event, sink));
        let found =
            Found { calls: requested(&parsed, &turn.text), text: parsed.text, reasoning: parsed.reasoning };
        found.into_turn(self.form, turn)
    }
}

/// What was found in an answer.
struct Found {
    text: String,
    reasoning: String,
    calls: Vec<RequestedCall>,
}

fn of_answer(answer: Answer, raw: &str) -> Found {
    let calls = answer.calls.into_iter().map(|call| match call {
        Ok((name, arguments)) => RequestedCall::call(name, arguments),
        Err(bad) => malformed(&bad, raw),
    });
    Found { text: answer.text, reasoning: String::new(), calls: calls.collect() }
}

impl Found {
    /// The turn that `turn` is, with this in its text.
    fn into_turn(mut self, form: &TextForm, turn: ModelTurn) -> ModelTurn {
        let whole = form.with_calls_behind(&turn.text, &turn.calls);
        self.calls.extend(turn.calls);
        let finish_reason = match turn.finish_reason {
            FinishReason::Stop | FinishReason::Other if !self.calls.is_empty() => FinishReason::ToolCalls,
            said => said,
        };
        let reasoning = match (turn.reasoning.is_empty(), self.reasoning.is_empty()) {
            (_, true) => turn.reasoning,
            (true, false) => self.reasoning,
            (false, false) => format!("{}\n{}", turn.reasoning, self.reasoning),
        };
        let raw = (whole.trim() != self.text).then_some(whole);
        ModelTurn { text: self.text, reasoning, calls: self.calls, raw, finish_reason, ..turn }
    }
}

fn show(event: Event<'_>, sink: &mut dyn TurnSink) {
    match event {
        Event::Text(text) => sink.text(text),
        Event::Reasoning(text) => sink.reasoning(text),
        Event::CallStart(_)
        | Event::ArgumentDelta(_)
        | Event::Repair(..)
        | Event::Call(_)
        | Event::Malformed(_)
        | Event::Mark(_)
        | Event::Dropped(_) => {}
    }
}

/// What was asked for, in the order of the text.
fn requested(parsed: &Parsed, text: &str) -> Vec<RequestedCall> {
    let attempts = parsed.order.iter().filter_map(|attempt| match *attempt {
        Attempt::Call(index) => parsed.calls.get(index).map(|call| RequestedCall::Call {
            name: call.name.clone(),
            arguments: call.arguments.clone(),
            wire_id: call.id.as_deref().map(WireId::new),
            provider_metadata: None,
            repairs: call.repairs.iter().map(|repair| repair.name().to_owned()).collect(),
        }),
        Attempt::Malformed(index) => parsed.malformed.get(index).map(|call| malformed(call, text)),
    });
    attempts.collect()
}

fn malformed(call: &MalformedCall, text: &str) -> RequestedCall {
    RequestedCall::Malformed {
        name: call.name.clone(),
        reason: sentences(&call.reason, &call.hint),
        raw: text.get(call.span.start..call.span.end).unwrap_or_default().to_owned(),
        wire_id: None,
    }
}

fn sentences(reason: &str, hint: &str) -> String {
    match (reason.ends_with(['.', '!', '?']), hint.is_empty()) {
        (_, true) => reason.to_owned(),
        (true, false) => format!("{reason} {hint}"),
        (false, false) => format!("{reason}. {hint}"),
    }
}
