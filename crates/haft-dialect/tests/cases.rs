//! The public cases of all dialects and our own beyond them: whole, at every cut, one character at a time; in the dialect
//! that is named and in `auto`.

mod support;

use std::collections::BTreeMap;

use haft_dialect::{Dialect, Parsed};
use support::{Case, cases, characters};

const PUBLIC: &str = include_str!("cases/public.jsonl");
const OWN: &str = include_str!("cases/own.jsonl");

const FORMS: &str = include_str!("cases/forms.jsonl");
/// Cases written from the rules alone, without a look at the reader.
const INDEPENDENT: &str = include_str!("cases/independent.jsonl");

/// Public cases that pass; it only rises.
const LEAST: usize = 153;

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

/// How many cases of each dialect pass, and what is wrong with the others.
fn score(all: Vec<Case>) -> (BTreeMap<&'static str, (usize, usize)>, Vec<String>) {
    let mut scores = BTreeMap::new();
    let mut failures = Vec::new();
    for mut case in all {
        let name = case.dialect.name();
        let mut result = every_cut(&case);
        if result.is_ok() {
            case.dialect = Dialect::Auto;
            // What is a repair in one dialect is none in another.
            case.expect.as_object_mut().map(|expect| expect.remove("repairs"));
            result = case.check(&case.parse([case.text.as_str()])).map_err(|error| format!("auto: {error}"));
        }
        let (passed, of): &mut (usize, usize) = scores.entry(name).or_default();
        *of += 1;
        match result {
            Ok(()) => *passed += 1,
            Err(failure) => failures.push(failure),
        }
    }
    (scores, failures)
}

// PRV-05, DIA-01, DIA-02, DIA-03, DIA-04, DIA-05, DIA-06, DIA-07, DIA-08, DIA-09, DIA-10, DIA-11
#[test]
fn public_cases() {
    let (scores, failures) = score(cases(PUBLIC));
    let (passed, all) = scores.values().fold((0, 0), |sum, score| (sum.0 + score.0, sum.1 + score.1));
    for (dialect, (passed, of)) in &scores {
        println!("{dialect:18} {passed} of {of}");
    }
    println!("all                {passed} of {all}");
    assert!(all >= 153, "only {all} cases");
    assert!(passed >= LEAST, "{passed} of {all} pass:\n{}", failures.join("\n\n"));
    println!("{}", failures.join("\n\n"));
}

// DIA-02, DIA-03, DIA-04, DIA-05, DIA-06, DIA-07, DIA-08, DIA-09, DIA-10, DIA-11, CONFLICT-02, CONFLICT-03
#[test]
fn own_cases() {
    let (scores, failures) = score(cases(OWN));
    assert!(scores.values().map(|(_, of)| of).sum::<usize>() >= 60);
    assert!(failures.is_empty(), "{} fail:\n{}", failures.len(), failures.join("\n\n"));
}

// PRV-05
#[test]
fn cases_of_all_forms() {
    let (scores, failures) = score(cases(FORMS));
    assert!(scores.values().map(|(_, of)| of).sum::<usize>() >= 150);
    assert!(failures.is_empty(), "{} fail:\n{}", failures.len(), failures.join("\n\n"));
}

// PRV-05, DIA-02, DIA-03, DIA-04, DIA-05, DIA-06, DIA-07, DIA-08, DIA-09, DIA-10, DIA-11
#[test]
fn independent_cases() {
    let (scores, failures) = score(cases(INDEPENDENT));
    assert!(scores.values().map(|(_, of)| of).sum::<usize>() >= 1500);
    assert!(failures.is_empty(), "{} fail:\n{}", failures.len(), failures.join("\n\n"));
}
