//! Configuration text as a tree in which everything knows its line: the common ground of TOML and YAML.
//!
//! [`toml`] and [`yaml`] read text into [`Node`]s; [`reader`] takes typed values out of them and reports every key that
//! nobody asked for. This module knows no setting.

pub(crate) mod reader;
pub(crate) mod toml;
pub(crate) mod yaml;

use std::fmt;

/// A place in a file, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    /// The line.
    pub(crate) line: usize,
    /// The column, in characters.
    pub(crate) column: usize,
}

/// One value and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    /// Where it begins.
    pub(crate) at: Position,
    /// What it is.
    pub(crate) value: Value,
}

/// A value of either language.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// Nothing: YAML's null or an empty value.
    Null,
    /// True or false.
    Boolean(bool),
    /// A whole number of 64 bits.
    Integer(i64),
    /// Another number.
    Float(f64),
    /// Text.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A table, in the order of the file.
    Table(Vec<Entry>),
    /// Something that no setting can be, such as a date.
    Other(&'static str),
}

/// One key of a table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    /// The key as written.
    pub(crate) key: String,
    /// Where the key stands.
    pub(crate) at: Position,
    /// Its value.
    pub(crate) node: Node,
}

impl Value {
    /// What it is, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Boolean(_) => "a boolean",
            Self::Integer(_) => "a whole number",
            Self::Float(_) => "a number with a fraction",
            Self::Text(_) => "text",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
            Self::Other(what) => what,
        }
    }
}

/// One thing that is wrong in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    /// Where, if it has a place.
    pub(crate) at: Option<Position>,
    /// What is wrong.
    pub(crate) text: String,
    /// The next step.
    pub(crate) hint: Option<String>,
}

/// A file that cannot be used, with all that is wrong in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) struct FileError {
    /// The file, or the name of a preset.
    pub(crate) file: String,
    /// What is wrong; never empty.
    pub(crate) problems: Vec<Problem>,
}

impl FileError {
    /// One thing is wrong with the whole file.
    pub(crate) fn whole(file: impl Into<String>, text: impl Into<String>, hint: Option<String>) -> Self {
        Self { file: file.into(), problems: vec![Problem { at: None, text: text.into(), hint }] }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            match problem.at {
                Some(at) => write!(f, "{}:{}:{}: {}", self.file, at.line, at.column, problem.text)?,
                None => write!(f, "{}: {}", self.file, problem.text)?,
            }
            if let Some(hint) = &problem.hint {
                write!(f, "; {hint}")?;
            }
        }
        Ok(())
    }
}

/// Turns byte offsets into positions.
pub(super) struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Self {
        let starts =
            std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect::<Vec<_>>();
        Self { text, starts }
    }

    fn position(&self, offset: usize) -> Position {
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = self.starts.get(line.saturating_sub(1)).copied().unwrap_or(0);
        let column = self.text.get(start..offset).map_or(0, |before| before.chars().count()) + 1;
        Position { line, column }
    }
}
