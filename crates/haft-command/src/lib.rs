//! Command lines as Haft reads them: text in a shell's grammar becomes the list of all commands that it may run.
//!
//! [`parse`] finds every [`SimpleCommand`] in the tree: in pipes, lists, subshells, loops, functions, substitutions and here
//! documents, in the text of `bash -c` and `eval`, and behind wrappers such as `env` or `xargs`. What it cannot understand is a
//! [`Doubt`], never a guess. [`Pattern`] asks about one command, [`shapes`] says how a yes to it may be generalised, and a
//! [`Danger`] is a reason to ask every time (APR-12).
//!
//! Pure: it runs nothing, reads no file and expands no variable. Reading is a courtesy to the person who is asked; what fences a
//! command in is the sandbox.

mod danger;
mod line;
mod options;
mod pattern;
mod programs;
mod read;
mod shape;
mod through;
mod walk;
mod word;

pub use danger::Danger;
pub use line::{CommandLine, Doubt, Redirect, SimpleCommand, Word};
pub use pattern::{Pattern, PatternError, Subject};
pub use programs::is_network;
pub use read::{LONGEST, MOST_COMMANDS, parse};
pub use shape::{line_shapes, parts_of, shapes};
