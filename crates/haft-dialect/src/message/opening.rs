//! What in a message begins calls: a wrapper, a declared name without one, JSON at the start, a fence round it all.
//! Everything else is text, also a tag that is only mentioned.

use super::markerless::begins_like_call;
use super::minimax::SPACE;
use super::quoted::Fence;
use super::shown::is_native;
use super::{Mode, Output, Reader};
use crate::artifact_xml::call::{Block, CallReader, Style, TOOL_SEPARATOR};
use crate::artifact_xml::names::{Names, Wrapper, same_tag};
use crate::artifact_xml::tag::{Tag, TagKind, attributes, skip_filling, tag_at};
use crate::artifact_xml::value::next_bracket;
use crate::call_json;
use crate::draft::{Draft, Ending, Fault, Outcome};
use crate::envelope::{self, Envelope};
use crate::literal::python;
use crate::marks::{is_result_tag, is_think_tag};
use crate::mend::{mend, with_brackets_closed};
use crate::scan::{Reads, Source, is_blank};
use crate::tokens::{Thinking, token_at};
use crate::tools::Tool;
use crate::{Dialect, MalformedCall, ParsedCall, Repair, Span};

/// Longest text in front of the first tag of a wrapper that can be a tool's name, in bytes.
const MAX_NAME_TEXT: usize = 160;

/// Bytes that may be read beyond calls without end, beside four times the text; what comes after is not read.
const MAX_OVERREAD: usize = 1 << 16;

/// Longest text that is given as evidence of a dialect, in bytes.
const MAX_EVIDENCE: usize = 64;

impl<'a, O: Output> Reader<'a, '_, '_, O> {
    pub(crate) fn open_tag(&mut self, tag: &Tag<'a>, at: usize) -> Reads<bool> {
        if is_think_tag(tag.name)
            && tag.kind == TagKind::Open
            && !tag.cut
            && self.names.tools.resolve(tag.name).is_none()
        {
            self.output.think_mark(at, tag.end);
            self.skip(tag.end);
            self.message.mode = Mode::Thinking(Thinking::Tag);
            return Ok(true);
        }
        if let Some(wrapper) = self.names.wrapper(tag.name) {
            return self.wrapper(tag, wrapper, at);
        }
        // Hunyuan writes its answer, calls and all, in an element of its own behind the thoughts.
        if tag.name == "answer" && tag.kind == TagKind::Open && !tag.cut && self.begins_answer() {
            self.message.answer_open = true;
            self.skip(tag.end);
            return Ok(true);
        }
        if tag.cut {
            return Ok(self.cut_element(tag, at));
        }
        if self.output.has_outcomes() && is_result_tag(tag.name) {
            self.message.mode = Mode::Ended;
            return Ok(true);
        }
        let block = if Names::is_name_tag(tag.name) {
            self.named_without_wrapper(tag, at)?
        } else if Names::is_named_element(tag.name) && self.names.tools.resolve(tag.name).is_none() {
            self.named_element(tag, at)?
        } else {
            self.tool_as_tag(tag, at)?
        };
        Ok(match block {
            Some(block) => {
                self.take(block);
                true
            }
            None => false,
        })
    }

    fn begins_answer(&self) -> bool {
        let hunyuan = matches!(self.names.dialect, Dialect::Hunyuan | Dialect::HunyuanV3);
        self.begins_message()
            && (hunyuan || self.names.dialect == Dialect::Auto && self.message.thought)
            && self.names.tools.resolve("answer").is_none()
    }

    pub(crate) fn take(&mut self, block: Block) {
        let shown = block.outcomes.first().map(|outcome| match outcome {
            Ok(call) => call.span,
            Err(malformed) => malformed.span,
        });
        if let Some(span) = shown {
            let form = self.shown_form(block.form, span);
            self.output.shows(form, Span { start: span.start, end: span.end.min(span.start + MAX_EVIDENCE) });
        }
        self.move_to(block.end);
        self.message.after_call = true;
        // Values without end are looked for only so often.
        if self.message.ends.overread > MAX_OVERREAD + 4 * self.source.len() {
            self.message.mode = Mode::Ended;
        }
        for mut outcome in block.outcomes {
            if let Ok(call) = &mut outcome {
                let native = |repair: &Repair| is_native(*repair, block.form, self.names.dialect);
                call.repairs.retain(|repair| !native(repair));
            }
            if !self.output.outcome(outcome) {
                self.message.mode = Mode::Ended;
                return;
            }
        }
    }

    /// Calls in JSON that was read already and needs no wrapper.
    pub(crate) fn bare_calls(&mut self, at: usize, found: call_json::Found<'a>) -> Block {
        let repairs = [Some(Repair::WrapperAdded), found.loose.then_some(Repair::LooseJson)];
        let envelope =
            Envelope::new(self.source, self.names, &mut self.message.ends, at, Dialect::Llama3Json);
        envelope.with_repairs(repairs.into_iter().flatten()).read_found(found)
    }

    pub(crate) fn calls(&mut self, start: usize, style: Style) -> CallReader<'a, '_, '_> {
        CallReader::new(self.source, self.names, &mut self.message.ends, start, style)
    }

    /// An open tag of a wrapper: a call, or only a mention of the tag.
    pub(crate) fn wrapper(&mut self, tag: &Tag<'a>, wrapper: Wrapper, at: usize) -> Reads<bool> {
        if self.in_tilde_fence(at) {
            return Ok(false);
        }
        let begins_line = self.source.begins_line(at) || self.message.after_call;
        if tag.cut {
            return Ok(false);
        }
        let next = skip_filling(self.source, tag.end)?;
        // The mark of MiniMax M3 is missing before its wrapper alone.
        if self.source.byte(next) == Some(b']')
            && self.source.has_word(next, SPACE)?
            && let Some(block) = self.minimax_block(tag, at)?
        {
            self.take(block);
            return Ok(true);
        }
        let carries_name = tag.equals.is_some() || !tag.attributes.is_empty();
        if self.source.ends_at(next)? {
            if !begins_line && !carries_name {
                return Ok(false);
            }
        } else {
            let begins_call = match self.source.byte(next) {
                Some(b'{' | b'[') => true,
                Some(b'`') => self.source.has_word(next, "```")?,
                Some(b'<' | 0xEF) => match tag_at(self.source, next)? {
                    Some(inner) if inner.kind == TagKind::Close => begins_line,
                    Some(inner) => {
                        if wrapper == Wrapper::Plural
                            && self.names.wrapper(inner.name) == Some(Wrapper::Single)
                        {
                            // A list round single calls: the mark is dropped, its end too.
                            self.skip(next);
                            self.message.after_call = true;
                            return Ok(true);
                        }
                        true
                    }
                    None => begins_line,
                },
                Some(_) => {
                    self.begins_with_name(next)?
                        || begins_line
                            && (envelope::begins(self.source, self.names, next)?
                                || envelope::ends_in_name(self.source, next)?)
                        || self.begins_python(next)?
                }
                None => false,
            };
            if !begins_call && !carries_name && !self.encloses(tag.end, begins_line)? {
                return Ok(false);
            }
        }
        let block = self.calls(at, Style::Wrapped).read_wrapped(tag)?;
        self.take(block);
        Ok(true)
    }

    /// Whether the body of a wrapper is a call of a declared tool in Python, with named arguments.
    fn begins_python(&self, at: usize) -> Reads<bool> {
        Ok(python::begins_declared(self.source, at, &self.names.tools)?
            && python::begins_keyword(self.source, at)?)
    }

    /// Whether the body of a wrapper begins with a declared name as plain text, and the parameters or the end behind it.
    fn begins_with_name(&self, at: usize) -> Reads<bool> {
        let source = self.source;
        let window = source.bytes().get(at..source.len().min(at + MAX_NAME_TEXT)).unwrap_or_default();
        let Some(found) = window.iter().position(|byte| *byte == b'<').map(|offset| at + offset) else {
            if window.len() < MAX_NAME_TEXT {
                source.ends_at(source.len())?;
            }
            return Ok(false);
        };
        let Some((tool, _)) = self.names.tools.resolve(source.slice(at, found).trim_matches(is_blank)) else {
            return Ok(false);
        };
        let next = skip_filling(source, found)?;
        let Some(tag) = tag_at(source, next)? else { return Ok(false) };
        Ok(match tag.kind {
            _ if tag.cut => true,
            TagKind::Close => {
                Names::is_name_tag(tag.name)
                    || self.names.wrapper(tag.name).is_some() && tool.required.is_empty()
            }
            TagKind::Open | TagKind::Empty => {
                self.begins_parameters(&tag, tool) || matches!(tag.name, TOOL_SEPARATOR | "arg_key")
            }
        })
    }

    /// Whether a tag is the container of a tool's parameters, or one of them.
    fn begins_parameters(&self, tag: &Tag<'_>, tool: &Tool) -> bool {
        self.names.is_container(tag.name, Some(tool))
            || Names::is_own_container(tag.name)
            || tool.parameter(tag.name).is_some()
            || self.names.carries_parameter(tag, Some(tool))
    }

    /// Whether a wrapper whose body begins with text is closed before another one opens. In the middle of a line it is a
    /// mention, whatever follows.
    pub(crate) fn encloses(&self, from: usize, begins_line: bool) -> Reads<bool> {
        if !begins_line {
            return Ok(false);
        }
        let mut at = from;
        while let Some(found) = next_bracket(self.source, at) {
            if let Some(tag) = tag_at(self.source, found)?
                && self.names.wrapper(tag.name).is_some()
            {
                return Ok(tag.kind == TagKind::Close && !tag.cut);
            }
            at = found + self.source.char_at(found).map_or(1, char::len_utf8);
        }
        self.source.ends_at(self.source.len())?;
        Ok(false)
    }

    /// `<name>declared</name>` with parameters behind it, and no wrapper.
    pub(crate) fn named_without_wrapper(&mut self, tag: &Tag<'a>, at: usize) -> Reads<Option<Block>> {
        let source = self.source;
        let (name, after) = match tag.equals {
            Some(name) => (name, tag.end),
            None if tag.kind == TagKind::Open => {
                let Some(end) = next_bracket(source, tag.end) else {
                    source.ends_at(source.len())?;
                    return Ok(None);
                };
                (source.slice(tag.end, end), end)
            }
            None => return Ok(None),
        };
        let Some((tool, _)) = self.names.tools.resolve(name.trim_matches(is_blank)) else { return Ok(None) };
        let mut next = skip_filling(source, after)?;
        if source.ends_at(next)? {
            return Ok(None);
        }
        if let Some(closer) = tag_at(source, next)?.filter(|closer| closer.kind == TagKind::Close) {
            next = skip_filling(source, closer.end)?;
            if source.ends_at(next)? {
                return Ok(None);
            }
        }
        let Some(follower) = tag_at(source, next)?.filter(|tag| tag.kind != TagKind::Close) else {
            return Ok(None);
        };
        if !self.begins_parameters(&follower, tool) {
            return Ok(None);
        }
        if self.in_tilde_fence(at) {
            return Ok(None);
        }
        self.calls(at, Style::Bare).read_from(at).map(Some)
    }

    /// `<declared>` with a container or its parameters inside, and no wrapper.
    pub(crate) fn tool_as_tag(&mut self, tag: &Tag<'a>, at: usize) -> Reads<Option<Block>> {
        let source = self.source;
        let Some((tool, _)) = self.names.tools.resolve(tag.name) else { return Ok(None) };
        if tag.equals.is_some() || self.in_tilde_fence(at) {
            return Ok(None);
        }
        let alone = self.source.begins_line(at) && tool.required.is_empty();
        if tag.kind == TagKind::Empty {
            let given = |key: &String| attributes(tag.attributes).any(|(given, _)| given == key.as_str());
            let whole = source.begins_line(at) && tool.required.iter().all(given);
            if !whole || !self.ends_line(tag.end)? {
                return Ok(None);
            }
            return self.calls(at, Style::Bare).read_from(at).map(Some);
        }
        let next = skip_filling(source, tag.end)?;
        if source.ends_at(next)? {
            return Ok(None);
        }
        if source.byte(next) == Some(b'{')
            && source.begins_line(at)
            && self.holds_arguments(next, tag.name)?
        {
            return self.calls(at, Style::Bare).read_from(at).map(Some);
        }
        let Some(follower) = tag_at(source, next)? else { return Ok(None) };
        let fits = match follower.kind {
            TagKind::Close => alone && same_tag(follower.name, tag.name),
            TagKind::Open | TagKind::Empty => self.begins_parameters(&follower, tool),
        };
        if !fits {
            return Ok(None);
        }
        self.calls(at, Style::Bare).read_from(at).map(Some)
    }

    /// Whether nothing but a JSON object stands between here and the close tag of this name.
    fn holds_arguments(&self, at: usize, name: &str) -> Reads<bool> {
        let Ok(found) = call_json::value_at(self.source, at)? else { return Ok(false) };
        let end = self.source.skip_blanks(found.end);
        if self.source.ends_at(end)? {
            return Ok(false);
        }
        let closer = tag_at(self.source, end)?;
        Ok(closer.is_some_and(|tag| tag.kind == TagKind::Close && !tag.cut && same_tag(tag.name, name)))
    }

    /// `<tool name="declared">`, `<invoke name="declared">` or `<function=declared>` with a container, parameters or JSON
    /// inside, and no wrapper.
    pub(crate) fn named_element(&mut self, tag: &Tag<'a>, at: usize) -> Reads<Option<Block>> {
        let source = self.source;
        let Some(name) = tag.carried_name() else { return Ok(None) };
        let tool = self.names.tools.resolve(&name);
        if tag.kind == TagKind::Empty || self.in_tilde_fence(at) {
            return Ok(None);
        }
        let next = skip_filling(source, tag.end)?;
        if source.ends_at(next)? {
            if tool.is_none() || !source.begins_line(at) && !self.message.after_call {
                return Ok(None);
            }
            // Arguments in JSON must be there; tags may be missing where nothing is required.
            let takes_json = matches!(self.names.dialect, Dialect::FunctionaryV31 | Dialect::Auto);
            if tag.equals.is_some() && takes_json {
                return Ok(Some(self.cut_call(&name, at)));
            }
            return self.calls(at, Style::Bare).read_from(at).map(Some);
        }
        let inner = tag_at(source, next)?;
        let begins_json = match source.byte(next) {
            Some(b'{') => true,
            Some(b'"') => call_json::encoded_at(source, next)?.is_some(),
            Some(b'`') => tool.is_some() && tag.equals.is_some() && source.has_word(next, "```")?,
            _ => false,
        };
        let Some((tool, _)) = tool else {
            // The whole form of a dialect that has no wrapper.
            let own = match (self.names.dialect, inner) {
                (Dialect::FunctionaryV31, None) => tag.equals.is_some() && begins_json,
                (Dialect::Minicpm5, Some(inner)) => {
                    Names::is_parameter_element(inner.name) && inner.attribute("name").is_some()
                }
                _ => false,
            };
            return if own { self.calls(at, Style::Bare).read_from(at).map(Some) } else { Ok(None) };
        };
        let fits = match inner {
            Some(inner) if inner.kind == TagKind::Close => {
                tool.required.is_empty()
                    && same_tag(inner.name, tag.name)
                    && (!self.is_mention(at) || self.ends_line(inner.end)?)
            }
            Some(inner) => self.begins_parameters(&inner, tool),
            None => begins_json,
        };
        if !fits {
            return Ok(None);
        }
        self.calls(at, Style::Bare).read_from(at).map(Some)
    }

    /// An element on a line of its own at the end of the text, which ends inside of a declared name.
    fn cut_element(&mut self, tag: &Tag<'a>, at: usize) -> bool {
        let begins_line = self.source.begins_line(at) || self.message.after_call;
        let name = tag.equals.filter(|name| !name.is_empty() && Names::is_named_element(tag.name));
        let Some(name) = name.filter(|name| begins_line && self.names.tools.any_begins(name)) else {
            return false;
        };
        let block = self.cut_call(name, at);
        self.take(block);
        true
    }

    /// A call that the end of the text cuts off before its arguments begin.
    fn cut_call(&self, name: &str, at: usize) -> Block {
        let end = self.source.len();
        let mut draft = Draft::new(at);
        draft.set_name(name.to_owned().into(), self.names);
        draft.fault = Some(Fault::CutInCall);
        let mut outcomes = Vec::new();
        draft.finish(Ending::Unclosed, end, self.names, &mut outcomes);
        Block { end, outcomes, form: Dialect::ArtifactXml }
    }

    /// A fence that is the whole message and holds nothing but calls.
    pub(crate) fn fence_as_call(&mut self, at: usize) -> Reads<bool> {
        let source = self.source;
        let Some(mark) = source.byte(at) else { return Ok(false) };
        let length = self.run_length(at, mark)?;
        if length < 3 {
            return Ok(false);
        }
        let rest = source.rest(at + length);
        let Some(line) = rest.find('\n') else {
            source.ends_at(source.len())?;
            return Ok(false);
        };
        let fence = Fence { mark, length, start: at };
        let mut next = skip_filling(source, at + length + line)?;
        let mut outcomes: Vec<Outcome> = Vec::new();
        let mut form = None;
        let mut closed = false;
        loop {
            if source.ends_at(next)? {
                break;
            }
            if let Some(end) = self.fence_end(next, fence)? {
                if !self.only_ends_follow(end)? {
                    return Ok(false);
                }
                next = end;
                closed = true;
                break;
            }
            let Some(block) = self.block_in_fence(next, &outcomes)? else { return Ok(false) };
            if block.outcomes.iter().any(Result::is_err) {
                return Ok(false);
            }
            next = skip_filling(source, block.end)?;
            form = form.or(Some(block.form).filter(|form| *form != Dialect::Llama3Json));
            outcomes.extend(block.outcomes);
        }
        // What is cut off twice, fence and call, may go on to be quoted.
        let cut = |call: &ParsedCall| !closed && call.repairs.contains(&Repair::CallClosed);
        if outcomes.is_empty() || outcomes.iter().flatten().any(cut) {
            return Ok(false);
        }
        for call in outcomes.iter_mut().flatten() {
            if !call.repairs.contains(&Repair::FenceRemoved) {
                call.repairs.push(Repair::FenceRemoved);
            }
        }
        self.take(Block { end: next, outcomes, form: form.unwrap_or(Dialect::JsonFence) });
        Ok(true)
    }

    /// The next call inside of a fence.
    pub(crate) fn block_in_fence(&mut self, at: usize, before: &[Outcome]) -> Reads<Option<Block>> {
        let source = self.source;
        if source.byte(at) == Some(b'[') && self.python_in_fence(at)? {
            let block = self.literal_block(at)?;
            let declared =
                block.outcomes.iter().flatten().all(|call| self.names.tools.resolve(&call.name).is_some());
            return Ok(declared.then_some(block));
        }
        if source.byte(at) == Some(b']') && source.has_word(at, SPACE)? {
            source.ends_at(at + SPACE.len())?;
            let Some(tag) = tag_at(source, at + SPACE.len())?.filter(|tag| tag.kind == TagKind::Open) else {
                return Ok(None);
            };
            return self.minimax_block(&tag, at);
        }
        if source.has_word(at, "functools")? {
            return self.functools(at);
        }
        let is_token = token_at(source, at)?.is_some();
        if !is_token && matches!(source.byte(at), Some(b'{' | b'[')) {
            let Ok(found) = call_json::value_at(source, at)? else { return Ok(None) };
            if !call_json::declared(&found.literal, &self.names.tools) {
                return Ok(None);
            }
            return Ok(Some(self.bare_calls(at, found)));
        }
        if let Some(token) = token_at(source, at)? {
            return self.token_in_fence(token, at, !before.is_empty());
        }
        let Some(tag) = tag_at(source, at)? else { return Ok(None) };
        let ours = self.names.wrapper(tag.name).is_some();
        match tag.kind {
            TagKind::Close if ours && !before.is_empty() => {
                Ok(Some(Block { end: tag.end, outcomes: Vec::new(), form: Dialect::ArtifactXml }))
            }
            TagKind::Close => Ok(None),
            TagKind::Open | TagKind::Empty if tag.cut => Ok(None),
            TagKind::Open | TagKind::Empty if ours => {
                if self.names.wrapper(tag.name) == Some(Wrapper::Plural) {
                    let next = skip_filling(source, tag.end)?;
                    let inner = if source.ends_at(next)? { None } else { tag_at(source, next)? };
                    if inner.is_some_and(|inner| self.names.wrapper(inner.name) == Some(Wrapper::Single)) {
                        return Ok(Some(Block {
                            end: tag.end,
                            outcomes: Vec::new(),
                            form: Dialect::ArtifactXml,
                        }));
                    }
                }
                self.calls(at, Style::Wrapped).read_wrapped(&tag).map(Some)
            }
            TagKind::Open | TagKind::Empty if Names::is_name_tag(tag.name) => {
                self.named_without_wrapper(&tag, at)
            }
            TagKind::Open | TagKind::Empty
                if Names::is_named_element(tag.name) && self.names.tools.resolve(tag.name).is_none() =>
            {
                self.named_element(&tag, at)
            }
            TagKind::Open | TagKind::Empty => self.tool_as_tag(&tag, at),
        }
    }

    /// Calls in JSON that begin the message, without any marker.
    pub(crate) fn bare_json(&mut self, at: usize) -> Reads<bool> {
        // What a message in channels says to the user is no call.
        if self.message.in_channels {
            return Ok(false);
        }
        let found = match call_json::value_at(self.source, at)? {
            Ok(found) => found,
            Err(error) if error.is_cut() => return Ok(self.cut_json(at)),
            Err(_) => return self.broken_json(at),
        };
        if !call_json::declared(&found.literal, &self.names.tools) {
            self.pass(at + 1);
            return Ok(true);
        }
        let block = self.bare_calls(at, found);
        self.take(block);
        Ok(true)
    }

    /// JSON that cannot be read and is the whole message: what is read of it in an envelope, if it names nothing but declared tools.
    fn broken_json(&mut self, at: usize) -> Reads<bool> {
        if !begins_like_call(self.source, at)? {
            return Ok(false);
        }
        self.source.ends_at(self.source.len())?;
        let envelope =
            Envelope::new(self.source, self.names, &mut self.message.ends, at, Dialect::Llama3Json);
        let block = envelope.with_repairs([Repair::WrapperAdded]).read(at)?;
        if !self.names_declared(&block.outcomes) || !self.only_ends_follow(block.end)? {
            return Ok(false);
        }
        self.take(block);
        Ok(true)
    }

    /// Closing brackets right behind the one that ended a call.
    pub(crate) fn spare_brackets(&mut self) -> bool {
        let at = self.message.at;
        let end = behind_brackets(self.source, at);
        let spare = end > at && self.source.slice_back(at, 1).ends_with(['}', ']']);
        if spare {
            self.skip(end);
        }
        spare
    }

    /// Another JSON call right behind one.
    pub(crate) fn json_goes_on(&mut self) -> Reads<bool> {
        let source = self.source;
        let mut first = source.skip_blanks(self.message.at);
        source.ends_at(first)?;
        if matches!(source.byte(first), Some(b',' | b';')) {
            first = source.skip_blanks(first + 1);
            source.ends_at(first)?;
        }
        if !matches!(source.byte(first), Some(b'{' | b'[')) {
            return Ok(false);
        }
        if source.byte(first) == Some(b'[') && self.literal_calls(first)? {
            return Ok(true);
        }
        match call_json::value_at(source, first)? {
            Ok(found) if call_json::declared(&found.literal, &self.names.tools) => {
                let block = self.bare_calls(first, found);
                self.take(block);
                Ok(true)
            }
            Err(error) if error.is_cut() && self.cut_json(first) => Ok(true),
            Err(error) if !error.is_cut() && self.broken_json(first)? => Ok(true),
            Ok(_) | Err(_) => {
                self.message.after_call = false;
                Ok(false)
            }
        }
    }

    /// A list of JSON calls that was cut off behind its first entry; every call of it that can be read is declared.
    fn cut_list(&mut self, at: usize) -> Option<Block> {
        let envelope =
            Envelope::new(self.source, self.names, &mut self.message.ends, at, Dialect::Llama3Json);
        let block = envelope.with_repairs([Repair::WrapperAdded]).read(at).ok()?;
        let mut read = block.outcomes.iter().flatten().peekable();
        let declared =
            read.peek().is_some() && read.all(|call| self.names.tools.resolve(&call.name).is_some());
        (declared && block.outcomes.len() > 1).then_some(block)
    }

    /// A JSON call that begins the message and was cut off: reported, if it names a declared tool.
    pub(crate) fn cut_json(&mut self, at: usize) -> bool {
        let text = self.source.rest(at);
        if let Some(mended) =
            mend(text, false).filter(|mended| call_json::declared(&mended.literal, &self.names.tools))
        {
            let end = self.source.len();
            let envelope =
                Envelope::new(self.source, self.names, &mut self.message.ends, at, Dialect::Llama3Json);
            let block =
                envelope.with_repairs([Repair::WrapperAdded]).read_mended(mended, end, Ending::Unclosed);
            self.take(block);
            return true;
        }
        if text.starts_with('[')
            && let Some(block) = self.cut_list(at)
        {
            self.take(block);
            return true;
        }
        // The rest of a key that was begun.
        let begun = text.rsplit('"').next().unwrap_or_default();
        let key = call_json::ARGUMENT_KEYS.iter().find_map(|key| key.strip_prefix(begun));
        let key = format!("{}\":null", key.unwrap_or_default());
        let closed = [&key, "", "\"", "null", "\":null", ":null"].iter().find_map(|tail| {
            let closed = with_brackets_closed(&format!("{text}{tail}"), true)?;
            call_json::value_at(Source::new(&closed, true), 0)
                .ok()?
                .ok()
                .map(|found| found.literal.into_owned())
        });
        let Some(literal) = closed.filter(|literal| call_json::declared(literal, &self.names.tools)) else {
            return false;
        };
        let name = call_json::calls(literal, &self.names.tools)
            .into_iter()
            .find_map(Result::ok)
            .map(|call| call.name.into_owned());
        let end = self.source.len();
        self.take(Block {
            end,
            outcomes: vec![Err(MalformedCall {
                name,
                reason: "the text ends inside the JSON of the call".to_owned(),
                hint: "Write the whole call again and close every element.".to_owned(),
                span: Span { start: at, end },
            })],
            form: Dialect::Llama3Json,
        });
        true
    }
}

/// The offset behind the closing brackets that stand here.
pub(super) fn behind_brackets(source: Source<'_>, at: usize) -> usize {
    let rest = source.rest(at);
    at + (rest.len() - rest.trim_start_matches(['}', ']']).len())
}
