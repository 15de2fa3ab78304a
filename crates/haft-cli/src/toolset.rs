//! Which tools there are, and what a name of one means.

use std::fmt;
use std::sync::Arc;

use haft_core::ids::Provider;
use haft_core::nearest::nearest;
use haft_core::snapshot::{BoundTool, CompiledTools};
use haft_core::{ToolId, ToolRegistry};

use crate::exit::Failure;

/// All tools of this binary.
pub(crate) fn registry(allow_override: bool) -> Result<ToolRegistry, Failure> {
    let mut registry = if allow_override { ToolRegistry::with_override() } else { ToolRegistry::default() };
    let broken = |what: String| Failure::failed(format!("the tools of this binary are broken: {what}"));
    let tools = haft_tools::all().map_err(|error| broken(error.to_string()))?;
    registry.register_all(tools).map_err(|error| broken(error.to_string()))?;
    Ok(registry)
}

/// The tool of the profile that `name` means (design: TOOL): an alias of the snapshot, else an id, else the alias that a tool of
/// the catalog would have. Known nowhere is wrong usage; known but not in the profile is a refusal.
pub(crate) fn find<'a>(
    tools: &'a CompiledTools,
    registry: &ToolRegistry,
    name: &str,
    profile: &str,
) -> Result<&'a Arc<BoundTool>, Failure> {
    if let Some(tool) = tools.by_alias(name) {
        return Ok(tool);
    }
    // Several tools may share an alias that the profile gave to none of them; one that is in the profile is meant.
    if let Some(tool) = registry.with_alias(name).find_map(|id| tools.by_id(id)) {
        return Ok(tool);
    }
    let id = known(registry, name)?;
    if let Some(rule) = tools.hidden_by(&id) {
        return Err(Failure::refused(format!("`{id}` is hidden by a rule: {rule}"))
            .hint("No allow, grant or flag lifts a deny; change or remove the rule."));
    }
    tools.by_id(&id).ok_or_else(|| {
        Failure::refused(format!("`{id}` is not among the tools of the profile `{profile}`"))
            .hint("Name another profile with `--profile`, or add the tool to `tools.allow` of your own.")
    })
}

/// The tool of the catalog that `name` means, or wrong usage.
pub(crate) fn known(registry: &ToolRegistry, name: &str) -> Result<ToolId, Failure> {
    resolve(registry, name).map_err(|unknown| {
        let hint = match unknown.hint() {
            Some(hint) => format!("{}{}", hint[..1].to_uppercase(), &hint[1..]),
            None => "`haft tools` lists the tools of the profile.".to_owned(),
        };
        Failure::usage(unknown).hint(hint)
    })
}

/// A tool that works in the folder of the session's project.
pub(crate) fn is_of_a_project(id: &ToolId) -> bool {
    id.provider() == Provider::Builtin && id.native_name().starts_with("project.")
}

/// A name that means no tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NoSuchTool {
    name: String,
    /// At most five that look like it.
    suggestions: Vec<String>,
}

impl NoSuchTool {
    /// The next step.
    pub(crate) fn hint(&self) -> Option<String> {
        (!self.suggestions.is_empty()).then(|| format!("did you mean {}?", listed(&self.suggestions)))
    }
}

impl fmt::Display for NoSuchTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no tool `{}`", self.name)
    }
}

/// What `name` means in the catalog: an id (`builtin:` may be left out), else the alias that a tool would have.
pub(crate) fn resolve(registry: &ToolRegistry, name: &str) -> Result<ToolId, NoSuchTool> {
    if let Some(id) = registry.resolve(name) {
        return Ok(id);
    }
    let is_id = name.contains(['.', ':']);
    let declarations = registry.iter().map(|tool| tool.declaration());
    let mut known: Vec<String> = declarations
        .map(|tool| if is_id { tool.id().native_name().to_owned() } else { tool.alias() })
        .collect();
    known.sort();
    known.dedup();
    let suggestions = nearest(name.trim_start_matches("builtin:"), known.iter().map(String::as_str), 5)
        .into_iter()
        .map(str::to_owned)
        .collect();
    Err(NoSuchTool { name: name.to_owned(), suggestions })
}

fn listed(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
