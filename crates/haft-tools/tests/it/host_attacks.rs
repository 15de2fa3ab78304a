//! Attacks on the file tools of the machine: each ends as an error result, with nothing done outside of what was asked.

use std::sync::atomic::{AtomicBool, Ordering};

use haft_core::policy::Outcome;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::host_support::Machine;

const SECRET: &str = "s3cret";

fn write(path: &str) -> Value {
    json!({"path": path, "content": "BREACH"})
}

// APR-13: temporary is judged after resolving links
#[tokio::test]
async fn a_link_in_a_temporary_folder_leads_no_write_out() {
    let machine = Machine::new();
    let root = &machine.ground.root;
    root.write("a/canary", "canary").unwrap();
    root.symlink("../a", "tmp/out").unwrap();
    root.symlink("../a/canary", "tmp/canary").unwrap();
    root.symlink("../a/new", "tmp/dangling").unwrap();
    root.symlink("loop", "tmp/loop").unwrap();
    std::os::unix::fs::symlink(machine.path("a"), machine.path("tmp/absolute")).unwrap();
    let mut tools = machine.invocation();
    let leads = [
        ("tmp/out/canary", "a/canary"),
        ("tmp/out/new", "a/new"),
        ("tmp/absolute/canary", "a/canary"),
        ("tmp/canary", "a/canary"),
    ];
    for (path, real) in leads {
        let path = machine.path(path);
        assert_eq!(tools.decide("file_write", write(&path)).outcome, Outcome::Allow, "the text is temporary");
        let error = tools.error("file_write", write(&path)).await;
        let real = machine.path(real);
        let message =
            format!("`{path}` leads over a link to `{real}`. Nothing was done; name that path instead.");
        assert_eq!(error, ("host.path_is_link".to_owned(), message));
        assert_eq!(tools.decide("file_write", write(&real)).outcome, Outcome::Ask);
    }
    for path in ["tmp/dangling", "tmp/loop", "tmp/loop/x", "tmp/out/deep/new"] {
        let error = tools.error("file_write", write(&machine.path(path))).await;
        assert_eq!(error.0, "host.path_is_link", "{path}");
    }
    assert_eq!(machine.names("a"), ["b", "canary"]);
    assert_eq!(machine.file("a/canary").unwrap(), "canary");
}

// APR-18: nor out of a folder that was granted
#[tokio::test]
async fn a_link_in_a_granted_folder_leads_no_write_out() {
    let machine = Machine::new();
    machine.ground.root.symlink("../../home", "a/b/out").unwrap();
    let mut tools = machine.invocation();
    let path = machine.path("a/b/out/x");
    assert_eq!(tools.error("file_write", write(&path)).await.0, "host.path_is_link");
    assert_eq!(machine.names("home"), [".haft"]);
}

// APR-14, CONFLICT-29
#[tokio::test]
async fn no_link_leads_to_a_secret_unasked() {
    let machine = Machine::new();
    let root = &machine.ground.root;
    root.symlink("../home/.haft/.secrets", "a/folder").unwrap();
    root.symlink("../home/.haft/.secrets/key", "a/file").unwrap();
    root.symlink("../home/.haft", "a/around").unwrap();
    root.symlink("file", "a/twice").unwrap();
    let mut tools = machine.invocation();
    for path in ["a/folder/key", "a/file", "a/around/.secrets/key", "a/twice"] {
        let path = machine.path(path);
        // A folder of that name is asked about by its text already.
        let asked = if path.contains("/.secrets/") { Outcome::Ask } else { Outcome::Allow };
        assert_eq!(tools.decide("file_read", json!({"path": path})).outcome, asked);
        let error = tools.error("file_read", json!({"path": path})).await;
        assert_eq!(error.0, "host.path_is_link");
        assert!(error.1.contains(&machine.path("home/.haft/.secrets/key")) && !error.1.contains(SECRET));
    }
    for path in [format!("/proc/self/root{}", machine.path("home/.haft/.secrets/key"))] {
        assert_eq!(tools.error("file_read", json!({"path": path})).await.0, "host.path_is_link", "{path}");
    }
    // A yes for one secret is none for another that a link puts in its place.
    root.symlink("other", "home/.haft/.secrets/alias").unwrap();
    let alias = json!({"path": "~/.haft/.secrets/alias"});
    assert_eq!(tools.error("file_read", alias).await.0, "host.path_is_link");
    // By its own name, and with a yes, it is read.
    assert_eq!(tools.text("file_read", json!({"path": "~/.haft/.secrets/key"})).await, SECRET);
    assert_eq!(tools.text("file_read", json!({"path": "~/.haft/haft.toml/../.secrets/key"})).await, SECRET);
}

// APR-14, CONFLICT-29: a hard link has no place that it leads to, and is the secret all the same
#[cfg(unix)]
#[tokio::test]
async fn no_hard_link_shows_or_keeps_a_secret() {
    let machine = Machine::new();
    let root = &machine.ground.root;
    root.create_dir_all("home/.haft/.secrets/deep").unwrap();
    root.write("home/.haft/.secrets/deep/inner", "inner").unwrap();
    root.hard_link("home/.haft/.secrets/key", root, "a/notes").unwrap();
    root.hard_link("home/.haft/.secrets/deep/inner", root, "tmp/notes").unwrap();
    root.symlink("notes", "a/link").unwrap();
    let mut tools = machine.invocation();
    for path in ["a/notes", "tmp/notes", "a/link"] {
        let path = machine.path(path);
        let error = tools.error("file_read", json!({"path": path})).await;
        assert_eq!(error.0, "host.path_is_link", "{path}");
        assert!(error.1.contains(&machine.places().secrets_folder) && !error.1.contains(SECRET));
        let write = json!({"path": path, "content": "x", "append": true});
        assert_eq!(tools.error("file_write", write).await.0, "host.path_is_link", "{path}");
    }
    assert_eq!(machine.file("home/.haft/.secrets/key").unwrap(), SECRET);
    // One secret that is linked to another is read by the name that was asked for.
    root.hard_link("home/.haft/.secrets/key", root, "home/.haft/.secrets/again").unwrap();
    assert_eq!(tools.text("file_read", json!({"path": "~/.haft/.secrets/again"})).await, SECRET);
}

// APR-14: a secrets folder that became a link shows nothing, under no name
#[tokio::test]
async fn a_secrets_folder_that_was_moved_stays_closed() {
    let machine = Machine::new();
    machine.ground.root.rename("home/.haft/.secrets", &machine.ground.root, "a/moved").unwrap();
    machine.ground.root.symlink("../../a/moved", "home/.haft/.secrets").unwrap();
    let mut tools = machine.invocation();
    for path in ["a/moved/key", "home/.haft/.secrets/key"] {
        let error = tools.error("file_read", json!({"path": machine.path(path)})).await;
        let message = format!(
            "`{}` cannot be guarded, so nothing is done. Tell the user.",
            machine.places().secrets_folder
        );
        assert_eq!(error, ("host.unavailable".to_owned(), message), "{path}");
    }
}

// APR-10, APR-14: the folders are known by what they are, not by their names alone, as where letter case does not count
#[tokio::test]
async fn guarded_folders_under_another_spelling_stay_closed() {
    let machine = Machine::new();
    machine.ground.root.create_dir("home/.haft/vault").unwrap();
    machine.ground.root.write("home/.haft/vault/key", SECRET).unwrap();
    let mut places = machine.places();
    // No text of a path is below these, though they are the same folders.
    places.haft_home = machine.path("a/../home/.haft");
    places.secrets_folder = machine.path("a/../home/.haft/vault");
    let mut tools = machine.invocation_in(&places);
    let key = machine.path("home/.haft/vault/key");
    assert_eq!(tools.decide("file_read", json!({"path": key})).outcome, Outcome::Allow);
    let message = |path: &str, folder: &str| {
        (
            "host.path_is_link".to_owned(),
            format!("`{path}` lies in the folder `{folder}`. Nothing was done; name it by that."),
        )
    };
    let read = tools.error("file_read", json!({"path": key})).await;
    assert_eq!(read, message(&key, &places.secrets_folder));
    let configuration = machine.path("home/.haft/haft.toml");
    let written = tools.error("file_write", write(&configuration)).await;
    assert_eq!(written, message(&configuration, &places.haft_home));
    assert_eq!(machine.names("home/.haft"), [".secrets", "vault"]);
}

// FIL-04, FIL-05
#[tokio::test]
async fn devices_pipes_folders_and_the_inside_of_processes_are_left_alone_at_once() {
    let machine = Machine::new();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(&machine.ground.root, "tmp/pipe", rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(machine.path("tmp/socket")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", machine.path("tmp/zero")).unwrap();
    let mut tools = machine.invocation();
    let mut codes = Vec::new();
    for path in ["tmp/pipe", "tmp/socket", "tmp/zero", "a"].map(|path| machine.path(path)) {
        for (alias, arguments) in [("file_read", json!({"path": path})), ("file_write", write(&path))] {
            codes.push(tools.error(alias, arguments).await.0);
        }
    }
    let (special, folder) = ("host.not_a_file", "host.path_is_directory");
    assert_eq!(codes, [special, special, special, special, special, "host.path_is_link", folder, folder]);
    for path in ["/dev/zero", "/dev/null", "/"] {
        let code = tools.error("file_read", json!({"path": path})).await.0;
        assert_eq!(code, if path == "/" { folder } else { special }, "{path}");
    }
    assert_eq!(tools.error("file_write", write("/")).await.0, folder);
    assert_eq!(tools.error("file_write", write("/dev/null")).await.0, special);
}

// FIL-04: memory and environment of a process hold secrets
#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_inside_of_a_process_stays_closed() {
    let machine = Machine::new();
    std::os::unix::fs::symlink("/proc/self", machine.path("a/me")).unwrap();
    let own = format!("/proc/{}/environ", std::process::id());
    let mut tools = machine.invocation();
    let through = machine.path("a/me/environ");
    for path in ["/proc/self/mem", "/proc/self/environ", "/proc/thread-self/maps", &own, &through] {
        assert_eq!(tools.error("file_read", json!({"path": path})).await.0, "host.process_file", "{path}");
    }
    assert_eq!(tools.error("file_list", json!({"path": "/proc/self/fd"})).await.0, "host.process_file");
    // What the system says of itself is a file like others, though it has no length.
    assert!(tools.text("file_read", json!({"path": "/proc/version"})).await.starts_with("Linux"));
}

/// Ends the other thread, also if an assertion fails.
struct StopAtTheEnd<'a>(&'a AtomicBool);

impl Drop for StopAtTheEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Calls on `INSIDE/swap` while that is by turns a folder with a harmless file and a link to `target`; how often one failed.
fn race(machine: &Machine, inside: &str, target: &str, aliases: &[&str]) -> u32 {
    let root = &machine.ground.root;
    root.create_dir(format!("{inside}/folder")).unwrap();
    root.write(format!("{inside}/folder/key"), "harmless").unwrap();
    root.symlink(target, format!("{inside}/link")).unwrap();
    let stop = AtomicBool::new(false);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut tools = machine.invocation();
    let mut refused = 0;
    std::thread::scope(|threads| {
        threads.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                for (from, to) in [("folder", "swap"), ("swap", "folder"), ("link", "swap"), ("swap", "link")]
                {
                    let (from, to) = (format!("{inside}/{from}"), format!("{inside}/{to}"));
                    while root.rename(&from, root, &to).is_err() && !stop.load(Ordering::Relaxed) {
                        // A tool met the moment without the folder and made it.
                        root.remove_dir_all(&to).unwrap_or_default();
                    }
                }
            }
        });
        let _stop = StopAtTheEnd(&stop);
        for _ in 0..400 {
            for alias in aliases {
                let (name, content) =
                    if *alias == "file_read" { ("key", None) } else { ("new", Some("BREACH")) };
                let mut arguments = json!({"path": machine.path(&format!("{inside}/swap/{name}"))});
                if let Some(content) = content {
                    arguments["content"] = json!(content);
                }
                match runtime.block_on(tools.call(alias, arguments)) {
                    Ok(output) if *alias == "file_read" => assert_eq!(output.text(), "harmless"),
                    Ok(_) => {}
                    Err(_) => refused += 1,
                }
            }
        }
    });
    refused
}

// APR-13, APR-14
#[test]
fn a_link_swapped_in_between_check_and_use_leads_nowhere() {
    let machine = Machine::new();
    let refused = race(&machine, "tmp", "../home/.haft/.secrets", &["file_read", "file_write"]);
    assert!(refused > 0, "the race was never met");
    assert_eq!(machine.names("home/.haft/.secrets"), ["key", "other"]);
    assert_eq!(machine.file("home/.haft/.secrets/key").unwrap(), SECRET);
}

// APR-14: a link to a neighbour leaves no folder, and all the same it is not followed once its way was judged
#[test]
fn a_link_to_a_neighbour_swapped_in_shows_no_secret() {
    let machine = Machine::new();
    assert!(race(&machine, "home/.haft", ".secrets", &["file_read"]) > 0, "the race was never met");
}

// APR-13
#[test]
fn a_link_to_a_neighbour_swapped_in_takes_no_write() {
    let machine = Machine::new();
    machine.ground.root.create_dir("tmp/held").unwrap();
    assert!(race(&machine, "tmp", "held", &["file_write"]) > 0, "the race was never met");
    assert_eq!(machine.names("tmp/held"), Vec::<String>::new());
}

// APR-18: a granted folder that is a link to its neighbour is not that neighbour
#[tokio::test]
async fn a_link_to_a_neighbour_is_not_written_through() {
    let machine = Machine::new();
    machine.ground.root.symlink("home", "alias").unwrap();
    let mut tools = machine.invocation();
    let path = machine.path("alias/x");
    let error = tools.error("file_write", write(&path)).await;
    let message = format!(
        "`{path}` leads over a link to `{}`. Nothing was done; name that path instead.",
        machine.path("home/x")
    );
    assert_eq!(error, ("host.path_is_link".to_owned(), message));
    assert_eq!(machine.names("home"), [".haft"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    // APR-13, APR-14: what asks nobody neither shows a secret nor writes outside of the temporary folder
    #[test]
    fn nothing_unasked_reaches_a_secret_or_leaves_the_temporary_folder(parts in prop::collection::vec(
        prop::sample::select(vec![
            "..", ".", "", "tmp", "home", ".haft", ".secrets", "key", "out", "up", "TMP", "new", "a", "b",
        ]),
        1..8,
    )) {
        let machine = Machine::new();
        machine.ground.root.symlink("../home/.haft", "tmp/out").unwrap();
        machine.ground.root.symlink("../..", "tmp/up").unwrap();
        let path = machine.path(&parts.join("/"));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut tools = machine.invocation();
            if tools.decide("file_read", json!({"path": path})).outcome == Outcome::Allow
                && let Ok(output) = tools.call("file_read", json!({"path": path})).await
            {
                assert_ne!(output.text(), SECRET, "{path}");
            }
            if tools.decide("file_write", write(&path)).outcome == Outcome::Allow {
                // Whether it works is all the same; where it wrote is looked at below.
                drop(tools.call("file_write", write(&path)).await);
            }
        });
        prop_assert_eq!(machine.names("."), ["a", "demo", "home", "outside", "tmp"]);
        prop_assert_eq!(machine.names("a"), ["b"]);
        prop_assert_eq!(machine.names("a/b"), Vec::<String>::new());
        prop_assert_eq!(machine.names("home/.haft"), [".secrets"]);
        prop_assert_eq!(machine.file("home/.haft/.secrets/key").unwrap(), SECRET);
    }
}
