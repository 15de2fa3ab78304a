//! Lines that ask the demo for a call: `ALIAS key=value …` with quotes as in a shell, or `ALIAS {json}`.

use haft_schema::json;
use serde_json::{Map, Value};

/// What a line is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Line {
    /// A call.
    Call {
        /// The alias as written.
        name: String,
        /// The arguments: text, or what the JSON says. Types come from the schema later.
        arguments: Map<String, Value>,
    },
    /// It was meant as a call of a known tool and cannot be read; why.
    Unreadable(String),
    /// Something else.
    Prose,
}

/// Reads a line. `known`: whether a word is the alias of a tool; other words make a call only where arguments follow.
pub(super) fn read(line: &str, known: impl Fn(&str) -> bool) -> Line {
    let line = line.trim();
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let known = known(name);
    if !known && !is_name(name) {
        return Line::Prose;
    }
    let rest = rest.trim();
    let arguments = if rest.starts_with('{') { from_json(rest) } else { from_pairs(rest) };
    match arguments {
        Ok(arguments) if known || !arguments.is_empty() => Line::Call { name: name.to_owned(), arguments },
        Err(why) if known => Line::Unreadable(format!("`{name}`: {why}")),
        Ok(_) | Err(_) => Line::Prose,
    }
}

fn is_name(word: &str) -> bool {
    word.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.'))
        && word.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
}

fn from_json(text: &str) -> Result<Map<String, Value>, String> {
    match json::read(text, None) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(_) => Err("the arguments must be a JSON object".to_owned()),
        Err(error) => Err(format!("the arguments are not JSON: {error}")),
    }
}

fn from_pairs(text: &str) -> Result<Map<String, Value>, String> {
    let mut arguments = Map::new();
    for word in words(text)? {
        let Some((key, value)) = word.split_once('=').filter(|(key, _)| is_name(key)) else {
            return Err(format!(
                "`{word}` is no key=value; values with blanks are quoted: key=\"two words\""
            ));
        };
        if arguments.insert(key.to_owned(), Value::String(value.to_owned())).is_some() {
            return Err(format!("`{key}` is given twice"));
        }
    }
    Ok(arguments)
}

/// Splits as a shell does: blanks part words, `'…'` is literal, `"…"` knows `\"` and `\\`, a backslash takes the next character.
fn words(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            blank if blank.is_whitespace() => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next() {
                        Some('\'') => break,
                        Some(letter) => word.push(letter),
                        None => return Err("a ' is not closed".to_owned()),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next() {
                        Some('"') => break,
                        Some('\\')
                            if letters.peek().is_some_and(|next| matches!(next, '"' | '\\' | '$' | '`')) =>
                        {
                            word.extend(letters.next());
                        }
                        Some(letter) => word.push(letter),
                        None => return Err("a \" is not closed".to_owned()),
                    }
                }
            }
            '\\' => match letters.next() {
                Some(letter) => word.get_or_insert_default().push(letter),
                None => return Err("a \\ stands at the end".to_owned()),
            },
            letter => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    Ok(words)
}

/// The line that [`read`] reads as this call.
pub(super) fn write(name: &str, arguments: &Map<String, Value>) -> String {
    let pairs: Option<Vec<String>> = arguments.iter().map(|(key, value)| pair(key, value)).collect();
    match pairs {
        Some(pairs) if pairs.is_empty() => name.to_owned(),
        Some(pairs) => format!("{name} {}", pairs.join(" ")),
        None => format!("{name} {}", Value::Object(arguments.clone())),
    }
}

/// None where JSON says it better.
fn pair(key: &str, value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) if !text.contains(char::is_control) => text.clone(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(_) | Value::Null | Value::Array(_) | Value::Object(_) => return None,
    };
    let plain = |letter: char| letter.is_alphanumeric() || "_-.,:/@+*^%".contains(letter);
    let quoted = match (text.chars().all(plain) && !text.is_empty(), text.contains('\'')) {
        (true, _) => text,
        (false, false) => format!("'{text}'"),
        (false, true) => format!(
            "\"{}\"",
            text.replace('\\', "\\\\").replace('"', "\\\"").replace('$', "\\$").replace('`', "\\`")
        ),
    };
    is_name(key).then(|| format!("{key}={quoted}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn call(name: &str, arguments: Value) -> Line {
        let Value::Object(arguments) = arguments else { panic!("an object") };
        Line::Call { name: name.into(), arguments }
    }

    fn read(line: &str) -> Line {
        super::read(line, |word| matches!(word, "add" | "wetter-heute"))
    }

    #[test]
    fn calls_are_read_with_the_quotes_of_a_shell() {
        assert_eq!(read("  add x=1 y=two "), call("add", json!({"x": "1", "y": "two"})));
        assert_eq!(read("add"), call("add", json!({})));
        assert_eq!(
            read("add 'x y=1'"),
            Line::Unreadable(
                "`add`: `x y=1` is no key=value; values with blanks are quoted: key=\"two words\"".into()
            )
        );
        assert_eq!(
            read(r#"add a='it is $x "so"' b="say \"hi\" \n" c=d\ e"f" g= h=i=j"#),
            call(
                "add",
                json!({"a": "it is $x \"so\"", "b": "say \"hi\" \\n", "c": "d ef", "g": "", "h": "i=j"})
            )
        );
        assert_eq!(read("wetter-heute stadt=Köln"), call("wetter-heute", json!({"stadt": "Köln"})));
        assert_eq!(read(r#"add {"x": 1, "y": [true]}"#), call("add", json!({"x": 1, "y": [true]})));
        // an unknown name is passed on, so that the host can answer
        assert_eq!(read("ad x=1"), call("ad", json!({"x": "1"})));
    }

    #[test]
    fn what_is_no_call_is_prose_or_says_what_to_mend() {
        for line in ["", "Hello there", "what is 1+1=2?", "ad", "ad {x}", "ad 'x", "éa x=1", "1a x=1"] {
            assert_eq!(read(line), Line::Prose, "{line}");
        }
        for (line, why) in [
            ("add two words", "`add`: `two` is no key=value"),
            ("add x=1 x=2", "`x` is given twice"),
            ("add x='1", "a ' is not closed"),
            ("add x=\"1", "a \" is not closed"),
            ("add x=\\", "a \\ stands at the end"),
            ("add {x: 1}", "the arguments are not JSON"),
            ("add {\"x\": 1} y", "something follows"),
        ] {
            let Line::Unreadable(said) = read(line) else { panic!("{line}") };
            assert!(said.contains(why), "{said}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn a_written_line_is_read_back(pairs in proptest::collection::hash_map("[a-z_]{1,5}", "\\PC{0,12}|[ '\"\\\\$=\n]{0,6}", 0..4)) {
            let arguments: Map<String, Value> = pairs.into_iter().map(|(key, value)| (key, json!(value))).collect();
            let line = write("add", &arguments);
            prop_assert_eq!(read(&line), Line::Call { name: "add".into(), arguments }, "{}", line);
        }
    }
}
