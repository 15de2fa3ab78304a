//! A home, the binary, and snapshots of what it did.

use std::cell::Cell;
use std::fmt;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A home in a temporary folder. When it goes, whatever the test ran in it must verify.
pub(crate) struct Home {
    folder: TempDir,
    unverified: Cell<bool>,
}

impl Drop for Home {
    fn drop(&mut self) {
        if std::thread::panicking() || self.unverified.get() || !self.path("home/haft.db").exists() {
            return;
        }
        let verified = self.haft(&["audit", "verify"]);
        assert_eq!(verified.exit, Some(0), "the runs of this test do not verify: {verified}");
    }
}

/// What one start of the binary did.
pub(crate) struct Run {
    pub(crate) exit: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), unverified: Cell::new(false) }
    }

    /// The test leaves something that does not fit, on purpose: damage, or a run that was killed.
    pub(crate) fn leaves_damage(&self) {
        self.unverified.set(true);
    }

    /// The folder of this test: the home is `home` in it, projects and scripts stand beside.
    pub(crate) fn folder(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    /// A path beside the home.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    /// Writes a file beside the home; folders are made.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Reads a file beside the home.
    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// The command, to be changed before it starts. It sees no environment but what it needs to start.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_haft"));
        command.env_clear().current_dir(self.folder()).arg("--home").arg(self.path("home")).args(arguments);
        command
    }

    /// Starts `haft` with nothing on stdin.
    pub(crate) fn haft(&self, arguments: &[&str]) -> Run {
        self.haft_with(arguments, "")
    }

    /// Starts `haft` with `input` on stdin.
    pub(crate) fn haft_with(&self, arguments: &[&str], input: &str) -> Run {
        run(&mut self.command(arguments), input.as_bytes())
    }

    /// Starts `haft … --json` and reads its one line.
    pub(crate) fn json(&self, arguments: &[&str]) -> serde_json::Value {
        let run = self.haft(&[arguments, &["--json"]].concat());
        serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run}"))
    }
}

/// Starts `command`, feeds it and waits.
pub(crate) fn run(command: &mut Command, input: &[u8]) -> Run {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    // A command that does not read its input may be gone before all of it is written.
    let feeder = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    output.into()
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        Self {
            exit: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exit = self.exit.map_or("killed".to_owned(), |code| code.to_string());
        write!(f, "exit: {exit}\n--- stdout\n{}--- stderr\n{}", closed(&self.stdout), closed(&self.stderr))
    }
}

fn closed(text: &str) -> String {
    if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}⏎\n") }
}

/// What differs from run to run.
pub(crate) const FILTERS: &[(&str, &str)] = &[
    (r"c_i_[0-9a-hjkmnp-tv-z]{16}", "c_[ID]"),
    (r"\b([sriq])_[0-9a-hjkmnp-tv-z]{16}", "${1}_[ID]"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", "[TIME]"),
    (r"\b[0-9a-f]{64}\b", "[HASH]"),
    (r"call_[0-9a-f]{16}", "call_[HEX]"),
    (r"\(\d+ ms\)", "([N] ms)"),
    (r#""duration_ms":\d+"#, r#""duration_ms":[N]"#),
    (r#""(time|created|updated|started|added)":\d{13}"#, r#""${1}":[MS]"#),
    (r"process \d+", "process [PID]"),
    (r"127\.0\.0\.1:\d{5}", "127.0.0.1:[PORT]"),
];

/// `what` with the folder of the test taken out.
pub(crate) fn shown(home: &Home, what: &impl fmt::Display) -> String {
    what.to_string().replace(&home.folder().display().to_string(), "[FOLDER]")
}

/// Compares what was shown with its snapshot, with what differs from run to run taken out.
macro_rules! haft_snapshot {
    ($home:expr, $run:expr, @$snapshot:literal) => {
        insta::with_settings!({filters => $crate::support::FILTERS.to_vec()}, {
            insta::assert_snapshot!($crate::support::shown(&$home, &$run), @$snapshot);
        });
    };
}
