//! `haft call`: one call through the whole path.

use haft_core::RequestedCall;
use haft_engine::dry_run;

use crate::args::CallArgs;
use crate::calls;
use crate::commands::tools;
use crate::compose::Workplace;
use crate::exit::{Exit, Failure};
use crate::setup::Setup;
use crate::surroundings;
use crate::{call_arguments, toolset};

/// Runs the command.
pub(crate) async fn run(setup: Setup, arguments: CallArgs) -> Result<Exit, Failure> {
    let Some(name) = &arguments.tool else {
        return Err(Failure::usage("the tool is missing")
            .hint("Write `haft call TOOL key=text …`; `haft tools` lists the tools."));
    };
    let workplace = Workplace::open(setup, "haft call").await?;
    let output = workplace.setup.output;
    let chosen = workplace.choose().await?;
    let tool = toolset::find(&chosen.tools, &workplace.setup.registry, name, &chosen.profile.name)?;
    if arguments.help {
        output.foreign(&tools::described(tool))?;
        output.line(&format!("Example:\n  {}", example(tool)))?;
        return Ok(Exit::Done);
    }
    let from_stdin = match arguments.args.as_deref() {
        Some("-") => Some(surroundings::standard_input()?),
        _ => None,
    };
    let object = from_stdin.as_deref().or(arguments.args.as_deref());
    let schema = tool.binding().descriptor.input_schema.view();
    let values = call_arguments::read(&arguments.arguments, object, schema).map_err(Failure::usage)?;
    let requested = vec![RequestedCall::call(tool.binding().alias.clone(), values)];

    let mut options = workplace.options(&chosen, "call");
    options.model = workplace.setup.model_name(&chosen.profile);
    if arguments.dry_run {
        let outside = workplace.outside(&chosen).await?;
        let (grants, environment) = (&chosen.grants, &chosen.environment);
        let calls = dry_run(&workplace.engine, requested, &options, grants, environment, outside.as_deref())
            .map_err(Failure::usage)?;
        return calls::print_dry(output, workplace.setup.globals.json, &calls, &chosen.tools);
    }
    let session = workplace.start(&chosen).await?;
    let watch = workplace.watch().await;
    let handle = session.calls(requested, options);
    workplace.tell_ids(&session, handle.run());
    let outcomes = workplace.guard(handle, watch, None).await?;
    let id = session.id().clone();
    session.close().await?;
    for outcome in &outcomes {
        if workplace.setup.globals.json {
            output.json(&calls::as_json(outcome, &id))?;
        } else {
            output.foreign_line(&outcome.result.text())?;
        }
    }
    calls::tell_flags(output, &outcomes);
    calls::tell_project(output, &outcomes, &chosen.environment);
    Ok(calls::exit_of(calls::error_codes(&outcomes)))
}

/// How the call is typed.
fn example(tool: &haft_core::snapshot::BoundTool) -> String {
    let schema = &tool.binding().descriptor.input_schema;
    let example = tool.declaration().facts.example.as_ref();
    let values = schema.required().map(|name| {
        let value = example.and_then(|example| example.get(name)).map(|value| match value {
            serde_json::Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        format!(" {name}='{}'", value.unwrap_or_else(|| "…".to_owned()).replace('\'', "'\\''"))
    });
    format!("haft call {}{}", tool.binding().alias, values.collect::<String>())
}
