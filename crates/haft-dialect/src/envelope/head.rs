//! The name of a call that stands before its arguments: `functions.N:0<|tool_call_argument_begin|>{…}`, `N[ARGS]{…}`, `N␤{…}`.

use haft_schema::json::Literal;

use super::{Here, here};
use crate::Dialect;
use crate::artifact_xml::names::Names;
use crate::artifact_xml::tag::skip_filling;
use crate::call_json;
use crate::draft::Draft;
use crate::literal::{gemma, python};
use crate::scan::{Reads, Source, is_blank};
use crate::tokens::token_at;

/// Longest name or id, in bytes.
const MAX_HEAD: usize = 160;

/// How a name came to stand before its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stands {
    /// In the header of a message: all that follows is its input.
    InHeader,
    /// In front of a mark of the dialect.
    BeforeMark,
    /// As a word that could be anything.
    Alone,
}

/// A name that stands before its arguments.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head<'a> {
    /// As written, with index and prefix.
    pub(super) written: &'a str,
    pub(super) id: Option<&'a str>,
    /// A mark behind the name proves that it is whole.
    pub(super) named: bool,
    /// How the name came to stand before its arguments.
    pub(super) stands: Stands,
}

impl<'a> Head<'a> {
    /// Whether the name alone is a call: that of a tool that needs nothing, or one that nobody declared, where the form writes names so.
    pub(super) fn may_stand_alone(&self, form: Dialect, names: &Names) -> bool {
        let (name, _) = call_json::name_and_id(self.written, &names.tools);
        let in_json = matches!(
            form,
            Dialect::Hermes
                | Dialect::Hunyuan
                | Dialect::CohereAction
                | Dialect::CommandR
                | Dialect::Granite
                | Dialect::Granite20b
                | Dialect::Phi4
                | Dialect::Nemotron
                | Dialect::Gigachat3
                | Dialect::Apertus
                | Dialect::Internlm2
                | Dialect::LmStudio
        );
        let foreign = self.stands != Stands::Alone || !in_json;
        name.is_some_and(|name| {
            names.tools.resolve(name).map_or(foreign, |(tool, _)| tool.required.is_empty())
        })
    }

    /// Whether a mark or a header proves that this is the name.
    pub(super) fn is_marked(&self) -> bool {
        self.stands != Stands::Alone && self.written != "function"
    }

    pub(super) fn is_declared(&self, names: &Names) -> bool {
        let (name, _) = call_json::name_and_id(self.written, &names.tools);
        name.is_some_and(|name| names.tools.resolve(name).is_some())
    }

    /// Whether this is the name of the call that a value behind it stands for. A word is not, where nobody declared it and the value is a
    /// whole call; nor is the kind of a call, `function`.
    pub(super) fn names(&self, value: &Literal<'_>, names: &Names) -> bool {
        let (Some(name), _) = call_json::name_and_id(self.written, &names.tools) else { return true };
        if names.tools.resolve(call_json::bare_name(name, &names.tools)).is_some() {
            return true;
        }
        match self.stands {
            Stands::InHeader => true,
            Stands::BeforeMark => name != "function",
            Stands::Alone => {
                name != "function" && call_json::whole_call(value).is_none_or(|inner| inner == name)
            }
        }
    }

    /// Whether a value is the whole call once more, its name with its arguments.
    pub(super) fn is_repeated_in(&self, value: &Literal<'_>, names: &Names) -> bool {
        let (Some(name), _) = call_json::name_and_id(self.written, &names.tools) else { return false };
        let name = call_json::bare_name(name, &names.tools);
        call_json::whole_call(value).is_some_and(|inner| call_json::same_name(&inner, name, &names.tools))
    }

    pub(super) fn name_draft<'n>(&self, draft: &mut Draft<'a, 'n>, names: &'n Names) {
        let (name, id) = call_json::name_and_id(self.written, &names.tools);
        draft.id = self.id.or(id).map(str::to_owned);
        if let Some(name) = name.map(|name| call_json::bare_name(name, &names.tools)) {
            draft.set_name(std::borrow::Cow::Borrowed(name), names);
        }
    }
}

/// The end of the word that begins here and can be a name or an id.
pub(super) fn word_end(source: Source<'_>, at: usize) -> usize {
    let mut end = at;
    while let Some(character) = source.char_at(end) {
        let fits = !is_blank(character)
            && !matches!(
                character,
                '<' | '>'
                    | '{'
                    | '}'
                    | '['
                    | ']'
                    | '('
                    | ')'
                    | '`'
                    | '"'
                    | '\''
                    | ','
                    | ';'
                    | '='
                    | '|'
                    | '｜'
                    | '＜'
                    | '!'
                    | '?'
                    | '。'
                    | '，'
            );
        if !fits || end - at > MAX_HEAD {
            break;
        }
        end += character.len_utf8();
    }
    end
}

/// What a word in an envelope is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    /// `call:N{…}`, or `N{…}` without `call:`.
    Gemma,
    /// `N(…)`
    Python,
    /// A name; its arguments, or the mark behind it, stand at the offset. The flag says whether a mark follows.
    Name {
        end: usize,
        next: usize,
        marked: bool,
    },
    Prose,
}

/// Looks at the word that begins here.
pub(super) fn word_at(source: Source<'_>, names: &Names, at: usize) -> Reads<Word> {
    if gemma::begins_call(source, at)? {
        return Ok(Word::Gemma);
    }
    if python::begins_call(source, at)?.is_some() {
        return Ok(Word::Python);
    }
    let end = word_end(source, at);
    source.ends_at(end)?;
    if end == at {
        return Ok(Word::Prose);
    }
    let next = skip_filling(source, end)?;
    Ok(match here(source, names, next)? {
        Here::Separator(_) => Word::Name { end, next, marked: true },
        Here::Closer(..) | Here::End | Here::Next => Word::Name { end, next, marked: false },
        Here::Filler(_) => Word::Prose,
        Here::Other => match source.byte(next) {
            Some(b'{') => Word::Name { end, next, marked: true },
            Some(b'`') if source.has_word(next, "```")? => Word::Name { end, next, marked: true },
            _ => Word::Prose,
        },
    })
}

/// Whether the text ends in a word behind a marker, which can only be a name that was cut.
pub(crate) fn ends_in_name(source: Source<'_>, at: usize) -> Reads<bool> {
    let end = word_end(source, at);
    let next = source.skip_blanks(end);
    Ok(end > at && (source.ends_at(next)? || token_at(source, next)?.is_some_and(|token| token.cut)))
}

/// Whether what follows a marker begins a call, so that the marker is not only mentioned.
pub(crate) fn begins(source: Source<'_>, names: &Names, at: usize) -> Reads<bool> {
    let at = source.skip_comments(skip_filling(source, at)?)?;
    if source.ends_at(at)? {
        return Ok(false);
    }
    match here(source, names, at)? {
        Here::Filler(end) => return begins(source, names, end),
        // Arguments without a name.
        Here::Separator(end) => {
            let first = source.skip_blanks(end);
            return Ok(!source.ends_at(first)? && source.byte(first) == Some(b'{'));
        }
        Here::End | Here::Closer(..) | Here::Next => return Ok(false),
        Here::Other => {}
    }
    Ok(match source.byte(at) {
        Some(b'{' | b'[') => true,
        Some(0xEF) if source.rest(at).starts_with('｛') => true,
        // A call that was encoded once more.
        Some(b'"') => source.has_word(at, "\"{")?,
        Some(b'`') => source.has_word(at, "```")?,
        _ => match word_at(source, names, at)? {
            Word::Gemma | Word::Name { marked: true, .. } => true,
            // Prose has brackets too.
            Word::Python => {
                python::begins_declared(source, at, &names.tools)? || python::begins_keyword(source, at)?
            }
            Word::Name { end, marked: false, .. } => {
                let (name, _) = call_json::name_and_id(source.slice(at, end), &names.tools);
                name.is_some_and(|name| names.tools.resolve(name).is_some())
            }
            Word::Prose => false,
        },
    })
}
