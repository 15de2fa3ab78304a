//! The pattern that a rule asks about one command.

use crate::line::{SimpleCommand, Word};
use crate::options::{self, Said, glob};

/// A pattern for one command, such as `git push --force` or `cargo test *`.
///
/// Its first word is the program; words that begin with `-` are options, in any order and bundle; the others are the operands, in
/// order; `*` inside a word is any run of characters, and a last word `*` stands for any further arguments.
///
/// ```
/// use haft_command::{Pattern, Subject, parse};
/// let force = Pattern::parse("git push -f")?;
/// let line = |text: &str| parse(text).commands[0].clone();
/// let (reordered, plain) = (line("git -C /x push origin -uf main"), line("git push origin -f"));
/// assert!(force.perhaps_fits(&Subject::of(&reordered)));
/// assert!(!force.surely_fits(&Subject::of(&plain)));
/// assert!(Pattern::parse("git push *")?.surely_fits(&Subject::of(&plain)));
/// # Ok::<(), haft_command::PatternError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    program: String,
    folded: String,
    options: Vec<Said>,
    operands: Vec<String>,
    open: bool,
    /// A bit for each word that a command of this pattern must have.
    words: u128,
}

/// One command, read once for all patterns that are asked about it.
#[derive(Debug)]
pub struct Subject<'a> {
    command: &'a SimpleCommand,
    /// Program and its name, in small letters and without `.exe`.
    program: String,
    name: String,
    said: Vec<Said>,
    operands: Vec<&'a Word>,
    /// The program's name is only known when it runs.
    unknown: bool,
    /// Some arguments are only known when it runs, and may be options.
    unsure: bool,
    /// A bit for each word that it has; all where it may have any.
    words: u128,
}

/// A program as asks and denies compare it: file systems differ in the case, and Windows adds an ending.
fn folded(program: &str) -> String {
    let folded = program.to_lowercase();
    folded.strip_suffix(".exe").map_or_else(|| folded.clone(), str::to_owned)
}

fn bit(word: &str) -> u128 {
    // FNV-1a: quick for short words; two words of one bit cost a closer look and no more.
    let hash = word.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    1 << (hash >> 57)
}

impl<'a> Subject<'a> {
    /// Reads what patterns ask about.
    pub fn of(command: &'a SimpleCommand) -> Self {
        let (program, name) = (folded(&command.program), folded(command.name()));
        let unknown = command.through.is_empty() && command.written.first().is_some_and(|word| !word.literal);
        let unsure = command.open || command.arguments.iter().any(|word| !word.literal && !word.operand);
        let any = unknown || unsure || command.arguments.iter().any(|word| !word.literal);
        let words = command.arguments.iter().fold(bit(&name), |words, word| words | bit(&word.text));
        Self {
            command,
            said: options::said(&command.program, &command.arguments),
            operands: command.operands().collect(),
            unknown,
            unsure,
            words: if any { u128::MAX } else { words },
            program,
            name,
        }
    }
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
        let (options, operands): (Vec<&str>, Vec<&str>) =
            rest.iter().partition(|word| options::is_option(word));
        let mut options: Vec<Said> =
            options.iter().flat_map(|option| options::of_word(program, option)).collect();
        options.sort();
        options.dedup();
        let folded = folded(program);
        let name = folded.rsplit('/').next().unwrap_or("");
        let needed = operands.iter().copied().chain([name]).filter(|word| !word.contains('*'));
        let words = needed.fold(0, |words, word| words | bit(word));
        let operands = operands.into_iter().map(str::to_owned).collect();
        Ok(Self { program: (*program).to_owned(), folded, options, operands, open, words })
    }

    /// False if a word is missing that the pattern needs.
    fn may_fit(&self, subject: &Subject<'_>) -> bool {
        self.words & !subject.words == 0
    }

    /// True if the command is surely of this pattern and no more than it: what an allow asks. Nothing is left to the moment when it
    /// runs, the program is named as the pattern names it, and where no `*` ends the pattern there are no further arguments.
    pub fn surely_fits(&self, subject: &Subject<'_>) -> bool {
        let command = subject.command;
        let name = command.program.as_str();
        if !self.may_fit(subject)
            || command.guessed
            || command.open && !self.open
            || !glob(&self.program, name)
        {
            return false;
        }
        // A program of another folder has another name: `./git` is not `git`. Variables may change what it does.
        if name.contains('/') && !self.program.contains('/') || !command.variables.is_empty() {
            return false;
        }
        if !command.arguments.iter().all(|word| word.literal || self.open && word.operand) {
            return false;
        }
        let is = |said: &Said, wanted: &Said| match (said, wanted) {
            (Said::Letter(said), Said::Letter(wanted)) => said == wanted,
            (Said::Whole(said), Said::Whole(wanted)) => glob(wanted, said),
            (Said::Letter(_), Said::Whole(_)) | (Said::Whole(_), Said::Letter(_)) => false,
        };
        let has_wanted = self.options.iter().all(|wanted| subject.said.iter().any(|said| is(said, wanted)));
        let has_more = !subject.said.iter().all(|said| self.options.iter().any(|wanted| is(said, wanted)));
        let operands = &subject.operands;
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
    pub fn perhaps_fits(&self, subject: &Subject<'_>) -> bool {
        if !self.may_fit(subject) {
            return false;
        }
        let found = if self.folded.contains('/') { &subject.program } else { &subject.name };
        if !glob(&self.folded, found) && !subject.unknown {
            return false;
        }
        // An argument that is only known when it runs may be any option and any operand.
        if subject.unsure {
            return true;
        }
        let arguments = &subject.command.arguments;
        let has_options = self
            .options
            .iter()
            .all(|wanted| options::options(arguments).any(|found| options::may_mean(&found.text, wanted)));
        let mut left = self.operands.iter().peekable();
        for word in arguments {
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
