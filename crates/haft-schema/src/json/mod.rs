//! JSON as models write it, read strictly, and Python literals as the fallback.
//!
//! Differences from an ordinary reader: number literals keep their text until the schema has spoken, integers are exact
//! or stay digits, a key given twice counts once if the values are equal and is an error if not, lone surrogate
//! escapes become U+FFFD, and every error says where. Time is linear in the text, nesting is capped.
//!
//! It must not repair: what [`Syntax::Json`] refuses, [`Syntax::Literal`] may read, and the caller decides and records.

mod convert;
mod reader;
mod strings;

use std::borrow::Cow;

use serde_json::Value;

use crate::View;

/// Deepest nesting that is read.
pub const MAX_DEPTH: usize = 128;

/// Which grammar a text is read by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syntax {
    /// JSON (RFC 8259), nothing else.
    Json,
    /// Python literals and loose JSON: single, double and triple quotes, `True`, `None`, tuples, trailing commas, raw line
    /// breaks in strings, numbers as keys. Never names, calls, underscores in digits or arithmetic.
    Literal,
}

/// A value as written: numbers are still text.
///
/// ```
/// use haft_schema::json::{self, Syntax};
///
/// let literal = json::parse("{'size': 1e3, 'tags': ('a',)}", Syntax::Literal)?;
/// assert_eq!(literal.into_value(None), serde_json::json!({"size": 1000.0, "tags": ["a"]}));
/// # Ok::<(), haft_schema::json::ReadError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Literal<'a> {
    /// `null` or `None`.
    Null,
    /// `true`, `True` and their opposites.
    Bool(bool),
    /// The digits as written.
    Number(Cow<'a, str>),
    /// Decoded text.
    String(Cow<'a, str>),
    /// A list or tuple.
    Array(Vec<Literal<'a>>),
    /// Names with values, in order, each name once.
    Object(Vec<(Cow<'a, str>, Literal<'a>)>),
}

/// Why a text could not be read, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem} at byte {position}")]
pub struct ReadError {
    /// Byte offset in the text that was read.
    pub position: usize,
    /// What is wrong there.
    pub problem: Problem,
}

/// What is wrong at one place of a text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The text ends too early.
    #[error("the text ends inside a value")]
    Cut,
    /// Something else was expected.
    #[error("expected {expected}, found {found:?}")]
    Unexpected {
        /// What would have fitted.
        expected: &'static str,
        /// What stands there.
        found: char,
    },
    /// A raw line break or other control character inside a string.
    #[error("a control character inside a string must be escaped")]
    Control,
    /// An escape that does not exist.
    #[error("unknown escape in a string")]
    Escape,
    /// A number in no known form.
    #[error("not a number")]
    Number,
    /// Nested deeper than [`MAX_DEPTH`].
    #[error("nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// One key with two different values.
    #[error("the key {key:?} is given twice with different values")]
    DuplicateKey {
        /// The key.
        key: String,
    },
    /// The value is complete, but more follows.
    #[error("something follows after the end of the value")]
    Trailing,
}

impl ReadError {
    /// Whether the text is a beginning that was cut off, and nothing else is wrong with it.
    pub fn is_cut(&self) -> bool {
        self.problem == Problem::Cut
    }
}

/// Reads the whole text as one value; blanks and a byte order mark around it do not count.
///
/// # Errors
/// The first thing that does not fit, with its place.
pub fn parse(text: &str, syntax: Syntax) -> Result<Literal<'_>, ReadError> {
    let (literal, end) = parse_prefix(text, syntax)?;
    let rest = text.get(end..).unwrap_or_default();
    match rest.find(|character: char| !is_blank(character)) {
        None => Ok(literal),
        Some(offset) => Err(ReadError { position: end + offset, problem: Problem::Trailing }),
    }
}

/// Reads the value that begins the text and says at which byte it ends; what follows is not looked at.
///
/// # Errors
/// The first thing that does not fit, with its place.
pub fn parse_prefix(text: &str, syntax: Syntax) -> Result<(Literal<'_>, usize), ReadError> {
    reader::Reader::new(text, syntax).read()
}

/// Reads JSON into a value; with a schema, a number where only text is allowed keeps its literal text (`1e3`, `1.0`).
/// The value is typed as written: [`crate::coerce()`] converts it.
///
/// ```
/// use haft_schema::{Schema, json};
///
/// let schema = Schema::new(serde_json::json!({"properties": {"label": {"type": "string"}}}))?;
/// let value = json::read(r#"{"label": 1e3, "id": 123456789012345678901}"#, Some(schema.view()))?;
/// assert_eq!(value, serde_json::json!({"label": "1e3", "id": "123456789012345678901"}));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The first thing that does not fit, with its place.
pub fn read(text: &str, schema: Option<View<'_>>) -> Result<Value, ReadError> {
    Ok(parse(text, Syntax::Json)?.into_value(schema))
}

fn is_blank(character: char) -> bool {
    character.is_whitespace() || character == '\u{feff}'
}

#[cfg(test)]
mod tests;
