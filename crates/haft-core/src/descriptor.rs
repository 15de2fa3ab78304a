//! What a provider says of its tool to the world: title, description, schemas, annotations (DES-01).
//!
//! It must never hold a permission, a budget, an executor or an alias: those belong to the profile, the
//! snapshot and the tool itself.

use haft_schema::Schema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ids::ToolId;

/// The canonical, frozen description of one tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolDescriptor {
    /// The tool's stable name.
    pub id: ToolId,
    /// A short name for people.
    pub title: String,
    /// What the tool does, for the model: it drives the choice (DES-03).
    pub description: String,
    /// JSON Schema of the arguments that the model may give. Injected parameters are not in it (CTX-05).
    #[serde(with = "schema_text")]
    pub input_schema: Schema,
    /// JSON Schema of the structured result, where the tool declares one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Raw annotations as the provider gave them. They may tighten permission, never loosen it.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub annotations: Map<String, Value>,
}

impl ToolDescriptor {
    /// The tool in OpenAI's function form, under the name `alias` (DES-02, PRV-05).
    pub fn to_openai_format(&self, alias: &str) -> Value {
        serde_json::json!({
            "type": "function",
            "function": {
                "name": alias,
                "description": self.description,
                "parameters": self.input_schema.as_value(),
            }
        })
    }
}

/// Writes a schema as the JSON document that it is.
pub(crate) mod schema_text {
    use haft_schema::Schema;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::Value;

    pub(crate) fn serialize<S: Serializer>(schema: &Schema, serializer: S) -> Result<S::Ok, S::Error> {
        schema.as_value().serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Schema, D::Error> {
        Schema::new(Value::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}
