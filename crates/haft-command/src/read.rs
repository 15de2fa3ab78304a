//! From text to the tree, within limits.

use std::io::BufReader;

use brush_parser::ast::Program;
use brush_parser::{Parser, ParserOptions};

use crate::danger;
use crate::line::{CommandLine, Doubt};
use crate::walk::Walk;

/// Longest text that is read, in bytes.
pub const LONGEST: usize = 64 * 1024;
/// Most commands of one line that are looked at.
pub const MOST_COMMANDS: usize = 500;
/// Deepest nesting that is handed to the grammar, whose reader recurses.
const DEEPEST: usize = 40;

/// Reads a command line. Never fails: what cannot be read is a doubt.
///
/// ```
/// use haft_command::{Doubt, parse};
/// assert_eq!(parse("bash -c 'git push' &").commands[1].program, "git");
/// assert_eq!(parse("$cmd -rf /").doubts, [Doubt::UnknownProgram]);
/// assert_eq!(parse("echo 'open").doubts, [Doubt::Unreadable]);
/// ```
pub fn parse(text: &str) -> CommandLine {
    let read = || {
        let mut walk = Walk::default();
        walk.text(text);
        let mut line = walk.into_line();
        danger::find(&mut line);
        line
    };
    // The grammar is foreign code: where it gives up by a panic, nothing is known of the text.
    std::panic::catch_unwind(read)
        .unwrap_or_else(|_| CommandLine { doubts: vec![Doubt::Unreadable], ..CommandLine::default() })
}

/// The tree of a text, or why there is none.
pub(crate) fn tree(text: &str) -> Result<Program, Doubt> {
    if text.len() > LONGEST || nesting(text) > DEEPEST {
        return Err(Doubt::TooMuch);
    }
    // A shell stops at a NUL or drops it; which one is not known.
    if text.contains('\0') {
        return Err(Doubt::Unreadable);
    }
    Parser::new(BufReader::new(text.as_bytes()), &options()).parse_program().map_err(|_| Doubt::Unreadable)
}

pub(crate) fn options() -> ParserOptions {
    ParserOptions::default()
}

/// An upper bound of how deep the grammar's reader recurses: brackets, keywords that open, and runs of `!`.
pub(crate) fn nesting(text: &str) -> usize {
    let (mut depth, mut deepest, mut word, mut marks) = (0_usize, 0_usize, 0_usize, 0_usize);
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'(' | b'{' => depth += 1,
            b')' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        marks = match byte {
            b'!' => marks + 1,
            b' ' | b'\t' | b'\n' => marks,
            _ => 0,
        };
        if !byte.is_ascii_alphabetic() {
            match bytes.get(word..at).unwrap_or(&[]) {
                b"if" | b"for" | b"while" | b"until" | b"case" | b"select" | b"coproc" => depth += 1,
                b"fi" | b"done" | b"esac" => depth = depth.saturating_sub(1),
                _ => {}
            }
            word = at + 1;
        }
        deepest = deepest.max(depth + marks);
    }
    deepest
}
