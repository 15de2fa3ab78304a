//! What bounds a run: `budget`, `loop` and `unattended` of a profile's file (GAT-01 to GAT-06, CONFLICT-28, CONFLICT-30).

use std::fmt::Write;

use haft_core::budget::{Budgets, Money};
use haft_core::capability::{Capabilities, Capability};
use haft_core::streak::LoopLimits;
use haft_core::{Profile, Scope, Timestamp, ToolId, ToolRegistry};

use super::front;
use crate::args::Allow;
use crate::document::reader::{self, Problems, TableReader};
use crate::document::{Node, Value};

/// Most money that a budget takes, in the unit of the prices.
const MOST_MONEY: f64 = 1e9;

/// What one file says of it; what it leaves out is none.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Bounds {
    pub(super) calls: Option<u32>,
    rounds: Option<u32>,
    calls_of: Vec<(ToolId, u32)>,
    wall_s: Option<u64>,
    output_bytes: Option<u64>,
    model_tokens: Option<u64>,
    money: Option<Money>,
    same_failures: Option<u32>,
    same_denials: Option<u32>,
    failed_batches: Option<u32>,
    unattended: Option<Capabilities>,
}

/// Reads the three tables of a profile.
pub(super) fn read(root: &TableReader<'_>, registry: &ToolRegistry) -> Bounds {
    let mut bounds = Bounds::default();
    if let Some(budget) = root.table("budget") {
        bounds.calls = front::count(&budget, "calls");
        bounds.rounds = front::count(&budget, "rounds");
        bounds.calls_of = front::by_tool(&budget, "calls_of", registry, |entry, problems| {
            let number = reader::whole(&entry.node, 0, u64::from(u32::MAX));
            if number.is_none() {
                problems.add(entry.node.at, "a number of calls must be a whole number from 0", None);
            }
            number.and_then(|number| u32::try_from(number).ok())
        });
        bounds.wall_s = budget.whole("wall_s", 1, 366 * 24 * 3600);
        bounds.output_bytes = budget.whole("output_bytes", 1, u64::MAX);
        bounds.model_tokens = budget.whole("model_tokens", 1, u64::MAX);
        bounds.money = budget.number("money", 0.000_001, MOST_MONEY).and_then(Money::of_units);
        budget.finish();
    }
    if let Some(streaks) = root.table("loop") {
        let times = |key| streaks.whole(key, 0, 1_000_000).and_then(|number| u32::try_from(number).ok());
        bounds.same_failures = times("same_failures");
        bounds.same_denials = times("same_denials");
        bounds.failed_batches = times("failed_batches");
        streaks.finish();
    }
    if let Some(unattended) = root.table("unattended") {
        bounds.unattended = unattended.entry("allow").map(|entry| match &entry.node.value {
            Value::List(items) => {
                let one = |item| capability(item, unattended.problems(), registry);
                Capabilities(items.iter().filter_map(one).collect())
            }
            other => {
                let hint = Some("for example `allow: [\"file_write=path:notes\"]`".to_owned());
                let text = format!("`unattended.allow` must be a list, not {}", other.kind());
                unattended.problems().add(entry.node.at, text, hint);
                Capabilities::default()
            }
        });
        unattended.finish();
    }
    bounds
}

/// `TOOL[=SCOPE]`, or a table with that as `allow`, and `uses` and `until`.
fn capability(node: &Node, problems: &Problems, registry: &ToolRegistry) -> Option<Capability> {
    let (text, uses, until) = match &node.value {
        Value::Text(text) => (text.clone(), None, None),
        _ => {
            let table = TableReader::new(node, "unattended.allow", problems);
            let text = table.text("allow");
            if text.is_none() {
                let hint = Some("for example `{allow: \"file_write=path:notes\", uses: 5}`".to_owned());
                problems.add(node.at, "a yes in advance needs `allow`", hint);
            }
            let uses = front::count(&table, "uses");
            let until = table.text("until").and_then(|text| {
                let time = Timestamp::parse(&text);
                if time.is_none() {
                    let hint =
                        Some("write a date such as `2026-12-31`, or `2026-12-31T18:00:00Z`".to_owned());
                    problems.add(node.at, format!("`until`: `{text}` is no time"), hint);
                }
                time
            });
            table.finish();
            (text?, uses, until)
        }
    };
    match Allow::parse(&text) {
        Ok(Allow { tool, scope }) => {
            let tool = front::tool(&tool, node.at, problems, registry)?;
            Some(Capability { tool, scope, uses, until })
        }
        Err(reason) => {
            problems.add(node.at, format!("`unattended.allow`: {reason}"), None);
            None
        }
    }
}

impl Bounds {
    /// What this file says, and where it says nothing, what the one below does. What is allowed to unattended runs is not laid
    /// over each other: whoever names a list names all of it.
    pub(super) fn over(self, below: Self) -> Self {
        Self {
            calls: self.calls.or(below.calls),
            rounds: self.rounds.or(below.rounds),
            calls_of: [below.calls_of, self.calls_of].concat(),
            wall_s: self.wall_s.or(below.wall_s),
            output_bytes: self.output_bytes.or(below.output_bytes),
            model_tokens: self.model_tokens.or(below.model_tokens),
            money: self.money.or(below.money),
            same_failures: self.same_failures.or(below.same_failures),
            same_denials: self.same_denials.or(below.same_denials),
            failed_batches: self.failed_batches.or(below.failed_batches),
            unattended: self.unattended.or(below.unattended),
        }
    }

    pub(super) fn budgets(&self) -> Budgets {
        let defaults = Budgets::default();
        Budgets {
            calls: self.calls.unwrap_or(defaults.calls),
            rounds: self.rounds.unwrap_or(defaults.rounds),
            calls_of: self.calls_of.iter().cloned().collect(),
            wall_s: self.wall_s,
            output_bytes: self.output_bytes,
            model_tokens: self.model_tokens,
            money: self.money,
        }
    }

    pub(super) fn loops(&self) -> LoopLimits {
        let defaults = LoopLimits::default();
        LoopLimits {
            same_failures: self.same_failures.unwrap_or(defaults.same_failures),
            same_denials: self.same_denials.unwrap_or(defaults.same_denials),
            failed_batches: self.failed_batches.unwrap_or(defaults.failed_batches),
        }
    }

    pub(super) fn unattended(&self) -> Capabilities {
        self.unattended.clone().unwrap_or_default()
    }
}

/// Writes the tables of a resolved profile; of budgets only those that are limited.
pub(super) fn write(out: &mut String, profile: &Profile) -> std::fmt::Result {
    let budgets = &profile.budgets;
    writeln!(out, "budget:\n  calls: {}\n  rounds: {}", budgets.calls, budgets.rounds)?;
    let limits = [
        ("wall_s", budgets.wall_s),
        ("output_bytes", budgets.output_bytes),
        ("model_tokens", budgets.model_tokens),
    ];
    for (key, limit) in limits {
        if let Some(limit) = limit {
            writeln!(out, "  {key}: {limit}")?;
        }
    }
    if let Some(money) = budgets.money {
        writeln!(out, "  money: {money}")?;
    }
    super::write::write_map(
        out,
        "calls_of",
        budgets.calls_of.iter().map(|(id, calls)| (id.as_str(), calls.to_string())),
    )?;
    let LoopLimits { same_failures, same_denials, failed_batches } = profile.loops;
    writeln!(
        out,
        "loop:\n  same_failures: {same_failures}\n  same_denials: {same_denials}\n  failed_batches: {failed_batches}"
    )?;
    if profile.unattended.is_empty() {
        return Ok(());
    }
    writeln!(out, "unattended:\n  allow:")?;
    for one in &profile.unattended.0 {
        let allow = match &one.scope {
            Scope::Tool => one.tool.to_string(),
            scope => format!("{}={scope}", one.tool),
        };
        let mut keys = serde_json::Map::from_iter([("allow".to_owned(), allow.into())]);
        if let Some(uses) = one.uses {
            keys.insert("uses".to_owned(), uses.into());
        }
        if let Some(until) = one.until {
            keys.insert("until".to_owned(), until.to_string().into());
        }
        writeln!(out, "    - {}", serde_json::Value::Object(keys))?;
    }
    Ok(())
}
