//! A folder and all below it, compared by components. Nothing here touches a file system.
//!
//! There are two questions, and they differ where a text leaves doubt. *Surely inside* is asked by rules that allow: no `..`, no
//! backslash, the exact case. *Perhaps inside* is asked by rules that ask or deny: whatever cannot be judged counts as inside, and
//! neither case nor Unicode's normal form matters, since file systems differ in both.

use unicode_normalization::UnicodeNormalization;

/// A folder as a rule names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Subtree {
    absolute: bool,
    exact: Components,
    folded: Components,
}

/// The components of a path as one text, `/` before each, so that a comparison is one look at memory.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Components(String);

impl Components {
    fn of(parts: &[&str]) -> Self {
        Self(parts.iter().flat_map(|part| ["/", part]).collect())
    }

    fn folded(&self) -> Self {
        if self.0.is_ascii() {
            return Self(self.0.to_ascii_lowercase());
        }
        // Twice, since lower case may leave the normal form.
        let lower = self.0.nfd().collect::<String>().to_lowercase();
        Self(lower.nfd().collect())
    }

    /// What follows `folder`, if this is the folder itself or below it.
    fn below(&self, folder: &Self) -> Option<&str> {
        self.0.strip_prefix(folder.0.as_str()).filter(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// A path of a call, read once for all rules.
#[derive(Debug)]
pub(crate) struct CallPath {
    /// It holds something that cannot be judged by its text.
    doubtful: bool,
    exact: Forms,
    folded: Forms,
}

/// A path from the root and from the project's folder, as far as each is known.
#[derive(Debug, Default)]
struct Forms {
    absolute: Option<Components>,
    relative: Option<Components>,
}

impl Subtree {
    /// Reads the path of a rule; says what is wrong with one that could never be compared.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        let parts = parts(text);
        if text.trim().is_empty() {
            return Err("it is empty; name a folder or a file");
        }
        if text.starts_with('~') {
            return Err("`~` is not read; write the whole path");
        }
        if text.chars().any(char::is_control) {
            return Err("it holds a control character");
        }
        if parts.contains(&"..") {
            return Err("it holds `..`; write the path without");
        }
        let exact = Components::of(&parts);
        Ok(Self { absolute: is_absolute(text), folded: exact.folded(), exact })
    }

    /// True if all that `other` holds is in here too.
    pub(crate) fn holds(&self, other: &Self) -> bool {
        self.absolute == other.absolute && other.exact.below(&self.exact).is_some()
    }

    /// True if the path is surely the folder or below it.
    pub(crate) fn surely_holds(&self, path: &CallPath) -> bool {
        let form = if self.absolute { &path.exact.absolute } else { &path.exact.relative };
        !path.doubtful && form.as_ref().is_some_and(|form| form.below(&self.exact).is_some())
    }

    /// True unless the path is surely elsewhere.
    pub(crate) fn perhaps_holds(&self, path: &CallPath) -> bool {
        let form = if self.absolute { &path.folded.absolute } else { &path.folded.relative };
        match form {
            Some(form) => path.doubtful || form.below(&self.folded).is_some(),
            // A path from a root that is no part of the project is not in a folder of the project. A relative one of which
            // nobody knows where it starts may be anywhere.
            None => path.doubtful || self.absolute,
        }
    }
}

impl CallPath {
    /// Reads the path of a call; relative ones start from `base`, the project's folder.
    pub(crate) fn read(text: &str, base: Option<&str>) -> Self {
        let parts = parts(text);
        let doubtful = parts.contains(&"..")
            // Windows drops blanks and dots at the end of a name.
            || parts.iter().any(|part| part.ends_with(['.', ' ']))
            || text.contains('\\')
            || text.starts_with('~')
            || text.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:"))
            || text.chars().any(char::is_control)
            || text.trim().is_empty();
        let exact = Components::of(&parts);
        let base = base.map(|base| Components::of(&self::parts(base)));
        let folded_base = base.as_ref().map(Components::folded);
        let folded = exact.folded();
        let absolute = is_absolute(text);
        Self {
            doubtful,
            exact: Forms::of(exact, absolute, base.as_ref()),
            folded: Forms::of(folded, absolute, folded_base.as_ref()),
        }
    }
}

impl Forms {
    fn of(path: Components, absolute: bool, base: Option<&Components>) -> Self {
        if absolute {
            let relative = base.and_then(|base| path.below(base)).map(|rest| Components(rest.to_owned()));
            Self { absolute: Some(path), relative }
        } else {
            let absolute = base.map(|base| Components([base.0.as_str(), &path.0].concat()));
            Self { absolute, relative: Some(path) }
        }
    }
}

/// The components, with `.` and empty ones dropped; both separators count, so that no platform reads more widely than another.
fn parts(path: &str) -> Vec<&str> {
    path.split(['/', '\\']).filter(|part| !part.is_empty() && *part != ".").collect()
}

fn is_absolute(path: &str) -> bool {
    let mut bytes = path.bytes();
    match (bytes.next(), bytes.next()) {
        (Some(b'/' | b'\\'), _) => true,
        (Some(letter), Some(b':')) => letter.is_ascii_alphabetic(),
        _ => false,
    }
}
