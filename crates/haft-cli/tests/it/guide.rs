//! The examples of the guide are used as they stand in it.

use crate::support::Home;

/// The first block of `page` that is marked as `kind`.
fn block(page: &str, kind: &str) -> String {
    let path = format!("{}/../../docs/guide/{page}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let (_, rest) = text.split_once(&format!("```{kind}\n")).unwrap();
    rest.split_once("```").unwrap().0.to_owned()
}

// CFG-02
#[test]
fn its_configurations_are_good() {
    for page in ["configuration.md", "models.md", "policy.md", "dialects.md"] {
        let home = Home::new();
        home.write("home/haft.toml", &block(page, "toml"));
        let run = home.haft(&["config", "check"]);
        assert_eq!(run.exit, Some(0), "{page}: {run}");
    }
}

#[test]
fn its_profile_holds_what_it_says() {
    let home = Home::new();
    home.write("home/profiles/careful.md", &block("profiles.md", "markdown"));
    let run = home.haft(&["tools", "--profile", "careful"]);
    let columns: Vec<Vec<&str>> =
        run.stdout.lines().map(|line| line.split_whitespace().take(2).collect()).collect();
    assert_eq!(columns, [["read", "allow"], ["file_write", "ask"], ["calculator", "allow"]], "{run}");
}

#[test]
fn its_script_runs() {
    let home = Home::new();
    home.write("script.jsonl", &block("models.md", "json"));
    let run = home.haft(&["run", "--model", "scripted:script.jsonl", "What is 6*7?"]);
    assert_eq!((run.exit, run.stdout.as_str()), (Some(0), "It is 42.\n"), "{run}");
}

#[test]
fn its_cases_are_decided_as_they_say() {
    let home = Home::new();
    home.write("home/haft.toml", &block("policy.md", "toml"));
    let path = format!("{}/../../docs/guide/policy.md", env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(path).unwrap();
    let (_, cases) = page.split_once("A file of cases:").unwrap();
    let cases = cases.split_once("```toml\n").unwrap().1.split_once("```").unwrap().0;
    home.write("cases.toml", cases);
    let run = home.haft(&["policy", "test", "cases.toml"]);
    assert_eq!((run.exit, run.stdout.as_str()), (Some(0), "2 cases: good\n"), "{run}");
}

// CHT-01, CHT-03, WLD-01
#[test]
fn its_chat_and_its_book_are_read_as_it_says() {
    let home = Home::new();
    home.write("coast.jsonl", &block("chats.md", "jsonl"));
    home.write("home/lorebooks/coast.json", &block("chats.md", "json"));
    home.write("home/profiles/writer.md", &block("chats.md", "markdown"));
    let imported = home.haft(&["sessions", "import", "coast.jsonl"]);
    assert!(imported.stderr.starts_with("imported 4 messages of coast.jsonl; "), "{imported}");
    let path = format!("{}/../../docs/guide/chats.md", env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(path).unwrap();
    for call in [
        "call chat_search query=kree --session last --profile tauritavern",
        "call worldinfo_read_activated --session last --profile writer",
    ] {
        let (_, shown) = page.split_once(&format!("    $ haft {call}\n")).unwrap();
        let shown: Vec<&str> =
            shown.lines().take_while(|line| line.is_empty() || line.starts_with("    ")).collect();
        let shown: Vec<&str> = shown.iter().map(|line| line.trim_start_matches("    ")).collect();
        let run = home.haft(&call.split(' ').collect::<Vec<_>>());
        assert_eq!(run.stdout.trim(), shown.join("\n").trim(), "{run}");
    }
}

// DEL-01, DEL-10, DEL-18
#[test]
fn its_agents_work_as_it_says() {
    let home = Home::new();
    home.write("home/profiles/critic.md", &block("agents.md", "markdown"));
    let shown = home.haft(&["profile", "show", "critic"]);
    assert!(shown.stdout.contains("  callable: true\n  allow_as_handoff_target: false\n"), "{shown}");
    home.write("home/profiles/scout.md", "---\nextends: artifactflow\n---\nYou look around.\n");
    home.write("script.jsonl", &block("agents.md", "jsonl"));
    let run = home.haft(&["run", "--model", "scripted:script.jsonl", "--profile", "artifactflow", "Go."]);
    assert_eq!((run.exit, run.stdout.as_str()), (Some(0), "The scout says that all is quiet.\n"), "{run}");
}
