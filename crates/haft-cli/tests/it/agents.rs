//! Agents at the command line: the presets work in their own ways, and scripts speak for each agent (DEL, design.md §8).

use serde_json::Value;

use crate::support::Home;

fn script(home: &Home, lines: &[&str]) -> String {
    format!("scripted:{}", home.write("script.jsonl", &lines.join("\n")).display())
}

fn events(run: &crate::support::Run) -> Vec<Value> {
    run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

// DEL-01, DEL-02, DEL-18
#[test]
fn artifactflow_calls_an_agent_of_the_home_and_goes_on() {
    let home = Home::new();
    home.write(
        "home/profiles/scout.md",
        "---\nextends: artifactflow\ndescription: Looks around.\n---\nYou look around.\n",
    );
    home.write("home/profiles/ghost.md", "---\nextends: scout\ndelegation:\n  internal: true\n---\nBoo.\n");
    let call = |agent: &str| {
        format!(
            r#"{{"tool_calls": [{{"name": "call_subagent", "arguments": {{"agent_name": "{agent}", "instruction": "Look."}}}}]}}"#
        )
    };
    let model = script(
        &home,
        &[
            &call("scout"),
            r#"{"agent": "scout", "tool_calls": [{"name": "create_artifact", "arguments": {"id": "seen", "content_type": "text/plain", "title": "Seen", "content": "fog"}}]}"#,
            r#"{"agent": "scout", "text": "All quiet.", "expect": {"last_contains": "seen"}}"#,
            r#"{"text": "The scout says: all quiet.", "expect": {"last_contains": "All quiet."}}"#,
        ],
    );
    let run = home.haft(&["run", "--profile", "artifactflow", "--model", &model, "Have a look."]);
    assert_eq!((run.exit, run.stdout.as_str()), (Some(0), "The scout says: all quiet.\n"), "{run}");
    let shown = home.haft(&["sessions", "show", "last"]);
    assert!(!shown.stdout.contains("You look around."), "{shown}");
    // The run is run again with the agents of today, and a difference names the agent.
    assert_eq!(home.haft(&["replay"]).exit, Some(0));
    let scout = home.read("home/profiles/scout.md");
    home.write(
        "home/profiles/scout.md",
        &scout.replace("---\nYou look", "tools:\n  deny: [artifact.create]\n---\nYou look"),
    );
    let again = home.haft(&["replay"]);
    assert_eq!(again.exit, Some(1), "{again}");
    assert!(again.stdout.contains(": tools of agent root/1_1.1 differs, record "), "{again}");
    home.write("home/profiles/scout.md", &scout);
    let model =
        script(&home, &[&call("ghost"), r#"{"text": "No ghosts.", "expect": {"last_contains": "scout"}}"#]);
    let run = home.haft(&["run", "--profile", "artifactflow", "--model", &model, "Call the ghost."]);
    assert_eq!((run.exit, run.stdout.as_str()), (Some(0), "No ghosts.\n"), "{run}");
    assert_eq!(home.haft(&["audit", "verify"]).exit, Some(0));
}

// DEL-03, DEL-05, CTX-03
#[test]
fn nanoclaw_lets_children_work_side_by_side() {
    let home = Home::new();
    let model = script(
        &home,
        &[
            r#"{"tool_calls": [{"name": "multi_agent", "arguments": {"tasks": [{"name": "sum", "instruction": "Add."}, {"name": "idle", "instruction": "Rest.", "tools": []}]}}]}"#,
            r#"{"agent": "sum", "tool_calls": [{"name": "calculator", "arguments": {"expression": "1+1"}}]}"#,
            r#"{"agent": "sum", "text": "Two."}"#,
            r#"{"agent": "idle", "text": "Rested."}"#,
            r#"{"text": "Done.", "expect": {"last_contains": "Two."}}"#,
        ],
    );
    let run = home.haft(&["run", "--json", "--profile", "nanoclaw", "--model", &model, "Go."]);
    assert_eq!(run.exit, Some(0), "{run}");
    assert_eq!(home.haft(&["replay"]).exit, Some(0));
    let events = events(&run);
    let view = events
        .iter()
        .find(|event| event["kind"] == "tool_call_completed" && event["payload"]["alias"] == "multi_agent")
        .unwrap();
    assert_eq!(
        view["payload"]["view"]["structured"],
        serde_json::json!({"success": true, "total": 2, "results": [
            {"task_name": "sum", "success": true, "response": "Two."},
            {"task_name": "idle", "success": true, "response": "Rested."},
        ]})
    );
    // What children say is no answer to the person.
    let deltas: Vec<&str> = events
        .iter()
        .filter(|event| event["kind"] == "text_delta")
        .map(|event| event["payload"]["text"].as_str().unwrap())
        .collect();
    assert_eq!(deltas.concat(), "Done.");
    assert!(events.iter().any(|event| event["kind"] == "agent_text_delta"));
    assert!(
        view["payload"]["view"]["arguments"]["_model"].as_str().unwrap().starts_with("scripted:"),
        "{view:#}"
    );
}

// DEL-06 to DEL-17
#[test]
fn tauritavern_delegates_and_hands_over() {
    let home = Home::new();
    let delegation = "delegation:\n  callable: true\n  allowAsHandoffTarget: true\n";
    home.write(
        "home/profiles/editor.md",
        &format!("---\nextends: tauritavern\n{delegation}---\nYou edit.\n"),
    );
    home.write(
        "home/profiles/stranger.md",
        &format!(
            "---\nextends: tauritavern\n{delegation}  allowedCallers: [nobody]\n---\nYou are strange.\n"
        ),
    );
    let model = script(
        &home,
        &[
            r#"{"tool_calls": [{"id": "1", "name": "agent_list", "arguments": {}}, {"id": "2", "name": "agent_delegate", "arguments": {"agentId": "editor", "task": "Judge."}}]}"#,
            r#"{"agent": "editor", "tool_calls": [{"id": "3", "name": "task_return", "arguments": {"result": "Too short."}}]}"#,
            r#"{"tool_calls": [{"id": "4", "name": "agent_await", "arguments": {}}]}"#,
            r#"{"tool_calls": [{"id": "5", "name": "agent_handoff", "arguments": {"agentId": "editor", "brief": "Finish."}}]}"#,
            r#"{"agent": "editor", "tool_calls": [{"id": "6", "name": "workspace_write_file", "arguments": {"path": "output/main.md", "content": "Once."}}, {"id": "7", "name": "workspace_commit", "arguments": {}}, {"id": "8", "name": "workspace_finish", "arguments": {}}]}"#,
        ],
    );
    let run = home.haft(&["run", "--profile", "tauritavern", "--model", &model, "Write."]);
    assert_eq!((run.exit, run.stdout.as_str()), (Some(0), "Once.\n"), "{run}");
    assert!(run.stderr.contains("`editor` (delegate, handoff)"), "{run}");
    assert!(!run.stderr.contains("stranger"), "{run}");
    assert_eq!(home.haft(&["audit", "verify"]).exit, Some(0));
}

// DEL-14: a call alone has no run whose agents could work, and nobody may allow what the host gives.
#[test]
fn single_calls_and_profiles_do_not_reach_agents() {
    let home = Home::new();
    let call = home.haft(&[
        "call",
        "--profile",
        "nanoclaw",
        "multi_agent",
        r#"tasks:=[{"name": "a", "instruction": "b"}]"#,
    ]);
    assert_eq!(call.exit, Some(1), "{call}");
    home.write("home/profiles/cheat.md", "---\ntools:\n  allow: [task.return]\n---\nx\n");
    let shown = home.haft(&["tools", "--profile", "cheat"]);
    assert_eq!(shown.exit, Some(2), "{shown}");
    assert!(shown.stderr.contains("cannot be allowed"), "{shown}");
}
