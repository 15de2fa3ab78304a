//! Programs that run other programs: which of their arguments are the command that they run.

use crate::line::Word;

/// What a program runs besides itself.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Runs<'a> {
    /// Nothing that its arguments name.
    Nothing,
    /// A command that begins at this argument; whether more arguments come when it runs.
    Command {
        /// Its program and arguments.
        words: &'a [Word],
        /// More come.
        open: bool,
    },
    /// Texts for a shell.
    Texts(Vec<&'a Word>),
    /// Several commands, as by `find -exec`.
    Commands(Vec<&'a [Word]>),
    /// One that its arguments do not tell.
    Unknown,
}

/// Options of a wrapper that take their value as the next word, and how many operands stand before the command.
struct Form {
    valued: &'static str,
    long: &'static [&'static str],
    skipped: usize,
    open: bool,
}

fn form(name: &str) -> Option<Form> {
    let of = |valued, long, skipped, open| Some(Form { valued, long, skipped, open });
    match name {
        "nohup" | "setsid" | "builtin" | "chronic" | "unbuffer" | "busybox" | "toybox" | "pkexec" => {
            of("", &[], 0, false)
        }
        "nice" => of("n", &["--adjustment"], 0, false),
        "time" => of("fo", &["--format", "--output"], 0, false),
        "timeout" | "gtimeout" => of("ks", &["--kill-after", "--signal"], 1, false),
        "env" => of("uC", &["--unset", "--chdir"], 0, false),
        "sudo" => of(
            "ugCDhprtTRU",
            &["--user", "--group", "--host", "--prompt", "--chdir", "--role", "--type"],
            0,
            false,
        ),
        "doas" => of("uC", &[], 0, false),
        "xargs" => of(
            "IEnPsdaL",
            &[
                "--max-args",
                "--max-procs",
                "--max-chars",
                "--delimiter",
                "--arg-file",
                "--replace",
                "--max-lines",
            ],
            0,
            true,
        ),
        "exec" => of("a", &[], 0, false),
        "command" => of("", &[], 0, false),
        "stdbuf" => of("ioe", &["--input", "--output", "--error"], 0, false),
        "ionice" => of("cnpPu", &["--class", "--classdata"], 0, false),
        "strace" | "ltrace" => of("eopsuEaIObSXP", &["--trace", "--output"], 0, false),
        _ => None,
    }
}

/// What the program `name` runs with these arguments.
pub(crate) fn runs<'a>(name: &str, arguments: &'a [Word]) -> Runs<'a> {
    match name {
        "eval" => Runs::Texts(arguments.iter().collect()),
        "watch" => {
            match inner(&Form { valued: "nqs", long: &["--interval"], skipped: 0, open: false }, arguments) {
                Some(words) => Runs::Texts(words.iter().collect()),
                None => Runs::Nothing,
            }
        }
        "trap" => match arguments.iter().find(|word| !word.text.starts_with('-')) {
            Some(word) if arguments.len() > 1 && !word.text.is_empty() => Runs::Texts(vec![word]),
            Some(_) | None => Runs::Nothing,
        },
        "su" | "runuser" | "script" => match after_option(arguments, 'c', "--command") {
            Some(word) => Runs::Texts(vec![word]),
            None if name == "script" => Runs::Nothing,
            None => Runs::Unknown,
        },
        "find" => find(arguments),
        "parallel" => Runs::Unknown,
        // These only say what a name means.
        "command" if arguments.first().is_some_and(|word| matches!(word.text.as_str(), "-v" | "-V")) => {
            Runs::Nothing
        }
        "env" if arguments.iter().any(|word| is_split(&word.text)) => Runs::Unknown,
        "alias" if !arguments.is_empty() => Runs::Unknown,
        _ => match form(name) {
            Some(form) => match inner(&form, arguments) {
                Some(words) => Runs::Command { words, open: form.open },
                None => Runs::Nothing,
            },
            None => Runs::Nothing,
        },
    }
}

fn is_split(option: &str) -> bool {
    option.starts_with("--split") || option.starts_with("-S") || option.starts_with("-vS")
}

/// The arguments from the command on.
fn inner<'a>(form: &Form, arguments: &'a [Word]) -> Option<&'a [Word]> {
    let (mut at, mut skipped) = (0, 0);
    while let Some(word) = arguments.get(at) {
        let text = word.text.as_str();
        if text == "--" {
            at += 1 + (form.skipped - skipped.min(form.skipped));
            break;
        }
        if let Some(letters) = text.strip_prefix('-').filter(|rest| !rest.is_empty()) {
            let takes_next = match letters.strip_prefix('-') {
                Some(_) => form.long.contains(&text),
                // The value of a bundle's last letter is the next word; of one before it, the rest of the bundle.
                None => letters
                    .find(|letter| form.valued.contains(letter))
                    .is_some_and(|at| at + 1 == letters.len()),
            };
            at += 1 + usize::from(takes_next);
        } else if is_assignment(text) {
            at += 1;
        } else if skipped < form.skipped {
            skipped += 1;
            at += 1;
        } else {
            break;
        }
    }
    arguments.get(at..).filter(|words| !words.is_empty())
}

/// True for `NAME=value`.
pub(crate) fn is_assignment(text: &str) -> bool {
    let name = |name: &str| {
        !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && !name.starts_with(|first: char| first.is_ascii_digit())
    };
    text.split_once('=').is_some_and(|(before, _)| name(before))
}

/// The argument after `-c` or a bundle that ends in it.
pub(crate) fn after_option<'a>(arguments: &'a [Word], letter: char, long: &str) -> Option<&'a Word> {
    let at = arguments.iter().position(|word| {
        let bundle = word.text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        word.text == long || bundle.is_some_and(|letters| letters.contains(letter))
    })?;
    // Options may stand between `-c` and its text: `bash -c -e TEXT`.
    arguments.get(at + 1..)?.iter().find(|word| !word.literal || !word.text.starts_with(['-', '+']))
}

/// `-exec … ;` and its like.
fn find(arguments: &[Word]) -> Runs<'_> {
    let mut commands = Vec::new();
    let mut rest = arguments;
    while let Some(at) =
        rest.iter().position(|word| matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir"))
    {
        let words = rest.get(at + 1..).unwrap_or(&[]);
        let end = words.iter().position(|word| word.text == ";" || word.text == "+").unwrap_or(words.len());
        commands.push(words.get(..end).unwrap_or(&[]));
        rest = words.get(end..).unwrap_or(&[]);
    }
    if commands.is_empty() { Runs::Nothing } else { Runs::Commands(commands) }
}
