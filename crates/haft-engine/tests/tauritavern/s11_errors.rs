//! Section 11: the three classes of errors, by the source's own examples.

use std::sync::Arc;

use haft_core::ToolId;
use haft_core::facts::Permission;
use haft_core::journal::RunStatus;
use haft_store::MemoryStore;
use serde_json::json;

use crate::crew::calls;
use crate::support::{FailingStore, World};
use crate::tavern::{
    FILES, Parts, bodies, failures, one, patch, read, scripted, stored_results, tavern, tavern_of,
};
use crate::writing::{commit, finish, write};

// ERR-01, ERR-02, COE-09: nothing found is a success; what does not match, a path that goes up and a denied tool are results; the run
// goes on after each.
#[tokio::test]
async fn what_the_model_can_mend_is_a_result() {
    let tools: Vec<&str> = FILES.into_iter().chain(["chat.search", "put"]).collect();
    let mut team = tavern(&tools);
    team.world.profile.tools.permission.insert(ToolId::builtin("put"), Permission::Deny);
    let model = scripted(vec![
        calls(vec![
            ("chat_search", json!({"query": "nothing of that"})),
            write("output/main.md", "The sea."),
            patch("output/main.md", "The lamp.", "x"),
            read("../../etc/passwd"),
            ("put", json!({"text": "a", "size": 1})),
        ]),
        calls(vec![commit(), finish()]),
    ]);
    let outcome = team.run(&model).await;
    assert_eq!(outcome.status, RunStatus::Completed);
    let results = stored_results(&team, &outcome.run).await;
    let classed: Vec<(bool, Option<&str>)> = results[..4]
        .iter()
        .map(|result| (result.is_error, result.error_code.as_ref().map(haft_core::ErrorCode::as_str)))
        .collect();
    assert_eq!(
        classed,
        [
            (false, None),
            (false, None),
            (true, Some("workspace.patch_old_string_not_found")),
            (true, Some("workspace.path_invalid")),
        ]
    );
    assert_eq!(bodies(&model, "root")[0], "No message fits `nothing of that`.");
    assert!(team.world.logged().is_empty(), "what is denied does not run");
    assert_eq!(failures(&team, &outcome.run).await.len(), 3);
}

// ERR-01, ERR-02, JRN-06: a journal that cannot be written fails the run; nothing runs whose intent is not there, and nothing goes on.
#[tokio::test]
async fn a_journal_that_fails_fails_the_run() {
    let mut cut_off = 1;
    loop {
        let store = Arc::new(FailingStore::new(Arc::new(MemoryStore::new()), cut_off));
        let tools: Vec<&str> = FILES.into_iter().chain(["echo"]).collect();
        let team = tavern_of(World::over(store), &tools, Parts::default());
        let session = team.world.session().await;
        let model = scripted(vec![
            one(("echo", json!({"text": "ran"}))),
            calls(vec![write("output/main.md", "x"), commit(), finish()]),
        ]);
        let handle = session.prompt("Do it".into(), model.clone(), team.options());
        let run = handle.run().clone();
        let ended = handle.wait().await;
        session.close().await.unwrap();
        let kinds = team.world.kinds(&run).await;
        let started = kinds.iter().filter(|kind| *kind == "tool_call_started").count();
        if let Ok(outcome) = ended {
            assert!(cut_off > 3, "{cut_off}");
            assert_eq!(outcome.status, RunStatus::Completed);
            break;
        }
        assert!(!kinds.contains(&"run_ended".to_owned()), "nothing can be written of its end: {kinds:?}");
        assert!(team.world.logged().len() <= started, "after {cut_off}: {kinds:?}");
        cut_off += 1;
    }
}
