//! The data tools.

use haft_core::{Services, ToolOutput, ToolResult, render};
use haft_tools::data;
use proptest::prelude::*;
use serde_json::{Map, json};

use crate::support::Invocation;

fn invocation() -> Invocation {
    Invocation::new(data::tools().unwrap(), Services::default())
}

/// The result as B's renderer writes it.
fn as_b_writes_it(output: ToolOutput) -> String {
    render::json(&ToolResult {
        call_id: "c_1".into(),
        tool_id: None,
        alias: "x".into(),
        content: output.content,
        structured: output.structured,
        is_error: false,
        error_code: None,
        resource_refs: Vec::new(),
        ui: None,
        metadata: Map::new(),
        duration_ms: 0,
        skipped: false,
    })
}

// DAT-01
#[tokio::test]
async fn the_calculator_is_exact_where_it_can_be() {
    let mut tools = invocation();
    let cases = [
        ("2+2", "4"),
        ("2^100", "1267650600228229401496703205376"),
        ("2**100", "1267650600228229401496703205376"),
        ("12345678901234567890 * 98765432109876543210", "1219326311370217952237463801111263526900"),
        ("30!", "265252859812191058636308480000000"),
        ("0.1 + 0.2", "0.3"),
        ("10 / 4", "2.5"),
        ("1/3", "0.3333333333 (rounded)"),
        ("-2^2", "-4"),
        ("7 mod 3", "1"),
        ("15% of 200", "30"),
        ("（１＋２）× ３", "9"),
        ("max(1/3, 0.33, -5)", "0.3333333333 (rounded)"),
        ("min(2^100, 2^99 + 1)", "633825300114114700748351602689"),
        ("round(2.567, 2)", "2.57"),
        ("abs(-7)", "7"),
        ("sqrt(16)", "4"),
        ("1,234 + 1", "1235"),
        ("2 + 2 =", "4"),
    ];
    for (expression, expected) in cases {
        assert_eq!(
            tools.text("calculator", json!({"expression": expression})).await,
            expected,
            "{expression}"
        );
    }
    let small = tools.text("calculator", json!({"expression": "1 / 3^40"})).await;
    assert!(small.starts_with("0.00000000000000000008225") && small.ends_with("(rounded)"), "{small}");
}

// DAT-01, RES-03
#[tokio::test]
async fn a_result_is_a_number_where_that_says_the_same() {
    let mut tools = invocation();
    let cases = [
        ("6*7", r#"{"success":true,"data":{"result":42,"exact":true}}"#),
        ("10/4", r#"{"success":true,"data":{"result":2.5,"exact":true}}"#),
        ("2^70", r#"{"success":true,"data":{"result":"1180591620717411303424","exact":true}}"#),
        ("5 km to m", r#"{"success":true,"data":{"result":"5000 m","exact":true}}"#),
    ];
    for (expression, expected) in cases {
        let output = tools.call("calculator", json!({"expression": expression})).await.unwrap();
        assert_eq!(as_b_writes_it(output), expected, "{expression}");
    }
}

// CONFLICT-22
#[tokio::test]
async fn tools_of_b_pass_over_parameters_that_they_do_not_know() {
    let mut tools = invocation();
    assert_eq!(tools.text("calculator", json!({"expression": "1+1", "precision": 3})).await, "2");
}

// DAT-01
#[tokio::test]
async fn what_cannot_be_calculated_is_an_error_result() {
    let mut tools = invocation();
    let cases = [
        ("1/0", "data.calculation_failed", "`1/0` cannot be calculated: division by zero."),
        ("10 mod 0", "data.calculation_failed", "modulo by zero"),
        ("", "data.calculation_failed", "there is nothing to calculate."),
        ("7 // 2", "data.calculation_failed", "write floor(a / b)"),
        ("nonsense", "data.calculation_failed", "unknown identifier"),
        ("gcd(4,6)", "data.calculation_failed", "gcd does not take 2 arguments"),
    ];
    for (expression, code, told) in cases {
        let error = tools.error("calculator", json!({"expression": expression})).await;
        assert_eq!(error.0, code, "{expression}");
        assert!(error.1.contains(told), "{}", error.1);
    }
}

// DAT-01
#[tokio::test]
async fn no_expression_runs_long_or_deep() {
    let mut tools = invocation().in_real_time();
    for expression in ["9^9^9^9", "2^(2^40)"] {
        let error = tools.error("calculator", json!({"expression": expression})).await;
        assert_eq!(error.0, "data.calculation_too_long", "{expression}");
    }
    let factorials = format!("5{}", "!".repeat(450));
    assert_eq!(
        tools.error("calculator", json!({"expression": factorials})).await.0,
        "data.calculation_too_long"
    );
    let chain = format!("1{}", "+1".repeat(249));
    assert_eq!(tools.text("calculator", json!({"expression": chain})).await, "250");
    let nested = format!("{}1{}", "(".repeat(64), ")".repeat(64));
    assert_eq!(tools.text("calculator", json!({"expression": nested})).await, "1");
    for expression in [format!("1{}", "+1".repeat(250)), "(".repeat(450), format!("{}1", "-".repeat(2_000))] {
        assert_eq!(
            tools.error("calculator", json!({"expression": expression})).await.0,
            "data.calculation_failed"
        );
    }
}

// DAT-03
#[tokio::test]
async fn text_is_counted_and_changed() {
    let mut tools = invocation();
    let cases = [
        ("héllo\nwörld two\n", "count", "16"),
        ("héllo\nwörld two\n", "lines", "2"),
        ("héllo\nwörld two\n", "words", "3"),
        ("straße", "upper", "STRASSE"),
        ("ÀB", "lower", "àb"),
        ("e\u{301}a\u{1f469}\u{200d}\u{1f52c}", "reverse", "\u{1f469}\u{200d}\u{1f52c}ae\u{301}"),
        ("  a \n b  \n", "trim", "a\n b"),
        ("b\na\nb", "unique_lines", "b\na"),
        ("b\na\nb", "sort_lines", "a\nb\nb"),
    ];
    for (text, operation, expected) in cases {
        let shown = tools.text("text_process", json!({"text": text, "operation": operation})).await;
        assert_eq!(shown, expected, "{operation}");
    }
    let output = tools.call("text_process", json!({"text": "abc", "operation": "count"})).await.unwrap();
    assert_eq!(as_b_writes_it(output), r#"{"success":true,"data":{"result":3}}"#);
    let unknown = tools.error("text_process", json!({"text": "a", "operation": "shout"})).await;
    assert_eq!(unknown.0, "agent.invalid_arguments");
    assert!(unknown.1.contains("sort_lines"), "{}", unknown.1);
}

// DAT-04
#[tokio::test]
async fn json_keeps_its_digits_and_its_order() {
    let mut tools = invocation();
    let text = "{\"b\": 123456789012345678901234567890, \"a\": [1.10, \"x\\ny\", {}], \"c\": []}";
    let parsed = tools.text("json_process", json!({"json_string": text, "operation": "parse"})).await;
    assert_eq!(parsed, "{\"b\":123456789012345678901234567890,\"a\":[1.10,\"x\\ny\",{}],\"c\":[]}");
    let pretty = tools.text("json_process", json!({"json_string": text, "operation": "format"})).await;
    assert_eq!(
        pretty,
        "{\n  \"b\": 123456789012345678901234567890,\n  \"a\": [\n    1.10,\n    \"x\\ny\",\n    {}\n  ],\n  \"c\": []\n}"
    );
    let keys = tools.call("json_process", json!({"json_string": text, "operation": "keys"})).await.unwrap();
    assert_eq!(keys.text(), r#"["b","a","c"]"#);
    assert_eq!(keys.structured, Some(json!({"result": ["b", "a", "c"]})));
    let list = tools.error("json_process", json!({"json_string": "[1]", "operation": "keys"})).await;
    assert_eq!(list.1, "Only an object has keys; this is an array of 1 items.");
}

// DAT-04
#[tokio::test]
async fn broken_json_is_named_with_its_place() {
    let mut tools = invocation();
    let text = "{\n  \"a\": é\n}";
    let valid =
        tools.call("json_process", json!({"json_string": "[1]", "operation": "validate"})).await.unwrap();
    assert_eq!(valid.text(), "Valid JSON: an array of 1 items.");
    let broken =
        tools.call("json_process", json!({"json_string": text, "operation": "validate"})).await.unwrap();
    assert!(broken.text().ends_with("at line 2, column 8."), "{}", broken.text());
    assert_eq!(broken.structured.unwrap()["result"], false);
    let error = tools.error("json_process", json!({"json_string": text, "operation": "parse"})).await;
    assert_eq!(error.0, "data.invalid_json");
    assert!(error.1.contains("line 2, column 8"), "{}", error.1);
    let deep =
        tools.error("json_process", json!({"json_string": "[".repeat(100_000), "operation": "format"})).await;
    assert!(deep.1.contains("nested deeper"), "{}", deep.1);
}

// DAT-04
#[tokio::test]
async fn a_query_takes_paths_and_pointers() {
    let mut tools = invocation();
    let text =
        r#"{"users": [{"name": "Ada", "x.y": 1, "a/b": 2}, {"name": "Bob"}], "n": 12345678901234567890}"#;
    let cases = [
        ("users[0].name", "Ada"),
        ("$.users[-1].name", "Bob"),
        ("users[0]['x.y']", "1"),
        ("/users/0/a~1b", "2"),
        ("users.1", r#"{"name":"Bob"}"#),
        ("n", "12345678901234567890"),
    ];
    for (path, expected) in cases {
        let arguments = json!({"json_string": text, "operation": "query", "path": path});
        assert_eq!(tools.text("json_process", arguments).await, expected, "{path}");
    }
    let wrong = [
        ("users[7]", "There is nothing at `users[7]`: `users` is an array of 2 items."),
        ("user", "There is nothing at `user`: the whole has the keys users, n."),
        ("users[0].name.first", "`users.0.name` is neither an object nor an array."),
        ("users[0", "a `[` is not closed."),
        ("users..x", "a name is missing."),
    ];
    for (path, told) in wrong {
        let arguments = json!({"json_string": text, "operation": "query", "path": path});
        let error = tools.error("json_process", arguments).await;
        assert!(error.1.ends_with(told), "{}", error.1);
    }
    let none = tools.error("json_process", json!({"json_string": "{}", "operation": "query"})).await;
    assert_eq!(none.1, "A query needs `path`, such as `users[0].name`.");
}

// DAT-02
#[tokio::test]
async fn the_weather_says_that_it_is_simulated() {
    let mut tools = invocation();
    let first = tools.call("get_weather", json!({"city": "Lisbon"})).await.unwrap();
    let again = tools.call("get_weather", json!({"city": " lisbon "})).await.unwrap();
    assert!(
        first.text().starts_with("Simulated weather for Lisbon (made up, not measured): "),
        "{}",
        first.text()
    );
    let structured = first.structured.unwrap();
    assert_eq!(structured["simulated"], true);
    assert_eq!(structured["temperature_c"], again.structured.unwrap()["temperature_c"]);
    assert!(tools.error("get_weather", json!({"city": " "})).await.1.contains("empty"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    // DAT-01
    #[test]
    fn the_calculator_always_answers(expression in "[0-9+*/^!().,eipkm%=√×a-z -]{0,40}|\\PC{0,40}") {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let result = runtime.block_on(invocation().in_real_time().call("calculator", json!({"expression": expression})));
        if let Err(error) = result {
            prop_assert!(error.code().as_str().starts_with("data.calculation_"), "{error}");
            prop_assert!(!error.message().contains("cannot read it"), "the evaluator panics on {expression:?}");
        }
    }

    // DAT-04
    #[test]
    fn formatting_changes_no_value(value in any_json()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let text = value.to_string();
        let shown = runtime.block_on(invocation().text("json_process", json!({"json_string": text, "operation": "format"})));
        prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }
}

fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|value| json!(value)),
        any::<i64>().prop_map(|value| json!(value)),
        "\\PC{0,8}|[\\x00-\\x1f\"\\\\]{0,4}".prop_map(|value| json!(value)),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            prop::collection::btree_map("[a-z]{0,3}", inner, 0..4)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}
