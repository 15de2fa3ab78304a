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
        assert_eq!(tools.decide("file_read", json!({"path": path})).outcome, Outcome::Allow);
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
    let mut places = machine.places();
    // No text of a path is below these, though they are the same folders.
    places.haft_home = machine.path("a/../home/.haft");
    places.secrets_folder = machine.path("a/../home/.haft/.secrets");
    let mut tools = machine.invocation_in(&places);
    let key = machine.path("home/.haft/.secrets/key");
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
    assert_eq!(machine.names("home/.haft"), [".secrets"]);
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

// APR-13, APR-14
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_swapped_in_between_check_and_use_leads_nowhere() {
    let machine = Machine::new();
    let root = &machine.ground.root;
    root.create_dir("tmp/folder").unwrap();
    root.write("tmp/folder/key", "harmless").unwrap();
    root.symlink("../home/.haft/.secrets", "tmp/link").unwrap();
    let stop = AtomicBool::new(false);
    let mut tools = machine.invocation();
    std::thread::scope(|threads| {
        threads.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                for (from, to) in [("folder", "swap"), ("swap", "folder"), ("link", "swap"), ("swap", "link")]
                {
                    let (from, to) = (format!("tmp/{from}"), format!("tmp/{to}"));
                    while root.rename(&from, root, &to).is_err() && !stop.load(Ordering::Relaxed) {
                        // A tool met the moment without the folder and made it.
                        root.remove_dir_all(&to).unwrap_or_default();
                    }
                }
            }
        });
        let stop = StopAtTheEnd(&stop);
        let mut refused = 0;
        let (read, path) = (json!({"path": machine.path("tmp/swap/key")}), machine.path("tmp/swap/new"));
        tokio::task::block_in_place(|| {
            tokio::runtime::Handle::current().block_on(async {
                for _ in 0..400 {
                    match tools.call("file_read", read.clone()).await {
                        Ok(output) => assert_eq!(output.text(), "harmless"),
                        Err(_) => refused += 1,
                    }
                    refused += usize::from(tools.call("file_write", write(&path)).await.is_err());
                }
            });
        });
        drop(stop);
        assert!(refused > 0, "the race was never met");
    });
    assert_eq!(machine.names("home/.haft/.secrets"), ["key", "other"]);
    assert_eq!(machine.file("home/.haft/.secrets/key").unwrap(), SECRET);
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
