//! Calls that hold a command line: what rules see of each command in it, and what a yes to it could cover.
//!
//! A tool says by [`ToolFacts::command`](crate::ToolFacts::command) which parameter holds the line; all else is the same for every
//! such tool. Each command of the line is judged by itself and the strictest word holds.

use haft_command::{CommandLine, Danger, Doubt, SimpleCommand, Word, line_shapes, parts_of, shapes};
use serde_json::Value;

use super::host::CallHost;
use super::subtree::CallPath;
use super::{Outcome, Ruling};
use crate::consent::Ask;
use crate::grant::Grant;
use crate::scope::Scope;

/// Names of parameters that look like a command line where a tool does not say so.
const NAMES: [&str; 6] = ["command", "cmd", "command_line", "commandline", "shell_command", "script"];

/// The command line of a call, read once.
#[derive(Debug)]
pub struct CallCommands {
    text: String,
    line: CommandLine,
}

/// One command as rules see it; none where anything may be run.
#[derive(Debug, Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) command: Option<&'a SimpleCommand>,
    line: &'a CommandLine,
}

impl CallCommands {
    /// Reads the text of the parameter `name`. What is no text may be anything.
    pub fn read(arguments: &Value, name: &str) -> Self {
        match arguments.get(name).and_then(Value::as_str) {
            Some(text) => Self { text: text.to_owned(), line: haft_command::parse(text) },
            None => {
                let line = CommandLine { doubts: vec![Doubt::Unreadable], ..CommandLine::default() };
                Self { text: String::new(), line }
            }
        }
    }

    /// What is in the line.
    pub fn line(&self) -> &CommandLine {
        &self.line
    }

    /// Every command, and the unknown where something may be run unseen.
    pub(super) fn views(&self) -> impl Iterator<Item = View<'_>> {
        let line = &self.line;
        let unknown = (line.is_blind() || line.commands.is_empty()).then_some(View { command: None, line });
        line.commands.iter().map(move |command| View { command: Some(command), line }).chain(unknown)
    }

    /// The shapes of each command, for grants that cover the line by its parts; empty where the line must be taken as a whole.
    pub(super) fn parts(&self) -> Vec<Vec<String>> {
        if self.line.doubts.is_empty() { self.line.commands.iter().map(shapes).collect() } else { Vec::new() }
    }

    /// What the line means to a person, over what the tool itself says: dangers are asked every time (APR-12), doubts are asked
    /// once, and a yes is never one to the whole tool.
    pub(super) fn complete(&self, ask: &mut Ask) {
        let mut scopes: Vec<Scope> = if self.line.doubts.is_empty() {
            line_shapes(&self.line).into_iter().map(Scope::Command).collect()
        } else {
            Vec::new()
        };
        if scopes.is_empty() {
            // No shape is sure, so a yes covers this very text.
            scopes.push(Scope::Command(format!("= {}", self.text)));
        }
        ask.scopes = scopes;
        let said = ask.question.take();
        let meaning = said
            .clone()
            .or_else(|| ask.meaning.take())
            .unwrap_or_else(|| format!("Run this command: {}", self.text));
        let dangers: Vec<&str> = self.line.dangers.iter().map(|danger: &Danger| danger.reason()).collect();
        let doubts: Vec<&str> = self.line.doubts.iter().map(|doubt| doubt.reason()).collect();
        let mut question = meaning.clone();
        if !dangers.is_empty() {
            question.push_str(&format!(" Mind that {}.", dangers.join(", and ")));
            ask.every_time = true;
        }
        if !doubts.is_empty() {
            question.push_str(&format!(" It is not known what this runs: {}.", doubts.join(", and ")));
        }
        if dangers.is_empty() && doubts.is_empty() {
            ask.question = said;
        } else {
            ask.question = Some(question);
        }
        ask.meaning = Some(meaning);
    }
}

impl View<'_> {
    /// Paths that the command names: operands, values behind `=`, targets of redirects. A relative one starts in every folder that
    /// the line goes to.
    pub(super) fn paths(self, base: Option<&str>, into: &mut Vec<CallPath>) {
        let Some(command) = self.command else {
            into.push(unknown_path());
            return;
        };
        let folders: Vec<&Word> =
            self.line.commands.iter().filter(|other| goes(other)).flat_map(SimpleCommand::operands).collect();
        let mut take = |word: &Word, text: &str| {
            // What is only known when it runs may be any path.
            if !word.literal {
                into.push(unknown_path());
            }
            into.push(CallPath::read(text, base));
            for folder in folders.iter().filter(|_| !text.starts_with('/')) {
                into.push(CallPath::read(&format!("{}/{text}", folder.text), base));
            }
        };
        for word in command.operands().chain(command.redirects.iter().map(|redirect| &redirect.target)) {
            take(word, &word.text);
        }
        for word in &command.arguments {
            if let Some((_, value)) = word.text.split_once('=') {
                take(word, value);
            } else if word.text.starts_with('-') && word.text.contains(['/', '.', '~']) {
                // `-I/usr/include`: the value stands against its option.
                take(word, word.text.trim_start_matches('-').get(1..).unwrap_or(""));
            }
        }
        if command.open {
            into.push(unknown_path());
        }
    }

    /// Hosts that the command names: addresses anywhere, and every operand of a program that talks to other machines.
    pub(super) fn hosts(self, into: &mut Vec<CallHost>) {
        let Some(command) = self.command else {
            into.push(CallHost::read(""));
            return;
        };
        let talks = haft_command::is_network(command.name());
        for word in &command.arguments {
            let is_address = word.text.contains("://");
            let remote = word.text.split_once('@').map(|(_, rest)| rest.split(':').next().unwrap_or(rest));
            if !word.literal && (talks || is_address) {
                into.push(CallHost::read(""));
            } else if is_address {
                into.push(CallHost::read(
                    word.text
                        .split_once('=')
                        .filter(|(name, _)| !name.contains("://"))
                        .map_or(&word.text, |(_, value)| value),
                ));
            } else if let Some(remote) = remote.filter(|remote| talks && !remote.is_empty()) {
                into.push(CallHost::read(remote));
            } else if talks && word.operand {
                into.push(CallHost::read(&word.text));
            }
        }
        if talks && command.open {
            into.push(CallHost::read(""));
        }
    }
}

/// True if a call, or the command of it that is looked at, runs code that rules cannot look into, and `by` does not allow that very
/// command.
pub(super) fn is_unseen(arguments: &Value, view: Option<View<'_>>, by: &Ruling) -> bool {
    let Some(View { command, line }) = view else { return looks_like_a_command(arguments).is_some() };
    let known = line.doubts.is_empty() && command.is_some_and(|command| !command.runs_unseen());
    // An allow that names commands holds only for one that is fully known.
    let is_named = || {
        line.doubts.is_empty()
            && by.outcome() == Outcome::Allow
            && matches!(by, Ruling::Rule { rule, .. } if rule.command.is_some())
    };
    !known && !is_named()
}

/// A command that changes the folder in which later ones start.
fn goes(command: &SimpleCommand) -> bool {
    matches!(command.name(), "cd" | "pushd" | "chdir")
}

fn unknown_path() -> CallPath {
    CallPath::read("", None)
}

/// The parameter of the arguments that looks like a command line, for tools that do not say so and for examples of rules.
pub(super) fn looks_like_a_command(arguments: &Value) -> Option<&str> {
    let map = arguments.as_object()?;
    map.iter()
        .find(|(key, value)| value.is_string() && NAMES.iter().any(|name| name.eq_ignore_ascii_case(key)))
        .map(|(key, _)| key.as_str())
}

/// True if arguments of this schema may hold something that looks like a command line.
pub(super) fn may_hold_a_command(schema: &Value) -> bool {
    let properties = schema.get("properties").and_then(Value::as_object);
    super::named::is_open(schema)
        || properties.is_some_and(|keys| {
            keys.keys().any(|key| NAMES.iter().any(|name| name.eq_ignore_ascii_case(key)))
        })
}

/// The first of the grants by which every command of a line is covered, each by one of them or by several.
pub(crate) fn covering<'g>(
    parts: &[Vec<String>],
    mut grants: impl Iterator<Item = &'g Grant> + Clone,
) -> Option<&'g Grant> {
    let granted: Vec<&str> = grants
        .clone()
        .filter_map(|grant| match &grant.scope {
            Scope::Command(shape) => Some(shape.as_str()),
            Scope::Tool | Scope::Path(_) | Scope::File(_) | Scope::Host(_) => None,
        })
        .flat_map(parts_of)
        .collect();
    let covered = |shapes: &Vec<String>| shapes.iter().any(|shape| granted.contains(&shape.as_str()));
    if parts.is_empty() || !parts.iter().all(covered) {
        return None;
    }
    grants.find(|grant| matches!(&grant.scope, Scope::Command(shape) if parts_of(shape).any(|part| parts.iter().flatten().any(|one| one == part))))
}
