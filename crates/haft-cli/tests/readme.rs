//! The README's tour is real: every `console` block is run, in order, in one folder and one home, and must print what the page
//! says. `HAFT_UPDATE_README=1` writes the page anew instead.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that runs a shell over a page of the repository"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

fn readme() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")
}

/// Ids, hashes and times differ from run to run, and the folder is nobody's.
fn normal(text: &str, folder: &Path) -> String {
    let text = text.replace(folder.to_str().unwrap(), "/home/you");
    let mut out = String::new();
    let mut word = String::new();
    for character in text.chars().chain(['\n']) {
        if character.is_ascii_alphanumeric() || character == '_' {
            word.push(character);
            continue;
        }
        let id =
            word.len() == 18 && word.as_bytes()[1] == b'_' && word.starts_with(['s', 'r', 'c', 'q', 'i']);
        let hash = word.len() == 64 && word.chars().all(|c| c.is_ascii_hexdigit());
        out.push_str(match (id, hash) {
            (true, _) => "ID",
            (_, true) => "HASH",
            (false, false) => &word,
        });
        word.clear();
        out.push(character);
    }
    out.pop();
    let (mut durations, parts) = (String::new(), out.split(" ms)"));
    for (index, part) in parts.enumerate() {
        if index > 0 {
            durations.truncate(durations.trim_end_matches(|c: char| c.is_ascii_digit()).len());
            durations.push_str("N ms)");
        }
        durations.push_str(part);
    }
    durations
}

struct Step {
    /// The lines as the page shows them.
    shown: String,
    command: String,
    output: String,
}

fn steps(block: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in block.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step { shown: format!("{line}\n"), command: command.into(), output: String::new() });
            continue;
        }
        let step = steps.last_mut().unwrap();
        match line.strip_prefix("> ") {
            Some(more) if step.output.is_empty() => {
                step.shown.push_str(&format!("{line}\n"));
                step.command.push_str(&format!("\n{more}"));
            }
            _ => step.output.push_str(&format!("{line}\n")),
        }
    }
    steps
}

#[test]
fn the_tour_prints_what_the_readme_says() {
    let page = std::fs::read_to_string(readme()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().canonicalize().unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_haft")).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
    let mut written = String::new();
    let mut pieces = page.split("```console\n");
    written.push_str(pieces.next().unwrap());
    let mut count = 0;
    for piece in pieces {
        let (block, rest) = piece.split_once("```").unwrap();
        written.push_str("```console\n");
        for step in steps(block) {
            let command = step.command.replace("/home/you", place.to_str().unwrap());
            let output = Command::new("sh")
                .args(["-c", &format!("exec 2>&1\n{command}")])
                .current_dir(&place)
                .env_clear()
                .env("PATH", &path)
                .env("HAFT_HOME", place.join(".haft"))
                .stdin(std::process::Stdio::null())
                .output()
                .unwrap();
            let output = String::from_utf8(output.stdout).unwrap();
            count += 1;
            if std::env::var_os("HAFT_UPDATE_README").is_some() {
                let output = output.replace(place.to_str().unwrap(), "/home/you");
                written.push_str(&step.shown);
                written.push_str(&output);
            } else {
                assert_eq!(normal(&output, &place), normal(&step.output, &place), "$ {}", step.command);
            }
        }
        written.push_str("```");
        written.push_str(rest);
    }
    assert!(count >= 10, "the tour has {count} steps");
    if std::env::var_os("HAFT_UPDATE_README").is_some() {
        std::fs::write(readme(), written).unwrap();
    }
}
