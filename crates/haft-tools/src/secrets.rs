//! Which folders hold secrets by their name, wherever they lie.

/// The name of a folder in which each file is a secret.
const FOLDER: &str = ".secrets";

/// True if a folder of that name holds secrets, on any file system.
pub(crate) fn is_folder(name: &str) -> bool {
    name.eq_ignore_ascii_case(FOLDER)
}
