//! Options of a command: order and bundling do not matter.

use crate::line::Word;

/// Arguments that are no options.
pub(crate) fn operands(arguments: &[Word]) -> impl Iterator<Item = &Word> {
    let mut only_operands = false;
    arguments.iter().filter(move |word| {
        if only_operands {
            return true;
        }
        if word.literal && word.text == "--" {
            only_operands = true;
            return false;
        }
        !is_option(&word.text)
    })
}

/// Arguments that are options, as written.
pub(crate) fn options(arguments: &[Word]) -> impl Iterator<Item = &Word> {
    arguments
        .iter()
        .take_while(|word| !(word.literal && word.text == "--"))
        .filter(|word| is_option(&word.text))
}

pub(crate) fn is_option(text: &str) -> bool {
    text.len() > 1 && text.starts_with('-')
}

/// What one option word says, each letter of a bundle by itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Said {
    /// One letter, as in `-r` and `-rf`.
    Letter(char),
    /// A whole word: `--force`, `-name` of `find`, `-I{}`.
    Whole(String),
}

/// Programs whose options are words behind one dash.
const ONE_DASH_WORDS: [&str; 14] = [
    "find",
    "java",
    "javac",
    "go",
    "ffmpeg",
    "ffprobe",
    "openssl",
    "terraform",
    "gcc",
    "clang",
    "convert",
    "magick",
    "xset",
    "dotnet",
];

/// What the options of a command of `program` say, each once, in an order of their own.
pub(crate) fn said(program: &str, arguments: &[Word]) -> Vec<Said> {
    let mut all: Vec<Said> = options(arguments).flat_map(|word| of_word(program, &word.text)).collect();
    all.sort();
    all.dedup();
    all
}

/// What one option word of `program` says.
pub(crate) fn of_word(program: &str, text: &str) -> Vec<Said> {
    let bundle = text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    match bundle {
        Some(letters)
            if letters.chars().all(|letter| letter.is_ascii_alphanumeric())
                && !ONE_DASH_WORDS.contains(&program) =>
        {
            letters.chars().map(Said::Letter).collect()
        }
        Some(_) | None => vec![Said::Whole(text.to_owned())],
    }
}

/// True if the option word `given` may mean `wanted`: it is that word, an abbreviation of it, that word with a value, or a
/// bundle that has its letter.
pub(crate) fn may_mean(given: &str, wanted: &Said) -> bool {
    match wanted {
        Said::Letter(letter) => {
            given.strip_prefix('-').is_some_and(|rest| !rest.starts_with('-') && rest.contains(*letter))
        }
        Said::Whole(wanted) => {
            let (name, value) =
                given.split_once('=').map_or((given, None), |(name, value)| (name, Some(value)));
            let (wanted_name, wanted_value) =
                wanted.split_once('=').map_or((wanted.as_str(), None), |(name, value)| (name, Some(value)));
            let is_name = name == wanted_name
                || name.len() > 2 && name.starts_with("--") && wanted_name.starts_with(name);
            is_name && wanted_value.is_none_or(|wanted| value.is_none_or(|value| glob(wanted, value)))
        }
    }
}

/// True if `text` fits a pattern in which `*` is any run of characters.
pub(crate) fn glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let mut last = None;
    for part in parts {
        if let Some(part) = last.replace(part) {
            match rest.find(part) {
                Some(at) => rest = rest.get(at + part.len()..).unwrap_or(""),
                None => return false,
            }
        }
    }
    last.map_or(rest.is_empty(), |part| rest.ends_with(part))
}
