//! One tag at a time, as models write them: any case, prefixes, attributes, `<name=value`, full-width brackets.
//! It must not know what a tag means; `names` does.

use std::borrow::Cow;

use super::entity;
use crate::scan::{Reads, Source, is_blank, is_invisible};

/// Longest tag name in bytes; what is longer is no tag.
const MAX_NAME: usize = 128;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TagKind {
    Open,
    Close,
    /// `<x/>`
    Empty,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Tag<'a> {
    pub(crate) kind: TagKind,
    /// The name without a namespace prefix.
    pub(crate) name: &'a str,
    pub(crate) attributes: &'a str,
    /// The text after `=` in `<name=value`.
    pub(crate) equals: Option<&'a str>,
    /// The offset after `=`.
    pub(crate) equals_at: usize,
    pub(crate) end: usize,
    /// Written with full-width brackets or slash.
    pub(crate) full_width: bool,
    /// The text ends inside of the tag.
    pub(crate) cut: bool,
    /// Its closing bracket is missing.
    pub(crate) unclosed: bool,
    /// The name stands behind a prefix.
    pub(crate) prefixed: bool,
}

impl<'a> Tag<'a> {
    const EMPTY: Tag<'static> = Tag {
        kind: TagKind::Open,
        name: "",
        attributes: "",
        equals: None,
        equals_at: 0,
        end: 0,
        full_width: false,
        cut: false,
        unclosed: false,
        prefixed: false,
    };

    /// The name that the tag carries: `<invoke name="x">`, `<function=x>`, `<argument key="x">`.
    pub(crate) fn carried_name(&self) -> Option<Cow<'a, str>> {
        match self.equals {
            Some(name) => Some(Cow::Borrowed(name)),
            None => self.attribute("name").or_else(|| self.attribute("key")),
        }
    }

    /// The value of one attribute.
    pub(crate) fn attribute(&self, name: &str) -> Option<Cow<'a, str>> {
        attributes(self.attributes).find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

/// The tag that begins at this offset, if one does.
#[inline]
pub(crate) fn tag_at(source: Source<'_>, at: usize) -> Reads<Option<Tag<'_>>> {
    match plain_tag_at(source, at) {
        Some(tag) => Ok(Some(tag)),
        None if begins_no_tag(source, at) => Ok(None),
        None => match tag_with_attributes_at(source, at) {
            Some(tag) => Ok(Some(tag)),
            None => any_tag_at(source, at),
        },
    }
}

/// Whether the first characters cannot begin a tag, as those of most brackets that are none.
fn begins_no_tag(source: Source<'_>, at: usize) -> bool {
    let bytes = source.bytes().get(at..).unwrap_or_default();
    let begins_prefix = |byte: Option<&u8>| byte.is_none_or(|byte| matches!(byte, b'd' | b'D'));
    match bytes {
        [b'<', b'|', rest @ ..] | [b'<', 0xEF, 0xBD, 0x9C, rest @ ..] => !begins_prefix(rest.first()),
        [b'<', next, ..] => {
            next.is_ascii() && !next.is_ascii_alphabetic() && !matches!(next, b'/' | b'_' | 0)
        }
        [b'<'] | [0xEF, ..] | [] => false,
        [_, ..] => true,
    }
}

/// A whole tag in its plain form, `<name>` or `</name>`: nearly all that are written well.
#[inline]
fn plain_tag_at(source: Source<'_>, at: usize) -> Option<Tag<'_>> {
    let rest = source.bytes().get(at..)?.strip_prefix(b"<")?;
    let (kind, rest, from) = match rest.strip_prefix(b"/") {
        Some(rest) => (TagKind::Close, rest, at + 2),
        None => (TagKind::Open, rest, at + 1),
    };
    let length =
        rest.iter().take(MAX_NAME).take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    let first = rest.first()?;
    if rest.get(length) != Some(&b'>') || first.is_ascii_digit() || length == 0 {
        return None;
    }
    let name = without_family(source.slice(from, from + length));
    Some(Tag { kind, name, end: from + length + 1, ..Tag::EMPTY })
}

/// What stands before every name in the dialect of DeepSeek V3.2.
const DSML: &[u8] = "｜DSML｜".as_bytes();

/// A whole tag in the forms `<name key="value">`, `<｜DSML｜name>` and `</｜DSML｜name>`: most of those that are not plain.
fn tag_with_attributes_at(source: Source<'_>, at: usize) -> Option<Tag<'_>> {
    let bytes = source.bytes();
    let kind = if bytes.get(at + 1) == Some(&b'/') { TagKind::Close } else { TagKind::Open };
    let start = at + 1 + usize::from(kind == TagKind::Close);
    let prefixed = bytes.get(start..)?.starts_with(DSML);
    let from = if prefixed { start + DSML.len() } else { start };
    let is_letter = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_';
    let word = |from: usize| {
        bytes.get(from..).map_or(0, |rest| rest.iter().take_while(|byte| is_letter(byte)).count())
    };
    let length = word(from);
    let name = source.slice(from, from + length);
    // Those without a blank in the prefix have another name.
    if length == 0 || length > MAX_NAME || prefixed && name == "calls" {
        return None;
    }
    let behind = from + length;
    let mut end = behind;
    while kind == TagKind::Open && bytes.get(end) == Some(&b' ') {
        let key = word(end + 1);
        let value = end + 1 + key + 2;
        if key == 0 || bytes.get(value - 2..value) != Some(b"=\"") {
            return None;
        }
        end = value + memchr::memchr(b'"', bytes.get(value..)?)? + 1;
    }
    let attributes = source.slice(behind, end).trim_start_matches(' ');
    (bytes.get(end) == Some(&b'>')).then_some(Tag {
        kind,
        name,
        attributes,
        end: end + 1,
        prefixed,
        ..Tag::EMPTY
    })
}

fn any_tag_at(source: Source<'_>, at: usize) -> Reads<Option<Tag<'_>>> {
    let mut cursor = Cursor { source, at, full_width: false };
    if !cursor.take('<', '＜') {
        return Ok(None);
    }
    cursor.skip_invisible();
    if cursor.source.ends_at(cursor.at)? {
        return Ok(None);
    }
    let closing = cursor.take('/', '／');
    if closing {
        cursor.at = source.skip_blanks(cursor.at);
    }
    // Half a close tag of the family at the end of the text.
    let rest = source.rest(cursor.at);
    if closing && source.is_complete() && !rest.is_empty() && "｜DSML｜".starts_with(rest) {
        let (kind, end) = (TagKind::Close, source.len());
        return Ok(Some(Tag { kind, end, cut: true, prefixed: true, ..Tag::EMPTY }));
    }
    let prefixed = cursor.skip_prefix()?;
    let Some(name) = cursor.name()? else { return Ok(None) };
    // `<｜DSML｜ calls>`
    let name = if prefixed && name == "calls" { "tool_calls" } else { name };
    let kind = if closing { TagKind::Close } else { TagKind::Open };
    let full = name;
    let name = match full.split_once(':') {
        // A suffix for one model behind the marks of a family.
        Some((head, _)) if SUFFIXED.contains(&head) => head,
        _ => full.rsplit(':').next().unwrap_or(full),
    };
    let name = without_family(name);
    let prefixed = prefixed || full.len() > name.len();
    let mut tag = Tag { kind, name, end: cursor.at, full_width: cursor.full_width, prefixed, ..Tag::EMPTY };
    if name.is_empty() && !(closing && cursor.source.ends_at(cursor.at)?) {
        return Ok(None);
    }
    // `<function = name>`
    let blanks = source.rest(cursor.at).bytes().take_while(|byte| *byte == b' ').count();
    if blanks > 0 && ASSIGNING.contains(&tag.name) {
        source.ends_at(cursor.at + blanks)?;
        if source.byte(cursor.at + blanks) == Some(b'=') {
            cursor.at += blanks;
        }
    }
    if kind == TagKind::Open && cursor.take('=', '＝') {
        return cursor.equals(tag);
    }
    // `</parameter=key>`
    if closing && cursor.take('=', '＝') {
        let closed = cursor.equals(tag)?;
        return Ok(closed.map(|tag| Tag { kind, equals: None, ..tag }));
    }
    cursor.finish(&mut tag).map(|found| found.then_some(tag))
}

/// Elements whose name stands behind `=` in Qwen's form.
const ASSIGNING: [&str; 2] = ["function", "parameter"];

/// Whether a text up to the end of its line is the name behind `=` in an element of that form.
fn assigns_name(tag: &str, text: &str) -> bool {
    let name = text.trim_matches(is_blank);
    let is_name = |character: char| character.is_alphanumeric() || matches!(character, '_' | '-' | '.');
    ASSIGNING.contains(&tag) && !name.is_empty() && name.chars().all(is_name)
}

/// Names behind which a suffix may stand: `<tool_call:model>`.
const SUFFIXED: [&str; 6] = ["tool_calls", "tool_call", "tool_sep", "arg_key", "arg_value", "think"];

/// The elements of pairs of keys and values, and what stands before them.
pub(super) const PAIRED: [&str; 3] = ["arg_key", "arg_value", "tool_sep"];

/// The name of an element of pairs in any case, without the family that stands before it (`<longcat_arg_key>`); others as they are.
fn without_family(name: &str) -> &str {
    let bare = name.strip_prefix("longcat_").unwrap_or(name);
    if !(7..=9).contains(&bare.len()) {
        return name;
    }
    PAIRED.into_iter().find(|pair| pair.eq_ignore_ascii_case(bare)).unwrap_or(name)
}

struct Cursor<'a> {
    source: Source<'a>,
    at: usize,
    full_width: bool,
}

impl<'a> Cursor<'a> {
    fn peek(&self) -> Option<char> {
        self.source.char_at(self.at)
    }

    fn take(&mut self, narrow: char, wide: char) -> bool {
        match self.peek() {
            Some(character) if character == narrow => {}
            Some(character) if character == wide => self.full_width = true,
            _ => return false,
        }
        self.at += self.peek().map_or(0, char::len_utf8);
        true
    }

    fn skip_invisible(&mut self) {
        while let Some(character) = self.peek().filter(|character| is_invisible(*character)) {
            self.at += character.len_utf8();
        }
    }

    /// `｜DSML｜` before a name.
    fn skip_prefix(&mut self) -> Reads<bool> {
        let is_bar = |character: Option<char>| matches!(character, Some('|' | '｜'));
        if !is_bar(self.peek()) {
            return Ok(false);
        }
        let start = self.at;
        self.at += self.peek().map_or(0, char::len_utf8);
        let rest = self.source.rest(self.at);
        if rest.len() <= "dsml".len()
            && "dsml".get(..rest.len()).is_some_and(|head| head.eq_ignore_ascii_case(rest))
        {
            // The text ends inside of the prefix.
            self.source.ends_at(self.source.len())?;
            self.at = self.source.len();
            return Ok(true);
        }
        if self.source.has_word(self.at, "dsml")? {
            self.at += "dsml".len();
            self.source.ends_at(self.at)?;
            if is_bar(self.peek()) {
                self.at += self.peek().map_or(0, char::len_utf8);
                self.at = self.source.skip_blanks(self.at);
                self.source.ends_at(self.at)?;
                return Ok(true);
            }
        }
        self.at = start;
        Ok(false)
    }

    /// The characters of a name. A name that touches the end of an incomplete text is not decided.
    fn name(&mut self) -> Reads<Option<&'a str>> {
        let start = self.at;
        while let Some(character) = self.peek() {
            let fits = match character {
                'a'..='z' | 'A'..='Z' | '_' => true,
                '0'..='9' | '-' | '.' | ':' => self.at > start,
                '\0'..='\x7f' => false,
                other => !is_blank(other) && !matches!(other, '＜' | '＞' | '／' | '＝' | '｜'),
            };
            if !fits {
                return Ok(Some(self.source.slice(start, self.at)));
            }
            self.at += character.len_utf8();
            if self.at - start > MAX_NAME {
                return Ok(None);
            }
        }
        self.source.ends_at(self.at)?;
        Ok(Some(self.source.slice(start, self.at)))
    }

    /// Everything after the name up to the closing bracket.
    fn finish(&mut self, tag: &mut Tag<'a>) -> Reads<bool> {
        let from = self.at;
        let mut quote: Option<char> = None;
        let mut slash_at = None;
        let mut after_equals = false;
        loop {
            if self.source.ends_at(self.at)? {
                tag.cut = true;
                tag.end = self.at;
                return Ok(true);
            }
            let Some(character) = self.peek() else { return Ok(false) };
            match (quote, character) {
                (Some(open), character) => {
                    if closes(open, character) {
                        quote = None;
                    }
                }
                (None, '>' | '＞') => {
                    tag.full_width |= self.full_width || character == '＞';
                    let attributes_end = slash_at.unwrap_or(self.at);
                    tag.attributes = self.source.slice(from, attributes_end).trim_matches(is_blank);
                    if slash_at.is_some() && tag.kind == TagKind::Open {
                        tag.kind = TagKind::Empty;
                    }
                    tag.end = self.at + character.len_utf8();
                    return Ok(true);
                }
                (None, '<' | '＜') => {
                    // `</query` with its bracket missing, right before the next tag.
                    tag.end = self.at;
                    tag.unclosed = true;
                    return Ok(self.source.slice(from, self.at).chars().all(is_blank));
                }
                // A name is followed by a blank or by the end of the tag, by nothing else.
                (None, character)
                    if self.at == from && !is_blank(character) && !matches!(character, '/' | '／') =>
                {
                    return Ok(false);
                }
                (None, '"' | '\'' | '“') if after_equals => quote = Some(character),
                (None, '/' | '／') => {
                    slash_at = Some(self.at);
                    self.full_width |= character == '／';
                    self.at += character.len_utf8();
                    continue;
                }
                (None, _) => {}
            }
            if !is_blank(character) {
                slash_at = None;
                after_equals = matches!(character, '=' | '＝');
            }
            self.at += character.len_utf8();
        }
    }

    /// `<name=value>`, `<name="value">`, `<name=value</name>` (the close tag is left).
    fn equals(&mut self, mut tag: Tag<'a>) -> Reads<Option<Tag<'a>>> {
        let from = self.at;
        let quote = self.peek().filter(|character| matches!(character, '"' | '\'' | '“'));
        if let Some(open) = quote {
            self.at += open.len_utf8();
        }
        let mut inside = quote;
        loop {
            if self.source.ends_at(self.at)? {
                tag.cut = true;
                break;
            }
            let Some(character) = self.peek() else { return Ok(None) };
            match (inside, character) {
                (Some(open), character) if closes(open, character) => inside = None,
                // `<parameter=key=` with its value on the next line.
                (None, '\n') if self.source.slice(from, self.at).trim_end().ends_with('=') => break,
                // `<function=name` with its bracket missing at the end of the line.
                (None, '\n') if assigns_name(tag.name, self.source.slice(from, self.at)) => {
                    tag.unclosed = true;
                    break;
                }
                (Some(_) | None, '\n') => return Ok(None),
                (None, '>' | '＞' | '<' | '＜') => break,
                _ => {}
            }
            self.at += character.len_utf8();
        }
        let mut value = self.source.slice(from, self.at).trim_matches(is_blank);
        if matches!(self.peek(), Some('>' | '＞')) {
            if let Some(bare) = value.strip_suffix('/') {
                value = bare;
                tag.kind = TagKind::Empty;
            }
            self.at += self.peek().map_or(0, char::len_utf8);
        }
        let unquoted = quote
            .and_then(|open| value.strip_prefix(open)?.strip_suffix(|character| closes(open, character)));
        tag.equals_at = from;
        tag.equals = Some(unquoted.unwrap_or(value).trim_matches(is_blank));
        tag.end = self.at;
        tag.full_width |= self.full_width;
        Ok(Some(tag))
    }
}

fn closes(open: char, character: char) -> bool {
    character == if open == '“' { '”' } else { open }
}

/// The attributes of a tag, entities decoded, without declarations of name spaces.
pub(crate) fn attributes(raw: &str) -> Attributes<'_> {
    Attributes { rest: raw }
}

/// Attributes, one after the other.
pub(crate) struct Attributes<'a> {
    rest: &'a str,
}

impl<'a> Attributes<'a> {
    /// The next attribute in its plain form: `name="value"`.
    fn plain(&mut self) -> Option<(&'a str, &'a str)> {
        let rest = self.rest.strip_prefix(' ').unwrap_or(self.rest);
        let length = rest.bytes().take_while(|byte| byte.is_ascii_alphabetic() || *byte == b'_').count();
        let (name, after) =
            rest.split_at_checked(length).filter(|(name, _)| !name.is_empty() && *name != "xmlns")?;
        let after = after.strip_prefix("=\"")?;
        let (value, after) = after.split_at_checked(memchr::memchr(b'"', after.as_bytes())?)?;
        self.rest = after.get(1..)?;
        Some((name, value))
    }

    /// The next attribute in any form; the name is empty if it is none.
    fn any(&mut self) -> Option<(&'a str, &'a str)> {
        let rest = self.rest.trim_start_matches(|character| is_blank(character) || character == ',');
        let equals = rest.find(['=', '＝'])?;
        let name = rest.get(..equals).unwrap_or_default().trim_matches(is_blank);
        // A word without a value stands before the name: `<params required query="x">`.
        let name = name.rsplit(is_blank).next().unwrap_or(name);
        let after = rest.get(equals..).unwrap_or_default();
        let after = after.trim_start_matches(['=', '＝']).trim_start_matches(is_blank);
        let (value, remaining) = match after.chars().next() {
            Some(open @ ('"' | '\'' | '“')) => {
                let inner = after.get(open.len_utf8()..).unwrap_or_default();
                let end = inner.find(|character| closes(open, character)).unwrap_or(inner.len());
                let remaining = inner.get(end..).unwrap_or_default();
                let skip = remaining.chars().next().map_or(0, char::len_utf8);
                (inner.get(..end).unwrap_or_default(), remaining.get(skip..).unwrap_or_default())
            }
            _ => {
                let end = after.find(is_blank).unwrap_or(after.len());
                (after.get(..end).unwrap_or_default(), after.get(end..).unwrap_or_default())
            }
        };
        self.rest = remaining;
        let declares = name.split(':').next() == Some("xmlns");
        Some((if declares { "" } else { name.rsplit(':').next().unwrap_or(name) }, value))
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = (&'a str, Cow<'a, str>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (name, value) = match self.plain() {
                Some(plain) => plain,
                None => self.any()?,
            };
            if !name.is_empty() {
                return Some((name, entity::decode(value)));
            }
        }
    }
}

/// The content's start if a CDATA section opens at this offset.
pub(crate) fn cdata_at(source: Source<'_>, at: usize) -> Reads<Option<usize>> {
    let bracket = match source.char_at(at) {
        Some(character @ ('<' | '＜')) => character.len_utf8(),
        _ => return Ok(None),
    };
    const WORD: &str = "![cdata[";
    Ok(source.has_word(at + bracket, WORD)?.then_some(at + bracket + WORD.len()))
}

/// The offset after blanks and XML comments.
pub(crate) fn skip_filling(source: Source<'_>, at: usize) -> Reads<usize> {
    let mut at = source.skip_blanks(at);
    while source.byte(at) == Some(b'<') && source.byte(at + 1).is_none_or(|byte| byte == b'!') {
        if !source.has_word(at, "<!--")? {
            return Ok(at);
        }
        match memchr::memmem::find(source.bytes().get(at + 4..).unwrap_or_default(), b"-->") {
            Some(length) => at = source.skip_blanks(at + 4 + length + 3),
            None => {
                source.ends_at(source.len())?;
                return Ok(source.len());
            }
        }
    }
    Ok(at)
}

/// Longest comment that is skipped between a tag and its value, in bytes.
const MAX_COMMENT: usize = 512;

/// The offset after blanks and short XML comments that are closed.
pub(crate) fn skip_short_comments(source: Source<'_>, at: usize) -> Reads<usize> {
    let mut at = source.skip_blanks(at);
    while source.byte(at) == Some(b'<') && source.has_word(at, "<!--")? {
        let limit = at + MAX_COMMENT;
        let window = source.bytes().get(at + 4..limit.min(source.len())).unwrap_or_default();
        match memchr::memmem::find(window, b"-->") {
            Some(length) => at = source.skip_blanks(at + 4 + length + 3),
            None if limit <= source.len() => return Ok(at),
            None => {
                source.ends_at(source.len())?;
                return Ok(at);
            }
        }
    }
    Ok(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<(TagKind, &str, &str, Option<&str>, usize)> {
        let tag = tag_at(Source::new(text, true), 0).unwrap()?;
        Some((tag.kind, tag.name, tag.attributes, tag.equals, tag.end))
    }

    #[test]
    fn reads_tags() {
        assert_eq!(read("<a>"), Some((TagKind::Open, "a", "", None, 3)));
        assert_eq!(read("</ns:a >x"), Some((TagKind::Close, "a", "", None, 8)));
        assert_eq!(read("<a b=\"x>y\" />"), Some((TagKind::Empty, "a", "b=\"x>y\"", None, 13)));
        assert_eq!(
            read("<a b=\"x>y\" c_d=\"\">"),
            Some((TagKind::Open, "a", "b=\"x>y\" c_d=\"\"", None, 18))
        );
        assert_eq!(read("<a b=\"x\"c=\"d\">"), Some((TagKind::Open, "a", "b=\"x\"c=\"d\"", None, 14)));
        let marked = "<｜DSML｜invoke name=\"x\">";
        assert_eq!(read(marked), Some((TagKind::Open, "invoke", "name=\"x\"", None, marked.len())));
        assert_eq!(read("</｜DSML｜invoke>"), Some((TagKind::Close, "invoke", "", None, 19)));
        assert_eq!(read("<｜DSML｜calls>").map(|tag| tag.1), Some("tool_calls"));
        assert_eq!(read("<name=foo</name>"), Some((TagKind::Open, "name", "", Some("foo"), 9)));
        assert_eq!(read("<name=\"foo\"/>"), Some((TagKind::Empty, "name", "", Some("foo"), 13)));
        assert_eq!(read("＜/query＞"), Some((TagKind::Close, "query", "", None, "＜/query＞".len())));
        assert_eq!(read("</query\n</params>"), Some((TagKind::Close, "query", "", None, 8)));
        assert_eq!(read("<query<![CDATA["), Some((TagKind::Open, "query", "", None, 6)));
        assert_eq!(read("<\0a\u{feff}>"), Some((TagKind::Open, "a", "", None, 7)));
        for text in ["< b", "<", "<<a>", "<1>", "<a b <c>", "a", "<!x>", "<|im_end|>", "<a\"b>"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn an_incomplete_tag_is_not_decided() {
        for text in ["<", "</", "<a", "</a", "<a b", "<a b=\"", "<name=fo", "<a/", "＜a"] {
            assert!(tag_at(Source::new(text, false), 0).is_err(), "{text}");
        }
        assert!(tag_at(Source::new("</tool_ca", true), 0).unwrap().unwrap().cut);
    }

    #[test]
    fn reads_attributes() {
        let found: Vec<_> =
            attributes("query=\"peat &amp; heather\" limit='4' x:exact = yes note=“a b”").collect();
        let expected = [("query", "peat & heather"), ("limit", "4"), ("exact", "yes"), ("note", "a b")];
        assert_eq!(found, expected.map(|(name, value)| (name, Cow::Borrowed(value))));
        let odd = "xmlns:a=\"b\" a:key=\"c\" required xmlns=\"d\" _k=\"e=\\\" f=\"g\"h=i";
        let expected = [("key", "c"), ("_k", "e=\\"), ("f", "g"), ("h", "i")];
        assert_eq!(
            attributes(odd).collect::<Vec<_>>(),
            expected.map(|(name, value)| (name, Cow::Borrowed(value)))
        );
    }

    #[test]
    fn finds_sections_and_comments() {
        let at = |text| cdata_at(Source::new(text, true), 0).unwrap();
        assert_eq!(at("<![cdata[x"), Some(9));
        assert_eq!(at("<![CDAT[x"), None);
        assert!(cdata_at(Source::new("<![CD", false), 0).is_err());
        assert_eq!(skip_filling(Source::new(" <!-- <a> --> \0<b>", true), 0), Ok(15));
    }
}
