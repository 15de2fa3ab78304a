//! Schemas as the providers of models accept them. A projection says less than its schema, never more: what the
//! schema allows, its projection allows too. The schema itself is kept for the judgement of arguments.
//!
//! It must not rename parameters. Recursion and size are bounded; what lies deeper is left open.

use serde_json::{Map, Value, json};

use crate::itself::keep_root;
use crate::{Schema, Type, TypeSet, View};

/// Deepest nesting that [`Schema::open_api`] writes out.
const DEPTH: u32 = 12;
/// Schemas that one [`Schema::open_api`] writes out, at most.
const NODES: u32 = 2_000;

/// What a schema may not say at its outermost level for [`Schema::object_root`].
const COMBINED: [&str; 13] = [
    "$ref",
    "$dynamicRef",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "enum",
    "const",
    "dependentSchemas",
    "dependentRequired",
];

impl Schema {
    /// This schema as one object with properties at its outermost level, as OpenAI and Anthropic want the parameters of a tool:
    /// references and alternatives there are merged, inside they stay. What refers to that level means it as it was.
    ///
    /// ```
    /// use haft_schema::Schema;
    /// use serde_json::json;
    ///
    /// let either = Schema::new(json!({"anyOf": [
    ///     {"properties": {"path": {"type": "string"}}, "required": ["path"]},
    ///     {"properties": {"url": {"type": "string"}}, "required": ["url"]},
    /// ]}))?;
    /// let expected = json!({"type": "object", "properties": {"path": {"type": "string"}, "url": {"type": "string"}}});
    /// assert_eq!(either.object_root(), expected);
    /// # Ok::<(), haft_schema::SchemaError>(())
    /// ```
    pub fn object_root(&self) -> Value {
        let Value::Object(root) = self.as_value() else { return json!({"type": "object", "properties": {}}) };
        let mut out = root.clone();
        if root.keys().any(|key| COMBINED.contains(&key.as_str())) {
            // Beside alternatives these would refuse what an alternative declares.
            out.retain(|key, _| {
                !COMBINED.contains(&key.as_str())
                    && !matches!(key.as_str(), "properties" | "required")
                    && !matches!(
                        key.as_str(),
                        "additionalProperties" | "unevaluatedProperties" | "patternProperties"
                    )
                    && !matches!(key.as_str(), "minProperties" | "maxProperties" | "propertyNames")
            });
            out.insert("properties".into(), Value::Object(merged_properties(self.view())));
            let required = self.view().required();
            if !required.is_empty() {
                out.insert("required".into(), json!(required));
            }
        }
        match out.get_mut("type") {
            Some(kind) => *kind = json!("object"),
            None => drop(out.shift_insert(0, "type".into(), json!("object"))),
        }
        out.entry("properties").or_insert_with(|| json!({}));
        keep_root(root, &mut out);
        Value::Object(out)
    }

    /// This schema in the part of OpenAPI's schemas that Gemini takes; none where it declares no parameters, which Gemini
    /// wants to be left out.
    ///
    /// ```
    /// use haft_schema::Schema;
    /// use serde_json::json;
    ///
    /// let schema = Schema::new(json!({
    ///     "$defs": {"unit": {"enum": ["m", "km"]}},
    ///     "properties": {"unit": {"$ref": "#/$defs/unit"}, "far": {"type": ["number", "null"]}},
    ///     "additionalProperties": false,
    /// }))?;
    /// let expected = json!({"type": "object", "properties": {
    ///     "unit": {"type": "string", "enum": ["m", "km"]}, "far": {"type": "number", "nullable": true},
    /// }});
    /// assert_eq!(schema.open_api(), Some(expected));
    /// assert_eq!(Schema::empty_object().open_api(), None);
    /// # Ok::<(), haft_schema::SchemaError>(())
    /// ```
    pub fn open_api(&self) -> Option<Value> {
        let mut writer = OpenApi { nodes: NODES };
        let view = self.view();
        let mut out = Map::new();
        writer.object(view, &mut out, 0);
        out.contains_key("properties").then_some(Value::Object(out))
    }
}

/// All properties that a schema or one of its alternatives declares; what they declare differently may be either.
fn merged_properties(view: View<'_>) -> Map<String, Value> {
    let mut out: Map<String, Value> = Map::new();
    for (name, nodes) in view.declarations() {
        let mut different: Vec<&Value> = Vec::new();
        for node in nodes {
            if !different.contains(&node) {
                different.push(node);
            }
        }
        let schema = match different.as_slice() {
            [one] => (*one).clone(),
            several => json!({"anyOf": several}),
        };
        out.insert(name.to_owned(), schema);
    }
    out
}

struct OpenApi {
    nodes: u32,
}

impl OpenApi {
    fn schema(&mut self, view: View<'_>, depth: u32) -> Value {
        let types = view.types();
        let mut out = Map::new();
        if types.is_any() || types.is_none() || depth >= DEPTH || self.nodes == 0 {
            describe(view, &mut out);
            open(types, &mut out);
            return Value::Object(out);
        }
        self.nodes -= 1;
        let nullable = types.has(Type::Null);
        let rest = single_numbers(types.without(Type::Null));
        let mut kinds = rest.iter();
        match (kinds.next(), kinds.next()) {
            (None, _) => {
                describe(view, &mut out);
                open(TypeSet::of(Type::String), &mut out);
            }
            (Some(kind), None) => self.kind(kind, view, &mut out, depth),
            (Some(_), Some(_)) => {
                describe(view, &mut out);
                let members: Vec<Value> = rest
                    .iter()
                    .map(|kind| {
                        let mut member = Map::new();
                        self.kind(kind, view, &mut member, depth + 1);
                        member.shift_remove("description");
                        Value::Object(member)
                    })
                    .collect();
                out.insert("anyOf".into(), Value::Array(members));
            }
        }
        if nullable {
            out.insert("nullable".into(), json!(true));
        }
        Value::Object(out)
    }

    fn kind(&mut self, kind: Type, view: View<'_>, out: &mut Map<String, Value>, depth: u32) {
        match kind {
            Type::Object => self.object(view, out, depth),
            Type::Array => {
                out.insert("type".into(), json!("array"));
                describe(view, out);
                let items = match view.items() {
                    Some(items) => self.schema(items, depth + 1),
                    None => anything(),
                };
                out.insert("items".into(), items);
                limits(view, out, &["minItems", "maxItems"]);
            }
            Type::String => {
                out.insert("type".into(), json!("string"));
                describe(view, out);
                let texts = view.enum_values();
                if !texts.is_empty() && texts.iter().all(|value| value.is_string() || value.is_null()) {
                    let texts: Vec<&Value> = texts.into_iter().filter(|value| value.is_string()).collect();
                    out.insert("enum".into(), json!(texts));
                }
            }
            Type::Integer | Type::Number => {
                out.insert("type".into(), json!(kind.name()));
                describe_with_values(view, out);
                limits(view, out, &["minimum", "maximum"]);
            }
            Type::Boolean => {
                out.insert("type".into(), json!("boolean"));
                describe(view, out);
            }
            Type::Null => {
                out.insert("type".into(), json!("string"));
                out.insert("nullable".into(), json!(true));
            }
        }
    }

    fn object(&mut self, view: View<'_>, out: &mut Map<String, Value>, depth: u32) {
        out.insert("type".into(), json!("object"));
        describe(view, out);
        let mut properties = Map::new();
        for (name, nodes) in view.declarations() {
            if self.nodes == 0 {
                break;
            }
            // Declared differently in alternatives: any of them.
            let same = nodes.iter().all(|node| Some(node) == nodes.first());
            let schema = match (nodes.first(), same) {
                (Some(node), true) => self.schema(view.inside(node), depth + 1),
                _ => anything(),
            };
            properties.insert(name.to_owned(), schema);
        }
        let required: Vec<&str> =
            view.required().into_iter().filter(|name| properties.contains_key(*name)).collect();
        if !required.is_empty() {
            out.insert("required".into(), json!(required));
        }
        if !properties.is_empty() {
            out.insert("properties".into(), Value::Object(properties));
            if let Some(required) = out.shift_remove("required") {
                out.insert("required".into(), required);
            }
        }
    }
}

/// An integer is a number: one of the two is enough.
fn single_numbers(types: TypeSet) -> TypeSet {
    if types.has(Type::Number) { types.without(Type::Integer) } else { types }
}

fn describe(view: View<'_>, out: &mut Map<String, Value>) {
    if let Some(text) = view.description() {
        out.insert("description".into(), json!(text));
    }
}

/// Only texts can be listed: other values are told in words.
fn describe_with_values(view: View<'_>, out: &mut Map<String, Value>) {
    describe(view, out);
    let values = view.enum_values();
    if values.is_empty() {
        return;
    }
    let listed: Vec<String> = values.into_iter().map(Value::to_string).collect();
    let listed = format!("One of: {}.", listed.join(", "));
    let text = match out.get("description").and_then(Value::as_str) {
        Some(text) => format!("{text} {listed}"),
        None => listed,
    };
    out.insert("description".into(), json!(text));
}

fn limits(view: View<'_>, out: &mut Map<String, Value>, names: &[&str]) {
    for name in names {
        if let Some(limit @ Value::Number(_)) = view.said(name) {
            out.insert((*name).to_owned(), limit.clone());
        }
    }
}

/// What is left open: the first of its types where it has few, else everything.
fn open(types: TypeSet, out: &mut Map<String, Value>) {
    let rest = single_numbers(types.without(Type::Null));
    let mut kinds = rest.iter();
    match (types.is_any(), kinds.next(), kinds.next()) {
        (false, Some(kind), None) => {
            out.insert("type".into(), json!(kind.name()));
            if kind == Type::Array {
                out.insert("items".into(), anything());
            }
        }
        _ => {
            if let Value::Object(anything) = anything() {
                out.extend(anything);
            }
        }
    }
    if types.has(Type::Null) {
        out.insert("nullable".into(), json!(true));
    }
}

/// Whatever a value can be; lists end in texts, since every list must say what it holds.
fn anything() -> Value {
    json!({
        "anyOf": [
            {"type": "string"}, {"type": "number"}, {"type": "boolean"}, {"type": "object"},
            {"type": "array", "items": {"type": "string"}},
        ],
        "nullable": true,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn schema(document: Value) -> Schema {
        Schema::new(document).unwrap()
    }

    #[test]
    fn an_object_root_keeps_what_providers_take() {
        let plain = json!({"description": "d", "type": "object", "properties": {"a": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/x"}]}},
            "required": ["a"], "additionalProperties": false, "$defs": {"x": {"type": "null"}}});
        assert_eq!(schema(plain.clone()).object_root(), plain);
        assert_eq!(schema(json!({})).object_root(), json!({"type": "object", "properties": {}}));
        assert_eq!(schema(json!(true)).object_root(), json!({"type": "object", "properties": {}}));
        assert_eq!(
            schema(json!({"type": ["object", "null"]})).object_root(),
            json!({"type": "object", "properties": {}})
        );
    }

    #[test]
    fn references_and_alternatives_at_the_root_are_merged() {
        let document = json!({"$ref": "#/$defs/call", "$defs": {"call": {"oneOf": [
            {"type": "object", "properties": {"kind": {"const": "a"}, "x": {"type": "integer"}}, "required": ["kind"]},
            {"type": "object", "properties": {"kind": {"const": "b"}, "x": {"type": "integer"}}, "additionalProperties": false},
        ], "properties": {"id": {"type": "string"}}, "required": ["id"]}}});
        let expected = json!({
            "type": "object",
            "$defs": document["$defs"],
            "properties": {
                "id": {"type": "string"},
                "kind": {"anyOf": [{"const": "a"}, {"const": "b"}]},
                "x": {"type": "integer"},
            },
            "required": ["id"],
        });
        assert_eq!(schema(document).object_root(), expected);
    }

    #[test]
    fn what_refers_to_a_merged_root_means_it_as_it_was() {
        let closed =
            json!({"type": "object", "properties": {"b": {"$ref": "#"}}, "additionalProperties": false});
        let either = json!({"anyOf": [closed, {"type": "array", "items": {"$ref": "#/anyOf/0"}}], "$defs": {"root": true}});
        assert_eq!(
            schema(either).object_root(),
            json!({
                "type": "object",
                "$defs": {
                    "root": true,
                    "root2": {"anyOf": [
                        {"type": "object", "properties": {"b": {"$ref": "#/$defs/root2"}}, "additionalProperties": false},
                        {"type": "array", "items": {"$ref": "#/$defs/root2/anyOf/0"}},
                    ]},
                },
                "properties": {"b": {"$ref": "#/$defs/root2"}},
            })
        );
        // The end of a list is null.
        let list = json!({"type": ["object", "null"], "properties": {"next": {"$ref": "#"}}});
        let next = json!({"next": {"$ref": "#/$defs/root"}});
        assert_eq!(
            schema(list).object_root(),
            json!({
                "type": "object", "properties": next,
                "$defs": {"root": {"type": ["object", "null"], "properties": next}},
            })
        );
        let tree = json!({"type": "object", "properties": {"left": {"$ref": "#"}}});
        assert_eq!(schema(tree.clone()).object_root(), tree);
    }

    #[test]
    fn what_gemini_does_not_know_is_said_otherwise() {
        let document = json!({
            "$defs": {"tree": {"type": "object", "properties": {"value": {"type": "integer", "enum": [1, 2]}, "next": {"$ref": "#/$defs/tree"}}}},
            "type": "object",
            "properties": {
                "name": {"type": ["string", "null"], "pattern": "^a", "description": "N", "default": "x"},
                "either": {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "integer", "minimum": 0, "exclusiveMaximum": 9}]},
                "list": {"type": "array", "items": {"type": "boolean"}, "minItems": 1, "uniqueItems": true},
                "pair": {"type": "array", "prefixItems": [{"type": "string"}]},
                "free": {},
                "level": {"const": 3, "description": "L"},
            },
            "required": ["name", "gone"],
            "additionalProperties": {"type": "string"},
        });
        let expected = json!({
            "type": "object",
            "properties": {
                "name": {"type": "string", "description": "N", "nullable": true},
                "either": {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string"}]},
                "list": {"type": "array", "items": {"type": "boolean"}, "minItems": 1},
                "pair": {"type": "array", "items": anything()},
                "free": anything(),
                "level": {"type": "integer", "description": "L One of: 3."},
            },
            "required": ["name"],
        });
        let found = schema(document.clone()).open_api().unwrap();
        // The order of types is not what is tested here.
        let either = found["properties"]["either"]["anyOf"].as_array().unwrap();
        assert!(either.iter().any(|member| member["type"] == "integer") && either.len() == 2, "{found}");
        let without = |mut value: Value| {
            value["properties"].as_object_mut().unwrap().shift_remove("either");
            value
        };
        assert_eq!(without(found), without(expected));
        let mut tree = document;
        tree["properties"] = json!({"tree": {"$ref": "#/$defs/tree"}});
        let written = schema(tree).open_api().unwrap().to_string();
        assert!(
            written.contains("One of: 1, 2.") && !written.contains("$ref") && written.len() < 10_000,
            "{written}"
        );
    }

    #[test]
    fn a_schema_that_branches_without_end_stays_small() {
        let document = json!({"$defs": {"x": {"type": "object", "properties": {
            "a": {"$ref": "#/$defs/x"}, "b": {"$ref": "#/$defs/x"}, "c": {"$ref": "#/$defs/x"}}}}, "$ref": "#/$defs/x"});
        assert!(schema(document).open_api().unwrap().to_string().len() < 400_000);
    }

    fn document() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(json!({})),
            Just(json!({"type": "null"})),
            Just(json!({"type": "integer", "minimum": 0})),
            Just(json!({"type": ["number", "null"]})),
            Just(json!({"type": "boolean", "description": "d"})),
            Just(json!({"enum": ["a", "b"]})),
            Just(json!({"enum": ["a", 1, null]})),
            Just(json!({"const": 7})),
            Just(json!({"$ref": "#"})),
            Just(json!({"$ref": "#/nowhere"})),
            Just(json!(true)),
        ];
        leaf.prop_recursive(3, 24, 3, |inner| {
            let properties = proptest::collection::btree_map("[abc]", inner.clone(), 0..3);
            prop_oneof![
                (properties, proptest::option::of("[abc]"), any::<bool>()).prop_map(
                    |(properties, required, closed)| {
                        let mut out = json!({"type": "object", "properties": properties});
                        if let Some(required) = required.filter(|name| properties.contains_key(name)) {
                            out["required"] = json!([required]);
                        }
                        if closed {
                            out["additionalProperties"] = json!(false);
                        }
                        out
                    }
                ),
                proptest::collection::vec(inner.clone(), 1..3).prop_map(|list| json!({"anyOf": list})),
                proptest::collection::vec(inner.clone(), 1..3).prop_map(|list| json!({"allOf": list})),
                inner.prop_map(|items| json!({"type": "array", "items": items})),
            ]
        })
    }

    /// Every schema inside a projection.
    fn nodes<'a>(value: &'a Value, found: &mut Vec<&'a Map<String, Value>>) {
        let Value::Object(node) = value else { panic!("{value}") };
        found.push(node);
        for inner in ["properties", "items", "anyOf"].iter().filter_map(|key| node.get(*key)) {
            match inner {
                Value::Array(members) => members.iter().for_each(|member| nodes(member, found)),
                Value::Object(map) if map.contains_key("type") || map.contains_key("anyOf") => {
                    if map.get("type").is_none_or(Value::is_string) {
                        nodes(inner, found);
                    }
                }
                Value::Object(map) => map.values().for_each(|member| nodes(member, found)),
                _ => panic!("{value}"),
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn only_what_gemini_takes_is_written(document in document()) {
            const TAKEN: [&str; 11] = ["type", "description", "nullable", "enum", "items", "properties", "required",
                "anyOf", "minItems", "maxItems", "minimum"];
            if let Some(projected) = schema(document).open_api() {
                let mut found = Vec::new();
                nodes(&projected, &mut found);
                for node in found {
                    prop_assert!(node.keys().all(|key| TAKEN.contains(&key.as_str())), "{:?}", node);
                    prop_assert!(node.contains_key("type") ^ node.contains_key("anyOf"), "{:?}", node);
                    prop_assert_eq!(node.get("type") == Some(&json!("array")), node.contains_key("items"));
                    for name in node.get("required").and_then(Value::as_array).into_iter().flatten() {
                        prop_assert!(node["properties"].get(name.as_str().unwrap()).is_some());
                    }
                }
            }
        }
    }

    #[cfg(feature = "validate")]
    mod allowed {
        use super::*;
        use crate::Validator;

        fn value() -> impl Strategy<Value = Value> {
            let leaf = prop_oneof![
                Just(json!(null)),
                Just(json!("a")),
                Just(json!("zz")),
                Just(json!(1)),
                Just(json!(7)),
                Just(json!(-1)),
                Just(json!(1.5)),
                Just(json!(true)),
            ];
            leaf.prop_recursive(2, 8, 3, |inner| {
                prop_oneof![
                    proptest::collection::btree_map("[abc]", inner.clone(), 0..3).prop_map(|map| json!(map)),
                    proptest::collection::vec(inner, 0..2).prop_map(|list| json!(list)),
                ]
            })
        }

        fn arguments() -> impl Strategy<Value = Value> {
            proptest::collection::btree_map("[abc]", value(), 0..3).prop_map(|map| json!(map))
        }

        /// OpenAPI's `nullable` in JSON Schema's words.
        fn spelled_out(value: &mut Value) {
            match value {
                Value::Object(map) => {
                    map.values_mut().for_each(spelled_out);
                    if map.shift_remove("nullable").is_some() {
                        *value = json!({"anyOf": [Value::Object(std::mem::take(map)), {"type": "null"}]});
                    }
                }
                Value::Array(items) => items.iter_mut().for_each(spelled_out),
                _ => {}
            }
        }

        /// Whether each choice says all of what it allows: a property that one choice leaves open is shown as another declares it.
        fn choices_say_all(document: &Value) -> bool {
            match (
                document.get("anyOf").and_then(Value::as_array),
                document.get("allOf").and_then(Value::as_array),
            ) {
                (Some(choices), _) => choices.iter().all(is_closed),
                (None, Some(parts)) => parts.iter().all(choices_say_all),
                (None, None) => true,
            }
        }

        fn is_closed(choice: &Value) -> bool {
            if let Some(parts) = choice.get("allOf").and_then(Value::as_array) {
                return parts.iter().any(is_closed) && parts.iter().all(choices_say_all);
            }
            match choice.get("type").and_then(Value::as_str) {
                Some("object") => choice.get("additionalProperties") == Some(&json!(false)),
                Some(_) => true,
                None if choice.get("anyOf").is_some() => choices_say_all(choice),
                None => choice.get("enum").is_some() || choice.get("const").is_some(),
            }
        }

        proptest! {
            #![proptest_config(ProptestConfig::with_cases(300))]

            #[test]
            fn what_a_schema_allows_its_object_root_allows(document in document(), arguments in arguments()) {
                // A document that is one of its own choices says nothing of what it allows.
                let itself = json!({"$ref": "#"});
                let choices = ["anyOf", "oneOf", "allOf"].iter().filter_map(|key| document.get(key)?.as_array());
                prop_assume!(choices.flatten().all(|choice| *choice != itself));
                prop_assume!(choices_say_all(&document));
                let original = schema(document);
                if Validator::compile(&original).is_ok_and(|one| one.validate(&arguments).is_ok()) {
                    let projected = original.object_root();
                    let validator = Validator::compile(&schema(projected.clone())).unwrap();
                    prop_assert!(validator.validate(&arguments).is_ok(), "{}", projected);
                }
            }
        }

        #[test]
        fn what_a_schema_allows_gemini_may_write() {
            let document = json!({"properties": {
                "a": {"type": ["integer", "null"]}, "b": {"enum": ["x", 1]}, "c": {"anyOf": [{"type": "array", "items": {}}, {"const": "z"}]},
            }, "required": ["a"]});
            let mut projected = schema(document.clone()).open_api().unwrap();
            spelled_out(&mut projected);
            let (original, projected) = (
                Validator::compile(&schema(document)).unwrap(),
                Validator::compile(&schema(projected)).unwrap(),
            );
            for arguments in
                [json!({"a": null}), json!({"a": 3, "b": "x", "c": []}), json!({"a": 1, "b": 1, "c": "z"})]
            {
                assert!(
                    original.validate(&arguments).is_ok() && projected.validate(&arguments).is_ok(),
                    "{arguments}"
                );
            }
        }
    }
}
