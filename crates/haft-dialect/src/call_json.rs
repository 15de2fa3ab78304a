//! Calls written as JSON objects, the form that most dialects share: `{"name": …, "arguments": {…}}`.
//! It must not decide where such a text may stand; that is a dialect's business.

use std::borrow::Cow;

use haft_schema::json::{self, Literal, ReadError, Syntax};

use crate::mend;
use crate::scan::{NeedMore, Reads, Source};
use crate::tools::{Tool, ToolSet};

const NAME_KEYS: [&str; 4] = ["name", "tool", "tool_name", "function"];
/// Keys that hold the arguments of a call.
pub(crate) const ARGUMENT_KEYS: [&str; 4] = ["arguments", "parameters", "args", "tool_input"];
const ID_KEYS: [&str; 3] = ["id", "tool_call_id", "call_id"];
/// Keys that hold one call.
const SINGLE_KEYS: [&str; 2] = ["tool_call", "function_call"];
const LIST_KEYS: [&str; 2] = ["tool_calls", "calls"];

/// A JSON value in a text, and how it was read.
#[derive(Debug)]
pub(crate) struct Found<'a> {
    pub(crate) literal: Literal<'a>,
    pub(crate) end: usize,
    pub(crate) loose: bool,
}

/// The entries of an object.
type Entries<'a> = Vec<(Cow<'a, str>, Literal<'a>)>;

/// One call as JSON says it.
#[derive(Debug)]
pub(crate) struct JsonCall<'a> {
    pub(crate) id: Option<String>,
    pub(crate) name: Cow<'a, str>,
    pub(crate) arguments: Vec<(Cow<'a, str>, Literal<'a>)>,
}

/// Why an object that should be a call is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoCall {
    NoName,
    ArgumentsNoObject,
}

/// Reads the JSON value that begins at an offset, strictly, then loosely; `Ok(Err(…))` if it is none.
pub(crate) fn value_at(source: Source<'_>, at: usize) -> Reads<Result<Found<'_>, ReadError>> {
    let text = source.rest(at);
    let mut first: Option<ReadError> = None;
    for syntax in [Syntax::Json, Syntax::Literal] {
        match json::parse_prefix(text, syntax) {
            Ok((literal, length)) => {
                let found = Found { literal, end: at + length, loose: syntax == Syntax::Literal };
                return Ok(Ok(found));
            }
            Err(error) if !source.is_complete() && may_go_on(text, &error) => return Err(NeedMore),
            Err(error) => {
                first.get_or_insert(error);
            }
        }
    }
    Ok(Err(first.unwrap_or(ReadError { position: 0, problem: json::Problem::Cut })))
}

/// Arguments that were encoded once more: a string that begins at an offset and holds an object.
pub(crate) fn encoded_at(source: Source<'_>, at: usize) -> Reads<Option<(Entries<'_>, usize)>> {
    if source.byte(at) != Some(b'"') {
        return Ok(None);
    }
    let Ok(found) = value_at(source, at)? else { return Ok(None) };
    let is_object = matches!(&found.literal, Literal::String(text) if text.trim_start().starts_with('{'));
    Ok(mend::object(found.literal).filter(|_| is_object).map(|entries| (entries, found.end)))
}

/// Whether a text that cannot be read could be if more followed: it ends inside of a value, in a word
/// such as `Tru`, or in a number such as `2e-`.
pub(crate) fn may_go_on(text: &str, error: &ReadError) -> bool {
    let goes_on = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'+' | b'-' | b'_');
    error.is_cut() || text.get(error.position..).is_some_and(|rest| rest.bytes().all(goes_on))
}

/// The calls that a value stands for: one object, a list of them, or an object that holds such a list.
pub(crate) fn calls<'a>(literal: Literal<'a>, tools: &ToolSet) -> Vec<Result<JsonCall<'a>, NoCall>> {
    match literal {
        Literal::Array(items) => items.into_iter().flat_map(|item| calls(item, tools)).collect(),
        Literal::Object(mut entries) => {
            let listed = entries.iter().position(|(key, value)| {
                LIST_KEYS.contains(&&**key) && matches!(value, Literal::Array(_))
                    || SINGLE_KEYS.contains(&&**key)
                        && matches!(value, Literal::Object(_))
                        && entries.len() == 1
            });
            match listed {
                Some(index) => calls(entries.swap_remove(index).1, tools),
                // Several names as keys are as many calls.
                None if entries.len() > 1
                    && entries.iter().all(|(key, value)| is_keyed(key, value, tools)) =>
                {
                    entries.into_iter().map(|entry| call(vec![entry], tools)).collect()
                }
                None => vec![call(entries, tools)],
            }
        }
        // A whole call that was encoded once more.
        Literal::String(text) => match mend::object(Literal::String(text)).map(Literal::Object) {
            Some(inner) if whole_call(&inner).is_some() => calls(inner, tools),
            Some(_) | None => vec![Err(NoCall::NoName)],
        },
        Literal::Null | Literal::Bool(_) | Literal::Number(_) => vec![Err(NoCall::NoName)],
    }
}

/// Whether a value without any marker round it is meant as calls: every one names a declared tool, and has arguments or
/// nothing else. In a list of them an object without a name is an attempt too.
pub(crate) fn declared(literal: &Literal<'_>, tools: &ToolSet) -> bool {
    match literal {
        Literal::Array(items) => {
            let is_nameless = |item: &Literal<'_>| match item {
                Literal::Object(entries) => !entries.iter().any(|(key, value)| name_of(key, value).is_some()),
                _ => false,
            };
            items.iter().any(|item| declared(item, tools))
                && items.iter().all(|item| declared(item, tools) || is_nameless(item))
        }
        Literal::Object(entries) => {
            if let Some((_, list @ Literal::Array(_))) =
                entries.iter().find(|(key, _)| LIST_KEYS.contains(&&**key))
            {
                return declared(list, tools);
            }
            let name = entries.iter().find_map(|(key, value)| name_of(key, value));
            let Some(name) = name else { return false };
            let bare = entries.iter().all(|(key, value)| {
                name_of(key, value).is_some() || ID_KEYS.contains(&&**key) || key == "type"
            });
            let has_arguments = entries.iter().any(|(key, value)| {
                ARGUMENT_KEYS.contains(&&**key) || (key == "function" && matches!(value, Literal::Object(_)))
            });
            (bare || has_arguments)
                && tools.resolve(&name).is_some_and(|(tool, _)| !is_declaration(entries, tool))
        }
        Literal::Null | Literal::Bool(_) | Literal::Number(_) | Literal::String(_) => false,
    }
}

/// The name that an object says itself, if it has arguments too.
pub(crate) fn whole_call<'l>(literal: &'l Literal<'_>) -> Option<Cow<'l, str>> {
    let Literal::Object(entries) = literal else { return None };
    let name = entries.iter().find_map(|(key, value)| name_of(key, value))?;
    let has_arguments = entries.iter().any(|(key, value)| {
        ARGUMENT_KEYS.contains(&&**key) || key == "function" && matches!(value, Literal::Object(_))
    });
    has_arguments.then_some(name)
}

/// Where behind other text a whole call in JSON begins, before an offset; only the first brace is looked at.
pub(crate) fn behind_text(source: Source<'_>, from: usize, to: usize) -> Reads<Option<usize>> {
    let window = source.bytes().get(from..to).unwrap_or_default();
    let Some(brace) = memchr::memchr(b'{', window).map(|offset| from + offset) else { return Ok(None) };
    let key = source.skip_blanks(brace + 1);
    if !source.ends_at(key)? && !matches!(source.byte(key), Some(b'"' | b'\'')) {
        return Ok(None);
    }
    let whole = value_at(source, brace)?.is_ok_and(|found| whole_call(&found.literal).is_some());
    let list = source.slice(from, brace).trim_end();
    let at = if list.ends_with('[') { from + list.len() - 1 } else { brace };
    Ok(whole.then_some(at))
}

/// Whether an object repeats how a tool was declared: its parameters are a schema.
fn is_declaration(entries: &[(Cow<'_, str>, Literal<'_>)], tool: &Tool) -> bool {
    entries.iter().any(|(key, value)| match value {
        Literal::Object(schema) if ARGUMENT_KEYS.contains(&&**key) => {
            let has = |name: &str, fits: fn(&Literal<'_>) -> bool| {
                schema.iter().any(|(key, value)| key == name && fits(value))
            };
            has("type", |value| matches!(value, Literal::String(_)))
                && has("properties", |value| match value {
                    Literal::Object(properties) => {
                        properties.iter().all(|(_, property)| matches!(property, Literal::Object(_)))
                    }
                    _ => false,
                })
                && tool.parameter("properties").is_none()
        }
        _ => false,
    })
}

/// The name in JSON that cannot be read, if it stands there plainly.
pub(crate) fn name_in(text: &str) -> Option<&str> {
    let keys = ["\"name\"", "\"tool_name\"", "\"tool\""];
    let (_, rest) = keys.iter().find_map(|key| text.split_once(key))?;
    let rest = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    rest.split_once('"').map(|(name, _)| name).filter(|name| name.len() <= 128)
}

/// Whether a text begins with a key that gives a call's name.
pub(crate) fn begins_with_name_key(text: &str) -> bool {
    NAME_KEYS.iter().any(|key| text.strip_prefix(key).is_some_and(|rest| rest.starts_with(['"', '\''])))
}

fn name_of<'a>(key: &str, value: &Literal<'a>) -> Option<Cow<'a, str>> {
    if !NAME_KEYS.contains(&key) {
        return None;
    }
    match value {
        // No name looks so; a string that ends too late does.
        Literal::String(name) if name.contains(['"', '{', '\n']) => None,
        Literal::String(name) => Some(name.clone()),
        // `{"function": {"name": …}}`; the name itself is no object.
        Literal::Object(inner) => NAME_KEYS.iter().find_map(|key| {
            inner.iter().find_map(|(written, value)| match value {
                Literal::String(name) if written == key => Some(name.clone()),
                _ => None,
            })
        }),
        _ => None,
    }
}

/// Whether a key is the name of a declared tool, and the value its arguments.
fn is_keyed(key: &str, value: &Literal<'_>, tools: &ToolSet) -> bool {
    tools.resolve(key).is_some()
        && match value {
            Literal::Object(_) => true,
            Literal::String(_) | Literal::Null => !NAME_KEYS.contains(&key),
            Literal::Bool(_) | Literal::Number(_) | Literal::Array(_) => false,
        }
}

/// The arguments that a value stands for: an object, be it encoded once more, or none.
fn arguments<'a>(value: Literal<'a>) -> Result<Vec<(Cow<'a, str>, Literal<'a>)>, NoCall> {
    match value {
        Literal::Null => Ok(Vec::new()),
        value => mend::object(value).ok_or(NoCall::ArgumentsNoObject),
    }
}

/// Arguments out of a second container of the same kind, if the tool has no such parameter.
fn unwrapped<'a>(entries: Entries<'a>, tool: Option<&Tool>) -> Entries<'a> {
    match entries.as_slice() {
        [(key, Literal::Object(_))]
            if ARGUMENT_KEYS.contains(&&**key) && tool.is_some_and(|tool| tool.parameter(key).is_none()) =>
        {
            entries.into_iter().next().and_then(|(_, value)| mend::object(value)).unwrap_or_default()
        }
        _ => entries,
    }
}

fn call<'a>(entries: Vec<(Cow<'a, str>, Literal<'a>)>, tools: &ToolSet) -> Result<JsonCall<'a>, NoCall> {
    // `{"declared": {…}}`: the name is the only key.
    if let [(key, value)] = entries.as_slice()
        && (is_keyed(key, value, tools)
            || matches!(value, Literal::Object(_))
                && !NAME_KEYS.contains(&&**key)
                && !ARGUMENT_KEYS.contains(&&**key)
                && !key.is_empty())
    {
        let (name, value) = entries.into_iter().next().ok_or(NoCall::NoName)?;
        return Ok(JsonCall { id: None, name, arguments: arguments(value)? });
    }
    let name = entries.iter().find_map(|(key, value)| name_of(key, value)).ok_or(NoCall::NoName)?;
    let mut found = JsonCall { id: None, name, arguments: Vec::new() };
    // Two names for two tools are two readings.
    let mut said = entries
        .iter()
        .filter_map(|(key, value)| name_of(key, value))
        .filter_map(|name| tools.resolve(&name).map(|(tool, _)| &tool.declared.name));
    let first = said.next();
    if said.any(|name| Some(name) != first) {
        return Err(NoCall::NoName);
    }
    let mut given: Option<Literal<'a>> = None;
    let mut again = Vec::new();
    let mut rest = Vec::new();
    for (key, value) in entries {
        match value {
            Literal::String(id) if ID_KEYS.contains(&&*key) => found.id = Some(id.into_owned()),
            Literal::Object(inner) if key == "function" => {
                given = given.or_else(|| {
                    inner.into_iter().find(|(key, _)| ARGUMENT_KEYS.contains(&&**key)).map(|(_, value)| value)
                });
            }
            value if ARGUMENT_KEYS.contains(&&*key) && given.is_none() => given = Some(value),
            // Arguments under a second key: equal ones count once, different ones are refused.
            value if ARGUMENT_KEYS.contains(&&*key) => again.extend(mend::object(value).unwrap_or_default()),
            value if NAME_KEYS.contains(&&*key) || key == "type" => drop(value),
            value => rest.push((key, value)),
        }
    }
    found.arguments = match given {
        // The parameters stand beside the name.
        None => {
            let tool = tools.resolve(&found.name).map(|(tool, _)| tool);
            let all_known =
                tool.is_some_and(|tool| rest.iter().all(|(key, _)| tool.parameter(key).is_some()));
            if all_known { rest } else { Vec::new() }
        }
        Some(value) => {
            let tool = tools.resolve(&found.name).map(|(tool, _)| tool);
            unwrapped(arguments(value)?, tool)
        }
    };
    found.arguments.append(&mut again);
    Ok(found)
}

/// A call whose name stands before its arguments. The arguments may repeat the name, be wrapped in a key of their own, or, where the name is
/// only an id (`call_…`), hold the name.
pub(crate) fn named<'a>(
    written: &'a str,
    mut entries: Vec<(Cow<'a, str>, Literal<'a>)>,
    tools: &ToolSet,
) -> JsonCall<'a> {
    let (name, id) = name_and_id(written, tools);
    let name = name.map(|name| bare_name(name, tools));
    let tool = name.and_then(|name| tools.resolve(name)).map(|(tool, _)| tool);
    // Name and arguments alone, and the name again: the whole call, whatever the tool's parameters are called.
    let is_whole = name.is_some_and(|name| repeats(&entries, name, tools));
    let free = |key: &str| is_whole || tool.is_none_or(|tool| tool.parameter(key).is_none());
    let mut call = JsonCall {
        id: id.map(str::to_owned),
        name: Cow::Borrowed(name.unwrap_or_default()),
        arguments: Vec::new(),
    };
    if name.is_none()
        && let Some(index) = entries.iter().position(|(key, value)| name_of(key, value).is_some())
    {
        let (key, value) = entries.remove(index);
        call.name = name_of(&key, &value).unwrap_or_default();
    }
    let wraps = |(key, value): &(Cow<'a, str>, Literal<'a>)| {
        ARGUMENT_KEYS.contains(&&**key)
            && free(key)
            && matches!(value, Literal::Object(_) | Literal::String(_))
    };
    let says_nothing = |(key, value): &(Cow<'a, str>, Literal<'a>)| {
        free(key)
            && (ID_KEYS.contains(&&**key)
                || key == "type"
                || name_of(key, value).is_some_and(|inner| same_name(&inner, &call.name, tools)))
    };
    let wrapped = entries.iter().filter(|entry| wraps(entry)).count() == 1
        && entries.iter().all(|entry| wraps(entry) || says_nothing(entry));
    if wrapped && let Some(index) = entries.iter().position(wraps) {
        let (key, value) = entries.swap_remove(index);
        match mend::object(value.clone()) {
            Some(inner) => entries = inner,
            None => entries = vec![(key, value)],
        }
    }
    // The name once more, and no arguments.
    let repeats_name = |(key, value): &(Cow<'a, str>, Literal<'a>)| name_of(key, value).is_some();
    if entries.iter().any(repeats_name) && entries.iter().all(says_nothing) {
        entries.clear();
    }
    call.arguments = entries;
    call
}

/// Whether an object holds a call's own name, its arguments as an object, and nothing else.
fn repeats(entries: &[(Cow<'_, str>, Literal<'_>)], name: &str, tools: &ToolSet) -> bool {
    let [(first, said), (second, given)] = entries else { return false };
    let (said, second, given) = if NAME_KEYS.contains(&&**first) {
        ((first, said), second, given)
    } else {
        ((second, given), first, said)
    };
    ARGUMENT_KEYS.contains(&&**second)
        && matches!(given, Literal::Object(_))
        && name_of(said.0, said.1).is_some_and(|inner| same_name(&inner, name, tools))
}

/// The name and the id in the head of a call: `functions.N:0`, `N:0`, `N`; an id alone is no name, unless a tool is called so.
pub(crate) fn name_and_id<'a>(written: &'a str, tools: &ToolSet) -> (Option<&'a str>, Option<&'a str>) {
    let (name, id) = match written.rsplit_once(':') {
        Some((name, index)) if !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit()) => {
            (name, Some(written))
        }
        _ => (written, None),
    };
    let is_id = written.starts_with("call_") || written.starts_with("chatcmpl-tool-");
    if is_id && !tools.declares(name) { (None, Some(written)) } else { (Some(name), id) }
}

/// The declared name in an id of Kimi K2 whose marks are missing or others: `functions_N_0`, `functions.N0`, `N_0`. The index and the prefix
/// may also belong to a name; only one tool can be meant.
pub(crate) fn drifted<'a>(written: &'a str, tools: &ToolSet) -> Option<&'a str> {
    if tools.resolve(bare_name(name_and_id(written, tools).0?, tools)).is_some() {
        return None;
    }
    let separators = ['_', '-', '.'];
    // With `:0` behind it the name ends there; without, its last digits may be the index.
    let (name, without_index) = match name_and_id(written, tools) {
        (Some(name), Some(_)) => (name, name),
        _ => match written.trim_end_matches(|character: char| character.is_ascii_digit()) {
            name if name.len() < written.len() => (written, name.trim_end_matches(separators)),
            _ => (written, written),
        },
    };
    let bare = |name: &'a str| {
        name.strip_prefix("functions").map_or(name, |rest| rest.trim_start_matches(separators))
    };
    let mut meant = None;
    for candidate in [bare(name), without_index, bare(without_index)] {
        match (tools.resolve(candidate), meant) {
            (None, _) => {}
            (Some(_), None) => meant = Some(candidate),
            (Some(_), Some(before)) if same_name(before, candidate, tools) => {}
            (Some(_), Some(_)) => return None,
        }
    }
    meant
}

/// The name without the prefix that some dialects write before every name.
pub(crate) fn bare_name<'a>(name: &'a str, tools: &ToolSet) -> &'a str {
    let exact = tools.resolve(name).is_some_and(|(_, exact)| exact);
    name.strip_prefix("functions.").filter(|_| !exact).unwrap_or(name)
}

/// Whether two names mean the same tool.
pub(crate) fn same_name(left: &str, right: &str, tools: &ToolSet) -> bool {
    let tool = |name| tools.resolve(name).map(|(tool, _)| &tool.declared.name);
    left == right || tool(left).is_some() && tool(left) == tool(right)
}
