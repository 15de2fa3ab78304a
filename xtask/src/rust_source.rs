//! Splits Rust source into code, comments and literals, so that a check can look at one of them alone.
//!
//! It knows just enough of the grammar for that: nested block comments, raw strings, character literals beside
//! lifetimes. It must not try to understand more. Start reading at [`split`].

use std::ops::Range;

/// What a stretch of source is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Everything that is neither comment nor literal.
    Code,
    /// A line or block comment, doc comments included.
    Comment,
    /// A string, byte string, C string or character literal.
    Literal,
}

/// One stretch of source: its kind and its byte range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) kind: Kind,
    pub(crate) range: Range<usize>,
}

/// Splits `source` into pieces that together cover it without a gap.
pub(crate) fn split(source: &str) -> Vec<Piece> {
    let bytes = source.as_bytes();
    let mut pieces: Vec<Piece> = Vec::new();
    let mut code_start = 0;
    let mut at = 0;
    while at < bytes.len() {
        let Some((kind, end)) = comment_or_literal(source, at) else {
            at += 1;
            continue;
        };
        if code_start < at {
            pieces.push(Piece { kind: Kind::Code, range: code_start..at });
        }
        pieces.push(Piece { kind, range: at..end });
        at = end;
        code_start = end;
    }
    if code_start < bytes.len() {
        pieces.push(Piece { kind: Kind::Code, range: code_start..bytes.len() });
    }
    pieces
}

/// The source with every byte of comments and literals replaced by a blank; line ends and offsets stay.
pub(crate) fn code_only(source: &str) -> String {
    let mut masked = String::with_capacity(source.len());
    for piece in split(source) {
        let text = &source[piece.range];
        match piece.kind {
            Kind::Code => masked.push_str(text),
            Kind::Comment | Kind::Literal => {
                masked.extend(text.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
            }
        }
    }
    masked
}

/// The number, from 1, of the line that holds byte `offset`.
pub(crate) fn line_of(source: &str, offset: usize) -> usize {
    1 + source.as_bytes().iter().take(offset).filter(|byte| **byte == b'\n').count()
}

/// The kind and end of the comment or literal that starts at byte `at`, if one does.
fn comment_or_literal(source: &str, at: usize) -> Option<(Kind, usize)> {
    let bytes = source.as_bytes();
    let rest = &bytes[at..];
    match rest {
        [b'/', b'/', ..] => {
            let length = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
            Some((Kind::Comment, at + length))
        }
        [b'/', b'*', ..] => Some((Kind::Comment, at + block_comment_length(rest))),
        [b'"', ..] => Some((Kind::Literal, at + quoted_length(rest, b'"'))),
        [b'\'', ..] => character_length(&source[at..]).map(|length| (Kind::Literal, at + length)),
        [b'r', ..] if !continues_a_name(bytes, at) => {
            raw_string_length(rest).map(|length| (Kind::Literal, at + length))
        }
        _ => None,
    }
}

/// True when the byte before `at` belongs to a name, so that an `r` there opens no raw string.
/// The `b` and `c` of `br"…"` and `cr"…"` are no such name.
fn continues_a_name(bytes: &[u8], at: usize) -> bool {
    let before = &bytes[..at];
    let before = before.strip_suffix(b"b").or_else(|| before.strip_suffix(b"c")).unwrap_or(before);
    before.last().is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_' || !byte.is_ascii())
}

fn block_comment_length(rest: &[u8]) -> usize {
    let mut depth = 0usize;
    let mut at = 0;
    while at < rest.len() {
        match rest[at..] {
            [b'/', b'*', ..] => {
                depth += 1;
                at += 2;
            }
            [b'*', b'/', ..] => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    rest.len()
}

/// Length of a literal that opens with `quote` at byte 0, escapes minded.
fn quoted_length(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// Length of the character literal at the start of `rest`; `None` for a lifetime.
fn character_length(rest: &str) -> Option<usize> {
    let mut characters = rest.char_indices().skip(1);
    let (_, first) = characters.next()?;
    if first == '\\' {
        return Some(quoted_length(rest.as_bytes(), b'\''));
    }
    let (end, second) = characters.next()?;
    (second == '\'').then_some(end + 1)
}

/// Length of the raw string at the start of `rest` (`r"…"`, `r#"…"#`); `None` for a raw name or a plain `r`.
fn raw_string_length(rest: &[u8]) -> Option<usize> {
    let hashes = rest.iter().skip(1).take_while(|byte| **byte == b'#').count();
    let open = 1 + hashes;
    if rest.get(open) != Some(&b'"') {
        return None;
    }
    let mut close = vec![b'"'];
    close.resize(1 + hashes, b'#');
    let body = &rest[open + 1..];
    let length = body.windows(close.len()).position(|window| window == close);
    Some(length.map_or(rest.len(), |length| open + 1 + length + close.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str, kind: Kind) -> Vec<&str> {
        split(source)
            .into_iter()
            .filter(|piece| piece.kind == kind)
            .map(|piece| &source[piece.range])
            .collect()
    }

    #[test]
    fn comments_are_told_from_strings() {
        let source = "let a = \"// no\"; // yes\n/* a /* nested */ b */ let b = r#\"/* \" no */\"#; /// doc";
        assert_eq!(texts(source, Kind::Comment), ["// yes", "/* a /* nested */ b */", "/// doc"]);
        assert_eq!(texts(source, Kind::Literal), ["\"// no\"", "r#\"/* \" no */\"#"]);
    }

    #[test]
    fn lifetimes_are_not_characters() {
        let source = "fn f<'a>(x: &'a str, c: char) { c == '\"' || c == '\\'' || c == 'é' } // end";
        assert_eq!(texts(source, Kind::Literal), ["'\"'", "'\\''", "'é'"]);
        assert_eq!(texts(source, Kind::Comment), ["// end"]);
    }

    #[test]
    fn raw_names_and_prefixes() {
        let source = "let r#type = br\"\\\"; let color\n= cr#\"x\"#; bar\"y\"";
        assert_eq!(texts(source, Kind::Literal), ["r\"\\\"", "r#\"x\"#", "\"y\""]);
    }

    #[test]
    fn pieces_cover_the_source_also_when_it_is_cut() {
        let source = "fn é() { \"a\\\" // \" } /* b */ 'c' r##\"d\"## // é";
        for (cut, _) in source.char_indices() {
            let cut = &source[..cut];
            let mut at = 0;
            for piece in split(cut) {
                assert_eq!(piece.range.start, at, "{cut}");
                at = piece.range.end;
            }
            assert_eq!(at, cut.len(), "{cut}");
        }
    }

    #[test]
    fn masked_code_keeps_offsets_and_lines() {
        let source = "a\n\"}é\n{\"/* { */b";
        let masked = code_only(source);
        assert_eq!(masked, "a\n    \n         b".to_owned());
        assert_eq!(masked.len(), source.len());
        assert_eq!(line_of(source, source.len() - 1), 3);
    }
}
