//! `haft.toml`: what holds, where it comes from, and what is wrong.

use crate::support::Home;

// CFG-02
#[test]
fn settings_are_shown_with_their_origin() {
    let home = Home::new();
    haft_snapshot!(home, home.haft(&["config"]), @r#"
    exit: 0
    --- stdout
    home = "[FOLDER]/home"
    default_profile = "default"
    default_model = (not set)
    registry.allow_override = false
    consent.timeout_s = 300
    consent.grace_s = 30
    spill.preview = (not set)
    read_artifact_max_chars = 50000
    --- stderr
    "#);
    home.write(
        "home/haft.toml",
        "default_model = \"fast\"\n[models.fast]\nurl = \"http://me:secret@127.0.0.1:8080/v1#qwen\"\nkey_env = \"FAST_KEY\"\n\
         [consent]\ntimeout_s = 60\n",
    );
    haft_snapshot!(home, home.haft(&["config", "show", "--origin"]), @r#"
    exit: 0
    --- stdout
    home = "[FOLDER]/home"                    # --home
    default_model = "fast"                           # haft.toml:1
    models.fast.url = "http://***@127.0.0.1:8080/v1#qwen" # haft.toml:3
    models.fast.key_env = "FAST_KEY"                 # haft.toml:4
    consent.timeout_s = 60                           # haft.toml:6
    default_profile = "default"                      # built in
    registry.allow_override = false                  # built in
    consent.grace_s = 30                             # built in
    spill.preview = (not set)                        # built in
    read_artifact_max_chars = 50000                  # built in
    --- stderr
    "#);
    haft_snapshot!(home, home.haft(&["config", "show", "--json"]), @r#"
    exit: 0
    --- stdout
    [{"key":"home","value":"[FOLDER]/home","origin":"--home"},{"key":"default_model","value":"fast","origin":"haft.toml:1"},{"key":"models.fast.url","value":"http://***@127.0.0.1:8080/v1#qwen","origin":"haft.toml:3"},{"key":"models.fast.key_env","value":"FAST_KEY","origin":"haft.toml:4"},{"key":"consent.timeout_s","value":60,"origin":"haft.toml:6"},{"key":"default_profile","value":"default","origin":"built in"},{"key":"registry.allow_override","value":false,"origin":"built in"},{"key":"consent.grace_s","value":30,"origin":"built in"},{"key":"spill.preview","value":null,"origin":"built in"},{"key":"read_artifact_max_chars","value":50000,"origin":"built in"}]
    --- stderr
    "#);
    haft_snapshot!(home, home.haft(&["config", "check"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: [FOLDER]/home/haft.toml: `models.fast`: the address of the model `fast` cannot be used: it must hold no name and no password; a key is named by `key_env`. It should look like http://127.0.0.1:8080/v1
    "#);
}

// CFG-02
#[test]
fn settings_hold_where_the_profile_says_nothing() {
    let home = Home::new();
    home.write(
        "home/haft.toml",
        "read_artifact_max_chars = 9000\n[consent]\ntimeout_s = 60\ngrace_s = 5\n[spill]\npreview = 77\n",
    );
    let profile = |name: &str| home.json(&["profile", "show", name])["profile"].clone();
    let ours = profile("default");
    assert_eq!(ours["consent"], serde_json::json!({"timeout_s": 60, "grace_s": 5}));
    assert_eq!((&ours["read_artifact_chars"], &ours["spill"]["preview"]), (&9000.into(), &3000.into()));
    let theirs = profile("artifactflow");
    assert_eq!(theirs["consent"], serde_json::json!({"timeout_s": 60, "grace_s": 0}));
    home.write("home/profiles/bare.md", "---\n---\n");
    assert_eq!(profile("bare")["spill"]["preview"], 77);
}

#[test]
fn what_the_file_names_is_checked() {
    let home = Home::new();
    haft_snapshot!(home, home.haft(&["config", "check"]), @r#"
    exit: 0
    --- stdout
    [FOLDER]/home/haft.toml: there is no such file, so the defaults hold
    --- stderr
    "#);
    home.write(
        "home/haft.toml",
        "default_model = \"fsat\"\n[models.fast]\nurl = \"http://127.0.0.1:8080/v1#qwen\"\n",
    );
    haft_snapshot!(home, home.haft(&["config", "check"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: [FOLDER]/home/haft.toml: `default_model`: there is no model `fsat`

      Did you mean fast?
    "#);
    home.write("home/haft.toml", "[models.fast]\nurl = \"http://127.0.0.1:8080/v1\"\n");
    haft_snapshot!(home, home.haft(&["config", "check"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: [FOLDER]/home/haft.toml: `models.fast`: `http://127.0.0.1:8080/v1` names no model: the model's name is missing behind `#`. Write openai:NAME, anthropic:NAME, gemini:NAME, http://host:port/v1#NAME, scripted:FILE, demo, or the name of a model entry
    "#);
    home.write("home/haft.toml", "default_profile = \"nanocaw\"\n");
    haft_snapshot!(home, home.haft(&["config", "check"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: there is no profile `nanocaw`; did you mean nanoclaw?

      `haft profile list` shows all profiles.
    "#);
    home.write(
        "home/haft.toml",
        "default_profile = \"nanocaw\"\ndefault_model = \"fsat\"\n[models.fast]\nurl = \"http://127.0.0.1:1/v1#m\"\ndialect = \"artifact-xm\"\n",
    );
    haft_snapshot!(home, home.haft(&["config", "check"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: there is no profile `nanocaw`; did you mean nanoclaw?
    [FOLDER]/home/haft.toml: `default_model`: there is no model `fsat`
    [FOLDER]/home/haft.toml: `models.fast`: the model `fast` cannot be spoken to in the dialect `artifact-xm`; `haft parse --dialects` lists those that can be named, beside native
    "#);
}

#[test]
fn unknown_keys_name_line_and_nearest_key() {
    let home = Home::new();
    home.write("home/haft.toml", "# mine\ndefualt_profile = \"default\"\n\n[consent]\ntimeout = 3\n");
    haft_snapshot!(home, home.haft(&["tools"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: [FOLDER]/home/haft.toml:2:1: unknown key `defualt_profile`; did you mean `default_profile`?
    [FOLDER]/home/haft.toml:5:1: unknown key `timeout` in `consent`; did you mean `timeout_s`?
    "#);
}

#[test]
fn broken_toml_names_its_place() {
    let home = Home::new();
    home.write("home/haft.toml", "default_profile = \n");
    haft_snapshot!(home, home.haft(&["call", "calculator", "expression=1"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: [FOLDER]/home/haft.toml:1:19: this is no TOML: string values must be quoted, expected literal string
    "#);
}

#[cfg(unix)]
#[test]
fn a_file_that_cannot_be_read_is_named() {
    let home = Home::new();
    std::fs::create_dir_all(home.path("home/haft.toml")).unwrap();
    haft_snapshot!(home, home.haft(&["tools"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: [FOLDER]/home/haft.toml: the file cannot be read: Is a directory (os error 21); make the file readable, or move it away to use the defaults
    "#);
    let other = Home::new();
    std::fs::create_dir_all(other.path("home")).unwrap();
    std::fs::write(other.path("home/haft.toml"), b"a = \"\xff\"").unwrap();
    haft_snapshot!(other, other.haft(&["tools"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: [FOLDER]/home/haft.toml: the file cannot be read: it is not UTF-8 text: byte 5 does not fit; make the file readable, or move it away to use the defaults
    "#);
}

#[test]
fn a_broken_configuration_does_not_stop_what_needs_none() {
    let home = Home::new();
    home.write("home/haft.toml", "broken");
    assert_eq!(home.haft_with(&["parse"], "x").exit, Some(0));
    assert_eq!(home.haft(&["completions", "bash"]).exit, Some(0));
    let doctor = home.haft(&["doctor"]);
    assert_eq!(doctor.exit, Some(1));
    assert!(doctor.stdout.contains("BAD  haft.toml"), "{doctor}");
}
