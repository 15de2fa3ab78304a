//! Tools of an embedder, called along the whole path.

mod common;

use std::sync::Arc;

use common::{built_db_query, db_query};
use haft::core::facts::{Effect, Permission};
use haft::core::grant::Lifetime;
use haft::core::policy::Outcome;
use haft::core::{ErrorCode, GrantId, ProjectId, Scope, Timestamp};
use haft::serde_json::{Map, Value, json};
use haft::{
    Grant, Haft, HaftError, Profile, Services, Tool, ToolBuildError, ToolBuilder, ToolContext, ToolError,
    ToolId, ToolOutput,
};

// REG-06, REG-03, REG-13, RES-03
#[tokio::test]
async fn db_query_answers_as_b_documents_it_whichever_way_it_was_written() {
    for tool in [db_query::tool(), built_db_query()] {
        let haft = Haft::builder().tool(tool).open().await.unwrap();
        let refusal = json!({"success": false, "error": "Only SELECT queries allowed"});
        for sql in ["DROP TABLE users", "  delete from users", "", "-- x\nSELECT 1", "SELEC 1"] {
            let outcome = haft.call("db_query", json!({"sql": sql, "project_id": "p"})).await.unwrap();
            assert!(outcome.result.is_error, "{sql}");
            assert_eq!(outcome.result.nanoclaw_view(), refusal, "{sql}");
        }
        let success = json!({"success": true, "data": {"rows": [{"id": 1, "project": "p"}]}});
        for sql in ["SELECT * FROM users", " \n select 1", "Select 2"] {
            let outcome = haft.call("db_query", json!({"sql": sql, "project_id": "p"})).await.unwrap();
            assert!(!outcome.result.is_error, "{sql}");
            assert_eq!(outcome.result.nanoclaw_view(), success, "{sql}");
        }
        let outcome = haft.call("db_query", json!({"sql": "SELECT 1"})).await.unwrap();
        assert_eq!(outcome.result.error_code, Some(ErrorCode::INVALID_ARGUMENTS));
        assert!(outcome.result.text().contains("project_id"), "{}", outcome.result.text());
    }
}

// REG-06
#[tokio::test]
async fn the_function_under_the_attribute_stays_a_function() {
    let told = db_query("SELECT 1".to_owned(), "p".to_owned()).await;
    assert_eq!(told, json!({"success": true, "rows": [{"id": 1, "project": "p"}]}));
}

trait Language: Send + Sync {
    fn complete(&self, prompt: &str) -> String;
}

struct Parrot;

impl Language for Parrot {
    fn complete(&self, prompt: &str) -> String {
        format!("{prompt}!")
    }
}

/// Asks the language service, by type and by name.
#[haft::tool(effect = "read")]
async fn ask_language(prompt: String, context: &dyn ToolContext) -> Result<String, ToolError> {
    let absent = |what: &str| ToolError::failed(format!("There is no {what} here."));
    let by_type = context.services().get::<dyn Language>().ok_or_else(|| absent("language service"))?;
    let by_name = context.services().get_service("llm_client").ok_or_else(|| absent("llm_client"))?;
    let by_name = by_name.downcast_ref::<Parrot>().ok_or_else(|| absent("parrot"))?;
    Ok(format!("{} {}", by_type.complete(&prompt), by_name.complete(&prompt)))
}

// REG-10
#[tokio::test]
async fn a_tool_reaches_services_by_type_and_by_name() {
    let mut services = Services::default();
    services.insert::<dyn Language>(Arc::new(Parrot));
    services.register_service("llm_client", Arc::new(Parrot));
    let haft = Haft::builder().tool(ask_language::tool()).services(services).open().await.unwrap();
    let outcome = haft.call("ask_language", json!({"prompt": "hello"})).await.unwrap();
    assert_eq!(outcome.result.text(), "hello! hello!");

    let alone = Haft::builder().tool(ask_language::tool()).open().await.unwrap();
    let outcome = alone.call("ask_language", json!({"prompt": "hello"})).await.unwrap();
    assert_eq!(
        (outcome.result.is_error, outcome.result.text()),
        (true, "There is no language service here.".into())
    );
}

/// Gives text.
#[haft::tool(effect = "read")]
async fn gives_text() -> String {
    "plain".into()
}

/// Gives a result with a card.
#[haft::tool(effect = "read")]
async fn gives_result() -> ToolOutput {
    ToolOutput { ui: Some(json!({"type": "card"})), ..ToolOutput::of_text("plain") }
}

// CONFLICT-24, RES-05
#[tokio::test]
async fn a_tool_gives_text_or_a_whole_result() {
    let haft = Haft::builder().tools([gives_text::tool(), gives_result::tool()]).open().await.unwrap();
    let text = haft.call("gives_text", json!({})).await.unwrap().result;
    let whole = haft.call("gives_result", json!({})).await.unwrap().result;
    assert_eq!((text.text(), text.ui), ("plain".into(), None));
    assert_eq!((whole.text(), whole.ui), ("plain".into(), Some(json!({"type": "card"}))));
}

/// Shows its arguments.
#[haft::tool(effect = "read")]
async fn show(
    text: String,
    limit: Option<u32>,
    #[tool(default = 10)] count: u32,
    tags: Option<Vec<String>>,
    #[tool(inject = "project_id")] project: Option<String>,
) -> String {
    format!("{text} {limit:?} {count} {tags:?} {project:?}")
}

// COE-01, COE-04, CTX-01, CTX-05
#[tokio::test]
async fn arguments_are_coerced_filled_and_injected_before_the_function_sees_them() {
    let open = |project: Option<&str>| {
        let builder = Haft::builder().tool(show::tool());
        match project {
            Some(id) => builder.project(ProjectId::new(id)).open(),
            None => builder.open(),
        }
    };
    let haft = open(Some("demo")).await.unwrap();
    let outcome = haft.call("show", json!({"text": 7, "limit": null, "tags": "['a']"})).await.unwrap();
    assert_eq!(outcome.result.text(), r#"7 None 10 Some(["a"]) Some("demo")"#);
    let outcome = haft.call("show", json!({"text": "x", "count": "3", "project": "theirs"})).await.unwrap();
    assert_eq!(outcome.result.text(), r#"x None 3 None Some("demo")"#);
    let without = open(None).await.unwrap();
    let outcome = without.call("show", json!({"text": "x", "limit": 4, "project": "theirs"})).await.unwrap();
    assert_eq!(outcome.result.text(), "x Some(4) 10 None None");
    let outcome = without.call("show", json!({"text": "x", "limit": -1})).await.unwrap();
    assert_eq!(outcome.result.error_code, Some(ErrorCode::INVALID_ARGUMENTS));
}

/// D's hooks: writing below `/tmp` needs no consent, below `/etc` it is asked every time.
fn write_tool() -> Result<Arc<dyn Tool>, ToolBuildError> {
    let path = |arguments: &Map<String, Value>| {
        arguments.get("path").and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let folder = move |arguments: &Map<String, Value>| {
        let path = path(arguments);
        path.rsplit_once('/').map_or_else(String::new, |(folder, _)| folder.to_owned())
    };
    let parameters =
        json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    ToolBuilder::new("write", parameters)
        .description("Writes a file.")
        .side_effect(true)
        .consent_check(move |arguments| {
            let path = path(arguments);
            (!path.starts_with("/tmp/")).then(|| format!("Write {path}?"))
        })
        .consent_scope(move |arguments| Scope::Path(folder(arguments)))
        .consent_always(move |arguments| path(arguments).starts_with("/etc/"))
        .handler(async |_| "written")
        .build()
}

// APR-08, APR-09, APR-10, APR-18, DES-03
#[tokio::test]
async fn consent_hooks_ask_and_their_scopes_match_grants() {
    let haft = Haft::builder().tool(write_tool()).open().await.unwrap();
    let call = async |path: &str| {
        let outcome = haft.call("write", json!({"path": path})).await.unwrap();
        let decision = outcome.decision.map(|(outcome, _)| outcome);
        (outcome.result.error_code, decision, outcome.granted_by)
    };
    let refused = || (Some(ErrorCode::TOOL_DENIED), Some(Outcome::Ask), None);
    assert_eq!(call("/tmp/x").await, (None, Some(Outcome::Allow), None));
    assert_eq!(call("/a/b/x").await, refused());
    let session = Lifetime::Session(haft.session().id().clone());
    for folder in ["/a/b", "/etc"] {
        let (id, tool, scope) =
            (GrantId::new(format!("g_{folder}")), ToolId::own("write"), Scope::Path(folder.into()));
        haft.grant(Grant::new(id, tool, scope, session.clone(), "test", Timestamp(0)));
    }
    let granted = || (None, Some(Outcome::Ask), Some("test".to_owned()));
    assert_eq!(call("/a/b/x").await, granted());
    assert_eq!(call("/a/b/c/x").await, granted());
    assert_eq!(call("/a/other/x").await, refused());
    assert_eq!(call("/etc/passwd").await, refused());

    let yes = Haft::builder().tool(write_tool()).yes(true).open().await.unwrap();
    assert!(!yes.call("write", json!({"path": "/a/x"})).await.unwrap().result.is_error);
    assert!(yes.call("write", json!({"path": "/etc/x"})).await.unwrap().result.is_error);
}

// POL-10
#[tokio::test]
async fn a_profile_replaces_the_permission_and_the_alias_of_a_tool() {
    let id = ToolId::own("gives_text");
    let mut profile = Profile::new("mine");
    profile.tools.allow.push(id.clone());
    profile.tools.alias.insert(id.clone(), "text".into());
    profile.tools.permission.insert(id.clone(), Permission::Deny);
    let builder = Haft::builder().tools([gives_text::tool(), gives_result::tool()]);
    let haft = builder.profile(profile).open().await.unwrap();
    for name in ["text", "gives_text", "ext/own:gives_text"] {
        let outcome = haft.call(name, json!({})).await.unwrap();
        assert_eq!(outcome.result.error_code, Some(ErrorCode::TOOL_DENIED), "{name}");
    }
    let other = ToolId::own("gives_result");
    let not_allowed = HaftError::NotAllowed { tool: other, profile: "mine".into() };
    assert_eq!(haft.call("gives_result", json!({})).await, Err(not_allowed));
}

#[tokio::test]
async fn what_cannot_be_begun_is_an_error_and_no_record() {
    let haft = Haft::builder().tool(gives_text::tool()).open().await.unwrap();
    let unknown = haft.call("gives_txet", json!({})).await;
    assert_eq!(unknown.unwrap_err().to_string(), "there is no tool `gives_txet`; did you mean gives_text?");
    assert_eq!(haft.call("gives_text", json!([1])).await, Err(HaftError::NotAnObject("gives_text".into())));
    assert_eq!(haft.run("hello").await, Err(HaftError::NoModel));
    assert_eq!(haft.journal().await, Ok(Vec::new()));

    let nameless = ToolBuilder::new("", json!({"type": "object"})).build();
    let error = Haft::builder().tool(nameless).open().await.unwrap_err();
    assert!(matches!(error, HaftError::Build(ToolBuildError::Name { .. })), "{error}");
    let clash = Haft::builder().tools([gives_text::tool(), gives_text::tool()]).open().await.unwrap_err();
    assert!(matches!(clash, HaftError::Registration(_)), "{clash}");
    assert_eq!(Effect::Read, gives_text::tool().unwrap().declaration().facts.effect);
}

// EXE-04, RES-04: both entry points, whatever the profile says, give ordered results.
#[tokio::test]
async fn both_entry_points_of_b_give_ordered_records() {
    use haft::core::RequestedCall;
    let call = |sql: &str| {
        let arguments = json!({"sql": sql, "project_id": "p"});
        RequestedCall::call("db_query", arguments.as_object().unwrap().clone())
    };
    let calls = || vec![call("SELECT 1"), call("DROP TABLE users"), call("select 2")];
    let haft = Haft::builder().tool(db_query::tool()).open().await.unwrap();
    for outcomes in [
        haft.process_tool_calls(calls()).await.unwrap(),
        haft.process_tool_calls_parallel(calls(), 3).await.unwrap(),
    ] {
        let records: Vec<Value> =
            outcomes.iter().map(|outcome| outcome.result.nanoclaw_record(&outcome.arguments)).collect();
        let told: Vec<_> = records
            .iter()
            .map(|record| (record["type"].as_str().unwrap(), record["success"].as_bool().unwrap()))
            .collect();
        assert_eq!(told, [("function", true), ("function", false), ("function", true)]);
        assert_eq!(records[1]["function"]["arguments"], r#"{"sql":"DROP TABLE users","project_id":"p"}"#);
        assert_eq!(records[1]["result"], r#"{"success":false,"error":"Only SELECT queries allowed"}"#);
        assert_eq!(records[0]["skipped"], false);
        assert!(records[2]["execution_time"].is_number() && records[2]["id"].is_string());
    }
}
