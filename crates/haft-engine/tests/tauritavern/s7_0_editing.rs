//! Section 7.0: what may be written and patched, by what was read, in runs in which others write too.

use haft_core::journal::RunStatus;
use serde_json::{Value, json};

use crate::crew::{CrewModel, Team, calls, text};
use crate::tavern::{
    FILES, Turn, ask, bodies, failures, lines, one, patch, patch_all, read, scripted, tavern,
};
use crate::writing::{append, commit, finish, write};

/// A team of two: `other` works on the same files when it is called, as often as it has turns.
fn two() -> Team {
    let tools: Vec<&str> = FILES.into_iter().chain(["agent.call"]).collect();
    let mut team = tavern(&tools);
    team.agent("other", &FILES, |_| {});
    team
}

/// Runs the turns of the root, followed by a commit and the end; `other` does these calls whenever it is called.
async fn with_other(root: Vec<Turn>, other: Vec<Vec<(&str, Value)>>) -> (Team, Vec<String>, Vec<String>) {
    let team = two();
    let end = calls(vec![
        write("output/end.md", "x"),
        ("workspace_commit", json!({"path": "output/end.md"})),
        finish(),
    ]);
    let root = root.into_iter().chain([end]).collect();
    let other = other.into_iter().flat_map(|work| [calls(work), text("Done.")]).collect();
    let model = CrewModel::new(vec![("root", root), ("other", other)]);
    let outcome = team.run(&model).await;
    assert_eq!(outcome.status, RunStatus::Completed, "{outcome:?}");
    let failed = failures(&team, &outcome.run).await;
    (team, bodies(&model, "root"), failed)
}

const SONG: &str = "The lamp is dark.\nThe sea is calm.\nThe lamp is cold.\n";

// WSP-08, COE-09: a file that somebody changed is not overwritten; the model is told which line, reads, and writes.
#[tokio::test]
async fn a_stale_write_says_what_changed_and_is_mended_by_reading() {
    let (_, bodies, failed) = with_other(
        vec![
            one(write("output/song.md", SONG)),
            one(ask("other", "Mend it.")),
            one(write("output/song.md", "Mine.\n")),
            one(write("output/song.md", "Mine.\n")),
            calls(vec![read("output/song.md"), write("output/song.md", "Mine.\n")]),
        ],
        vec![vec![read("output/song.md"), patch("output/song.md", "calm", "wild")]],
    )
    .await;
    let stale = "workspace_write_file workspace.write_stale_file";
    assert_eq!(failed, [stale, stale]);
    assert_eq!(
        bodies[2],
        "## Tool error\n\nNothing was written: `output/song.md` was changed by others since you read it: line 2 changed. Read the \
         whole file with workspace_read_file, then write."
    );
    assert_eq!(bodies[4], "The lamp is dark.\nThe sea is wild.\nThe lamp is cold.\n");
    assert_eq!(bodies[5], "Replaced `output/song.md`, now 1 line.");
}

// WSP-10, WSP-11: the version is checked before a patch, and the error says what became of the passage.
#[tokio::test]
async fn a_stale_patch_says_what_changed_and_where_the_passage_is_now() {
    let (_, bodies, failed) = with_other(
        vec![
            one(write("output/song.md", SONG)),
            one(ask("other", "Add a line.")),
            one(patch("output/song.md", "The sea is calm.", "The sea is wild.")),
            calls(vec![
                read("output/song.md"),
                patch("output/song.md", "The sea is calm.", "The sea is wild."),
                read("output/song.md"),
            ]),
        ],
        vec![vec![
            read("output/song.md"),
            patch("output/song.md", "The lamp is dark.\n", "Night.\nThe lamp is dark.\n"),
        ]],
    )
    .await;
    assert_eq!(failed, ["workspace_apply_patch workspace.patch_stale_file"]);
    insta::assert_snapshot!(bodies[2]);
    assert_eq!(bodies[5], "Night.\nThe lamp is dark.\nThe sea is wild.\nThe lamp is cold.\n");
}

// WSP-06, WSP-10, WSP-11: a part that was read may be patched, if its passage stands once in the whole file, which is not shown; after
// a failure on a part the whole must be read; `replace_all` needs the whole anyway.
#[tokio::test]
async fn what_was_read_in_part_may_be_patched_in_part() {
    let (_, bodies, failed) = with_other(
        vec![
            one(ask("other", "Write it.")),
            // Nothing of it was read yet.
            one(patch("output/song.md", "calm", "wild")),
            one(lines("output/song.md", 2, 1)),
            one(patch("output/song.md", "calm", "wild")),
            // A passage outside of what was read.
            one(patch("output/song.md", "cold", "warm")),
            // Even what was read in part before is no ground any more.
            one(lines("output/song.md", 2, 1)),
            one(patch("output/song.md", "wild", "grey")),
            one(patch_all("output/song.md", "lamp", "light")),
            one(read("output/song.md")),
            // Twice in the whole file: told, and on a whole reading nothing more is asked.
            one(patch("output/song.md", "lamp", "light")),
            one(patch_all("output/song.md", "lamp", "light")),
            one(read("output/song.md")),
        ],
        vec![vec![write("output/song.md", SONG)]],
    )
    .await;
    let code = |code: &str| format!("workspace_apply_patch workspace.{code}");
    assert_eq!(
        failed,
        [
            code("patch_requires_read"),
            code("patch_requires_read"),
            code("patch_requires_full_read"),
            code("patch_requires_full_read"),
            code("patch_old_string_not_unique"),
        ]
    );
    assert_eq!(bodies[3], "Patched `output/song.md`: 1 replacement, line 2, matched exactly.");
    // The check looked at the whole file and showed nothing of it.
    assert!(bodies[1..8].iter().all(|body| !body.contains("cold.")), "{bodies:#?}");
    assert_eq!(bodies[11], "The light is dark.\nThe sea is wild.\nThe light is cold.\n");
}

// WSP-11: a passage that stands twice, and one that stands nowhere, are told with their places; on a partial reading that forces a
// full one.
#[tokio::test]
async fn a_failed_patch_on_a_part_asks_for_the_whole() {
    let (_, bodies, failed) = with_other(
        vec![
            one(ask("other", "Write it.")),
            one(lines("output/song.md", 1, 1)),
            one(patch("output/song.md", "lamp", "light")),
            one(patch("output/song.md", "The lamp is dark.", "x")),
            one(read("output/song.md")),
            one(patch("output/song.md", "The lamp is dim.", "x")),
            one(patch("output/song.md", "The lamp is dark.", "The lamp is bright.")),
        ],
        vec![vec![write("output/song.md", SONG)]],
    )
    .await;
    let code = |code: &str| format!("workspace_apply_patch workspace.{code}");
    assert_eq!(
        failed,
        [
            code("patch_old_string_not_unique"),
            code("patch_requires_full_read"),
            code("patch_old_string_not_found"),
        ]
    );
    insta::assert_snapshot!([&bodies[2], &bodies[3], &bodies[5]].map(String::as_str).join("\n---\n"));
    assert_eq!(bodies[6], "Patched `output/song.md`: 1 replacement, line 1, matched exactly.");
}

// WSP-07, WSP-09: append adds the content as it is and makes a missing file; it teaches nothing of what was not read.
#[tokio::test]
async fn appending_adds_as_it_is_and_teaches_nothing_unread() {
    let (_, bodies, failed) = with_other(
        vec![
            one(ask("other", "Write it.")),
            one(append("output/song.md", "No break")),
            // The appended text itself is not known by appending, nor the rest.
            one(patch("output/song.md", "No break", "x")),
            one(write("output/song.md", "All mine.\n")),
            one(read("output/song.md")),
            // Read whole before: the version after it is known whole.
            one(append("output/song.md", "\nA new line\n")),
            one(write("output/song.md", "All mine.\n")),
            // A file that it made is known whole.
            calls(vec![
                append("scratch/log.md", "one"),
                write("scratch/log.md", "two"),
                read("scratch/log.md"),
            ]),
            // Somebody else wrote in between: appending goes on, and the old reading says nothing any more.
            one(ask("other", "Write again.")),
            calls(vec![append("output/song.md", "mine\n"), write("output/song.md", "x")]),
        ],
        vec![
            vec![write("output/song.md", "One\n")],
            vec![read("output/song.md"), write("output/song.md", "Theirs\n")],
        ],
    )
    .await;
    assert_eq!(
        failed,
        [
            "workspace_apply_patch workspace.patch_requires_read",
            "workspace_write_file workspace.write_requires_read",
            "workspace_write_file workspace.write_stale_file",
        ]
    );
    assert_eq!(bodies[4], "One\nNo break");
    assert_eq!(bodies[6], "Replaced `output/song.md`, now 1 line.");
    assert_eq!(bodies[9], "two");
    assert_eq!(bodies[11], "Added to the end of `output/song.md`, now 2 lines.");
}

// WSP-08, WSP-07, DES-08: neither digests nor a policy of overwriting are arguments; the modes are two, and `replace` is the one that is
// meant.
#[tokio::test]
async fn the_schema_of_writing_knows_two_modes_and_no_versions() {
    let team = tavern(&FILES);
    let model = scripted(vec![
        calls(vec![
            (
                "workspace_write_file",
                json!({"path": "output/main.md", "content": "x", "expectedSha256": "0"}),
            ),
            ("workspace_write_file", json!({"path": "output/main.md", "content": "x", "overwrite": true})),
            ("workspace_write_file", json!({"path": "output/main.md", "content": "x", "mode": "insert"})),
            ("workspace_apply_patch", json!({"path": "output/main.md", "old_string": "x"})),
            ("workspace_write_file", json!({"path": "output/main.md", "content": "one"})),
            ("workspace_write_file", json!({"path": "output/main.md", "content": "two"})),
        ]),
        calls(vec![commit(), finish()]),
    ]);
    let outcome = team.run(&model).await;
    assert_eq!((outcome.status, outcome.text.as_str()), (RunStatus::Completed, "two"));
    let invalid = |alias: &str| format!("{alias} agent.invalid_arguments");
    assert_eq!(
        failures(&team, &outcome.run).await,
        [
            invalid("workspace_write_file"),
            invalid("workspace_write_file"),
            invalid("workspace_write_file"),
            invalid("workspace_apply_patch")
        ]
    );
    let asked = model.asked("root");
    let tool = asked[0].tools.iter().find(|tool| tool.alias == "workspace_write_file").unwrap();
    let parameters = tool.input_schema.as_value()["properties"].as_object().unwrap().clone();
    assert_eq!(parameters.keys().map(String::as_str).collect::<Vec<_>>(), ["path", "content", "mode"]);
    assert_eq!(parameters["mode"]["enum"], json!(["replace", "append"]));
    assert_eq!(parameters["mode"]["default"], json!("replace"));
}

// COE-09, CONFLICT-18, WSP-12: wrong paths are told to the model and end nothing.
#[tokio::test]
async fn wrong_paths_are_told_and_end_nothing() {
    let mut team = tavern(&FILES);
    team.world.profile.loops =
        haft_core::streak::LoopLimits { same_failures: 99, same_denials: 99, failed_batches: 99 };
    let wrong =
        ["", "../escape.md", "/etc/passwd", "input/x.md", "output/../../x", "output", "tool-results/x"];
    let model = scripted(vec![
        calls(wrong.iter().map(|path| write(path, "x")).collect()),
        calls(wrong.iter().map(|path| read(path)).collect()),
        calls(vec![
            write("output/a/b.md", "x"),
            write("output/a", "x"),
            read("output/a"),
            patch("output/a", "x", "y"),
        ]),
        calls(vec![write("output/main.md", "x"), commit(), finish()]),
    ]);
    let outcome = team.run(&model).await;
    assert_eq!(outcome.status, RunStatus::Completed);
    let failed = failures(&team, &outcome.run).await;
    let codes: Vec<&str> = failed.iter().map(|one| one.rsplit_once('.').unwrap().1).collect();
    assert_eq!(
        codes,
        [
            "path_invalid",
            "path_invalid",
            "path_invalid",
            "path_not_visible",
            "path_invalid",
            "path_is_directory",
            "path_not_writable",
            "path_invalid",
            "path_invalid",
            "path_invalid",
            "path_not_visible",
            "path_invalid",
            "path_is_directory",
            "file_not_found",
            "path_is_directory",
            "path_is_directory",
            "path_is_directory",
        ]
    );
    let bodies = bodies(&model, "root");
    for body in [&bodies[5], &bodies[12], &bodies[15]] {
        assert!(body.contains("workspace_list_files"), "{body}");
    }
}
