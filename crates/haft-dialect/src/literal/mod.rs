//! Calls as programming languages write them: `N(K='V', K2=2)` (`python`) and `call:N{K:<|"|>V<|"|>}` (`gemma`).
//! It must not decide where such a text may stand; the envelope and the message do.

pub(crate) mod gemma;
pub(crate) mod python;

use std::borrow::Cow;

use haft_schema::json::Literal;

use crate::Repair;
use crate::scan::Source;

/// Names and values, as they were given.
pub(crate) type Arguments<'a> = Vec<(Cow<'a, str>, Literal<'a>)>;

/// A call that was read from a literal form.
#[derive(Debug)]
pub(crate) struct LiteralCall<'a> {
    pub(crate) name: &'a str,
    pub(crate) arguments: Arguments<'a>,
    pub(crate) end: usize,
    pub(crate) repair: Option<Repair>,
}

/// Why a call could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// The text ends before the call does.
    Cut,
    /// Something does not fit, at this offset.
    Unfit(usize),
}

/// Longest name of a tool, in bytes.
const MAX_NAME: usize = 128;

/// The end of the name that begins here: letters, digits, `_`, `-`, `.`; the offset itself if there is none.
pub(crate) fn name_end(source: Source<'_>, at: usize) -> usize {
    let mut end = at;
    while let Some(character) = source.char_at(end) {
        let fits = character.is_alphanumeric()
            || character == '_'
            || end > at && matches!(character, '-' | '.' | ':' | '/');
        if !fits || end - at > MAX_NAME {
            break;
        }
        end += character.len_utf8();
    }
    // A colon or point belongs to a name only inside of it.
    while end > at && matches!(source.byte(end - 1), Some(b':' | b'.' | b'/')) {
        end -= 1;
    }
    end
}
