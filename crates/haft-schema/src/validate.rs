//! Validation of prepared arguments against a schema that was compiled once (COE-05, COE-06).
//!
//! It must not change values and must not fetch anything. The good path allocates nothing; only a failure costs, and
//! gives messages that a model can act on: the parameter, what came, what was expected, what is allowed, and which parameter a
//! misspelt one was meant to be.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use jsonschema::error::ValidationErrorKind;
use jsonschema::paths::LocationSegment;
use jsonschema::{Retrieve, Uri, ValidationError};
use serde_json::{Map, Value};

use crate::meant::meant;
use crate::{Schema, SchemaError, View, canonical};

/// Violations named in one text, at most.
const SHOWN: usize = 20;
/// Characters of a value shown in a message, at most.
const SHOWN_VALUE: usize = 80;

/// A compiled schema. Cloning shares it.
///
/// ```
/// use haft_schema::{Schema, Validator};
/// use serde_json::json;
///
/// let schema = Schema::new(json!({
///     "type": "object", "properties": {"limit": {"type": "integer"}}, "required": ["limit"],
/// }))?;
/// let validator = Validator::compile(&schema)?;
/// assert!(validator.validate(&json!({"limit": 3})).is_ok());
/// let violations = validator.validate(&json!({"limit": "several"})).unwrap_err();
/// assert_eq!(violations.to_string(), "Invalid arguments: parameter \"limit\" must be integer, got \"several\".");
/// # Ok::<(), haft_schema::SchemaError>(())
/// ```
#[derive(Clone)]
pub struct Validator {
    schema: Schema,
    compiled: Arc<jsonschema::Validator>,
    /// Arguments that fit can be ready as they are.
    plain: bool,
}

/// What kind of rule was broken; the order is the order in which violations are reported (COE-05).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ViolationKind {
    /// A required parameter is absent.
    Missing,
    /// A parameter that the schema does not know.
    Unknown,
    /// A value outside of the listed ones.
    Enum,
    /// A value of another type.
    Type,
    /// Any other rule: limits, lengths, patterns …
    Rule,
}

/// One broken rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Which kind of rule.
    pub kind: ViolationKind,
    /// The parameter, with the place inside it: `shape.corners[2]`. Empty for the arguments as a whole.
    pub parameter: String,
    /// What came, as JSON, shortened; `None` if nothing came.
    pub got: Option<String>,
    /// What was expected, in words.
    pub expected: String,
    /// The allowed values or names, if they are listed.
    pub allowed: Vec<String>,
    /// One clause for the model that says all of this.
    pub message: String,
}

/// All broken rules of one set of arguments, in the order of COE-05. Its text is meant for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violations {
    /// At least one.
    pub list: Vec<Violation>,
    /// Clauses about parameters that the schema lets pass and does not know, where one that it demands is absent: they may have been
    /// meant for it.
    pub notes: Vec<String>,
}

/// Refuses to fetch, whatever features of the validator another crate turns on.
struct NeverFetch;

impl Retrieve for NeverFetch {
    fn retrieve(&self, uri: &Uri<String>) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        Err(format!("{uri} is outside of the schema").into())
    }
}

impl Validator {
    /// Compiles a schema.
    ///
    /// # Errors
    /// [`SchemaError::OutsideReference`] for a `$ref` out of the document, [`SchemaError::Invalid`] for a document that is
    /// no valid schema.
    pub fn compile(schema: &Schema) -> Result<Self, SchemaError> {
        let compiled = jsonschema::options().with_retriever(NeverFetch).build(schema.as_value());
        let compiled = compiled.map_err(|error| {
            let outside = matches!(error.kind(), ValidationErrorKind::Referencing(_));
            match outside.then(|| outside_reference(schema.as_value())).flatten() {
                Some(reference) => SchemaError::OutsideReference { reference },
                None => SchemaError::Invalid {
                    place: error.instance_path().as_str().to_owned(),
                    reason: shortened(&error.to_string(), 400),
                },
            }
        })?;
        let plain = has_plain_parameters(schema.as_value());
        Ok(Self { schema: schema.clone(), compiled: Arc::new(compiled), plain })
    }

    /// The schema it was compiled from.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// True if the arguments fit and coercion would leave them as they are: nothing needs to be done.
    pub fn is_ready(&self, arguments: &Value) -> bool {
        self.plain && is_plain(arguments) && self.compiled.is_valid(arguments)
    }

    /// Checks arguments.
    ///
    /// # Errors
    /// Every broken rule, in the order of COE-05.
    pub fn validate(&self, arguments: &Value) -> Result<(), Violations> {
        if self.compiled.is_valid(arguments) {
            return Ok(());
        }
        let mut list: Vec<Violation> = Vec::new();
        let mut notes: Vec<String> = Vec::new();
        let mut told: HashSet<String> = HashSet::new();
        for error in self.compiled.iter_errors(arguments) {
            for violation in describe(self.schema.view(), &error) {
                if !list.contains(&violation) {
                    list.push(violation);
                }
            }
            let misses_one = matches!(error.kind(), ValidationErrorKind::Required { .. });
            if misses_one && told.insert(error.instance_path().as_str().to_owned()) {
                notes.extend(notes_on(self.schema.view(), &error));
            }
        }
        list.sort_by_key(|violation| violation.kind);
        Err(Violations { list, notes })
    }
}

impl fmt::Debug for Validator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Validator").field("schema", &self.schema).finish_non_exhaustive()
    }
}

impl fmt::Display for Violations {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Invalid arguments: ")?;
        let clauses = self.list.iter().map(|violation| &violation.message).chain(&self.notes);
        for (index, clause) in clauses.take(SHOWN).enumerate() {
            if index > 0 {
                formatter.write_str("; ")?;
            }
            formatter.write_str(clause)?;
        }
        let all = self.list.len() + self.notes.len();
        if all > SHOWN {
            write!(formatter, "; and {} more", all - SHOWN)?;
        }
        formatter.write_str(".")
    }
}

impl std::error::Error for Violations {}

/// Whether a schema names parameters of one scalar type each and nothing that needs a choice between readings.
fn has_plain_parameters(schema: &Value) -> bool {
    const CHOICES: [&str; 7] = ["$ref", "anyOf", "oneOf", "allOf", "if", "not", "patternProperties"];
    let chosen = |schema: &Value| CHOICES.iter().any(|key| schema.get(key).is_some());
    let scalar = |schema: &Value| {
        let scalars = ["string", "integer", "number", "boolean"];
        schema.get("type").and_then(Value::as_str).is_some_and(|name| scalars.contains(&name))
            && !chosen(schema)
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    !chosen(schema)
        && schema.get("additionalProperties").is_none_or(Value::is_boolean)
        && properties.is_some_and(|properties| properties.values().all(scalar))
}

/// True for arguments that coercion leaves as they are if such a schema accepts them: named scalars without whole floats.
fn is_plain(arguments: &Value) -> bool {
    let plain = |value: &Value| match value {
        Value::Number(number) => !number.is_f64(),
        Value::Bool(_) | Value::String(_) => true,
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    };
    arguments.as_object().is_some_and(|map| map.values().all(plain))
}

/// The clauses for one error of the validator: one for each unknown name, else one.
fn describe(root: View<'_>, error: &ValidationError<'_>) -> Vec<Violation> {
    let (view, place) = locate(root, error);
    let value = error.instance().as_ref();
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            vec![missing(view, &join(&place, name), name)]
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            let declared = declared_in(view);
            let absent = absent_from(&declared, value.as_object());
            let of_name = |(index, name): (usize, &String)| {
                // Nobody reads more.
                let meant = (index < SHOWN).then(|| meant(name, absent.iter().copied())).flatten();
                unknown(&declared, &join(&place, name), value.get(name), meant)
            };
            unexpected.iter().enumerate().map(of_name).collect()
        }
        _ => vec![wrong_value(view, place, value, error)],
    }
}

fn missing(view: Option<View<'_>>, parameter: &str, name: &str) -> Violation {
    let expected = view
        .and_then(|view| view.property(name))
        .map_or_else(|| "any".to_owned(), |property| property.type_name());
    Violation {
        kind: ViolationKind::Missing,
        message: format!("missing required parameter {parameter:?} ({expected})"),
        parameter: parameter.to_owned(),
        got: None,
        expected,
        allowed: Vec::new(),
    }
}

fn unknown(declared: &[&str], parameter: &str, value: Option<&Value>, meant: Option<&str>) -> Violation {
    Violation {
        kind: ViolationKind::Unknown,
        parameter: parameter.to_owned(),
        got: value.map(shown),
        expected: "no such parameter".to_owned(),
        allowed: declared.iter().map(|name| (*name).to_owned()).collect(),
        message: unknown_clause(declared, parameter, meant),
    }
}

fn unknown_clause(declared: &[&str], parameter: &str, meant: Option<&str>) -> String {
    let meant = meant.map_or_else(String::new, |name| format!(" (did you mean {name:?}?)"));
    let known = if declared.is_empty() {
        "no parameters are taken here".to_owned()
    } else {
        format!("the parameters are: {}", declared.join(", "))
    };
    format!("unknown parameter {:?}{meant}, {known}", shortened(parameter, SHOWN_VALUE))
}

/// A clause for each parameter beside an absent one that the schema lets pass and does not declare. One of a schema that says what
/// others may hold is told only where it is near to a declared one.
fn notes_on(root: View<'_>, error: &ValidationError<'_>) -> Vec<String> {
    let (Some(view), place) = locate(root, error) else { return Vec::new() };
    let instance = error.instance();
    // What a closed schema does not know is a broken rule already.
    let Some(given) = instance.as_object().filter(|_| !view.is_closed()) else { return Vec::new() };
    let declared = declared_in(Some(view));
    let absent = absent_from(&declared, Some(given));
    let takes_others =
        view.said("additionalProperties").is_some() || view.said("patternProperties").is_some();
    let undeclared = given.keys().filter(|name| !declared.contains(&name.as_str()));
    let clause = |name: &String| {
        let meant = meant(name, absent.iter().copied());
        (meant.is_some() || !takes_others).then(|| unknown_clause(&declared, &join(&place, name), meant))
    };
    undeclared.take(SHOWN).filter_map(clause).collect()
}

fn declared_in<'a>(view: Option<View<'a>>) -> Vec<&'a str> {
    view.map(|view| view.properties().iter().map(|property| property.name).collect()).unwrap_or_default()
}

/// Those of `declared` that were not given: a name was meant for one of them.
fn absent_from<'a>(declared: &[&'a str], given: Option<&Map<String, Value>>) -> Vec<&'a str> {
    declared.iter().copied().filter(|name| given.is_none_or(|given| !given.contains_key(*name))).collect()
}

fn wrong_value(
    view: Option<View<'_>>,
    parameter: String,
    value: &Value,
    error: &ValidationError<'_>,
) -> Violation {
    let got = shown(value);
    let subject = if parameter.is_empty() {
        "the arguments as a whole".to_owned()
    } else {
        format!("parameter {parameter:?}")
    };
    let allowed: Vec<&Value> = view.map(|view| view.enum_values()).unwrap_or_default();
    let outside_list = !allowed.is_empty() && !allowed.iter().any(|value_| canonical::same(value_, value));
    let wrong_type = view.is_some_and(|view| !view.types().accepts(value));
    let allowed: Vec<String> = allowed.into_iter().map(plain).collect();
    let type_name = view.map_or_else(|| "any".to_owned(), |view| view.type_name());
    let (kind, expected, message) = if outside_list {
        let list = allowed.join(", ");
        (ViolationKind::Enum, type_name, format!("{subject} must be one of: {list}; got {got}"))
    } else if wrong_type {
        let message = format!("{subject} must be {type_name}, got {got}");
        (ViolationKind::Type, type_name, message)
    } else {
        let rule = shortened(&error.masked_with("the value").to_string(), 300);
        let message = format!("{subject} breaks a rule: {rule}; got {got}");
        (ViolationKind::Rule, type_name, message)
    };
    Violation { kind, parameter, got: Some(got), expected, allowed, message }
}

/// The schema and the spelled place of the value that an error is about.
fn locate<'a>(root: View<'a>, error: &ValidationError<'_>) -> (Option<View<'a>>, String) {
    let mut view = Some(root);
    let mut place = String::new();
    for segment in error.instance_path() {
        match segment {
            LocationSegment::Property(name) => {
                view = view.and_then(|view| view.property(&name).or_else(|| view.additional()));
                place = join(&place, &name);
            }
            LocationSegment::Index(index) => {
                view = view.and_then(|view| view.item(index));
                place.push_str(&format!("[{index}]"));
            }
        }
    }
    (view, place)
}

fn join(place: &str, name: &str) -> String {
    if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") }
}

fn shown(value: &Value) -> String {
    shortened(&canonical::to_string(value), SHOWN_VALUE)
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| shown(value), |text| shortened(text, SHOWN_VALUE))
}

fn shortened(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// The first reference that does not start with `#`.
fn outside_reference(node: &Value) -> Option<String> {
    match node {
        Value::Object(map) => map.iter().find_map(|(name, value)| match value {
            Value::String(reference) if matches!(name.as_str(), "$ref" | "$dynamicRef") => {
                (!reference.starts_with('#')).then(|| reference.clone())
            }
            other => outside_reference(other),
        }),
        Value::Array(items) => items.iter().find_map(outside_reference),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn validator() -> Validator {
        let schema = Schema::new(json!({
            "type": "object",
            "properties": {
                "query": {"type": "string"},
                "limit": {"type": "integer", "minimum": 1},
                "mode": {"type": "string", "enum": ["fast", "slow"]},
                "tags": {"type": "array", "items": {"type": "string"}},
                "size": {"anyOf": [{"type": "number"}, {"type": "null"}]},
            },
            "required": ["query"],
            "additionalProperties": false,
        }))
        .unwrap();
        Validator::compile(&schema).unwrap()
    }

    fn messages(arguments: &Value) -> Vec<String> {
        validator()
            .validate(arguments)
            .unwrap_err()
            .list
            .into_iter()
            .map(|violation| violation.message)
            .collect()
    }

    #[test]
    fn accepts_what_fits() {
        let arguments = json!({"query": "x", "limit": 3.0, "mode": "fast", "tags": ["a"], "size": null});
        assert_eq!(validator().validate(&arguments), Ok(()));
    }

    // COE-05, COE-06, CONFLICT-22
    #[test]
    fn reports_in_order() {
        let arguments = json!({"size": "big", "limit": 0, "mode": "medium", "extra": 1, "tags": ["a", 2]});
        assert_eq!(
            messages(&arguments),
            [
                "missing required parameter \"query\" (string)",
                "unknown parameter \"extra\", the parameters are: query, limit, mode, tags, size",
                "parameter \"mode\" must be one of: fast, slow; got \"medium\"",
                "parameter \"size\" must be number or null, got \"big\"",
                "parameter \"tags[1]\" must be string, got 2",
                "parameter \"limit\" breaks a rule: the value is less than the minimum of 1; got 0",
            ]
        );
    }

    // COE-05: what was misspelt is named, and what it was meant to be where that is plain; values stay where they are.
    #[test]
    fn a_misspelt_parameter_is_told_with_the_one_that_was_meant() {
        assert_eq!(
            messages(&json!({"qurey": "x", "limits": 3, "extra": 1})),
            [
                "missing required parameter \"query\" (string)",
                "unknown parameter \"qurey\" (did you mean \"query\"?), the parameters are: query, limit, mode, tags, size",
                "unknown parameter \"limits\" (did you mean \"limit\"?), the parameters are: query, limit, mode, tags, size",
                "unknown parameter \"extra\", the parameters are: query, limit, mode, tags, size",
            ]
        );
        // One that is there already was not meant.
        assert_eq!(
            messages(&json!({"query": "x", "qurey": "y"})),
            ["unknown parameter \"qurey\", the parameters are: query, limit, mode, tags, size"]
        );
    }

    fn text_of(schema: Value, arguments: &Value) -> Option<String> {
        let validator = Validator::compile(&Schema::new(schema).unwrap()).unwrap();
        validator.validate(arguments).err().map(|violations| violations.to_string())
    }

    // COE-05, CONFLICT-22: a schema that lets others pass refuses none of them, and tells of them where a demanded one is absent.
    #[test]
    fn an_open_schema_tells_what_it_does_not_know_where_something_is_missing() {
        let schema = || {
            json!({
                "type": "object", "required": ["query"],
                "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}},
            })
        };
        let text = |arguments: Value| text_of(schema(), &arguments);
        let missing = "Invalid arguments: missing required parameter \"query\" (string)";
        assert_eq!(
            text(json!({"qurey": "x", "limit": 1})),
            Some(format!(
                "{missing}; unknown parameter \"qurey\" (did you mean \"query\"?), the parameters are: query, limit."
            ))
        );
        let named = "unknown parameter \"text\", the parameters are: query, limit";
        assert_eq!(text(json!({"text": "x"})), Some(format!("{missing}; {named}.")));
        assert_eq!(text(json!({})), Some(format!("{missing}.")));
        assert_eq!(text(json!({"query": "x", "limt": 1})), None);
        let violations = Validator::compile(&Schema::new(schema()).unwrap()).unwrap();
        let violations = violations.validate(&json!({"text": "x"})).unwrap_err();
        assert_eq!((violations.list.len(), violations.notes), (1, vec![named.to_owned()]));
    }

    #[test]
    fn a_schema_that_says_what_others_hold_tells_of_a_slip_alone() {
        let schema = json!({
            "type": "object",
            "properties": {"env": {
                "type": "object", "required": ["PATH", "LANG"], "properties": {"PATH": {}, "LANG": {}},
                "additionalProperties": {"type": "string"},
            }},
        });
        assert_eq!(
            text_of(schema, &json!({"env": {"PAHT": "/bin", "HOME": "/home"}})).unwrap(),
            "Invalid arguments: missing required parameter \"env.PATH\" (any); \
             missing required parameter \"env.LANG\" (any); \
             unknown parameter \"env.PAHT\" (did you mean \"PATH\"?), the parameters are: PATH, LANG."
        );
    }

    #[test]
    fn a_violation_carries_its_parts() {
        let violations = validator().validate(&json!({"query": "x", "mode": "medium"})).unwrap_err();
        assert_eq!(
            violations.list,
            [Violation {
                kind: ViolationKind::Enum,
                parameter: "mode".to_owned(),
                got: Some("\"medium\"".to_owned()),
                expected: "string".to_owned(),
                allowed: vec!["fast".to_owned(), "slow".to_owned()],
                message: "parameter \"mode\" must be one of: fast, slow; got \"medium\"".to_owned(),
            }]
        );
        let violations = validator().validate(&json!({"query": true, "limit": "several"})).unwrap_err();
        assert_eq!(
            violations.to_string(),
            "Invalid arguments: parameter \"query\" must be string, got true; \
             parameter \"limit\" must be integer, got \"several\"."
        );
    }

    #[test]
    fn arguments_that_are_no_object_are_refused() {
        assert_eq!(messages(&json!([1])), ["the arguments as a whole must be object, got [1]"]);
    }

    #[test]
    fn long_values_and_lists_are_shortened() {
        let arguments = json!({"query": 1, "limit": "é".repeat(500)});
        let text = validator().validate(&arguments).unwrap_err().to_string();
        assert!(text.chars().count() < 300, "{text}");
        let many: serde_json::Map<_, _> = (0..50).map(|index| (format!("p{index}"), json!(1))).collect();
        let text = validator().validate(&Value::Object(many)).unwrap_err().to_string();
        assert!(text.ends_with("; and 31 more."), "{text}");
        let text = validator().validate(&json!({"é".repeat(5_000): 1})).unwrap_err().to_string();
        assert!(text.chars().count() < 300, "{text}");
    }

    #[test]
    fn references_out_of_the_document_are_refused() {
        for reference in ["https://example.org/a.json", "file:///etc/passwd", "other.json#/x"] {
            let schema = Schema::new(json!({"properties": {"p": {"$ref": reference}}})).unwrap();
            let error = Validator::compile(&schema).unwrap_err();
            assert_eq!(error, SchemaError::OutsideReference { reference: reference.to_owned() });
        }
        let local = Schema::new(json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "object"}}})).unwrap();
        assert!(Validator::compile(&local).is_ok());
    }

    #[test]
    fn schemas_that_are_not_valid_are_refused() {
        let schema = Schema::new(json!({"type": "object", "properties": {"p": {"type": "text"}}})).unwrap();
        let SchemaError::Invalid { place, .. } = Validator::compile(&schema).unwrap_err() else { panic!() };
        assert_eq!(place, "/properties/p/type");
    }
}
