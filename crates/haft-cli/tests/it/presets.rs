//! What the presets allow is on record, so that no change loosens them unseen.

use std::collections::BTreeMap;

use crate::support::Home;

/// One tool of a preset and its permission, from the first one to today's: `ask -> allow (decision 012)`.
const RECORD: &str = include_str!("presets.txt");

fn rank(word: &str) -> usize {
    ["deny", "ask", "allow"]
        .iter()
        .position(|known| *known == word)
        .unwrap_or_else(|| panic!("`{word}` is no permission"))
}

/// The permission that a line of the record ends in; it is loosened only where a decision that is written down says so.
fn today(line: &str, history: &str) -> String {
    let mut steps = history.split(" -> ");
    let mut held = steps.next().unwrap().trim().to_owned();
    for step in steps {
        let (word, decision) = step.split_once(" (decision ").unwrap_or((step, ""));
        if rank(word.trim()) > rank(&held) {
            let number = decision.trim_end_matches(')');
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/decisions");
            let written = std::fs::read_dir(folder)
                .unwrap()
                .any(|file| file.unwrap().file_name().to_string_lossy().starts_with(&format!("{number}-")));
            assert!(
                !number.is_empty() && written,
                "`{line}` loosens and names no decision of docs/decisions"
            );
        }
        held = word.trim().to_owned();
    }
    held
}

// Complaint 10: an update that loosens approvals shows.
#[test]
fn the_permissions_of_presets_are_those_on_record() {
    let home = Home::new();
    let mut recorded: BTreeMap<String, String> = BTreeMap::new();
    for line in RECORD.lines().filter(|line| !line.starts_with('#')) {
        let (tool, history) = line.split_once(": ").unwrap();
        recorded.insert(tool.to_owned(), today(line, history));
    }
    let mut found = BTreeMap::new();
    for preset in ["default", "artifactflow", "ethan", "locked", "nanoclaw", "tauritavern"] {
        for tool in home.json(&["tools", "--profile", preset]).as_array().unwrap() {
            let name = format!("{preset} {}", tool["tool_id"].as_str().unwrap());
            found.insert(name, tool["permission"].as_str().unwrap().to_owned());
        }
        for rule in
            home.haft(&["profile", "show", preset]).stdout.lines().filter(|line| line.starts_with("    - {"))
        {
            let rule: serde_json::Value = serde_json::from_str(rule.trim_start_matches("    - ")).unwrap();
            let decision = rule["decision"].as_str().unwrap().to_owned();
            found.insert(format!("{preset} rule for {}", rule["tool"].as_str().unwrap()), decision);
        }
    }
    let lines: Vec<String> = found.iter().map(|(tool, permission)| format!("{tool}: {permission}")).collect();
    assert!(
        found == recorded,
        "a preset changed; write the change behind the old permission of its line in tests/it/presets.txt, and where it loosens, \
         with the decision that says why. It is now:\n{}",
        lines.join("\n")
    );
}

// Complaint 4: `locked` refuses what it does not allow; it asks nobody, and no flag widens it.
#[test]
fn the_preset_locked_allows_what_it_lists_and_nothing_else() {
    let home = Home::new();
    home.write("demo/a.md", "a");
    assert_eq!(home.haft(&["project", "add", "demo", "--id", "demo"]).exit, Some(0));
    let run = |arguments: &[&str]| {
        home.haft(&[&["--profile", "locked", "--project", "demo"], arguments].concat()).exit
    };
    assert_eq!(run(&["call", "file_read", "path=a.md"]), Some(0));
    assert_eq!(run(&["call", "calculator", "expression=1+1"]), Some(0));
    assert_eq!(run(&["call", "file_write", "path=a.md", "content=x", "--yes"]), Some(3));
    // A tool that somebody adds without a rule is refused, though its own default allows or asks.
    home.write(
        "home/profiles/more.md",
        "---\nextends: locked\ntools:\n  allow: [project.file_read, project.file_write, get_weather]\n---\n",
    );
    for call in [
        ["call", "file_write", "path=a.md", "content=x"],
        ["call", "get_weather", "city=Rome", "unit=celsius"],
    ] {
        let arguments =
            [&["--profile", "more", "--project", "demo", "--yes", "--allow", call[1]], &call[..]].concat();
        assert_eq!(home.haft(&arguments).exit, Some(3), "{arguments:?}");
    }
}
