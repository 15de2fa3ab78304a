//! Calls written as JSON objects, the form that most dialects share: `{"name": …, "arguments": {…}}`.
//! It must not decide where such a text may stand; that is a dialect's business.

use std::borrow::Cow;

use haft_schema::json::{self, Literal, ReadError, Syntax};

use crate::scan::{NeedMore, Reads, Source, is_blank};
use crate::tools::ToolSet;

const NAME_KEYS: [&str; 4] = ["name", "tool", "tool_name", "function"];
const ARGUMENT_KEYS: [&str; 4] = ["arguments", "parameters", "args", "tool_input"];
const ID_KEYS: [&str; 3] = ["id", "tool_call_id", "call_id"];
const LIST_KEYS: [&str; 2] = ["tool_calls", "calls"];

/// A JSON value in a text, and how it was read.
#[derive(Debug)]
pub(crate) struct Found<'a> {
    pub(crate) literal: Literal<'a>,
    pub(crate) end: usize,
    pub(crate) loose: bool,
}

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
            Err(error) if error.is_cut() && !source.is_complete() => return Err(NeedMore),
            Err(error) => {
                first.get_or_insert(error);
            }
        }
    }
    Ok(Err(first.unwrap_or(ReadError { position: 0, problem: json::Problem::Cut })))
}

/// The text with its missing closing brackets added, if brackets are all that is missing.
pub(crate) fn with_brackets_closed(text: &str) -> Option<String> {
    let mut open: Vec<char> = Vec::new();
    let mut in_string = false;
    let mut escaped = false;
    for character in text.chars() {
        if in_string {
            match character {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match character {
            '"' => in_string = true,
            '{' => open.push('}'),
            '[' => open.push(']'),
            '}' | ']' if open.pop() != Some(character) => return None,
            _ => {}
        }
        if open.len() > json::MAX_DEPTH {
            return None;
        }
    }
    if in_string || open.is_empty() {
        return None;
    }
    let mut closed = text.trim_end_matches(is_blank).to_owned();
    closed.extend(open.into_iter().rev());
    Some(closed)
}

/// The text with the quotes inside of its strings escaped, if what follows each quote tells which of them end a string,
/// and the ones inside come in pairs.
pub(crate) fn with_quotes_escaped(text: &str) -> Option<String> {
    let mut escaped = String::with_capacity(text.len() + 16);
    let mut open: Vec<char> = Vec::new();
    let mut string: Option<InString> = None;
    let mut before = ' ';
    let mut mended = false;
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match (&mut string, character) {
            (Some(_), '\\') => {
                escaped.push(character);
                escaped.extend(characters.next().map(|(_, next)| next));
                continue;
            }
            (Some(inside), '"') => {
                let next = text.get(at + 1..)?.trim_start_matches(is_blank).chars().next();
                let ends = if inside.is_key { next == Some(':') } else { matches!(next?, ',' | '}' | ']') };
                if !ends {
                    inside.quotes += 1;
                    mended = true;
                    escaped.push('\\');
                } else if inside.quotes % 2 == 0 {
                    string = None;
                    before = '"';
                } else {
                    return None;
                }
            }
            (Some(_), _) => {}
            (None, '"') => {
                let is_key = open.last() == Some(&'{') && matches!(before, '{' | ',');
                string = Some(InString { is_key, quotes: 0 });
            }
            (None, _) => {
                match character {
                    '{' | '[' => open.push(character),
                    '}' | ']' => drop(open.pop()),
                    _ => {}
                }
                if !is_blank(character) {
                    before = character;
                }
            }
        }
        escaped.push(character);
    }
    (mended && string.is_none()).then_some(escaped)
}

/// A string that is being read.
struct InString {
    is_key: bool,
    /// Quotes inside of it that are not escaped.
    quotes: u32,
}

/// The calls that a value stands for: one object, a list of them, or an object that holds such a list.
pub(crate) fn calls<'a>(literal: Literal<'a>, tools: &ToolSet) -> Vec<Result<JsonCall<'a>, NoCall>> {
    match literal {
        Literal::Array(items) => items.into_iter().flat_map(|item| calls(item, tools)).collect(),
        Literal::Object(mut entries) => {
            let listed = entries
                .iter()
                .position(|(key, value)| LIST_KEYS.contains(&&**key) && matches!(value, Literal::Array(_)));
            match listed {
                Some(index) => calls(entries.swap_remove(index).1, tools),
                None => vec![call(entries, tools)],
            }
        }
        Literal::Null | Literal::Bool(_) | Literal::Number(_) | Literal::String(_) => {
            vec![Err(NoCall::NoName)]
        }
    }
}

/// Whether a value without any marker round it is meant as calls: every one names a declared tool, and has arguments or
/// nothing else.
pub(crate) fn declared(literal: &Literal<'_>, tools: &ToolSet) -> bool {
    match literal {
        Literal::Array(items) => !items.is_empty() && items.iter().all(|item| declared(item, tools)),
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
            (bare || has_arguments) && tools.resolve(&name).is_some()
        }
        Literal::Null | Literal::Bool(_) | Literal::Number(_) | Literal::String(_) => false,
    }
}

fn name_of<'a>(key: &str, value: &Literal<'a>) -> Option<Cow<'a, str>> {
    if !NAME_KEYS.contains(&key) {
        return None;
    }
    match value {
        Literal::String(name) => Some(name.clone()),
        Literal::Object(inner) => {
            inner.iter().filter(|(key, _)| key == "name").find_map(|(key, value)| name_of(key, value))
        }
        _ => None,
    }
}

fn call<'a>(entries: Vec<(Cow<'a, str>, Literal<'a>)>, tools: &ToolSet) -> Result<JsonCall<'a>, NoCall> {
    // `{"declared": {…}}`: the name is the only key.
    if let [(key, Literal::Object(_))] = entries.as_slice()
        && tools.resolve(key).is_some()
    {
        let (name, value) = entries.into_iter().next().ok_or(NoCall::NoName)?;
        return Ok(JsonCall { id: None, name, arguments: object(value).unwrap_or_default() });
    }
    let name = entries.iter().find_map(|(key, value)| name_of(key, value)).ok_or(NoCall::NoName)?;
    let mut found = JsonCall { id: None, name, arguments: Vec::new() };
    let mut given: Option<Literal<'a>> = None;
    for (key, value) in entries {
        match value {
            Literal::String(id) if ID_KEYS.contains(&&*key) => found.id = Some(id.into_owned()),
            Literal::Object(inner) if key == "function" => {
                given = given.or_else(|| {
                    inner.into_iter().find(|(key, _)| ARGUMENT_KEYS.contains(&&**key)).map(|(_, value)| value)
                });
            }
            value if ARGUMENT_KEYS.contains(&&*key) => given = given.or(Some(value)),
            _ => {}
        }
    }
    found.arguments = match given {
        None | Some(Literal::Null) => Vec::new(),
        Some(value) => object(value).ok_or(NoCall::ArgumentsNoObject)?,
    };
    Ok(found)
}

/// The entries of an object, also of one that is written as text inside a string.
fn object<'a>(value: Literal<'a>) -> Option<Vec<(Cow<'a, str>, Literal<'a>)>> {
    match value {
        Literal::Object(entries) => Some(entries),
        Literal::String(text) if text.trim_matches(is_blank).is_empty() => Some(Vec::new()),
        Literal::String(text) => {
            let literal = [Syntax::Json, Syntax::Literal]
                .into_iter()
                .find_map(|syntax| json::parse(text.trim_matches(is_blank), syntax).ok())?;
            match literal.into_owned() {
                Literal::Object(entries) => Some(entries),
                _ => None,
            }
        }
        _ => None,
    }
}
