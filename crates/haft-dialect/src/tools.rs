//! The tools that a turn declares, found by the names that models write.
//! It must not be fuzzy: a name maps to a tool exactly, or by prefix, case and blanks to the only one possible.

use std::collections::HashMap;

use haft_schema::{Schema, Type};

use crate::scan::is_blank;

/// A declared tool: the name the model sees and the schema of its arguments.
#[derive(Debug, Clone)]
pub struct DeclaredTool {
    /// The alias in this turn.
    pub name: String,
    /// The schema of the arguments.
    pub schema: Schema,
}

/// Longest text that is looked at as a name in another spelling, in bytes.
const MAX_NAME: usize = 512;

/// The declared tools of a turn, indexed once.
///
/// ```
/// use haft_dialect::{DeclaredTool, ToolSet};
/// use haft_schema::Schema;
///
/// let tools = ToolSet::new([DeclaredTool { name: "note_find".to_owned(), schema: Schema::empty_object() }]);
/// assert_eq!(tools.find("functions.Note_Find").map(|tool| tool.name.as_str()), Some("note_find"));
/// assert!(tools.find("note_fund").is_none());
/// ```
#[derive(Debug, Default)]
pub struct ToolSet {
    tools: Vec<Tool>,
    by_name: HashMap<String, usize>,
    /// Loose key to index; `None` where several tools share the key.
    by_key: HashMap<String, Option<usize>>,
}

#[derive(Debug)]
pub(crate) struct Tool {
    pub(crate) declared: DeclaredTool,
    pub(crate) required: Vec<String>,
    parameters: Vec<Parameter>,
}

/// What reading a call needs to know of a declared parameter.
#[derive(Debug)]
pub(crate) struct Parameter {
    key: String,
    pub(crate) name: String,
    /// Text stays text, whatever it looks like.
    pub(crate) takes_text: bool,
    /// The schema says nothing about its type.
    pub(crate) is_untyped: bool,
}

impl ToolSet {
    /// Indexes the tools; of two with the same name the first counts.
    pub fn new(tools: impl IntoIterator<Item = DeclaredTool>) -> Self {
        let mut set = Self::default();
        for declared in tools {
            let index = set.tools.len();
            if set.by_name.contains_key(&declared.name) {
                continue;
            }
            set.by_name.insert(declared.name.clone(), index);
            set.by_key.entry(key(&declared.name)).and_modify(|entry| *entry = None).or_insert(Some(index));
            set.tools.push(Tool::new(declared));
        }
        set
    }

    /// The tool meant by a written name.
    pub fn find(&self, name: &str) -> Option<&DeclaredTool> {
        self.resolve(name).map(|(tool, _)| &tool.declared)
    }

    /// The declared tools in order.
    pub fn iter(&self) -> impl Iterator<Item = &DeclaredTool> {
        self.tools.iter().map(|tool| &tool.declared)
    }

    /// Whether a tool has this very name.
    pub(crate) fn declares(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// The tool meant by a written name, and whether it was written exactly.
    pub(crate) fn resolve(&self, name: &str) -> Option<(&Tool, bool)> {
        if let Some(index) = self.by_name.get(name) {
            return self.tools.get(*index).map(|tool| (tool, true));
        }
        if self.tools.is_empty() || name.len() > MAX_NAME {
            return None;
        }
        let name = name.trim_matches(is_blank);
        let bare = strip_prefix_ignoring_case(name, "functions.").unwrap_or(name);
        if bare.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_') {
            // Its own key already.
            let index = self.by_key.get(bare).copied().flatten();
            return index.and_then(|index| self.tools.get(index)).map(|tool| (tool, false));
        }
        let found =
            [key(bare), key(name), key(&underscored(bare))].iter().find_map(|key| self.by_key.get(key))?;
        found.and_then(|index| self.tools.get(index)).map(|tool| (tool, false))
    }

    /// Whether the name of any tool begins so, be it behind a prefix.
    pub(crate) fn any_begins(&self, name: &str) -> bool {
        let bare = strip_prefix_ignoring_case(name, "functions.").unwrap_or(name);
        self.tools.iter().any(|tool| tool.declared.name.starts_with(bare))
    }

    /// Whether any tool declares a parameter that can be meant by the written name.
    pub(crate) fn any_parameter(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool.parameter(name).is_some())
    }
}

impl Tool {
    fn new(declared: DeclaredTool) -> Self {
        let parameters = declared
            .schema
            .properties()
            .map(|property| Parameter {
                key: key(property.name),
                name: property.name.to_owned(),
                takes_text: property.schema.types().has(Type::String),
                is_untyped: property.schema.types().is_any(),
            })
            .collect();
        let required = declared.schema.required().map(str::to_owned).collect();
        Self { declared, required, parameters }
    }

    /// The parameter that a value without a name can only be meant for: the only required one, or the only one.
    pub(crate) fn only_parameter(&self) -> Option<&str> {
        match (self.required.as_slice(), self.parameters.as_slice()) {
            ([only], _) => Some(only),
            ([], [only]) => Some(&only.name),
            _ => None,
        }
    }

    /// The parameter meant by a written name, and whether it was written exactly.
    pub(crate) fn parameter(&self, name: &str) -> Option<(&Parameter, bool)> {
        if let Some(parameter) = self.parameters.iter().find(|parameter| parameter.name == name) {
            return Some((parameter, true));
        }
        let mut fitting = self.parameters.iter().filter(|parameter| is_key_of(&parameter.key, name));
        match (fitting.next(), fitting.next()) {
            (Some(parameter), None) => Some((parameter, false)),
            _ => None,
        }
    }
}

/// Case and blanks do not count.
fn key(name: &str) -> String {
    if is_plain(name) { name.to_ascii_lowercase() } else { key_chars(name).collect() }
}

/// Whether a name has this key.
fn is_key_of(key: &str, name: &str) -> bool {
    if is_plain(name) { name.eq_ignore_ascii_case(key) } else { key_chars(name).eq(key.chars()) }
}

/// Whether case is all that may not count in a name.
fn is_plain(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_graphic())
}

fn key_chars(name: &str) -> impl Iterator<Item = char> {
    name.chars().filter(|character| !is_blank(*character)).flat_map(char::to_lowercase)
}

fn underscored(name: &str) -> String {
    name.split_whitespace().collect::<Vec<_>>().join("_")
}

fn strip_prefix_ignoring_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let head = text.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then(|| text.get(prefix.len()..)).flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tools(names: &[&str]) -> ToolSet {
        ToolSet::new(names.iter().map(|name| DeclaredTool {
            name: (*name).to_owned(),
            schema: Schema::new(json!({"properties": {"maxLen": {}, "a b": {}, "X": {}, "x": {}}})).unwrap(),
        }))
    }

    #[test]
    fn maps_names_only_where_one_tool_can_be_meant() {
        let set = tools(&["note_find", "Ping", "ping", "functions.dot"]);
        let found = |name| set.find(name).map(|tool| tool.name.clone());
        for name in ["note_find", " Note_Find\n", "functions.note_find", "FUNCTIONS.note_find", "note find"] {
            assert_eq!(found(name).as_deref(), Some("note_find"), "{name}");
        }
        assert_eq!(found("ping").as_deref(), Some("ping"));
        assert_eq!(found("PING"), None);
        assert_eq!(found("functions.dot").as_deref(), Some("functions.dot"));
        assert_eq!(found("note_fin"), None);
        assert_eq!(tools(&[]).find("x").map(|tool| tool.name.clone()), None);
    }

    #[test]
    fn maps_parameters() {
        let set = tools(&["t"]);
        let (tool, _) = set.resolve("t").unwrap();
        let found = |name| tool.parameter(name).map(|(parameter, exact)| (parameter.name.as_str(), exact));
        assert_eq!(found("maxlen"), Some(("maxLen", false)));
        assert_eq!(found("ab"), Some(("a b", false)));
        assert_eq!(found("x"), Some(("x", true)));
        assert_eq!(found("max_len"), None);
    }
}
