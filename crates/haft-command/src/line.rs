//! What a command line is made of, as plain values.

use crate::danger::Danger;
use crate::{programs, through};

/// Everything that a text may run.
///
/// ```
/// let line = haft_command::parse("cd src && grep -rn TODO . | head -5");
/// let programs: Vec<&str> = line.commands.iter().map(|command| command.program.as_str()).collect();
/// assert_eq!(programs, ["cd", "grep", "head"]);
/// assert!(line.doubts.is_empty() && line.dangers.is_empty());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandLine {
    /// Every command of the tree, in the order of the text.
    pub commands: Vec<SimpleCommand>,
    /// What could not be understood; each kind once.
    pub doubts: Vec<Doubt>,
    /// What must be asked every time; each kind once.
    pub dangers: Vec<Danger>,
}

impl CommandLine {
    /// True if some of it may run anything at all.
    pub fn is_blind(&self) -> bool {
        self.doubts.iter().any(|doubt| doubt.is_blind())
    }

    /// True if some of it runs code that does not stand in it, so that rules about commands, paths and hosts cannot be held against
    /// all that it does.
    ///
    /// ```
    /// use haft_command::parse;
    /// for text in ["python3 -c 'x()'", "sh build.sh", "make all", "./run", "find . -exec node x.js {} ;", "$cmd"] {
    ///     assert!(parse(text).runs_unseen(), "{text}");
    /// }
    /// for text in ["sh -c 'ls; wc -l x'", "git log | head", "/usr/bin/env ls"] {
    ///     assert!(!parse(text).runs_unseen(), "{text}");
    /// }
    /// ```
    pub fn runs_unseen(&self) -> bool {
        !self.doubts.is_empty() || self.commands.iter().any(SimpleCommand::runs_unseen)
    }

    pub(crate) fn doubt(&mut self, doubt: Doubt) {
        if !self.doubts.contains(&doubt) {
            self.doubts.push(doubt);
        }
    }

    pub(crate) fn danger(&mut self, danger: Danger) {
        if !self.dangers.contains(&danger) {
            self.dangers.push(danger);
        }
    }
}

/// Why a text is not understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Doubt {
    /// No shell could read it, or this reader cannot.
    Unreadable,
    /// It is longer, or nested deeper, than is looked at.
    TooMuch,
    /// A variable or a substitution names the program.
    UnknownProgram,
    /// A shell or an interpreter is given text that is not known before it runs.
    UnknownCode,
    /// An interpreter is given code that is no command line, and that may run programs.
    ForeignCode,
    /// A program that may run another one hides which.
    UnknownThrough,
    /// A variable is set that changes which program a name means or what a program runs.
    ChangedNames,
}

impl Doubt {
    /// True if it may run anything at all, so that no command can be ruled out.
    pub fn is_blind(self) -> bool {
        match self {
            Self::Unreadable | Self::TooMuch | Self::UnknownProgram | Self::UnknownCode => true,
            Self::ForeignCode | Self::UnknownThrough | Self::ChangedNames => false,
        }
    }

    /// What is not understood, as a person reads it after "It is not known what this runs: ".
    pub fn reason(self) -> &'static str {
        match self {
            Self::Unreadable => "the text cannot be read as a command line",
            Self::TooMuch => "the text is too long or too deeply nested",
            Self::UnknownProgram => "the name of a program is only known when it runs",
            Self::UnknownCode => "a program is given code that is only known when it runs",
            Self::ForeignCode => "a program is given code that is no command line",
            Self::UnknownThrough => "a program may run another one",
            Self::ChangedNames => "a variable changes which program a name means",
        }
    }
}

/// One word of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// Its value without quotes; what is only known when it runs stands there as written.
    pub text: String,
    /// The value is the whole truth: no variable, substitution or pattern of file names is in it.
    pub literal: bool,
    /// Whatever it becomes, it is no option: it begins with literal text that is none, and its variables are quoted.
    pub operand: bool,
}

impl Word {
    pub(crate) fn known(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { operand: !text.starts_with('-'), text, literal: true }
    }
}

/// A file that a command is pointed at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    /// The sign: `<`, `>`, `>>`, `<>`, `>|`, `&>`, `&>>`.
    pub sign: &'static str,
    /// The file.
    pub target: Word,
}

impl Redirect {
    /// True if the file is written.
    pub fn writes(&self) -> bool {
        self.sign != "<"
    }
}

/// One program with its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SimpleCommand {
    /// The program as written, without quotes: `git`, `/bin/rm`, `./run.sh`.
    pub program: String,
    /// Its arguments, in order.
    pub arguments: Vec<Word>,
    /// Files that it reads from or writes to by `<`, `>` and their like.
    pub redirects: Vec<Redirect>,
    /// Variables that are set for it: `NAME=value`.
    pub variables: Vec<Word>,
    /// The wrappers that it is run by, outermost first: `env`, `timeout`, `xargs` …
    pub through: Vec<String>,
    /// More arguments come when it runs, as by `xargs` and `find -exec`.
    pub open: bool,
    /// It is only guessed that this is a command: it stands behind a program that may run others.
    pub guessed: bool,
    /// The whole simple command that it stands in, wrappers included, for showing and for exact grants.
    pub written: Vec<Word>,
}

impl SimpleCommand {
    /// The program's name without its folder.
    pub fn name(&self) -> &str {
        self.program.rsplit(['/', '\\']).next().unwrap_or(&self.program)
    }

    /// True if it runs code that does not stand in the line: an interpreter with code of its own language, a shell or an interpreter
    /// with a script, a program that does what a file says, a program that is named by its place outside of the system's folders.
    pub fn runs_unseen(&self) -> bool {
        let name = self.name();
        let asks_only = || {
            let asks = |word: &Word| matches!(word.text.as_str(), "--version" | "-V" | "--help" | "-h");
            matches!(self.arguments.as_slice(), [only] if asks(only))
        };
        let by_name = if programs::is_shell(name) {
            // Text that it is given is read as part of the line.
            through::after_option(&self.arguments, 'c', "--command").is_none() && !self.arguments.is_empty()
                || self.redirects.iter().any(|redirect| redirect.sign.starts_with('<'))
        } else if name.ends_with("awk") {
            self.arguments.iter().any(|word| programs::awk_reaches_out(&word.text))
        } else {
            programs::is_interpreter(name) || programs::is_runner(name)
        };
        (by_name && !asks_only()) || programs::is_placed(&self.program)
    }

    /// Arguments that are no options, in order. Values of options that stand apart are among them.
    pub fn operands(&self) -> impl Iterator<Item = &Word> {
        crate::options::operands(&self.arguments)
    }
}
