//! What a chore answers: lines for information, problems that fail it. It prints nothing itself.

use std::fmt;
use std::path::PathBuf;

/// The outcome of one chore.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Report {
    /// Name of the chore, as typed on the command line.
    pub(crate) name: &'static str,
    /// One line that sums up what was looked at.
    pub(crate) summary: String,
    /// Further lines for the reader; they fail nothing.
    pub(crate) lines: Vec<String>,
    /// What is wrong, one line each, with the place and the next step.
    pub(crate) problems: Vec<String>,
}

impl Report {
    /// True when nothing is wrong.
    pub(crate) fn passed(&self) -> bool {
        self.problems.is_empty()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.lines {
            writeln!(f, "{line}")?;
        }
        for problem in &self.problems {
            writeln!(f, "  - {problem}")?;
        }
        let verdict = if self.passed() { "ok" } else { "FAILED" };
        write!(f, "{} {verdict}: {}", self.name, self.summary)
    }
}

/// Why a chore could not do its work at all.
#[derive(Debug, thiserror::Error)]
pub(crate) enum XtaskError {
    /// The command line names no chore.
    #[error("no such chore\n{}", crate::USAGE)]
    Usage,
    /// A file or folder could not be read or written.
    #[error("cannot read or write `{path}`: {source}")]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A helper program could not be started or failed.
    #[error("`{command}` failed: {reason}")]
    Command {
        /// The command line.
        command: String,
        /// What it said, or why it could not be started.
        reason: String,
    },
    /// The output of `cargo metadata` has another shape than expected.
    #[error("cannot read the output of `cargo metadata`: {0}")]
    Metadata(#[from] serde_json::Error),
}
