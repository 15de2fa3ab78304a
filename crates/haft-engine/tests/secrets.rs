//! What is masked: a secret stands in no byte of what is stored, exported or shown, wherever it was; the model sees what it was
//! given; everything still verifies.
#![allow(clippy::disallowed_methods, reason = "looks into the files that the store wrote")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod support;

use std::path::Path;
use std::sync::Arc;

use haft_core::mask::{Mask, View};
use haft_core::message::Message;
use haft_core::ports::{JournalRows, SessionRows};
use haft_core::profile::Reuse;
use haft_core::{Payload, RequestedCall, Timestamp, ToolResult};
use haft_engine::{SessionChoice, conversation, replay_events};
use haft_schema::canonical;
use haft_store::verify::{Class, verify_store};
use haft_store::{SqliteStore, export_run};
use proptest::prelude::*;
use serde_json::{Value, json};
use support::{FakeModel, World, call, says};

const KEY: &str = "kn0wn-s3cret-value";
const ODD: &str = "sec\"ret\\with/é\nlines-123";
/// Nobody told of it; its form gives it away.
const FORM: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

fn everything(folder: &Path) -> Vec<u8> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { all.extend(everything(&path)) } else { all.extend(std::fs::read(&path).unwrap()) }
    }
    all
}

/// The ways in which a secret could stand in bytes.
fn forms(secret: &str) -> Vec<Vec<u8>> {
    let mut forms = vec![secret.to_owned()];
    for _ in 0..3 {
        let written = json!(forms.last().unwrap()).to_string();
        forms.push(written[1..written.len() - 1].to_owned());
    }
    forms.into_iter().map(String::into_bytes).collect()
}

#[track_caller]
fn assert_nowhere(secret: &str, bytes: &[u8], place: &str) {
    for form in forms(secret) {
        let found = bytes.windows(form.len()).position(|window| window == form);
        if let Some(at) = found {
            let around = &bytes[at.saturating_sub(200)..(at + 80).min(bytes.len())];
            panic!("{secret:?} stands in {place}: {}", String::from_utf8_lossy(around));
        }
    }
}

fn assert_fits(store: &SqliteStore) {
    let report = verify_store(store, &[], Timestamp(u64::MAX)).unwrap();
    let all = report.runs.iter().flat_map(|run| &run.findings).chain(&report.findings);
    let damage: Vec<String> =
        all.filter(|finding| matches!(finding.class(), Class::Damage)).map(ToString::to_string).collect();
    assert_eq!(damage, Vec::<String>::new());
}

struct Home {
    folder: tempfile::TempDir,
    store: Arc<SqliteStore>,
    world: World,
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(SqliteStore::open(folder.path(), Timestamp(1)).unwrap());
        let world = World::knowing(store.clone(), &[("key", KEY), ("odd", ODD)]);
        Self { folder, store, world }
    }

    /// No secret stands in a file of the home, an export, or an event.
    async fn assert_clean(&self, secrets: &[&str]) {
        assert_fits(&self.store);
        let mut shown = Vec::new();
        for run in self.store.runs(None).await.unwrap() {
            let export = export_run(self.store.as_ref(), &run.id).await.unwrap();
            let target = self.folder.path().join(format!("export-{}", run.id));
            export.write(&target).unwrap();
            let events = replay_events(self.store.as_ref(), &run.id).await.unwrap();
            shown.extend(serde_json::to_vec(&events).unwrap());
            shown.extend(
                format!("{:?}", conversation(self.store.as_ref(), &run.session).await.unwrap()).into_bytes(),
            );
        }
        shown.extend(serde_json::to_vec(&*self.world.events.0.lock().unwrap()).unwrap());
        let stored = everything(self.folder.path());
        for secret in secrets {
            assert_nowhere(secret, &stored, "a file");
            assert_nowhere(secret, &shown, "what is shown");
        }
    }
}

async fn stored(world: &World, outcome: &haft_engine::CallOutcome) -> ToolResult {
    let path = format!("tool-results/{}.json", outcome.result.call_id.file_stem());
    let file = world.store.file(&outcome.run, &path).await.unwrap().unwrap();
    serde_json::from_slice(&file.bytes.unwrap()).unwrap()
}

fn asks_for(text: &str) -> Vec<RequestedCall> {
    let odd = json!({"text": format!("a {text} b"), text: [text, {"deep": text}]});
    vec![
        call("echo", odd.clone()),
        call("asks", odd.clone()),
        call("nobody-knows", odd.clone()),
        call(text, odd),
        RequestedCall::Malformed {
            name: Some(text.into()),
            reason: format!("bad {text}"),
            raw: json!({"arguments": text}).to_string(),
            // Given back to the provider as it is, unless it is known for a secret.
            wire_id: Some(if text == FORM { "w" } else { text }.into()),
        },
        call("long", json!({"size": 60_000})),
    ]
}

#[tokio::test]
async fn a_secret_stands_nowhere_wherever_it_was() {
    for secret in [KEY, ODD, FORM] {
        let home = Home::new();
        let session = home.world.session().await;
        let mut turn = says(&format!("I use {secret}."), asks_for(secret)).unwrap();
        turn.reasoning = format!("hm {secret}");
        turn.raw = Some(json!({"content": json!({"inner": secret}).to_string()}).to_string());
        if secret != FORM {
            turn.provider_metadata = Some(json!({"signature": secret}));
        }
        let model = FakeModel::new(vec![Ok(turn), says(&format!("done with {secret}"), vec![])]);
        let options = home.world.options();
        let ended =
            session.prompt(format!("log in with {secret}"), model.clone(), options).wait().await.unwrap();
        assert!(!ended.text.contains(secret), "{}", ended.text);
        // An answer of a person too, and single calls.
        let outcomes = session.calls(asks_for(secret), home.world.options()).wait().await.unwrap();
        assert_eq!(outcomes[0].arguments["text"], format!("a {secret} b"));
        session.close().await.unwrap();
        home.assert_clean(&[secret]).await;
        drop(model);
    }
}

#[tokio::test]
async fn the_model_sees_forms_and_no_known_secret() {
    let home = Home::new();
    let session = home.world.session().await;
    let calls = vec![call("echo", json!({"text": format!("{KEY} and {FORM}")}))];
    let model = FakeModel::new(vec![says("", calls.clone()), says("done", vec![]), says("again", vec![])]);
    let run = |prompt: String| session.prompt(prompt, model.clone(), home.world.options()).wait();
    run(format!("use {KEY} and {FORM}")).await.unwrap();
    {
        let requests = model.requests.lock().unwrap();
        assert_eq!(requests[0].messages, [Message::User(format!("use [secret key] and {FORM}"))]);
        let Some(Message::Results(results)) = requests[1].messages.last() else { panic!("no results") };
        assert!(results[0].content.contains(&format!("[secret key] and {FORM}")), "{}", results[0].content);
    }
    // What is read back from the journal is masked.
    run("and now?".to_owned()).await.unwrap();
    let requests = model.requests.lock().unwrap();
    let masked = "[secret key] and [masked GitHub token, 40 characters]";
    assert_eq!(requests[2].messages[0], Message::User(format!("use {masked}")));
    let Message::Results(results) = &requests[2].messages[2] else { panic!("no results") };
    assert!(results[0].content.contains(masked), "{}", results[0].content);
    // The tool itself was given what the model wrote.
    assert_eq!(home.world.logged(), [format!("echo {KEY} and {FORM}")]);
}

#[tokio::test]
async fn digests_in_records_are_those_of_what_is_stored() {
    let home = Home::new();
    let session = home.world.session().await;
    let calls = vec![call("echo", json!({"text": KEY})), call("asks", json!({"text": FORM}))];
    let outcomes = session.calls(calls, home.world.options()).wait().await.unwrap();
    let mut digests = Vec::new();
    for payload in home.world.payloads(&outcomes[0].run).await {
        match payload {
            Payload::ToolCallRequested(body) => {
                digests.push(body.arguments_digest.unwrap());
                assert_eq!(body.arguments_digest, Some(body.arguments_file.sha256));
            }
            Payload::ConsentOpened(question) => {
                assert_eq!(question.digest, canonical::digest(&question.arguments));
                assert_eq!(question.arguments, json!({"text": "[masked GitHub token, 40 characters]"}));
            }
            _ => {}
        }
    }
    let masked = [json!({"text": "[secret key]"}), json!({"text": "[masked GitHub token, 40 characters]"})];
    assert_eq!(digests, masked.each_ref().map(canonical::digest));
    session.close().await.unwrap();
    home.assert_clean(&[KEY, FORM]).await;
}

// CONFLICT-29
#[tokio::test]
async fn a_secret_result_goes_to_the_model_and_nowhere_else() {
    let mut home = Home::new();
    home.world.profile.reuse =
        Reuse { batch: true, history: true, cache_ttl_s: Some(300), ..Reuse::default() };
    home.world.profile.spill.threshold = 4;
    let secret = "nobody would guess that";
    let session = home.world.session().await;
    let calls = vec![call("secret", json!({"text": KEY})), call("secret", json!({"text": KEY}))];
    let outcomes = session.calls(calls.clone(), home.world.options()).wait().await.unwrap();
    let again = session.calls(calls, home.world.options()).wait().await.unwrap();
    // Whole for the model, never spilled, and never given again without asking the tool.
    for outcome in outcomes.iter().chain(&again) {
        assert_eq!(outcome.result.text(), json!({"text": KEY}).to_string());
        assert!(!outcome.result.skipped);
        let stored = stored(&home.world, outcome).await;
        let characters = json!({"text": KEY}).to_string().len();
        assert_eq!(stored.text(), format!("[secret result, {characters} characters]"));
        assert_eq!((stored.structured, stored.ui, stored.metadata.len()), (None, None, 0));
    }
    assert_eq!(home.world.logged().len(), 4);
    assert!(session.artifacts().is_empty());
    // Nobody else knows of this one.
    let calls = vec![call("secret", json!({"size": 77_777_777})), call("secret", json!({"text": ""}))];
    session.calls(calls, home.world.options()).wait().await.unwrap();
    session.close().await.unwrap();
    home.assert_clean(&[KEY, secret]).await;
    let model = FakeModel::new(vec![
        says("", vec![call("secret", json!({"text": "x"}))]),
        says("", vec![]),
        says("", vec![]),
    ]);
    let session = home.world.session().await;
    for prompt in ["one", "two"] {
        session.prompt(prompt.into(), model.clone(), home.world.options()).wait().await.unwrap();
    }
    let requests = model.requests.lock().unwrap();
    let content = |request: usize, message: usize| match &requests[request].messages[message] {
        Message::Results(results) => results[0].content.clone(),
        other => panic!("{other:?}"),
    };
    assert!(content(1, 2).contains("\"x\""));
    assert!(content(2, 2).contains("[secret result, 12 characters]"), "{}", content(2, 2));
}

// CONFLICT-29: what a model writes where secrets are kept stands in no record, not even in that of the turn that says it.
#[tokio::test]
async fn a_secret_that_the_model_writes_is_stored_nowhere() {
    let home = Home::new();
    let session = home.world.session().await;
    let (long, short) = ("a new \"one\" & <more>", "s#ort7");
    let calls = vec![call("keeps", json!({"text": long})), call("keeps", json!({"text": short}))];
    let mut turn = says(&format!("I keep {long}."), calls).unwrap();
    turn.raw = Some(format!("<call>a new &quot;one&quot; &amp; &lt;more> {short}</call>"));
    let model = FakeModel::new(vec![
        Ok(turn),
        says("", vec![call("echo", json!({"text": format!("again {long}")}))]),
        says(&format!("kept {long}"), vec![]),
        says("", vec![]),
    ]);
    let run = |prompt: &str| session.prompt(prompt.into(), model.clone(), home.world.options()).wait();
    let ended = run("keep one").await.unwrap();
    assert_eq!(ended.text, "kept [secret argument]");
    // The tools themselves were given it, and each call was asked about once.
    assert_eq!(home.world.logged()[..2], [format!("keeps {long}"), format!("keeps {short}")]);
    assert_eq!(home.world.cells.asked.load(std::sync::atomic::Ordering::Relaxed), 3);
    run("and now?").await.unwrap();
    {
        let requests = model.requests.lock().unwrap();
        let Message::Assistant { raw, calls, text, .. } = &requests[3].messages[1] else { panic!("no turn") };
        assert_eq!((raw.as_deref(), text.as_str()), (None, "I keep [secret argument]."));
        let masked = |value: &str| call("keeps", json!({"text": value}));
        assert_eq!(
            calls[..],
            [masked("[secret argument, 20 characters]"), masked("[secret argument, 6 characters]")]
        );
    }
    session.close().await.unwrap();
    home.assert_clean(&[long, short, "a new &quot;one"]).await;
}

// CONFLICT-29: a call that never runs keeps its secret as well, however short, and single calls keep theirs as those of a model do.
#[tokio::test]
async fn a_secret_of_a_call_that_is_refused_is_stored_nowhere() {
    let mut home = Home::new();
    home.world.profile.budgets.calls = 2;
    let (long, short) = ("a new \"one\" & <more>", "s#ort7");
    let calls = || {
        vec![
            call("keeps", json!({"text": long})),
            call("echo", json!({"text": format!("again {long}")})),
            call("keeps", json!({"text": short})),
        ]
    };
    let session = home.world.session().await;
    let outcomes = session.calls(calls(), home.world.options()).wait().await.unwrap();
    let codes = outcomes.iter().map(|outcome| outcome.result.error_code.clone());
    let used_up = haft_core::ErrorCode::BUDGET_EXHAUSTED;
    assert_eq!(codes.collect::<Vec<_>>(), [None, None, Some(used_up)]);
    let model = FakeModel::new(vec![says("", calls()), says("", vec![])]);
    session.prompt("keep them".into(), model, home.world.options()).wait().await.unwrap();
    let arguments = format!("[secret argument, {} characters]", short.len());
    for run in home.store.runs(None).await.unwrap() {
        let requested = home.world.payloads(&run.id).await.into_iter().filter_map(|payload| match payload {
            Payload::ToolCallRequested(body) => Some(body.arguments_file.path),
            _ => None,
        });
        let last = home.store.file(&run.id, &requested.last().unwrap()).await.unwrap().unwrap();
        assert_eq!(last.bytes.unwrap(), json!({"text": arguments}).to_string().into_bytes());
    }
    session.close().await.unwrap();
    home.assert_clean(&[long, short]).await;
}

// CONFLICT-29: whoever was given a secret may repeat it.
#[tokio::test]
async fn a_secret_that_was_read_is_masked_from_then_on() {
    let home = Home::new();
    let session = home.world.session().await;
    let read = json!({"text": "value that nobody named"});
    let model = FakeModel::new(vec![
        says("", vec![call("secret", read.clone())]),
        says(&format!("It says {read}."), vec![]),
    ]);
    let ended = session.prompt("read it".into(), model, home.world.options()).wait().await.unwrap();
    assert_eq!(ended.text, "It says [secret result].");
}

#[tokio::test]
async fn a_masked_result_stands_in_for_no_call() {
    let mut home = Home::new();
    home.world.profile.reuse = Reuse { batch: true, history: true, ..Reuse::default() };
    let session = home.world.session().await;
    let calls = |text: &str| vec![call("look", json!({"text": text})), call("look", json!({"text": text}))];
    let run = |calls| session.calls(calls, home.world.options()).wait();
    assert!(run(calls("plain")).await.unwrap()[1].result.skipped);
    session.close().await.unwrap();
    let session = home.world.reopen(SessionChoice::Last).await;
    let run = |calls| session.calls(calls, home.world.options()).wait();
    assert!(run(calls("plain")).await.unwrap()[0].result.skipped);
    // Two secrets leave the same trace and are two calls.
    let first = call("echo", json!({"text": FORM}));
    let second = call("echo", json!({"text": "ghp_9999999999abcdefghijABCDEFGHIJ012345"}));
    let masked = call("echo", json!({"text": "[masked GitHub token, 40 characters]"}));
    for one in [first.clone(), first, second, masked] {
        assert!(!run(vec![one]).await.unwrap()[0].result.skipped);
    }
    session.close().await.unwrap();
    let session = home.world.reopen(SessionChoice::Last).await;
    let masked = call("echo", json!({"text": "[masked GitHub token, 40 characters]"}));
    assert!(!session.calls(vec![masked], home.world.options()).wait().await.unwrap()[0].result.skipped);
}

#[tokio::test]
async fn what_is_masked_can_be_redacted_and_deleted_and_verifies() {
    let home = Home::new();
    let session = home.world.session().await;
    let calls = vec![call("secret", json!({"text": KEY})), call("echo", json!({"text": FORM}))];
    let outcomes = session.calls(calls, home.world.options()).wait().await.unwrap();
    let (id, run) = (session.id().clone(), outcomes[0].run.clone());
    session.close().await.unwrap();
    let lease = home.store.lease(&id, "test", Timestamp(1)).await.unwrap();
    for (seq, kind) in home.world.kinds(&run).await.iter().enumerate() {
        if ["tool_call_requested", "tool_call_completed", "run_started"].contains(&kind.as_str()) {
            home.store.redact(&lease, &run, seq as u64, "too much", Timestamp(2)).await.unwrap();
            assert_fits(&home.store);
        }
    }
    home.store.delete_session(&lease, Timestamp(3)).await.unwrap();
    assert_fits(&home.store);
    assert_nowhere(KEY, &everything(home.folder.path()), "a file");
}

#[tokio::test]
async fn the_model_streams_no_secret_to_surfaces() {
    let world = World::knowing(Arc::new(haft_store::MemoryStore::new()), &[("key", KEY)]);
    let session = world.session().await;
    let model = FakeModel::new(vec![says(&format!("it is {KEY}, or {FORM}"), vec![])]);
    session.prompt("go".into(), model, world.options()).wait().await.unwrap();
    let text: String = world
        .events_of("text_delta")
        .iter()
        .map(|event| event.payload["text"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(text, "it is [secret key], or [masked GitHub token, 40 characters]");
}

fn anywhere(secret: &'static str) -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        "[a-z\"\\\\\n ]{0,6}".prop_map(Value::String),
        ("[a-z\"\\\\ ]{0,6}", "[a-z\"\\\\ ]{0,6}")
            .prop_map(move |(before, after)| json!(format!("{before}{secret}{after}"))),
        any::<i32>().prop_map(|number| json!(number)),
        Just(Value::Null),
    ];
    leaf.prop_recursive(3, 12, 3, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
            prop::collection::vec((prop_oneof!["[a-z]{1,4}", Just(secret.to_owned())], inner), 0..3)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
            Just(Value::String(json!({"inner": secret}).to_string())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    // A secret at any place of arguments, result and prompt stands in no byte of the store.
    #[test]
    fn a_secret_at_any_place_of_a_run_is_stored_nowhere(first in anywhere(ODD), second in anywhere(FORM), third in anywhere(KEY)) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        runtime.block_on(async {
            let home = Home::new();
            let session = home.world.session().await;
            let calls: Vec<RequestedCall> =
                [&first, &second, &third].map(|value| call("echo", json!({"text": "x", "more": value}))).into();
            let model = FakeModel::new(vec![says(&first.to_string(), calls), says(&third.to_string(), vec![])]);
            session.prompt(second.to_string(), model, home.world.options()).wait().await.unwrap();
            session.close().await.unwrap();
            home.assert_clean(&[ODD, FORM, KEY]).await;
        });
    }
}

#[test]
fn a_mask_among_the_services_is_the_one_of_the_engine() {
    let world = World::knowing(Arc::new(haft_store::MemoryStore::new()), &[("key", KEY)]);
    assert_eq!(world.engine.mask().text(KEY, View::Model), "[secret key]");
    assert_eq!(World::new().engine.mask().text(KEY, View::Model), KEY);
    assert!(!Mask::default().knows_secrets());
}
