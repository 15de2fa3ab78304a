//! Where commands write: data on stdout, the rest on stderr.
//!
//! A closed stdout ends the command quietly; a closed stderr is ignored. Foreign text is written as it is into
//! pipes and files, and made safe for terminals.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;

use crate::exit::Failure;
use crate::surroundings;
use crate::untrusted::visible;

/// The two streams of the process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    stdout_is_terminal: bool,
    /// Lines on stderr may be set off.
    stderr_has_tones: bool,
}

/// How a line on stderr is set off, where a terminal can do it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// What a person must read.
    Strong,
    /// What a person may skip.
    Faint,
    /// What went wrong.
    Bad,
}

impl Tone {
    /// The code that begins it.
    fn code(self) -> &'static str {
        match self {
            Self::Strong => "\u{1b}[1m",
            Self::Faint => "\u{1b}[2m",
            Self::Bad => "\u{1b}[31m",
        }
    }
}

impl Output {
    /// The streams of this process.
    pub(crate) fn new() -> Self {
        let is_plain = surroundings::variable("NO_COLOR").is_some()
            || surroundings::variable("TERM").is_none_or(|terminal| terminal == "dumb");
        Self {
            stdout_is_terminal: io::stdout().is_terminal(),
            stderr_has_tones: io::stderr().is_terminal() && !is_plain,
        }
    }

    /// Writes our own text to stdout.
    pub(crate) fn data(self, text: &str) -> Result<(), Failure> {
        write_stdout(text.as_bytes())
    }

    /// Writes one line of our own text to stdout.
    pub(crate) fn line(self, text: &str) -> Result<(), Failure> {
        write_stdout(format!("{text}\n").as_bytes())
    }

    /// Writes foreign text to stdout; adds nothing.
    pub(crate) fn foreign(self, text: &str) -> Result<(), Failure> {
        if self.stdout_is_terminal {
            write_stdout(visible(text).as_bytes())
        } else {
            write_stdout(text.as_bytes())
        }
    }

    /// Writes foreign text to stdout and ends the line if it is open.
    pub(crate) fn foreign_line(self, text: &str) -> Result<(), Failure> {
        self.foreign(text)?;
        if text.ends_with('\n') { Ok(()) } else { write_stdout(b"\n") }
    }

    /// Writes foreign text to stdout as it is; only in a terminal an open line is ended.
    pub(crate) fn foreign_exact(self, text: &str) -> Result<(), Failure> {
        if self.stdout_is_terminal && !text.is_empty() { self.foreign_line(text) } else { self.foreign(text) }
    }

    /// Writes `value` as one line of JSON to stdout.
    pub(crate) fn json(self, value: &impl Serialize) -> Result<(), Failure> {
        let mut line = serde_json::to_vec(value)
            .map_err(|error| Failure::failed(format!("the answer cannot be written as JSON: {error}")))?;
        line.push(b'\n');
        write_stdout(&line)
    }

    /// Writes one line to stderr. Foreign parts are made safe.
    pub(crate) fn note(self, text: &str) {
        let line = format!("{}\n", visible(text));
        // Nobody is left to tell if stderr is closed.
        drop(io::stderr().lock().write_all(line.as_bytes()));
    }

    /// Writes lines to stderr, set off where the terminal can do it and `NO_COLOR` is not set. Foreign parts are made safe.
    pub(crate) fn note_in(self, tone: Tone, text: &str) {
        if !self.stderr_has_tones {
            return self.note(text.trim_end_matches('\n'));
        }
        let text = visible(text.trim_end_matches('\n'));
        self.note_raw(&format!("{}{text}\u{1b}[0m\n", tone.code()));
    }

    /// Writes text that was made safe already to stderr; ends no line.
    pub(crate) fn note_raw(self, text: &str) {
        let mut stderr = io::stderr().lock();
        drop(stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush()));
    }

    /// Writes a warning to stderr.
    pub(crate) fn warn(self, text: &str) {
        self.note(&format!("warning: {text}"));
    }

    /// Writes an error and its next step to stderr.
    pub(crate) fn error(self, text: &str, hint: Option<&str>) {
        self.note_in(Tone::Bad, &format!("error: {text}"));
        if let Some(hint) = hint {
            self.note(&format!("\n  {hint}"));
        }
    }
}

/// `1 run`, `2 runs`.
pub(crate) fn counted(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

fn write_stdout(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(|error| {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Failure::ClosedPipe
        } else {
            Failure::failed(format!("cannot write to stdout: {error}"))
        }
    })
}
