//! Typed values out of a tree: what is asked for by name is known, and what nobody asked for is an error that names
//! the nearest key.
//!
//! All problems of a file are collected, so that a person sees them together.

use std::cell::RefCell;

use haft_core::nearest::nearest;

use super::{Entry, FileError, Node, Position, Problem, Value};

/// Collects the problems of one file.
#[derive(Debug, Default)]
pub(crate) struct Problems(RefCell<Vec<Problem>>);

impl Problems {
    /// Adds one.
    pub(crate) fn add(&self, at: Position, text: impl Into<String>, hint: Option<String>) {
        self.0.borrow_mut().push(Problem { at: Some(at), text: text.into(), hint });
    }

    /// An error if there are any, in the order of the file.
    pub(crate) fn into_result(self, file: &str) -> Result<(), FileError> {
        let mut problems = self.0.into_inner();
        if problems.is_empty() {
            return Ok(());
        }
        problems.sort_by_key(|problem| problem.at);
        Err(FileError { file: file.to_owned(), problems })
    }
}

/// Reads one table. Call [`TableReader::finish`] at the end, so that unknown keys are found.
pub(crate) struct TableReader<'a> {
    entries: &'a [Entry],
    /// Where in the file's tree the table is: `tools`, empty for the root.
    path: String,
    asked: RefCell<Vec<&'static str>>,
    problems: &'a Problems,
}

impl<'a> TableReader<'a> {
    /// Reads `node`, which must be a table.
    pub(crate) fn new(node: &'a Node, path: impl Into<String>, problems: &'a Problems) -> Self {
        let path = path.into();
        let entries: &[Entry] = match &node.value {
            Value::Table(entries) => entries,
            Value::Null => &[],
            other => {
                let name = if path.is_empty() { "the file".to_owned() } else { format!("`{path}`") };
                problems.add(node.at, format!("{name} must be a table of keys, not {}", other.kind()), None);
                &[]
            }
        };
        Self { entries, path, asked: RefCell::new(Vec::new()), problems }
    }

    /// The entry of `key`, also in camelCase; none if it is absent or empty.
    pub(crate) fn entry(&self, key: &'static str) -> Option<&'a Entry> {
        self.asked.borrow_mut().push(key);
        let mut found = self.entries.iter().filter(|entry| snake_case(&entry.key) == key);
        let first = found.next()?;
        if let Some(second) = found.next() {
            let text = format!("`{}` and `{}` are one key; keep one of them", first.key, second.key);
            self.problems.add(second.at, text, None);
        }
        (first.node.value != Value::Null).then_some(first)
    }

    /// A text.
    pub(crate) fn text(&self, key: &'static str) -> Option<String> {
        let entry = self.entry(key)?;
        match &entry.node.value {
            Value::Text(text) => Some(text.clone()),
            other => self.wrong(key, &entry.node, "text", other),
        }
    }

    /// A text that is one of `words`; gives its place among them.
    pub(crate) fn word(&self, key: &'static str, words: &[&'static str]) -> Option<usize> {
        let entry = self.entry(key)?;
        let Value::Text(text) = &entry.node.value else {
            return self.wrong(key, &entry.node, &format!("one of {}", listed(words)), &entry.node.value);
        };
        let found = words.iter().position(|word| word == text);
        if found.is_none() {
            let name = self.name(key);
            self.problems.add(
                entry.node.at,
                format!("`{text}` is no value of `{name}`"),
                Some(format!("it takes {}", listed(words))),
            );
        }
        found
    }

    /// True or false.
    pub(crate) fn boolean(&self, key: &'static str) -> Option<bool> {
        let entry = self.entry(key)?;
        match &entry.node.value {
            Value::Boolean(flag) => Some(*flag),
            other => self.wrong(key, &entry.node, "true or false", other),
        }
    }

    /// A whole number between `least` and `most`.
    pub(crate) fn whole(&self, key: &'static str, least: u64, most: u64) -> Option<u64> {
        let entry = self.entry(key)?;
        let number = whole(&entry.node, least, most);
        if number.is_none() {
            let wanted = range(least, most);
            return self.wrong(key, &entry.node, &wanted, &entry.node.value);
        }
        number
    }

    /// A number between `least` and `most`.
    pub(crate) fn number(&self, key: &'static str, least: f64, most: f64) -> Option<f64> {
        let entry = self.entry(key)?;
        let number = match &entry.node.value {
            Value::Integer(whole) => *whole as f64,
            Value::Float(number) => *number,
            other => return self.wrong(key, &entry.node, "a number", other),
        };
        if (least..=most).contains(&number) {
            return Some(number);
        }
        let name = self.name(key);
        self.problems.add(entry.node.at, format!("`{name}` must be between {least} and {most}"), None);
        None
    }

    /// A list of texts, each with its place.
    pub(crate) fn texts(&self, key: &'static str) -> Option<Vec<(String, Position)>> {
        let entry = self.entry(key)?;
        let Value::List(items) = &entry.node.value else {
            return self.wrong(key, &entry.node, "a list", &entry.node.value);
        };
        let mut texts = Vec::with_capacity(items.len());
        for item in items {
            match &item.value {
                Value::Text(text) => texts.push((text.clone(), item.at)),
                other => {
                    let name = self.name(key);
                    let text = format!("`{name}` must be a list of texts; this is {}", other.kind());
                    self.problems.add(item.at, text, None);
                }
            }
        }
        Some(texts)
    }

    /// A table with known keys.
    pub(crate) fn table(&self, key: &'static str) -> Option<TableReader<'a>> {
        let entry = self.entry(key)?;
        Some(TableReader::new(&entry.node, self.name(key), self.problems))
    }

    /// A table whose keys the user chooses.
    pub(crate) fn free_table(&self, key: &'static str) -> &'a [Entry] {
        let Some(entry) = self.entry(key) else { return &[] };
        match &entry.node.value {
            Value::Table(entries) => entries,
            other => {
                self.wrong::<()>(key, &entry.node, "a table", other);
                &[]
            }
        }
    }

    /// Reports every key that was not asked for.
    pub(crate) fn finish(self) {
        let asked = self.asked.into_inner();
        for entry in self.entries {
            let key = snake_case(&entry.key);
            if asked.iter().any(|known| *known == key) {
                continue;
            }
            let place = if self.path.is_empty() { String::new() } else { format!(" in `{}`", self.path) };
            let near = nearest(&key, asked.iter().copied(), 1);
            let hint = match near.first() {
                Some(name) => format!("did you mean `{name}`?"),
                None => format!("the keys here are {}", listed(&asked)),
            };
            self.problems.add(entry.at, format!("unknown key `{}`{place}", entry.key), Some(hint));
        }
    }

    /// The collector of problems.
    pub(crate) fn problems(&self) -> &'a Problems {
        self.problems
    }

    fn name(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    fn wrong<T>(&self, key: &str, node: &Node, wanted: &str, found: &Value) -> Option<T> {
        let name = self.name(key);
        let found = match found {
            Value::Integer(number) => number.to_string(),
            Value::Float(number) => number.to_string(),
            other => other.kind().to_owned(),
        };
        self.problems.add(node.at, format!("`{name}` must be {wanted}, not {found}"), None);
        None
    }
}

/// The whole number of `node`, if it is one between `least` and `most`.
pub(crate) fn whole(node: &Node, least: u64, most: u64) -> Option<u64> {
    match &node.value {
        Value::Integer(number) => u64::try_from(*number).ok().filter(|n| (least..=most).contains(n)),
        Value::Null
        | Value::Boolean(_)
        | Value::Float(_)
        | Value::Text(_)
        | Value::List(_)
        | Value::Table(_)
        | Value::Other(_) => None,
    }
}

fn range(least: u64, most: u64) -> String {
    if most == u64::MAX || most == u64::from(u32::MAX) {
        format!("a whole number from {least}")
    } else {
        format!("a whole number from {least} to {most}")
    }
}

fn listed(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// `maxCalls` as `max_calls`; what is snake_case already stays.
fn snake_case(key: &str) -> String {
    let mut snake = String::with_capacity(key.len() + 4);
    for (index, character) in key.char_indices() {
        if character.is_ascii_uppercase() && index > 0 {
            snake.push('_');
        }
        snake.push(character.to_ascii_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::toml;

    fn problems_of(text: &str, read: impl Fn(&TableReader<'_>)) -> String {
        let root = toml::parse("f", text).unwrap();
        let problems = Problems::default();
        let reader = TableReader::new(&root, "", &problems);
        read(&reader);
        reader.finish();
        problems.into_result("f").map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn unknown_keys_name_the_line_and_the_nearest_key() {
        let read = |reader: &TableReader<'_>| {
            reader.text("default_profile");
            reader.whole("max_calls", 1, 9);
        };
        assert_eq!(problems_of("default_profile = \"x\"\nmaxCalls = 3\n", read), "");
        assert_eq!(
            problems_of("\ndefualt_profile = \"x\"\nzzz = 1\n", read),
            "f:2:1: unknown key `defualt_profile`; did you mean `default_profile`?\n\
             f:3:1: unknown key `zzz`; the keys here are `default_profile`, `max_calls`"
        );
        assert_eq!(
            problems_of("max_calls = 70\nmaxCalls = 2\n", read),
            "f:1:13: `max_calls` must be a whole number from 1 to 9, not 70\n\
             f:2:1: `max_calls` and `maxCalls` are one key; keep one of them"
        );
    }

    #[test]
    fn values_of_the_wrong_kind_say_what_is_wanted() {
        let read = |reader: &TableReader<'_>| {
            reader.boolean("a");
            reader.word("b", &["serial"]);
            reader.texts("c");
            reader.number("d", 0.0, 2.0);
        };
        assert_eq!(
            problems_of("a = 1\nb = \"x\"\nc = [1]\nd = 3\n", read),
            "f:1:5: `a` must be true or false, not 1\nf:2:5: `x` is no value of `b`; it takes `serial`\n\
             f:3:6: `c` must be a list of texts; this is a whole number\nf:4:5: `d` must be between 0 and 2"
        );
    }
}
