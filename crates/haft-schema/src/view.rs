//! The resolved reading of a schema: what it says once `$ref`, `allOf`, `anyOf`, `oneOf`, `nullable` and lists of
//! types are followed. References stay inside the document; one that leads nowhere says nothing.
//!
//! It must not judge values beyond their type. Every walk has a budget, so that a schema that refers to
//! itself, or that branches without end, costs a bounded amount of work.

use serde_json::{Map, Value};

use crate::{Type, TypeSet};

/// Schemas looked at in one reading, at most. Real schemas need a handful.
const BUDGET: u32 = 256;

/// A schema inside a document, read with everything it refers to.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    root: &'a Value,
    node: &'a Value,
}

/// One declared parameter (DES-04).
#[derive(Debug, Clone, Copy)]
pub struct Property<'a> {
    /// The name as declared.
    pub name: &'a str,
    /// What the value may be.
    pub schema: View<'a>,
    /// Whether the schema demands it.
    pub required: bool,
}

impl<'a> View<'a> {
    pub(crate) fn new(document: &'a Value) -> Self {
        Self { root: document, node: document }
    }

    fn at(self, node: &'a Value) -> Self {
        Self { root: self.root, node }
    }

    /// The schema as written, before anything is followed.
    pub fn as_value(&self) -> &'a Value {
        self.node
    }

    fn object(self) -> Option<&'a Map<String, Value>> {
        self.node.as_object()
    }

    fn keyword(self, name: &str) -> Option<&'a Value> {
        self.object()?.get(name)
    }

    fn list(self, name: &str) -> &'a [Value] {
        self.keyword(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    fn target(self) -> Option<Self> {
        let reference = self.keyword("$ref")?.as_str()?.strip_prefix('#')?;
        if reference.contains('%') {
            return self.root.pointer(&percent_decoded(reference)?).map(|node| self.at(node));
        }
        self.root.pointer(reference).map(|node| self.at(node))
    }

    /// This schema and all that hold together with it: the target of `$ref` and the members of `allOf`.
    fn conjuncts(self) -> Vec<Self> {
        let mut found = Vec::with_capacity(1);
        let mut budget = BUDGET;
        self.collect_conjuncts(&mut found, &mut budget, 0);
        found
    }

    fn collect_conjuncts(self, found: &mut Vec<Self>, budget: &mut u32, depth: u32) {
        if *budget == 0 || depth > 32 {
            return;
        }
        *budget -= 1;
        found.push(self);
        if let Some(target) = self.target() {
            target.collect_conjuncts(found, budget, depth + 1);
        }
        for member in self.list("allOf") {
            self.at(member).collect_conjuncts(found, budget, depth + 1);
        }
    }

    /// The members of `anyOf` and `oneOf`, of this schema and of all that hold with it.
    pub(crate) fn alternatives(self) -> Vec<Self> {
        self.conjuncts()
            .into_iter()
            .flat_map(|view| {
                view.list("anyOf").iter().chain(view.list("oneOf")).map(move |node| view.at(node))
            })
            .collect()
    }

    /// The types that a value may have.
    pub fn types(&self) -> TypeSet {
        let mut budget = BUDGET;
        self.types_within(&mut budget, 0)
    }

    fn types_within(self, budget: &mut u32, depth: u32) -> TypeSet {
        let object = match self.node {
            Value::Object(object) => object,
            Value::Bool(false) => return TypeSet::NONE,
            _ => return TypeSet::ANY,
        };
        if *budget == 0 || depth > 32 {
            return TypeSet::ANY;
        }
        *budget -= 1;
        let mut types = own_types(object);
        if let Some(target) = self.target() {
            types = types.intersection(target.types_within(budget, depth + 1));
        }
        for member in self.list("allOf") {
            types = types.intersection(self.at(member).types_within(budget, depth + 1));
        }
        for choice in ["anyOf", "oneOf"] {
            let members = self.list(choice);
            if !members.is_empty() {
                let union = members.iter().fold(TypeSet::NONE, |union, member| {
                    union.union(self.at(member).types_within(budget, depth + 1))
                });
                types = types.intersection(union);
            }
        }
        if object.get("nullable") == Some(&Value::Bool(true)) {
            types = types.with(Type::Null);
        }
        types
    }

    /// The type in words, for messages and prompts: `integer`, `array of string`, `string or null`, `any`.
    pub fn type_name(&self) -> String {
        self.type_name_of(self.types())
    }

    /// [`View::type_name`] without `or null`, for parameters that may be left out anyway.
    pub fn type_name_without_null(&self) -> String {
        let types = self.types();
        self.type_name_of(if types.is_any() { types } else { types.without(Type::Null) })
    }

    fn type_name_of(self, types: TypeSet) -> String {
        if types == TypeSet::of(Type::Array)
            && let Some(items) = self.items()
            && !items.types().is_any()
        {
            return format!("array of {}", items.types());
        }
        if types.is_none() { "nothing".to_owned() } else { types.to_string() }
    }

    fn first<T>(self, read: impl Fn(View<'a>) -> Option<T>) -> Option<T> {
        let conjuncts = self.conjuncts();
        conjuncts
            .iter()
            .find_map(|view| read(*view))
            .or_else(|| self.alternatives().into_iter().find_map(read))
    }

    /// The description nearest to the outside.
    pub fn description(&self) -> Option<&'a str> {
        self.first(|view| view.keyword("description")?.as_str())
    }

    /// The declared default, of this schema or of what it refers to (not of one alternative among several).
    pub fn default(&self) -> Option<&'a Value> {
        self.conjuncts().into_iter().find_map(|view| view.keyword("default"))
    }

    /// The allowed values, if the schema lists them (`enum`, `const`, or alternatives that all do); else empty.
    pub fn enum_values(&self) -> Vec<&'a Value> {
        let own = |view: View<'a>| match (view.keyword("enum"), view.keyword("const")) {
            (Some(Value::Array(values)), _) => values.iter().collect(),
            (_, Some(value)) => vec![value],
            _ => Vec::new(),
        };
        let conjuncts = self.conjuncts();
        if let Some(values) = conjuncts.iter().map(|view| own(*view)).find(|values| !values.is_empty()) {
            return values;
        }
        let mut union = Vec::new();
        for alternative in self.alternatives() {
            if alternative.types() == TypeSet::of(Type::Null) {
                continue;
            }
            let values: Vec<&Value> = alternative
                .conjuncts()
                .into_iter()
                .map(own)
                .find(|values| !values.is_empty())
                .unwrap_or_default();
            if values.is_empty() {
                return Vec::new();
            }
            union.extend(values);
        }
        union
    }

    /// The schema of a list's items, where there is one for all.
    pub fn items(&self) -> Option<Self> {
        self.first(|view| view.keyword("items").filter(|items| !items.is_array()).map(|node| view.at(node)))
    }

    /// The schema of a list's item at one place (`prefixItems`, else `items`).
    pub fn item(&self, index: usize) -> Option<Self> {
        self.first(|view| {
            let prefix = view.keyword("prefixItems").or_else(|| view.keyword("items"))?.as_array()?;
            prefix.get(index).map(|node| view.at(node))
        })
        .or_else(|| self.items())
    }

    /// The schema of a property with exactly this name. Where alternatives declare it with different types, none.
    pub fn property(&self, name: &str) -> Option<Self> {
        self.property_entry(name).map(|(_, schema)| schema)
    }

    pub(crate) fn property_entry(self, name: &str) -> Option<(&'a str, Self)> {
        // The common case first: declared right here, nothing to follow.
        if let Some(entry) = self.own_property(name) {
            return Some(entry);
        }
        if let Some(entry) = self.conjuncts().into_iter().skip(1).find_map(|view| view.own_property(name)) {
            return Some(entry);
        }
        let mut found: Option<(&'a str, Self)> = None;
        for alternative in self.alternatives() {
            for view in alternative.conjuncts() {
                let Some(entry) = view.own_property(name) else { continue };
                match found {
                    Some((_, other)) if other.types() != entry.1.types() => return None,
                    Some(_) => {}
                    None => found = Some(entry),
                }
            }
        }
        found
    }

    fn own_property(self, name: &str) -> Option<(&'a str, Self)> {
        let (name, node) = self.keyword("properties")?.as_object()?.get_key_value(name)?;
        Some((name, self.at(node)))
    }

    /// The schema of properties that are not declared by name, if `additionalProperties` gives one.
    pub fn additional(&self) -> Option<Self> {
        self.first(|view| {
            view.keyword("additionalProperties").filter(|node| node.is_object()).map(|node| view.at(node))
        })
    }

    /// All declared properties, in the order of the document; each name once.
    pub fn properties(&self) -> Vec<Property<'a>> {
        let mut found: Vec<Property<'a>> = Vec::new();
        let required = self.required();
        let mut views = self.conjuncts();
        views.extend(self.alternatives().into_iter().flat_map(Self::conjuncts));
        for view in views {
            let Some(declared) = view.keyword("properties").and_then(Value::as_object) else { continue };
            for (name, node) in declared {
                if found.iter().all(|property| property.name != name) {
                    let required = required.contains(&name.as_str());
                    found.push(Property { name, schema: view.at(node), required });
                }
            }
        }
        found
    }

    /// Every name that this schema or one of its alternatives declares, each with all its declarations as written.
    pub(crate) fn declarations(self) -> Vec<(&'a str, Vec<&'a Value>)> {
        let mut found: Vec<(&'a str, Vec<&'a Value>)> = Vec::new();
        let mut views = self.conjuncts();
        views.extend(self.alternatives().into_iter().flat_map(Self::conjuncts));
        for view in views {
            let Some(declared) = view.keyword("properties").and_then(Value::as_object) else { continue };
            for (name, node) in declared {
                match found.iter_mut().find(|(known, _)| known == name) {
                    Some((_, nodes)) => nodes.push(node),
                    None => found.push((name, vec![node])),
                }
            }
        }
        found
    }

    /// A schema of the same document.
    pub(crate) fn inside(self, node: &'a Value) -> Self {
        self.at(node)
    }

    /// What this schema, or one that holds with it, says under a keyword.
    pub(crate) fn said(self, name: &str) -> Option<&'a Value> {
        self.conjuncts().into_iter().find_map(|view| view.keyword(name))
    }

    /// The names that must be present.
    pub fn required(&self) -> Vec<&'a str> {
        let mut names: Vec<&'a str> = Vec::new();
        for view in self.conjuncts() {
            for name in view.list("required").iter().filter_map(Value::as_str) {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        names
    }

    pub(crate) fn is_required(self, name: &str) -> bool {
        self.conjuncts().into_iter().any(|view| view.list("required").iter().any(|required| required == name))
    }

    /// Whether undeclared properties are refused.
    pub fn is_closed(&self) -> bool {
        self.conjuncts().into_iter().any(|view| {
            ["additionalProperties", "unevaluatedProperties"]
                .iter()
                .any(|keyword| view.keyword(keyword) == Some(&Value::Bool(false)))
        })
    }

    /// The reading that fits an object best: where alternatives compete, the only one whose required properties are there
    /// and whose constants match; else the schema itself.
    pub(crate) fn selected(self, object: &Map<String, Value>) -> Option<Self> {
        let mut fitting = self.alternatives().into_iter().filter(|view| view.may_be(object));
        match (fitting.next(), fitting.next()) {
            (Some(only), None) => Some(only),
            _ => None,
        }
    }

    fn may_be(self, object: &Map<String, Value>) -> bool {
        self.types().has(Type::Object)
            && self.required().iter().all(|name| object.contains_key(*name))
            && object.iter().all(|(name, value)| match self.property(name) {
                Some(property) => {
                    let allowed = property.enum_values();
                    allowed.is_empty() || allowed.contains(&value)
                }
                None => !self.is_closed(),
            })
    }
}

fn own_types(object: &Map<String, Value>) -> TypeSet {
    match object.get("type") {
        Some(Value::String(name)) => Type::from_name(name).map_or(TypeSet::ANY, TypeSet::of),
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).filter_map(Type::from_name).collect()
        }
        _ => {
            if let Some(Value::Array(values)) = object.get("enum") {
                return values.iter().map(TypeSet::of_value).fold(TypeSet::NONE, TypeSet::union);
            }
            if let Some(value) = object.get("const") {
                return TypeSet::of_value(value);
            }
            if object.contains_key("properties") {
                return TypeSet::of(Type::Object);
            }
            if object.contains_key("items") || object.contains_key("prefixItems") {
                return TypeSet::of(Type::Array);
            }
            TypeSet::ANY
        }
    }
}

/// The text with `%xx` decoded; `None` if that is not UTF-8.
fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let pair = tail.get(..2).and_then(|pair| std::str::from_utf8(pair).ok());
        match pair.filter(|_| *first == b'%').and_then(|pair| u8::from_str_radix(pair, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn type_name(schema: &Value) -> String {
        View::new(schema).type_name()
    }

    #[test]
    fn names_types() {
        let cases = [
            (json!({"type": "integer"}), "integer"),
            (json!({"type": ["integer", "null"]}), "integer or null"),
            (json!({"type": "number", "nullable": true}), "number or null"),
            (json!({"type": "array", "items": {"type": "string"}}), "array of string"),
            (json!({"items": {"type": "number"}}), "array of number"),
            (json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}), "string or integer"),
            (json!({"oneOf": [{"const": 1}, {"enum": ["a", null]}]}), "string or integer or null"),
            (json!({"allOf": [{"type": ["number", "string"]}, {"type": "integer"}]}), "integer"),
            (json!({"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"type": "boolean"}}}), "boolean"),
            (json!({"$ref": "#/$defs/a%20b", "$defs": {"a b": {"type": "boolean"}}}), "boolean"),
            (json!({"$ref": "#/nowhere"}), "any"),
            (json!({"$ref": "https://example.org/x"}), "any"),
            (json!({"properties": {}}), "object"),
            (json!(true), "any"),
            (json!(false), "nothing"),
            (json!({"type": ["integer", "number"]}), "number"),
        ];
        for (schema, name) in cases {
            assert_eq!(type_name(&schema), name, "{schema}");
        }
    }

    #[test]
    fn cycles_and_wide_trees_end() {
        assert_eq!(type_name(&json!({"$ref": "#"})), "any");
        let wide = json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}, {"$ref": "#"}]});
        let view = View::new(&wide);
        assert_eq!(view.type_name(), "any");
        assert!(view.property("x").is_none());
        assert!(view.enum_values().is_empty());
        let both = json!({"allOf": [{"$ref": "#"}, {"$ref": "#"}]});
        assert!(View::new(&both).conjuncts().len() <= BUDGET as usize);
    }

    #[test]
    fn follows_optional_models() {
        // The shape in which schemars writes `Option<Unit>`.
        let document = json!({
            "properties": {"unit": {"anyOf": [{"$ref": "#/$defs/Unit"}, {"type": "null"}], "description": "Which"}},
            "$defs": {"Unit": {"type": "string", "enum": ["m", "ft"], "description": "A unit", "default": "m"}},
        });
        let unit = View::new(&document).property("unit").unwrap();
        assert_eq!(unit.type_name(), "string or null");
        assert_eq!(unit.type_name_without_null(), "string");
        assert_eq!(unit.enum_values(), [&json!("m"), &json!("ft")]);
        assert_eq!(unit.description(), Some("Which"));
        assert_eq!(unit.default(), None);
    }

    #[test]
    fn alternatives_that_disagree_about_a_property_say_nothing() {
        let document = json!({"anyOf": [
            {"properties": {"a": {"type": "string"}, "b": {"type": "integer"}}},
            {"properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}},
        ]});
        let view = View::new(&document);
        assert!(view.property("a").is_none());
        assert_eq!(view.property("b").unwrap().type_name(), "integer");
    }
}
