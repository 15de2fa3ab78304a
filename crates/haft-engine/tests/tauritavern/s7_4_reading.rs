//! Sections 7.4 to 7.6: the chat, skills, world info, and dice, in runs of the preset's kind.

use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use haft_core::Services;
use haft_core::chat::read_chat_file;
use haft_core::journal::RunStatus;
use haft_core::lorebook::{BookError, Lorebook, Lorebooks, read_lorebook};
use haft_core::skills::SkillPolicy;
use haft_engine::SessionChoice;
use haft_tools::skills::SkillFolders;
use serde_json::{Value, json};

use crate::crew::calls;
use crate::support::World;
use crate::tavern::{FILES, Parts, bodies, failures, scripted, stored_results, tavern_of};
use crate::writing::{commit, finish, write};

const GROUP: &str = concat!(
    r#"{"user_name":"Ada","character_name":"Keeper","chat_metadata":{}}"#,
    "\n",
    r#"{"name":"Keeper","is_user":false,"mes":"Who is there?\nThe lamp is dark."}"#,
    "\n",
    r#"{"name":"Ada","is_user":true,"mes":"A friend. Is the lamp broken => or not?"}"#,
    "\n",
    r#"{"name":"Gull","is_user":false,"mes":"Kree!"}"#,
    "\n",
);

fn with(tools: &[&'static str]) -> Vec<&'static str> {
    FILES.into_iter().chain(tools.iter().copied()).collect()
}

fn end() -> crate::tavern::Turn {
    calls(vec![write("output/main.md", "x"), commit(), finish()])
}

// CHT-01, CHT-02, CHT-03, WSP-16, ERR-02: the run's own chat alone, group or not, found by words or signs and read by number and lines; the
// header is no message; nothing found is a success.
#[tokio::test]
async fn the_chat_of_the_run_is_searched_and_read() {
    let team = tavern_of(World::new(), &with(&["chat.search", "chat.read_messages"]), Parts::default());
    let chat = read_chat_file(GROUP).unwrap();
    let (id, _) = team.world.engine.import_chat(&chat, "coast.jsonl", "test", None).await.unwrap();
    let session = team.world.reopen(SessionChoice::Id(id)).await;
    let search = |arguments: Value| ("chat_search", arguments);
    let read = |messages: Value| ("chat_read_messages", json!({"messages": messages}));
    let many: Vec<Value> = (0..21).map(|_| json!({"index": 0})).collect();
    let model = scripted(vec![
        calls(vec![
            search(json!({"query": "LAMP"})),
            search(
                json!({"query": "lamp", "role": "user", "start_message": 0, "end_message": 2, "scan_limit": 9, "limit": 1}),
            ),
            search(json!({"query": "=>"})),
            search(json!({"query": "whale"})),
            search(json!({"query": "lamp", "chat": "another.jsonl"})),
            read(json!([{"index": 0}, {"index": 2}])),
            read(json!([{"index": 0, "start_line": 2, "line_count": 1}])),
            read(json!([{"index": 9}])),
            read(json!([{"index": 0, "start_line": 3}])),
            read(json!(many)),
        ]),
        end(),
    ]);
    let outcome = team.prompt(&session, &model).await;
    assert_eq!(outcome.status, RunStatus::Completed);
    assert_eq!(
        failures(&team, &outcome.run).await,
        [
            "chat_search agent.invalid_arguments",
            "chat_read_messages chat.message_not_found",
            "chat_read_messages chat.invalid_range",
            "chat_read_messages agent.invalid_arguments",
        ]
    );
    insta::assert_snapshot!(bodies(&model, "root").join("\n=====\n"));
    let results = stored_results(&team, &outcome.run).await;
    assert_eq!(results[0].resource_refs, ["chat:current#0", "chat:current#1"]);
    session.close().await.unwrap();
}

struct Folder(Dir);

impl SkillFolders for Folder {
    fn open(&self) -> std::io::Result<Option<Dir>> {
        self.0.try_clone().map(Some)
    }
}

// SKL-01, SKL-02, SKL-03, SKL-04: what the profile shows of skills, read whole or by lines within the budget of the run, and never
// written.
#[tokio::test]
async fn skills_are_listed_searched_and_read_within_the_budget() {
    let folder = tempfile::tempdir().unwrap();
    let root = Dir::open_ambient_dir(folder.path(), ambient_authority()).unwrap();
    for (path, text) in [
        (
            "writing/SKILL.md",
            "---\nname: writing\ndescription: Prose with a steady voice.\n---\nShow, do not tell.\n",
        ),
        ("writing/places.md", "one\nThe lighthouse stands alone.\nthree\n"),
        ("writing/cover.png", "\u{89}PNG\0"),
        ("cards/SKILL.md", "---\nname: cards\ndescription: Cards.\n---\nCompare.\n"),
    ] {
        root.create_dir_all(path.split_once('/').unwrap().0).unwrap();
        root.write(path, text).unwrap();
    }
    let mut services = Services::default();
    services.insert::<dyn SkillFolders>(Arc::new(Folder(root.try_clone().unwrap())));
    let tools = with(&["skill.list", "skill.search", "skill.read"]);
    let mut team = tavern_of(World::new(), &tools, Parts { services, ..Parts::default() });
    team.world.profile.skills = SkillPolicy {
        visible: vec!["*".into()],
        deny: vec!["cards".into()],
        max_read_chars_per_call: 120,
        max_read_chars_per_run: 180,
    };
    let read = |arguments: Value| ("skill_read", arguments);
    let search = |arguments: Value| ("skill_search", arguments);
    let model = scripted(vec![
        calls(vec![
            ("skill_list", json!({})),
            search(json!({"name": "writing", "query": "lighthouse", "context_lines": 0})),
            search(json!({"name": "writing", "query": "lighthouse", "path": "../cards"})),
            search(json!({"name": "writing", "query": "lighthouse", "path": "none"})),
            search(json!({"name": "cards", "query": "compare"})),
            read(json!({"name": "writing"})),
            read(json!({"name": "writing", "path": "places.md", "start_line": 2, "line_count": 1})),
            read(json!({"name": "writing", "path": "cover.png"})),
            read(json!({"name": "writing", "path": "none.md"})),
            read(json!({"name": "writing", "path": "/etc/passwd"})),
            read(json!({"name": "cards"})),
        ]),
        calls(vec![
            read(json!({"name": "writing"})),
            read(json!({"name": "writing", "path": "places.md"})),
            search(json!({"name": "writing", "query": "lighthouse"})),
        ]),
        end(),
    ]);
    team.world.profile.loops =
        haft_core::streak::LoopLimits { same_failures: 99, same_denials: 99, failed_batches: 99 };
    let outcome = team.run(&model).await;
    assert_eq!(outcome.status, RunStatus::Completed);
    let failed = failures(&team, &outcome.run).await.join("\n");
    insta::assert_snapshot!(format!("{}\n\n{failed}", bodies(&model, "root").join("\n=====\n")));
    let places = root.read_to_string("writing/places.md").unwrap();
    assert_eq!(places, "one\nThe lighthouse stands alone.\nthree\n");
    // Neither budget is an argument.
    let asked = model.asked("root");
    let tool = asked[0].tools.iter().find(|tool| tool.alias == "skill_read").unwrap();
    let parameters = tool.input_schema.as_value()["properties"].as_object().unwrap().clone();
    assert_eq!(
        parameters.keys().map(String::as_str).collect::<Vec<_>>(),
        ["name", "path", "start_line", "line_count"]
    );
}

struct Shelf;

impl Lorebooks for Shelf {
    fn book(&self, name: &str) -> Result<Lorebook, BookError> {
        let book = json!({"scan_depth": 4, "entries": [
            {"keys": [], "constant": true, "name": "The coast", "content": "The coast is steep.\nIt is cold.", "position": "before_char"},
            {"keys": ["lamp"], "name": "The lamp", "content": "It never goes out.", "position": "after_char"},
            {"keys": ["whale"], "name": "The whale", "content": "It is white.", "position": "after_char"},
        ]});
        Ok(read_lorebook(name, &book.to_string())?)
    }
}

// WLD-01, WLD-02: the index of what was activated for this run, without bodies; bodies by the names of the index; audit fields stay
// outside of what the model reads.
#[tokio::test]
async fn world_info_of_the_run_is_indexed_and_read() {
    let mut services = Services::default();
    services.insert::<dyn Lorebooks>(Arc::new(Shelf));
    let tools = with(&["worldinfo.read_activated"]);
    let mut team = tavern_of(World::new(), &tools, Parts { services, ..Parts::default() });
    team.world.profile.world_info = vec!["coast".into()];
    let entries = |entries: Value| ("worldinfo_read_activated", json!({"entries": entries}));
    let model = scripted(vec![
        calls(vec![
            ("worldinfo_read_activated", json!({})),
            entries(json!([{"ref": "w1"}])),
            entries(json!([{"ref": "w1", "start_line": 2, "line_count": 1}, {"ref": "w2"}])),
            entries(json!([{"ref": "w3"}])),
            entries(json!([{"ref": "w1", "start_line": 9}])),
        ]),
        end(),
    ]);
    let session = team.world.session().await;
    let prompt = session.prompt("Light the lamp.".into(), model.clone(), team.options());
    let outcome = prompt.wait().await.unwrap();
    session.close().await.unwrap();
    assert_eq!(outcome.status, RunStatus::Completed);
    let bodies = bodies(&model, "root");
    insta::assert_snapshot!(bodies.join("\n=====\n"));
    assert!(!bodies[0].contains("steep") && bodies.iter().all(|body| !body.contains("whale")));
    let results = stored_results(&team, &outcome.run).await;
    let indexed = results[0].structured.as_ref().unwrap()["entries"][0].clone();
    for field in ["uid", "position", "ref"] {
        assert!(indexed.get(field).is_some(), "{field} of {indexed}");
        assert!(field == "position" || !bodies[0].contains(&format!("{field}:")), "{}", bodies[0]);
    }
    assert_eq!(
        failures(&team, &outcome.run).await,
        [
            "worldinfo_read_activated worldinfo.entry_not_found",
            "worldinfo_read_activated worldinfo.invalid_range",
        ]
    );
}

// DIC-01, POL-11: a few dice, only where a profile has them.
#[tokio::test]
async fn dice_are_rolled_where_a_profile_has_them() {
    let team = tavern_of(World::new(), &with(&["dice.roll"]), Parts::default());
    let roll = |formula: &str| ("dice_roll", json!({"formula": formula}));
    let model = scripted(vec![calls(vec![roll("d6"), roll("1d20"), roll("3d6+4"), roll("six")]), end()]);
    let outcome = team.run(&model).await;
    assert_eq!(outcome.status, RunStatus::Completed);
    let results = stored_results(&team, &outcome.run).await;
    let totals: Vec<i64> = results[..3]
        .iter()
        .map(|result| result.structured.as_ref().unwrap()["total"].as_i64().unwrap())
        .collect();
    for (total, range) in totals.iter().zip([1..=6, 1..=20, 7..=22]) {
        assert!(range.contains(total), "{totals:?}");
    }
    assert_eq!(failures(&team, &outcome.run).await, ["dice_roll dice.invalid_formula"]);
    let without = tavern_of(World::new(), &FILES, Parts::default());
    let model = scripted(vec![calls(vec![roll("d6")]), end()]);
    let outcome = without.run(&model).await;
    assert_eq!(failures(&without, &outcome.run).await, ["dice_roll agent.unknown_tool"]);
}
