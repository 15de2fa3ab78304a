//! The cases of the Berkeley Function Calling Leaderboard, as `scripts/fetch-bfcl.sh` leaves them in `.cache/bfcl`, with their
//! types turned into those of JSON Schema.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "the cases are files; that they are missing is said"
)]
#![allow(clippy::expect_used, clippy::panic, reason = "a broken case fails the test")]

use haft_schema::Schema;
use serde_json::{Map, Value, json};

/// Questions with known answers.
const ANSWERED: [&str; 10] = [
    "simple_python",
    "multiple",
    "parallel",
    "parallel_multiple",
    "live_simple",
    "live_multiple",
    "live_parallel",
    "live_parallel_multiple",
    "simple_java",
    "simple_javascript",
];
/// Questions that no function answers, and some that one does.
const UNANSWERED: [&str; 3] = ["irrelevance", "live_irrelevance", "live_relevance"];

/// One question.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) functions: Vec<Function>,
    /// The calls that answer it.
    pub(crate) calls: Vec<Call>,
}

#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) schema: Schema,
}

/// A call with the first of its right arguments.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) name: String,
    pub(crate) arguments: Map<String, Value>,
    /// Arguments that may be left out.
    pub(crate) optional: Vec<String>,
}

/// All questions, those without answers included; none where the cases were not fetched, which is said.
pub(crate) fn questions() -> Option<Vec<Question>> {
    let folder = format!("{}/../../.cache/bfcl", env!("CARGO_MANIFEST_DIR"));
    if !std::path::Path::new(&folder).join("complete").exists() {
        println!("SKIPPED: the BFCL cases are not there; fetch them with scripts/fetch-bfcl.sh");
        return None;
    }
    let lines = |file: String| -> Vec<Value> {
        let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
        text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
    };
    let mut questions = Vec::new();
    for group in ANSWERED.iter().chain(&UNANSWERED) {
        let asked = lines(format!("{folder}/BFCL_v4_{group}.json"));
        let answers = if UNANSWERED.contains(group) {
            Vec::new()
        } else {
            lines(format!("{folder}/possible_answer/BFCL_v4_{group}.json"))
        };
        for question in &asked {
            let answer = answers.iter().find(|answer| answer["id"] == question["id"]);
            assert!(answers.is_empty() || answer.is_some(), "{}", question["id"]);
            questions.push(read(question, answer));
        }
    }
    Some(questions)
}

fn read(question: &Value, answer: Option<&Value>) -> Question {
    let turns = question["question"]
        .as_array()
        .expect("turns")
        .iter()
        .flat_map(|turn| turn.as_array().expect("messages"));
    let said: Vec<&str> = turns.map(|message| message["content"].as_str().expect("text")).collect();
    let functions = question["function"].as_array().expect("functions").iter().map(|function| Function {
        name: function["name"].as_str().expect("a name").to_owned(),
        schema: Schema::new(converted(&function["parameters"])).expect("a schema"),
    });
    let calls = answer.map_or(&[][..], |answer| answer["ground_truth"].as_array().expect("calls").as_slice());
    Question {
        id: question["id"].as_str().expect("an id").to_owned(),
        text: said.join("\n"),
        functions: functions.collect(),
        calls: calls
            .iter()
            .flat_map(|call| call.as_object().expect("a call"))
            .map(|(name, given)| call(name, given))
            .collect(),
    }
}

/// The leaderboard's types as JSON Schema's; what only the leaderboard knows is left out.
fn converted(node: &Value) -> Value {
    let Value::Object(map) = node else { return node.clone() };
    let mut schema = Map::new();
    for (key, value) in map {
        match (key.as_str(), value) {
            ("type", Value::String(name)) => {
                let name = match name.to_lowercase().as_str() {
                    "dict" | "hashmap" | "object" => "object",
                    "float" | "double" | "number" => "number",
                    "tuple" | "array" | "arraylist" | "list" => "array",
                    "long" | "integer" | "bigint" | "byte" | "short" => "integer",
                    "string" | "char" => "string",
                    "boolean" => "boolean",
                    "any" | "" => continue,
                    other => panic!("an unknown type: {other}"),
                };
                schema.insert(key.clone(), json!(name));
            }
            ("properties", Value::Object(properties)) => {
                let properties = properties.iter().map(|(name, inner)| (name.clone(), converted(inner)));
                schema.insert(key.clone(), Value::Object(properties.collect()));
            }
            ("items" | "additionalProperties", _) => drop(schema.insert(key.clone(), converted(value))),
            ("optional" | "format", _) => {}
            _ => drop(schema.insert(key.clone(), value.clone())),
        }
    }
    Value::Object(schema)
}

fn call(name: &str, given: &Value) -> Call {
    let mut call = Call { name: name.to_owned(), arguments: Map::new(), optional: Vec::new() };
    for (key, alternatives) in given.as_object().expect("arguments") {
        let alternatives = alternatives.as_array().expect("alternatives");
        if alternatives.contains(&json!("")) {
            call.optional.push(key.clone());
        }
        match alternatives.first() {
            // No alternative at all stands for the empty list.
            None => drop(call.arguments.insert(key.clone(), json!([]))),
            Some(Value::String(text)) if text.is_empty() => {}
            Some(first) => drop(call.arguments.insert(key.clone(), chosen(first))),
        }
    }
    call
}

/// A value of which the first alternatives hold, also inside of objects.
fn chosen(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let entries = map.iter().filter_map(|(key, inner)| match inner {
                Value::Array(alternatives) => match alternatives.first() {
                    None => Some((key.clone(), inner.clone())),
                    Some(Value::String(text)) if text.is_empty() => None,
                    Some(first) => Some((key.clone(), chosen(first))),
                },
                other => Some((key.clone(), chosen(other))),
            });
            Value::Object(entries.collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(chosen).collect()),
        other => other.clone(),
    }
}
