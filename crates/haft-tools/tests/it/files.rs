//! The file tools of a project, inside of it.

use std::sync::Arc;

use haft_core::policy::Outcome;
use haft_core::result::{Change, FileChange};
use haft_core::{BoxFuture, Digest, Scope, Services, ToolError, ToolOutput};
use haft_tools::files;
use serde_json::{Value, json};

use crate::support::{Ground, Invocation, asking};

fn invocation(ground: &Ground) -> Invocation {
    Invocation::new(files::tools().unwrap(), ground.services()).in_project("demo", None)
}

fn change(output: &ToolOutput) -> FileChange {
    match output.changes.as_slice() {
        [Change::File(change)] => change.clone(),
        other => panic!("{other:?}"),
    }
}

// FIL-01, CTX-05
#[test]
fn no_tool_shows_the_project_to_the_model() {
    for tool in files::tools().unwrap() {
        let declaration = tool.declaration();
        let names: Vec<&str> =
            declaration.descriptor.input_schema.properties().map(|property| property.name).collect();
        assert!(!names.contains(&"project_id"), "{}", declaration.id());
        assert_eq!(declaration.facts.injections.len(), 1, "{}", declaration.id());
    }
}

// FIL-02, CTX-02
#[tokio::test]
async fn without_a_project_or_with_an_unknown_one_the_source_says_so() {
    let ground = Ground::new();
    let calls: [(&str, Value); 7] = [
        ("file_read", json!({"path": "a", "project_id": "demo"})),
        ("file_write", json!({"path": "a", "content": "x", "project_id": "demo"})),
        ("file_edit", json!({"path": "a", "old_string": "x", "new_string": "y"})),
        ("file_delete", json!({"path": "a"})),
        ("file_list", json!({})),
        ("file_exists", json!({"path": "a"})),
        ("file_mkdir", json!({"path": "a"})),
    ];
    let mut none = Invocation::new(files::tools().unwrap(), ground.services());
    let mut other = Invocation::new(files::tools().unwrap(), ground.services()).in_project("other", None);
    for (alias, arguments) in calls {
        let error = none.error(alias, arguments.clone()).await;
        assert_eq!(error.1, "project_id is required for file operations", "{alias}");
        assert_eq!(other.error(alias, arguments).await.1, "Project not found: other", "{alias}");
    }
}

// FIL-03, FIL-07, FIL-08, RES-27
#[tokio::test]
async fn a_file_is_written_and_read() {
    let ground = Ground::new();
    let mut tools = invocation(&ground);
    let output =
        tools.call("file_write", json!({"path": "src/main.py", "content": "print(1)\n"})).await.unwrap();
    assert_eq!(output.text(), "Wrote the new file `src/main.py`, 9 bytes.");
    assert_eq!(output.structured, Some(json!({"path": "src/main.py", "bytes": 9, "created": true})));
    let after = Some(Digest::of(b"print(1)\n"));
    let expected =
        FileChange { root: "project:demo".into(), path: "src/main.py".into(), before: None, after };
    assert_eq!(change(&output), expected);
    assert_eq!(tools.text("file_read", json!({"path": "src/main.py"})).await, "print(1)\n");
    assert_eq!(tools.text("file_read", json!({"path": "./src/../src/main.py"})).await, "print(1)\n");
    let missing = tools.error("file_read", json!({"path": "src/other.py"})).await;
    assert_eq!(missing.0, "project.file_not_found");
    assert_eq!(tools.error("file_read", json!({"path": "src"})).await.0, "project.path_is_directory");
}

// FIL-08
#[tokio::test]
async fn overwriting_keeps_a_before_image_and_appending_keeps_the_text() {
    let ground = Ground::new();
    let mut tools = invocation(&ground);
    tools.text("file_write", json!({"path": "new/deep/a.txt", "content": "one\n"})).await;
    let added = tools
        .call("file_write", json!({"path": "new/deep/a.txt", "content": "two\n", "mode": "append"}))
        .await
        .unwrap();
    assert_eq!(added.text(), "Added 4 bytes at the end of `new/deep/a.txt`.");
    assert_eq!(ground.file("new/deep/a.txt").unwrap(), "one\ntwo\n");
    assert_eq!(ground.image(&change(&added).before.unwrap()).unwrap(), b"one\n");
    let over = tools.call("file_write", json!({"path": "new/deep/a.txt", "content": "x"})).await.unwrap();
    assert_eq!(over.text(), "Wrote `new/deep/a.txt`, 1 byte, in the place of what it held.");
    assert_eq!(ground.image(&change(&over).before.unwrap()).unwrap(), b"one\ntwo\n");
    assert_eq!(change(&over).after, Some(Digest::of(b"x")));
    let wrong = tools.error("file_write", json!({"path": "a", "content": "x", "mode": "shout"})).await;
    assert_eq!(wrong.0, "agent.invalid_arguments");
    assert_eq!(
        tools.error("file_write", json!({"path": "src", "content": "x"})).await.0,
        "project.path_is_directory"
    );
    let under = tools.error("file_write", json!({"path": "new/deep/a.txt/b", "content": "x"})).await;
    assert_eq!(under.0, "project.not_a_directory");
    assert_eq!(
        tools.text("file_list", json!({"path": "new/deep"})).await,
        "a.txt",
        "no temporary file is left"
    );
}

#[tokio::test]
async fn without_a_place_for_before_images_nothing_is_overwritten() {
    let ground = Ground::new();
    ground.root.write("demo/a.txt", "old").unwrap();
    let mut services = Services::default();
    let folders = ground.services();
    services.insert::<dyn files::ProjectFolders>(folders.get::<dyn files::ProjectFolders>().unwrap().clone());
    let mut tools = Invocation::new(files::tools().unwrap(), services).in_project("demo", None);
    let error = tools.error("file_write", json!({"path": "a.txt", "content": "new"})).await;
    assert_eq!(
        error,
        (
            "project.unavailable".into(),
            "`a.txt` was not changed: this host cannot keep what it held before.".into()
        )
    );
    assert_eq!(tools.error("file_delete", json!({"path": "a.txt"})).await.0, "project.unavailable");
    assert_eq!(ground.file("a.txt").unwrap(), "old");
    tools.text("file_write", json!({"path": "b.txt", "content": "new"})).await;
}

/// Somebody who changes the file in the moment in which its before-image is kept, or cannot keep it.
struct Meddler {
    root: cap_std::fs::Dir,
    keeps: bool,
}

impl files::BeforeImages for Meddler {
    fn keep<'a>(&'a self, bytes: &'a [u8]) -> BoxFuture<'a, Result<Digest, ToolError>> {
        self.root.write("demo/a.txt", "meddled").unwrap();
        let kept =
            self.keeps.then(|| Digest::of(bytes)).ok_or_else(|| ToolError::failed("The disk is full."));
        Box::pin(async move { kept })
    }
}

#[tokio::test]
async fn a_file_that_changed_meanwhile_or_cannot_be_kept_is_left_alone() {
    for (keeps, code) in [(true, "project.stale_file"), (false, "agent.tool_failed")] {
        let ground = Ground::new();
        let mut services = ground.services();
        let root = ground.root.try_clone().unwrap();
        services.insert::<dyn files::BeforeImages>(Arc::new(Meddler { root, keeps }));
        let mut tools = Invocation::new(files::tools().unwrap(), services).in_project("demo", None);
        let calls = [
            ("file_write", json!({"path": "a.txt", "content": "new"})),
            ("file_edit", json!({"path": "a.txt", "old_string": "seen", "new_string": "new"})),
            ("file_delete", json!({"path": "a.txt"})),
        ];
        for (alias, arguments) in calls {
            ground.root.write("demo/a.txt", "as seen").unwrap();
            tools.text("file_read", json!({"path": "a.txt"})).await;
            assert_eq!(tools.error(alias, arguments).await.0, code, "{alias}");
            assert_eq!(ground.file("a.txt").unwrap(), "meddled", "{alias}");
        }
        assert_eq!(tools.text("file_list", json!({})).await, "a.txt\nsrc/", "no temporary file is left");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn permission_bits_stay() {
    use cap_std::fs::{Permissions, PermissionsExt};
    let ground = Ground::new();
    ground.root.write("demo/run.sh", "#!/bin/sh\n").unwrap();
    ground
        .root
        .set_permissions(
            "demo/run.sh",
            Permissions::from_std(std::os::unix::fs::PermissionsExt::from_mode(0o750)),
        )
        .unwrap();
    let mut tools = invocation(&ground);
    tools.text("file_read", json!({"path": "run.sh"})).await;
    tools.text("file_edit", json!({"path": "run.sh", "old_string": "sh\n", "new_string": "bash\n"})).await;
    assert_eq!(ground.file("run.sh").unwrap(), "#!/bin/bash\n");
    assert_eq!(ground.root.metadata("demo/run.sh").unwrap().permissions().mode() & 0o777, 0o750);
}

// FIL-07, FIL-08
#[tokio::test]
async fn encodings_are_honoured_and_nothing_is_replaced_silently() {
    let ground = Ground::new();
    let mut tools = invocation(&ground);
    let cases = [
        ("latin-1", "é", b"\xe9".to_vec()),
        ("gbk", "中", b"\xd6\xd0".to_vec()),
        ("utf-16le", "é中", b"\xe9\x00\x2d\x4e".to_vec()),
        ("UTF_8", "é", "é".as_bytes().to_vec()),
    ];
    for (encoding, text, bytes) in cases {
        tools.text("file_write", json!({"path": "t", "content": text, "encoding": encoding})).await;
        assert_eq!(ground.root.read("demo/t").unwrap(), bytes, "{encoding}");
        assert_eq!(tools.text("file_read", json!({"path": "t", "encoding": encoding})).await, text);
    }
    let lacking =
        tools.error("file_write", json!({"path": "u", "content": "中", "encoding": "latin1"})).await;
    assert_eq!(lacking.0, "project.cannot_encode");
    let unknown = tools.error("file_read", json!({"path": "t", "encoding": "klingon"})).await;
    assert_eq!(unknown.0, "project.unknown_encoding");
    ground.root.write("demo/b", b"\x89PNG\0\0").unwrap();
    ground.root.write("demo/l", b"caf\xe9").unwrap();
    ground.root.write("demo/m", b"\xef\xbb\xbfmarked").unwrap();
    let binary = tools.error("file_read", json!({"path": "b"})).await;
    assert_eq!(
        binary,
        ("project.file_not_text".into(), "`b` is binary data (6 bytes) and cannot be read as text.".into())
    );
    let other = tools.error("file_read", json!({"path": "l"})).await;
    assert!(other.1.contains("name its encoding"), "{}", other.1);
    assert_eq!(tools.text("file_read", json!({"path": "m"})).await, "marked");
}

// FIL-07, CONFLICT-19
#[tokio::test]
async fn a_range_of_lines_can_be_read_and_read_on() {
    let ground = Ground::new();
    ground.root.write("demo/log", "1\n2\n3\n4\n5").unwrap();
    let mut tools = invocation(&ground);
    assert_eq!(
        tools.text("file_read", json!({"path": "log", "start_line": 2, "line_count": 2})).await,
        "2\n3\n[lines 2-3 of 5 of `log`; read on with file_read(path='log', start_line=4, line_count=2)]"
    );
    assert_eq!(
        tools.text("file_read", json!({"path": "log", "start_line": 4})).await,
        "4\n5\n[lines 4-5 of 5 of `log`]"
    );
    let past = tools.error("file_read", json!({"path": "log", "start_line": 6})).await;
    assert_eq!(past, ("project.past_end".into(), "`log` has 5 lines; line 6 is past its end.".into()));
}

#[tokio::test]
async fn a_huge_file_is_read_to_a_bound_and_says_so() {
    let ground = Ground::new();
    let line = format!("{}\n", "x".repeat(1_023));
    ground.root.write("demo/huge", line.repeat((16 << 10) + 1)).unwrap();
    let mut tools = invocation(&ground);
    let text = tools.text("file_read", json!({"path": "huge"})).await;
    assert!(text.ends_with("\n[only the first 16 MiB of `huge` are read; the file goes on]"));
    assert_eq!(text.lines().filter(|shown| shown.starts_with('x')).count(), 16 << 10);
}

// FIL-09
#[tokio::test]
async fn a_file_is_deleted_and_kept() {
    let ground = Ground::new();
    ground.root.write("demo/a.txt", "bye").unwrap();
    let mut tools = invocation(&ground);
    let output = tools.call("file_delete", json!({"path": "a.txt"})).await.unwrap();
    assert_eq!(output.text(), "Deleted `a.txt`.");
    let kept = Digest::of(b"bye");
    let before = Some(kept);
    assert_eq!(
        change(&output),
        FileChange { root: "project:demo".into(), path: "a.txt".into(), before, after: None }
    );
    assert_eq!(ground.image(&kept).unwrap(), b"bye");
    assert_eq!(ground.file("a.txt"), None);
    assert_eq!(tools.error("file_delete", json!({"path": "a.txt"})).await.0, "project.file_not_found");
    assert_eq!(tools.error("file_delete", json!({"path": "src"})).await.0, "project.path_is_directory");
    assert_eq!(tools.error("file_delete", json!({"path": "."})).await.0, "project.path_is_directory");
}

// FIL-10, COE-04
#[tokio::test]
async fn folders_are_made_listed_and_asked_after() {
    let ground = Ground::new();
    let mut tools = invocation(&ground);
    assert_eq!(tools.text("file_mkdir", json!({"path": "a/b"})).await, "Made the folder `a/b`.");
    assert_eq!(tools.text("file_mkdir", json!({"path": "a/b"})).await, "The folder `a/b` is there already.");
    ground.root.write("demo/z.py", "1").unwrap();
    ground.root.write("demo/a/x.py", "").unwrap();
    ground.root.write("demo/a/b/.hidden", "").unwrap();
    let output = tools.call("file_list", json!({})).await.unwrap();
    assert_eq!(output.text(), "a/\nsrc/\nz.py");
    let entries = json!([
        {"name": "a", "kind": "folder"}, {"name": "src", "kind": "folder"}, {"name": "z.py", "kind": "file"},
    ]);
    assert_eq!(
        output.structured,
        Some(json!({"path": ".", "entries": entries, "total": 3, "truncated": false}))
    );
    assert_eq!(tools.text("file_list", json!({"pattern": "*.py"})).await, "z.py");
    assert_eq!(tools.text("file_list", json!({"pattern": "**/*.py"})).await, "a/x.py\nz.py");
    assert_eq!(tools.text("file_list", json!({"path": "a", "pattern": "b/*"})).await, "b/.hidden");
    assert_eq!(tools.text("file_list", json!({"path": "src"})).await, "Nothing in `src` matches `*`.");
    assert_eq!(tools.error("file_list", json!({"path": "z.py"})).await.0, "project.not_a_directory");
    assert_eq!(tools.error("file_list", json!({"pattern": "[a"})).await.0, "project.bad_pattern");
    let exists = tools.call("file_exists", json!({"path": "z.py"})).await.unwrap();
    assert_eq!(exists.structured, Some(json!({"path": "z.py", "exists": true, "kind": "file"})));
    assert_eq!(tools.text("file_exists", json!({"path": "z.py/x"})).await, "`z.py/x` does not exist.");
    assert_eq!(tools.text("file_exists", json!({"path": "a/b"})).await, "`a/b` exists: a folder.");
    assert_eq!(tools.error("file_mkdir", json!({"path": "z.py/x"})).await.0, "project.not_a_directory");
}

#[tokio::test]
async fn a_long_listing_says_that_it_is_cut() {
    let ground = Ground::new();
    for number in 0..1_005 {
        ground.root.write(format!("demo/src/{number:04}"), "").unwrap();
    }
    let output = invocation(&ground).call("file_list", json!({"path": "src"})).await.unwrap();
    assert!(output.text().starts_with("0000\n0001\n"));
    assert!(output.text().ends_with("\n0999\n[cut: 1000 of 1005 entries are shown; narrow the pattern]"));
    assert_eq!(output.structured.unwrap()["truncated"], true);
}

// APR-09
#[test]
fn a_yes_can_cover_the_folder_or_the_file() {
    let ground = Ground::new();
    let asked = ["project.file_write", "project.file_edit", "project.file_mkdir", "project.file_delete"];
    let mut tools = Invocation::with_profile(files::tools().unwrap(), ground.services(), asking(&asked))
        .in_project("demo", Some("/home/me/demo"));
    let folder = |path: &str| Scope::Path(path.to_owned());
    let cases = [
        (
            "file_write",
            json!({"path": "src/../src/a.py", "content": ""}),
            vec![Scope::File("/home/me/demo/src/a.py".into()), folder("/home/me/demo/src"), Scope::Tool],
        ),
        (
            "file_write",
            json!({"path": "a.py", "content": ""}),
            vec![Scope::File("/home/me/demo/a.py".into()), folder("/home/me/demo"), Scope::Tool],
        ),
        (
            "file_mkdir",
            json!({"path": "docs/new"}),
            vec![folder("/home/me/demo/docs/new"), folder("/home/me/demo/docs"), Scope::Tool],
        ),
        (
            "file_delete",
            json!({"path": "src/a.py"}),
            vec![Scope::File("/home/me/demo/src/a.py".into()), folder("/home/me/demo/src"), Scope::Tool],
        ),
        ("file_write", json!({"path": "src/../../x", "content": ""}), vec![Scope::Tool]),
    ];
    for (alias, arguments, scopes) in cases {
        let decision = tools.decide(alias, arguments);
        assert_eq!((decision.outcome, decision.scopes), (Outcome::Ask, scopes), "{alias}");
    }
    let read = tools.decide("file_read", json!({"path": "a"}));
    assert_eq!((read.outcome, read.scopes), (Outcome::Allow, vec![Scope::Tool]));
}
