//! The set of base descriptors that current providers contribute (CAT-05). No state, no alias, no permission.

use indexmap::IndexMap;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::descriptor::ToolDescriptor;
use crate::ids::ToolId;

/// All descriptors, in the order in which they were contributed.
///
/// ```
/// use haft_core::{Effect, ToolCatalog, ToolDeclaration, ToolId};
/// let tool = ToolDeclaration::new(ToolId::own("a"), "", serde_json::json!({"type": "object"}), Effect::Read)?;
/// let catalog = ToolCatalog::new([tool.descriptor.clone()])?;
/// assert!(catalog.get(&ToolId::own("a")).is_some());
/// assert!(ToolCatalog::new([tool.descriptor.clone(), tool.descriptor]).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolCatalog {
    descriptors: IndexMap<ToolId, ToolDescriptor>,
}

/// Two contributions with one id (CAT-06).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "two tools are contributed as `{0}`; give one of them another name, or allow the override by `registry.allow_override`"
)]
pub struct DuplicateToolId(pub ToolId);

/// What a user interface shows of a tool: display and schema, no alias, no right to run it (CAT-08).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolCatalogItem {
    /// The stable id.
    pub tool_id: ToolId,
    /// Who contributes it, as the id writes it.
    pub provider: String,
    /// Short name for people.
    pub title: String,
    /// What it does.
    pub description: String,
    /// Schema of its arguments.
    pub input_schema: Value,
    /// Schema of its structured result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Raw annotations.
    pub annotations: Map<String, Value>,
}

impl ToolCatalog {
    /// Collects `descriptors`; a repeated id fails fast (CAT-06).
    pub fn new(descriptors: impl IntoIterator<Item = ToolDescriptor>) -> Result<Self, DuplicateToolId> {
        let mut catalog = Self::default();
        for descriptor in descriptors {
            let id = descriptor.id.clone();
            if catalog.descriptors.insert(id.clone(), descriptor).is_some() {
                return Err(DuplicateToolId(id));
            }
        }
        Ok(catalog)
    }

    /// The descriptor of `id`.
    pub fn get(&self, id: &ToolId) -> Option<&ToolDescriptor> {
        self.descriptors.get(id)
    }

    /// All descriptors in order.
    pub fn iter(&self) -> impl Iterator<Item = &ToolDescriptor> {
        self.descriptors.values()
    }

    /// The listing for a user interface (CAT-08).
    pub fn list(&self) -> Vec<ToolCatalogItem> {
        self.iter()
            .map(|d| ToolCatalogItem {
                tool_id: d.id.clone(),
                provider: d.id.as_str().split(':').next().unwrap_or_default().to_owned(),
                title: d.title.clone(),
                description: d.description.clone(),
                input_schema: d.input_schema.as_value().clone(),
                output_schema: d.output_schema.clone(),
                annotations: d.annotations.clone(),
            })
            .collect()
    }
}
