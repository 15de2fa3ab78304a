//! What is wrong with rules, told before any call: rules that can never be about one, pairs that contradict each other, examples
//! that do not hold; and, for `haft policy lint`, rules that never decide.

use indexmap::IndexMap;
use serde_json::Value;

use super::commands::{self, CallCommands};
use super::compiled::{CallFacts, Conditions, is_about_tool};
use super::layers::{Layer, Policy, Voice};
use super::named::{Named, is_open};
use super::rule::{Place, Rule};
use crate::declaration::ToolDeclaration;
use crate::facts::Permission;
use crate::ids::ToolId;
use crate::nearest::nearest;
use crate::registry::ToolRegistry;

/// One thing that is wrong with a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleProblem {
    /// Where the rule stands.
    pub place: Place,
    /// What is wrong.
    pub text: String,
    /// The next step.
    pub hint: Option<String>,
}

/// What makes `rules` unusable: those of one layer, with the aliases that a profile gives. Nothing is wrong with an empty answer.
pub fn check(
    rules: &[Rule],
    registry: &ToolRegistry,
    aliases: &IndexMap<ToolId, String>,
) -> Vec<RuleProblem> {
    check_by(rules, |rule| never_fits(rule, registry, aliases))
}

/// As [`check()`], for the rules of one source: its tools need not be there when the rules are read.
pub fn check_source(rules: &[Rule]) -> Vec<RuleProblem> {
    check_by(rules, |_| None)
}

fn check_by(
    rules: &[Rule],
    never_fits: impl Fn(&Rule) -> Option<(String, Option<String>)>,
) -> Vec<RuleProblem> {
    let mut problems = Vec::new();
    for (index, rule) in rules.iter().enumerate() {
        let mut add = |text: String, hint: Option<String>| {
            problems.push(RuleProblem { place: rule.place.clone(), text, hint });
        };
        if let Some((text, hint)) = never_fits(rule) {
            add(text, hint);
        }
        match Conditions::read(rule) {
            Err((key, why)) => add(format!("`{key}` of this rule cannot be used: {why}"), None),
            Ok(conditions) => {
                for text in failing_examples(rule, &conditions) {
                    add(text, Some("mend the rule or the example".to_owned()));
                }
            }
        }
        let before = rules.iter().take(index).filter(|other| other.place.file == rule.place.file);
        if let Some(other) =
            before.filter(|other| other.decision != rule.decision).find(|other| other.has_conditions_of(rule))
        {
            let (word, place) = (other.decision.as_str(), &other.place);
            let text =
                format!("this rule contradicts the one at {place}, which says `{word}` for the same calls");
            add(text, Some("keep one of them".to_owned()));
        }
    }
    problems
}

/// Why a rule can never be about a call, and the next step.
fn never_fits(
    rule: &Rule,
    registry: &ToolRegistry,
    aliases: &IndexMap<ToolId, String>,
) -> Option<(String, Option<String>)> {
    let pattern = rule.tool.as_str();
    if rule.mcp.is_some() && pattern.starts_with("builtin:") {
        let hint = Some("leave `mcp` out, or name tools of the server".to_owned());
        return Some((format!("this rule can never match: `{pattern}` is no tool of an MCP server"), hint));
    }
    // Servers and extensions come and go; their tools need not be there when the rule is read.
    if rule.mcp.is_some() || pattern.starts_with("mcp/") || pattern.starts_with("ext/") {
        return None;
    }
    let declarations = || registry.iter().map(|tool| tool.declaration());
    let given = |tool: &ToolDeclaration| aliases.get(tool.id()).map(String::as_str);
    let by_name = Rule { effect: None, ..rule.clone() };
    let named: Vec<&ToolDeclaration> =
        declarations().filter(|tool| is_about_tool(anyones(&by_name), tool, given(tool))).collect();
    if named.is_empty() {
        let names: Vec<String> = declarations()
            .flat_map(|tool| [tool.id().native_name().to_owned(), tool.alias()])
            .chain(aliases.values().cloned())
            .collect();
        let wanted = pattern.trim_start_matches("builtin:").replace(['*', '?'], "");
        let near = nearest(&wanted, names.iter().map(String::as_str), 1);
        let hint = match near.first() {
            Some(name) => format!("did you mean `{name}`?"),
            None => "`haft tools` lists the tools of a profile".to_owned(),
        };
        return Some((format!("this rule can never match: no tool fits `{pattern}`"), Some(hint)));
    }
    let never =
        |what: &str| Some((format!("this rule can never match: no tool that fits `{pattern}` {what}"), None));
    let mut left: Vec<&ToolDeclaration> =
        named.into_iter().filter(|tool| is_about_tool(anyones(rule), tool, given(tool))).collect();
    if left.is_empty() {
        return never(&format!("has the effect `{}`", rule.effect.map_or("", |effect| effect.as_str())));
    }
    let schema = |tool: &&ToolDeclaration| tool.descriptor.input_schema.as_value().clone();
    for (wanted, named, what) in [(&rule.path, Named::Path, "path"), (&rule.host, Named::Host, "host")] {
        if wanted.is_some() {
            left.retain(|tool| named.is_in(&schema(tool)));
            if left.is_empty() {
                return never(&format!("has an argument that names a {what}"));
            }
        }
    }
    if rule.command.is_some() {
        left.retain(|tool| tool.facts.command.is_some() || commands::may_hold_a_command(&schema(tool)));
        if left.is_empty() {
            return never("takes a command line");
        }
    }
    if let Some(value) = &rule.value {
        left.retain(|tool| may_point(&schema(tool), &value.pointer));
        if left.is_empty() {
            return never(&format!("has an argument at `{}`", value.pointer));
        }
    }
    None
}

/// A rule that may be about tools of every source.
fn anyones(rule: &Rule) -> Voice<'_> {
    Voice { layer: Layer::User, source: None, rule }
}

/// True if arguments of this schema may have something at `pointer`; only its first step is looked at.
fn may_point(schema: &Value, pointer: &str) -> bool {
    let first = pointer.trim_start_matches('/').split('/').next().unwrap_or("");
    let key = first.replace("~1", "/").replace("~0", "~");
    is_open(schema) || schema.get("properties").is_some_and(|properties| properties.get(&key).is_some())
}

fn failing_examples(rule: &Rule, conditions: &Conditions) -> Vec<String> {
    let fits = |arguments: &Value| match commands::looks_like_a_command(arguments) {
        Some(name) => {
            let read = CallCommands::read(arguments, name);
            let mut views = read.views().map(|view| CallFacts::of_command(arguments, None, true, true, view));
            if rule.decision == Permission::Allow {
                views.all(|facts| conditions.fit(rule, &facts))
            } else {
                views.any(|facts| conditions.fit(rule, &facts))
            }
        }
        None => conditions.fit(rule, &CallFacts::read(arguments, &[], None, true, true)),
    };
    let mut failing = Vec::new();
    for (key, examples, expected) in [("match", &rule.matches, true), ("not_match", &rule.not_matches, false)]
    {
        for example in examples {
            if !example.is_object() {
                failing.push(format!("an example of `{key}` must be an object of arguments, not {example}"));
            } else if fits(example) != expected {
                let does = if expected { "does not match" } else { "matches" };
                failing.push(format!("this rule {does} its own example of `{key}`: {example}"));
            }
        }
    }
    failing
}

/// Rules that can be used and never decide, because another one always speaks before them.
pub fn lint(policy: &Policy) -> Vec<RuleProblem> {
    let voices: Vec<Voice<'_>> = policy.voices().collect();
    let mut problems = Vec::new();
    for (index, Voice { source, rule, .. }) in voices.iter().enumerate() {
        let silences = |(at, other): &(usize, &Voice<'_>)| {
            let comes_first = match (other.rule.decision, rule.decision) {
                (Permission::Deny, Permission::Allow | Permission::Ask) => true,
                (Permission::Allow | Permission::Ask, Permission::Deny) => false,
                (Permission::Allow | Permission::Ask | Permission::Deny, _) => *at < index,
            };
            let of_all = other.source.is_none() || other.source == *source;
            *at != index && comes_first && of_all && covers(other.rule, rule)
        };
        if let Some((_, other)) = voices.iter().enumerate().find(silences) {
            problems.push(RuleProblem {
                place: rule.place.clone(),
                text: format!("this rule never decides: the one at {} always speaks first", other.rule.place),
                hint: Some("take it away, or put it before the other".to_owned()),
            });
        }
    }
    problems
}

/// True if `wide` is about every call that `narrow` is about.
fn covers(wide: &Rule, narrow: &Rule) -> bool {
    let tool = wide.tool == narrow.tool
        || wide.tool.fits_all()
        || (narrow.tool.is_literal() && wide.tool.fits(narrow.tool.as_str()));
    // An allow wants to be sure of paths and hosts where an ask or a deny does not.
    let as_sure = wide.decision != Permission::Allow || narrow.decision == Permission::Allow;
    let (Ok(outer), Ok(inner)) = (Conditions::read(wide), Conditions::read(narrow)) else { return false };
    let path = match (&outer.path, &inner.path) {
        (None, _) => true,
        (Some(outer), Some(inner)) => as_sure && outer.holds(inner),
        (Some(_), None) => false,
    };
    let host = match (&outer.host, &inner.host) {
        (None, _) => true,
        (Some(outer), Some(inner)) => as_sure && outer.holds(inner),
        (Some(_), None) => false,
    };
    let command = match (&outer.command, &inner.command) {
        (None, _) => true,
        (Some(outer), Some(inner)) => as_sure && outer.holds(inner),
        (Some(_), None) => false,
    };
    tool && path
        && host
        && command
        && (wide.value.is_none() || wide.value == narrow.value)
        && (wide.effect.is_none() || wide.effect == narrow.effect)
        && (wide.mcp.is_none() || wide.mcp == narrow.mcp)
        && (wide.agent.is_none() || wide.agent == narrow.agent)
        && (wide.attended.is_none() || wide.attended == narrow.attended)
}
