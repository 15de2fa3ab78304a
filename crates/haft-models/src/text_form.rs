//! A text dialect as models are spoken to in it: tools, earlier calls and results as text, and text read back as calls.
//!
//! It turns Haft's neutral messages into text and text into neutral turns; grammar and repairs are `haft-dialect`'s.

use std::sync::Arc;

use haft_core::message::{Message, ResultMessage};
use haft_core::ports::{FinishReason, ModelRequest, ModelTurn, TurnSink};
use haft_core::{ModelTool, RequestedCall, ToolChoice, WireId};
use haft_dialect::artifact_xml::{ExecutionMode, ToolInfo, instructions, write_call, write_result};
use haft_dialect::{
    Attempt, DeclaredTool, Dialect, Event, FinishReason as End, Parsed, Parser, ParserOptions, Tags, ToolSet,
};

use crate::build::BuildError;

/// What stands for the name in the result of a call that had none (DIA-10).
const NAMELESS: &str = "__malformed__";

/// A text dialect with its tag names.
#[derive(Debug, Clone)]
pub(crate) struct TextForm {
    dialect: Dialect,
    options: ParserOptions,
}

impl TextForm {
    /// The form of `model` in `dialect`, calls enclosed by `tag` instead of the usual one.
    pub(crate) fn new(model: &str, dialect: &str, tag: Option<&str>) -> Result<Self, BuildError> {
        // The others are read, but nobody can be told to write them yet.
        let known = dialect.parse::<Dialect>().ok().filter(|dialect| *dialect == Dialect::ArtifactXml);
        let Some(known) = known else {
            return Err(BuildError::Dialect { model: model.to_owned(), dialect: dialect.to_owned() });
        };
        let tags = match tag {
            None => Tags::default(),
            Some(tag) if is_tag(tag) => Tags { call: tag.to_owned() },
            Some(tag) => return Err(BuildError::Tag { model: model.to_owned(), tag: tag.to_owned() }),
        };
        Ok(Self { dialect: known, options: ParserOptions { tags } })
    }

    /// The dialect's name.
    pub(crate) fn name(&self) -> &'static str {
        self.dialect.name()
    }

    /// `request` for a model that knows text alone: no tools, calls and results inside the messages.
    pub(crate) fn as_text(&self, request: &ModelRequest) -> ModelRequest {
        ModelRequest {
            system: self.system(request),
            messages: self.messages(&request.messages),
            tools: Vec::new(),
            choice: ToolChoice::Auto,
            ..request.clone()
        }
    }

    fn system(&self, request: &ModelRequest) -> String {
        let mut system = request.system.clone();
        if request.tools.is_empty() || request.choice == ToolChoice::None {
            return system;
        }
        // DIA-14: the tools of this request and no others.
        let tools: Vec<ToolInfo<'_>> = request.tools.iter().map(tool_info).collect();
        let mode = if request.serial { ExecutionMode::Serial } else { ExecutionMode::Parallel };
        let demand = match &request.choice {
            ToolChoice::Auto | ToolChoice::None => None,
            ToolChoice::Required => Some("Your next message must hold at least one tool call.".to_owned()),
            ToolChoice::Tool(id) => request
                .tools
                .iter()
                .find(|tool| tool.tool_id == *id)
                .map(|tool| format!("Your next message must call the tool {}.", tool.alias)),
        };
        for part in [Some(instructions(&tools, mode, &self.options.tags)), demand].into_iter().flatten() {
            if !system.is_empty() {
                system.push_str("\n\n");
            }
            system.push_str(&part);
        }
        system
    }

    /// Neighbouring messages of the user become one: many chat templates insist on turns.
    fn messages(&self, messages: &[Message]) -> Vec<Message> {
        let mut out: Vec<Message> = Vec::with_capacity(messages.len());
        for message in messages {
            let said = match message {
                Message::User(text) => text.clone(),
                Message::Results(results) => self.results(results),
                Message::Assistant { text, raw, calls, provider_metadata, .. } => {
                    let text = raw.clone().unwrap_or_else(|| self.with_calls(text, calls));
                    out.push(Message::Assistant {
                        text,
                        raw: None,
                        calls: Vec::new(),
                        call_ids: Vec::new(),
                        provider_metadata: provider_metadata.clone(),
                    });
                    continue;
                }
            };
            if let Some(Message::User(before)) = out.last_mut() {
                before.push_str("\n\n");
                before.push_str(&said);
            } else {
                out.push(Message::User(said));
            }
        }
        out
    }

    fn results(&self, results: &[ResultMessage]) -> String {
        let written = results.iter().map(|result| {
            let name = if result.alias.is_empty() { NAMELESS } else { &result.alias };
            // The content itself: success and error are part of the form.
            write_result(name, !result.is_error, &result.content)
        });
        written.collect::<Vec<_>>().join("\n")
    }

    /// `text` with `calls` behind it, as a model of this dialect would have written them.
    pub(crate) fn with_calls(&self, text: &str, calls: &[RequestedCall]) -> String {
        let mut out = text.to_owned();
        for call in calls {
            let written = match call {
                RequestedCall::Call { name, arguments, .. } => {
                    write_call(name, arguments, &self.options.tags)
                }
                RequestedCall::Malformed { raw, .. } => raw.clone(),
            };
            if !out.is_empty() {
                out.push('\n');
            }
            out.push_str(&written);
        }
        out
    }

    /// A reader of one answer.
    pub(crate) fn reader(&self, tools: &[ModelTool]) -> Reader<'_> {
        let declared = tools
            .iter()
            .map(|tool| DeclaredTool { name: tool.alias.clone(), schema: tool.input_schema.clone() });
        let tools = Arc::new(ToolSet::new(declared));
        Reader { form: self, parser: self.parser(&tools), tools, written: String::new() }
    }

    fn parser(&self, tools: &Arc<ToolSet>) -> Parser {
        Parser::new(self.dialect, Arc::clone(tools), &self.options)
    }
}

fn tool_info(tool: &ModelTool) -> ToolInfo<'_> {
    ToolInfo {
        name: &tool.alias,
        description: &tool.description,
        schema: &tool.input_schema,
        example: tool.example.as_ref(),
    }
}

fn is_tag(tag: &str) -> bool {
    tag.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
        && tag.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.'))
}

/// Reads one answer while it is written.
pub(crate) struct Reader<'a> {
    form: &'a TextForm,
    tools: Arc<ToolSet>,
    parser: Parser,
    written: String,
}

impl Reader<'_> {
    /// Takes more text; what is neither call nor mark of one goes on to `sink`.
    pub(crate) fn feed(&mut self, delta: &str, sink: &mut dyn TurnSink) {
        self.written.push_str(delta);
        self.parser.feed(delta, &mut |event| show(event, sink));
    }

    /// Forgets what was read: the request is tried again.
    pub(crate) fn restart(&mut self) {
        self.written.clear();
        self.parser = self.form.parser(&self.tools);
    }

    /// The turn that `turn`, an answer in plain text, is. Calls that it has beside its text follow those in it.
    pub(crate) fn finish(mut self, turn: ModelTurn, sink: &mut dyn TurnSink) -> ModelTurn {
        // The finished turn counts, whatever was streamed.
        if self.written != turn.text {
            self.restart();
            self.written.clone_from(&turn.text);
            self.parser.feed(&turn.text, &mut |_| {});
        }
        let end = if turn.finish_reason == FinishReason::Length { End::Length } else { End::Stop };
        let parsed = self.parser.finish_with(end, &mut |event| show(event, sink));
        let mut calls = requested(&parsed, &turn.text);
        let whole = self.form.with_calls(&turn.text, &turn.calls);
        calls.extend(turn.calls);
        let finish_reason = match turn.finish_reason {
            FinishReason::Stop | FinishReason::Other if !calls.is_empty() => FinishReason::ToolCalls,
            said => said,
        };
        let reasoning = match (turn.reasoning.is_empty(), parsed.reasoning.is_empty()) {
            (_, true) => turn.reasoning,
            (true, false) => parsed.reasoning,
            (false, false) => format!("{}\n{}", turn.reasoning, parsed.reasoning),
        };
        let raw = (whole.trim() != parsed.text).then_some(whole);
        ModelTurn { text: parsed.text, reasoning, calls, raw, finish_reason, ..turn }
    }
}

fn show(event: Event<'_>, sink: &mut dyn TurnSink) {
    match event {
        Event::Text(text) => sink.text(text),
        Event::Reasoning(text) => sink.reasoning(text),
        Event::Call(_) | Event::Malformed(_) => {}
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
        Attempt::Malformed(index) => parsed.malformed.get(index).map(|call| RequestedCall::Malformed {
            name: call.name.clone(),
            reason: sentences(&call.reason, &call.hint),
            raw: text.get(call.span.start..call.span.end).unwrap_or_default().to_owned(),
            wire_id: None,
        }),
    });
    attempts.collect()
}

fn sentences(reason: &str, hint: &str) -> String {
    match (reason.ends_with(['.', '!', '?']), hint.is_empty()) {
        (_, true) => reason.to_owned(),
        (true, false) => format!("{reason} {hint}"),
        (false, false) => format!("{reason}. {hint}"),
    }
}
