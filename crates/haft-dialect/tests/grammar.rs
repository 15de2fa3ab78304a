//! Grammars allow what writers write, and nothing that a reader would not read as a whole call of this turn.

#![allow(clippy::unwrap_used, reason = "a broken case fails the test")]

#[path = "support/gbnf.rs"]
mod gbnf_reader;

use gbnf_reader::Gbnf;
use haft_dialect::{
    Answer, Contract, DeclaredTool, Dialect, Engine, FinishReason, GrammarError, Tags, Writer, WrittenCall,
    answer_schema, dialects, gbnf, read_answer,
};
use haft_schema::Schema;
use serde_json::{Value, json};

fn tools() -> Vec<DeclaredTool> {
    let tool = |name: &str, schema: Value| DeclaredTool {
        name: name.to_owned(),
        schema: Schema::new(schema).unwrap(),
    };
    vec![
        tool(
            "tide_table",
            json!({"properties": {
            "port": {"type": "string"}, "days": {"type": "integer"}, "unit": {"enum": ["m", "ft"]},
        }, "required": ["port"]}),
        ),
        tool(
            "rows_get",
            json!({"properties": {
            "columns": {"type": "array", "items": {"type": "string"}}, "filter": {"type": "object"},
            "deep": {"type": ["boolean", "null"]}, "step": {"type": "object", "properties": {
                "at": {"type": "number"}}, "required": ["at"]},
        }, "required": ["filter"]}),
        ),
        tool("jobs_list", json!({"properties": {}})),
    ]
}

fn all() -> impl Iterator<Item = Dialect> {
    dialects().iter().copied().filter(|dialect| *dialect != Dialect::Auto)
}

fn grammar(dialect: Dialect, required: bool) -> Gbnf {
    let contract = Contract { tools: &tools(), required, most_calls: 2 };
    Gbnf::read(&gbnf(dialect, &Tags::default(), &contract).unwrap())
}

fn written(dialect: Dialect, calls: &[(&str, Value)]) -> String {
    let calls: Vec<_> = calls
        .iter()
        .map(|(name, arguments)| WrittenCall { name, arguments: arguments.as_object().unwrap() })
        .collect();
    Writer::new(dialect, Tags::default()).calls(&calls).unwrap()
}

#[test]
fn what_writers_write_fits() {
    let batches: &[&[(&str, Value)]] = &[
        &[("jobs_list", json!({}))],
        &[("tide_table", json!({"port": "Saint-Malo < \"x\" \\ ]] 港", "unit": "ft"}))],
        &[("tide_table", json!({"port": "", "days": -3})), ("jobs_list", json!({}))],
        &[(
            "rows_get",
            json!({"columns": ["a", "b"], "filter": {"x": [1, null, {"y": false}]}, "deep": true, "step": {"at": 2.5}}),
        )],
        &[("rows_get", json!({"filter": {}, "deep": null}))],
    ];
    for dialect in all() {
        let grammars = [grammar(dialect, false), grammar(dialect, true)];
        for batch in batches {
            let text = written(dialect, batch);
            // Nested markup is written for lists and objects; the grammar has JSON there.
            if dialect == Dialect::MinimaxM3 && batch[0].0 == "rows_get" {
                continue;
            }
            for grammar in &grammars {
                assert!(grammar.fits(&text), "{dialect}: {text}");
            }
        }
    }
}

#[test]
fn what_is_no_call_of_the_turn_does_not_fit() {
    for dialect in all() {
        let [free, required] = [grammar(dialect, false), grammar(dialect, true)];
        let call = written(dialect, &[("tide_table", json!({"port": "Brest", "days": 2}))]);
        let spoiled = [
            call.replace("port", "harbour"),
            call.replace('2', "two"),
            call.replace("Brest", "Brest\u{0}").replace("port", "prt"),
            written(dialect, &[("jobs_list", json!({})), ("jobs_list", json!({})), ("jobs_list", json!({}))]),
            written(dialect, &[("tide_table", json!({"days": 2}))]),
            written(dialect, &[("tide_table", json!({"port": "x", "unit": "km"}))]),
        ];
        for name in ["tide_tables", "tide"] {
            let text = call.replace("tide_table", name);
            // Without a mark of its own, a call of a name that nobody declared is text for readers too.
            let is_text = dialect.form().engine == Engine::Markerless || dialect == Dialect::Pythonic;
            assert!(!required.fits(&text) && free.fits(&text) <= is_text, "{dialect}: {text}");
        }
        for text in &spoiled {
            assert!(!free.fits(text) && !required.fits(text), "{dialect}: {text}");
        }
        for end in [1, call.len() / 2, call.len() - 1] {
            let end = (0..=end).rev().find(|end| call.is_char_boundary(*end)).unwrap();
            let cut = call.get(..end).unwrap();
            assert!(!required.fits(cut), "{dialect}: {cut}");
        }
    }
}

#[test]
fn free_text_stands_beside_calls() {
    for dialect in all() {
        let [free, required] = [grammar(dialect, false), grammar(dialect, true)];
        for text in
            ["", "Just text: 1 < 2, `code`, \"quotes\" and [lists].", "<think>Hm, <tool_call>.</think>\nNo."]
        {
            assert!(free.fits(text) && !required.fits(text), "{dialect}: {text}");
        }
        for text in [
            "<tool_call>",
            "It is <FUNCTION=x>",
            "{\"name\": \"tide_table\"}",
            "Here: {\"name\": \"tide_table \"}",
            "Here: {\"name\": \" Tide table\"}",
            "<tide_table>",
            "tide_table()",
        ] {
            assert!(!free.fits(text), "{dialect}: {text}");
        }
    }
    let hermes = grammar(Dialect::Hermes, false);
    let call = written(Dialect::Hermes, &[("jobs_list", json!({}))]);
    for text in
        [format!("I look with `ls`.\n{call}"), format!("{call}\nDone."), format!("<think>a</think>\n{call}")]
    {
        assert!(hermes.fits(&text), "{text}");
    }
    for text in [format!("`{call}`"), format!("```\n{call}\n```"), format!("Open ` code\n{call}")] {
        assert!(!hermes.fits(&text), "{text}");
    }
}

#[test]
fn a_demanded_call_comes_at_once() {
    for dialect in all() {
        let [free, required] = [grammar(dialect, false), grammar(dialect, true)];
        let call = written(dialect, &[("jobs_list", json!({}))]);
        for before in ["", "<think>One look first.</think>\n"] {
            for (end, _) in call.char_indices().skip(1).step_by(7) {
                let text = format!("{before}{}", &call[..end]);
                assert!(required.begins(&text) && free.begins(&text), "{dialect}: {text}");
                assert!(!required.fits(&text), "{dialect}: {text}");
            }
            assert!(required.fits(&format!("{before}{call}")), "{dialect}: {call}");
            // Prose is free where nothing is demanded, and not begun where a call is.
            for prose in ["J", "ok ", "Let me see.\n"] {
                let text = format!("{before}{prose}");
                assert!(free.begins(&text) && !required.begins(&text), "{dialect}: {text}");
            }
        }
    }
}

#[test]
fn of_demanded_tools_only_those_are_called() {
    let tools: Vec<_> = tools().into_iter().filter(|tool| tool.name == "tide_table").collect();
    let contract = Contract { tools: &tools, required: true, most_calls: 2 };
    for dialect in all() {
        let grammar = Gbnf::read(&gbnf(dialect, &Tags::default(), &contract).unwrap());
        let [wanted, other] = [("tide_table", json!({"port": "Brest"})), ("jobs_list", json!({}))];
        assert!(grammar.fits(&written(dialect, &[wanted])), "{dialect}");
        assert!(!grammar.fits(&written(dialect, &[other])), "{dialect}");
    }
}

#[test]
fn a_turn_without_tools_is_text() {
    let none = Contract { tools: &[], required: false, most_calls: 4 };
    let grammar = Gbnf::read(&gbnf(Dialect::Hermes, &Tags::default(), &none).unwrap());
    assert!(grammar.fits("Hello.") && !grammar.fits("<tool_call>"));
    let demanded = Contract { required: true, ..none };
    assert_eq!(gbnf(Dialect::Hermes, &Tags::default(), &demanded), Err(GrammarError::NoTool));
    assert_eq!(answer_schema(&demanded), Err(GrammarError::NoTool));
}

#[test]
fn schemas_that_refer_to_themselves_end() {
    let node = json!({"$ref": "#/$defs/Node", "$defs": {"Node": {"type": "object", "properties": {
        "name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}}}});
    let tools = [DeclaredTool { name: "plant".to_owned(), schema: Schema::new(node).unwrap() }];
    let contract = Contract { tools: &tools, required: true, most_calls: 1 };
    for dialect in all() {
        let text = gbnf(dialect, &Tags::default(), &contract).unwrap();
        assert!(text.len() < 200_000, "{dialect}: {}", text.len());
    }
    assert_eq!(
        answer_schema(&contract).unwrap(),
        json!({
            "type": "object",
            "properties": {
                "text": {"type": "string"},
                "tool_calls": {"type": "array", "minItems": 1, "maxItems": 1, "items": {"anyOf": [{
                    "type": "object",
                    "properties": {"name": {"const": "plant"}, "arguments": {"$ref": "#/$defs/tool_0"}},
                    "required": ["name", "arguments"],
                    "additionalProperties": false,
                }]}},
            },
            "required": ["text", "tool_calls"],
            "additionalProperties": false,
            "$defs": {"tool_0": {
                "type": "object",
                "$ref": "#/$defs/tool_0/$defs/Node",
                "$defs": {"Node": {"type": "object", "properties": {
                    "name": {"type": "string"},
                    "children": {"type": "array", "items": {"$ref": "#/$defs/tool_0/$defs/Node"}},
                }}},
            }},
        })
    );
}

#[test]
fn answers_are_read() {
    let read = |text: &str, reason| read_answer(text, reason);
    let arguments = json!({"port": "Brest"});
    assert_eq!(
        read(
            r#" {"text": "Hi.", "tool_calls": [{"name": "tide_table", "arguments": {"port": "Brest"}}]} "#,
            FinishReason::Stop
        ),
        Some(Answer {
            text: "Hi.".to_owned(),
            calls: vec![Ok(("tide_table".to_owned(), arguments.as_object().unwrap().clone()))],
        })
    );
    assert_eq!(read("{\"text\": \"Hi.\", \"tool_calls\": []}", FinishReason::Stop).unwrap().calls, []);
    for text in ["Hi.", "{\"name\": \"x\"}", "[]", "{not json}", ""] {
        assert_eq!(read(text, FinishReason::Stop), None, "{text}");
    }
    let cut = read("{\"text\": \"Hi.\", \"tool_calls\": [{\"name\": \"ti", FinishReason::Length).unwrap();
    assert!(matches!(cut.calls.as_slice(), [Err(_)]), "{cut:?}");
    let bad = read(
        r#"{"text": "", "tool_calls": [{"name": "a", "arguments": 3}, {"arguments": {}}, 4]}"#,
        FinishReason::Stop,
    )
    .unwrap();
    let names: Vec<_> =
        bad.calls.iter().map(|call| call.as_ref().map_err(|bad| bad.name.as_deref())).collect();
    assert_eq!(names, [Err(Some("a")), Err(None), Err(None)]);
}
