//! `haft policy questions`: which questions would come, tool by tool, and what would become of them where nobody is there.
//!
//! A sample call of each tool is decided; nothing is run and nothing stored.

use haft_core::consent::ConsentEnvironment;
use haft_core::policy::{Decision, Outcome};
use haft_core::prospect::{Prospect, prospects};
use haft_core::{Grant, Scope};
use serde_json::{Value, json};

use crate::calls;
use crate::compose::{Chosen, Workplace};
use crate::exit::{Exit, Failure};

/// What becomes of the sample call where nobody is there.
enum Unattended {
    /// It needs no yes.
    Runs,
    /// This stands in for one.
    Covered(String),
    /// Nothing stands in for one.
    Refused,
}

impl Unattended {
    fn word(&self) -> &'static str {
        match self {
            Self::Runs => "runs",
            Self::Covered(_) => "covered",
            Self::Refused => "refused",
        }
    }
}

/// Prints one row a tool.
pub(crate) fn run(workplace: &Workplace, chosen: &Chosen) -> Result<Exit, Failure> {
    let with = |attended| ConsentEnvironment { attended, ..chosen.environment.clone() };
    let attended = prospects(&chosen.tools, &with(true));
    let unattended = prospects(&chosen.tools, &with(false));
    let setup = &workplace.setup;
    let rows: Vec<(&Prospect, Unattended)> = attended
        .iter()
        .zip(&unattended)
        .map(|(there, alone)| (there, without_anybody(alone, chosen, setup.globals.yes)))
        .collect();
    if setup.globals.json {
        let rows: Vec<Value> = rows.iter().map(|(there, alone)| as_json(there, alone)).collect();
        setup.output.json(&rows)?;
    } else {
        for (there, alone) in &rows {
            setup.output.foreign(&as_text(there, alone))?;
        }
    }
    Ok(Exit::Done)
}

fn without_anybody(prospect: &Prospect, chosen: &Chosen, yes: bool) -> Unattended {
    let Some(decision) = &prospect.decision else { return Unattended::Refused };
    match decision.outcome {
        Outcome::Allow => return Unattended::Runs,
        Outcome::Deny => return Unattended::Refused,
        Outcome::Ask if decision.every_time => return Unattended::Refused,
        Outcome::Ask => {}
    }
    let reaches = |scope: &Scope| match decision.exact {
        true => *scope != Scope::Tool && decision.scopes.iter().any(|wanted| scope.is_same(wanted)),
        false => *scope == Scope::Tool || decision.scopes.iter().any(|wanted| scope.covers(wanted)),
    };
    let given = |grant: &&Grant| grant.tool == prospect.tool && reaches(&grant.scope);
    let mut capabilities = chosen.profile.unattended.0.iter();
    let mut in_profile = || capabilities.find(|one| one.tool == prospect.tool && reaches(&one.scope));
    if let Some(grant) = chosen.grants.iter().find(given) {
        Unattended::Covered(grant.granted_by.clone())
    } else if let Some(one) = in_profile() {
        let part = allow_text(&prospect.alias, &one.scope);
        Unattended::Covered(format!("unattended.allow: {part}"))
    } else if yes && !decision.unseen {
        Unattended::Covered("--yes".to_owned())
    } else {
        Unattended::Refused
    }
}

/// The capability that would cover the sample call, as `unattended.allow` and `--allow` write it; none where none can.
fn needed(prospect: &Prospect) -> Option<String> {
    let decision = prospect.decision.as_ref().filter(|one| one.outcome == Outcome::Ask && !one.every_time)?;
    let scope = decision.scopes.iter().find(|scope| !scope.frees_a_program()).unwrap_or(&Scope::Tool);
    Some(allow_text(&prospect.alias, scope))
}

fn allow_text(alias: &str, scope: &Scope) -> String {
    match scope {
        Scope::Tool => alias.to_owned(),
        scope => format!("{alias}={scope}"),
    }
}

fn word(decision: &Decision) -> &'static str {
    match decision.outcome {
        Outcome::Allow => "runs",
        Outcome::Ask => "asks",
        Outcome::Deny => "denied",
    }
}

fn as_json(prospect: &Prospect, alone: &Unattended) -> Value {
    let decision = prospect.decision.as_ref();
    let covered_by = match alone {
        Unattended::Covered(by) => Some(by.as_str()),
        Unattended::Runs | Unattended::Refused => None,
    };
    let scopes: Vec<String> =
        decision.map(|one| one.scopes.iter().map(calls::scope_word).collect()).unwrap_or_default();
    json!({
        "tool_id": prospect.tool,
        "alias": prospect.alias,
        "arguments": prospect.arguments,
        "attended": decision.map(word),
        "unattended": alone.word(),
        "question": decision.and_then(|one| one.question.as_deref()),
        "every_time": decision.is_some_and(|one| one.every_time),
        "rule": decision.map(|one| one.rule.as_str()),
        "scopes": scopes,
        "capability": needed(prospect),
        "covered_by": covered_by,
    })
}

fn as_text(prospect: &Prospect, alone: &Unattended) -> String {
    let alias = &prospect.alias;
    let Some(decision) = &prospect.decision else {
        return format!("{alias}: cannot be told without its arguments\n");
    };
    let unattended = match alone {
        Unattended::Runs => "runs".to_owned(),
        Unattended::Covered(by) => format!("runs, by {by}"),
        Unattended::Refused => match needed(prospect) {
            Some(capability) => format!("refused; `{capability}` in `unattended.allow` would cover it"),
            None => "refused; no yes in advance covers it".to_owned(),
        },
    };
    match decision.outcome {
        Outcome::Allow => format!("{alias}: runs\n  where nobody is there  {unattended}\n"),
        Outcome::Deny => format!("{alias}: denied ({})\n", decision.rule),
        Outcome::Ask => {
            let how = if decision.every_time { "asks every time" } else { "asks" };
            let question = decision.question.as_deref().unwrap_or_default();
            format!(
                "{alias}: {how}\n  question               {question}\n  where nobody is there  {unattended}\n"
            )
        }
    }
}
