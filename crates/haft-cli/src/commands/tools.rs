//! `haft tools`: what the profile's model would see. It opens no store, unless a session is named.

use std::sync::Arc;

use haft::system::SystemClock;
use haft_core::consent::ConsentEnvironment;
use haft_core::facts::Effect;
use haft_core::ports::{Clock, SessionRows};
use haft_core::prospect::prospect;
use haft_core::snapshot::{BoundTool, CompiledTools};
use haft_core::{Profile, ToolTurnContract, turn};
use haft_schema::View;
use haft_store::SqliteStore;
use serde_json::{Value, json};

use crate::args::ToolsCommand;
use crate::exit::{Exit, Failure};
use crate::output::counted;
use crate::setup::Setup;
use crate::toolset;
use crate::untrusted::visible_short;

/// The profile of the session that was named.
pub(crate) async fn session_profile(setup: &Setup, session: &str) -> Result<String, Failure> {
    let store = SqliteStore::open(setup.home.root(), SystemClock.now())?;
    let rows = store.sessions().await?;
    let live = rows.into_iter().filter(|row| !row.deleted);
    let found = match session {
        "last" => live.max_by_key(|row| row.created),
        id => live.into_iter().find(|row| row.id.as_str() == id),
    };
    found.map(|row| row.profile).ok_or_else(|| {
        Failure::usage(format!("there is no session `{session}`"))
            .hint("`haft sessions list` shows those that there are.")
    })
}

/// Runs the command; `of_session` is the profile of the session that was named.
pub(crate) fn run(
    setup: &Setup,
    command: Option<ToolsCommand>,
    of_session: Option<&str>,
) -> Result<Exit, Failure> {
    let (_, loaded) = setup.profile(of_session)?;
    let tools = setup.compile(&loaded)?;
    match command.unwrap_or(ToolsCommand::List) {
        ToolsCommand::List => list(setup, &tools, &loaded.profile)?,
        ToolsCommand::Show { tool } => {
            let found = toolset::find(&tools, &setup.registry, &tool, &loaded.profile.name)?;
            if setup.globals.json {
                setup.output.json(&as_json(found))?;
            } else {
                setup.output.foreign(&described(found))?;
            }
        }
        ToolsCommand::Prompt { dialect } => prompt(setup, &tools, &loaded.profile, dialect)?,
    }
    Ok(Exit::Done)
}

fn list(setup: &Setup, tools: &CompiledTools, profile: &Profile) -> Result<(), Failure> {
    if setup.globals.json {
        return setup.output.json(&tools.tools().iter().map(|tool| as_json(tool)).collect::<Vec<_>>());
    }
    for line in lines(tools, &ConsentEnvironment { attended: true, ..ConsentEnvironment::default() }) {
        setup.output.foreign_line(&line)?;
    }
    let count = counted(tools.tools().len(), "tool");
    setup.output.note(&format!(
        "{count} of the profile `{}`; `haft tools show TOOL` tells more of one",
        profile.name
    ));
    Ok(())
}

/// One line a tool: its alias, what is decided of a sample call, and what it is for.
pub(crate) fn lines(tools: &CompiledTools, environment: &ConsentEnvironment) -> Vec<String> {
    let width = tools.tools().iter().map(|tool| tool.binding().alias.len()).max().unwrap_or(0);
    let line = |tool: &Arc<BoundTool>| {
        let binding = tool.binding();
        let decided = prospect(tool, environment).decision.map(|decision| decision.outcome.as_str());
        let decided = decided.unwrap_or(binding.permission.as_str());
        let description = visible_short(first_sentence(&binding.descriptor.description), 100);
        format!("{:width$}  {decided:5}  {description}", binding.alias)
    };
    tools.tools().iter().map(line).collect()
}

fn prompt(
    setup: &Setup,
    tools: &CompiledTools,
    profile: &Profile,
    dialect: Option<String>,
) -> Result<(), Failure> {
    let dialect = dialect.or_else(|| profile.dialect.clone()).unwrap_or_else(|| "native".to_owned());
    let model_tools = turn::model_tools(tools, &ToolTurnContract::all(tools));
    let tags = setup.tags(profile);
    let text = crate::dialects::tool_prompt(&dialect, &model_tools, profile.execution, &tags)?;
    if setup.globals.json {
        setup.output.json(&json!({"dialect": dialect, "text": text}))
    } else {
        setup.output.foreign_line(&text)
    }
}

fn as_json(tool: &BoundTool) -> Value {
    let binding = tool.binding();
    let facts = &tool.declaration().facts;
    json!({
        "alias": binding.alias,
        "tool_id": tool.id(),
        "title": binding.descriptor.title,
        "description": binding.descriptor.description,
        "input_schema": binding.descriptor.input_schema.as_value(),
        "permission": binding.permission.as_str(),
        "max_calls": binding.max_calls_per_invocation,
        "effect": facts.effect,
        "idempotent": facts.idempotent,
        "open_world": facts.open_world,
        "category": facts.category,
    })
}

/// One tool for people: `haft tools show` and `haft call TOOL --help`.
pub(crate) fn described(tool: &BoundTool) -> String {
    let binding = tool.binding();
    let facts = &tool.declaration().facts;
    let mut text = format!("{} ({})\n\n{}\n\n", binding.alias, tool.id(), binding.descriptor.description);
    let schema = &binding.descriptor.input_schema;
    let required: Vec<&str> = schema.required().collect();
    let mut properties = schema.properties().peekable();
    text.push_str(if properties.peek().is_some() { "Arguments:\n" } else { "It takes no arguments.\n" });
    for property in properties {
        let need = if required.contains(&property.name) { "required" } else { "optional" };
        let (name, kind) = (property.name, property.schema.type_name());
        text.push_str(&format!("  {name}: {kind}, {need}{}\n", details(property.schema)));
    }
    let effect = match facts.effect {
        Effect::Read => "only looks",
        Effect::Write => "changes something",
        Effect::Control => "steers the run",
        Effect::WriteControl => "steers the run and changes something",
    };
    text.push_str(&format!("\nPermission: {}; it {effect}.\n", binding.permission.as_str()));
    if let Some(most) = binding.max_calls_per_invocation {
        text.push_str(&format!("At most {most} calls a run.\n"));
    }
    text
}

fn details(schema: View<'_>) -> String {
    let mut text = String::new();
    let values: Vec<String> = schema.enum_values().into_iter().map(plain).collect();
    if !values.is_empty() {
        text.push_str(&format!(", one of {}", values.join(", ")));
    }
    if let Some(default) = schema.default() {
        text.push_str(&format!(", default {}", plain(default)));
    }
    if let Some(description) = schema.description() {
        text.push_str(&format!("\n      {}", description.replace('\n', "\n      ")));
    }
    text
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn first_sentence(text: &str) -> &str {
    let line = text.lines().next().unwrap_or("");
    line.find(". ").map_or(line, |at| &line[..=at])
}
