//! Chats that were brought along, world info that is frozen into a run, and tools that no earlier result answers.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod support;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use haft_core::chat::{ChatFile, ChatMessage, ChatRole, read_chat_file};
use haft_core::lorebook::{BookError, Lorebook, Lorebooks, WorldInfoActivation, read_lorebook};
use haft_core::message::Message;
use haft_core::profile::Reuse;
use haft_core::{Payload, RunId, Services, SessionId, ToolId, ToolRegistry};
use haft_engine::{
    Engine, EngineError, EngineParts, Session, SessionChoice, chat_file, conversation, opening_of,
};
use haft_store::MemoryStore;
use serde_json::json;
use support::{FailingStore, FakeModel, TestIds, World, call, says};

const GROUP: &str = concat!(
    r#"{"user_name":"Ada","character_name":"Keeper","chat_metadata":{}}"#,
    "\n",
    r#"{"name":"Keeper","is_user":false,"mes":"Who is there?"}"#,
    "\n",
    r#"{"name":"Ada","is_user":true,"mes":"A friend."}"#,
    "\n",
    r#"{"name":"Gull","is_user":false,"mes":"Kree!"}"#,
    "\n",
    r#"{"name":"Note","is_system":true,"mes":"It is night."}"#,
    "\n",
);

/// Books by name; they can be changed while a test runs.
#[derive(Default)]
struct Shelf(Mutex<Vec<(String, String)>>);

impl Lorebooks for Shelf {
    fn book(&self, name: &str) -> Result<Lorebook, BookError> {
        let books = self.0.lock().unwrap();
        let found = books.iter().find(|(known, _)| known == name);
        let (name, json) = found.ok_or_else(|| BookError::Missing {
            name: name.to_owned(),
            next_step: "put it on the shelf".to_owned(),
        })?;
        Ok(read_lorebook(name, json)?)
    }
}

/// A world with the tools of chats, world info, dice and workspaces, and with these books.
fn world(shelf: &Arc<Shelf>) -> World {
    let mut world = World::new();
    let mut registry = ToolRegistry::default();
    for tool in world.engine.registry().iter() {
        registry.register(tool.clone()).unwrap();
    }
    let own = [
        haft_tools::chat::tools().unwrap(),
        haft_tools::worldinfo::tools().unwrap(),
        haft_tools::dice::tools().unwrap(),
        haft_tools::workspace::tools().unwrap(),
    ];
    let own: Vec<_> = own.into_iter().flatten().collect();
    world.profile.tools.allow.extend(own.iter().map(|tool| tool.declaration().id().clone()));
    registry.register_all(own).unwrap();
    let mut services = Services::default();
    services.insert::<dyn Lorebooks>(shelf.clone());
    world.engine = Engine::new(EngineParts {
        store: world.store.clone(),
        clock: world.clock.clone(),
        ids: Arc::new(TestIds::default()),
        registry: Arc::new(registry),
        services,
        owner: "test".into(),
    });
    world
}

async fn import(world: &World, text: &str) -> (SessionId, RunId) {
    let chat = read_chat_file(text).unwrap();
    world.engine.import_chat(&chat, "coast.jsonl", "test", None).await.unwrap()
}

async fn say(world: &World, session: &Session, prompt: &str) -> (RunId, Arc<FakeModel>) {
    let model = FakeModel::new(vec![says("Good.", vec![])]);
    let ended = session.prompt(prompt.to_owned(), model.clone(), world.options()).wait().await.unwrap();
    (ended.run, model)
}

async fn answer(world: &World, session: &Session, name: &str, arguments: serde_json::Value) -> String {
    let outcomes = session.calls(vec![call(name, arguments)], world.options()).wait().await.unwrap();
    outcomes[0].result.text()
}

fn user(text: &str) -> Message {
    Message::User(text.to_owned())
}

fn assistant(text: &str) -> Message {
    Message::Assistant {
        text: text.to_owned(),
        raw: None,
        calls: Vec::new(),
        call_ids: Vec::new(),
        provider_metadata: None,
    }
}

#[tokio::test]
async fn what_a_session_begins_with_is_told_by_its_first_records() {
    let store = Arc::new(FailingStore::new(Arc::new(MemoryStore::new()), u32::MAX));
    let world = World::over(store.clone());
    let session = world.session().await;
    session.calls(vec![call("echo", json!({"text": "x"}))], world.options()).wait().await.unwrap();
    let opening = async |id: &SessionId| {
        store.read_whole.store(0, Ordering::Relaxed);
        let opening = opening_of(store.as_ref(), id).await.unwrap();
        (opening, store.read_whole.load(Ordering::Relaxed))
    };
    // Calls alone are no conversation.
    assert_eq!(opening(session.id()).await, (None, 0));
    for prompt in ["Good morning.", "And now?"] {
        say(&world, &session, prompt).await;
    }
    assert_eq!(opening(session.id()).await, (Some("Good morning.".to_owned()), 0));
    let (chat, _) = import(&world, GROUP).await;
    assert_eq!(opening(&chat).await, (Some("Who is there?".to_owned()), 1));
}

// CHT-01, CHT-02
#[tokio::test]
async fn a_group_chat_is_the_beginning_of_a_session() {
    let world = world(&Arc::default());
    let (id, run) = import(&world, GROUP).await;
    assert_eq!(world.kinds(&run).await, ["run_started", "chat_imported", "run_ended"]);
    // A model sees names and who is a narrator, and a person opens.
    let expected = [
        user("[The conversation begins.]"),
        assistant("Keeper: Who is there?"),
        user("Ada: A friend."),
        assistant("Gull: Kree!"),
        user("[system] Note: It is night."),
    ];
    assert_eq!(conversation(world.store.as_ref(), &id).await.unwrap(), expected);
    let session = world.reopen(SessionChoice::Id(id.clone())).await;
    let (_, model) = say(&world, &session, "Listen.").await;
    assert_eq!(model.requests.lock().unwrap()[0].messages[..5], expected);
    // People and tools see the chat as it was; the header has no index.
    let first = answer(&world, &session, "chat_read_messages", json!({"messages": [{"index": 0}]})).await;
    assert!(first.contains("assistant, Keeper") && first.contains("Who is there?"), "{first}");
    let found = answer(&world, &session, "chat_search", json!({"query": "kree"})).await;
    assert!(found.contains("message 2 (assistant, Gull)"), "{found}");
    let last = answer(&world, &session, "chat_read_messages", json!({"messages": [{"index": 5}]})).await;
    assert!(last.contains("Good."), "{last}");
    // And it goes out again as it came in, with what was said since.
    let mut expected = read_chat_file(GROUP).unwrap();
    for (role, text) in [(ChatRole::User, "Listen."), (ChatRole::Assistant, "Good.")] {
        expected.messages.push(ChatMessage { role, name: None, text: text.to_owned() });
    }
    assert_eq!(chat_file(world.store.as_ref(), &id).await.unwrap(), expected);
}

// CHT-01
#[tokio::test]
async fn in_a_chat_of_two_the_roles_say_who_speaks() {
    let world = world(&Arc::default());
    let two = "{\"chat_metadata\":{}}\n{\"name\":\"Ada\",\"is_user\":true,\"mes\":\"Hello.\"}\n\
        {\"name\":\"Keeper\",\"mes\":\" \"}\n{\"name\":\"Keeper\",\"mes\":\"Hm.\"}\n";
    let (id, _) = import(&world, two).await;
    assert_eq!(conversation(world.store.as_ref(), &id).await.unwrap(), [user("Hello."), assistant("Hm.")]);
    // The empty message keeps its index.
    assert_eq!(chat_file(world.store.as_ref(), &id).await.unwrap().messages.len(), 3);
}

// CHT-01
#[tokio::test]
async fn a_chat_is_masked_and_can_be_taken_away() {
    let store = Arc::new(haft_store::MemoryStore::new());
    let world = World::knowing(store.clone(), &[("harbour", "s3cret-harbour-key")]);
    let text = "{\"user_name\":\"s3cret-harbour-key\"}\n{\"name\":\"Ada\",\"is_user\":true,\"mes\":\"It is s3cret-harbour-key.\"}\n";
    let (id, run) = import(&world, text).await;
    let chat = chat_file(store.as_ref(), &id).await.unwrap();
    let message = ChatMessage {
        role: ChatRole::User,
        name: Some("Ada".to_owned()),
        text: "It is [secret harbour].".to_owned(),
    };
    assert_eq!(chat, ChatFile::new(Some("[secret harbour]".to_owned()), None, vec![message]));
    let lease = world.store.lease(&id, "test", haft_core::Timestamp(9)).await.unwrap();
    world.store.redact(&lease, &run, 1, "private", haft_core::Timestamp(9)).await.unwrap();
    world.store.release(&lease).await.unwrap();
    assert_eq!(
        conversation(store.as_ref(), &id).await.unwrap(),
        [user("[system] [This chat was taken away: private]")]
    );
    assert_eq!(world.store.file(&run, "input/chat.jsonl").await.unwrap().and_then(|file| file.bytes), None);
}

const COAST: &str = r#"{"scan_depth": 6, "entries": [
    {"keys": [], "constant": true, "name": "The coast", "content": "The coast is steep.", "position": "before_char"},
    {"keys": ["keeper"], "name": "The keeper", "content": "He never sleeps.", "position": "after_char"},
    {"keys": ["lamp"], "name": "The lamp", "content": "It never goes out.", "position": "at_depth", "depth": 1},
    {"keys": ["whale"], "name": "The whale", "content": "It is white.", "position": "after_char"}
]}"#;

// WLD-01, WLD-02
#[tokio::test]
async fn world_info_is_activated_at_the_start_and_frozen_into_the_run() {
    let shelf = Arc::new(Shelf::default());
    shelf.0.lock().unwrap().push(("coast".to_owned(), COAST.to_owned()));
    let mut world = world(&shelf);
    world.profile.world_info = vec!["coast".to_owned()];
    let (id, _) = import(&world, GROUP).await;
    let session = world.reopen(SessionChoice::Id(id)).await;
    let model = FakeModel::new(vec![
        says("", vec![call("worldinfo_read_activated", json!({}))]),
        says("", vec![call("worldinfo_read_activated", json!({"entries": [{"ref": "w3"}]}))]),
        says("Bright.", vec![]),
    ]);
    let options = world.options();
    let ended = session.prompt("Who lit the lamp?".to_owned(), model.clone(), options).wait().await.unwrap();
    let requests = std::mem::take(&mut *model.requests.lock().unwrap());
    // The entries stand by their positions: around the prompt, and one message from the end.
    assert_eq!(requests[0].system, "The coast is steep.\n\nYou test.\n\nHe never sleeps.");
    assert_eq!(
        requests[0].messages[5..],
        [user("[World info]\nIt never goes out."), user("Who lit the lamp?")]
    );
    assert_eq!(requests[2].system, requests[0].system);
    let results: Vec<&str> = requests[2]
        .messages
        .iter()
        .filter_map(|message| match message {
            Message::Results(results) => Some(results[0].content.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(
        results[0],
        "3 entries of world info are active:\n\
         - w1: The coast (coast, before the character, 1 line, 19 characters)\n\
         - w2: The keeper (coast, after the character, 1 line, 16 characters)\n\
         - w3: The lamp (coast, among the messages, 1 line, 18 characters)"
    );
    assert_eq!(results[1], "## The lamp\nIt never goes out.");
    // The run holds what was active, and a record names it.
    assert_eq!(
        world.kinds(&ended.run).await[..3],
        ["run_started", "context_assembled", "world_info_activated"]
    );
    let file = world.store.file(&ended.run, "input/world_info_activation.json").await.unwrap().unwrap();
    let frozen: WorldInfoActivation = serde_json::from_slice(&file.bytes.unwrap()).unwrap();
    let names: Vec<&str> = frozen.entries.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["The coast", "The keeper", "The lamp"]);
    let Payload::WorldInfoActivated(record) = &world.payloads(&ended.run).await[2] else { panic!() };
    assert_eq!(record.entries, 3);
    // World info is no message of the conversation: the next run finds out anew what is active.
    shelf.0.lock().unwrap()[0].1 = COAST.replace("steep", "flat");
    let (_, model) = say(&world, &session, "And the whale?").await;
    let request = &model.requests.lock().unwrap()[0];
    assert_eq!(request.system, "The coast is flat.\n\nYou test.\n\nIt is white.");
    let among =
        request.messages.iter().filter(|message| **message == user("[World info]\nIt never goes out."));
    assert_eq!(among.count(), 1);
}

// WLD-02
#[tokio::test]
async fn a_run_whose_book_is_missing_does_not_begin() {
    let mut world = world(&Arc::default());
    world.profile.world_info = vec!["nowhere".to_owned()];
    let session = world.session().await;
    let model = FakeModel::new(vec![]);
    let error = session.prompt("Hello".to_owned(), model, world.options()).wait().await.unwrap_err();
    let EngineError::System { code, message } = error else { panic!("{error}") };
    assert_eq!(
        (code.as_str(), message.as_str()),
        (
            "worldinfo.book_unreadable",
            "the profile test: there is no book `nowhere` of world info; put it on the shelf"
        )
    );
    assert!(world.store.runs(Some(session.id())).await.unwrap().is_empty());
}

// CCH-01, CCH-03, CCH-04, CONFLICT-16: NanoClaw's reuse to the letter gives no old roll, and no file of another run.
#[tokio::test]
async fn tools_that_never_repeat_run_every_time() {
    let mut world = world(&Arc::default());
    world.profile.reuse = Reuse {
        batch: true,
        history: true,
        cache_ttl_s: Some(Reuse::CACHE_TTL_S),
        include_side_effects: true,
        failures: true,
    };
    let session = world.session().await;
    let calls = || {
        vec![
            call("dice_roll", json!({"formula": "1d1000000"})),
            call("dice_roll", json!({"formula": "1d1000000"})),
            call("workspace_list_files", json!({})),
            call("chat_search", json!({"query": "x"})),
            call("worldinfo_read_activated", json!({})),
            call("echo", json!({"text": "a"})),
        ]
    };
    let mut skipped = Vec::new();
    for _ in 0..2 {
        let outcomes = session.calls(calls(), world.options()).wait().await.unwrap();
        assert_ne!(outcomes[0].result.text(), outcomes[1].result.text());
        skipped.push(outcomes.iter().map(|outcome| outcome.result.skipped).collect::<Vec<_>>());
    }
    assert_eq!(skipped, [vec![false; 6], vec![false, false, false, false, false, true]]);
    let facts = |name: &str| {
        world.engine.registry().get(&ToolId::builtin(name)).unwrap().declaration().facts.never_repeats
    };
    for name in
        ["workspace.read_file", "workspace.search_files", "workspace.write_file", "chat.read_messages"]
    {
        assert!(facts(name), "{name}");
    }
}
