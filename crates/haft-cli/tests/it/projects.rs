//! `haft project` and the file tools that work in its folder.

use crate::support::Home;

fn with_project() -> Home {
    let home = Home::new();
    home.write("notes/a.txt", "one\n");
    assert_eq!(home.haft(&["project", "add", "notes"]).exit, Some(0));
    home
}

#[test]
fn folders_are_added_listed_and_forgotten() {
    let home = Home::new();
    std::fs::create_dir_all(home.path("my notes")).unwrap();
    home.write("file", "");
    haft_snapshot!(home, home.haft(&["project"]), @r#"
    exit: 0
    --- stdout
    --- stderr
    there is no project yet; `haft project add FOLDER` makes one
    "#);
    haft_snapshot!(home, home.haft(&["project", "add", "my notes"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: `my notes` is no project id: use 1 to 64 letters, digits, `_`, `-` or `.`

      Name one with `--id`.
    "#);
    haft_snapshot!(home, home.haft(&["project", "add", "my notes", "--id", "notes"]), @r#"
    exit: 0
    --- stdout
    notes  [FOLDER]/my notes
    --- stderr
    "#);
    haft_snapshot!(home, home.haft(&["project", "add", ".", "--id", "notes"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: the project `notes` is there already, with the folder [FOLDER]/my notes

      Choose another id with `--id`, or remove the old one first.
    "#);
    haft_snapshot!(home, home.haft(&["project", "add", "absent"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: `absent` cannot be used as a folder: No such file or directory (os error 2)

      Create the folder first, or name another one.
    "#);
    haft_snapshot!(home, home.haft(&["project", "add", "file"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: `file` cannot be used as a folder: it is a file

      Create the folder first, or name another one.
    "#);
    haft_snapshot!(home, home.haft(&["project", "list", "--json"]), @r#"
    exit: 0
    --- stdout
    [{"id":"notes","path":"[FOLDER]/my notes","added":[MS]}]
    --- stderr
    "#);
    haft_snapshot!(home, home.haft(&["project", "remove", "note"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: there is no project `note`

      Did you mean notes?
    "#);
    haft_snapshot!(home, home.haft(&["project", "remove", "notes"]), @r#"
    exit: 0
    --- stdout
    --- stderr
    the project `notes` is forgotten; its folder was not touched
    "#);
}

// FIL-01, FIL-02, CTX-02
#[test]
fn file_tools_need_a_project_and_the_working_folder_is_none() {
    let home = with_project();
    haft_snapshot!(home, home.haft(&["call", "file_read", "path=notes/a.txt"]), @r#"
    exit: 1
    --- stdout
    project_id is required for file operations
    --- stderr
    session s_[ID], run r_[ID]
    file tools work in the folder of a project: `haft project add FOLDER --id ID` makes one, `--project ID` takes it
    "#);
    haft_snapshot!(home, home.haft(&["call", "file_read", "path=a.txt", "--project", "nope"]), @r#"
    exit: 1
    --- stdout
    Project not found: nope
    --- stderr
    warning: there is no project `nope`; `haft project add FOLDER --id nope` makes one
    session s_[ID], run r_[ID]
    "#);
    haft_snapshot!(home, home.haft(&["call", "file_read", "path=a.txt", "--project", "notes"]), @r#"
    exit: 0
    --- stdout
    one
    --- stderr
    session s_[ID], run r_[ID]
    "#);
    haft_snapshot!(home, home.haft(&["call", "file_read", "path=a.txt", "project_id=elsewhere", "--project", "notes"]), @r#"
    exit: 0
    --- stdout
    one
    --- stderr
    session s_[ID], run r_[ID]
    "#);
    let json = home.json(&["call", "file_read", "path=a.txt", "--project", "notes"]);
    assert_eq!(json["arguments"]["project_id"], "notes");
}

// CTX-04
#[test]
fn a_session_keeps_its_project() {
    let home = with_project();
    home.haft(&["call", "file_list", "--project", "notes"]);
    let run = home.haft(&["call", "file_read", "path=a.txt", "--session", "last"]);
    assert_eq!(run.exit, Some(0), "{run}");
}

// FIL-03
#[test]
fn nothing_outside_of_the_project_is_reached() {
    let home = with_project();
    for path in ["../../../etc/passwd", "/etc/passwd", "a/../../x", "..\\..\\x"] {
        let run = home.haft(&["call", "file_read", &format!("path={path}"), "--project", "notes"]);
        assert_eq!(run.exit, Some(1), "{path}: {run}");
        assert!(run.stdout.contains("outside project directory"), "{path}: {run}");
    }
    haft_snapshot!(home, home.haft(&["call", "file_read", "path=../../../etc/passwd", "--project", "notes"]), @r#"
    exit: 1
    --- stdout
    Path is outside project directory
    --- stderr
    session s_[ID], run r_[ID]
    "#);
}

#[test]
fn changes_of_files_are_asked_by_folder() {
    let home = with_project();
    let write = ["call", "file_write", "path=sub/b.txt", "content=two", "--project", "notes"];
    haft_snapshot!(home, home.haft(&write), @r#"
    exit: 3
    --- stdout
    `file_write` was refused: it needs a person's yes, and nobody is there to ask.
    --- stderr
    session s_[ID], run r_[ID]
    file_write: say yes in advance with `--allow file_write`, with `--allow file_write=SCOPE`, or with `--yes`; `--dry-run` shows the question and its scopes
    "#);
    assert!(!home.path("notes/sub/b.txt").exists());
    haft_snapshot!(home, home.haft(&[&write[..], &["--dry-run"]].concat()), @r#"
    exit: 0
    --- stdout
    file_write {"content":"two","encoding":"utf-8","mode":"write","path":"sub/b.txt","project_id":"notes"}
      ask: permission of `file_write`: ask
      question: Write 3 characters to the file `sub/b.txt`, in place of whatever it holds?
      a yes may cover: file:[FOLDER]/notes/sub/b.txt, path:[FOLDER]/notes/sub, the whole tool
    --- stderr
    "#);
    let by_folder = format!("file_write=path:{}", home.path("notes/sub").display());
    let run = home.haft(&[&write[..], &["--allow", &by_folder]].concat());
    assert_eq!(run.exit, Some(0), "{run}");
    assert_eq!(home.read("notes/sub/b.txt"), "two");
    let elsewhere =
        ["call", "file_write", "path=c.txt", "content=x", "--project", "notes", "--allow", &by_folder];
    assert_eq!(home.haft(&elsewhere).exit, Some(3));
    let relative = [
        "call",
        "file_write",
        "path=sub/d.txt",
        "content=x",
        "--project",
        "notes",
        "--allow",
        "file_write=path:sub",
    ];
    assert_eq!(home.haft(&relative).exit, Some(0));
}

#[test]
fn nanoclaw_asks_nobody() {
    let home = with_project();
    let call = |arguments: &[&str]| {
        let run = home.haft(&[&["--profile", "nanoclaw", "--project", "notes", "call"], arguments].concat());
        assert_eq!(run.exit, Some(0), "{arguments:?}: {run}");
    };
    call(&["file_mkdir", "path=x"]);
    call(&["file_write", "path=x/y.txt", "content=z"]);
    call(&["file_exists", "path=x/y.txt"]);
    call(&["file_delete", "path=x/y.txt"]);
    assert!(!home.path("notes/x/y.txt").exists());
}

#[test]
fn a_file_that_is_changed_leaves_its_before_image() {
    let home = with_project();
    let call = ["call", "file_write", "path=a.txt", "content=changed", "--project", "notes", "--yes"];
    assert_eq!(home.haft(&call).exit, Some(0));
    let ended = home.json(&["audit", "show", "last"]);
    let files =
        ended.as_array().unwrap().iter().find(|event| event["kind"] == "tool_call_completed").unwrap();
    let before = files["payload"]["files"][0]["before"].as_str().unwrap().to_owned();
    assert_eq!(home.haft(&["audit", "export", "last", "--output", "out"]).exit, Some(0));
    assert_eq!(home.read(&format!("out/blobs/{before}")), "one\n");
    assert_eq!(home.haft(&["audit", "verify"]).exit, Some(0));
}
