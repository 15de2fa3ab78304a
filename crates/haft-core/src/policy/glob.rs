//! Patterns for names and values: `*` is any run of characters, `?` is one. Nothing else is special.

use serde::{Deserialize, Serialize};

/// A pattern that a whole text must fit.
///
/// ```
/// use haft_core::policy::Glob;
/// let glob = Glob::new("file_*");
/// assert!(glob.fits("file_read") && !glob.fits("my_file_read"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Glob(String);

impl Glob {
    /// Takes the pattern as it is; every text is one.
    pub fn new(pattern: impl Into<String>) -> Self {
        Self(pattern.into())
    }

    /// The pattern.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True if it has neither `*` nor `?`.
    pub fn is_literal(&self) -> bool {
        !self.0.contains(['*', '?'])
    }

    /// True if every text fits.
    pub fn fits_all(&self) -> bool {
        !self.0.is_empty() && self.0.bytes().all(|byte| byte == b'*')
    }

    /// True if the whole of `text` fits. The work is at most the product of both lengths.
    pub fn fits(&self, text: &str) -> bool {
        let (mut pattern, mut rest) = (self.0.as_str(), text);
        // Where the last `*` ended, and how far it has eaten.
        let mut star: Option<(&str, &str)> = None;
        loop {
            let (mut wanted, mut found) = (pattern.chars(), rest.chars());
            match (wanted.next(), found.next()) {
                (Some('*'), _) => {
                    pattern = wanted.as_str();
                    star = Some((pattern, rest));
                    continue;
                }
                (Some(one), Some(other)) if one == '?' || one == other => {
                    (pattern, rest) = (wanted.as_str(), found.as_str());
                    continue;
                }
                (None, None) => return true,
                (Some(_), None) => return false,
                (Some(_) | None, Some(_)) => {}
            }
            let Some((after, eaten)) = star else { return false };
            let mut eaten = eaten.chars();
            if eaten.next().is_none() {
                return false;
            }
            (pattern, rest) = (after, eaten.as_str());
            star = Some((after, rest));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_any_run_and_a_question_mark_one_character() {
        let table = [
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
            ("a*", "abc", true),
            ("*c", "abc", true),
            ("a*c", "abcabc", true),
            ("a*b", "abc", false),
            ("a?c", "aéc", true),
            ("a?", "a", false),
            ("*.example", "evil.example", true),
            ("**x", "yyx", true),
            ("a*a*a", "aa", false),
        ];
        for (pattern, text, expected) in table {
            assert_eq!(Glob::new(pattern).fits(text), expected, "{pattern} {text}");
        }
    }
}
