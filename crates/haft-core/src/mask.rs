//! Masking: secrets are taken out of text before it is stored or shown.
//!
//! A [`Mask`] knows the secrets of this home by value, and secrets in general by their form. It acts on the text of strings, so
//! that JSON stays JSON, and changes nothing but the secrets. What is stored and what surfaces see is masked for both
//! ([`View::Record`]); what a model reads in the running turn for the known ones alone ([`View::Model`]), since text that only
//! looks like a secret may be what it works on.
//!
//! Pure: who reads the secrets hands them in. Text without a trace of a secret is looked through once or twice and not copied.
//! Start at [`Mask::text`]; `known` and `forms` find, `records` says which fields of a record hold text, `stream`
//! masks text that arrives in pieces.

mod forms;
mod known;
mod records;
mod stream;
mod written;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde_json::{Map, Value};

use known::Known;
pub use records::without_secret;
pub use stream::MaskedStream;
pub use written::without_written;

/// Shortest secret that is looked for, in bytes: a shorter one stands in too many innocent texts.
pub const SHORTEST_SECRET: usize = 8;

/// How often forms are looked for in a text that held one.
const MOST_PASSES: usize = 16;

/// For whom text is masked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// Journal, audit files, events, exports: known secrets, and whatever has the form of one.
    Record,
    /// The model in the running turn: known secrets.
    Model,
}

/// What is taken out of text.
///
/// ```
/// use haft_core::mask::{Mask, View};
/// let mask = Mask::new([("weather".to_owned(), "k3y-of-the-weather".to_owned())])?;
/// assert_eq!(mask.text("key=k3y-of-the-weather;", View::Model), "key=[secret weather];");
/// // What has the form of a secret is masked where it is stored.
/// let text = "login with ghp_0123456789abcdefghijABCDEFGHIJ012345";
/// assert_eq!(mask.text(text, View::Record), "login with [masked GitHub token, 40 characters]");
/// assert_eq!(mask.text(text, View::Model), text);
/// # Ok::<(), haft_core::mask::MaskError>(())
/// ```
#[derive(Clone, Default)]
pub struct Mask {
    known: Option<Known>,
}

/// Why secrets make no mask.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the secrets cannot be looked for: {0}; keep fewer or shorter ones")]
pub struct MaskError(String);

impl fmt::Debug for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mask").field("known", &self.known.as_ref().map_or(0, Known::len)).finish()
    }
}

impl Mask {
    /// A mask for these secrets, by name and value. Blanks around a value do not count, and a value that is shorter than
    /// [`SHORTEST_SECRET`] is not looked for. Of a value of several lines the long lines are secrets too.
    ///
    /// # Errors
    /// [`MaskError`] if there are too many to be looked for.
    pub fn new(secrets: impl IntoIterator<Item = (String, String)>) -> Result<Self, MaskError> {
        Ok(Self { known: Known::and(None, secrets)? })
    }

    /// This mask, which knows `secrets` too, as those of [`Mask::new`].
    ///
    /// ```
    /// use haft_core::mask::{Mask, View};
    /// let mask = Mask::default().and([("argument".to_owned(), "a-new-secret".to_owned())])?;
    /// assert_eq!(mask.text("it is a-new-secret", View::Record), "it is [secret argument]");
    /// # Ok::<(), haft_core::mask::MaskError>(())
    /// ```
    ///
    /// # Errors
    /// [`MaskError`] if there are too many to be looked for.
    pub fn and(&self, secrets: impl IntoIterator<Item = (String, String)>) -> Result<Self, MaskError> {
        Ok(Self { known: Known::and(self.known.as_ref(), secrets)? })
    }

    /// True if it knows secrets by value.
    pub fn knows_secrets(&self) -> bool {
        self.known.is_some()
    }

    /// `text` without secrets; borrowed if it holds none.
    pub fn text<'a>(&self, text: &'a str, view: View) -> Cow<'a, str> {
        if text.len() < SHORTEST_SECRET {
            return Cow::Borrowed(text);
        }
        let mut text = match self.known.as_ref().map(|known| known.find(text)) {
            Some(found) if !found.is_empty() => Cow::Owned(replaced(text, found)),
            Some(_) | None => Cow::Borrowed(text),
        };
        match view {
            View::Model => {}
            // What stood in the way of a form may have been taken out.
            View::Record => {
                for _ in 0..MOST_PASSES {
                    let found = forms::find(&text);
                    if found.is_empty() {
                        break;
                    }
                    text = Cow::Owned(replaced(&text, found));
                }
            }
        }
        text
    }

    /// Masks `text` in place; true if something was taken out.
    pub fn put(&self, text: &mut String, view: View) -> bool {
        let masked = match self.text(text, view) {
            Cow::Owned(masked) => masked,
            Cow::Borrowed(_) => return false,
        };
        *text = masked;
        true
    }

    /// True if something would be taken out of `text`.
    pub fn finds(&self, text: &str, view: View) -> bool {
        matches!(self.text(text, view), Cow::Owned(_))
    }

    /// Masks all strings of a JSON value, keys too; true if something was taken out.
    pub fn value(&self, value: &mut Value, view: View) -> bool {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
            Value::String(text) => self.put(text, view),
            Value::Array(items) => {
                // Each of them, whatever was found in those before.
                items.iter_mut().map(|item| self.value(item, view)).filter(|changed| *changed).count() > 0
            }
            Value::Object(map) => self.map(map, view),
        }
    }

    /// As [`Mask::value`], for an object.
    pub fn map(&self, map: &mut Map<String, Value>, view: View) -> bool {
        let masked = map.values_mut().map(|value| self.value(value, view));
        let mut changed = masked.filter(|changed| *changed).count() > 0;
        if map.keys().any(|key| self.finds(key, view)) {
            changed = true;
            for (key, value) in std::mem::take(map) {
                let masked = self.text(&key, view).into_owned();
                // Two secrets may become one name.
                let free = (2_u32..).map(|number| format!("{masked} {number}"));
                let key = std::iter::once(masked.clone()).chain(free).find(|key| !map.contains_key(key));
                map.insert(key.unwrap_or(masked), value);
            }
        }
        changed
    }

    /// A masked copy of `value`; none if there is nothing to take out.
    pub fn masked(&self, value: &Value, view: View) -> Option<Value> {
        if !self.finds_in(value, view) {
            return None;
        }
        let mut copy = value.clone();
        self.value(&mut copy, view);
        Some(copy)
    }

    fn finds_in(&self, value: &Value, view: View) -> bool {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
            Value::String(text) => self.finds(text, view),
            Value::Array(items) => items.iter().any(|item| self.finds_in(item, view)),
            Value::Object(map) => {
                map.iter().any(|(key, value)| self.finds(key, view) || self.finds_in(value, view))
            }
        }
    }
}

/// A part of a text and what is said in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Found {
    at: Range<usize>,
    place: String,
}

/// What is said in the place of something that has the form of a secret.
fn masked_place(kind: &str, text: &str) -> String {
    format!("[masked {kind}, {} characters]", text.chars().count())
}

/// `text` with what was found replaced; `found` is in order and does not overlap.
fn replaced(text: &str, found: Vec<Found>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for Found { at, place } in found {
        out.push_str(text.get(from..at.start).unwrap_or_default());
        out.push_str(&place);
        from = at.end;
    }
    out.push_str(text.get(from..).unwrap_or_default());
    out
}

/// What stands in the record for a result that is a secret as a whole.
fn secret_result(characters: usize) -> String {
    format!("[secret result, {characters} characters]")
}

/// What stands in the record for an argument that is a secret as a whole.
pub fn secret_argument(characters: usize) -> String {
    format!("[secret argument, {characters} characters]")
}

/// True if stored bytes hold a place where something was masked, so that they do not tell what was there. Text that only looks
/// like such a place counts too.
///
/// ```
/// use haft_core::mask::is_masked;
/// assert!(is_masked(br#"{"text":"[masked JWT, 60 characters]"}"#));
/// assert!(!is_masked(br#"{"text":"plain"}"#));
/// ```
pub fn is_masked(stored: &[u8]) -> bool {
    ["[secret ", "[masked "].iter().any(|place| memchr::memmem::find(stored, place.as_bytes()).is_some())
}

#[cfg(test)]
mod tests;
