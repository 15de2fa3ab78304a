//! Values that a schema allows, as rules, in the letters of each kind of dialect.
//!
//! Names, types, listed values and required properties are held; bounds, patterns and what alternatives forbid to each other
//! are left to validation. Recursion is bounded: what lies deeper may be any value.

use std::collections::HashMap;

use haft_schema::{Type, TypeSet, View};
use serde_json::Value;

use super::rules::{Rules, any_of, literal};
use super::text::Texts;
use crate::write::values::{push_gemma, push_json, push_json_string, push_python};

/// Nesting that follows the schema.
const DEPTH: u32 = 8;

/// The letters of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Syntax {
    /// JSON.
    Json,
    /// JSON between tags: strings hold no marks of tags.
    JsonInTags,
    /// Python literals.
    Python,
    /// Literals of Gemma, strings between this mark.
    Gemma(&'static str),
}

/// Makes the rules of one grammar.
#[derive(Debug, Default)]
pub(super) struct Values {
    pub(super) rules: Rules,
    pub(super) texts: Texts,
    anything: HashMap<Syntax, String>,
}

impl Values {
    /// A value of `schema`.
    pub(super) fn value(&mut self, schema: View<'_>, syntax: Syntax) -> String {
        self.value_at(schema, syntax, 0)
    }

    fn value_at(&mut self, schema: View<'_>, syntax: Syntax, depth: u32) -> String {
        let types = schema.types();
        let listed = schema.enum_values();
        if !listed.is_empty() {
            let mut all: Vec<String> =
                listed.iter().filter_map(|value| written(value, syntax)).map(|text| literal(&text)).collect();
            if types.has(Type::Null) && !listed.iter().any(|value| value.is_null()) {
                all.push(literal(word(None, syntax)));
            }
            if !all.is_empty() {
                return any_of(&all);
            }
        }
        if types.is_any() || types.is_none() || depth >= DEPTH {
            return self.anything(syntax);
        }
        let kinds: Vec<String> =
            types.iter().map(|kind| self.value_of(kind, schema, types, syntax, depth)).collect();
        any_of(&kinds)
    }

    /// A value of `schema` that has one of its types, alone.
    pub(super) fn of_type(&mut self, kind: Type, schema: View<'_>, syntax: Syntax) -> String {
        let listed: Vec<String> = schema
            .enum_values()
            .iter()
            .filter(|value| TypeSet::of(kind).accepts(value))
            .filter_map(|value| written(value, syntax))
            .map(|text| literal(&text))
            .collect();
        if listed.is_empty() {
            self.value_of(kind, schema, schema.types(), syntax, 0)
        } else {
            any_of(&listed)
        }
    }

    fn value_of(
        &mut self,
        kind: Type,
        schema: View<'_>,
        types: TypeSet,
        syntax: Syntax,
        depth: u32,
    ) -> String {
        match kind {
            Type::String => self.string(syntax),
            Type::Integer => self.integer(),
            Type::Number => self.number(),
            Type::Boolean => boolean(syntax),
            Type::Null => literal(word(None, syntax)),
            Type::Array => match schema.items() {
                Some(items) if !items.types().is_any() => {
                    let item = self.value_at(items, syntax, depth + 1);
                    self.list(item, syntax)
                }
                _ => {
                    let item = self.anything(syntax);
                    self.list(item, syntax)
                }
            },
            Type::Object if schema.properties().is_empty() || !types.has(Type::Object) => {
                let value = match schema.additional() {
                    Some(additional) => self.value_at(additional, syntax, depth + 1),
                    None => self.anything(syntax),
                };
                self.free_object(&value, syntax)
            }
            Type::Object => self.object_at(schema, syntax, depth),
        }
    }

    /// An object with the declared properties, in their order.
    pub(super) fn object(&mut self, schema: View<'_>, syntax: Syntax) -> String {
        self.object_at(schema, syntax, 0)
    }

    fn object_at(&mut self, schema: View<'_>, syntax: Syntax, depth: u32) -> String {
        let colon = colon(syntax);
        let mut members = Vec::new();
        for property in schema.properties() {
            let Some(name) = key(property.name, syntax) else { continue };
            let value = self.value_at(property.schema, syntax, depth + 1);
            members.push((format!("{} {colon} {value}", literal(&name)), property.required));
        }
        let members = self.members(&members, separator(syntax));
        format!("\"{{\" {members} \"}}\"")
    }

    /// A sequence of members of which some may be left out, with separators between those that are there.
    pub(super) fn members(&mut self, members: &[(String, bool)], separator: &str) -> String {
        // What may follow once a member is there, from the back.
        let mut rest = String::from("\"\"");
        // The whole from each place on, if nothing is there yet.
        let mut first = String::from("\"\"");
        for (member, required) in members.iter().rev() {
            let here = self.rules.rule("member", member.clone());
            let tail = format!("{here} {rest}");
            let more = format!("{separator} {here} {rest}");
            (first, rest) = if *required {
                (tail, more)
            } else {
                (format!("({tail} | {first})"), format!("({more} | {rest})"))
            };
            rest = self.rules.rule("rest", rest);
            first = self.rules.rule("first", first);
        }
        first
    }

    fn list(&mut self, item: String, syntax: Syntax) -> String {
        let item = self.rules.rule("item", item);
        format!("\"[\" ({item} ({} {item})*)? \"]\"", separator(syntax))
    }

    fn free_object(&mut self, value: &str, syntax: Syntax) -> String {
        let key = match syntax {
            Syntax::Json | Syntax::JsonInTags | Syntax::Python => self.string(syntax),
            Syntax::Gemma(_) => "[a-zA-Z_] [a-zA-Z0-9_]*".to_owned(),
        };
        let member = self.rules.rule("entry", format!("{key} {} {value}", colon(syntax)));
        format!("\"{{\" ({member} ({} {member})*)? \"}}\"", separator(syntax))
    }

    /// Any value.
    fn anything(&mut self, syntax: Syntax) -> String {
        if let Some(name) = self.anything.get(&syntax) {
            return name.clone();
        }
        let name = self.rules.reserve("any");
        self.anything.insert(syntax, name.clone());
        let (list, object) = (self.list(name.clone(), syntax), self.free_object(&name, syntax));
        let all =
            [self.string(syntax), self.number(), boolean(syntax), literal(word(None, syntax)), list, object];
        self.rules.define(&name, all.join(" | "));
        name
    }

    /// A string between its quotes.
    fn string(&mut self, syntax: Syntax) -> String {
        let body = match syntax {
            Syntax::Json => {
                r#""\"" ([^\x22\x5C\x00-\x1F] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F] [0-9a-fA-F] [0-9a-fA-F] [0-9a-fA-F]))* "\"""#
            }
            Syntax::JsonInTags => {
                r#""\"" ([^\x22\x5C\x3C\x3E\uFF5C\x00-\x1F] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F] [0-9a-fA-F] [0-9a-fA-F] [0-9a-fA-F]))* "\"""#
            }
            Syntax::Python => r#""\"" ([^\x22\x5C\x00-\x1F] | "\\" ["\\nrt])* "\"""#,
            Syntax::Gemma(quote) => {
                let inner = self.texts.without(&[quote.to_owned()], &mut self.rules).any;
                let quote = literal(quote);
                return self.rules.rule("string", format!("{quote} {inner} {quote}"));
            }
        };
        self.rules.rule("string", body.to_owned())
    }

    fn integer(&mut self) -> String {
        self.rules.rule("integer", r#""-"? ("0" | [1-9] [0-9]{0,17})"#.to_owned())
    }

    fn number(&mut self) -> String {
        let integer = self.integer();
        self.rules.rule("number", format!(r#"{integer} ("." [0-9]{{1,17}})? ([eE] [-+]? [0-9]{{1,2}})?"#))
    }

    /// Text as it stands between tags: that of the listed values, or any without the marks.
    pub(super) fn raw_text(&mut self, schema: View<'_>, marks: &[String]) -> String {
        let listed: Vec<String> =
            schema.enum_values().iter().filter_map(|value| value.as_str()).map(literal).collect();
        if listed.is_empty() { self.texts.without(marks, &mut self.rules).any } else { any_of(&listed) }
    }
}

fn boolean(syntax: Syntax) -> String {
    any_of(&[literal(word(Some(true), syntax)), literal(word(Some(false), syntax))])
}

/// `true`, `false` and, for none, `null`.
fn word(value: Option<bool>, syntax: Syntax) -> &'static str {
    match (value, syntax) {
        (None, Syntax::Python) => "None",
        (Some(true), Syntax::Python) => "True",
        (Some(false), Syntax::Python) => "False",
        (None, Syntax::Json | Syntax::JsonInTags | Syntax::Gemma(_)) => "null",
        (Some(true), Syntax::Json | Syntax::JsonInTags | Syntax::Gemma(_)) => "true",
        (Some(false), Syntax::Json | Syntax::JsonInTags | Syntax::Gemma(_)) => "false",
    }
}

/// What stands between two values; where models write a blank, it may be left out.
pub(super) fn separator(syntax: Syntax) -> &'static str {
    match syntax {
        Syntax::Json | Syntax::JsonInTags | Syntax::Python => "\",\" \" \"?",
        Syntax::Gemma(_) => "\",\"",
    }
}

fn colon(syntax: Syntax) -> &'static str {
    match syntax {
        Syntax::Json | Syntax::JsonInTags | Syntax::Python => "\":\" \" \"?",
        Syntax::Gemma(_) => "\":\"",
    }
}

/// A name as it stands before its value; none where it cannot.
fn key(name: &str, syntax: Syntax) -> Option<String> {
    let mut text = String::new();
    match syntax {
        Syntax::JsonInTags if name.contains(['<', '>', '｜']) => return None,
        Syntax::Json | Syntax::JsonInTags => push_json_string(name, &mut text),
        Syntax::Python => push_python(&Value::String(name.to_owned()), &mut text),
        Syntax::Gemma(_) if crate::write::values::is_word(name) => text.push_str(name),
        Syntax::Gemma(quote) => push_gemma(&Value::String(name.to_owned()), quote, &mut text).ok()?,
    }
    Some(text)
}

/// A listed value in these letters; none where they cannot say it.
fn written(value: &Value, syntax: Syntax) -> Option<String> {
    let mut text = String::new();
    match syntax {
        Syntax::Json => push_json(value, &mut text),
        Syntax::JsonInTags => {
            push_json(value, &mut text);
            if text.contains(['<', '>', '｜']) {
                return None;
            }
        }
        Syntax::Python => push_python(value, &mut text),
        Syntax::Gemma(quote) => push_gemma(value, quote, &mut text).ok()?,
    }
    Some(text)
}
