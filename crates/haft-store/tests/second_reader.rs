//! The second reader of the journal, `tools/verify_journal.py`, on real exports and on damaged ones.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "helpers of tests")]
#![expect(clippy::disallowed_methods, reason = "the tests damage files and start the second reader")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use haft_core::journal::{ModelTurnCompleted, Payload, RequestedCallRecord};
use haft_core::ports::{FinishReason, JournalRows as _, Store, StoreError};
use haft_core::{ArtifactVersion, Digest, RequestedCall, RunId, Timestamp, ToolId};
use haft_store::{MemoryStore, SqliteStore, export_run};
use serde_json::json;
use support::{RunWriter, artifact, session, wait};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What the second reader prints, and whether all fits; none where there is no Python.
fn second_reader(export: &Path) -> Option<(bool, String)> {
    match Command::new("python3").arg(root().join("tools/verify_journal.py")).arg(export).output() {
        Ok(output) => {
            let errors = String::from_utf8(output.stderr).unwrap();
            assert_eq!(errors, "", "it never fails on foreign data");
            Some((output.status.success(), String::from_utf8(output.stdout).unwrap().trim_end().to_owned()))
        }
        Err(error) => {
            println!(
                "SKIPPED: the second reader of the journal did not run, since python3 cannot be started: {error}"
            );
            None
        }
    }
}

async fn write(store: &dyn Store, run: &str, folder: &Path) -> String {
    let export = export_run(store, &RunId::new(run)).await.unwrap();
    export.write(folder).unwrap();
    format!("ok {run} {} records head {}", export.head.next, export.head.hash)
}

/// A run with everything: awkward numbers and texts, a call, an artifact, the before-image of a file, an image.
async fn rich_run(store: &dyn Store, now: u64) {
    let lease = session(store, "s_1", now).await;
    let writer = RunWriter::new(store, &lease, "r_1", 5);
    writer.append(writer.beginning(None)).await.unwrap();
    let mut batch = writer.batch();
    let numbers = json!([
        0,
        -0.0,
        1.0,
        -7,
        u64::MAX,
        i64::MIN,
        9_007_199_254_740_992.0,
        9_007_199_254_740_994.0,
        1e15,
        1e16,
        1.25e-7,
        0.0001,
        0.000_01,
        0.1,
        1e300,
        5e-324,
        123_456_789.125,
        null,
        true
    ]);
    let texts = json!({"😀": "\u{0}\u{1}\u{8}\t\n\u{c}\r\u{1f}\u{7f}\u{80}\"\\/", "～": "é漢😀", "B": {}, "a": [], "": ""});
    let arguments = json!({"numbers": numbers, "texts": texts});
    let requested = RequestedCall::call("test_note", arguments.as_object().unwrap().clone());
    let turn = Payload::ModelTurnCompleted(ModelTurnCompleted {
        invocation: writer.invocation.clone(),
        turn: 1,
        text: "I note it.".into(),
        reasoning: String::new(),
        raw: None,
        calls: vec![RequestedCallRecord {
            call_id: writer.call(),
            requested,
            tool_id: Some(ToolId::builtin("test.note")),
        }],
        finish_reason: FinishReason::ToolCalls,
        usage: None,
        provider_metadata: Some(json!({"signature": "x"})),
    });
    batch.record(writer.now(), &turn).unwrap();
    batch.join(writer.intent());
    writer.append(batch).await.unwrap();
    let before = store.put_blob(b"before\0").await.unwrap();
    let image = store.put_blob(b"\x89PNG").await.unwrap();
    let made = ArtifactVersion { title: "“Notes”\t\u{7f}😀\\".into(), ..artifact("notes", 1) };
    let mut last = writer.completion_showing(Some(made), Some(before), Some(image));
    last.join(writer.end());
    writer.append(last).await.unwrap();
}

// JRN-01
#[test]
fn second_reader_agrees_on_real_exports() {
    let home = tempfile::tempdir().unwrap();
    let sqlite = SqliteStore::open(&home.path().join("home"), Timestamp(1)).unwrap();
    let memory = MemoryStore::new();
    let stores: [(&str, &dyn Store); 2] = [("sqlite", &sqlite), ("memory", &memory)];
    for (name, store) in stores {
        let folder = |step: &str| home.path().join(format!("{name}-{step}"));
        wait(async {
            rich_run(store, 1).await;
            let expected = write(store, "r_1", &folder("whole")).await;
            let Some(answer) = second_reader(&folder("whole")) else { return };
            assert_eq!(answer, (true, expected));
            let lease = store.lease(&"s_1".into(), "haft test", Timestamp(99_999)).await.unwrap();
            for seq in [0, 2, 5, 6] {
                store.redact(&lease, &"r_1".into(), seq, "asked", Timestamp(6)).await.unwrap();
            }
            let expected = write(store, "r_1", &folder("redacted")).await;
            assert_eq!(second_reader(&folder("redacted")), Some((true, expected)));
            fs::create_dir_all(folder("redacted/artifacts")).unwrap();
            fs::copy(folder("whole/artifacts/notes@1.json"), folder("redacted/artifacts/notes@1.json"))
                .unwrap();
            let back =
                "does not fit: artifact notes@1.json: a record says that it was taken away, and it is there";
            assert_eq!(second_reader(&folder("redacted")), Some((false, back.into())));
            store.delete_session(&lease, Timestamp(7)).await.unwrap();
            let expected = write(store, "r_1", &folder("deleted")).await;
            assert_eq!(second_reader(&folder("deleted")), Some((true, expected)));
            assert!(
                !folder("deleted/files").exists()
                    && !folder("deleted/artifacts").exists()
                    && !folder("deleted/blobs").exists()
            );
        });
    }
}

fn edit(path: &Path, change: impl FnOnce(String) -> String) {
    let text = fs::read_to_string(path).unwrap();
    let changed = change(text.clone());
    assert_ne!(text, changed, "{}", path.display());
    fs::write(path, changed).unwrap();
}

/// A change of an export.
type Damage = Box<dyn Fn(&Path)>;

fn line(text: &str, number: usize) -> String {
    text.lines().nth(number).unwrap().to_owned()
}

#[test]
fn second_reader_names_what_was_touched() {
    let store = MemoryStore::new();
    let (digest, image) = (Digest::of(b"before\0"), Digest::of(b"\x89PNG"));
    let notes = "artifacts/notes@1.json";
    let stem = haft_core::CallId::new("c_i_r_1_1_1").file_stem();
    let journal = |change: &'static dyn Fn(&str) -> String| -> Damage {
        Box::new(move |folder: &Path| edit(&folder.join("journal.jsonl"), |text| change(&text)))
    };
    let in_file = |path: String, from: &'static str, to: &'static str| -> Damage {
        Box::new(move |folder: &Path| edit(&folder.join(&path), |text| text.replacen(from, to, 1)))
    };
    let remove =
        |path: String| -> Damage { Box::new(move |folder| fs::remove_file(folder.join(&path)).unwrap()) };
    let add =
        |path: &'static str| -> Damage { Box::new(move |folder| fs::write(folder.join(path), "x").unwrap()) };
    let cases: Vec<(Damage, String)> = vec![
        (
            journal(&|t| t.replacen("secret", "Secret", 1)),
            "record 0 (run_started): the payload was changed".into(),
        ),
        (
            journal(&|t| t.replacen("\"time\":5", "\"time\":6", 1)),
            "record 0 (run_started): its hash does not fit its fields".into(),
        ),
        (
            journal(&|t| t.replacen("tool_call_started", "tool_call_startee", 1)),
            "record 4 (tool_call_startee): its hash".into(),
        ),
        (
            journal(&|t| t.replacen(&line(t, 3), &line(t, 4), 1)),
            "record 3: it is missing; record 4 stands in its place".into(),
        ),
        (
            journal(&|t| {
                let (three, four) = (line(t, 3), line(t, 4));
                t.replacen(&format!("{three}\n{four}"), &format!("{four}\n{three}"), 1)
            }),
            "record 3: it is missing".into(),
        ),
        (
            journal(&|t| t.replacen(&format!("{}\n", line(t, 6)), "", 1)),
            "the journal ends with record 5".into(),
        ),
        (journal(&|t| t.trim_end().to_owned()), "journal.jsonl: the last line is cut".into()),
        (
            journal(&|t| t.replacen("{\"hash\"", "{ \"hash\"", 1)),
            "record 0: the line is not canonical".into(),
        ),
        (journal(&|t| format!("{t}{{}}\n")), "record 7: it does not have the nine fields".into()),
        (journal(&|t| format!("{t}\u{7}\n")), "record 7: it is no JSON".into()),
        (
            journal(&|t| t.replacen("\"prev\":\"0", "\"prev\":\"1", 1)),
            "record 0 (run_started): it does not follow".into(),
        ),
        (
            in_file("manifest.json".into(), "\"next\": 7", "\"next\": 8"),
            "the journal ends with record 6".into(),
        ),
        (
            in_file(format!("files/tool-results/{stem}.json"), "secret", "Secret"),
            format!("file tool-results/{stem}.json: it was changed"),
        ),
        (
            remove(format!("files/tool-args/{stem}.json")),
            format!("file tool-args/{stem}.json: it is missing"),
        ),
        (add("files/more"), "file more: no record speaks of it".into()),
        (in_file(notes.into(), "secret", "Secret"), "artifact notes@1: it was changed".into()),
        (in_file(notes.into(), "Notes", "Nodes"), "artifact notes@1: it was changed".into()),
        (in_file(notes.into(), "text/markdown", "text/plain"), "artifact notes@1: it was changed".into()),
        (in_file(notes.into(), "model", "tool"), "artifact notes@1: it was changed".into()),
        (remove(notes.into()), "artifact notes@1: it is missing".into()),
        (add("artifacts/x@1.json"), "artifact x@1.json: no record speaks of it".into()),
        (in_file(format!("blobs/{digest}"), "before", "Before"), format!("blob {digest}: it was changed")),
        (
            remove(format!("blobs/{digest}")),
            format!("blob {digest}: it is missing, and record 5 (tool_call_completed) names it"),
        ),
        (
            remove(format!("blobs/{image}")),
            format!("blob {image}: it is missing, and record 5 (tool_call_completed) names it"),
        ),
        (add("blobs/x"), "blob x: no record speaks of it".into()),
    ];
    wait(async {
        rich_run(&store, 1).await;
        let home = tempfile::tempdir().unwrap();
        for (number, (damage, expected)) in cases.iter().enumerate() {
            let folder = home.path().join(number.to_string());
            write(&store, "r_1", &folder).await;
            damage(&folder);
            let Some((fits, told)) = second_reader(&folder) else { return };
            assert!(!fits, "{expected}");
            assert!(told.starts_with(&format!("does not fit: {expected}")), "{told}, not {expected}");
        }
    });
}

#[test]
fn second_reader_finds_a_changed_bit_anywhere() {
    let store = MemoryStore::new();
    let home = tempfile::tempdir().unwrap();
    wait(async {
        rich_run(&store, 1).await;
        write(&store, "r_1", &home.path().join("export")).await;
    });
    let journal = home.path().join("export/journal.jsonl");
    let good = fs::read(&journal).unwrap();
    for number in 0..24 {
        let at = good.len() * number / 24 + number;
        let mut bad = good.clone();
        bad[at] ^= 1 << (number % 8);
        fs::write(&journal, &bad).unwrap();
        let Some((fits, told)) = second_reader(&home.path().join("export")) else { return };
        assert!(!fits && told.starts_with("does not fit: "), "byte {at}: {told}");
    }
}

/// What the page promises: every kind has its section, and every field that is written stands in it.
#[test]
fn the_specification_names_every_kind_and_field() {
    let page = fs::read_to_string(root().join("docs/spec/journal.md")).unwrap();
    for kind in Payload::KINDS {
        assert!(page.contains(&format!("\n### `{kind}`\n")), "{kind}");
    }
    let store = MemoryStore::new();
    wait(rich_run(&store, 1));
    for record in wait(store.records(&"r_1".into())).unwrap() {
        let section =
            page.split(&format!("### `{}`\n", record.kind)).nth(1).unwrap().split("\n### ").next().unwrap();
        for field in record.payload_value().unwrap().as_object().unwrap().keys() {
            assert!(section.contains(&format!("`{field}`")), "{}: {field}", record.kind);
        }
    }
}

#[test]
fn an_export_overwrites_nothing_and_stays_in_its_folder() {
    let home = tempfile::tempdir().unwrap();
    let store = MemoryStore::new();
    wait(async {
        rich_run(&store, 1).await;
        let missing = export_run(&store, &"r_9".into()).await.unwrap_err();
        assert_eq!(missing, StoreError::Missing { what: "run r_9".into() });
        let mut export = export_run(&store, &"r_1".into()).await.unwrap();
        export.write(&home.path().join("one")).unwrap();
        assert!(matches!(export.write(&home.path().join("one")), Err(StoreError::Exists { .. })));
        for path in ["../x", "/x", "a//b", "a/../../x", "", "a\\b", "C:x", "a\0b"] {
            export.files[0].path = path.into();
            let refused = export.write(&home.path().join("two")).unwrap_err();
            assert!(matches!(refused, StoreError::Damaged { .. }), "{path}");
            fs::remove_dir_all(home.path().join("two")).unwrap();
        }
    });
}
