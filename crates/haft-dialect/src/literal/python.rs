//! Calls in Python: `N(K='V')`. Keyword arguments are names and values; a dictionary alone, or a text for the only parameter that can be
//! meant, may stand without a name.

use std::borrow::Cow;

use haft_schema::json::{self, Literal, Syntax};

use super::{Arguments, LiteralCall, Unreadable, name_end};
use crate::Repair;
use crate::call_json::may_go_on;
use crate::scan::{NeedMore, Reads, Source};
use crate::tools::{Tool, ToolSet};

/// Places at which a string with stray quotes is tried to end.
const MAX_CLOSINGS: usize = 8;

/// Quotes that are looked at for the end of a string.
const MAX_QUOTES: usize = 256;

/// Arguments of one call, at most.
const MAX_ARGUMENTS: usize = 1000;

/// The name of the call that begins here, if one does: a name and an opening bracket.
pub(crate) fn begins_call(source: Source<'_>, at: usize) -> Reads<Option<&str>> {
    let end = name_end(source, at);
    if end == at {
        source.ends_at(at)?;
        return Ok(None);
    }
    // A point or hyphen at the end of the text so far may go on as a name.
    let mut open = end;
    while matches!(source.byte(open), Some(b':' | b'.' | b'/')) {
        open += 1;
    }
    source.ends_at(open)?;
    let mut open = end;
    while source.byte(open) == Some(b' ') {
        open += 1;
    }
    if source.ends_at(open)? {
        return Ok(None);
    }
    Ok((source.byte(open) == Some(b'(')).then(|| source.slice(at, end)))
}

/// A name as it stands before the bracket, without the `.call` that Llama writes behind the names of its own tools.
pub(crate) fn bare_name<'a>(written: &'a str, tools: &ToolSet) -> &'a str {
    let bare = written.strip_suffix(".call").filter(|_| !tools.declares(written));
    bare.filter(|bare| tools.resolve(bare).is_some() || tools.resolve(written).is_none()).unwrap_or(written)
}

/// Whether a call of a declared tool begins here.
pub(crate) fn begins_declared(source: Source<'_>, at: usize, tools: &ToolSet) -> Reads<bool> {
    Ok(begins_call(source, at)?.is_some_and(|name| tools.resolve(bare_name(name, tools)).is_some()))
}

/// Whether the call that begins here has an argument with a name, or none at all.
pub(crate) fn begins_keyword(source: Source<'_>, at: usize) -> Reads<bool> {
    let open = source.skip_blanks(name_end(source, at));
    if source.byte(open) != Some(b'(') {
        return Ok(false);
    }
    let first = source.skip_blanks(open + 1);
    if source.ends_at(first)? {
        return Ok(false);
    }
    if source.byte(first) == Some(b')') {
        return Ok(true);
    }
    Ok(keyword(source, first)?.is_some())
}

/// Reads the call that begins here.
pub(crate) fn call_at<'a>(
    source: Source<'a>,
    at: usize,
    tools: &ToolSet,
) -> Reads<Result<LiteralCall<'a>, Unreadable>> {
    let written = name_end(source, at);
    let name = bare_name(source.slice(at, written), tools);
    let mut open = written;
    while source.byte(open) == Some(b' ') {
        open += 1;
    }
    let reader = Reader { source, tools, tool: tools.resolve(name).map(|(tool, _)| tool) };
    let read = reader.arguments(open + 1, Vec::new(), true)?;
    Ok(read.map(|(arguments, end, mended)| LiteralCall {
        name,
        arguments,
        end,
        repair: mended.then_some(Repair::LooseJson),
    }))
}

/// Where a call that cannot be read ends: behind the bracket that closes it, else `None`.
pub(crate) fn skip_call(source: Source<'_>, at: usize, limit: usize) -> Option<usize> {
    let mut depth = 0_usize;
    let mut quote: Option<u8> = None;
    let mut cursor = at;
    while cursor < limit {
        let byte = source.byte(cursor)?;
        match (quote, byte) {
            (Some(_), b'\\') => cursor += 1,
            (Some(open), byte) if byte == open => quote = None,
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'(' | b'[' | b'{') => depth += 1,
            (None, b')' | b']' | b'}') => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(cursor + 1);
                }
            }
            (Some(_) | None, _) => {}
        }
        cursor += 1;
    }
    None
}

/// The next line of an unreadable call on which a declared call begins, outside of every string.
pub(crate) fn next_line_call(source: Source<'_>, at: usize, tools: &ToolSet) -> Reads<Option<usize>> {
    let mut quote: Option<u8> = None;
    let mut cursor = at;
    while let Some(byte) = source.byte(cursor) {
        match (quote, byte) {
            (Some(_), b'\\') => cursor += 1,
            (Some(open), byte) if byte == open => quote = None,
            (None, b'"' | b'\'') => quote = Some(byte),
            // What ends the calls is not theirs.
            (None, b'<') => return Ok(None),
            (None, b'\n') => {
                let line = source.skip_blanks(cursor + 1);
                let goes_on = goes_on_behind(source, cursor);
                if !goes_on && begins_declared(source, line, tools)? {
                    return Ok(Some(line));
                }
                cursor = line;
                continue;
            }
            (Some(_) | None, _) => {}
        }
        cursor += 1;
    }
    source.ends_at(source.len())?;
    Ok(None)
}

/// Whether what stands before a line break asks for more.
fn goes_on_behind(source: Source<'_>, at: usize) -> bool {
    source.slice(0, at).trim_end().ends_with(['=', ',', '(', '[', '{', ':'])
}

/// `name =`, with the offset behind the sign.
fn keyword(source: Source<'_>, at: usize) -> Reads<Option<(&str, usize)>> {
    let quote = source.byte(at).filter(|byte| matches!(byte, b'"' | b'\''));
    let from = at + usize::from(quote.is_some());
    let mut end = from;
    while let Some(character) = source.char_at(end) {
        if !(character.is_alphanumeric() || matches!(character, '_' | '-')) {
            break;
        }
        end += character.len_utf8();
    }
    if source.ends_at(end)? || end == from {
        return Ok(None);
    }
    let behind = if quote.is_some() && source.byte(end) == quote { end + 1 } else { end };
    let sign = source.skip_blanks(behind);
    if source.ends_at(sign)? {
        return Ok(None);
    }
    let assigns = source.byte(sign) == Some(b'=') && source.byte(sign + 1) != Some(b'=');
    Ok((assigns && (quote.is_none() || behind > end)).then(|| (source.slice(from, end), sign + 1)))
}

type ReadValue<'a> = Reads<Result<(Literal<'a>, usize), Unreadable>>;

type ReadArguments<'a> = Result<(Arguments<'a>, usize, bool), Unreadable>;

#[derive(Clone, Copy)]
struct Reader<'a, 't> {
    source: Source<'a>,
    tools: &'t ToolSet,
    tool: Option<&'t Tool>,
}

impl<'a> Reader<'a, '_> {
    /// The arguments from here to the closing bracket. `mending` allows one string whose end is looked for.
    fn arguments(self, from: usize, mut given: Arguments<'a>, mending: bool) -> Reads<ReadArguments<'a>> {
        let source = self.source;
        let mut at = from;
        let mut positional = None;
        loop {
            at = source.skip_blanks(at);
            if source.ends_at(at)? {
                return Ok(Err(Unreadable::Cut));
            }
            if source.byte(at) == Some(b')') {
                return Ok(self.named(given, positional, at).map(|arguments| (arguments, at + 1, false)));
            }
            if given.len() >= MAX_ARGUMENTS {
                return Ok(Err(Unreadable::Unfit(at)));
            }
            let name = keyword(source, at)?;
            let value_at = source.skip_blanks(name.map_or(at, |(_, end)| end));
            if source.ends_at(value_at)? {
                return Ok(Err(Unreadable::Cut));
            }
            let read = self.value(value_at, name.map(|(name, _)| name))?;
            let fits = match &read {
                Ok((_, end)) => {
                    let next = source.skip_blanks(*end);
                    if source.ends_at(next)? {
                        return Ok(Err(Unreadable::Cut));
                    }
                    matches!(source.byte(next), Some(b',' | b')'))
                }
                Err(_) => false,
            };
            match read {
                Ok((literal, end)) if fits => {
                    match name {
                        Some((name, _)) => given.push((Cow::Borrowed(name), literal)),
                        None if given.is_empty() && positional.is_none() => positional = Some(literal),
                        None => return Ok(Err(Unreadable::Unfit(at))),
                    }
                    at = source.skip_blanks(end);
                    if source.byte(at) == Some(b',') {
                        at += 1;
                    }
                }
                Ok((_, end)) => return self.mended(name, value_at, &given, mending, Unreadable::Unfit(end)),
                Err(problem) => return self.mended(name, value_at, &given, mending, problem),
            }
        }
    }

    /// A value as Python reads it, and numbers that it does not: `07`, `2024-01-05`.
    fn value(self, at: usize, name: Option<&str>) -> ReadValue<'a> {
        let read = self.one_value(at)?;
        match (read, self.source.byte(at)) {
            (Ok((Literal::String(text), end)), _) => self.joined(text, end),
            (Err(problem @ Unreadable::Unfit(_)), Some(b'{')) => Ok(self.set(at)?.ok_or(problem)),
            (Err(problem @ Unreadable::Unfit(_)), Some(b'0'..=b'9' | b'+' | b'-')) => {
                Ok(self.digits(at, name).ok_or(problem))
            }
            (read, _) => Ok(read),
        }
    }

    /// A string with those that stand right behind it, which are parts of it.
    fn joined(self, text: Cow<'a, str>, end: usize) -> ReadValue<'a> {
        let (mut text, mut end) = (text, end);
        loop {
            let next = self.source.skip_blanks(end);
            let quoted = if matches!(self.source.byte(next), Some(b'r' | b'R')) { next + 1 } else { next };
            if !matches!(self.source.byte(quoted), Some(b'"' | b'\'')) {
                return Ok(Ok((Literal::String(text), end)));
            }
            match self.one_value(next)? {
                Ok((Literal::String(part), part_end)) => {
                    text.to_mut().push_str(&part);
                    end = part_end;
                }
                Ok(_) | Err(_) => return Ok(Ok((Literal::String(text), end))),
            }
        }
    }

    /// A set, which is a list of its entries.
    fn set(self, open: usize) -> Reads<Option<(Literal<'a>, usize)>> {
        let source = self.source;
        let mut items = Vec::new();
        let mut at = source.skip_blanks(open + 1);
        loop {
            let Ok((item, end)) = self.one_value(at)? else { return Ok(None) };
            items.push(item);
            at = source.skip_blanks(end);
            if source.byte(at) == Some(b',') {
                at = source.skip_blanks(at + 1);
            } else if source.byte(at) != Some(b'}') {
                source.ends_at(at)?;
                return Ok(None);
            }
            source.ends_at(at)?;
            if source.byte(at) == Some(b'}') {
                return Ok(Some((Literal::Array(items), at + 1)));
            }
        }
    }

    /// Digits that are no number in Python, or one with `_` in it: the text as it is where text is asked for.
    fn digits(self, at: usize, name: Option<&str>) -> Option<(Literal<'a>, usize)> {
        let rest = self.source.rest(at);
        let fits = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'+' | b'-' | b'_');
        let length = rest.bytes().take_while(fits).count();
        let written = rest.get(..length)?;
        let parameter = name.and_then(|name| self.tool?.parameter(name)).map(|(parameter, _)| parameter);
        let takes_text = parameter.is_some_and(|parameter| parameter.takes_text);
        let number =
            plain_number(written).filter(|_| !takes_text && (parameter.is_some() || written.contains('_')));
        let literal = match number {
            Some(number) => Literal::Number(Cow::Owned(number)),
            None => Literal::String(Cow::Borrowed(written)),
        };
        Some((literal, at + length))
    }

    fn one_value(self, at: usize) -> ReadValue<'a> {
        if matches!(self.source.byte(at), Some(b'r' | b'R'))
            && let Some(quote @ (b'"' | b'\'')) = self.source.byte(at + 1)
        {
            return self.raw_string(at + 2, quote);
        }
        match json::parse_prefix(self.source.rest(at), Syntax::Literal) {
            Ok((literal, length)) => Ok(Ok((literal, at + length))),
            Err(error) if !self.source.is_complete() && may_go_on(self.source.rest(at), &error) => {
                Err(NeedMore)
            }
            Err(error) if error.is_cut() => Ok(Err(Unreadable::Cut)),
            Err(error) => Ok(Err(Unreadable::Unfit(at + error.position))),
        }
    }

    /// The rest of `r'…'`, in which a backslash is itself and keeps a quote from ending the string.
    fn raw_string(self, from: usize, quote: u8) -> ReadValue<'a> {
        let mut at = from;
        while let Some(byte) = self.source.byte(at) {
            match byte {
                b'\\' => at += 1,
                byte if byte == quote => {
                    return Ok(Ok((Literal::String(self.source.slice(from, at).into()), at + 1)));
                }
                _ => {}
            }
            at += 1;
        }
        self.source.ends_at(self.source.len())?;
        Ok(Err(Unreadable::Cut))
    }

    /// Looks for the end of a string that holds its own quotes: accepted only if with exactly one end the rest of the call can be read and
    /// nothing that is required is missing. A line that can be the next call ends the search.
    fn mended(
        self,
        name: Option<(&'a str, usize)>,
        value_at: usize,
        given: &Arguments<'a>,
        mending: bool,
        problem: Unreadable,
    ) -> Reads<ReadArguments<'a>> {
        let source = self.source;
        let quote = source.byte(value_at).filter(|byte| matches!(byte, b'"' | b'\''));
        let (Some(quote), Some((name, _)), true) = (quote, name, mending) else { return Ok(Err(problem)) };
        // What follows decides, also whether another end fits as well.
        source.ends_at(source.len())?;
        let mut found: Option<(Arguments<'a>, usize, bool)> = None;
        let mut tried = 0;
        let mut looked_to = value_at;
        for offset in memchr::memchr_iter(quote, source.bytes().get(value_at + 1..).unwrap_or_default())
            .take(MAX_QUOTES)
        {
            let close = value_at + 1 + offset;
            if !self.may_close(close + 1) {
                continue;
            }
            if self.holds_next_call(quote, looked_to, close)? {
                break;
            }
            looked_to = close;
            tried += 1;
            if tried > MAX_CLOSINGS {
                return Ok(Err(problem));
            }
            let mut arguments: Arguments<'a> = given.clone();
            arguments.push((
                Cow::Borrowed(name),
                Literal::String(Cow::Borrowed(source.slice(value_at + 1, close))),
            ));
            let next = source.skip_blanks(close + 1);
            let after = if source.byte(next) == Some(b',') { next + 1 } else { next };
            let Ok(read) = self.arguments(after, arguments, false)? else { continue };
            if !self.is_complete(&read.0) || !self.may_follow(read.1) {
                continue;
            }
            if found.is_some() {
                return Ok(Err(problem));
            }
            found = Some((read.0, read.1, true));
        }
        Ok(found.ok_or(problem))
    }

    /// Whether a line between two offsets can be the next call: a declared one, or any behind a line that ends with the quote.
    fn holds_next_call(self, quote: u8, from: usize, to: usize) -> Reads<bool> {
        let source = self.source;
        let between = source.bytes().get(from..to).unwrap_or_default();
        for at in memchr::memchr_iter(b'\n', between).map(|offset| from + offset) {
            let line = source.skip_blanks(at + 1);
            let closed = source.slice(from, at).trim_end().as_bytes().last() == Some(&quote);
            if begins_declared(source, line, self.tools)? || closed && begins_keyword(source, line)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether behind this offset the next argument or the end of the call stands.
    fn may_close(self, at: usize) -> bool {
        let next = self.source.skip_blanks(at);
        match self.source.byte(next) {
            Some(b')') => true,
            Some(b',') => {
                let key = self.source.skip_blanks(next + 1);
                matches!(keyword(self.source, key), Ok(Some((name, _))) if self.tool.is_none_or(|tool| tool.parameter(name).is_some()))
                    || self.source.byte(key) == Some(b')')
            }
            _ => false,
        }
    }

    /// Whether what follows a call can follow one.
    fn may_follow(self, at: usize) -> bool {
        let rest = self.source.rest(at).trim_start();
        rest.is_empty()
            || rest.starts_with([',', ']', '<', ';', '`'])
            || self.source.rest(at).trim_start_matches(' ').starts_with('\n')
    }

    fn is_complete(self, arguments: &Arguments<'a>) -> bool {
        self.tool.is_none_or(|tool| {
            tool.required.iter().all(|key| arguments.iter().any(|(name, _)| name.eq_ignore_ascii_case(key)))
        })
    }

    /// The arguments with the one that stands without a name: a dictionary of them, or the value of the only parameter.
    fn named(
        self,
        mut given: Arguments<'a>,
        positional: Option<Literal<'a>>,
        at: usize,
    ) -> Result<Arguments<'a>, Unreadable> {
        match positional {
            None => Ok(given),
            Some(Literal::Object(entries)) if given.is_empty() => Ok(entries),
            Some(literal) => {
                let name = self.tool.and_then(Tool::only_parameter).ok_or(Unreadable::Unfit(at))?;
                given.push((Cow::Owned(name.to_owned()), literal));
                Ok(given)
            }
        }
    }
}

/// A number without the zeros before it and the `_` between its digits.
fn plain_number(written: &str) -> Option<String> {
    let unsigned = written.strip_prefix(['+', '-']).unwrap_or(written);
    if unsigned.split('_').any(|group| !group.starts_with(|first: char| first.is_ascii_digit())) {
        return None;
    }
    let digits = unsigned.replace('_', "");
    let zeros = digits.len() - digits.trim_start_matches('0').len();
    let whole = digits.find('.').unwrap_or(digits.len());
    let digits = digits.get(zeros.min(whole.saturating_sub(1))..)?;
    let sign = if written.starts_with('-') { "-" } else { "" };
    let number = format!("{sign}{digits}");
    matches!(json::parse(&number, Syntax::Json), Ok(Literal::Number(_))).then_some(number)
}
