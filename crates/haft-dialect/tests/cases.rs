//! The public cases of the dialect and our own beyond them: whole, at every cut, one character at a time.

mod support;

use haft_dialect::Parsed;
use support::{Case, cases, characters};

const PUBLIC: &str = include_str!("cases/artifact-xml.jsonl");
const OWN: &str = include_str!("cases/own.jsonl");

fn same(case: &Case, how: &str, parsed: &Parsed, whole: &Parsed) -> Result<(), String> {
    if parsed == whole { Ok(()) } else { Err(format!("{} {how}:\n{parsed:#?}\nwhole:\n{whole:#?}", case.id)) }
}

fn every_cut(case: &Case) -> Result<(), String> {
    let whole = case.parse([case.text.as_str()]);
    case.check(&whole)?;
    same(case, "by characters", &case.parse(characters(&case.text)), &whole)?;
    // Long texts are cut at some places only; their insides are all alike.
    let step = case.text.len() / 600 + 1;
    for (at, _) in case.text.char_indices().step_by(step) {
        same(case, &format!("cut at {at}"), &case.parse([&case.text[..at], &case.text[at..]]), &whole)?;
    }
    let all: Vec<char> = case.text.chars().collect();
    for size in [2, 3, 7, 16, 64] {
        let pieces: Vec<String> = all.chunks(size).map(|piece| piece.iter().collect()).collect();
        same(case, &format!("by {size}"), &case.parse(pieces.iter().map(String::as_str)), &whole)?;
    }
    Ok(())
}

fn all_pass(file: &str, least: usize) {
    let all = cases(file);
    assert!(all.len() >= least, "only {} cases", all.len());
    let failures: Vec<String> = all.iter().filter_map(|case| every_cut(case).err()).collect();
    assert!(failures.is_empty(), "{} of {} fail:\n{}", failures.len(), all.len(), failures.join("\n\n"));
}

// DIA-01, DIA-02, DIA-03, DIA-04, DIA-05, DIA-06, DIA-07, DIA-08, DIA-09, DIA-10, DIA-11
#[test]
fn public_cases() {
    all_pass(PUBLIC, 36);
}

// DIA-02, DIA-03, DIA-04, DIA-05, DIA-06, DIA-07, DIA-08, DIA-09, DIA-10, DIA-11, CONFLICT-02, CONFLICT-03
#[test]
fn own_cases() {
    all_pass(OWN, 60);
}
