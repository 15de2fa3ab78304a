//! What tools declare, by the macro and by the builder, and what a registry says to them.

mod common;

use std::sync::Arc;

use common::{built_db_query, db_query, db_query_parameters};
use haft::core::facts::{Effect, Injection, InjectionSource, Permission, Placement, ResultCap, ToolFacts};
use haft::core::registry::{RESERVED_NAMES, RegistrationError};
use haft::core::{BoxFuture, StartedCall, ToolDeclaration, ToolId};
use haft::schemars::JsonSchema;
use haft::serde::Deserialize;
use haft::serde_json::json;
use haft::{Tool, ToolBuildError, ToolBuilder, ToolContext, ToolError, ToolOutput, ToolRegistry};

// REG-02, REG-06, DES-02
#[test]
fn macro_and_builder_declare_the_same_db_query() {
    let (by_macro, by_builder) = (db_query::tool().unwrap(), built_db_query().unwrap());
    assert_eq!(by_macro.declaration(), by_builder.declaration());
    let declaration = by_macro.declaration();
    assert_eq!(declaration.id(), &ToolId::own("db_query"));
    assert_eq!(declaration.descriptor.title, "Db query");
    assert_eq!(declaration.facts, ToolFacts { category: "database".into(), ..ToolFacts::new(Effect::Read) });
}

// REG-03, REG-01, DES-02
#[test]
fn the_registry_lists_definitions_in_openai_form() {
    let mut registry = ToolRegistry::default();
    registry.register(db_query::tool().unwrap()).unwrap();
    let definition = json!({
        "type": "function",
        "function": {
            "name": "db_query",
            "description": "Execute a read-only database query",
            "parameters": db_query_parameters(),
        },
    });
    assert_eq!(registry.list_all(), [definition]);
    assert!(registry.get(&ToolId::own("db_query")).is_some());
    assert!(registry.get(&ToolId::own("nobody")).is_none());
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(crate = "haft::serde", rename_all = "snake_case")]
#[schemars(crate = "haft::schemars")]
enum Order {
    Newest,
    Oldest,
}

fn always(
    _: &haft::core::PreparedArguments,
    _: &haft::core::consent::ConsentEnvironment,
) -> Result<haft::core::consent::Ask, ToolError> {
    Ok(haft::core::consent::Ask { question: Some("Really?".into()), ..Default::default() })
}

/// Looks something up.
///
/// Gives titles alone.
#[haft::tool(
    name = "shelf.look_up", title = "Shelf", alias = "look_up", category = "books", effect = "write_control",
    permission = "ask", placement = "must_be_last", result_cap = 8_000, ask = always, idempotent, open_world, fast_path,
    no_compress, closed
)]
async fn look_up(
    /// What to look for.
    query: String,
    #[tool(name = "maxResults", default = 5 + 5)] max_results: u32,
    /// Which come first.
    order: Option<Order>,
    ratio: f32,
    r#type: Option<String>,
    #[tool(inject = "project_id")] project: Option<String>,
    context: &dyn ToolContext,
) -> ToolOutput {
    format!("{query} {max_results} {order:?} {ratio} {type:?} {project:?} {}", context.session()).into()
}

// DES-04, DES-05, DES-06, CTX-05, CONFLICT-22
#[test]
fn a_declaration_says_all_that_the_attribute_and_the_arguments_say() {
    let tool = look_up::tool().unwrap();
    let declaration = tool.declaration();
    assert_eq!(declaration.id(), &ToolId::own("shelf.look_up"));
    assert_eq!(declaration.descriptor.title, "Shelf");
    assert_eq!(declaration.descriptor.description, "Looks something up.\n\nGives titles alone.");
    let schema = declaration.descriptor.input_schema.as_value();
    assert_eq!(
        schema,
        &json!({
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "What to look for."},
                "maxResults": {"type": "integer", "minimum": 0, "default": 10},
                "order": {"type": "string", "enum": ["newest", "oldest"], "description": "Which come first."},
                "ratio": {"type": "number"},
                "type": {"type": "string"},
            },
            "required": ["query", "ratio"],
            "additionalProperties": false,
        })
    );
    let names: Vec<&str> = declaration.descriptor.input_schema.properties().map(|one| one.name).collect();
    assert_eq!(names, ["query", "maxResults", "order", "ratio", "type"]);
    assert_eq!(
        declaration.facts,
        ToolFacts {
            effect: Effect::WriteControl,
            idempotent: true,
            open_world: true,
            placement: Placement::MustBeLast,
            permission: Permission::Ask,
            result_cap: ResultCap::Chars(8000),
            category: "books".into(),
            fast_path: true,
            no_compress: true,
            alias: Some("look_up".into()),
            injections: vec![Injection { parameter: "project".into(), source: InjectionSource::ProjectId }],
            ..ToolFacts::new(Effect::WriteControl)
        }
    );
}

// DES-03, DES-06
#[test]
fn d_s_flags_have_a_place_in_the_builder() {
    let builder = || {
        ToolBuilder::new("note", json!({"type": "object"})).description("Notes.").handler(async |_| "noted")
    };
    let plain = builder().side_effect(false).build().unwrap();
    assert_eq!(plain.declaration().facts, ToolFacts::new(Effect::Read));
    let marked = builder().side_effect(true).fast_path(true).no_compress(true).build().unwrap();
    let facts = ToolFacts { fast_path: true, no_compress: true, ..ToolFacts::new(Effect::Write) };
    assert_eq!(marked.declaration().facts, facts);
}

#[test]
fn a_builder_says_what_a_tool_lacks() {
    let whole = |name: &str, parameters| {
        ToolBuilder::new(name, parameters).description("Notes.").side_effect(false).handler(async |_| "noted")
    };
    let object = || json!({"type": "object"});
    let message =
        |builder: ToolBuilder| builder.build().err().map(|error| error.to_string()).unwrap_or_default();
    assert_eq!(
        message(whole("say it", object())),
        "`say it` is no name of a tool; use 1 to 64 of the letters a-z, A-Z, digits, `_`, `.` and `-`"
    );
    assert_eq!(
        message(whole("note", object()).alias("notes.add")),
        "`notes.add` is no alias of a tool; use 1 to 64 of the letters a-z, A-Z, digits, `_` and `-`"
    );
    assert_eq!(
        message(whole("note", object()).description(" ")),
        "the tool `note` has no description; call `description` before `build`"
    );
    let no_effect = ToolBuilder::new("note", object()).description("Notes.");
    assert_eq!(message(no_effect), "the tool `note` has no effect; call `effect` before `build`");
    let no_handler = ToolBuilder::new("note", object()).description("Notes.").side_effect(true);
    assert_eq!(message(no_handler), "the tool `note` has no handler; call `handler` before `build`");
    for parameters in [json!({}), json!(true), json!({"type": "string"})] {
        let error = whole("note", parameters).build().err();
        assert_eq!(error, Some(ToolBuildError::NotAnObject { tool: "note".into() }));
    }
    let broken = json!({"type": "object", "properties": {"a": {"type": "text"}}});
    assert!(message(whole("note", broken)).starts_with("the parameters of the tool `note` cannot be used: "));
    let ill = json!({
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "integer", "default": "many"}},
        "required": ["a"],
    });
    assert_eq!(
        message(whole("note", ill)),
        "a default of the tool `note` does not fit its parameter: Invalid arguments: parameter \"b\" must be integer, got \
         \"many\"."
    );
    let twice = whole("note", object()).ask(always).consent_always(|_| true);
    assert_eq!(message(twice), "the tool `note` has `ask` and consent hooks; use one of them");
}

fn own(name: &str) -> Result<Arc<dyn Tool>, ToolBuildError> {
    let builder = ToolBuilder::new(name, json!({"type": "object"})).description("Mine.");
    builder.side_effect(false).handler(async |_| "mine").build()
}

// REG-08, REG-07
#[test]
fn reserved_names_are_exactly_the_five_artifact_tools() {
    assert_eq!(
        RESERVED_NAMES,
        ["create_artifact", "update_artifact", "rewrite_artifact", "read_artifact", "grep_artifact"]
    );
    let mut registry = ToolRegistry::default();
    for name in RESERVED_NAMES {
        assert_eq!(registry.register(own(name).unwrap()), Err(RegistrationError::Reserved(name.into())));
    }
    registry.register(own("delete_artifact").unwrap()).unwrap();
    assert_eq!(registry.iter().count(), 1);
}

struct Builtin(ToolDeclaration);

impl Tool for Builtin {
    fn declaration(&self) -> &ToolDeclaration {
        &self.0
    }

    fn call<'a>(
        &'a self,
        _: &'a StartedCall,
        _: &'a dyn ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async { Ok("builtin".into()) })
    }
}

// REG-07, CONFLICT-21
#[test]
fn a_custom_tool_may_not_take_the_name_of_a_builtin() {
    let builtin = || {
        let declaration = ToolDeclaration::new(
            ToolId::builtin("data.calculator"),
            "Calculates.",
            json!({"type": "object"}),
            Effect::Read,
        );
        let named = declaration.unwrap().with_facts(|facts| facts.alias = Some("calculator".into()));
        Arc::new(Builtin(named)) as Arc<dyn Tool>
    };
    let ids = |registry: &ToolRegistry| -> Vec<String> {
        registry.iter().map(|tool| tool.declaration().id().to_string()).collect()
    };
    let mut registry = ToolRegistry::default();
    registry.register_all([builtin(), own("abacus").unwrap()]).unwrap();
    let clash = registry.register(own("calculator").unwrap()).unwrap_err();
    assert_eq!(
        clash.to_string(),
        "`calculator` is the name of the builtin `builtin:data.calculator`; give your tool another name, or set \
         `registry.allow_override`"
    );
    assert_eq!(ids(&registry), ["builtin:data.calculator", "ext/own:abacus"]);

    let mut registry = ToolRegistry::with_override();
    registry.register_all([builtin(), own("calculator").unwrap()]).unwrap();
    assert_eq!(ids(&registry), ["builtin:data.calculator", "ext/own:calculator"]);
}

// CONFLICT-21, CAT-06
#[test]
fn a_second_tool_of_one_name_is_an_error_unless_override_is_allowed() {
    let mut registry = ToolRegistry::default();
    registry.register(db_query::tool().unwrap()).unwrap();
    let clash = registry.register(built_db_query().unwrap());
    assert_eq!(clash, Err(RegistrationError::Duplicate(ToolId::own("db_query"))));

    let mut registry = ToolRegistry::with_override();
    registry.register(own("db_query").unwrap()).unwrap();
    registry.register(db_query::tool().unwrap()).unwrap();
    let descriptions: Vec<&str> =
        registry.iter().map(|tool| tool.declaration().descriptor.description.as_str()).collect();
    assert_eq!(descriptions, ["Execute a read-only database query"]);
}
