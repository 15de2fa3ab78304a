//! One word of the grammar: its value as far as it is known, and the substitutions inside it.

use brush_parser::word::{self, BraceExpressionOrText, WordPiece, WordPieceWithSource};

use crate::line::Word;
use crate::read;

/// A word with the texts that it runs.
#[derive(Debug, Default)]
pub(crate) struct ReadWord {
    /// Its value.
    pub(crate) word: Option<Word>,
    /// Texts of `$( )` and backticks.
    pub(crate) substitutions: Vec<String>,
    /// It cannot be read.
    pub(crate) unreadable: bool,
}

#[derive(Default)]
struct Reader {
    text: String,
    unknown: bool,
    /// An unquoted expansion stands in it, which may become several words.
    splits: bool,
    /// Text before the first unknown.
    begins: Option<bool>,
    substitutions: Vec<String>,
    unreadable: bool,
}

/// Deepest nesting of expansions inside one word.
const DEEPEST: usize = 20;

/// Reads a word as the grammar cut it out.
pub(crate) fn read(raw: &str) -> ReadWord {
    let mut reader = Reader::default();
    if is_plain(raw) {
        return ReadWord { word: Some(Word::known(raw)), ..ReadWord::default() };
    }
    if raw.contains('{') && has_brace_expansion(raw) {
        reader.unknown = true;
        reader.splits = true;
    }
    match word::parse(raw, &read::options()) {
        Ok(pieces) => reader.pieces(raw, &pieces, false, 0),
        Err(_) => reader.unreadable = true,
    }
    let begins = reader.begins.unwrap_or_else(|| !reader.text.is_empty() && !reader.text.starts_with('-'));
    let literal = !reader.unknown && !reader.unreadable;
    let operand = if literal { !reader.text.starts_with('-') } else { begins && !reader.splits };
    let word = Word { text: reader.text, literal, operand };
    ReadWord { word: Some(word), substitutions: reader.substitutions, unreadable: reader.unreadable }
}

/// The substitutions inside a here document.
pub(crate) fn read_document(raw: &str) -> ReadWord {
    let mut reader = Reader::default();
    match word::parse_heredoc(raw, &read::options()) {
        Ok(pieces) => reader.pieces(raw, &pieces, true, 0),
        Err(_) => reader.unreadable = true,
    }
    let word = Word { text: reader.text, literal: !reader.unknown, operand: true };
    ReadWord { word: Some(word), substitutions: reader.substitutions, unreadable: reader.unreadable }
}

/// True if no character means anything to a shell.
fn is_plain(raw: &str) -> bool {
    raw.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./:,=+%@".contains(&byte) || byte >= 0x80)
}

fn has_brace_expansion(raw: &str) -> bool {
    let found = word::parse_brace_expansions(raw, &read::options());
    let is_expression = |part: &BraceExpressionOrText| match part {
        BraceExpressionOrText::Expr(_) => true,
        BraceExpressionOrText::Text(_) => false,
    };
    found.is_ok_and(|parts| parts.is_some_and(|parts| parts.iter().any(is_expression)))
}

impl Reader {
    fn pieces(&mut self, raw: &str, pieces: &[WordPieceWithSource], quoted: bool, depth: usize) {
        if depth > DEEPEST {
            self.unreadable = true;
            return;
        }
        for piece in pieces {
            let source = || raw.get(piece.start_index..piece.end_index);
            match &piece.piece {
                WordPiece::Text(text) => {
                    if !quoted && text.contains(['*', '?', '[']) {
                        // A pattern of file names; it becomes what lies there.
                        self.unknown_from_here();
                    }
                    self.text.push_str(text);
                }
                WordPiece::SingleQuotedText(text) => self.text.push_str(text),
                WordPiece::AnsiCQuotedText(text) => match decoded(text) {
                    Some(text) => self.text.push_str(&text),
                    None => self.unreadable = true,
                },
                WordPiece::DoubleQuotedSequence(inner) | WordPiece::GettextDoubleQuotedSequence(inner) => {
                    self.pieces(raw, inner, true, depth + 1);
                }
                WordPiece::EscapeSequence(text) => {
                    let escaped = text.strip_prefix('\\').unwrap_or(text);
                    // Inside double quotes a backslash before most characters stays.
                    if quoted && !escaped.starts_with(['$', '`', '"', '\\', '\n']) {
                        self.text.push('\\');
                    }
                    self.text.push_str(escaped.strip_prefix('\n').unwrap_or(escaped));
                }
                WordPiece::TildeExpansion(_) => {
                    self.unknown_from_here();
                    self.begins = Some(true);
                    self.text.push_str(source().unwrap_or("~"));
                }
                WordPiece::CommandSubstitution(text) => {
                    self.expands(quoted, source());
                    self.substitutions.push(text.clone());
                }
                WordPiece::BackquotedCommandSubstitution(text) => {
                    self.expands(quoted, source());
                    self.substitutions.push(unescaped(text));
                }
                WordPiece::ParameterExpansion(_) | WordPiece::ArithmeticExpression(_) => {
                    let source = source();
                    self.expands(quoted, source);
                    self.inside(source, depth);
                }
            }
        }
    }

    fn unknown_from_here(&mut self) {
        self.unknown = true;
        if self.begins.is_none() {
            self.begins = Some(!self.text.is_empty() && !self.text.starts_with('-'));
        }
    }

    fn expands(&mut self, quoted: bool, source: Option<&str>) {
        self.unknown_from_here();
        self.splits |= !quoted;
        match source {
            Some(source) => self.text.push_str(source),
            None => self.unreadable = true,
        }
    }

    /// Looks for substitutions inside `${…}` and `$((…))`.
    fn inside(&mut self, source: Option<&str>, depth: usize) {
        let Some(source) = source.filter(|source| source.contains("$(") || source.contains('`')) else {
            return;
        };
        let inner = match (source.strip_prefix("${"), source.strip_prefix("$((")) {
            (Some(inner), _) => inner.strip_suffix('}'),
            (_, Some(inner)) => inner.strip_suffix("))"),
            (None, None) => None,
        };
        let Some(inner) = inner.filter(|_| depth < DEEPEST) else {
            self.unreadable = true;
            return;
        };
        let mut reader = Self::default();
        // As inside of double quotes: blanks and signs are text there.
        match word::parse_heredoc(inner, &read::options()) {
            Ok(pieces) => reader.pieces(inner, &pieces, true, depth + 1),
            Err(_) => reader.unreadable = true,
        }
        self.unreadable |= reader.unreadable;
        self.substitutions.append(&mut reader.substitutions);
    }
}

/// Backticks take one layer of backslashes.
fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let escapes = matches!(characters.peek(), Some('`' | '$' | '\\'));
        if !(character == '\\' && escapes) {
            plain.push(character);
        } else if let Some(next) = characters.next() {
            plain.push(next);
        }
    }
    plain
}

/// The value of `$'…'`; none if an escape is not known.
fn decoded(text: &str) -> Option<String> {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    let digits =
        |rest: &mut std::iter::Peekable<std::str::Chars<'_>>, radix: u32, most: usize, first: u32| {
            let mut value = first;
            for _ in 0..most {
                let Some(digit) = rest.peek().and_then(|digit| digit.to_digit(radix)) else { break };
                value = value.checked_mul(radix)?.checked_add(digit)?;
                rest.next();
            }
            char::from_u32(value).filter(|value| *value != '\0')
        };
    while let Some(character) = rest.next() {
        if character != '\\' {
            plain.push(character);
            continue;
        }
        plain.push(match rest.next()? {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'a' => '\u{7}',
            'b' => '\u{8}',
            'e' | 'E' => '\u{1b}',
            'f' => '\u{c}',
            'v' => '\u{b}',
            'x' => digits(&mut rest, 16, 2, 0)?,
            'u' => digits(&mut rest, 16, 4, 0)?,
            'U' => digits(&mut rest, 16, 8, 0)?,
            octal @ '0'..='7' => digits(&mut rest, 8, 2, octal.to_digit(8)?)?,
            sign @ ('\\' | '\'' | '"' | '?') => sign,
            _ => return None,
        });
    }
    Some(plain)
}
