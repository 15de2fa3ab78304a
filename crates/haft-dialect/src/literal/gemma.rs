//! Calls in Gemma's own literals: `call:N{K:<|"|>V<|"|>,K2:3}`, in FunctionGemma with `<escape>` for the quotes.

use std::borrow::Cow;

use haft_schema::json::{self, Literal, MAX_DEPTH, Syntax};

use super::{LiteralCall, Unreadable, name_end};
use crate::Repair;
use crate::scan::{NeedMore, Reads, Source, is_blank};
use crate::tools::{Tool, ToolSet};

/// What encloses a string.
const QUOTES: [&str; 2] = ["<|\"|>", "<escape>"];

/// Longest bare word, in bytes.
const MAX_WORD: usize = 256;

/// Entries of one object, at most.
const MAX_ENTRIES: usize = 1000;

/// Whether a call begins here: `call:`, a name and an opening brace.
pub(crate) fn begins_call(source: Source<'_>, at: usize) -> Reads<bool> {
    let Some(name_at) = behind_call_word(source, at)? else { return Ok(false) };
    // Without a name it is one that cannot be read.
    if source.byte(name_at) == Some(b'{') {
        return Ok(true);
    }
    let end = name_end(source, name_at);
    let open = source.skip_blanks(end);
    if source.ends_at(open)? {
        return Ok(end > name_at);
    }
    Ok(end > name_at && matches!(source.byte(open), Some(b'{' | b'<')))
}

/// Whether the call of a declared tool begins here, `call:` and brace included.
pub(crate) fn begins_declared(source: Source<'_>, at: usize, tools: &ToolSet) -> Reads<bool> {
    let Some(name_at) = behind_call_word(source, at)? else { return Ok(false) };
    let end = name_end(source, name_at);
    source.ends_at(end)?;
    Ok(source.byte(end) == Some(b'{') && tools.resolve(source.slice(name_at, end)).is_some())
}

/// The offset behind `call:`, also with another colon before it.
pub(crate) fn behind_call_word(source: Source<'_>, at: usize) -> Reads<Option<usize>> {
    let at = if source.byte(at) == Some(b':') { at + 1 } else { at };
    if !source.has_word(at, "call")? {
        return Ok(None);
    }
    let colon = source.skip_blanks(at + 4);
    if source.ends_at(colon)? || source.byte(colon) != Some(b':') {
        return Ok(None);
    }
    let name = source.skip_blanks(colon + 1);
    source.ends_at(name)?;
    Ok(Some(name))
}

/// Reads the call that begins here, with `call:` or without.
pub(crate) fn call_at<'a>(
    source: Source<'a>,
    at: usize,
    tools: &ToolSet,
) -> Reads<Result<LiteralCall<'a>, Unreadable>> {
    let name_at = behind_call_word(source, at)?.unwrap_or(at);
    let end = name_end(source, name_at);
    let name = source.slice(name_at, end);
    let open = source.skip_blanks(end);
    if source.ends_at(open)? {
        return Ok(Err(Unreadable::Cut));
    }
    if source.byte(open) != Some(b'{') || name.is_empty() {
        return Ok(Err(Unreadable::Unfit(open)));
    }
    let mut reader = Reader { source, tool: tools.resolve(name).map(|(tool, _)| tool), loose: false };
    Ok(match reader.object(open, 0)? {
        Ok((Literal::Object(arguments), end)) => {
            Ok(LiteralCall { name, arguments, end, repair: reader.loose.then_some(Repair::LooseJson) })
        }
        Ok((_, end)) => Err(Unreadable::Unfit(end)),
        Err(problem) => Err(problem),
    })
}

/// The object in Gemma's literals that begins here, if it is one.
pub(crate) fn object_at(source: Source<'_>, at: usize) -> Reads<Option<(super::Arguments<'_>, usize)>> {
    let mut reader = Reader { source, tool: None, loose: false };
    Ok(match reader.object(at, 0)? {
        Ok((Literal::Object(entries), end)) if !reader.loose => Some((entries, end)),
        Ok(_) | Err(_) => None,
    })
}

type ReadValue<'a> = Reads<Result<(Literal<'a>, usize), Unreadable>>;

struct Reader<'a, 't> {
    source: Source<'a>,
    tool: Option<&'t Tool>,
    loose: bool,
}

impl<'a> Reader<'a, '_> {
    fn quote_at(&self, at: usize) -> Reads<Option<&'static str>> {
        for quote in QUOTES {
            if self.source.has_word(at, quote)? {
                return Ok(Some(quote));
            }
        }
        Ok(None)
    }

    fn object(&mut self, open: usize, depth: usize) -> ReadValue<'a> {
        let source = self.source;
        let mut entries: super::Arguments<'a> = Vec::new();
        let mut at = open + 1;
        loop {
            at = source.skip_blanks(at);
            if source.ends_at(at)? {
                return Ok(Err(Unreadable::Cut));
            }
            match source.byte(at) {
                Some(b'}') => return Ok(Ok((Literal::Object(entries), at + 1))),
                Some(b',') if !entries.is_empty() => {
                    at += 1;
                    continue;
                }
                _ => {}
            }
            if entries.len() >= MAX_ENTRIES {
                return Ok(Err(Unreadable::Unfit(at)));
            }
            let Some((key, behind)) = self.key(at)? else {
                return Ok(Err(if source.is_complete() && source.skip_blanks(at) >= source.len() {
                    Unreadable::Cut
                } else {
                    Unreadable::Unfit(at)
                }));
            };
            let (value, end) = match self.value(behind, depth + 1, true)? {
                Ok(found) => found,
                Err(problem) => return Ok(Err(problem)),
            };
            match entries.iter().find(|(name, _)| *name == key) {
                Some((_, earlier)) if *earlier == value => {}
                Some(_) => return Ok(Err(Unreadable::Unfit(at))),
                None => entries.push((key, value)),
            }
            at = end;
        }
    }

    /// The distance to the end of a short name in quotes.
    fn find_near(&self, from: usize, quote: &[u8]) -> Reads<Option<usize>> {
        let limit = from + MAX_WORD;
        let window = self.source.bytes().get(from..limit.min(self.source.len())).unwrap_or_default();
        let found = memchr::memmem::find(window, quote);
        if found.is_none() && limit > self.source.len() {
            self.source.ends_at(self.source.len())?;
        }
        Ok(found)
    }

    /// A key with its colon, and the offset behind it.
    fn key(&self, at: usize) -> Reads<Option<(Cow<'a, str>, usize)>> {
        let source = self.source;
        let (from, end, behind) = if let Some(quote) = self.quote_at(at)? {
            let from = at + quote.len();
            let Some(length) = self.find_near(from, quote.as_bytes())? else { return Ok(None) };
            (from, from + length, from + length + quote.len())
        } else if let Some(quote @ (b'"' | b'\'')) = source.byte(at) {
            let Some(length) = self.find_near(at + 1, &[quote])? else { return Ok(None) };
            (at + 1, at + 1 + length, at + 2 + length)
        } else {
            let mut end = at;
            while let Some(character) = source.char_at(end) {
                if !(character.is_alphanumeric() || matches!(character, '_' | '-' | '.' | '$'))
                    || end - at > MAX_WORD
                {
                    break;
                }
                end += character.len_utf8();
            }
            (at, end, end)
        };
        let colon = source.skip_blanks(behind);
        if source.ends_at(colon)? || source.byte(colon) != Some(b':') || end == from {
            return Ok(None);
        }
        Ok(Some((Cow::Borrowed(source.slice(from, end)), colon + 1)))
    }

    fn value(&mut self, at: usize, depth: usize, in_object: bool) -> ReadValue<'a> {
        let source = self.source;
        let at = source.skip_blanks(at);
        if source.ends_at(at)? {
            return Ok(Err(Unreadable::Cut));
        }
        if depth > MAX_DEPTH {
            return Ok(Err(Unreadable::Unfit(at)));
        }
        if let Some(quote) = self.quote_at(at)? {
            return self.string(at + quote.len(), quote, in_object);
        }
        match source.byte(at) {
            Some(b'{') => self.object(at, depth),
            Some(b'[') => self.array(at, depth),
            Some(b'"' | b'\'') => match json::parse_prefix(source.rest(at), Syntax::Literal) {
                Ok((literal, length)) => Ok(Ok((literal, at + length))),
                Err(error) if error.is_cut() && !source.is_complete() => Err(NeedMore),
                Err(error) if error.is_cut() => Ok(Err(Unreadable::Cut)),
                Err(error) => Ok(Err(Unreadable::Unfit(at + error.position))),
            },
            _ => self.word(at),
        }
    }

    fn array(&mut self, open: usize, depth: usize) -> ReadValue<'a> {
        let source = self.source;
        let mut items = Vec::new();
        let mut at = open + 1;
        loop {
            at = source.skip_blanks(at);
            if source.ends_at(at)? {
                return Ok(Err(Unreadable::Cut));
            }
            match source.byte(at) {
                Some(b']') => return Ok(Ok((Literal::Array(items), at + 1))),
                Some(b',') => at += 1,
                _ => match self.value(at, depth + 1, false)? {
                    Ok((value, end)) => {
                        items.push(value);
                        at = end;
                    }
                    Err(problem) => return Ok(Err(problem)),
                },
            }
        }
    }

    /// A string between marks. A mark inside of it stands for a quote; it ends the string only if the literal goes on behind it.
    fn string(&self, from: usize, quote: &'static str, in_object: bool) -> ReadValue<'a> {
        let source = self.source;
        let mut text: Cow<'a, str> = Cow::Borrowed("");
        let mut plain_from = from;
        let mut at = from;
        loop {
            let rest = source.bytes().get(at..).unwrap_or_default();
            let Some(offset) = memchr::memmem::find(rest, quote.as_bytes()) else {
                source.ends_at(source.len())?;
                return Ok(Err(Unreadable::Cut));
            };
            let close = at + offset;
            let after = close + quote.len();
            let piece = source.slice(plain_from, close);
            if self.ends_string(after, in_object)? {
                let whole = if text.is_empty() {
                    Cow::Borrowed(piece)
                } else {
                    Cow::Owned(text.into_owned() + piece)
                };
                return Ok(Ok((Literal::String(whole), after)));
            }
            let text = text.to_mut();
            text.push_str(piece);
            text.push('"');
            plain_from = after;
            at = after;
        }
    }

    fn ends_string(&self, after: usize, in_object: bool) -> Reads<bool> {
        let source = self.source;
        let next = source.skip_blanks(after);
        if source.ends_at(next)? {
            return Ok(true);
        }
        match source.byte(next) {
            Some(b',') if in_object => {
                let key = source.skip_blanks(next + 1);
                if source.ends_at(key)? || source.byte(key) == Some(b'}') {
                    return Ok(true);
                }
                Ok(self.key(key)?.is_some())
            }
            Some(b'}' | b']' | b',') => Ok(true),
            _ if in_object => {
                let known = |name: &str| self.tool.is_some_and(|tool| tool.parameter(name).is_some());
                Ok(self.key(next)?.is_some_and(|(name, _)| known(&name)))
            }
            _ => Ok(false),
        }
    }

    /// A number, `true`, `null`, or a text whose marks are missing.
    fn word(&mut self, at: usize) -> ReadValue<'a> {
        let source = self.source;
        let rest = source.bytes().get(at..).unwrap_or_default();
        let Some(length) = rest.iter().position(|byte| matches!(byte, b',' | b'}' | b']' | b'\n' | b'<'))
        else {
            source.ends_at(source.len())?;
            return Ok(Err(Unreadable::Cut));
        };
        let word = source.slice(at, at + length).trim_end_matches(is_blank);
        if word.is_empty() || word.contains(['{', '[']) {
            return Ok(Err(Unreadable::Unfit(at)));
        }
        match json::parse(word, Syntax::Literal) {
            Ok(literal) => Ok(Ok((literal, at + length))),
            Err(_) => {
                self.loose = true;
                Ok(Ok((Literal::String(Cow::Borrowed(word)), at + length)))
            }
        }
    }
}
