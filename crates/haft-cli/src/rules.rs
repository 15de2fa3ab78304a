//! `policy.rules` of `haft.toml` and of profiles: read into plain rules, checked, and written again.
//!
//! What a rule means is decided in haft-core; this module knows the keys.

use haft_core::facts::Permission;
use haft_core::policy::{self, EffectMatch, Glob, Place, Rule, RuleProblem, ValueMatch, ValueTest};
use haft_core::{ToolId, ToolRegistry};
use indexmap::IndexMap;
use serde_json::{Map, json};

use crate::document::reader::{Problems, TableReader};
use crate::document::{FileError, Node, Position, Problem, Value};

/// Reads `rules` of the table `policy`; `file` is the name by which decisions will call the file.
pub(crate) fn read(policy: &TableReader<'_>, file: &str) -> Vec<Rule> {
    let Some(entry) = policy.entry("rules") else { return Vec::new() };
    match &entry.node.value {
        Value::List(items) => items.iter().filter_map(|item| rule(item, file, policy.problems())).collect(),
        other => {
            let text = format!("`policy.rules` must be a list of rules, not {}", other.kind());
            policy.problems().add(entry.node.at, text, None);
            Vec::new()
        }
    }
}

/// Reads `policy.source`: lists of rules by the provider of the tools that they are about.
pub(crate) fn read_sources(policy: &TableReader<'_>, file: &str) -> IndexMap<String, Vec<Rule>> {
    let mut sources = IndexMap::new();
    for entry in policy.free_table("source") {
        if format!("{}:x", entry.key).parse::<ToolId>().is_err() {
            let hint = Some("a source is `builtin`, `mcp/ID` or `ext/ID`".to_owned());
            policy.problems().add(entry.at, format!("`{}` is no source of tools", entry.key), hint);
        }
        let rules = match &entry.node.value {
            Value::List(items) => {
                items.iter().filter_map(|item| rule(item, file, policy.problems())).collect()
            }
            other => {
                let text = format!("`policy.source` must hold lists of rules, not {}", other.kind());
                policy.problems().add(entry.node.at, text, None);
                Vec::new()
            }
        };
        sources.insert(entry.key.clone(), rules);
    }
    sources
}

/// Reads `policy.version`: what is written for a later meaning of rules is not guessed at.
pub(crate) fn read_version(policy: &TableReader<'_>) {
    let newest = u64::from(policy::POLICY_SCHEMA);
    let _version: Option<u64> = policy.whole("version", 1, newest);
}

/// Reads `policy.default`: what holds of a tool of which nobody speaks.
pub(crate) fn read_default(policy: &TableReader<'_>) -> Option<Permission> {
    let permissions = [Permission::Ask, Permission::Deny];
    policy.word("default", &["ask", "deny"]).and_then(|at| permissions.get(at).copied())
}

/// The stricter of two defaults.
pub(crate) fn stricter(one: Option<Permission>, other: Option<Permission>) -> Option<Permission> {
    match (one, other) {
        (Some(Permission::Deny), _) | (_, Some(Permission::Deny)) => Some(Permission::Deny),
        (Some(Permission::Ask), _) | (_, Some(Permission::Ask)) => Some(Permission::Ask),
        (one, other) => one.or(other),
    }
}

fn rule(node: &Node, file: &str, problems: &Problems) -> Option<Rule> {
    let table = TableReader::new(node, "policy.rules", problems);
    let place = Place { file: file.to_owned(), line: node.at.line, column: node.at.column };
    let tool = table.text("tool").unwrap_or_else(|| "*".to_owned());
    let words = ["allow", "ask", "deny"];
    let permissions = [Permission::Allow, Permission::Ask, Permission::Deny];
    let decision = table.word("decision", &words).and_then(|at| permissions.get(at).copied());
    if decision.is_none() && table.entry("decision").is_none() && matches!(node.value, Value::Table(_)) {
        let hint = Some("it takes `allow`, `ask` and `deny`".to_owned());
        problems.add(node.at, "a rule needs `decision`", hint);
    }
    let effect = table.word("effect", &EffectMatch::WORDS).and_then(|at| EffectMatch::ALL.get(at).copied());
    let rule = Rule {
        reason: table.text("reason"),
        path: table.text("path"),
        host: table.text("host"),
        command: table.text("command"),
        value: value(&table, node.at),
        effect,
        mcp: table.text("mcp").map(Glob::new),
        agent: table.text("agent").map(Glob::new),
        attended: table.boolean("attended"),
        matches: examples(&table, "match"),
        not_matches: examples(&table, "not_match"),
        ..Rule::new(&tool, decision.unwrap_or(Permission::Deny), place)
    };
    table.finish();
    decision.map(|_| rule)
}

fn value(table: &TableReader<'_>, at: Position) -> Option<ValueMatch> {
    let pointer = table.text("pointer");
    let equals = table.entry("equals").and_then(|entry| as_json(&entry.node, table.problems()));
    let glob = table.text("glob");
    let wrong = |text: &str| {
        let hint = Some("for example `pointer = \"/mode\"` with `equals = \"append\"`".to_owned());
        table.problems().add(at, text, hint);
        None
    };
    match (pointer, equals, glob) {
        (None, None, None) => None,
        (Some(pointer), Some(value), None) => Some(ValueMatch { pointer, test: ValueTest::Equals(value) }),
        (Some(pointer), None, Some(glob)) => {
            Some(ValueMatch { pointer, test: ValueTest::Glob(Glob::new(glob)) })
        }
        (Some(_), None, None) => wrong("`pointer` needs `equals` or `glob` beside it"),
        (Some(_), Some(_), Some(_)) => wrong("`equals` and `glob` exclude each other; keep one of them"),
        (None, _, _) => wrong("`equals` and `glob` need `pointer` beside them"),
    }
}

fn examples(table: &TableReader<'_>, key: &'static str) -> Vec<serde_json::Value> {
    let Some(entry) = table.entry(key) else { return Vec::new() };
    match &entry.node.value {
        Value::List(items) => items.iter().filter_map(|item| as_json(item, table.problems())).collect(),
        other => {
            let text = format!("`policy.rules.{key}` must be a list of arguments, not {}", other.kind());
            let hint = Some(format!("for example `{key} = [{{ path = \"secrets/key\" }}]`"));
            table.problems().add(entry.node.at, text, hint);
            Vec::new()
        }
    }
}

/// A node as JSON; what JSON does not have is a problem.
pub(crate) fn as_json(node: &Node, problems: &Problems) -> Option<serde_json::Value> {
    match &node.value {
        Value::Null => Some(serde_json::Value::Null),
        Value::Boolean(flag) => Some((*flag).into()),
        Value::Integer(number) => Some((*number).into()),
        Value::Float(number) => Some((*number).into()),
        Value::Text(text) => Some(text.as_str().into()),
        Value::List(items) => items.iter().map(|item| as_json(item, problems)).collect(),
        Value::Table(entries) => {
            let pairs =
                entries.iter().map(|entry| Some((entry.key.clone(), as_json(&entry.node, problems)?)));
            pairs.collect::<Option<Map<_, _>>>().map(serde_json::Value::Object)
        }
        Value::Other(what) => {
            problems.add(node.at, format!("{what} is no JSON value"), None);
            None
        }
    }
}

/// An error if a rule of one file can never match, contradicts another, or fails its own examples.
pub(crate) fn check(
    file: &str,
    rules: &[Rule],
    registry: &ToolRegistry,
    aliases: &IndexMap<ToolId, String>,
) -> Result<(), FileError> {
    let problems = policy::check(rules, registry, aliases);
    if problems.is_empty() { Ok(()) } else { Err(as_file_error(file, problems)) }
}

/// As [`check`], for the rules of sources.
pub(crate) fn check_sources(file: &str, sources: &IndexMap<String, Vec<Rule>>) -> Result<(), FileError> {
    let problems: Vec<RuleProblem> = sources.values().flat_map(|rules| policy::check_source(rules)).collect();
    if problems.is_empty() { Ok(()) } else { Err(as_file_error(file, problems)) }
}

/// What is wrong with rules as what is wrong with a file.
pub(crate) fn as_file_error(file: &str, problems: Vec<RuleProblem>) -> FileError {
    let problem = |problem: RuleProblem| {
        let at = Position { line: problem.place.line, column: problem.place.column };
        Problem { at: Some(at), text: problem.text, hint: problem.hint }
    };
    FileError { file: file.to_owned(), problems: problems.into_iter().map(problem).collect() }
}

/// A rule with the keys of a file, as JSON; YAML reads it too.
pub(crate) fn as_file(rule: &Rule) -> serde_json::Value {
    let mut keys = Map::new();
    keys.insert("tool".to_owned(), rule.tool.as_str().into());
    keys.insert("decision".to_owned(), rule.decision.as_str().into());
    let mut add = |key: &str, value: Option<serde_json::Value>| {
        if let Some(value) = value {
            keys.insert(key.to_owned(), value);
        }
    };
    add("reason", rule.reason.as_deref().map(Into::into));
    add("path", rule.path.as_deref().map(Into::into));
    add("host", rule.host.as_deref().map(Into::into));
    add("command", rule.command.as_deref().map(Into::into));
    if let Some(ValueMatch { pointer, test }) = &rule.value {
        add("pointer", Some(pointer.as_str().into()));
        match test {
            ValueTest::Equals(value) => add("equals", Some(value.clone())),
            ValueTest::Glob(glob) => add("glob", Some(glob.as_str().into())),
        }
    }
    add("effect", rule.effect.map(|effect| effect.as_str().into()));
    add("mcp", rule.mcp.as_ref().map(|glob| glob.as_str().into()));
    add("agent", rule.agent.as_ref().map(|glob| glob.as_str().into()));
    add("attended", rule.attended.map(Into::into));
    add("match", (!rule.matches.is_empty()).then(|| json!(rule.matches)));
    add("not_match", (!rule.not_matches.is_empty()).then(|| json!(rule.not_matches)));
    keys.into()
}
