//! Section 7.2: listing, searching and reading the workspace, as the model reads it.

use haft_core::journal::RunStatus;
use haft_core::workspace::{WorkspaceRoot, WorkspaceRoots};
use serde_json::{Value, json};

use crate::crew::{CrewModel, calls};
use crate::tavern::{
    FILES, await_all, bodies, delegate, failures, files_and_agents, give_back, lines, one, read, scripted,
    stored_results, tavern,
};
use crate::writing::{commit, finish, write};

fn search(query: &str) -> (&'static str, Value) {
    ("workspace_search_files", json!({"query": query}))
}

// WSP-04, WSP-05, WSP-16, WSP-19, WSP-20: the tree by prefix, places with their lines, punctuation as it stands, nothing found as a success,
// and nothing of what the host keeps beside.
#[tokio::test]
async fn a_run_lists_and_searches_what_it_sees() {
    let team = tavern(&FILES);
    let model = scripted(vec![
        calls(vec![
            write("output/main.md", "A storm.\nThe keeper slept => deeply.\nDawn.\n"),
            write("plan/a/outline.md", "keeper, storm, dawn\n"),
            write("scratch/n.json", "{}\n"),
        ]),
        calls(vec![
            ("workspace_list_files", json!({})),
            ("workspace_list_files", json!({"path": "plan"})),
            ("workspace_list_files", json!({"path": "plan/none"})),
            search("Storm keeper"),
            search("=>"),
            search("keeper => slept"),
            search("whale"),
            search("tool_snapshot"),
            search("run_started"),
            search(" "),
            (
                "workspace_search_files",
                json!({"query": "dawn", "path": "plan", "limit": 1, "context_lines": 0}),
            ),
            ("workspace_search_files", json!({"query": "dawn", "path": "input"})),
        ]),
        calls(vec![commit(), finish()]),
    ]);
    let outcome = team.run(&model).await;
    assert_eq!(outcome.status, RunStatus::Completed);
    assert_eq!(
        failures(&team, &outcome.run).await,
        [
            "workspace_list_files workspace.file_not_found",
            "workspace_search_files workspace.empty_query",
            "workspace_search_files workspace.path_not_visible",
        ]
    );
    insta::assert_snapshot!(bodies(&model, "root")[3..].join("\n=====\n"));
    let results = stored_results(&team, &outcome.run).await;
    let of_storm = results.iter().find(|result| result.alias == "workspace_search_files").unwrap();
    assert_eq!(
        of_storm.resource_refs,
        ["workspace:output/main.md#L1-L3", "workspace:plan/a/outline.md#L1-L1"]
    );
    for (at, found) in [(7, true), (9, false), (10, false), (11, false)] {
        assert!(!results[at].is_error, "{:?}", results[at]);
        assert_eq!(!results[at].resource_refs.is_empty(), found, "{:?}", results[at]);
    }
}

// WSP-05, WSP-20, DEL-16: an agent searches and lists the roots that it sees, and no others.
#[tokio::test]
async fn an_agent_searches_its_own_roots() {
    let mut team = tavern(&files_and_agents());
    team.agent("critic", &FILES, |profile| {
        profile.workspace = WorkspaceRoots::new(&[WorkspaceRoot::Plan], &[]);
    });
    let model = CrewModel::new(vec![
        (
            "root",
            vec![
                calls(vec![write("output/main.md", "keeper\n"), write("plan/p.md", "keeper\n")]),
                one(delegate("critic", "Search.")),
                one(await_all()),
                calls(vec![commit(), finish()]),
            ],
        ),
        (
            "critic",
            vec![
                calls(vec![search("keeper"), ("workspace_list_files", json!({}))]),
                one(give_back("Found.")),
            ],
        ),
    ]);
    let outcome = team.run(&model).await;
    assert_eq!(outcome.status, RunStatus::Completed);
    assert_eq!(
        bodies(&model, "critic")[..2],
        [
            "1 place in 1 file fits `keeper`.\n\nplan/p.md, line 1, score 10\nkeeper".to_owned(),
            "plan/ (1 file)\nplan/p.md (1 line)\ntool-results/ (empty)".to_owned(),
        ]
    );
}

// WSP-03, WSP-06, WSP-17, WSP-18: the whole where it fits, else a preview by lines that says how to go on; long lines are cut and said
// to be; a range past the end is an error; bytes, lines and characters all bound it.
#[tokio::test]
async fn a_long_file_is_read_by_lines() {
    let team = tavern(&FILES);
    let many: String = (1..=1_300).map(|line| format!("{line}\n")).collect();
    let wide = format!("{}\nend\n", "x".repeat(80_001));
    // Four bytes each: the bytes are used up before the characters are.
    let heavy =
        "\u{1f40b}\u{1f40b}\u{1f40b}\u{1f40b}\u{1f40b}\u{1f40b}\u{1f40b}\u{1f40b}\u{1f40b}\n".repeat(7_500);
    let model = scripted(vec![
        calls(vec![
            write("scratch/many", &many),
            write("scratch/wide", &wide),
            write("scratch/heavy", &heavy),
            write("scratch/empty", ""),
        ]),
        calls(vec![
            read("scratch/many"),
            lines("scratch/many", 1_201, 200),
            lines("scratch/many", 1_299, 1),
            read("scratch/wide"),
            read("scratch/heavy"),
            read("scratch/empty"),
            lines("scratch/many", 1_301, 1),
            ("workspace_read_file", json!({"path": "scratch/many", "start_line": 0})),
            ("workspace_read_file", json!({"path": "scratch/many", "offset": 10})),
        ]),
        calls(vec![write("output/main.md", "x"), commit(), finish()]),
    ]);
    let outcome = team.run(&model).await;
    assert_eq!(outcome.status, RunStatus::Completed);
    assert_eq!(
        failures(&team, &outcome.run).await,
        [
            "workspace_read_file workspace.invalid_range",
            "workspace_read_file agent.invalid_arguments",
            "workspace_read_file agent.invalid_arguments",
        ]
    );
    let shown = bodies(&model, "root");
    let end_of = |body: &String| body.chars().skip(body.chars().count().saturating_sub(160)).collect();
    let ends: Vec<String> = shown[4..10].iter().map(end_of).collect();
    let go_on = "read on with workspace_read_file(path='scratch/many', start_line=1201)]";
    assert!(ends[0].ends_with(&format!("\n1200\n[lines 1-1200 of 1300; {go_on}")), "{}", ends[0]);
    assert!(ends[1].ends_with("\n1300\n[lines 1201-1300 of 1300]"), "{}", ends[1]);
    assert!(shown[6].starts_with("1299\n[line 1299 of 1300; read on with"), "{}", shown[6]);
    assert!(ends[3].contains("line 1 is cut after 80000 characters"), "{}", ends[3]);
    assert!(shown[8].len() <= (256 << 10) + 200, "{}", shown[8].len());
    assert!(ends[4].contains(" of 7500; read on with"), "{}", ends[4]);
    assert_eq!(shown[9], "[`scratch/empty` is empty]");
    // Actual lines for programs; no addressing by characters.
    let results = stored_results(&team, &outcome.run).await;
    let structured = results[4].structured.as_ref().unwrap();
    assert_eq!(
        (
            &structured["startLine"],
            &structured["endLine"],
            &structured["totalLines"],
            &structured["nextStartLine"]
        ),
        (&json!(1), &json!(1200), &json!(1300), &json!(1201))
    );
}
