//! One call as the command line prints it: the JSON object of the contract, and the exit code.

use haft_core::consent::ConsentEnvironment;
use haft_core::policy::Outcome;
use haft_core::{CompiledTools, ErrorCode, Scope, SessionId};
use haft_engine::{CallOutcome, DryCall};
use serde_json::{Value, json};

use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::{surroundings, toolset};

/// The object that `--json` prints for a call that was made.
pub(crate) fn as_json(outcome: &CallOutcome, session: &SessionId) -> Value {
    let result = &outcome.result;
    let decision = outcome.decision.as_ref().map(|(decided, rule)| {
        json!({"outcome": decided.as_str(), "rule": rule, "granted_by": outcome.granted_by})
    });
    json!({
        "call_id": result.call_id,
        "tool_id": result.tool_id,
        "alias": result.alias,
        "session": session,
        "run": outcome.run,
        // What could not be read has no arguments; its text stands in the journal.
        "arguments": outcome.arguments.as_object(),
        "is_error": result.is_error,
        "error_code": result.error_code,
        "content": result.text(),
        "structured": result.structured,
        "metadata": result.metadata,
        "duration_ms": result.duration_ms,
        "skipped": result.skipped,
        "repairs": outcome.repairs,
        "ui": result.ui,
        "resource_refs": result.resource_refs,
        "decision": decision,
    })
}

/// The object that `--dry-run --json` prints: the same keys, null where nothing was run, and the question.
fn dry_json(call: &DryCall, tools: &CompiledTools) -> Value {
    let refused = call.refused.as_ref();
    let decision = call.decision.as_ref().map(|decision| {
        json!({"outcome": decision.outcome.as_str(), "rule": decision.rule, "granted_by": call.granted_by})
    });
    let question = call.decision.as_ref().and_then(|decision| decision.question.as_deref());
    let scopes: Vec<String> =
        call.decision.iter().flat_map(|decision| &decision.scopes).map(scope_word).collect();
    json!({
        "call_id": null,
        "tool_id": tools.by_alias(&call.alias).map(|tool| tool.id()),
        "alias": call.alias,
        "session": null,
        "run": null,
        "arguments": call.arguments.as_object(),
        "is_error": refused.is_some(),
        "error_code": refused.map(|refused| &refused.code),
        "content": refused.map(|refused| &refused.message),
        "structured": null,
        "metadata": {},
        "duration_ms": null,
        "skipped": false,
        "repairs": refused.map_or(&[][..], |refused| refused.repairs.as_slice()),
        "ui": null,
        "resource_refs": [],
        "decision": decision,
        "question": question,
        "scopes": scopes,
    })
}

/// A scope as `--allow` writes it; `tool` for the whole one.
pub(crate) fn scope_word(scope: &Scope) -> String {
    match scope {
        Scope::Tool => "tool".to_owned(),
        Scope::Path(_) | Scope::File(_) | Scope::Host(_) | Scope::Command(_) => scope.to_string(),
    }
}

/// What a dry call says to people.
fn dry_text(call: &DryCall) -> String {
    let name = if call.alias.is_empty() { "(no name)" } else { &call.alias };
    let mut text = format!("{name} {}\n", haft_schema::canonical::to_string(&call.arguments));
    match (&call.decision, &call.refused) {
        (Some(decision), _) => {
            text.push_str(&format!("  {}: {}\n", decision.outcome.as_str(), decision.rule));
            if let Some(question) = &decision.question {
                text.push_str(&format!("  question: {question}\n"));
                let scopes: Vec<String> = decision.scopes.iter().map(ToString::to_string).collect();
                text.push_str(&format!("  a yes may cover: {}\n", scopes.join(", ")));
            }
            match &call.granted_by {
                Some(by) => text.push_str(&format!("  answered by {by}\n")),
                None if decision.every_time => text.push_str("  asked every time\n"),
                None => {}
            }
        }
        (None, Some(refused)) => text.push_str(&format!("  would not run: {}\n", refused.message)),
        (None, None) => {}
    }
    text
}

/// Prints dry calls and gives their exit code: 1 for an invalid or malformed one, 3 for a denied one.
pub(crate) fn print_dry(
    output: Output,
    json: bool,
    calls: &[DryCall],
    tools: &CompiledTools,
) -> Result<Exit, Failure> {
    for call in calls {
        if json {
            output.json(&dry_json(call, tools))?;
        } else {
            output.foreign(&dry_text(call))?;
        }
    }
    Ok(exit_of(calls.iter().filter_map(|call| call.refused.as_ref()).map(|refused| &refused.code)))
}

/// The exit code of results: any failed or malformed one 1, else any refused one 3; a stopped one 130 before both.
pub(crate) fn exit_of<'a>(codes: impl IntoIterator<Item = &'a ErrorCode>) -> Exit {
    let (mut failed, mut refused, mut cancelled) = (false, false, false);
    for code in codes {
        cancelled |= *code == ErrorCode::CALL_CANCELLED;
        refused |= code.is_refusal();
        failed |= !code.is_refusal();
    }
    match (cancelled, failed, refused) {
        (true, _, _) => Exit::Cancelled,
        (_, true, _) => Exit::Failed,
        (_, _, true) => Exit::Refused,
        _ => Exit::Done,
    }
}

/// Tells how a yes is given in advance, if a call was refused because nobody could be asked.
pub(crate) fn tell_flags(output: Output, outcomes: &[CallOutcome]) {
    let unasked = outcomes.iter().filter(|outcome| {
        let asked = outcome.decision.as_ref().is_some_and(|(decided, _)| *decided == Outcome::Ask);
        asked && outcome.granted_by.is_none() && outcome.result.error_code == Some(ErrorCode::TOOL_DENIED)
    });
    let mut names: Vec<&str> = unasked.map(|outcome| outcome.result.alias.as_str()).collect();
    names.dedup();
    if let Some(first) = names.first()
        && !surroundings::has_terminal()
    {
        let names = names.join(", ");
        output.note(&format!(
            "{names}: say yes in advance with `--allow {first}`, with `--allow {first}=SCOPE`, or with `--yes`; \
             `--dry-run` shows the question and its scopes"
        ));
    }
}

/// Tells where a project comes from, if a tool of files failed for want of one.
pub(crate) fn tell_project(output: Output, outcomes: &[CallOutcome], environment: &ConsentEnvironment) {
    let wants_one = |outcome: &CallOutcome| {
        let result = &outcome.result;
        result.error_code.as_ref().is_some_and(|code| !code.is_refusal())
            && result.tool_id.as_ref().is_some_and(toolset::is_of_a_project)
    };
    if environment.project.is_none() && outcomes.iter().any(wants_one) {
        output.note(
            "file tools work in the folder of a project: `haft project add FOLDER --id ID` makes one, `--project ID` takes it",
        );
    }
}

/// The codes of the results that are errors; a result without a code of its own counts as failed.
pub(crate) fn error_codes(outcomes: &[CallOutcome]) -> impl Iterator<Item = &ErrorCode> {
    let errors = outcomes.iter().filter(|outcome| outcome.result.is_error);
    errors.map(|outcome| outcome.result.error_code.as_ref().unwrap_or(&ErrorCode::TOOL_FAILED))
}
