//! Finds the test code of the crates: files under `crates/*/tests/`, `#[cfg(test)]` items, and the files of
//! out-of-line `#[cfg(test)] mod name;`. Comments elsewhere speak of a row without proving it.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Test code of one file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TestCode {
    /// Byte ranges of items under `#[cfg(test)]` in this file.
    pub(crate) ranges: Vec<Range<usize>>,
    /// Modules declared as `#[cfg(test)] mod name;`, as paths without extension, relative like the file's own.
    pub(crate) modules: Vec<PathBuf>,
}

/// Finds the test code of `file`, whose source with comments and literals blanked is `code`.
pub(crate) fn find(file: &Path, code: &str) -> TestCode {
    let mut found = TestCode { ranges: Vec::new(), modules: Vec::new() };
    if code.contains("#![cfg(test)]") {
        found.ranges.push(0..code.len());
        return found;
    }
    let mut at = 0;
    while let Some(start) = code[at..].find("#[cfg(").map(|offset| at + offset) {
        let attribute_end = start + bracket_length(&code[start..], '[', ']');
        at = attribute_end.max(start + 1);
        if !mentions_test(&code[start..attribute_end]) {
            continue;
        }
        let Some(open) = code[attribute_end..].find(['{', ';']).map(|offset| attribute_end + offset) else {
            continue;
        };
        if code[open..].starts_with('{') {
            let end = open + bracket_length(&code[open..], '{', '}');
            found.ranges.push(start..end);
            at = end;
        } else if let Some(name) = module_name(&code[attribute_end..open]) {
            found.modules.push(module_folder(file).join(name));
        }
    }
    found
}

/// True when the whole of `file` is test code, given the modules that [`find`] saw in all files.
pub(crate) fn is_test_file(file: &Path, test_modules: &BTreeSet<PathBuf>) -> bool {
    let parts: Vec<_> = file.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    let in_tests_folder =
        matches!(parts.as_slice(), [first, _, third, ..] if first == "crates" && third == "tests");
    in_tests_folder || file.with_extension("").ancestors().any(|path| test_modules.contains(path))
}

/// `#[cfg(test)]`, `#[cfg(all(test, …))]`; not `not(test)`, not `feature = "test"` (its literal is blanked).
fn mentions_test(attribute: &str) -> bool {
    let squeezed: String = attribute.chars().filter(|character| !character.is_whitespace()).collect();
    let words: Vec<&str> =
        squeezed.split(|character: char| !character.is_alphanumeric() && character != '_').collect();
    words.contains(&"test") && !squeezed.contains("not(test")
}

/// Length of the text from its first `open` to the matching `close`, both included.
fn bracket_length(text: &str, open: char, close: char) -> usize {
    let mut depth = 0usize;
    for (offset, character) in text.char_indices() {
        if character == open {
            depth += 1;
        } else if character == close {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                return offset + character.len_utf8();
            }
        }
    }
    text.len()
}

/// The name in `mod name`, `pub(crate) mod name`; `None` for any other item.
fn module_name(item: &str) -> Option<&str> {
    let mut words = item.split_whitespace().rev();
    let name = words.next()?;
    (words.next() == Some("mod")).then_some(name)
}

/// The folder in which the child modules of `file` lie.
fn module_folder(file: &Path) -> PathBuf {
    let is_root =
        file.file_name().is_some_and(|name| name == "mod.rs" || name == "lib.rs" || name == "main.rs");
    if is_root { file.parent().unwrap_or(file).to_path_buf() } else { file.with_extension("") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_and_modules_under_cfg_test() {
        let code = "fn a() {}\n#[cfg(test)]\nmod tests { fn b() { if x { } } }\nfn c() {}\n\
                    #[cfg(all(test, unix))] pub(crate) mod out;\n#[cfg(not(test))] mod no { }";
        let found = find(Path::new("crates/x/src/y.rs"), code);
        let texts: Vec<&str> = found.ranges.iter().map(|range| &code[range.clone()]).collect();
        assert_eq!(texts, ["#[cfg(test)]\nmod tests { fn b() { if x { } } }"]);
        assert_eq!(found.modules, [PathBuf::from("crates/x/src/y/out")]);
        let at_root = find(Path::new("crates/x/src/lib.rs"), "#[cfg(test)] mod tests;");
        assert_eq!(at_root.modules, [PathBuf::from("crates/x/src/tests")]);
    }

    #[test]
    fn whole_test_files() {
        let modules = BTreeSet::from([PathBuf::from("crates/x/src/y/out")]);
        let is_test = |file: &str| is_test_file(Path::new(file), &modules);
        assert!(is_test("crates/x/tests/path.rs"));
        assert!(is_test("crates/x/tests/fail/skipped_gate.rs"));
        assert!(is_test("crates/x/src/y/out.rs"));
        assert!(is_test("crates/x/src/y/out/deep.rs"));
        assert!(!is_test("crates/x/src/y/outer.rs"));
        assert!(!is_test("crates/x/src/tests.rs"));
    }

    #[test]
    fn a_cut_file_ends_its_item_at_its_end() {
        let code = "#[cfg(test)] mod tests { fn a() {";
        let found = find(Path::new("a.rs"), code);
        assert_eq!(found.ranges.first(), Some(&(0..code.len())));
        assert_eq!(find(Path::new("a.rs"), "#[cfg(test").ranges, []);
    }
}
