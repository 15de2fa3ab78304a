//! Looking at text that may not be complete yet. Every question that the end of the input leaves open is answered
//! [`NeedMore`], so that the answer never depends on where the text was cut.

/// The text seen so far does not decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NeedMore;

/// The answer to a question about the text, if it can be given yet.
pub(crate) type Reads<T> = Result<T, NeedMore>;

/// The text seen so far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source<'a> {
    text: &'a str,
    /// Whether nothing will follow.
    complete: bool,
    /// Behind the text stood a mark of its end.
    marked: bool,
}

/// White space, and what is invisible: byte order marks, NUL, zero-width characters.
pub(crate) fn is_blank(character: char) -> bool {
    character.is_whitespace() || is_invisible(character)
}

pub(crate) fn is_invisible(character: char) -> bool {
    matches!(character, '\0' | '\u{feff}' | '\u{200b}'..='\u{200d}' | '\u{2060}')
}

impl<'a> Source<'a> {
    pub(crate) fn new(text: &'a str, complete: bool) -> Self {
        Self { text, complete, marked: false }
    }

    /// The same text, behind which a mark of its end was cut off.
    pub(crate) fn before_mark(self) -> Self {
        Self { marked: true, ..self }
    }

    /// Whether a mark of its end was cut off behind the text.
    pub(crate) fn stands_before_mark(self) -> bool {
        self.marked
    }

    pub(crate) fn len(self) -> usize {
        self.text.len()
    }

    pub(crate) fn is_complete(self) -> bool {
        self.complete
    }

    pub(crate) fn bytes(self) -> &'a [u8] {
        self.text.as_bytes()
    }

    pub(crate) fn byte(self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    /// The text between two offsets; empty if they are no character boundaries, which they always are.
    pub(crate) fn slice(self, from: usize, to: usize) -> &'a str {
        self.text.get(from..to).unwrap_or_default()
    }

    pub(crate) fn rest(self, from: usize) -> &'a str {
        self.text.get(from..).unwrap_or_default()
    }

    /// Whether a character begins, or the text ends, here.
    pub(crate) fn is_boundary(self, at: usize) -> bool {
        self.text.is_char_boundary(at)
    }

    /// At most so many bytes right before an offset.
    pub(crate) fn slice_back(self, at: usize, length: usize) -> &'a str {
        let from = at.saturating_sub(length);
        let from = (from..=at).find(|from| self.text.is_char_boundary(*from)).unwrap_or(at);
        self.slice(from, at)
    }

    pub(crate) fn char_at(self, at: usize) -> Option<char> {
        match self.byte(at)? {
            byte @ 0..=0x7f => Some(char::from(byte)),
            _ => self.rest(at).chars().next(),
        }
    }

    /// The next offset that is not blank; the end of the text if there is none yet.
    pub(crate) fn skip_blanks(self, mut at: usize) -> usize {
        loop {
            match self.byte(at) {
                Some(b' ' | b'\n' | b'\r' | b'\t' | 0) => at += 1,
                Some(0x0b | 0x0c | 0x80..=0xff) => match self.char_at(at) {
                    Some(character) if is_blank(character) => at += character.len_utf8(),
                    _ => return at,
                },
                _ => return at,
            }
        }
    }

    /// The next offset behind blanks and lines of comment, `# …` or `// …`.
    pub(crate) fn skip_comments(self, at: usize) -> Reads<usize> {
        let mut at = self.skip_blanks(at);
        while self.has_word(at, "# ")? || self.has_word(at, "// ")? {
            let Some(length) = memchr::memchr(b'\n', self.bytes().get(at..).unwrap_or_default()) else {
                self.ends_at(self.len())?;
                return Ok(at);
            };
            at = self.skip_blanks(at + length + 1);
        }
        Ok(at)
    }

    /// Whether the text ends here.
    pub(crate) fn ends_at(self, at: usize) -> Reads<bool> {
        if at < self.text.len() {
            Ok(false)
        } else if self.complete {
            Ok(true)
        } else {
            Err(NeedMore)
        }
    }

    /// Whether a lower-case ASCII word stands here, in any case.
    pub(crate) fn has_word(self, at: usize, word: &str) -> Reads<bool> {
        let bytes = self.bytes().get(at..).unwrap_or_default();
        for (index, expected) in word.bytes().enumerate() {
            match bytes.get(index) {
                Some(byte) if byte.to_ascii_lowercase() == expected => {}
                Some(_) => return Ok(false),
                None if self.complete => return Ok(false),
                None => return Err(NeedMore),
            }
        }
        Ok(true)
    }

    /// Whether only blanks stand between the start of the line and this offset.
    pub(crate) fn begins_line(self, at: usize) -> bool {
        let before = self.slice(0, at).trim_end_matches(|character| character != '\n' && is_blank(character));
        before.is_empty() || before.ends_with('\n')
    }
}
