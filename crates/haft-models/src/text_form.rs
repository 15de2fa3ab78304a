//! A text dialect as models are spoken to in it: tools, earlier calls and results as text, and text read back as calls.
//!
//! It turns Haft's neutral messages into text and text into neutral turns; grammar and repairs are `haft-dialect`'s.

mod reader;

use std::sync::Arc;

use haft_core::message::{Message, ResultMessage};
use haft_core::ports::ModelRequest;
use haft_core::{ModelTool, RequestedCall, ToolChoice, WireId};
use haft_dialect::{
    Contract, DeclaredTool, Dialect, ExecutionMode, GrammarError, Parser, ParserOptions, Tags, ToolInfo,
    ToolSet, Writer, WrittenCall, WrittenResult, answer_schema, gbnf,
};

use crate::build::BuildError;
use crate::entry::{Grammar, Hold};
pub(crate) use reader::Reader;

/// What stands for the name in the result of a call that had none (DIA-10).
const NAMELESS: &str = "__malformed__";

/// Calls that one answer may hold where the server is held to a form: a small model repeats a call for as long as it may.
const MOST_HELD_CALLS: usize = 4;

/// A text dialect with its tag names.
#[derive(Debug, Clone)]
pub(crate) struct TextForm {
    dialect: Dialect,
    options: ParserOptions,
    writer: Writer,
    /// Answers are one JSON object each.
    answers: bool,
}

impl TextForm {
    /// The form of `model` in `dialect`, calls enclosed by `tag` instead of the usual one.
    pub(crate) fn new(model: &str, dialect: &str, tag: Option<&str>) -> Result<Self, BuildError> {
        // `auto` reads whatever comes, but nobody can be told to write it.
        let known = dialect.parse::<Dialect>().ok().filter(|dialect| *dialect != Dialect::Auto);
        let Some(known) = known else {
            return Err(BuildError::Dialect { model: model.to_owned(), dialect: dialect.to_owned() });
        };
        let tags = match tag {
            None => Tags::default(),
            Some(tag) if is_tag(tag) => Tags { call: tag.to_owned() },
            Some(tag) => return Err(BuildError::Tag { model: model.to_owned(), tag: tag.to_owned() }),
        };
        Ok(Self::of(known, tags))
    }

    /// Reads whatever dialect comes; nothing is written in it.
    pub(crate) fn of_any() -> Self {
        Self::of(Dialect::Auto, Tags::default())
    }

    fn of(dialect: Dialect, tags: Tags) -> Self {
        let writer = Writer::new(dialect, tags.clone());
        Self { dialect, options: ParserOptions { tags }, writer, answers: false }
    }

    /// The same, every message of the model being one JSON object.
    pub(crate) fn with_answers(self) -> Self {
        Self { writer: Writer::of_answers(self.dialect), answers: true, ..self }
    }

    /// What holds a server to the calls of `request`, in the way that `grammar` says; none where nothing can be called. Tools
    /// that the dialect has no form for cannot be called in it.
    pub(crate) fn hold(&self, grammar: &Grammar, request: &ModelRequest) -> Option<Hold> {
        let (required, only) = match &request.choice {
            ToolChoice::Auto => (false, None),
            ToolChoice::None => return None,
            ToolChoice::Required => (true, None),
            ToolChoice::Tool(id) => (true, Some(id)),
        };
        let wanted = request.tools.iter().filter(|tool| only.is_none_or(|id| tool.tool_id == *id));
        let mut tools: Vec<DeclaredTool> = wanted.map(declared).collect();
        while !tools.is_empty() {
            let contract = Contract { tools: &tools, required, most_calls: MOST_HELD_CALLS };
            let made = match grammar {
                Grammar::Text(text) => Ok(Hold::Gbnf(text.clone())),
                Grammar::Gbnf => gbnf(self.dialect, &self.options.tags, &contract).map(Hold::Gbnf),
                Grammar::JsonSchema => answer_schema(&contract).map(Hold::JsonSchema),
            };
            match made {
                Ok(hold) => return Some(hold),
                Err(GrammarError::CannotCarry(uncarried)) => tools.retain(|tool| tool.name != uncarried.tool),
                Err(GrammarError::NoTool) => return None,
            }
        }
        None
    }

    /// The dialect's name.
    pub(crate) fn name(&self) -> &'static str {
        self.dialect.name()
    }

    /// `request` for a model that knows text alone: no tools, calls and results inside the messages.
    pub(crate) fn as_text(&self, request: &ModelRequest) -> ModelRequest {
        ModelRequest {
            agent: request.agent.clone(),
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
        for part in [Some(self.writer.instructions(&tools, mode)), demand].into_iter().flatten() {
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
        let written: Vec<WrittenResult<'_>> = results
            .iter()
            .map(|result| WrittenResult {
                name: if result.alias.is_empty() { NAMELESS } else { &result.alias },
                id: result.wire_id.as_ref().map(WireId::as_str),
                success: !result.is_error,
                // CONFLICT-06: ArtifactFlow's form carries the content itself, all others what the renderer made.
                content: match self.dialect {
                    Dialect::ArtifactXml => &result.content,
                    _ => &result.body,
                },
            })
            .collect();
        self.writer.results(&written)
    }

    /// Whether a reader finds calls beside visible text.
    pub(crate) fn text_beside_calls(&self) -> bool {
        self.writer.text_beside_calls()
    }

    /// Whether the content of a result stands in this form itself, unrendered.
    pub(crate) fn wraps_results(&self) -> bool {
        self.dialect == Dialect::ArtifactXml
    }

    /// `text` with `calls` behind it, as a model of this dialect would have written them.
    pub(crate) fn with_calls(&self, text: &str, calls: &[RequestedCall]) -> String {
        let whole: Option<Vec<WrittenCall<'_>>> = calls.iter().map(written).collect();
        if let Some(message) = whole.and_then(|calls| self.writer.message(text, &calls).ok()) {
            return message;
        }
        // Some call is malformed, or the dialect has no form for it.
        self.with_calls_behind(text, calls)
    }

    /// `text` as it is, and each call on its own behind it.
    fn with_calls_behind(&self, text: &str, calls: &[RequestedCall]) -> String {
        let mut out = text.to_owned();
        for call in calls {
            if !out.is_empty() {
                out.push('\n');
            }
            match call {
                RequestedCall::Call { name, arguments, .. } => {
                    out.push_str(&self.one_call(WrittenCall { name, arguments }));
                }
                RequestedCall::Malformed { raw, .. } => out.push_str(raw),
            }
        }
        out
    }

    /// A call alone; in a JSON fence where the dialect cannot carry it.
    fn one_call(&self, call: WrittenCall<'_>) -> String {
        let fenced = || Writer::new(Dialect::JsonFence, Tags::default()).calls(&[call]);
        self.writer.calls(&[call]).or_else(|_| fenced()).unwrap_or_default()
    }

    /// A reader of one answer.
    pub(crate) fn reader(&self, tools: &[ModelTool]) -> Reader<'_> {
        Reader::new(self, tools)
    }

    fn parser(&self, tools: &Arc<ToolSet>) -> Parser {
        Parser::new(self.dialect, Arc::clone(tools), &self.options)
    }
}

fn declared(tool: &ModelTool) -> DeclaredTool {
    DeclaredTool { name: tool.alias.clone(), schema: tool.input_schema.clone() }
}

fn written(call: &RequestedCall) -> Option<WrittenCall<'_>> {
    match call {
        RequestedCall::Call { name, arguments, .. } => Some(WrittenCall { name, arguments }),
        RequestedCall::Malformed { .. } => None,
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
