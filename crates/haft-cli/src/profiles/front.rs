//! One profile file: front matter between two `---` lines, then the prompt. Every key is optional.
//!
//! Names of tools are resolved here, so that an unknown one is reported at its line.

use haft_core::facts::Permission;
use haft_core::policy::Rule;
use haft_core::profile::{BreachPolicy, CallIds, RunKind};
use haft_core::render::Renderer;
use haft_core::spill::SpillSink;
use haft_core::{ToolId, ToolRegistry};

use super::delegation::{self, Delegation};
use super::limits::{self, Bounds};
use super::running::{self, Running};
use super::skills::{self, Skills};
use super::sources::ProfileSource;
use super::workspace::{self, Roots};
use crate::document::reader::{Problems, TableReader};
use crate::document::{Entry, FileError, Position, Value, yaml};
use crate::{rules, toolset};

/// What one file says; what it leaves out is none or empty.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Layer {
    pub(super) name: Option<String>,
    pub(super) description: Option<String>,
    pub(super) extends: Option<String>,
    pub(super) model: Option<String>,
    pub(super) dialect: Option<String>,
    pub(super) run_kind: Option<RunKind>,
    pub(super) allow: Option<Vec<ToolId>>,
    pub(super) deny: Vec<ToolId>,
    pub(super) alias: Vec<(ToolId, String)>,
    pub(super) tool_descriptions: Vec<(ToolId, String)>,
    pub(super) permission: Vec<(ToolId, Permission)>,
    pub(super) renderer: Option<Renderer>,
    pub(super) spill_threshold: Option<u64>,
    pub(super) spill_preview: Option<u64>,
    pub(super) spill_sink: Option<SpillSink>,
    pub(super) timeout_s: Option<u64>,
    pub(super) grace_s: Option<u64>,
    pub(super) unknown_alias: Option<BreachPolicy>,
    pub(super) malformed_arguments: Option<BreachPolicy>,
    pub(super) read_artifact_max_chars: Option<u64>,
    pub(super) max_tokens: Option<u32>,
    pub(super) temperature: Option<f64>,
    pub(super) rules: Vec<Rule>,
    pub(super) policy_default: Option<Permission>,
    pub(super) running: Running,
    pub(super) skills: Skills,
    pub(super) world_info: Option<Vec<String>>,
    pub(super) delegation: Delegation,
    pub(super) workspace: Roots,
    pub(super) call_ids: Option<CallIds>,
    pub(super) bounds: Bounds,
    pub(super) prompt: String,
}

/// Reads `source`.
pub(super) fn read(source: &ProfileSource, registry: &ToolRegistry) -> Result<Layer, FileError> {
    let (front, prompt) = split(source)?;
    let tree = yaml::parse(&source.place, front, 2)?;
    let problems = Problems::default();
    let root = TableReader::new(&tree, "", &problems);
    let mut layer = Layer {
        name: root.text("name"),
        description: root.text("description"),
        extends: root.text("extends"),
        model: root.text("model"),
        dialect: root.text("dialect"),
        read_artifact_max_chars: root.whole("read_artifact_max_chars", 1, u64::MAX),
        max_tokens: count(&root, "max_tokens"),
        temperature: root.number("temperature", 0.0, 10.0),
        unknown_alias: breach(&root, "unknown_alias"),
        malformed_arguments: breach(&root, "malformed_arguments"),
        running: running::read(&root),
        skills: skills::read(&root),
        world_info: root.texts("world_info").map(|names| names.into_iter().map(|(name, _)| name).collect()),
        delegation: delegation::read(&root),
        workspace: workspace::read(&root),
        call_ids: call_ids(&root),
        bounds: limits::read(&root, registry),
        prompt: prompt.trim().to_owned(),
        ..Layer::default()
    };
    if let Some(run) = root.table("run") {
        layer.run_kind = run_kind(&run);
        run.finish();
    }
    if let Some(tools) = root.table("tools") {
        read_tools(&tools, registry, &mut layer);
        tools.finish();
    }
    if let Some(result) = root.table("result") {
        let renderers = [Renderer::Xml, Renderer::Json, Renderer::Markdown, Renderer::Plain];
        let found = result.word("renderer", &["xml", "json", "markdown", "plain"]);
        layer.renderer = found.and_then(|at| renderers.get(at).copied());
        result.finish();
    }
    if let Some(spill) = root.table("spill") {
        layer.spill_threshold = spill.whole("threshold", 1, u64::MAX);
        layer.spill_preview = spill.whole("preview", 1, u64::MAX);
        let sinks = [SpillSink::Artifact, SpillSink::None];
        layer.spill_sink = spill.word("sink", &["artifact", "none"]).and_then(|at| sinks.get(at).copied());
        spill.finish();
    }
    if let Some(consent) = root.table("consent") {
        layer.timeout_s = consent.whole("timeout_s", 0, 366 * 24 * 3600);
        layer.grace_s = consent.whole("grace_s", 0, 366 * 24 * 3600);
        consent.finish();
    }
    if let Some(policy) = root.table("policy") {
        rules::read_version(&policy);
        layer.rules = rules::read(&policy, &source.place);
        layer.policy_default = rules::read_default(&policy);
        policy.finish();
    }
    root.finish();
    problems.into_result(&source.place)?;
    Ok(layer)
}

/// The front matter and the prompt.
fn split(source: &ProfileSource) -> Result<(&str, &str), FileError> {
    let fail = |line: usize, text: &str| FileError {
        file: source.place.clone(),
        problems: vec![crate::document::Problem {
            at: Some(Position { line, column: 1 }),
            text: text.to_owned(),
            hint: Some("a profile is keys between two `---` lines, then the prompt".to_owned()),
        }],
    };
    let text = source.text.strip_prefix('\u{feff}').unwrap_or(&source.text);
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().unwrap_or("");
    if first.trim_end() != "---" {
        return Err(fail(1, "the first line must be `---`"));
    }
    let start = first.len();
    let mut at = start;
    for line in lines {
        if line.trim_end() == "---" {
            return Ok((&text[start..at], &text[at + line.len()..]));
        }
        at += line.len();
    }
    Err(fail(text.lines().count().max(1), "the second `---` line is missing"))
}

fn read_tools(tools: &TableReader<'_>, registry: &ToolRegistry, layer: &mut Layer) {
    let calls = count(tools, "max_calls_per_run");
    layer.bounds.calls = layer.bounds.calls.or(calls);
    layer.allow = names(tools, "allow", registry);
    layer.deny = names(tools, "deny", registry).unwrap_or_default();
    layer.alias = texts_by_tool(tools, "alias", registry);
    layer.tool_descriptions = texts_by_tool(tools, "description", registry);
    layer.permission = by_tool(tools, "permission", registry, |entry, problems| {
        let found = match &entry.node.value {
            Value::Text(word) => permission(word),
            _ => None,
        };
        if found.is_none() {
            let hint = "it takes `allow` (or `auto`), `ask` (or `confirm`) and `deny`".to_owned();
            problems.add(entry.node.at, format!("this is no permission for `{}`", entry.key), Some(hint));
        }
        found
    });
}

fn texts_by_tool(
    tools: &TableReader<'_>,
    key: &'static str,
    registry: &ToolRegistry,
) -> Vec<(ToolId, String)> {
    by_tool(tools, key, registry, |entry, problems| match &entry.node.value {
        Value::Text(text) => Some(text.clone()),
        other => {
            problems.add(entry.node.at, format!("`tools.{key}` takes text, not {}", other.kind()), None);
            None
        }
    })
}

/// A's words and ours (APR-01).
fn permission(word: &str) -> Option<Permission> {
    match word {
        "allow" | "auto" => Some(Permission::Allow),
        "ask" | "confirm" => Some(Permission::Ask),
        "deny" => Some(Permission::Deny),
        _ => None,
    }
}

fn run_kind(run: &TableReader<'_>) -> Option<RunKind> {
    match run.word("kind", &["chat", "agent"])? {
        0 => Some(RunKind::Chat),
        _ => Some(RunKind::Agent),
    }
}

fn call_ids(root: &TableReader<'_>) -> Option<CallIds> {
    match root.word("call_ids", &["host", "provider"])? {
        0 => Some(CallIds::Host),
        _ => Some(CallIds::Provider),
    }
}

fn breach(root: &TableReader<'_>, key: &'static str) -> Option<BreachPolicy> {
    match root.word(key, &["tool_error", "fail_fast"])? {
        0 => Some(BreachPolicy::ToolError),
        _ => Some(BreachPolicy::FailFast),
    }
}

pub(super) fn count(table: &TableReader<'_>, key: &'static str) -> Option<u32> {
    table.whole(key, 1, u64::from(u32::MAX)).and_then(|number| u32::try_from(number).ok())
}

fn names(table: &TableReader<'_>, key: &'static str, registry: &ToolRegistry) -> Option<Vec<ToolId>> {
    let names = table.texts(key)?;
    let ids = names.iter().filter_map(|(name, at)| tool(name, *at, table.problems(), registry));
    Some(ids.collect())
}

pub(super) fn by_tool<T>(
    table: &TableReader<'_>,
    key: &'static str,
    registry: &ToolRegistry,
    value: impl Fn(&Entry, &Problems) -> Option<T>,
) -> Vec<(ToolId, T)> {
    let problems = table.problems();
    let read =
        |entry: &Entry| Some((tool(&entry.key, entry.at, problems, registry)?, value(entry, problems)?));
    table.free_table(key).iter().filter_map(read).collect()
}

pub(super) fn tool(name: &str, at: Position, problems: &Problems, registry: &ToolRegistry) -> Option<ToolId> {
    match toolset::resolve(registry, name) {
        Ok(id) => Some(id),
        Err(unknown) => {
            problems.add(at, unknown.to_string(), unknown.hint());
            None
        }
    }
}
