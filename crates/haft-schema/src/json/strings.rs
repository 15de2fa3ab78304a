//! String literals: quotes, escapes, surrogates.

use std::borrow::Cow;

use super::reader::Reader;
use super::{Problem, ReadError, Syntax};

impl<'a> Reader<'a> {
    /// Reads a string whose opening quote is next.
    pub(super) fn string(&mut self, quote: u8) -> Result<Cow<'a, str>, ReadError> {
        let tripled: &[u8] = &[quote; 3];
        let closer = if self.syntax == Syntax::Literal && self.rest().starts_with(tripled) {
            tripled
        } else {
            &tripled[..1]
        };
        self.position += closer.len();
        let mut decoded = String::new();
        let mut plain_from = self.position;
        loop {
            let Some(byte) = self.peek() else { return Err(self.problem(Problem::Cut)) };
            if byte == quote && self.rest().starts_with(closer) {
                let plain = self.slice(plain_from, self.position);
                self.position += closer.len();
                if decoded.is_empty() {
                    return Ok(Cow::Borrowed(plain));
                }
                decoded.push_str(plain);
                return Ok(Cow::Owned(decoded));
            }
            if byte == b'\\' {
                decoded.push_str(self.slice(plain_from, self.position));
                self.escape(&mut decoded)?;
                plain_from = self.position;
            } else if byte < 0x20 && self.syntax == Syntax::Json {
                return Err(self.problem(Problem::Control));
            } else {
                self.position += 1;
            }
        }
    }

    fn escape(&mut self, into: &mut String) -> Result<(), ReadError> {
        let start = self.position;
        self.position += 1;
        let Some(kind) = self.peek() else { return Err(self.problem(Problem::Cut)) };
        let loose = self.syntax == Syntax::Literal;
        self.position += 1;
        let character = match kind {
            b'"' | b'\\' | b'/' => char::from(kind),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => self.unicode(4)?,
            b'\'' if loose => '\'',
            b'a' if loose => '\u{7}',
            b'v' if loose => '\u{b}',
            b'0' if loose && !self.peek().is_some_and(|byte| byte.is_ascii_digit()) => '\0',
            b'x' if loose => self.unicode(2)?,
            b'U' if loose => self.unicode(8)?,
            b'\n' if loose => return Ok(()),
            _ if loose => {
                // As Python does: an unknown escape is a backslash and what follows it.
                into.push('\\');
                self.position -= 1;
                return Ok(());
            }
            _ => return Err(ReadError { position: start, problem: Problem::Escape }),
        };
        into.push(character);
        Ok(())
    }

    /// A code unit in hex; a pair of surrogates is one character, a lone one is U+FFFD.
    fn unicode(&mut self, digits: usize) -> Result<char, ReadError> {
        let high = self.hex(digits)?;
        if (0xD800..0xDC00).contains(&high) && self.rest().starts_with(b"\\u") {
            let after_high = self.position;
            self.position += 2;
            match self.hex(4) {
                Ok(low @ 0xDC00..0xE000) => {
                    let code = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
                    return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                Ok(_) => self.position = after_high,
                Err(error) => return Err(error),
            }
        }
        Ok(char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hex(&mut self, digits: usize) -> Result<u32, ReadError> {
        let mut code = 0_u32;
        for _ in 0..digits {
            let Some(byte) = self.peek() else { return Err(self.problem(Problem::Cut)) };
            let Some(value) = char::from(byte).to_digit(16) else {
                return Err(self.problem(Problem::Escape));
            };
            code = code << 4 | value;
            self.position += 1;
        }
        Ok(code)
    }
}
