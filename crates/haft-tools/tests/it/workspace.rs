//! The workspace tools, in one run with several agents.

use std::sync::{Arc, Mutex};

use haft_core::result::Change;
use haft_core::run_control::{ChatCommit, CommitMode, CommitReceipt, RunControl};
use haft_core::workspace::{
    RunFiles, Workspace, WorkspacePath, WorkspaceRoot, WorkspaceRoots, WorkspaceVersion,
};
use haft_core::{BoxFuture, ErrorCode, InvocationId, Services, Tool, ToolError, ToolOutput};
use haft_tools::{artifacts, workspace};
use serde_json::{Value, json};

use crate::support::{Invocation, MemoryArtifacts};

/// A run: its files, and the tools that all its agents share.
pub(crate) struct Run {
    files: Arc<RunFiles>,
    tools: Vec<Arc<dyn Tool>>,
}

impl Run {
    pub(crate) fn new() -> Self {
        let tools = [workspace::tools().unwrap(), workspace::control_tools().unwrap()].concat();
        Self { files: Arc::default(), tools }
    }

    fn services(&self, invocation: &str, roots: WorkspaceRoots) -> Services {
        let mut services = Services::default();
        let view = self.files.view(InvocationId::new(invocation), roots);
        services.insert::<dyn Workspace>(Arc::new(view));
        services
    }

    pub(crate) fn agent(&self, invocation: &str) -> Invocation {
        self.narrow(invocation, WorkspaceRoots::default())
    }

    fn narrow(&self, invocation: &str, roots: WorkspaceRoots) -> Invocation {
        Invocation::new(self.tools.clone(), self.services(invocation, roots))
    }

    pub(crate) fn put(&self, path: &str, bytes: &[u8]) {
        self.files.put(WorkspacePath::parse(path).unwrap(), Arc::from(bytes));
    }

    pub(crate) fn file(&self, path: &str) -> Option<String> {
        let path = WorkspacePath::parse(path).unwrap();
        let file = self.files.under(path.root()).into_iter().find(|file| file.path == path)?;
        Some(String::from_utf8(file.bytes.to_vec()).unwrap())
    }
}

fn read(path: &str) -> Value {
    json!({"path": path})
}

fn lines(path: &str, start: u64, count: u64) -> Value {
    json!({"path": path, "start_line": start, "line_count": count})
}

fn write(path: &str, content: &str) -> Value {
    json!({"path": path, "content": content})
}

fn append(path: &str, content: &str) -> Value {
    json!({"path": path, "content": content, "mode": "append"})
}

fn patch(path: &str, old: &str, new: &str) -> Value {
    json!({"path": path, "old_string": old, "new_string": new})
}

fn patch_all(path: &str, old: &str, new: &str) -> Value {
    json!({"path": path, "old_string": old, "new_string": new, "replace_all": true})
}

fn versions(output: &ToolOutput) -> Vec<(String, u32, String)> {
    let version = |change: &Change| match change {
        Change::Workspace(WorkspaceVersion { path, version, bytes }) => {
            (path.to_string(), *version, String::from_utf8(bytes.to_vec()).unwrap())
        }
        other => panic!("{other:?}"),
    };
    output.changes.iter().map(version).collect()
}

// WSP-07, RES-27
#[tokio::test]
async fn files_are_written_and_added_to_and_the_answer_is_short() {
    let run = Run::new();
    let mut agent = run.agent("i_1");
    let output = agent.call("workspace_write_file", write("output/main.md", "one\ntwo")).await.unwrap();
    assert_eq!(output.text(), "Wrote the new file `output/main.md`, 2 lines.");
    assert_eq!(versions(&output), [("output/main.md".into(), 1, "one\ntwo".into())]);
    assert_eq!(output.resource_refs, ["workspace:output/main.md"]);
    // No line break is added.
    let output = agent.call("workspace_write_file", append("output/main.md", " and more\n")).await.unwrap();
    assert_eq!(output.text(), "Added to the end of `output/main.md`, now 2 lines.");
    assert_eq!(versions(&output), [("output/main.md".into(), 2, "one\ntwo and more\n".into())]);
    assert_eq!(
        agent.text("workspace_write_file", append("scratch/new", "x")).await,
        "Wrote the new file `scratch/new`, 1 line."
    );
    assert_eq!(
        agent.text("workspace_write_file", write("output/main.md", "anew\n")).await,
        "Replaced `output/main.md`, now 1 line."
    );
    assert_eq!(run.file("output/main.md").unwrap(), "anew\n");
    let same = agent.error("workspace_write_file", write("output/main.md", "anew\n")).await;
    assert_eq!(
        same,
        (
            "workspace.write_no_change".into(),
            "Nothing was written: `output/main.md` already holds exactly that.".into()
        )
    );
    assert_eq!(
        agent
            .error("workspace_write_file", json!({"path": "output/x", "content": "", "mode": "insert"}))
            .await
            .0,
        "agent.invalid_arguments"
    );
    let large = write("output/large", &"x".repeat((4 << 20) + 1));
    assert_eq!(agent.error("workspace_write_file", large).await.0, "workspace.file_too_large");
}

// WSP-08
#[tokio::test]
async fn a_file_is_replaced_only_by_who_knows_it_as_it_is() {
    let run = Run::new();
    run.put("persist/notes.md", b"one\ntwo\nthree\n");
    let (mut first, mut second) = (run.agent("i_1"), run.agent("i_2"));
    let unread = first.error("workspace_write_file", write("persist/notes.md", "x")).await;
    assert_eq!(
        unread,
        (
            "workspace.write_requires_read".into(),
            "Nothing was written: `persist/notes.md` is there already, and you have not read it. Read the whole file with \
             workspace_read_file, then write."
                .into()
        )
    );
    first.text("workspace_read_file", lines("persist/notes.md", 1, 1)).await;
    let part = first.error("workspace_write_file", write("persist/notes.md", "x")).await;
    assert_eq!(part.0, "workspace.write_requires_read");
    assert!(part.1.contains("you have read line 1 of it"), "{}", part.1);
    first.text("workspace_read_file", lines("persist/notes.md", 2, 5)).await;
    // What one agent read, another did not.
    assert_eq!(
        second.error("workspace_write_file", write("persist/notes.md", "y")).await.0,
        "workspace.write_requires_read"
    );
    second.text("workspace_read_file", read("persist/notes.md")).await;
    second.text("workspace_write_file", write("persist/notes.md", "one\nTWO\nthree\n")).await;
    let stale = first.error("workspace_write_file", write("persist/notes.md", "mine\n")).await;
    assert_eq!(
        stale,
        (
            "workspace.write_stale_file".into(),
            "Nothing was written: `persist/notes.md` was changed by others since you read it: line 2 changed. Read the whole \
             file with workspace_read_file, then write."
                .into()
        )
    );
    first.text("workspace_read_file", read("persist/notes.md")).await;
    first.text("workspace_write_file", write("persist/notes.md", "mine\n")).await;
    assert_eq!(run.file("persist/notes.md").unwrap(), "mine\n");
}

// WSP-09
#[tokio::test]
async fn appending_does_not_make_unread_text_known() {
    let run = Run::new();
    run.put("persist/log", b"old\n");
    let mut agent = run.agent("i_1");
    agent.text("workspace_write_file", append("persist/log", "new\n")).await;
    assert_eq!(
        agent.error("workspace_apply_patch", patch("persist/log", "new", "newer")).await.0,
        "workspace.patch_requires_read"
    );
    assert_eq!(
        agent.error("workspace_write_file", write("persist/log", "x")).await.0,
        "workspace.write_requires_read"
    );
    agent.text("workspace_read_file", read("persist/log")).await;
    agent.text("workspace_write_file", append("persist/log", "newest\n")).await;
    agent.text("workspace_apply_patch", patch("persist/log", "newest", "last")).await;
    agent.text("workspace_write_file", append("scratch/fresh", "a")).await;
    agent.text("workspace_write_file", write("scratch/fresh", "b")).await;
    assert_eq!(run.file("persist/log").unwrap(), "old\nnew\nlast\n");
}

// WSP-10, RES-27
#[tokio::test]
async fn a_patch_replaces_one_passage_that_was_read() {
    let run = Run::new();
    run.put("output/main.md", b"The lamp was dark.\nThe sea was calm.\nThe lamp was cold.\n");
    let mut agent = run.agent("i_1");
    let unread = agent.error("workspace_apply_patch", patch("output/main.md", "calm", "wild")).await;
    assert_eq!(
        unread,
        (
            "workspace.patch_requires_read".into(),
            "Nothing was changed: you have not read `output/main.md`. Read it with workspace_read_file first.".into()
        )
    );
    agent.text("workspace_read_file", lines("output/main.md", 2, 1)).await;
    let output = agent.call("workspace_apply_patch", patch("output/main.md", "calm", "wild")).await.unwrap();
    assert_eq!(output.text(), "Patched `output/main.md`: 1 replacement, line 2, matched exactly.");
    assert_eq!(versions(&output)[0].1, 2);
    // What the patch wrote is known without reading.
    agent.text("workspace_apply_patch", patch("output/main.md", "wild", "grey")).await;
    assert_eq!(
        run.file("output/main.md").unwrap(),
        "The lamp was dark.\nThe sea was grey.\nThe lamp was cold.\n"
    );
    // A file of one's own needs no reading.
    agent.text("workspace_write_file", write("plan/p", "a\nb\n")).await;
    agent.text("workspace_apply_patch", patch_all("plan/p", "\n", ";\n")).await;
    assert_eq!(run.file("plan/p").unwrap(), "a;\nb;\n");
}

// WSP-10, WSP-11
#[tokio::test]
async fn a_passage_is_unique_in_the_whole_file_whatever_part_was_read() {
    let run = Run::new();
    run.put("output/main.md", b"dark\ncalm\ndark\n");
    let mut agent = run.agent("i_1");
    agent.text("workspace_read_file", lines("output/main.md", 1, 2)).await;
    let twice = agent.error("workspace_apply_patch", patch("output/main.md", "dark", "bright")).await;
    assert_eq!(
        twice,
        (
            "workspace.patch_old_string_not_unique".into(),
            "Nothing was changed: `old_string` stands 2 times in `output/main.md`: line 1, line 3. Read the whole file with \
             workspace_read_file before you edit it again."
                .into()
        )
    );
    // After a failure on a part, the whole must be read: no part will do.
    agent.text("workspace_read_file", lines("output/main.md", 2, 1)).await;
    let again = agent.error("workspace_apply_patch", patch("output/main.md", "calm", "wild")).await;
    assert_eq!(again.0, "workspace.patch_requires_full_read");
    agent.text("workspace_read_file", read("output/main.md")).await;
    // On a whole reading, a failure costs nothing.
    assert_eq!(
        agent.error("workspace_apply_patch", patch("output/main.md", "x y z", "")).await.0,
        "workspace.patch_old_string_not_found"
    );
    agent.text("workspace_apply_patch", patch_all("output/main.md", "dark", "bright")).await;
    assert_eq!(run.file("output/main.md").unwrap(), "bright\ncalm\nbright\n");
    assert_eq!(
        agent.error("workspace_apply_patch", patch("output/main.md", "", "x")).await.0,
        "workspace.patch_empty_old_string"
    );
    assert_eq!(
        agent.error("workspace_apply_patch", patch("output/main.md", "calm", "calm")).await.0,
        "workspace.patch_no_change"
    );
}

// CONFLICT-20
#[tokio::test]
async fn a_likeness_that_an_artifact_takes_is_no_match_for_a_patch() {
    const TEXT: &str = "\u{201c}one\u{201d}\nThe quick brown fox\n";
    for (old, new) in [("\"one\"", "two"), ("The quik brown fx", "A fox")] {
        let mut artifacts = Invocation::new(artifacts::tools().unwrap(), MemoryArtifacts::services(50_000));
        artifacts.text("create_artifact", json!({"id": "plan", "title": "T", "content": TEXT})).await;
        let updated =
            artifacts.text("update_artifact", json!({"id": "plan", "old_str": old, "new_str": new})).await;
        assert!(updated.starts_with("Updated artifact `plan`: version 2"), "{updated}");

        let run = Run::new();
        run.put("output/plan", TEXT.as_bytes());
        let mut agent = run.agent("i_1");
        agent.text("workspace_read_file", read("output/plan")).await;
        let refused = agent.error("workspace_apply_patch", patch("output/plan", old, new)).await;
        assert_eq!(refused.0, "workspace.patch_old_string_not_found");
        assert_eq!(run.file("output/plan").unwrap(), TEXT, "nothing was changed");
    }
}

// WSP-11
#[tokio::test]
async fn a_changed_version_and_places_that_were_not_read_are_refused() {
    let run = Run::new();
    run.put("output/main.md", b"one\ntwo\nthree\n");
    let (mut first, mut second) = (run.agent("i_1"), run.agent("i_2"));
    first.text("workspace_read_file", lines("output/main.md", 1, 1)).await;
    let all = first.error("workspace_apply_patch", patch_all("output/main.md", "one", "1")).await;
    assert_eq!(all.0, "workspace.patch_requires_full_read");
    first.text("workspace_read_file", read("output/main.md")).await;
    second.text("workspace_read_file", read("output/main.md")).await;
    second.text("workspace_apply_patch", patch("output/main.md", "three", "3")).await;
    let stale = first.error("workspace_apply_patch", patch("output/main.md", "one", "1")).await;
    assert_eq!(
        stale,
        (
            "workspace.patch_stale_file".into(),
            "Nothing was changed: others changed `output/main.md` since you read it: line 3 changed. Your passage now stands in \
             line 1. Read it with workspace_read_file first."
                .into()
        )
    );
    first.text("workspace_read_file", lines("output/main.md", 1, 1)).await;
    first.text("workspace_apply_patch", patch("output/main.md", "one", "1")).await;
    assert_eq!(run.file("output/main.md").unwrap(), "1\ntwo\n3\n");
    second.text("workspace_read_file", lines("output/main.md", 1, 1)).await;
    let unread = second.error("workspace_apply_patch", patch("output/main.md", "two", "2")).await;
    assert_eq!(
        unread,
        (
            "workspace.patch_requires_read".into(),
            "Nothing was changed: the passage stands in line 2 of `output/main.md`, and you have read line 1. Read the whole \
             file with workspace_read_file before you edit it again."
                .into()
        )
    );
}

// WSP-03, WSP-06, WSP-17, WSP-18
#[tokio::test]
async fn a_long_file_is_read_on_by_lines() {
    let run = Run::new();
    let mut agent = run.agent("i_1");
    let text: String = (1..=1_201).map(|line| format!("{line}\n")).collect();
    run.put("output/long", text.as_bytes());
    let output = agent.call("workspace_read_file", read("output/long")).await.unwrap();
    assert!(output.text().ends_with("\n1200\n[lines 1-1200 of 1201; read on with workspace_read_file(path='output/long', start_line=1201)]"));
    let structured = output.structured.unwrap();
    assert_eq!(
        (&structured["endLine"], &structured["totalLines"], &structured["nextStartLine"]),
        (&json!(1200), &json!(1201), &json!(1201))
    );
    // A preview is no full reading.
    assert_eq!(
        agent.error("workspace_write_file", write("output/long", "")).await.0,
        "workspace.write_requires_read"
    );
    agent.text("workspace_read_file", lines("output/long", 1_201, 1)).await;
    agent.text("workspace_write_file", write("output/long", "")).await;
    assert_eq!(agent.text("workspace_read_file", read("output/long")).await, "[`output/long` is empty]");
    run.put("output/wide", format!("{}\nend\n", "x".repeat(80_001)).as_bytes());
    let wide = agent.text("workspace_read_file", read("output/wide")).await;
    assert!(wide.ends_with(
        "[line 1 of 2; line 1 is cut after 80000 characters, its rest is too long to be shown; read on with \
         workspace_read_file(path='output/wide', start_line=2)]"
    ));
    assert_eq!(agent.text("workspace_read_file", lines("output/wide", 2, 3)).await, "end\n[line 2 of 2]");
    let past = agent.error("workspace_read_file", lines("output/wide", 3, 1)).await;
    assert_eq!(
        past,
        (
            "workspace.invalid_range".into(),
            "Nothing of `output/wide` was read: line 3 is past the end: there are 2 lines.".into()
        )
    );
}

// WSP-06, WSP-12, WSP-19, COE-09, CONFLICT-18, JRN-08
#[tokio::test]
async fn wrong_paths_are_recoverable_and_say_what_to_do() {
    let run = Run::new();
    run.put("output/chapters/one.md", b"x");
    run.put("scratch/picture", b"\x89PNG\0");
    run.put("tool-results/call_1.txt", b"long");
    let roots = WorkspaceRoots::new(
        &[WorkspaceRoot::Output, WorkspaceRoot::Plan, WorkspaceRoot::Scratch],
        &[WorkspaceRoot::Output],
    );
    let mut agent = run.narrow("i_1", roots);
    let folder = (
        "workspace.path_is_directory",
        "`output/chapters` is a folder, not a file. See what is in it with workspace_list_files(path='output/chapters').",
    );
    let not_visible = (
        "workspace.path_not_visible",
        "`summaries/a` is not open to you. You see output/, scratch/, plan/, tool-results/.",
    );
    let cases = [
        ("workspace_read_file", read("output/chapters"), folder),
        ("workspace_write_file", write("output/chapters", "x"), folder),
        ("workspace_apply_patch", patch("output/chapters", "x", "y"), folder),
        (
            "workspace_commit",
            read("output/chapters"),
            ("agent.not_in_loop", "There is no run to commit to or to finish: this is a single call."),
        ),
        ("workspace_read_file", read("summaries/a"), not_visible),
        ("workspace_search_files", json!({"query": "x", "path": "summaries/a"}), not_visible),
        ("workspace_list_files", read("summaries/a"), not_visible),
        (
            "workspace_read_file",
            read("input/prompt_snapshot.json"),
            (
                "workspace.path_not_visible",
                "`input/prompt_snapshot.json` is not in the workspace. List the files to see what there is.",
            ),
        ),
        (
            "workspace_write_file",
            write("plan/p", "x"),
            ("workspace.path_not_writable", "`plan/p` can be read and not written. You may write output/."),
        ),
        (
            "workspace_write_file",
            write("tool-results/call_1.txt", "x"),
            (
                "workspace.path_not_writable",
                "`tool-results/call_1.txt` can be read and not written. You may write output/.",
            ),
        ),
        (
            "workspace_write_file",
            write("output/chapters/one.md/two", "x"),
            (
                "workspace.path_invalid",
                "`output/chapters/one.md` is a file, so there can be no `output/chapters/one.md/two`. Choose another path.",
            ),
        ),
        (
            "workspace_write_file",
            write("../x", "x"),
            ("workspace.path_invalid", "`../x` goes up with `..`. Name the file by its whole path."),
        ),
        (
            "workspace_read_file",
            read(""),
            ("workspace.path_invalid", "The path is empty. Name a file, such as `output/main.md`."),
        ),
        (
            "workspace_read_file",
            read("output/chapters/on.md"),
            (
                "workspace.file_not_found",
                "There is no file `output/chapters/on.md`. Did you mean output/chapters/one.md?",
            ),
        ),
        (
            "workspace_read_file",
            read("scratch/picture"),
            (
                "workspace.file_not_text",
                "`scratch/picture` is no text in UTF-8 (5 bytes). Work with another file.",
            ),
        ),
        (
            "workspace_list_files",
            read("output/nothing"),
            ("workspace.file_not_found", "There is no `output/nothing`. List the folder above it."),
        ),
        (
            "workspace_search_files",
            json!({"query": "x", "path": "output/nothing"}),
            (
                "workspace.file_not_found",
                "There is no `output/nothing`. List the files to see what there is.",
            ),
        ),
        (
            "workspace_search_files",
            json!({"query": " "}),
            ("workspace.empty_query", "`query` is empty. Name what to look for."),
        ),
    ];
    for (alias, arguments, (code, message)) in cases {
        let shown = arguments.to_string();
        assert_eq!(
            agent.error(alias, arguments).await,
            (code.to_owned(), message.to_owned()),
            "{alias} {shown}"
        );
    }
    assert_eq!(agent.text("workspace_read_file", read("tool-results/call_1.txt")).await, "long");
}

// WSP-04
#[tokio::test]
async fn the_tree_is_listed_to_a_depth() {
    let run = Run::new();
    run.put("output/main.md", b"one\ntwo\n");
    run.put("output/a/b/c/deep.md", b"x");
    run.put("output/a/side.md", b"x");
    run.put("scratch/picture", b"\x89PNG\0");
    let mut agent = run.agent("i_1");
    assert_eq!(
        agent.text("workspace_list_files", json!({})).await,
        "output/ (3 files)\noutput/a/ (2 files)\noutput/a/b/ (1 file)\noutput/a/side.md (1 line)\noutput/main.md (2 lines)\n\
         persist/ (empty)\nplan/ (empty)\nscratch/ (1 file)\nscratch/picture (5 bytes, not text)\nsummaries/ (empty)\n\
         tool-results/ (empty)"
    );
    assert_eq!(
        agent.text("workspace_list_files", json!({"path": "output/a", "depth": 1})).await,
        "output/a/ (2 files)\noutput/a/b/ (1 file)\noutput/a/side.md (1 line)"
    );
    assert_eq!(
        agent.text("workspace_list_files", json!({"path": "output/main.md"})).await,
        "output/main.md (2 lines)"
    );
    assert_eq!(agent.text("workspace_list_files", json!({"path": "plan/"})).await, "plan/ (empty)");
    assert_eq!(agent.error("workspace_list_files", json!({"depth": 5})).await.0, "agent.invalid_arguments");
    for number in 0..205 {
        run.put(&format!("plan/{number}"), b"x");
    }
    let many = agent.call("workspace_list_files", json!({"path": "plan"})).await.unwrap();
    assert!(
        many.text().ends_with("[200 of 206 entries; list a folder by its path to see more]"),
        "{}",
        many.text()
    );
    assert_eq!(many.structured.unwrap()["truncated"], json!(true));
}

// WSP-05, WSP-16, WSP-19, WSP-20
#[tokio::test]
async fn visible_files_are_searched_and_the_best_places_come_first() {
    let run = Run::new();
    run.put("output/main.md", b"A storm.\nThe lighthouse keeper slept.\nDawn.\n\n\nThe keeper woke.\n");
    run.put("summaries/s.md", b"keeper of the lighthouse\n");
    run.put("scratch/picture", b"keeper\0");
    run.put("tool-results/call_1.txt", b"keeper\n");
    let mut agent = run.agent("i_1");
    let output = agent
        .call("workspace_search_files", json!({"query": "Lighthouse keeper", "context_lines": 1}))
        .await
        .unwrap();
    assert_eq!(
        output.text(),
        "4 places in 3 files fit `Lighthouse keeper`.\n\n\
         output/main.md, lines 1-3, score 30\nA storm.\nThe lighthouse keeper slept.\nDawn.\n\n\
         summaries/s.md, line 1, score 20\nkeeper of the lighthouse\n\n\
         output/main.md, lines 5-6, score 10\n\nThe keeper woke.\n\n\
         tool-results/call_1.txt, line 1, score 10\nkeeper\n\n\
         [1 file was not searched: no text]"
    );
    assert_eq!(
        output.resource_refs,
        [
            "workspace:output/main.md#L1-L3",
            "workspace:summaries/s.md#L1-L1",
            "workspace:output/main.md#L5-L6",
            "workspace:tool-results/call_1.txt#L1-L1",
        ]
    );
    assert!(!output.text().contains("sha256") && !output.structured.unwrap().to_string().contains("sha256"));
    assert_eq!(
        agent
            .text(
                "workspace_search_files",
                json!({"query": "keeper", "path": "output", "limit": 1, "context_lines": 0})
            )
            .await,
        "2 places in 1 file fit `keeper`; the best 1:\n\noutput/main.md, line 2, score 10\nThe lighthouse keeper slept."
    );
    assert_eq!(
        agent.text("workspace_search_files", json!({"query": "whale"})).await,
        "Nothing in 3 files fits `whale`.\n\n[1 file was not searched: no text]"
    );
    let mut narrow = run.narrow("i_2", WorkspaceRoots::new(&[WorkspaceRoot::Plan], &[]));
    assert_eq!(
        narrow.text("workspace_search_files", json!({"query": "keeper"})).await,
        "1 place in 1 file fits `keeper`.\n\ntool-results/call_1.txt, line 1, score 10\nkeeper"
    );
}

/// A run that takes what is committed.
#[derive(Default)]
struct Steered(Mutex<Vec<(String, CommitMode)>>);

impl RunControl for Steered {
    fn commit(&self, commit: ChatCommit) -> BoxFuture<'_, Result<CommitReceipt, ToolError>> {
        let mut commits = self.0.lock().unwrap();
        commits.push((commit.text, commit.mode));
        let commits = u32::try_from(commits.len()).unwrap();
        Box::pin(async move { Ok(CommitReceipt { message: 7, characters: 4, commits }) })
    }

    fn finish(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        let empty = self.0.lock().unwrap().is_empty();
        Box::pin(async move {
            if empty {
                return Err(ToolError::new(
                    ErrorCode::new("agent.foreground_commit_required"),
                    "Commit first.",
                ));
            }
            Ok(())
        })
    }
}

// WSP-12, WSP-13, WSP-14, WSP-21, WSP-22
#[tokio::test]
async fn a_file_is_committed_and_the_run_finished_through_its_owner() {
    let run = Run::new();
    let steered = Arc::new(Steered::default());
    let mut services = run.services("i_1", WorkspaceRoots::default());
    services.insert::<dyn RunControl>(steered.clone());
    let mut agent = Invocation::new(run.tools.clone(), services);
    run.put("scratch/picture", b"\x89PNG\0");
    run.put("output/blank.md", b" \n");
    assert_eq!(agent.error("workspace_finish", json!({})).await.0, "agent.foreground_commit_required");
    for (path, code) in [
        ("output/main.md", "workspace.file_not_found"),
        ("output", "workspace.path_is_directory"),
        ("scratch/picture", "workspace.file_not_text"),
        ("output/blank.md", "workspace.commit_empty"),
    ] {
        assert_eq!(agent.error("workspace_commit", json!({"path": path})).await.0, code);
    }
    run.put("output/main.md", b"Hi!\n");
    let output = agent.call("workspace_commit", json!({})).await.unwrap();
    assert_eq!(
        output.text(),
        "Committed: the text of `output/main.md` is now your message. You may revise it and commit again; do not forget \
         workspace_finish when you are done."
    );
    assert_eq!(output.resource_refs, ["chat:current#7"]);
    agent.text("workspace_commit", json!({"path": "output/main.md", "mode": "append"})).await;
    let commits = steered.0.lock().unwrap().clone();
    assert_eq!(commits, [("Hi!\n".into(), CommitMode::Replace), ("Hi!\n".into(), CommitMode::Append)]);
    assert_eq!(agent.text("workspace_finish", json!({})).await, "Finished. The run ends now.");
}

// DES-08
#[test]
fn descriptions_speak_of_paths_alone() {
    for tool in [workspace::tools().unwrap(), workspace::control_tools().unwrap()].concat() {
        let descriptor = &tool.declaration().descriptor;
        let said = format!("{} {}", descriptor.description, descriptor.input_schema.as_value());
        for word in
            ["sha256", "CAS", "hash", "version", "invocation", "run id", "journal", "physical", "overwrite"]
        {
            assert!(!said.contains(word), "{}: {word}", descriptor.id);
        }
    }
}
