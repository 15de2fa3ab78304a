//! The file tools of the machine: what they do, and whom they ask.

use haft_core::facts::ResultCap;
use haft_core::policy::Outcome;
use haft_core::result::{Change, FileChange};
use haft_core::snapshot::{self, CompileError};
use haft_core::{Digest, InvocationId, Profile, Scope, Services, Tool, ToolId, ToolOutput, ToolRegistry};
use haft_schema::Validator;
use haft_tools::{files, host};
use serde_json::{Value, json};

use crate::host_support::{Machine, grant};
use crate::support::{Invocation, asking};

fn change(output: &ToolOutput) -> FileChange {
    match output.changes.as_slice() {
        [Change::File(change)] => change.clone(),
        other => panic!("{other:?}"),
    }
}

// FIL-04, FIL-05, FIL-06, REG-05, CONFLICT-09, CONFLICT-22
#[test]
fn the_family_is_declared_as_its_source_says() {
    let rows: Vec<String> = host::tools()
        .unwrap()
        .iter()
        .map(|tool| {
            let declaration = tool.declaration();
            let (schema, facts) = (&declaration.descriptor.input_schema, &declaration.facts);
            let mut example = facts.example.clone().unwrap();
            haft_schema::Defaults::of(schema).fill(&mut example);
            let checked = Validator::compile(schema).unwrap().validate(&Value::Object(example));
            assert_eq!(checked.err(), None, "{}", declaration.id());
            let parameters: Vec<String> = schema
                .properties()
                .map(|property| {
                    let document = &schema.as_value()["properties"][property.name];
                    let need = if property.required { "" } else { "?" };
                    let default =
                        document.get("default").map(|value| format!("={value}")).unwrap_or_default();
                    format!("{}{need}:{}{default}", property.name, property.schema.type_name())
                })
                .collect();
            let closed = schema.is_closed();
            format!(
                "{} {}({}) writes={} {:?} {} closed={closed}",
                declaration.id(),
                declaration.alias(),
                parameters.join(", "),
                facts.effect.writes(),
                facts.permission,
                facts.category,
            )
        })
        .collect();
    let expected = [
        "builtin:host.file_read file_read(path:string, max_lines?:integer) writes=false Allow file closed=false",
        "builtin:host.file_write file_write(path:string, content:string, append?:boolean=false) writes=true Allow file \
         closed=false",
        "builtin:host.file_list file_list(path:string) writes=false Allow file closed=false",
    ];
    assert_eq!(rows, expected);
}

// FIL-04
#[tokio::test]
async fn a_file_is_read_by_its_absolute_path_or_from_home() {
    let machine = Machine::new();
    machine.ground.root.write("home/config.yaml", "one\ntwo\nthree\n").unwrap();
    let mut tools = machine.invocation();
    let absolute = machine.path("home/config.yaml");
    assert_eq!(tools.text("file_read", json!({"path": absolute})).await, "one\ntwo\nthree\n");
    assert_eq!(tools.text("file_read", json!({"path": "~/config.yaml"})).await, "one\ntwo\nthree\n");
    assert_eq!(
        tools.text("file_read", json!({"path": "~/../home//./config.yaml/"})).await,
        "one\ntwo\nthree\n"
    );
    let some = tools.text("file_read", json!({"path": "~/config.yaml", "max_lines": 2})).await;
    assert_eq!(some, "one\ntwo\n[the first 2 lines are shown; the file goes on]");
    assert_eq!(
        tools.text("file_read", json!({"path": "~/config.yaml", "max_lines": 3})).await,
        "one\ntwo\nthree\n"
    );
    let relative = tools.error("file_read", json!({"path": "config.yaml"})).await;
    let message = "`config.yaml` starts nowhere: a path of this machine must be absolute, such as `/etc/hosts`, or start at the \
        user's home, such as `~/notes.md`.";
    assert_eq!(relative, ("host.path_relative".to_owned(), message.to_owned()));
    let missing = tools.error("file_read", json!({"path": "~/none"})).await;
    let message = format!("There is no `{}`. List its folder first.", machine.path("home/none"));
    assert_eq!(missing, ("host.not_found".to_owned(), message));
}

// FIL-04
#[tokio::test]
async fn more_than_a_megabyte_is_read_only_by_lines() {
    let machine = Machine::new();
    let root = &machine.ground.root;
    root.write("a/exact", "x".repeat(1_000_000)).unwrap();
    root.write("a/over", format!("{}\n", "y\n".repeat(500_000))).unwrap();
    root.write("a/sparse", "z").unwrap();
    root.open_with("a/sparse", cap_std::fs::OpenOptions::new().write(true))
        .unwrap()
        .set_len(1 << 40)
        .unwrap();
    let mut tools = machine.invocation();
    let exact = tools.text("file_read", json!({"path": machine.path("a/exact")})).await;
    let mark = "\n[cut: the first 8000 of 1000000 characters are shown, as many as this tool shows]";
    assert_eq!(exact, format!("{}{mark}", "x".repeat(8_000)));
    let over = machine.path("a/over");
    let error = tools.error("file_read", json!({"path": over})).await;
    let message =
        format!("`{over}` is larger than 1 MB. Read its beginning with max_lines, such as max_lines=100.");
    assert_eq!(error, ("host.too_large".to_owned(), message));
    let some = tools.text("file_read", json!({"path": over, "max_lines": 3})).await;
    assert_eq!(some, "y\ny\ny\n[the first 3 lines are shown; the file goes on]");
    assert_eq!(tools.error("file_read", json!({"path": machine.path("a/sparse")})).await.0, "host.too_large");
}

// FIL-04, RES-28, CONFLICT-07
#[tokio::test]
async fn more_than_8000_characters_are_cut_with_a_mark() {
    let machine = Machine::new();
    machine.ground.root.write("a/exact", "ü".repeat(8_000)).unwrap();
    machine.ground.root.write("a/over", "ü".repeat(8_001)).unwrap();
    machine.ground.root.write("a/wide", "😀".repeat(20_000)).unwrap();
    let mut tools = machine.invocation();
    let exact = tools.text("file_read", json!({"path": machine.path("a/exact")})).await;
    assert_eq!(exact, "ü".repeat(8_000));
    let over = tools.text("file_read", json!({"path": machine.path("a/over")})).await;
    let mark = "\n[cut: the first 8000 of 8001 characters are shown, as many as this tool shows]";
    assert_eq!(over, format!("{}{mark}", "ü".repeat(8_000)));
    let wide = tools.text("file_read", json!({"path": machine.path("a/wide"), "max_lines": 9})).await;
    let mark = "\n[cut: the first 8000 characters are shown, as many as this tool shows]";
    assert_eq!(wide, format!("{}{mark}", "😀".repeat(8_000)));
}

// FIL-04
#[tokio::test]
async fn binary_data_is_refused() {
    let machine = Machine::new();
    machine.ground.root.write("a/zero", b"ab\0c").unwrap();
    machine.ground.root.write("a/latin", b"caf\xe9 au lait").unwrap();
    let mut tools = machine.invocation();
    for (name, why) in [("zero", "binary data (4 bytes)"), ("latin", "not UTF-8 (12 bytes)")] {
        let path = machine.path(&format!("a/{name}"));
        let error = tools.error("file_read", json!({"path": path})).await;
        let message = format!("`{path}` is {why} and cannot be read as text.");
        assert_eq!(error, ("host.file_not_text".to_owned(), message));
    }
}

// FIL-05
#[tokio::test]
async fn a_file_is_written_with_its_folders_and_appended_to() {
    let machine = Machine::new();
    let mut tools = machine.invocation();
    let path = machine.path("tmp/new/deep/output.txt");
    let output = tools.call("file_write", json!({"path": path, "content": "one\n"})).await.unwrap();
    assert_eq!(output.text(), format!("Wrote the new file `{path}`, 4 bytes."));
    assert_eq!(output.structured, Some(json!({"path": path, "bytes": 4, "created": true})));
    let after = Some(Digest::of(b"one\n"));
    assert_eq!(change(&output), FileChange { root: "host".into(), path: path.clone(), before: None, after });
    let output =
        tools.call("file_write", json!({"path": path, "content": "two\n", "append": true})).await.unwrap();
    assert_eq!(output.text(), format!("Added 4 bytes at the end of `{path}`."));
    assert_eq!(machine.file("tmp/new/deep/output.txt").unwrap(), "one\ntwo\n");
    let output = tools.call("file_write", json!({"path": path, "content": "x"})).await.unwrap();
    assert_eq!(output.text(), format!("Wrote `{path}`, 1 byte, in the place of what it held."));
    assert_eq!(machine.file("tmp/new/deep/output.txt").unwrap(), "x");
    assert_eq!(machine.names("tmp/new/deep"), ["output.txt"]);
}

// FIL-05: every overwrite leaves a before-image
#[tokio::test]
async fn what_is_overwritten_is_kept_or_nothing_is_written() {
    let machine = Machine::new();
    machine.ground.root.write("a/b/c.txt", "before").unwrap();
    let path = machine.path("a/b/c.txt");
    for append in [false, true] {
        let was = machine.file("a/b/c.txt").unwrap();
        let write = json!({"path": path, "content": "after", "append": append});
        let output = machine.invocation().call("file_write", write).await.unwrap();
        let kept = machine.ground.image(&change(&output).before.unwrap()).unwrap();
        assert_eq!(kept, was.as_bytes());
    }
    assert_eq!(machine.file("a/b/c.txt").unwrap(), "afterafter");
    let mut services = Services::default();
    let all = machine.services();
    services.insert::<dyn host::HostFiles>(all.get::<dyn host::HostFiles>().unwrap().clone());
    let mut tools = Invocation::new(host::tools().unwrap(), services).on_host(machine.places());
    let error = tools.error("file_write", json!({"path": path, "content": "lost"})).await;
    let message = format!("`{path}` was not changed: this host cannot keep what it held before.");
    assert_eq!(error, ("host.unavailable".to_owned(), message));
    assert_eq!(machine.file("a/b/c.txt").unwrap(), "afterafter");
}

// FIL-06
#[tokio::test]
async fn a_folder_is_listed() {
    let machine = Machine::new();
    let root = &machine.ground.root;
    root.write("a/file", "").unwrap();
    root.write("a/line\nbreak", "").unwrap();
    root.symlink("b", "a/link").unwrap();
    let mut tools = machine.invocation();
    let path = machine.path("a");
    let output = tools.call("file_list", json!({"path": path})).await.unwrap();
    assert_eq!(output.text(), "b/\nfile\nline\\nbreak\nlink@");
    let expected = json!({"path": path, "total": 4, "truncated": false, "entries": [
        {"name": "b", "kind": "folder"}, {"name": "file", "kind": "file"},
        {"name": "line\\nbreak", "kind": "file"}, {"name": "link", "kind": "link"},
    ]});
    assert_eq!(output.structured, Some(expected));
    let through = tools.text("file_list", json!({"path": machine.path("a/link")})).await;
    assert_eq!(through, format!("`{}` is empty.", machine.path("a/link")));
    assert_eq!(tools.text("file_list", json!({"path": "~"})).await, ".haft/");
    assert!(tools.text("file_list", json!({"path": "/"})).await.contains("tmp"));
    for number in 0..1_001 {
        root.write(format!("tmp/{number:04}"), "").unwrap();
    }
    let many = tools.text("file_list", json!({"path": machine.path("tmp")})).await;
    assert!(many.ends_with("0999\n[cut: 1000 of 1001 entries are shown]"), "{many}");
    let error = tools.error("file_list", json!({"path": machine.path("a/file")})).await;
    assert_eq!(error.0, "host.not_a_directory");
}

// APR-07, APR-08, APR-13
#[test]
fn writing_asks_everywhere_but_in_temporary_folders() {
    let machine = Machine::new();
    let mut tools = machine.invocation();
    let mut decide = |path: &str, append: bool| {
        tools.decide("file_write", json!({"path": path, "content": "abc", "append": append}))
    };
    for path in [machine.path("tmp/x"), machine.path("tmp/a/../b/x"), machine.path("tmp//deep/x/")] {
        assert_eq!(decide(&path, false).outcome, Outcome::Allow, "{path}");
    }
    let beside = ["tmp/../a/x", "tmpx/y", "TMP/x", "a/tmp/x", "home/x"];
    for path in beside.map(|path| machine.path(path)).into_iter().chain(["~/tmp".into(), "/x".into()]) {
        assert_eq!(decide(&path, false).outcome, Outcome::Ask, "{path}");
    }
    let path = machine.path("a/b/c.txt");
    let decision = decide(&path, false);
    assert_eq!(decision.rule, "`file_write` asks for this call");
    let text =
        format!("Write 3 characters to the file `{path}` of this machine, in place of whatever it holds?");
    assert_eq!(decision.question.unwrap(), text);
    let scopes = [Scope::File(path.clone()), Scope::Path(machine.path("a/b"))];
    assert_eq!((decision.scopes.as_slice(), decision.every_time), (&scopes[..], false));
    let text = format!("Append 3 characters to the file `{path}` of this machine?");
    assert_eq!(decide(&path, true).question.unwrap(), text);
    // In the root itself no folder is offered: it would be the whole machine.
    assert_eq!(decide("/x", false).scopes, [Scope::File("/x".into())]);
}

// APR-14, CONFLICT-29
#[test]
fn reading_asks_for_each_file_of_the_secrets_folder_and_nowhere_else() {
    let machine = Machine::new();
    let mut tools = machine.invocation();
    for path in [
        "home/x",
        "home/.haft/haft.toml",
        "home/.haft/.secretsx/a",
        "home/x.secrets/a",
        "home/.haft/.secrets/../a",
    ] {
        let path = machine.path(path);
        assert_eq!(tools.decide("file_read", json!({"path": path})).outcome, Outcome::Allow, "{path}");
    }
    let key = machine.path("home/.haft/.secrets/key");
    for path in ["~/.haft/.secrets/key", "~/x/../.haft//.secrets/./key", key.as_str()] {
        let decision = tools.decide("file_read", json!({"path": path}));
        assert_eq!(decision.outcome, Outcome::Ask, "{path}");
        let text = format!("Read the secret `{key}` and show it to the model?");
        assert_eq!(decision.question.unwrap(), text);
        assert_eq!(decision.scopes, [Scope::File(key.clone())]);
    }
    let one = [grant("host.file_read", Scope::File(key))];
    assert!(tools.runs_with(&one, "file_read", json!({"path": "~/.haft/.secrets/key"})));
    assert!(!tools.runs_with(&one, "file_read", json!({"path": "~/.haft/.secrets/other"})));
    assert!(!tools.runs_with(&one, "file_read", json!({"path": "~/.haft/.secrets/key/x"})));
}

// APR-14, CONFLICT-29: scope = the single file; no yes for a folder around it and none for the whole tool covers a secret
#[test]
fn only_a_grant_of_the_very_file_covers_a_secret() {
    let machine = Machine::new();
    let mut tools = machine.invocation();
    let key = machine.path("home/.haft/.secrets/key");
    let secret = json!({"path": "~/.haft/.secrets/key"});
    let wide = [
        Scope::Tool,
        Scope::Path("/".into()),
        Scope::Path(machine.path("home")),
        Scope::Path(machine.path("home/.haft/.secrets")),
        Scope::Path(key.clone()),
        Scope::File(machine.path("home/.haft/.secrets/other")),
        Scope::File(format!("{key}/x")),
    ];
    for scope in wide {
        assert!(
            !tools.runs_with(&[grant("host.file_read", scope.clone())], "file_read", secret.clone()),
            "{scope}"
        );
    }
    let grants =
        [grant("host.file_read", Scope::Path("/".into())), grant("host.file_read", Scope::File(key))];
    assert!(tools.runs_with(&grants, "file_read", secret.clone()));
    let decision = tools.decide("file_read", secret);
    assert!(decision.secret && decision.exact && decision.secret_arguments.is_empty());
    assert!(!tools.decide("file_read", json!({"path": machine.path("a/x")})).secret);
}

// CONFLICT-29: what is written there is a secret, and what it replaces is kept nowhere
#[tokio::test]
async fn a_written_secret_leaves_no_trace() {
    let machine = Machine::new();
    let mut tools = machine.invocation();
    let write = json!({"path": "~/.haft/.secrets/key", "content": "a new one"});
    let decision = tools.decide("file_write", write.clone());
    assert!(decision.secret && decision.every_time);
    assert_eq!(decision.secret_arguments, ["content"]);
    // Asked about as any other file, so that it runs here; what it does is checked by the port's own places.
    let mut places = machine.places();
    (places.haft_home, places.secrets_folder) = ("/elsewhere".into(), "/elsewhere/.secrets".into());
    let output = machine.invocation().on_host(places).call("file_write", write).await.unwrap();
    assert!(output.changes.is_empty());
    assert_eq!(machine.ground.image(&haft_core::Digest::of(b"s3cret")), None);
    assert_eq!(machine.file("home/.haft/.secrets/key").unwrap(), "a new one");
    assert!(!tools.decide("file_write", json!({"path": "~/.haft/haft.toml", "content": ""})).secret);
}

// CONFLICT-29: what file_read shows is never spilled
#[test]
fn a_secret_stays_out_of_the_spill() {
    let read = host::tools().unwrap().remove(0);
    assert_eq!(read.declaration().id(), &ToolId::builtin("host.file_read"));
    assert_eq!(read.declaration().facts.result_cap, ResultCap::Unlimited);
}

// FND-01, SUR-04
#[test]
fn of_the_family_only_reading_is_for_the_fast_path() {
    let fast = |tool: &std::sync::Arc<dyn Tool>| tool.declaration().facts.fast_path;
    assert_eq!(host::tools().unwrap().iter().map(fast).collect::<Vec<_>>(), [true, false, false]);
}

// APR-09, APR-18
#[test]
fn a_yes_for_a_folder_covers_all_below_and_nothing_beside() {
    let machine = Machine::new();
    let mut tools = machine.invocation();
    let folder = [grant("host.file_write", Scope::Path(machine.path("a/b/")))];
    let mut runs = |path: &str| {
        tools.runs_with(&folder, "file_write", json!({"path": machine.path(path), "content": ""}))
    };
    for path in ["a/b/x", "a/b/c/x", "a//b/./x", "a/b/c/../x", "a/b/x/", "a/c/../b/x"] {
        assert!(runs(path), "{path}");
    }
    for path in
        ["a/x", "a/bc", "a/bc/x", "a/other/x", "a/b/../x", "a/b/../bc/x", "A/b/x", "a/B/x", "a/b ", "a/b.txt"]
    {
        assert!(!runs(path), "{path}");
    }
    // It is the yes for one tool: reading a secret there asks all the same.
    let everything = [grant("host.file_write", Scope::Path("/".into()))];
    assert!(!tools.runs_with(&everything, "file_read", json!({"path": "~/.haft/.secrets/key"})));
}

// APR-10: the host's own home is asked for every time
#[test]
fn no_grant_reaches_into_the_own_home() {
    let machine = Machine::new();
    let mut places = machine.places();
    places.temp_folders.push(machine.at.clone());
    let mut tools = machine.invocation().on_host(places);
    let grants = [grant("host.file_write", Scope::Tool), grant("host.file_write", Scope::Path("/".into()))];
    assert!(tools.runs_with(&[], "file_write", json!({"path": "~/x", "content": ""})));
    for path in ["~/.haft/haft.toml", "~/.haft/profiles/default.md", "~/.haft/.secrets/key", "~/.haft"] {
        let write = json!({"path": path, "content": ""});
        assert!(tools.decide("file_write", write.clone()).every_time, "{path}");
        assert!(!tools.runs_with(&grants, "file_write", write), "{path}");
    }
}

// POL-10
#[test]
fn a_profile_may_let_all_of_them_ask() {
    let machine = Machine::new();
    let profile = asking(&["host.file_read", "host.file_list", "host.file_write"]);
    let tools = Invocation::with_profile(host::tools().unwrap(), machine.services(), profile);
    let mut tools = tools.on_host(machine.places());
    let path = machine.path("tmp/x");
    let looks = [
        ("file_read", "Read the file", Scope::File(path.clone())),
        ("file_list", "List the folder", Scope::Path(path.clone())),
    ];
    for (alias, what, itself) in looks {
        let decision = tools.decide(alias, json!({"path": path}));
        assert_eq!(decision.question.unwrap(), format!("{what} `{path}` of this machine?"));
        assert_eq!(decision.scopes, [itself, Scope::Path(machine.path("tmp"))], "{alias}");
    }
    assert_eq!(tools.decide("file_write", json!({"path": path, "content": ""})).outcome, Outcome::Ask);
}

// A guard that fails, refuses
#[tokio::test]
async fn without_places_or_files_nothing_is_done() {
    let machine = Machine::new();
    let mut nowhere = Invocation::new(host::tools().unwrap(), machine.services());
    let mut closed = Invocation::new(host::tools().unwrap(), Services::default()).on_host(machine.places());
    let calls = [
        ("file_read", json!({"path": "/etc/hosts"})),
        ("file_list", json!({"path": "/"})),
        (
            "file_write",
            json!({
                "path": machine.path("tmp/x"), "content": "",
            }),
        ),
    ];
    for (alias, arguments) in calls {
        assert_eq!(nowhere.decide(alias, arguments.clone()).outcome, Outcome::Deny, "{alias}");
        assert_eq!(closed.error(alias, arguments).await.0, "host.unavailable", "{alias}");
    }
    let homeless = haft_core::consent::HostPlaces { user_home: None, ..machine.places() };
    let mut tools = machine.invocation().on_host(homeless);
    assert_eq!(tools.decide("file_read", json!({"path": "~/x"})).outcome, Outcome::Deny);
}

// CONFLICT-09
#[test]
fn a_profile_with_both_families_renames_one() {
    let mut registry = ToolRegistry::default();
    registry.register_all(files::tools().unwrap()).unwrap();
    registry.register_all(host::tools().unwrap()).unwrap();
    let (project, host) = (ToolId::builtin("project.file_read"), ToolId::builtin("host.file_read"));
    let mut profile = Profile::new("both");
    profile.tools.allow = vec![project.clone(), host.clone()];
    let compile = |profile: &Profile| snapshot::compile(InvocationId::new("i_1"), profile, &registry);
    match compile(&profile) {
        Err(CompileError::AliasClash { alias, first, second, .. }) => {
            assert_eq!((alias.as_str(), first, second), ("file_read", project.clone(), host.clone()));
        }
        other => panic!("{other:?}"),
    }
    profile.tools.alias.insert(host.clone(), "host_file_read".to_owned());
    let compiled = compile(&profile).unwrap();
    let id = |alias: &str| compiled.by_alias(alias).unwrap().id().clone();
    assert_eq!((id("file_read"), id("host_file_read")), (project, host));
}
