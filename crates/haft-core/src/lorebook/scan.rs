//! Which entries the newest messages activate. One pass: what an active entry says activates no other.

use super::{ActivatedEntry, KeyLogic, LoreEntry, Lorebook, WorldInfoActivation};
use crate::ports::Timestamp;

/// How many of the newest messages are looked at, unless a book or an entry says otherwise.
const DEFAULT_DEPTH: usize = 4;

/// What `books` have to say of `messages`, oldest first. The same books and messages always give the same.
///
/// ```
/// use haft_core::Timestamp;
/// use haft_core::lorebook::{activate, read_lorebook};
/// let book = read_lorebook("Coast", r#"{"entries": {"0": {"uid": 0, "key": ["lamp"], "comment": "The lamp", "content": "It never goes out."}}}"#)?;
/// let active = activate(&[book], &["Who lit the LAMP?"], Timestamp(7));
/// assert_eq!((active.entries[0].reference.as_str(), active.entries[0].name.as_str()), ("w1", "The lamp"));
/// # Ok::<(), haft_core::lorebook::LorebookError>(())
/// ```
pub fn activate(books: &[Lorebook], messages: &[&str], now: Timestamp) -> WorldInfoActivation {
    let mut found: Vec<(&Lorebook, &LoreEntry)> = Vec::new();
    for book in books {
        for entry in book.entries.iter().filter(|entry| !entry.disabled) {
            let depth = entry.scan_depth.or(book.scan_depth).unwrap_or(DEFAULT_DEPTH);
            let newest = &messages[messages.len().saturating_sub(depth)..];
            if entry.constant || is_spoken_of(entry, &newest.join("\n")) {
                found.push((book, entry));
            }
        }
    }
    // A stable sort: books in their order, entries in theirs.
    found.sort_by_key(|(_, entry)| (entry.position, entry.order));
    let entries = found.into_iter().enumerate().map(|(at, (book, entry))| ActivatedEntry {
        reference: format!("w{}", at + 1),
        uid: entry.uid,
        name: if entry.name.is_empty() {
            entry.keys.first().cloned().unwrap_or_default()
        } else {
            entry.name.clone()
        },
        book: book.name.clone(),
        position: entry.position,
        depth: entry.depth,
        order: entry.order,
        content: entry.content.clone(),
    });
    WorldInfoActivation { timestamp_ms: now.0, entries: entries.collect() }
}

fn is_spoken_of(entry: &LoreEntry, text: &str) -> bool {
    let text = if entry.case_sensitive { text.to_owned() } else { text.to_lowercase() };
    let has = |key: &String| {
        let key = if entry.case_sensitive { key.clone() } else { key.to_lowercase() };
        is_in(&text, key.trim(), entry.whole_words)
    };
    if !entry.keys.iter().any(has) {
        return false;
    }
    if entry.secondary.is_empty() {
        return true;
    }
    match entry.logic {
        KeyLogic::AndAny => entry.secondary.iter().any(has),
        KeyLogic::NotAll => !entry.secondary.iter().all(has),
        KeyLogic::NotAny => !entry.secondary.iter().any(has),
        KeyLogic::AndAll => entry.secondary.iter().all(has),
    }
}

fn is_in(text: &str, key: &str, whole_words: bool) -> bool {
    if key.is_empty() {
        return false;
    }
    if !whole_words {
        return text.contains(key);
    }
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(key).any(|(at, found)| {
        let (before, after) = (text[..at].chars().next_back(), text[at + found.len()..].chars().next());
        !is_word(before) && !is_word(after)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::lorebook::LorePosition;

    fn entry(keys: &[&str], secondary: &[&str], logic: KeyLogic) -> LoreEntry {
        let owned = |keys: &[&str]| keys.iter().map(ToString::to_string).collect();
        LoreEntry {
            uid: 0,
            name: String::new(),
            keys: owned(keys),
            secondary: owned(secondary),
            logic,
            constant: false,
            disabled: false,
            case_sensitive: false,
            whole_words: false,
            scan_depth: None,
            order: 100,
            position: LorePosition::BeforeCharacter,
            depth: 4,
            content: "text".to_owned(),
        }
    }

    fn names(entries: Vec<LoreEntry>, messages: &[&str]) -> Vec<String> {
        let book = Lorebook { name: "b".to_owned(), scan_depth: None, entries };
        activate(&[book], messages, Timestamp(0)).entries.into_iter().map(|entry| entry.name).collect()
    }

    // WLD-02
    #[test]
    fn secondary_keys_decide_by_their_logic() {
        let active = |logic, text: &str| {
            !names(vec![entry(&["lamp", "light"], &["oil", "wick"], logic)], &[text]).is_empty()
        };
        for (text, expected) in [
            ("the lamp", [false, true, true, false]),
            ("the lamp and oil", [true, true, false, false]),
            ("the LIGHT, Oil and wick", [true, false, false, true]),
            ("oil and wick alone", [false, false, false, false]),
        ] {
            let logics = [KeyLogic::AndAny, KeyLogic::NotAll, KeyLogic::NotAny, KeyLogic::AndAll];
            assert_eq!(logics.map(|logic| active(logic, text)), expected, "{text}");
        }
    }

    // WLD-02
    #[test]
    fn constant_entries_are_active_and_disabled_ones_never() {
        let constant = LoreEntry { constant: true, ..entry(&[], &[], KeyLogic::AndAny) };
        let disabled = LoreEntry { disabled: true, ..constant.clone() };
        assert_eq!(names(vec![constant, disabled, entry(&["lamp"], &[], KeyLogic::AndAny)], &[]), [""]);
        assert_eq!(
            names(vec![entry(&["", " "], &[], KeyLogic::AndAny)], &["anything"]),
            Vec::<String>::new()
        );
    }

    #[test]
    fn capitals_words_and_depth_hold_as_the_entry_says() {
        let case = LoreEntry { case_sensitive: true, ..entry(&["Lamp"], &[], KeyLogic::AndAny) };
        assert!(
            names(vec![case.clone()], &["a lamp"]).is_empty() && !names(vec![case], &["a Lamp"]).is_empty()
        );
        let word = LoreEntry { whole_words: true, ..entry(&["lamp"], &[], KeyLogic::AndAny) };
        assert!(names(vec![word.clone()], &["lampshade, glamping"]).is_empty());
        assert!(!names(vec![word], &["lampshade, lamp."]).is_empty());
        let old = ["lamp", "1", "2", "3", "4"];
        assert!(names(vec![entry(&["lamp"], &[], KeyLogic::AndAny)], &old).is_empty());
        let deep = LoreEntry { scan_depth: Some(5), ..entry(&["lamp"], &[], KeyLogic::AndAny) };
        assert_eq!(names(vec![deep], &old), ["lamp"]);
        let blind = LoreEntry { scan_depth: Some(0), ..entry(&["lamp"], &[], KeyLogic::AndAny) };
        assert!(names(vec![blind], &["lamp"]).is_empty());
    }

    // WLD-01
    #[test]
    fn entries_stand_by_position_and_order_and_are_named_in_that_order() {
        let at = |name: &str, position, order| LoreEntry {
            name: name.to_owned(),
            constant: true,
            position,
            order,
            ..entry(&[], &[], KeyLogic::AndAny)
        };
        let book = Lorebook {
            name: "b".to_owned(),
            scan_depth: None,
            entries: vec![
                at("deep", LorePosition::AtDepth, 1),
                at("late", LorePosition::BeforeCharacter, 9),
                at("early", LorePosition::BeforeCharacter, -1),
            ],
        };
        let activation = activate(&[book], &[], Timestamp(5));
        let rows: Vec<(&str, &str)> =
            activation.entries.iter().map(|entry| (entry.reference.as_str(), entry.name.as_str())).collect();
        assert_eq!(rows, [("w1", "early"), ("w2", "late"), ("w3", "deep")]);
        assert_eq!(activation.timestamp_ms, 5);
    }

    proptest! {
        #[test]
        fn any_text_can_be_scanned(key in "[aAİé ]{0,3}", text in "[aAİé _.]{0,20}", whole_words in any::<bool>()) {
            let entry = LoreEntry { whole_words, ..entry(&[&key], &[], KeyLogic::AndAny) };
            let active = !names(vec![entry], &[&text]).is_empty();
            prop_assert!(!active || text.to_lowercase().contains(key.to_lowercase().trim()));
        }
    }
}
