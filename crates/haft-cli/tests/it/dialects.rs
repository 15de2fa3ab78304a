//! Every dialect at the command line: the guide's examples, `haft exec`, prompts, and calls in the content of native models.

use serde_json::{Value, json};

use crate::support::Home;

/// The examples of the guide: names with the text behind them.
fn examples() -> Vec<(String, String)> {
    let path = format!("{}/../../docs/guide/dialects.md", env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(path).unwrap();
    let sections = page.split("\n### ").skip(1);
    let example = |section: &str| {
        let (name, rest) = section.split_once("\n\n").unwrap();
        let (fence, rest) = rest.split_once("text\n").unwrap();
        let (text, _) = rest.split_once(&format!("\n{fence}\n")).unwrap();
        (name.to_owned(), text.to_owned())
    };
    sections.map(example).collect()
}

#[test]
fn the_guide_shows_every_dialect_and_its_examples_are_read() {
    let home = Home::new();
    let tools = json!([
        {"name": "tide_table", "parameters": {"type": "object", "properties": {
            "port": {"type": "string"}, "days": {"type": "integer"},
            "tags": {"type": "array", "items": {"type": "string"}}}, "required": ["port"]}},
        {"name": "jobs_list", "parameters": {"type": "object", "properties": {}}},
    ]);
    home.write("tools.json", &tools.to_string());
    let listed = home.haft(&["parse", "--dialects"]).stdout;
    let examples = examples();
    let shown: Vec<&str> = examples.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(shown, listed.lines().skip(1).collect::<Vec<_>>());
    let lines: String = examples
        .iter()
        .map(|(name, text)| format!("{}\n", json!({"id": name, "dialect": name, "text": text})))
        .collect();
    let run = home.haft_with(&["parse", "--jsonl", "--tools", "tools.json"], &lines);
    let wanted = json!([
        {"name": "tide_table", "arguments": {"port": "Brest", "days": 2, "tags": ["a"]}},
        {"name": "jobs_list", "arguments": {}},
    ]);
    for (line, (name, _)) in run.stdout.lines().zip(&examples) {
        let parsed: Value = serde_json::from_str(line).unwrap();
        let calls: Vec<Value> = parsed["calls"]
            .as_array()
            .unwrap()
            .iter()
            .map(|call| json!({"name": call["name"], "arguments": call["arguments"]}))
            .collect();
        assert_eq!(json!(calls), wanted, "{name}: {parsed}");
    }
}

// RES-02
#[test]
fn exec_answers_in_the_dialect_of_the_text() {
    let home = Home::new();
    let text =
        "<tool_call>\n{\"name\": \"calculator\", \"arguments\": {\"expression\": \"6*7\"}}\n</tool_call>";
    for dialect in ["hermes", "auto"] {
        let run = home.haft_with(&["exec", "--dialect", dialect], text);
        assert_eq!(
            (run.exit, run.stdout.as_str()),
            (Some(0), "<tool_response>\n42\n</tool_response>\n"),
            "{run}"
        );
    }
    let text = "Action: calculator\nAction Input: {\"expression\": \"6*7\"}";
    let run = home.haft_with(&["exec", "--dialect", "react"], text);
    assert_eq!((run.exit, run.stdout.as_str()), (Some(0), "Observation: 42\n"), "{run}");
}

// DIA-13
#[test]
fn every_dialect_has_a_prompt() {
    let home = Home::new();
    for dialect in ["hermes", "pythonic", "artifact-xml"] {
        let run = home.haft(&["tools", "prompt", "--dialect", dialect]);
        assert!(run.stdout.starts_with("<tool_instructions>") && run.stdout.contains("calculator"), "{run}");
    }
    let run = home.haft(&["tools", "prompt", "--dialect", "auto"]);
    assert_eq!(run.exit, Some(2), "{run}");
}

// CONFLICT-02
#[test]
fn a_native_model_that_writes_its_calls_as_text_is_understood_unless_that_is_a_breach() {
    let home = Home::new();
    let call =
        "<tool_call>\n{\"name\": \"calculator\", \"arguments\": {\"expression\": \"6*7\"}}\n</tool_call>";
    let script = format!(
        "{}\n{}\n",
        json!({"text": format!("Let me see.\n{call}")}),
        json!({"expect": {"last_contains": "42"}, "text": "It is 42."})
    );
    home.write("script.jsonl", &script);
    let run = home.haft(&["run", "--model", "scripted:script.jsonl", "What is 6*7?"]);
    assert_eq!((run.exit, run.stdout.as_str()), (Some(0), "It is 42.\n"), "{run}");
    home.write("home/profiles/strict.md", "---\nextends: default\nunknown_alias: fail_fast\n---\n");
    let run = home.haft(&["run", "--profile", "strict", "--model", "scripted:script.jsonl", "What is 6*7?"]);
    assert_eq!(run.exit, Some(0), "{run}");
    assert!(run.stdout.contains("<tool_call>"), "{run}");
}

// PRV-05
#[test]
fn a_model_can_be_spoken_to_in_any_dialect() {
    let home = Home::new();
    home.write("home/profiles/mistral.md", "---\nextends: default\ndialect: mistral\n---\n");
    let script = format!(
        "{}\n{}\n",
        json!({"text": "[TOOL_CALLS] [{\"name\": \"calculator\", \"arguments\": {\"expression\": \"6*7\"}, \"id\": \"aB3dE6gH9\"}]"}),
        json!({"expect": {"last_contains": "[TOOL_RESULTS] {\"content\": \"42\", \"call_id\": \"aB3dE6gH9\"}[/TOOL_RESULTS]"}, "text": "42."})
    );
    home.write("script.jsonl", &script);
    let run = home.haft(&["run", "--profile", "mistral", "--model", "scripted:script.jsonl", "What is 6*7?"]);
    assert_eq!((run.exit, run.stdout.as_str()), (Some(0), "42.\n"), "{run}");
}
