//! Edits that remember what was read, skills, the workspace of a run and dice, through the binary.

use crate::support::Home;

fn with_project() -> Home {
    let home = Home::new();
    home.write("notes/a.txt", "one\ntwo\n");
    assert_eq!(home.haft(&["project", "add", "notes"]).exit, Some(0));
    home
}

fn edit<'a>(session: &'a [&'a str], old: &'a str, new: &'a str) -> Vec<&'a str> {
    let call = ["call", "file_edit", "path=a.txt", old, new, "--project", "notes", "--yes"];
    [&call[..], session].concat()
}

// Complaint 25: what a session has read counts in a later process too.
#[test]
fn a_file_is_edited_by_the_session_that_has_read_it() {
    let home = with_project();
    haft_snapshot!(home, home.haft(&edit(&[], "old_string=two", "new_string=2")), @r"
    exit: 1
    --- stdout
    Nothing was changed: you have not read `a.txt`. Read it with file_read first.
    --- stderr
    session s_[ID], run r_[ID]
    ");
    assert_eq!(home.haft(&["call", "file_read", "path=a.txt", "--project", "notes"]).exit, Some(0));
    haft_snapshot!(home, home.haft(&edit(&["--session", "last"], "old_string=two", "new_string=2")), @r"
    exit: 0
    --- stdout
    Edited `a.txt`: 1 replacement, line 2, matched exactly.
    --- stderr
    session s_[ID], run r_[ID]
    ");
    home.write("notes/a.txt", "zero\none\n2\n");
    haft_snapshot!(home, home.haft(&edit(&["--session", "last"], "old_string=one", "new_string=1")), @r"
    exit: 1
    --- stdout
    Nothing was changed: others changed `a.txt` since you read it: any line may differ. Your passage now stands in line 2. Read it with file_read first.
    --- stderr
    session s_[ID], run r_[ID]
    ");
    assert_eq!(home.read("notes/a.txt"), "zero\none\n2\n");
}

// SKL-01, SKL-03, CONFLICT-25
#[test]
fn skills_lie_in_the_home_and_are_read_by_name() {
    let home = Home::new();
    haft_snapshot!(home, home.haft(&["call", "skill_list"]), @r"
    exit: 0
    --- stdout
    There are no skills.
    --- stderr
    session s_[ID], run r_[ID]
    ");
    home.write(
        "home/skills/ui-card/SKILL.md",
        "---\nname: ui-card\ndescription: Cards for the screen.\n---\nCompare, rank, stats, timeline.\n",
    );
    home.write("home/skills/private/SKILL.md", "---\ndescription: Not for everybody.\n---\nHidden.\n");
    home.write(
        "home/profiles/careful.md",
        "---\nextends: default\nskills:\n  deny: [private]\n  maxReadCharsPerCall: 20\n---\n",
    );
    haft_snapshot!(home, home.haft(&["--profile", "careful", "call", "skill_list"]), @r"
    exit: 0
    --- stdout
    - ui-card: Cards for the screen.
    --- stderr
    session s_[ID], run r_[ID]
    ");
    haft_snapshot!(home, home.haft(&["--profile", "careful", "call", "skill_read", "name=ui-card"]), @r"
    exit: 0
    --- stdout
    ---
    name: ui-card
    [lines 1-2 of 5; read on with skill_read(name='ui-card', start_line=3)]
    --- stderr
    session s_[ID], run r_[ID]
    ");
    haft_snapshot!(home, home.haft(&["--profile", "careful", "call", "skill_read", "name=private"]), @r"
    exit: 1
    --- stdout
    There is no skill `private`. There are: ui-card.
    --- stderr
    session s_[ID], run r_[ID]
    ");
    let shown = home.haft(&["profile", "show", "careful"]).stdout;
    let table = "skills:\n  visible: [\"*\"]\n  deny: [\"private\"]\n  max_read_chars_per_call: 20\n  max_read_chars_per_run: 80000\n";
    assert!(shown.contains(table), "{shown}");
}

const WORKSPACE: &str = "---\ntools:\n  allow: [workspace.list_files, workspace.search_files, workspace.read_file, \
    workspace.write_file, workspace.apply_patch, dice.roll]\n---\n";

// WSP-04, WSP-07, WSP-10, WSP-15
#[test]
fn the_files_of_a_run_are_stored_with_its_records() {
    let home = Home::new();
    home.write("home/profiles/writer.md", WORKSPACE);
    let calls = r#"{"tool_calls":[
        {"id":"1","function":{"name":"workspace_write_file","arguments":"{\"path\":\"output/main.md\",\"content\":\"The lamp was dark.\\n\"}"}},
        {"id":"2","function":{"name":"workspace_apply_patch","arguments":"{\"path\":\"output/main.md\",\"old_string\":\"dark\",\"new_string\":\"low\"}"}},
        {"id":"3","function":{"name":"workspace_read_file","arguments":"{\"path\":\"output/main.md\"}"}},
        {"id":"4","function":{"name":"workspace_read_file","arguments":"{\"path\":\"input/x\"}"}}
    ]}"#;
    let run = home.haft_with(&["--profile", "writer", "exec", "--dialect", "native", "--json"], calls);
    let results: Vec<serde_json::Value> =
        run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<_> = results.iter().map(|result| result["content"].as_str().unwrap_or_default()).collect();
    assert_eq!(
        told,
        [
            "Wrote the new file `output/main.md`, 1 line.",
            "Patched `output/main.md`: 1 replacement, line 1, matched exactly.",
            "The lamp was low.\n",
            "`input/x` is not in the workspace. List the files to see what there is.",
        ],
        "{run}"
    );
    let id = results[0]["run"].as_str().unwrap();
    assert_eq!(home.haft(&["audit", "export", id, "--output", "out"]).exit, Some(0));
    let file = |name: &str| {
        let found = walk(&home.path("out")).into_iter().find(|path| path.ends_with(name));
        std::fs::read_to_string(found.unwrap_or_else(|| panic!("{name}"))).unwrap()
    };
    assert_eq!(file("workspace/output/main.md@1"), "The lamp was dark.\n");
    assert_eq!(file("workspace/output/main.md@2"), "The lamp was low.\n");
    // The next run has a workspace of its own.
    let listed = home.haft(&[
        "--profile",
        "writer",
        "call",
        "workspace_list_files",
        "path=output",
        "--session",
        "last",
    ]);
    assert_eq!(listed.stdout, "output/ (empty)\n");
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { all.extend(walk(&path)) } else { all.push(path) }
    }
    all
}

// DIC-01, POL-11
#[test]
fn dice_are_rolled_where_the_profile_has_them() {
    let home = Home::new();
    home.write("home/profiles/writer.md", WORKSPACE);
    let json = home.json(&["--profile", "writer", "call", "dice_roll", "formula=2d6+1"]);
    let rolls: Vec<u64> = serde_json::from_value(json["structured"]["rolls"].clone()).unwrap();
    assert_eq!(json["structured"]["total"], rolls.iter().sum::<u64>() + 1);
    assert_eq!(home.haft(&["call", "dice_roll", "formula=d6"]).exit, Some(3));
}
