//! The schema of a tool's arguments from a Rust type, in the form that models and providers read best, and the arguments back
//! into that type.
//!
//! It must not judge arguments: preparing a call has done that before a tool sees them.

use haft_core::{ErrorCode, StartedCall, ToolError};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Keywords that hold values and not schemas.
const VALUES: [&str; 5] = ["default", "enum", "const", "examples", "required"];

/// Formats that name Rust's number types and tell a model nothing.
const NUMBER_FORMATS: [&str; 14] = [
    "int8", "int16", "int32", "int64", "int128", "int", "uint8", "uint16", "uint32", "uint64", "uint128",
    "uint", "float", "double",
];

/// The JSON Schema of `T` as a tool's parameters: definitions in place (but of types that hold themselves), no name of the type,
/// no names of Rust's number types, and no `null` for parameters that may be left out.
///
/// ```
/// #[derive(haft::schemars::JsonSchema)]
/// # #[schemars(crate = "haft::schemars")]
/// struct Search {
///     /// What to look for.
///     query: String,
///     limit: Option<u32>,
/// }
/// assert_eq!(haft::schema_of::<Search>(), haft::serde_json::json!({
///     "type": "object",
///     "properties": {
///         "query": {"type": "string", "description": "What to look for."},
///         "limit": {"type": "integer", "minimum": 0},
///     },
///     "required": ["query"],
/// }));
/// ```
pub fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    strip_number_formats(&mut schema);
    if let Value::Object(root) = &mut schema {
        root.shift_remove("title");
        root.entry("properties").or_insert_with(|| Value::Object(Map::new()));
        tidy_parameters(root);
    }
    schema
}

/// The arguments of a running call as a `T`.
///
/// # Errors
/// `agent.invalid_arguments` if they are no `T`, although they fit the tool's schema.
pub fn arguments_of<'a, T: Deserialize<'a>>(call: &'a StartedCall) -> Result<T, ToolError> {
    T::deserialize(call.arguments().value()).map_err(|error| {
        let message = format!("The call of `{}` cannot run: {error}.", call.alias());
        ToolError::new(ErrorCode::INVALID_ARGUMENTS, message)
    })
}

fn strip_number_formats(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            let named = map.get("format").and_then(Value::as_str);
            if named.is_some_and(|format| NUMBER_FORMATS.contains(&format)) {
                map.shift_remove("format");
            }
            for (keyword, inner) in map.iter_mut().filter(|(keyword, _)| !VALUES.contains(&keyword.as_str()))
            {
                match inner {
                    // Names of parameters, which may be those of keywords.
                    Value::Object(named) if keyword == "properties" => {
                        named.values_mut().for_each(strip_number_formats);
                    }
                    inner => strip_number_formats(inner),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(strip_number_formats),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Takes `null` out of parameters that may be left out: absent says the same, and preparing a call takes a `null` for absent.
fn tidy_parameters(root: &mut Map<String, Value>) {
    let required = match root.get("required") {
        Some(Value::Array(names)) => names.clone(),
        _ => Vec::new(),
    };
    let Some(Value::Object(properties)) = root.get_mut("properties") else { return };
    for (name, property) in properties {
        // Any value; providers want an object all the same.
        if *property == Value::Bool(true) {
            *property = Value::Object(Map::new());
        }
        if let Value::Object(property) = property
            && !required.iter().any(|required| required == name)
        {
            strip_null(property);
        }
    }
}

fn strip_null(property: &mut Map<String, Value>) {
    if property.get("default") == Some(&Value::Null) {
        property.shift_remove("default");
    }
    if let Some(Value::Array(types)) = property.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            property.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = property.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    let Some(Value::Array(choices)) = property.get_mut("anyOf") else { return };
    choices.retain(|choice| choice.get("type").is_none_or(|name| name != "null"));
    if let [Value::Object(only)] = choices.as_mut_slice() {
        // What stands outside, such as the parameter's own description, is nearer.
        let inner = std::mem::take(only);
        property.shift_remove("anyOf");
        for (keyword, value) in inner {
            property.entry(keyword).or_insert(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "read by the derive alone")]
    struct Corner {
        x: f64,
        /// A property that is called like a keyword.
        default: Option<i64>,
    }

    #[derive(JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[expect(dead_code, reason = "read by the derive alone")]
    enum Colour {
        Red,
        DarkBlue,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "read by the derive alone")]
    struct Draw {
        corners: Vec<Corner>,
        /// Of the line.
        colour: Option<Colour>,
        frame: Option<Corner>,
        layer: u8,
        tag: Option<serde_json::Value>,
    }

    // DES-04
    #[test]
    fn types_stand_in_place_and_optional_parameters_are_plain() {
        let corner = json!({
            "type": "object",
            "properties": {
                "x": {"type": "number"},
                "default": {"type": ["integer", "null"], "description": "A property that is called like a keyword."},
            },
            "required": ["x"],
        });
        assert_eq!(
            schema_of::<Draw>(),
            json!({
                "type": "object",
                "properties": {
                    "corners": {"type": "array", "items": corner},
                    "colour": {"type": "string", "enum": ["red", "dark_blue"], "description": "Of the line."},
                    "frame": corner,
                    "layer": {"type": "integer", "minimum": 0, "maximum": 255},
                    "tag": {},
                },
                "required": ["corners", "layer"],
            })
        );
    }

    #[test]
    fn a_type_that_holds_itself_keeps_its_definition() {
        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "read by the derive alone")]
        struct Tree {
            leaves: Vec<Tree>,
        }
        let schema = haft_core::Schema::new(schema_of::<Tree>()).unwrap();
        assert_eq!(schema.property("leaves").unwrap().schema.type_name(), "array of object");
        assert!(haft_schema::Validator::compile(&schema).is_ok());
    }

    #[test]
    fn no_parameters_are_an_empty_object() {
        #[derive(JsonSchema)]
        struct Nothing {}
        assert_eq!(schema_of::<Nothing>(), json!({"type": "object", "properties": {}}));
    }
}
