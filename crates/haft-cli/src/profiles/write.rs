//! A profile in the form in which people write them: what `haft profile show` prints.

use std::fmt::Write;

use haft_core::Profile;
use haft_core::profile::{BreachPolicy, CallIds, RunKind};
use haft_core::render::Renderer;
use haft_core::spill::SpillSink;

use super::{limits, running};
use crate::rules;

/// The resolved profile as a file that, read again, gives the same profile.
pub(crate) fn as_file(profile: &Profile) -> String {
    let mut file = String::new();
    write_front(&mut file, profile).unwrap_or_default();
    file
}

/// Writing to a String cannot fail; the result only carries `?`.
fn write_front(out: &mut String, profile: &Profile) -> std::fmt::Result {
    writeln!(out, "---")?;
    writeln!(out, "name: {}", quoted(&profile.name))?;
    if !profile.description.is_empty() {
        writeln!(out, "description: {}", quoted(&profile.description))?;
    }
    for (key, value) in [("model", &profile.model), ("dialect", &profile.dialect)] {
        if let Some(value) = value {
            writeln!(out, "{key}: {}", quoted(value))?;
        }
    }
    match profile.run_kind {
        RunKind::Chat => {}
        RunKind::Agent => writeln!(out, "run:\n  kind: agent")?,
    }
    write_tools(out, profile)?;
    let own_rules = &profile.policy.profile;
    if !own_rules.is_empty() || profile.policy.default.is_some() {
        writeln!(out, "policy:")?;
    }
    if let Some(default) = profile.policy.default {
        writeln!(out, "  default: {}", default.as_str())?;
    }
    if !own_rules.is_empty() {
        writeln!(out, "  rules:")?;
    }
    for rule in own_rules {
        writeln!(out, "    - {}", rules::as_file(rule))?;
    }
    limits::write(out, profile)?;
    let renderer = match profile.renderer {
        Renderer::Xml => "xml",
        Renderer::Json => "json",
        Renderer::Markdown => "markdown",
        Renderer::Plain => "plain",
    };
    writeln!(out, "result:\n  renderer: {renderer}")?;
    let sink = match profile.spill.sink {
        SpillSink::Artifact => "artifact",
        SpillSink::None => "none",
    };
    let spill = profile.spill;
    writeln!(out, "spill:\n  threshold: {}\n  preview: {}\n  sink: {sink}", spill.threshold, spill.preview)?;
    let consent = profile.consent;
    writeln!(out, "consent:\n  timeout_s: {}\n  grace_s: {}", consent.timeout_s, consent.grace_s)?;
    running::write(out, profile)?;
    super::workspace::write(out, profile)?;
    super::skills::write(out, profile)?;
    if !profile.world_info.is_empty() {
        let books: Vec<String> = profile.world_info.iter().map(|name| quoted(name)).collect();
        writeln!(out, "world_info: [{}]", books.join(", "))?;
    }
    super::delegation::write(out, profile)?;
    match profile.call_ids {
        None => {}
        Some(CallIds::Host) => writeln!(out, "call_ids: host")?,
        Some(CallIds::Provider) => writeln!(out, "call_ids: provider")?,
    }
    writeln!(out, "unknown_alias: {}", breach(profile.unknown_alias))?;
    writeln!(out, "malformed_arguments: {}", breach(profile.malformed_arguments))?;
    writeln!(out, "read_artifact_max_chars: {}", profile.read_artifact_chars)?;
    if let Some(tokens) = profile.max_tokens {
        writeln!(out, "max_tokens: {tokens}")?;
    }
    if let Some(temperature) = profile.temperature {
        writeln!(out, "temperature: {temperature:?}")?;
    }
    writeln!(out, "---")?;
    if profile.prompt.is_empty() { Ok(()) } else { writeln!(out, "{}", profile.prompt) }
}

fn write_tools(out: &mut String, profile: &Profile) -> std::fmt::Result {
    let tools = &profile.tools;
    writeln!(out, "tools:\n  allow:{}", if tools.allow.is_empty() { " []" } else { "" })?;
    for id in &tools.allow {
        writeln!(out, "    - {id}")?;
    }
    if !tools.deny.is_empty() {
        writeln!(out, "  deny:")?;
        for id in &tools.deny {
            writeln!(out, "    - {id}")?;
        }
    }
    write_map(out, "alias", tools.alias.iter().map(|(id, alias)| (id.as_str(), quoted(alias))))?;
    write_map(out, "description", tools.description.iter().map(|(id, text)| (id.as_str(), quoted(text))))?;
    let permissions = tools.permission.iter().map(|(id, level)| (id.as_str(), level.as_str().to_owned()));
    write_map(out, "permission", permissions)
}

pub(super) fn write_map<'a>(
    out: &mut String,
    key: &str,
    entries: impl Iterator<Item = (&'a str, String)>,
) -> std::fmt::Result {
    let mut first = true;
    for (id, value) in entries {
        if std::mem::take(&mut first) {
            writeln!(out, "  {key}:")?;
        }
        writeln!(out, "    {id}: {value}")?;
    }
    Ok(())
}

fn breach(policy: BreachPolicy) -> &'static str {
    match policy {
        BreachPolicy::ToolError => "tool_error",
        BreachPolicy::FailFast => "fail_fast",
    }
}

/// As a double-quoted YAML scalar; JSON's form is one.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::String(text.to_owned()).to_string()
}
