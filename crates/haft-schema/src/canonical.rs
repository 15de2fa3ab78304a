//! Canonical JSON: one value, one sequence of bytes, on every machine and in every language.
//! Argument digests and journal chains stand on it, so it must never change silently.
//!
//! The form, complete enough to write a second reader from it:
//! - Objects: keys sorted by Unicode code point (the order of their UTF-8 bytes), no blanks anywhere.
//! - Strings: `"` as `\"`, `\` as `\\`, U+0008 `\b`, U+0009 `\t`, U+000A `\n`, U+000C `\f`, U+000D `\r`, the other
//!   characters below U+0020 as `\u00xx` with lower-case hex digits; everything else, U+007F too, as raw UTF-8.
//! - Integers (64 bits, signed or unsigned): their decimal digits, `-` before negative ones.
//! - Floats that are whole and of magnitude at most 2^53: as that integer (`1.0` is `1`, `-0.0` is `0`).
//! - Other floats: the fewest digits that read back as the same double, laid out as Python's `repr` does: with decimal
//!   exponent `e` (of scientific notation) from -4 to 15 as plain decimals with at least one digit on each side of
//!   the point (`0.0001`, `9007199254740994.0`), else as `d.ddde+16`, `1e-05`: the exponent has a sign and at least two digits.
//!
//! In Python, once whole floats up to 2^53 are turned into `int`:
//! `json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()`.

mod serialize;

pub use serialize::{NoJsonForm, serialize};

use std::fmt;
use std::io::Write;

use serde_json::{Map, Number, Value};

use crate::Digest;

/// Largest magnitude up to which a whole float is written as an integer: 2^53.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The canonical bytes of a value; always valid UTF-8.
///
/// ```
/// let value = serde_json::json!({"b": 1.0, "a": "é\n"});
/// assert_eq!(haft_schema::canonical::to_bytes(&value), "{\"a\":\"é\\n\",\"b\":1}".as_bytes());
/// ```
pub fn to_bytes(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(128);
    write(value, &mut bytes);
    bytes
}

/// The canonical bytes as text.
pub fn to_string(value: &Value) -> String {
    // Only whole strings, digits and ASCII marks are written, so that the bytes are always UTF-8.
    String::from_utf8(to_bytes(value)).unwrap_or_default()
}

/// The SHA-256 of the canonical bytes.
pub fn digest(value: &Value) -> Digest {
    Digest::of(&to_bytes(value))
}

/// Appends the canonical bytes of a value.
pub fn write(value: &Value, into: &mut Vec<u8>) {
    match value {
        Value::Null => into.extend_from_slice(b"null"),
        Value::Bool(true) => into.extend_from_slice(b"true"),
        Value::Bool(false) => into.extend_from_slice(b"false"),
        Value::Number(number) => write_number(number, into),
        Value::String(text) => write_string(text, into),
        Value::Array(items) => {
            into.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    into.push(b',');
                }
                write(item, into);
            }
            into.push(b']');
        }
        Value::Object(map) => write_object(map, into),
    }
}

/// Appends the canonical bytes of an object, without the need to wrap it into a [`Value`].
pub fn write_object(map: &Map<String, Value>, into: &mut Vec<u8>) {
    if map.keys().is_sorted() {
        return write_entries(map.iter(), into);
    }
    let mut entries: Vec<(&String, &Value)> = map.iter().collect();
    entries.sort_unstable_by_key(|(key, _)| *key);
    write_entries(entries.into_iter(), into);
}

/// Appends an object whose entries come in order.
fn write_entries<'a>(entries: impl Iterator<Item = (&'a String, &'a Value)>, into: &mut Vec<u8>) {
    into.push(b'{');
    for (index, (key, value)) in entries.enumerate() {
        if index > 0 {
            into.push(b',');
        }
        write_string(key, into);
        into.push(b':');
        write(value, into);
    }
    into.push(b'}');
}

/// Whether two values have the same canonical bytes (`1` and `1.0` do; the order of keys does not matter).
pub fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            left == right || number_text(left) == number_text(right)
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, left)| right.get(key).is_some_and(|right| same(left, right)))
        }
        (left, right) => left == right,
    }
}

/// Appends the canonical bytes of a text.
pub fn write_string(text: &str, into: &mut Vec<u8>) {
    let bytes = text.as_bytes();
    into.reserve(bytes.len() + 2);
    into.push(b'"');
    if !needs_escape(bytes) {
        into.extend_from_slice(bytes);
        into.push(b'"');
        return;
    }
    let mut plain_from = 0;
    for (index, byte) in bytes.iter().enumerate() {
        let escape: Option<&[u8]> = match byte {
            b'"' => Some(b"\\\""),
            b'\\' => Some(b"\\\\"),
            0x08 => Some(b"\\b"),
            b'\t' => Some(b"\\t"),
            b'\n' => Some(b"\\n"),
            0x0c => Some(b"\\f"),
            b'\r' => Some(b"\\r"),
            0..=0x1f => None,
            _ => continue,
        };
        into.extend_from_slice(&bytes[plain_from..index]);
        match escape {
            Some(escape) => into.extend_from_slice(escape),
            None => into.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
        }
        plain_from = index + 1;
    }
    into.extend_from_slice(&bytes[plain_from..]);
    into.push(b'"');
}

/// True if one of the bytes is written as an escape. Most texts need none: eight bytes are looked at together, without branches.
fn needs_escape(bytes: &[u8]) -> bool {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
    // A byte is below `limit` where the subtraction borrows and it was no high byte itself; a borrow that runs on into the next
    // byte only follows a byte that is found already.
    let below = |word: u64, limit: u8| word.wrapping_sub(ONES * u64::from(limit)) & !word & HIGH;
    let is = |word: u64, byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    let strange = |word: u64| below(word, 0x20) | is(word, b'"') | is(word, b'\\');
    // The last eight bytes hold what the whole words leave over.
    let Some(last) = bytes.last_chunk::<8>() else {
        return bytes.iter().any(|&byte| byte < 0x20 || byte == b'"' || byte == b'\\');
    };
    let words = bytes.as_chunks::<8>().0.iter().chain([last]);
    words.fold(0, |found, word| found | strange(u64::from_ne_bytes(*word))) != 0
}

/// Appends the canonical text of a number (see the module's head).
pub(crate) fn write_number(number: &Number, into: &mut Vec<u8>) {
    match number.as_f64() {
        Some(float) if number.is_f64() => into.extend_from_slice(float_text(float).as_bytes()),
        _ => write_digits(number, into),
    }
}

/// Appends an integer.
fn write_digits(integer: impl fmt::Display, into: &mut Vec<u8>) {
    // Writing to a vector cannot fail.
    let _whole = write!(into, "{integer}");
}

/// The canonical text of a number.
pub(crate) fn number_text(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() => float_text(float),
        _ => number.to_string(),
    }
}

fn float_text(float: f64) -> String {
    if float == 0.0 {
        return "0".to_owned();
    }
    if float.fract() == 0.0 && float.abs() <= EXACT {
        return format!("{float:.0}");
    }
    // `{:e}` gives the shortest digits that read back as the same double: `-1.25e-7`.
    let scientific = format!("{float:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let Ok(exponent) = exponent.parse::<i32>() else { return scientific };
    if (-4..16).contains(&exponent) {
        let plain = format!("{float}");
        return if plain.contains('.') { plain } else { plain + ".0" };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn every_byte_that_needs_an_escape_is_found_wherever_it_stands() {
        for length in 1..=19 {
            for at in 0..length {
                for byte in 0..=255 {
                    for around in [0x20, 0x7f, 0x80, 0xff] {
                        let mut bytes = vec![around; length];
                        bytes[at] = byte;
                        let expected = byte < 0x20 || byte == b'"' || byte == b'\\';
                        assert_eq!(needs_escape(&bytes), expected, "{bytes:?}");
                    }
                }
            }
        }
        assert!(!needs_escape(b""));
    }

    #[test]
    fn numbers_are_written_as_documented() {
        let cases = [
            (json!(0), "0"),
            (json!(-0.0), "0"),
            (json!(1.0), "1"),
            (json!(-7), "-7"),
            (json!(u64::MAX), "18446744073709551615"),
            (json!(i64::MIN), "-9223372036854775808"),
            (json!(9_007_199_254_740_992.0), "9007199254740992"),
            (json!(9_007_199_254_740_994.0), "9007199254740994.0"),
            (json!(1e16), "1e+16"),
            (json!(1e300), "1e+300"),
            (json!(1.25e-7), "1.25e-07"),
            (json!(0.0001), "0.0001"),
            (json!(0.00001), "1e-05"),
            (json!(0.1), "0.1"),
            (json!(-0.75), "-0.75"),
            (json!(5e-324), "5e-324"),
            (json!(1.797_693_134_862_315_7e308), "1.7976931348623157e+308"),
        ];
        for (value, text) in cases {
            assert_eq!(to_string(&value), text);
        }
    }

    #[test]
    fn strings_are_escaped_minimally() {
        let value = json!("\"\\/\u{8}\t\n\u{c}\r\u{1}\u{1f}\u{7f}é漢😀");
        assert_eq!(to_string(&value), "\"\\\"\\\\/\\b\\t\\n\\f\\r\\u0001\\u001f\u{7f}é漢😀\"");
    }

    #[test]
    fn keys_are_sorted_by_code_point() {
        // U+FF5E sorts before U+1F600 by code point, after it by UTF-16 unit.
        let value = json!({"😀": 1, "～": 2, "a": {"z": [], "b": null}, "B": true});
        assert_eq!(to_string(&value), r#"{"B":true,"a":{"b":null,"z":[]},"～":2,"😀":1}"#);
    }

    #[test]
    fn digest_is_of_the_bytes() {
        assert_eq!(digest(&json!({"a": 1.0})), Digest::of(br#"{"a":1}"#));
    }

    pub(crate) fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(|float| Number::from_f64(float).map_or(Value::Null, Value::Number)),
            ".{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::vec((".{0,4}", inner), 0..5)
                    .prop_map(|entries| Value::Object(entries.into_iter().collect())),
            ]
        })
    }

    fn reversed(value: &Value) -> Value {
        match value {
            Value::Object(map) => {
                Value::Object(map.iter().rev().map(|(key, value)| (key.clone(), reversed(value))).collect())
            }
            Value::Array(items) => items.iter().map(reversed).collect(),
            other => other.clone(),
        }
    }

    proptest! {
        #[test]
        fn bytes_do_not_depend_on_key_order_and_survive_a_reparse(value in any_value()) {
            let bytes = to_bytes(&value);
            prop_assert_eq!(&bytes, &to_bytes(&reversed(&value)));
            prop_assert!(same(&value, &reversed(&value)));
            let again: Value = serde_json::from_slice(&bytes).unwrap();
            prop_assert_eq!(&bytes, &to_bytes(&again));
            prop_assert!(same(&value, &again));
        }
    }
}
