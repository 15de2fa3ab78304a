//! A call while it is read, and what becomes of it: a call with typed arguments, or a malformed one with a reason.
//! It must not look at the text; it only holds what was found there.

use std::borrow::Cow;

use haft_schema::json::Literal;
use haft_schema::{canonical, coerce_value};
use serde_json::map::Entry;
use serde_json::{Map, Value};

use crate::artifact_xml::names::Names;
use crate::scan::is_blank;
use crate::tools::Tool;
use crate::{Dialect, MalformedCall, ParsedCall, Repair, Span};

/// Parameters of one call, at most.
const MAX_PARAMETERS: usize = 1000;

/// What became of one attempt.
pub(crate) type Outcome = Result<ParsedCall, MalformedCall>;

/// How a call came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// By its closing mark, or by that of the block it stands in.
    Closed,
    /// Without one.
    Unclosed,
}

/// What keeps a call from being run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    CutInValue(String),
    CutInTag,
    CutInName,
    CutInJson,
    CutInCall,
    /// The call cannot be read from this byte of it on.
    UnreadableCall(usize),
    AmbiguousEnd(String),
    TooManyParameters,
    EndlessThoughts,
    BadJson(String),
    TwoNames(String),
    TextInput,
    ArgumentsNoObject,
    NoName,
}

#[derive(Debug)]
enum Given<'a> {
    Text(Cow<'a, str>),
    Json(Literal<'a>),
}

/// A call being read.
#[derive(Debug)]
pub(crate) struct Draft<'a, 'n> {
    pub(crate) start: usize,
    pub(crate) id: Option<String>,
    name: Option<Cow<'a, str>>,
    pub(crate) tool: Option<&'n Tool>,
    given: Vec<(Cow<'a, str>, Given<'a>, u32)>,
    /// Containers opened so far.
    pub(crate) groups: u32,
    pub(crate) container_open: bool,
    /// Nothing but the end of the text ends the last value.
    pub(crate) is_open_end: bool,
    /// The name stands in the wrapper's own tag.
    pub(crate) named_by_wrapper: bool,
    /// The call is written as other dialects write it: values outside of CDATA are raw.
    pub(crate) raw: bool,
    /// Also those of elements that are named like parameters.
    pub(crate) raw_everywhere: bool,
    repairs: Vec<Repair>,
    /// Text found where only tags may stand; the first piece of it.
    stray: Option<&'a str>,
    pub(crate) fault: Option<Fault>,
}

impl<'a, 'n> Draft<'a, 'n> {
    pub(crate) fn new(start: usize) -> Self {
        Self {
            start,
            id: None,
            name: None,
            tool: None,
            given: Vec::new(),
            groups: 0,
            container_open: false,
            is_open_end: false,
            named_by_wrapper: false,
            raw: false,
            raw_everywhere: false,
            repairs: Vec::new(),
            stray: None,
            fault: None,
        }
    }

    /// Whether nothing at all was found yet.
    pub(crate) fn is_untouched(&self) -> bool {
        self.name.is_none() && self.given.is_empty() && self.groups == 0 && self.stray.is_none()
    }

    pub(crate) fn has_name(&self) -> bool {
        self.name.is_some()
    }

    pub(crate) fn is_named(&self, name: &str) -> bool {
        self.name.as_deref() == Some(name)
    }

    /// Whether a parameter was given under this very name.
    pub(crate) fn gives(&self, name: &str) -> bool {
        self.given.iter().any(|(given, ..)| given == name)
    }

    /// Whether the key of a pair was given last.
    pub(crate) fn awaits_value(&self) -> bool {
        self.given.last().is_some_and(|(name, ..)| name == "arg_key")
    }

    /// Whether the schema gives a parameter a type.
    pub(crate) fn is_typed(&self, name: &str) -> bool {
        self.tool.and_then(|tool| tool.parameter(name)).is_some_and(|(parameter, _)| !parameter.is_untyped)
    }

    pub(crate) fn has_parameters(&self) -> bool {
        !self.given.is_empty() || self.groups > 0
    }

    pub(crate) fn set_name(&mut self, name: Cow<'a, str>, names: &'n Names) {
        let trimmed = match name {
            Cow::Borrowed(name) => Cow::Borrowed(name.trim_matches(is_blank)),
            Cow::Owned(name) => Cow::Owned(name.trim_matches(is_blank).to_owned()),
        };
        if trimmed.is_empty() {
            return;
        }
        if let Some((tool, exact)) = names.tools.resolve(&trimmed) {
            self.tool = Some(tool);
            if !exact {
                self.repair(Repair::NameMapped);
            }
        }
        self.name = Some(trimmed);
    }

    pub(crate) fn repair(&mut self, repair: Repair) {
        if !self.repairs.contains(&repair) {
            self.repairs.push(repair);
        }
    }

    pub(crate) fn repairs(&self) -> &[Repair] {
        &self.repairs
    }

    pub(crate) fn has_repair(&self, repair: Repair) -> bool {
        self.repairs.contains(&repair)
    }

    /// Whether no more parameters are taken.
    pub(crate) fn is_full(&self) -> bool {
        self.given.len() >= MAX_PARAMETERS
    }

    pub(crate) fn give_text(&mut self, name: Cow<'a, str>, text: Cow<'a, str>) {
        self.given.push((name, Given::Text(text), self.groups));
    }

    pub(crate) fn give_literal(&mut self, name: Cow<'a, str>, literal: Literal<'a>) {
        self.given.push((name, Given::Json(literal), self.groups));
    }

    pub(crate) fn stray_text(&mut self, text: &'a str) {
        let text = text.trim_matches(is_blank);
        if !text.is_empty() {
            self.stray.get_or_insert(text);
        }
    }

    /// Takes back a stray text, which has turned out to be a value.
    pub(crate) fn take_stray(&mut self, text: &str) {
        if self.stray.is_some_and(|stray| stray == text.trim_matches(is_blank)) {
            self.stray = None;
        }
    }

    pub(crate) fn stray_begins_json(&self) -> bool {
        self.stray.is_some_and(|text| text.starts_with(['{', '[']))
    }

    /// Makes an outcome of the draft; two where a second container is meant for another call.
    pub(crate) fn finish(mut self, ending: Ending, end: usize, names: &'n Names, into: &mut Vec<Outcome>) {
        self.name_from_stray(names);
        // Nothing proves that an unknown name alone at the end of the text is whole.
        if ending == Ending::Unclosed
            && self.tool.is_none()
            && self.given.is_empty()
            && self.has_repair(Repair::NameFromText)
        {
            self.fault.get_or_insert(Fault::CutInName);
        }
        self.pair_keys();
        let span = Span { start: self.start, end };
        let name = self
            .tool
            .map(|tool| tool.declared.name.clone())
            .or_else(|| self.name.as_deref().map(str::to_owned));
        if let Some(fault) = self.fault.take() {
            into.push(Err(malformed(name, &fault, span)));
            return;
        }
        let Some(name) = name else {
            into.push(Err(malformed(None, &Fault::NoName, span)));
            return;
        };
        let second = self.split_second_container();
        into.push(self.call(name, ending, span));
        if second {
            into.push(Err(second_container(span)));
        }
    }

    /// Takes a declared name that stands in its envelope as plain text.
    pub(crate) fn name_from_stray(&mut self, names: &'n Names) {
        if self.name.is_none()
            && let Some(stray) = self.stray.map(|stray| self.name_line(stray, names))
            && (names.tools.resolve(stray).is_some() || self.is_foreign_name(stray, names))
        {
            self.set_name(Cow::Borrowed(stray), names);
            self.repair(Repair::NameFromText);
            self.stray = None;
        }
    }

    /// The first line of a text, if it is a declared name with other text behind it.
    fn name_line<'t>(&self, text: &'t str, names: &Names) -> &'t str {
        let line = text.lines().next().unwrap_or(text).trim_matches(is_blank);
        if names.tools.resolve(line).is_some() { line } else { text }
    }

    /// Whether a text can only be the name of an undeclared tool, because pairs of keys and values follow it or its dialect writes names so.
    fn is_foreign_name(&self, text: &str, names: &Names) -> bool {
        let pairs = self.given.iter().any(|(name, ..)| name == "arg_key");
        let written_so = matches!(names.dialect, Dialect::Glm45 | Dialect::Glm47 | Dialect::HunyuanV3);
        (pairs || written_so && self.given.is_empty())
            && text.len() <= 128
            && text
                .chars()
                .all(|character| character.is_alphanumeric() || matches!(character, '_' | '-' | '.'))
    }

    /// Parameters written as pairs of elements, `<arg_key>name</arg_key><arg_value>value</arg_value>`.
    fn pair_keys(&mut self) {
        let own = |name: &str| self.tool.is_some_and(|tool| tool.parameter(name).is_some());
        if own("arg_key") || !self.given.iter().any(|(name, ..)| name == "arg_key") {
            return;
        }
        let mut key: Option<Cow<'a, str>> = None;
        for (name, given, group) in std::mem::take(&mut self.given) {
            let before = key.take();
            if name != "arg_value"
                && let Some(key) = &before
            {
                self.fault.get_or_insert_with(|| Fault::CutInValue(key.trim().to_owned()));
            }
            match (&*name, given, before) {
                ("arg_key", Given::Text(text), _) => key = Some(text),
                ("arg_value", given, Some(key)) => self.given.push((key, given, group)),
                (_, given, _) => self.given.push((name, given, group)),
            }
        }
        if let Some(key) = key {
            self.fault.get_or_insert_with(|| Fault::CutInValue(key.trim().to_owned()));
        }
    }

    /// Takes the parameters of later containers out if they do not belong to the tool, and says so.
    fn split_second_container(&mut self) -> bool {
        let Some(tool) = self.tool.filter(|_| self.groups > 1) else { return false };
        let belongs = |name: &str| tool.parameter(name).is_some();
        let foreign = self.given.iter().any(|(name, _, group)| *group > 1 && !belongs(name));
        let own_first = self.given.iter().any(|(_, _, group)| *group == 1);
        if !foreign || !own_first {
            return false;
        }
        self.given.retain(|(_, _, group)| *group <= 1);
        true
    }

    fn call(mut self, name: String, ending: Ending, span: Span) -> Outcome {
        let mut arguments = Map::with_capacity(self.given.len());
        for (written, given, _) in std::mem::take(&mut self.given) {
            let written = written.trim_matches(is_blank);
            let known = self.tool.and_then(|tool| tool.parameter(written));
            if known.is_some_and(|(_, exact)| !exact) {
                self.repair(Repair::ParameterMapped);
            }
            let key = known.map_or(written, |(parameter, _)| &parameter.name);
            let takes_text = known.is_none_or(|(parameter, _)| parameter.takes_text);
            let value = match given {
                Given::Text(text) | Given::Json(Literal::String(text)) if takes_text => {
                    Value::String(text.into_owned())
                }
                Given::Text(text) => self.typed(key, Literal::String(text)),
                Given::Json(literal) => self.typed(key, literal),
            };
            match arguments.entry(key) {
                Entry::Vacant(entry) => {
                    entry.insert(value);
                }
                Entry::Occupied(entry) if canonical::same(entry.get(), &value) => {
                    self.repair(Repair::DuplicateDropped);
                }
                Entry::Occupied(entry) => {
                    let reason =
                        format!("the parameter {:?} is given twice with different values", entry.key());
                    let hint = "Give each parameter once; for two calls write two separate calls.".to_owned();
                    return Err(MalformedCall { name: Some(name), reason, hint, span });
                }
            }
        }
        self.check_complete(&name, &arguments, ending, span)?;
        Ok(ParsedCall {
            id: self.id,
            name,
            arguments,
            repairs: self.repairs,
            span,
            is_open_end: self.is_open_end,
        })
    }

    /// A value as the schema types it.
    fn typed(&self, key: &str, literal: Literal<'_>) -> Value {
        let view = self.tool.and_then(|tool| tool.declared.schema.view().property(key));
        let value = literal.into_value(view);
        match view {
            Some(view) => coerce_value(view, value),
            None => value,
        }
    }

    /// Refuses a call that is not known to be whole.
    fn check_complete(
        &mut self,
        name: &str,
        arguments: &Map<String, Value>,
        ending: Ending,
        span: Span,
    ) -> Result<(), MalformedCall> {
        let missing =
            self.tool.and_then(|tool| tool.required.iter().find(|key| !arguments.contains_key(*key)));
        let refuse = |reason: String, hint: &str| {
            Err(MalformedCall { name: Some(name.to_owned()), reason, hint: hint.to_owned(), span })
        };
        if let Some(stray) = self.stray {
            let shown: String = stray.chars().take(60).collect();
            if missing.is_some() || stray.contains("]]>") || self.stray_begins_json() {
                return refuse(
                    format!("the text {shown:?} stands where only parameters may stand"),
                    "Write each parameter as <name><![CDATA[value]]></name> inside <params>.",
                );
            }
            self.repair(Repair::StrayTextDropped);
        }
        if ending == Ending::Unclosed {
            let hint = "Write the whole call again and close every element.";
            if let Some(missing) = missing {
                return refuse(
                    format!("the call is not closed and the parameter {missing:?} is missing"),
                    hint,
                );
            }
            if self.tool.is_none() && self.container_open {
                return refuse("the call is not closed, so that it may be incomplete".to_owned(), hint);
            }
            self.repair(Repair::CallClosed);
        }
        Ok(())
    }
}

fn second_container(span: Span) -> MalformedCall {
    MalformedCall {
        name: None,
        reason: "a second <params> block holds parameters that the named tool does not have".to_owned(),
        hint: "Write a separate call, with its own <name>, for the other tool.".to_owned(),
        span,
    }
}

fn malformed(name: Option<String>, fault: &Fault, span: Span) -> MalformedCall {
    let whole = "Write the whole call again and close every element.";
    let form = "Write <name>tool</name> and then <params> with one element for each parameter.";
    let (reason, hint) = match fault {
        Fault::CutInValue(parameter) => {
            (format!("the value of {parameter:?} has no end, so that it may be incomplete"), whole)
        }
        Fault::CutInTag => ("the text ends inside a tag".to_owned(), whole),
        Fault::CutInName => ("the text ends inside the tool's name".to_owned(), whole),
        Fault::CutInJson => ("the text ends inside the JSON of the call".to_owned(), whole),
        Fault::CutInCall => ("the text ends inside the call".to_owned(), whole),
        Fault::UnreadableCall(place) => (
            format!("the call cannot be read; something does not fit at byte {place} of it"),
            "Write the call again in its plain form, with the quotes inside of texts escaped.",
        ),
        Fault::AmbiguousEnd(parameter) => (
            format!("several places could be the end of the value of {parameter:?}"),
            "Wrap every value in <![CDATA[...]]>.",
        ),
        Fault::TooManyParameters => {
            (format!("the call has more than {MAX_PARAMETERS} parameters"), "Give each parameter once.")
        }
        Fault::EndlessThoughts => (
            "thoughts inside of the call have no end".to_owned(),
            "Close every thought before the call begins.",
        ),
        Fault::BadJson(error) => (
            format!("the JSON of the call cannot be read: {error}"),
            "Write valid JSON, or the parameters as elements.",
        ),
        Fault::TwoNames(other) => (
            format!("a second name, {other:?}, follows before any parameter"),
            "Write one <name> in each call.",
        ),
        Fault::TextInput => (
            "the input is plain text, and it is not clear for which parameter".to_owned(),
            "Give the input as a JSON object of names and values.",
        ),
        Fault::ArgumentsNoObject => (
            "the arguments are not a JSON object".to_owned(),
            "Give the arguments as an object of names and values.",
        ),
        Fault::NoName => ("no tool name can be found in the call".to_owned(), form),
    };
    MalformedCall { name, reason, hint: hint.to_owned(), span }
}
