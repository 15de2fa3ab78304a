//! `haft` in a real terminal: `script` gives it one, the test types and reads.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use crate::support::Home;

/// How long anything may take to appear.
const PATIENCE: Duration = Duration::from_secs(30);

/// A terminal with `haft` in it.
struct Terminal {
    child: Child,
    keyboard: ChildStdin,
    screen: Receiver<Vec<u8>>,
    /// All that was shown and not waited for yet.
    seen: String,
}

impl Terminal {
    /// Starts `haft` in a terminal that does not tell its size.
    fn start(home: &Home, arguments: &str) -> Self {
        Self::prepared(home, "", arguments)
    }

    /// Starts `haft` in a terminal of so many columns.
    fn narrow(home: &Home, columns: usize, arguments: &str) -> Self {
        Self::prepared(home, &format!("stty cols {columns} rows 30;"), arguments)
    }

    fn prepared(home: &Home, before: &str, arguments: &str) -> Self {
        let line = format!(
            "{before} {} --home {} {arguments}; echo \"[exit $?]\"",
            env!("CARGO_BIN_EXE_haft"),
            home.path("home").display()
        );
        let mut child = Command::new("script")
            .args(["-q", "-e", "-f", "-c", &line, "/dev/null"])
            .current_dir(home.folder())
            .env("TERM", "xterm")
            .env("SHELL", "/bin/sh")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let keyboard = child.stdin.take().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let (sender, screen) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = stdout.read(&mut buffer) {
                if sender.send(buffer[..length].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { child, keyboard, screen, seen: String::new() }
    }

    /// Waits until `text` is shown and forgets what came up to it; gives what was shown before.
    fn wait_for(&mut self, text: &str) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(at) = self.seen.find(text) {
                let rest = self.seen.split_off(at + text.len());
                return std::mem::replace(&mut self.seen, rest);
            }
            let left = end.saturating_duration_since(Instant::now());
            let Ok(bytes) = self.screen.recv_timeout(left) else {
                panic!("never saw {text:?}; shown was:\n{}", self.seen)
            };
            let shown = String::from_utf8_lossy(&bytes).into_owned();
            // A terminal answers when it is asked where the cursor is.
            for _ in 0..shown.matches("\x1b[6n").count() {
                self.press("\x1b[1;1R");
            }
            self.seen.push_str(&shown);
        }
    }

    fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
        self.keyboard.flush().unwrap();
    }

    /// Waits for the end; gives the exit code.
    fn end(mut self) -> String {
        self.wait_for("[exit ");
        let code = self.wait_for("]");
        self.child.wait().unwrap();
        code.trim_end_matches(']').to_owned()
    }
}

fn asking() -> Home {
    let home = Home::new();
    home.write(
        "home/profiles/asks.md",
        "---\ntools: {allow: [calculator], permission: {calculator: ask}}\n---\n",
    );
    home
}

const CHAT: &str = "chat --model demo --profile asks";

#[test]
fn a_question_is_answered_by_its_keys_and_never_by_enter() {
    let home = asking();
    let mut terminal = Terminal::start(&home, "call calculator expression=6*7 --profile asks");
    let question = terminal.wait_for("or e: ");
    assert!(question.contains("? Run calculator?") && question.contains("expression: 6*7"), "{question}");
    terminal.press("\r\r x");
    terminal.press("y");
    terminal.wait_for("42");
    assert_eq!(terminal.end(), "0");
    assert_eq!(home.json(&["audit", "runs"]).as_array().unwrap().len(), 1);
    let events = home.json(&["audit", "show", "last"]).to_string();
    assert!(events.contains(r#""surface":"terminal""#) && events.contains(r#""kind":"once""#), "{events}");
}

#[test]
fn a_no_is_a_refusal_with_or_without_a_reason() {
    let home = asking();
    let mut terminal = Terminal::start(&home, "call calculator expression=6*7 --profile asks");
    terminal.wait_for("or e: ");
    terminal.press("n");
    terminal.wait_for("The person refused");
    assert_eq!(terminal.end(), "3");
    let mut terminal = Terminal::start(&home, "call calculator expression=6*7 --profile asks");
    terminal.wait_for("or e: ");
    terminal.press("e");
    terminal.wait_for("why not: ");
    terminal.press("not toda\u{7f}ay\r");
    terminal.wait_for("says: not today");
    assert_eq!(terminal.end(), "3");
}

#[test]
fn another_model_takes_over_and_one_that_is_none_does_not() {
    let home = Home::new();
    let script = home.write("s.jsonl", "{\"text\": \"I am the other one.\"}\n");
    let mut terminal = Terminal::start(&home, "chat --model demo");
    let begin = terminal.wait_for("/help tells more");
    assert!(begin.contains("There is no project"), "{begin}");
    terminal.wait_for("> ");
    terminal.press("/model nope\r");
    terminal.wait_for("there is no model `nope`");
    terminal.wait_for("> ");
    terminal.press(&format!("/model scripted:{}\r", script.display()));
    terminal.wait_for("> ");
    terminal.press("who are you\r");
    terminal.wait_for("I am the other one.");
    terminal.wait_for("> ");
    terminal.press("/quit\r");
    assert_eq!(terminal.end(), "0");
}

// Masked as all that is stored, and for this user alone.
#[test]
fn what_was_typed_is_there_the_next_time() {
    let home = Home::new();
    home.write("home/.secrets/door", "open-sesame-now");
    for keys in ["the word is open-sesame-now\r", "\u{1b}[A\r"] {
        let mut terminal = Terminal::start(&home, "chat --model demo");
        terminal.wait_for("> ");
        terminal.press(keys);
        terminal.wait_for("no language model");
        terminal.wait_for("> ");
        terminal.press("/quit\r");
        assert_eq!(terminal.end(), "0");
    }
    let history = home.read("home/chat_history.jsonl");
    assert_eq!(history, "\"the word is [secret door]\"\n".repeat(2));
}

// APR-17, APR-20
#[test]
fn a_yes_for_the_session_is_asked_once() {
    let home = asking();
    let mut terminal = Terminal::start(&home, CHAT);
    terminal.wait_for("> ");
    terminal.press("calculator expression=6*7\r");
    terminal.wait_for("for this session: whatever `calculator` is asked to do");
    terminal.wait_for("any other tool");
    terminal.wait_for("or e: ");
    terminal.press("s");
    terminal.wait_for("42");
    terminal.wait_for("> ");
    terminal.press("calculator expression=6*8\r");
    let shown = terminal.wait_for("48");
    assert!(!shown.contains("say why"), "{shown}");
    terminal.wait_for("> ");
    terminal.press("/new\r");
    terminal.wait_for("session s_");
    terminal.wait_for("> ");
    terminal.press("calculator expression=6*9\r");
    terminal.wait_for("or e: ");
    terminal.press("n");
    terminal.wait_for("refused");
    terminal.wait_for("> ");
    terminal.press("/quit\r");
    assert_eq!(terminal.end(), "0");
    // Another process asks again, in the very session that had the yes.
    let session = home.json(&["sessions"])[1]["id"].as_str().unwrap().to_owned();
    assert_eq!(home.haft(&["call", "calculator", "expression=1", "--session", &session]).exit, Some(3));
}

// Pains 1: a yes up to a time, which is typed; what is no length of time is asked for again.
#[test]
fn a_yes_holds_up_to_a_time_that_is_typed() {
    let home = asking();
    let mut terminal = Terminal::start(&home, CHAT);
    terminal.wait_for("> ");
    terminal.press("calculator expression=6*7\r");
    for typed in ["\r", "soon\r"] {
        terminal.wait_for("y, s, r, u, n or e: ");
        terminal.press("u");
        terminal.wait_for("to go back: ");
        terminal.press(typed);
    }
    terminal.wait_for("to go back: ");
    terminal.press("2h\r");
    terminal.wait_for("42");
    terminal.wait_for("> ");
    terminal.press("calculator expression=6*8\r");
    let shown = terminal.wait_for("48");
    assert!(!shown.contains("say why"), "{shown}");
    terminal.wait_for("> ");
    terminal.press("/grants\r");
    terminal.wait_for("every call until 2");
    terminal.wait_for("used 1 time");
    terminal.wait_for("> ");
    terminal.press("/quit\r");
    assert_eq!(terminal.end(), "0");
    let grant = &home.json(&["grants", "list"])[0];
    assert_eq!((&grant["lifetime"], &grant["state"]), (&"until".into(), &"ended".into()));
    let until = grant["until"].as_str().unwrap();
    assert!(until > grant["given"].as_str().unwrap(), "{grant}");
}

/// A project with a folder `docs`, whose files may be written after a yes.
fn writing() -> Home {
    let home = Home::new();
    home.write(
        "home/profiles/writes.md",
        "---\ntools: {allow: [file_write], permission: {file_write: ask}}\n---\n",
    );
    std::fs::create_dir_all(home.path("notes/docs")).unwrap();
    home.haft(&["project", "add", "notes"]);
    home
}

const WRITE: &str = "chat --model demo --profile writes --project notes";

// Pains 1, 2, APR-09, APR-18: the person picks what a yes covers, with examples of what it allows and what not.
#[test]
fn a_person_picks_among_the_parts_and_sees_what_each_allows() {
    let home = writing();
    let folder = home.path("notes").canonicalize().unwrap();
    let mut terminal = Terminal::start(&home, WRITE);
    terminal.wait_for("> ");
    terminal.press("file_write path=docs/a.md content=x\r");
    terminal.wait_for("y, s, r, u, n or e: ");
    terminal.press("s");
    let parts = terminal.wait_for("1, 2, 3 or b: ");
    let docs = format!("{}/docs", folder.display());
    for line in [
        format!("[1] `file_write` for the file {docs}/a.md"),
        format!("not    {docs}/other.md"),
        format!("[2] `file_write` for everything in {docs}"),
        format!("allows {docs}/other.md"),
        format!("not    {docs}-old/a.md"),
        "[3] whatever `file_write` is asked to do".to_owned(),
    ] {
        assert!(
            parts.replace("\r\n        ", " ").contains(&line) || parts.contains(&line),
            "{line} in {parts}"
        );
    }
    // Enter picks nothing; back and forth.
    terminal.press("\rb");
    terminal.wait_for("y, s, r, u, n or e: ");
    terminal.press("s");
    terminal.wait_for("1, 2, 3 or b: ");
    terminal.press("2");
    terminal.wait_for("> ");
    terminal.press("file_write path=docs/b.md content=x\r");
    let shown = terminal.wait_for("> ");
    assert!(!shown.contains("or e: "), "the folder covers it: {shown}");
    terminal.press("file_write path=c.md content=x\r");
    terminal.wait_for("y, s, r, u, n or e: ");
    terminal.press("n");
    terminal.wait_for("> ");
    terminal.press("/grants\r");
    let grants = terminal.wait_for("used 1 time");
    let id = grants.split("g_").nth(1).unwrap().split(' ').next().unwrap();
    terminal.wait_for("> ");
    terminal.press(&format!("/revoke g_{id}\r"));
    terminal.wait_for("is taken back");
    terminal.wait_for("> ");
    terminal.press("file_write path=docs/b.md content=y\r");
    terminal.wait_for("y, s, r, u, n or e: ");
    terminal.press("n");
    terminal.wait_for("> ");
    terminal.press("/quit\r");
    assert_eq!(terminal.end(), "0");
    // What became of it is in the journal, for every other process.
    let listed = home.json(&["grants", "list"]);
    assert_eq!(listed.as_array().unwrap().len(), 1);
    let grant = &listed[0];
    assert_eq!(
        (&grant["surface"], &grant["lifetime"], &grant["uses"], &grant["state"]),
        (&"terminal".into(), &"session".into(), &1.into(), &"revoked".into())
    );
    assert_eq!(grant["scope"], format!("path:{docs}"));
}

// Pains 22: the whole text or no button. Long text stands page by page, and no yes counts before its end.
#[test]
fn a_long_question_is_shown_whole_before_it_can_be_answered() {
    let home = writing();
    let content: Vec<String> = (1..=100).map(|number| format!("line {number}.")).collect();
    home.write("long.txt", &content.join("\n"));
    let line = "call file_write path=a.md content@=long.txt --profile writes --project notes";
    let mut terminal = Terminal::narrow(&home, 80, line);
    let mut seen = terminal.wait_for("lines: Space goes on");
    assert!(seen.contains("line 1.") && !seen.contains("line 100."), "{seen}");
    // Neither a yes nor Enter counts here.
    terminal.press("y\r");
    for _ in 0..2 {
        terminal.press(" ");
        seen.push_str(&terminal.wait_for("lines: Space goes on"));
    }
    terminal.press("\u{1b}[5~");
    let back = terminal.wait_for("lines: Space goes on");
    terminal.press("\u{1b}[F");
    seen.push_str(&terminal.wait_for("y, s, r, u, n or e: "));
    for number in 1..=100 {
        assert!(seen.contains(&format!("line {number}.")), "line {number} was never shown");
    }
    assert!(back.contains("line 40."), "{back}");
    terminal.press("n");
    assert_eq!(terminal.end(), "3");
    assert!(!home.path("notes/a.md").exists());
    let mut terminal = Terminal::narrow(&home, 80, line);
    terminal.wait_for("lines: Space goes on");
    terminal.press("n");
    assert_eq!(terminal.end(), "3", "a no needs no reading to the end");
}

// APR-20
#[test]
fn resume_goes_on_in_another_session_and_leaves_the_yes_behind() {
    let home = asking();
    home.haft(&["call", "calculator", "expression=1", "--profile", "default"]);
    let other = home.json(&["sessions"])[0]["id"].as_str().unwrap().to_owned();
    let mut terminal = Terminal::start(&home, &format!("{CHAT} --allow calculator"));
    terminal.wait_for("> ");
    terminal.press("calculator expression=6*7\r");
    terminal.wait_for("42");
    terminal.wait_for("> ");
    terminal.press("/resume nothing\r");
    terminal.wait_for("there is no session");
    terminal.wait_for("> ");
    terminal.press(&format!("/resume {other}\r"));
    terminal.wait_for(&format!("session {other}, 0 messages so far"));
    terminal.wait_for("> ");
    terminal.press("/grants\r");
    terminal.wait_for("from --allow; never used");
    terminal.wait_for("> ");
    terminal.press("/quit\r");
    assert_eq!(terminal.end(), "0");
}

#[test]
fn a_question_fits_a_narrow_terminal_and_no_value_looks_like_another_argument() {
    let home = asking();
    let forged = format!("expression='{}expression: 1'", "9".repeat(26));
    let mut terminal = Terminal::narrow(&home, 40, &format!("call calculator {forged} --profile asks"));
    terminal.wait_for("? Run calculator?");
    let question = terminal.wait_for("or e: ");
    for line in question.lines() {
        assert!(line.trim_end().chars().count() < 40, "{line:?} in {question}");
        assert!(!line.starts_with("  expression: 1"), "{question}");
    }
    assert_eq!(question.matches("    … ").count(), 1, "{question}");
    terminal.press("n");
    assert_eq!(terminal.end(), "3");
}

#[test]
fn a_wide_character_is_taken_back_with_both_its_columns() {
    let home = asking();
    let mut terminal = Terminal::start(&home, "call calculator expression=6*7 --profile asks");
    terminal.wait_for("or e: ");
    terminal.press("e");
    terminal.wait_for("why not: ");
    terminal.press("漢\u{7f}");
    terminal.wait_for("\u{8}\u{8}  \u{8}\u{8}");
    terminal.press("no\r");
    terminal.wait_for("says: no");
    assert_eq!(terminal.end(), "3");
}

#[test]
fn lines_are_set_off_unless_no_color_is_set() {
    let home = asking();
    let line = "call calculator expression=6*7 --profile asks";
    let mut terminal = Terminal::start(&home, line);
    terminal.wait_for("\u{1b}[1m? Run calculator?\u{1b}[0m");
    terminal.wait_for("or e: ");
    terminal.press("n");
    terminal.end();
    let mut terminal = Terminal::prepared(&home, "export NO_COLOR=1;", line);
    let before = terminal.wait_for("? Run calculator?");
    assert!(!before.contains("\u{1b}[1m"), "{before:?}");
    terminal.wait_for("or e: ");
    terminal.press("n");
    terminal.end();
}

#[test]
fn an_artifact_ends_its_line_in_a_terminal_alone() {
    let home = Home::new();
    home.haft(&["call", "create_artifact", "id=a", "title=A", "content=no line end"]);
    assert_eq!(home.haft(&["artifacts", "get", "a"]).stdout, "no line end");
    let mut terminal = Terminal::start(&home, "artifacts get a");
    terminal.wait_for("no line end\r\n");
    assert_eq!(terminal.end(), "0");
}

#[test]
fn json_counts_as_no_terminal() {
    let home = asking();
    let mut terminal = Terminal::start(&home, "call calculator expression=6*7 --profile asks --json");
    let shown = terminal.wait_for("granted_by");
    assert!(shown.contains("agent.tool_denied") && !shown.contains("say why"), "{shown}");
    assert_eq!(terminal.end(), "3");
}

// CONFLICT-13, APR-04
#[test]
fn no_answer_in_time_is_a_no() {
    let home = Home::new();
    let profile =
        "---\ntools: {allow: [calculator], permission: {calculator: ask}}\nconsent: {timeout_s: 1}\n---\n";
    home.write("home/profiles/asks.md", profile);
    let mut terminal = Terminal::start(&home, "call calculator expression=6*7 --profile asks");
    terminal.wait_for("within 1 second is a no");
    terminal.wait_for("nobody answered in time");
    assert_eq!(terminal.end(), "3");
}

#[test]
fn ctrl_c_stops_what_runs_and_twice_at_the_prompt_leaves() {
    let home = asking();
    std::fs::create_dir(home.path("notes")).unwrap();
    home.haft(&["project", "add", "notes"]);
    let mut terminal = Terminal::start(&home, &format!("{CHAT} --project notes"));
    terminal.wait_for("profile asks, project notes, session s_");
    terminal.wait_for("> ");
    terminal.press("calculator expression=6*7\r");
    terminal.wait_for("or e: ");
    terminal.press("\x03");
    terminal.wait_for("✗ calculator: `calculator` was not run: it was stopped.");
    terminal.wait_for("> ");
    terminal.press("\x03");
    terminal.wait_for("Ctrl-C again leaves");
    terminal.press("\x03");
    assert_eq!(terminal.end(), "0");
}

#[test]
fn the_model_can_be_chosen_where_none_is_named() {
    let home = Home::new();
    let mut terminal = Terminal::start(&home, "chat");
    terminal.wait_for("Which one? [1] ");
    terminal.press("\r");
    terminal.wait_for("model demo");
    terminal.wait_for("> ");
    terminal.press("/nosuch\r");
    terminal.wait_for("no command `/nosuch`");
    terminal.wait_for("> ");
    terminal.press("\x04");
    assert_eq!(terminal.end(), "0");
}

// Pains §4.2: an answer counts only under the rules under which it was asked.
#[test]
fn a_yes_under_rules_that_changed_meanwhile_is_asked_again() {
    let home = asking();
    let mut terminal = Terminal::start(&home, "call calculator expression=6*7 --profile asks");
    terminal.wait_for("or e: ");
    home.write("home/haft.toml", "[[policy.rules]]\ntool = \"calculator\"\ndecision = \"deny\"\n");
    terminal.press("y");
    terminal.wait_for("the rules changed while the question stood");
    assert_eq!(terminal.end(), "3");
    // Rules that cannot be read let nothing through either.
    home.write("home/haft.toml", "");
    let mut terminal = Terminal::start(&home, "call calculator expression=6*7 --profile asks");
    terminal.wait_for("or e: ");
    home.write("home/haft.toml", "nonsense = [");
    terminal.press("y");
    terminal.wait_for("the rules cannot be read");
    assert_eq!(terminal.end(), "3");
    home.write("home/haft.toml", "");
}
