//! What is broken on disk: the message names it and the next step, and nothing is lost.

use crate::support::Home;

#[test]
fn a_file_that_is_no_database_is_named_and_left_alone() {
    let home = Home::new();
    home.leaves_damage();
    home.write("home/haft.db", &"this is no database. ".repeat(400));
    haft_snapshot!(home, home.haft(&["call", "calculator", "expression=1"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: the store at [FOLDER]/home/haft.db cannot be used: file is not a database. Move it away, or choose another home with --home; nothing was changed
    "#);
    haft_snapshot!(home, home.haft(&["sessions"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: the store at [FOLDER]/home/haft.db cannot be used: file is not a database. Move it away, or choose another home with --home; nothing was changed
    "#);
    haft_snapshot!(home, home.haft(&["audit", "verify"]), @r#"
    exit: 1
    --- stdout
    --- stderr
    error: the store at [FOLDER]/home/haft.db cannot be used: file is not a database. Move it away, or choose another home with --home; nothing was changed
    "#);
    assert!(home.read("home/haft.db").starts_with("this is no database."));
}

#[test]
fn a_database_of_a_newer_haft_is_refused() {
    let home = Home::new();
    home.leaves_damage();
    home.haft(&["call", "calculator", "expression=1"]);
    // SQLite's user_version stands at byte 60 of the file.
    let path = home.path("home/haft.db");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[60..64].copy_from_slice(&9_999u32.to_be_bytes());
    std::fs::write(&path, &bytes).unwrap();
    haft_snapshot!(home, home.haft(&["call", "calculator", "expression=1"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: the store at [FOLDER]/home/haft.db has format 9999, and this Haft knows formats up to 2. Use a newer Haft; nothing was changed
    "#);
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}

#[test]
fn a_home_that_is_a_file_is_named() {
    let home = Home::new();
    home.write("home", "");
    haft_snapshot!(home, home.haft(&["call", "calculator", "expression=1"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: the home [FOLDER]/home (by --home) is a file, not a folder

      Choose another one with `--home DIR` or `HAFT_HOME`.
    "#);
}

#[test]
fn the_doctor_says_what_works() {
    let home = Home::new();
    home.leaves_damage();
    let run = home.haft(&["doctor"]);
    assert_eq!(run.exit, Some(0), "{run}");
    home.write("home/haft.db", &"no database ".repeat(1000));
    home.write(
        "home/haft.toml",
        "default_model = \"x\"\n[models.y]\nurl = \"http://h/v1#m\"\nkey_env = \"NO_SUCH_KEY\"\n",
    );
    let run = home.haft(&["doctor", "--json"]);
    assert_eq!(run.exit, Some(1), "{run}");
    let rows: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let bad: Vec<&str> = rows
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["ok"] == false)
        .map(|row| row["name"].as_str().unwrap())
        .collect();
    assert_eq!(bad, ["default model", "model entry", "store"]);
}

#[test]
fn the_doctor_keeps_several_mistakes_in_its_column() {
    let home = Home::new();
    home.write("home/haft.toml", "a = 1\nb = 2\n");
    let run = home.haft(&["doctor"]);
    assert_eq!(run.exit, Some(1), "{run}");
    let lines: Vec<&str> = run.stdout.lines().collect();
    let at = lines.iter().position(|line| line.starts_with("BAD  haft.toml      ")).unwrap();
    assert!(lines[at + 1].starts_with(&format!("{:20}/", "")), "{run}");
}
