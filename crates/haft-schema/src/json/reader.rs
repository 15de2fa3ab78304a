//! The recursive reader of both grammars. Depth is capped, every byte is looked at a bounded number of times.

use std::borrow::Cow;
use std::collections::HashMap;

use super::{Literal, MAX_DEPTH, Problem, ReadError, Syntax, is_blank};

/// Above this many entries, names of an object are found by hash instead of one after the other.
const INDEXED_FROM: usize = 16;

pub(super) struct Reader<'a> {
    text: &'a str,
    pub(super) position: usize,
    pub(super) syntax: Syntax,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str, syntax: Syntax) -> Self {
        Self { text, position: 0, syntax }
    }

    pub(super) fn read(mut self) -> Result<(Literal<'a>, usize), ReadError> {
        if self.text.starts_with('\u{feff}') {
            self.position = '\u{feff}'.len_utf8();
        }
        let literal = self.value(0)?;
        Ok((literal, self.position))
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.position).copied()
    }

    pub(super) fn rest(&self) -> &'a [u8] {
        self.text.as_bytes().get(self.position..).unwrap_or_default()
    }

    pub(super) fn slice(&self, from: usize, to: usize) -> &'a str {
        self.text.get(from..to).unwrap_or_default()
    }

    pub(super) fn problem(&self, problem: Problem) -> ReadError {
        ReadError { position: self.position, problem }
    }

    fn unexpected(&self, expected: &'static str) -> ReadError {
        let found = self.text.get(self.position..).and_then(|rest| rest.chars().next());
        self.problem(found.map_or(Problem::Cut, |found| Problem::Unexpected { expected, found }))
    }

    fn skip_blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.position += 1,
                Some(byte) if self.syntax == Syntax::Literal && !byte.is_ascii_graphic() => {
                    let next = self.text.get(self.position..).and_then(|rest| rest.chars().next());
                    match next {
                        Some(character) if is_blank(character) => self.position += character.len_utf8(),
                        _ => return,
                    }
                }
                _ => return,
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Literal<'a>, ReadError> {
        if depth > MAX_DEPTH {
            return Err(self.problem(Problem::TooDeep));
        }
        self.skip_blanks();
        let Some(byte) = self.peek() else { return Err(self.problem(Problem::Cut)) };
        let loose = self.syntax == Syntax::Literal;
        match byte {
            b'{' => self.object(depth),
            b'[' => self.array(depth, b']'),
            b'(' if loose => self.array(depth, b')'),
            b'"' => self.string(byte).map(Literal::String),
            b'\'' if loose => self.string(byte).map(Literal::String),
            b'-' | b'0'..=b'9' => self.digits().map(|digits| Literal::Number(Cow::Borrowed(digits))),
            b'+' | b'.' if loose => self.digits().map(|digits| Literal::Number(Cow::Borrowed(digits))),
            _ => self.word(),
        }
    }

    fn word(&mut self) -> Result<Literal<'a>, ReadError> {
        let rest = self.rest();
        let length =
            rest.iter().take(8).take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
        let word = self.slice(self.position, self.position + length);
        let loose = self.syntax == Syntax::Literal;
        let literal = match word {
            "null" => Literal::Null,
            "true" => Literal::Bool(true),
            "false" => Literal::Bool(false),
            "None" if loose => Literal::Null,
            "True" if loose => Literal::Bool(true),
            "False" if loose => Literal::Bool(false),
            // A prefix of a word at the end of the text may still become the word.
            _ if length == rest.len()
                && ["null", "true", "false"].iter().any(|full| full.starts_with(word)) =>
            {
                return Err(self.problem(Problem::Cut));
            }
            _ => return Err(self.unexpected("a value")),
        };
        self.position += length;
        Ok(literal)
    }

    fn digits(&mut self) -> Result<&'a str, ReadError> {
        let start = self.position;
        let in_number = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'+' | b'-' | b'_');
        self.position += self.rest().iter().take_while(|byte| in_number(byte)).count();
        let digits = self.slice(start, self.position);
        let valid = match self.syntax {
            Syntax::Json => is_json_number(digits),
            Syntax::Literal => is_loose_number(digits),
        };
        if valid { Ok(digits) } else { Err(ReadError { position: start, problem: Problem::Number }) }
    }

    fn array(&mut self, depth: usize, closer: u8) -> Result<Literal<'a>, ReadError> {
        self.position += 1;
        let mut items = Vec::new();
        let mut commas = 0_usize;
        loop {
            self.skip_blanks();
            let may_close = items.len() == commas && (commas == 0 || self.syntax == Syntax::Literal);
            if self.peek() == Some(closer) && may_close {
                self.position += 1;
                return Ok(Literal::Array(items));
            }
            items.push(self.value(depth + 1)?);
            self.skip_blanks();
            match self.peek() {
                Some(b',') => {
                    self.position += 1;
                    commas += 1;
                }
                Some(byte) if byte == closer => {
                    self.position += 1;
                    // `(1)` is a value in brackets, `(1,)` a tuple.
                    if closer == b')' && commas == 0 && items.len() == 1 {
                        return Ok(items.remove(0));
                    }
                    return Ok(Literal::Array(items));
                }
                _ => return Err(self.unexpected("a comma or the end of the list")),
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Literal<'a>, ReadError> {
        self.position += 1;
        let mut entries: Vec<(Cow<'a, str>, Literal<'a>)> = Vec::new();
        let mut index: HashMap<Cow<'a, str>, usize> = HashMap::new();
        let mut after_comma = false;
        loop {
            self.skip_blanks();
            if self.peek() == Some(b'}') && (!after_comma || self.syntax == Syntax::Literal) {
                self.position += 1;
                return Ok(Literal::Object(entries));
            }
            let key_at = self.position;
            let key = self.key()?;
            self.skip_blanks();
            if self.peek() != Some(b':') {
                return Err(self.unexpected("a colon after the key"));
            }
            self.position += 1;
            let value = self.value(depth + 1)?;
            let known = if entries.len() < INDEXED_FROM {
                entries.iter().position(|(name, _)| *name == key)
            } else {
                if index.is_empty() {
                    index.extend(entries.iter().enumerate().map(|(at, (name, _))| (name.clone(), at)));
                }
                index.get(&key).copied()
            };
            match known.and_then(|at| entries.get(at)) {
                Some((_, earlier)) if earlier.same(&value) => {}
                Some(_) => {
                    let problem = Problem::DuplicateKey { key: key.into_owned() };
                    return Err(ReadError { position: key_at, problem });
                }
                None => {
                    if !index.is_empty() {
                        index.insert(key.clone(), entries.len());
                    }
                    entries.push((key, value));
                }
            }
            self.skip_blanks();
            match self.peek() {
                Some(b',') => {
                    self.position += 1;
                    after_comma = true;
                }
                Some(b'}') => {
                    self.position += 1;
                    return Ok(Literal::Object(entries));
                }
                _ => return Err(self.unexpected("a comma or the end of the object")),
            }
        }
    }

    fn key(&mut self) -> Result<Cow<'a, str>, ReadError> {
        match (self.peek(), self.syntax) {
            (Some(quote @ b'"'), _) | (Some(quote @ b'\''), Syntax::Literal) => self.string(quote),
            (Some(b'0'..=b'9'), Syntax::Literal) => self.digits().map(Cow::Borrowed),
            _ => Err(self.unexpected("a key in quotes")),
        }
    }
}

/// `-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?`
fn is_json_number(text: &str) -> bool {
    let rest = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = split_exponent(rest);
    let (whole, fraction) =
        mantissa.split_once('.').map_or((mantissa, None), |(left, right)| (left, Some(right)));
    is_digits(whole)
        && (whole.len() == 1 || !whole.starts_with('0'))
        && fraction.is_none_or(is_digits)
        && exponent.is_none_or(is_exponent)
}

/// Also a leading sign, `.5` and `5.`; leading zeros only before a fraction, as in Python.
fn is_loose_number(text: &str) -> bool {
    let rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = split_exponent(rest);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    let zeros = whole.len() > 1 && whole.starts_with('0') && !mantissa.contains('.');
    (is_digits(whole) || whole.is_empty() && is_digits(fraction) && mantissa.contains('.'))
        && (is_digits(fraction) || fraction.is_empty())
        && !zeros
        && exponent.is_none_or(is_exponent)
}

fn split_exponent(text: &str) -> (&str, Option<&str>) {
    text.split_once(['e', 'E']).map_or((text, None), |(mantissa, exponent)| (mantissa, Some(exponent)))
}

fn is_exponent(text: &str) -> bool {
    is_digits(text.strip_prefix(['+', '-']).unwrap_or(text))
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
