//! Coercion: values that came as text, or almost typed, become what the schema asks for (COE-02, COE-03), and defaults
//! are filled in (COE-04).
//!
//! It must not refuse: what has no clear conversion stays as it is, and validation reports it. It must not guess:
//! where text is allowed, text stays; where two conversions compete, nothing happens. Coercing twice changes nothing.

use serde_json::{Map, Number, Value};

use crate::json::{self, Syntax};
use crate::{Schema, Type, TypeSet, View, text};

/// Deepest nesting that is converted; below it values stay as they are.
const MAX_DEPTH: usize = 64;

/// Converts the arguments of a call by the schema of its tool.
///
/// - Text for integer, number, boolean, array or object parameters is converted; a failed or ambiguous conversion
///   keeps the text. Lists and objects are read as JSON, then as Python literals, at any depth.
/// - A number for a text parameter becomes its own text; a boolean for one is left for validation to refuse.
/// - `null` for an optional parameter whose schema bars null is removed.
/// - `1.0` is the integer 1; `1` and `0` are booleans where the schema takes no number.
///
/// ```
/// use haft_schema::{Schema, coerce};
/// use serde_json::json;
///
/// let schema = Schema::new(json!({"properties": {
///     "query": {"type": "string"}, "limit": {"type": "integer"}, "tags": {"type": "array"},
/// }}))?;
/// let typed = coerce(&schema, json!({"query": "007", "limit": " 25 ", "tags": "['a']"}));
/// assert_eq!(typed, json!({"query": "007", "limit": 25, "tags": ["a"]}));
/// # Ok::<(), haft_schema::SchemaError>(())
/// ```
pub fn coerce(schema: &Schema, arguments: Value) -> Value {
    coerce_value(schema.view(), arguments)
}

/// [`coerce()`] for a value at any place of a schema.
pub fn coerce_value(schema: View<'_>, value: Value) -> Value {
    convert(schema, value, 0)
}

/// The declared defaults of the parameters, by name: found once for a schema, filled in for every call.
///
/// ```
/// use haft_schema::{Defaults, Schema};
/// use serde_json::json;
///
/// let schema = Schema::new(json!({"properties": {"limit": {"type": "integer", "default": 10}}}))?;
/// let mut arguments = serde_json::Map::new();
/// Defaults::of(&schema).fill(&mut arguments);
/// assert_eq!(json!(arguments), json!({"limit": 10}));
/// # Ok::<(), haft_schema::SchemaError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Defaults(Vec<(String, Value)>);

impl Defaults {
    /// The defaults that `schema` declares; a `null` where the schema bars null is none.
    pub fn of(schema: &Schema) -> Self {
        let declared = schema.properties().filter_map(|property| {
            let default = property.schema.default()?;
            let fits = !default.is_null() || property.schema.types().has(Type::Null);
            fits.then(|| (property.name.to_owned(), default.clone()))
        });
        Self(declared.collect())
    }

    /// Adds the default of every parameter that is missing (COE-04).
    pub fn fill(&self, arguments: &mut Map<String, Value>) {
        for (name, default) in &self.0 {
            if !arguments.contains_key(name) {
                arguments.insert(name.clone(), default.clone());
            }
        }
    }
}

fn convert(schema: View<'_>, value: Value, depth: usize) -> Value {
    if depth > MAX_DEPTH {
        return value;
    }
    match value {
        Value::String(text) => convert_text(schema, text, depth),
        Value::Number(number) => convert_number(schema.types(), number),
        Value::Array(items) => {
            let item = |(index, item)| match schema.item(index) {
                Some(view) => convert(view, item, depth + 1),
                None => item,
            };
            items.into_iter().enumerate().map(item).collect()
        }
        Value::Object(map) => Value::Object(convert_object(schema, map, depth)),
        Value::Null | Value::Bool(_) => value,
    }
}

fn convert_object(schema: View<'_>, map: Map<String, Value>, depth: usize) -> Map<String, Value> {
    let selected = schema.selected(&map);
    let mut converted = Map::with_capacity(map.len());
    for (name, value) in map {
        let declared = selected.and_then(|view| view.property(&name)).or_else(|| schema.property(&name));
        let Some(view) = declared.or_else(|| schema.additional()) else {
            converted.insert(name, value);
            continue;
        };
        if value.is_null() && declared.is_some() && !view.types().has(Type::Null) {
            let required = schema.is_required(&name) || selected.is_some_and(|view| view.is_required(&name));
            if !required {
                continue;
            }
        }
        converted.insert(name, convert(view, value, depth + 1));
    }
    converted
}

fn convert_number(types: TypeSet, number: Number) -> Value {
    let value = Value::Number(number);
    if types.accepts(&value) {
        return if types.has(Type::Number) { value } else { whole(value) };
    }
    match (types.has(Type::String), types.has(Type::Boolean)) {
        (true, false) => Value::String(number_text(&value)),
        (false, true) => match value.as_f64() {
            Some(1.0) => Value::Bool(true),
            Some(0.0) => Value::Bool(false),
            _ => value,
        },
        (true, true) | (false, false) => value,
    }
}

/// A whole float as an integer, where 64 bits hold it exactly.
fn whole(value: Value) -> Value {
    let Some(float) = value.as_f64().filter(|_| value.is_f64()) else { return value };
    // The digits of a whole double are exact, and parsing them refuses what 64 bits cannot hold.
    text::integer(&format!("{float:.0}")).map_or(value, Value::Number)
}

/// A number's own text; whole floats that are exact as integers lose their point, as in canonical JSON.
fn number_text(value: &Value) -> String {
    crate::canonical::to_string(value)
}

fn convert_text(schema: View<'_>, text: String, depth: usize) -> Value {
    let types = schema.types();
    if types.has(Type::String) || types.is_none() {
        return Value::String(text);
    }
    scalar(types, &text).or_else(|| composite(schema, types, &text, depth)).unwrap_or(Value::String(text))
}

/// The one scalar that the text can mean.
fn scalar(types: TypeSet, text: &str) -> Option<Value> {
    let numeric = if types.has(Type::Number) {
        text::number(text)
    } else if types.has(Type::Integer) {
        text::integer(text)
    } else {
        None
    };
    // Digits are a number before they are a boolean: that is what JSON would read.
    if let Some(number) = numeric {
        return Some(Value::Number(number));
    }
    if types.has(Type::Boolean)
        && let Some(value) = text::boolean(text)
    {
        return Some(Value::Bool(value));
    }
    let word = text.trim();
    let is_null = word.eq_ignore_ascii_case("null") || word.eq_ignore_ascii_case("none");
    (types.has(Type::Null) && is_null).then_some(Value::Null)
}

/// A list or an object written as text, also inside a JSON string.
fn composite(schema: View<'_>, types: TypeSet, text: &str, depth: usize) -> Option<Value> {
    if !types.has(Type::Array) && !types.has(Type::Object) || depth >= MAX_DEPTH {
        return None;
    }
    let trimmed = text.trim();
    if !trimmed.starts_with(['[', '{', '(', '"', '\'']) {
        return None;
    }
    let literal =
        [Syntax::Json, Syntax::Literal].into_iter().find_map(|syntax| json::parse(trimmed, syntax).ok())?;
    match literal.into_value(Some(schema)) {
        // Text that was itself quoted: `"[1, 2]"`.
        Value::String(inner) => match convert(schema, Value::String(inner), depth + 1) {
            Value::String(_) => None,
            value => Some(value),
        },
        value if types.accepts(&value) => Some(convert(schema, value, depth + 1)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn one(schema: &Value, value: &Value) -> Value {
        let document = json!({"type": "object", "properties": {"p": schema}});
        let schema = Schema::new(document).unwrap();
        let mut result = coerce(&schema, json!({"p": value}));
        result.as_object_mut().unwrap().remove("p").unwrap_or(json!("removed"))
    }

    // COE-01, COE-02
    #[test]
    fn converts_text_by_type() {
        let cases = [
            (json!({"type": "string"}), json!("007"), json!("007")),
            (json!({"type": "string"}), json!("true"), json!("true")),
            (json!({"type": "string"}), json!("[1]"), json!("[1]")),
            (json!({"type": "integer"}), json!(" 25 "), json!(25)),
            (json!({"type": "integer"}), json!("１２"), json!(12)),
            (json!({"type": "integer"}), json!("9007199254740993"), json!(9_007_199_254_740_993_i64)),
            (json!({"type": "number"}), json!("-0.75"), json!(-0.75)),
            (json!({"type": "number"}), json!("3"), json!(3)),
            (json!({"type": "boolean"}), json!("Yes"), json!(true)),
            (json!({"type": "boolean"}), json!(" 0 "), json!(false)),
            (json!({"type": "array", "items": {"type": "integer"}}), json!("[\"1\", 2]"), json!([1, 2])),
            (
                json!({"type": "array", "items": {"type": "string"}}),
                json!("[1.0, 1e3]"),
                json!(["1.0", "1e3"]),
            ),
            (json!({"type": "array"}), json!("('a', None)"), json!(["a", null])),
            (json!({"type": "object"}), json!("{'a': True}"), json!({"a": true})),
            (json!({"type": "array"}), json!("\"[1, 2]\""), json!([1, 2])),
            (json!({"type": ["integer", "null"]}), json!("null"), json!(null)),
            (json!({"type": "integer", "nullable": true}), json!("4"), json!(4)),
            (json!({"anyOf": [{"type": "integer"}, {"type": "boolean"}]}), json!("1"), json!(1)),
            (json!({"anyOf": [{"type": "integer"}, {"type": "boolean"}]}), json!("yes"), json!(true)),
        ];
        for (schema, value, expected) in cases {
            assert_eq!(one(&schema, &value), expected, "{schema} {value}");
        }
    }

    // COE-03
    #[test]
    fn keeps_what_fails_or_is_ambiguous() {
        let cases = [
            (json!({"type": "integer"}), "several"),
            (json!({"type": "integer"}), "5.0"),
            (json!({"type": "integer"}), "1_000"),
            (json!({"type": "integer"}), "123456789012345678901"),
            (json!({"type": "number"}), "nan"),
            (json!({"type": "number"}), "inf"),
            (json!({"type": "boolean"}), "maybe"),
            (json!({"type": ["integer", "string"]}), "5"),
            (json!({"type": "array"}), "a, b"),
            (json!({"type": "array"}), "{\"a\": 1}"),
            (json!({"type": "object"}), "[1]"),
            (json!({"type": "object"}), "{\"a\": 1, \"a\": 2}"),
            (json!({}), "5"),
        ];
        for (schema, text) in cases {
            assert_eq!(one(&schema, &json!(text)), json!(text), "{schema} {text}");
        }
    }

    #[test]
    fn converts_values_that_are_almost_right() {
        let cases = [
            (json!({"type": "integer"}), json!(1.0), json!(1)),
            (json!({"type": "integer"}), json!(1.5), json!(1.5)),
            (json!({"type": "integer"}), json!(1e30), json!(1e30)),
            (json!({"type": "number"}), json!(1.0), json!(1.0)),
            (json!({"type": "boolean"}), json!(1), json!(true)),
            (json!({"type": "boolean"}), json!(0.0), json!(false)),
            (json!({"type": "boolean"}), json!(2), json!(2)),
            (json!({"type": "string"}), json!(7), json!("7")),
            (json!({"type": "string"}), json!(0.5), json!("0.5")),
            (json!({"type": "string"}), json!(true), json!(true)),
            (json!({"type": ["string", "integer"]}), json!(7), json!(7)),
            (json!({"type": ["string", "integer"]}), json!(1.5), json!("1.5")),
            (json!({"type": "string"}), json!(null), json!("removed")),
            (json!({"type": ["string", "null"]}), json!(null), json!(null)),
            (json!({"type": "array", "items": {"type": "boolean"}}), json!([1, "no"]), json!([true, false])),
        ];
        for (schema, value, expected) in cases {
            assert_eq!(one(&schema, &value), expected, "{schema} {value}");
        }
    }

    #[test]
    fn null_for_a_required_parameter_stays() {
        let schema =
            Schema::new(json!({"properties": {"p": {"type": "string"}}, "required": ["p"]})).unwrap();
        assert_eq!(coerce(&schema, json!({"p": null})), json!({"p": null}));
    }

    #[test]
    fn follows_references_and_alternatives() {
        let schema = Schema::new(json!({
            "$ref": "#/$defs/Arguments",
            "$defs": {
                "Arguments": {"properties": {
                    "shape": {"oneOf": [{"$ref": "#/$defs/Circle"}, {"$ref": "#/$defs/Box"}]},
                    "limits": {"additionalProperties": {"type": "integer"}},
                }},
                "Circle": {
                    "properties": {"kind": {"const": "circle"}, "size": {"type": "number"}}, "required": ["kind"],
                },
                "Box": {
                    "properties": {"kind": {"const": "box"}, "size": {"type": "array"}}, "required": ["kind"],
                },
            },
        }))
        .unwrap();
        let typed = coerce(
            &schema,
            json!({"shape": "{\"kind\": \"box\", \"size\": \"[1]\"}", "limits": {"a": "3"}, "other": "9"}),
        );
        assert_eq!(typed, json!({"shape": {"kind": "box", "size": [1]}, "limits": {"a": 3}, "other": "9"}));
    }

    // COE-04
    #[test]
    fn fills_missing_parameters() {
        let schema = Schema::new(json!({"properties": {
            "count": {"type": "integer", "default": 10},
            "mark": {"type": "string", "default": null},
            "note": {"type": ["string", "null"], "default": null},
            "given": {"type": "string", "default": "x"},
        }}))
        .unwrap();
        let mut arguments = json!({"given": "y"});
        Defaults::of(&schema).fill(arguments.as_object_mut().unwrap());
        assert_eq!(arguments, json!({"given": "y", "count": 10, "note": null}));
    }

    fn any_schema() -> impl Strategy<Value = Value> {
        let leaf = prop::sample::select(vec![
            json!({"type": "string"}),
            json!({"type": "integer"}),
            json!({"type": "number"}),
            json!({"type": "boolean"}),
            json!({"type": ["integer", "null"]}),
            json!({"type": ["boolean", "integer"]}),
            json!({"type": ["array", "object"]}),
            json!({"enum": [1, "a"]}),
            json!({"$ref": "#"}),
            json!({}),
            json!(false),
        ]);
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
                (inner.clone(), inner.clone()).prop_map(|(a, b)| json!({"anyOf": [a, b]})),
                (inner.clone(), inner)
                    .prop_map(|(a, b)| json!({"properties": {"a": a, "b": b}, "required": ["a"]})),
            ]
        })
    }

    fn any_argument() -> impl Strategy<Value = Value> {
        let texts = [
            "1",
            " 0 ",
            "1.0",
            "true",
            "no",
            "null",
            "[1, '2']",
            "{\"a\": \"1\", \"b\": null}",
            "\"[1]\"",
            "'\"[true]\"'",
            "x",
            "",
            "[[\"1\"]]",
            "(1,)",
            "1e3",
            "{",
            "\"1\"",
        ];
        let leaf = prop_oneof![
            prop::sample::select(texts.to_vec()).prop_map(Value::from),
            prop::sample::select(vec![
                json!(1),
                json!(0.0),
                json!(1.5),
                json!(null),
                json!(true),
                json!(1e30)
            ]),
            ".{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 12, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                (inner.clone(), inner).prop_map(|(a, b)| json!({"a": a, "b": b})),
            ]
        })
    }

    #[cfg(feature = "validate")]
    proptest! {
        #[test]
        fn what_is_ready_is_left_as_it_is(
            a in any_schema(), b in any_schema(), one in any_argument(), two in any_argument(),
        ) {
            let schema = Schema::new(json!({"properties": {"a": a, "b": b}})).unwrap();
            let value = json!({"a": one, "b": two});
            let Ok(validator) = crate::Validator::compile(&schema) else { return Ok(()) };
            if validator.is_ready(&value) {
                prop_assert_eq!(coerce(&schema, value.clone()), value);
            }
        }
    }

    proptest! {
        #[test]
        fn coercing_twice_changes_nothing(schema in any_schema(), value in any_argument()) {
            let schema = Schema::new(schema).unwrap();
            let once = coerce(&schema, value);
            prop_assert_eq!(&coerce(&schema, once.clone()), &once);
        }
    }
}
