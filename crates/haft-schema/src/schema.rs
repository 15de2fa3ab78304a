//! A whole JSON Schema document of a tool's arguments, cheap to share.
//! It must not validate values (feature `validate`) and must not fetch anything.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{Property, View};

/// The JSON Schema of a tool's arguments. Cloning shares the document.
///
/// ```
/// use haft_schema::Schema;
///
/// let schema = Schema::new(serde_json::json!({
///     "type": "object",
///     "properties": {"limit": {"type": "integer", "default": 10}},
///     "required": ["limit"],
/// }))?;
/// let limit = schema.property("limit").ok_or("missing")?;
/// assert!(limit.required);
/// assert_eq!(limit.schema.type_name(), "integer");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Schema {
    document: Arc<Value>,
}

/// Why a document cannot serve as a schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// The document is neither an object nor a boolean.
    #[error(
        "a JSON Schema is an object or a boolean, this is {found}; write it as {{\"type\": \"object\", …}}"
    )]
    NotASchema {
        /// What was found instead.
        found: &'static str,
    },
    /// A `$ref` points out of the document; nothing is ever fetched.
    #[error(
        "the schema refers to {reference:?}, outside of itself; remote and file references are never fetched. \
         Copy the definition into \"$defs\" and refer to it as \"#/$defs/…\""
    )]
    OutsideReference {
        /// The reference as written.
        reference: String,
    },
    /// The validator refuses the document.
    #[error("the schema is not valid at {place:?}: {reason}")]
    Invalid {
        /// JSON pointer into the schema.
        place: String,
        /// What the validator said.
        reason: String,
    },
}

impl Schema {
    /// Takes a document as a schema. Only its outermost shape is checked; `Validator::compile` checks the rest.
    ///
    /// # Errors
    /// [`SchemaError::NotASchema`] if it is neither an object nor a boolean.
    pub fn new(document: Value) -> Result<Self, SchemaError> {
        let found = match &document {
            Value::Object(_) | Value::Bool(_) => return Ok(Self { document: Arc::new(document) }),
            Value::Null => "null",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
        };
        Err(SchemaError::NotASchema { found })
    }

    /// The schema of a tool without parameters: an object that takes no properties.
    pub fn empty_object() -> Self {
        let document = json!({"type": "object", "properties": {}, "additionalProperties": false});
        Self { document: Arc::new(document) }
    }

    /// The document as it was given.
    pub fn as_value(&self) -> &Value {
        &self.document
    }

    /// The resolved reading of the whole document.
    pub fn view(&self) -> View<'_> {
        View::new(&self.document)
    }

    /// The declared parameters in the order of the document.
    pub fn properties(&self) -> impl Iterator<Item = Property<'_>> {
        self.view().properties().into_iter()
    }

    /// The declared parameter with exactly this name.
    pub fn property(&self, name: &str) -> Option<Property<'_>> {
        let view = self.view();
        let (name, schema) = view.property_entry(name)?;
        Some(Property { name, schema, required: view.is_required(name) })
    }

    /// The names of the required parameters, in the order of the document.
    pub fn required(&self) -> impl Iterator<Item = &str> {
        self.view().required().into_iter()
    }

    /// Whether unknown parameters are refused (`additionalProperties: false`, CONFLICT-22).
    pub fn is_closed(&self) -> bool {
        self.view().is_closed()
    }
}

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.document, &other.document) || self.document == other.document
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_is_no_schema() {
        assert_eq!(Schema::new(json!([])), Err(SchemaError::NotASchema { found: "an array" }));
        assert_eq!(Schema::new(json!("x")), Err(SchemaError::NotASchema { found: "a string" }));
        assert!(Schema::new(json!(true)).is_ok());
    }

    // DES-04
    #[test]
    fn reads_parameters() {
        let schema = Schema::new(json!({
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "What to seek"},
                "freshness": {"type": "string", "enum": ["day", "week"], "default": "day"},
            },
            "required": ["query"],
            "additionalProperties": false,
        }))
        .unwrap();
        let parameters: Vec<(&str, bool, String)> = schema
            .properties()
            .map(|property| (property.name, property.required, property.schema.type_name()))
            .collect();
        assert_eq!(
            parameters,
            [("query", true, "string".to_owned()), ("freshness", false, "string".to_owned())]
        );
        assert_eq!(schema.property("query").unwrap().schema.description(), Some("What to seek"));
        let freshness = schema.property("freshness").unwrap();
        assert_eq!(freshness.schema.default(), Some(&json!("day")));
        assert_eq!(freshness.schema.enum_values(), [&json!("day"), &json!("week")]);
        assert!(schema.property("Query").is_none());
        assert!(schema.is_closed());
        assert_eq!(schema.required().collect::<Vec<_>>(), ["query"]);
        assert!(Schema::empty_object().is_closed());
        assert_eq!(Schema::empty_object().properties().count(), 0);
    }
}
