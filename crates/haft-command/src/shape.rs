//! Shapes: how a yes to one command may be generalised, and the texts by which grants name them.

use crate::danger;
use crate::line::{CommandLine, SimpleCommand, Word};
use crate::options;
use crate::programs;

/// Stands between the commands of one line; no command's shape contains it.
const BETWEEN: &str = " ; ";

/// The shapes of a command, narrowest first, at most three: the very command; its program, subcommand and options with any
/// operands; its program and subcommand with anything. `*` at the end stands for more arguments.
///
/// Of programs that reach other machines, run other programs or take things away there is only the very command, since a yes to
/// their name would be a yes to anything. There is none at all where the command is not fully known.
///
/// ```
/// use haft_command::{parse, shapes};
/// let of = |text: &str| shapes(&parse(text).commands[0]);
/// assert_eq!(of("git log -n 5 --oneline"), ["git log -n 5 --oneline", "git log --oneline -n *", "git log *"]);
/// assert_eq!(of("curl https://a.example"), ["curl https://a.example"]);
/// assert_eq!(of("cat $file"), [""; 0]);
/// ```
pub fn shapes(command: &SimpleCommand) -> Vec<String> {
    let known = |word: &Word| word.literal;
    let all_known = command.written.iter().all(known)
        && command.arguments.iter().all(known)
        && command.variables.iter().all(known)
        && command.redirects.iter().all(|redirect| redirect.target.literal);
    if !all_known || command.guessed || command.open {
        return Vec::new();
    }
    let mut exact: Vec<String> = command.variables.iter().map(|word| quoted(&word.text)).collect();
    exact.extend(command.written.iter().map(|word| quoted(&word.text)));
    // A command behind a wrapper is told apart from the wrapper, and from others that stand in the same words.
    if !command.through.is_empty() {
        exact.push(format!("({})", quoted(&command.program)));
    }
    for redirect in &command.redirects {
        exact.push(redirect.sign.to_owned());
        exact.push(quoted(&redirect.target.text));
    }
    let mut shapes = vec![exact.join(" ")];
    let name = command.name();
    let plain_through = command
        .through
        .iter()
        .all(|wrapper| matches!(wrapper.as_str(), "nice" | "nohup" | "time" | "timeout" | "command"));
    let may_widen = !programs::is_powerful(name)
        && command.variables.is_empty()
        && command.redirects.is_empty()
        && plain_through
        // A program named by its folder is generalised no further: another file may lie there later.
        && !command.program.contains('/');
    if !may_widen {
        return shapes;
    }
    let (subcommand, rest) = subcommand(command);
    let head: Vec<String> =
        [quoted(&command.program)].into_iter().chain(subcommand.map(|word| quoted(&word.text))).collect();
    let head = head.join(" ");
    // Options before the subcommand are no part of the wider shapes.
    if !programs::has_subcommands(name) || subcommand.is_some() && rest.len() + 1 == command.arguments.len() {
        let said = options::said(name, rest);
        if !said.is_empty() {
            let said: Vec<String> = said
                .iter()
                .map(|one| match one {
                    options::Said::Letter(letter) => format!("-{letter}"),
                    options::Said::Whole(word) => quoted(word),
                })
                .collect();
            let mut said = said;
            said.sort();
            shapes.push(format!("{head} {} *", said.join(" ")));
        }
        shapes.push(format!("{head} *"));
    }
    shapes.dedup();
    shapes
}

/// The subcommand of a command, and the arguments behind it.
fn subcommand(command: &SimpleCommand) -> (Option<&Word>, &[Word]) {
    let name = command.name();
    if !programs::has_subcommands(name) {
        return (None, &command.arguments);
    }
    let rest = if name == "git" { danger::git_subcommand(&command.arguments) } else { &command.arguments };
    match rest.split_first() {
        Some((first, rest)) if first.operand => (Some(first), rest),
        Some(_) | None => (None, rest),
    }
}

/// The shapes of a whole line, narrowest first, at most three: one shape of each command, joined.
pub fn line_shapes(line: &CommandLine) -> Vec<String> {
    let of_each: Vec<Vec<String>> = line.commands.iter().map(shapes).collect();
    if of_each.is_empty() || of_each.iter().any(Vec::is_empty) {
        return Vec::new();
    }
    let most = of_each.iter().map(Vec::len).max().unwrap_or(0);
    let mut all: Vec<String> = (0..most)
        .map(|at| {
            let mut parts: Vec<&str> = of_each
                .iter()
                .filter_map(|shapes| shapes.get(at).or_else(|| shapes.last()))
                .map(String::as_str)
                .collect();
            let mut seen = Vec::new();
            parts.retain(|part| {
                let new = !seen.contains(part);
                seen.push(*part);
                new
            });
            parts.join(BETWEEN)
        })
        .collect();
    all.dedup();
    all
}

/// The shapes that the shape of a line is made of.
pub fn parts_of(shape: &str) -> impl Iterator<Item = &str> {
    shape.split(BETWEEN)
}

/// A word so that blanks, quotes and signs in it cannot be taken for more words.
fn quoted(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:,=+%@~^{}[]#".contains(&byte);
    if !text.is_empty() && text.bytes().all(plain) {
        return text.to_owned();
    }
    let mut quoted = String::from("'");
    for character in text.chars() {
        match character {
            ';' => quoted.push_str("\\x3b"),
            '\'' => quoted.push_str("\\x27"),
            '\\' => quoted.push_str("\\\\"),
            other => quoted.push(other),
        }
    }
    quoted.push('\'');
    quoted
}
