//! Scalars written as text: integers, numbers and booleans as COE-02 and the ledger's defaults read them.
//! It must not guess: what is not clearly a value of the wanted type is `None`, and the text stays text.

use std::borrow::Cow;

use serde_json::Number;

/// The zeros of the scripts whose digits count beside ASCII: each is followed by one to nine.
const ZEROS: [char; 18] =
    ['０', '٠', '۰', '०', '০', '੦', '૦', '୦', '௦', '౦', '೦', '൦', '๐', '໐', '༠', '၀', '០', '᠐'];

/// Trimmed, with the digits of other scripts and full-width signs and points as ASCII.
fn plain(text: &str) -> Cow<'_, str> {
    let trimmed = text.trim();
    if trimmed.is_ascii() {
        return Cow::Borrowed(trimmed);
    }
    Cow::Owned(trimmed.chars().map(narrow).collect())
}

fn narrow(character: char) -> char {
    match character {
        '＋' => '+',
        '－' | '\u{2212}' => '-',
        '．' => '.',
        other if other.is_ascii() => other,
        other => ZEROS
            .iter()
            .find_map(|zero| u32::from(other).checked_sub(u32::from(*zero)).filter(|value| *value < 10))
            .and_then(|value| char::from_digit(value, 10))
            .unwrap_or(other),
    }
}

/// A whole number of at most 64 bits; `5.0`, `1_000` and `1e3` are none.
pub(crate) fn integer(text: &str) -> Option<Number> {
    let text = plain(text);
    let digits = text.strip_prefix(['+', '-']).unwrap_or(&text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse::<i64>().map(Number::from).or_else(|_| text.parse::<u64>().map(Number::from)).ok()
}

/// A decimal number; whole ones stay exact where 64 bits hold them. `nan`, `inf` and overflow are none.
pub(crate) fn number(text: &str) -> Option<Number> {
    if let Some(whole) = integer(text) {
        return Some(whole);
    }
    let text = plain(text);
    let shape = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.' | b'e' | b'E');
    if !text.bytes().all(shape) {
        return None;
    }
    text.parse::<f64>().ok().and_then(Number::from_f64)
}

/// true, 1, yes and false, 0, no in any case.
pub(crate) fn boolean(text: &str) -> Option<bool> {
    let text = plain(text);
    let is = |word: &str| text.eq_ignore_ascii_case(word);
    if is("true") || is("yes") || is("1") {
        Some(true)
    } else if is("false") || is("no") || is("0") {
        Some(false)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // COE-02
    #[test]
    fn reads_integers() {
        for (text, value) in [
            (" 7 ", json!(7)),
            ("007", json!(7)),
            ("+3", json!(3)),
            ("-0", json!(0)),
            ("１２", json!(12)),
            ("－４", json!(-4)),
            ("٣", json!(3)),
            ("-۴२", json!(-42)),
            ("18446744073709551615", json!(u64::MAX)),
            ("-9223372036854775808", json!(i64::MIN)),
        ] {
            assert_eq!(integer(text).map(serde_json::Value::Number), Some(value), "{text}");
        }
        for text in ["", "5.0", "1_000", "1e3", "0x10", "12a", "--1", "+", "18446744073709551616", "²", "Ⅳ"]
        {
            assert_eq!(integer(text), None, "{text}");
        }
    }

    #[test]
    fn reads_numbers() {
        for (text, value) in [
            ("1.5", json!(1.5)),
            (" 5.0\n", json!(5.0)),
            ("1e3", json!(1000.0)),
            (".5", json!(0.5)),
            ("−２．５", json!(-2.5)),
            ("٣.٥", json!(3.5)),
            ("12", json!(12)),
            ("100000000000000000000", json!(1e20)),
        ] {
            assert_eq!(number(text).map(serde_json::Value::Number), Some(value), "{text}");
        }
        for text in ["", ".", "e", "nan", "inf", "-inf", "Infinity", "1_0.5", "1e999", "1,5", "1 5"] {
            assert_eq!(number(text), None, "{text}");
        }
    }

    #[test]
    fn reads_booleans() {
        for text in ["true", "True", " YES ", "1", "１"] {
            assert_eq!(boolean(text), Some(true), "{text}");
        }
        for text in ["false", "FALSE", "no", "0"] {
            assert_eq!(boolean(text), Some(false), "{text}");
        }
        for text in ["", "y", "on", "2", "truee"] {
            assert_eq!(boolean(text), None, "{text}");
        }
    }
}
