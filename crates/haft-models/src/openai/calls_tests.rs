use haft_core::{ModelTool, ToolId};
use haft_schema::Schema;
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn taken(pieces: Value) -> Calls {
    let mut calls = Calls::default();
    let Value::Array(pieces) = pieces else { panic!("a list") };
    for piece in pieces {
        let Value::Object(piece) = piece else { panic!("objects") };
        calls.take(piece);
    }
    calls
}

fn finished(pieces: Value) -> Vec<RequestedCall> {
    taken(pieces).finish(&Names::new(&[]), false, "s")
}

/// Id, name and arguments of every call.
fn read(pieces: Value) -> Value {
    let calls = finished(pieces).into_iter().map(|call| match call {
        RequestedCall::Call { name, arguments, wire_id, .. } => {
            json!([wire_id.map(|id| id.to_string()), name, arguments])
        }
        RequestedCall::Malformed { name, reason, .. } => json!({"malformed": name, "reason": reason}),
    });
    calls.collect()
}

fn piece(index: Option<u64>, id: Option<&str>, name: Option<&str>, arguments: &str) -> Value {
    json!({"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

#[test]
fn pieces_of_two_calls_are_put_together_also_interleaved() {
    let calls = read(json!([
        piece(Some(0), Some("a"), Some("get_"), ""),
        piece(Some(0), None, Some("weather"), ""),
        piece(Some(1), Some("b"), Some("add"), "{\"x\""),
        piece(Some(0), None, None, "{\"city\":"),
        piece(Some(1), None, None, ": 1}"),
        piece(Some(0), None, None, "\"Köln\"}"),
    ]));
    assert_eq!(calls, json!([["a", "get_weather", {"city": "Köln"}], ["b", "add", {"x": 1}]]));
}

// CONFLICT-31
#[test]
fn whole_calls_are_told_apart_whatever_their_ids_and_indexes() {
    let expected =
        |first: Value, second: Value| json!([[first, "dice", {"sides": 6}], [second, "dice", {"sides": 8}]]);
    let two = |index: [Option<u64>; 2], ids: [Option<&str>; 2]| {
        read(json!([
            piece(index[0], ids[0], Some("dice"), "{\"sides\": 6}"),
            piece(index[1], ids[1], Some("dice"), "{\"sides\": 8}"),
        ]))
    };
    let (none, zero, one) = (None, Some(0), Some(1));
    // one index for all, ids differ
    assert_eq!(two([zero, zero], [Some("a"), Some("b")]), expected(json!("a"), json!("b")));
    // no ids at all
    assert_eq!(two([zero, one], [None, None]), expected(json!(null), json!(null)));
    assert_eq!(two([zero, zero], [None, Some("")]), expected(json!(null), json!(null)));
    // no index
    assert_eq!(two([none, none], [Some("a"), Some("b")]), expected(json!("a"), json!("b")));
    assert_eq!(two([none, none], [None, None]), expected(json!(null), json!(null)));
    // one id for all
    assert_eq!(two([zero, one], [Some("a"), Some("a")]), expected(json!("a"), json!("a")));
    assert_eq!(two([none, none], [Some("a"), Some("a")]), expected(json!("a"), json!("a")));
    assert_eq!(two([zero, zero], [Some("a"), Some("a")]), expected(json!("a"), json!("a")));
}

#[test]
fn the_same_call_twice_without_ids_is_two_calls() {
    let one = piece(Some(0), None, Some("roll"), "{}");
    assert_eq!(read(json!([one, one])), json!([[null, "roll", {}], [null, "roll", {}]]));
}

#[test]
fn ids_and_names_repeated_in_every_piece_make_one_call() {
    let expected = json!([["a", "add", {"x": 1, "y": {"z": 2}}]]);
    for index in [Some(0), None] {
        let pieces = ["{\"x\": 1", ", \"y\": {\"z\": 2}", "}"];
        let pieces: Vec<Value> =
            pieces.iter().map(|arguments| piece(index, Some("a"), Some("add"), arguments)).collect();
        assert_eq!(read(Value::Array(pieces)), expected, "{index:?}");
    }
    // the whole call once more at the end, or only its head
    let whole = piece(Some(0), Some("a"), Some("add"), "{\"x\": 1, \"y\": {\"z\": 2}}");
    assert_eq!(read(json!([whole, whole])), expected);
    assert_eq!(read(json!([whole, piece(Some(0), Some("a"), Some("add"), "")])), expected);
}

#[test]
fn an_id_may_come_after_the_name_and_without_an_index() {
    let calls = read(json!([
        piece(None, None, Some("add"), ""),
        piece(None, Some("a"), None, "{\"x\":"),
        piece(None, None, None, "1}"),
        piece(None, Some("b"), Some("add"), "{\"x\": 2}"),
    ]));
    assert_eq!(calls, json!([["a", "add", {"x": 1}], ["b", "add", {"x": 2}]]));
}

#[test]
fn arguments_may_be_missing_empty_null_or_an_object() {
    let calls = read(json!([
        {"index": 0, "id": "a", "function": {"name": "now"}},
        {"index": 1, "id": "b", "function": {"name": "now", "arguments": ""}},
        {"index": 2, "id": "c", "function": {"name": "now", "arguments": null}},
        {"index": 3, "id": "d", "function": {"name": "now", "arguments": "null"}},
        {"index": 4, "id": "e", "function": {"name": "add", "arguments": {"x": 9_007_199_254_740_993_u64}}},
        {"index": 5, "id": 7, "function": {"name": "now", "arguments": " {} "}},
    ]));
    assert_eq!(
        calls,
        json!([
            ["a", "now", {}], ["b", "now", {}], ["c", "now", {}], ["d", "now", {}],
            ["e", "add", {"x": 9_007_199_254_740_993_u64}], ["7", "now", {}]
        ])
    );
}

// CONFLICT-03
#[test]
fn arguments_that_are_no_json_object_are_malformed_and_say_why() {
    let calls = read(json!([
        piece(Some(0), Some("a"), Some("add"), "{\"x\": 1"),
        piece(Some(1), Some("b"), Some("add"), "x=1"),
        piece(Some(2), Some("c"), Some("add"), "[1]"),
        piece(Some(3), Some("d"), Some("add"), "\"{}\""),
        piece(Some(4), Some("e"), None, "{}"),
    ]));
    let reasons: Vec<&str> =
        calls.as_array().unwrap().iter().map(|call| call["reason"].as_str().unwrap()).collect();
    assert_eq!(
        reasons,
        [
            "The arguments end before their JSON does (the text ends inside a value at byte 7). Write the whole object.",
            "The arguments are not JSON: expected a value, found 'x' at byte 0. Write them as one object: {\"name\": value, …}.",
            "The arguments are a list, not a JSON object. Write them as one object: {\"name\": value, …}.",
            "The arguments are text, not a JSON object. Write them as one object: {\"name\": value, …}.",
            "The call names no tool. Call a tool by its name, with its arguments.",
        ]
    );
    let cut =
        taken(json!([piece(Some(0), None, Some("add"), "{\"x\": \"ab")])).finish(&Names::new(&[]), true, "s");
    assert_eq!(
        cut,
        [RequestedCall::Malformed {
            name: Some("add".into()),
            reason:
                "The answer ran out of tokens inside this call, so nothing was run. Ask for less at once."
                    .into(),
            raw: "{\"x\": \"ab".into(),
            wire_id: None,
        }]
    );
}

#[test]
fn numbers_for_text_keep_their_digits() {
    let tool = ModelTool {
        tool_id: ToolId::own("note"),
        alias: "note".into(),
        description: String::new(),
        input_schema: Schema::new(json!({"properties": {"label": {"type": "string"}}})).unwrap(),
        example: None,
    };
    let calls = taken(json!([piece(Some(0), None, Some("note"), "{\"label\": 1.50}")]));
    let RequestedCall::Call { arguments, .. } = &calls.finish(&Names::new(&[tool]), false, "s")[0] else {
        panic!()
    };
    assert_eq!(arguments["label"], "1.50");
}

// PRV-02
#[test]
fn unknown_fields_of_a_call_are_kept_for_its_server() {
    let calls = finished(json!([
        {"index": 0, "id": "a", "function": {"name": "now", "arguments": "{}", "strict": true}, "extra_content": {"google": {"thought_signature": "s1"}}},
        {"index": 0, "extra_content": {"google": {"more": [1]}}},
    ]));
    let RequestedCall::Call { provider_metadata: Some(metadata), .. } = &calls[0] else {
        panic!("{calls:?}")
    };
    assert_eq!(
        *metadata,
        json!({"server": "s", "fields": {
            "function": {"strict": true},
            "extra_content": {"google": {"thought_signature": "s1", "more": [1]}},
        }})
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_cutting_of_the_arguments_gives_the_same_calls(
        cuts in proptest::collection::vec(1_usize..6, 0..12),
        with_index in any::<bool>(),
        repeat_id in any::<bool>(),
    ) {
        let whole = ["{\"text\": \"a{}b\", \"list\": [{}, {}]}", "{\"text\": \"}\"}"];
        let mut pieces = Vec::new();
        for (index, arguments) in whole.iter().enumerate() {
            let id = format!("call_{index}");
            let index = with_index.then_some(index as u64);
            pieces.push(piece(index, Some(&id), Some("t"), ""));
            let mut rest = *arguments;
            for cut in &cuts {
                let (now, later) = rest.split_at((*cut).min(rest.len()));
                pieces.push(piece(index, repeat_id.then_some(id.as_str()), None, now));
                rest = later;
            }
            pieces.push(piece(index, repeat_id.then_some(id.as_str()), None, rest));
        }
        prop_assert_eq!(
            read(Value::Array(pieces)),
            json!([
                ["call_0", "t", {"text": "a{}b", "list": [{}, {}]}],
                ["call_1", "t", {"text": "}"}],
            ])
        );
    }

    #[test]
    fn foreign_pieces_never_panic(
        pieces in proptest::collection::vec(
            (proptest::option::of(0_u64..3), proptest::option::of("[ab]?"), proptest::option::of("[xy]{0,2}"), "[{}\":1x ]{0,6}"),
            0..8,
        )
    ) {
        let count = pieces.len();
        let pieces = pieces.iter().map(|(index, id, name, arguments)| piece(*index, id.as_deref(), name.as_deref(), arguments));
        prop_assert!(finished(pieces.collect()).len() <= count);
    }
}
