//! Chats of other programs, brought along and given out, and world info in a run, through the binary.

use crate::support::Home;

const HEADER: &str = "{\"user_name\":\"Ada\",\"character_name\":\"Keeper\",\"chat_metadata\":{}}\n";

fn group() -> String {
    let messages = [
        r#"{"name":"Keeper","is_user":false,"mes":"Who is there? I hear steps on the stair, and the door was locked at dusk."}"#,
        r#"{"name":"Ada","is_user":true,"mes":"A friend."}"#,
        r#"{"name":"Gull","is_user":false,"mes":"Kree!"}"#,
    ];
    format!("{HEADER}{}\n", messages.join("\n"))
}

// CHT-01, CHT-02, CHT-03
#[test]
fn a_chat_is_imported_searched_and_exported() {
    let home = Home::new();
    home.write("coast.jsonl", &group());
    haft_snapshot!(home, home.haft(&["sessions", "import", "coast.jsonl"]), @r"
    exit: 0
    --- stdout
    s_[ID]
    --- stderr
    imported 3 messages of coast.jsonl; `haft chat --session s_[ID]` goes on
    ");
    haft_snapshot!(home, home.haft(&["sessions"]), @r"
    exit: 0
    --- stdout
    s_[ID]  [TIME]  profile default  Who is there? I hear steps on the stair, and the door was lo…
    --- stderr
    ");
    haft_snapshot!(home, home.haft(&["sessions", "show", "last"]), @r"
    exit: 0
    --- stdout
    > [The conversation begins.]
    Keeper: Who is there? I hear steps on the stair, and the door was locked at dusk.

    > Ada: A friend.
    Gull: Kree!
    --- stderr
    ");
    home.write("home/profiles/writer.md", "---\ntools:\n  allow: [chat.search, chat.read_messages]\n---\n");
    haft_snapshot!(home, home.haft(&["call", "chat_search", "query=kree", "--profile", "writer", "--session", "last"]), @r"
    exit: 0
    --- stdout
    1 message fits `kree`.

    message 2 (assistant, Gull), score 10
    Kree!
    --- stderr
    session s_[ID], run r_[ID]
    ");
    let read = [
        "call",
        "chat_read_messages",
        "messages=[{\"index\": 0}]",
        "--profile",
        "writer",
        "--session",
        "last",
    ];
    haft_snapshot!(home, home.haft(&read), @r"
    exit: 0
    --- stdout
    message 0 (assistant, Keeper):
    Who is there? I hear steps on the stair, and the door was locked at dusk.
    --- stderr
    session s_[ID], run r_[ID]
    ");
    let exported = home.haft(&["sessions", "export", "last"]);
    assert_eq!(exported.exit, Some(0), "{exported}");
    haft_snapshot!(home, exported, @r#"
    exit: 0
    --- stdout
    {"user_name":"Ada","character_name":"Keeper","chat_metadata":{}}
    {"name":"Keeper","is_user":false,"is_system":false,"mes":"Who is there? I hear steps on the stair, and the door was locked at dusk."}
    {"name":"Ada","is_user":true,"is_system":false,"mes":"A friend."}
    {"name":"Gull","is_user":false,"is_system":false,"mes":"Kree!"}
    --- stderr
    "#);
    home.write("again.jsonl", &exported.stdout);
    let again = home.json(&["sessions", "import", "again.jsonl", "--profile", "writer"]);
    assert_eq!((&again["messages"], &again["is_group"]), (&3.into(), &true.into()));
    assert_eq!(home.haft(&["sessions", "export", "last"]).stdout, exported.stdout);
}

// CHT-01
#[test]
fn what_is_no_chat_is_told_with_its_line_and_leaves_nothing() {
    let home = Home::new();
    home.write(
        "bad.jsonl",
        &format!("{HEADER}{{\"name\":\"Ada\",\"mes\":\"Hello.\"}}\n{{\"name\":\"Ada\"}}\n"),
    );
    home.write("headless.jsonl", "{\"name\":\"Ada\",\"mes\":\"Hello.\"}\n");
    home.write("long.jsonl", &format!("{HEADER}{}", " ".repeat(16 << 20)));
    haft_snapshot!(home, home.haft(&["sessions", "import", "bad.jsonl"]), @r"
    exit: 2
    --- stdout
    --- stderr
    error: bad.jsonl: line 3 is no message: it has no text `mes`

      Mend that line, or take it out; nothing was imported.
    ");
    haft_snapshot!(home, home.haft(&["sessions", "import", "headless.jsonl"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: headless.jsonl: line 1 is no header: it must be a JSON object with `user_name`, `character_name` or `chat_metadata`

      Begin the file with a line such as {"user_name": "Ada", "character_name": "Keeper"}; nothing was imported.
    "#);
    haft_snapshot!(home, home.haft(&["sessions", "import", "long.jsonl"]), @r"
    exit: 2
    --- stdout
    --- stderr
    error: `long.jsonl` cannot be read: it is longer than 16 MB, and no more than that is taken

      Name a chat in JSON Lines of at most 16 MB; nothing was imported.
    ");
    haft_snapshot!(home, home.haft(&["sessions", "import", "nowhere.jsonl"]), @r"
    exit: 2
    --- stdout
    --- stderr
    error: `nowhere.jsonl` cannot be read: No such file or directory (os error 2)

      Name a chat in JSON Lines of at most 16 MB; nothing was imported.
    ");
    home.write("good.jsonl", HEADER);
    haft_snapshot!(home, home.haft(&["sessions", "import", "good.jsonl", "--session", "last"]), @r"
    exit: 2
    --- stdout
    --- stderr
    error: a chat becomes a session of its own

      Leave `--session` out; `haft chat --session ID` goes on in it afterwards.
    ");
    haft_snapshot!(home, home.haft(&["sessions", "import", "good.jsonl", "--profile", "nobody"]), @r"
    exit: 2
    --- stdout
    --- stderr
    error: there is no profile `nobody`; there are default, artifactflow, ethan, locked, nanoclaw, tauritavern

      `haft profile list` shows all profiles.
    ");
    assert_eq!(home.json(&["sessions"]), serde_json::json!([]));
}

// WLD-01, WLD-02
#[test]
fn the_books_of_a_profile_are_active_in_its_runs() {
    let home = Home::new();
    home.write("home/profiles/coast.md", "---\nextends: default\ntools:\n  allow: [worldinfo.read_activated]\nworldInfo: [coast]\n---\nYou write.\n");
    let call = ["call", "worldinfo_read_activated", "--profile", "coast"];
    haft_snapshot!(home, home.haft(&call), @r"
    exit: 2
    --- stdout
    --- stderr
    error: profile coast: `world_info`: there is no book `coast` of world info; put it into [FOLDER]/home/lorebooks as coast.json
    ");
    home.write(
        "home/lorebooks/coast.json",
        r#"{"entries": {"0": {"uid": 0, "key": ["lamp"], "comment": "The lamp", "content": "It never goes out."}}}"#,
    );
    let chat = ["chat", "--profile", "coast", "--model", "demo"];
    haft_snapshot!(home, home.haft_with(&chat, "Who lit the lamp?\nworldinfo_read_activated\n"), @r"
    exit: 0
    --- stdout
    I am the demo, no language model: I cannot answer, but I can make calls. Write one call a line: ALIAS key=value …, or ALIAS {json}.

    A language model is set by --model, for example --model http://127.0.0.1:8080/v1#NAME.
    I am the demo, no language model. I make this call:
    worldinfo_read_activated answered:
    1 entry of world info is active:
    - w1: The lamp (coast, before the character, 1 line, 18 characters)
    --- stderr
    model demo, profile coast, session s_[ID]
    → worldinfo_read_activated
    ← worldinfo_read_activated: 1 entry of world info is active:\n- w1: The lamp (coast, before the character, 1 line, 18 characters) ([N] ms)
    answered 2 messages in session s_[ID]; `haft sessions show s_[ID]` shows it again
    ");
    // A run that is not made shows what it would begin with, and asks the model with it.
    let dry = ["run", "--dry-run", "--profile", "coast", "--model", "demo", "Who lit the lamp?"];
    let dry = home.haft(&dry);
    assert_eq!(
        (dry.exit, dry.stderr.as_str()),
        (Some(0), "1 entry of world info would be active\n  w1: The lamp (coast, before the character)\n"),
        "{dry}"
    );
    let dry = ["run", "--dry-run", "--profile", "coast", "--model", "demo", "Hello", "--session", "last"];
    assert!(home.haft(&dry).stderr.starts_with("1 entry"), "the session spoke of the lamp");
    // A run is run again with the world info that it had, whatever became of the book.
    let run = ["run", "--profile", "coast", "--model", "demo", "worldinfo_read_activated {} # lamp"];
    assert_eq!(home.haft(&run).exit, Some(0));
    home.write(
        "home/lorebooks/coast.json",
        r#"{"entries": {"0": {"uid": 0, "key": ["lamp"], "content": "It went out."}}}"#,
    );
    assert_eq!(home.haft(&["replay"]).exit, Some(0));
    let shown = home.haft(&["profile", "show", "coast"]);
    assert!(shown.stdout.contains("\nworld_info: [\"coast\"]\n"), "{shown}");
    home.write("home/lorebooks/coast.json", r#"{"entries": {"0": {"key": "lamp"}}}"#);
    haft_snapshot!(home, home.haft(&call), @r"
    exit: 2
    --- stdout
    --- stderr
    error: profile coast: `world_info`: entry 0 of the book `coast`: `key` is no list of texts
    ");
    home.write("home/profiles/coast.md", "---\nextends: default\nworld_info: [../coast]\n---\n");
    haft_snapshot!(home, home.haft(&["call", "calculator", "expression=1", "--profile", "coast"]), @r"
    exit: 2
    --- stdout
    --- stderr
    error: profile coast: `world_info`: there is no book `../coast` of world info; the books in [FOLDER]/home/lorebooks are coast
    ");
}

// RES-04
#[test]
fn calls_are_shown_in_one_record_with_their_results() {
    let home = Home::new();
    assert_eq!(home.haft(&["run", "--model", "demo", "calculator expression=6*7"]).exit, Some(0));
    let shown = home.json(&["sessions", "show", "last"]);
    let mut call = shown[1]["calls"][0].clone();
    assert!(call["execution_time"].as_f64().is_some_and(|seconds| seconds < 60.0), "{call}");
    for key in ["id", "execution_time"] {
        call[key] = serde_json::Value::Null;
    }
    let expected = serde_json::json!({
        "id": null, "type": "function", "function": {"name": "calculator", "arguments": "{\"expression\":\"6*7\"}"},
        "result": "{\"success\":true,\"data\":{\"result\":42,\"exact\":true}}", "success": true, "skipped": false, "execution_time": null,
    });
    assert_eq!(call, expected);
    assert_eq!(shown[2]["results"][0]["call_id"], shown[1]["calls"][0]["id"]);
}
