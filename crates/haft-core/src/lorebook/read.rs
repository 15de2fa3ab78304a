//! Books as JSON: SillyTavern's world files (entries by number) and the books inside character cards (a list of entries).

use serde_json::{Map, Value};

use super::{KeyLogic, LoreEntry, LorePosition, Lorebook};

/// Most entries of a book.
const MAX_ENTRIES: usize = 20_000;

/// Why a text is no book.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LorebookError {
    /// It is no JSON object.
    #[error("the book `{book}` is no JSON object: {reason}")]
    NoObject {
        /// The book.
        book: String,
        /// What is wrong.
        reason: String,
    },
    /// It has no entries that can be read as such.
    #[error("the book `{book}` has no `entries`: a table or a list of entries is needed")]
    NoEntries {
        /// The book.
        book: String,
    },
    /// It has too many.
    #[error("the book `{book}` has more than {MAX_ENTRIES} entries")]
    TooMany {
        /// The book.
        book: String,
    },
    /// One entry is wrong.
    #[error("entry {entry} of the book `{book}`: {reason}")]
    Entry {
        /// The book.
        book: String,
        /// Its number or place.
        entry: String,
        /// What is wrong.
        reason: String,
    },
}

/// Reads a book called `name`, unless it names itself. Fields that are not known are passed over; a known one that cannot be
/// read is an error, so that no entry is silently another.
///
/// # Errors
/// [`LorebookError`] with the entry.
pub fn read_lorebook(name: &str, json: &str) -> Result<Lorebook, LorebookError> {
    let book = name.to_owned();
    let root: Map<String, Value> = serde_json::from_str(json)
        .map_err(|error| LorebookError::NoObject { book: book.clone(), reason: error.to_string() })?;
    let entries: Vec<(String, &Value)> = match root.get("entries") {
        Some(Value::Object(entries)) => entries.iter().map(|(key, entry)| (key.clone(), entry)).collect(),
        Some(Value::Array(entries)) => {
            entries.iter().enumerate().map(|(at, entry)| (at.to_string(), entry)).collect()
        }
        Some(_) | None => return Err(LorebookError::NoEntries { book }),
    };
    if entries.len() > MAX_ENTRIES {
        return Err(LorebookError::TooMany { book });
    }
    let entries = entries
        .into_iter()
        .enumerate()
        .map(|(place, (key, value))| {
            let wrong =
                |reason: String| LorebookError::Entry { book: book.clone(), entry: key.clone(), reason };
            let Value::Object(fields) = value else { return Err(wrong("it is no object".to_owned())) };
            Fields(fields).entry(place).map_err(wrong)
        })
        .collect::<Result<Vec<_>, _>>()?;
    let own = root.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
    let fields = Fields(&root);
    let wrong = |reason: String| LorebookError::Entry {
        book: book.clone(),
        entry: "(the book itself)".to_owned(),
        reason,
    };
    let scan_depth = fields.count(&["scan_depth", "scanDepth"]).map_err(wrong)?;
    Ok(Lorebook { name: own.unwrap_or(name).to_owned(), scan_depth, entries })
}

/// The fields of one entry, under the names of both forms.
struct Fields<'a>(&'a Map<String, Value>);

impl<'a> Fields<'a> {
    fn entry(&self, place: usize) -> Result<LoreEntry, String> {
        let secondary = self.texts(&["keysecondary", "secondary_keys"])?;
        // A card says with `selective` whether its secondary keys count; a world file leaves it out or true.
        let selective = self.boolean(&["selective"])?.unwrap_or(true);
        let enabled = self.boolean(&["enabled"])?.unwrap_or(true);
        Ok(LoreEntry {
            uid: self.count(&["uid", "id"])?.unwrap_or(place) as u64,
            name: self.text(&["comment", "name"])?.unwrap_or_default(),
            keys: self.texts(&["key", "keys"])?,
            secondary: if selective { secondary } else { Vec::new() },
            logic: self.logic()?,
            constant: self.boolean(&["constant"])?.unwrap_or(false),
            disabled: self.boolean(&["disable"])?.unwrap_or(false) || !enabled,
            case_sensitive: self.boolean(&["caseSensitive", "case_sensitive"])?.unwrap_or(false),
            whole_words: self.boolean(&["matchWholeWords", "match_whole_words"])?.unwrap_or(false),
            scan_depth: self.count(&["scanDepth", "scan_depth"])?,
            order: self.number(&["order", "insertion_order"])?.unwrap_or(100),
            position: self.position()?,
            depth: self.count(&["depth"])?.and_then(|depth| u32::try_from(depth).ok()).unwrap_or(4),
            content: self.text(&["content"])?.unwrap_or_default(),
        })
    }

    /// The first of `keys` that is there and not null.
    fn find(&self, keys: &[&'static str]) -> Option<(&'static str, &'a Value)> {
        keys.iter()
            .find_map(|key| self.0.get(*key).filter(|value| !value.is_null()).map(|value| (*key, value)))
    }

    fn text(&self, keys: &[&'static str]) -> Result<Option<String>, String> {
        let Some((key, value)) = self.find(keys) else { return Ok(None) };
        let text = value.as_str().ok_or_else(|| format!("`{key}` is no text"))?;
        Ok(Some(text.to_owned()))
    }

    fn texts(&self, keys: &[&'static str]) -> Result<Vec<String>, String> {
        let Some((key, value)) = self.find(keys) else { return Ok(Vec::new()) };
        let wrong = || format!("`{key}` is no list of texts");
        let items = value.as_array().ok_or_else(wrong)?;
        items.iter().map(|item| item.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
    }

    fn boolean(&self, keys: &[&'static str]) -> Result<Option<bool>, String> {
        let Some((key, value)) = self.find(keys) else { return Ok(None) };
        value.as_bool().map(Some).ok_or_else(|| format!("`{key}` is neither true nor false"))
    }

    fn number(&self, keys: &[&'static str]) -> Result<Option<i64>, String> {
        let Some((key, value)) = self.find(keys) else { return Ok(None) };
        value.as_i64().map(Some).ok_or_else(|| format!("`{key}` is no whole number"))
    }

    fn count(&self, keys: &[&'static str]) -> Result<Option<usize>, String> {
        let Some(number) = self.number(keys)? else { return Ok(None) };
        let key = keys.first().copied().unwrap_or_default();
        usize::try_from(number).map(Some).map_err(|_| format!("`{key}` is less than 0"))
    }

    fn logic(&self) -> Result<KeyLogic, String> {
        match self.number(&["selectiveLogic"])?.unwrap_or(0) {
            0 => Ok(KeyLogic::AndAny),
            1 => Ok(KeyLogic::NotAll),
            2 => Ok(KeyLogic::NotAny),
            3 => Ok(KeyLogic::AndAll),
            other => Err(format!("`selectiveLogic` is {other}; known are 0 to 3")),
        }
    }

    fn position(&self) -> Result<LorePosition, String> {
        let Some((_, value)) = self.find(&["position"]) else { return Ok(LorePosition::BeforeCharacter) };
        match (value.as_i64(), value.as_str()) {
            (Some(0), _) | (_, Some("before_char")) => Ok(LorePosition::BeforeCharacter),
            (Some(1), _) | (_, Some("after_char")) => Ok(LorePosition::AfterCharacter),
            (Some(2), _) => Ok(LorePosition::NoteTop),
            (Some(3), _) => Ok(LorePosition::NoteBottom),
            (Some(4), _) | (_, Some("at_depth")) => Ok(LorePosition::AtDepth),
            (Some(5), _) => Ok(LorePosition::BeforeExamples),
            (Some(6), _) => Ok(LorePosition::AfterExamples),
            _ => Err(format!("`position` is {value}; known are 0 to 6, `before_char` and `after_char`")),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    // WLD-02
    #[test]
    fn both_forms_of_a_book_are_read() {
        let world = r#"{"entries": {"7": {
            "uid": 7, "key": ["lamp"], "keysecondary": ["oil"], "selectiveLogic": 3, "comment": "The lamp", "content": "Bright.",
            "constant": false, "order": 20, "position": 4, "depth": 2, "disable": false, "caseSensitive": null, "scanDepth": 3,
            "probability": 100
        }}}"#;
        let book = read_lorebook("coast", world).unwrap();
        let lamp = LoreEntry {
            uid: 7,
            name: "The lamp".into(),
            keys: vec!["lamp".into()],
            secondary: vec!["oil".into()],
            logic: KeyLogic::AndAll,
            constant: false,
            disabled: false,
            case_sensitive: false,
            whole_words: false,
            scan_depth: Some(3),
            order: 20,
            position: LorePosition::AtDepth,
            depth: 2,
            content: "Bright.".into(),
        };
        assert_eq!(book, Lorebook { name: "coast".into(), scan_depth: None, entries: vec![lamp.clone()] });
        let card = r#"{"name": "Coast", "scan_depth": 6, "entries": [{
            "keys": ["lamp"], "secondary_keys": ["oil"], "selective": false, "name": "The lamp", "content": "Bright.",
            "enabled": false, "insertion_order": 20, "position": "after_char", "case_sensitive": true
        }]}"#;
        let book = read_lorebook("x", card).unwrap();
        let entry = LoreEntry {
            uid: 0,
            secondary: Vec::new(),
            logic: KeyLogic::AndAny,
            disabled: true,
            case_sensitive: true,
            scan_depth: None,
            position: LorePosition::AfterCharacter,
            depth: 4,
            ..lamp
        };
        assert_eq!(book, Lorebook { name: "Coast".into(), scan_depth: Some(6), entries: vec![entry] });
    }

    #[test]
    fn what_is_no_book_is_told_with_the_entry() {
        let shown = |json: &str| read_lorebook("b", json).unwrap_err().to_string();
        assert!(shown("[]").starts_with("the book `b` is no JSON object: "));
        assert_eq!(shown("{}"), "the book `b` has no `entries`: a table or a list of entries is needed");
        let cases = [
            (r#"{"entries": {"3": {"key": "lamp"}}}"#, "`key` is no list of texts"),
            (r#"{"entries": {"3": {"constant": 1}}}"#, "`constant` is neither true nor false"),
            (r#"{"entries": {"3": {"selectiveLogic": 9}}}"#, "`selectiveLogic` is 9; known are 0 to 3"),
            (
                r#"{"entries": {"3": {"position": 9}}}"#,
                "`position` is 9; known are 0 to 6, `before_char` and `after_char`",
            ),
            (r#"{"entries": {"3": {"depth": -1}}}"#, "`depth` is less than 0"),
            (r#"{"entries": {"3": 1}}"#, "it is no object"),
        ];
        for (json, reason) in cases {
            assert_eq!(shown(json), format!("entry 3 of the book `b`: {reason}"));
        }
    }

    proptest! {
        #[test]
        fn foreign_json_is_never_a_panic(field in "[a-zA-Z_]{1,9}", value in "(-?[0-9]{1,20}|\"a\"|\\[1\\]|null|\\{\\})") {
            let _book = read_lorebook("b", &format!("{{\"entries\": [{{\"{field}\": {value}, \"position\": {value}}}]}}"));
        }
    }
}
