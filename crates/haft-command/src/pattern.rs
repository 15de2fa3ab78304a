//! The pattern that a rule asks about one command.

use crate::line::{SimpleCommand, Word};
use crate::options::{self, Said, glob};

/// A pattern for one command, such as `git push --force` or `cargo test *`.
///
/// Its first word is the program; words that begin with `-` are options, in any order and bundle; the others are the operands, in
/// order; `*` inside a word is any run of characters, and a last word `*` stands for any further arguments.
///
/// ```
/// use haft_command::{Pattern, parse};
/// let force = Pattern::parse("git push -f")?;
/// let command = |text: &str| parse(text).commands[0].clone();
/// assert!(force.perhaps_fits(&command("git -C /x push origin -uf main")));
/// assert!(!force.surely_fits(&command("git push origin -f")));
/// assert!(Pattern::parse("git push *")?.surely_fits(&command("git push origin -f")));
/// # Ok::<(), haft_command::PatternError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    program: String,
    options: Vec<String>,
    operands: Vec<String>,
    open: bool,
}

/// Why a text is no pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatternError {
    /// It has no words.
    Empty,
    /// It begins with an option.
    NoProgram,
    /// It has signs of a shell; a pattern is about one command alone.
    Sign(char),
}

impl std::fmt::Display for PatternError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.text())
    }
}

impl std::error::Error for PatternError {}

impl PatternError {
    /// What is wrong, and the next step.
    pub fn text(self) -> &'static str {
        match self {
            Self::Empty => "it is empty; name a program, such as `git status`",
            Self::NoProgram => "it begins with an option; name a program before it, or `*` for any",
            Self::Sign(_) => {
                "it holds a sign of a shell; a pattern is about one command: a program, options and operands"
            }
        }
    }
}

impl Pattern {
    /// Reads a pattern; blanks separate its words.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        if let Some(sign) = text.chars().find(|sign| "|&;<>()$`\\\"'\n".contains(*sign)) {
            return Err(PatternError::Sign(sign));
        }
        let mut words: Vec<&str> = text.split_whitespace().collect();
        let open = words.len() > 1 && words.last() == Some(&"*");
        if open {
            words.pop();
        }
        let (program, rest) = words.split_first().ok_or(PatternError::Empty)?;
        if program.starts_with('-') {
            return Err(PatternError::NoProgram);
        }
        let (options, operands) = rest.iter().partition(|word| options::is_option(word));
        let owned = |words: Vec<&str>| words.into_iter().map(str::to_owned).collect();
        Ok(Self { program: (*program).to_owned(), options: owned(options), operands: owned(operands), open })
    }

    /// True if the command is surely of this pattern and no more than it: what an allow asks. Nothing is left to the moment when it
    /// runs, the program is named as the pattern names it, and where no `*` ends the pattern there are no further arguments.
    pub fn surely_fits(&self, command: &SimpleCommand) -> bool {
        let name = command.program.as_str();
        if command.guessed
            || command.open && !self.open
            || !command.variables.is_empty()
            || !glob(&self.program, name)
        {
            return false;
        }
        // A program of another folder has another name: `./git` is not `git`.
        if name.contains('/') && !self.program.contains('/') {
            return false;
        }
        if !command.arguments.iter().all(|word| word.literal || self.open && word.operand) {
            return false;
        }
        let said = options::said(name, &command.arguments);
        let mut wanted: Vec<Said<'_>> =
            self.options.iter().flat_map(|option| options::of_word(name, option)).collect();
        wanted.sort();
        wanted.dedup();
        let is = |said: &Said<'_>, wanted: &Said<'_>| match (said, wanted) {
            (Said::Letter(said), Said::Letter(wanted)) => said == wanted,
            (Said::Whole(said), Said::Whole(wanted)) => glob(wanted, said),
            (Said::Letter(_), Said::Whole(_)) | (Said::Whole(_), Said::Letter(_)) => false,
        };
        let has_wanted = wanted.iter().all(|wanted| said.iter().any(|said| is(said, wanted)));
        let has_more = !said.iter().all(|said| wanted.iter().any(|wanted| is(said, wanted)));
        let operands: Vec<&Word> = command.operands().collect();
        let fits = operands
            .iter()
            .zip(&self.operands)
            .all(|(found, wanted)| found.literal && glob(wanted, &found.text));
        has_wanted
            && fits
            && operands.len() >= self.operands.len()
            && (self.open || !has_more && operands.len() == self.operands.len())
            // The subcommand must be where it is looked for, not behind an option that takes it as a value.
            && (self.operands.is_empty() || self.begins_with_operand(command))
    }

    fn begins_with_operand(&self, command: &SimpleCommand) -> bool {
        !self.open || command.arguments.first().is_some_and(|word| word.operand && word.literal)
    }

    /// True unless the command is surely another one: what an ask or a deny asks. It has at least what the pattern names,
    /// anywhere among its arguments; what is only known when it runs may be anything.
    pub fn perhaps_fits(&self, command: &SimpleCommand) -> bool {
        let wanted_name = self.program.to_lowercase();
        let wanted_name = if wanted_name.contains('/') {
            wanted_name.as_str()
        } else {
            wanted_name.rsplit('/').next().unwrap_or("")
        };
        let found = if wanted_name.contains('/') {
            command.program.to_lowercase()
        } else {
            command.name().to_lowercase()
        };
        let found = found.strip_suffix(".exe").unwrap_or(&found);
        let written_unknown =
            command.written.first().is_some_and(|word| !word.literal) && command.through.is_empty();
        if !glob(wanted_name, found) && !written_unknown {
            return false;
        }
        // An argument that is only known when it runs may be any option and any operand.
        if command.open || command.arguments.iter().any(|word| !word.literal && !word.operand) {
            return true;
        }
        let has_options =
            self.options.iter().flat_map(|option| options::of_word(&self.program, option)).all(|wanted| {
                options::options(&command.arguments).any(|found| options::may_mean(&found.text, &wanted))
            });
        let mut left = self.operands.iter().peekable();
        for word in &command.arguments {
            let Some(wanted) = left.peek() else { break };
            if !word.literal || glob(wanted, &word.text) {
                left.next();
            }
        }
        has_options && left.peek().is_none()
    }

    /// True if every command of `other` is one of this pattern as well, as far as that can be told.
    pub fn holds(&self, other: &Self) -> bool {
        self == other
            || glob(&self.program, &other.program)
                && self.open
                && self.options.iter().all(|option| other.options.contains(option))
                && other.operands.len() >= self.operands.len()
                && self
                    .operands
                    .iter()
                    .zip(&other.operands)
                    .all(|(wide, narrow)| wide == "*" || wide == narrow)
    }
}
