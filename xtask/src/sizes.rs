//! File sizes: half of the Rust files at most 250 lines, nine in ten at most 700, none over 1,200.
//! In-file tests count; folders of test code and generated files do not join the median, but tests have the same maximum.

use std::path::{Path, PathBuf};

use crate::report::{Report, XtaskError};
use crate::tree;

const MEDIAN: usize = 250;
const NINE_IN_TEN: usize = 700;
const MAXIMUM: usize = 1200;

/// Measures `crates/**/*.rs`.
pub(crate) fn check(root: &Path) -> Result<Report, XtaskError> {
    let mut sources = Vec::new();
    let mut tests = Vec::new();
    for file in tree::rust_files(root, "crates")? {
        let lines = tree::read(&root.join(&file))?.lines().count();
        match place(&file) {
            Place::Source => sources.push((lines, file)),
            Place::Test => tests.push((lines, file)),
            Place::Generated => {}
        }
    }
    Ok(judge(sources, &tests))
}

#[derive(Debug, PartialEq, Eq)]
enum Place {
    Source,
    Test,
    Generated,
}

fn place(file: &Path) -> Place {
    let has = |name: &str| file.components().any(|part| part.as_os_str() == name);
    if has("generated") {
        Place::Generated
    } else if has("tests") || has("benches") || has("examples") || has("fuzz") {
        Place::Test
    } else {
        Place::Source
    }
}

fn judge(mut sources: Vec<(usize, PathBuf)>, tests: &[(usize, PathBuf)]) -> Report {
    sources.sort();
    let count = sources.len();
    let median = sources.get(count.saturating_sub(1) / 2).map_or(0, |(lines, _)| *lines);
    let large: Vec<&(usize, PathBuf)> = sources.iter().filter(|(lines, _)| *lines > NINE_IN_TEN).collect();
    let largest = sources.last().map_or(0, |(lines, _)| *lines);

    let mut problems = Vec::new();
    if median > MEDIAN {
        problems.push(format!("half of the files have over {median} lines; the house aims at {MEDIAN}:"));
        let over = sources.iter().rev().take_while(|(lines, _)| *lines > MEDIAN);
        problems.extend(over.map(|(lines, file)| format!("{lines:>6} {}", file.display())));
    }
    if large.len() * 10 > count {
        problems
            .push(format!("{} of {count} files have over {NINE_IN_TEN} lines; one in ten may:", large.len()));
        problems.extend(large.iter().map(|(lines, file)| format!("{lines:>6} {}", file.display())));
    }
    for (lines, file) in sources.iter().chain(tests).filter(|(lines, _)| *lines > MAXIMUM) {
        problems.push(format!("{} has {lines} lines, over {MAXIMUM}: split it by concern", file.display()));
    }
    let summary = format!(
        "{count} files, median {median} lines, {} over {NINE_IN_TEN}, largest {largest}",
        large.len()
    );
    Report { name: "sizes", summary, lines: Vec::new(), problems }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(sizes: &[usize]) -> Vec<(usize, PathBuf)> {
        sizes.iter().map(|lines| (*lines, PathBuf::from(format!("f{lines}.rs")))).collect()
    }

    #[test]
    fn within_bounds() {
        let report = judge(files(&[10, 250, 250, 700, 20, 30, 40, 50, 60, 1200]), &files(&[1200]));
        assert_eq!(report.problems, Vec::<String>::new());
        assert_eq!(report.summary, "10 files, median 50 lines, 1 over 700, largest 1200");
        assert!(judge(Vec::new(), &[]).passed());
    }

    #[test]
    fn each_bound_fails() {
        let median = judge(files(&[10, 251, 252]), &[]);
        assert_eq!(median.problems.len(), 3, "{median}");
        let tenth = judge(files(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 701, 702]), &[]);
        assert_eq!(tenth.problems.len(), 3, "{tenth}");
        let maximum = judge(files(&[1; 20]), &files(&[1201]));
        assert_eq!(maximum.problems, ["f1201.rs has 1201 lines, over 1200: split it by concern"]);
    }

    #[test]
    fn places() {
        assert_eq!(place(Path::new("crates/a/src/b.rs")), Place::Source);
        assert_eq!(place(Path::new("crates/a/src/tests/b.rs")), Place::Test);
        assert_eq!(place(Path::new("crates/a/tests/fail/b.rs")), Place::Test);
        assert_eq!(place(Path::new("crates/a/src/generated/b.rs")), Place::Generated);
    }
}
