//! `haft completions`: a completion script for a shell, made from the table of arguments.

use clap_complete::Shell;

use crate::args;
use crate::exit::{Exit, Failure};
use crate::output::Output;

/// Prints the script.
pub(crate) fn run(output: Output, shell: Shell) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut args::command(), "haft", &mut script);
    output.data(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
