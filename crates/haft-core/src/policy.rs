//! What is decided of a prepared call, and by which rule. Pure: the same inputs give the same decision.
//!
//! The order (POL-03 to POL-07): denies first, whoever wrote them, and nothing overrules one; then allow or ask from the first
//! that speaks: the user's [`Rule`]s, the platform's, the plan's, the profile's, the profile's permission for the tool, the rules
//! for the tool's source, the tool's default (POL-10). A tool's own question may then add an ask, which only a grant removes.
//! Nothing here asks anybody or reads a file.
//!
//! Start reading at [`Rule`]; rules are read for each tool once, when a snapshot is compiled, and [`decide`] holds one call against
//! them. [`check()`] and [`lint`] say what is wrong with rules before any call.

mod check;
mod commands;
mod compiled;
mod decision;
mod glob;
mod host;
mod layers;
mod named;
mod rule;
mod subtree;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::consent::{Ask, ConsentEnvironment};
use crate::error::ToolError;
use crate::facts::Permission;
use crate::path::PreparedArguments;
use crate::scope::{Scope, narrowest_first};
use crate::snapshot::BoundTool;

pub use check::{RuleProblem, check, check_source, lint};
pub use commands::CallCommands;
pub(crate) use commands::covering;
use compiled::CallFacts;
pub(crate) use compiled::{ToolRules, hiding_rule};
pub use decision::{Decision, Lost, Ruling, WhyLost};
pub use glob::Glob;
pub(crate) use layers::version_of;
pub use layers::{Layer, POLICY_SCHEMA, Plan, Policy, Voice};
pub use rule::{EffectMatch, Place, Rule, ValueMatch, ValueTest};

/// What policy says of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It may run.
    Allow,
    /// A person is asked, unless a grant covers it.
    Ask,
    /// It may not run.
    Deny,
}

impl Outcome {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

impl From<Permission> for Outcome {
    fn from(permission: Permission) -> Self {
        match permission {
            Permission::Allow => Self::Allow,
            Permission::Ask => Self::Ask,
            Permission::Deny => Self::Deny,
        }
    }
}

/// Decides one prepared call.
pub fn decide(tool: &BoundTool, arguments: &PreparedArguments, environment: &ConsentEnvironment) -> Decision {
    decide_said(tool, arguments, environment, said(tool, arguments, environment))
}

/// As [`decide`], for a call of which the tool has said already what it means.
pub(crate) fn decide_said(
    tool: &BoundTool,
    arguments: &PreparedArguments,
    environment: &ConsentEnvironment,
    said: Result<Ask, ToolError>,
) -> Decision {
    let commands = tool.declaration().facts.command.as_deref();
    let commands = commands.map(|name| CallCommands::read(arguments.value(), name));
    weigh(tool, arguments, environment, commands.as_ref(), said)
}

/// As [`decide`], for a call whose command line was read already.
pub fn decide_read(
    tool: &BoundTool,
    arguments: &PreparedArguments,
    environment: &ConsentEnvironment,
    commands: Option<&CallCommands>,
) -> Decision {
    weigh(tool, arguments, environment, commands, said(tool, arguments, environment))
}

/// What the tool says that the call means; a tool that crashes over it cannot say it.
pub(crate) fn said(
    tool: &BoundTool,
    arguments: &PreparedArguments,
    environment: &ConsentEnvironment,
) -> Result<Ask, ToolError> {
    std::panic::catch_unwind(AssertUnwindSafe(|| tool.tool().ask(arguments, environment)))
        .unwrap_or_else(|_| Err(ToolError::failed("it crashed")))
}

fn weigh(
    tool: &BoundTool,
    arguments: &PreparedArguments,
    environment: &ConsentEnvironment,
    commands: Option<&CallCommands>,
    said: Result<Ask, ToolError>,
) -> Decision {
    let alias = &tool.binding().alias;
    let mut ask = match said {
        Ok(ask) => ask,
        // A guard that fails, refuses.
        Err(error) => {
            return Decision {
                outcome: Outcome::Deny,
                rule: format!("`{alias}` cannot say what the call means: {}", error.message()),
                by: Ruling::Broken,
                lost: Vec::new(),
                question: None,
                scopes: vec![Scope::Tool],
                every_time: false,
                exact: false,
                unseen: false,
                secret: tool.declaration().facts.secret,
                secret_arguments: Vec::new(),
                parts: Vec::new(),
            };
        }
    };
    if let Some(commands) = commands {
        commands.complete(&mut ask);
    }
    let Ask { mut question, meaning, mut scopes, mut every_time, exact, secret, secret_arguments } = ask;
    let secret = secret || tool.declaration().facts.secret;
    let rules = tool.rules();
    let deny_within = rules.deny_within(arguments.value(), environment.attended);
    let weighed = |view| {
        let facts = rules.facts(arguments.value(), &scopes, environment, view);
        let said = rule_of(tool, &facts, question.is_some());
        match deny_within {
            Some(deny) if commands::is_unseen(arguments.value(), view, &said.0) => {
                could_be_denied(said, deny)
            }
            Some(_) | None => said,
        }
    };
    let (by, lost) = match commands {
        None => weighed(None),
        Some(commands) => strictest(commands.views().map(|view| weighed(Some(view))), || weighed(None)),
    };
    let parts = commands.map(CallCommands::parts).unwrap_or_default();
    if scopes.is_empty() {
        scopes.push(Scope::Tool);
    }
    let scopes = narrowest_first(scopes);
    let outcome = by.outcome();
    let unseen = match &by {
        Ruling::Unseen { rule } => {
            let asked = question.or(meaning.clone()).unwrap_or_else(|| format!("Run {alias}?"));
            let place = &rule.place;
            question = Some(format!(
                "{asked} No rule can look into the code that it runs, and the deny at {place} could concern it."
            ));
            // A yes to the whole tool would be one to whatever the code is.
            every_time |= scopes.iter().all(|scope| *scope == Scope::Tool);
            true
        }
        Ruling::Rule { .. }
        | Ruling::Permission { .. }
        | Ruling::OwnQuestion
        | Ruling::Outside { .. }
        | Ruling::Repaired { .. }
        | Ruling::Broken => false,
    };
    let question =
        (outcome == Outcome::Ask).then(|| question.or(meaning).unwrap_or_else(|| format!("Run {alias}?")));
    let rule = by.text(alias);
    let exact = exact || unseen;
    Decision {
        outcome,
        rule,
        by,
        lost,
        question,
        scopes,
        every_time,
        exact,
        unseen,
        secret,
        secret_arguments,
        parts,
    }
}

/// What holds instead of `said` where `deny` could concern code that nobody sees: a person is asked, unless it is denied anyway.
fn could_be_denied((by, mut lost): (Ruling, Vec<Lost>), deny: &Arc<Rule>) -> (Ruling, Vec<Lost>) {
    match by.outcome() {
        Outcome::Deny => (by, lost),
        Outcome::Allow | Outcome::Ask => {
            lost.insert(0, Lost { ruling: by, why: WhyLost::Unseen });
            (Ruling::Unseen { rule: Arc::clone(deny) }, lost)
        }
    }
}

/// The strictest of what is said of each command; the first of those that are equally strict.
fn strictest(
    all: impl Iterator<Item = (Ruling, Vec<Lost>)>,
    of_none: impl FnOnce() -> (Ruling, Vec<Lost>),
) -> (Ruling, Vec<Lost>) {
    let rank = |(by, _): &(Ruling, Vec<Lost>)| match by.outcome() {
        Outcome::Allow => 0,
        // Fewer yeses answer it than another ask.
        Outcome::Ask => 1 + u8::from(matches!(by, Ruling::Unseen { .. })),
        Outcome::Deny => 3,
    };
    all.reduce(|one, other| if rank(&other) > rank(&one) { other } else { one }).unwrap_or_else(of_none)
}

/// Who decides, and who would have.
fn rule_of(tool: &BoundTool, facts: &CallFacts<'_>, tool_asks: bool) -> (Ruling, Vec<Lost>) {
    let permission = tool.binding().permission;
    let rules = tool.rules();
    let by_permission = Ruling::Permission { permission, layer: rules.permission_by };
    let mut speaking: Vec<Ruling> = rules
        .of_call(facts)
        .map(|found| Ruling::Rule { rule: Arc::clone(&found.rule), layer: found.layer })
        .collect();
    // Denies first, but for what holds by default; else the first that speaks; the permission always does.
    let winner = if speaking.is_empty() {
        by_permission
    } else {
        let after = speaking.partition_point(|ruling| ruling.layer() <= rules.permission_by);
        speaking.insert(after, by_permission);
        let denies = |ruling: &Ruling| ruling.outcome() == Outcome::Deny && ruling.layer() != Layer::Tool;
        let denying = speaking.iter().position(denies);
        speaking.remove(denying.unwrap_or(0))
    };
    let mut lost: Vec<Lost> = speaking
        .into_iter()
        .map(|ruling| {
            let why = match (winner.outcome(), ruling.outcome()) {
                (Outcome::Deny, Outcome::Deny) => WhyLost::AnotherDeny,
                (Outcome::Deny, Outcome::Allow | Outcome::Ask) => WhyLost::DenyFirst,
                (Outcome::Allow | Outcome::Ask, _) if winner.layer() == ruling.layer() => {
                    WhyLost::EarlierInLayer
                }
                (Outcome::Allow | Outcome::Ask, _) => WhyLost::LayerBefore(winner.layer()),
            };
            Lost { ruling, why }
        })
        .collect();
    if tool_asks && winner.outcome() == Outcome::Allow {
        lost.insert(0, Lost { ruling: winner, why: WhyLost::OwnQuestion });
        return (Ruling::OwnQuestion, lost);
    }
    (winner, lost)
}
