//! Whole runs, told by their journals: every record with all that it says, but for ids, times and digests.

use haft_core::RunId;
use haft_core::journal::RunStatus;
use serde_json::{Map, Value, json};

use crate::crew::{CrewModel, Team, calls, text};
use crate::tavern::{
    FILES, await_all, delegate, files_and_agents, give_back, hand_over, one, patch, read, scripted, tavern,
};
use crate::writing::{append, commit, finish, write};

/// The journal of a run, one record a line, with invocations by the names of their agents.
async fn journal(team: &Team, run: &RunId) -> String {
    let mut lines = Vec::new();
    let mut names: Vec<(String, String)> = Vec::new();
    let mut contracts: Vec<(Value, Value)> = Vec::new();
    for record in team.world.store.records(run).await.unwrap() {
        let mut body = record.payload_value().unwrap();
        match record.kind.as_str() {
            "agent_task_created" => names.push((text_of(&body["invocation"]), text_of(&body["agent"]))),
            "context_assembled" => {
                if body["task"].is_null() {
                    names.push((text_of(&body["invocation"]), "root".to_owned()));
                }
                contracts.push((body["invocation"].clone(), body["contract"].clone()));
            }
            // It is told once, and afterwards only whether it is the same.
            "model_request_created"
                if contracts.contains(&(body["invocation"].clone(), body["contract"].clone())) =>
            {
                body["contract"] = json!("as assembled");
            }
            _ => {}
        }
        tidy(&mut body);
        lines.push(format!("{} {body}", record.kind));
    }
    let mut text = lines.join("\n");
    for (id, name) in names {
        text = text.replace(&id, &format!("<{name}>"));
    }
    text
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// Takes out what is another thing in every run, or says nothing about it.
fn tidy(value: &mut Value) {
    match value {
        Value::Object(map) => {
            let path = text_at(map, "path");
            if path.ends_with("tool_snapshot.json") || path.starts_with("tool-results/") {
                map.insert("bytes".to_owned(), json!("[bytes]"));
            }
            for (key, value) in map.iter_mut() {
                match key.as_str() {
                    "sha256" | "arguments_digest" if value.is_string() => *value = json!("[sha256]"),
                    "duration_ms" => *value = json!("[ms]"),
                    "session" => *value = json!("[session]"),
                    "haft" => *value = json!("[version]"),
                    "previous_run" if !value.is_null() => *value = json!("[run before]"),
                    "path" => *value = json!(without_hash(value.as_str().unwrap_or_default())),
                    _ => tidy(value),
                }
            }
        }
        Value::Array(all) => all.iter_mut().for_each(tidy),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn text_at<'a>(map: &'a Map<String, Value>, key: &str) -> &'a str {
    map.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// `tool-args/call_0123456789abcdef.json` without its hash.
fn without_hash(path: &str) -> String {
    match path.split_once("/call_") {
        Some((folder, rest)) if rest.len() == "0123456789abcdef.json".len() => {
            format!("{folder}/call_[hash].json")
        }
        Some(_) | None => path.to_owned(),
    }
}

// EXE-11, EVT-05, JRN-01, JRN-02, JRN-07, TRN-04, WSP-02, WSP-13, WSP-14, RES-10, RES-27
#[tokio::test]
async fn a_single_run_writes_revises_commits_and_finishes() {
    let team = tavern(&FILES);
    let model = scripted(vec![
        calls(vec![write("plan/outline.md", "Moss, then rain.\n"), write("output/main.md", "Moss grows.\n")]),
        calls(vec![
            read("output/main.md"),
            patch("output/main.md", "grows", "waits"),
            patch("output/main.md", "snow", "x"),
        ]),
        calls(vec![append("persist/notes.md", "Moss is a person.\n"), commit()]),
        one(finish()),
    ]);
    let outcome = team.run(&model).await;
    assert_eq!((outcome.status, outcome.text.as_str()), (RunStatus::Completed, "Moss waits.\n"));
    insta::assert_snapshot!(journal(&team, &outcome.run).await);
}

// DEL-07, DEL-12, DEL-14, DEL-17, SNP-05, SNP-07, EVT-05
#[tokio::test]
async fn a_run_delegates_awaits_and_takes_what_was_returned() {
    let mut team = tavern(&files_and_agents());
    team.agent("critic", &["workspace.read_file", "workspace.write_file"], |_| {});
    let model = CrewModel::new(vec![
        (
            "root",
            vec![
                one(write("output/main.md", "Moss grows.\n")),
                one(delegate("critic", "Read output/main.md; say what is weak.")),
                one(await_all()),
                calls(vec![patch("output/main.md", "Moss grows.", "Moss waits."), commit(), finish()]),
            ],
        ),
        (
            "critic",
            vec![
                calls(vec![read("output/main.md"), write("scratch/notes.md", "`grows` is weak.\n")]),
                one(("task_return", json!({"result": "Say `waits`.", "files": ["scratch/notes.md"]}))),
            ],
        ),
    ]);
    let outcome = team.run(&model).await;
    assert_eq!((outcome.status, outcome.text.as_str()), (RunStatus::Completed, "Moss waits.\n"));
    insta::assert_snapshot!(journal(&team, &outcome.run).await);
}

// EXE-13, EXE-14, EXE-15, EXE-18, EVT-05
#[tokio::test]
async fn a_run_drifts_and_recovers() {
    let team = tavern(&FILES);
    let model = scripted(vec![
        one(write("output/main.md", "Moss grows.\n")),
        text("Here is your text: Moss grows."),
        calls(vec![commit(), finish()]),
    ]);
    let outcome = team.run(&model).await;
    assert_eq!((outcome.status, outcome.text.as_str()), (RunStatus::Completed, "Moss grows.\n"));
    insta::assert_snapshot!(journal(&team, &outcome.run).await);
}

// EXE-13, EXE-16, EVT-05: without a commit the run failed and may be tried again; with one it is a partial success.
#[tokio::test]
async fn a_run_drifts_and_does_not_recover() {
    let mut team = tavern(&FILES);
    team.world.profile.budgets.rounds = 2;
    let outcome = team.run(&scripted(vec![text("Moss grows."), text("That is all.")])).await;
    assert_eq!(outcome.status, RunStatus::Failed);
    let failed = journal(&team, &outcome.run).await;
    let turns = vec![calls(vec![write("output/main.md", "Moss grows.\n"), commit()]), text("That is all.")];
    let outcome = team.run(&scripted(turns)).await;
    assert_eq!((outcome.status, outcome.text.as_str()), (RunStatus::PartialSuccess, "Moss grows.\n"));
    let partial = journal(&team, &outcome.run).await;
    insta::assert_snapshot!(format!("{failed}\n\n{partial}"));
}

// DEL-09, DEL-13, DEL-15, SNP-06, WSP-02, WSP-23: three agents, a handoff, a child that is stopped at the end.
#[tokio::test]
async fn a_run_of_three_agents_is_handed_over_and_finished() {
    let mut team = tavern(&files_and_agents());
    let tools = files_and_agents();
    team.agent("editor", &tools, |_| {});
    team.agent("critic", &["writes"], |_| {});
    let model = CrewModel::new(vec![
        (
            "root",
            vec![calls(vec![
                write("output/main.md", "Moss grows.\n"),
                write("persist/notes.md", "Moss is a person.\n"),
                commit(),
                hand_over("editor", "Finish it."),
            ])],
        ),
        (
            "editor",
            vec![one(delegate("critic", "Judge for ever.")), one(read("output/main.md")), one(finish())],
        ),
        ("critic", vec![one(("writes", json!({}))), one(give_back("Never."))]),
    ]);
    let outcome = team.run(&model).await;
    assert_eq!((outcome.status, outcome.text.as_str()), (RunStatus::Completed, "Moss grows.\n"));
    insta::assert_snapshot!(journal(&team, &outcome.run).await);
}
