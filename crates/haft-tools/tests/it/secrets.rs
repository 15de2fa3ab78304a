//! Folders of secrets, in a project and elsewhere: whichever file tool looks, each file is asked for by itself, and nothing of it is
//! kept.

use haft_core::policy::Outcome;
use haft_core::{Grant, Scope};
use haft_tools::files;
use serde_json::{Value, json};

use crate::host_support::{Machine, grant};
use crate::support::{Ground, Invocation};

const SECRET: &str = "open-sesame-now";

fn project(ground: &Ground) -> Invocation {
    ground.root.create_dir_all("demo/.secrets/deep").unwrap();
    for file in ["demo/.secrets/key", "demo/.secrets/deep/other"] {
        ground.root.write(file, SECRET).unwrap();
    }
    Invocation::new(files::tools().unwrap(), ground.services()).in_project("demo", Some("/p/demo"))
}

// APR-14, CONFLICT-29: a folder of secrets in a project is one as that of the home is.
#[test]
fn reading_a_secret_of_a_project_asks_for_that_very_file() {
    let ground = Ground::new();
    let mut tools = project(&ground);
    for path in [".secrets/key", "./src/../.secrets//key", ".SECRETS/key", "a/.secrets/b/c"] {
        let decision = tools.decide("file_read", json!({"path": path}));
        assert_eq!(decision.outcome, Outcome::Ask, "{path}");
        assert!(decision.exact && decision.secret, "{path}");
    }
    for path in ["src/a", ".secretsx/key", "x.secrets/key"] {
        assert_eq!(tools.decide("file_read", json!({"path": path})).outcome, Outcome::Allow, "{path}");
    }
    let key = json!({"path": ".secrets/key"});
    let decision = tools.decide("file_read", key.clone());
    assert_eq!(
        decision.question.as_deref(),
        Some("Read the secret `.secrets/key` of the project and show it to the model?")
    );
    assert_eq!(decision.scopes, [Scope::File("/p/demo/.secrets/key".into())]);
    let with = |scope: Scope| -> [Grant; 1] { [grant("project.file_read", scope)] };
    for wide in [
        Scope::Tool,
        Scope::Path("/".into()),
        Scope::Path("/p/demo/.secrets".into()),
        Scope::File("/p/demo/.secrets/other".into()),
    ] {
        assert!(!tools.runs_with(&with(wide.clone()), "file_read", key.clone()), "{wide}");
    }
    assert!(tools.runs_with(&with(Scope::File("/p/demo/.secrets/key".into())), "file_read", key));
}

fn changes() -> [(&'static str, Value, &'static [&'static str]); 3] {
    let edit = json!({"path": ".secrets/key", "old_string": SECRET, "new_string": "another-one-now"});
    [
        ("file_write", json!({"path": ".secrets/key", "content": "a new one"}), &["content"]),
        ("file_edit", edit, &["old_string", "new_string"]),
        ("file_delete", json!({"path": ".secrets/deep/other"}), &[]),
    ]
}

// APR-14: no yes but one to this call changes a secret, and no trace of it is left.
#[tokio::test]
async fn changing_a_secret_of_a_project_asks_every_time_and_keeps_nothing() {
    let ground = Ground::new();
    let mut tools = project(&ground);
    tools.call("file_read", json!({"path": ".secrets/key"})).await.unwrap();
    for (alias, arguments, secret) in changes() {
        let decision = tools.decide(alias, arguments.clone());
        assert!(decision.every_time && decision.secret, "{alias}");
        assert_eq!(decision.secret_arguments, secret, "{alias}");
        let all = [grant(&format!("project.{alias}"), Scope::Tool)];
        assert!(!tools.runs_with(&all, alias, arguments), "{alias}");
    }
    // The edit first: it needs what was read.
    for (alias, arguments, _) in changes().into_iter().rev() {
        let output = tools.call(alias, arguments).await.unwrap();
        assert!(output.changes.is_empty(), "{alias}: {:?}", output.changes);
    }
    assert_eq!(ground.file(".secrets/key").as_deref(), Some("a new one"));
    assert_eq!(ground.file(".secrets/deep/other"), None);
    assert_eq!(ground.images_kept(), 0);
    // A plain file is kept as ever.
    tools.call("file_write", json!({"path": "a", "content": "1"})).await.unwrap();
    let output = tools.call("file_write", json!({"path": "a", "content": "2"})).await.unwrap();
    assert_eq!((output.changes.len(), ground.images_kept()), (1, 1));
}

// APR-14: names of secrets are told, what is in them is not.
#[tokio::test]
async fn a_listing_tells_names_alone_and_a_link_leads_to_no_secret() {
    let ground = Ground::new();
    let mut tools = project(&ground);
    ground.root.symlink(".secrets/key", "demo/plain").unwrap();
    ground.root.symlink(".secrets", "demo/folder").unwrap();
    let listed = tools.text("file_list", json!({"path": ".secrets"})).await;
    assert_eq!(listed, "deep/\nkey");
    for path in ["plain", "folder/key", "folder/deep/other"] {
        let (code, message) = tools.error("file_read", json!({"path": path})).await;
        assert_eq!(code, "project.path_is_link", "{path}");
        assert!(!message.contains(SECRET), "{message}");
    }
    // A link to a plain file is followed as ever.
    ground.root.write("demo/src/a", "text").unwrap();
    ground.root.symlink("src/a", "demo/to_a").unwrap();
    assert_eq!(tools.text("file_read", json!({"path": "to_a"})).await, "text");
}

// APR-14: the tools of the machine see the folders of secrets of projects as what they are.
#[tokio::test]
async fn the_tools_of_the_machine_know_every_folder_of_secrets() {
    let machine = Machine::new();
    let mut tools = machine.invocation();
    let key = machine.path("a/.secrets/key");
    let read = json!({"path": key});
    let decision = tools.decide("file_read", read.clone());
    assert_eq!(decision.outcome, Outcome::Ask);
    assert!(decision.exact && decision.secret);
    assert!(!tools.runs_with(&[grant("host.file_read", Scope::Path("/".into()))], "file_read", read.clone()));
    assert!(tools.runs_with(&[grant("host.file_read", Scope::File(key.clone()))], "file_read", read));
    let written = tools.decide("file_write", json!({"path": key, "content": "x"}));
    assert!(written.every_time && written.secret);
    assert_eq!(written.secret_arguments, ["content"]);
}

// A project that lies around Haft's home is no way around what guards it.
#[test]
fn a_project_around_the_home_reaches_nothing_of_haft_unasked() {
    let ground = Ground::new();
    let machine = Machine::new();
    let mut places = machine.places();
    (places.haft_home, places.secrets_folder) = ("/p/demo/.haft".into(), "/p/demo/.haft/vault".into());
    let mut tools = project(&ground).on_host(places);
    for path in [".haft/haft.toml", ".haft/profiles/default.md", "src/../.haft/x", ".haft/vault/key"] {
        for (alias, arguments) in [
            ("file_write", json!({"path": path, "content": "x"})),
            ("file_edit", json!({"path": path, "old_string": "a", "new_string": "b"})),
            ("file_delete", json!({"path": path})),
            ("file_mkdir", json!({"path": path})),
        ] {
            let decision = tools.decide(alias, arguments);
            assert!(decision.outcome == Outcome::Ask && decision.every_time, "{alias} {path}");
        }
    }
    assert!(tools.decide("file_read", json!({"path": ".haft/vault/key"})).secret);
    assert_eq!(tools.decide("file_read", json!({"path": ".haft/haft.toml"})).outcome, Outcome::Allow);
    assert_eq!(tools.decide("file_write", json!({"path": ".haftx", "content": "x"})).outcome, Outcome::Allow);
}
