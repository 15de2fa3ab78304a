use proptest::prelude::*;
use serde_json::json;

use super::*;

fn strict(text: &str) -> Result<Value, Problem> {
    read(text, None).map_err(|error| error.problem)
}

fn loose(text: &str) -> Result<Value, Problem> {
    parse(text, Syntax::Literal).map(|literal| literal.into_value(None)).map_err(|error| error.problem)
}

#[test]
fn reads_json() {
    let text =
        "\u{feff} {\"a\": [1, -2.5, 1e3, true, null], \"b\": {\"c\": \"\\u00e9\\n\\/\\ud83d\\ude00\"}} \n";
    assert_eq!(strict(text), Ok(json!({"a": [1, -2.5, 1000.0, true, null], "b": {"c": "é\n/😀"}})));
}

#[test]
fn integers_are_exact_or_stay_digits() {
    assert_eq!(strict("18446744073709551615"), Ok(json!(u64::MAX)));
    assert_eq!(strict("-9223372036854775809"), Ok(json!("-9223372036854775809")));
    assert_eq!(strict("1e999"), Ok(json!("1e999")));
    let schema = json!({"type": "string"});
    assert_eq!(read("1.0", Some(View::new(&schema))).unwrap(), json!("1.0"));
    let both = json!({"type": ["string", "number"]});
    assert_eq!(read("1.0", Some(View::new(&both))).unwrap(), json!(1.0));
}

#[test]
fn lone_surrogates_are_replaced() {
    assert_eq!(strict(r#""\ud800""#), Ok(json!("\u{fffd}")));
    assert_eq!(strict(r#""\udc00x""#), Ok(json!("\u{fffd}x")));
    assert_eq!(strict(r#""\ud800\u0041""#), Ok(json!("\u{fffd}A")));
    assert_eq!(strict(r#""\ud800\ud83d\ude00""#), Ok(json!("\u{fffd}😀")));
}

#[test]
fn duplicate_keys_count_once_or_fail() {
    assert_eq!(strict(r#"{"a": 1, "a": 1.0, "b": [2], "b": [2]}"#), Ok(json!({"a": 1, "b": [2]})));
    let error = Problem::DuplicateKey { key: "a".to_owned() };
    assert_eq!(strict(r#"{"a": 1, "b": 1, "a": 2}"#), Err(error.clone()));
    let mut many: String = (0..40).map(|index| format!("\"k{index}\": {index}, ")).collect();
    many = format!("{{{many}\"k3\": 3, \"a\": 1, \"a\": 2}}");
    assert_eq!(strict(&many), Err(error));
}

#[test]
fn errors_say_what_and_where() {
    let error = read(r#"{"a": 1 "b": 2}"#, None).unwrap_err();
    assert_eq!(error.position, 8);
    assert_eq!(error.to_string(), "expected a comma or the end of the object, found '\"' at byte 8");
    assert_eq!(read("[1] x", None).unwrap_err(), ReadError { position: 4, problem: Problem::Trailing });
    for text in ["", "[", "[1,", "{\"a", "{\"a\": ", "\"x", "\"\\u12", "tru", "nul"] {
        assert!(read(text, None).unwrap_err().is_cut(), "{text}");
    }
    assert_eq!(strict("[1,]"), Err(Problem::Unexpected { expected: "a value", found: ']' }));
    assert_eq!(strict("{'a': 1}"), Err(Problem::Unexpected { expected: "a key in quotes", found: '\'' }));
    assert_eq!(strict("\"a\nb\""), Err(Problem::Control));
    assert_eq!(strict(r#""\x""#), Err(Problem::Escape));
    for text in ["01", "1.", ".5", "+1", "1e", "0x1", "1_0", "-"] {
        assert!(strict(text).is_err(), "{text}");
    }
}

#[test]
fn nesting_is_capped() {
    assert!(strict(&("[".repeat(100) + &"]".repeat(100))).is_ok());
    assert_eq!(strict(&"[".repeat(1_000_000)), Err(Problem::TooDeep));
    assert_eq!(loose(&"(".repeat(1_000_000)), Err(Problem::TooDeep));
    assert_eq!(strict(&"{\"a\":".repeat(1_000_000)), Err(Problem::TooDeep));
}

#[test]
fn reads_python_literals() {
    assert_eq!(
        loose("{'a': True, \"b\": None, 'c': (1, 2), 3: [False,],}"),
        Ok(json!({
            "a": true, "b": null, "c": [1, 2], "3": [false],
        }))
    );
    assert_eq!(loose("'it\\'s \\x41\\u00e9 \\d'"), Ok(json!("it's Aé \\d")));
    assert_eq!(loose("'''a\n'b' ''c'''"), Ok(json!("a\n'b' ''c")));
    assert_eq!(loose("''"), Ok(json!("")));
    assert_eq!(loose("(1)"), Ok(json!(1)));
    assert_eq!(loose("()"), Ok(json!([])));
    assert_eq!(loose("[.5, 5., +1]"), Ok(json!([0.5, 5.0, 1])));
    for text in ["2024-01-02", "1_000", "f(x)", "{1, 2}", "1 + 2", "a", "[,]", "{,}", "[1,,2]", "007"] {
        assert!(loose(text).is_err(), "{text}");
    }
}

#[test]
fn a_prefix_says_where_it_ends() {
    let (literal, end) = parse_prefix("{\"a\": 1} and more", Syntax::Json).unwrap();
    assert_eq!((literal.into_value(None), end), (json!({"a": 1}), 8));
}

#[test]
fn sixteen_megabytes_are_read() {
    let text = format!("{{\"a\": \"{}\"}}", "x".repeat(16 << 20));
    assert_eq!(read(&text, None).unwrap()["a"].as_str().unwrap().len(), 16 << 20);
}

proptest! {
    #[test]
    fn reads_what_serde_writes(text in "[\\[\\]{}\",:0-9a-e\\\\u .'\n-]{0,40}", plain in ".{0,40}") {
        // Never a panic; where both readers accept, they agree but for numbers that we keep as text.
        for text in [text, plain] {
            let ours = read(&text, None);
            let _literal = loose(&text);
            if let (Ok(ours), Ok(theirs)) = (&ours, serde_json::from_str::<Value>(&text)) {
                prop_assert!(crate::canonical::same(ours, &theirs) || text.len() > 18);
            }
        }
    }

    #[test]
    fn strings_survive(text in ".{0,40}") {
        let written = serde_json::to_string(&text).unwrap();
        prop_assert_eq!(strict(&written), Ok(json!(text.clone())));
        prop_assert_eq!(loose(&written), Ok(json!(text)));
    }
}
