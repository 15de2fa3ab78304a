//! Ways out of a project: each a clear error result, and nothing read or written outside.
#![cfg(unix)]

use std::sync::atomic::{AtomicBool, Ordering};

use haft_tools::files;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{Ground, Invocation};

const OUTSIDE: &str = "Path is outside project directory";

fn invocation(ground: &Ground) -> Invocation {
    Invocation::new(files::tools().unwrap(), ground.services()).in_project("demo", None)
}

/// A call of every tool on one path.
fn all_calls(path: &str) -> [(&'static str, Value); 7] {
    [
        ("file_read", json!({"path": path})),
        ("file_write", json!({"path": path, "content": "BREACH"})),
        ("file_edit", json!({"path": path, "old_string": "canary", "new_string": "BREACH"})),
        ("file_delete", json!({"path": path})),
        ("file_list", json!({"path": path})),
        ("file_exists", json!({"path": path})),
        ("file_mkdir", json!({"path": path})),
    ]
}

// FIL-03, CONFLICT-18
#[tokio::test]
async fn every_way_out_by_text_is_refused_by_every_tool() {
    let ground = Ground::new();
    let mut tools = invocation(&ground);
    let absolute = format!("{}/outside/canary.txt", ground.path);
    let ways_out = [
        "../../../etc/passwd",
        "/etc/passwd",
        "/ETC/Passwd",
        "../outside/canary.txt",
        "src/../../outside/canary.txt",
        "src/./.././../outside/canary.txt",
        "..",
        "..\\outside\\canary.txt",
        "src\\..\\..\\outside\\canary.txt",
        "C:\\Windows\\system.ini",
        "c:outside",
        "\\\\server\\share",
        "//outside/canary.txt",
        absolute.as_str(),
    ];
    for path in ways_out {
        for (alias, arguments) in all_calls(path) {
            let error = tools.error(alias, arguments).await;
            assert_eq!(error, ("project.path_outside".to_owned(), OUTSIDE.to_owned()), "{alias} {path}");
        }
    }
    let long = "x".repeat(300);
    let deep = "d/".repeat(2_500);
    for path in ["", "   ", "a\0b", "\0", "src\\main.py", long.as_str(), deep.as_str()] {
        for (alias, arguments) in all_calls(path) {
            assert_eq!(tools.error(alias, arguments).await.0, "project.path_invalid", "{alias} {path:?}");
        }
    }
    ground.assert_outside_untouched();
}

// FIL-03, CONFLICT-18
#[tokio::test]
async fn no_link_leads_out() {
    let ground = Ground::new();
    let root = &ground.root;
    root.symlink("../outside", "demo/out").unwrap();
    root.symlink("../outside/canary.txt", "demo/canary").unwrap();
    root.symlink("../outside/new.txt", "demo/dangling").unwrap();
    root.symlink("../../outside", "demo/src/up").unwrap();
    root.symlink("loop", "demo/loop").unwrap();
    std::os::unix::fs::symlink(format!("{}/outside", ground.path), format!("{}/demo/absolute", ground.path))
        .unwrap();
    let mut tools = invocation(&ground);
    for path in ["out/canary.txt", "canary", "src/up/canary.txt", "absolute/canary.txt", "out", "absolute"] {
        for (alias, arguments) in all_calls(path) {
            let error = tools.error(alias, arguments).await;
            assert_eq!(error.1, OUTSIDE, "{alias} {path}");
        }
    }
    for path in ["out/new.txt", "dangling", "absolute/new/file", "loop", "loop/x"] {
        for (alias, arguments) in all_calls(path).into_iter().filter(|(alias, _)| *alias != "file_exists") {
            tools.error(alias, arguments).await;
        }
    }
    assert_eq!(tools.text("file_list", json!({"pattern": "**"})).await.matches("canary.txt").count(), 0);
    ground.assert_outside_untouched();
}

// FIL-03
#[tokio::test]
async fn a_link_inside_is_read_and_never_written_through() {
    let ground = Ground::new();
    ground.root.write("demo/src/real.txt", "real").unwrap();
    ground.root.symlink("src", "demo/link").unwrap();
    ground.root.symlink("src/real.txt", "demo/direct").unwrap();
    let mut tools = invocation(&ground);
    assert_eq!(tools.text("file_read", json!({"path": "link/real.txt"})).await, "real");
    assert_eq!(tools.text("file_read", json!({"path": "direct"})).await, "real");
    for path in ["link/real.txt", "direct"] {
        let error = tools.error("file_write", json!({"path": path, "content": "x"})).await;
        assert_eq!(error.0, "project.path_is_link");
        assert!(error.1.contains("over a link to `src/real.txt`"), "{}", error.1);
        assert_eq!(tools.error("file_delete", json!({"path": path})).await.0, "project.path_is_link");
    }
    assert_eq!(
        tools.error("file_write", json!({"path": "link/new", "content": "x"})).await.0,
        "project.path_is_link"
    );
    assert_eq!(tools.error("file_mkdir", json!({"path": "link/new"})).await.0, "project.path_is_link");
    assert_eq!(ground.file("src/real.txt").unwrap(), "real");
}

// FIL-07
#[tokio::test]
async fn pipes_devices_and_sockets_are_left_alone_at_once() {
    let ground = Ground::new();
    let pipe = rustix::fs::mknodat(
        &ground.root,
        "demo/pipe",
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    );
    pipe.unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(format!("{}/demo/socket", ground.path)).unwrap();
    std::os::unix::fs::symlink("/dev/zero", format!("{}/demo/zero", ground.path)).unwrap();
    let mut tools = invocation(&ground);
    for path in ["pipe", "socket"] {
        for (alias, arguments) in all_calls(path).into_iter().take(4) {
            assert_eq!(tools.error(alias, arguments).await.0, "project.not_a_file", "{alias} {path}");
        }
        let exists = tools.text("file_exists", json!({"path": path})).await;
        assert_eq!(exists, format!("`{path}` exists, but is neither a file nor a folder."));
    }
    assert_eq!(tools.error("file_read", json!({"path": "zero"})).await.1, OUTSIDE);
}

/// Ends the other thread, also if an assertion fails.
struct StopAtTheEnd<'a>(&'a AtomicBool);

impl Drop for StopAtTheEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

// FIL-03
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_swapped_in_between_check_and_use_leads_nowhere() {
    let ground = Ground::new();
    let root = &ground.root;
    root.create_dir("demo/folder").unwrap();
    root.write("demo/folder/canary.txt", "inside").unwrap();
    root.symlink("../outside", "demo/link").unwrap();
    let stop = AtomicBool::new(false);
    let mut tools = invocation(&ground);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                for (from, to) in [("folder", "swap"), ("swap", "folder"), ("link", "swap"), ("swap", "link")]
                {
                    let (from, to) = (format!("demo/{from}"), format!("demo/{to}"));
                    while root.rename(&from, root, &to).is_err() && !stop.load(Ordering::Relaxed) {
                        // A tool met the moment without the folder and made it.
                        root.remove_dir_all(&to).unwrap_or_default();
                    }
                }
            }
        });
        let stop = StopAtTheEnd(&stop);
        let (mut read, mut refused) = (0, 0);
        tokio::task::block_in_place(|| {
            tokio::runtime::Handle::current().block_on(async {
                for round in 0..400 {
                    match tools.call("file_read", json!({"path": "swap/canary.txt"})).await {
                        Ok(output) => {
                            // Only what is inside; a tool of an earlier round may have written it.
                            assert_ne!(output.text(), "canary");
                            read += 1;
                        }
                        Err(_) => refused += 1,
                    }
                    let content = format!("round {round}");
                    let write = json!({"path": "swap/canary.txt", "content": content});
                    refused += usize::from(tools.call("file_write", write).await.is_err());
                    let new = json!({"path": "swap/new/file.txt", "content": content});
                    refused += usize::from(tools.call("file_write", new).await.is_err());
                    let delete = json!({"path": "swap/new/file.txt"});
                    refused += usize::from(tools.call("file_delete", delete).await.is_err());
                }
            });
        });
        drop(stop);
        assert!(refused > 0, "the race was never met: {read} reads");
    });
    assert_eq!(root.read_to_string("outside/canary.txt").unwrap(), "canary");
    let outside: Vec<_> = root.read_dir("outside").unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(outside, ["canary.txt"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    // FIL-03
    #[test]
    fn no_path_reaches_the_canary(parts in prop::collection::vec(
        prop::sample::select(vec![
            "..", ".", "", "src", "out", "outside", "canary.txt", "deep", "..\\", "\\", "/", "C:", "\u{ff0e}\u{ff0e}", "...",
            "%2e%2e", "~", "\0", "OUT",
        ]),
        1..7,
    )) {
        let ground = Ground::new();
        ground.root.symlink("../outside", "demo/out").unwrap();
        ground.root.symlink("../..", "demo/src/deep").unwrap();
        let path = parts.join("/");
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut tools = invocation(&ground);
            for (alias, arguments) in all_calls(&path) {
                if let Ok(output) = tools.call(alias, arguments).await {
                    assert!(!output.text().contains("canary\n") && output.text() != "canary", "{alias} {path:?}");
                    assert!(alias != "file_list" || !output.text().contains("canary.txt") || path.contains("canary"));
                }
            }
        });
        ground.assert_outside_untouched();
    }
}
