//! The requirements ledger: which rows a test names, and that none once covered is lost.
//!
//! A test names a row by writing its id in a comment (`// APR-18`, `// RES-13, RES-14`) inside test code (see
//! [`crate::test_code`]). Ids in strings, and in the docs of code that is no test, count for nothing; but a comment
//! anywhere in `crates/` that names a row which the ledger does not have is a mistake. `docs/spec/covered.txt` is
//! the memory of what was covered; it grows by `--write` and shrinks only by hand.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::report::{Report, XtaskError};
use crate::rust_source::{self, Kind};
use crate::{test_code, tree};

const LEDGER: &str = "docs/spec/requirements.md";
const COVERED: &str = "docs/spec/covered.txt";
const NO_TEST: &str = "(note: nothing to test)";

/// The rows of the ledger, in its order.
#[derive(Debug, Default, PartialEq, Eq)]
struct Ledger {
    /// Ids in the order of the file.
    ids: Vec<String>,
    /// Ids of rows that need no test.
    untestable: BTreeSet<String>,
    /// Rows that stand twice.
    twice: Vec<String>,
}

/// What the comments of the crates say.
#[derive(Debug, Default, PartialEq, Eq)]
struct Named {
    /// Ids named by test code.
    by_tests: BTreeSet<String>,
    /// Ids in any comment that the ledger does not have, with their places.
    unknown: Vec<(String, PathBuf, usize)>,
}

/// Lists the rows that no test names, by group.
pub(crate) fn list(root: &Path) -> Result<Report, XtaskError> {
    let (ledger, named) = read(root)?;
    let mut lines = Vec::new();
    for (group, ids) in missing_by_group(&ledger, &named.by_tests) {
        if ids.missing.is_empty() {
            lines.push(format!("{group:<9} {:>2} of {:>2}", ids.rows, ids.rows));
        } else {
            let covered = ids.rows - ids.missing.len();
            lines.push(format!(
                "{group:<9} {covered:>2} of {:>2}   no test: {}",
                ids.rows,
                ids.missing.join(" ")
            ));
        }
    }
    Ok(Report {
        name: "ledger",
        summary: sum_up(&ledger, &named),
        lines,
        problems: mistakes(&ledger, &named),
    })
}

/// Compares with `covered.txt`.
pub(crate) fn check(root: &Path) -> Result<Report, XtaskError> {
    let (ledger, named) = read(root)?;
    let covered = read_covered(root)?;
    let mut problems = mistakes(&ledger, &named);
    problems.extend(losses(&covered, &named.by_tests));
    let new: Vec<&str> = named.by_tests.difference(&covered).map(String::as_str).collect();
    if !new.is_empty() {
        problems.push(format!(
            "{COVERED} does not hold the newly covered {}: run `cargo xtask ledger --write` and commit it",
            new.join(" ")
        ));
    }
    Ok(Report { name: "ledger", summary: sum_up(&ledger, &named), lines: Vec::new(), problems })
}

/// Adds what is newly covered to `covered.txt`. Never removes a row.
pub(crate) fn write(root: &Path) -> Result<Report, XtaskError> {
    let (ledger, named) = read(root)?;
    let covered = read_covered(root)?;
    let mut problems = mistakes(&ledger, &named);
    problems.extend(losses(&covered, &named.by_tests));
    let all: BTreeSet<String> = covered.union(&named.by_tests).cloned().collect();
    let text: String = all.iter().map(|id| format!("{id}\n")).collect();
    tree::write(&root.join(COVERED), &text)?;
    let lines = vec![format!("{COVERED}: {} rows, {} new", all.len(), all.len() - covered.len())];
    Ok(Report { name: "ledger", summary: sum_up(&ledger, &named), lines, problems })
}

fn read(root: &Path) -> Result<(Ledger, Named), XtaskError> {
    let ledger = parse_ledger(&tree::read(&root.join(LEDGER))?);
    let mut sources = Vec::new();
    for file in tree::rust_files(root, "crates")? {
        let source = tree::read(&root.join(&file))?;
        sources.push((file, source));
    }
    let named = scan(&ledger, &sources);
    Ok((ledger, named))
}

fn read_covered(root: &Path) -> Result<BTreeSet<String>, XtaskError> {
    let text = tree::read_text_if_any(&root.join(COVERED))?.unwrap_or_default();
    Ok(text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect())
}

/// Reads the rows `- ID [sources] text`.
fn parse_ledger(text: &str) -> Ledger {
    let mut ledger = Ledger::default();
    let mut seen = BTreeSet::new();
    for line in text.lines() {
        let Some((id, rest)) = line.strip_prefix("- ").and_then(|row| row.split_once(' ')) else { continue };
        if !rest.starts_with('[') || ids_in(id).as_slice() != [id] {
            continue;
        }
        if !seen.insert(id) {
            ledger.twice.push(id.to_owned());
            continue;
        }
        ledger.ids.push(id.to_owned());
        if line.contains(NO_TEST) {
            ledger.untestable.insert(id.to_owned());
        }
    }
    ledger
}

/// Words of the form `ABC-12` in a text, in order.
fn ids_in(text: &str) -> Vec<&str> {
    text.split(|character: char| !character.is_alphanumeric() && character != '-' && character != '_')
        .filter(|word| {
            word.split_once('-').is_some_and(|(group, number)| {
                let all =
                    |part: &str, test: fn(&u8) -> bool| !part.is_empty() && part.as_bytes().iter().all(test);
                all(group, u8::is_ascii_uppercase) && all(number, u8::is_ascii_digit)
            })
        })
        .collect()
}

fn group_of(id: &str) -> &str {
    id.split_once('-').map_or(id, |(group, _)| group)
}

/// Looks at the comments of all files; `sources` holds path and text of each.
fn scan(ledger: &Ledger, sources: &[(PathBuf, String)]) -> Named {
    let known: BTreeSet<&str> = ledger.ids.iter().map(String::as_str).collect();
    let groups: BTreeSet<&str> = known.iter().map(|id| group_of(id)).collect();
    let found: Vec<_> =
        sources.iter().map(|(file, source)| test_code::find(file, &rust_source::code_only(source))).collect();
    let test_modules: BTreeSet<PathBuf> =
        found.iter().flat_map(|code| code.modules.iter().cloned()).collect();

    let mut named = Named::default();
    for ((file, source), code) in sources.iter().zip(&found) {
        let whole_file = test_code::is_test_file(file, &test_modules);
        for piece in rust_source::split(source).into_iter().filter(|piece| piece.kind == Kind::Comment) {
            let start = piece.range.start;
            let in_test = whole_file || code.ranges.iter().any(|range| range.contains(&start));
            for id in ids_in(&source[piece.range]) {
                if known.contains(id) {
                    if in_test {
                        named.by_tests.insert(id.to_owned());
                    }
                } else if groups.contains(group_of(id)) {
                    named.unknown.push((id.to_owned(), file.clone(), rust_source::line_of(source, start)));
                }
            }
        }
    }
    named
}

/// What one group of rows still lacks.
#[derive(Debug, Default, PartialEq, Eq)]
struct GroupState<'a> {
    /// Rows that need a test.
    rows: usize,
    /// Those that no test names, in the ledger's order.
    missing: Vec<&'a str>,
}

fn missing_by_group<'a>(ledger: &'a Ledger, covered: &BTreeSet<String>) -> BTreeMap<&'a str, GroupState<'a>> {
    let mut groups: BTreeMap<&str, GroupState<'_>> = BTreeMap::new();
    for id in ledger.ids.iter().filter(|id| !ledger.untestable.contains(*id)) {
        let state = groups.entry(group_of(id)).or_default();
        state.rows += 1;
        if !covered.contains(id) {
            state.missing.push(id);
        }
    }
    groups
}

fn sum_up(ledger: &Ledger, named: &Named) -> String {
    let testable = ledger.ids.len() - ledger.untestable.len();
    let covered = named.by_tests.difference(&ledger.untestable).count();
    format!("{covered} of {testable} rows are named by a test ({} rows need none)", ledger.untestable.len())
}

/// Faults of the ledger itself and of the comments.
fn mistakes(ledger: &Ledger, named: &Named) -> Vec<String> {
    let twice = ledger.twice.iter().map(|id| format!("{LEDGER} holds {id} twice"));
    let unknown = named.unknown.iter().map(|(id, file, line)| {
        format!("{}:{line} names {id}, which {LEDGER} does not have", file.display())
    });
    twice.chain(unknown).collect()
}

fn losses(covered: &BTreeSet<String>, by_tests: &BTreeSet<String>) -> Vec<String> {
    covered
        .difference(by_tests)
        .map(|id| {
            format!("{id} was covered and no test names it now: bring its test back, or take it out of {COVERED} by hand and say why in the commit")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# L\n- AB-01 [A] first\n- AB-02 [A,B] (note: nothing to test)\n### X\n- CONFLICT-03 [A / B] both\n\
                        - AB-04 no sources\n- Caps of [C]: UTF-8\n- AB-01 [C] again\n";

    fn set(ids: &[&str]) -> BTreeSet<String> {
        ids.iter().map(|id| (*id).to_owned()).collect()
    }

    #[test]
    fn rows_are_read() {
        let expected = Ledger {
            ids: vec!["AB-01".to_owned(), "AB-02".to_owned(), "CONFLICT-03".to_owned()],
            untestable: set(&["AB-02"]),
            twice: vec!["AB-01".to_owned()],
        };
        assert_eq!(parse_ledger(TEXT), expected);
    }

    #[test]
    fn ids_are_whole_words() {
        assert_eq!(ids_in("// AB-01, CD-2; (CONFLICT-31): x"), ["AB-01", "CD-2", "CONFLICT-31"]);
        assert_eq!(ids_in("xAB-01 AB-01b Ab-01 AB-01-02 AB_-01 -01 AB- 7-8"), Vec::<&str>::new());
    }

    #[test]
    fn only_comments_of_tests_cover() {
        let sources = [
            (
                "crates/a/src/lib.rs",
                "/// AB-02 in the docs\n#[cfg(test)]\nmod tests { // AB-01\n let s = \"CONFLICT-03\"; }\n#[cfg(test)] mod more;",
            ),
            ("crates/a/src/more.rs", "// CONFLICT-03, UTF-8\n"),
            ("crates/a/src/other.rs", "fn f() {}\n// AB-09 is not there\n"),
        ];
        let sources: Vec<(PathBuf, String)> =
            sources.iter().map(|(file, text)| (PathBuf::from(file), (*text).to_owned())).collect();
        let named = scan(&parse_ledger(TEXT), &sources);
        assert_eq!(named.by_tests, set(&["AB-01", "CONFLICT-03"]));
        assert_eq!(named.unknown, [("AB-09".to_owned(), PathBuf::from("crates/a/src/other.rs"), 2)]);
    }

    #[test]
    fn groups_count_what_is_missing() {
        let ledger = parse_ledger(TEXT);
        let covered = set(&["CONFLICT-03"]);
        let groups = missing_by_group(&ledger, &covered);
        assert_eq!(groups["AB"], GroupState { rows: 1, missing: vec!["AB-01"] });
        assert_eq!(groups["CONFLICT"], GroupState { rows: 1, missing: vec![] });
    }

    #[test]
    fn a_lost_row_is_told() {
        let lost = losses(&set(&["AB-01", "CONFLICT-03"]), &set(&["CONFLICT-03"]));
        assert_eq!(lost.len(), 1);
        assert!(lost[0].starts_with("AB-01 was covered"), "{lost:?}");
    }
}
