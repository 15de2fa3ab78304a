//! A tool's whole declaration: descriptor and facts in one place (REG-02, CAT-07).

use haft_schema::Schema;
use serde_json::Value;

use crate::descriptor::ToolDescriptor;
use crate::facts::{Effect, ToolFacts};
use crate::ids::ToolId;

/// What a tool hands to the registry.
///
/// ```
/// use haft_core::{Effect, ToolDeclaration, ToolId};
/// let declaration = ToolDeclaration::new(
///     ToolId::own("echo"),
///     "Says the same again.",
///     serde_json::json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}),
///     Effect::Read,
/// )?;
/// assert_eq!(declaration.alias(), "echo");
/// # Ok::<(), haft_schema::SchemaError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDeclaration {
    /// What the world sees.
    pub descriptor: ToolDescriptor,
    /// What the implementation says of itself.
    pub facts: ToolFacts,
}

impl ToolDeclaration {
    /// A declaration with default facts. Fails if `input_schema` is no schema of an object.
    pub fn new(
        id: ToolId,
        description: impl Into<String>,
        input_schema: Value,
        effect: Effect,
    ) -> Result<Self, haft_schema::SchemaError> {
        let title = title_of(id.native_name());
        Ok(Self {
            descriptor: ToolDescriptor {
                id,
                title,
                description: description.into(),
                input_schema: Schema::new(input_schema)?,
                output_schema: None,
                annotations: serde_json::Map::new(),
            },
            facts: ToolFacts::new(effect),
        })
    }

    /// Changes the facts in place, for use in a chain.
    #[must_use]
    pub fn with_facts(mut self, change: impl FnOnce(&mut ToolFacts)) -> Self {
        change(&mut self.facts);
        self
    }

    /// The tool's id.
    pub fn id(&self) -> &ToolId {
        &self.descriptor.id
    }

    /// The alias that the tool has where no profile renames it (ALI-02).
    pub fn alias(&self) -> String {
        self.facts.alias.clone().unwrap_or_else(|| default_alias(self.id()))
    }
}

/// The native name with `_` for every character that an alias cannot hold (ALI-02), at most 64 bytes (ALI-05).
pub fn default_alias(id: &ToolId) -> String {
    id.native_name()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' })
        .take(64)
        .collect()
}

fn title_of(native_name: &str) -> String {
    let words = native_name.rsplit('.').next().unwrap_or(native_name).replace('_', " ");
    let mut letters = words.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    // ALI-02
    #[test]
    fn a_builtin_alias_is_its_native_name_with_underscores() {
        assert_eq!(default_alias(&ToolId::builtin("workspace.read_file")), "workspace_read_file");
    }
}
