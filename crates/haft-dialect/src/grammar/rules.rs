//! Rules of GBNF, llama.cpp's grammars: their letters, and a store that writes each rule once.
//! It must not know tools or dialects.

use std::collections::HashMap;
use std::fmt::Write as _;

/// Rules in the order in which they were made; equal bodies of numbered rules share one name.
#[derive(Debug, Default)]
pub(super) struct Rules {
    rules: Vec<(String, String)>,
    by_body: HashMap<String, String>,
    names: HashMap<&'static str, usize>,
}

impl Rules {
    /// The name of a rule with this body; a new one is called `kind-N`.
    pub(super) fn rule(&mut self, kind: &'static str, body: String) -> String {
        if let Some(name) = self.by_body.get(&body) {
            return name.clone();
        }
        let name = self.reserve(kind);
        self.by_body.insert(body.clone(), name.clone());
        self.rules.push((name.clone(), body));
        name
    }

    /// A fresh name, whose rule comes by [`Rules::define`]: for rules that refer to each other.
    pub(super) fn reserve(&mut self, kind: &'static str) -> String {
        let count = self.names.entry(kind).or_default();
        let name = format!("{kind}-{count}");
        *count += 1;
        name
    }

    /// The rule of a reserved name.
    pub(super) fn define(&mut self, name: &str, body: String) {
        self.rules.push((name.to_owned(), body));
    }

    /// The whole grammar, beginning with `root`.
    pub(super) fn into_text(self, root: &str) -> String {
        let mut text = format!("root ::= {root}\n");
        for (name, body) in &self.rules {
            text.push_str(&format!("{name} ::= {body}\n"));
        }
        text
    }
}

/// A literal text.
pub(super) fn literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            other if (other as u32) < 0x20 || other == '\u{7f}' => {
                let _ = write!(out, "\\x{:02X}", u32::from(other));
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

/// One of these characters; with `except`, any other one.
pub(super) fn class(characters: impl IntoIterator<Item = char>, except: bool) -> String {
    let mut out = String::from(if except { "[^" } else { "[" });
    for character in characters {
        if matches!(character, '!'..='~') && !matches!(character, '[' | ']' | '\\' | '^' | '-') {
            out.push(character);
        } else if character.is_ascii() {
            let _ = write!(out, "\\x{:02X}", u32::from(character));
        } else if u32::from(character) <= 0xffff {
            let _ = write!(out, "\\u{:04X}", u32::from(character));
        } else {
            let _ = write!(out, "\\U{:08X}", u32::from(character));
        }
    }
    out.push(']');
    out
}

/// A choice of at least one body, in brackets where there are several.
pub(super) fn any_of(bodies: &[String]) -> String {
    match bodies {
        [only] => only.clone(),
        several => format!("({})", several.join(" | ")),
    }
}
