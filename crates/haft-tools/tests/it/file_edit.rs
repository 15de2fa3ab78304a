//! `file_edit` in a project: what must be read first, what a receipt and an error say. Complaints are those of public threads.

use std::sync::{Arc, Mutex};

use haft_core::notes::{READ_STATE, SessionNotes};
use haft_core::result::{Change, FileChange};
use haft_core::{BoxFuture, Digest, ToolError, ToolId, ToolOutput};
use haft_tools::files;
use serde_json::{Value, json};

use crate::support::{Ground, Invocation};

fn invocation(ground: &Ground) -> Invocation {
    Invocation::new(files::tools().unwrap(), ground.services()).in_project("demo", None)
}

fn edit(old: &str, new: &str) -> Value {
    json!({"path": "a.txt", "old_string": old, "new_string": new})
}

fn edit_all(old: &str, new: &str) -> Value {
    json!({"path": "a.txt", "old_string": old, "new_string": new, "replace_all": true})
}

fn change(output: &ToolOutput) -> FileChange {
    match &output.changes[..] {
        [Change::File(change)] => change.clone(),
        other => panic!("{other:?}"),
    }
}

// RES-27
#[tokio::test]
async fn an_edit_is_exact_and_gives_a_receipt() {
    let ground = Ground::new();
    let before = "\u{feff}one\r\ntwo\r\none\r\n";
    ground.root.write("demo/a.txt", before).unwrap();
    let mut tools = invocation(&ground);
    tools.text("file_read", json!({"path": "a.txt"})).await;
    let output = tools.call("file_edit", edit("two\none", "2\nzwei\n1")).await.unwrap();
    assert_eq!(
        output.text(),
        "Edited `a.txt`: 1 replacement, lines 2-4, matched but for line ends, which stay as the file has them."
    );
    let after = "\u{feff}one\r\n2\r\nzwei\r\n1\r\n";
    assert_eq!(ground.file("a.txt").unwrap(), after);
    assert_eq!(ground.image(&change(&output).before.unwrap()).unwrap(), before.as_bytes());
    assert_eq!(
        output.structured,
        Some(json!({
            "path": "a.txt", "replacements": 1, "lines": [[2, 4]], "matched": "line_ends",
            "from_sha256": Digest::of(before.as_bytes()).to_string(),
            "to_sha256": Digest::of(after.as_bytes()).to_string(),
            "changed_elsewhere": null,
        }))
    );
    let all = tools.text("file_edit", edit_all("\r\n", "\n")).await;
    assert_eq!(all, "Edited `a.txt`: 4 replacements, line 1, line 2, line 3, line 4, matched exactly.");
    let refused = [
        (edit("", "x"), "project.edit_empty_old_string"),
        (edit("one", "one"), "project.edit_no_change"),
        (edit("ONE", "x"), "project.edit_not_found"),
        (edit("\n", "x"), "project.edit_not_unique"),
        (json!({"path": "none", "old_string": "a", "new_string": "b"}), "project.file_not_found"),
    ];
    for (arguments, code) in refused {
        assert_eq!(tools.error("file_edit", arguments).await.0, code);
    }
    assert_eq!(ground.file("a.txt").unwrap(), "\u{feff}one\n2\nzwei\n1\n");
}

// Complaint 24: anthropics/claude-code#48390, #51361
#[tokio::test]
async fn what_others_changed_elsewhere_does_not_stop_an_edit_and_is_told() {
    let ground = Ground::new();
    ground.root.write("demo/a.txt", "one\ntwo\nthree\nfour\n").unwrap();
    let mut tools = invocation(&ground);
    tools.text("file_read", json!({"path": "a.txt"})).await;
    // Written anew with the same content: no clock decides.
    ground.root.write("demo/a.txt", "one\ntwo\nthree\nfour\n").unwrap();
    assert_eq!(
        tools.text("file_edit", edit("two", "2")).await,
        "Edited `a.txt`: 1 replacement, line 2, matched exactly."
    );
    ground.root.write("demo/a.txt", "zero\none\n2\nthree\nFOUR\n").unwrap();
    assert_eq!(
        tools.text("file_edit", edit("three", "3")).await,
        "Edited `a.txt`: 1 replacement, line 4, matched exactly. Others changed the file since you read it, not your passage: \
         1 line was added at the beginning, line 5 changed. Read those lines before you change them."
    );
    assert_eq!(ground.file("a.txt").unwrap(), "zero\none\n2\n3\nFOUR\n");
    // What others wrote was not read.
    let unread = tools.error("file_edit", edit("FOUR", "4")).await;
    assert_eq!(unread.0, "project.edit_requires_read");
    ground.root.write("demo/a.txt", "zero\none\n2\nTHREE\nFOUR\n").unwrap();
    let stale = tools.error("file_edit", edit("3\n", "drei\n")).await;
    assert_eq!(
        stale,
        (
            "project.stale_file".to_owned(),
            "Nothing was changed: others changed `a.txt` since you read it: line 4 changed. Read it with file_read first."
                .to_owned()
        )
    );
    assert_eq!(ground.file("a.txt").unwrap(), "zero\none\n2\nTHREE\nFOUR\n");
}

// Complaint 25: openai/codex#12547
#[tokio::test]
async fn nothing_is_edited_that_was_not_read() {
    let ground = Ground::new();
    ground.root.write("demo/a.txt", "one\ntwo\nthree\n").unwrap();
    let mut tools = invocation(&ground);
    assert_eq!(
        tools.error("file_edit", edit("two", "2")).await,
        (
            "project.edit_requires_read".to_owned(),
            "Nothing was changed: you have not read `a.txt`. Read it with file_read first.".to_owned()
        )
    );
    tools.text("file_read", json!({"path": "a.txt", "start_line": 1, "line_count": 1})).await;
    assert_eq!(
        tools.error("file_edit", edit("two", "2")).await,
        (
            "project.edit_requires_read".to_owned(),
            "Nothing was changed: the passage stands in line 2 of `a.txt`, and you have read line 1. Read it with file_read \
             first."
                .to_owned()
        )
    );
    assert_eq!(tools.error("file_edit", edit_all("e", "E")).await.0, "project.edit_requires_full_read");
    assert_eq!(ground.file("a.txt").unwrap(), "one\ntwo\nthree\n");
    tools.text("file_read", json!({"path": "a.txt", "start_line": 2, "line_count": 1})).await;
    tools.text("file_edit", edit("two\n", "2\nzwei\n")).await;
    // What was written oneself need not be read.
    tools.text("file_edit", edit("zwei", "deux")).await;
    assert_eq!(tools.error("file_edit", edit("three", "3")).await.0, "project.edit_requires_read");
    tools.text("file_write", json!({"path": "a.txt", "content": "four\n"})).await;
    tools.text("file_edit", edit("four", "4")).await;
    tools.text("file_write", json!({"path": "a.txt", "content": "five\n", "mode": "append"})).await;
    tools.text("file_edit", edit("4\nfive", "45")).await;
    assert_eq!(ground.file("a.txt").unwrap(), "45\n");
}

// Complaint 26: openai/codex#30946
#[tokio::test]
async fn an_addition_whose_anchor_does_not_match_is_an_error() {
    let ground = Ground::new();
    ground.root.write("demo/a.txt", "def one():\n    pass\n").unwrap();
    let mut tools = invocation(&ground);
    tools.text("file_read", json!({"path": "a.txt"})).await;
    let error = tools.error("file_edit", edit("def two():\n", "def two():\n    return 2\n")).await;
    assert_eq!(error.0, "project.edit_not_found");
    assert_eq!(ground.file("a.txt").unwrap(), "def one():\n    pass\n");
    // Occurrences that overlap are not one.
    ground.root.write("demo/a.txt", "aaa\n").unwrap();
    tools.text("file_read", json!({"path": "a.txt"})).await;
    assert_eq!(tools.error("file_edit", edit("aa", "b")).await.0, "project.edit_not_unique");
}

// Complaint 27: openai/codex#35361
#[tokio::test]
async fn an_error_names_the_first_differing_line_and_the_nearest_place() {
    let ground = Ground::new();
    ground.root.write("demo/a.txt", "def one():\n    return 1\n\ndef two():\n    return 2\n").unwrap();
    let mut tools = invocation(&ground);
    tools.text("file_read", json!({"path": "a.txt"})).await;
    assert_eq!(
        tools.error("file_edit", edit("def two():\n  return 2\n", "")).await.1,
        "Nothing was changed: `old_string` does not stand in `a.txt`. Quote it exactly, blanks included. The nearest place is \
         lines 4-5. Line 5 is the first that differs: the file has \"    return 2\", you quoted \"  return 2\".\n\
         4 | def two():\n5 |     return 2"
    );
    assert_eq!(
        tools.error("file_edit", edit("return", "yield")).await.1,
        "Nothing was changed: `old_string` stands 2 times in `a.txt`: line 2, line 5. Quote more of the surroundings, or set \
         replace_all."
    );
    assert_eq!(
        tools.error("file_edit", edit("SELECT *", "")).await.1,
        "Nothing was changed: `old_string` does not stand in `a.txt`. Quote it exactly, blanks included. Nothing there is like \
         it."
    );
}

// Complaint 28: anomalyco/opencode#44999, #45927
#[tokio::test]
async fn no_change_is_no_success() {
    let ground = Ground::new();
    ground.root.write("demo/a.txt", "one\r\n").unwrap();
    let mut tools = invocation(&ground);
    tools.text("file_read", json!({"path": "a.txt"})).await;
    // Only the line ends of the quotation differ, and those stay as the file has them.
    assert_eq!(tools.error("file_edit", edit("one\n", "one\r\n")).await.0, "project.edit_no_change");
    assert_eq!(ground.file("a.txt").unwrap(), "one\r\n");
}

/// The notes of results that another process stored.
#[derive(Default)]
struct Journal(Mutex<Vec<Value>>);

impl SessionNotes for Journal {
    fn notes<'a>(
        &'a self,
        tools: &'a [ToolId],
        key: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Value>, ToolError>> {
        assert_eq!((key, tools.len()), (READ_STATE, 3));
        let notes = self.0.lock().unwrap().clone();
        Box::pin(async move { Ok(notes) })
    }
}

#[tokio::test]
async fn what_the_session_read_in_another_process_is_known() {
    let ground = Ground::new();
    ground.root.write("demo/a.txt", "one\ntwo\n").unwrap();
    let journal = Arc::new(Journal::default());
    let process = || {
        let mut services = ground.services();
        services.insert::<dyn SessionNotes>(journal.clone());
        Invocation::new(files::tools().unwrap(), services).in_project("demo", None)
    };
    let part = json!({"path": "a.txt", "start_line": 1, "line_count": 1});
    let read = process().call("file_read", part).await.unwrap();
    journal.0.lock().unwrap().push(read.metadata[READ_STATE].clone());
    let output = process().call("file_edit", edit("one", "1")).await.unwrap();
    journal.0.lock().unwrap().push(output.metadata[READ_STATE].clone());
    assert_eq!(process().error("file_edit", edit("two", "2")).await.0, "project.edit_requires_read");
    ground.root.write("demo/a.txt", "1\nTWO\n").unwrap();
    assert_eq!(
        process().error("file_edit", edit("1", "eins")).await.1,
        "Nothing was changed: others changed `a.txt` since you read it: any line may differ. Your passage now stands in line 1. \
         Read it with file_read first."
    );
}
