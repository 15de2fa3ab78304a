//! `haft exec`: the calls in a model's text, run in order, their results in the same dialect.

use haft_engine::dry_run;

use crate::args::ExecArgs;
use crate::calls;
use crate::compose::Workplace;
use crate::dialects::{self, Written};
use crate::exit::{Exit, Failure};
use crate::setup::Setup;
use crate::surroundings;

/// Runs the command.
pub(crate) async fn run(setup: Setup, arguments: ExecArgs) -> Result<Exit, Failure> {
    let workplace = Workplace::open(setup, "haft exec").await?;
    let output = workplace.setup.output;
    let json = workplace.setup.globals.json;
    let chosen = workplace.choose().await?;
    if surroundings::stdin_is_terminal() {
        output.note("reading a model's text; end it with Ctrl-D");
    }
    let text = surroundings::standard_input()?;
    let Written { dialect, calls: requested } =
        dialects::read(&arguments.dialect, &text, &chosen.tools, workplace.setup.tags(&chosen.profile))?;
    if requested.is_empty() {
        return Ok(Exit::Done);
    }
    let mut options = workplace.options(&chosen, "exec");
    options.model = workplace.setup.model_name(&chosen.profile);
    if arguments.dry_run {
        let outside = workplace.outside(&chosen).await?;
        let (grants, environment) = (&chosen.grants, &chosen.environment);
        let calls = dry_run(&workplace.engine, requested, &options, grants, environment, outside.as_deref())
            .map_err(Failure::usage)?;
        return calls::print_dry(output, json, &calls, &chosen.tools);
    }
    let wire_ids: Vec<_> = requested.iter().map(|one| one.wire_id().cloned()).collect();
    let session = workplace.start(&chosen).await?;
    let watch = workplace.watch().await;
    let handle = session.calls(requested, options);
    workplace.tell_ids(&session, handle.run());
    let outcomes = workplace.guard(handle, watch, None).await?;
    let id = session.id().clone();
    session.close().await?;
    if json {
        for outcome in &outcomes {
            output.json(&calls::as_json(outcome, &id))?;
        }
    } else {
        // There is one outcome for each request, in the same order.
        let results = outcomes.iter().map(|outcome| &outcome.result).zip(wire_ids);
        output.foreign_line(&dialects::write_results(dialect, results, chosen.profile.renderer))?;
    }
    calls::tell_flags(output, &outcomes);
    calls::tell_project(output, &outcomes, &chosen.environment);
    Ok(calls::exit_of(calls::error_codes(&outcomes)))
}
