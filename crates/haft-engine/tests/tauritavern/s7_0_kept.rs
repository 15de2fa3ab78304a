//! Section 7.0: the roots of the workspace, what is kept of them, and what is never put into the conversation.

use std::sync::Arc;

use haft_core::journal::RunStatus;
use haft_core::path::StartedCall;
use haft_core::ports::BoxFuture;
use haft_core::workspace::{Workspace, WorkspacePath, WorkspaceVersion};
use haft_core::{Effect, Tool, ToolContext, ToolDeclaration, ToolError, ToolId, ToolOutput};
use haft_store::MemoryStore;
use serde_json::json;

use crate::crew::{CrewModel, Team, calls, text};
use crate::support::{FailingStore, World};
use crate::tavern::{
    FILES, Parts, await_all, bodies, commit_of, delegate, failures, files_and_agents, give_back, hand_over,
    one, read, scripted, tavern, tavern_of,
};
use crate::writing::{append, commit, finish, write};

fn keeps(text: &str) -> (&'static str, serde_json::Value) {
    write("persist/notes.md", text)
}

// JRN-08, WSP-01, WSP-12: the root of results is seen by all, written by nobody, and never committed.
#[tokio::test]
async fn results_are_seen_never_written_and_never_committed() {
    let mut team = tavern(&files_and_agents());
    team.agent("critic", &FILES, |_| {});
    let model = CrewModel::new(vec![
        (
            "root",
            vec![
                calls(vec![
                    ("workspace_list_files", json!({})),
                    write("tool-results/note.md", "x"),
                    append("tool-results/note.md", "x"),
                    commit_of("tool-results/note.md"),
                ]),
                one(delegate("critic", "Look.")),
                one(await_all()),
                calls(vec![write("output/main.md", "x"), commit(), finish()]),
            ],
        ),
        ("critic", vec![one(("workspace_list_files", json!({}))), one(give_back("Seen."))]),
    ]);
    let outcome = team.run(&model).await;
    assert_eq!(outcome.status, RunStatus::Completed);
    assert_eq!(
        failures(&team, &outcome.run).await,
        [
            "workspace_write_file workspace.path_not_writable",
            "workspace_write_file workspace.path_not_writable",
            "workspace_commit workspace.path_not_committable",
        ]
    );
    for agent in ["root", "critic"] {
        assert!(bodies(&model, agent)[0].contains("tool-results/ (empty)"), "{agent}");
    }
    assert!(bodies(&model, "root")[3].contains("is never committed"), "{}", bodies(&model, "root")[3]);
}

/// Whether a run of the session finds what was kept.
async fn finds(team: &Team, session: &haft_engine::Session) -> bool {
    let model = scripted(vec![
        one(read("persist/notes.md")),
        calls(vec![write("output/other.md", "x"), commit_of("output/other.md"), finish()]),
    ]);
    let outcome = team.prompt(session, &model).await;
    assert_eq!(outcome.status, RunStatus::Completed);
    !bodies(&model, "root")[0].starts_with("## Tool error")
}

// WSP-02, JRN-06: what is kept is kept with the end of the run, or not at all, wherever the store fails.
#[tokio::test]
async fn what_is_kept_is_kept_with_the_end_of_its_run() {
    let mut cut_off = 0;
    loop {
        let store = Arc::new(FailingStore::new(Arc::new(MemoryStore::new()), cut_off));
        let team = tavern_of(World::over(store.clone()), &files_and_agents(), Parts::default());
        let session = team.world.session().await;
        let model = scripted(vec![
            one(keeps("Ada is tall.")),
            calls(vec![write("output/main.md", "x"), commit(), finish()]),
        ]);
        let ended =
            session.prompt("Do it".into(), model, team.options()).wait().await.map(|outcome| outcome.status);
        store.recover();
        // The same process goes on with the session.
        assert_eq!(finds(&team, &session).await, ended == Ok(RunStatus::Completed), "after {cut_off}");
        session.close().await.unwrap();
        if ended.is_ok() {
            break;
        }
        cut_off += 1;
    }
    assert!(cut_off > 3, "{cut_off}");
}

// WSP-02: of a chain of agents, the end of the last one decides; drift to the end and a stop keep nothing.
#[tokio::test]
async fn only_the_good_end_of_a_whole_run_keeps() {
    let mut team = tavern(&files_and_agents());
    team.agent("editor", &FILES, |profile| profile.budgets.rounds = 2);
    let first = || {
        vec![calls(vec![
            keeps("Ada is tall."),
            write("output/main.md", "x"),
            commit(),
            hand_over("editor", "Finish."),
        ])]
    };
    let session = team.world.session().await;
    let model = CrewModel::new(vec![("root", first()), ("editor", vec![text("One."), text("Two.")])]);
    assert_eq!(team.prompt(&session, &model).await.status, RunStatus::PartialSuccess);
    assert!(!finds(&team, &session).await);
    let model = CrewModel::new(vec![("root", first()), ("editor", vec![one(finish())])]);
    let outcome = team.prompt(&session, &model).await;
    assert_eq!(outcome.status, RunStatus::Completed);
    // The promotion stands with the end of the run, behind the end of the agent that took over.
    let kinds = team.world.kinds(&outcome.run).await;
    assert_eq!(kinds[kinds.len() - 3..], ["invocation_ended", "persist_promoted", "run_ended"]);
    assert!(finds(&team, &session).await);
    session.close().await.unwrap();
}

/// Stages a file and fails: its end tells of nothing.
struct StagesAndFails(ToolDeclaration);

impl Tool for StagesAndFails {
    fn declaration(&self) -> &ToolDeclaration {
        &self.0
    }

    fn call<'a>(
        &'a self,
        _: &'a StartedCall,
        context: &'a dyn ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let workspace = context.services().get::<dyn Workspace>().unwrap();
            let path = WorkspacePath::parse("persist/notes.md")?;
            workspace.stage(WorkspaceVersion { path, version: 1, bytes: Arc::from(*b"lost") })?;
            Err(ToolError::failed("It went wrong after all."))
        })
    }
}

// WSP-15, WSP-02: what a failed call staged was never written, for the run and for what it keeps.
#[tokio::test]
async fn what_a_failed_call_staged_is_not_there() {
    let declaration = ToolDeclaration::new(
        ToolId::builtin("stages_and_fails"),
        "Stages and fails.",
        json!({"type": "object"}),
        Effect::Write,
    );
    let parts = Parts { tools: vec![Arc::new(StagesAndFails(declaration.unwrap()))], ..Parts::default() };
    let tools: Vec<&str> = FILES.into_iter().chain(["stages_and_fails"]).collect();
    let team = tavern_of(World::new(), &tools, parts);
    let session = team.world.session().await;
    let model = scripted(vec![
        calls(vec![write("output/main.md", "x"), commit()]),
        calls(vec![("stages_and_fails", json!({}))]),
        calls(vec![read("persist/notes.md"), ("stages_and_fails", json!({})), finish()]),
    ]);
    let outcome = team.prompt(&session, &model).await;
    assert_eq!(outcome.status, RunStatus::Completed);
    assert_eq!(
        failures(&team, &outcome.run).await,
        [
            "stages_and_fails agent.tool_failed",
            "workspace_read_file workspace.file_not_found",
            "stages_and_fails agent.tool_failed",
        ]
    );
    assert!(!team.world.kinds(&outcome.run).await.contains(&"persist_promoted".to_owned()));
    assert!(!finds(&team, &session).await);
    session.close().await.unwrap();
}
