//! Special tokens as models write them: `<|tool_call_begin|>`, `<｜tool▁sep｜>`, `<tool_call|>`, `[TOOL_CALLS]`.
//!
//! Case, `_`, `▁`, blanks and the kind of bar do not count, so that the versions of one family accept each other's tokens.
//! The table says what a token means; it must not say what a message does with it.

use std::sync::LazyLock;

use crate::Dialect;
use crate::scan::{Reads, Source};

/// Longest name of a token, in bytes.
const MAX_NAME: usize = 48;

/// What a token is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// Opens a list of calls that have marks of their own.
    SectionOpen,
    SectionClose,
    /// Opens one call, or a list of calls in JSON or literals.
    CallOpen(Dialect),
    CallClose,
    /// Between a call's name and its arguments.
    Separator,
    /// Says nothing.
    Filler,
    ThinkOpen(Thinking),
    ThinkClose(Thinking),
    /// Opens or closes visible text.
    Frame,
    /// A tool's result, which is not the model's to write.
    Answer,
    /// A part of a message in channels.
    Channel(Part),
}

/// What reasoning is enclosed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Thinking {
    /// `<think>` and its like.
    Tag,
    /// `<|START_THINKING|>`
    Cohere,
    /// `<|inner_prefix|>`
    Inner,
    /// `[THINK]`
    Bracket,
    /// `<|channel>thought`
    Gemma,
    /// Up to the end of a message in channels.
    Message,
    /// `<|open|>think<|sep|>`
    Kimi,
}

/// The marks of messages in channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// `<|start|>`
    Start,
    /// `<|channel|>`
    Channel,
    /// `<|constrain|>`
    Constrain,
    /// `<|message|>`
    Message,
    /// `<|end|>`, `<|call|>`, `<|return|>`
    End,
    /// `<|open|>`
    Open,
    /// `<|close|>`
    Close,
    /// `<|sep|>`
    Separator,
    /// `<|message_model|>`
    Model,
    /// `<|content_invoke_tool_json|>`
    InvokeJson,
    /// `<|content_thinking|>`
    ContentThinking,
    /// `<|content_text|>`
    ContentText,
    /// `<|message_sep|>`
    MessageSeparator,
    /// `<|role_sep|>`
    RoleSeparator,
}

/// Where a token's bars stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Both,
    Left,
    Right,
    Bracket,
    /// None at all: only a few tokens are written so.
    Plain,
}

const ANY: &[Shape] = &[Shape::Both, Shape::Left, Shape::Right];
const BARS: &[Shape] = &[Shape::Both, Shape::Left];
const SQUARE: &[Shape] = &[Shape::Bracket];
const EVERY: &[Shape] = &[Shape::Both, Shape::Left, Shape::Bracket];
const PLAIN: &[Shape] = &[Shape::Both, Shape::Plain];

/// Name without separators in lower case, its shapes, and what it means.
const TOKENS: &[TokenRow] = &[
    ("toolcall", &[Shape::Right], Meaning::CallClose),
    ("toolcall", &[Shape::Both], Meaning::CallOpen(Dialect::Granite)),
    ("toolcall", &[Shape::Left], Meaning::CallOpen(Dialect::Gemma4)),
    ("/toolcall", ANY, Meaning::CallClose),
    ("toolcallbegin", BARS, Meaning::CallOpen(Dialect::DeepseekV31)),
    ("toolcallend", ANY, Meaning::CallClose),
    ("toolcallsbegin", BARS, Meaning::SectionOpen),
    ("toolcallsend", ANY, Meaning::SectionClose),
    ("toolcallssectionbegin", BARS, Meaning::SectionOpen),
    ("toolcallsectionbegin", BARS, Meaning::SectionOpen),
    ("toolcallssectionend", ANY, Meaning::SectionClose),
    ("toolcallsectionend", ANY, Meaning::SectionClose),
    ("toolsep", BARS, Meaning::Separator),
    ("toolcallargumentbegin", BARS, Meaning::Separator),
    ("toolcallargumentsbegin", BARS, Meaning::Separator),
    ("toolcallstart", BARS, Meaning::CallOpen(Dialect::Lfm2)),
    ("startaction", BARS, Meaning::CallOpen(Dialect::CohereAction)),
    ("endaction", ANY, Meaning::CallClose),
    ("toolsprefix", BARS, Meaning::CallOpen(Dialect::Apertus)),
    ("toolssuffix", ANY, Meaning::CallClose),
    ("functioncall", BARS, Meaning::CallOpen(Dialect::Gigachat3)),
    ("/functioncall", ANY, Meaning::CallClose),
    ("toolcalls", EVERY, Meaning::CallOpen(Dialect::Mistral)),
    ("toolcall", SQUARE, Meaning::CallOpen(Dialect::Mistral)),
    ("/toolcalls", EVERY, Meaning::CallClose),
    ("/toolcall", SQUARE, Meaning::CallClose),
    ("args", SQUARE, Meaning::Separator),
    ("callid", SQUARE, Meaning::Separator),
    ("toolrequest", SQUARE, Meaning::CallOpen(Dialect::LmStudio)),
    ("endtoolrequest", SQUARE, Meaning::CallClose),
    ("/toolrequest", SQUARE, Meaning::CallClose),
    ("toolresults", SQUARE, Meaning::Answer),
    ("toolresult", SQUARE, Meaning::Answer),
    ("pythontag", BARS, Meaning::CallOpen(Dialect::Llama3Json)),
    ("pythonstart", BARS, Meaning::CallOpen(Dialect::Pythonic)),
    ("pythonend", ANY, Meaning::CallClose),
    ("actionstart", BARS, Meaning::CallOpen(Dialect::Internlm2)),
    ("actionend", ANY, Meaning::CallClose),
    ("plugin", BARS, Meaning::Filler),
    ("startfunctioncall", PLAIN, Meaning::CallOpen(Dialect::FunctionGemma)),
    ("endfunctioncall", PLAIN, Meaning::CallClose),
    ("startfunctionresponse", PLAIN, Meaning::Answer),
    ("tooloutputsbegin", BARS, Meaning::Answer),
    ("tooloutputbegin", BARS, Meaning::Answer),
    ("toolresponse", BARS, Meaning::Answer),
    ("toolresponsestart", BARS, Meaning::Answer),
    ("starttoolresult", BARS, Meaning::Answer),
    ("observation", BARS, Meaning::Answer),
    ("startthinking", BARS, Meaning::ThinkOpen(Thinking::Cohere)),
    ("endthinking", ANY, Meaning::ThinkClose(Thinking::Cohere)),
    ("innerprefix", BARS, Meaning::ThinkOpen(Thinking::Inner)),
    ("innersuffix", ANY, Meaning::ThinkClose(Thinking::Inner)),
    ("think", EVERY, Meaning::ThinkOpen(Thinking::Bracket)),
    ("/think", EVERY, Meaning::ThinkClose(Thinking::Bracket)),
    ("startresponse", BARS, Meaning::Frame),
    ("endresponse", ANY, Meaning::Frame),
    ("starttext", BARS, Meaning::Frame),
    ("endtext", ANY, Meaning::Frame),
    ("assistant", BARS, Meaning::Frame),
    ("channel", &[Shape::Left], Meaning::ThinkOpen(Thinking::Gemma)),
    ("channel", &[Shape::Right], Meaning::ThinkClose(Thinking::Gemma)),
    ("start", &[Shape::Both], Meaning::Channel(Part::Start)),
    ("channel", &[Shape::Both], Meaning::Channel(Part::Channel)),
    ("constrain", &[Shape::Both], Meaning::Channel(Part::Constrain)),
    ("message", &[Shape::Both], Meaning::Channel(Part::Message)),
    ("end", &[Shape::Both], Meaning::Channel(Part::End)),
    ("call", &[Shape::Both], Meaning::Channel(Part::End)),
    ("return", &[Shape::Both], Meaning::Channel(Part::End)),
    ("open", &[Shape::Both], Meaning::Channel(Part::Open)),
    ("close", &[Shape::Both], Meaning::Channel(Part::Close)),
    ("sep", &[Shape::Both], Meaning::Channel(Part::Separator)),
    ("messagemodel", &[Shape::Both], Meaning::Channel(Part::Model)),
    ("contentinvoketooljson", &[Shape::Both], Meaning::Channel(Part::InvokeJson)),
    ("contentinvoketool", &[Shape::Both], Meaning::Channel(Part::InvokeJson)),
    ("contentthinking", &[Shape::Both], Meaning::Channel(Part::ContentThinking)),
    ("contenttext", &[Shape::Both], Meaning::Channel(Part::ContentText)),
    ("endmessage", &[Shape::Both], Meaning::Channel(Part::End)),
    ("contentmodelendsampling", &[Shape::Both], Meaning::Channel(Part::End)),
    ("eom", &[Shape::Both], Meaning::Channel(Part::End)),
    ("messagesep", &[Shape::Both], Meaning::Channel(Part::MessageSeparator)),
    ("rolesep", &[Shape::Both], Meaning::Channel(Part::RoleSeparator)),
];

/// The tokens by the length of their names.
static BY_LENGTH: LazyLock<Vec<Vec<TokenRow>>> = LazyLock::new(|| {
    let mut rows = vec![Vec::new(); MAX_NAME];
    for row in TOKENS {
        if let Some(rows) = rows.get_mut(row.0.len()) {
            rows.push(*row);
        }
    }
    rows
});

type TokenRow = (&'static str, &'static [Shape], Meaning);

/// A token of the table, or the beginning of one at which the text ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) meaning: Meaning,
    pub(crate) end: usize,
    /// The text ends inside of the token.
    pub(crate) cut: bool,
}

/// The token that begins at this offset, if one does.
pub(crate) fn token_at(source: Source<'_>, at: usize) -> Reads<Option<Token>> {
    let bracket = match source.byte(at) {
        Some(b'<') => false,
        Some(b'[') => true,
        _ => return Ok(None),
    };
    // Most brackets open no token.
    match source.byte(at + 1) {
        None => source.ends_at(at + 1).map(drop)?,
        Some(b'|' | b'/' | 0xEF | b't' | b'c' | b's' | b'e' | b'T' | b'C' | b'S' | b'E' | b'A' | b'a') => {}
        Some(_) => return Ok(None),
    }
    let mut name = Name::default();
    let mut cursor = at + 1;
    if source.byte(cursor) == Some(b'/') {
        name.push(b'/');
        cursor += 1;
    }
    let left = bar(source, cursor);
    cursor += left;
    if left > 0 && source.byte(cursor) == Some(b'/') {
        name.push(b'/');
        cursor += 1;
    }
    loop {
        match source.byte(cursor) {
            Some(byte) if byte.is_ascii_alphanumeric() => name.push(byte.to_ascii_lowercase()),
            Some(b'_' | b'-') => {}
            Some(b' ') if !name.is_empty() && left > 0 => {}
            Some(0xE2) if source.rest(cursor).starts_with('▁') => cursor += 2,
            _ => break,
        }
        cursor += 1;
        if cursor - at > MAX_NAME {
            return Ok(None);
        }
    }
    if source.ends_at(cursor)? {
        return Ok(cut(&name, left > 0, bracket, cursor));
    }
    let closer = if bracket { b']' } else { b'>' };
    let right = bar(source, cursor);
    cursor += right;
    if source.ends_at(cursor)? {
        return Ok(cut(&name, left > 0, bracket, cursor));
    }
    if source.byte(cursor) != Some(closer) {
        return Ok(None);
    }
    let shape = match (bracket, left > 0, right > 0) {
        (true, false, false) => Shape::Bracket,
        (true, ..) => return Ok(None),
        (false, true, true) => Shape::Both,
        (false, true, false) => Shape::Left,
        (false, false, true) => Shape::Right,
        // Those without any bar begin so; most tags end here.
        (false, false, false) if !matches!(name.as_bytes().first(), Some(b's' | b'e')) => return Ok(None),
        (false, false, false) => Shape::Plain,
    };
    let key = name.as_bytes();
    let found = BY_LENGTH.get(key.len()).and_then(|tokens| {
        // Names of one length differ at their ends mostly.
        tokens.iter().find(|(known, shapes, _)| {
            known.as_bytes().last() == key.last() && known.as_bytes() == key && shapes.contains(&shape)
        })
    });
    Ok(found.map(|(_, _, meaning)| Token { meaning: *meaning, end: cursor + 1, cut: false }))
}

/// The token that the end of the text cuts off.
fn cut(name: &Name, left: bool, bracket: bool, end: usize) -> Option<Token> {
    let begun = |(key, shapes, _): &&(&str, &[Shape], Meaning)| {
        let fits = |shape: &Shape| match shape {
            Shape::Both | Shape::Left => left,
            Shape::Right | Shape::Plain => !left && !bracket,
            Shape::Bracket => bracket && name.len > 0,
        };
        key.as_bytes().starts_with(name.as_bytes()) && shapes.iter().any(fits)
    };
    let (_, _, meaning) = TOKENS.iter().find(begun)?;
    Some(Token { meaning: *meaning, end, cut: true })
}

/// The length of a bar at this offset, ASCII or full-width; 0 if there is none.
fn bar(source: Source<'_>, at: usize) -> usize {
    match source.byte(at) {
        Some(b'|') => 1,
        Some(0xEF) if source.rest(at).starts_with('｜') => '｜'.len_utf8(),
        _ => 0,
    }
}

/// A token's name, normalized, without allocation.
struct Name {
    bytes: [u8; MAX_NAME],
    len: usize,
}

impl Default for Name {
    fn default() -> Self {
        Self { bytes: [0; MAX_NAME], len: 0 }
    }
}

impl Name {
    fn push(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.len) {
            *place = byte;
            self.len += 1;
        }
    }

    fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<(Meaning, usize, bool)> {
        token_at(Source::new(text, true), 0).unwrap().map(|token| (token.meaning, token.end, token.cut))
    }

    #[test]
    fn knows_tokens_in_all_spellings() {
        let text = "<｜tool▁calls▁begin｜>";
        for text in [text, "<|tool_calls_begin|>", "<|Tool Calls Begin|>", "<｜tool_calls_begin|>"] {
            assert_eq!(read(text), Some((Meaning::SectionOpen, text.len(), false)), "{text}");
        }
        assert_eq!(read("<tool_call|>"), Some((Meaning::CallClose, 12, false)));
        assert_eq!(read("<|tool_call>"), Some((Meaning::CallOpen(Dialect::Gemma4), 12, false)));
        assert_eq!(read("<|tool_call|>"), Some((Meaning::CallOpen(Dialect::Granite), 13, false)));
        assert_eq!(read("[TOOL_CALLS]x"), Some((Meaning::CallOpen(Dialect::Mistral), 12, false)));
        assert_eq!(read("<|/tool_call|>"), Some((Meaning::CallClose, 14, false)));
        assert_eq!(read("<end_function_call>"), Some((Meaning::CallClose, 19, false)));
        for text in [
            "<tool_call>",
            "<|DSML|invoke",
            "<|x|>",
            "[a, b]",
            "<|>",
            "<|\"|>",
            "[args",
            "<end>",
            "<|tool_call]",
        ] {
            assert!(read(text).is_none_or(|found| found.2), "{text}");
        }
    }

    #[test]
    fn a_token_that_is_not_whole_is_not_decided() {
        for text in ["<", "<|", "<|tool_ca", "<|tool_call|", "<｜tool▁", "[TOOL_", "[", "<tool_call"] {
            assert!(token_at(Source::new(text, false), 0).is_err(), "{text}");
        }
        assert_eq!(read("<|tool_call_e"), Some((Meaning::CallClose, 13, true)));
    }
}
