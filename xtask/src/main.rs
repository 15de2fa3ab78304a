//! Chores of the workspace, run as `cargo xtask NAME`.
//!
//! Each check reads the tree as it lies and answers with a [`Report`]; it never changes anything, except
//! `ledger --write`. A check must not need the network beyond what `cargo metadata` needs. Start reading at [`run`].
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a chore talks to the terminal and reads its arguments"
)]

mod arrows;
mod ledger;
mod licences;
mod metadata;
mod report;
mod rust_source;
mod sizes;
mod spdx;
mod test_code;
mod tree;
mod words;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use report::{Report, XtaskError};

const USAGE: &str = "\
usage: cargo xtask NAME

  ledger            which rows of docs/spec/requirements.md no test names
  ledger --check    fails when a covered row is lost, an unknown row is named, or covered.txt is behind
  ledger --write    adds newly covered rows to docs/spec/covered.txt
  sizes             Rust files: half under 250 lines, nine in ten under 700, none over 1,200
  arrows            crates depend on one another in one direction only
  words             no machine paths, no registry hosts, nothing left open in crates/
  licences          every dependency has an allowed licence
  check             all of these, the ledger with --check";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&workspace_root(), &arguments) {
        Ok(reports) => {
            for report in &reports {
                println!("{report}");
            }
            if reports.iter().all(Report::passed) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::from(2)
        }
    }
}

/// The workspace folder: the parent of this crate's own.
fn workspace_root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own).to_path_buf()
}

fn run(root: &Path, arguments: &[&str]) -> Result<Vec<Report>, XtaskError> {
    let report = match arguments {
        ["ledger"] => ledger::list(root)?,
        ["ledger", "--check"] => ledger::check(root)?,
        ["ledger", "--write"] => ledger::write(root)?,
        ["sizes"] => sizes::check(root)?,
        ["arrows"] => arrows::check(root)?,
        ["words"] => words::check(root)?,
        ["licences"] => licences::check(root)?,
        ["check"] => {
            return Ok(vec![
                ledger::check(root)?,
                sizes::check(root)?,
                arrows::check(root)?,
                words::check(root)?,
                licences::check(root)?,
            ]);
        }
        _ => return Err(XtaskError::Usage),
    };
    Ok(vec![report])
}
