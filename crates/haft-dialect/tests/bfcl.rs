//! Real functions, questions and calls: 8,726 schemas and 3,302 calls of the Berkeley Function Calling Leaderboard, through
//! validation, coercion and every dialect. Without the cases (`scripts/fetch-bfcl.sh`) each test says that it is skipped.

#![allow(clippy::unwrap_used, reason = "a broken case fails the test")]

#[path = "bfcl/data.rs"]
mod data;

use std::collections::BTreeSet;
use std::sync::Arc;

use data::{Question, questions};
use haft_dialect::{
    DeclaredTool, Dialect, FinishReason, ParserOptions, Tags, ToolSet, ValueTyping, Writer, WrittenCall,
    dialects, parse,
};
use haft_schema::{Defaults, Digest, Schema, Validator, canonical, coerce};
use serde_json::{Map, Value, json};

/// Calls of the leaderboard that its own schemas refuse, each for a fault of the data or since it is Java or JavaScript.
const REFUSED: &str = include_str!("bfcl/refused.txt");

impl Question {
    fn schema(&self, name: &str) -> &Schema {
        &self.functions.iter().find(|function| function.name == name).unwrap().schema
    }

    fn tools(&self) -> Arc<ToolSet> {
        let declared = self
            .functions
            .iter()
            .map(|function| DeclaredTool { name: function.name.clone(), schema: function.schema.clone() });
        Arc::new(ToolSet::new(declared))
    }

    /// Whether the schemas accept all its calls.
    fn is_sound(&self) -> bool {
        !REFUSED.lines().any(|line| line.split('/').next() == Some(&self.id))
    }
}

#[test]
fn every_function_has_a_schema_that_compiles() {
    let Some(questions) = questions() else { return };
    let mut digests = Vec::new();
    for function in questions.iter().flat_map(|question| &question.functions) {
        let schema = &function.schema;
        assert!(Validator::compile(schema).is_ok(), "{}: {}", function.name, schema.as_value());
        for property in schema.properties() {
            assert!(!property.schema.types().is_none(), "{}.{}", function.name, property.name);
        }
        digests.extend_from_slice(canonical::digest(schema.as_value()).to_string().as_bytes());
    }
    assert_eq!(questions.iter().map(|question| question.functions.len()).sum::<usize>(), 8726);
    assert_eq!(
        Digest::of(&digests).to_string(),
        "48aa21feb84137a8ed315d01227c79abb8021e10ed7dc8c00e3fe604d6f4bf08"
    );
}

#[test]
fn right_calls_are_accepted_and_wrong_ones_named() {
    let Some(questions) = questions() else { return };
    let mut refused = Vec::new();
    let (mut calls, mut missing) = (0, 0);
    for question in &questions {
        for call in &question.calls {
            calls += 1;
            let schema = question.schema(&call.name);
            let validator = Validator::compile(schema).unwrap();
            if validator.validate(&json!(call.arguments)).is_err() {
                refused.push(format!("{}/{}", question.id, call.name));
                continue;
            }
            for name in schema.required() {
                let mut less = call.arguments.clone();
                less.remove(name);
                assert!(validator.validate(&json!(less)).is_err(), "{}: without {name}", question.id);
                missing += 1;
            }
            let defaults = Defaults::of(schema);
            for name in &call.optional {
                let mut less = call.arguments.clone();
                less.remove(name);
                defaults.fill(&mut less);
                let required = schema.required().any(|required| required == name);
                let faults = validator.validate(&json!(less)).err().map(|faults| faults.to_string());
                // A default of another type than its own schema is a fault of the data.
                let fault_of_default = faults.as_ref().is_some_and(|faults| !faults.contains("missing"));
                assert!(
                    faults.is_none() || required || fault_of_default,
                    "{}: {name}: {faults:?}",
                    question.id
                );
            }
        }
    }
    assert_eq!(refused, REFUSED.lines().collect::<Vec<_>>());
    assert_eq!((calls, refused.len(), calls - refused.len()), (3302, 42, 3260));
    assert!(missing > 5000, "{missing}");
}

// COE-02
#[test]
fn values_that_came_as_text_become_what_they_were() {
    let Some(questions) = questions() else { return };
    for question in questions.iter().filter(|question| question.is_sound()) {
        for call in &question.calls {
            let schema = question.schema(&call.name);
            let as_text: Map<String, Value> = call
                .arguments
                .iter()
                .map(|(key, value)| {
                    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                    (key.clone(), Value::String(text))
                })
                .collect();
            let typed = coerce(schema, Value::Object(as_text));
            for (key, value) in &call.arguments {
                // Without a type, and where text is allowed, text stays text.
                let takes_text = schema
                    .property(key)
                    .is_none_or(|property| property.schema.types().has(haft_schema::Type::String));
                let same = canonical::same(&typed[key], value);
                let kept = takes_text && typed[key].as_str() == Some(&value.to_string());
                assert!(same || kept, "{}: {key}: {} is not {value}", question.id, typed[key]);
            }
        }
    }
}

/// A value as a dialect gives it back: where neither the dialect nor the schema knows a type, it is text.
fn as_read(schema: &Schema, key: &str, value: &Value, dialect: Dialect) -> Value {
    let untyped = schema.property(key).is_none_or(|property| property.schema.types().is_any());
    if dialect.form().values == ValueTyping::Schema && untyped && !value.is_string() {
        return Value::String(canonical::to_string(value));
    }
    value.clone()
}

/// Why the calls of a question are not read back in a dialect as they were written, if they are not.
fn mismatch(question: &Question, tools: &Arc<ToolSet>, dialect: Dialect) -> Result<bool, String> {
    let calls: Vec<_> = question
        .calls
        .iter()
        .map(|call| WrittenCall { name: &call.name, arguments: &call.arguments })
        .collect();
    let writer = Writer::new(dialect, Tags::default());
    let before = if writer.text_beside_calls() { "I will look." } else { "" };
    let Ok(written) = writer.message(before, &calls) else { return Ok(false) };
    let parsed = parse(&written, dialect, Arc::clone(tools), &ParserOptions::default(), FinishReason::Stop);
    let found: Vec<Value> =
        parsed.calls.iter().map(|call| json!({"name": call.name, "arguments": call.arguments})).collect();
    let wanted: Vec<Value> = question
        .calls
        .iter()
        .map(|call| {
            let arguments: Map<String, Value> = call
                .arguments
                .iter()
                .map(|(key, value)| (key.clone(), as_read(question.schema(&call.name), key, value, dialect)))
                .collect();
            json!({"name": call.name, "arguments": arguments})
        })
        .collect();
    if canonical::same(&json!(found), &json!(wanted)) && parsed.malformed.is_empty() && parsed.text == before
    {
        return Ok(true);
    }
    Err(format!(
        "{dialect} {}\nwritten: {written}\nwanted: {}\nfound:  {}\nmalformed: {:?}, text: {:?}",
        question.id,
        json!(wanted),
        json!(found),
        parsed.malformed,
        parsed.text
    ))
}

/// `HAFT_BFCL=all` takes every call through every dialect; else each dialect gets its share of them. `HAFT_DIALECT` looks at
/// one dialect.
#[allow(clippy::disallowed_methods, reason = "a long run is asked for by a variable")]
fn share() -> (usize, Vec<Dialect>) {
    let all = std::env::var("HAFT_BFCL").is_ok_and(|value| value == "all");
    let named = std::env::var("HAFT_DIALECT").ok().map(|name| vec![name.parse().unwrap()]);
    let every: Vec<Dialect> =
        dialects().iter().copied().filter(|dialect| *dialect != Dialect::Auto).collect();
    (if all { 1 } else { 16 }, named.unwrap_or(every))
}

#[test]
fn calls_are_read_back_in_every_dialect() {
    let Some(questions) = questions() else { return };
    let sound: Vec<(&Question, Arc<ToolSet>)> = questions
        .iter()
        .filter(|question| !question.calls.is_empty() && question.is_sound())
        .map(|question| (question, question.tools()))
        .collect();
    let (step, dialects) = share();
    let mut misread = Vec::new();
    for (number, dialect) in dialects.into_iter().enumerate() {
        let (mut carried, mut not_carried) = (0, 0);
        for (question, tools) in sound.iter().skip(number % step).step_by(step) {
            match mismatch(question, tools, dialect) {
                Ok(true) => carried += 1,
                Ok(false) => not_carried += 1,
                Err(why) => misread.push(why),
            }
        }
        println!("{dialect}: {carried} read back, {not_carried} cannot be carried");
    }
    assert!(misread.is_empty(), "{} are misread:\n{}", misread.len(), misread.join("\n\n"));
}

#[test]
fn questions_are_no_calls() {
    let Some(questions) = questions() else { return };
    let irrelevant: Vec<&Question> =
        questions.iter().filter(|question| question.id.contains("irrelevance")).collect();
    assert_eq!(irrelevant.len(), 1124);
    let (step, others) = share();
    let mut found = BTreeSet::new();
    for (number, question) in irrelevant.into_iter().enumerate() {
        let tools = question.tools();
        // Where the dialect is left open every question counts; the others get their share.
        let others = others.iter().copied().enumerate().filter(|(other, _)| (number + other) % step == 0);
        for dialect in std::iter::once(Dialect::Auto).chain(others.map(|(_, dialect)| dialect)) {
            let parsed = parse(
                &question.text,
                dialect,
                Arc::clone(&tools),
                &ParserOptions::default(),
                FinishReason::Stop,
            );
            if !parsed.order.is_empty() {
                found.insert(format!("{dialect} {}: {parsed:?}", question.id));
            }
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}
